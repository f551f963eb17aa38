//! One opaque [`Error`]; for a file that is not valid it has the diagnostics.

use std::fmt;

use oxport_ir::{Diagnostic, Loc};

/// Why reading or writing a file failed.
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
    /// An operating system error.
    pub fn io(what: impl Into<String>, cause: std::io::Error) -> Error {
        Error(Box::new(Kind::Io { what: what.into(), cause }))
    }

    /// The file is not valid: one diagnostic.
    pub fn invalid(code: &'static str, at: Loc, message: impl Into<String>) -> Error {
        Error::all(vec![Diagnostic::error(code, at, message)])
    }

    /// The file is not valid: all diagnostics, at most the first thousand.
    pub fn all(diagnostics: Vec<Diagnostic>) -> Error {
        Error(Box::new(Kind::Invalid(first_of(diagnostics))))
    }

    /// The file may be valid, but uses something that this crate does not support.
    pub fn unsupported(code: &'static str, at: Loc, message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Unsupported(vec![Diagnostic::error(code, at, message)])))
    }

    /// As [`Error::unsupported`], with several diagnostics.
    pub fn all_unsupported(diagnostics: Vec<Diagnostic>) -> Error {
        Error(Box::new(Kind::Unsupported(first_of(diagnostics))))
    }

    /// An entry of an archive (or the archive, if the name is empty) is not valid.
    pub(crate) fn entry(code: &'static str, entry: &str, message: impl Into<String>) -> Error {
        let at = if entry.is_empty() { Loc::Program } else { Loc::Entry(entry.to_string()) };
        Error::invalid(code, at, message)
    }

    /// True for operating system errors: no such file, no space, ….
    pub fn is_io(&self) -> bool {
        matches!(*self.0, Kind::Io { .. })
    }

    /// True if the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(&*self.0, Kind::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound)
    }

    /// True if the output is a pipe whose reader has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(&*self.0, Kind::Io { cause, .. } if cause.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// True if the file is not valid.
    pub fn is_invalid(&self) -> bool {
        matches!(*self.0, Kind::Invalid(_))
    }

    /// True if the file may be valid, but uses something that this crate does not support.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported(_))
    }

    /// The diagnostics; none for operating system errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            Kind::Io { .. } => &[],
            Kind::Invalid(list) | Kind::Unsupported(list) => list,
        }
    }
}

/// The maximum number of diagnostics of one error.
const MAX_DIAGNOSTICS: usize = 1000;

fn first_of(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let more = diagnostics.len().saturating_sub(MAX_DIAGNOSTICS);
    diagnostics.truncate(MAX_DIAGNOSTICS);
    if let Some(last) = diagnostics.last_mut().filter(|_| more > 0) {
        last.notes.push(format!("and {more} more diagnostics, which are not shown"));
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
