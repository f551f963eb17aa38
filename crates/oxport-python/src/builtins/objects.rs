//! `object`, `type`, exceptions, properties, static and class methods, `super`.

use super::add_methods;
use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Class, Module, Name, Namespace, Property, Value};
use std::rc::Rc;

pub(super) fn install(interp: &mut Interp) {
    let types = &interp.types;
    add_methods(
        &types.object,
        &[
            ("__new__", object_new),
            ("__init__", |_, _| Ok(Value::None)),
            ("__init_subclass__", object_init_subclass),
            ("__repr__", object_repr),
            ("__eq__", object_eq),
            ("__setattr__", object_setattr),
            ("__delattr__", object_delattr),
            ("__getattribute__", object_getattribute),
            ("__reduce_ex__", |i, _| i.refuse("pickling")),
            ("__format__", object_format),
        ],
    );
    let hook = Value::ClassMethod(Rc::new(Value::native_method("__init_subclass__", object_init_subclass)));
    types.object.dict.borrow_mut().insert("__init_subclass__".into(), hook);
    // Named so that calls of classes know them.
    let init = Value::Builtin(Rc::new(crate::value::Builtin {
        name: "object.__init__".into(),
        body: Rc::new(|_, _| Ok(Value::None)),
        binds: true,
    }));
    types.object.dict.borrow_mut().insert("__init__".into(), init);
    types.object.dict.borrow_mut().insert("__hash__".into(), Value::native_method("__hash__", object_hash));
    add_methods(
        &types.type_,
        &[
            ("__new__", type_new),
            ("__init__", |_, _| Ok(Value::None)),
            ("__call__", type_call),
            ("mro", |i, a| {
                Ok(match a.at(i, "mro", 0)? {
                    Value::Class(c) => Value::list(c.mro().cloned().map(Value::Class).collect()),
                    _ => Value::None,
                })
            }),
            ("__instancecheck__", |i, a| {
                let (class, value) = (a.at(i, "__instancecheck__", 0)?, a.at(i, "__instancecheck__", 1)?);
                let Value::Class(class) = class else { return i.type_error("expected a class") };
                Ok(Value::Bool(i.class_of(&value).is_subclass(&class)))
            }),
            ("__subclasses__", |i, a| {
                let Value::Class(class) = a.at(i, "__subclasses__", 0)? else {
                    return i.type_error("expected a class");
                };
                let made = i.classes.iter().filter_map(|made| made.upgrade());
                let is_below = |made: &Rc<Class>| made.bases.iter().any(|base| Rc::ptr_eq(base, &class));
                Ok(Value::list(made.filter(is_below).map(Value::Class).collect()))
            }),
            ("__setattr__", object_setattr),
        ],
    );
    add_methods(&types.property, &[("__new__", property_new)]);
    add_methods(
        &types.staticmethod,
        &[("__new__", |i, a| Ok(Value::StaticMethod(Rc::new(a.at(i, "staticmethod", 1)?))))],
    );
    add_methods(&types.classmethod, &[("__new__", |i, a| Ok(Value::ClassMethod(Rc::new(a.at(i, "classmethod", 1)?))))]);
    add_methods(&types.super_, &[("__new__", super_new)]);
    add_methods(
        &types.module,
        &[("__new__", |i, a| {
            let name = i.text(&a.at(i, "module", 1)?)?;
            Ok(Value::Module(Module::new(&name)))
        })],
    );
    add_methods(
        &types.function,
        &[("__call__", |i, mut a| {
            let function = a.pos.remove(0);
            i.call(&function, a)
        })],
    );
    let base = interp.exception_class("BaseException");
    add_methods(
        &base,
        &[
            ("__new__", exception_new),
            ("__init__", exception_init),
            ("__str__", exception_str),
            ("__repr__", exception_repr),
            ("with_traceback", |i, a| a.at(i, "with_traceback", 0)),
            ("add_note", |_, _| Ok(Value::None)),
        ],
    );
    for name in ["__traceback__", "__cause__", "__context__"] {
        base.dict.borrow_mut().insert(name.into(), Value::None);
    }
}

fn class_arg(interp: &Interp, args: &Args) -> R<Rc<Class>> {
    match args.pos.first() {
        Some(Value::Class(class)) => Ok(class.clone()),
        _ => interp.type_error("__new__(X): X is not a type object"),
    }
}

/// The built-in class from which a class derives, and the value that an instance has before it is initialized.
fn native_base(interp: &mut Interp, class: &Rc<Class>) -> Value {
    let types = &interp.types;
    match class.mro().find(|c| [&types.dict, &types.list, &types.set].iter().any(|t| Rc::ptr_eq(t, c))) {
        Some(c) if Rc::ptr_eq(c, &types.dict) => Value::dict(Default::default()),
        Some(c) if Rc::ptr_eq(c, &types.list) => Value::list(Vec::new()),
        Some(_) => Value::set(Default::default()),
        None => Value::None,
    }
}

fn object_new(interp: &mut Interp, args: Args) -> R<Value> {
    let class = class_arg(interp, &args)?;
    let is_plain = |name: &str| matches!(class.lookup(name), Some(Value::Builtin(_)));
    if (args.pos.len() > 1 || !args.kw.is_empty()) && is_plain("__init__") && is_plain("__new__") {
        return interp.type_error(format!("{}() takes no arguments", class.name));
    }
    if Rc::ptr_eq(&class, &interp.types.object) {
        let instance = Class {
            name: "object".into(),
            module: "builtins".into(),
            bases: vec![class.clone()],
            ancestors: vec![class],
            dict: Default::default(),
            metaclass: None,
        };
        let object = interp.types.object.clone();
        return interp.wrap(&Rc::new(instance), &object, Value::None);
    }
    let payload = native_base(interp, &class);
    let object = interp.types.object.clone();
    interp.wrap(&class, &object, payload)
}

fn object_init_subclass(_: &mut Interp, _: Args) -> R<Value> {
    Ok(Value::None)
}

fn object_repr(interp: &mut Interp, args: Args) -> R<Value> {
    let this = args.at(interp, "__repr__", 0)?;
    let text = match this.plain() {
        Value::Instance(instance) => {
            let class = instance.class.borrow().clone();
            format!("<{}.{} object>", class.module, class.name)
        }
        plain => interp.repr(&plain)?,
    };
    interp.new_str(text)
}

fn object_eq(interp: &mut Interp, args: Args) -> R<Value> {
    let (a, b) = (args.at(interp, "__eq__", 0)?, args.at(interp, "__eq__", 1)?);
    let plain = a.plain();
    if a.is(&b) {
        return Ok(Value::Bool(true));
    }
    match plain {
        Value::Instance(_) => Ok(Value::NotImplemented),
        plain => Ok(Value::Bool(interp.equal(&plain, &b.plain())?)),
    }
}

fn object_hash(interp: &mut Interp, args: Args) -> R<Value> {
    let this = args.at(interp, "__hash__", 0)?;
    match this.plain() {
        Value::Instance(_) => Ok(Value::Int((this.address().unwrap_or(0) >> 4) as i64)),
        plain => Ok(Value::Int(interp.hash(&plain)? as i64)),
    }
}

fn object_setattr(interp: &mut Interp, args: Args) -> R<Value> {
    let name = interp.text(&args.at(interp, "__setattr__", 1)?)?;
    let (this, value) = (args.at(interp, "__setattr__", 0)?, args.at(interp, "__setattr__", 2)?);
    interp.set_attr_plain(&this, &name, value)?;
    Ok(Value::None)
}

fn object_delattr(interp: &mut Interp, args: Args) -> R<Value> {
    let name = interp.text(&args.at(interp, "__delattr__", 1)?)?;
    interp.del_attr_plain(&args.at(interp, "__delattr__", 0)?, &name)?;
    Ok(Value::None)
}

fn object_getattribute(interp: &mut Interp, args: Args) -> R<Value> {
    let name = interp.text(&args.at(interp, "__getattribute__", 1)?)?;
    let this = args.at(interp, "__getattribute__", 0)?;
    match &this {
        Value::Instance(instance) => interp.plain_instance_attr(&this, instance, &name),
        _ => interp.get_attr(&this, &name),
    }
}

fn object_format(interp: &mut Interp, args: Args) -> R<Value> {
    let this = args.at(interp, "__format__", 0)?;
    let spec = interp.text(&args.at(interp, "__format__", 1)?)?;
    let text = match this.plain() {
        Value::Instance(_) if spec.is_empty() => interp.str(&this)?.to_string(),
        Value::Instance(_) => {
            let class = interp.type_name(&this);
            return interp.type_error(format!("unsupported format string passed to {class}.__format__"));
        }
        _ if spec.is_empty() => interp.str(&this)?.to_string(),
        plain => interp.format(&plain, &spec)?,
    };
    interp.new_str(text)
}

fn type_new(interp: &mut Interp, args: Args) -> R<Value> {
    let metaclass = class_arg(interp, &args)?;
    let [_, name, bases, dict] = args.pos.as_slice() else {
        return interp.type_error("type() takes 1 or 3 arguments");
    };
    let name = interp.text(name)?;
    let bases = interp.collect(bases)?;
    let mut namespace = Namespace::default();
    for (key, value) in interp.mapping_items(dict)? {
        namespace.insert(interp.text(&key)?, value);
    }
    interp.make_class(Some(metaclass), &name, bases, namespace, args.kw)
}

fn type_call(interp: &mut Interp, mut args: Args) -> R<Value> {
    let class = class_arg(interp, &args)?;
    args.pos.remove(0);
    interp.instantiate(&class, args)
}

fn property_new(interp: &mut Interp, mut args: Args) -> R<Value> {
    args.pos.remove(0);
    let mut values = args.bind(interp, "property", &["fget", "fset", "fdel", "doc"], 0)?.into_iter();
    let mut next = || values.next().flatten().unwrap_or(Value::None);
    Ok(Value::Property(Rc::new(Property { get: next(), set: next(), delete: next() })))
}

fn super_new(interp: &mut Interp, args: Args) -> R<Value> {
    match (args.at(interp, "super", 1)?, args.at(interp, "super", 2)?) {
        (Value::Class(class), this) => {
            let of = interp.class_of(&this);
            let fits = of.is_subclass(&class) || matches!(&this, Value::Class(c) if c.is_subclass(&class));
            if !fits {
                return interp.type_error("super(type, obj): obj must be an instance or subtype of type");
            }
            Ok(Value::Super(Rc::new((class, this))))
        }
        _ => interp.type_error("super() argument 1 must be a type"),
    }
}

fn exception_new(interp: &mut Interp, args: Args) -> R<Value> {
    let class = class_arg(interp, &args)?;
    let object = interp.types.object.clone();
    let value = interp.wrap(&class, &object, Value::None)?;
    if let Value::Instance(instance) = &value {
        *instance.dict.borrow_mut() = Interp::exception_dict(args.pos[1..].to_vec());
    }
    Ok(value)
}

fn exception_init(interp: &mut Interp, args: Args) -> R<Value> {
    if let Some(Value::Instance(instance)) = args.pos.first() {
        let is_stop = instance.class.borrow().is_subclass(&interp.exception_class("StopIteration"));
        let mut dict = instance.dict.borrow_mut();
        dict.insert("args".into(), Value::tuple(args.pos[1..].to_vec()));
        if is_stop {
            dict.insert("value".into(), args.pos.get(1).cloned().unwrap_or(Value::None));
        }
        for (name, value) in args.kw {
            dict.insert(name, value);
        }
    }
    Ok(Value::None)
}

fn exception_args(interp: &mut Interp, this: &Value) -> R<Vec<Value>> {
    let args = interp.get_attr(this, &Name::from("args"))?;
    interp.collect(&args)
}

fn exception_str(interp: &mut Interp, args: Args) -> R<Value> {
    let this = args.at(interp, "__str__", 0)?;
    let given = exception_args(interp, &this)?;
    let is_key = interp.class_of(&this).is_subclass(&interp.exception_class("KeyError"));
    let text = match given.as_slice() {
        [] => String::new(),
        [only] if is_key => interp.repr(only)?,
        [only] => interp.str(only)?.to_string(),
        _ => interp.repr(&Value::tuple(given))?,
    };
    interp.new_str(text)
}

fn exception_repr(interp: &mut Interp, args: Args) -> R<Value> {
    let this = args.at(interp, "__repr__", 0)?;
    let given = exception_args(interp, &this)?;
    let parts: Vec<String> = given.iter().map(|a| interp.repr(a)).collect::<R<_>>()?;
    let name = interp.type_name(&this);
    interp.new_str(format!("{name}({})", parts.join(", ")))
}
