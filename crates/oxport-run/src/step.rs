//! The steps of a lowered graph: what is called with which operands, and where the result goes.

use crate::operand_binding::{Patch, Ref, fetch};
use crate::output_alloc::{OutPlan, Packing};
use oxport_ir::{Arg, Args, Op, Prepared, Real, Result, Val, Value};
use oxport_tensor::{DType, SharedLayout, Tensor, TensorMut};
use smallvec::SmallVec;
use std::sync::Arc;

/// The slot of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub slot: u32,
    /// True if numbers in it can decide sizes, so that they belong to the shape signature.
    pub decides_sizes: bool,
}

/// What a body returns.
#[derive(Debug)]
pub(crate) enum Output {
    Ref { from: Ref, take: bool },
    Known(Value),
    List(Vec<Output>),
}

/// One call.
pub(crate) struct Step {
    pub name: Arc<str>,
    pub op: Op,
    pub action: Action,
    /// What is recorded of the result, for an operator that prepares its constants.
    pub result: Option<Val>,
    /// What the operator has made of the constants in the template.
    pub prepared: Option<Prepared>,
    /// The operands that each call puts into the template, and takes out afterwards.
    pub patches: Box<[Patch]>,
    /// The slot of the result; `None` if it is unused.
    pub out: Option<u32>,
    /// The last step that reads the result or a view of it by this slot; [`ESCAPES`] if it leaves the body.
    pub last_use: u32,
    /// True if numbers in the result can decide sizes.
    pub decides_sizes: bool,
    pub stack_trace: Option<Arc<str>>,
}

/// The last use of values that leave the body.
pub(crate) const ESCAPES: u32 = u32::MAX;

/// How a step is computed.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Element `index` of a list.
    Pick {
        slot: u32,
        take: bool,
        index: i64,
    },
    View(fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>),
    Fill(fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>),
    Eval(fn(&Args<'_, Real>) -> Result<Vec<Value>>),
}

/// The recording of one step.
#[derive(Clone, Debug)]
pub(crate) enum Replay {
    /// Nothing to allocate.
    Nothing,
    /// The step fills these outputs.
    Fill(Box<[OutPlan]>, Packing),
    /// A view that the strides do not allow: it is copied into this buffer.
    Copy(OutPlan),
    /// Views whose layouts are known.
    View(Views),
    /// The result in the form of [`print`]; a different one ends the replay.
    Watch(Box<[i64]>),
}

impl Replay {
    /// The views of a call, if those of its tensor are known.
    #[inline]
    pub fn view(&self, args: &[Arg<Real>]) -> Option<Result<Value>> {
        if let Replay::View(views) = self { views.replay(args) } else { None }
    }
}

/// Views that follow from the layout of one argument: all others are the same in every call.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    argument: u32,
    dtype: DType,
    layout: SharedLayout,
    /// The layouts of the views, and whether there is one that is not in a list.
    views: SmallVec<[SharedLayout; 2]>,
    is_single: bool,
}

impl Views {
    /// What is recorded of a call with this value; `None` where the views may follow from something else.
    pub fn of(step: &Step, args: &[Arg<Real>], value: &Value) -> Option<Views> {
        let [patch] = &*step.patches else { return None };
        let [argument] = patch.path[..] else { return None };
        let Arg::Tensor(x) = args.get(argument as usize)? else { return None };
        let is_view = |v: &Tensor| v.storage().same_storage(x.storage()) && v.dtype() == x.dtype();
        let layout = |v: &Value| v.as_tensor().filter(|v| is_view(v)).map(|v| v.shared_layout().clone());
        let (views, is_single) = match value {
            Value::List(l) => (l.iter().map(layout).collect::<Option<_>>()?, false),
            one => (SmallVec::from_elem(layout(one)?, 1), true),
        };
        Some(Views { argument, dtype: x.dtype(), layout: x.shared_layout().clone(), views, is_single })
    }

    /// The views of a call; `None` if its tensor is another one than was recorded.
    pub fn replay(&self, args: &[Arg<Real>]) -> Option<Result<Value>> {
        let Arg::Tensor(x) = args.get(self.argument as usize)? else { return None };
        if *x.shared_layout() != self.layout || x.dtype() != self.dtype {
            return None;
        }
        let view = |layout: &SharedLayout| Ok(Value::Tensor(x.with_shared_layout(layout.clone())?));
        Some(match &self.views[..] {
            [layout] if self.is_single => view(layout),
            layouts => layouts.iter().map(view).collect::<Result<_>>().map(Value::List),
        })
    }
}

impl Output {
    pub fn collect(&self, slots: &mut [Value]) -> Result<Value> {
        match self {
            Output::Ref { from, take } => fetch(slots, *from, *take),
            Output::Known(value) => Ok(value.clone()),
            Output::List(l) => l.iter().map(|o| o.collect(slots)).collect::<Result<_>>().map(Value::List),
        }
    }
}
