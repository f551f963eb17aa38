//! Output allocation: dtypes and layouts of outputs from meta functions, and the value that the outputs form.

use oxport_ir::args::Meta;
use oxport_ir::infer::infer_bound;
use oxport_ir::schema::Type;
use oxport_ir::{Arg, Error, Fake, MetaCx, Op, Real, Result, Val, Value};
use oxport_sym::ShapeEnv;
use oxport_tensor::{DType, Layout, SharedLayout, Tensor, TensorMut, copy};
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock};

/// A buffer that a step fills.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutPlan {
    pub dtype: DType,
    pub layout: SharedLayout,
    pub bytes: usize,
    /// The number of the buffer in the recording.
    pub buffer: u32,
    /// Where it is made in the result of a later step.
    pub place: Option<Arc<Place>>,
}

/// The place of a result in that of a later step.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    pub layout: SharedLayout,
    /// The number of the whole's buffer in the recording, and its size.
    pub buffer: u32,
    pub bytes: usize,
    /// The later step.
    pub join: usize,
}

impl OutPlan {
    fn new(dtype: DType, layout: Layout) -> Result<OutPlan> {
        let layout = SharedLayout::new(layout)?;
        let bytes = layout.bytes_of(dtype)?;
        Ok(OutPlan { dtype, layout, bytes, buffer: u32::MAX, place: None })
    }
    fn of(fake: &Fake, op: &Op) -> Result<OutPlan> {
        let layout = fake.concrete_layout().ok_or_else(|| {
            Error::unsupported(format!("{}: expected known sizes of a result, got {:?}", op.name(), fake.sizes))
        })?;
        if layout.may_overlap() {
            return OutPlan::new(fake.dtype, Layout::contiguous(&layout.sizes)?);
        }
        OutPlan::new(fake.dtype, layout)
    }
    /// The filled output of a kernel.
    ///
    /// # Errors
    /// The kernel replaced the output by another tensor, which [`oxport_ir::Kernel::Fill`] cannot prevent.
    pub fn filled(&self, out: TensorMut) -> Result<Tensor> {
        if out.dtype() != self.dtype || *out.shared_layout() != self.layout {
            let (want, got) = (&self.layout.sizes, out.sizes());
            return Err(Error::invalid(format!(
                "the kernel replaced its output: expected {}{want:?}, got {}{got:?}",
                self.dtype.short(),
                out.dtype().short()
            )));
        }
        Ok(out.freeze())
    }
    /// The same sizes with row-major strides.
    pub fn row_major(&self) -> Result<OutPlan> {
        OutPlan::new(self.dtype, Layout::contiguous(&self.layout.sizes)?)
    }
    /// Fills this contiguous buffer with the elements of `x` in row-major order.
    pub fn copy(&self, out: TensorMut, x: &Tensor) -> Result<Tensor> {
        if x.numel() != self.layout.numel() {
            return Err(Error::invalid(format!(
                "cannot view a tensor of sizes {:?} as {:?}",
                x.sizes(),
                self.layout.sizes
            )));
        }
        let mut out = out;
        out.part(Layout::contiguous(x.sizes())?, |out| copy(x, out))?;
        Ok(out.freeze())
    }
}

/// A newly allocated buffer.
///
/// # Errors
/// It is larger than the limit, or the allocation fails.
pub(crate) fn make_owned(plan: &OutPlan) -> Result<TensorMut> {
    Ok(TensorMut::empty_with(plan.dtype, plan.layout.clone())?)
}

/// How filled tensors form the value of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Packing {
    Tensor,
    Known(Known),
    List(Vec<Packing>),
}

/// A result other than a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    None,
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Packing {
    fn of(val: &Val, op: &Op, outs: &mut Vec<OutPlan>) -> Result<Packing> {
        let unknown =
            || Error::unsupported(format!("{}: expected a known number as a result, got a symbolic one", op.name()));
        Ok(match val {
            Val::Tensor(t) => {
                outs.push(OutPlan::of(t, op)?);
                Packing::Tensor
            }
            Val::List(l) => Packing::List(l.iter().map(|v| Packing::of(v, op, outs)).collect::<Result<_>>()?),
            Val::Int(e) => Packing::Known(Known::Int(e.as_int().ok_or_else(unknown)?)),
            Val::Float(e) => Packing::Known(Known::Float(e.as_float().ok_or_else(unknown)?)),
            Val::Bool(e) => Packing::Known(Known::Bool(e.as_bool().ok_or_else(unknown)?)),
            Val::None | Val::Str(_) | Val::Token | Val::Object(_) => Packing::Known(Known::None),
        })
    }
    /// The value that the filled outputs of a kernel form.
    ///
    /// # Errors
    /// As [`OutPlan::filled`].
    pub fn pack_filled(&self, plans: &[OutPlan], outs: impl IntoIterator<Item = TensorMut>) -> Result<Value> {
        let filled = plans.iter().zip(outs).map(|(plan, out)| plan.filled(out));
        let filled = filled.collect::<Result<SmallVec<[Tensor; 2]>>>()?;
        Ok(self.pack(&mut filled.into_iter()))
    }
    /// The value that these tensors form.
    fn pack(&self, tensors: &mut dyn Iterator<Item = Tensor>) -> Value {
        match self {
            Packing::Tensor => Value::Tensor(tensors.next().expect("law: as many outputs as the packing has tensors")),
            Packing::List(l) => Value::List(l.iter().map(|p| p.pack(tensors)).collect()),
            Packing::Known(Known::None) => Value::None,
            Packing::Known(Known::Int(n)) => Value::Int(*n),
            Packing::Known(Known::Float(x)) => Value::Float(*x),
            Packing::Known(Known::Bool(b)) => Value::Bool(*b),
        }
    }
    /// True if a single result is not packed into a list, as in [`oxport_ir::infer::pack`].
    pub fn is_single(op: &Op) -> bool {
        op.schema().is_none_or(|s| s.returns.len() == 1 && s.returns[0].ty != Type::Other("Any[]".into()))
    }
    /// True if the one result is a tensor, not a list of them.
    pub fn is_single_tensor(op: &Op) -> bool {
        op.schema().is_none_or(|s| s.returns.len() == 1 && !matches!(s.returns[0].ty, Type::List(..)))
    }
}

/// The outputs of a call on these arguments, by its meta function.
///
/// # Errors
/// The meta function rejects the call; unsupported, if a size of the result is unknown.
pub(crate) fn infer(op: &Op, args: &[Arg<Real>]) -> Result<(Vec<OutPlan>, Packing)> {
    let val = meta(op, args)?;
    let mut outs = Vec::with_capacity(1);
    let packing = Packing::of(&val, op, &mut outs)?;
    Ok((outs, packing))
}

/// The result of the meta function on these arguments.
///
/// # Errors
/// It rejects them.
pub(crate) fn meta(op: &Op, args: &[Arg<Real>]) -> Result<Val> {
    static NO_SYMBOLS: LazyLock<ShapeEnv> = LazyLock::new(ShapeEnv::new);
    let args: Vec<Arg<Meta>> = args.iter().map(Arg::to_meta).collect();
    infer_bound(op, &args, &MetaCx::new(&NO_SYMBOLS))
}

/// Element `index` of the list in a slot; `take` empties the slot.
pub(crate) fn pick(slot: &mut Value, take: bool, index: i64) -> Result<Value> {
    let Value::List(l) = slot else {
        return Err(Error::invalid(format!("getitem: expected a list, got a {}", slot.kind())));
    };
    let at = if index < 0 { index + l.len() as i64 } else { index };
    let found = usize::try_from(at).ok().filter(|&at| at < l.len());
    let at =
        found.ok_or_else(|| Error::invalid(format!("getitem: index {index} out of range for {} results", l.len())))?;
    if !take {
        return Ok(l[at].clone());
    }
    let value = l.swap_remove(at);
    *slot = Value::None;
    Ok(value)
}

/// Results as one value, by the rules of [`oxport_ir::infer::pack`].
pub(crate) fn pack_values(op: &Op, mut outs: Vec<Value>) -> Value {
    match outs.len() {
        _ if op.is_higher_order() => Value::List(outs),
        0 => Value::None,
        1 if Packing::is_single(op) => outs.remove(0),
        _ => Value::List(outs),
    }
}

/// Views as one value.
pub(crate) fn pack_tensors(op: &Op, mut views: Vec<Tensor>) -> Value {
    if views.len() == 1 && Packing::is_single_tensor(op) {
        return Value::Tensor(views.remove(0));
    }
    Value::List(views.into_iter().map(Value::Tensor).collect())
}
