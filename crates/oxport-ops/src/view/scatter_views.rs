//! Parts written into copies of a whole: what functionalized in-place writes to views become.
//!
//! Law: the part is the view that the operator's reading counterpart (`select`, `slice`, `diagonal`, `as_strided`)
//! takes of the copy, which has the strides of the original, gaps included (`clone_preserve_strides`), unless elements
//! share places.

use crate::support::meta::{MetaArgs, Metas, ask_meta_of, fake_args, one, overlaps, preserved_strides};
use crate::view::by_meta::concrete;
use crate::view::slice::{as_strided, diagonal, select, slice};
use oxport_ir::{Arg, Args, Class, Error, Exact, Fake, Meta, OpDef, Real, Result, Val, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", |a| {
        into_meta(a, select, Source::Equal)
    })
    .fill(|a, o| into(a, o, select))
    .work(Class::Copy)
    .any_strides()
    .exact(Exact::Bits)
    .doc("A copy with one index of a dimension replaced.")
    .samples(&["f32[2, 3], f32[2], 1, -1", "f32[2, 3]{10, 2}, f32[2], 1, 0", "!f32[2, 3], f32[3], 1, 0"]),
    OpDef::new(
        "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, \
        SymInt step=1) -> Tensor",
        |a| into_meta(a, slice, Source::Broadcast),
    )
    .fill(|a, o| into(a, o, slice))
    .work(Class::Copy)
    .any_strides()
    .exact(Exact::Bits)
    .doc("A copy with a range of a dimension replaced.")
    .samples(&[
        "f32[5, 3], f32[2, 3], 0, 1, 3",
        "f32[5], f32[3], 0, None, None, 2",
        "f32[5, 3], f32[3], 0, 1, 2",
        "f32[5, 3]{1, 8}, f32[1, 3], 0, 1, 2",
    ]),
    OpDef::new(
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        |a| into_meta(a, diagonal, Source::Equal),
    )
    .fill(|a, o| into(a, o, diagonal))
    .work(Class::Copy)
    .any_strides()
    .exact(Exact::Bits)
    .doc("A copy with a diagonal replaced.")
    .samples(&["f32[3, 4], f32[3]", "f32[3, 3], f32[2], 1"]),
    OpDef::new(
        "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? \
        storage_offset=None) -> Tensor",
        strided_meta,
    )
    .eval(into_strided)
    .work(Class::Move)
    .exact(Exact::Bits)
    .doc("A copy with the elements of a strided view of it replaced.")
    .samples(&["f32[8], f32[2, 3], [2, 3], [3, 1], 1", "f32[3, 2]{1, 3}, f32[2], [2], [3]"])
    .reads_storage(),
];

/// The meta of the view that the arguments without `src` say.
fn view_meta(args: &MetaArgs<'_>, view: fn(&MetaArgs<'_>) -> Metas) -> Result<Fake> {
    let values: Vec<Arg<Meta>> =
        args.values.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, a)| a.clone()).collect();
    let vals = view(&MetaArgs::new(&values, args.op, args.cx))?;
    let fake = vals.into_iter().find_map(|v| if let Val::Tensor(t) = v { Some(t) } else { None });
    Ok(fake.expect("law: a view is a tensor"))
}

/// What may be written to a part.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// What has its sizes.
    Equal,
    /// What broadcasts to it.
    Broadcast,
}

fn into_meta(args: &MetaArgs<'_>, view: fn(&MetaArgs<'_>) -> Metas, takes: Source) -> Metas {
    let (x, source): (&Fake, &Fake) = args.unpack()?;
    let part = view_meta(args, view)?;
    let broadcasts = takes == Source::Broadcast;
    let lead = part.dim().checked_sub(source.dim());
    let same = |(a, b): (&Expr, &Expr)| args.cx.may_be_same(a, b) || broadcasts && args.cx.is(b, 1);
    let fits =
        lead.is_some_and(|lead| (broadcasts || lead == 0) && part.sizes[lead..].iter().zip(&source.sizes).all(same));
    ensure!(fits, "{}: {source} does not fit {part}", args.name());
    let strides = if overlaps(args.cx, x) { preserved_strides(args.cx, x) } else { x.strides.clone() };
    one(Fake { strides, offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn into(args: &Args<'_, Real>, outs: &mut [TensorMut], view: fn(&MetaArgs<'_>) -> Metas) -> Result<()> {
    let (x, source): (&Tensor, &Tensor) = args.unpack()?;
    let out = &mut outs[0];
    oxport_tensor::copy(x, out)?;
    let mut values = fake_args(args.values);
    values.remove(1);
    let strides = out.strides().iter().map(|&s| Expr::from(s)).collect();
    values[0] = Arg::Tensor(Fake { strides, ..Fake::of(x) });
    let views = ask_meta_of(args, &values, view)?;
    let part = views.first().and_then(Val::as_tensor).expect("law: a view is a tensor");
    let (part, offset) = concrete(part)?;
    let offset = out.layout().offset.checked_add_signed(offset as isize);
    let offset = offset.ok_or_else(|| Error::invalid(format!("{}: a part before the tensor", args.name())))?;
    let part = Layout { offset, ..part };
    Ok(out.part(part, |part| oxport_tensor::copy(source, part))?)
}

/// As `clone_preserve_strides`: the copy lies in its storage as the original does.
pub(crate) fn strided_meta(args: &MetaArgs<'_>) -> Metas {
    let strides = args.at::<&Fake>(0)?.strides.clone();
    let mut vals = into_meta(args, as_strided, Source::Equal)?;
    if let Some(Val::Tensor(t)) = vals.first_mut() {
        t.strides = strides;
    }
    Ok(vals)
}

/// The storage up to the last element is copied, written to, and seen through the original layout.
pub(crate) fn into_strided(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, source, sizes, strides, offset): (&Tensor, &Tensor, Vec<i64>, Vec<i64>, Option<i64>) = args.unpack()?;
    let last: i64 = x.sizes().iter().zip(x.strides()).map(|(n, s)| (n - 1).max(0) * s).sum();
    let length = if x.numel() == 0 { 0 } else { x.layout().offset as i64 + last + 1 };
    let all = x.view(|l| l.as_strided(&[length], &[1], Some(0)))?;
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[length])?)?;
    oxport_tensor::copy(&all, &mut out)?;
    let offset = offset.unwrap_or(x.layout().offset as i64);
    let place = out.layout().as_strided(&sizes, &strides, Some(offset))?;
    out.part(place, |place| oxport_tensor::copy(source, place))?;
    let out = out.freeze();
    Ok(vec![out.view(|l| l.as_strided(x.sizes(), x.strides(), Some(x.layout().offset as i64)))?.into()])
}
