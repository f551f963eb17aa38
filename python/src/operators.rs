//! Operators and rewrite rules that are written in Python.
//!
//! Laws: the functions run with the GIL, which is taken for them alone; an exception of a function is the error of the
//! call, with its text; a result of another dtype or other sizes than the meta function says is refused by the run.

use crate::errors::usage;
use crate::fake::{self, Fake};
use crate::tensor::{self, Library};
use crate::trees;
use oxport::custom::{Arg, Args, Error, Meta, Real};
use oxport::ir::args::Sym;
use oxport::rewrite::rule::{self, Soundness};
use oxport::{Expr, Val, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// An operator: its schema, what its results are, and how they are computed.
#[pyclass(frozen, module = "oxport", name = "Operator", subclass)]
pub(crate) struct Operator {
    schema: &'static str,
    meta: Arc<Py<PyAny>>,
    function: Arc<Py<PyAny>>,
}

/// A text that lives as long as the process; the same text is kept once.
fn lasting(text: &str) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_with(HashSet::new);
    match kept.get(text) {
        Some(old) => old,
        None => {
            let new: &'static str = String::from(text).leak();
            kept.insert(new);
            new
        }
    }
}

#[pymethods]
impl Operator {
    #[new]
    fn make(schema: &str, meta: Py<PyAny>, function: Py<PyAny>) -> Operator {
        Operator { schema: lasting(schema), meta: Arc::new(meta), function: Arc::new(function) }
    }
    /// The schema.
    #[getter]
    fn schema(&self) -> &'static str {
        self.schema
    }
    /// Calls the function as Python does.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).call(args, kwargs)
    }
    fn __repr__(&self) -> String {
        format!("<oxport.Operator {}>", self.schema)
    }
}

impl Operator {
    /// The operator for a registry.
    pub(crate) fn operator(&self) -> oxport::Operator {
        let (meta, meta_of_run, function) = (self.meta.clone(), self.meta.clone(), self.function.clone());
        oxport::Operator::new(self.schema, move |args: &Args<'_, Meta>| {
            Python::attach(|py| {
                let given = args.values.iter().map(|a| described(py, a)).collect::<PyResult<Vec<_>>>()?;
                let made = meta.bind(py).call1(PyTuple::new(py, given)?)?;
                results(&made)?.iter().map(val_of).collect::<PyResult<_>>()
            })
            .map_err(|e| failed(args.name(), e))
        })
        .eval(move |args: &Args<'_, Real>| {
            Python::attach(|py| {
                let given = args.values.iter().map(|a| given(py, a)).collect::<PyResult<Vec<_>>>()?;
                let made = function.bind(py).call1(PyTuple::new(py, given)?)?;
                let made = results(&made)?.iter().map(value_of).collect::<PyResult<Vec<_>>>()?;
                let expected = args.values.iter().map(|a| known(py, a)).collect::<PyResult<Vec<_>>>()?;
                let expected = meta_of_run.bind(py).call1(PyTuple::new(py, expected)?)?;
                let expected = results(&expected)?.iter().map(val_of).collect::<PyResult<Vec<_>>>()?;
                check(&expected, &made).map(|()| made)
            })
            .map_err(|e| failed(args.name(), e))
        })
    }
}

fn failed(name: impl std::fmt::Display, e: PyErr) -> Error {
    Error::invalid(format!("{name}: {e}"))
}

/// The results of a function: one, or a tuple or list of several.
fn results<'py>(made: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match made.is_exact_instance_of::<PyTuple>() || made.is_exact_instance_of::<PyList>() {
        true => made.try_iter()?.collect(),
        false => Ok(vec![made.clone()]),
    }
}

/// An argument of the meta function.
fn described<'py>(py: Python<'py>, arg: &Arg<Meta>) -> PyResult<Bound<'py, PyAny>> {
    match arg {
        Arg::Tensor(t) => fake::value(py, &Val::Tensor(t.clone())),
        Arg::Int(e) => fake::size(py, e),
        Arg::Float(Sym::Const(x)) => Ok(x.into_pyobject(py)?.into_any()),
        Arg::Float(Sym::Sym(e)) => fake::value(py, &Val::Float(e.clone())),
        Arg::Bool(Sym::Const(b)) => Ok(b.into_pyobject(py)?.to_owned().into_any()),
        Arg::Bool(Sym::Sym(e)) => fake::value(py, &Val::Bool(e.clone())),
        Arg::List(items) => {
            Ok(PyList::new(py, items.iter().map(|a| described(py, a)).collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => constant(py, arg),
    }
}

/// An argument of the function.
fn given<'py>(py: Python<'py>, arg: &Arg<Real>) -> PyResult<Bound<'py, PyAny>> {
    match arg {
        Arg::Tensor(t) => {
            let own = Bound::new(py, tensor::Tensor::new(t.clone()))?;
            match py.import("numpy") {
                Ok(_) => tensor::Tensor::numpy(&own).or_else(|_| Ok(own.into_any())),
                Err(_) => Ok(own.into_any()),
            }
        }
        Arg::Int(n) => trees::leaf(py, Value::Int(*n), Library::Other),
        Arg::Float(x) => trees::leaf(py, Value::Float(*x), Library::Other),
        Arg::Bool(b) => trees::leaf(py, Value::Bool(*b), Library::Other),
        Arg::List(items) => {
            Ok(PyList::new(py, items.iter().map(|a| given(py, a)).collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => constant(py, arg),
    }
}

/// An argument of the meta function, at a run.
fn known<'py>(py: Python<'py>, arg: &Arg<Real>) -> PyResult<Bound<'py, PyAny>> {
    match arg {
        Arg::Tensor(t) => fake::value(py, &Val::Tensor(oxport::Fake::of(t))),
        Arg::List(items) => {
            Ok(PyList::new(py, items.iter().map(|a| known(py, a)).collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => given(py, arg),
    }
}

/// Whether the results are what the meta function says: kernels behind rely on it.
fn check(expected: &[Val], made: &[Value]) -> PyResult<()> {
    if expected.len() != made.len() {
        return Err(usage(format!("expected {} results, got {}", expected.len(), made.len())));
    }
    for (expected, made) in expected.iter().zip(made) {
        let (Val::Tensor(fake), Value::Tensor(t)) = (expected, made) else { continue };
        let got = oxport::Fake::of(t);
        // A size that only the data tells is a symbol.
        let fits = fake.sizes.len() == got.sizes.len()
            && fake.sizes.iter().zip(&got.sizes).all(|(e, g)| e.as_int().is_none() || e == g);
        if fake.dtype != got.dtype || !fits {
            return Err(usage(format!("expected {fake}, as the meta function says, got {got}")));
        }
    }
    Ok(())
}

/// What is the same in both worlds.
fn constant<'py, W: oxport::ir::World>(py: Python<'py>, arg: &Arg<W>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match arg {
        Arg::None => py.None().into_bound(py),
        Arg::Complex(z) => pyo3::types::PyComplex::from_doubles(py, z.re, z.im).into_any(),
        Arg::Str(text) => (&**text).into_pyobject(py)?.into_any(),
        Arg::DType(d) => d.name().into_pyobject(py)?.into_any(),
        Arg::Device(d) => d.to_string().into_pyobject(py)?.into_any(),
        other => return Err(usage(format!("an operator of Python takes no {}", other.kind()))),
    })
}

fn val_of(x: &Bound<'_, PyAny>) -> PyResult<Val> {
    if let Ok(own) = x.cast::<Fake>() {
        return Ok(Val::Tensor(own.get().0.clone()));
    }
    if x.is_none() {
        return Ok(Val::None);
    }
    if let Ok(b) = x.cast::<pyo3::types::PyBool>() {
        return Ok(Val::Bool(Expr::from(b.is_true())));
    }
    if let Ok(e) = fake::expression(x) {
        return Ok(Val::Int(e));
    }
    Err(usage(format!("the meta function: expected oxport.Fake, an int or None, got {}", x.get_type().name()?)))
}

fn value_of(x: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Some((tensor, _)) = tensor::borrowed(x)? {
        // What the function gave may be written by it later.
        return Ok(Value::Tensor(tensor::unshared(tensor)?));
    }
    if x.is_none() {
        return Ok(Value::None);
    }
    if let Ok(b) = x.cast::<pyo3::types::PyBool>() {
        return Ok(Value::Bool(b.is_true()));
    }
    if let Ok(n) = x.extract::<i64>() {
        return Ok(Value::Int(n));
    }
    match x.extract::<f64>() {
        Ok(x) => Ok(Value::Float(x)),
        Err(_) => Err(usage(format!("expected an array, a number or None, got {}", x.get_type().name()?))),
    }
}

/// A rewrite rule: a pattern, and what it is equal to.
///
/// Whether both sides are equal, to the bit where the rule is not `rounding`, is for its author to see to. A rule whose
/// sides differ in dtype, sizes, strides or device never fires.
#[pyclass(frozen, module = "oxport", name = "Rule")]
pub(crate) struct Rule(pub(crate) rule::Rule);

#[pymethods]
impl Rule {
    #[new]
    #[pyo3(signature = (name, left, right, *, rounding = false))]
    fn make(name: &str, left: &str, right: &str, rounding: bool) -> Rule {
        let soundness = if rounding { Soundness::Rounding } else { Soundness::Bitwise };
        Rule(rule::Rule { soundness, ..rule::rule(lasting(name), lasting(left), lasting(right)) })
    }
    /// The name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }
    fn __repr__(&self) -> String {
        format!("<oxport.Rule {}: {} -> {}>", self.0.name, self.0.left, self.0.right)
    }
}
