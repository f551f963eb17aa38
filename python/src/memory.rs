//! Memory that Python and oxport share: arrays of the array interface and of DLPack as tensors, and the reverse.
//!
//! The only file of this package with unsafe code. Laws:
//! * a borrowed array is kept alive by the tensor, and is only read;
//! * what is exported as writable belongs to the receiver alone; anything else is marked read-only;
//! * a DLPack tensor is taken over once (the capsule is renamed, as the protocol says), and its deleter called once.
//!
//! That nobody writes an array while a program reads it is the caller's duty, as with every library that releases the
//! GIL.

use crate::errors::usage;
use oxport::{DType, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyTuple};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

const CPU: i32 = 1;
const READ_ONLY: u64 = 1;
const LEGACY: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
struct Kind {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct Raw {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype: Kind,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: Raw,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Raw,
}

/// A DLPack tensor that was taken over: calls its deleter when the last view goes.
enum Taken {
    Legacy(NonNull<Managed>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: the protocol asks that a deleter may be called from any thread.
unsafe impl Send for Taken {}
// SAFETY: nothing is read through a shared reference.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken over by renaming its capsule, so this is the one call of its deleter; producers
        // of Python objects need the GIL for it.
        Python::try_attach(|_| unsafe {
            match self {
                Taken::Legacy(m) => m.as_ref().deleter.into_iter().for_each(|free| free(m.as_ptr())),
                Taken::Versioned(m) => m.as_ref().deleter.into_iter().for_each(|free| free(m.as_ptr())),
            }
        });
    }
}

/// The same memory as one that Python may write between calls: no program keeps it, and it is given back with the last
/// view.
pub(crate) fn lent(tensor: Tensor) -> oxport::tensor::Result<Tensor> {
    let (first, dtype) = (address(&tensor) as *const u8, tensor.dtype());
    let (sizes, strides) = (tensor.sizes().to_vec(), tensor.strides().to_vec());
    // SAFETY: the lender is the tensor whose memory this is.
    unsafe { Tensor::borrowed(first, dtype, &sizes, &strides, Box::new(tensor)) }
}

/// The array of an object with `__array_interface__`, in place: `None` where its elements are no dtype here, do not lie
/// at multiples of their size, have another byte order or lie backwards; such an array is to be copied first.
pub(crate) fn of_array(
    owner: &Bound<'_, PyAny>,
    interface: &Bound<'_, PyDict>,
    name: &str,
) -> PyResult<Option<Tensor>> {
    let py = owner.py();
    let get = |key| interface.get_item(key)?.ok_or_else(|| usage(format!("`__array_interface__` has no `{key}`")));
    let Some(dtype) = of_name(name) else { return Ok(None) };
    if get("typestr")?.extract::<String>()?.starts_with('>') && dtype.size() > 1 {
        return Ok(None);
    }
    let sizes: Vec<i64> = get("shape")?.extract()?;
    let (start, _): (usize, bool) = get("data")?.extract()?;
    let strides = match interface.get_item(pyo3::intern!(py, "strides"))?.filter(|s| !s.is_none()) {
        None => contiguous(&sizes),
        Some(strides) => {
            let (bytes, size) = (strides.extract::<Vec<i64>>()?, dtype.size() as i64);
            if bytes.iter().any(|b| b % size != 0 || *b < 0) {
                return Ok(None);
            }
            bytes.iter().map(|b| b / size).collect()
        }
    };
    let lender: Box<Py<PyAny>> = Box::new(owner.clone().unbind());
    // SAFETY: the interface describes memory that lives as long as the object, which the lender holds.
    let tensor = unsafe { Tensor::borrowed(start as *const u8, dtype, &sizes, &strides, lender) };
    tensor.map(Some).map_err(|e| usage(e.to_string()))
}

/// The tensor of a DLPack capsule, in place.
pub(crate) fn of_dlpack(capsule: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("`__dlpack__` gave no capsule"))?;
    if capsule.is_valid_checked(Some(VERSIONED)) {
        let managed = capsule.pointer_checked(Some(VERSIONED))?.cast::<Versioned>();
        // SAFETY: a capsule of this name holds a `DLManagedTensorVersioned`; the version stands first in all of them.
        let major = unsafe { managed.as_ref().major };
        if major != 1 {
            return Err(PyBufferError::new_err(format!("expected DLPack version 1, got {major}")));
        }
        rename(capsule, c"used_dltensor_versioned")?;
        // SAFETY: as above, and version 1 has this layout.
        let raw = unsafe { &managed.as_ref().tensor };
        borrowed(raw, Box::new(Taken::Versioned(managed)))
    } else {
        let managed = capsule.pointer_checked(Some(LEGACY))?.cast::<Managed>();
        rename(capsule, c"used_dltensor")?;
        // SAFETY: a capsule of this name holds a `DLManagedTensor`.
        let raw = unsafe { &managed.as_ref().tensor };
        borrowed(raw, Box::new(Taken::Legacy(managed)))
    }
}

fn rename(capsule: &Bound<'_, PyCapsule>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: a live capsule, and a name that lives forever. Its destructor then leaves the tensor alone.
    match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(capsule.py())),
    }
}

fn borrowed(raw: &Raw, lender: Box<Taken>) -> PyResult<Tensor> {
    if raw.device_type != CPU {
        return Err(usage(format!("expected a tensor on the CPU, got one on device type {}", raw.device_type)));
    }
    let Kind { code, bits, lanes } = raw.dtype;
    let found = DType::ALL.iter().copied().find(|d| kind_of(*d).is_some_and(|k| (k.code, k.bits) == (code, bits)));
    let dtype = found.filter(|_| lanes == 1).ok_or_else(|| {
        usage(format!("expected a tensor of a dtype of PyTorch, got DLPack type {code} of {bits} bits, {lanes} lanes"))
    })?;
    let dims = usize::try_from(raw.ndim).map_err(|_| usage("expected a number of dimensions, got a negative one"))?;
    // SAFETY: the protocol: `ndim` sizes, and as many strides where they are given.
    let list = |p: *const i64| if dims == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(p, dims) } };
    let sizes = list(raw.shape);
    let strides = if raw.strides.is_null() { contiguous(sizes) } else { list(raw.strides).to_vec() };
    let first = raw.data.cast::<u8>().wrapping_add(raw.byte_offset as usize);
    // SAFETY: the protocol: these elements are there until the deleter is called, which the lender does.
    unsafe { Tensor::borrowed(first, dtype, sizes, &strides, lender) }.map_err(|e| usage(e.to_string()))
}

/// What an exported tensor needs until the receiver's last view is gone.
struct Exported<M> {
    managed: M,
    _dims: Vec<i64>,
    _tensor: Tensor,
}

unsafe extern "C" fn free_legacy(managed: *mut Managed) {
    // SAFETY: the context is the box that `export` leaked, and receivers call a deleter once.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Exported<Managed>>()) });
}

unsafe extern "C" fn free_versioned(managed: *mut Versioned) {
    // SAFETY: as in `free_legacy`.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Exported<Versioned>>()) });
}

/// Frees what nobody has taken over.
unsafe extern "C" fn free_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with a capsule that `export` made; a renamed one belongs to its receiver.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            free_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) == 1 {
            free_legacy(ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()).cast());
        }
    }
}

/// A DLPack capsule of a tensor: versioned, if the receiver knows that, else only of writable memory, because the older
/// form cannot say that it is read-only.
pub(crate) fn export(py: Python<'_>, tensor: Tensor, writable: bool, versioned: bool) -> PyResult<Py<PyAny>> {
    let dtype = kind_of(tensor.dtype())
        .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no type for {}", tensor.dtype())))?;
    if !writable && !versioned {
        return Err(PyBufferError::new_err(
            "the tensor is read-only, which this consumer cannot be told: copy it first",
        ));
    }
    let mut dims: Vec<i64> = tensor.sizes().iter().chain(tensor.strides()).copied().collect();
    let rank = tensor.sizes().len();
    let start = dims.as_mut_ptr();
    let raw = Raw {
        data: address(&tensor) as *mut c_void,
        device_type: CPU,
        device_id: 0,
        ndim: rank as i32,
        dtype,
        shape: start,
        strides: start.wrapping_add(rank),
        byte_offset: 0,
    };
    let (pointer, name) = if versioned {
        let flags = if writable { 0 } else { READ_ONLY };
        let context = std::ptr::null_mut();
        let managed = Versioned { major: 1, minor: 0, context, deleter: Some(free_versioned), flags, tensor: raw };
        let mut all = Box::new(Exported { managed, _dims: dims, _tensor: tensor });
        all.managed.context = (&raw mut *all).cast();
        let all = Box::into_raw(all);
        // SAFETY: just leaked.
        (unsafe { &raw mut (*all).managed }.cast::<c_void>(), VERSIONED)
    } else {
        let managed = Managed { tensor: raw, context: std::ptr::null_mut(), deleter: Some(free_legacy) };
        let mut all = Box::new(Exported { managed, _dims: dims, _tensor: tensor });
        all.managed.context = (&raw mut *all).cast();
        let all = Box::into_raw(all);
        // SAFETY: just leaked.
        (unsafe { &raw mut (*all).managed }.cast::<c_void>(), LEGACY)
    };
    // SAFETY: a pointer that is not null, a name that lives forever, and the destructor of both kinds.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(free_capsule))) }
        .map(Bound::unbind)
}

/// The `__array_interface__` of a tensor, if NumPy has its dtype. Strides are in bytes.
pub(crate) fn array_interface<'py>(
    py: Python<'py>,
    t: &Tensor,
    writable: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(typestr) = type_string(t.dtype()) else { return Ok(None) };
    let size = t.dtype().size() as i64;
    let dict = PyDict::new(py);
    dict.set_item(pyo3::intern!(py, "version"), 3)?;
    dict.set_item(pyo3::intern!(py, "typestr"), typestr)?;
    dict.set_item(pyo3::intern!(py, "shape"), PyTuple::new(py, t.sizes())?)?;
    dict.set_item(pyo3::intern!(py, "data"), (address(t), !writable))?;
    if !t.is_contiguous() {
        dict.set_item(pyo3::intern!(py, "strides"), PyTuple::new(py, t.strides().iter().map(|s| s * size))?)?;
    }
    Ok(Some(dict))
}

/// The address of the first element; of a tensor without elements any that is aligned and not 0.
fn address(t: &Tensor) -> usize {
    match t.sizes().contains(&0) {
        true => t.dtype().align(),
        false => t.storage().bytes().as_ptr().addr() + t.layout().offset * t.dtype().size(),
    }
}

fn contiguous(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for d in (1..sizes.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(sizes[d].max(1));
    }
    strides
}

/// The dtype that NumPy or ml_dtypes calls by this name.
fn of_name(name: &str) -> Option<DType> {
    DType::from_name(name)
}

/// NumPy's type string, for the dtypes that it has.
fn type_string(dtype: DType) -> Option<String> {
    let little = if cfg!(target_endian = "little") { '<' } else { '>' };
    let letter = match dtype {
        DType::Bool => return Some("|b1".to_string()),
        DType::BF16 => return None,
        d if d.is_float8() => return None,
        d if d.is_float() => 'f',
        d if d.is_complex() && d.size() >= 8 => 'c',
        d if d.is_complex() => return None,
        d if d.is_signed() => 'i',
        _ => 'u',
    };
    Some(format!("{}{letter}{}", if dtype.size() == 1 { '|' } else { little }, dtype.size()))
}

fn kind_of(dtype: DType) -> Option<Kind> {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        DType::F8E4M3FN => 10,
        DType::F8E4M3FNUZ => 11,
        DType::F8E5M2 => 12,
        DType::F8E5M2FNUZ => 13,
        DType::F8E8M0FNU => 14,
        d if d.is_complex() => 5,
        d if d.is_float() => 2,
        d if d.is_integer() && d.is_signed() => 0,
        d if d.is_integer() => 1,
        _ => return None,
    };
    Some(Kind { code, bits: (dtype.size() * 8) as u8, lanes: 1 })
}
