//! Replacing a file as a whole.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::{Error, Result};

/// Writes a file beside its place and then moves it there: a reader sees the old file or the new one, and a mapping of the
/// old one stays what it was.
pub(crate) fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |e| Error::io(format!("cannot write {}", path.display()), e);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are their owner's alone by default; a program is as readable as other files.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut out = BufWriter::new(builder.tempfile_in(folder).map_err(failed)?);
    write(&mut out).map_err(failed)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}
