//! Atomic replacement of files, one or a set.
//!
//! Invariants: a reader sees the old file or the new one, never a part; a failed write changes nothing and leaves no
//! temporary files; a mapping of the old file keeps its contents. A link stays a link, its target is replaced; a file
//! keeps its permissions; a pipe or a device is written to and never replaced.
//!
//! A set is a head and its members, which share a *stamp*, a hash of their content. Two files cannot be renamed at
//! once, so the rename of the head commits the set:
//!
//! ```text
//! 1. rename members to .oxport-<stamp>-<name>    a reader finds the old head and the old members
//! 2. rename the head to its name                 … the new head and the pending members
//! 3. rename members to their names               … the new head and the new members
//! ```
//!
//! So the members of the current head exist at any time under one of two names; readers try the pending name
//! ([`waiting`]) first.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::temporary::{Temporary, registered};
use crate::{Error, Result};

/// Writes a temporary file in the same folder and renames it.
pub(crate) fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    draft(path, write)?.place()
}

/// A written temporary file, to be renamed to its destination.
pub(crate) struct Draft {
    /// The path given by the user.
    path: PathBuf,
    /// `None` if it was written to a stream.
    whole: Option<(Temporary, PathBuf)>,
}

/// Writes a temporary file in the same folder; writes to a pipe or a device directly.
pub(crate) fn draft(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Draft> {
    let failed = |e| cannot_write(path, e);
    let (place, old) = match Destination::of(path).map_err(failed)? {
        Destination::Output => {
            let mut out = io::stdout().lock();
            write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
            return Ok(Draft { path: path.to_path_buf(), whole: None });
        }
        Destination::Stream(place) => {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(&place).map_err(failed)?);
            write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
            return Ok(Draft { path: path.to_path_buf(), whole: None });
        }
        Destination::File(place, old) => (place, old),
    };
    let mut out = BufWriter::new(Temporary::create(folder_of(&place), old.as_ref()).map_err(failed)?);
    write(&mut out).map_err(failed)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    old.iter().try_for_each(|old| file.take_permissions(old)).map_err(failed)?;
    Ok(Draft { path: path.to_path_buf(), whole: Some((file, place)) })
}

impl Draft {
    /// True if it was written to a stream.
    pub fn is_streamed(&self) -> bool {
        self.whole.is_none()
    }

    pub(crate) fn place(self) -> Result<()> {
        let Some((file, place)) = self.whole else { return Ok(()) };
        file.rename(&mut registered(), &place).map_err(|e| cannot_write(&self.path, e))
    }
}

/// Replaces a set (see the module), and removes obsolete files and those that a killed writer left under pending names;
/// `is_member` says by its own name whether a file is one of the set.
pub(crate) fn commit(
    members: Vec<Draft>,
    stamp: &str,
    mut head: Draft,
    obsolete: Vec<PathBuf>,
    is_member: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let folders: Vec<&Path> = members.iter().filter_map(|m| Some(folder_of(&m.whole.as_ref()?.1))).collect();
    let _lock = folders.first().map(|folder| Lock::of(folder)).transpose()?;
    let (mut members, mut moved) = (members.into_iter(), Vec::<(PathBuf, PathBuf)>::new());
    // From here on signals wait until all is done; only SIGKILL interrupts. Remaining drafts are dropped afterwards.
    let mut registered = registered();
    let mut decide = || -> Result<()> {
        for member in &mut members {
            let Some((file, place)) = member.whole else { continue };
            let failed = |e| cannot_write(&member.path, e);
            let waiting = sidecar(&place, stamp);
            file.rename(&mut registered, &waiting).map_err(failed)?;
            moved.push((waiting, place));
        }
        let Some((file, place)) = head.whole.take() else { return Ok(()) };
        file.rename(&mut registered, &place).map_err(|e| cannot_write(&head.path, e))
    };
    if let Err(error) = decide() {
        moved.iter().for_each(|(waiting, _)| drop(std::fs::remove_file(waiting)));
        return Err(error);
    }
    for (waiting, place) in &moved {
        std::fs::rename(waiting, place).map_err(|e| cannot_write(place, e))?;
    }
    // No head refers to what is pending now; a link may lead to a member of any name.
    let is_member = |name: &str| is_member(name) || moved.iter().any(|(_, p)| p.file_name().is_some_and(|f| f == name));
    let folders: HashSet<PathBuf> = moved.iter().map(|(_, place)| folder_of(place).to_path_buf()).collect();
    folders.iter().for_each(|folder| remove_waiting(folder, &is_member));
    let is_placed = |path: &PathBuf| moved.iter().any(|(_, place)| place.file_name() == path.file_name());
    obsolete.iter().filter(|path| !is_placed(path)).for_each(|path| drop(std::fs::remove_file(path)));
    Ok(())
}

/// The path of a member with that stamp: the pending one if it exists, else its own.
pub(crate) fn waiting(path: &Path, stamp: &str) -> io::Result<PathBuf> {
    Ok(sidecar(&resolved(path)?, stamp))
}

fn sidecar(place: &Path, stamp: &str) -> PathBuf {
    let mut name = OsString::from(format!(".oxport-{stamp}-"));
    name.push(place.file_name().unwrap_or_default());
    place.with_file_name(name)
}

fn remove_waiting(folder: &Path, is_member: &dyn Fn(&str) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let parts = file.to_str().and_then(|f| f.strip_prefix(".oxport-")?.split_once('-'));
        if parts.is_some_and(|(stamp, name)| stamp.len() == 16 && is_member(name)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// The destination of a file.
pub(crate) enum Destination {
    /// A regular file, existing or not, with links resolved.
    File(PathBuf, Option<Metadata>),
    /// A pipe, a device, an open file of the process.
    Stream(PathBuf),
    /// Standard output: `-`.
    Output,
}

impl Destination {
    /// The destination of a path.
    ///
    /// # Errors
    /// It is a folder, or a cycle of links.
    pub fn of(path: &Path) -> io::Result<Destination> {
        if is_standard_output(path) {
            return Ok(Destination::Output);
        }
        // Open file descriptors of the process are written to as they are.
        if ["/dev/fd/", "/dev/std", "/proc/self/fd/"].iter().any(|p| path.to_str().is_some_and(|t| t.starts_with(p))) {
            return Ok(Destination::Stream(path.to_path_buf()));
        }
        let place = resolved(path)?;
        match std::fs::metadata(&place) {
            Ok(old) if old.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(old) if old.is_file() => Ok(Destination::File(place, Some(old))),
            Ok(_) => Ok(Destination::Stream(place)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Destination::File(place, None)),
            Err(e) => Err(e),
        }
    }
}

/// True for `-` and the other names of standard output.
pub fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// The path with trailing links resolved; the target need not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_write(path: &Path, e: io::Error) -> Error {
    Error::io(format!("cannot write {}", path.display()), e)
}

/// A lock: one writer at a time replaces a set in a folder; the system releases the lock when the process ends. If a
/// folder cannot be locked, concurrent writers of the same set are not synchronized.
struct Lock(#[allow(dead_code)] Option<File>);

impl Lock {
    fn of(folder: &Path) -> Result<Lock> {
        const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
        let Ok(file) = File::open(folder) else { return Ok(Lock(None)) };
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(Some(file))),
                Err(std::fs::TryLockError::Error(_)) => return Ok(Lock(None)),
                Err(std::fs::TryLockError::WouldBlock) if start.elapsed() > LOCK_TIMEOUT => {
                    let cause = io::Error::new(io::ErrorKind::TimedOut, "another process has locked the folder");
                    return Err(cannot_write(folder, cause));
                }
                Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
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

    /// Writes some bytes and then fails, as on a full disk.
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
        // Around the buffer size of the writer, and far beyond.
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
    fn sets_are_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let [head, a, b] = ["head", "a", "b"].map(|name| folder.path().join(name));
        let write = |text: &'static str, fails: bool| -> Result<()> {
            let write = |out: &mut dyn Write| out.write_all(text.as_bytes());
            let members =
                vec![draft(&a, write)?, if fails { draft(&b, full_after(10_000))? } else { draft(&b, write)? }];
            commit(members, "0123456789abcdef", draft(&head, write)?, Vec::new(), &|name| ["a", "b"].contains(&name))
        };
        let read = || [&head, &a, &b].map(|path| std::fs::read_to_string(path).unwrap());
        write("old", false).unwrap();
        assert!(write("new", true).unwrap_err().is_io());
        assert_eq!((read(), names(folder.path()).len()), (["old", "old", "old"].map(String::from), 3));
        // Files that a killed writer left of the same members are removed; others stay.
        for left in [".oxport-fedcba9876543210-a", ".oxport-fedcba9876543210-c"] {
            std::fs::write(folder.path().join(left), "left").unwrap();
        }
        write("new", false).unwrap();
        assert_eq!(read(), ["new"; 3]);
        assert_eq!(names(folder.path()), [".oxport-fedcba9876543210-c", "a", "b", "head"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_files_keep_their_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        symlink("real/file", at("link")).unwrap();
        symlink("link", at("chain")).unwrap();
        symlink("round", at("round")).unwrap();
        for mode in [0o640, 0o600, 0o444, 0o4755] {
            replace_file(&at("chain"), |out| out.write_all(b"new")).unwrap();
            assert!(at("chain").is_symlink() && at("link").is_symlink() && !at("real/file").is_symlink());
            std::fs::set_permissions(at("real/file"), std::fs::Permissions::from_mode(mode)).unwrap();
            replace_file(&at("chain"), |out| out.write_all(b"newer")).unwrap();
            let metadata = std::fs::metadata(at("real/file")).unwrap();
            assert_eq!((metadata.permissions().mode() & 0o7777, metadata.len()), (mode & 0o777, 5));
        }
        assert_eq!(names(&at("real")), ["file"]);
        assert!(replace_file(&at("round"), |_| Ok(())).unwrap_err().is_io());
    }
}
