//! The native part of the Python package `oxport`.
//!
//! The package's Python files give it its public names; `oxport/__init__.py` says what is public. Laws: the GIL is
//! released while a program runs or is transformed; no lock is waited for while it is held; every failure is an
//! exception of `oxport.errors`.
#![deny(unsafe_op_in_unsafe_fn)]

mod argument;
mod editing;
mod errors;
mod fake;
mod functions;
mod graph;
mod handle;
mod infer;
mod lifting;
mod live;
#[allow(unsafe_code)]
mod memory;
mod node;
mod operators;
mod program;
mod ready;
mod recompile;
mod records;
mod tensor;
mod trees;

use pyo3::prelude::*;

/// The native part of the package `oxport`.
#[pymodule(gil_used = true)]
mod _oxport {
    #[pymodule_export]
    use super::fake::{Fake, SymInt};
    #[pymodule_export]
    use super::functions::{capture, convert, diff, read, read_values, scan};
    #[pymodule_export]
    use super::operators::{Operator, Rule};
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::tensor::Tensor;

    /// What `oxport.fx` makes public has its types there.
    #[pymodule_init]
    fn of_graphs(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::editing::register(module)
    }
}
