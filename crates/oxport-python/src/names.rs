//! Names: which scope a name belongs to, reading and writing it.
//!
//! Invariants: a name bound in a function is the function's, before it has a value too; a class's body is not a scope
//! for what is defined within.

use crate::error::R;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::ScopeKind;
use crate::value::{Name, Scope, Value};
use std::rc::Rc;

impl Frame {
    /// The scope that functions defined here close over.
    pub fn closure(&self) -> Option<Rc<Scope>> {
        match &self.scope {
            Some(scope) if scope.code.kind == ScopeKind::Class => scope.parent.clone(),
            scope => scope.clone(),
        }
    }
}

impl Interp {
    /// The value of a name.
    ///
    /// # Errors
    /// A `NameError` or `UnboundLocalError`.
    pub fn load(&mut self, frame: &Frame, name: &Name) -> R<Value> {
        if let Some(scope) = &frame.scope {
            if let Some(value) = scope.vars.borrow().get(name) {
                return Ok(value.clone());
            }
            if scope.code.bound.contains(name) && scope.code.kind != ScopeKind::Class {
                let message = format!("cannot access local variable '{name}' where it is not associated with a value");
                return self.raise("UnboundLocalError", message);
            }
            let mut around = match scope.code.globals.contains(name) {
                true => None,
                false => scope.parent.as_ref(),
            };
            while let Some(scope) = around {
                if let Some(value) = scope.vars.borrow().get(name) {
                    return Ok(value.clone());
                }
                if scope.code.globals.contains(name) {
                    break;
                }
                if scope.code.bound.contains(name) {
                    let message = format!(
                        "cannot access free variable '{name}' where it is not associated with a value in \
                     enclosing scope"
                    );
                    return self.raise("NameError", message);
                }
                around = scope.parent.as_ref();
            }
        }
        if let Some(value) = frame.globals.dict.borrow().get(name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.builtins.dict.borrow().get(name) {
            return Ok(value.clone());
        }
        match (&**name, frame.class_cell.as_ref().and_then(|cell| cell.borrow().clone())) {
            ("__class__", Some(class)) => Ok(Value::Class(class)),
            _ => self.raise("NameError", format!("name '{name}' is not defined")),
        }
    }

    /// The scope that a name is written to; none is the module.
    fn home(frame: &Frame, name: &Name) -> Option<Rc<Scope>> {
        let mut scope = frame.scope.clone()?;
        loop {
            if scope.code.globals.contains(name) {
                return None;
            }
            let passes = match scope.code.kind {
                ScopeKind::Comprehension => !scope.code.bound.contains(name),
                _ => {
                    scope.code.nonlocals.contains(name)
                        || (!scope.code.bound.contains(name) && !std::ptr::eq(&*scope, &**frame.scope.as_ref()?))
                }
            };
            if !passes {
                return Some(scope);
            }
            let around = scope.parent.clone()?;
            scope = around;
        }
    }

    /// Writes a name.
    pub fn store(&mut self, frame: &Frame, name: &Name, value: Value) {
        match Interp::home(frame, name) {
            Some(scope) => scope.vars.borrow_mut().insert(name.clone(), value),
            None => frame.globals.dict.borrow_mut().insert(name.clone(), value),
        };
    }

    /// Deletes a name.
    ///
    /// # Errors
    /// A `NameError` if it has no value.
    pub fn delete(&mut self, frame: &Frame, name: &Name) -> R<()> {
        let removed = match Interp::home(frame, name) {
            Some(scope) => scope.vars.borrow_mut().shift_remove(name),
            None => frame.globals.dict.borrow_mut().shift_remove(name),
        };
        match removed {
            Some(_) => Ok(()),
            None => self.raise("NameError", format!("name '{name}' is not defined")),
        }
    }
}
