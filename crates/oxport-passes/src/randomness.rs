//! Random numbers within `torch.vmap`, by its `randomness`.
//!
//! ```text
//! "error"      a draw is refused
//! "different"  every slice draws for itself, in the order of the slices
//! "same"       one draw for all slices: it moves out of the region, on a tensor of a slice's sizes
//! ```
//!
//! Law: a draw stays where it stands among the others, so that the generator gives it the same numbers.

use oxport_ir::variants::functional_variant;
use oxport_ir::{
    Argument, Builder, Effect, Error, Graph, Intrinsic, Kwargs, Node, NodeId, Noise, Op, Registry, Result,
};
use oxport_sym::ShapeEnv;
use std::collections::HashSet;

/// How a region draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Randomness {
    Error,
    Different,
    Same,
}

impl Randomness {
    /// Of a call `_vmap_increment_nesting(batch_size, randomness)`.
    pub fn of(begin: &Node) -> Result<Randomness> {
        match begin.argument("randomness") {
            Some(Argument::Str(s)) if &**s == "error" => Ok(Randomness::Error),
            Some(Argument::Str(s)) if &**s == "different" => Ok(Randomness::Different),
            Some(Argument::Str(s)) if &**s == "same" => Ok(Randomness::Same),
            _ => Err(Error::invalid("a vmap whose randomness is none of 'error', 'different', 'same'")),
        }
    }
}

/// The operator that draws at a node, without what it writes; `None` where nothing is drawn.
pub(crate) fn draw(registry: &Registry, node: &Node) -> Option<Op> {
    let op = node.op()?;
    let op = if op.is_mutable() { functional_variant(registry, op).ok()? } else { op.clone() };
    (op.effect_of(node) == Effect::Random).then_some(op)
}

/// True if a subgraph that the node calls draws.
fn calls_a_draw(graph: &Graph, registry: &Registry, node: &Node) -> bool {
    let draws = |sub: &Graph| sub.nodes().any(|(_, n)| draw(registry, n).is_some() || calls_a_draw(sub, registry, n));
    node.inputs().into_iter().any(|input| graph.subgraph_of(input).is_some_and(draws))
}

/// Makes every draw between `begin` and `end` one that may stand outside, or refuses it as PyTorch does.
pub(crate) fn settle(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    (begin, end): (NodeId, NodeId),
) -> Result<()> {
    let randomness = Randomness::of(graph.node(begin))?;
    if randomness == Randomness::Different {
        return Ok(());
    }
    let inside: Vec<NodeId> =
        std::iter::successors(graph.next(begin), |&n| graph.next(n)).take_while(|&n| n != end).collect();
    let mut sliced: HashSet<NodeId> = HashSet::new();
    for id in inside {
        // A draw of several results takes those who picked them with it.
        let Some(node) = graph.get(id) else { continue };
        let is_sliced = node.inputs().iter().any(|n| sliced.contains(n));
        if node.intrinsic() == Some(Intrinsic::AddBatchDim) || is_sliced {
            sliced.insert(id);
        }
        if is_sliced && calls_a_draw(graph, registry, node) {
            return Err(Error::unsupported("random numbers in a subgraph that is called within a vmap").at(&node.name));
        }
        let Some(op) = draw(registry, node) else { continue };
        if randomness == Randomness::Error {
            let message = "vmap: called random operation while in randomness error mode. Please either use the 'same' \
                           or 'different' randomness flags on vmap or perform the randomness operation out of vmap";
            return Err(Error::invalid(message).at(&node.name));
        }
        if is_sliced {
            let name = node.name.clone();
            once(graph, env, registry, id, &op, &sliced).map_err(|e| e.at(name))?;
        }
    }
    Ok(())
}

/// Lets a draw over a slice be one for all slices.
fn once(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    id: NodeId,
    op: &Op,
    sliced: &HashSet<NodeId>,
) -> Result<()> {
    let node = graph.node(id).clone();
    let noise = op.def().map_or(Noise::Weighted, |def| def.noise);
    let others = node.after_first().iter().chain(node.kwargs.values());
    let mut is_free = noise != Noise::Weighted;
    others.for_each(|a| a.for_each_node(&mut |n| is_free &= !sliced.contains(&n)));
    let (true, Some(x)) = (is_free, node.first_input()) else {
        return Err(Error::invalid(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with \
             functorch",
        ));
    };
    let mut b = Builder::new(graph, env, registry).before(id);
    let slice = b.fake(x)?.clone();
    let number = |e: &oxport_sym::Expr| e.as_int().map(Argument::Int);
    let list = |of: &[oxport_sym::Expr]| of.iter().map(number).collect::<Option<Vec<_>>>().map(Argument::List);
    let (Some(sizes), Some(strides)) = (list(&slice.sizes), list(&slice.strides)) else {
        return Err(Error::unsupported("one draw for all slices of a vmap, of sizes that are not known"));
    };
    let dtype = [("dtype", slice.dtype.into())];
    let like = match noise {
        Noise::Factor => b.call_kw("aten::ones", (sizes,), &dtype)?,
        _ => b.call_kw("aten::empty_strided", (sizes, strides), &dtype)?,
    };
    let args = std::iter::once(like.into()).chain(node.after_first().iter().cloned()).collect();
    let drawn = b.call_op(op, args, node.kwargs.clone())?;
    let is_written = node.op().is_some_and(Op::is_mutable);
    if noise == Noise::Shaped {
        if is_written {
            graph.set_call(id, registry.op("aten::copy_"), vec![x.into(), drawn.into()], Kwargs::new());
        } else {
            graph.replace_all_uses(id, drawn);
            graph.erase(id)?;
            graph.rename(drawn, &node.name)?;
        }
        return Ok(());
    }
    // A draw that says what it kept, too, has that as its second result.
    if op.schema().is_some_and(|s| s.returns.len() > 1) {
        let factor = b.getitem(drawn, 0)?;
        let kept = b.getitem(drawn, 1)?;
        let product = b.call("aten::mul.Tensor", (x, factor))?;
        for user in graph.users(id).keys().copied().collect::<Vec<_>>() {
            match graph.node(user).getitem().map(|(_, index)| index) {
                Some(0) => graph.replace_all_uses(user, product),
                Some(1) => graph.replace_all_uses(user, kept),
                _ => return Err(Error::invalid("a result of a draw that is taken in no known way")),
            }
            graph.erase(user)?;
        }
        graph.erase(id)?;
        return Ok(());
    }
    let product = registry.op(if is_written { "aten::mul_.Tensor" } else { "aten::mul.Tensor" });
    graph.set_call(id, product, vec![x.into(), drawn.into()], Kwargs::new());
    Ok(())
}
