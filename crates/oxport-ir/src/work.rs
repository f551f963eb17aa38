//! What a call costs: its kernel's class, arithmetic, and bytes read and written.
//!
//! ```ignore
//! OpDef::new("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", meta).fill(cat).work(Class::Move),
//! OpDef::new("aten::mm(Tensor self, Tensor mat2) -> Tensor", meta).fill(mm).cost(Class::Product, product_cost::<0>),
//! ```
//!
//! Laws: costs are counts, not times: a cost model (`oxport-rewrite`) has the coefficients of each class; a view costs
//! no work; an operator that is a view of some arguments and a copy of others costs accordingly; a row with a kernel
//! states its class (a test of the table says so).

use crate::args::{Arg, Args, Meta};
use crate::{Aliasing, Fake, Kernel, OpDef, Val};

/// Work and traffic of a call, with symbols equal to their hints.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// What kind of kernel does it.
    pub class: Class,
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

/// Kinds of kernels whose times are alike, by operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The call alone: views, numbers, checks, and calls of subgraphs, whose nodes are counted.
    #[default]
    Call,
    /// Elements are moved: copies, joins, gathers, pads.
    Move,
    /// Elements are copied as they lie, and some of the copies written over.
    Copy,
    /// Each element of the result is computed from one element of each operand.
    Pointwise,
    /// Elements are combined: sums, norms, softmax, pooling, interpolation.
    Reduction,
    /// Elements are ordered or looked up by value.
    Search,
    /// Fourier transforms.
    Transform,
    /// Dense factorizations and what is made of them.
    Solve,
    /// Matrix products.
    Product,
    /// Convolutions.
    Convolution,
    /// Attention as one operator.
    Attention,
    /// Recurrent layers and cells.
    Recurrence,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 12] = [
        Class::Call,
        Class::Move,
        Class::Copy,
        Class::Pointwise,
        Class::Reduction,
        Class::Search,
        Class::Transform,
        Class::Solve,
        Class::Product,
        Class::Convolution,
        Class::Attention,
        Class::Recurrence,
    ];

    /// Its name in reports: `product`.
    pub fn name(self) -> &'static str {
        match self {
            Class::Call => "call",
            Class::Move => "move",
            Class::Copy => "copy",
            Class::Pointwise => "pointwise",
            Class::Reduction => "reduction",
            Class::Search => "search",
            Class::Transform => "transform",
            Class::Solve => "solve",
            Class::Product => "product",
            Class::Convolution => "convolution",
            Class::Attention => "attention",
            Class::Recurrence => "recurrence",
        }
    }
}

/// What a row says of the work of a call.
#[derive(Clone, Copy)]
pub enum Work {
    /// Nothing: it has no kernel, and costs what it is made of.
    Unstated,
    /// What is usual for the class.
    Usual(Class),
    /// What the function counts.
    Counted(Class, CostFn),
}

impl Work {
    /// The class of the kernel; a row that states nothing counts as one pass.
    pub fn class(self) -> Class {
        match self {
            Work::Unstated => Class::Pointwise,
            Work::Usual(class) | Work::Counted(class, _) => class,
        }
    }
}

/// Counts the work of a call, from argument and result metas; the class is the row's.
pub type CostFn = fn(&Args<'_, Meta>, &[Val]) -> Cost;

impl OpDef {
    /// The work and traffic of a call, with symbols equal to their hints. A row without a kernel, which states no work,
    /// counts as one pass over its operands.
    pub fn cost_of(&self, args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
        let class = self.work.class();
        let count = match self.work {
            Work::Unstated => pass,
            Work::Usual(class) => usual(class),
            Work::Counted(_, count) => count,
        };
        match self.is_alias(args, outs) {
            Some(true) => Cost::default(),
            Some(false) if class == Class::Call => Cost { class: Class::Move, ..moved(args, outs) },
            _ => Cost { class, ..count(args, outs) },
        }
    }

    /// Of an operator that is a view at times: whether this call is.
    fn is_alias(&self, args: &Args<'_, Meta>, outs: &[Val]) -> Option<bool> {
        let out = outs.iter().flat_map(Val::tensors).next()?;
        match self.aliasing {
            Aliasing::If(is_alias) => is_alias(args, out).ok(),
            // In functional graphs a `view` that the strides forbid copies.
            Aliasing::BySchema if self.or_copies.is_some() => Some(args.cx.can_view(args.at(0).ok()?, out)),
            Aliasing::BySchema => matches!(self.kernel, Kernel::View(_)).then_some(true),
            Aliasing::Never => None,
        }
    }
}

fn usual(class: Class) -> CostFn {
    match class {
        Class::Call => |_, _| Cost::default(),
        Class::Move | Class::Copy => moved,
        Class::Pointwise => pass,
        Class::Search => |args, outs| sorted(args, outs, 4.0),
        Class::Transform => |args, outs| sorted(args, outs, 5.0),
        Class::Solve => solved,
        _ => reduced,
    }
}

/// Reads every input and writes every output once, one operation per output element.
pub fn pass(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let written: f64 = outs.iter().flat_map(Val::tensors).map(|t| bytes(args, t)).sum();
    let flops = outs.iter().flat_map(Val::tensors).map(|t| count(args, t)).sum();
    Cost { flops, bytes: written + inputs(args).map(|t| bytes(args, t)).sum::<f64>(), ..Cost::default() }
}

/// Every element of the outputs comes from somewhere: it is read and written.
fn moved(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let written: f64 = outs.iter().flat_map(Val::tensors).map(|t| count(args, t) * t.dtype.size() as f64).sum();
    Cost { bytes: 2.0 * written, ..Cost::default() }
}

/// One pass, one operation per element read or written, whichever are more.
fn reduced(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = pass(args, outs);
    Cost { flops: cost.flops.max(inputs(args).map(|t| count(args, t)).sum()), ..cost }
}

/// As usual for [`Class::Reduction`], where every element is read or written so many times.
pub fn repeated(args: &Args<'_, Meta>, outs: &[Val], times: f64) -> Cost {
    let cost = reduced(args, outs);
    Cost { flops: cost.flops * times.max(1.0), ..cost }
}

/// One pass of `steps · log₂(n)` operations per element.
fn sorted(args: &Args<'_, Meta>, outs: &[Val], steps: f64) -> Cost {
    let cost = reduced(args, outs);
    Cost { flops: steps * cost.flops * cost.flops.max(2.0).log2(), ..cost }
}

/// Matrices of the first operand, each of cubic work.
fn solved(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = reduced(args, outs);
    let n = inputs(args).next().and_then(|t| args.cx.hint(t.sizes.last()?)).unwrap_or(1).max(1);
    Cost { flops: cost.flops * n as f64, ..cost }
}

/// The tensors among the arguments, those in lists too.
fn inputs<'a>(args: &Args<'a, Meta>) -> impl Iterator<Item = &'a Fake> + use<'a> {
    fn collect<'a>(arg: &'a Arg<Meta>, into: &mut Vec<&'a Fake>) {
        match arg {
            Arg::Tensor(t) => into.push(t),
            Arg::List(l) => l.iter().for_each(|a| collect(a, into)),
            _ => {}
        }
    }
    let mut tensors = Vec::new();
    args.values.iter().for_each(|a| collect(a, &mut tensors));
    tensors.into_iter()
}

/// The number of elements; that of a size without hint counts as 4096.
fn count(args: &Args<'_, Meta>, t: &Fake) -> f64 {
    args.cx.hint(&t.numel()).unwrap_or(4096) as f64
}

/// The bytes of the elements; those of an expanded dimension are read once.
fn bytes(args: &Args<'_, Meta>, t: &Fake) -> f64 {
    let repeated = t.sizes.iter().zip(&t.strides).filter(|(_, stride)| stride.as_int() == Some(0));
    let repeats: f64 = repeated.map(|(size, _)| args.cx.hint(size).unwrap_or(1).max(1) as f64).product();
    count(args, t) / repeats * t.dtype.size() as f64
}

/// What a result that is computed ahead may take beside what it is made of, in bytes.
const SLACK: f64 = 4096.0;
/// The work for each byte of a result from which on it may be larger than what it is made of.
const DEAR: f64 = 16.0;

/// Whether a result that could be computed before the first call is worth its room: it has at most about twice the
/// `bytes` of what it is made of (`sources`), or takes much `work`, in operations and bytes moved.
pub fn is_worth_its_room(bytes: f64, sources: f64, work: f64) -> bool {
    bytes <= 2.0 * sources + SLACK || work >= DEAR * bytes
}
