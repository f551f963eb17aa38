//! From a program to its graph and back: what `Program.graph`, `Program.recompile` and `Graph.reset` do.
//!
//! Laws: a program has one graph; what it takes was checked as a whole; an error leaves program and graph as they were.

use crate::errors::invalid;
use crate::handle::{Graph, Node, refused};
use crate::live::Live;
use crate::program::Program;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// Adds what `oxport.fx` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Graph>()?;
    module.add_class::<Node>()?;
    module.add_function(wrap_pyfunction!(_graph_of, module)?)?;
    module.add_function(wrap_pyfunction!(_follow, module)?)?;
    module.add_function(wrap_pyfunction!(_reset, module)?)?;
    module.add_function(wrap_pyfunction!(_recompile, module)?)
}

/// A graph over a copy of a program.
#[pyfunction]
fn _graph_of<'py>(program: &Bound<'py, Program>) -> PyResult<Bound<'py, Graph>> {
    let py = program.py();
    let live = Live::new(&program.get().exported(), program.get().toolchain().clone());
    Bound::new(py, Graph::new(py, live, Some(program.as_any()))?)
}

/// Takes over what the program is now, if it was replaced by something else than this graph; edits are kept.
#[pyfunction]
fn _follow(program: &Bound<'_, Program>, graph: &Bound<'_, Graph>) -> PyResult<()> {
    let exported = program.get().exported();
    graph.get().with(program.py(), |live, _| {
        if !live.is_of(&exported) && !live.is_edited {
            live.reload(&exported);
        }
        Ok(())
    })
}

/// Drops all edits that the program does not have.
#[pyfunction]
fn _reset(program: &Bound<'_, Program>, graph: &Bound<'_, Graph>) -> PyResult<()> {
    let exported = program.get().exported();
    graph.get().with(program.py(), |live, _| {
        live.reload(&exported);
        Ok(())
    })
}

/// Gives a program what its graph is, after all of it was checked.
#[pyfunction]
fn _recompile(program: &Bound<'_, Program>, graph: &Bound<'_, Graph>) -> PyResult<()> {
    enum Failed {
        Replaced,
        Invalid(Vec<oxport::Diagnostic>),
    }
    let py = program.py();
    let own = program.get();
    let taken = graph.get().shared.with_detached(py, |live| {
        if !live.is_of(&own.exported()) {
            return Err(Failed::Replaced);
        }
        if !live.is_edited {
            return Ok(Vec::new());
        }
        let checked = live.checked().map_err(Failed::Invalid)?;
        own.replace(checked.program.clone());
        live.take(checked.program, &own.exported());
        Ok(checked.warnings)
    })?;
    match taken {
        Ok(warnings) => {
            let category = py.get_type::<PyUserWarning>();
            warnings.into_iter().try_for_each(|text| {
                let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
                PyErr::warn(py, &category, &text, 2)
            })
        }
        Err(Failed::Invalid(found)) => Err(invalid(found)),
        Err(Failed::Replaced) => {
            Err(refused(py, "the program was replaced since its graph was edited: `graph.reset()` drops the edits"))
        }
    }
}
