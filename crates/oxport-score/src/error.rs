//! Why a table cannot be scored.
//!
//! Invariant: an error of a cell names its column and its row, counted from the first row of the batch or of the file.

use arrow_schema::ArrowError;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a table cannot be scored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked does not fit the program or the table.
    #[error("{0}")]
    Request(String, Option<Remedy>),
    /// A file has unexpected contents.
    #[error("{0}")]
    Data(String),
    /// A file uses what this crate lacks.
    #[error("{0}")]
    Unsupported(String),
    /// The operating system refused.
    #[error("{0}: {1}")]
    Io(String, #[source] std::io::Error),
    /// A cell that no tensor can hold.
    #[error("column `{column}`, row {row}: {message}")]
    Cell {
        /// The column.
        column: String,
        /// The row, from 0.
        row: u64,
        /// What was expected, and what is there.
        message: String,
        /// What makes it possible.
        remedy: Option<Remedy>,
    },
    /// The program failed.
    #[error(transparent)]
    Run(#[from] oxport_run::Error),
    /// An error at a place.
    #[error("{0}: {1}")]
    At(String, #[source] Box<Error>),
}

/// The option of [`Options`](crate::Options) that turns an error into a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A value for nulls.
    Null,
    /// A value for what shorter lists lack.
    Pad,
    /// Conversions that round.
    Cast,
    /// Columns for an input.
    Bind,
    /// A value for an input.
    Constant,
    /// A choice of outputs.
    Outputs,
    /// Going on with the run that left its parts.
    Resume,
}

impl Error {
    pub(crate) fn request(message: impl Into<String>) -> Error {
        Error::Request(message.into(), None)
    }
    pub(crate) fn io(what: impl Display, path: &Path, cause: std::io::Error) -> Error {
        Error::Io(format!("{what} {}", path.display()), cause)
    }
    /// The same error, of this place.
    pub(crate) fn at(self, place: impl Display) -> Error {
        Error::At(place.to_string(), Box::new(self))
    }
    /// The same error, with its row counted from `rows` rows before.
    pub(crate) fn below(mut self, rows: u64) -> Error {
        match &mut self {
            Error::Cell { row, .. } => *row += rows,
            Error::At(_, e) => **e = std::mem::replace(&mut **e, Error::Data(String::new())).below(rows),
            _ => {}
        }
        self
    }
    /// The error behind places.
    pub fn cause(&self) -> &Error {
        match self {
            Error::At(_, e) => e.cause(),
            e => e,
        }
    }
    /// What turns it into a result, if something does.
    pub fn remedy(&self) -> Option<Remedy> {
        match self.cause() {
            Error::Request(_, remedy) | Error::Cell { remedy, .. } => *remedy,
            _ => None,
        }
    }
}

/// An error of a library that reads or writes `path`.
pub(crate) fn of_arrow(path: &Path, e: ArrowError) -> Error {
    let of = |text: String| format!("{}: {text}", path.display());
    match e {
        // A reader that seeks before the beginning has read a wrong offset.
        ArrowError::IoError(_, cause) if matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::UnexpectedEof) => {
            Error::Data(of(format!("the file is damaged, or of another format: {cause}")))
        }
        ArrowError::IoError(_, cause) => Error::Io(path.display().to_string(), cause),
        ArrowError::InvalidArgumentError(text) if text.starts_with("zstd") => {
            Error::Unsupported(of("the codec zstd is not supported".to_string()))
        }
        ArrowError::NotYetImplemented(text) => Error::Unsupported(of(text)),
        ArrowError::ExternalError(e) => match e.downcast::<parquet::errors::ParquetError>() {
            Ok(e) => of_parquet(path, *e),
            Err(e) => Error::Data(of(e.to_string())),
        },
        e => Error::Data(of(e.to_string())),
    }
}

/// As [`of_arrow`].
pub(crate) fn of_parquet(path: &Path, e: parquet::errors::ParquetError) -> Error {
    use parquet::errors::ParquetError;
    let of = |text: String| format!("{}: {text}", path.display());
    match e {
        ParquetError::NYI(text) => Error::Unsupported(of(text)),
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => Error::Io(path.display().to_string(), *e),
            Err(e) => Error::Data(of(e.to_string())),
        },
        e => Error::Data(of(e.to_string())),
    }
}
