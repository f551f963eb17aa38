//! What a value is carried as through a `cond` or `while_loop`: a tensor.
//!
//! Law: an int, float or bool is carried as a tensor of no dimensions, and is an int, float or bool again behind it.

use crate::error::R;
use crate::interp::Interp;
use crate::torch::convert::Constant;
use crate::torch::number::{Number, SymValue};
use crate::torch::session::Session;
use crate::torch::tensor::tensor_of;
use crate::value::Value;
use oxport_capture::Value as Traced;
use oxport_ir::Fake;
use oxport_tensor::DType;
use std::rc::Rc;

/// What a leaf is carried as.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Carrier {
    Tensor(Fake),
    Int,
    Float,
    Bool,
}

impl Carrier {
    /// What the carrying tensor is.
    pub(super) fn fake(&self) -> Fake {
        match self {
            Carrier::Tensor(fake) => fake.clone(),
            Carrier::Int => Fake::new(DType::I64, []),
            Carrier::Float => Fake::new(DType::F64, []),
            Carrier::Bool => Fake::new(DType::Bool, []),
        }
    }

    /// A value as the carrying tensor of the current graph; none is any value, which nobody reads.
    pub(super) fn lower(&self, interp: &mut Interp, session: &Rc<Session>, value: Option<&Value>) -> R<Traced> {
        let fake = self.fake();
        let dtype = ("dtype".into(), Constant::DType(fake.dtype).value());
        let lowered = match (value, self) {
            (Some(value), Carrier::Bool) => session.bool_tensor(interp, value)?,
            (Some(value), _) if tensor_of(value).is_some() => value.clone(),
            (Some(value), _) => session.op(interp, "full", &[Value::list(Vec::new()), value.clone()], &[dtype])?,
            (None, _) => {
                let sizes = fake.sizes.iter().map(|n| Number::Int(n.clone().into()).value()).collect();
                session.op(interp, "zeros", &[Value::list(sizes)], &[dtype])?
            }
        };
        session.lower(interp, &lowered)
    }

    /// What is carried, as a value.
    pub(super) fn value(&self, interp: &mut Interp, session: &Rc<Session>, tensor: Traced) -> R<Value> {
        let value = session.raise_value(interp, tensor)?;
        match self {
            Carrier::Tensor(_) | Carrier::Bool => Ok(value),
            Carrier::Int | Carrier::Float => session.op(interp, "item", &[value], &[]),
        }
    }
}

fn number(value: &Value) -> Option<&Number> {
    match value {
        Value::Host(host) => host.as_any().downcast_ref::<SymValue>().map(|n| &n.0),
        _ => None,
    }
}

/// The carrier of a value by itself.
pub(super) fn carrier(value: &Value) -> Option<Carrier> {
    match value {
        Value::Bool(_) => Some(Carrier::Bool),
        Value::Int(_) => Some(Carrier::Int),
        Value::Float(_) => Some(Carrier::Float),
        _ => match (tensor_of(value), number(value)) {
            (Some(tensor), _) => {
                let fake = tensor.fake();
                let sizes = fake.sizes.iter().cloned();
                Some(Carrier::Tensor(Fake { device: fake.device.clone(), ..Fake::new(fake.dtype, sizes) }))
            }
            (_, Some(Number::Int(_))) => Some(Carrier::Int),
            (_, Some(Number::Float(_))) => Some(Carrier::Float),
            (_, Some(Number::Bool(_))) => Some(Carrier::Bool),
            _ => None,
        },
    }
}

/// The carrier that takes both.
pub(super) fn common(a: &Value, b: &Value) -> Option<Carrier> {
    let is_bool = |c: &Carrier| match c {
        Carrier::Bool => true,
        Carrier::Tensor(fake) => fake.dtype == DType::Bool && fake.sizes.is_empty(),
        _ => false,
    };
    let takes = |fake: &Fake, c: &Carrier| {
        let fits = match c {
            Carrier::Float => fake.dtype.is_float(),
            Carrier::Int => fake.dtype != DType::Bool,
            _ => false,
        };
        fits && fake.sizes.is_empty()
    };
    match (carrier(a)?, carrier(b)?) {
        (Carrier::Tensor(a), Carrier::Tensor(b)) => {
            (a.dtype == b.dtype && a.sizes == b.sizes).then_some(Carrier::Tensor(a))
        }
        (a, b) if is_bool(&a) && is_bool(&b) => Some(Carrier::Bool),
        (Carrier::Tensor(fake), c) | (c, Carrier::Tensor(fake)) if takes(&fake, &c) => Some(Carrier::Tensor(fake)),
        (a, b) if a == b => Some(a),
        _ => None,
    }
}
