//! What a command would write, seen before it does any work.
//!
//! Laws: nobody's file is overwritten that nobody named: beside the output, only what is recognisably oxport's own; and no
//! output is one of the files that the command reads, by whatever name.

use std::path::{Path, PathBuf};

use crate::replace::Place;
use crate::text::is_text;
use crate::values::{DescribedBy, descriptions};
use crate::{Error, Limits, Result, is_json, pair};

/// The files that a program is read from, or written to: of a `.json` program also those of its tensors.
pub fn program_files(path: &Path) -> Vec<PathBuf> {
    match path {
        _ if is_json(path) => pair::files_of(path),
        _ if is_text(path) => vec![path.to_path_buf(), path.with_extension("safetensors")],
        _ => vec![path.to_path_buf()],
    }
}

/// The files that values are read from, or written to: a safetensors file and what may describe it.
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

/// True for standard output, and for what exists and is no regular file: it is written to, and never replaced.
pub fn is_stream(path: &Path) -> bool {
    matches!(Place::of(path), Ok(Place::Output | Place::Stream(_)))
}

/// Checks that a program can be written there.
///
/// # Errors
/// A folder is in the way; or beside a `.json` program there is a safetensors file that is no program's.
pub fn check_program(path: &Path) -> Result<()> {
    check_file(path)?;
    if is_json(path)
        && let Some(foreign) = pair::foreign_tensors(path)
    {
        return Err(in_the_way(&foreign, "it is no program's, and the tensors would overwrite it"));
    }
    Ok(())
}

/// Checks that values can be written there; `constants` says whether there will be some that safetensors cannot hold, so
/// that other readers need the JSON file beside it.
///
/// # Errors
/// A folder is in the way, the file holds the tensors of a program, or the JSON file would be somebody else's.
pub fn check_values(path: &Path, constants: bool) -> Result<()> {
    let Place::File(..) = check_file(path)? else { return Ok(()) };
    if pair::is_of_a_program(path) {
        return Err(in_the_way(path, "it is where the tensors of a program are"));
    }
    match DescribedBy::of(path, &Limits::default())? {
        DescribedBy::Foreign(json) if constants => {
            Err(in_the_way(&json, "it is somebody else's, and constants among the outputs would need it"))
        }
        _ => Ok(()),
    }
}

/// Checks that a file can be written there: it is no folder.
///
/// # Errors
/// It is one, or its links have no end.
pub fn check_text(path: &Path) -> Result<()> {
    check_file(path).map(drop)
}

fn check_file(path: &Path) -> Result<Place> {
    Place::of(path).map_err(|e| Error::io(format!("cannot write {}", path.display()), e))
}

fn in_the_way(path: &Path, why: &str) -> Error {
    Error::io(format!("cannot write {}", path.display()), std::io::Error::other(why))
}

/// True if both paths lead to one file, by links of any kind or another spelling.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
            return a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    let whole = |path: &Path| match Place::of(path).ok()? {
        Place::File(path, _) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some((folder.canonicalize().ok()?, path.file_name()?.to_os_string()))
        }
        _ => None,
    };
    whole(a).is_some_and(|a| Some(a) == whole(b))
}
