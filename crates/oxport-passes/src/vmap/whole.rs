//! A pointwise body of a vmap, called once on all slices: it needs no loop.
//!
//! Law: every call computes of each element what it does of a slice's, in the same dtype. A body of which that is not
//! certain stays a loop, and so does one that draws or writes.

use super::{Region, moved, sliced};
use oxport_ir::{Argument, Builder, Effect, Fake, Graph, Kwargs, Node, NodeId, Registry, Result};
use oxport_sym::ShapeEnv;
use std::collections::HashMap;

impl Region {
    /// What the body's calls give for all slices, these in front; `None` if it stays a loop.
    pub(super) fn on_the_whole(
        &self,
        graph: &mut Graph,
        env: &mut ShapeEnv,
        registry: &Registry,
    ) -> Result<Option<HashMap<NodeId, NodeId>>> {
        let is_slice = |&output: &NodeId| {
            let given = graph.node(output).argument("self").and_then(Argument::as_node);
            given.is_some_and(|given| self.inputs.contains(&given))
        };
        let is_pointwise = |&id: &NodeId| self.is_pointwise(graph, graph.node(id));
        if self.outputs.iter().any(is_slice) || !self.body.iter().all(is_pointwise) {
            return Ok(None);
        }
        let before = graph.prev(self.end);
        let wholes = self.call_on_the_whole(graph, env, registry)?;
        if wholes.is_none() {
            while let Some(id) = graph.prev(self.end).filter(|&id| Some(id) != before) {
                graph.erase(id)?;
            }
        }
        Ok(wholes)
    }

    /// True if a call of the body computes element by element, and nothing else depends on how many dimensions its
    /// operands have.
    fn is_pointwise(&self, graph: &Graph, node: &Node) -> bool {
        let Some(op) = node.op() else { return false };
        let is_tensor = node.val().is_some_and(|val| val.as_tensor().is_some());
        let is_plain = |argument: &Argument| {
            let mut has_nodes = false;
            argument.for_each_node(&mut |_| has_nodes = true);
            !has_nodes || matches!(argument, Argument::Node(_))
        };
        is_tensor
            && op.has_tag("pointwise")
            && op.effect() == Effect::Pure
            && !op.is_mutable()
            && node.args.iter().chain(node.kwargs.values()).all(is_plain)
            && self.promotes_alike(graph, node)
    }

    /// True if the operands have the same part in the result's dtype on the whole: a slice without dimensions becomes a
    /// tensor of one, which outweighs tensors without.
    fn promotes_alike(&self, graph: &Graph, node: &Node) -> bool {
        let inputs = node.inputs();
        let tensors = inputs.iter().filter_map(|&id| Some((id, graph.node(id).val()?.as_tensor()?)));
        let (raised, others): (Vec<_>, Vec<_>) = tensors.partition(|(id, x)| self.is_sliced(*id) && x.dim() == 0);
        let is_alike = |(_, x): &(NodeId, &Fake)| {
            others.iter().all(|(_, other)| (x.dtype, &x.device) == (other.dtype, &other.device))
        };
        raised.iter().all(is_alike)
    }

    fn call_on_the_whole(
        &self,
        graph: &mut Graph,
        env: &mut ShapeEnv,
        registry: &Registry,
    ) -> Result<Option<HashMap<NodeId, NodeId>>> {
        let mut wholes = HashMap::new();
        for &input in &self.inputs {
            let (x, dim) = sliced(graph.node(input))?;
            let mut b = Builder::new(graph, env, registry).before(self.end);
            wholes.insert(input, moved(&mut b, x, dim, 0)?);
        }
        for &id in &self.body {
            let node = graph.node(id).clone();
            let (Some(op), Some(slice)) = (node.op(), node.val().and_then(|val| val.as_tensor())) else {
                return Ok(None);
            };
            let mut b = Builder::new(graph, env, registry).before(self.end).with_origin(&node.meta);
            let mut operand = |argument: &Argument| -> Result<Argument> {
                let Some(&whole) = argument.as_node().and_then(|node| wholes.get(&node)) else {
                    return Ok(argument.clone());
                };
                let mut whole = whole;
                // Slices broadcast from the right, behind the dimension of the slices.
                while b.fake(whole)?.dim() <= slice.dim() {
                    whole = b.call("aten::unsqueeze", (whole, 1))?;
                }
                Ok(whole.into())
            };
            let args = node.args.iter().map(&mut operand).collect::<Result<Vec<_>>>()?;
            let kwargs = node.kwargs.iter().map(|(name, argument)| Ok((name.clone(), operand(argument)?)));
            let kwargs = kwargs.collect::<Result<Kwargs>>()?;
            // `clone` takes memory formats of so many dimensions only.
            let Ok(whole) = b.call_op(op, args, kwargs) else { return Ok(None) };
            let made = b.fake(whole)?;
            if made.dtype != slice.dtype || made.sizes.get(1..) != Some(&slice.sizes[..]) {
                return Ok(None);
            }
            wholes.insert(id, whole);
        }
        Ok(Some(wholes))
    }
}
