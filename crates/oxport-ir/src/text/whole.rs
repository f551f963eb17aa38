//! What PyTorch's text does not say, as lines that begin with `#:`, printed and read.
//!
//! ```text
//! add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y)
//! #: add.val('f32[2, 3] strides [1, 2]')
//! #: add.stack_trace('  File "net.py", line 3, in forward\n    return x + y')
//! ```
//!
//! A fact of a node stands within the code of its graph, `node.fact(…)`, the node being called as in the code; one of
//! the program stands at the margin behind the ranges, `fact(…)`. Arguments are Python literals. Where a node has no
//! fact `val`, its value is what the annotation says: a tensor is contiguous, on the CPU and without gradient.
//!
//! Law: what is read is what was printed; a fact that is not known is an error.

use super::lex::tokens;
use super::line::Line;
use super::print::annotated;
use super::vals::{plain_annotation, val_text};
use super::values::{Values, python_str};
use crate::program::{ModuleCallArgument, Spelling};
use crate::verify::walk;
use crate::{
    Argument, Dialect, ExportedProgram, Graph, InputKind, Kwargs, ModuleCall, ModuleCallSignature, Node, NodeId,
    NodeKind, Registry, Val,
};
use indexmap::IndexSet;
use oxport_pytree::{NamedTupleFields, TreeSpec};
use oxport_sym::{Expr, Number, ShapeEnv, Symbol};
use std::collections::HashMap;
use std::sync::Arc;

/// How the lines begin.
pub(super) const MARK: &str = "#:";

/// The facts of a node, `own` being its name in the code. The loaded graph has the nodes of the original one, and some
/// more.
pub(super) fn node(original: &Graph, loaded: &Graph, id: NodeId, own: &str) -> Vec<String> {
    let Some(node) = original.get(id) else { return vec![format!("{own}.absent()")] };
    let is_output = node.kind == NodeKind::Output;
    let own = if is_output { "return" } else { own };
    let mut facts = Vec::new();
    let mut fact = |what: &str, texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| python_str(text)).collect();
        facts.push(format!("{own}.{what}({})", texts.join(", ")));
    };
    if *node.name != *if is_output { "output" } else { own } {
        fact("name", &[&node.name]);
    }
    // What loading says of a node is not what is asked here.
    let annotation = loaded.get(id).and_then(Node::val).and_then(annotated);
    let implied =
        annotation.and_then(|text| plain_annotation(&text, &|text| Expr::parse(text).map_err(|e| e.to_string())).ok());
    match node.val() {
        val if val == implied.as_ref() => {}
        Some(val) => fact("val", &[&val_text(val)]),
        None => fact("val", &[]),
    }
    let meta = &node.meta;
    for (what, text) in
        [("stack_trace", &meta.stack_trace), ("nn_module_stack", &meta.nn_module_stack), ("torch_fn", &meta.torch_fn)]
    {
        if let Some(text) = text {
            fact(what, &[text]);
        }
    }
    for (key, text) in &meta.extra {
        fact("meta", &[key, text]);
    }
    facts
}

/// The facts of a program.
pub(super) fn program(program: &ExportedProgram) -> Vec<String> {
    let mut facts = vec!["whole(1)".to_string()];
    let mut fact = |what: &str, args: &[Argument], kwargs: Kwargs| {
        let no_node = |_: NodeId| String::new();
        let values = Values { name: &no_node, plain: false };
        let mut parts: Vec<String> = args.iter().map(|a| values.argument(a)).collect();
        parts.extend(kwargs.iter().map(|(key, a)| format!("{key} = {}", values.argument(a))));
        facts.push(format!("{what}({})", parts.join(", ")));
    };
    let (text, none) = (|text: &str| Argument::Str(text.into()), Kwargs::new);
    let texts = |list: &[Arc<str>]| Argument::List(list.iter().cloned().map(Argument::Str).collect());
    let dialect = match program.dialect {
        Dialect::Training => "TRAINING",
        Dialect::Aten => "ATEN",
    };
    fact("dialect", &[text(dialect)], none());
    for symbol in symbols(program) {
        let hint = match program.env.hint(&symbol) {
            Some(Number::Bool(b)) => named([("hint", Argument::Bool(*b))]),
            Some(Number::Float(x)) => named([("hint", Argument::Float(*x))]),
            Some(n) => n.as_i64().map_or_else(none, |n| named([("hint", Argument::Int(n))])),
            None => none(),
        };
        fact("symbol", &[text(&Expr::symbol(&symbol).srepr())], hint);
    }
    for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        match &spec.kind {
            InputKind::ConstantInput(c) => fact("input", &[text(&node.name)], named([("constant", c.clone())])),
            InputKind::CustomObj { class, .. } => fact("input", &[text(&node.name)], named([("object", text(class))])),
            _ => {}
        }
    }
    let origin = &program.origin;
    for (name, fields) in &origin.namedtuple_fields {
        fact("fields", &[text(name), texts(fields)], none());
    }
    for call in &program.module_calls {
        let signature = call.signature.as_ref().map(|s| {
            let names = s.forward_arg_names.as_ref().map_or(Argument::None, |names| texts(names));
            let list = |args: &[ModuleCallArgument]| Argument::List(args.iter().map(call_argument).collect());
            named([
                ("in_spec", text(&s.in_spec.to_json())),
                ("out_spec", text(&s.out_spec.to_json())),
                ("names", names),
                ("inputs", list(&s.inputs)),
                ("outputs", list(&s.outputs)),
            ])
        });
        fact("module", &[text(&call.fqn)], signature.unwrap_or_default());
    }
    for guard in &program.guards {
        fact("guard", &[text(guard)], none());
    }
    if let Some((major, minor)) = origin.schema_version {
        fact("schema", &[i64::from(major).into(), i64::from(minor).into()], none());
    }
    if let Some(version) = &origin.torch_version {
        fact("torch", &[text(version)], none());
    }
    for (namespace, version) in &origin.opset {
        fact("opset", &[text(namespace), (*version).into()], none());
    }
    for (key, value) in &origin.metadata {
        fact("metadata", &[text(key), text(value)], none());
    }
    if let Some(verifiers) = &origin.verifiers {
        fact("verifiers", &[texts(verifiers)], none());
    }
    let mut spellings: Vec<(String, &Spelling)> = origin.spellings.iter().map(|(e, s)| (e.srepr(), s)).collect();
    spellings.sort_by(|a, b| a.0.cmp(&b.0));
    for (expr, spelling) in spellings {
        fact("spelling", &[text(&expr), text(&spelling.text), spelling.hint.into()], none());
    }
    for (place, value) in &origin.unknown {
        fact("unknown", &[text(place), text(value)], none());
    }
    facts
}

fn named<const N: usize>(entries: [(&str, Argument); N]) -> Kwargs {
    entries.into_iter().map(|(key, a)| (Arc::from(key), a)).collect()
}

/// The symbols of a program's metas and ranges, in order of appearance.
fn symbols(program: &ExportedProgram) -> IndexSet<Symbol> {
    let mut found = IndexSet::new();
    let mut of = |e: &Expr| {
        if !e.is_const() {
            found.extend(e.free_symbols());
        }
    };
    walk(&program.graph, "", &mut |graph, _| {
        for val in graph.nodes().filter_map(|(_, node)| node.val()) {
            val.for_each_expr(&mut of);
            val.tensors().into_iter().for_each(|t| of(&t.offset));
        }
    });
    program.ranges.keys().for_each(&mut of);
    found
}

fn call_argument(arg: &ModuleCallArgument) -> Argument {
    let of = |kind: &str, rest: &[&Arc<str>]| {
        let texts = rest.iter().map(|text| Argument::Str((*text).clone()));
        Argument::List(std::iter::once(kind.into()).chain(texts).collect())
    };
    match arg {
        ModuleCallArgument::Tensor(n) => of("tensor", &[n]),
        ModuleCallArgument::SymInt(n) => of("int", &[n]),
        ModuleCallArgument::SymFloat(n) => of("float", &[n]),
        ModuleCallArgument::SymBool(n) => of("bool", &[n]),
        ModuleCallArgument::Token(n) => of("token", &[n]),
        ModuleCallArgument::CustomObj(n, class) => of("object", &[n, class]),
        ModuleCallArgument::Constant(c) => Argument::List(vec!["constant".into(), c.clone()]),
    }
}

fn read_call_argument(arg: &Argument) -> Result<ModuleCallArgument, String> {
    let Argument::List(items) = arg else { return Err("expected a list that begins with a kind".into()) };
    Ok(match items.as_slice() {
        [Argument::Str(kind), Argument::Str(n)] if &**kind != "constant" => match &**kind {
            "tensor" => ModuleCallArgument::Tensor(n.clone()),
            "int" => ModuleCallArgument::SymInt(n.clone()),
            "float" => ModuleCallArgument::SymFloat(n.clone()),
            "bool" => ModuleCallArgument::SymBool(n.clone()),
            "token" => ModuleCallArgument::Token(n.clone()),
            other => return Err(format!("unknown kind of value `{other}`")),
        },
        [Argument::Str(kind), Argument::Str(n), Argument::Str(class)] if &**kind == "object" => {
            ModuleCallArgument::CustomObj(n.clone(), class.clone())
        }
        [Argument::Str(kind), c] if &**kind == "constant" => ModuleCallArgument::Constant(c.clone()),
        _ => return Err("expected a kind and a value".into()),
    })
}

/// What the facts of a text say of its program.
#[derive(Default)]
pub(super) struct Facts {
    /// Whether the text says everything: then nothing is inferred.
    pub(super) is_whole: bool,
    symbols: HashMap<String, Symbol>,
    /// The other facts, by line.
    rest: Vec<(usize, String, Vec<Argument>, Kwargs)>,
}

impl Facts {
    /// Reads one fact of the program.
    pub(super) fn read(
        &mut self,
        line: usize,
        text: &str,
        registry: &Registry,
        env: &mut ShapeEnv,
    ) -> Result<(), String> {
        let tokens = tokens(text)?;
        let nothing = |_: &str| None;
        let mut read = Line::new(&tokens, &nothing, registry);
        let what = read.name()?;
        read.expect("(")?;
        let (args, kwargs) = read.arguments()?;
        match (what.as_str(), args.as_slice()) {
            ("whole", [Argument::Int(1)]) => self.is_whole = true,
            ("whole", _) => return Err("expected `whole(1)`: the text is of a later version".into()),
            ("symbol", [Argument::Str(text)]) => {
                let expr = parse_expr(text, &|_| None)?;
                let symbol = expr.as_symbol().ok_or_else(|| format!("`{text}` is no symbol"))?.clone();
                match kwargs.get("hint") {
                    Some(Argument::Int(n)) => env.set_hint(&symbol, *n),
                    Some(Argument::Float(x)) => env.set_hint(&symbol, *x),
                    Some(Argument::Bool(b)) => env.set_hint(&symbol, *b),
                    _ => {}
                }
                env.reserve(&symbol);
                self.symbols.insert(symbol.name().to_string(), symbol);
            }
            _ => self.rest.push((line, what, args, kwargs)),
        }
        Ok(())
    }

    /// An expression, its names those of the text's symbols.
    pub(super) fn expr(&self, text: &str) -> Result<Expr, String> {
        parse_expr(text, &|name| self.symbols.get(name).map(Expr::symbol))
    }

    /// The value of an annotation; none where it only says that there is a tensor.
    pub(super) fn annotation(&self, text: &str, env: &ShapeEnv) -> Result<Option<Val>, String> {
        if matches!(text, "torch.Tensor" | "Tensor" | "Any" | "typing.Any") {
            return Ok(None);
        }
        Ok(Some(match plain_annotation(text, &|text| self.expr(text))? {
            Val::Int(e) if !self.is_whole && env.range_of(&e).is_bool() => Val::Bool(e),
            val => val,
        }))
    }

    /// Tells a program that was read what the facts say of it.
    ///
    /// # Errors
    /// A fact that is wrong or unknown, with its line.
    pub(super) fn complete(&mut self, program: &mut ExportedProgram) -> Result<(), (usize, String)> {
        for (line, what, args, kwargs) in std::mem::take(&mut self.rest) {
            self.fact(program, &what, &args, &kwargs).map_err(|message| (line, message))?;
        }
        Ok(())
    }

    fn fact(&self, p: &mut ExportedProgram, what: &str, args: &[Argument], kwargs: &Kwargs) -> Result<(), String> {
        use Argument::{Int, List, Str};
        match (what, args) {
            ("dialect", [Str(name)]) => {
                p.dialect = match &**name {
                    "TRAINING" => Dialect::Training,
                    "ATEN" => Dialect::Aten,
                    other => return Err(format!("unknown dialect `{other}`")),
                };
            }
            ("input", [Str(name)]) => {
                let at = p.graph.placeholders().position(|(_, node)| node.name == *name);
                let spec =
                    at.and_then(|i| p.signature.inputs.get_mut(i)).ok_or(format!("there is no input `{name}`"))?;
                match (&mut spec.kind, kwargs.get("constant"), kwargs.get("object")) {
                    (kind @ InputKind::UserInput, Some(c), _) => *kind = InputKind::ConstantInput(c.clone()),
                    (InputKind::CustomObj { class, .. }, _, Some(Str(name))) => *class = name.clone(),
                    _ => return Err(format!("`{name}` is no such input")),
                }
            }
            ("fields", [Str(name), List(fields)]) => {
                p.origin.namedtuple_fields.insert(name.clone(), strings(fields)?);
            }
            ("module", [Str(fqn)]) => {
                let signature = if kwargs.is_empty() { None } else { Some(call_signature(p, kwargs)?) };
                p.module_calls.push(ModuleCall { fqn: fqn.clone(), signature });
            }
            ("guard", [Str(guard)]) => p.guards.push(guard.clone()),
            ("schema", [Int(major), Int(minor)]) => {
                let part = |n: &i64| u32::try_from(*n).map_err(|_| format!("{n} is no part of a version"));
                p.origin.schema_version = Some((part(major)?, part(minor)?));
            }
            ("torch", [Str(version)]) => p.origin.torch_version = Some(version.clone()),
            ("opset", [Str(namespace), Int(version)]) => {
                p.origin.opset.insert(namespace.clone(), *version);
            }
            ("metadata", [Str(key), Str(value)]) => {
                p.origin.metadata.insert(key.clone(), value.clone());
            }
            ("verifiers", [List(list)]) => p.origin.verifiers = Some(strings(list)?),
            ("spelling", [Str(expr), Str(text), hint]) => {
                let spelling = Spelling { text: text.clone(), hint: hint.as_int() };
                p.origin.spellings.insert(self.expr(expr)?, spelling);
            }
            ("unknown", [Str(place), Str(value)]) => {
                p.origin.unknown.insert(place.clone(), value.clone());
            }
            _ => return Err(format!("unknown fact `{what}`, or one with other arguments")),
        }
        Ok(())
    }
}

fn strings(list: &[Argument]) -> Result<Vec<Arc<str>>, String> {
    let text = |a: &Argument| match a {
        Argument::Str(text) => Ok(text.clone()),
        _ => Err("expected a list of strings".to_string()),
    };
    list.iter().map(text).collect()
}

fn call_signature(p: &ExportedProgram, kwargs: &Kwargs) -> Result<ModuleCallSignature, String> {
    let fields: NamedTupleFields = (p.origin.namedtuple_fields.iter())
        .map(|(name, fields)| (name.to_string(), fields.iter().map(|f| f.to_string()).collect()))
        .collect();
    let spec = |key: &str| match kwargs.get(key) {
        Some(Argument::Str(text)) => match TreeSpec::from_json(text, &fields) {
            Ok(tree) => match tree.imported() {
                Some(name) => Err(format!("to make a container, PyTorch would import {name:?}, whatever that is")),
                None => Ok(tree),
            },
            Err(e) => Err(format!("`{key}`: {e}")),
        },
        _ => Err(format!("`{key}` is missing")),
    };
    let list = |key: &str| match kwargs.get(key) {
        Some(Argument::List(items)) => items.iter().map(read_call_argument).collect::<Result<Vec<_>, _>>(),
        _ => Err(format!("`{key}` is missing")),
    };
    let forward_arg_names = match kwargs.get("names") {
        Some(Argument::List(names)) => Some(strings(names)?),
        _ => None,
    };
    let (inputs, outputs, in_spec, out_spec) = (list("inputs")?, list("outputs")?, spec("in_spec")?, spec("out_spec")?);
    Ok(ModuleCallSignature { inputs, outputs, in_spec, out_spec, forward_arg_names })
}

/// The longest text of an expression.
const LONGEST: usize = 1 << 16;

fn parse_expr(text: &str, names: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr, String> {
    if text.len() > LONGEST {
        return Err(format!("an expression of {} bytes, more than {LONGEST}", text.len()));
    }
    Expr::parse_with(text, names).map_err(|e| format!("in `{text}`: {e}"))
}
