//! The calls that join two branches: `cond` and `while_loop`.

use super::Branch;
use crate::{Error, Result, Tensor, Tracer, Value};
use oxport_ir::{Argument, Graph, Kwargs, NodeId, NodeMeta};
use std::panic::Location;

/// The nodes that branches lifted: the explicit ones, used or not; then, as PyTorch orders them, those that all
/// branches use, those of the first, and those of the second, each by name. Those of one branch alone stay in the
/// order of their first use.
pub(super) fn operands(graph: &Graph, branches: &[&Branch], explicit: &[NodeId]) -> Vec<NodeId> {
    let uses = |branch: &Branch| -> Vec<NodeId> {
        let used = branch.lifted.iter().filter(|(_, inner)| !branch.graph.users(*inner).is_empty());
        used.map(|(outer, _)| *outer).filter(|outer| !explicit.contains(outer)).collect()
    };
    let used: Vec<Vec<NodeId>> = branches.iter().map(|branch| uses(branch)).collect();
    let mut order = explicit.to_vec();
    let [first, rest @ ..] = &used[..] else { return order };
    if rest.is_empty() {
        order.extend(first);
        return order;
    }
    let shared: Vec<NodeId> = first.iter().copied().filter(|n| rest.iter().all(|other| other.contains(n))).collect();
    for part in std::iter::once(&shared).chain(&used) {
        let mut part: Vec<NodeId> = part.iter().copied().filter(|n| !order.contains(n)).collect();
        part.sort_by_key(|n| graph.node(*n).name.clone());
        order.extend(part);
    }
    order
}

pub(super) fn list(nodes: &[NodeId]) -> Argument {
    Argument::List(nodes.iter().map(|n| Argument::Node(*n)).collect())
}

impl Tracer {
    /// `torch.cond` of two branches with their results: those of the one that the predicate, a bool, chooses.
    ///
    /// # Errors
    /// The results differ in number, dtype or sizes; or a branch writes a tensor that shares its storage with another
    /// one that is used.
    #[track_caller]
    pub fn join(&self, predicate: &Value, branches: [(Branch, &[Value]); 2]) -> Result<Vec<Value>> {
        let origin = self.here(Location::caller(), "cond");
        self.join_at(predicate, branches, &origin)
    }
    pub(crate) fn join_at(
        &self,
        predicate: &Value,
        [(one, ones), (other, others)]: [(Branch, &[Value]); 2],
        origin: &NodeMeta,
    ) -> Result<Vec<Value>> {
        let mut state = self.state_mut();
        let mut written = one.writes();
        written.extend(other.writes().into_iter().filter(|n| !written.contains(n)).collect::<Vec<_>>());
        let one = state.close(self, one, ones, &written, origin)?;
        let other = state.close(self, other, others, &written, origin)?;
        let order = operands(&state.program.graph, &[&one, &other], &[]);
        state.check_written(&written, &order)?;
        let (one, other) = (state.arrange(one, &order)?, state.arrange(other, &order)?);
        let predicate = match predicate {
            Value::Tensor(_) => state.result(self, predicate)?,
            number => match number.as_val() {
                Some(val) => state.number(&val, origin)?,
                None => return Err(Error::invalid("the predicate of cond must be a bool")),
            },
        };
        let [one_at, other_at] = state.add_graphs([("true_graph", one.graph), ("false_graph", other.graph)])?;
        let op = state.registry.op("higher_order::cond");
        let args = vec![predicate, one_at, other_at, list(&order)];
        let node = state.add_call(&op, args, Kwargs::new(), origin)?;
        let mut values = items(state.value_of(self, node, origin)?);
        let copies = values.split_off(ones.len().min(values.len()));
        state.copy_back(self, &written, &copies, origin)?;
        Ok(values)
    }

    /// `torch.while_loop` of two branches that carry the same tensors: the last ones. The first branch gives one bool,
    /// the second the tensors of the next round.
    ///
    /// # Errors
    /// The second gives tensors of another number, dtype or sizes than it carries; or a branch writes a tensor that
    /// shares its storage with another one that is used.
    #[track_caller]
    pub fn repeat(
        &self,
        carried: &[Tensor],
        (test, truth): (Branch, &Value),
        (round, next): (Branch, &[Value]),
    ) -> Result<Vec<Value>> {
        let origin = &self.here(Location::caller(), "while_loop");
        if next.len() != carried.len() {
            let (gives, takes) = (next.len(), carried.len());
            return Err(Error::invalid(format!(
                "Expected body_fn to return {takes} tensors as carried_inputs, got {gives}"
            )));
        }
        let mut state = self.state_mut();
        if !test.writes().is_empty() {
            return Err(Error::unsupported("the condition of a loop that writes to a tensor from around it"));
        }
        let written = round.writes();
        let test = state.close(self, test, std::slice::from_ref(truth), &[], origin)?;
        let round = state.close(self, round, next, &written, origin)?;
        let order = operands(&state.program.graph, &[&test, &round], &written);
        state.check_written(&written, &order)?;
        let (mut test, round) = (state.arrange(test, &order)?, state.arrange(round, &order)?);
        test.graph.is_single_return = true;
        let [test_at, round_at] =
            state.add_graphs([("while_loop_cond_graph", test.graph), ("while_loop_body_graph", round.graph)])?;
        let mut first = Vec::with_capacity(carried.len() + written.len());
        for tensor in carried {
            match state.result(self, &tensor.into())? {
                Argument::Node(node) => first.push(state.contiguous(node, origin)?),
                _ => return Err(Error::invalid("a carried value is no tensor")),
            }
        }
        let (kept, rest) = order.split_at(written.len());
        first.extend(kept);
        let op = state.registry.op("higher_order::while_loop");
        let args = vec![test_at, round_at, list(&first), list(rest)];
        let node = state.add_call(&op, args, Kwargs::new(), origin)?;
        let mut values = items(state.value_of(self, node, origin)?);
        let copies = values.split_off(carried.len().min(values.len()));
        state.copy_back(self, &written, &copies, origin)?;
        Ok(values)
    }
}

pub(super) fn items(values: Value) -> Vec<Value> {
    match values {
        Value::List(items) => items,
        one => vec![one],
    }
}
