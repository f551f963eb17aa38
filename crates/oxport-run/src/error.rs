//! The error of this crate: a program that cannot be planned, or a call that fails.

use oxport_ir::Error as IrError;
use std::fmt;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a program cannot be planned, or a call failed; opaque, with predicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Kind>);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Missing(Vec<String>),
    Input(String),
    Run(IrError),
}

impl Error {
    /// Operators without kernel, by name.
    pub(crate) fn missing_ops(mut names: Vec<String>) -> Error {
        names.sort();
        names.dedup();
        Error(Box::new(Kind::Missing(names)))
    }
    /// An input that the program does not take.
    pub(crate) fn input(message: impl Into<String>) -> Error {
        Error(Box::new(Kind::Input(message.into())))
    }
    /// True if oxport lacks something, rather than the program or the call being wrong.
    pub fn is_unsupported(&self) -> bool {
        match &*self.0 {
            Kind::Missing(_) => true,
            Kind::Input(_) => false,
            Kind::Run(e) => e.is_unsupported(),
        }
    }
    /// True if an assertion written in the program failed: `aten::_assert_scalar` and its like.
    pub fn is_assertion(&self) -> bool {
        matches!(&*self.0, Kind::Run(e) if e.is_assertion())
    }
    /// True if a call needed a larger buffer than [`PlanOptions::max_buffer_bytes`](crate::PlanOptions) allows.
    pub fn is_limit(&self) -> bool {
        matches!(&*self.0, Kind::Run(e) if e.is_limit())
    }
    /// True if the inputs were rejected before anything ran: their number, tree, sizes, kinds or values.
    pub fn is_input(&self) -> bool {
        matches!(&*self.0, Kind::Input(_))
    }
    /// The whole list of operators that the program needs and that have no kernel, sorted; empty for other errors.
    pub fn missing(&self) -> &[String] {
        if let Kind::Missing(names) = &*self.0 { names } else { &[] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Missing(names) => write!(f, "no kernel for {}", names.join(", ")),
            Kind::Input(message) => f.write_str(message),
            Kind::Run(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Kind::Run(e) = &*self.0 { e.source() } else { None }
    }
}

impl From<IrError> for Error {
    fn from(e: IrError) -> Error {
        Error(Box::new(Kind::Run(e)))
    }
}

impl From<oxport_tensor::Error> for Error {
    fn from(e: oxport_tensor::Error) -> Error {
        IrError::from(e).into()
    }
}
