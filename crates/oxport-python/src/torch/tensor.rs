//! Tensors as objects of the interpreted program.

use super::convert::Constant;
use super::session::Session;
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::syntax::tree::{BinOp, CmpOp, UnaryOp};
use crate::value::{Class, Name, Namespace, Value};
use oxport_tensor::Tensor as Data;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a tensor is made of.
#[derive(Clone)]
pub enum Kind {
    /// A node of a program.
    Traced(oxport_capture::Tensor),
    /// Data.
    Data(Data),
}

/// A tensor.
pub struct TensorValue {
    /// The capture.
    pub session: Rc<Session>,
    /// What it is made of.
    pub kind: Slot<Kind>,
    /// Whether it is an `nn.Parameter`.
    pub is_parameter: Cell<bool>,
    /// `requires_grad`.
    pub requires_grad: Cell<bool>,
    /// The name of the attribute that holds it, if it is neither parameter nor buffer.
    pub lifted: RefCell<Option<Name>>,
    /// Attributes that the program sets.
    pub dict: Slot<Namespace>,
    /// The same constant outside of the program, and the number of writes that were traced when it was made.
    pub twin: RefCell<Option<(u64, Value)>>,
    /// Whether it may lie in the storage of a tensor that has a twin.
    pub is_kin: Cell<bool>,
}

impl TensorValue {
    /// The constant outside of the program that it equals: as PyTorch's fake tensors know those of `torch.tensor` and
    /// what is computed of these alone.
    pub fn twin(&self) -> Option<Value> {
        let twin = self.twin.borrow();
        twin.as_ref().filter(|(writes, _)| *writes == self.session.writes()).map(|(_, twin)| twin.clone())
    }
    /// The tensor as a node of the current program: one made before becomes an attribute of it.
    pub fn resolve(&self, interp: &Interp) -> R<oxport_capture::Tensor> {
        let tracer = self.session.tracer();
        let data = match &*self.kind.borrow() {
            Kind::Traced(t) if t.tracer().is_same(&tracer) => return Ok(t.clone()),
            Kind::Traced(t) if t.tracer().is_same(&self.session.scratch) => {
                self.session.evaluate(interp, std::slice::from_ref(t))?.swap_remove(0)
            }
            Kind::Traced(_) => return interp.raise("RuntimeError", "a tensor of another capture is used"),
            Kind::Data(data) => data.clone(),
        };
        let name = self.lifted.borrow().as_ref().map(ToString::to_string);
        match tracer.attribute(&name.unwrap_or_else(|| tracer.fresh_name()), data) {
            Ok(tensor) => {
                self.kind.cache(Kind::Traced(tensor.clone()));
                Ok(tensor)
            }
            Err(error) => interp.raise("RuntimeError", error.message()),
        }
    }

    /// The data, of a tensor that does not depend on inputs.
    pub fn data(&self, interp: &Interp) -> R<Data> {
        let traced = match &*self.kind.borrow() {
            Kind::Data(data) => return Ok(data.clone()),
            Kind::Traced(t) => t.clone(),
        };
        if !traced.tracer().is_same(&self.session.scratch) {
            if let Some(twin) = self.twin().as_ref().and_then(tensor_of) {
                return twin.data(interp);
            }
            let message = "the value of a tensor that depends on inputs is not known during capture; \
                 use torch.where, torch.cond or sizes instead";
            return interp.raise("RuntimeError", message);
        }
        let data = self.session.evaluate(interp, &[traced])?.swap_remove(0);
        self.kind.cache(Kind::Data(data.clone()));
        Ok(data)
    }

    /// Whether it is there before and after the program runs: an input, or a tensor of a module.
    pub fn is_from_outside(&self) -> bool {
        match &*self.kind.borrow() {
            Kind::Data(_) => true,
            Kind::Traced(t) => t.is_input(),
        }
    }

    fn is_known(&self) -> bool {
        match &*self.kind.borrow() {
            Kind::Data(_) => true,
            Kind::Traced(t) => t.tracer().is_same(&self.session.scratch) || self.twin().is_some(),
        }
    }

    /// Dtype, sizes and strides.
    pub fn fake(&self) -> oxport_ir::Fake {
        match &*self.kind.borrow() {
            Kind::Traced(t) => t.fake().unwrap_or_else(|| oxport_ir::Fake::new(t.dtype(), [])),
            Kind::Data(data) => oxport_ir::Fake::of(data),
        }
    }

    /// The sizes.
    pub fn sizes(&self) -> Vec<oxport_capture::SymInt> {
        match &*self.kind.borrow() {
            Kind::Traced(t) => t.shape(),
            Kind::Data(data) => data.sizes().iter().map(|n| (*n).into()).collect(),
        }
    }

    /// The strides, in elements.
    pub fn strides(&self) -> Vec<oxport_capture::SymInt> {
        match &*self.kind.borrow() {
            Kind::Traced(t) => t.strides(),
            Kind::Data(data) => data.strides().iter().map(|n| (*n).into()).collect(),
        }
    }

    fn rank(&self) -> usize {
        self.fake().sizes.len()
    }
}

/// The tensor that a value is.
pub fn tensor_of(value: &Value) -> Option<&TensorValue> {
    match value {
        Value::Host(host) => host.as_any().downcast_ref(),
        _ => None,
    }
}

/// Methods that take sizes one by one.
const VARIADIC: [&str; 17] = [
    "view",
    "reshape",
    "permute",
    "expand",
    "repeat",
    "tile",
    "flip",
    "new_zeros",
    "new_ones",
    "new_empty",
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "resize_",
    "_unsafe_view",
];

/// Ints one by one as a list, if the operator takes them so.
pub fn gather_sizes(name: &str, skip: usize, mut args: Vec<Value>) -> Vec<Value> {
    let is_int = |v: &Value| match v {
        Value::Int(_) => true,
        Value::Host(host) => host.as_any().is::<super::number::SymValue>(),
        _ => false,
    };
    let takes = VARIADIC.contains(&name) && args.len() > skip && args[skip..].iter().all(is_int);
    if takes {
        let sizes = args.split_off(skip);
        args.push(Value::list(sizes));
    }
    args
}

impl Host for TensorValue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, _: &Interp) -> Rc<Class> {
        if self.is_parameter.get() { self.session.parameter.clone() } else { self.session.tensor.clone() }
    }

    fn get_attr(&self, interp: &mut Interp, this: &Value, name: &str) -> R<Option<Value>> {
        if let Some(value) = self.dict.borrow().get(name) {
            return Ok(Some(value.clone()));
        }
        Ok(Some(match name {
            "shape" => self.session.size(interp, self.sizes())?,
            "ndim" => Value::from_len(self.rank()),
            "dtype" => Constant::DType(self.fake().dtype).value(),
            "device" => Constant::Device(self.fake().device).value(),
            "layout" => Constant::Layout(oxport_ir::MemoryLayout::Strided).value(),
            "requires_grad" => Value::Bool(self.requires_grad.get()),
            "grad" | "grad_fn" | "names" | "_backward_hooks" => Value::None,
            "is_leaf" | "is_cpu" => Value::Bool(true),
            "is_cuda" | "is_sparse" | "is_sparse_csr" | "is_quantized" | "is_meta" | "is_mps" | "is_mtia"
            | "is_xla" | "is_xpu" | "is_ipu" | "is_maia" | "is_vulkan" | "is_nested" | "is_mkldnn" => {
                Value::Bool(false)
            }
            "data" => this.clone(),
            "itemsize" => Value::from_len(self.fake().dtype.size()),
            "T" => self.session.op(interp, "numpy_T", std::slice::from_ref(this), &[])?,
            "H" => self.session.op(interp, "matrix_H", std::slice::from_ref(this), &[])?,
            "mH" => self.session.op(interp, "mH", std::slice::from_ref(this), &[])?,
            "mT" => self.session.op(interp, "transpose", &[this.clone(), Value::Int(-2), Value::Int(-1)], &[])?,
            "real" | "imag" => self.session.op(interp, name, std::slice::from_ref(this), &[])?,
            "__torch_function__" | "__tensor_flatten__" => return Ok(None),
            _ if self.class(interp).lookup(name).is_some() => return Ok(None),
            _ if self.session.has_op(name) => {
                let (session, this, op) = (self.session.clone(), this.clone(), Name::from(name));
                Value::native(name, move |i, args| {
                    let mut pos = vec![this.clone()];
                    pos.extend(args.pos);
                    let pos = gather_sizes(&op, 1, pos);
                    let result = session.op(i, &op, &pos, &args.kw)?;
                    // What writes in place gives the same object.
                    let writes = op.ends_with('_') && !op.ends_with("__");
                    Ok(if writes { this.clone() } else { result })
                })
            }
            _ => return Ok(None),
        }))
    }

    fn set_attr(&self, interp: &mut Interp, name: &str, value: Value) -> R<bool> {
        match (name, tensor_of(&value)) {
            ("requires_grad", _) => self.requires_grad.set(interp.truth(&value)?),
            ("data", Some(other)) => {
                let kind = other.kind.borrow().clone();
                *self.kind.borrow_mut() = kind;
            }
            _ => {
                self.dict.borrow_mut().insert(name.into(), value);
            }
        }
        Ok(true)
    }

    fn binary(&self, interp: &mut Interp, this: &Value, op: BinOp, other: &Value, swapped: bool) -> R<Option<Value>> {
        if !is_operand(other) {
            return Ok(None);
        }
        let plain = |name: &str, i: &mut Interp| self.session.op(i, name, &[this.clone(), other.clone()], &[]);
        let turned = |name: &str, i: &mut Interp| self.session.op(i, name, &[other.clone(), this.clone()], &[]);
        Ok(Some(match (op, swapped) {
            (BinOp::Add, _) => plain("add", interp)?,
            (BinOp::Mul, _) => plain("mul", interp)?,
            (BinOp::Sub, false) => plain("sub", interp)?,
            (BinOp::Sub, true) => plain("rsub", interp)?,
            (BinOp::Div, false) => plain("div", interp)?,
            (BinOp::Div, true) => {
                let inverse = self.session.op(interp, "reciprocal", std::slice::from_ref(this), &[])?;
                self.session.op(interp, "mul", &[inverse, other.clone()], &[])?
            }
            (BinOp::FloorDiv, false) => plain("floor_divide", interp)?,
            (BinOp::FloorDiv, true) => turned("floor_divide", interp)?,
            (BinOp::Mod, false) => plain("remainder", interp)?,
            (BinOp::Mod, true) => turned("remainder", interp)?,
            (BinOp::Pow, false) => plain("pow", interp)?,
            (BinOp::Pow, true) => turned("pow", interp)?,
            (BinOp::MatMul, false) => plain("matmul", interp)?,
            (BinOp::MatMul, true) => turned("matmul", interp)?,
            (BinOp::And, _) => plain("__and__", interp)?,
            (BinOp::Or, _) => plain("__or__", interp)?,
            (BinOp::Xor, _) => plain("__xor__", interp)?,
            (BinOp::Shl, false) => plain("__lshift__", interp)?,
            (BinOp::Shr, false) => plain("__rshift__", interp)?,
            (BinOp::Shl | BinOp::Shr, true) => return Ok(None),
        }))
    }

    fn in_place(&self, interp: &mut Interp, this: &Value, op: BinOp, other: &Value) -> R<Option<Value>> {
        if !is_operand(other) {
            return Ok(None);
        }
        let name = match op {
            BinOp::Add => "add_",
            BinOp::Sub => "sub_",
            BinOp::Mul => "mul_",
            BinOp::Div => "div_",
            BinOp::FloorDiv => "floor_divide_",
            BinOp::Mod => "remainder_",
            BinOp::Pow => "pow_",
            BinOp::And => "__iand__",
            BinOp::Or => "__ior__",
            BinOp::Xor => "__ixor__",
            _ => return self.binary(interp, this, op, other, false),
        };
        self.session.op(interp, name, &[this.clone(), other.clone()], &[])?;
        Ok(Some(this.clone()))
    }

    fn unary(&self, interp: &mut Interp, this: &Value, op: UnaryOp) -> R<Option<Value>> {
        let name = match op {
            UnaryOp::Neg => "neg",
            UnaryOp::Pos => "positive",
            UnaryOp::Invert => "bitwise_not",
            UnaryOp::Not => return Ok(None),
        };
        self.session.op(interp, name, std::slice::from_ref(this), &[]).map(Some)
    }

    fn compare(&self, interp: &mut Interp, this: &Value, op: CmpOp, other: &Value) -> R<Option<Value>> {
        if !is_operand(other) {
            return Ok(match op {
                CmpOp::Eq => Some(Value::Bool(false)),
                CmpOp::Ne => Some(Value::Bool(true)),
                _ => None,
            });
        }
        let (_, name) = op.names();
        self.session.op(interp, name, &[this.clone(), other.clone()], &[]).map(Some)
    }

    fn get_item(&self, interp: &mut Interp, this: &Value, index: &Value) -> R<Option<Value>> {
        super::indexing::get(interp, &self.session, this, index).map(Some)
    }

    fn set_item(&self, interp: &mut Interp, this: &Value, index: &Value, value: &Value) -> R<bool> {
        super::indexing::set(interp, &self.session, this, index, value)?;
        Ok(true)
    }

    fn len(&self, interp: &mut Interp) -> R<Option<Value>> {
        match self.sizes().into_iter().next() {
            Some(n) => Ok(Some(super::number::Number::Int(n).value())),
            None => interp.type_error("len() of a 0-d tensor"),
        }
    }

    fn iter(&self, interp: &mut Interp, this: &Value) -> R<Option<Vec<Value>>> {
        if self.rank() == 0 {
            return interp.type_error("iteration over a 0-d tensor");
        }
        if self.is_known() {
            // The elements are taken of the data: the scratch program does not grow with each.
            let data = self.data(interp)?;
            if data.sizes().len() == 1 && data.numel() <= 1 << 16 {
                let mut items = Vec::new();
                for n in 0..data.sizes()[0] {
                    let index = Value::Int(n);
                    items.push(super::indexing::get(interp, &self.session, this, &index)?);
                }
                return Ok(Some(items));
            }
        }
        let items = self.session.op(interp, "unbind", &[this.clone(), Value::Int(0)], &[])?;
        interp.collect(&items).map(Some)
    }

    fn truth(&self, interp: &mut Interp, _: &Value) -> R<bool> {
        if self.is_known() {
            let data = self.data(interp)?;
            if data.numel() != 1 {
                return interp.raise("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous");
            }
            return match data.item() {
                Ok(scalar) => interp.truth(&scalar_value(scalar)),
                Err(error) => interp.raise("RuntimeError", error.to_string()),
            };
        }
        let name = match &*self.kind.borrow() {
            Kind::Traced(t) => t.name().map(|n| n.to_string()).unwrap_or_default(),
            Kind::Data(_) => String::new(),
        };
        let message = format!(
            "the value of tensor `{name}` is needed here, which is not known during capture: only the statements `if`, \
             `while`, `for` and `assert`, and the expressions `and`, `or`, `not` and `if … else` can be kept in the \
             program; use one of them, or torch.where"
        );
        interp.raise("RuntimeError", message)
    }

    fn undecided(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        if self.is_known() {
            return Ok(None);
        }
        let fake = self.fake();
        if fake.sizes.iter().any(|n| n.as_int().is_some_and(|n| n != 1)) {
            return interp.raise("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous");
        }
        let mut test = this.clone();
        if fake.dtype != oxport_tensor::DType::Bool {
            test = self.session.op(interp, "ne", &[test, Value::Int(0)], &[])?;
        }
        if !fake.sizes.is_empty() {
            test = self.session.op(interp, "reshape", &[test, Value::list(Vec::new())], &[])?;
        }
        Ok(Some(test))
    }

    fn unknown_len(&self, _: &mut Interp, _: &Value) -> R<Option<Value>> {
        let first = self.sizes().into_iter().next().filter(|n| n.is_data_dependent());
        Ok(first.map(|n| super::number::Number::Int(n).value()))
    }

    fn index(&self, interp: &mut Interp, _: &Value) -> R<Option<i64>> {
        let data = self.data(interp)?;
        match data.item() {
            Ok(oxport_tensor::Scalar::Int(n)) => Ok(Some(n)),
            Ok(oxport_tensor::Scalar::Bool(b)) => Ok(Some(i64::from(b))),
            _ => interp.type_error("only integer tensors of a single element can be converted to an index"),
        }
    }

    fn int(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        let item = self.item(interp, this)?;
        interp.int(&item, None).map(Some)
    }

    fn float(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        let item = self.item(interp, this)?;
        interp.float(&item).map(Some)
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        let fake = self.fake();
        let sizes: Vec<String> = fake.sizes.iter().map(ToString::to_string).collect();
        Ok(format!("tensor(..., size=({}), dtype=torch.{})", sizes.join(", "), fake.dtype.name()))
    }
}

impl TensorValue {
    /// `item()`: a number of what is known, else an unbacked one.
    pub fn item(&self, interp: &mut Interp, this: &Value) -> R<Value> {
        if self.is_known() {
            return match self.data(interp)?.item() {
                Ok(scalar) => Ok(scalar_value(scalar)),
                Err(error) => interp.raise("RuntimeError", error.to_string()),
            };
        }
        self.session.op(interp, "item", std::slice::from_ref(this), &[])
    }
}

/// A scalar as a value.
pub fn scalar_value(scalar: oxport_tensor::Scalar) -> Value {
    match scalar {
        oxport_tensor::Scalar::Int(n) => Value::Int(n),
        oxport_tensor::Scalar::Float(f) => Value::Float(f),
        oxport_tensor::Scalar::Bool(b) => Value::Bool(b),
        oxport_tensor::Scalar::Complex(c) => Value::Complex(c.re, c.im),
    }
}

fn is_operand(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Complex(..) => true,
        Value::Host(host) => host.as_any().is::<TensorValue>() || host.as_any().is::<super::number::SymValue>(),
        _ => false,
    }
}
