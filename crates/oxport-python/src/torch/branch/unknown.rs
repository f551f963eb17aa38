//! What the sides of a branch on data do not agree on, and what no program can choose: refused where it is used.

use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::value::{Class, Value};
use std::any::Any;
use std::rc::Rc;

/// A value that cannot be used, and why.
pub(super) struct Unknown(String);

impl Unknown {
    pub(super) fn value(reason: String) -> Value {
        Value::Host(Rc::new(Unknown(reason)))
    }
}

impl Host for Unknown {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.object.clone()
    }

    fn refusal(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn get_attr(&self, interp: &mut Interp, _: &Value, _: &str) -> R<Option<Value>> {
        interp.raise("RuntimeError", &self.0)
    }

    fn truth(&self, interp: &mut Interp, _: &Value) -> R<bool> {
        interp.raise("RuntimeError", &self.0)
    }

    fn repr(&self, interp: &mut Interp) -> R<String> {
        interp.raise("RuntimeError", &self.0)
    }
}
