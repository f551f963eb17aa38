//! Why code cannot be captured: PyTorch's message, and the lines of Rust (or of the traced language) that led to it.

use std::fmt;
use std::sync::Arc;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call, or a whole capture, is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    cause: oxport_ir::Error,
    trace: Option<Arc<str>>,
}

impl Error {
    /// The code is wrong: PyTorch refuses it too.
    pub fn invalid(message: impl Into<String>) -> Error {
        oxport_ir::Error::invalid(message).into()
    }
    /// The code may be right, but oxport lacks something.
    pub fn unsupported(message: impl Into<String>) -> Error {
        oxport_ir::Error::unsupported(message).into()
    }
    /// The message alone, PyTorch's where PyTorch refuses the same.
    pub fn message(&self) -> &str {
        self.cause.message()
    }
    /// The lines that led to the call, the innermost last, as they stand in `stack_trace`.
    pub fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }
    /// True if oxport lacks something, rather than the code being wrong.
    pub fn is_unsupported(&self) -> bool {
        self.cause.is_unsupported()
    }
    /// The same error at these lines, unless it knows its own.
    pub(crate) fn traced(mut self, trace: Option<&Arc<str>>) -> Error {
        self.trace = self.trace.or_else(|| trace.cloned());
        self
    }
}

impl From<oxport_ir::Error> for Error {
    fn from(cause: oxport_ir::Error) -> Error {
        Error { cause, trace: None }
    }
}

impl From<oxport_tensor::Error> for Error {
    fn from(cause: oxport_tensor::Error) -> Error {
        oxport_ir::Error::from(cause).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())?;
        match &self.trace {
            Some(trace) => write!(f, "\n{trace}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
