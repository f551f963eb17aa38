//! What a file is, by its content: the formats that people have, whatever the file is called.
//!
//! Invariant: nothing in the file is executed, and only its beginning and the directory of a ZIP file are read.

use oxport_pt2::Limits;
use oxport_pt2::pickle::{Pickled, TorchFile};
use oxport_pt2::zip::Directory;
use oxport_tensor::Storage;
use std::fmt;
use std::path::Path;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An archive of `torch.export.save`.
    Program,
    /// Safetensors.
    Safetensors,
    /// One NumPy array.
    Npy,
    /// Several NumPy arrays.
    Npz,
    /// A file of `torch.save`: plain tensors, or anything else.
    TorchSave,
    /// A file of `torch.save` with named tensors.
    StateDict,
    /// A file of `torch.save` with a module, which is an object of a class.
    PickledModule,
    /// A file of `torch.save` before PyTorch 1.6, or another pickle.
    Pickle,
    /// A TorchScript program.
    TorchScript,
    /// A compiled package of AOTInductor.
    AotInductor,
    /// An ONNX model.
    Onnx,
    /// A GGUF file of llama.cpp.
    Gguf,
    /// An HDF5 file, as of Keras.
    Hdf5,
    /// A TensorFlow Lite model.
    TfLite,
    /// A program of ExecuTorch.
    ExecuTorch,
    /// A model of RTen.
    Rten,
    /// A compiled library or program.
    Executable,
    /// A picture.
    Image,
    /// Another ZIP file.
    Zip,
    /// Compressed by gzip, or a tar file.
    Compressed,
    /// A JSON document.
    Json,
    /// Python source.
    Python,
    /// Another text.
    Text,
    /// Nothing.
    Empty,
    /// Something else.
    Unknown,
}

impl FileKind {
    /// The kind of a file with this content.
    pub fn of(file: &Storage, limits: &Limits) -> FileKind {
        let bytes = file.bytes();
        let begins = |mark: &[u8]| bytes.starts_with(mark);
        let first_length = bytes.first_chunk().map(|head| u64::from_le_bytes(*head));
        let is_safetensors =
            bytes.get(8) == Some(&b'{') && first_length.is_some_and(|n| n >= 2 && n <= bytes.len() as u64 - 8);
        match bytes {
            [] => FileKind::Empty,
            _ if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") => zip_kind(file, limits),
            // It begins with a length, whose bytes may be the marks of the others.
            _ if is_safetensors => FileKind::Safetensors,
            _ if begins(b"\x93NUMPY") => FileKind::Npy,
            _ if begins(b"GGUF") => FileKind::Gguf,
            _ if begins(b"\x89HDF\r\n") => FileKind::Hdf5,
            _ if bytes.get(4..8) == Some(b"TFL3") => FileKind::TfLite,
            _ if bytes.get(4..8) == Some(b"ET12") => FileKind::ExecuTorch,
            _ if begins(b"RTEN") => FileKind::Rten,
            _ if begins(b"\x7fELF") || begins(b"MZ") || begins(b"\xcf\xfa\xed\xfe") => FileKind::Executable,
            _ if begins(b"\x89PNG\r\n") || begins(b"\xff\xd8\xff") || begins(b"P6") || begins(b"P5") => FileKind::Image,
            _ if begins(b"\x1f\x8b") || bytes.get(257..262) == Some(b"ustar") => FileKind::Compressed,
            [0x80, 2..=5, ..] => FileKind::Pickle,
            // `ir_version`, then the name of the producer or the graph.
            [0x08, 1..=20, 0x12 | 0x1a | 0x22 | 0x2a | 0x3a | 0x42, ..] => FileKind::Onnx,
            _ => match text(bytes) {
                Some(b'{' | b'[') => FileKind::Json,
                Some(_) if is_python(bytes) => FileKind::Python,
                Some(_) => FileKind::Text,
                None => FileKind::Unknown,
            },
        }
    }

    /// What to do with a file of this kind where a program is expected; `None` for programs, and kinds without advice.
    pub fn advice(self) -> Option<String> {
        let export = "torch.export.save(torch.export.export(model, args), \"model.pt2\")";
        Some(match self {
            FileKind::Safetensors => format!(
                "it has weights, but no graph: export the model in Python by `{export}`; weights of a program \
                 are exchanged by `oxport convert --weights FILE`"
            ),
            FileKind::TorchSave | FileKind::StateDict => {
                format!("it has weights, but no graph: load them into the module in Python, and save it by `{export}`")
            }
            FileKind::PickledModule | FileKind::Pickle => format!(
                "a pickle has no graph, and loading it executes code: if you trust it, load it in Python, and save the \
                 model by `{export}`; `oxport verify --scan` says what it would execute"
            ),
            FileKind::TorchScript => format!("TorchScript is another format: export the original module by `{export}`"),
            FileKind::AotInductor => {
                "the program in it is compiled to a native library: save the exported program before \
                 it is compiled, by `torch.export.save(program, \"model.pt2\")`"
                    .to_string()
            }
            FileKind::Onnx
            | FileKind::Hdf5
            | FileKind::TfLite
            | FileKind::Gguf
            | FileKind::ExecuTorch
            | FileKind::Rten => {
                format!("oxport reads programs of torch.export only: export the PyTorch module by `{export}`")
            }
            FileKind::Npy | FileKind::Npz => "it can be an input: `oxport run PROGRAM --input NAME=FILE`".to_string(),
            FileKind::Image => "it can be an input: `oxport run PROGRAM --image NAME=FILE`".to_string(),
            FileKind::Python => {
                "`oxport capture FILE --entry NAME` makes a program of a function or module".to_string()
            }
            FileKind::Compressed => "decompress it first".to_string(),
            _ => return None,
        })
    }
}

/// True if a text imports modules, which the text of a program does not.
fn is_python(bytes: &[u8]) -> bool {
    let lines = bytes.split(|b| *b == b'\n').take(1000);
    lines.into_iter().any(|line| line.starts_with(b"import ") || line.starts_with(b"from "))
}

/// The first character of a text that is not white space; `None` if the beginning is not text.
fn text(bytes: &[u8]) -> Option<u8> {
    let head = &bytes[..bytes.len().min(1 << 12)];
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The end may cut a character.
        Err(e) => e.valid_up_to() + 4 > head.len(),
    };
    let is_plain = |b: &u8| *b >= 0x20 || matches!(b, b'\t' | b'\n' | b'\r');
    (is_text && head.iter().all(is_plain))
        .then(|| head.iter().copied().find(|b| !b.is_ascii_whitespace()).unwrap_or(b' '))
}

fn zip_kind(file: &Storage, limits: &Limits) -> FileKind {
    let Ok(directory) = Directory::read(file.bytes(), limits) else { return FileKind::Zip };
    let any = |is: &dyn Fn(&str) -> bool| directory.entries.keys().any(|name| is(name));
    let below =
        |name: &str, rest: &str| name == rest || name.strip_suffix(rest).is_some_and(|root| root.ends_with('/'));
    match () {
        () if !directory.entries.is_empty() && directory.entries.keys().all(|name| name.ends_with(".npy")) => {
            FileKind::Npz
        }
        () if any(&|n| n.contains("data/aotinductor/")) => FileKind::AotInductor,
        () if any(&|n| n.contains("/models/") && n.ends_with(".json")) => FileKind::Program,
        () if any(&|n| n == "serialized_exported_program.json") => FileKind::Program,
        () if any(&|n| below(n, "constants.pkl")) => FileKind::TorchScript,
        () if any(&|n| below(n, "data.pkl")) => saved_kind(file, limits),
        () => FileKind::Zip,
    }
}

/// What a file of `torch.save` has.
fn saved_kind(file: &Storage, limits: &Limits) -> FileKind {
    match TorchFile::read_with("file", file, limits, false).map(|saved| saved.value) {
        Ok(Pickled::Object { .. }) => FileKind::PickledModule,
        Ok(Pickled::Dict(entries)) if entries.iter().all(|(_, value)| matches!(value, Pickled::Tensor(_))) => {
            FileKind::StateDict
        }
        _ => FileKind::TorchSave,
    }
}

/// `an ONNX model`, `a file of torch.save`
impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Program => "an exported program",
            FileKind::Safetensors => "a safetensors file",
            FileKind::Npy => "a NumPy array (.npy)",
            FileKind::Npz => "NumPy arrays (.npz)",
            FileKind::TorchSave => "a file of torch.save",
            FileKind::StateDict => "a state dict of torch.save",
            FileKind::PickledModule => "a pickled module of torch.save",
            FileKind::Pickle => "a pickle, as torch.save wrote before PyTorch 1.6",
            FileKind::TorchScript => "a TorchScript program",
            FileKind::AotInductor => "a compiled package of AOTInductor",
            FileKind::Onnx => "an ONNX model",
            FileKind::Gguf => "a GGUF file",
            FileKind::Hdf5 => "an HDF5 file",
            FileKind::TfLite => "a TensorFlow Lite model",
            FileKind::ExecuTorch => "a program of ExecuTorch",
            FileKind::Rten => "a model of RTen",
            FileKind::Executable => "a compiled library or program",
            FileKind::Image => "a picture",
            FileKind::Zip => "a ZIP file of another kind",
            FileKind::Compressed => "a compressed file",
            FileKind::Json => "a JSON document",
            FileKind::Python => "Python source",
            FileKind::Text => "a text",
            FileKind::Empty => "an empty file",
            FileKind::Unknown => "a file of an unknown kind",
        })
    }
}

/// The result of reading a program; an error names the file, and if the content is that of another kind of file, says
/// so.
///
/// # Errors
/// As the result.
pub fn explained<T>(path: &Path, limits: &Limits, read: crate::Result<T>) -> crate::Result<T> {
    read.map_err(|e| {
        let is_file = !oxport_pt2::is_standard_input(path) && path.is_file();
        let content = is_file.then(|| oxport_pt2::open_file(path).ok()).flatten();
        let kind = content.map(|file| FileKind::of(&file, limits));
        let other = kind.and_then(|kind| Some((kind, kind.advice()?)));
        let reason = other.map(|(kind, advice)| {
            format!("{}: expected an exported program, got {kind}\n   = note: {advice}", path.display())
        });
        e.because(reason).of_file(path)
    })
}
