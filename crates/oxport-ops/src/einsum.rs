//! Einstein's summation over named dimensions: `einsum("bij,bjk->bik", [x, y])`.
//!
//! ```text
//! two operands:  batch = in both and kept,  K = in both and summed,  M, N = in one only
//! x [batch, M, K] · y [batch, K, N] → [batch, M, N] by one batched product, then the order that is asked for
//! ```
//!
//! Laws: a size of 1 broadcasts; a name twice in one operand is its diagonal; without `->` the result has the names that
//! occur once, in alphabetical order, after the ellipsis; the result of a product is contiguous, one operand alone gives a
//! view where nothing is summed.

use crate::composite::made_of;
use crate::meta::{MetaArgs, Metas, one};
use crate::nn::fresh;
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, NodeId, OpDef, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// The operators of this family.
pub static OPS: &[OpDef] =
    &[OpDef::new("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", einsum_meta)
        .doc("Sums products over named dimensions.")
        .decomp(einsum)
        .samples(&[
            "\"ij,jk->ik\", [f32[2, 3], f32[3, 4]]",
            "\"bhid,bhjd->bhij\", [f32[2, 3, 4, 5], f32[2, 3, 6, 5]]",
            "\"ii->i\", [f32[3, 3]]",
            "\"i,j\", [f32[3], f32[2]]",
            "\"...ij,...jk->...ik\", [f32[2, 1, 3, 4], f32[5, 4, 2]]",
            "\"ij,jk,kl->il\", [f32[2, 3], f32[3, 4], f32[4, 5]]",
            "!\"ij,jk->ix\", [f32[2, 3], f32[3, 4]]",
            "!\"ij,jk->ik\", [f32[2, 3], f32[4, 4]]",
        ])];

/// The name of a dimension: a letter, or a dimension of the ellipsis counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A dimension of the ellipsis, counted from the last.
    Dots(usize),
    /// A dimension with a letter.
    Letter(char),
}

/// What an equation says of operands of known ranks.
#[derive(Debug, PartialEq)]
pub struct Equation {
    /// The dimensions of every operand.
    pub operands: Vec<Vec<Name>>,
    /// The dimensions of the result.
    pub result: Vec<Name>,
}

/// Reads an equation.
pub fn parse(text: &str, ranks: &[usize]) -> Result<Equation> {
    let wrong = |what: String| Error::invalid(format!("einsum `{text}`: {what}"));
    let (inputs, output) = match text.split_once("->") {
        Some((i, o)) => (i, Some(o)),
        None => (text, None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != ranks.len() {
        return Err(wrong(format!("{} terms for {} operands", terms.len(), ranks.len())));
    }
    // Names of a term; `dots` names the dimensions of its ellipsis, slowest first.
    let names = |term: &str, dots: &dyn Fn(usize) -> Result<Vec<Name>>| -> Result<Vec<Name>> {
        let term: String = term.chars().filter(|c| !c.is_whitespace()).collect();
        let letters = |part: &str| -> Result<Vec<Name>> {
            let check = |c: char| {
                if c.is_ascii_alphabetic() { Ok(Name::Letter(c)) } else { Err(wrong(format!("`{c}` is no name"))) }
            };
            part.chars().map(check).collect()
        };
        match term.split_once("...") {
            None => letters(&term),
            Some((before, after)) => {
                let (before, after) = (letters(before)?, letters(after)?);
                let middle = dots(before.len() + after.len())?;
                Ok([before, middle, after].concat())
            }
        }
    };
    let counted = |n: usize| (0..n).rev().map(Name::Dots).collect::<Vec<_>>();
    let mut operands = Vec::with_capacity(terms.len());
    for (term, &rank) in terms.iter().zip(ranks) {
        let dots = |letters: usize| {
            let n = rank
                .checked_sub(letters)
                .ok_or_else(|| wrong(format!("`{term}` names more than {rank} dimensions")))?;
            Ok(counted(n))
        };
        let found = names(term, &dots)?;
        if found.len() != rank {
            return Err(wrong(format!("`{term}` names {} of {rank} dimensions", found.len())));
        }
        operands.push(found);
    }
    let all = || operands.iter().flatten().copied();
    let dots = all().filter_map(|n| if let Name::Dots(i) = n { Some(i + 1) } else { None }).max().unwrap_or(0);
    let result = match output {
        Some(output) => names(output, &|_| Ok(counted(dots)))?,
        None => {
            let mut once: Vec<Name> =
                all().filter(|n| matches!(n, Name::Letter(_)) && all().filter(|m| m == n).count() == 1).collect();
            once.sort_unstable();
            counted(dots).into_iter().chain(once).collect()
        }
    };
    for (i, name) in result.iter().enumerate() {
        if !all().any(|n| n == *name) || result[..i].contains(name) {
            return Err(wrong(format!("{name:?} of the result is not exactly once among the operands' names")));
        }
    }
    Ok(Equation { operands, result })
}

fn einsum_meta(args: &MetaArgs<'_>) -> Metas {
    let (text, tensors): (&str, Vec<&Fake>) = args.unpack()?;
    ensure!(!tensors.is_empty(), "einsum wants an operand");
    let eq = parse(text, &tensors.iter().map(|t| t.dim()).collect::<Vec<_>>())?;
    let mut sizes: Vec<(Name, Expr)> = Vec::new();
    for (names, t) in eq.operands.iter().zip(&tensors) {
        for (i, (name, size)) in names.iter().zip(&t.sizes).enumerate() {
            let repeated = names[..i].contains(name);
            match sizes.iter_mut().find(|(n, _)| n == name) {
                None => sizes.push((*name, size.clone())),
                Some((_, have)) if args.cx.is(have, 1) && !repeated => *have = size.clone(),
                Some((_, have)) => {
                    let fits = args.cx.may_be_same(have, size) || args.cx.is(size, 1) && !repeated;
                    ensure!(fits, "einsum `{text}`: sizes {have} and {size} of {name:?}");
                }
            }
        }
    }
    let dtype = tensors.iter().skip(1).try_fold(tensors[0].dtype, |d, t| DType::promote(d, t.dtype));
    let dtype = dtype.ok_or_else(|| Error::invalid("einsum: no common dtype"))?;
    // A name of one operand alone is summed before products, which widens integers.
    let alone = |n: &Name| eq.operands.iter().filter(|o| o.contains(n)).count() == 1 && !eq.result.contains(n);
    let widened = eq.operands.iter().flatten().any(alone) && !dtype.is_float() && !dtype.is_complex();
    let size = |n: &Name| sizes.iter().find(|(m, _)| m == n).map_or_else(|| Expr::from(1i64), |(_, s)| s.clone());
    let dtype = if widened { DType::I64 } else { dtype };
    if let [_] = tensors[..] {
        return made_of(args);
    }
    one(fresh(tensors[0], dtype, eq.result.iter().map(size).collect::<Vec<_>>()))
}

/// A value whose dimensions have names.
struct Term {
    node: NodeId,
    names: Vec<Name>,
}

impl Term {
    fn size(&self, b: &mut Builder<'_>, name: Name) -> Result<Argument> {
        let d = self.names.iter().position(|n| *n == name);
        b.size(self.node, d.ok_or_else(|| Error::invalid("einsum: law: a term has its names"))? as i64)
    }
    /// With dimensions in this order.
    fn ordered(self, b: &mut Builder<'_>, names: &[Name]) -> Result<Term> {
        if self.names == names {
            return Ok(self);
        }
        let at = |n: &Name| self.names.iter().position(|m| m == n).map_or(0, |i| i as i64);
        let order: Vec<i64> = names.iter().map(at).collect();
        Ok(Term { node: b.call("permute", (self.node, order))?, names: names.to_vec() })
    }
    /// Summed over what is not among these.
    fn summed(self, b: &mut Builder<'_>, keep: impl Fn(Name) -> bool) -> Result<Term> {
        let gone: Vec<i64> = (0i64..).zip(&self.names).filter(|(_, n)| !keep(**n)).map(|(i, _)| i).collect();
        if gone.is_empty() {
            return Ok(self);
        }
        let node = b.call("sum.dim_IntList", (self.node, gone))?;
        Ok(Term { node, names: self.names.into_iter().filter(|n| keep(*n)).collect() })
    }
}

fn einsum(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (text, tensors): (&str, Vec<NodeId>) = args.unpack()?;
    let path: Option<Vec<i64>> = args.at(2)?;
    let ranks = tensors.iter().map(|&t| Ok(b.fake(t)?.dim())).collect::<Result<Vec<_>>>()?;
    let eq = parse(text, &ranks)?;
    let mut terms = Vec::with_capacity(tensors.len());
    for (node, names) in tensors.into_iter().zip(eq.operands) {
        terms.push(diagonals(b, Term { node, names })?);
    }
    squeeze_ones(b, &mut terms)?;
    let mut path = path.unwrap_or_default().into_iter();
    while terms.len() > 1 {
        let mut pick = |default: usize| path.next().map_or(default, |i| i.max(0) as usize);
        let (i, j) = (pick(0), pick(1));
        ensure!(i != j && i.max(j) < terms.len(), "einsum: no operands {i} and {j} to contract");
        let (y, x) = (terms.remove(i.max(j)), terms.remove(i.min(j)));
        let later = |n: Name| eq.result.contains(&n) || terms.iter().any(|t| t.names.contains(&n));
        let product = contract(b, x, y, &later)?;
        // Without a path operands are taken from the left; a path counts new ones last.
        if path.len() > 0 { terms.push(product) } else { terms.insert(0, product) }
    }
    let last = terms.pop().ok_or_else(|| Error::invalid("einsum wants an operand"))?;
    let last = last.summed(b, |n| eq.result.contains(&n))?;
    let moved = last.names != eq.result;
    let mut out = last.ordered(b, &eq.result)?.node;
    if moved {
        out = b.call("contiguous", (out,))?;
    }
    Ok(vec![out.into()])
}

/// A name that occurs twice becomes the diagonal.
fn diagonals(b: &mut Builder<'_>, mut t: Term) -> Result<Term> {
    while let Some((i, j)) =
        (0..t.names.len()).find_map(|j| t.names[..j].iter().position(|n| *n == t.names[j]).map(|i| (i, j)))
    {
        t.node = b.call("diagonal", (t.node, 0i64, i as i64, j as i64))?;
        let name = t.names[i];
        t.names.remove(j);
        t.names.remove(i);
        t.names.push(name);
    }
    Ok(t)
}

/// Removes dimensions of size 1 whose name is larger elsewhere.
fn squeeze_ones(b: &mut Builder<'_>, terms: &mut [Term]) -> Result<()> {
    let mut large = Vec::new();
    for t in terms.iter() {
        let sizes = &b.fake(t.node)?.sizes;
        large.extend(t.names.iter().zip(sizes).filter(|(_, s)| s.as_int() != Some(1)).map(|(n, _)| *n));
    }
    for t in terms.iter_mut() {
        for d in (0..t.names.len()).rev() {
            if b.fake(t.node)?.sizes[d].as_int() == Some(1) && large.contains(&t.names[d]) {
                t.node = b.call("squeeze.dim", (t.node, d as i64))?;
                t.names.remove(d);
            }
        }
    }
    Ok(())
}

/// The product of two terms, summed over the names of both that nobody wants later.
fn contract(b: &mut Builder<'_>, x: Term, y: Term, later: &dyn Fn(Name) -> bool) -> Result<Term> {
    let x_names = x.names.clone();
    let x = x.summed(b, |n| later(n) || y.names.contains(&n))?;
    let y = y.summed(b, |n| later(n) || x_names.contains(&n))?;
    let both = |n: &&Name| y.names.contains(n);
    let batch: Vec<Name> = x.names.iter().filter(both).filter(|n| later(**n)).copied().collect();
    let inner: Vec<Name> = x.names.iter().filter(both).filter(|n| !later(**n)).copied().collect();
    let m: Vec<Name> = x.names.iter().filter(|n| !y.names.contains(n)).copied().collect();
    let n: Vec<Name> = y.names.iter().filter(|n| !x.names.contains(n)).copied().collect();
    let names = [&batch[..], &m, &n].concat();
    if inner.is_empty() {
        let mut x = x.ordered(b, &[&batch[..], &m].concat())?.node;
        let mut y = y.ordered(b, &[&batch[..], &n].concat())?.node;
        for _ in &n {
            x = b.call("unsqueeze", (x, -1i64))?;
        }
        for _ in &m {
            y = b.call("unsqueeze", (y, batch.len() as i64))?;
        }
        return Ok(Term { node: b.call("mul.Tensor", (x, y))?, names });
    }
    let mut sizes = Vec::with_capacity(names.len());
    for name in &names {
        sizes.push(if n.contains(name) { y.size(b, *name)? } else { x.size(b, *name)? });
    }
    let group = |b: &mut Builder<'_>, t: &Term, names: &[Name]| -> Result<Argument> {
        let mut product = Argument::Int(1);
        for name in names {
            product = match (product, t.size(b, *name)?) {
                (Argument::Int(p), Argument::Int(s)) => Argument::Int(p * s),
                (Argument::Int(1), s) => s,
                (p, s) => b.call("_operator::mul", (p, s))?.into(),
            };
        }
        Ok(product)
    };
    let x_sizes = vec![group(b, &x, &batch)?, group(b, &x, &m)?, group(b, &x, &inner)?];
    let y_sizes = vec![x_sizes[0].clone(), x_sizes[2].clone(), group(b, &y, &n)?];
    let x = x.ordered(b, &[&batch[..], &m, &inner].concat())?.node;
    let y = y.ordered(b, &[&batch[..], &inner, &n].concat())?.node;
    let x = b.call("reshape", (x, x_sizes))?;
    let y = b.call("reshape", (y, y_sizes))?;
    let product = b.call("bmm", (x, y))?;
    Ok(Term { node: b.call("view", (product, sizes))?, names })
}
