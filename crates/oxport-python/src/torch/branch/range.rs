//! `range` of numbers that are not known before the program runs.

use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::syntax::tree::BinOp;
use crate::torch::number::is_open;
use crate::value::{Class, Value};
use std::any::Any;
use std::rc::Rc;

/// A range: its first element, the number of its elements, their difference.
struct OpenRange {
    start: Value,
    count: Value,
    step: i64,
}

/// The range of these bounds, if one of them depends on data.
///
/// # Errors
/// The step depends on data.
pub fn open_range(interp: &mut Interp, start: &Value, stop: &Value, step: &Value) -> R<Option<Value>> {
    if !is_open(start) && !is_open(stop) && !is_open(step) {
        return Ok(None);
    }
    if is_open(step) {
        return interp.raise("RuntimeError", "range() arg 3 must not depend on data");
    }
    let step = interp.index(step)?;
    let (first, last) = if step < 0 { (stop, start) } else { (start, stop) };
    let mut count = interp.binary(last, BinOp::Sub, first)?;
    let size = step.saturating_abs();
    if size > 1 {
        count = interp.binary(&count, BinOp::Add, &Value::Int(size - 1))?;
        count = interp.binary(&count, BinOp::FloorDiv, &Value::Int(size))?;
    }
    Ok(Some(Value::Host(Rc::new(OpenRange { start: start.clone(), count, step }))))
}

impl Host for OpenRange {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.range.clone()
    }

    fn unknown_len(&self, _: &mut Interp, _: &Value) -> R<Option<Value>> {
        Ok(Some(self.count.clone()))
    }

    fn iter(&self, interp: &mut Interp, _: &Value) -> R<Option<Vec<Value>>> {
        interp.raise(
            "RuntimeError",
            "the number of elements of a range depends on data; only a `for` statement can run over it",
        )
    }

    fn get_item(&self, interp: &mut Interp, _: &Value, index: &Value) -> R<Option<Value>> {
        let offset = match self.step {
            1 => index.clone(),
            step => interp.binary(index, BinOp::Mul, &Value::Int(step))?,
        };
        match self.start {
            Value::Int(0) => Ok(Some(offset)),
            ref start => interp.binary(start, BinOp::Add, &offset).map(Some),
        }
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok("range(...)".to_string())
    }
}
