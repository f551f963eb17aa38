//! Native parts of `sys`, `os`, `types`, `inspect`.

use crate::interp::Interp;
use crate::value::{Args, Module, Name, Value};
use std::rc::Rc;

pub(super) fn builtins(interp: &mut Interp, module: &Rc<Module>) {
    let names = interp.builtins.dict.borrow().clone();
    module.dict.borrow_mut().extend(names);
}

pub(super) fn sys(_: &mut Interp, module: &Rc<Module>) {
    let version: Vec<Value> = [3, 11, 7].into_iter().map(Value::Int).collect();
    module.set("version_info", Value::tuple([version, vec![Value::str("final"), Value::Int(0)]].concat()));
    module.set("version", Value::str("3.11.7"));
    module.set("maxsize", Value::Int(i64::MAX));
    module.set("platform", Value::str("linux"));
    module.set("byteorder", Value::str("little"));
    module.set("argv", Value::list(vec![Value::str("")]));
    module.set("path", Value::list(Vec::new()));
    module.set("modules", Value::Host(Rc::new(Modules)));
    module.set("exit", Value::native("sys.exit", |i, _| i.refuse("sys.exit")));
    let refuse = |i: &mut Interp, a: Args| {
        let what = i.text(&a.at(i, "_refuse", 0)?)?;
        i.refuse(&what)
    };
    module.set("_refuse", Value::native("_refuse", refuse));
    module.set("intern", Value::native("intern", |i, a| a.at(i, "intern", 0)));
    module.set("getrecursionlimit", Value::native("getrecursionlimit", |i, _| Ok(Value::from_len(i.limits.recursion))));
    module.set("setrecursionlimit", Value::native("setrecursionlimit", |_, _| Ok(Value::None)));
    module.set(
        "exc_info",
        Value::native("exc_info", |i, _| {
            let value = i.handled.last().cloned().unwrap_or(Value::None);
            Ok(Value::tuple([Value::Class(i.class_of(&value)), value, Value::None]))
        }),
    );
}

/// `sys.modules`: names and modules.
struct Modules;

impl crate::host::Host for Modules {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<crate::value::Class> {
        interp.types.dict.clone()
    }

    fn get_attr(&self, interp: &mut Interp, _: &Value, name: &str) -> crate::error::R<Option<Value>> {
        let items: Vec<_> = interp.modules.iter().map(|(k, m)| (Value::str(k), Value::Module(m.clone()))).collect();
        let dict = Value::Dict(interp.make_dict(items)?);
        interp.find_attr(&dict, &Name::from(name))
    }

    fn get_item(&self, interp: &mut Interp, _: &Value, index: &Value) -> crate::error::R<Option<Value>> {
        let name = interp.text(index)?;
        match interp.modules.get(&*name) {
            Some(module) => Ok(Some(Value::Module(module.clone()))),
            None => interp.raise_with("KeyError", vec![index.clone()]),
        }
    }

    fn set_item(&self, interp: &mut Interp, _: &Value, index: &Value, value: &Value) -> crate::error::R<bool> {
        // A package may put a lazy module in its place: its attributes are then asked of that object.
        let name = interp.text(index)?;
        let module = match value {
            Value::Module(module) => module.clone(),
            other => {
                let module = Module::new(&name);
                let object = other.clone();
                let get = move |i: &mut Interp, args: crate::value::Args| {
                    let name = i.text(&args.at(i, "__getattr__", 0)?)?;
                    i.get_attr(&object, &name)
                };
                *module.fallback.borrow_mut() = Some(Rc::new(get));
                module
            }
        };
        interp.modules.insert(name.to_string(), module);
        Ok(true)
    }

    fn iter(&self, interp: &mut Interp, _: &Value) -> crate::error::R<Option<Vec<Value>>> {
        Ok(Some(interp.modules.keys().map(|k| Value::str(k)).collect()))
    }

    fn repr(&self, _: &mut Interp) -> crate::error::R<String> {
        Ok("<modules>".into())
    }
}

/// `os`: the environment is empty, everything else is refused when it is called.
pub(super) fn os(interp: &mut Interp, module: &Rc<Module>) {
    module.set("environ", Value::dict(Default::default()));
    module.set("getenv", Value::native("getenv", |_, a| Ok(a.pos.get(1).cloned().unwrap_or(Value::None))));
    module.set("sep", Value::str("/"));
    module.set("name", Value::str("posix"));
    module.set("PathLike", Value::Class(interp.types.str.clone()));
    module.set(
        "fspath",
        Value::native("fspath", |i, a| match a.at(i, "fspath", 0)? {
            path @ Value::Instance(_) => i.call_method(&path, "__fspath__", Args::default()),
            path => Ok(Value::str(&i.text(&path)?)),
        }),
    );
    module.set("cpu_count", Value::native("cpu_count", |_, _| Ok(Value::Int(1))));
    let path = interp.find_module("os.path").ok().flatten();
    if let Some(path) = path {
        module.set("path", Value::Module(path));
    }
    refuse_others(module);
}

/// Modules of which all but a part is refused when it is called.
pub(super) fn others_refused(_: &mut Interp, module: &Rc<Module>) {
    refuse_others(module);
}

/// What the module does not have is refused when it is called.
fn refuse_others(module: &Rc<Module>) {
    let of = module.name.clone();
    let refused = move |i: &mut Interp, args: crate::value::Args| {
        let name = i.text(&args.at(i, &of, 0)?)?;
        if name.starts_with("__") {
            return i.raise("AttributeError", format!("module '{of}' has no attribute '{name}'"));
        }
        Ok(crate::import::refused_module(&format!("{of}.{name}")))
    };
    *module.fallback.borrow_mut() = Some(Rc::new(refused));
}

/// `os.path`: texts only; what asks the disk is refused.
pub(super) fn os_path(_: &mut Interp, module: &Rc<Module>) {
    module.set("sep", Value::str("/"));
    module.set(
        "join",
        Value::native("join", |i, a| {
            let mut path = String::new();
            for part in &a.pos {
                let part = i.text(part)?;
                if part.starts_with('/') || path.is_empty() {
                    path.clear();
                } else if !path.ends_with('/') {
                    path.push('/');
                }
                path.push_str(&part);
            }
            i.new_str(path)
        }),
    );
    let split = |head: bool| {
        move |i: &mut Interp, a: crate::value::Args| {
            let path = i.text(&a.at(i, "basename", 0)?)?;
            let (before, after) = path.rsplit_once('/').unwrap_or(("", &path));
            i.new_str(if head { before } else { after })
        }
    };
    module.set("basename", Value::native("basename", split(false)));
    module.set("dirname", Value::native("dirname", split(true)));
    module.set(
        "splitext",
        Value::native("splitext", |i, a| {
            let path = i.text(&a.at(i, "splitext", 0)?)?;
            let at = path.rfind('.').filter(|at| *at > path.rfind('/').map_or(0, |s| s + 1)).unwrap_or(path.len());
            Ok(Value::tuple([Value::str(&path[..at]), Value::str(&path[at..])]))
        }),
    );
    for name in ["expanduser", "abspath", "normpath", "realpath"] {
        module.set(name, Value::native(name, move |i, a| a.at(i, name, 0)));
    }
    for name in ["exists", "isfile", "isdir"] {
        module.set(name, Value::native(name, |_, _| Ok(Value::Bool(false))));
    }
}

pub(super) fn types(interp: &mut Interp, module: &Rc<Module>) {
    let types = &interp.types;
    for (name, class) in [
        ("FunctionType", &types.function),
        ("LambdaType", &types.function),
        ("BuiltinFunctionType", &types.builtin),
        ("MethodType", &types.method),
        ("ModuleType", &types.module),
        ("GeneratorType", &types.generator),
        ("NoneType", &types.none),
        ("EllipsisType", &types.ellipsis),
        ("MappingProxyType", &types.dict),
    ] {
        module.set(name, Value::Class(class.clone()));
    }
    let bind = |i: &mut Interp, a: crate::value::Args| {
        let method = crate::value::Method { function: a.at(i, "MethodType", 1)?, this: a.at(i, "MethodType", 2)? };
        Ok(Value::Method(Rc::new(method)))
    };
    types.method.dict.borrow_mut().insert("__new__".into(), Value::native("__new__", bind));
}

/// The parameters of a function: names, kinds, defaults.
pub(super) fn inspect(_: &mut Interp, module: &Rc<Module>) {
    module.set(
        "_parameters",
        Value::native("_parameters", |i, a| {
            let (function, skip) = match a.at(i, "signature", 0)? {
                Value::Method(method) => (method.function.clone(), 1),
                function => (function, 0),
            };
            let Value::Function(function) = function else { return Ok(Value::None) };
            let mut items = Vec::new();
            for (param, default) in function.code.params.iter().zip(&function.defaults).skip(skip) {
                let default = match default {
                    Some(default) => Value::tuple([default.clone()]),
                    None => Value::None,
                };
                let annotation = param.annotation.clone().map_or(Value::None, Value::Str);
                items.push(Value::tuple([
                    Value::Str(param.name.clone()),
                    Value::Int(param.kind as i64),
                    default,
                    annotation,
                ]));
            }
            Ok(Value::list(items))
        }),
    );
}
