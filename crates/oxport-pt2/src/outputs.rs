//! Checks of a command's output paths, before it does any work.
//!
//! Invariants: no file is overwritten that was not named, except for oxport's own files next to the output; and no
//! output is one of the files that the command reads, by whatever path.

use std::path::{Path, PathBuf};

use crate::replace::Destination;
use crate::text::is_text;
use crate::values::{DescribedBy, descriptions};
use crate::{Error, Limits, Result, is_json, members};

/// The files of a program; for a `.json` program also those of its tensors.
pub fn program_files(path: &Path) -> Vec<PathBuf> {
    match path {
        _ if is_json(path) => members::files_of(path),
        _ if is_text(path) => vec![path.to_path_buf(), path.with_extension("safetensors")],
        _ => vec![path.to_path_buf()],
    }
}

/// The files of values: a safetensors file and the JSON files that may describe it.
pub fn value_files(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_path_buf()];
    files.extend(descriptions(path));
    files
}

/// The files that writing values there may change.
pub fn written_values(path: &Path) -> Vec<PathBuf> {
    let described = match DescribedBy::of(path, &Limits::default()) {
        _ if is_stream(path) => None,
        Ok(DescribedBy::None(json) | DescribedBy::Ours(json, _)) => Some(json),
        _ => None,
    };
    std::iter::once(path.to_path_buf()).chain(described).collect()
}

/// True for standard output and other files that are not regular (pipes, devices): they are written to, not replaced.
pub fn is_stream(path: &Path) -> bool {
    matches!(Destination::of(path), Ok(Destination::Output | Destination::Stream(_)))
}

/// Checks that a program can be written to the path.
///
/// # Errors
/// The path is a folder; or a tensors file that does not belong to a program is next to the `.json` file.
pub fn check_program(path: &Path) -> Result<()> {
    check_file(path)?;
    if is_json(path) { members::check_members(path, 1) } else { Ok(()) }
}

/// Checks that values can be written to the path; `constants` says whether some of them cannot be stored in
/// safetensors, so that other readers need the JSON file.
///
/// # Errors
/// The path is a folder, the file holds the tensors of a program, or the JSON file is not one of oxport's.
pub fn check_values(path: &Path, constants: bool) -> Result<()> {
    let Destination::File(..) = check_file(path)? else { return Ok(()) };
    if members::is_of_a_program(path) {
        return Err(cannot_write(path, "it holds the tensors of a program"));
    }
    match DescribedBy::of(path, &Limits::default())? {
        DescribedBy::Foreign(json) if constants => Err(cannot_write(
            &json,
            "the file exists and does not describe these values; constants among the outputs need it",
        )),
        _ => Ok(()),
    }
}

/// Checks that a file can be written to the path.
///
/// # Errors
/// The path is a folder, or a cycle of links.
pub fn check_text(path: &Path) -> Result<()> {
    check_file(path).map(drop)
}

fn check_file(path: &Path) -> Result<Destination> {
    Destination::of(path).map_err(|e| Error::io(format!("cannot write {}", path.display()), e))
}

fn cannot_write(path: &Path, why: &str) -> Error {
    Error::io(format!("cannot write {}", path.display()), std::io::Error::other(why))
}

/// True if both paths lead to the same file, through links or otherwise.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
            return a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    let whole = |path: &Path| match Destination::of(path).ok()? {
        Destination::File(path, _) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some((folder.canonicalize().ok()?, path.file_name()?.to_os_string()))
        }
        _ => None,
    };
    whole(a).is_some_and(|a| Some(a) == whole(b))
}
