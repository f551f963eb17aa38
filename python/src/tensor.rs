//! [`Tensor`]: a tensor of oxport in Python, and how arrays of other libraries become one.

use crate::errors::{raise, usage};
use crate::memory;
use oxport::{DType, Value};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A tensor on the CPU: an output, a weight, or what an operator of yours is given.
///
/// `numpy.asarray(t)`, `torch.from_dlpack(t)` and every other consumer of the array interface or of DLPack read it in
/// place. Weights are read-only, outputs are writable.
#[pyclass(frozen, module = "oxport", name = "Tensor")]
pub(crate) struct Tensor {
    inner: oxport::Tensor,
    writable: bool,
}

impl Tensor {
    /// A tensor that others may share: read-only in Python.
    pub(crate) fn new(inner: oxport::Tensor) -> Tensor {
        Tensor { inner, writable: false }
    }
    /// A tensor that belongs to Python alone: what others share is copied.
    pub(crate) fn owned(inner: oxport::Tensor) -> PyResult<Tensor> {
        Ok(Tensor { inner: memory::lent(unshared(inner)?).map_err(failed)?, writable: true })
    }
    /// The tensor.
    pub(crate) fn inner(&self) -> &oxport::Tensor {
        &self.inner
    }
}

/// The tensor, or a copy of it if others have its memory.
pub(crate) fn unshared(x: oxport::Tensor) -> PyResult<oxport::Tensor> {
    match x.into_mut() {
        Ok(own) => Ok(own.freeze()),
        Err(shared) => shared.deep_copy().map_err(failed),
    }
}

fn failed(e: oxport::tensor::Error) -> PyErr {
    raise(oxport::run::Error::from(oxport::ir::Error::from(e)).into())
}

#[pymethods]
impl Tensor {
    /// A tensor of anything that is an array, or of nested lists of numbers. Arrays are not copied: `copy()` does that.
    #[new]
    #[pyo3(signature = (data, dtype = None))]
    fn make(data: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Tensor> {
        let inner = match borrowed(data)? {
            Some((tensor, _)) => tensor,
            None => nested(data)?,
        };
        match dtype {
            None => Ok(Tensor::new(inner)),
            Some(name) => Ok(Tensor::new(inner.to_dtype(dtype_of(name)?).map_err(failed)?)),
        }
    }
    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.sizes())
    }
    /// The strides, in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.strides())
    }
    /// The dtype by PyTorch's name, without `torch.`: `float32`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.inner.dtype().name()
    }
    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.rank()
    }
    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.inner.numel()
    }
    /// The number of bytes of the elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.numel() * self.inner.dtype().size()
    }
    /// Whether consumers may write the elements.
    #[getter]
    fn writable(&self) -> bool {
        self.writable
    }
    /// A copy that belongs to Python alone.
    fn copy(&self) -> PyResult<Tensor> {
        Tensor::owned(self.inner.deep_copy().map_err(failed)?)
    }
    /// The elements in another dtype, as `torch.Tensor.to` converts them.
    fn to(&self, dtype: &str) -> PyResult<Tensor> {
        Ok(Tensor::new(self.inner.to_dtype(dtype_of(dtype)?).map_err(failed)?))
    }
    /// The one element, as a number of Python.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.inner.numel() {
            1 => Ok(self.numbers(py)?.remove(0)),
            n => Err(PyValueError::new_err(format!("expected a tensor of one element, got one of {n}"))),
        }
    }
    /// The elements as nested lists of numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut level = self.numbers(py)?;
        if self.inner.rank() == 0 {
            return Ok(level.remove(0));
        }
        for &size in self.inner.sizes().iter().skip(1).rev() {
            let size = (size.max(1)) as usize;
            level = level.chunks(size).map(|part| part.into_pyobject(py)).collect::<PyResult<_>>()?;
        }
        level.into_pyobject(py)
    }
    /// The array of NumPy over the same memory; `bfloat16` and the 8-bit floats need the package `ml_dtypes`.
    pub(crate) fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let numpy = py.import(intern!(py, "numpy"))?;
        if memory::array_interface(py, &this.inner, this.writable)?.is_some() {
            return numpy.call_method1(intern!(py, "asarray"), (slf,));
        }
        let name = this.dtype();
        let Ok(extra) = py.import("ml_dtypes").and_then(|m| m.getattr(name)) else {
            return Err(PyTypeError::new_err(format!(
                "NumPy has no {name}: install the package ml_dtypes, or take `.to(\"float32\")`"
            )));
        };
        let bits = DType::from_name(if this.inner.dtype().size() == 2 { "uint16" } else { "uint8" });
        let raw = this.inner.view_dtype(bits.expect("law: a dtype's name")).map_err(failed)?;
        let bits = Bound::new(py, Tensor { inner: raw, writable: this.writable })?;
        numpy.call_method1(intern!(py, "asarray"), (bits,))?.call_method1("view", (extra,))
    }
    /// The tensor of PyTorch over the same memory.
    fn torch<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import(intern!(py, "torch"))?.call_method1(intern!(py, "from_dlpack"), (slf,))
    }
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        memory::array_interface(py, &self.inner, self.writable)?.ok_or_else(|| {
            pyo3::exceptions::PyAttributeError::new_err(format!("the array interface has no {}", self.inner.dtype()))
        })
    }
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        if stream.is_some() || dl_device.is_some_and(|(kind, _)| kind != 1) {
            return Err(PyBufferError::new_err("the tensor is on the CPU"));
        }
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        match copy {
            Some(true) => memory::export(py, self.inner.deep_copy().map_err(failed)?, true, versioned),
            _ => memory::export(py, self.inner.clone(), self.writable, versioned),
        }
    }
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }
    fn __len__(&self) -> PyResult<usize> {
        let first = self.inner.sizes().first();
        first.map(|&n| n as usize).ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }
    fn __repr__(&self) -> String {
        self.inner.to_string()
    }
}

impl Tensor {
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let x = &self.inner;
        let any = |e: PyErr| e;
        if x.dtype().is_bool() {
            let all = x.to_vec::<bool>().map_err(failed)?;
            return all.into_iter().map(|b| Ok(b.into_pyobject(py)?.to_owned().into_any())).collect();
        }
        if x.dtype().is_complex() {
            let all = x.to_vec::<oxport::tensor::Complex<f64>>().map_err(failed)?;
            return Ok(all
                .into_iter()
                .map(|z| pyo3::types::PyComplex::from_doubles(py, z.re, z.im).into_any())
                .collect());
        }
        if x.dtype().is_float() {
            let all = x.to_vec::<f64>().map_err(failed)?;
            return all.into_iter().map(|x| Ok(x.into_pyobject(py)?.into_any())).collect::<PyResult<_>>().map_err(any);
        }
        if x.dtype().is_signed() {
            let all = x.to_vec::<i64>().map_err(failed)?;
            return all.into_iter().map(|n| Ok(n.into_pyobject(py)?.into_any())).collect();
        }
        let all = x.to_vec::<u64>().map_err(failed)?;
        all.into_iter().map(|n| Ok(n.into_pyobject(py)?.into_any())).collect()
    }
}

/// The dtype of a name: `float32`, `torch.float32`.
pub(crate) fn dtype_of(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| usage(format!("expected a dtype such as \"float32\", got {name:?}")))
}

/// Whose array it was: what outputs are given back as.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Library {
    Torch,
    Other,
}

/// The tensor of an array of any library, in place where its layout allows it; `None` if it is no array.
pub(crate) fn borrowed(x: &Bound<'_, PyAny>) -> PyResult<Option<(oxport::Tensor, Library)>> {
    let py = x.py();
    if let Ok(own) = x.cast::<Tensor>() {
        return Ok(Some((own.get().inner.clone(), Library::Other)));
    }
    if let Ok(interface) = x.getattr(intern!(py, "__array_interface__")) {
        return array(x, &interface).map(|t| Some((t, Library::Other)));
    }
    if x.hasattr(intern!(py, "__dlpack__"))? {
        let is_torch = x.get_type().module().is_ok_and(|m| m.to_string().starts_with("torch"));
        let library =
            if is_torch || x.hasattr(intern!(py, "requires_grad"))? { Library::Torch } else { Library::Other };
        return dlpack(x, library).map(|t| Some((t, library)));
    }
    if x.hasattr(intern!(py, "__array__"))? {
        let made = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (x,))?;
        return borrowed(&made);
    }
    Ok(None)
}

/// As [`borrowed`]; what is no array is an error.
pub(crate) fn from_python(x: &Bound<'_, PyAny>) -> PyResult<oxport::Tensor> {
    match borrowed(x)? {
        Some((tensor, _)) => Ok(tensor),
        None => Err(usage(format!("expected an array, got {}", x.get_type().name()?))),
    }
}

fn array(x: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<oxport::Tensor> {
    let py = x.py();
    let interface = interface.cast::<PyDict>().map_err(|_| usage("`__array_interface__` is no dict"))?;
    let typestr = interface.get_item(intern!(py, "typestr"))?;
    let typestr = typestr.ok_or_else(|| usage("`__array_interface__` has no `typestr`"))?;
    let name = match name_of(&typestr.extract::<String>()?) {
        Some(name) => name.to_string(),
        // What ml_dtypes adds has no letter of its own.
        None => x.getattr(intern!(py, "dtype")).map_or_else(|_| String::new(), |d| d.to_string()),
    };
    if DType::from_name(&name).is_none() {
        let got = x.getattr(intern!(py, "dtype")).map_or_else(|_| typestr.to_string(), |d| d.to_string());
        return Err(usage(format!("expected an array of numbers that PyTorch has, got one of {got}")));
    }
    if let Some(tensor) = memory::of_array(x, interface, &name)? {
        return Ok(tensor);
    }
    // Other byte orders and negative strides.
    let numpy = py.import(intern!(py, "numpy"))?;
    let native = x.getattr(intern!(py, "dtype"))?.call_method1(intern!(py, "newbyteorder"), ("=",))?;
    let dense = numpy.call_method1(intern!(py, "array"), (x, native))?;
    let dense = numpy.call_method1(intern!(py, "ascontiguousarray"), (dense,))?;
    let interface = dense.getattr(intern!(py, "__array_interface__"))?;
    let interface = interface.cast::<PyDict>().map_err(|_| usage("`__array_interface__` is no dict"))?;
    memory::of_array(&dense, interface, &name)?.ok_or_else(|| usage(format!("the array of {name} cannot be read")))
}

/// PyTorch's name for NumPy's type string.
fn name_of(typestr: &str) -> Option<&'static str> {
    Some(match typestr.get(1..)? {
        "b1" => "bool",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        "c8" => "complex64",
        "c16" => "complex128",
        _ => return None,
    })
}

fn dlpack(x: &Bound<'_, PyAny>, library: Library) -> PyResult<oxport::Tensor> {
    let py = x.py();
    let mut x = x.clone();
    if library == Library::Torch {
        let device = x.getattr(intern!(py, "device"))?.getattr(intern!(py, "type"))?;
        if device.to_string() != "cpu" {
            return Err(usage(format!("expected a tensor on the CPU, got one on {device}")));
        }
        if x.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
            x = x.call_method0(intern!(py, "detach"))?;
        }
        // What is conjugated or negated lazily has other elements in memory.
        for (is, resolve) in [("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")] {
            if x.call_method0(is)?.is_truthy()? {
                x = x.call_method0(resolve)?;
            }
        }
    }
    memory::of_dlpack(&x.call_method0(intern!(py, "__dlpack__"))?)
}

/// Nested lists of numbers.
fn nested(x: &Bound<'_, PyAny>) -> PyResult<oxport::Tensor> {
    let text = x.repr()?.to_string();
    let literal = oxport::inputs::Literal::parse(&text);
    let value = literal.ok_or_else(|| usage(format!("expected an array or nested lists of numbers, got {text}")))?;
    match value.value(None).map_err(raise)? {
        Value::Tensor(t) => Ok(t),
        other => oxport::Tensor::try_from(other).map_err(|e| usage(e.to_string())),
    }
}
