//! Attributes: descriptors, instances, classes, modules, functions.

use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Class, Instance, Method, Module, Name, Property, Value};
use std::rc::Rc;

impl Interp {
    /// The value of an attribute.
    ///
    /// # Errors
    /// An `AttributeError` if there is none; what the program's descriptors raise.
    pub fn get_attr(&mut self, value: &Value, name: &Name) -> R<Value> {
        let found = match value {
            Value::Instance(instance) => return self.instance_attr(value, instance, name),
            Value::Module(module) => return self.module_attr(module, name),
            Value::Class(class) => return self.class_attr(class, name),
            Value::Host(host) => {
                let host = host.clone();
                host.get_attr(self, value, name)?
            }
            Value::Super(parts) => self.super_attr(&parts.0, &parts.1, name)?,
            _ => self.native_attr(value, name)?,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let class = self.class_of(value);
        match (&**name, class.lookup(name)) {
            ("__class__", _) => Ok(Value::Class(class)),
            (_, Some(attr)) => self.bind_attr(&attr, value, &class),
            ("__doc__", None) => Ok(Value::None),
            (_, None) => {
                let class = match value {
                    Value::Super(_) => Name::from("super"),
                    _ => class.name.clone(),
                };
                self.raise("AttributeError", format!("'{class}' object has no attribute '{name}'"))
            }
        }
    }

    /// An attribute, or nothing if there is none.
    ///
    /// # Errors
    /// Exceptions other than `AttributeError`.
    pub fn find_attr(&mut self, value: &Value, name: &Name) -> R<Option<Value>> {
        let result = self.get_attr(value, name);
        let found = self.unless(result, "AttributeError")?;
        // Whether there is an attribute that only one side of a branch set is not known.
        found.map(|value| self.usable(value)).transpose()
    }

    /// A method that the language calls: looked up in the class, not the instance.
    ///
    /// # Errors
    /// What a descriptor raises.
    pub fn special(&mut self, value: &Value, name: &str) -> R<Option<Value>> {
        let class = self.class_of(value);
        match class.lookup(name) {
            Some(Value::None) | None => Ok(None),
            Some(attr) => self.bind_attr(&attr, value, &class).map(Some),
        }
    }

    /// A special method that the program defines for the class of an instance, or of a class by its metaclass.
    pub(crate) fn user_special(&mut self, value: &Value, name: &str) -> R<Option<Value>> {
        match value {
            Value::Instance(_) => self.special(value, name),
            Value::Class(class) if class.metaclass.is_some() => match self.class_of(value).lookup(name) {
                Some(attr @ Value::Function(_)) => {
                    let metaclass = self.class_of(value);
                    self.bind_attr(&attr, value, &metaclass).map(Some)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// An attribute of a class as its instance sees it.
    pub(crate) fn bind_attr(&mut self, attr: &Value, this: &Value, class: &Rc<Class>) -> R<Value> {
        let method =
            |this: Value, function: &Value| Value::Method(Rc::new(Method { this, function: function.clone() }));
        match attr {
            Value::Function(_) => Ok(method(this.clone(), attr)),
            Value::Builtin(builtin) if builtin.binds => Ok(method(this.clone(), attr)),
            Value::StaticMethod(inner) => Ok((**inner).clone()),
            Value::ClassMethod(inner) => match &**inner {
                Value::Property(_) => self.bind_attr(inner, &Value::Class(class.clone()), class),
                inner => Ok(method(Value::Class(class.clone()), inner)),
            },
            Value::Property(property) => match &property.get {
                Value::None => self.raise("AttributeError", "property has no getter"),
                get => {
                    let get = get.clone();
                    self.call(&get, Args::of([this.clone()]))
                }
            },
            Value::Instance(_) => match self.special(attr, "__get__")? {
                Some(get) => self.call(&get, Args::of([this.clone(), Value::Class(class.clone())])),
                None => Ok(attr.clone()),
            },
            _ => Ok(attr.clone()),
        }
    }

    fn is_data_descriptor(&self, attr: &Value) -> bool {
        match attr {
            Value::Property(_) => true,
            Value::Instance(instance) => instance.class.borrow().lookup("__set__").is_some(),
            _ => false,
        }
    }

    fn instance_attr(&mut self, this: &Value, instance: &Rc<Instance>, name: &Name) -> R<Value> {
        let class = instance.class.borrow().clone();
        if let Some(get @ Value::Function(_)) = class.lookup("__getattribute__") {
            let result = self.call(&get, Args::of([this.clone(), Value::Str(name.clone())]));
            return self.or_getattr(this, &class, name, result);
        }
        let result = self.plain_instance_attr(this, instance, name);
        self.or_getattr(this, &class, name, result)
    }

    /// `__getattr__`, if an attribute is missing.
    fn or_getattr(&mut self, this: &Value, class: &Rc<Class>, name: &Name, result: R<Value>) -> R<Value> {
        match result {
            Err(unwind) if self.is_raised(&unwind, "AttributeError") => match class.lookup("__getattr__") {
                Some(get) => self.call(&get, Args::of([this.clone(), Value::Str(name.clone())])),
                None => Err(unwind),
            },
            result => result,
        }
    }

    /// `object.__getattribute__`.
    pub(crate) fn plain_instance_attr(&mut self, this: &Value, instance: &Rc<Instance>, name: &Name) -> R<Value> {
        let class = instance.class.borrow().clone();
        let attr = class.lookup(name);
        if let Some(attr) = attr.as_ref().filter(|attr| self.is_data_descriptor(attr)) {
            return self.bind_attr(attr, this, &class);
        }
        if let Some(value) = instance.dict.borrow().get(name) {
            return Ok(value.clone());
        }
        if let Some(attr) = attr {
            return self.bind_attr(&attr, this, &class);
        }
        match &**name {
            "__class__" => Ok(Value::Class(class)),
            "__dict__" => Ok(crate::view::NamespaceView::value(this.clone())),
            "__doc__" => Ok(Value::None),
            _ => self.raise("AttributeError", format!("'{}' object has no attribute '{name}'", class.name)),
        }
    }

    fn module_attr(&mut self, module: &Rc<Module>, name: &Name) -> R<Value> {
        if let Some(value) = module.dict.borrow().get(name) {
            return Ok(value.clone());
        }
        let result = self.made_attr(module, name);
        match result {
            Err(unwind) if self.may_lack(module) && self.is_raised(&unwind, "AttributeError") => {
                Err(unwind.of_stand_in())
            }
            result => result,
        }
    }

    /// An attribute that a module has no value of yet.
    fn made_attr(&mut self, module: &Rc<Module>, name: &Name) -> R<Value> {
        let fallback = module.fallback.borrow().clone();
        if let Some(fallback) = fallback {
            return fallback(self, Args::of([Value::Str(name.clone())]));
        }
        let get = module.dict.borrow().get("__getattr__").cloned();
        if let Some(get) = get {
            return self.call(&get, Args::of([Value::Str(name.clone())]));
        }
        match &**name {
            "__dict__" => Ok(crate::view::NamespaceView::value(Value::Module(module.clone()))),
            "__doc__" | "__spec__" | "__loader__" => Ok(Value::None),
            "__class__" => Ok(Value::Class(self.types.module.clone())),
            _ => self.raise("AttributeError", format!("module '{}' has no attribute '{name}'", module.name)),
        }
    }

    fn class_attr(&mut self, class: &Rc<Class>, name: &Name) -> R<Value> {
        let this = Value::Class(class.clone());
        let metaclass = self.class_of(&this);
        let meta_attr = metaclass.lookup(name);
        if let Some(attr @ Value::Property(_)) = &meta_attr {
            return self.bind_attr(attr, &this, &metaclass);
        }
        if let Some(attr) = class.lookup(name) {
            return match &attr {
                Value::StaticMethod(_) | Value::ClassMethod(_) => self.bind_attr(&attr, &this, class),
                Value::Instance(_) => match self.special(&attr, "__get__")? {
                    Some(get) => self.call(&get, Args::of([Value::None, this])),
                    None => Ok(attr),
                },
                _ => Ok(attr),
            };
        }
        Ok(match &**name {
            "__name__" => Value::Str(class.name.clone()),
            "__qualname__" => Value::Str(class.name.clone()),
            "__module__" => Value::Str(class.module.clone()),
            "__mro__" => Value::tuple(class.mro().cloned().map(Value::Class).collect::<Vec<_>>()),
            "__bases__" => Value::tuple(class.bases.iter().cloned().map(Value::Class).collect::<Vec<_>>()),
            "__base__" => class.bases.first().cloned().map_or(Value::None, Value::Class),
            "__class__" => Value::Class(metaclass),
            "__dict__" => crate::view::NamespaceView::value(this),
            "__doc__" => Value::None,
            "__annotations__" => Value::dict(Default::default()),
            _ => {
                if let Some(attr) = meta_attr {
                    return self.bind_attr(&attr, &this, &metaclass);
                }
                if let Some(get @ Value::Function(_)) = metaclass.lookup("__getattr__") {
                    return self.call(&get, Args::of([this, Value::Str(name.clone())]));
                }
                let message = format!("type object '{}' has no attribute '{name}'", class.name);
                return self.raise("AttributeError", message);
            }
        })
    }

    fn super_attr(&mut self, after: &Rc<Class>, this: &Value, name: &Name) -> R<Option<Value>> {
        let class = match this {
            Value::Class(class) if class.is_subclass(after) => class.clone(),
            _ => self.class_of(this),
        };
        let found =
            class.mro().skip_while(|c| !Rc::ptr_eq(c, after)).skip(1).find_map(|c| c.dict.borrow().get(name).cloned());
        match (found, this) {
            (None, _) => Ok(None),
            // In a class method or `__new__`, functions are not bound to the class.
            (Some(attr @ (Value::Function(_) | Value::Property(_))), Value::Class(c)) if Rc::ptr_eq(c, &class) => {
                Ok(Some(attr))
            }
            (Some(Value::Builtin(b)), Value::Class(c)) if Rc::ptr_eq(c, &class) => {
                // A method of the metaclass (`super().__new__` is static) is bound.
                let is_meta = c.metaclass.is_none() && c.is_subclass(&self.types.type_);
                let _ = is_meta;
                Ok(Some(Value::Builtin(b)))
            }
            (Some(attr), _) => self.bind_attr(&attr, this, &class).map(Some),
        }
    }

    /// Attributes of functions, methods, properties and the like.
    fn native_attr(&mut self, value: &Value, name: &Name) -> R<Option<Value>> {
        Ok(match (value, &**name) {
            (Value::Function(f), _) => {
                if let Some(value) = f.dict.borrow().get(name) {
                    return Ok(Some(value.clone()));
                }
                match &**name {
                    "__name__" => Some(Value::Str(f.code.name.clone())),
                    "__qualname__" => Some(Value::Str(f.code.qualname.clone())),
                    "__module__" => Some(Value::Str(f.globals.name.clone())),
                    "__doc__" => Some(f.code.doc()),
                    "__dict__" => Some(crate::view::NamespaceView::value(value.clone())),
                    "__globals__" => Some(crate::view::NamespaceView::value(Value::Module(f.globals.clone()))),
                    "__code__" => Some(value.clone()),
                    "co_varnames" => {
                        Some(Value::tuple(f.code.params.iter().map(|p| Value::Str(p.name.clone())).collect::<Vec<_>>()))
                    }
                    "co_argcount" => Some(Value::from_len(f.code.params.len())),
                    "__defaults__" => {
                        let keyword = crate::syntax::tree::ParamKind::KeywordOnly;
                        let params = f.code.params.iter().zip(&f.defaults).filter(|(p, _)| p.kind != keyword);
                        let defaults: Vec<Value> = params.filter_map(|(_, d)| d.clone()).collect();
                        Some(if defaults.is_empty() { Value::None } else { Value::tuple(defaults) })
                    }
                    "__kwdefaults__" => {
                        let keyword = crate::syntax::tree::ParamKind::KeywordOnly;
                        let params = f.code.params.iter().zip(&f.defaults).filter(|(p, _)| p.kind == keyword);
                        let items: Vec<_> =
                            params.filter_map(|(p, d)| Some((Value::Str(p.name.clone()), d.clone()?))).collect();
                        Some(if items.is_empty() { Value::None } else { Value::Dict(self.make_dict(items)?) })
                    }
                    "__annotations__" => {
                        let annotated =
                            f.code.params.iter().filter_map(|p| Some((p.name.clone(), p.annotation.clone()?)));
                        let mut items: Vec<_> = annotated.map(|(n, a)| (Value::Str(n), Value::Str(a))).collect();
                        items.extend(f.code.returns.clone().map(|r| (Value::str("return"), Value::Str(r))));
                        Some(Value::Dict(self.make_dict(items)?))
                    }
                    "__get__" => {
                        let function = value.clone();
                        Some(Value::native("__get__", move |i, args| match args.pos.first() {
                            Some(Value::None) | None => Ok(function.clone()),
                            Some(this) => {
                                let class = i.class_of(this);
                                i.bind_attr(&function, this, &class)
                            }
                        }))
                    }
                    _ => None,
                }
            }
            (Value::Builtin(b), "__name__" | "__qualname__") => Some(Value::Str(b.name.clone())),
            (Value::Builtin(_), "__module__") => Some(Value::str("builtins")),
            (Value::Method(m), "__self__") => Some(m.this.clone()),
            (Value::Method(m), "__func__") => Some(m.function.clone()),
            (Value::Method(m), _) => return self.find_attr(&m.function.clone(), name),
            (Value::StaticMethod(f) | Value::ClassMethod(f), "__func__" | "__wrapped__") => Some((**f).clone()),
            (Value::StaticMethod(f) | Value::ClassMethod(f), _) => return self.find_attr(&(**f).clone(), name),
            (Value::Property(p), _) => property_attr(p, name),
            (Value::Slice(parts), "start") => Some(parts[0].clone()),
            (Value::Slice(parts), "stop") => Some(parts[1].clone()),
            (Value::Slice(parts), "step") => Some(parts[2].clone()),
            (Value::Range(r), "start") => Some(Value::Int(r.start)),
            (Value::Range(r), "stop") => Some(Value::Int(r.stop)),
            (Value::Range(r), "step") => Some(Value::Int(r.step)),
            (Value::Int(_) | Value::Big(_) | Value::Float(_), "real") => Some(value.clone()),
            (Value::Int(_) | Value::Big(_), "imag") => Some(Value::Int(0)),
            (Value::Float(_), "imag") => Some(Value::Float(0.0)),
            (Value::Complex(re, _), "real") => Some(Value::Float(*re)),
            (Value::Complex(_, im), "imag") => Some(Value::Float(*im)),
            _ => None,
        })
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// An `AttributeError` if it cannot be set; what the program's `__setattr__` raises.
    pub fn set_attr(&mut self, object: &Value, name: &Name, value: Value) -> R<()> {
        if let Value::Instance(instance) = object {
            let class = instance.class.borrow().clone();
            if let Some(set @ Value::Function(_)) = class.lookup("__setattr__") {
                return self.call(&set, Args::of([object.clone(), Value::Str(name.clone()), value])).map(drop);
            }
        }
        self.set_attr_plain(object, name, value)
    }

    /// `object.__setattr__`.
    pub(crate) fn set_attr_plain(&mut self, object: &Value, name: &Name, value: Value) -> R<()> {
        self.charge(32)?;
        match object {
            Value::Instance(instance) => {
                let class = instance.class.borrow().clone();
                match class.lookup(name) {
                    Some(Value::Property(property)) => {
                        let Value::None = property.set else {
                            return self.call(&property.set, Args::of([object.clone(), value])).map(drop);
                        };
                        let message = format!("property '{name}' of '{}' object has no setter", class.name);
                        return self.raise("AttributeError", message);
                    }
                    Some(attr @ Value::Instance(_)) => {
                        if let Some(set) = self.special(&attr, "__set__")? {
                            return self.call(&set, Args::of([object.clone(), value])).map(drop);
                        }
                    }
                    _ => {}
                }
                if let ("__class__", Value::Class(class)) = (&**name, &value) {
                    *instance.class.borrow_mut() = class.clone();
                    return Ok(());
                }
                if let ("__dict__", Value::Dict(map)) = (&**name, &value) {
                    let items: Vec<_> = map.borrow().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                    let mut dict = instance.dict.borrow_mut();
                    dict.clear();
                    dict.extend(items.into_iter().filter_map(|(k, v)| match k {
                        Value::Str(k) => Some((k, v)),
                        _ => None,
                    }));
                    return Ok(());
                }
                instance.dict.borrow_mut().insert(name.clone(), value);
            }
            Value::Class(class) => {
                class.dict.borrow_mut().insert(name.clone(), value);
            }
            Value::Module(module) => {
                module.dict.borrow_mut().insert(name.clone(), value);
            }
            Value::Function(function) => {
                function.dict.borrow_mut().insert(name.clone(), value);
            }
            Value::Host(host) => {
                let host = host.clone();
                if !host.set_attr(self, name, value)? {
                    return self.no_attribute(object, name);
                }
            }
            // Marks on native functions, as `torch.no_grad` and decorators set, have no effect.
            Value::Builtin(_) | Value::Method(_) | Value::StaticMethod(_) | Value::ClassMethod(_) => {}
            _ => return self.no_attribute(object, name),
        }
        Ok(())
    }

    fn no_attribute<T>(&self, object: &Value, name: &Name) -> R<T> {
        self.raise("AttributeError", format!("'{}' object has no attribute '{name}'", self.type_name(object)))
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// An `AttributeError` if there is none.
    pub fn del_attr(&mut self, object: &Value, name: &Name) -> R<()> {
        if let Value::Instance(instance) = object {
            let class = instance.class.borrow().clone();
            if let Some(del @ Value::Function(_)) = class.lookup("__delattr__") {
                return self.call(&del, Args::of([object.clone(), Value::Str(name.clone())])).map(drop);
            }
            if let Some(Value::Property(property)) = class.lookup(name)
                && !matches!(property.delete, Value::None)
            {
                return self.call(&property.delete, Args::of([object.clone()])).map(drop);
            }
        }
        self.del_attr_plain(object, name)
    }

    /// `object.__delattr__`.
    pub(crate) fn del_attr_plain(&mut self, object: &Value, name: &Name) -> R<()> {
        let removed = match object {
            Value::Instance(v) => v.dict.borrow_mut().shift_remove(name),
            Value::Class(v) => v.dict.borrow_mut().shift_remove(name),
            Value::Module(v) => v.dict.borrow_mut().shift_remove(name),
            Value::Function(v) => v.dict.borrow_mut().shift_remove(name),
            _ => None,
        };
        if removed.is_some() { Ok(()) } else { self.no_attribute(object, name) }
    }
}

fn property_attr(property: &Rc<Property>, name: &str) -> Option<Value> {
    let with = |change: fn(&mut Property, Value)| {
        let property = property.clone();
        Value::native(name, move |_, args| {
            let mut changed = (*property).clone();
            change(&mut changed, args.pos.into_iter().next().unwrap_or(Value::None));
            Ok(Value::Property(Rc::new(changed)))
        })
    };
    Some(match name {
        "fget" => property.get.clone(),
        "fset" => property.set.clone(),
        "fdel" => property.delete.clone(),
        "getter" => with(|p, f| p.get = f),
        "setter" => with(|p, f| p.set = f),
        "deleter" => with(|p, f| p.delete = f),
        _ => return None,
    })
}
