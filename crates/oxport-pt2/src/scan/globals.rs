//! Pickles of an archive, and which of their globals are dangerous.

use super::opcodes::imports;
use super::{ANOTHER_DOCUMENT, Danger, Findings, as_pytorch_reads};
use crate::Limits;
use crate::zip::Rooted;

const CALLS: &str = "imports this and calls it when the entry is unpickled, as loading does";

/// Scans an entry that is a pickle, or an archive with pickles; `is_loaded` if PyTorch unpickles it.
pub(super) fn scan(name: &str, data: &[u8], is_loaded: bool, limits: &Limits, findings: &mut Findings) {
    if !data.starts_with(b"PK\x03\x04") {
        if is_loaded && is_tar(data) {
            let what = "a tar file of pickles, as old versions of torch.save wrote it, which is not scanned";
            findings.add("legacy-file", Danger::Dangerous, name, what, CALLS);
        }
        return scan_pickles(name, data, is_loaded, findings);
    }
    match Rooted::read(data, limits) {
        Ok(folder) => {
            if folder.find("constants.pkl").is_some() {
                let effect = "passes it to torch.jit.load, which runs its code";
                findings.add("torchscript", Danger::Dangerous, name, "a TorchScript program", effect);
            }
            for (inner, entry) in &folder.entries {
                let at = format!("{name}: {inner}");
                let is_pickle = inner.to_ascii_lowercase().ends_with(".pkl");
                let data = match is_loaded {
                    true => as_pytorch_reads(&at, inner, entry, data, findings),
                    false => entry.unchecked(inner, data).ok(),
                };
                if let Some(data) = data {
                    scan_pickles(&at, &data, is_pickle, findings);
                }
            }
        }
        Err(error) if is_loaded => {
            let what = error.diagnostics().first().map(|d| d.message.clone()).unwrap_or_default();
            findings.add("damaged-entry", Danger::Dangerous, name, what, ANOTHER_DOCUMENT);
        }
        Err(_) => {}
    }
}

/// True if Python reads this as a tar file: the header has the checksum of its bytes.
fn is_tar(data: &[u8]) -> bool {
    let Some(header) = data.first_chunk::<512>() else { return false };
    let field = &header[148..156];
    let checksum = match field {
        [0o200 | 0o377, digits @ ..] => digits.iter().fold(0i64, |n, b| n << 8 | i64::from(*b)),
        _ => {
            let text = field.split(|b| *b == 0).next().unwrap_or_default();
            let text = std::str::from_utf8(text).unwrap_or("?").trim();
            match i64::from_str_radix(if text.is_empty() { "0" } else { text }, 8) {
                Ok(checksum) => checksum,
                Err(_) => return false,
            }
        }
    };
    let rest = || header[..148].iter().chain(&header[156..]);
    let spaces = 8 * i64::from(b' ');
    let unsigned = spaces + rest().map(|b| i64::from(*b)).sum::<i64>();
    let signed = spaces + rest().map(|b| i64::from(*b as i8)).sum::<i64>();
    checksum == unsigned || checksum == signed
}

/// The number of consecutive pickles in a file of torch.save up to PyTorch 1.5.
const IN_LEGACY_FILE: usize = 5;

/// Scans consecutive pickles. An entry that PyTorch does not unpickle counts only if it is one complete pickle that
/// imports something, because weights are arbitrary bytes.
fn scan_pickles(at: &str, data: &[u8], is_loaded: bool, findings: &mut Findings) {
    if !is_loaded {
        let looks = matches!(data, [0x80, 1..=5, ..]);
        let found = if looks { imports(data) } else { return };
        if found.is_complete && found.len == data.len() {
            report(at, &found.globals, findings);
        }
        return;
    }
    let mut start = 0;
    for _ in 0..IN_LEGACY_FILE {
        if start >= data.len() {
            return;
        }
        let found = imports(&data[start..]);
        report(at, &found.globals, findings);
        start += found.len;
        if !found.is_complete {
            let what = format!("a pickle that is damaged at byte {start}");
            return findings.add("pickle-damaged", Danger::Note, at, what, "runs it up to there");
        }
    }
}

fn report(at: &str, globals: &[Option<String>], findings: &mut Findings) {
    for global in globals {
        let Some(global) = global else {
            let what = "a global whose name is computed or registered elsewhere";
            findings.add("pickle-global", Danger::Dangerous, at, what, CALLS);
            continue;
        };
        let (danger, what) = match danger_of(global) {
            Some(Danger::Dangerous) => (Danger::Dangerous, format!("the global {global}")),
            Some(danger) => (danger, format!("the global {global}, which PyTorch's own files do not use")),
            None => continue,
        };
        findings.add("pickle-global", danger, at, what, CALLS);
    }
}

/// The danger of a global; `None` if PyTorch's weights-only unpickler accepts it.
fn danger_of(global: &str) -> Option<Danger> {
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
    let reaches = global.split('.').any(|part| SYSTEM_MODULES.contains(&part)) || global.contains("__");
    // Modules of Python and PyTorch are installed everywhere; those of users may or may not be.
    let is_data = DATA.iter().any(|known| global.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')));
    let is_installed = root == "torch" || STANDARD_LIBRARY.split_whitespace().any(|module| module == root);
    Some(if reaches || is_installed && !is_data { Danger::Dangerous } else { Danger::Suspicious })
}

/// Modules of Python and PyTorch with data classes only.
const DATA: [&str; 8] =
    ["collections", "datetime", "decimal", "fractions", "uuid", "enum", "torch.nn.modules", "torch.utils._pytree"];

/// Modules that access the system, or execute text as code.
pub(super) const SYSTEM_MODULES: [&str; 44] = [
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

/// The modules of Python's standard library, of versions 3.8 to 3.13.
const STANDARD_LIBRARY: &str = "\
    __future__ _abc _aix_support _ast _asyncio _bisect _blake2 _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk \
    _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections _collections_abc _compat_pickle _compression \
    _contextvars _crypt _csv _ctypes _curses _curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib \
    _frozen_importlib_external _functools _gdbm _hashlib _heapq _imp _io _json _locale _lsprof _lzma _markupbase \
    _md5 _msi _multibytecodec _multiprocessing _opcode _operator _osx_support _overlapped _pickle _posixshmem \
    _posixsubprocess _py_abc _pydecimal _pyio _queue _random _scproxy _sha1 _sha256 _sha3 _sha512 _signal \
    _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct _symtable _thread \
    _threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref _weakrefset _winapi \
    _zoneinfo abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii \
    bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys \
    compileall concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses \
    datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl \
    filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp \
    gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json \
    keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib \
    msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev \
    pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats \
    pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource \
    rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket \
    socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct \
    subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this \
    threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types \
    typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref \
    xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";
