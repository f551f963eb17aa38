//! Opening input files: regular files, which are mapped, and standard input, which is read.
//!
//! Invariant: opening never blocks. A folder, a pipe or a device given as a file is an error, because reading a pipe
//! without a writer would block forever; `-` reads standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use oxport_tensor::Storage;

use crate::{Error, Result};

/// The bytes of a file, mapped, or of standard input, in memory.
///
/// # Errors
/// An operating system error, or the path is not that of a regular file.
pub(crate) fn open(path: &Path) -> Result<Storage> {
    let failed = |e| Error::io(format!("cannot open {}", path.display()), e);
    let other = |e: oxport_tensor::Error| failed(io::Error::other(e));
    if is_standard_input(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return Storage::copy_of(&bytes).map_err(other);
    }
    let file = regular(path).map_err(failed)?;
    match file.metadata().map_err(failed)?.len() {
        0 => Ok(Storage::zeroed(0).map_err(other)?),
        _ => Storage::map_file(&file).map_err(other),
    }
}

/// Opens a regular file.
pub(crate) fn regular(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("expected a regular file, got a pipe or a device (`-` reads standard input)"));
    }
    File::open(path)
}

/// True for `-` and the other names of standard input.
pub fn is_standard_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}
