//! The supported calls of pickles: tensors, parameters, dtypes, devices and containers.

use oxport_tensor::DType;

use super::machine::distinct;
use super::{Pickled, PickledTensor};

/// The function that constructs a wrapper tensor subclass.
pub(crate) const WRAPPER: &str = "torch._utils._rebuild_wrapper_subclass";

/// The result of a call. Unsupported calls become objects.
///
/// Errors if the arguments of a supported call are unexpected, or if its result is modified: Python could set other
/// sizes of a tensor by its state.
pub(super) fn call(
    callee: Pickled,
    args: Pickled,
    items: Vec<Pickled>,
    entries: Vec<(Pickled, Pickled)>,
    state: Option<Pickled>,
) -> Result<Pickled, String> {
    let Pickled::Global(class) = callee else { return Err("pickle: expected a function or class to call".into()) };
    let Pickled::Tuple(args) = args else { return Err("pickle: expected a tuple as the arguments of a call".into()) };
    let wrong = || format!("pickle: unexpected arguments of {class}");
    let untouched = items.is_empty() && entries.is_empty() && state.is_none();
    let value = match class.as_str() {
        // `_metadata` has the versions of modules; other attributes could shadow methods of the dictionary.
        "collections.OrderedDict" if items.is_empty() && has_only(state.as_ref(), |key| key == "_metadata") => {
            return ordered_dict(args, entries).ok_or_else(wrong).and_then(distinct).map(Pickled::Dict);
        }
        "torch._utils._rebuild_tensor_v2" => tensor(&args, false).map(Pickled::Tensor),
        "torch._utils._rebuild_tensor_v3" => tensor(&args, true).map(Pickled::Tensor),
        "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state" => parameter(args),
        "torch._tensor._rebuild_from_type_v2" => from_type(args)?,
        "torch.Size" => args.first().and_then(ints).map(Pickled::Size),
        "torch.device" => match args.as_slice() {
            [Pickled::Str(kind)] => Some(Pickled::Device(kind.clone())),
            [Pickled::Str(kind), Pickled::Int(index)] => Some(Pickled::Device(format!("{kind}:{index}"))),
            _ => None,
        },
        "builtins.complex" | "__builtin__.complex" => match args.as_slice() {
            [Pickled::Float(re), Pickled::Float(im)] => Some(Pickled::Complex(*re, *im)),
            _ => None,
        },
        "collections.OrderedDict" => return Err(changed(&class)),
        _ => return Ok(Pickled::Object { class, args, items, entries, state: state.map(Box::new) }),
    };
    match value {
        Some(_) if !untouched => Err(changed(&class)),
        Some(value) => Ok(value),
        None => Err(wrong()),
    }
}

fn changed(class: &str) -> String {
    format!("pickle: the result of {class} is modified after the call")
}

/// `OrderedDict([[key, value], …])`, and the entries that were set in it.
fn ordered_dict(args: Vec<Pickled>, entries: Vec<(Pickled, Pickled)>) -> Option<Vec<(Pickled, Pickled)>> {
    let mut all = Vec::new();
    let mut args = args.into_iter();
    if let Some(Pickled::Tuple(pairs) | Pickled::List(pairs)) = args.next() {
        for pair in pairs {
            let (Pickled::Tuple(pair) | Pickled::List(pair)) = pair else { return None };
            let [key, value] = <[Pickled; 2]>::try_from(pair).ok()?;
            all.push((key, value));
        }
    }
    all.extend(entries);
    args.next().is_none().then_some(all)
}

/// `_rebuild_parameter(data, requires_grad, hooks)`, or with a fourth argument, its attributes.
fn parameter(args: Vec<Pickled>) -> Option<Pickled> {
    let mut args = args.into_iter();
    match (args.next()?, args.next()?, args.next()?, args.next(), args.next()) {
        (Pickled::Tensor(data), Pickled::Bool(requires_grad), _, state, None)
            if has_only(state.as_ref(), is_extra_attribute) =>
        {
            Some(Pickled::Tensor(PickledTensor { requires_grad, is_param: true, ..data }))
        }
        _ => None,
    }
}

/// True if all attributes in the state, if any, have allowed names.
fn has_only(state: Option<&Pickled>, allowed: impl Fn(&str) -> bool) -> bool {
    match state {
        None | Some(Pickled::None) => true,
        Some(Pickled::Dict(entries)) => entries.iter().all(|(key, _)| matches!(key, Pickled::Str(key) if allowed(key))),
        Some(_) => false,
    }
}

/// False for attributes of tensors that change their contents: Python sets each by `setattr`.
fn is_extra_attribute(name: &str) -> bool {
    const SETTERS: [&str; 7] = ["data", "real", "imag", "grad", "_grad", "requires_grad", "names"];
    !SETTERS.contains(&name) && !name.starts_with("__")
}

/// A tensor with additional attributes, which are dropped: the function, the class, its arguments, the attributes. The
/// attributes of a wrapper subclass are its inner tensors.
fn from_type(args: Vec<Pickled>) -> Result<Option<Pickled>, String> {
    let Ok([Pickled::Global(function), Pickled::Global(_), Pickled::Tuple(args), state]) =
        <[Pickled; 4]>::try_from(args)
    else {
        return Ok(None);
    };
    match (function.as_str(), state) {
        (WRAPPER, state @ Pickled::Dict(_)) => Ok(Some(Pickled::Object {
            class: function,
            args,
            items: Vec::new(),
            entries: Vec::new(),
            state: Some(Box::new(state)),
        })),
        ("torch._tensor._rebuild_from_type_v2", _) => Ok(None),
        (_, state) if !has_only(Some(&state), is_extra_attribute) => Ok(None),
        _ => call(Pickled::Global(function), Pickled::Tuple(args), Vec::new(), Vec::new(), None).map(Some),
    }
}

/// `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata?)`; `v3` has the dtype before the
/// metadata, and a storage without one.
fn tensor(args: &[Pickled], with_dtype: bool) -> Option<PickledTensor> {
    let [storage, Pickled::Int(offset), sizes, strides, Pickled::Bool(requires_grad), _hooks, rest @ ..] = args else {
        return None;
    };
    let Pickled::Object { class, args: parts, .. } = storage else { return None };
    let [Pickled::Str(tag), Pickled::Global(kind), Pickled::Str(key), Pickled::Str(device), Pickled::Int(elements)] =
        parts.as_slice()
    else {
        return None;
    };
    if class != "storage" || tag != "storage" {
        return None;
    }
    let untyped = kind.strip_suffix(UNTYPED.1).is_some_and(|module| ["torch.storage.", "torch."].contains(&module));
    let element = if untyped { 1 } else { storage_dtype(kind)?.size() as u64 };
    let (dtype, metadata) = match (with_dtype, rest) {
        (true, [dtype, metadata @ ..]) => (dtype_of(dtype)?, metadata.first()),
        (false, metadata) => (storage_dtype(kind)?, metadata.first()),
        _ => return None,
    };
    let is_lazy = ["conj", "neg"].iter().any(|key| metadata.and_then(|m| m.get(key)) == Some(&Pickled::Bool(true)));
    Some(PickledTensor {
        key: key.clone(),
        storage_len: u64::try_from(*elements).ok()?.checked_mul(element)?,
        dtype,
        offset: *offset,
        sizes: ints(sizes)?,
        strides: ints(strides)?,
        requires_grad: *requires_grad,
        is_param: false,
        is_lazy,
        device: device.clone(),
    })
}

/// The dtype that a global like `torch.float16` names.
pub(super) fn dtype_of(value: &Pickled) -> Option<DType> {
    match value {
        Pickled::DType(dtype) => Some(*dtype),
        Pickled::Global(name) => DType::from_name(name.strip_prefix("torch.")?),
        _ => None,
    }
}

fn storage_dtype(class: &str) -> Option<DType> {
    let name = class.strip_prefix("torch.")?;
    STORAGES.iter().find(|(class, _)| *class == name).map(|(_, dtype)| *dtype)
}

/// The module and class of storages of any dtype, as PyTorch writes and, with `weights_only`, allows it.
pub(super) const UNTYPED: (&str, &str) = ("torch.storage", "UntypedStorage");

/// The class of a dtype's storages, in `torch`; younger dtypes have none.
pub(super) fn storage_class(dtype: DType) -> Option<&'static str> {
    STORAGES.iter().find(|(_, d)| *d == dtype).map(|(class, _)| *class)
}

const STORAGES: [(&str, DType); 12] = [
    ("FloatStorage", DType::F32),
    ("DoubleStorage", DType::F64),
    ("HalfStorage", DType::F16),
    ("BFloat16Storage", DType::BF16),
    ("LongStorage", DType::I64),
    ("IntStorage", DType::I32),
    ("ShortStorage", DType::I16),
    ("CharStorage", DType::I8),
    ("ByteStorage", DType::U8),
    ("BoolStorage", DType::Bool),
    ("ComplexFloatStorage", DType::C64),
    ("ComplexDoubleStorage", DType::C128),
];

fn ints(value: &Pickled) -> Option<Vec<i64>> {
    if let Pickled::Size(list) = value {
        return Some(list.clone());
    }
    value.items()?.iter().map(|n| if let Pickled::Int(n) = n { Some(*n) } else { None }).collect()
}
