//! Whether a term that was computed is the constant that the second program has instead.

use super::closure::TermId;
use super::program::{Terms, same_bits};
use super::store::{Head, Store};
use super::text::{Digest, Rules};
use super::{Refusal, alias};
use crate::constant::written;
use oxport_ir::infer::is_exact;
use oxport_ir::{
    Argument, Builder, Effect, ExportedProgram, Fake, Graph, InputKind, Node, NodeId, NodeKind, OutputKind, Value,
};
use oxport_tensor::Tensor;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Runs a program without user inputs and gives its outputs; `None` if that fails, for whatever reason.
pub type Evaluate<'a> = &'a dyn Fn(&ExportedProgram) -> Option<Vec<Value>>;

/// What terms are computed with.
pub(crate) struct Folding<'a> {
    pub start: &'a ExportedProgram,
    /// The terms of `start`.
    pub before: &'a Terms,
    pub result: &'a ExportedProgram,
    pub evaluate: Evaluate<'a>,
    pub rules: Rules,
    /// Whether parameters and buffers are constants.
    pub frozen: bool,
}

impl Folding<'_> {
    /// Checks that a term is a constant of the second program; does not unite them.
    ///
    /// # Errors
    /// There is no such constant, the term is made of more than constants, an operator may not be computed ahead, or
    /// the elements differ.
    pub fn check(&self, store: &mut Store<'_>, term: TermId, name: &str, digest: &Digest) -> Result<(), Refusal> {
        let kind = InputKind::TensorConstant(name.into());
        let state = self.result.lifted(&kind).ok_or_else(|| format!("there is no constant `{name}`"))?;
        if Digest::of(&state.tensor).as_ref() != Some(digest) {
            return Err(format!("the constant `{name}` is another tensor"));
        }
        let constant = store.closure.find_term(&Head::Constant(name.into()), &[]);
        let constant = constant.ok_or_else(|| format!("`{name}` is not read"))?;
        // What is equal to the term may be recorded with other strides of dimensions of size 1.
        if !store.same_type(constant, term) && !store.has_member_of_type(term, constant)? {
            return Err(format!("`{name}` is of another type"));
        }
        let part = self.cut_out(store, term)?;
        let computed = (self.evaluate)(&part).and_then(|mut values| values.pop());
        let Some(Value::Tensor(computed)) = computed else { return Err("it cannot be computed".to_string()) };
        match same_bits(&computed, &state.tensor) && has_type(store, term, &state.tensor) {
            true => Ok(()),
            false => Err(format!("`{name}` is not what it computes")),
        }
    }

    /// The program that computes a term.
    fn cut_out(&self, store: &Store<'_>, term: TermId) -> Result<ExportedProgram, Refusal> {
        let needed = needed(store, term);
        let mut part = ExportedProgram::new(Graph::new(), Default::default(), self.start.env.clone());
        (part.state, part.constants) = (self.start.state.clone(), self.start.constants.clone());
        let written_to = written_to(self.start);
        let mut values: HashMap<TermId, Argument> = HashMap::new();
        // Inputs stand before calls.
        for &id in &needed {
            let (Head::Input(name), _) = store.closure.term(id) else { continue };
            let found = self.start.graph.placeholders().zip(&self.start.signature.inputs);
            let found = found.map(|((_, node), spec)| (node, &spec.kind)).find(|(node, _)| node.name == *name);
            let (node, kind) = found.ok_or_else(|| format!("there is no input `{name}`"))?;
            let is_constant = self.frozen || matches!(kind, InputKind::TensorConstant(_));
            let state = self.start.lifted(kind).filter(|s| is_constant && s.subclass.is_none());
            let state = state.ok_or_else(|| format!("`{name}` is no constant"))?;
            if written_to.contains(&state.tensor.storage().id()) {
                return Err(format!("`{name}` is written to"));
            }
            let new = part.graph.append(node.clone()).map_err(|e| e.to_string())?;
            part.signature.inputs.push(kind.clone().into());
            values.insert(id, new.into());
        }
        for &id in &needed {
            let (head, args) = store.closure.term(id);
            let args: Vec<Argument> = args.iter().filter_map(|a| values.get(a).cloned()).collect();
            let value = match head {
                Head::Input(_) => continue,
                Head::Call(op) if op.starts_with('!') => match self.before.node_of(id) {
                    Some(node) => self.other_call(&mut part, node, &values)?.into(),
                    // A list of lists, which its call has.
                    None => continue,
                },
                Head::Const(c) => c.argument(),
                Head::List => Argument::List(args),
                Head::Call(op) => self.call(store, &mut part, op, args)?.into(),
                _ => return Err("it is made of more than constants".to_string()),
            };
            values.insert(id, value);
        }
        let output = values.remove(&term).ok_or("it is no value")?;
        part.graph.append(Node::new("output", NodeKind::Output, vec![output])).map_err(|e| e.to_string())?;
        part.signature.outputs = vec![OutputKind::UserOutput.into()];
        Ok(part)
    }

    fn call(
        &self,
        store: &Store<'_>,
        part: &mut ExportedProgram,
        name: &str,
        args: Vec<Argument>,
    ) -> Result<NodeId, Refusal> {
        let op = store.types.registry.op(name);
        let (args, kwargs) = written(&op, args);
        let mut b = Builder::new(&mut part.graph, &mut part.env, store.types.registry);
        let node = b.call_op(&op, args, kwargs).map_err(|e| e.to_string())?;
        self.admit(&part.graph, node)?;
        Ok(node)
    }

    /// A call that inference does not type as it is recorded: a node of the first program.
    fn other_call(
        &self,
        part: &mut ExportedProgram,
        node: NodeId,
        values: &HashMap<TermId, Argument>,
    ) -> Result<NodeId, Refusal> {
        self.admit(&self.start.graph, node)?;
        let mut node = self.start.graph.node(node).clone();
        let mut is_missing = false;
        let mut value = |id: NodeId| {
            let value = self.before.values.get(&id).and_then(|term| values.get(term));
            is_missing |= value.is_none();
            value.cloned().unwrap_or(Argument::None)
        };
        node.args = node.args.iter().map(|a| a.map_nodes(&mut value)).collect();
        node.kwargs = node.kwargs.map_nodes(&mut value);
        node.name = part.graph.unique_name(&node.name);
        match is_missing {
            true => Err("it is made of more than constants".to_string()),
            false => part.graph.append(node).map_err(|e| e.to_string()),
        }
    }

    /// An error unless a call may be computed ahead.
    fn admit(&self, graph: &Graph, node: NodeId) -> Result<(), Refusal> {
        let node = graph.node(node);
        let op = node.op().ok_or("it is no call")?;
        if self.rules == Rules::Exact && !is_exact(graph, node, &self.start.env) {
            return Err(format!("{} may give other bits elsewhere", op.name()));
        }
        match node.effect() == Effect::Pure && !op.is_mutable() && !op.is_higher_order() {
            true => Ok(()),
            false => Err(format!("{} is no pure function of its arguments", op.name())),
        }
    }
}

/// The terms that a term is made of, and itself, each after its arguments.
fn needed(store: &Store<'_>, term: TermId) -> BTreeSet<TermId> {
    let (mut open, mut needed) = (vec![term], BTreeSet::new());
    while let Some(id) = open.pop() {
        if needed.insert(id) {
            open.extend(store.closure.term(id).1);
        }
    }
    needed
}

/// The storages that the program writes to when all is computed.
fn written_to(program: &ExportedProgram) -> HashSet<usize> {
    let names: HashSet<&str> = alias::written(program).map(|name| &**name).collect();
    let inputs = program.signature.inputs.iter().filter(|s| s.kind.lifted().is_some_and(|n| names.contains(&**n)));
    inputs.filter_map(|s| program.lifted(&s.kind)).map(|s| s.tensor.storage().id()).collect()
}

/// True if a tensor is as a term says: strides of dimensions with one element do not count.
fn has_type(store: &Store<'_>, term: TermId, tensor: &Tensor) -> bool {
    let Some(fake) = store.kind(term).tensor() else { return false };
    let of = Fake::of(tensor);
    let env = &store.types.env;
    let equal = |a: &oxport_sym::Expr, b: &oxport_sym::Expr| a == b || env.equal(a, b);
    let mut strides = fake.strides.iter().zip(&of.strides).zip(tensor.sizes());
    fake.dtype == of.dtype
        && fake.sizes.len() == of.sizes.len()
        && fake.sizes.iter().zip(&of.sizes).all(|(a, b)| equal(a, b))
        && strides.all(|((a, b), size)| *size <= 1 || equal(a, b))
}
