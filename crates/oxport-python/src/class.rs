//! Class definitions: bodies, metaclasses, the resolution order.

use crate::error::R;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::syntax::tree::Code;
use crate::value::{Args, Class, Name, Namespace, Scope, Value};
use std::cell::RefCell;
use std::rc::Rc;

impl Interp {
    /// The class of a `class` statement.
    pub(crate) fn class_statement(
        &mut self,
        frame: &mut crate::interp::Frame,
        mut args: Args,
        code: &Rc<Code>,
    ) -> R<Value> {
        let metaclass = args.take("metaclass");
        let mut bases = Vec::new();
        for base in args.pos {
            match &base {
                Value::Class(_) => bases.push(base),
                // `Generic[T]` and the like say which classes they stand for.
                _ => match self.find_attr(&base, &Name::from("__mro_entries__"))? {
                    Some(entries) => {
                        let entries = self.call(&entries, Args::of([Value::tuple([base.clone()])]))?;
                        bases.extend(self.collect(&entries)?);
                    }
                    None => {
                        let class = self.type_name(&base);
                        return self.type_error(format!("bases must be classes, got an object of type '{class}'"));
                    }
                },
            }
        }
        let cell = Rc::new(RefCell::new(None));
        let scope = Rc::new(Scope { vars: Slot::default(), parent: frame.closure(), code: code.clone() });
        {
            let mut vars = scope.vars.borrow_mut();
            vars.insert("__module__".into(), Value::Str(frame.globals.name.clone()));
            vars.insert("__qualname__".into(), Value::Str(code.qualname.clone()));
            if let doc @ Value::Str(_) = code.doc() {
                vars.insert("__doc__".into(), doc);
            }
        }
        let mut inner = self.frame(code.clone(), Some(scope.clone()), frame.globals.clone());
        inner.class_cell = Some(cell.clone());
        self.block(&mut inner, &code.body)?;
        let namespace = scope.vars.borrow().clone();
        let metaclass = match metaclass {
            Some(metaclass) => Some(metaclass),
            None => bases.iter().find_map(|b| match b {
                Value::Class(b) => b.metaclass.clone().map(Value::Class),
                _ => None,
            }),
        };
        let class = match metaclass {
            Some(metaclass) if !metaclass.is(&Value::Class(self.types.type_.clone())) => {
                let namespace = self.namespace_dict(&namespace)?;
                let pos = vec![Value::Str(code.name.clone()), Value::tuple(bases), namespace];
                self.call(&metaclass, Args { pos, kw: args.kw })?
            }
            _ => self.make_class(None, &code.name, bases, namespace, args.kw)?,
        };
        if let Value::Class(class) = &class {
            *cell.borrow_mut() = Some(class.clone());
        }
        Ok(class)
    }

    /// A class of a name, bases and attributes: `type(name, bases, dict)`.
    ///
    /// # Errors
    /// A `TypeError` if the bases have no consistent order; what `__init_subclass__` and `__set_name__` raise.
    pub fn make_class(
        &mut self,
        metaclass: Option<Rc<Class>>,
        name: &Name,
        bases: Vec<Value>,
        mut namespace: Namespace,
        kw: Vec<(Name, Value)>,
    ) -> R<Value> {
        self.charge(1024)?;
        let mut classes = Vec::new();
        for base in bases {
            match base {
                Value::Class(class) => classes.push(class),
                other => {
                    let class = self.type_name(&other);
                    return self.type_error(format!("bases must be classes, got an object of type '{class}'"));
                }
            }
        }
        if classes.is_empty() {
            classes.push(self.types.object.clone());
        }
        for name in ["bool", "function", "NoneType", "range", "slice"] {
            if let Some(base) = classes.iter().find(|c| &*c.name == name && &*c.module == "builtins") {
                return self.type_error(format!("type '{}' is not an acceptable base type", base.name));
            }
        }
        let metaclass = metaclass.or_else(|| classes.iter().find_map(|c| c.metaclass.clone()));
        let metaclass = metaclass.filter(|m| !Rc::ptr_eq(m, &self.types.type_));
        let Some(ancestors) = linearize(&classes) else {
            let names: Vec<&str> = classes.iter().map(|c| &*c.name).collect();
            let message = "Cannot create a consistent method resolution order (MRO) for bases";
            return self.type_error(format!("{message} {}", names.join(", ")));
        };
        for name in ["__init_subclass__", "__class_getitem__"] {
            if let Some(value @ Value::Function(_)) = namespace.get(name).cloned() {
                namespace.insert(name.into(), Value::ClassMethod(Rc::new(value)));
            }
        }
        if let Some(value @ Value::Function(_)) = namespace.get("__new__").cloned() {
            namespace.insert("__new__".into(), Value::StaticMethod(Rc::new(value)));
        }
        // Equality without a hash makes instances unhashable.
        if namespace.contains_key("__eq__") && !namespace.contains_key("__hash__") {
            namespace.insert("__hash__".into(), Value::None);
        }
        let module = match namespace.get("__module__") {
            Some(Value::Str(module)) => module.clone(),
            _ => "builtins".into(),
        };
        let values: Vec<(Name, Value)> = namespace.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        let class = Rc::new(Class {
            name: name.clone(),
            module,
            bases: classes,
            ancestors,
            dict: Slot::new(namespace),
            metaclass,
        });
        self.classes.push(Rc::downgrade(&class));
        let value = Value::Class(class.clone());
        for (name, attr) in values {
            if let Value::Instance(_) = &attr
                && let Some(set_name) = self.special(&attr, "__set_name__")?
            {
                self.call(&set_name, Args::of([value.clone(), Value::Str(name)]))?;
            }
        }
        let inherited = class.ancestors.iter().find_map(|c| c.dict.borrow().get("__init_subclass__").cloned());
        if let Some(hook) = inherited {
            let hook = self.bind_attr(&hook, &value, &class)?;
            self.call(&hook, Args { pos: Vec::new(), kw })?;
        } else if let Some((name, _)) = kw.first() {
            return self
                .type_error(format!("{}.__init_subclass__() takes no keyword arguments, got '{name}'", class.name));
        }
        Ok(value)
    }

    /// Whether a class derives from a class, or one of a tuple of classes.
    ///
    /// # Errors
    /// A `TypeError` if they are no classes.
    pub fn is_subclass_of(&mut self, class: &Rc<Class>, of: &Value) -> R<bool> {
        match of {
            Value::Class(of) => {
                if class.is_subclass(of) {
                    return Ok(true);
                }
                if let Some(check @ Value::Function(_)) =
                    of.metaclass.as_ref().and_then(|m| m.lookup("__subclasscheck__"))
                {
                    let result =
                        self.call(&check, Args::of([Value::Class(of.clone()), Value::Class(class.clone())]))?;
                    return self.truth(&result);
                }
                Ok(false)
            }
            Value::Tuple(items) => {
                for item in items.iter() {
                    if self.is_subclass_of(class, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            other => match self.find_attr(other, &Name::from("__subclasscheck__"))? {
                Some(check) => {
                    let result = self.call(&check, Args::of([Value::Class(class.clone())]))?;
                    self.truth(&result)
                }
                None => self.type_error("arg 2 must be a type, a tuple of types, or a union"),
            },
        }
    }

    /// `isinstance`.
    ///
    /// # Errors
    /// A `TypeError` if `of` is no class.
    pub fn is_instance(&mut self, value: &Value, of: &Value) -> R<bool> {
        match of {
            Value::Class(class) => {
                if let Some(check @ Value::Function(_)) =
                    class.metaclass.as_ref().and_then(|m| m.lookup("__instancecheck__"))
                {
                    let result = self.call(&check, Args::of([of.clone(), value.clone()]))?;
                    return self.truth(&result);
                }
                let of_value = self.class_of(value);
                if Rc::ptr_eq(class, &self.types.type_) && matches!(value, Value::Class(_)) {
                    return Ok(true);
                }
                Ok(of_value.is_subclass(class))
            }
            Value::Tuple(items) => {
                for item in items.iter() {
                    if self.is_instance(value, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::None => Ok(matches!(value, Value::None)),
            other => match self.find_attr(other, &Name::from("__instancecheck__"))? {
                Some(check) => {
                    let result = self.call(&check, Args::of([value.clone()]))?;
                    self.truth(&result)
                }
                None => self.type_error("isinstance() arg 2 must be a type, a tuple of types, or a union"),
            },
        }
    }
}

/// The C3 order of a class's ancestors, or nothing if the bases contradict each other.
fn linearize(bases: &[Rc<Class>]) -> Option<Vec<Rc<Class>>> {
    let mut lists: Vec<Vec<Rc<Class>>> = bases.iter().map(|b| b.mro().cloned().collect()).collect();
    lists.push(bases.to_vec());
    let mut order = Vec::new();
    loop {
        lists.retain(|list| !list.is_empty());
        if lists.is_empty() {
            return Some(order);
        }
        let in_tail = |class: &Rc<Class>| lists.iter().any(|list| list[1..].iter().any(|c| Rc::ptr_eq(c, class)));
        let head = lists.iter().map(|list| list[0].clone()).find(|class| !in_tail(class))?;
        for list in &mut lists {
            if Rc::ptr_eq(&list[0], &head) {
                list.remove(0);
            }
        }
        order.push(head);
    }
}
