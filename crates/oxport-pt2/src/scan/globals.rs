//! Pickles of an archive, and which of their globals are harmless.

use super::opcodes::imports;
use super::{Danger, Findings};
use crate::Limits;
use crate::zip::Directory;

const CALLS: &str = "imports this and calls it when the entry is unpickled, as loading does";

/// Looks at an entry that is a pickle, or an archive that holds some.
pub(super) fn scan(name: &str, data: &[u8], limits: &Limits, findings: &mut Findings) {
    let is_loaded = is_unpickled(name);
    if data.starts_with(b"PK\x03\x04") {
        match Directory::read(data, limits) {
            Ok(directory) => {
                for (inner, entry) in &directory.entries {
                    let at = format!("{name}: {inner}");
                    match entry.read(inner, data) {
                        Ok(data) if inner.ends_with(".pkl") => scan_pickle(&at, &data, true, findings),
                        Ok(data) => scan_pickle(&at, &data, false, findings),
                        Err(_) => {}
                    }
                }
            }
            Err(error) if is_loaded => {
                let what = error.diagnostics().first().map(|d| d.message.clone()).unwrap_or_default();
                findings.add("damaged-entry", Danger::Suspicious, name, what, "may read it otherwise");
            }
            Err(_) => {}
        }
        return;
    }
    scan_pickle(name, data, is_loaded, findings);
}

/// True for the entries that PyTorch unpickles by their name.
fn is_unpickled(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let is_object = ["custom_obj_", "opaque_obj_"].iter().any(|prefix| base.starts_with(prefix));
    let is_legacy = name.starts_with("serialized_") && !name.ends_with("program.json");
    is_object || is_legacy || name.ends_with(".pt") || name.ends_with(".pkl")
}

/// A pickle. An entry that PyTorch does not unpickle counts only if it is a whole pickle that imports something: weights
/// are any bytes.
fn scan_pickle(at: &str, data: &[u8], is_loaded: bool, findings: &mut Findings) {
    let looks = matches!(data, [0x80, 1..=5, ..]) || is_loaded;
    if !looks || data.is_empty() {
        return;
    }
    let found = imports(data);
    if !is_loaded && !(found.whole && found.len == data.len()) {
        return;
    }
    for global in &found.globals {
        let Some(global) = global else {
            let what = "a global whose name is computed or registered elsewhere";
            findings.add("pickle-global", Danger::Dangerous, at, what, CALLS);
            continue;
        };
        let (danger, what) = match judge(global) {
            Some(Danger::Dangerous) => (Danger::Dangerous, format!("the global {global}")),
            Some(danger) => (danger, format!("the global {global}, which PyTorch's own files do not use")),
            None => continue,
        };
        findings.add("pickle-global", danger, at, what, CALLS);
    }
    if is_loaded && !found.whole {
        let what = format!("a pickle that is damaged at byte {}", found.len);
        findings.add("pickle-damaged", Danger::Note, at, what, "runs it up to there");
    }
}

/// How dangerous a global is; `None` for what PyTorch's restricted unpickler takes as well.
fn judge(global: &str) -> Option<Danger> {
    let (module, name) = global.rsplit_once('.')?;
    let root = global.split('.').next().unwrap_or(global);
    let is_plain = match module {
        "torch" => {
            name.ends_with("Storage")
                || matches!(name, "Size" | "device" | "Tensor" | "Generator" | "layout" | "strided")
                || oxport_tensor::DType::from_name(name).is_some()
        }
        "torch._utils" | "torch._tensor" => name.starts_with("_rebuild_"),
        "torch.nn.parameter" => matches!(name, "Parameter" | "Buffer"),
        "torch.storage" => matches!(name, "UntypedStorage" | "TypedStorage"),
        "torch.serialization" => name == "_get_layout",
        "collections" => matches!(name, "OrderedDict" | "Counter" | "deque"),
        "builtins" | "__builtin__" => {
            matches!(
                name,
                "set"
                    | "frozenset"
                    | "complex"
                    | "bytearray"
                    | "list"
                    | "dict"
                    | "tuple"
                    | "int"
                    | "float"
                    | "str"
                    | "bool"
                    | "slice"
                    | "range"
            )
        }
        "_codecs" => name == "encode",
        _ => false,
    };
    if is_plain {
        return None;
    }
    const REACH_OUT: [&str; 44] = [
        "os",
        "posix",
        "nt",
        "posixpath",
        "ntpath",
        "subprocess",
        "sys",
        "builtins",
        "__builtin__",
        "runpy",
        "socket",
        "shutil",
        "pty",
        "ctypes",
        "importlib",
        "imp",
        "code",
        "codeop",
        "pickle",
        "_pickle",
        "cPickle",
        "marshal",
        "types",
        "operator",
        "_operator",
        "functools",
        "itertools",
        "asyncio",
        "multiprocessing",
        "threading",
        "webbrowser",
        "urllib",
        "http",
        "requests",
        "pip",
        "pkgutil",
        "platform",
        "commands",
        "timeit",
        "cProfile",
        "pdb",
        "bdb",
        "tempfile",
        "pathlib",
    ];
    let torch_reaches =
        ["torch.hub", "torch.load", "torch.jit", "torch.utils.cpp_extension", "torch.ops", "torch.classes"];
    let reaches = REACH_OUT.contains(&root)
        || torch_reaches.iter().any(|t| global == *t || global.starts_with(&format!("{t}.")))
        || global.contains("__");
    Some(if reaches { Danger::Dangerous } else { Danger::Suspicious })
}
