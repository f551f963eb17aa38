//! The error of this crate, with the exit code of the command line.

use oxport_ir::Diagnostic;
use std::fmt;
use std::path::{Path, PathBuf};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request failed.
#[derive(Debug)]
pub struct Error(Box<Kind>);

#[derive(Debug)]
enum Kind {
    File(oxport_pt2::Error),
    Call(oxport_ir::Error),
    Run(oxport_run::Error),
    #[cfg(feature = "python")]
    Source(oxport_python::Error),
    NotValid(Vec<Diagnostic>),
    Rewrite(String),
    Io(String, std::io::Error),
    Data(String),
    Usage(String),
    Because(String, Error),
    Of(PathBuf, Error),
}

impl Error {
    /// An input or output file with unexpected contents.
    pub fn data(message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Data(message.into())))
    }
    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Usage(message.into())))
    }
    /// A file that cannot be read or written.
    pub fn io(what: impl fmt::Display, cause: std::io::Error) -> Error {
        Error(Box::new(Kind::Io(what.to_string(), cause)))
    }
    /// A rewrite that failed its validation.
    pub fn rewrite(message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Rewrite(message.into())))
    }
    /// A program with these verifier errors.
    pub(crate) fn not_valid(found: Vec<Diagnostic>) -> Error {
        Error(Box::new(Kind::NotValid(found)))
    }
    /// The same error with its reason in front, if there is one.
    pub fn because(self, reason: Option<String>) -> Error {
        match reason {
            Some(reason) => Error(Box::new(Kind::Because(reason, self))),
            None => self,
        }
    }
    /// The same error, of this file.
    pub fn of_file(self, path: impl Into<PathBuf>) -> Error {
        Error(Box::new(Kind::Of(path.into(), self)))
    }
    /// An error of a file of values, in one line.
    pub(crate) fn of_values(name: &str, e: oxport_pt2::Error) -> Error {
        let one = |d: &Diagnostic| match &d.at {
            oxport_ir::Loc::Program => format!("{name}: {}", d.message),
            oxport_ir::Loc::Entry(at) | oxport_ir::Loc::Json(at) if at.starts_with(name) => {
                format!("{at}: {}", d.message)
            }
            at => format!("{name}: {}, at {at}", d.message),
        };
        match e.diagnostics() {
            [] => e.into(),
            found => Error::data(found.iter().map(one).collect::<Vec<_>>().join("; ")),
        }
    }
    /// The same error with the name of the file in front.
    pub fn within(self, path: &Path) -> Error {
        match *self.0 {
            Kind::Data(message) => Error::data(format!("{}: {message}", path.display())),
            kind => Error(Box::new(kind)),
        }
    }
    /// The reason and the error behind it, if there is one.
    pub fn reason(&self) -> Option<(&str, &Error)> {
        match &*self.0 {
            Kind::Because(reason, cause) => Some((reason, cause)),
            Kind::Of(_, e) => e.reason(),
            _ => None,
        }
    }
    /// The file that the error is about, if it is known.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            Kind::Of(path, _) => Some(path),
            Kind::Because(_, e) => e.path(),
            _ => None,
        }
    }
    /// The error behind reasons and files.
    fn cause(&self) -> &Kind {
        match &*self.0 {
            Kind::Because(_, e) | Kind::Of(_, e) => e.cause(),
            kind => kind,
        }
    }
    /// The diagnostics of an invalid program or file; empty for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self.cause() {
            Kind::File(e) => e.diagnostics(),
            Kind::NotValid(found) => found,
            _ => &[],
        }
    }
    /// True if oxport lacks something that a valid program needs.
    pub fn is_unsupported(&self) -> bool {
        match self.cause() {
            Kind::File(e) => e.is_unsupported(),
            Kind::Call(e) => e.is_unsupported(),
            Kind::Run(e) => e.is_unsupported(),
            #[cfg(feature = "python")]
            Kind::Source(e) => e.is_unsupported(),
            _ => false,
        }
    }
    /// True if the reader of an output pipe has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        match self.cause() {
            Kind::File(e) => e.is_closed_pipe(),
            Kind::Io(_, e) => e.kind() == std::io::ErrorKind::BrokenPipe,
            _ => false,
        }
    }
    /// True if a call needed a larger buffer than [`PlanOptions::max_buffer_bytes`](crate::PlanOptions) allows.
    pub fn is_limit(&self) -> bool {
        match self.cause() {
            Kind::Call(e) => e.is_limit(),
            Kind::Run(e) => e.is_limit(),
            _ => false,
        }
    }
    /// The operators of the program that have no kernel.
    pub fn missing(&self) -> &[String] {
        match self.cause() {
            Kind::Run(e) => e.missing(),
            _ => &[],
        }
    }
    /// The exit code of the command line: 2 usage, 3 not valid, 4 not supported, 5 failed while running, 6 file
    /// trouble, 141 a closed pipe.
    pub fn exit_code(&self) -> u8 {
        match self.cause() {
            Kind::Because(_, e) | Kind::Of(_, e) => e.exit_code(),
            Kind::Usage(_) => 2,
            #[cfg(feature = "python")]
            Kind::Source(e) if e.is_usage() => 2,
            #[cfg(feature = "python")]
            Kind::Source(e) if e.is_rejected() => 3,
            _ if self.is_unsupported() => 4,
            _ if self.is_closed_pipe() => 141,
            Kind::File(e) if e.is_io() => 6,
            Kind::Io(..) | Kind::Data(_) => 6,
            Kind::File(_) | Kind::Call(_) | Kind::NotValid(_) => 3,
            Kind::Run(_) | Kind::Rewrite(_) => 5,
            #[cfg(feature = "python")]
            Kind::Source(_) => 5,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::File(e) => e.fmt(f),
            Kind::Call(e) => e.fmt(f),
            Kind::Run(e) => e.fmt(f),
            #[cfg(feature = "python")]
            Kind::Source(e) => e.fmt(f),
            Kind::NotValid(found) => {
                write!(f, "the program is not valid: {}", found.first().map_or(String::new(), ToString::to_string))
            }
            Kind::Because(reason, e) => write!(f, "{reason}\n  {e}"),
            Kind::Of(_, e) => e.fmt(f),
            Kind::Io(what, cause) => write!(f, "{what}: {cause}"),
            Kind::Data(m) | Kind::Usage(m) | Kind::Rewrite(m) => f.write_str(m),
        }
    }
}

impl std::error::Error for Error {
    /// What is behind the sentence of this error: an operating system error, or the failure for which a reason is
    /// given.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::File(e) => e.source(),
            Kind::Call(e) => e.source(),
            Kind::Run(e) => e.source(),
            Kind::Io(_, cause) => Some(cause),
            Kind::Because(_, e) => Some(e),
            Kind::Of(_, e) => e.source(),
            #[cfg(feature = "python")]
            Kind::Source(_) => None,
            Kind::NotValid(_) | Kind::Rewrite(_) | Kind::Data(_) | Kind::Usage(_) => None,
        }
    }
}

impl From<oxport_pt2::Error> for Error {
    fn from(e: oxport_pt2::Error) -> Error {
        Error(Box::new(Kind::File(e)))
    }
}
impl From<oxport_ir::Error> for Error {
    fn from(e: oxport_ir::Error) -> Error {
        Error(Box::new(Kind::Call(e)))
    }
}
impl From<oxport_run::Error> for Error {
    fn from(e: oxport_run::Error) -> Error {
        Error(Box::new(Kind::Run(e)))
    }
}
#[cfg(feature = "python")]
impl From<oxport_python::Error> for Error {
    fn from(e: oxport_python::Error) -> Error {
        Error(Box::new(Kind::Source(e)))
    }
}
impl From<oxport_tensor::Error> for Error {
    fn from(e: oxport_tensor::Error) -> Error {
        oxport_ir::Error::from(e).into()
    }
}
