//! The one error of this crate: a request that cannot be served.

use crate::DType;

/// Why a tensor operation could not be done; opaque, with predicates.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("unsupported: {0}")]
    Unsupported(String),
    #[error("{0}")]
    Shape(String),
    #[error("{0}")]
    Index(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Memory(String),
    #[error("{what}: the limit for one buffer is {limit}")]
    Limit { what: String, limit: usize },
    #[error("cannot map the file: {0}")]
    Io(#[from] std::io::Error),
}

impl Error {
    /// The operation exists but not for these dtypes, ranks or options.
    pub fn unsupported(what: impl Into<String>) -> Error {
        Kind::Unsupported(what.into()).into()
    }
    /// The fallback of [`dispatch!`](crate::dispatch): no kernel for this dtype in the named class.
    pub fn unsupported_dtype(dtype: DType, class: &str) -> Error {
        Error::unsupported(format!("expected a dtype of: {class}, got {}", dtype.name()))
    }
    /// Sizes or strides do not fit the operation.
    pub fn shape(what: impl Into<String>) -> Error {
        Kind::Shape(what.into()).into()
    }
    /// An index or a dimension is out of range.
    pub fn index(what: impl Into<String>) -> Error {
        Kind::Index(what.into()).into()
    }
    /// An argument has a value that the operation does not take.
    pub fn invalid(what: impl Into<String>) -> Error {
        Kind::Invalid(what.into()).into()
    }
    /// Memory is too short, misaligned, in use, or not to be had.
    pub fn memory(what: impl Into<String>) -> Error {
        Kind::Memory(what.into()).into()
    }
    /// A buffer of so many bytes is larger than its pool allows.
    pub(crate) fn limit(bytes: usize, limit: usize) -> Error {
        Kind::Limit { what: format!("a buffer of {bytes} bytes"), limit }.into()
    }
    /// The same error, with other words for what is too large; errors of other kinds stay as they are.
    pub(crate) fn limit_on(mut self, described: impl FnOnce() -> String) -> Error {
        if let Kind::Limit { what, .. } = &mut *self.0 {
            *what = described();
        }
        self
    }
    /// True if the operation is valid but not implemented.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported(_))
    }
    /// True when sizes or strides were at fault.
    pub fn is_shape(&self) -> bool {
        matches!(*self.0, Kind::Shape(_))
    }
    /// True when an index or dimension was out of range (PyTorch's `IndexError`).
    pub fn is_index(&self) -> bool {
        matches!(*self.0, Kind::Index(_))
    }
    /// True when one buffer would be larger than its [`Pool`](crate::Pool) allows.
    pub fn is_limit(&self) -> bool {
        matches!(*self.0, Kind::Limit { .. })
    }
    /// True when memory was at fault: overlap, extent, alignment, exhaustion.
    pub fn is_memory(&self) -> bool {
        matches!(*self.0, Kind::Memory(_))
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Error {
        Error(Box::new(kind))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Kind::Io(error).into()
    }
}
