//! What can go wrong with a file: one opaque [`Error`], which carries the diagnostics of a file that is not valid.

use std::fmt;

use oxport_ir::{Diagnostic, Loc};

/// Why a file was not read or written.
#[derive(Debug)]
pub struct Error(Box<Kind>);

/// The result of reading or writing a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
enum Kind {
    Io { what: String, cause: std::io::Error },
    Invalid(Vec<Diagnostic>),
    Unsupported(Vec<Diagnostic>),
}

impl Error {
    /// The operating system refused.
    pub fn io(what: impl Into<String>, cause: std::io::Error) -> Error {
        Error(Box::new(Kind::Io { what: what.into(), cause }))
    }

    /// The file is not valid, for one reason.
    pub fn invalid(code: &'static str, at: Loc, message: impl Into<String>) -> Error {
        Error::all(vec![Diagnostic::error(code, at, message)])
    }

    /// The file is not valid, for all these reasons; of more than a thousand, the first are kept.
    pub fn all(diagnostics: Vec<Diagnostic>) -> Error {
        Error(Box::new(Kind::Invalid(first_of(diagnostics))))
    }

    /// The file may well be valid, but this crate cannot take it.
    pub fn unsupported(code: &'static str, at: Loc, message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Unsupported(vec![Diagnostic::error(code, at, message)])))
    }

    /// As [`Error::unsupported`], for all these reasons.
    pub fn all_unsupported(diagnostics: Vec<Diagnostic>) -> Error {
        Error(Box::new(Kind::Unsupported(first_of(diagnostics))))
    }

    /// An entry of an archive (or the archive, if the name is empty) is not valid.
    pub(crate) fn entry(code: &'static str, entry: &str, message: impl Into<String>) -> Error {
        let at = if entry.is_empty() { Loc::Program } else { Loc::Entry(entry.to_string()) };
        Error::invalid(code, at, message)
    }

    /// True if the operating system refused: no such file, no space, ….
    pub fn is_io(&self) -> bool {
        matches!(*self.0, Kind::Io { .. })
    }

    /// True if there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(&*self.0, Kind::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound)
    }

    /// True if it was written to a pipe that nobody reads any more.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(&*self.0, Kind::Io { cause, .. } if cause.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// True if the file is not valid.
    pub fn is_invalid(&self) -> bool {
        matches!(*self.0, Kind::Invalid(_))
    }

    /// True if the file is valid as far as it was read, but has something that this crate cannot take.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported(_))
    }

    /// The complaints; none if the operating system refused.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            Kind::Io { .. } => &[],
            Kind::Invalid(list) | Kind::Unsupported(list) => list,
        }
    }
}

/// A file that is wrong in a million places is told so in a thousand.
const MOST: usize = 1000;

fn first_of(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let more = diagnostics.len().saturating_sub(MOST);
    diagnostics.truncate(MOST);
    if let Some(last) = diagnostics.last_mut().filter(|_| more > 0) {
        last.notes.push(format!("and {more} more complaints, which are not shown"));
    }
    diagnostics
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::all(vec![diagnostic])
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Io { what, cause } => write!(f, "{what}: {cause}"),
            Kind::Invalid(list) | Kind::Unsupported(list) => {
                for (i, diagnostic) in list.iter().enumerate() {
                    write!(f, "{}{diagnostic}", if i == 0 { "" } else { "\n" })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
