//! Inputs that a source gives itself: `example_inputs()`, which gives `(args, kwargs)`, and `dynamic_shapes`, which
//! says what of their sizes is dynamic, as `torch.export.export` takes it.

use super::session::Session;
use super::tensor::tensor_of;
use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Module, Name, Value};
use oxport_capture::{Dim, Export, Tracer, Value as Traced};
use oxport_ir::Value as Example;
use oxport_pytree::{Key, Kind, Tree, TreeSpec};
use std::rc::Rc;
use std::sync::Arc;

/// The inputs of a call.
pub(super) struct Inputs {
    pub(super) args: Args,
    pub(super) spec: TreeSpec,
    pub(super) names: Vec<Arc<str>>,
}

/// Adds the inputs that the source gives; `None` if it gives none.
pub(super) fn add(
    interp: &mut Interp,
    session: &Rc<Session>,
    tracer: &Tracer,
    module: &Module,
    model: &Value,
) -> R<Option<Inputs>> {
    let named = |name: &str| module.dict.borrow().get(name).cloned();
    let Some(function) = named("example_inputs") else { return Ok(None) };
    let both = interp.call(&function, Args::default())?;
    let both = interp.collect(&both)?;
    let [args, kwargs] = both.as_slice() else {
        return interp.type_error("example_inputs() must give a tuple of arguments and a dict of keyword arguments");
    };
    let args = interp.collect(args)?;
    let mut kw = Vec::new();
    for (name, value) in interp.mapping_items(kwargs)? {
        kw.push((interp.text(&name)?, value));
    }
    let names = names(interp, model, args.len())?;
    let shapes = named("dynamic_shapes").filter(|shapes| !matches!(shapes, Value::None));
    let mut export = Export::new().trusted();
    let positional = names.iter().cloned().zip(&args).map(|(name, value)| (name, value, false));
    let all: Vec<_> = positional.chain(kw.iter().map(|(name, value)| (name.to_string(), value, true))).collect();
    for (name, value, is_keyword) in all {
        let tree = example(interp, value)?;
        if let Some(shapes) = &shapes {
            let spec = interp.get_item(shapes, &Value::str(&name))?;
            export = add_dims(interp, export, &name, &tree, &spec)?;
        }
        export = if is_keyword { export.kwarg_tree(&name, tree) } else { export.arg_tree(&name, tree) };
    }
    let inputs = match export.trace_inputs(tracer) {
        Ok(inputs) => inputs,
        Err(error) => return interp.raise("RuntimeError", error.message()),
    };
    let mut traced = Args::default();
    for (name, value) in names.iter().zip(&args) {
        let mut leaves = leaves(&inputs, name);
        traced.pos.push(replaced(interp, session, value, &mut leaves)?);
    }
    for (name, value) in kw {
        let mut leaves = leaves(&inputs, &name);
        let value = replaced(interp, session, &value, &mut leaves)?;
        traced.kw.push((name, value));
    }
    let (spec, names) = export.call();
    Ok(Some(Inputs { args: traced, spec, names }))
}

fn leaves(inputs: &oxport_capture::Inputs, name: &str) -> std::vec::IntoIter<Traced> {
    let leaves: Option<Vec<Traced>> = inputs.tree(name).map(|tree| tree.leaves().into_iter().cloned().collect());
    leaves.unwrap_or_default().into_iter()
}

/// The names of the positional arguments of a module's `forward`, or of a function.
fn names(interp: &mut Interp, model: &Value, count: usize) -> R<Vec<String>> {
    let forward = interp.find_attr(model, &Name::from("forward"))?.unwrap_or_else(|| model.clone());
    let (function, skipped) = match &forward {
        Value::Method(method) => (method.function.clone(), 1),
        other => (other.clone(), 0),
    };
    let known: Vec<String> = match &function {
        Value::Function(f) => f.code.params.iter().skip(skipped).map(|p| p.name.to_string()).collect(),
        _ => Vec::new(),
    };
    Ok((0..count).map(|i| known.get(i).cloned().unwrap_or_else(|| format!("args_{i}"))).collect())
}

/// The fields of a named tuple.
pub(super) fn fields(interp: &mut Interp, value: &Value) -> R<Option<Vec<String>>> {
    let Some(fields) = interp.find_attr(value, &Name::from("_fields"))? else { return Ok(None) };
    let fields = interp.collect(&fields)?;
    fields.iter().map(|f| interp.text(f).map(|f| f.to_string())).collect::<R<Vec<_>>>().map(Some)
}

/// The functions with which the class of an object is registered as a pytree.
fn pytree(interp: &mut Interp, value: &Value) -> R<Option<(Value, Value)>> {
    let Value::Instance(_) = value else { return Ok(None) };
    let Some(functions) = interp.find_attr(value, &Name::from("__pytree__"))? else { return Ok(None) };
    match interp.collect(&functions)?.as_slice() {
        [flatten, unflatten] => Ok(Some((flatten.clone(), unflatten.clone()))),
        _ => Ok(None),
    }
}

/// Of an object of a registered class: the name, the context as text, the children.
pub(super) fn stand_in(interp: &mut Interp, value: &Value) -> R<Option<(String, String, Vec<Value>)>> {
    let Some((flatten, _)) = pytree(interp, value)? else { return Ok(None) };
    let both = interp.call(&flatten, Args::of([value.clone()]))?;
    let both = interp.collect(&both)?;
    let [children, context] = both.as_slice() else {
        return interp.type_error("a registered type must flatten to its children and its context");
    };
    let context = match context.plain() {
        Value::Str(text) => text.to_string(),
        _ => interp.repr(context)?,
    };
    Ok(Some((registered(interp, value)?, context, interp.collect(children)?)))
}

/// The name under which the class of a container is registered, else its own.
pub(super) fn registered(interp: &mut Interp, value: &Value) -> R<String> {
    match interp.find_attr(value, &Name::from("__serialized_type_name__"))? {
        Some(name) => Ok(interp.text(&name)?.to_string()),
        None => Ok(interp.type_name(value).to_string()),
    }
}

/// The fields of an object of a dataclass, with their values.
pub(super) fn members(interp: &mut Interp, value: &Value) -> R<Option<Vec<(Name, Value)>>> {
    let fields = match value {
        Value::Instance(_) => interp.find_attr(value, &Name::from("__dataclass_fields__"))?,
        _ => None,
    };
    let Some(fields) = fields else { return Ok(None) };
    let mut members = Vec::new();
    for name in interp.collect(&fields)? {
        let name = interp.text(&name)?;
        members.push((name.clone(), interp.get_attr(value, &name)?));
    }
    Ok(Some(members))
}

/// A value as an example.
fn example(interp: &mut Interp, value: &Value) -> R<Tree<Example>> {
    if let Some(tensor) = tensor_of(value) {
        return Ok(Tree::Leaf(Example::Tensor(tensor.data(interp)?)));
    }
    Ok(match value.plain() {
        Value::None => Tree::Leaf(Example::None),
        Value::Bool(b) => Tree::Leaf(Example::Bool(b)),
        Value::Int(n) => Tree::Leaf(Example::Int(n)),
        Value::Float(x) => Tree::Leaf(Example::Float(x)),
        Value::Str(s) => Tree::Leaf(Example::from(&*s)),
        Value::Tuple(items) => {
            let trees = items.iter().map(|v| example(interp, v)).collect::<R<Vec<_>>>()?;
            match fields(interp, value)? {
                Some(fields) => {
                    let name = registered(interp, value)?;
                    Tree::node(Kind::NamedTuple { name, fields: Some(fields) }, trees)
                }
                None if super::convert::is_size(interp, value) => Tree::node(Kind::Size, trees),
                None => Tree::tuple(trees),
            }
        }
        Value::List(list) => {
            let items = list.borrow().clone();
            Tree::list(items.iter().map(|v| example(interp, v)).collect::<R<Vec<_>>>()?)
        }
        Value::Dict(_) => {
            let is_ordered = &*interp.type_name(value) == "OrderedDict";
            let (mut keys, mut trees) = (Vec::new(), Vec::new());
            for (key, item) in interp.mapping_items(value)? {
                keys.push(match key.plain() {
                    Value::Str(text) => Key::from(&*text),
                    Value::Int(n) => Key::from(n),
                    _ => return interp.type_error("the keys of an input dict must be strings or ints"),
                });
                trees.push(example(interp, &item)?);
            }
            Tree::node(if is_ordered { Kind::OrderedDict(keys) } else { Kind::Dict(keys) }, trees)
        }
        _ if let Some((name, context, children)) = stand_in(interp, value)? => {
            let kind = Kind::Custom { name, context, fields: None };
            Tree::node(kind, children.iter().map(|v| example(interp, v)).collect::<R<Vec<_>>>()?)
        }
        _ => match members(interp, value)? {
            Some(members) => {
                let name = registered(interp, value)?;
                let none = |(_, v): &&(Name, Value)| matches!(v, Value::None);
                let names = |all: Vec<&(Name, Value)>| all.into_iter().map(|(n, _)| n.to_string()).collect();
                let kind = Kind::Dataclass {
                    name,
                    fields: names(members.iter().filter(|m| !none(m)).collect()),
                    none: names(members.iter().filter(none).collect()),
                };
                let given = members.iter().filter(|m| !none(m));
                Tree::node(kind, given.map(|(_, v)| example(interp, v)).collect::<R<Vec<_>>>()?)
            }
            None => {
                let class = interp.type_name(value);
                return interp.type_error(format!("an example input of type {class} is not supported"));
            }
        },
    })
}

/// An example with traced values at its leaves.
fn replaced(
    interp: &mut Interp,
    session: &Rc<Session>,
    value: &Value,
    leaves: &mut std::vec::IntoIter<Traced>,
) -> R<Value> {
    if tensor_of(value).is_none() {
        match value.plain() {
            Value::Tuple(items) => {
                let items = items.iter().map(|v| replaced(interp, session, v, leaves)).collect::<R<Vec<_>>>()?;
                return match fields(interp, value)? {
                    Some(_) => {
                        let class = interp.get_attr(value, &Name::from("__class__"))?;
                        interp.call(&class, Args::of(items))
                    }
                    None => interp.new_tuple(items),
                };
            }
            Value::List(list) => {
                let items = list.borrow().clone();
                let items = items.iter().map(|v| replaced(interp, session, v, leaves)).collect::<R<Vec<_>>>()?;
                return Ok(Value::list(items));
            }
            Value::Dict(_) => {
                let copy = interp.call_method(value, "copy", Args::default())?;
                for (key, item) in interp.mapping_items(value)? {
                    let item = replaced(interp, session, &item, leaves)?;
                    interp.set_item(&copy, &key, item)?;
                }
                return Ok(copy);
            }
            _ => {}
        }
        if let Some((_, _, children)) = stand_in(interp, value)? {
            let (_, unflatten) = pytree(interp, value)?.ok_or(()).or_else(|()| interp.type_error("a pytree"))?;
            let context = interp.get_attr(value, &Name::from("context"))?;
            let children = children.iter().map(|v| replaced(interp, session, v, leaves)).collect::<R<Vec<_>>>()?;
            return interp.call(&unflatten, Args::of([Value::list(children), context]));
        }
        if let Some(members) = members(interp, value)? {
            let mut kw = Vec::with_capacity(members.len());
            for (name, member) in members.into_iter().filter(|(_, v)| !matches!(v, Value::None)) {
                let member = replaced(interp, session, &member, leaves)?;
                kw.push((name, member));
            }
            let class = interp.get_attr(value, &Name::from("__class__"))?;
            return interp.call(&class, Args { pos: Vec::new(), kw });
        }
    }
    session.raise_value(interp, leaves.next().unwrap_or(Traced::None))
}

/// Notes what `dynamic_shapes` says of an input.
fn add_dims(interp: &mut Interp, mut export: Export, path: &str, tree: &Tree<Example>, spec: &Value) -> R<Export> {
    if let Value::None = spec {
        return Ok(export);
    }
    let Tree::Node(kind, children) = tree else {
        let by_dim: Vec<(i64, Value)> = match spec.plain() {
            Value::Dict(_) => {
                let items = interp.mapping_items(spec)?;
                items.into_iter().map(|(dim, is)| Ok((interp.index(&dim)?, is))).collect::<R<_>>()?
            }
            Value::Tuple(_) | Value::List(_) => (0..).zip(interp.collect(spec)?).collect(),
            // A dimension for a number itself.
            _ => return interp.type_error(format!("`{path}`: expected dynamic sizes by dimension")),
        };
        for (at, is) in by_dim {
            let dim = dimension(interp, &is)?;
            export = export.dim(path, usize::try_from(at).unwrap_or(usize::MAX), dim);
        }
        return Ok(export);
    };
    for (i, child) in children.iter().enumerate() {
        let entry = kind.entry(i);
        let at = match &entry {
            oxport_pytree::PathEntry::Key(Key::Str(key)) => Value::str(key),
            oxport_pytree::PathEntry::Key(Key::Int(n)) => Value::Int(*n),
            _ => Value::from_len(i),
        };
        let spec = interp.get_item(spec, &at)?;
        let path = format!("{path}{}", oxport_capture::export::step(&entry));
        export = add_dims(interp, export, &path, child, &spec)?;
    }
    Ok(export)
}

/// A `Dim` of `torch.export`, which says of itself `(kind, name, min, max, times, plus)`.
fn dimension(interp: &mut Interp, value: &Value) -> R<Dim> {
    if let Value::None | Value::Int(_) = value {
        return Ok(Dim::Static);
    }
    let Some(parts) = interp.find_attr(value, &Name::from("_parts"))? else {
        return interp.type_error("a dynamic size must be a torch.export.Dim");
    };
    let parts = interp.collect(&parts)?;
    let [kind, name, min, max, times, plus] = parts.as_slice() else {
        return interp.type_error("a dynamic size must be a torch.export.Dim");
    };
    let mut bound = |value: &Value| match value {
        Value::None => Ok(None),
        number => interp.index(number).map(Some),
    };
    let (min, max, times, plus) = (bound(min)?, bound(max)?, bound(times)?.unwrap_or(1), bound(plus)?.unwrap_or(0));
    let (kind, name) = (interp.text(kind)?, interp.text(name)?);
    Ok(match &*kind {
        "AUTO" => Dim::Within { min, max },
        "DYNAMIC" => Dim::Dynamic,
        "STATIC" => Dim::Static,
        _ => {
            let (min, max) = (min.unwrap_or(0), max);
            let dim = Dim::new(&name).min(min);
            let dim = max.map_or(dim.clone(), |max| dim.max(max));
            if (times, plus) == (1, 0) { dim } else { dim * times + plus }
        }
    })
}
