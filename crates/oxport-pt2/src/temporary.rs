//! Files on their way: under names of their own beside their places, and never left behind for long.
//!
//! ```text
//! .oxport-tmp-<process>-<random>    is being written; its writer holds a lock on it
//! .oxport-<stamp>-<name>            is whole, and waits to be moved to <name>: see `replace`
//! ```
//!
//! Laws: a process that fails, panics or is asked to end (SIGINT, SIGTERM, by [`remove_temporaries`]) leaves none; what one
//! that was killed left is removed by the next that writes into the folder; a file whose writer lives is never removed.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

const PREFIX: &str = ".oxport-tmp-";

/// The files of this process that are to be removed if it ends now. Whoever moves some to their places holds it.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The files of this process; nothing is created, moved or removed at the end meanwhile.
pub(crate) fn own() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what this process is writing, once and for all: nothing is placed afterwards. For whoever is about to end it.
pub fn remove_temporaries() {
    let own = own();
    own.iter().for_each(|path| drop(std::fs::remove_file(path)));
    // Files that belong together and are being placed were placed by now; no others will be.
    std::mem::forget(own);
}

/// A file under a temporary name; dropped, it is removed.
pub(crate) struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// A new file in a folder, in the place of one with that metadata: nobody gets to read it who could not read that one.
    pub fn create(folder: &Path, old: Option<&Metadata>) -> io::Result<Temporary> {
        sweep(folder);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(8);
        // Temporary files are their owner's alone by default; a program is as readable as other files.
        #[cfg(unix)]
        if old.is_none() {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let mut own = own();
        let file = builder.tempfile_in(folder)?;
        own.insert(file.path().to_path_buf());
        // Where the file system knows no locks, the age of the file speaks for it.
        drop(file.as_file().try_lock());
        Ok(Temporary(Some(file)))
    }

    /// Gives the file the permissions of the one that it replaces.
    pub fn take_permissions(&self, old: &Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What sets a user or a group is not for a file with other contents.
            let mode = std::fs::Permissions::from_mode(old.permissions().mode() & 0o777);
            self.file().as_file().set_permissions(mode)?;
        }
        #[cfg(not(unix))]
        let _ = old;
        Ok(())
    }

    fn file(&self) -> &NamedTempFile {
        self.0.as_ref().expect("law: the file is there until it is moved")
    }

    /// Moves the file to another name, in the place of what is there. It belongs to nobody afterwards.
    pub fn rename(mut self, own: &mut BTreeSet<PathBuf>, to: &Path) -> io::Result<()> {
        let file = self.0.take().expect("law: the file is there until it is moved");
        own.remove(file.path());
        file.persist(to).map(drop).map_err(|e| e.error)
    }
}

impl io::Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().as_file().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let mut own = own();
            own.remove(file.path());
            drop(file);
        }
    }
}

/// Removes the temporary files of dead processes.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let process = rest.split_once('-').and_then(|(process, _)| process.parse::<u32>().ok());
        if process.is_some_and(|process| is_stale(&entry.path(), process)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// True if nobody holds the file's lock, and its writer, as far as this system can say, is no more.
fn is_stale(path: &Path, process: u32) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    let Some(file) = metadata.is_file().then(|| File::open(path).ok()).flatten() else { return false };
    let is_old = || metadata.modified().ok().and_then(|t| t.elapsed().ok()).is_some_and(|age| age > MINUTE);
    let is_dead = Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists();
    file.try_lock().is_ok() && (is_dead || is_old())
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let living = Temporary::create(folder.path(), None).unwrap();
        // No process has this number: the largest that Linux gives is 2^22.
        let (dead, locked) = (at(".oxport-tmp-4194999-a"), at(".oxport-tmp-4194999-b"));
        let others = [".oxport-tmp-x-a", ".oxport-tmp-4194999", "oxport-tmp-4194999-a"].map(at);
        for path in others.iter().chain([&dead, &locked]) {
            std::fs::write(path, "").unwrap();
        }
        let lock = File::open(&locked).unwrap();
        lock.try_lock().unwrap();
        sweep(folder.path());
        assert!(living.file().path().exists() && locked.exists() && others.iter().all(|path| path.exists()));
        assert_eq!(dead.exists(), !Path::new("/proc/self").exists());
    }
}
