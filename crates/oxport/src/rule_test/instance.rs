//! The left side of a rule as a program.

use super::variation::{Layed, Sizes, Variable, Variation, variables};
use crate::{DType, ExportedProgram, Expr, Fake, Tensor, registry, samples};
use oxport_ir::schema::Type;
use oxport_ir::{Argument, Kwargs, NodeId};
use oxport_rewrite::condition::Condition;
use oxport_rewrite::forms::Form;
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::term::Term;
use oxport_tensor::Layout;
use std::collections::HashMap;

/// The left side of a rule as a program, and the tensors that it may be called with.
pub(crate) struct Instance {
    pub program: ExportedProgram,
    pub tensors: Vec<Input>,
}

/// A tensor of an instance.
#[derive(Clone)]
pub(crate) struct Input {
    pub dtype: DType,
    layout: Layout,
    range: &'static str,
    /// The dimension that is symbolic.
    pub open: Option<usize>,
}

impl Input {
    fn fake(&self, size: Option<&Expr>) -> Fake {
        let mut sizes: Vec<Expr> = self.layout.sizes.iter().map(|&s| Expr::from(s)).collect();
        if let (Some(d), Some(size)) = (self.open, size) {
            sizes[d] = size.clone();
            return Fake::new(self.dtype, sizes);
        }
        let strides = self.layout.strides.iter().map(|&s| Expr::from(s)).collect();
        Fake { strides, ..Fake::new(self.dtype, sizes) }
    }
    /// Values: extreme ones, or those of the example's own range.
    pub fn draw(&self, soundness: Soundness, seed: u64, size: i64) -> Tensor {
        let mut layout = self.layout.clone();
        if let Some(d) = self.open {
            let mut sizes = layout.sizes.to_vec();
            sizes[d] = size;
            layout = Layout::contiguous(&sizes).expect("law: small sizes");
        }
        let span: i64 = layout.sizes.iter().zip(&layout.strides).map(|(n, s)| (n - 1).max(0) * s).sum();
        let is_rounded = self.dtype.is_float() || self.dtype.is_complex() || seed % 2 == 0;
        let soundness = if is_rounded { soundness } else { Soundness::Bitwise };
        let stored = match soundness {
            Soundness::Bitwise => samples::extremes(self.dtype, span as usize + 1, seed),
            Soundness::Rounding => {
                let mut drawn = samples::draw(self.dtype, span as usize + 1, range(self.range), seed);
                if self.range == "<mask>" {
                    // Rows of which all is masked, and others.
                    drawn
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, x)| *x = if *x < 0.0 || i < 16 { f64::NEG_INFINITY } else { 0.0 });
                }
                let drawn = Tensor::from_vec(&[span + 1], drawn).and_then(|t| t.to_dtype(self.dtype));
                drawn.expect("law: as many values as elements")
            }
        };
        let base = stored.layout().offset;
        stored.with_layout(Layout { offset: base, ..layout }).expect("law: the span holds the layout")
    }
}

/// A layout of these sizes; `given` is the order of dimensions of the example, from the innermost.
fn layout(sizes: &[i64], given: &[usize], how: Layed) -> Layout {
    let n = sizes.len();
    let mut strides = vec![1i64; n];
    let order: Vec<usize> = match how {
        Layed::Reversed => (0..n).collect(),
        _ if given.len() == n => given.to_vec(),
        _ => (0..n).rev().collect(),
    };
    let mut next = if how == Layed::Gapped { 2 } else { 1 };
    for d in order {
        strides[d] = next;
        next *= sizes[d].max(1);
    }
    if how == Layed::Expanded {
        strides.fill(0);
    }
    Layout { sizes: sizes.into(), strides: strides[..].into(), offset: 0 }
}

pub(crate) fn instance(rule: &Rule, form: &Form, variation: &Variation) -> Result<Instance, String> {
    let mut b = crate::ProgramBuilder::new(registry());
    let mut bound: HashMap<String, Argument> = HashMap::new();
    let mut tensors = Vec::new();
    let mut again = false;
    let mut lists = Vec::new();
    let variables = variables(variation.given.unwrap_or(rule.given))?;
    let is_float = |v: &Variable<'_>| matches!(v, Variable::Tensor { dtype, .. } if !dtype.is_bool());
    let mixed = variables.iter().any(|(_, v)| is_float(v));
    let size = (variation.sizes == Sizes::Symbolic).then(|| b.size("s0", 0, None));
    let first = variables
        .iter()
        .find_map(|(_, v)| if let Variable::Tensor { sizes, .. } = v { sizes.first().copied() } else { None });
    for (name, variable) in variables {
        let argument = match variable {
            Variable::Tensor { dtype, sizes, order, range } => {
                let varied = variation.rest.filter(|_| !tensors.is_empty()).or(variation.dtype);
                let dtype = if mixed && dtype.is_bool() { dtype } else { varied.unwrap_or(dtype) };
                let sizes: Vec<i64> = match variation.sizes {
                    Sizes::Given | Sizes::Symbolic => sizes,
                    Sizes::Put(from, to) => sizes.into_iter().map(|s| if s == from { to } else { s }).collect(),
                    Sizes::All(to) => vec![to; sizes.len()],
                    Sizes::Scalars => Vec::new(),
                };
                let shape = variation.shape.filter(|(at, _)| *at == tensors.len());
                let sizes = shape.map_or(sizes.clone(), |(_, shape)| shape.of(sizes));
                let open = if size.is_some() { sizes.iter().position(|s| Some(*s) == first) } else { None };
                let recorded = if variation.layout == Layed::Otherwise { Layed::Expanded } else { variation.layout };
                let called = if variation.layout == Layed::Otherwise { Layed::Contiguous } else { variation.layout };
                let input = Input { dtype, layout: layout(&sizes, &order, recorded), range, open };
                let id = b.input(name, input.fake(size.as_ref())).map_err(|e| e.to_string())?;
                tensors.push(Input { layout: layout(&sizes, &order, called), ..input });
                match rule.when.contains(&Condition::Finite(name)) {
                    true => finite(&mut b, id)?,
                    false => id.into(),
                }
            }
            Variable::List(names) => {
                lists.push((name, names));
                continue;
            }
            Variable::Constant(text) => {
                let is_number = text.parse::<f64>().is_ok();
                let other = variation.constant.as_ref().and_then(|(which, other)| match which.as_str() {
                    "*" if is_number => {
                        Some(if std::mem::replace(&mut again, true) { "-1e30" } else { other.as_str() })
                    }
                    which => Some(other.as_str()).filter(|_| which == name),
                });
                let text = match (DType::from_name(text), variation.dtype, other) {
                    (.., Some(other)) => other,
                    (Some(_), Some(dtype), _) => dtype.name(),
                    _ => text,
                };
                samples::constant(text)?
            }
        };
        bound.insert(format!("?{name}"), argument);
    }
    for (name, names) in lists {
        let item = |n: &&str| bound.get(&format!("?{n}")).cloned().ok_or(format!("no variable {n}"));
        bound.insert(format!("?{name}"), Argument::List(names.iter().map(item).collect::<Result<_, _>>()?));
    }
    let pattern = &form.left;
    let mut values: Vec<Argument> = Vec::new();
    for node in pattern.ast.as_ref() {
        let value = match node {
            egg::ENodeOrVar::Var(v) => match bound.get(&v.to_string()) {
                Some(given) => given.clone(),
                // A further argument of a family's operator, which the operator's own schema types.
                None if v.to_string().starts_with("?~") => Argument::None,
                None => return Err(format!("{v} has no example")),
            },
            egg::ENodeOrVar::ENode(Term::Const(c)) => c.argument(),
            egg::ENodeOrVar::ENode(Term::List(kids)) => {
                Argument::List(kids.iter().map(|k| values[usize::from(*k)].clone()).collect())
            }
            egg::ENodeOrVar::ENode(Term::Op(name, kids)) => {
                let op = registry().op(name.as_str());
                let parameters = op.schema().map(|s| &s.args[..]).unwrap_or_default();
                let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
                for (param, kid) in parameters.iter().zip(kids.iter()) {
                    let is_further =
                        matches!(&pattern.ast[*kid], egg::ENodeOrVar::Var(v) if v.to_string().starts_with("?~"));
                    let value = match is_further {
                        true => further(&param.ty, param.default.as_ref()),
                        false => values[usize::from(*kid)].clone(),
                    };
                    if param.kw_only { drop(kwargs.insert((*param.name).into(), value)) } else { args.push(value) }
                }
                if op.is_getitem() {
                    let index = values[usize::from(kids[1])].clone();
                    args = vec![values[usize::from(kids[0])].clone(), index];
                }
                let call = b.calls().call_op(&op, args, kwargs);
                call.map_err(|e| format!("the left side: {e}"))?.into()
            }
            egg::ENodeOrVar::ENode(_) => return Err("a leaf in a pattern".to_string()),
        };
        values.push(value);
    }
    let root: NodeId = values.last().and_then(Argument::as_node).ok_or("the left side is no call")?;
    // What is returned lies in a storage of its own, which no rule touches: the root is returned as a copy.
    let copy = b.call("aten::clone", (root,)).map_err(|e| e.to_string())?;
    Ok(Instance { program: b.finish(&[copy]).map_err(|e| e.to_string())?, tensors })
}

/// A value for an argument that the rule's example does not speak of.
fn further(ty: &Type, default: Option<&Argument>) -> Argument {
    match (default, ty) {
        (Some(default), _) => default.clone(),
        (None, Type::Scalar | Type::Float) => Argument::Float(0.5),
        (None, Type::Int | Type::SymInt) => Argument::Int(1),
        (None, Type::Bool) => Argument::Bool(true),
        _ => Argument::None,
    }
}

/// The range of a tensor's example: `>0` is 0 to 2, `<1..3>` is as it says.
fn range(text: &str) -> Option<(f64, f64)> {
    if let Some(low) = text.strip_prefix('>') {
        let low: f64 = low.parse().ok()?;
        return Some((low, low + 2.0));
    }
    let (low, high) = text.strip_prefix('<')?.strip_suffix('>')?.split_once("..")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

/// A mask of whose elements the e-graph knows that they are finite: a low number where the tensor is infinite.
fn finite(b: &mut crate::ProgramBuilder<'_>, mask: NodeId) -> Result<Argument, String> {
    let low = b.calls().expr("masked_fill.Scalar(zeros_like(mask), isinf(mask), -60000.0)", &|name| {
        (name == "mask").then(|| mask.into())
    });
    low.map_err(|e| e.to_string())
}
