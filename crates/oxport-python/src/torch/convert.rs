//! Between the interpreter's values and the tracer's.

use super::number::{Number, SymValue};
use super::session::Session;
use super::tensor::{Kind, TensorValue};
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::value::{Class, Name, Value};
use oxport_capture::Value as Traced;
use oxport_ir::{Device, MemoryFormat, MemoryLayout};
use oxport_tensor::DType;
use std::any::Any;
use std::rc::Rc;

/// A dtype, device, layout or memory format.
#[derive(Clone)]
pub enum Constant {
    /// A dtype.
    DType(DType),
    /// A device.
    Device(Device),
    /// A layout.
    Layout(MemoryLayout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
}

impl Constant {
    fn at(&self) -> usize {
        match self {
            Constant::DType(_) => 0,
            Constant::Device(_) => 1,
            Constant::Layout(_) => 2,
            Constant::MemoryFormat(_) => 3,
        }
    }

    fn text(&self) -> String {
        match self {
            Constant::DType(d) => format!("torch.{}", d.name()),
            Constant::Device(d) => match d.index {
                Some(n) => format!("device(type='{}', index={n})", d.kind),
                None => format!("device(type='{}')", d.kind),
            },
            Constant::Layout(l) => format!("torch.{}", l.name()),
            Constant::MemoryFormat(m) => format!("torch.{}", m.name()),
        }
    }

    /// The value of a constant.
    pub fn value(self) -> Value {
        Value::Host(Rc::new(self))
    }
}

impl Host for Constant {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        match Session::of(interp) {
            Ok(session) => session.constants[self.at()].clone(),
            Err(_) => interp.types.object.clone(),
        }
    }

    fn get_attr(&self, _: &mut Interp, _: &Value, name: &str) -> R<Option<Value>> {
        Ok(match (self, name) {
            (Constant::DType(d), "is_floating_point") => Some(Value::Bool(d.is_float())),
            (Constant::DType(d), "is_complex") => Some(Value::Bool(d.is_complex())),
            (Constant::DType(d), "is_signed") => {
                Some(Value::Bool(!matches!(d, DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool)))
            }
            (Constant::DType(d), "itemsize") => Some(Value::from_len(d.size())),
            (Constant::Device(d), "type") => Some(Value::str(&d.kind)),
            (Constant::Device(d), "index") => Some(d.index.map_or(Value::None, Value::Int)),
            _ => None,
        })
    }

    fn compare(&self, _: &mut Interp, _: &Value, op: crate::syntax::tree::CmpOp, other: &Value) -> R<Option<Value>> {
        use crate::syntax::tree::CmpOp;
        let same = match other {
            Value::Host(host) => host.as_any().downcast_ref::<Constant>().is_some_and(|c| c.text() == self.text()),
            Value::Str(text) => matches!(self, Constant::Device(d) if d.to_string() == **text),
            _ => false,
        };
        Ok(match op {
            CmpOp::Eq => Some(Value::Bool(same)),
            CmpOp::Ne => Some(Value::Bool(!same)),
            _ => None,
        })
    }

    fn hash(&self) -> Option<u64> {
        Some(self.text().bytes().fold(7, |h: u64, b| h.wrapping_mul(31).wrapping_add(u64::from(b))))
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok(self.text())
    }
}

impl Session {
    /// A value of the interpreter as an argument of an operator.
    pub fn lower(self: &Rc<Session>, interp: &mut Interp, value: &Value) -> R<Traced> {
        Ok(match value {
            Value::None | Value::Ellipsis => Traced::None,
            Value::Bool(b) => Traced::from(*b),
            Value::Int(n) => Traced::from(*n),
            Value::Big(_) => Traced::from(interp.index(value)?),
            Value::Float(f) => Traced::from(*f),
            Value::Complex(re, im) => Traced::Complex(num_complex::Complex64::new(*re, *im)),
            Value::Str(text) => Traced::Str((&**text).into()),
            Value::List(_) | Value::Tuple(_) | Value::Range(_) => {
                let mut items = Vec::new();
                for item in interp.collect(value)? {
                    items.push(self.lower(interp, &item)?);
                }
                Traced::List(items)
            }
            Value::Host(host) => {
                let any = host.as_any();
                if let Some(tensor) = any.downcast_ref::<TensorValue>() {
                    Traced::Tensor(tensor.resolve(interp)?)
                } else if let Some(number) = any.downcast_ref::<SymValue>() {
                    number.0.traced()
                } else if let Some(constant) = any.downcast_ref::<Constant>() {
                    match constant.clone() {
                        Constant::DType(d) => Traced::DType(d),
                        Constant::Device(d) => Traced::Device(d),
                        Constant::Layout(l) => Traced::Layout(l),
                        Constant::MemoryFormat(m) => Traced::MemoryFormat(m),
                    }
                } else if let Some(items) = super::given::items(interp, value)? {
                    let items = items.iter().map(|item| self.lower(interp, item)).collect::<R<Vec<_>>>()?;
                    Traced::List(items)
                } else {
                    let text = interp.repr(value)?;
                    return interp.type_error(format!("an operator cannot take {text}"));
                }
            }
            // `dtype=float` and the like.
            Value::Class(class) => {
                let types = &interp.types;
                let of = [(&types.float, DType::F32), (&types.int, DType::I64), (&types.bool, DType::Bool)];
                match of.into_iter().find(|(c, _)| Rc::ptr_eq(c, class)) {
                    Some((_, dtype)) => Traced::DType(dtype),
                    None => return interp.type_error(format!("an operator cannot take the class {}", class.name)),
                }
            }
            other => match other.plain() {
                Value::Instance(_) => {
                    let tensor = interp.find_attr(other, &Name::from("__torch_tensor__"))?;
                    match tensor {
                        Some(tensor) => self.lower(interp, &tensor)?,
                        None => {
                            let class = interp.type_name(other);
                            return interp.type_error(format!("an operator cannot take an object of type {class}"));
                        }
                    }
                }
                plain @ (Value::Int(_)
                | Value::Str(_)
                | Value::Float(_)
                | Value::Tuple(_)
                | Value::List(_)
                | Value::Bool(_)) => self.lower(interp, &plain)?,
                _ => {
                    let class = interp.type_name(other);
                    return interp.type_error(format!("an operator cannot take an object of type {class}"));
                }
            },
        })
    }

    /// A result of an operator as a value of the interpreter.
    pub fn raise_value(self: &Rc<Session>, interp: &mut Interp, value: Traced) -> R<Value> {
        Ok(match value {
            Traced::None => Value::None,
            Traced::Tensor(t) => {
                interp.charge(1024)?;
                // Sizes that depend on data are known while a module is made: such a tensor is computed at once.
                let is_made = t.tracer().is_same(&self.scratch) && t.shape().iter().any(|n| n.known().is_none());
                self.value(if is_made {
                    Kind::Data(self.evaluate(interp, &[t])?.swap_remove(0))
                } else {
                    Kind::Traced(t)
                })
            }
            Traced::Int(n) => Number::Int(n).value(),
            Traced::Float(x) => Number::Float(x).value(),
            Traced::Bool(b) => Number::Bool(b).value(),
            Traced::Complex(c) => Value::Complex(c.re, c.im),
            Traced::Str(s) => Value::str(&s),
            Traced::DType(d) => Constant::DType(d).value(),
            Traced::Device(d) => Constant::Device(d).value(),
            Traced::Layout(l) => Constant::Layout(l).value(),
            Traced::MemoryFormat(m) => Constant::MemoryFormat(m).value(),
            Traced::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.raise_value(interp, item)?);
                }
                interp.new_tuple(values)?
            }
        })
    }

    /// Sizes as a `torch.Size`.
    pub fn size(self: &Rc<Session>, interp: &mut Interp, sizes: Vec<oxport_capture::SymInt>) -> R<Value> {
        let sizes: Vec<Value> = sizes.into_iter().map(|n| Number::Int(n).value()).collect();
        let tuple = interp.new_tuple(sizes)?;
        let class = size_class(interp);
        wrapped(interp, class, tuple)
    }

    /// Results as `torch.return_types.max`, which name them.
    pub fn named(&self, interp: &mut Interp, name: &str, tuple: Value) -> R<Value> {
        let class = match interp.modules.get("torch.return_types").cloned() {
            Some(module) => interp.find_attr(&Value::Module(module), &Name::from(name))?,
            None => None,
        };
        wrapped(interp, class, tuple)
    }
}

/// A tuple as an instance of a class of tuples.
fn wrapped(interp: &mut Interp, class: Option<Value>, tuple: Value) -> R<Value> {
    match class {
        Some(Value::Class(class)) => {
            let native = interp.types.tuple.clone();
            interp.wrap(&class, &native, tuple)
        }
        _ => Ok(tuple),
    }
}

fn size_class(interp: &Interp) -> Option<Value> {
    interp.modules.get("torch").and_then(|m| m.dict.borrow().get("Size").cloned())
}

/// Whether a tuple is a `torch.Size`, which PyTorch's trees keep apart.
pub(super) fn is_size(interp: &Interp, value: &Value) -> bool {
    matches!(size_class(interp), Some(Value::Class(class)) if Rc::ptr_eq(&class, &interp.class_of(value)))
}
