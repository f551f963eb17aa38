//! `tensor[index]` and its assignment, as PyTorch's `python_variable_indexing.cpp` has them.

use super::convert::Constant;
use super::data::{Origin, make};
use super::session::Session;
use super::tensor::tensor_of;
use crate::error::R;
use crate::interp::Interp;
use crate::value::Value;
use oxport_tensor::DType;
use std::rc::Rc;

/// The result of the basic part of an index: a view, and the tensors that index its dimensions.
struct Basic {
    view: Value,
    tensors: Vec<Value>,
}

fn parts(index: &Value) -> Vec<Value> {
    match index.plain() {
        Value::Tuple(items) => items.to_vec(),
        // A list of numbers is an index tensor; a list that holds slices is a tuple, as NumPy had it.
        Value::List(list)
            if list.borrow().iter().any(|v| matches!(v, Value::Slice(_) | Value::Ellipsis | Value::None)) =>
        {
            list.borrow().clone()
        }
        other => vec![other],
    }
}

/// The dimensions that a part takes.
fn consumed(part: &Value) -> usize {
    match part {
        Value::None | Value::Ellipsis | Value::Bool(_) => 0,
        _ => match tensor_of(part) {
            Some(t) if t.is_mask() => t.sizes().len(),
            _ => 1,
        },
    }
}

impl super::tensor::TensorValue {
    /// Whether it is a mask.
    fn is_mask(&self) -> bool {
        match &*self.kind.borrow() {
            super::tensor::Kind::Traced(t) => matches!(t.dtype(), DType::Bool | DType::U8),
            super::tensor::Kind::Data(t) => matches!(t.dtype(), DType::Bool | DType::U8),
        }
    }
}

fn basic(interp: &mut Interp, session: &Rc<Session>, this: &Value, index: &Value) -> R<Basic> {
    let parts = parts(index);
    let rank = tensor_of(this).map_or(0, |t| t.sizes().len());
    let taken: usize = parts.iter().map(consumed).sum();
    if taken > rank {
        return interp.raise("IndexError", format!("too many indices for tensor of dimension {rank}"));
    }
    let mut view = this.clone();
    let mut tensors = Vec::new();
    let mut dim = 0i64;
    for part in &parts {
        match part {
            Value::Ellipsis => dim += (rank - taken) as i64,
            Value::None => {
                view = session.op(interp, "unsqueeze", &[view, Value::Int(dim)], &[])?;
                dim += 1;
            }
            Value::Slice(slice) => {
                let is_full = slice.iter().all(|v| matches!(v, Value::None));
                if !is_full {
                    let step = if matches!(slice[2], Value::None) { Value::Int(1) } else { slice[2].clone() };
                    if matches!(step, Value::Int(n) if n <= 0) {
                        return interp.value_error("step must be greater than zero");
                    }
                    let mut bound = |v: &Value, default: i64| match (v, tensor_of(v)) {
                        (Value::None, _) => Ok(Value::Int(default)),
                        (_, Some(tensor)) => tensor.item(interp, v),
                        _ => Ok(v.clone()),
                    };
                    let (start, stop) = (bound(&slice[0], 0)?, bound(&slice[1], i64::MAX)?);
                    view = session.op(interp, "slice", &[view, Value::Int(dim), start, stop, step], &[])?;
                }
                dim += 1;
            }
            Value::Bool(b) => {
                view = session.op(interp, "unsqueeze", &[view, Value::Int(dim)], &[])?;
                let mask = make(interp, session, &Value::list(vec![Value::Bool(*b)]), None, Origin::Data)?;
                put(&mut tensors, dim, mask);
                dim += 1;
            }
            Value::List(_) | Value::Tuple(_) | Value::Range(_) => {
                let tensor = make(interp, session, part, None, Origin::Data)?;
                put(&mut tensors, dim, tensor);
                dim += 1;
            }
            part => match tensor_of(part) {
                Some(tensor) => {
                    let width = if tensor.is_mask() { tensor.sizes().len() } else { 1 };
                    put(&mut tensors, dim, part.clone());
                    dim += width as i64;
                }
                None => {
                    let number = match part {
                        Value::Int(_) | Value::Host(_) => part.clone(),
                        other => Value::Int(interp.index(other)?),
                    };
                    if let (Value::Int(n), Some(size)) =
                        (&number, tensor_of(&view).and_then(|t| t.sizes().get(dim as usize).and_then(|s| s.known())))
                        && (*n >= size || *n < -size)
                    {
                        let message = format!("index {n} is out of bounds for dimension {dim} with size {size}");
                        return interp.raise("IndexError", message);
                    }
                    view = session.op(interp, "select", &[view, Value::Int(dim), number], &[])?;
                }
            },
        }
    }
    Ok(Basic { view, tensors })
}

fn put(tensors: &mut Vec<Value>, dim: i64, tensor: Value) {
    while (tensors.len() as i64) < dim {
        tensors.push(Value::None);
    }
    tensors.push(tensor);
}

/// `tensor[index]`.
pub fn get(interp: &mut Interp, session: &Rc<Session>, this: &Value, index: &Value) -> R<Value> {
    let Basic { view, tensors } = basic(interp, session, this, index)?;
    if tensors.is_empty() {
        if view.is(this) {
            return session.op(interp, "alias", &[view], &[]);
        }
        return Ok(view);
    }
    session.op(interp, "index", &[view, Value::list(tensors)], &[])
}

/// `tensor[index] = value`.
pub fn set(interp: &mut Interp, session: &Rc<Session>, this: &Value, index: &Value, value: &Value) -> R<()> {
    let Basic { view, tensors } = basic(interp, session, this, index)?;
    let value = match tensor_of(value) {
        Some(_) => value.clone(),
        None if tensors.is_empty() => {
            session.op(interp, "fill_", &[view, value.clone()], &[])?;
            return Ok(());
        }
        None if fill(interp, session, &view, &tensors, value)? => return Ok(()),
        None => {
            let dtype = interp.get_attr(this, &"dtype".into())?;
            make(interp, session, value, Some(&dtype), Origin::Data)?
        }
    };
    if tensors.is_empty() {
        session.op(interp, "copy_", &[view, value], &[])?;
    } else {
        session.op(interp, "index_put_", &[view, Value::list(tensors), value], &[])?;
    }
    Ok(())
}

/// Writes a number where a single tensor selects: `masked_fill_` or `index_fill_`, as PyTorch traces it.
fn fill(interp: &mut Interp, session: &Rc<Session>, view: &Value, tensors: &[Value], value: &Value) -> R<bool> {
    let mut given = tensors.iter().enumerate().filter(|(_, t)| !matches!(t, Value::None));
    let (Some((dim, index)), None) = (given.next(), given.next()) else { return Ok(false) };
    let (Some(of), Some(tensor)) = (tensor_of(view), tensor_of(index)) else { return Ok(false) };
    let (rank, own) = (of.sizes().len(), tensor.sizes().len());
    let mut index = index.clone();
    if tensor.is_mask() {
        if tensor.fake().dtype != DType::Bool {
            index = session.op(interp, "to", &[index, Constant::DType(DType::Bool).value()], &[])?;
        }
        for _ in dim + own..rank {
            index = session.op(interp, "unsqueeze", &[index, Value::Int(-1)], &[])?;
        }
        session.op(interp, "masked_fill_.Scalar", &[view.clone(), index, value.clone()], &[])?;
        return Ok(true);
    }
    if tensor.fake().dtype != DType::I64 {
        return Ok(false);
    }
    if own != 1 {
        index = session.op(interp, "view", &[index, Value::list(vec![Value::Int(-1)])], &[])?;
    }
    session.op(interp, "index_fill_.int_Scalar", &[view.clone(), Value::from_len(dim), index, value.clone()], &[])?;
    Ok(true)
}
