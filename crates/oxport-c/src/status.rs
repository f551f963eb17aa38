//! [`OxportStatus`]: how a call ended, in the numbers of the command line's exit codes; and [`Failure`], the reason.
//!
//! Law: a status other than `Ok` comes with a message.

#![forbid(unsafe_code)]

use oxport::ir::terminal::Lines;
use oxport::{Diagnostic, ReadLimits};
use std::any::Any;

/// The version of this interface, which grows when a program that was compiled before would no longer work.
pub const OXPORT_ABI_VERSION: u32 = 1;

/// How a call ended. The numbers up to 6 are the exit codes of the command line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OxportStatus {
    /// Done.
    Ok = 0,
    /// The call is wrong: NULL, a setting, a value or a buffer that is not what it should be.
    Usage = 2,
    /// The file is not a valid program: see `oxport_error_diagnostics`.
    Invalid = 3,
    /// The program is valid, but needs what this library does not have.
    Unsupported = 4,
    /// The call failed while running: inputs that the program does not take, an assertion of the program, no memory.
    Failed = 5,
    /// The file cannot be read.
    File = 6,
    /// A limit was exceeded; the message names it.
    Limit = 7,
    /// A defect of oxport; please report the message. Handles can still be used and freed.
    Panic = 8,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: OxportStatus,
    pub(crate) message: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The result of what may fail.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl OxportStatus {
    /// All, with their names.
    pub(crate) const ALL: [(OxportStatus, &'static std::ffi::CStr); 8] = [
        (OxportStatus::Ok, c"done"),
        (OxportStatus::Usage, c"wrong usage"),
        (OxportStatus::Invalid, c"the program is not valid"),
        (OxportStatus::Unsupported, c"not supported"),
        (OxportStatus::Failed, c"failed while running"),
        (OxportStatus::File, c"the file cannot be read"),
        (OxportStatus::Limit, c"a limit was exceeded"),
        (OxportStatus::Panic, c"a defect of oxport"),
    ];
}

impl Failure {
    pub(crate) fn new(status: OxportStatus, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), diagnostics: Vec::new() }
    }
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(OxportStatus::Usage, message)
    }
    /// What a caught panic says.
    pub(crate) fn panic(payload: &(dyn Any + Send)) -> Failure {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Failure::new(
            OxportStatus::Panic,
            format!("a defect of oxport: {}", text.unwrap_or("a panic without a message")),
        )
    }
    /// The same with what it is about in front.
    pub(crate) fn of(self, what: impl std::fmt::Display) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }
}

/// Whether a diagnostic names a limit, as every error about a limit does.
fn names_limit(diagnostic: &Diagnostic) -> bool {
    ReadLimits::TABLE.iter().any(|(name, _)| diagnostic.message.ends_with(&format!("(`{name}`)")))
}

impl From<oxport::Error> for Failure {
    fn from(e: oxport::Error) -> Failure {
        let status = match e.exit_code() {
            _ if e.is_limit() || e.diagnostics().iter().any(names_limit) => OxportStatus::Limit,
            2 => OxportStatus::Usage,
            3 => OxportStatus::Invalid,
            4 => OxportStatus::Unsupported,
            6 => OxportStatus::File,
            _ => OxportStatus::Failed,
        };
        let text = match (e.reason(), e.diagnostics()) {
            (None, found @ [_, _, ..]) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            (Some((reason, _)), _) => reason.to_string(),
            _ => e.to_string(),
        };
        let path = e.path().map(|path| path.display().to_string()).filter(|path| !text.contains(path));
        let message = path.map_or(text.clone(), |path| format!("{path}: {text}"));
        Failure { status, message: Lines(message).to_string(), diagnostics: e.diagnostics().to_vec() }
    }
}

impl From<oxport::run::Error> for Failure {
    fn from(e: oxport::run::Error) -> Failure {
        oxport::Error::from(e).into()
    }
}

impl From<oxport::tensor::Error> for Failure {
    /// A value of the caller that is no tensor, unless there was no memory for a copy.
    fn from(e: oxport::tensor::Error) -> Failure {
        let status = if e.is_memory() { OxportStatus::Failed } else { OxportStatus::Usage };
        Failure::new(status, e.to_string())
    }
}
