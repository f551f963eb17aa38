//! The functions of the package: reading, scanning, comparing and capturing programs.

use crate::errors::{raise, usage};
use crate::operators::Operator;
use crate::program::{Program, Settings, checks, level, toolchain};
use crate::tensor::Library;
use crate::{records, trees};
use oxport::kind::explained;
use oxport::python::Limits;
use oxport::python::torch::{Dim, Input};
use oxport::source::Request;
use oxport::{PlanOptions, ReadLimits, ReadOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// The settings of a program by keyword.
pub(crate) fn settings(opt: &str, threads: usize, seed: u64, strict: &str) -> PyResult<Settings> {
    let opt = level(opt)?;
    Ok(Settings { opt, options: PlanOptions { threads, seed, checks: checks(strict)?, ..opt.plan_options() } })
}

fn limits(given: &[String]) -> PyResult<ReadLimits> {
    let mut limits = ReadLimits::default();
    given.iter().try_for_each(|text| limits.set(text)).map_err(usage)?;
    Ok(limits)
}

/// A program of a file, or of the bytes of an archive.
#[pyfunction]
#[pyo3(signature = (path, data, opt, threads, seed, checks, model, limits, operators))]
pub(crate) fn read(
    py: Python<'_>,
    path: Option<PathBuf>,
    data: Option<&Bound<'_, PyBytes>>,
    opt: &str,
    threads: usize,
    seed: u64,
    checks: &str,
    model: Option<String>,
    limits: Vec<String>,
    operators: Vec<PyRef<'_, Operator>>,
) -> PyResult<Program> {
    let mut settings = settings(opt, threads, seed, checks)?;
    let options = ReadOptions { limits: self::limits(&limits)?, model, verify_weights: false };
    settings.options.max_buffer_bytes = options.limits.buffer_bytes();
    let toolchain = toolchain(&operators)?;
    let program = match (path, data) {
        (Some(path), None) => {
            py.detach(|| explained(&path, &options.limits, toolchain.read(&path, &options))).map_err(raise)?
        }
        (None, Some(data)) => {
            let bytes = data.as_bytes();
            let read = || oxport::pt2::read_pt2_bytes(bytes, toolchain.registry(), &options);
            py.detach(read).map_err(|e| raise(e.into()))?
        }
        _ => return Err(usage("expected a path or bytes")),
    };
    Ok(Program::new(program, toolchain, settings))
}

/// What loading a file in PyTorch would execute, and parts that PyTorch reads differently, the most dangerous first: a
/// list of dicts with the keys of `oxport verify --scan --json`.
#[pyfunction]
pub(crate) fn scan<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let found = py.detach(|| oxport::scan::scan(&path, &ReadOptions::default())).map_err(raise)?;
    records::object(py, &found.iter().map(oxport::json::finding).collect())
}

/// What differs between two programs up to the names of nodes, with the keys of `oxport diff --json`.
#[pyfunction]
pub(crate) fn diff<'py>(py: Python<'py>, a: &Program, b: &Program) -> PyResult<Bound<'py, PyAny>> {
    let (a, b) = (a.exported(), b.exported());
    let found = py.detach(|| oxport::difference::Difference::of(&a, &b));
    records::object(py, &oxport::json::difference(&found))
}

/// Reads a program and writes it in another format: `.pt2`, or `.json` with `.safetensors` next to it.
#[pyfunction]
pub(crate) fn convert(py: Python<'_>, source: PathBuf, target: PathBuf) -> PyResult<()> {
    py.detach(|| oxport::write(&oxport::read(source)?, target)).map_err(raise)
}

/// The values of a file by name: safetensors (with the JSON file beside it), `.npz`, `.npy`, `.pt` of `torch.save`.
#[pyfunction]
pub(crate) fn read_values<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let values = py.detach(|| oxport::inputs::read_any(&path, &ReadLimits::default())).map_err(raise)?;
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, trees::leaf(py, value, Library::Other)?)?;
    }
    Ok(dict)
}

/// A program of the source of a module or function, without running it in Python and without PyTorch.
#[pyfunction]
#[pyo3(signature = (file, entry, inputs, dims, weights, folders, train, settings))]
pub(crate) fn capture(
    py: Python<'_>,
    file: PathBuf,
    entry: String,
    inputs: Vec<String>,
    dims: Vec<String>,
    weights: Option<PathBuf>,
    folders: Vec<PathBuf>,
    train: bool,
    settings: (String, usize, u64, String),
) -> PyResult<Program> {
    let (opt, threads, seed, checks) = settings;
    let settings = self::settings(&opt, threads, seed, &checks)?;
    let inputs = inputs.iter().map(|t| Input::parse(t)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let dims = dims.iter().map(|t| Dim::parse(t)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let captured = py.detach(|| {
        let limits = ReadLimits::default();
        let weights = weights.map(|path| oxport::weights::read_state_dict(&path, &limits)).transpose()?;
        let limits = Limits::DEFAULT;
        oxport::source::capture(&Request { file, entry, inputs, dims, weights, folders, train, limits })
    });
    Ok(Program::new(captured.map_err(raise)?, toolchain(&[])?, settings))
}
