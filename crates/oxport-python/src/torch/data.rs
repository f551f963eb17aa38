//! Tensors of data: `torch.tensor`, `tolist`.

use super::convert::Constant;
use super::number::{Number, SymValue};
use super::session::Session;
use super::tensor::{Kind, scalar_value, tensor_of};
use crate::error::R;
use crate::interp::Interp;
use crate::value::Value;
use oxport_tensor::{DType, Tensor as Data};
use std::rc::Rc;

/// Reads nested sequences: sizes and elements in order.
fn flatten(interp: &mut Interp, value: &Value, depth: usize, sizes: &mut Vec<i64>, out: &mut Vec<Value>) -> R<()> {
    let items = match value.plain() {
        Value::List(_) | Value::Tuple(_) | Value::Range(_) => interp.collect(value)?,
        plain => {
            if depth < sizes.len() {
                return interp.value_error("expected sequences of the same length");
            }
            out.push(plain);
            return Ok(());
        }
    };
    let len = items.len() as i64;
    match sizes.get(depth) {
        None if out.is_empty() => sizes.push(len),
        Some(n) if *n == len => {}
        Some(n) => {
            let message = format!("expected sequence of length {n} at dim {depth} (got {len})");
            return interp.value_error(message);
        }
        None => return interp.value_error("expected sequences of the same depth"),
    }
    for item in &items {
        interp.charge(16)?;
        interp.deeper(|i| flatten(i, item, depth + 1, sizes, out))?;
    }
    Ok(())
}

/// What makes a tensor of data; PyTorch traces two forms.
#[derive(Clone, Copy)]
pub enum Origin {
    /// `torch.tensor` and `new_tensor`.
    Tensor,
    /// `as_tensor`, `from_numpy`, `torch.Tensor`, an index.
    Data,
}

/// `torch.tensor(value, dtype)` and the like. In a program, each call of it has a copy of its own.
pub fn make(
    interp: &mut Interp,
    session: &Rc<Session>,
    value: &Value,
    dtype: Option<&Value>,
    origin: Origin,
) -> R<Value> {
    let wanted = match dtype {
        None | Some(Value::None) => None,
        Some(dtype) => match session.lower(interp, dtype)? {
            oxport_capture::Value::DType(d) => Some(d),
            _ => return interp.type_error("dtype must be a torch.dtype"),
        },
    };
    let (mut sizes, mut items) = (Vec::new(), Vec::new());
    flatten(interp, value, 0, &mut sizes, &mut items)?;
    // Tensors and symbolic numbers among the elements are stacked.
    let is_traced = |v: &Value| tensor_of(v).is_some() || matches!(v, Value::Host(h) if h.as_any().is::<SymValue>());
    if items.iter().any(is_traced) {
        return stack(interp, session, &sizes, items, wanted);
    }
    let inferred = if items.iter().any(|v| matches!(v, Value::Complex(..))) {
        DType::C64
    } else if items.iter().any(|v| matches!(v, Value::Float(_))) || items.is_empty() {
        DType::F32
    } else if items.iter().all(|v| matches!(v, Value::Bool(_))) {
        DType::Bool
    } else {
        DType::I64
    };
    let dtype = wanted.unwrap_or(inferred);
    let made = match inferred {
        DType::C64 => return interp.raise("NotImplementedError", "torch.tensor of complex numbers is not supported"),
        DType::F32 => {
            let elements = items.iter().map(|v| interp.real(v)).collect::<R<Vec<f64>>>()?;
            Data::from_vec(&sizes, elements)
        }
        DType::Bool => {
            let elements = items.iter().map(|v| interp.truth(v)).collect::<R<Vec<bool>>>()?;
            Data::from_vec(&sizes, elements)
        }
        _ => {
            let elements = items.iter().map(|v| interp.index(v)).collect::<R<Vec<i64>>>()?;
            Data::from_vec(&sizes, elements)
        }
    };
    match made.and_then(|data| data.to_dtype(dtype)) {
        Ok(data) if session.is_tracing() => trace(interp, session, data, origin),
        Ok(data) => Ok(session.value(Kind::Data(data))),
        Err(error) => interp.raise("RuntimeError", error.to_string()),
    }
}

/// A constant of the program, which is known outside of it until something is written to it.
fn trace(interp: &mut Interp, session: &Rc<Session>, data: Data, origin: Origin) -> R<Value> {
    session.note_trace(interp);
    let tracer = session.tracer();
    let traced = match origin {
        Origin::Tensor => tracer.constant(data.clone()),
        Origin::Data => tracer.lift_fresh(data.clone()),
    };
    let made = match traced {
        Ok(tensor) => session.value(Kind::Traced(tensor)),
        Err(error) => return interp.raise("RuntimeError", error.message()),
    };
    if let Some(tensor) = tensor_of(&made) {
        *tensor.twin.borrow_mut() = Some((session.writes(), session.value(Kind::Data(data))));
        tensor.is_kin.set(true);
    }
    Ok(made)
}

fn stack(
    interp: &mut Interp,
    session: &Rc<Session>,
    sizes: &[i64],
    items: Vec<Value>,
    dtype: Option<DType>,
) -> R<Value> {
    // Numbers have the dtype that torch.tensor infers of them.
    let is_float = |v: &Value| match v {
        Value::Float(_) => true,
        Value::Host(host) => matches!(host.as_any().downcast_ref(), Some(SymValue(Number::Float(_)))),
        _ => false,
    };
    let is_bool = |v: &Value| match v {
        Value::Bool(_) => true,
        Value::Host(host) => matches!(host.as_any().downcast_ref(), Some(SymValue(Number::Bool(_)))),
        _ => false,
    };
    let inferred = match (items.iter().any(is_float), items.iter().all(is_bool)) {
        (true, _) => DType::F32,
        (_, true) => DType::Bool,
        _ => DType::I64,
    };
    let mut tensors = Vec::new();
    for item in items {
        tensors.push(match tensor_of(&item) {
            Some(_) => item,
            None => {
                let kw = [("dtype".into(), Constant::DType(dtype.unwrap_or(inferred)).value())];
                session.op(interp, "scalar_tensor", &[item], &kw)?
            }
        });
    }
    if sizes.is_empty() {
        let only = tensors.swap_remove(0);
        return session.op(interp, "clone", &[only], &[]);
    }
    let flat = session.op(interp, "stack", &[Value::list(tensors)], &[])?;
    let sizes: Vec<Value> = sizes.iter().map(|n| Value::Int(*n)).collect();
    let mut shaped = session.op(interp, "reshape", &[flat, Value::list(sizes)], &[])?;
    if let Some(dtype) = dtype {
        shaped = session.op(interp, "to", &[shaped, Constant::DType(dtype).value()], &[])?;
    }
    Ok(shaped)
}

/// `tolist`.
pub fn to_list(interp: &mut Interp, value: &Value) -> R<Value> {
    let Some(tensor) = tensor_of(value) else { return interp.type_error("expected a tensor") };
    let data = tensor.data(interp)?;
    let n = data.numel();
    interp.charge(n.saturating_mul(16))?;
    let elements: Vec<Value> = match data.dtype().category() {
        oxport_tensor::Category::Float => match data.to_vec::<f64>() {
            Ok(items) => items.into_iter().map(Value::Float).collect(),
            Err(error) => return interp.raise("RuntimeError", error.to_string()),
        },
        oxport_tensor::Category::Bool => match data.to_vec::<bool>() {
            Ok(items) => items.into_iter().map(Value::Bool).collect(),
            Err(error) => return interp.raise("RuntimeError", error.to_string()),
        },
        _ => match data.to_vec::<i64>() {
            Ok(items) => items.into_iter().map(Value::Int).collect(),
            Err(error) => return interp.raise("RuntimeError", error.to_string()),
        },
    };
    if data.sizes().is_empty() {
        return match data.item() {
            Ok(scalar) => Ok(scalar_value(scalar)),
            Err(error) => interp.raise("RuntimeError", error.to_string()),
        };
    }
    let mut items = elements;
    for size in data.sizes()[1..].iter().rev() {
        let size = (*size).max(1) as usize;
        items = items.chunks(size).map(|c| Value::list(c.to_vec())).collect();
    }
    Ok(Value::list(items))
}
