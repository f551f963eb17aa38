//! Einstein's summation over named dimensions: `einsum("bij,bjk->bik", [x, y])`.
//!
//! ```text
//! two operands:  batch = in both and kept,  K = in both and summed,  M, N = in one only
//! x [batch, M, K] · y [batch, K, N] → [batch, M, N] by one batched product, then a view in the order asked for
//! ```
//!
//! Laws: a size of 1 broadcasts; a name twice in one operand is its diagonal; without `->` the result has the names
//! that occur once, in alphabetical order, after the ellipsis; the calls, and so layouts and rounding, are PyTorch's.

use crate::support::composite::made_of;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, NodeId, OpDef, Result, ensure};
use oxport_sym::Expr;

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
    ensure!(!tensors.is_empty(), "einsum: expected an operand");
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
    made_of(args)
}

/// Builds what PyTorch's `einsum` calls: every term gets the dimensions of the result and behind them those that are
/// summed, of size 1 where it has none, and terms are contracted by two.
fn einsum(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (text, tensors): (&str, Vec<NodeId>) = args.unpack()?;
    let path: Option<Vec<i64>> = args.at(2)?;
    let ranks = tensors.iter().map(|&t| Ok(b.fake(t)?.dim())).collect::<Result<Vec<_>>>()?;
    let eq = parse(text, &ranks)?;
    let mut summed: Vec<Name> = eq.operands.iter().flatten().filter(|n| !eq.result.contains(n)).copied().collect();
    // The ellipsis first, from its slowest dimension; then letters.
    summed.sort_unstable_by_key(|n| match *n {
        Name::Dots(i) => (0, usize::MAX - i),
        Name::Letter(c) => (1, c as usize),
    });
    summed.dedup();
    let names = [&eq.result[..], &summed].concat();
    let kept = eq.result.len();
    let aligned = tensors.into_iter().zip(eq.operands).map(|(x, own)| align(b, x, own, &names));
    let mut terms = aligned.collect::<Result<Vec<_>>>()?;
    if let [term] = terms[..] {
        let dims: Vec<i64> = (kept as i64..names.len() as i64).collect();
        return Ok(vec![if dims.is_empty() { term } else { b.call("sum.dim_IntList", (term, dims))? }.into()]);
    }
    // In how many terms a dimension is more than 1.
    let mut counts = vec![0usize; names.len()];
    for &term in &terms {
        for (d, count) in counts.iter_mut().enumerate() {
            *count += usize::from(!is_one(b, term, d)?);
        }
    }
    let mut path = path.unwrap_or_default().into_iter();
    while terms.len() > 1 {
        let mut pick = |default: usize| path.next().map_or(default, |i| i.max(0) as usize);
        let (i, j) = (pick(0), pick(1));
        ensure!(i != j && i.max(j) < terms.len(), "einsum: no operands {i} and {j} to contract");
        let (y, x) = (terms.remove(i.max(j)), terms.remove(i.min(j)));
        let product = contract(b, x, y, kept, &mut counts)?;
        // Without a path operands are taken from the left; a path counts new ones last.
        if path.len() > 0 { terms.push(product) } else { terms.insert(0, product) }
    }
    let mut out = terms.pop().ok_or_else(|| Error::invalid("einsum: expected an operand"))?;
    if kept < names.len() {
        let sizes = sizes_of(b, out, &(0..kept).collect::<Vec<_>>())?;
        out = b.call("view", (out, sizes))?;
    }
    Ok(vec![out.into()])
}

fn is_one(b: &Builder<'_>, x: NodeId, dim: usize) -> Result<bool> {
    Ok(b.fake(x)?.sizes[dim].as_int() == Some(1))
}

/// A tensor with dimensions in this order; as it is if they are.
fn ordered(b: &mut Builder<'_>, x: NodeId, order: &[usize]) -> Result<NodeId> {
    if order.is_sorted() {
        return Ok(x);
    }
    b.call("permute", (x, order.iter().map(|&d| d as i64).collect::<Vec<_>>()))
}

/// An operand with the dimensions `names`; what it has twice is its diagonal, what it has not is of size 1.
fn align(b: &mut Builder<'_>, mut x: NodeId, own: Vec<Name>, names: &[Name]) -> Result<NodeId> {
    let mut have: Vec<Name> = Vec::with_capacity(names.len());
    for name in own {
        match have.iter().position(|n| *n == name) {
            None => have.push(name),
            Some(first) => {
                let diagonal = b.call("diagonal", (x, 0i64, first as i64, have.len() as i64))?;
                x = b.call("movedim.int", (diagonal, -1i64, first as i64))?;
            }
        }
    }
    for name in names {
        if !have.contains(name) {
            x = b.call("unsqueeze", (x, -1i64))?;
            have.push(*name);
        }
    }
    let order: Vec<usize> = names.iter().filter_map(|name| have.iter().position(|n| n == name)).collect();
    ordered(b, x, &order)
}

/// The product of two terms, summed over the dimensions from `kept` on that no other term has.
fn contract(b: &mut Builder<'_>, mut x: NodeId, mut y: NodeId, kept: usize, counts: &mut [usize]) -> Result<NodeId> {
    let (mut both, mut of_x, mut of_y) = (Vec::new(), Vec::new(), Vec::new());
    for d in kept..counts.len() {
        let list = match (is_one(b, x, d)?, is_one(b, y, d)?) {
            (false, false) => {
                counts[d] -= 1;
                &mut both
            }
            (false, true) => &mut of_x,
            (true, false) => &mut of_y,
            (true, true) => continue,
        };
        if counts[d] == 1 {
            counts[d] = 0;
            list.push(d);
        }
    }
    for (term, dims) in [(&mut x, of_x), (&mut y, of_y)] {
        if !dims.is_empty() {
            let dims: Vec<i64> = dims.into_iter().map(|d| d as i64).collect();
            *term = b.call("sum.dim_IntList", (*term, dims, true))?;
        }
    }
    if both.is_empty() { b.call("mul.Tensor", (x, y)) } else { product(b, x, y, &both) }
}

fn sizes_of(b: &mut Builder<'_>, x: NodeId, dims: &[usize]) -> Result<Vec<Argument>> {
    dims.iter().map(|&d| b.size(x, d as i64)).collect()
}

fn multiplied(b: &mut Builder<'_>, sizes: &[Argument]) -> Result<Argument> {
    sizes.iter().cloned().try_fold(Argument::Int(1), |product, size| match (product, size) {
        (Argument::Int(p), Argument::Int(s)) => {
            p.checked_mul(s).map(Argument::Int).ok_or_else(|| Error::invalid("einsum: too many elements"))
        }
        (Argument::Int(1), s) => Ok(s),
        (p, s) => Ok(b.call("_operator::mul", (p, s))?.into()),
    })
}

/// The product of two terms as one batched product of matrices, summed over `inner`; the sums keep their dimension, of
/// size 1.
fn product(b: &mut Builder<'_>, x: NodeId, y: NodeId, inner: &[usize]) -> Result<NodeId> {
    let (mut batch, mut rows, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for d in (0..b.fake(x)?.dim()).filter(|d| !inner.contains(d)) {
        match (is_one(b, x, d)?, is_one(b, y, d)?) {
            (false, false) => batch.push(d),
            (false, true) => rows.push(d),
            _ => columns.push(d),
        }
    }
    // As PyTorch: where the columns stand before the rows in the result, the product is made transposed.
    let is_turned = matches!((columns.last(), rows.first()), (Some(column), Some(row)) if column < row);
    let (x, y) = if is_turned { (y, x) } else { (x, y) };
    let (rows, columns) = if is_turned { (columns, rows) } else { (rows, columns) };
    let (batch_sizes, row_sizes) = (sizes_of(b, x, &batch)?, sizes_of(b, x, &rows)?);
    let (inner_sizes, column_sizes) = (sizes_of(b, x, inner)?, sizes_of(b, y, &columns)?);
    let (of_batch, of_inner) = (multiplied(b, &batch_sizes)?, multiplied(b, &inner_sizes)?);
    let (of_rows, of_columns) = (multiplied(b, &row_sizes)?, multiplied(b, &column_sizes)?);
    let left = ordered(b, x, &[&batch[..], &rows, inner, &columns].concat())?;
    let right = ordered(b, y, &[&batch[..], inner, &columns, &rows].concat())?;
    let left = b.call("reshape", (left, vec![of_batch.clone(), of_rows, of_inner.clone()]))?;
    let right = b.call("reshape", (right, vec![of_batch, of_inner, of_columns]))?;
    let product = b.call("bmm", (left, right))?;
    let ones = vec![Argument::Int(1); inner.len()];
    let product = b.call("view", (product, [batch_sizes, row_sizes, ones, column_sizes].concat()))?;
    let made = [&batch[..], &rows, inner, &columns].concat();
    let order: Vec<usize> = (0..made.len()).filter_map(|d| made.iter().position(|m| *m == d)).collect();
    ordered(b, product, &order)
}
