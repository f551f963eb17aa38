//! Inputs of graphs: tensors that are lifted, operands of subgraphs, and what goes with an input that is erased.
//!
//! Law: entry `i` of the signature is of input `i`; a tensor that the program owns is the one of an input.

use crate::live::{Live, Place, Result};
use oxport::ir::{Constant, InputKind, NodeKind, OutputKind};
use oxport::{Fake, Node, NodeId, StateTensor, Tensor, Val};
use std::sync::Arc;

const TOP_ONLY: &str = "a subgraph takes its values from its call: lift the tensor in the program's own graph, and \
    give it to the call as an operand";

impl Live {
    /// Lifts a tensor: stores it, and inserts the input that stands for it behind those of its kind.
    pub(crate) fn lift(&mut self, path: &[Arc<str>], kind: InputKind, tensor: Tensor) -> Result<NodeId> {
        if !path.is_empty() {
            return Err(TOP_ONLY.to_string());
        }
        let Some(name) = kind.lifted().cloned() else { return Err("expected a tensor to lift".to_string()) };
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return Err(format!("expected a name such as `layer.weight`, got {name:?}"));
        }
        if self.program.tensors().any(|(taken, _)| *taken == name) || self.program.constants.contains_key(&name) {
            return Err(format!("the program has a tensor `{name}` already"));
        }
        let (prefix, is_param) = match &kind {
            InputKind::Parameter(_) => ("p_", true),
            InputKind::Buffer { .. } => ("b_", false),
            _ => ("c_", false),
        };
        let clean = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        let node_name = self.fresh_name(path, &prefix.chars().chain(clean).collect::<String>())?;
        let fake = Fake { requires_grad: is_param, ..Fake::of(&tensor) };
        let specs = &self.program.signature.inputs;
        let at = specs.iter().rposition(|s| rank(&s.kind) <= rank(&kind)).map_or(0, |i| i + 1);
        let graph = &self.program.graph;
        let behind = graph.placeholders().nth(at).map(|(id, _)| id);
        let before = match behind {
            Some(id) => Some(id),
            None => self.before(path, Place::Start)?,
        };
        let mut node = Node::new(node_name, NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(Val::Tensor(fake));
        let id = self.insert(path, before, node)?;
        let stored = StateTensor::new(tensor, is_param);
        if matches!(kind, InputKind::Parameter(_) | InputKind::Buffer { persistent: true, .. }) {
            self.program.state.insert(name, stored);
        } else {
            self.program.constants.insert(name, Constant::Tensor(stored));
        }
        self.program.signature.inputs.insert(at, kind.into());
        Ok(id)
    }

    /// Adds an input to a subgraph, for a value like that one.
    pub(crate) fn placeholder(&mut self, path: &[Arc<str>], name: &str, like: Option<Val>) -> Result<NodeId> {
        if path.is_empty() {
            return Err("the inputs of a program are those of its call, which cannot be extended; a tensor is added \
                by `parameter`, `buffer` or `constant`"
                .to_string());
        }
        let Some(val) = like else {
            return Err(format!("expected what the input `{name}` is like: `placeholder(name, like=node)`"));
        };
        let before = self.before(path, Place::Start)?;
        let name = self.fresh_name(path, name)?;
        let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(val);
        self.insert(path, before, node)
    }

    /// Erases a node that nothing uses; of a stored tensor's input also its entry of the signature, and the tensor.
    pub(crate) fn erase(&mut self, path: &[Arc<str>], id: NodeId) -> Result<()> {
        let graph = self.graph(path)?;
        let node = self.node(path, id)?;
        let users: Vec<&str> = graph.users(id).keys().map(|&user| &*graph.node(user).name).collect();
        if !users.is_empty() {
            let listed: Vec<String> = users.iter().map(|user| format!("{user}: None")).collect();
            return Err(format!(
                "Tried to erase Node {} but it still had {} users in the graph: {{{}}}!",
                node.name,
                users.len(),
                listed.join(", ")
            ));
        }
        let spec = match node.kind {
            NodeKind::Output => return Err("the output of a graph cannot be erased".to_string()),
            NodeKind::Placeholder if path.is_empty() => Some(self.lowered(id)?),
            _ => None,
        };
        self.graph_mut(path)?.erase(id).map_err(|e| e.to_string())?;
        if let Some(i) = spec {
            let spec = self.program.signature.inputs.remove(i);
            let still = |name: &Arc<str>| self.program.signature.inputs.iter().any(|s| s.kind.lifted() == Some(name));
            if let Some(name) = spec.kind.lifted().filter(|name| !still(name)) {
                self.program.state.shift_remove(name);
                self.program.constants.shift_remove(name);
            }
        }
        Ok(())
    }
    /// The entry of the signature for an input that may be erased.
    fn lowered(&self, id: NodeId) -> Result<usize> {
        let (i, node) = (self.program.graph.placeholders().enumerate())
            .find_map(|(i, (other, node))| (other == id).then_some((i, node)))
            .ok_or("the node was erased")?;
        let kind = self.program.signature.inputs.get(i).map(|s| &s.kind);
        let Some(name) = kind.and_then(InputKind::lifted) else {
            return Err(format!("`{}` is an argument of the program's call, which cannot be erased", node.name));
        };
        let names = |kind: &OutputKind| match kind {
            OutputKind::BufferMutation(target)
            | OutputKind::ParameterMutation(target)
            | OutputKind::GradientToParameter(target) => target == name,
            _ => false,
        };
        match self.program.signature.outputs.iter().position(|s| names(&s.kind)) {
            Some(i) => Err(format!("`{}` cannot be erased: output {i} of the program is of `{name}`", node.name)),
            None => Ok(i),
        }
    }
}

/// In which order a program's inputs stand, by kind.
fn rank(kind: &InputKind) -> u8 {
    match kind {
        InputKind::Token => 0,
        InputKind::Parameter(_) => 1,
        InputKind::Buffer { .. } => 2,
        InputKind::TensorConstant(_) => 3,
        InputKind::CustomObj { .. } => 4,
        InputKind::UserInput | InputKind::ConstantInput(_) => 5,
    }
}
