//! The one error of this room: a request that cannot be served.
//!
//! A program that is *wrong* yields diagnostics, all at once; this error is for a single call that cannot be bound,
//! inferred or run. Broken laws panic.

use std::fmt;

/// A result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call cannot be bound, inferred, built or run.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<(Kind, String)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Invalid,
    Unsupported,
    Assertion,
    Limit,
}

impl Error {
    /// The call is refused: PyTorch would refuse it too.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error(Box::new((Kind::Invalid, message.into())))
    }
    /// The call may be legal, but oxport cannot serve it (a missing operator, dtype or case).
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error(Box::new((Kind::Unsupported, message.into())))
    }
    /// An assertion of the program failed while running (`aten::_assert_scalar` and its like).
    pub fn assertion(message: impl Into<String>) -> Error {
        Error(Box::new((Kind::Assertion, message.into())))
    }
    /// True if oxport lacks something, rather than the call being wrong.
    pub fn is_unsupported(&self) -> bool {
        self.0.0 == Kind::Unsupported
    }
    /// True if an assertion written in the program failed.
    pub fn is_assertion(&self) -> bool {
        self.0.0 == Kind::Assertion
    }
    /// True if the call asked for a larger buffer than it may have ([`oxport_tensor::Pool`]).
    pub fn is_limit(&self) -> bool {
        self.0.0 == Kind::Limit
    }
    /// The message without any prefix.
    pub fn message(&self) -> &str {
        &self.0.1
    }
    /// The same error with `place: ` before its message.
    pub fn at(self, place: impl fmt::Display) -> Error {
        let message = format!("{place}: {}", self.message());
        self.with_message(message)
    }
    /// An error of the same kind with another message.
    pub fn with_message(mut self, message: String) -> Error {
        self.0.1 = message;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.1)
    }
}

impl std::error::Error for Error {}

impl From<oxport_tensor::Error> for Error {
    fn from(e: oxport_tensor::Error) -> Error {
        let kind = match () {
            () if e.is_unsupported() => Kind::Unsupported,
            () if e.is_limit() => Kind::Limit,
            () => Kind::Invalid,
        };
        Error(Box::new((kind, e.to_string())))
    }
}

/// Returns early with [`Error::invalid`] unless the condition holds: `ensure!(a == b, "sizes {a} and {b} differ")`.
#[macro_export]
macro_rules! ensure {
    ($cond:expr, $($message:tt)+) => {
        if !$cond {
            return Err($crate::Error::invalid(format!($($message)+)));
        }
    };
}
