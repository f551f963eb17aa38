//! Replacing files as a whole.
//!
//! Laws: a reader sees the old file or the new one, never a part; what fails leaves everything as it was, and nothing
//! lying about; a mapping of the old file stays what it was. Files that belong together are all written before the first
//! is moved to its place.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Writes a file beside its place and then moves it there.
pub(crate) fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |e| Error::io(format!("cannot write {}", path.display()), e);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let mut builder = tempfile::Builder::new();
    // Temporary files are their owner's alone by default; a program is as readable as other files.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut out = BufWriter::new(builder.tempfile_in(folder).map_err(failed)?);
    write(&mut out).map_err(failed)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    let alone = STAGED.with_borrow_mut(|staged| match staged {
        Some(staged) => {
            staged.push((file, path.to_path_buf()));
            None
        }
        None => Some(file),
    });
    alone.map_or(Ok(()), |file| place(file, path))
}

/// Writes several files: all of them, then moves all of them to their places; none if one cannot be written.
pub(crate) fn together<T>(write: impl FnOnce() -> Result<T>) -> Result<T> {
    if STAGED.with_borrow(Option::is_some) {
        return write();
    }
    STAGED.set(Some(Vec::new()));
    let written = Reset.during(write);
    let staged = STAGED.take().unwrap_or_default();
    let value = written?;
    staged.into_iter().try_for_each(|(file, path)| place(file, &path))?;
    Ok(value)
}

fn place(file: NamedTempFile, path: &Path) -> Result<()> {
    file.persist(path).map_err(|e| Error::io(format!("cannot write {}", path.display()), e.error))?;
    Ok(())
}

thread_local! {
    /// The files that are written and not yet placed, while some are written together.
    static STAGED: RefCell<Option<Vec<(NamedTempFile, PathBuf)>>> = const { RefCell::new(None) };
}

/// Drops what is staged if the writing panics.
struct Reset;

impl Reset {
    fn during<T>(self, write: impl FnOnce() -> T) -> T {
        let value = write();
        std::mem::forget(self);
        value
    }
}

impl Drop for Reset {
    fn drop(&mut self) {
        STAGED.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A writer's worth of bytes, of which the disk takes only some.
    fn full_after(len: usize) -> impl FnOnce(&mut dyn Write) -> io::Result<()> {
        move |out| {
            out.write_all(&vec![7; len])?;
            out.flush()?;
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "old").unwrap();
        // Around the buffer of the writer, and far beyond.
        for len in [0, 1, 8191, 8192, 8193, 100_000] {
            let error = replace_file(&path, full_after(len)).unwrap_err();
            assert!(error.is_io() && error.to_string().contains("cannot write"), "{error}");
            assert_eq!(
                (std::fs::read(&path).unwrap(), names(folder.path())),
                (b"old".to_vec(), vec!["file".to_string()])
            );
        }
        replace_file(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(replace_file(&folder.path().join("none/file"), |_| Ok(())).unwrap_err().is_io());
        assert!(replace_file(folder.path(), |_| Ok(())).unwrap_err().is_io());
    }

    #[test]
    fn files_that_belong_together_appear_together() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let both = |text: &'static str, fail: bool| {
            together(|| {
                replace_file(&a, |out| out.write_all(text.as_bytes()))?;
                match fail {
                    true => replace_file(&b, full_after(10_000)),
                    false => replace_file(&b, |out| out.write_all(text.as_bytes())),
                }
            })
        };
        let read = || [&a, &b].map(|path| std::fs::read_to_string(path).unwrap());
        both("old", false).unwrap();
        assert!(both("new", true).unwrap_err().is_io());
        assert_eq!((read(), names(folder.path()).len()), (["old".into(), "old".into()], 2));
        let panicked = std::panic::catch_unwind(|| together(|| -> Result<()> { panic!("while writing") }));
        assert!(panicked.is_err());
        both("new", false).unwrap();
        assert_eq!(read(), ["new", "new"]);
    }
}
