//! Attention of products and softmax: a product of probabilities with values, the probabilities a softmax of a product
//! that is scaled, and to which masks are added.

use super::reason::Surroundings;
use super::site::{CASTS, RESHAPES, Site};
use oxport_ir::infer::cost_of;
use oxport_ir::{Builder, Fake, Graph, Node, NodeId, NodeKind, Val};
use oxport_rewrite::cost::Model;
use oxport_sym::{Expr, ShapeEnv};

const PRODUCTS: &[&str] = &["matmul", "bmm", "baddbmm"];
const SOFTMAX: &[&str] = &["softmax.int", "_softmax"];
const SUMS: &[&str] = &["add.Tensor", "where.self", "masked_fill.Scalar", "masked_fill.Tensor", "baddbmm"];
const SCALES: &[&str] = &["mul.Tensor", "div.Tensor", "mul.Scalar", "div.Scalar"];
/// What only moves or casts scores.
const MOVES: &[&str] = &["expand", "clone", "contiguous", "dropout", "permute", "transpose.int"];

/// The parts of an attention.
pub(super) struct Attention<'a> {
    softmax: Site<'a>,
    /// Whether rows of which nothing is seen are made 0, as Core ATen writes `scaled_dot_product_attention`.
    is_safe: bool,
    /// The product of queries and keys, if nothing but scales and sums is between it and the softmax.
    scores: Option<Site<'a>>,
    /// What is between the two products.
    between: Vec<Site<'a>>,
}

impl<'a> Attention<'a> {
    /// The parts of an attention whose last call this is.
    pub fn of(site: &Site<'a>) -> Option<Attention<'a>> {
        let weights = site.operand(0).map(Site::origin).filter(|_| site.is(&["matmul", "bmm"]))?;
        let safe = weights.operand(2).filter(|_| weights.is(&["where.self"]) && weights.has("logical_not", 1));
        let softmax = safe.unwrap_or(weights);
        if !softmax.is(SOFTMAX) {
            return None;
        }
        let of = softmax.operand(0)?;
        let mut between = vec![softmax];
        let scores = product(of, &mut between, 12);
        let is_one = scores.is_some() || ["matmul", "bmm", "baddbmm"].iter().any(|name| of.has(name, 5));
        is_one.then_some(Attention { softmax, is_safe: safe.is_some(), scores, between })
    }
    /// True if something is added to scores whose rows or columns are taken apart.
    fn is_apart(&self, scores: &Site<'_>) -> bool {
        let last = |of: &Site<'_>| of.tensor().map(|t| t.sizes[t.dim().saturating_sub(2)..].to_vec());
        self.between.iter().any(|at| at.is(SUMS) && last(at) != last(scores))
    }
}

/// The product that scores are made of, and what is between.
fn product<'a>(at: Site<'a>, between: &mut Vec<Site<'a>>, steps: usize) -> Option<Site<'a>> {
    let left = steps.checked_sub(1)?;
    if at.is(PRODUCTS) {
        return Some(at);
    }
    let (depth, next): (usize, Vec<Site<'a>>) = (
        between.len(),
        match () {
            () if at.is(CASTS) || at.is(RESHAPES) || at.is(MOVES) => at.operand(0).into_iter().collect(),
            () if at.is(SUMS) => at.operands().collect(),
            () if at.is(SCALES) && at.operand(1).is_none_or(|s| is_scale(&s)) => at.operand(0).into_iter().collect(),
            () => Vec::new(),
        },
    );
    between.push(at);
    for of in next {
        if let Some(found) = product(of, between, left) {
            return Some(found);
        }
    }
    between.truncate(depth);
    None
}

/// True for a number, or one for each row.
fn is_scale(site: &Site<'_>) -> bool {
    site.tensor().is_some_and(|t| t.sizes.last().is_none_or(|size| size.as_int() == Some(1)))
}

/// True for what is made of numbers: filled tensors, chosen by conditions.
fn is_numbers(site: Site<'_>, steps: usize) -> bool {
    let Some(left) = steps.checked_sub(1) else { return false };
    let at = site.origin();
    let is_bool = at.tensor().is_some_and(|t| t.dtype.is_bool());
    let is_filled = at.is(&["zeros", "ones", "full", "scalar_tensor", "zeros_like", "full_like", "new_zeros"]);
    let is_chosen =
        at.is(&["where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar", "masked_fill.Scalar"])
            || at.is(SCALES);
    is_bool || is_filled || is_chosen && at.operands().all(|of| is_numbers(of, left))
}

/// What keeps an attention.
pub(super) fn why(site: &Site<'_>, around: &Surroundings<'_>) -> Option<&'static str> {
    let attention = Attention::of(site)?;
    // The zeros of a safe softmax are made like it.
    if around.is_shared(attention.softmax.id) && !attention.is_safe {
        return Some("probabilities are used elsewhere");
    }
    let Some(scores) = attention.scores else { return Some("scores are more than a scaled product and masks") };
    let is_on_the_way = |of: &Site<'_>| of.id == scores.id || attention.between.iter().any(|at| at.id == of.id);
    let of_product = scores.operand(0).filter(|_| scores.is(&["baddbmm"]));
    let sums = attention.between.iter().filter(|at| at.is(SUMS)).flat_map(Site::operands);
    let masks: Vec<Site<'_>> = sums.filter(|of| !is_on_the_way(of)).chain(of_product).collect();
    // Two lowest numbers add up to −∞.
    let is_open = |mask: &Site<'_>| !is_numbers(*mask, 8);
    let is_any = !attention.is_safe && (masks.len() > 1 || masks.iter().any(is_open));
    let parts = attention.between.iter().chain([site, &scores]);
    let parts: Option<f64> = parts.map(|at| time(at.graph, at.node, &around.program.env)).sum();
    let mask = is_any.then(|| mask(&masks, attention.softmax.tensor()?, &around.program.env)).flatten();
    let fused =
        fused(site, &attention.softmax, &scores, mask.as_ref().map(|mask| (mask, masks.len())), &around.program.env);
    if fused.zip(parts).is_some_and(|(fused, parts)| fused >= parts) {
        return Some("the parts are cheaper, by the model");
    }
    attention.is_apart(&scores).then_some("a mask is added to queries or keys of several dimensions")
}

/// What masks add up to: as large as the scores, unless all leave the same dimensions out.
fn mask(masks: &[Site<'_>], scores: &Fake, env: &ShapeEnv) -> Option<Fake> {
    let is_one = |size: &Expr| env.is(size, 1) == Some(true);
    let masks: Vec<&Fake> = masks.iter().filter_map(Site::tensor).collect();
    let is_left_out = |from_end: usize| {
        let is_one = |mask: &&Fake| mask.dim() < from_end || is_one(&mask.sizes[mask.dim() - from_end]);
        masks.iter().all(|mask| mask.dim() <= scores.dim()) && masks.iter().all(is_one)
    };
    let size = |(i, size): (usize, &Expr)| if is_left_out(scores.dim() - i) { Expr::int(1) } else { size.clone() };
    Some(Fake::new(scores.dtype, scores.sizes.iter().enumerate().map(size)))
}

/// The time of a call, by the model.
pub(super) fn time(graph: &Graph, node: &Node, env: &ShapeEnv) -> Option<f64> {
    Some(Model::default().time(&cost_of(graph, node, env)?))
}

/// The time of `scaled_dot_product_attention`, copied to the strides of a product; and for a mask that may hide all
/// keys, a sum of so many, of what is added for that.
fn fused(
    site: &Site<'_>,
    softmax: &Site<'_>,
    scores: &Site<'_>,
    any: Option<(&Fake, usize)>,
    env: &ShapeEnv,
) -> Option<f64> {
    let (mut graph, mut env) = (Graph::new(), env.clone());
    let mut input = |name: &str, of: &Fake| {
        let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(Val::Tensor(of.clone()));
        graph.append(node).ok()
    };
    let softmax = softmax.tensor()?;
    let (lead, last) = softmax.sizes.split_at(softmax.dim().checked_sub(2)?);
    let depth = scores.operand(usize::from(scores.is(&["baddbmm"])))?.tensor()?.sizes.last()?;
    let of = |rows: &Expr, columns: &Expr| {
        Fake::new(softmax.dtype, lead.iter().chain([rows, columns]).cloned().collect::<Vec<Expr>>())
    };
    let query = input("query", &of(&last[0], depth))?;
    let keys = input("keys", &of(depth, &last[1]))?;
    let values = input("values", &of(&last[1], site.tensor()?.sizes.last()?))?;
    let masks = any.and_then(|(mask, count)| Some((input("mask", mask)?, count, mask.sizes.last()?.as_int())));
    let mut b = Builder::new(&mut graph, &mut env, crate::registry()).bounded();
    let keys = b.call("transpose.int", (keys, -2i64, -1i64)).ok()?;
    let whole = b.call_kw("scaled_dot_product_attention", (query, keys, values), &[("scale", 1.0.into())]).ok()?;
    let mut made: Vec<NodeId> = vec![keys, whole, b.call("clone", (whole,)).ok()?];
    if let Some((mask, count, keys)) = masks {
        let sum = b.call("add.Tensor", (mask, mask)).ok()?;
        made.extend(std::iter::repeat_n(sum, count.saturating_sub(1)));
        // Of no keys, none is the greatest.
        let seen = match keys {
            Some(_) => vec![b.call("amax", (mask, vec![-1i64], true)).ok()?],
            None => vec![
                b.call("softmax.int", (mask, -1i64)).ok()?,
                b.call("sum.dim_IntList", (mask, vec![-1i64], true)).ok()?,
            ],
        };
        let zero = b.call("mul.Tensor", (*seen.last()?, 0.0)).ok()?;
        made.extend(seen);
        made.extend([zero, b.call("add.Tensor", (whole, 0.0)).ok()?]);
    }
    made.into_iter().map(|id| time(&graph, graph.node(id), &env)).sum()
}
