//! Linear layers that share an input: two or more products of one value by constant matrices, as those of queries, keys
//! and values.

use super::attention::time;
use super::reason::Surroundings;
use super::site::{CASTS, PARTS, RESHAPES, Site};
use crate::DType;
use oxport_ir::{
    Builder, Effect, ExportedProgram, Fake, Graph, InputKind, MetaCx, Node, NodeId, NodeKind, OutputKind, Val,
};
use oxport_rewrite::cost::Model;
use oxport_sym::ShapeEnv;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) const FAMILY: &str = "linear layers that share an input";

const MERGED: &str = "several are one already";
const WEIGHTS: &str = "weights are not frozen";
const DEARER: &str = "merged is dearer, by the model";
const COPIED: &str = "merged is dearer, by the model, since parts must be copied";
const BIAS: &str = "some have a bias, others have none";
const DTYPE: &str = "the dtypes differ";

/// A product by a constant matrix.
struct Product<'a> {
    site: Site<'a>,
    input: Site<'a>,
    weight: &'a Fake,
    bias: Option<&'a Fake>,
}

impl<'a> Product<'a> {
    fn of(site: Site<'a>, constants: &HashSet<NodeId>) -> Option<Product<'a>> {
        let (input, weight, bias) = match () {
            () if site.is(&["linear"]) => (0, 1, Some(2)),
            () if site.is(&["mm", "matmul"]) => (0, 1, None),
            () if site.is(&["addmm"]) => (1, 2, Some(0)),
            () => return None,
        };
        let bias = bias.and_then(|bias| site.operand(bias));
        let (input, matrix) = (site.operand(input)?, site.operand(weight)?);
        let is_constant = |of: &Site<'_>| constants.contains(&of.id);
        let weight = matrix.tensor().filter(|t| t.dim() == 2 && is_constant(&matrix))?;
        let is_product = !is_constant(&input) && bias.iter().all(is_constant);
        is_product.then_some(Product { site, input, weight, bias: bias.and_then(|b| b.tensor()) })
    }
    /// The number of columns of its result.
    fn width(&self) -> Option<i64> {
        self.site.tensor()?.sizes.last()?.as_int()
    }
}

/// Products of one value, in the order of the program.
pub(super) struct Group<'a>(Vec<Product<'a>>);

/// The groups of a functional program, by the first node of each.
pub(super) fn groups(program: &ExportedProgram) -> Vec<Group<'_>> {
    let (constants, equals) = (constants(program), equals(&program.graph));
    let mut groups: BTreeMap<usize, Vec<Product<'_>>> = BTreeMap::new();
    let mut first: HashMap<NodeId, usize> = HashMap::new();
    for (place, (id, _)) in program.graph.nodes().enumerate().filter(|(_, (id, _))| equals[id] == *id) {
        if let Some(product) = Product::of(Site::of(&program.graph, id), &constants) {
            let first = *first.entry(shared(product.input, &equals)).or_insert(place);
            groups.entry(first).or_default().push(product);
        }
    }
    groups.into_values().filter(|products| products.len() > 1).map(Group).collect()
}

/// What of a program is computed from its weights, buffers and constants only.
fn constants(program: &ExportedProgram) -> HashSet<NodeId> {
    let written = |kind: &InputKind| {
        program.signature.outputs.iter().any(|output| match &output.kind {
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => kind.lifted() == Some(name),
            _ => false,
        })
    };
    let inputs = program.graph.placeholders().zip(&program.signature.inputs);
    let mut constants: HashSet<NodeId> = inputs
        .filter(|(_, spec)| program.lifted(&spec.kind).is_some() && !written(&spec.kind))
        .map(|((id, _), _)| id)
        .collect();
    for (id, node) in program.graph.nodes().filter(|(_, node)| node.op().is_some() && node.effect() == Effect::Pure) {
        let inputs = node.inputs();
        if !inputs.is_empty() && inputs.iter().all(|input| constants.contains(input)) {
            constants.insert(id);
        }
    }
    constants
}

/// For every node the first that computes the same.
fn equals(graph: &Graph) -> HashMap<NodeId, NodeId> {
    let (mut equals, mut calls) = (HashMap::new(), HashMap::new());
    for (id, node) in graph.nodes() {
        let mut same = |of: NodeId| equals.get(&of).copied().unwrap_or(of).into();
        let first = match node.op().filter(|_| node.effect() == Effect::Pure) {
            Some(op) => {
                let args: Vec<_> = node.args.iter().map(|a| a.map_nodes(&mut same)).collect();
                let call = format!("{} {args:?} {:?}", op.name(), node.kwargs.map_nodes(&mut same));
                *calls.entry(call).or_insert(id)
            }
            None => id,
        };
        equals.insert(id, first);
    }
    equals
}

/// What a value is before calls that keep its last dimension and its order.
fn shared(site: Site<'_>, equals: &HashMap<NodeId, NodeId>) -> NodeId {
    let mut at = Site::of(site.graph, equals[&site.id]);
    loop {
        let of = at.operand(0).map(|of| Site::of(of.graph, equals[&of.id]));
        let last = |s: &Site<'_>| s.tensor().and_then(|t| t.sizes.last().cloned());
        let keeps = (at.is(CASTS) || at.is(PARTS) || at.is(&["clone", "contiguous"])) && at.is_same_type()
            || at.is(&["dropout"]) && !at.flag(2)
            || at.is(RESHAPES) && of.is_some_and(|of| last(&of).is_some() && last(&of) == last(&at));
        match of.filter(|_| keeps) {
            Some(of) => at = of,
            None => return at.id,
        }
    }
}

impl<'a> Group<'a> {
    /// Its first product.
    pub fn first(&self) -> Site<'a> {
        self.0[0].site
    }
    /// What keeps it.
    pub fn why(&self, around: &Surroundings<'_>) -> Option<&'static str> {
        let is_of_several = |product: &Product<'_>| product.site.users().all(|user| user.is(&["split_with_sizes"]));
        let dtypes = || self.0.iter().map(|product| (product.weight.dtype, product.input.tensor().map(|t| t.dtype)));
        let alike: Vec<Vec<&Product<'_>>> = [true, false]
            .map(|has_bias| self.0.iter().filter(|product| product.bias.is_some() == has_bias).collect())
            .into_iter()
            .filter(|of: &Vec<&Product<'_>>| of.len() > 1)
            .collect();
        let all: Vec<&Product<'_>> = self.0.iter().collect();
        let gain = |of: &[&Product<'_>], copies| gain(of, &around.program.env, copies);
        match () {
            () if !around.frozen => Some(WEIGHTS),
            () if dtypes().collect::<HashSet<(DType, Option<DType>)>>().len() > 1 => Some(DTYPE),
            () if self.0.iter().all(is_of_several) => Some(MERGED),
            () if alike.iter().any(|of| gain(of, true).is_none_or(|gain| gain > 0.0)) => None,
            () if alike.iter().any(|of| gain(of, false).is_some_and(|gain| gain > 0.0)) => Some(COPIED),
            () if alike.first().is_some_and(|of| of.len() == all.len()) => Some(DEARER),
            () if gain(&all, true).is_some_and(|gain| gain > 0.0) => Some(BIAS),
            () => Some(DEARER),
        }
    }
}

/// How much less time one product takes than several, by the model; parts of several rows are copied, if so wished.
fn gain(products: &[&Product<'_>], env: &ShapeEnv, copies: bool) -> Option<f64> {
    let apart: f64 = products.iter().map(|p| time(p.site.graph, p.site.node, env)).sum::<Option<f64>>()?;
    let (mut graph, mut env) = (Graph::new(), env.clone());
    let mut input = |name: &str, of: Fake| {
        let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(Val::Tensor(of));
        graph.append(node).ok()
    };
    let widths: Vec<i64> = products.iter().map(|product| product.width()).collect::<Option<_>>()?;
    let (of, width) = (products[0].input.tensor()?, widths.iter().sum::<i64>());
    let x = input("x", Fake::new(of.dtype, of.sizes.iter().cloned()))?;
    let weight = input("weight", Fake::new(of.dtype, [width.into(), of.sizes.last()?.clone()]))?;
    let has_bias = products.iter().any(|product| product.bias.is_some());
    let bias = if has_bias { Some(input("bias", Fake::new(of.dtype, [width.into()]))?) } else { None };
    let is_row = of.sizes[..of.dim() - 1].iter().all(|size| env.is(size, 1) == Some(true));
    let result = |product: &&Product<'_>| product.site.tensor().map(|t| Fake::new(t.dtype, t.sizes.iter().cloned()));
    let parts: Vec<Fake> = products.iter().map(result).collect::<Option<_>>()?;
    let lost = parts.iter().map(|part| {
        let elements = MetaCx::new(&env).hint(&part.numel()).unwrap_or(0) as f64;
        Model::default().part_of_product(elements * part.dtype.size() as f64)
    });
    let lost: f64 = lost.sum();
    // A part is as large as a result of its own, and a copy of either is as dear.
    let parts = parts.into_iter().enumerate().map(|(i, part)| input(&format!("part{i}"), part));
    let parts: Vec<NodeId> = parts.collect::<Option<_>>()?;
    let mut b = Builder::new(&mut graph, &mut env, crate::registry()).bounded();
    let merged = match bias {
        Some(bias) => b.call("linear", (x, weight, bias)),
        None => b.call("linear", (x, weight)),
    };
    let mut made = vec![merged.ok()?];
    made.push(b.call("split_with_sizes", (made[0], widths, -1i64)).ok()?);
    if copies && !is_row {
        for part in parts {
            made.push(b.call("clone", (part,)).ok()?);
        }
    }
    let merged: f64 = made.into_iter().map(|id| time(&graph, graph.node(id), &env)).sum::<Option<f64>>()?;
    Some(apart - merged - lost)
}
