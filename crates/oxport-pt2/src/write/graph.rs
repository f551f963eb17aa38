//! From a graph to the graph of a document: `getitem` nodes become the named results of their call, `get_attr` nodes
//! become subgraph arguments.

use std::collections::HashMap;

use oxport_ir::schema::Type;
use oxport_ir::{Argument, Diagnostic, Graph, InputKind, Loc, Node, NodeId, NodeKind, NodeMeta, Op, Signature, Val};

use super::metadata::write_metadata;
use super::symbols::Symbols;
use crate::model::{
    self, Argument as Json, CustomObjArgument, Dict, KEYWORD, NamedArgument, POSITIONAL, Real, TensorArgument,
};

/// Writes one graph.
pub(super) struct GraphWriter<'a, 'p> {
    pub(super) graph: &'a Graph,
    symbols: &'a Symbols<'p>,
    errors: &'a mut Vec<Diagnostic>,
    scope: String,
    out: model::Graph,
    pub(super) values: Values,
    /// How many inputs the top graph has.
    top_inputs: usize,
}

/// The values whose names in a document differ from those of their nodes.
#[derive(Default)]
pub(super) struct Values {
    /// Duplicate `getitem` nodes, with the name of the first.
    duplicates: HashMap<NodeId, String>,
    /// Constant inputs: they have no name in a document, so that their uses are the constants.
    constants: HashMap<NodeId, Argument>,
}

impl Values {
    /// The name of a node's value.
    pub(super) fn name(&self, graph: &Graph, id: NodeId) -> String {
        self.duplicates.get(&id).cloned().unwrap_or_else(|| graph.node(id).name.to_string())
    }
    /// The constant of an input.
    pub(super) fn constant(&self, id: NodeId) -> Option<&Argument> {
        self.constants.get(&id)
    }
    /// An argument with constant inputs replaced by their constants.
    pub(super) fn spelled_out(&self, arg: &Argument) -> Option<Argument> {
        let mut found = false;
        if !self.constants.is_empty() {
            arg.for_each_node(&mut |id| found |= self.constants.contains_key(&id));
        }
        found.then(|| arg.map_nodes(&mut |id| self.constant(id).cloned().unwrap_or(Argument::Node(id))))
    }
}

/// Writes a graph; also gives the names of its values. `signature` is that of the top graph.
pub(super) fn write_graph(
    graph: &Graph,
    signature: Option<&Signature>,
    symbols: &Symbols<'_>,
    scope: &str,
    errors: &mut Vec<Diagnostic>,
) -> (model::Graph, Values) {
    let out = model::Graph {
        inputs: Vec::new(),
        outputs: Vec::new(),
        nodes: Vec::new(),
        tensor_values: Dict::new(),
        sym_int_values: Dict::new(),
        sym_bool_values: Dict::new(),
        // PyTorch requires a tuple from the top graph.
        is_single_tensor_return: graph.is_single_return && signature.is_none(),
        custom_obj_values: Dict::new(),
        sym_float_values: Dict::new(),
        extra: None,
    };
    let (scope, values, top_inputs) = (scope.to_string(), Values::default(), symbols.inputs());
    let mut writer = GraphWriter { graph, symbols, errors, scope, out, values, top_inputs };
    let mut position = 0;
    for (id, node) in graph.nodes() {
        let written = match &node.kind {
            NodeKind::Placeholder => {
                let kind = signature.and_then(|s| s.inputs.get(position)).map(|spec| &spec.kind);
                position += 1;
                writer.placeholder(id, node, kind)
            }
            NodeKind::CallFunction(op) if op.is_getitem() => Ok(()),
            NodeKind::CallFunction(op) => writer.call(id, node, op),
            NodeKind::GetAttr(_) => Ok(()),
            NodeKind::Output => writer.outputs(node),
        };
        if let Err(message) = written {
            let at = Loc::Node { graph: writer.scope.clone(), node: node.name.to_string() };
            writer.errors.push(Diagnostic::error("write", at, message));
        }
    }
    (writer.out, writer.values)
}

impl GraphWriter<'_, '_> {
    /// The name of a node's value.
    pub(super) fn name(&self, id: NodeId) -> String {
        self.values.name(self.graph, id)
    }

    pub(super) fn subgraph(&mut self, attribute: &str) -> Result<model::Graph, String> {
        let graph =
            self.graph.subgraphs.get(attribute).ok_or_else(|| format!("the graph has no subgraph {attribute:?}"))?;
        let scope = if self.scope.is_empty() { attribute.to_string() } else { format!("{}.{attribute}", self.scope) };
        Ok(write_graph(graph, None, self.symbols, &scope, self.errors).0)
    }

    fn placeholder(&mut self, id: NodeId, node: &Node, kind: Option<&InputKind>) -> Result<(), String> {
        if !node.args.is_empty() {
            return Err(format!("the default of `{}` cannot be written: the program JSON has no defaults", node.name));
        }
        let val = node.val().ok_or("the input has no meta value")?;
        // A user input that is a number is written by name, even if it is constant; in a subgraph it is not, as long as
        // PyTorch finds a name for it in the signature of the program.
        let is_value = match kind {
            None => self.out.inputs.len() >= self.top_inputs,
            Some(kind) => !matches!(kind, InputKind::ConstantInput(_)),
        };
        let constant = match val {
            Val::None => Some((Json::NONE, Argument::None)),
            Val::Str(s) => Some((Json::AsString(s.to_string()), Argument::Str((&**s).into()))),
            Val::Int(n) => n.as_int().filter(|_| !is_value).map(|n| (Json::AsInt(n), Argument::Int(n))),
            Val::Float(x) => x.as_float().map(|x| (Json::AsFloat(Real(x)), Argument::Float(x))),
            Val::Bool(b) => b.as_bool().map(|b| (Json::AsBool(b), Argument::Bool(b))),
            _ => None,
        };
        let input = match constant {
            Some((input, constant)) => {
                self.values.constants.insert(id, constant);
                input
            }
            None => self.value(&node.name, val)?,
        };
        self.out.inputs.push(input);
        Ok(())
    }

    /// Declares a value; gives the argument that names it.
    fn value(&mut self, name: &str, val: &Val) -> Result<Json, String> {
        let name = name.to_string();
        let clash = match val {
            Val::None => return Ok(Json::NONE),
            Val::Tensor(fake) => {
                let meta = self.symbols.tensor(fake);
                self.out.tensor_values.insert(name.clone(), meta).is_some()
            }
            Val::Token => {
                let empty = oxport_ir::Fake::new(oxport_tensor::DType::F32, [0i64.into()]);
                self.out.tensor_values.insert(name.clone(), self.symbols.tensor(&empty)).is_some()
            }
            Val::Int(n) => self.out.sym_int_values.insert(name.clone(), self.symbols.int(n)).is_some(),
            Val::Float(x) => self.out.sym_float_values.insert(name.clone(), self.symbols.float(x)).is_some(),
            Val::Bool(b) => self.out.sym_bool_values.insert(name.clone(), self.symbols.bool(b)).is_some(),
            Val::Object(class) => {
                let object = CustomObjArgument { name: name.clone(), class_fqn: class.to_string(), extra: None };
                self.out.custom_obj_values.insert(name.clone(), object).is_some()
            }
            Val::Str(_) | Val::List(_) => {
                return Err(format!(
                    "expected a tensor, number or object as the value {name:?}, got a string or a list"
                ));
            }
        };
        if clash {
            return Err(format!("two values are named {name:?}"));
        }
        Ok(match val {
            Val::Int(_) => Json::AsSymInt(model::SymIntArgument::AsName(name)),
            Val::Float(_) => Json::AsSymFloat(model::SymFloatArgument::AsName(name)),
            Val::Bool(_) => Json::AsSymBool(model::SymBoolArgument::AsName(name)),
            Val::Object(class) => {
                Json::AsCustomObj(CustomObjArgument { name, class_fqn: class.to_string(), extra: None })
            }
            _ => Json::tensor(name),
        })
    }

    fn call(&mut self, id: NodeId, node: &Node, op: &Op) -> Result<(), String> {
        let inputs = self.inputs(node, op)?;
        let outputs = self.results(id, node, op)?;
        let is_tensor = matches!(node.val(), Some(Val::Tensor(_) | Val::Token));
        self.out.nodes.push(model::Node {
            target: op.target(),
            inputs,
            outputs,
            metadata: write_metadata(&node.meta),
            is_hop_single_tensor_return: op.is_higher_order().then_some(is_tensor),
            name: Some(node.name.to_string()),
            extra: None,
        });
        Ok(())
    }

    fn inputs(&mut self, node: &Node, op: &Op) -> Result<Vec<NamedArgument>, String> {
        let mut inputs = Vec::with_capacity(node.args.len() + node.kwargs.len());
        let mut push = |name: &str, arg: Result<Json, String>, kind| {
            let arg = arg.map_err(|message| format!("argument {name:?}: {message}"))?;
            inputs.push(NamedArgument { name: name.to_string(), arg, kind: Some(kind), extra: None });
            Ok::<(), String>(())
        };
        match op.schema().filter(|_| !op.is_higher_order() && !op.is_python()) {
            Some(schema) => {
                if node.args.len() > schema.positional() {
                    return Err(format!("{} takes {} positional arguments", op.name(), schema.positional()));
                }
                if let Some(name) = node.kwargs.keys().find(|name| schema.arg(name).is_none()) {
                    return Err(format!("{} has no argument `{name}`", op.name()));
                }
                for (i, param) in schema.args.iter().enumerate() {
                    if let Some(arg) = node.kwargs.get(&*param.name) {
                        push(&param.name, self.argument(arg, Some(&param.ty)), KEYWORD)?;
                    } else if let Some(arg) = node.args.get(i).filter(|_| !param.kw_only) {
                        push(&param.name, self.argument(arg, Some(&param.ty)), POSITIONAL)?;
                    }
                }
            }
            None => {
                let kept = node.meta.extra.iter().find(|(key, _)| &**key == NodeMeta::INPUT_NAMES);
                let names: Vec<&str> = match kept {
                    Some((_, names)) => names.split(',').collect(),
                    // Those of Python's functions on numbers; those of functions on tensors are not written.
                    None => op.schema().map_or(Vec::new(), |s| s.args.iter().map(|param| &*param.name).collect()),
                };
                for (i, arg) in node.args.iter().enumerate() {
                    push(names.get(i).copied().unwrap_or(""), self.argument(arg, None), POSITIONAL)?;
                }
                for (name, arg) in &node.kwargs {
                    push(name, self.argument(arg, None), KEYWORD)?;
                }
            }
        }
        Ok(inputs)
    }

    /// The results of a call: one value, or the elements of its tuple or list, named by their `getitem` nodes.
    fn results(&mut self, id: NodeId, node: &Node, op: &Op) -> Result<Vec<Json>, String> {
        let schema = op.schema().filter(|_| !op.is_higher_order());
        let items = match node.val() {
            Some(Val::List(items)) => items,
            Some(val) if schema.is_none_or(|s| !s.returns.is_empty()) => return Ok(vec![self.value(&node.name, val)?]),
            // PyTorch requires an explicit empty result of a function; for an operator its schema has it.
            None if op.is_python() => return Ok(vec![Json::NONE]),
            None if schema.is_some_and(|s| !s.returns.is_empty()) => return Err("the call has no meta value".into()),
            _ => return Ok(Vec::new()),
        };
        let is_list = match schema {
            Some(schema) => matches!(&*schema.returns, [only] if matches!(only.ty, Type::List(..))),
            None => node.meta.extra.iter().any(|(key, _)| &**key == NodeMeta::TENSOR_LIST),
        };
        if is_list {
            return Ok(vec![Json::AsTensors(self.tensor_list(Some(id), &node.name, items)?)]);
        }
        let picks = self.picks(id)?;
        let mut outputs = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let pick = picks.get(&(i as i64)).copied();
            let unused = self.unused(&node.name, i);
            outputs.push(match item {
                Val::List(tensors) => Json::AsTensors(self.tensor_list(pick, &unused, tensors)?),
                item => self.value(&pick.map_or(unused, |pick| self.name(pick)), item)?,
            });
        }
        Ok(outputs)
    }

    /// The name of an unused result.
    fn unused(&self, call: &str, i: usize) -> String {
        self.free(format!("{call}_unused_{i}"))
    }

    /// This name, or a longer one that is not taken.
    fn free(&self, mut name: String) -> String {
        while self.graph.find(&name).is_some() {
            name.push('_');
        }
        name
    }

    /// The tensors of a list, named by the `getitem` nodes of the node `list`; without one, named after `stem`.
    fn tensor_list(&mut self, list: Option<NodeId>, stem: &str, items: &[Val]) -> Result<Vec<TensorArgument>, String> {
        let picks = list.map(|list| self.picks(list)).transpose()?.unwrap_or_default();
        let mut tensors = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let name = match (picks.get(&(i as i64)), list) {
                (Some(pick), _) => self.name(*pick),
                (None, Some(list)) => self.unused(&self.graph.node(list).name, i),
                (None, None) => self.free(format!("{stem}_{i}")),
            };
            match item {
                Val::Tensor(_) => drop(self.value(&name, item)?),
                Val::None => continue,
                _ => return Err("expected a list of tensors as results".into()),
            }
            tensors.push(TensorArgument::new(name));
        }
        Ok(tensors)
    }

    /// The first `getitem` node for every element of a list of results; later ones are duplicates of it.
    fn picks(&mut self, of: NodeId) -> Result<HashMap<i64, NodeId>, String> {
        let mut picks = HashMap::new();
        for &user in self.graph.users(of).keys() {
            let node = self.graph.node(user);
            let Some((_, index)) = node.getitem() else {
                return Err(format!("`{}` uses the list of results without getitem", node.name));
            };
            match picks.get(&index) {
                None => drop(picks.insert(index, user)),
                Some(first) => drop(self.values.duplicates.insert(user, self.graph.node(*first).name.to_string())),
            }
        }
        Ok(picks)
    }

    fn outputs(&mut self, node: &Node) -> Result<(), String> {
        for arg in &node.args {
            let output = self.argument(arg, None)?;
            self.out.outputs.push(output);
        }
        Ok(())
    }
}
