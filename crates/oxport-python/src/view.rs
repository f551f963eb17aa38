//! `__dict__`: a live view of the attributes of an instance, class, module or function.

use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::value::{Args, Class, Name, Namespace, Value};
use std::any::Any;
use std::rc::Rc;

/// The attributes of an object as a mapping.
pub struct NamespaceView(Value);

impl NamespaceView {
    /// The view of an object's attributes.
    pub fn value(of: Value) -> Value {
        Value::Host(Rc::new(NamespaceView(of)))
    }

    fn with<T>(&self, f: impl FnOnce(&Slot<Namespace>) -> T) -> Option<T> {
        match &self.0 {
            Value::Instance(v) => Some(f(&v.dict)),
            Value::Class(v) => Some(f(&v.dict)),
            Value::Module(v) => Some(f(&v.dict)),
            Value::Function(v) => Some(f(&v.dict)),
            _ => None,
        }
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.with(|dict| dict.borrow().get(name).cloned()).flatten()
    }

    fn set(&self, name: Name, value: Value) {
        self.with(|dict| dict.borrow_mut().insert(name, value));
    }

    fn snapshot(&self, interp: &mut Interp) -> R<Value> {
        let names = self.with(|dict| dict.borrow().clone()).unwrap_or_default();
        interp.namespace_dict(&names)
    }
}

impl Host for NamespaceView {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.dict.clone()
    }

    fn get_attr(&self, interp: &mut Interp, _: &Value, name: &str) -> R<Option<Value>> {
        let view = NamespaceView(self.0.clone());
        Ok(Some(match name {
            "update" => Value::native(name, move |i, args| {
                for value in &args.pos {
                    for (key, value) in i.mapping_items(value)? {
                        if let Value::Str(key) = key {
                            view.set(key, value);
                        }
                    }
                }
                args.kw.into_iter().for_each(|(key, value)| view.set(key, value));
                Ok(Value::None)
            }),
            "pop" => Value::native(name, move |i, args| {
                let Some(Value::Str(key)) = args.pos.first() else {
                    return i.type_error("attribute name must be string");
                };
                let removed = view.with(|dict| dict.borrow_mut().shift_remove(key)).flatten();
                match removed.or_else(|| args.pos.get(1).cloned()) {
                    Some(value) => Ok(value),
                    None => i.raise_with("KeyError", vec![args.pos[0].clone()]),
                }
            }),
            "setdefault" => Value::native(name, move |i, args| {
                let Some(Value::Str(key)) = args.pos.first() else {
                    return i.type_error("attribute name must be string");
                };
                if let Some(value) = view.get(key) {
                    return Ok(value);
                }
                let value = args.pos.get(1).cloned().unwrap_or(Value::None);
                view.set(key.clone(), value.clone());
                Ok(value)
            }),
            _ => {
                let snapshot = self.snapshot(interp)?;
                return interp.find_attr(&snapshot, &Name::from(name));
            }
        }))
    }

    fn get_item(&self, interp: &mut Interp, _: &Value, index: &Value) -> R<Option<Value>> {
        let found = match index {
            Value::Str(name) => self.get(name),
            _ => None,
        };
        match found {
            Some(value) => Ok(Some(value)),
            None => interp.raise_with("KeyError", vec![index.clone()]),
        }
    }

    fn set_item(&self, interp: &mut Interp, _: &Value, index: &Value, value: &Value) -> R<bool> {
        let Value::Str(name) = index else { return interp.type_error("attribute name must be string") };
        self.set(name.clone(), value.clone());
        Ok(true)
    }

    fn len(&self, _: &mut Interp) -> R<Option<Value>> {
        Ok(self.with(|dict| Value::from_len(dict.borrow().len())))
    }

    fn iter(&self, _: &mut Interp, _: &Value) -> R<Option<Vec<Value>>> {
        Ok(self.with(|dict| dict.borrow().keys().cloned().map(Value::Str).collect()))
    }

    fn truth(&self, _: &mut Interp, _: &Value) -> R<bool> {
        Ok(self.with(|dict| !dict.borrow().is_empty()).unwrap_or(false))
    }

    fn repr(&self, interp: &mut Interp) -> R<String> {
        let snapshot = self.snapshot(interp)?;
        interp.repr(&snapshot)
    }

    fn call(&self, _: &mut Interp, _: Args) -> R<Option<Value>> {
        Ok(None)
    }
}
