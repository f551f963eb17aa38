//! What is known of a value without its data: [`Fake`] and [`SymInt`], as the metas of nodes and as what an operator of
//! yours says of its results.

use crate::errors::usage;
use crate::tensor::dtype_of;
use oxport::ir::Fake as Meta;
use oxport::{Expr, Val};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A symbolic integer, such as the size of a dynamic dimension.
///
/// It is compared by what it is, not by what it may be: `s0 == s0` is true, `s0 == 3` is false.
#[pyclass(frozen, module = "oxport", name = "SymInt")]
pub(crate) struct SymInt(pub(crate) Expr);

/// A size as Python has it: an int, or a [`SymInt`].
pub(crate) fn size<'py>(py: Python<'py>, e: &Expr) -> PyResult<Bound<'py, PyAny>> {
    match e.as_int() {
        Some(n) => Ok(n.into_pyobject(py)?.into_any()),
        None => Ok(Bound::new(py, SymInt(e.clone()))?.into_any()),
    }
}

/// An int or a [`SymInt`] as an expression.
pub(crate) fn expression(x: &Bound<'_, PyAny>) -> PyResult<Expr> {
    match x.cast::<SymInt>() {
        Ok(own) => Ok(own.get().0.clone()),
        Err(_) => x.extract::<i64>().map(Expr::from).map_err(|_| usage(format!("expected a size, got {x}"))),
    }
}

#[pymethods]
impl SymInt {
    /// The names of the symbols in it.
    #[getter]
    fn free_symbols(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.free_symbols().iter().map(ToString::to_string).collect();
        names.sort();
        names
    }
    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &(&self.0 + &expression(other)?))
    }
    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__add__(py, other)
    }
    fn __sub__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &(&self.0 - &expression(other)?))
    }
    fn __rsub__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &(&expression(other)? - &self.0))
    }
    fn __mul__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &(&self.0 * &expression(other)?))
    }
    fn __rmul__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__mul__(py, other)
    }
    fn __floordiv__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &self.0.floor_div(&divisor(other)?))
    }
    fn __mod__<'py>(&self, py: Python<'py>, other: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        size(py, &self.0.python_mod(&divisor(other)?))
    }
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<bool> {
        let same = expression(other).is_ok_and(|e| e == self.0);
        match op {
            CompareOp::Eq => Ok(same),
            CompareOp::Ne => Ok(!same),
            _ => Err(usage(format!("{} is symbolic: its order is not known", self.0))),
        }
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }
    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

fn divisor(x: &Bound<'_, PyAny>) -> PyResult<Expr> {
    match expression(x)? {
        e if e.as_int() == Some(0) => Err(pyo3::exceptions::PyZeroDivisionError::new_err("division by zero")),
        e => Ok(e),
    }
}

/// A tensor without data: dtype, sizes and strides, each an int or a [`SymInt`], and the device.
#[pyclass(frozen, module = "oxport", name = "Fake")]
pub(crate) struct Fake(pub(crate) Meta);

#[pymethods]
impl Fake {
    /// A contiguous tensor on the CPU.
    #[new]
    fn make(dtype: &str, shape: Vec<Bound<'_, PyAny>>) -> PyResult<Fake> {
        let sizes = shape.iter().map(expression).collect::<PyResult<Vec<_>>>()?;
        Ok(Fake(Meta::new(dtype_of(dtype)?, sizes)))
    }
    /// The dtype by PyTorch's name, without `torch.`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype.name()
    }
    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.sizes.iter().map(|e| size(py, e)).collect::<PyResult<Vec<_>>>()?)
    }
    /// The strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.strides.iter().map(|e| size(py, e)).collect::<PyResult<Vec<_>>>()?)
    }
    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.dim()
    }
    /// The device that PyTorch had it on; oxport computes on the CPU.
    #[getter]
    fn device(&self) -> String {
        self.0.device.to_string()
    }
    /// Whether PyTorch's autograd tracks it.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.0.requires_grad
    }
    /// The same with another dtype, or other sizes; then contiguous.
    #[pyo3(signature = (dtype = None, shape = None))]
    fn like(&self, dtype: Option<&str>, shape: Option<Vec<Bound<'_, PyAny>>>) -> PyResult<Fake> {
        let dtype = dtype.map_or(Ok(self.0.dtype), dtype_of)?;
        match shape {
            None => Ok(Fake(self.0.with_dtype(dtype))),
            Some(shape) => {
                let sizes = shape.iter().map(expression).collect::<PyResult<Vec<_>>>()?;
                Ok(Fake(Meta { device: self.0.device.clone(), ..Meta::new(dtype, sizes) }))
            }
        }
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Fake>().is_ok_and(|o| o.get().0 == self.0)
    }
    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// A meta value: a [`Fake`], a number or [`SymInt`], a string, None, or a list of these.
pub(crate) fn value<'py>(py: Python<'py>, val: &Val) -> PyResult<Bound<'py, PyAny>> {
    Ok(match val {
        Val::Tensor(t) => Bound::new(py, Fake(t.clone()))?.into_any(),
        Val::Int(e) => size(py, e)?,
        Val::Float(e) => match e.as_float() {
            Some(x) => x.into_pyobject(py)?.into_any(),
            None => e.to_string().into_pyobject(py)?.into_any(),
        },
        Val::Bool(e) => match e.as_bool() {
            Some(b) => b.into_pyobject(py)?.to_owned().into_any(),
            None => e.to_string().into_pyobject(py)?.into_any(),
        },
        Val::Str(text) => (&**text).into_pyobject(py)?.into_any(),
        Val::Object(class) => (&**class).into_pyobject(py)?.into_any(),
        Val::None | Val::Token => py.None().into_bound(py),
        Val::List(items) => {
            PyList::new(py, items.iter().map(|v| value(py, v)).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}
