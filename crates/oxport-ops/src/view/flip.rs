//! Reversals, rotations and turns: the same elements in another order.

use crate::support::meta::{MetaArgs, Metas, one, preserved_strides, wrap_dim, wrap_dims};
use oxport_ir::{Args, Class, Error, Exact, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, copy};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::flip(Tensor self, int[] dims) -> Tensor", flip_meta)
        .fill(flip)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Some dimensions reversed.")
        .samples(&["f32[2, 3], [0, -1]", "f32[2, 3], []", "!f32[2, 3], [0, 0]"]),
    OpDef::new("aten::fliplr(Tensor self) -> Tensor", |a| flip_fixed(a, 1))
        .fill(|a, o| flip_to(a.at(0)?, &[1], &mut o[0]))
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Dimension 1 reversed.")
        .samples(&["f32[2, 3]", "!f32[2]"]),
    OpDef::new("aten::flipud(Tensor self) -> Tensor", |a| flip_fixed(a, 0))
        .fill(|a, o| flip_to(a.at(0)?, &[0], &mut o[0]))
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Dimension 0 reversed.")
        .samples(&["f32[2, 3]", "!f32[]"]),
    OpDef::new("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", roll_meta)
        .fill(roll)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Dimensions shifted around; without dimensions, the flattened tensor.")
        .samples(&[
            "f32[4, 3], [1], [0]",
            "f32[4, 3], [-2]",
            "f32[2, 3], [1, 2], [0, 1]",
            "f32[0], [1], [0]",
            "!f32[2, 3], [1, 2], [0]",
        ]),
    OpDef::new("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90_meta)
        .fill(rot90)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Quarter turns from the first dimension towards the second.")
        .samples(&["f32[2, 3]", "f32[2, 3], 2", "f32[2, 3], -1, [1, 0]", "f32[2, 3]{1, 2}, 4", "!f32[3]"]),
];

fn fresh(x: &Fake, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) }
}

fn flip_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    wrap_dims(&dims, x.dim())?;
    one(Fake { strides: preserved_strides(args.cx, x), ..fresh(x, x.sizes.clone()) })
}

fn flip_fixed(args: &MetaArgs<'_>, dim: usize) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() > dim, "{} of {} dimensions", args.name(), x.dim());
    one(Fake { strides: preserved_strides(args.cx, x), ..fresh(x, x.sizes.clone()) })
}

fn flip(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims): (&Tensor, Vec<i64>) = args.unpack()?;
    flip_to(x, &dims, &mut outs[0])
}

/// Copies with some dimensions reversed: the reversed input, as a view.
fn flip_to(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    if x.rank() == 0 || x.numel() == 0 {
        return Ok(copy(x, out)?);
    }
    Ok(copy(&x.view(|l| l.flip(dims))?, out)?)
}

fn roll_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shifts, dims): (&Fake, Vec<Expr>, Vec<i64>) = args.unpack()?;
    ensure!(!shifts.is_empty(), "roll: `shifts` required");
    ensure!(x.dim() > 0 || dims.is_empty(), "roll: a tensor without dimensions has none to roll along");
    ensure!(
        shifts.len() == dims.len() || dims.is_empty() && shifts.len() == 1,
        "{} shifts for {} dimensions",
        shifts.len(),
        dims.len()
    );
    dims.iter().try_for_each(|&d| wrap_dim(d, x.dim()).map(drop))?;
    one(fresh(x, x.sizes.clone()))
}

fn roll(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, shifts, dims): (&Tensor, Vec<i64>, Vec<i64>) = args.unpack()?;
    let out = &mut outs[0];
    if x.numel() == 0 || x.rank() == 0 {
        return Ok(copy(x, out)?);
    }
    if dims.is_empty() {
        let n = [x.numel() as i64];
        let place = out.layout().reshape(&n).ok_or_else(|| Error::invalid("roll into strides that do not join"))?;
        let x = x.reshape(&n)?;
        return Ok(out.part(place, |place| {
            rolled(&x, 0, shifts[0], place).map_err(|e| oxport_tensor::Error::invalid(e.to_string()))
        })?);
    }
    let mut x = x.clone();
    for (i, (&shift, &dim)) in shifts.iter().zip(&dims).enumerate() {
        let d = wrap_dim(dim, x.rank())?;
        if i + 1 == dims.len() {
            return rolled(&x, d, shift, out);
        }
        let mut next = TensorMut::empty(x.dtype(), Layout::contiguous(x.sizes())?)?;
        rolled(&x, d, shift, &mut next)?;
        x = next.freeze();
    }
    Ok(copy(&x, out)?)
}

fn rolled(x: &Tensor, d: usize, shift: i64, out: &mut TensorMut) -> Result<()> {
    let n = x.sizes()[d];
    let shift = shift.rem_euclid(n);
    for (from, to, length) in [(0, shift, n - shift), (n - shift, 0, shift)] {
        let part = x.view(|l| l.narrow(d as i64, from, length))?;
        let place = out.layout().narrow(d as i64, to, length)?;
        out.part(place, |place| copy(&part, place))?;
    }
    Ok(())
}

/// The two dimensions of a turn, and the quarter turns 0 to 3.
fn turn(rank: usize, k: i64, dims: &[i64]) -> Result<(usize, usize, i64)> {
    ensure!(dims.len() == 2 && rank >= 2, "rot90: expected two dimensions, got {} of {rank}", dims.len());
    let dims = wrap_dims(dims, rank)?;
    Ok((dims[0], dims[1], k.rem_euclid(4)))
}

fn rot90_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, k, dims): (&Fake, i64, Vec<i64>) = args.unpack()?;
    let (a, b, k) = turn(x.dim(), k, &dims)?;
    let mut sizes = x.sizes.clone();
    if k == 0 {
        return one(fresh(x, sizes));
    }
    let mut strides = preserved_strides(args.cx, x);
    if k % 2 == 1 {
        sizes.swap(a, b);
        strides.swap(a, b);
    }
    one(Fake { strides, ..fresh(x, sizes) })
}

fn rot90(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, k, dims): (&Tensor, i64, Vec<i64>) = args.unpack()?;
    let (a, b, k) = turn(x.rank(), k, &dims)?;
    let (a, b) = (a as i64, b as i64);
    if x.numel() == 0 {
        return Ok(());
    }
    let turned = match k {
        1 => x.view(|l| l.flip(&[b])?.transpose(a, b))?,
        2 => x.view(|l| l.flip(&[a, b]))?,
        3 => x.view(|l| l.flip(&[a])?.transpose(a, b))?,
        _ => x.clone(),
    };
    Ok(copy(&turned, &mut outs[0])?)
}
