//! What the interpreter asks of objects that are not Python's: tensors, symbolic ints, dtypes.
//!
//! The core of the interpreter does not know tensors; it asks by this trait. Every method has a default, which is what
//! an object without the ability answers: `None` stands for "I cannot", so that Python's own rules and errors apply.

use crate::error::{R, Unwind};
use crate::interp::Interp;
use crate::syntax::tree::{BinOp, CmpOp, UnaryOp};
use crate::value::{Args, Class, Value};
use std::any::Any;
use std::rc::Rc;

/// An object of the host.
#[allow(unused_variables)]
pub trait Host: Any {
    /// The object, to find its type.
    fn as_any(&self) -> &dyn Any;

    /// The class: what `type()` and `isinstance` see. Its attributes are the object's methods.
    fn class(&self, interp: &Interp) -> Rc<Class>;

    /// Reads an attribute; asked before the class.
    fn get_attr(&self, interp: &mut Interp, this: &Value, name: &str) -> R<Option<Value>> {
        Ok(None)
    }

    /// Writes an attribute; false if it cannot.
    fn set_attr(&self, interp: &mut Interp, name: &str, value: Value) -> R<bool> {
        Ok(false)
    }

    /// Calls it.
    fn call(&self, interp: &mut Interp, args: Args) -> R<Option<Value>> {
        Ok(None)
    }

    /// `this op other`, or `other op this`.
    fn binary(&self, interp: &mut Interp, this: &Value, op: BinOp, other: &Value, swapped: bool) -> R<Option<Value>> {
        Ok(None)
    }

    /// `this op= other`.
    fn in_place(&self, interp: &mut Interp, this: &Value, op: BinOp, other: &Value) -> R<Option<Value>> {
        self.binary(interp, this, op, other, false)
    }

    /// `op this`.
    fn unary(&self, interp: &mut Interp, this: &Value, op: UnaryOp) -> R<Option<Value>> {
        Ok(None)
    }

    /// `this op other`.
    fn compare(&self, interp: &mut Interp, this: &Value, op: CmpOp, other: &Value) -> R<Option<Value>> {
        Ok(None)
    }

    /// `this[index]`.
    fn get_item(&self, interp: &mut Interp, this: &Value, index: &Value) -> R<Option<Value>> {
        Ok(None)
    }

    /// `this[index] = value`; false if it cannot.
    fn set_item(&self, interp: &mut Interp, this: &Value, index: &Value, value: &Value) -> R<bool> {
        Ok(false)
    }

    /// `len(this)`.
    fn len(&self, interp: &mut Interp) -> R<Option<Value>> {
        Ok(None)
    }

    /// The elements that iteration gives.
    fn iter(&self, interp: &mut Interp, this: &Value) -> R<Option<Vec<Value>>> {
        Ok(None)
    }

    /// `bool(this)`.
    fn truth(&self, interp: &mut Interp, this: &Value) -> R<bool> {
        Ok(true)
    }

    /// As a condition: the bool of the program that it is, if it is not known before the program runs.
    fn undecided(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        Ok(None)
    }

    /// Why the value cannot be used, if that is so.
    fn refusal(&self) -> Option<&str> {
        None
    }

    /// The error that took the value's place, if one did.
    fn unavailable(&self) -> Option<Unwind> {
        None
    }

    /// As what is iterated: the number of elements, if it is not known before the program runs.
    fn unknown_len(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        Ok(None)
    }

    /// An int where one is needed, as an index: a symbolic size is specialized.
    fn index(&self, interp: &mut Interp, this: &Value) -> R<Option<i64>> {
        Ok(None)
    }

    /// `int(this)`: it may remain symbolic.
    fn int(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        Ok(self.index(interp, this)?.map(Value::Int))
    }

    /// `float(this)`: it may remain symbolic.
    fn float(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        Ok(None)
    }

    /// A number that equal objects share.
    fn hash(&self) -> Option<u64> {
        None
    }

    /// `repr(this)`.
    fn repr(&self, interp: &mut Interp) -> R<String>;
}
