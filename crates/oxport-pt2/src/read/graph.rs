//! From the graph of a document to a graph: placeholders, calls, the output, and the nodes that the document does not
//! store.
//!
//! A document names the elements of a list of results; FX has a `getitem` node for each. Reading creates all of them,
//! also unused ones, as PyTorch does. A subgraph is an argument in a document; FX has a `get_attr` node.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::schema::Type;
use oxport_ir::text::fx_name;
use oxport_ir::{Argument, Diagnostic, Graph, Kwargs, Loc, Node, NodeId, NodeKind, NodeMeta, Op, Registry, Val};
use oxport_sym::Expr;

use super::document::{Body, DocumentText};
use super::expressions::Expressions;
use super::metadata::{Texts, read_metadata};
use super::metas::Meta;
use super::target::is_plain_target;
use crate::model::{self, Argument as Json, KEYWORD, POSITIONAL, SymBoolArgument, SymFloatArgument, SymIntArgument};
use crate::{Limits, json, upgrade};

/// The state shared by all graphs of a document.
pub(super) struct Context<'a> {
    pub(super) registry: &'a Registry,
    pub(super) limits: &'a Limits,
    pub(super) expressions: Expressions,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) unsupported: Vec<Diagnostic>,
    /// The text of the document, to count the bytes read.
    pub(super) text: &'a DocumentText<'a>,
    /// Whether a part of the text failed to parse; then reading stops.
    pub(super) broken: bool,
    /// Whether calls need upgrading from an old schema.
    pub(super) is_old: bool,
    /// Interned metadata texts.
    pub(super) texts: Texts,
    /// Hashes subgraphs, with random keys.
    pub(super) digests: RandomState,
}

/// Reads one graph.
pub(super) struct GraphReader<'a, 'r> {
    pub(super) cx: &'a mut Context<'r>,
    graph: Graph,
    /// Per node, whether it defines the value of its own name.
    is_own: Vec<bool>,
    /// Values defined by nodes of another name.
    values: HashMap<String, NodeId>,
    pub(super) metas: IndexMap<Cow<'a, str>, Meta<'a>>,
    /// Digests of subgraphs, to distinguish a second use from a name clash.
    subgraphs: HashMap<String, u64>,
    /// The path of the subgraph; empty for the top graph.
    scope: String,
    /// The current location: `node add_1`.
    pub(super) at: String,
}

/// Reads a graph; `names` are the placeholder names that the signature gives to constant inputs.
pub(super) fn read_graph<'r>(
    cx: &mut Context<'r>,
    body: Body<'_>,
    scope: &str,
    names: &dyn Fn(usize) -> Option<String>,
) -> Graph {
    let mut reader = GraphReader {
        cx,
        graph: Graph::new(),
        is_own: Vec::new(),
        values: HashMap::new(),
        metas: body.tensor_values.map(|(name, meta)| (name, Meta::Tensor(meta))).collect(),
        subgraphs: HashMap::new(),
        scope: scope.to_string(),
        at: String::new(),
    };
    reader.graph.reserve(body.inputs.len() + body.nodes.size_hint().0 + 1);
    reader.add_metas(body.sym_int_values.iter().map(|(name, value)| (name, Meta::Int(value))));
    reader.add_metas(body.sym_float_values.iter().map(|(name, value)| (name, Meta::Float(value))));
    reader.add_metas(body.sym_bool_values.iter().map(|(name, value)| (name, Meta::Bool(value))));
    reader.add_metas(body.custom_obj_values.iter().map(|(name, object)| (name, Meta::Object(object))));
    reader.cx.text.forget();
    for (i, input) in body.inputs.iter().enumerate() {
        reader.placeholder(i, input, names);
    }
    for text in body.nodes {
        let Some(mut node) = text.read().filter(|_| !reader.cx.broken) else {
            reader.cx.broken = true;
            break;
        };
        if reader.cx.is_old && matches!(node, Cow::Owned(_)) {
            upgrade::upgrade_call(node.to_mut());
        }
        reader.node(&node);
        reader.cx.text.passed(text.len());
    }
    reader.output(body.outputs, body.is_single_tensor_return);
    reader.check_unused_metas();
    reader.graph.is_single_return = body.is_single_tensor_return;
    reader.graph
}

impl<'a> GraphReader<'a, '_> {
    pub(super) fn report(&mut self, code: &'static str, message: impl Into<String>) {
        let at = Loc::Node { graph: self.scope.clone(), node: self.at.clone() };
        self.cx.errors.push(Diagnostic::error(code, at, message));
    }

    pub(super) fn unsupported(&mut self, message: impl Into<String>) {
        let at = Loc::Node { graph: self.scope.clone(), node: self.at.clone() };
        self.cx.unsupported.push(Diagnostic::error("unsupported", at, message));
    }

    pub(super) fn operator(&mut self, target: &str) -> Op {
        if !is_plain_target(target) {
            let excerpt: String = target.chars().take(80).collect();
            self.report("target", format!("expected the name of an operator, got {excerpt:?}"));
        }
        self.cx.registry.op(target)
    }

    /// The node of a value.
    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        let is_own = |id: &NodeId| self.is_own.get(id.index()) == Some(&true);
        self.graph.find(name).filter(is_own).or_else(|| self.values.get(name).copied())
    }

    /// The node of a value as an argument; reports an unknown name.
    pub(super) fn used(&mut self, name: &str) -> Argument {
        match self.find(name) {
            Some(id) => Argument::Node(id),
            None => {
                let later = self.metas.contains_key(name);
                let why = if later { "before it is defined" } else { "but not defined" };
                self.report("name", format!("the value {name:?} is used {why}"));
                Argument::None
            }
        }
    }

    /// Adds a node; renames it if the name is taken.
    fn add(&mut self, name: &str, kind: NodeKind, args: Vec<Argument>, meta: NodeMeta) -> NodeId {
        self.add_call(name, kind, (args, Kwargs::new()), meta)
    }

    fn add_call(&mut self, name: &str, kind: NodeKind, (args, kwargs): Arguments, meta: NodeMeta) -> NodeId {
        let name = self.graph.unique_name(if name.is_empty() { "value" } else { name });
        self.graph
            .append(Node { name, kind, args, kwargs, meta })
            .expect("law: the name is unique and arguments come from this graph")
    }

    /// Binds the name of a value to the node that defines it.
    fn bind_value(&mut self, name: &str, id: NodeId) {
        let is_known = self.find(name).is_some();
        if *self.graph.node(id).name == *name {
            self.is_own.resize(id.index(), false);
            self.is_own.push(true);
        } else {
            self.values.insert(name.to_string(), id);
        }
        if is_known {
            self.report("name", format!("the value {name:?} is defined twice"));
        }
    }

    fn placeholder(&mut self, i: usize, input: &Json, names: &dyn Fn(usize) -> Option<String>) {
        let constant = |val| (None, Some(val));
        let (name, val) = match input {
            Json::AsTensor(t) => (Some(&t.name), None),
            Json::AsCustomObj(o) => (Some(&o.name), None),
            Json::AsSymInt(SymIntArgument::AsName(name)) => (Some(name), None),
            Json::AsSymFloat(SymFloatArgument::AsName(name)) => (Some(name), None),
            Json::AsSymBool(SymBoolArgument::AsName(name)) => (Some(name), None),
            Json::AsNone(_) => constant(Val::None),
            Json::AsInt(n) => constant(Val::Int(Expr::from(*n))),
            Json::AsFloat(x) => constant(Val::Float(Expr::float(x.0))),
            Json::AsBool(b) => constant(Val::Bool(Expr::boolean(*b))),
            Json::AsString(s) => constant(Val::Str(s.as_str().into())),
            _ => {
                self.at = format!("input {i}");
                self.report("input", "expected a tensor, number, string or object as an input");
                constant(Val::None)
            }
        };
        let Some(name) = name else {
            let name = names(i).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("arg{i}"));
            self.add(&name, NodeKind::Placeholder, Vec::new(), NodeMeta { val, ..NodeMeta::default() });
            return;
        };
        self.at.clone_from(name);
        let val = self.val(name);
        let id = self.add(name, NodeKind::Placeholder, Vec::new(), NodeMeta { val, ..NodeMeta::default() });
        self.bind_value(name, id);
    }

    fn node(&mut self, json: &model::Node) {
        let errors_before = self.cx.errors.len();
        let op = self.operator(&json.target);
        let single = single_output(json, &op);
        let name = match (&json.name, single) {
            (Some(name), _) => name.clone(),
            (None, Some(name)) => name.to_string(),
            (None, None) => self.graph.unique_name(&fx_name(&op)).to_string(),
        };
        self.at.clone_from(&name);
        // The name of a call may depend on its operator.
        for problem in &mut self.cx.errors[errors_before..] {
            problem.at = Loc::Node { graph: self.scope.clone(), node: self.at.clone() };
        }
        let mut meta = read_metadata(&json.metadata, &mut self.cx.texts);
        let ((args, kwargs), input_names) = self.inputs(&op, json);
        let origin = meta.clone();
        meta.extra.extend(input_names.map(|names| (NodeMeta::INPUT_NAMES.into(), names)));
        if let ([Json::AsTensors(_)], None) = (json.outputs.as_slice(), single)
            && (op.schema().is_none() || op.is_higher_order())
        {
            meta.extra.push((NodeMeta::TENSOR_LIST.into(), "".into()));
        }
        for arg in args.iter().chain(kwargs.values()) {
            if let Argument::Node(id) = arg
                && self.graph.subgraph_of(*id).is_some()
            {
                *self.graph.meta_mut(*id) = origin.clone();
            }
        }
        let id = self.add_call(&name, NodeKind::CallFunction(op), (args, kwargs), meta);
        let val = match (json.outputs.as_slice(), single) {
            ([], _) => None,
            ([Json::AsNone(_)], _) => Some(Val::None),
            ([output, ..], Some(value)) => {
                self.bind_value(value, id);
                let val = self.val(value);
                self.is_kind(output, val.as_ref());
                val
            }
            // `Tensor[]` of a schema, or a dictionary of a higher-order operator.
            ([Json::AsTensors(list)], None) => {
                let items: Vec<Json> = list.iter().map(|t| Json::AsTensor(t.clone())).collect();
                Some(Val::List(self.getitems(id, &items, &origin)))
            }
            (outputs, None) => Some(Val::List(self.getitems(id, outputs, &origin))),
        };
        self.graph.meta_mut(id).val = val;
    }

    /// Adds a `getitem` node for every element of a list of results; gives the metas.
    fn getitems(&mut self, of: NodeId, outputs: &[Json], meta: &NodeMeta) -> Vec<Val> {
        let getitem = self.operator("_operator.getitem");
        let mut vals = Vec::with_capacity(outputs.len());
        for (i, output) in outputs.iter().enumerate() {
            let args = vec![Argument::Node(of), Argument::Int(i as i64)];
            let kind = NodeKind::CallFunction(getitem.clone());
            let name = match output {
                Json::AsTensor(t) => Some(&t.name),
                Json::AsSymInt(SymIntArgument::AsName(name))
                | Json::AsSymFloat(SymFloatArgument::AsName(name))
                | Json::AsSymBool(SymBoolArgument::AsName(name)) => Some(name),
                _ => None,
            };
            let val = match (name, output) {
                (Some(name), _) => {
                    let val = self.val(name).unwrap_or(Val::None);
                    self.is_kind(output, Some(&val));
                    let id = self.add(name, kind, args, meta.derived(Some(val.clone())));
                    self.bind_value(name, id);
                    val
                }
                (None, Json::AsTensors(list)) => {
                    let id = self.add("getitem", kind, args, meta.derived(None));
                    let items: Vec<Json> = list.iter().map(|t| Json::AsTensor(t.clone())).collect();
                    let val = Val::List(self.getitems(id, &items, meta));
                    self.graph.meta_mut(id).val = Some(val.clone());
                    val
                }
                (None, Json::AsNone(_)) => Val::None,
                _ => {
                    self.report("output", format!("result {i}: expected a tensor, list of tensors, number or None"));
                    Val::None
                }
            };
            vals.push(val);
        }
        vals
    }

    /// The arguments of a call, and the names of positional ones if there is no schema.
    fn inputs(&mut self, op: &Op, json: &model::Node) -> (Arguments, Option<Arc<str>>) {
        let (mut args, mut kwargs) = (Vec::with_capacity(json.inputs.len()), Kwargs::new());
        let Some(schema) = op.schema().filter(|_| !op.is_higher_order() && !op.is_python()) else {
            let mut names = Vec::new();
            for input in &json.inputs {
                let argument = self.argument_at(&input.arg);
                if op.is_on_numbers() && input.kind == Some(KEYWORD) {
                    let message =
                        format!("{}: expected positional arguments, got {:?} by keyword", op.name(), input.name);
                    self.report("argument", message);
                }
                // In older documents arguments of Python functions have no kind; they are positional.
                let is_positional = input.kind == Some(POSITIONAL) || input.name.is_empty();
                if is_positional || op.is_python() && input.kind != Some(KEYWORD) {
                    args.push(argument);
                    names.push(input.name.as_str());
                } else {
                    kwargs.insert(input.name.as_str().into(), argument);
                }
            }
            // The writer knows the names of Python's functions from their rows, if there are any.
            let is_known = op.is_python() && op.schema().is_some();
            let named = !is_known && names.iter().any(|name| !name.is_empty());
            return ((args, kwargs), named.then(|| names.join(",").into()));
        };
        let schema = schema.clone();
        let mut given: IndexMap<&str, (Argument, Option<i64>)> = IndexMap::new();
        for input in &json.inputs {
            let argument = self.argument_at(&input.arg);
            if schema.arg(&input.name).is_none() {
                self.report("argument", format!("{} has no argument {:?}", op.name(), input.name));
            } else if given.insert(&input.name, (argument, input.kind)).is_some() {
                self.report("argument", format!("the argument {:?} is given twice", input.name));
            }
        }
        // Before 8.7 arguments have no kind: those that can be positional are, up to the first omitted one.
        // PyTorch gives those with a default by name then; a positional one behind them would take their place.
        let (mut gap, mut named) = (false, None);
        for param in &schema.args {
            let may_be_positional = !param.kw_only && !gap && kwargs.is_empty();
            let given = given.shift_remove(&*param.name);
            match &given {
                Some((_, Some(POSITIONAL))) if let Some(before) = named => {
                    let message =
                        format!("{}: {:?} is positional, {before:?} before it has no kind", op.name(), param.name);
                    self.report("argument", message);
                }
                Some((_, None | Some(0))) if param.default.is_some() => named = Some(&*param.name),
                Some((_, None | Some(0))) if !param.kw_only && !may_be_positional => {
                    let message = format!(
                        "{}: {:?} has no kind, and does not follow positional arguments",
                        op.name(),
                        param.name
                    );
                    self.report("argument", message);
                }
                Some((_, Some(kind))) if !matches!(*kind, POSITIONAL | KEYWORD) => {
                    let message =
                        format!("the kind of {:?}: expected {POSITIONAL} or {KEYWORD}, got {kind}", param.name);
                    self.report("argument", message);
                }
                _ => {}
            }
            match given {
                Some((argument, Some(POSITIONAL))) => args.push(argument),
                Some((argument, kind)) if kind != Some(KEYWORD) && may_be_positional => args.push(argument),
                Some((argument, _)) => drop(kwargs.insert(Arc::from(&*param.name), argument)),
                None if param.default.is_none() => {
                    self.report("argument", format!("{}: the argument {:?} is missing", op.name(), param.name));
                }
                None => gap = true,
            }
        }
        ((args, kwargs), None)
    }

    fn argument_at(&mut self, json: &Json) -> Argument {
        if let Json::AsGraph(g) = json { self.subgraph_at(g) } else { self.argument(json) }
    }

    /// A subgraph within a list or a dictionary, which PyTorch does not write.
    pub(super) fn subgraph(&mut self, json: &model::GraphArgument) -> Argument {
        self.unsupported(format!("the subgraph {:?} is inside a list or dictionary", json.name));
        Argument::None
    }

    fn subgraph_at(&mut self, json: &model::GraphArgument) -> Argument {
        let name = json.name.as_str();
        let digest = self.cx.digests.hash_one(json::to_string(&json.graph));
        match self.subgraphs.insert(name.to_string(), digest) {
            Some(earlier) if earlier != digest => {
                self.report("name", format!("two different subgraphs are named {name:?}"));
            }
            Some(_) => {}
            None => {
                let scope = if self.scope.is_empty() { name.to_string() } else { format!("{}.{name}", self.scope) };
                let graph = read_graph(self.cx, Body::from(&*json.graph), &scope, &|_| None);
                self.graph.subgraphs.insert(name.into(), graph);
            }
        }
        Argument::Node(self.add(name, NodeKind::GetAttr(name.into()), Vec::new(), NodeMeta::default()))
    }

    fn output(&mut self, outputs: &[Json], is_single: bool) {
        self.at = "output".to_string();
        let mut args = Vec::with_capacity(outputs.len());
        for output in outputs {
            let is_value = matches!(
                output,
                Json::AsTensor(_)
                    | Json::AsSymInt(_)
                    | Json::AsSymFloat(_)
                    | Json::AsSymBool(_)
                    | Json::AsInt(_)
                    | Json::AsFloat(_)
                    | Json::AsBool(_)
                    | Json::AsString(_)
                    | Json::AsNone(_)
                    | Json::AsCustomObj(_)
            );
            if !is_value {
                self.report("output", "expected a tensor, number, string or None as an output");
            }
            args.push(self.argument(output));
        }
        if is_single && args.len() != 1 {
            self.report(
                "output",
                format!("expected one output of a graph that returns a bare tensor, got {}", args.len()),
            );
        }
        self.add("output", NodeKind::Output, args, NodeMeta::default());
    }
}

/// Positional arguments, and those by name.
type Arguments = (Vec<Argument>, Kwargs);

/// The name of the node's value, if its result is not a tuple or list.
fn single_output<'j>(json: &'j model::Node, op: &Op) -> Option<&'j str> {
    let [output] = json.outputs.as_slice() else { return None };
    if op.is_higher_order() && json.is_hop_single_tensor_return == Some(false) {
        return None;
    }
    let is_list = |ty: &Type| matches!(ty, Type::List(..));
    if op.schema().is_some_and(|s| !op.is_higher_order() && s.returns.first().is_some_and(|r| is_list(&r.ty))) {
        return None;
    }
    match output {
        Json::AsTensor(t) => Some(&t.name),
        Json::AsSymInt(SymIntArgument::AsName(name))
        | Json::AsSymFloat(SymFloatArgument::AsName(name))
        | Json::AsSymBool(SymBoolArgument::AsName(name)) => Some(name),
        _ => None,
    }
}
