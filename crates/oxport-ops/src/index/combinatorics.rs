//! All pairs and choices of elements: `cartesian_prod`, `combinations`.

use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::promote::common_dtype;
use crate::support::rowmajor::tensors;
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, table};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::cartesian_prod(Tensor[] tensors) -> Tensor", pairs_meta)
        .decomp(pairs)
        .exact(Exact::Bits)
        .doc("All tuples of one element of each vector, one per row.")
        .samples(&["[f32[2], f32[3]]", "[f32[2]]", "![f32[2, 2]]"]),
    OpDef::new("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", choices_meta)
        .fill(choices)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("All choices of `r` elements of a vector in order, one per row.")
        .samples(&[
            "f32[4]",
            "f32[3], 2, True",
            "f32[3], 0",
            "f32[3], 1000000000000",
            "f32[0], 1000000000000, True",
            "!f32[2, 2]",
            "!f32[3], -1",
            "!f32[200], 100",
        ]),
];

fn pairs_meta(args: &MetaArgs<'_>) -> Metas {
    let parts = tensors(args, 0)?;
    ensure!(!parts.is_empty() && parts.iter().all(|t| t.dim() == 1), "cartesian_prod: expected vectors");
    let dtype = common_dtype::<oxport_ir::Meta>(&parts)?;
    ensure!(parts.iter().all(|t| t.dtype == dtype), "cartesian_prod of different dtypes");
    let [first, rest @ ..] = &parts[..] else { return Err(Error::invalid("cartesian_prod of nothing")) };
    if rest.is_empty() {
        return one((*first).clone());
    }
    let rows = parts.iter().fold(Expr::from(1i64), |n, t| n * &t.sizes[0]);
    one(Fake { device: first.device.clone(), ..Fake::new(dtype, [rows, Expr::from(parts.len() as i64)]) })
}

fn pairs(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let parts: Vec<NodeId> = args.at(0)?;
    if let [only] = parts[..] {
        return Ok(vec![only.into()]);
    }
    let list = Argument::List(parts.iter().map(|&t| t.into()).collect());
    let grids = b.call_kw("meshgrid.indexing", (list,), &[("indexing", Argument::Str("ij".into()))])?;
    let mut columns = Vec::new();
    for i in 0..parts.len() as i64 {
        let grid = b.getitem(grids, i)?;
        columns.push(b.call("reshape", (grid, Argument::List(vec![(-1i64).into()])))?.into());
    }
    Ok(vec![b.call("stack", (Argument::List(columns), 1i64))?.into()])
}

/// How many choices of `r` of `n` there are, if they can be counted.
fn count(n: i64, r: i64, again: bool) -> Option<i64> {
    let n = if again { n.checked_add(r - 1)? } else { n };
    if r > n {
        return Some(i64::from(r == 0));
    }
    // From the nearer end: every step at least doubles the count, so that it soon ends, or is too large.
    let each = |c: i64, i: i64| i64::try_from(i128::from(c) * i128::from(n - i) / i128::from(i + 1)).ok();
    (0..r.min(n - r)).try_fold(1, each)
}

/// As [`count`], of a number that is not known: `n · (n − 1) · … // r!`, if that divisor is an integer here.
fn symbolic_count(n: &Expr, r: i64, again: bool) -> Option<Expr> {
    let divisor = (1..=r).try_fold(1i64, i64::checked_mul)?;
    let top = if again { n + (r - 1) } else { n.clone() };
    Some((0..r).fold(Expr::from(1), |product, i| product * (&top - i)).floor_div(&Expr::from(divisor)))
}

fn choices_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, r, again): (&Fake, i64, bool) = args.unpack()?;
    ensure!(x.dim() == 1, "combinations of a tensor of {} dimensions", x.dim());
    ensure!(r >= 0, "combinations of {r} elements");
    let fresh = |sizes: Vec<Expr>| Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) };
    if r == 0 {
        return one(fresh(vec![Expr::from(0i64)]));
    }
    let size = &x.sizes[0];
    let rows = match size.as_int() {
        Some(n) => count(n, r, again).map(Expr::from),
        None => symbolic_count(size, r, again)
            .or_else(|| args.cx.hint(size).and_then(|n| count(n, r, again)).map(Expr::from)),
    };
    one(fresh(vec![rows.ok_or_else(|| Error::invalid("too many combinations"))?, Expr::from(r)]))
}

fn choices(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, r, again): (&Tensor, i64, bool) = args.unpack()?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let (n, mut picks) = (x.numel() as i64, table(outs[0].numel())?);
    // Each choice is the one before with its last raisable place raised.
    let step = i64::from(!again);
    let mut choice: Vec<i64> = (0..r).map(|k| k * step).collect();
    let last = |k: i64| n - 1 - (r - 1 - k) * step;
    while r > 0 && choice.iter().zip(0..).all(|(&c, k)| c <= last(k)) {
        picks.extend_from_slice(&choice);
        let Some(k) = (0..r).rev().find(|&k| choice[k as usize] < last(k)) else { break };
        let next = choice[k as usize] + 1;
        for (j, place) in (0..).zip(&mut choice[k as usize..]) {
            *place = next + j * step;
        }
    }
    let mut flat = TensorMut::empty(x.dtype(), Layout::contiguous(&[picks.len() as i64])?)?;
    crate::index::select::select_rows(x, 0, picks, &mut flat)?;
    let sizes = outs[0].sizes().to_vec();
    Ok(oxport_tensor::copy(&flat.freeze().reshape(&sizes)?, &mut outs[0])?)
}
