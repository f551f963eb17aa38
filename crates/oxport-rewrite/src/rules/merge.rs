//! Products and convolutions over a shared input, made one: query, key and value projections, gate and up projections.
//!
//! ```text
//! linear(x, a, b), linear(x, c, d)  →  split_with_sizes(linear(x, cat([a, c]), cat([b, d])), [m, n], −1)
//! ```
//!
//! A rule over several terms has no single left side, so it is a searcher of its own: it groups the terms of a form by
//! what they share, adds one merged term for each group, and unites every output with its part under one name.
//!
//! Laws: only weights and biases that are constant are concatenated, so a merged term depends on the shared input and
//! on constants, and never on its own outputs; merging rounds (the bits of a product may depend on its shape); what is
//! merged is not merged again; a part has the type of what it stands for, strides included.

use super::mergeable::{FORMS, Form};
use crate::applied::{Applied, Part, Step};
use crate::kind::Kind;
use crate::term::{Constant, Term};
use crate::typing::{Graph, add, classes_of, first};
use egg::{ENodeOrVar, Id, PatternAst, Symbol, Var};
use indexmap::IndexMap;
use oxport_ir::MemoryFormat;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The most terms that become one.
const WIDEST: usize = 8;

/// The operand that a term would share with those that it is merged with.
pub(crate) fn shared_operand(term: &Term) -> Option<Id> {
    let Term::Op(name, kids) = term else { return None };
    let form = FORMS.iter().find(|form| form.op == name.as_str())?;
    kids.get(form.input).copied()
}

/// Adds the merged term of every group; gives how many outputs each rule united. Some rules are left out, by name.
pub(crate) fn merge(graph: &mut Graph<'_>, without: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let mut applied = BTreeMap::new();
    for form in FORMS.iter().filter(|form| !without.contains(&form.rule())) {
        for parts in groups(graph, form) {
            let united = parts.chunks(WIDEST).filter(|c| c.len() > 1).map(|c| unite(graph, form, c).unwrap_or(0));
            let united: usize = united.sum();
            if united > 0 {
                *applied.entry(form.rule()).or_insert(0) += united;
            }
        }
    }
    graph.rebuild();
    applied
}

/// The terms of a form that differ in weight and bias only, and these constant: one of each class.
fn groups(graph: &Graph<'_>, form: &Form) -> Vec<Vec<Part>> {
    let mut groups: IndexMap<(Vec<Id>, Vec<i64>), Vec<Part>> = IndexMap::new();
    let arity = graph.analysis.types.registry.op(form.op).schema().map_or(0, |schema| schema.args.len());
    for class in classes_of(graph, form.op, arity) {
        let mut seen = HashSet::new();
        for node in &graph[class].nodes {
            let Term::Op(name, kids) = node else { continue };
            if name.as_str() != form.op || !is_mergeable(graph, form, class, kids) {
                continue;
            }
            let key = common(graph, form, kids);
            if seen.insert(key.clone()) {
                groups.entry(key).or_default().push(Part { class, kids: kids.to_vec() });
            }
        }
    }
    groups.into_values().flat_map(|parts| with_given(graph, form, parts)).filter(|parts| parts.len() > 1).collect()
}

/// What the terms of a group have in common: all arguments but weight and bias, and whether there is a bias; all sizes
/// of the weight but the outputs.
fn common(graph: &Graph<'_>, form: &Form, kids: &[Id]) -> (Vec<Id>, Vec<i64>) {
    let mut key: Vec<Id> = kids.iter().map(|k| graph.find(*k)).collect();
    key[form.weight.0] = key[form.input];
    if let Some(bias) = form.bias.filter(|b| graph[kids[*b]].data.kind.tensor().is_some()) {
        key[bias] = key[form.input];
    }
    let weight = graph[kids[form.weight.0]].data.kind.tensor().and_then(|t| t.concrete_sizes());
    let mut sizes = weight.unwrap_or_default().to_vec();
    sizes[form.weight.1 as usize] = 0;
    (key, sizes)
}

/// All parts of a group, and those of them whose weights are the program's own, if these are others: what rules made of
/// weights, such as scaled ones, stands beside the own in a group, and one of both is wanted.
fn with_given(graph: &Graph<'_>, form: &Form, parts: Vec<Part>) -> Vec<Vec<Part>> {
    let is_given =
        |part: &&Part| graph[part.kids[form.weight.0]].nodes.iter().any(|term| matches!(term, Term::Leaf(_)));
    let given: Vec<Part> = parts.iter().filter(is_given).cloned().collect();
    let are_others = given.len() < parts.len();
    std::iter::once(parts).chain(are_others.then_some(given)).collect()
}

fn is_mergeable(graph: &Graph<'_>, form: &Form, class: Id, kids: &[Id]) -> bool {
    obstacle(graph, form, class, kids).is_none()
}

/// What keeps a term from being merged with any other one.
fn obstacle(graph: &Graph<'_>, form: &Form, class: Id, kids: &[Id]) -> Option<&'static str> {
    let data = |i: usize| &graph[kids[i]].data;
    let is_constant = |i: usize, rank: Option<usize>| {
        let fake = data(i).kind.tensor();
        data(i).is_static && fake.is_some_and(|t| t.concrete_sizes().is_some() && rank.is_none_or(|r| t.dim() == r))
    };
    // A weight that was merged is a concatenation.
    let is_whole = |i: usize| {
        let nodes = &graph[kids[i]].nodes;
        !nodes.iter().any(|n| matches!(n, Term::Op(name, _) if name.as_str() == "aten::cat"))
    };
    let rank = form.groups.is_none().then_some(2);
    let one = |i: usize| matches!(data(i).kind.constant(), Some(Constant::Int(1)));
    let is_bias = |i: usize| is_constant(i, Some(1)) || matches!(data(i).kind.constant(), Some(Constant::None));
    let has_outputs = |i: usize| data(i).kind.tensor().is_some_and(|t| t.dim() > form.weight.1 as usize);
    let needed = [
        (!graph[class].data.is_static, "expected a result that depends on an input, got a constant one"),
        (!data(form.input).is_static, "expected an operand that depends on an input, got a constant one"),
        (
            is_constant(form.weight.0, rank) && has_outputs(form.weight.0),
            "expected a constant weight of known sizes, got another one (parameters are constants if they are frozen)",
        ),
        (is_whole(form.weight.0), "expected a weight of one product, got a concatenation of weights"),
        (form.bias.is_none_or(is_bias), "expected a constant vector as its bias, or none, got another one"),
        (form.groups.is_none_or(one), "expected one group, got several"),
        (graph[class].data.is_certain, "its sizes depend on questions that the ranges of symbols leave open"),
    ];
    needed.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
}

/// How many products, one of this class among them, a rule may make one.
///
/// # Errors
/// Why there are no others, in words.
pub(crate) fn group(graph: &Graph<'_>, rule: &str, class: Id) -> Result<usize, String> {
    let form = FORMS.iter().find(|form| form.rule() == rule).ok_or("there is no such rule")?;
    let kids = |term: &Term| match term {
        Term::Op(name, kids) if name.as_str() == form.op => Some(kids.to_vec()),
        _ => None,
    };
    let product = graph[class].nodes.iter().find_map(kids);
    let product = product.ok_or_else(|| format!("expected a call of `{}`, got none", form.op))?;
    if let Some(what) = obstacle(graph, form, class, &product) {
        return Err(what.to_string());
    }
    let is_in = |parts: &&Vec<Part>| parts.iter().any(|part| part.class == class);
    let alone = || {
        format!(
            "expected another `{}` of the same operand with the same other arguments and a weight that differs in its \
             outputs only, got none",
            form.op
        )
    };
    groups(graph, form).iter().find(is_in).map(Vec::len).ok_or_else(alone)
}

/// Merges by a rule what is in the place of some terms, in a graph that may not be clean; nothing, if that cannot be
/// merged. Gives how many outputs are parts of it now.
pub(crate) fn merge_again(
    graph: &mut Graph<'_>,
    rule: &Symbol,
    parts: &[Part],
    image: &mut dyn FnMut(&mut Graph<'_>, Id) -> Option<Id>,
) -> Option<usize> {
    let form = FORMS.iter().find(|form| form.rule() == rule.as_str())?;
    let mut images = Vec::with_capacity(parts.len());
    for part in parts {
        let kids = part.kids.iter().map(|kid| image(graph, *kid)).collect::<Option<Vec<Id>>>()?;
        let class = add(graph, Term::Op(form.op.into(), kids.clone().into()))?;
        images.push(Part { class, kids });
    }
    let key = common(graph, form, &images[0].kids);
    let is_one =
        |part: &Part| is_mergeable(graph, form, part.class, &part.kids) && common(graph, form, &part.kids) == key;
    if images.iter().all(is_one) { unite(graph, form, &images) } else { None }
}

/// Adds one merged term; gives how many outputs are parts of it now.
fn unite(graph: &mut Graph<'_>, form: &Form, parts: &[Part]) -> Option<usize> {
    if graph.analysis.fuel.is_out() {
        return None;
    }
    let before = graph.nodes().len();
    let int = |graph: &mut Graph<'_>, n: i64| graph.add(Term::Const(Constant::Int(n)));
    let (at, dim) = form.weight;
    let widths: Option<Vec<i64>> = parts
        .iter()
        .map(|p| graph[p.kids[at]].data.kind.tensor()?.concrete_sizes()?.get(dim as usize).copied())
        .collect();
    let widths = widths?;
    let join = |graph: &mut Graph<'_>, argument: usize, dim: i64| {
        let list = add(graph, Term::List(parts.iter().map(|p| p.kids[argument]).collect()))?;
        let dim = int(graph, dim);
        add(graph, call("aten::cat", [list, dim]))
    };
    let mut kids = parts[0].kids.clone();
    kids[at] = join(graph, at, dim)?;
    let bias = form.bias.filter(|b| graph[parts[0].kids[*b]].data.kind.tensor().is_some());
    let has_bias = bias.is_some();
    if let Some(bias) = bias {
        // A bias of one number for all outputs has no parts.
        let is_full = |(p, n): (&Part, &i64)| {
            let sizes = graph[p.kids[bias]].data.kind.tensor().and_then(|t| t.concrete_sizes());
            sizes.is_some_and(|s| s[..] == [*n])
        };
        if !parts.iter().zip(&widths).all(is_full) {
            return None;
        }
        kids[bias] = join(graph, bias, 0)?;
    }
    let merged = add(graph, Term::Op(form.op.into(), kids.into()))?;
    let sizes: Vec<Id> = widths.iter().map(|&n| int(graph, n)).collect();
    let sizes = add(graph, Term::List(sizes.into()))?;
    let outputs = int(graph, form.outputs);
    let split = add(graph, call("aten::split_with_sizes", [merged, sizes, outputs]))?;
    let mut all_laid = Vec::with_capacity(parts.len());
    for (i, part) in (0i64..).zip(parts) {
        let i = int(graph, i);
        let piece = add(graph, call("_operator::getitem", [split, i]))?;
        all_laid.push(as_laid(graph, piece, part.class));
    }
    let is_new = |(part, laid): (&Part, &Option<(Id, Laid)>)| {
        laid.as_ref().is_some_and(|(new, _)| graph.find(part.class) != graph.find(*new))
    };
    if !parts.iter().zip(&all_laid).any(is_new) || !graph.analysis.fuel.allows_one() {
        return None;
    }
    let made = before..graph.nodes().len();
    let step = graph.analysis.log.is_some().then(|| {
        let first = |id: &Id| first(graph, *id);
        let of_first = |part: &Part| Part { class: first(&part.class), kids: part.kids.iter().map(first).collect() };
        let parts: Vec<Part> = parts.iter().map(of_first).collect();
        step(form, &parts, has_bias, &widths, &all_laid)
    });
    let rule = Symbol::from(form.rule());
    let mut united = 0;
    for (part, laid) in parts.iter().zip(&all_laid) {
        if let Some((new, _)) = laid {
            united += usize::from(graph.union_trusted(part.class, *new, rule));
        }
    }
    graph.analysis.fuel.count(rule);
    let log = graph.analysis.log.iter_mut().zip(step);
    log.for_each(|(log, step)| log.push(Applied { name: rule, step, made: made.clone() }));
    Some(united)
}

/// A piece with the strides of what it stands for: itself, a view of it, or a copy.
fn as_laid(graph: &mut Graph<'_>, piece: Id, class: Id) -> Option<(Id, Laid)> {
    let fits = |graph: &Graph<'_>, id: Id| {
        let (a, b) = (&graph[id].data, &graph[class].data);
        a.is_certain && a.is_like(&graph.analysis.types.env, b)
    };
    if fits(graph, piece) {
        return Some((piece, Laid::Piece));
    }
    if let Some(sizes) = graph[class].data.kind.tensor().and_then(|t| t.concrete_sizes()) {
        let list = sizes.iter().map(|&n| graph.add(Term::Const(Constant::Int(n)))).collect();
        let list = add(graph, Term::List(list))?;
        let view = add(graph, call("aten::view", [piece, list])).filter(|&v| fits(graph, v));
        if let Some(view) = view.filter(|_| is_viewable(graph, piece, class)) {
            return Some((view, Laid::View(sizes.to_vec())));
        }
    }
    let format = graph.add(Term::Const(Constant::MemoryFormat(MemoryFormat::Contiguous)));
    add(graph, call("aten::clone", [piece, format])).filter(|&copy| fits(graph, copy)).map(|copy| (copy, Laid::Copy))
}

/// Whether PyTorch views a piece in the strides wanted: where dimensions of size 1 alone make the difference.
fn is_viewable(graph: &Graph<'_>, piece: Id, class: Id) -> bool {
    let (from, to) = (&graph[piece].data, &graph[class].data);
    let layout = |kind: &Kind| kind.tensor().and_then(|t| t.concrete_layout());
    [(&from.kind, &to.kind), (&from.laid, &to.laid)].iter().all(|(from, to)| {
        let (Some(from), Some(to)) = (layout(from), layout(to)) else { return false };
        from.reshape(&to.sizes).is_some_and(|view| view.strides == to.strides)
    })
}

fn call<const N: usize>(op: &str, kids: [Id; N]) -> Term {
    Term::Op(op.into(), kids.into())
}

/// How a part of a merged product gets the strides wanted.
enum Laid {
    /// As it is.
    Piece,
    /// By a view in these sizes.
    View(Vec<i64>),
    /// By a copy.
    Copy,
}

/// What was done, for a proof: each product is its part of the merged one, or itself if that has other strides.
fn step(form: &Form, parts: &[Part], has_bias: bool, widths: &[i64], laid: &[Option<(Id, Laid)>]) -> Step {
    let variable =
        |part: usize, kid: usize| -> Var { format!("?{part}-{kid}").parse().expect("law: it is a variable") };
    let mut variables = HashMap::new();
    for (i, part) in parts.iter().enumerate() {
        variables.extend(part.kids.iter().enumerate().map(|(k, &id)| (variable(i, k), id)));
    }
    let count = parts[0].kids.len();
    let own = |part: usize| {
        let mut ast = Ast::default();
        let kids = (0..count).map(|k| ast.variable(variable(part, k))).collect();
        ast.term(Term::Op(form.op.into(), kids));
        ast.0
    };
    let of_merged = |part: i64, laid: &Laid| {
        let mut ast = Ast::default();
        let mut kids: Vec<Id> = (0..count).map(|k| ast.variable(variable(0, k))).collect();
        let bias = form.bias.filter(|_| has_bias).map(|bias| (bias, 0));
        for (at, dim) in std::iter::once(form.weight).chain(bias) {
            let joined = (0..parts.len()).map(|p| ast.variable(variable(p, at))).collect();
            let (joined, dim) = (ast.term(Term::List(joined)), ast.int(dim));
            kids[at] = ast.term(call("aten::cat", [joined, dim]));
        }
        let merged = ast.term(Term::Op(form.op.into(), kids.into()));
        let (widths, outputs) = (ast.ints(widths), ast.int(form.outputs));
        let split = ast.term(call("aten::split_with_sizes", [merged, widths, outputs]));
        let part = ast.int(part);
        let piece = ast.term(call("_operator::getitem", [split, part]));
        match laid {
            Laid::Piece => {}
            Laid::View(sizes) => {
                let sizes = ast.ints(sizes);
                ast.term(call("aten::view", [piece, sizes]));
            }
            Laid::Copy => {
                let format = ast.term(Term::Const(Constant::MemoryFormat(MemoryFormat::Contiguous)));
                ast.term(call("aten::clone", [piece, format]));
            }
        }
        ast.0
    };
    let pair = |(i, laid): (usize, &Option<(Id, Laid)>)| match laid {
        Some((_, laid)) => (own(i), of_merged(i as i64, laid)),
        None => (own(i), own(i)),
    };
    let pairs = laid.iter().enumerate().map(pair).collect();
    Step::Merge { parts: parts.to_vec(), pairs, variables }
}

/// A term over variables while it is built.
#[derive(Default)]
pub(super) struct Ast(PatternAst<Term>);

impl Ast {
    pub(super) fn term(&mut self, term: Term) -> Id {
        self.0.add(ENodeOrVar::ENode(term))
    }
    pub(super) fn variable(&mut self, variable: Var) -> Id {
        self.0.add(ENodeOrVar::Var(variable))
    }
    /// The term whose last part this is.
    pub(super) fn up_to(&self, part: Id) -> PatternAst<Term> {
        self.0.as_ref()[..=usize::from(part)].to_vec().into()
    }
    fn int(&mut self, n: i64) -> Id {
        self.term(Term::Const(Constant::Int(n)))
    }
    fn ints(&mut self, numbers: &[i64]) -> Id {
        let ids = numbers.iter().map(|&n| self.int(n)).collect();
        self.term(Term::List(ids))
    }
}
