//! Temporary files, in the folder of their destination.
//!
//! ```text
//! .oxport-tmp-<process>-<random>    is being written; its writer holds a lock on it
//! .oxport-<stamp>-<name>            is complete, and will be renamed to <name>: see `replace`
//! ```
//!
//! Invariants: a process that fails, panics or is terminated (SIGINT, SIGTERM, by [`remove_temporaries`]) leaves none;
//! files of a killed process are removed by the next writer in the folder; files of a live process are never removed.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

const PREFIX: &str = ".oxport-tmp-";

/// The temporary files of this process, to be removed when it is terminated. Locked while files are renamed.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Locks the set of temporary files: none is created, renamed or removed by a signal meanwhile.
pub(crate) fn registered() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process, and keeps it from renaming others. To be called before it is
/// terminated.
pub fn remove_temporaries() {
    let registered = registered();
    registered.iter().for_each(|path| drop(std::fs::remove_file(path)));
    // A set that is being replaced is complete by now; no other will be started.
    std::mem::forget(registered);
}

/// A temporary file; removed on drop.
pub(crate) struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// A new file in a folder, to replace one with that metadata: its permissions are not wider.
    pub fn create(folder: &Path, old: Option<&Metadata>) -> io::Result<Temporary> {
        sweep(folder);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(8);
        // Temporary files have mode 0600 by default; a program gets the usual permissions.
        #[cfg(unix)]
        if old.is_none() {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let mut registered = registered();
        let file = builder.tempfile_in(folder)?;
        registered.insert(file.path().to_path_buf());
        // Without file locks, the age of the file decides.
        drop(file.as_file().try_lock());
        Ok(Temporary(Some(file)))
    }

    /// Sets the permissions of the file that it replaces.
    pub fn take_permissions(&self, old: &Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Set-user-id and set-group-id bits are not kept for new contents.
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

    /// Renames the file, replacing the destination. It is no longer temporary afterwards.
    pub fn rename(mut self, registered: &mut BTreeSet<PathBuf>, to: &Path) -> io::Result<()> {
        let file = self.0.take().expect("law: the file is there until it is moved");
        registered.remove(file.path());
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
            let mut registered = registered();
            registered.remove(file.path());
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

/// True if the file is not locked and its writer does not run, as far as the system tells.
fn is_stale(path: &Path, process: u32) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    let Some(file) = metadata.is_file().then(|| File::open(path).ok()).flatten() else { return false };
    let is_old = || metadata.modified().ok().and_then(|t| t.elapsed().ok()).is_some_and(|age| age > STALE_AFTER);
    let is_dead = Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists();
    file.try_lock().is_ok() && (is_dead || is_old())
}

const STALE_AFTER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_dead_processes_are_removed_and_no_others() {
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
