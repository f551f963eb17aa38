//! Which overload a call means, and how its arguments are bound: PyTorch's parser of Python arguments
//! (`torch/csrc/utils/python_arg_parser.cpp`) over the schemas of one operator.
//!
//! Overloads are tried in the order of PyTorch's bindings (`sort_overloads` of
//! `tools/autograd/gen_python_functions.py`): tensors
//! before numbers, lists before single numbers; the first that the arguments fit is called. A number stands for a
//! tensor only
//! where the pinned kind `takes_number` says so.
//!
//! Laws: matching has no effect; what is bound has one value, or none for the default, for each argument of the schema.

use crate::{Error, Result, Value};
use oxport_ir::schema::{FunctionSchema, Param, Type};
use oxport_ir::{Op, Registry};
use std::collections::HashMap;

/// The overloads of every operator, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Packets(HashMap<&'static str, Vec<&'static str>>);

/// An overload and the values of its arguments; `None` where the default stands.
pub(crate) type Match = (Op, Vec<Option<Value>>);

impl Packets {
    pub(crate) fn new(registry: &Registry) -> Packets {
        let mut packets: HashMap<&'static str, Vec<&'static str>> = HashMap::new();
        for name in registry.names() {
            packets.entry(name.split('.').next().unwrap_or(name)).or_default().push(name);
        }
        Packets(packets)
    }

    /// The overloads that a name means: `aten.add` all of them, `aten.add.Tensor` and `aten.relu.default` that one.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn overloads(&self, registry: &Registry, name: &str) -> Result<Vec<Op>> {
        let name = name.strip_prefix("torch.ops.").unwrap_or(name);
        let (space, short) = name.split_once("::").or_else(|| name.split_once('.')).unwrap_or(("aten", name));
        let full = format!("{space}::{}", short.strip_suffix(".default").unwrap_or(short));
        let all = self.0.get(full.as_str()).filter(|_| !short.contains('.'));
        let mut ops: Vec<Op> = match all {
            Some(all) => all.iter().map(|name| registry.op(name)).collect(),
            None => vec![registry.op(&full)],
        };
        ops.retain(|op| op.schema().is_some() && !op.is_jit_only());
        if ops.is_empty() {
            return Err(Error::invalid(format!("'_OpNamespace' '{space}' object has no attribute '{short}'")));
        }
        Ok(in_order(ops))
    }
}

/// The overloads in the order of PyTorch's bindings: by signature, then such that a smaller one comes later.
fn in_order(mut ops: Vec<Op>) -> Vec<Op> {
    if ops.len() == 1 {
        return ops;
    }
    ops.sort_by_cached_key(binding);
    let smaller = |a: &Op, b: &Op| match (a.schema(), b.schema()) {
        (Some(a), Some(b)) => is_smaller(a, b),
        _ => false,
    };
    let mut ordered: Vec<Op> = Vec::with_capacity(ops.len());
    while !ops.is_empty() {
        // The partial order has no cycles; the first that is left is taken where it should have one.
        let free = ops.iter().position(|op| !ops.iter().any(|other| smaller(op, other))).unwrap_or(0);
        ordered.push(ops.remove(free));
    }
    ordered
}

/// `is_smaller` of PyTorch's generator: of two overloads with equally many arguments, the one that would shadow the
/// other.
fn is_smaller(a: &FunctionSchema, b: &FunctionSchema) -> bool {
    let (a, b): (Vec<&Param>, Vec<&Param>) = (inputs(a).collect(), inputs(b).collect());
    let pairs = || a.iter().zip(&b).map(|(a, b)| (&a.ty, &b.ty));
    a.len() == b.len() && pairs().any(|(a, b)| a != b) && pairs().all(|(a, b)| a == b || shadows(a, b))
}

fn shadows(a: &Type, b: &Type) -> bool {
    let is_list = |t: &Type| matches!(t.strip_optional(), Type::List(_, None));
    match (a, b) {
        (Type::Scalar, Type::Tensor) => true,
        (Type::Optional(a), Type::Optional(b)) if **a == Type::Scalar && **b == Type::Tensor => true,
        (Type::Int, other) if is_list(other) => matches!(other.strip_optional(), Type::List(t, _) if **t == Type::Int),
        (Type::Int | Type::SymInt, Type::Tensor) => true,
        (Type::List(t, None), other) if **t == Type::Tensor => is_list(other),
        _ => false,
    }
}

/// What a caller of Python sees of a schema: no outputs.
fn inputs(schema: &FunctionSchema) -> impl Iterator<Item = &Param> {
    schema.args.iter().filter(|p| !(p.kw_only && p.is_written()))
}

/// `roll(Tensor input, SymInt[1] shifts, int[1] dims=[])`, as PyTorch's messages show a signature.
fn signature(op: &Op) -> String {
    let Some(schema) = op.schema() else { return op.name().to_string() };
    let text = schema.to_string();
    let (_, rest) = text.split_once('(').unwrap_or(("", &text));
    let arguments = rest.rsplit_once(") ->").map_or(rest, |(arguments, _)| arguments);
    format!("{}({})", op.packet(), arguments.replacen(" self", " input", 1))
}

/// The signature by which PyTorch's generator sorts: with the types of C++.
fn binding(op: &Op) -> String {
    fn cpp(ty: &Type) -> String {
        match ty {
            Type::Optional(t) => format!("{}?", cpp(t)),
            Type::List(t, size) => {
                let element = match &**t {
                    Type::Int => "IntArrayRef".into(),
                    Type::SymInt => "SymIntArrayRef".into(),
                    Type::Float => "ArrayRef<double>".into(),
                    Type::Tensor => "TensorList".into(),
                    other => format!("{}[]", cpp(other)),
                };
                size.map_or(element.clone(), |n| format!("{element}[{n}]"))
            }
            Type::Int => "int64_t".into(),
            Type::Float => "double".into(),
            Type::Str => "c10::string_view".into(),
            other => other.to_string(),
        }
    }
    let mut text = Vec::new();
    for param in op.schema().into_iter().flat_map(inputs) {
        if param.kw_only && !text.iter().any(|t| t == "*") {
            text.push("*".to_string());
        }
        text.push(format!("{} {}{}", cpp(&param.ty), param.name, if param.default.is_some() { "=" } else { "" }));
    }
    text.join(", ")
}

/// The first overload that takes these arguments, with what it binds them to.
///
/// # Errors
/// None does; the message is that of PyTorch's parser.
pub(crate) fn resolve(ops: &[Op], args: &[Value], kwargs: &[(&str, Value)]) -> Result<Match> {
    let is_out = |op: &Op| op.schema().is_some_and(|s| inputs(s).count() < s.args.len());
    let is_given = |op: &Op| {
        op.schema().is_some_and(|s| kwargs.iter().any(|(key, _)| s.arg(key).is_some_and(|(_, p)| p.is_written())))
    };
    let ops: Vec<&Op> = ops.iter().filter(|op| ops.len() == 1 || !is_out(op) || is_given(op)).collect();
    let mut refused = None;
    for op in &ops {
        let Some(schema) = op.schema() else { continue };
        match bind(op, schema, args, kwargs) {
            Ok(bound) => return Ok(((*op).clone(), bound)),
            Err(message) => refused = refused.or(Some(message)),
        }
    }
    for op in &ops {
        let Some(schema) = op.schema() else { continue };
        if let Some(gathered) = gather(op, schema, args)
            && let Ok(bound) = bind(op, schema, &gathered, kwargs)
        {
            return Ok(((*op).clone(), bound));
        }
    }
    match (&ops[..], refused) {
        ([_], Some(message)) => Err(Error::invalid(message)),
        _ => Err(Error::invalid(no_match(&ops, args, kwargs))),
    }
}

/// PyTorch's message where several signatures were tried.
fn no_match(ops: &[&Op], args: &[Value], kwargs: &[(&str, Value)]) -> String {
    let mut got: Vec<String> = args.iter().map(described).collect();
    got.extend(kwargs.iter().map(|(name, v)| format!("{name}={}", described(v))));
    let name = ops.first().map_or("", |op| op.packet());
    let mut message = format!(
        "{name}() received an invalid combination of arguments - got ({}), but expected one of:",
        got.join(", ")
    );
    for op in ops {
        message += &format!("\n * ({}", signature(op).split_once('(').map_or("", |(_, rest)| rest));
    }
    message
}

/// A value as that message shows it: a list with the types of its items.
fn described(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let mut types: Vec<String> = items.iter().map(Value::type_name).collect();
            types.dedup();
            format!("list of [{}]", types.join(", "))
        }
        other => other.type_name(),
    }
}

/// The values of one overload's arguments, or PyTorch's sentence why it does not take them.
fn bind(
    op: &Op,
    schema: &FunctionSchema,
    args: &[Value],
    kwargs: &[(&str, Value)],
) -> Result<Vec<Option<Value>>, String> {
    let name = op.packet();
    let mut bound: Vec<Option<Value>> = vec![None; schema.args.len()];
    let positional = schema.positional();
    if args.len() > positional {
        let (takes, plural) = (positional, if positional == 1 { "" } else { "s" });
        let were = if args.len() == 1 { "was" } else { "were" };
        return Err(format!("{name}() takes {takes} positional argument{plural} but {} {were} given", args.len()));
    }
    for (i, value) in args.iter().enumerate() {
        let param = &schema.args[i];
        if !fits(op, value, &param.ty) {
            return Err(format!(
                "{name}(): argument '{}' (position {}) must be {}, not {}",
                python_name(param),
                i + 1,
                wanted(&param.ty),
                value.type_name()
            ));
        }
        bound[i] = Some(value.clone());
    }
    for (key, value) in kwargs {
        let Some(i) = schema.args.iter().position(|p| is_called(p, key)) else {
            return Err(format!("{name}() got an unexpected keyword argument '{key}'"));
        };
        if bound[i].is_some() {
            return Err(format!("{name}() got multiple values for argument '{key}'"));
        }
        let param = &schema.args[i];
        if !fits(op, value, &param.ty) {
            let (wanted, got) = (wanted(&param.ty), value.type_name());
            return Err(format!("{name}(): argument '{}' must be {wanted}, not {got}", python_name(param)));
        }
        bound[i] = Some(value.clone());
    }
    let missing: Vec<String> = schema
        .args
        .iter()
        .zip(&bound)
        .filter(|(p, b)| b.is_none() && p.default.is_none())
        .map(|(p, _)| format!("\"{}\"", python_name(p)))
        .collect();
    if missing.is_empty() {
        return Ok(bound);
    }
    // As PyTorch has it, the other way round.
    let plural = if missing.len() == 1 { "s" } else { "" };
    Err(format!("{name}() missing {} required positional argument{plural}: {}", missing.len(), missing.join(", ")))
}

/// `x.view(2, 3)` for `x.view([2, 3])`: the ints behind the tensor, where its schema takes one list of them and
/// nothing else by
/// position that could be meant.
fn gather(op: &Op, schema: &FunctionSchema, args: &[Value]) -> Option<Vec<Value>> {
    let (first, rest) = args.split_first()?;
    let is_int = |v: &Value| matches!(v, Value::Int(_));
    let takes_list = |p: &Param| matches!(&p.ty, Type::List(t, None) if matches!(**t, Type::Int | Type::SymInt));
    // A function that makes a tensor of given sizes takes them from its first argument on: `zeros(2, 3)`.
    if schema.args.first().is_some_and(takes_list) && args.iter().all(is_int) {
        return Some(vec![Value::List(args.to_vec())]);
    }
    let fits_first = schema.args.first().is_some_and(|p| fits(op, first, &p.ty));
    let is_list = schema.args.get(1).is_some_and(takes_list);
    (fits_first && is_list && !rest.is_empty() && rest.iter().all(is_int))
        .then(|| vec![first.clone(), Value::List(rest.to_vec())])
}

/// PyTorch's functions of Python call the first tensor `input`.
fn python_name(param: &Param) -> &str {
    if &*param.name == "self" { "input" } else { &param.name }
}

/// Whether a keyword names the argument: by its name, as Python has it, or as numpy has it.
fn is_called(param: &Param, key: &str) -> bool {
    let name = &*param.name;
    let aliases: &[&str] = match name {
        "self" => &["input", "x", "a", "x1"],
        "other" => &["x2"],
        "dim" => &["axis"],
        "keepdim" => &["keepdims"],
        _ => &[],
    };
    name == key || aliases.contains(&key)
}

/// How PyTorch's messages name a type of an argument.
fn wanted(ty: &Type) -> String {
    match ty.strip_optional() {
        Type::Tensor => "Tensor".into(),
        Type::Int => "int".into(),
        Type::SymInt => "int".into(),
        Type::Float => "float".into(),
        Type::Bool => "bool".into(),
        Type::Scalar => "Number".into(),
        Type::Str => "str".into(),
        Type::DType => "torch.dtype".into(),
        Type::Layout => "torch.layout".into(),
        Type::MemoryFormat => "torch.memory_format".into(),
        Type::Device => "torch.device".into(),
        Type::List(t, _) => match t.strip_optional() {
            Type::Tensor => "tuple of Tensors".into(),
            other => format!("tuple of {}s", wanted(other)),
        },
        other => other.to_string(),
    }
}

/// Whether an argument of this type takes the value.
fn fits(op: &Op, value: &Value, ty: &Type) -> bool {
    let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Complex(_));
    match (ty, value) {
        (Type::Optional(_) | Type::Generator | Type::Other(_), Value::None) => true,
        (Type::Optional(t), v) => fits(op, v, t),
        (Type::Tensor, Value::Tensor(_)) => true,
        (Type::Tensor, _) => is_number && op.takes_number(),
        (Type::Int | Type::SymInt, Value::Int(_)) => true,
        (Type::Float, Value::Float(_) | Value::Int(_) | Value::Bool(_)) => true,
        (Type::Bool, Value::Bool(_)) => true,
        (Type::Scalar, _) => is_number,
        (Type::Str, Value::Str(_)) => true,
        (Type::DType, Value::DType(_)) => true,
        (Type::Layout, Value::Layout(_)) => true,
        (Type::MemoryFormat, Value::MemoryFormat(_)) => true,
        (Type::Device, Value::Device(_) | Value::Str(_)) => true,
        (Type::List(t, _), Value::List(items)) => items.iter().all(|item| fits(op, item, t)),
        // One number for a list of fixed length; `Tensor[]` never takes a tensor.
        (Type::List(t, Some(_)), v) => **t != Type::Tensor && fits(op, v, t),
        _ => false,
    }
}
