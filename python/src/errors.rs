//! Exceptions: the error of the library as an exception of `oxport.errors`, with its diagnostics as data.

use oxport::{Diagnostic, Error};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error of the library: its class says what kind it is, as the exit code of the command line
/// does.
pub(crate) fn raise(error: Error) -> PyErr {
    let class = match error.exit_code() {
        2 => "UsageError",
        3 => "ProgramError",
        4 => "UnsupportedError",
        5 if error.is_limit() => "LimitError",
        5 => "RunError",
        _ => "FileError",
    };
    Python::attach(|py| {
        let made = exception(py, class, &error.to_string()).and_then(|exception| {
            exception.setattr("diagnostics", diagnostics(py, error.diagnostics())?)?;
            if class == "UnsupportedError" {
                exception.setattr("missing", error.missing())?;
            }
            if let Some(path) = error.path() {
                exception.setattr("path", path)?;
            }
            Ok(exception)
        });
        made.map_or_else(|e| e, PyErr::from_value)
    })
}

/// The exception for an error of a call: of its arguments, or while running.
pub(crate) fn raise_call(error: oxport::run::Error) -> PyErr {
    if !error.is_input() {
        return raise(error.into());
    }
    new("InputError", &error.to_string())
}

/// A wrong argument of a function of this package.
pub(crate) fn usage(text: impl AsRef<str>) -> PyErr {
    new("UsageError", text.as_ref())
}

/// The exception for a program with these diagnostics.
pub(crate) fn invalid(found: Vec<Diagnostic>) -> PyErr {
    let first = found.first().map_or_else(String::new, ToString::to_string);
    let more = if found.len() > 1 { format!(" (and {} more)", found.len() - 1) } else { String::new() };
    Python::attach(|py| {
        let made = exception(py, "ProgramError", &format!("the program is not valid: {first}{more}"))
            .and_then(|e| diagnostics(py, &found).and_then(|list| e.setattr("diagnostics", list)).map(|()| e));
        made.map_or_else(|e| e, PyErr::from_value)
    })
}

/// Diagnostics as a list of `oxport.Diagnostic`.
pub(crate) fn diagnostics<'py>(py: Python<'py>, found: &[Diagnostic]) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("oxport.errors")?.getattr("Diagnostic")?;
    let one = |d: &Diagnostic| {
        let fields = PyDict::new(py);
        fields.set_item("code", d.code)?;
        fields.set_item("severity", d.severity.to_string())?;
        fields.set_item("at", d.at.to_string())?;
        fields.set_item("message", &d.message)?;
        fields.set_item("notes", &d.notes)?;
        class.call((), Some(&fields))
    };
    found.iter().map(one).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)
}

fn new(class: &str, text: &str) -> PyErr {
    Python::attach(|py| exception(py, class, text).map_or_else(|e| e, PyErr::from_value))
}

fn exception<'py>(py: Python<'py>, class: &str, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("oxport.errors")?.getattr(class)?.call1((text,))
}
