//! The calls that are understood: tensors, parameters, dtypes, devices and containers.

use oxport_tensor::DType;

use super::{Pickled, PickledTensor};

/// The function that makes a tensor of a Python class that wraps others.
pub(crate) const WRAPPER: &str = "torch._utils._rebuild_wrapper_subclass";

/// What a call gives. Calls that are not on the list become objects.
pub(super) fn call(
    callee: Pickled,
    args: Pickled,
    items: Vec<Pickled>,
    entries: Vec<(Pickled, Pickled)>,
    state: Option<Pickled>,
) -> Result<Pickled, String> {
    let Pickled::Global(class) = callee else { return Err("pickle: what is called is no function".into()) };
    let Pickled::Tuple(args) = args else { return Err("pickle: the arguments of a call are no tuple".into()) };
    let wrong = || format!("pickle: {class} is called with arguments that it does not take");
    match class.as_str() {
        "torch._utils._rebuild_tensor_v2" => tensor(&args, false).map(Pickled::Tensor).ok_or_else(wrong),
        "torch._utils._rebuild_tensor_v3" => tensor(&args, true).map(Pickled::Tensor).ok_or_else(wrong),
        "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state" => match args.as_slice() {
            [Pickled::Tensor(data), Pickled::Bool(requires_grad), ..] => {
                let requires_grad = *requires_grad;
                Ok(Pickled::Tensor(PickledTensor { requires_grad, is_param: true, ..data.clone() }))
            }
            _ => Err(wrong()),
        },
        // A tensor with attributes of its own, which are dropped: the function, the class, its arguments, the attributes.
        "torch._tensor._rebuild_from_type_v2" => match args.as_slice() {
            // The attributes of a wrapper are what it wraps.
            [Pickled::Global(name), Pickled::Global(_), Pickled::Tuple(args), state @ Pickled::Dict(_)]
                if name == WRAPPER =>
            {
                let (class, state) = (name.clone(), Some(Box::new(state.clone())));
                Ok(Pickled::Object { class, args: args.clone(), items: Vec::new(), entries: Vec::new(), state })
            }
            [function @ Pickled::Global(name), Pickled::Global(_), args @ Pickled::Tuple(_), _]
                if name != "torch._tensor._rebuild_from_type_v2" =>
            {
                call(function.clone(), args.clone(), Vec::new(), Vec::new(), None)
            }
            _ => Err(wrong()),
        },
        "collections.OrderedDict" => {
            let mut all = Vec::new();
            for pair in args.first().and_then(Pickled::items).unwrap_or(&[]) {
                match pair.items() {
                    Some([key, value]) => all.push((key.clone(), value.clone())),
                    _ => return Err(wrong()),
                }
            }
            all.extend(entries);
            Ok(Pickled::Dict(all))
        }
        "torch.Size" => args.first().and_then(ints).map(Pickled::Size).ok_or_else(wrong),
        "torch.device" => match args.as_slice() {
            [Pickled::Str(kind)] => Ok(Pickled::Device(kind.clone())),
            [Pickled::Str(kind), Pickled::Int(index)] => Ok(Pickled::Device(format!("{kind}:{index}"))),
            _ => Err(wrong()),
        },
        "builtins.complex" | "__builtin__.complex" => match args.as_slice() {
            [Pickled::Float(re), Pickled::Float(im)] => Ok(Pickled::Complex(*re, *im)),
            _ => Err(wrong()),
        },
        _ => Ok(Pickled::Object { class, args, items, entries, state: state.map(Box::new) }),
    }
}

/// `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata?)`; `v3` has the dtype before the
/// metadata, and a storage without one.
fn tensor(args: &[Pickled], with_dtype: bool) -> Option<PickledTensor> {
    let [storage, Pickled::Int(offset), sizes, strides, Pickled::Bool(requires_grad), _hooks, rest @ ..] = args else {
        return None;
    };
    let Pickled::Object { class, args: parts, .. } = storage else { return None };
    let [Pickled::Str(tag), Pickled::Global(kind), Pickled::Str(key), Pickled::Str(device), Pickled::Int(_)] =
        parts.as_slice()
    else {
        return None;
    };
    if class != "storage" || tag != "storage" {
        return None;
    }
    let (dtype, metadata) = match (with_dtype, rest) {
        (true, [dtype, metadata @ ..]) => (dtype_of(dtype)?, metadata.first()),
        (false, metadata) => (storage_dtype(kind)?, metadata.first()),
        _ => return None,
    };
    let is_lazy = ["conj", "neg"].iter().any(|key| metadata.and_then(|m| m.get(key)) == Some(&Pickled::Bool(true)));
    Some(PickledTensor {
        key: key.clone(),
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
