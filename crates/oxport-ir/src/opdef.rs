//! What an operator is: one plain value, [`OpDef`], in a static table.
//!
//! ```ignore
//! pub static OPS: &[OpDef] = &[
//!     OpDef::new("aten::silu(Tensor self) -> Tensor", meta::unary_float).doc("`x · sigmoid(x)`.")
//!         .fill(silu).expr("mul.Tensor(self, sigmoid(self))").samples(&["f32[2, 3]"]),
//! ];
//! ```
//!
//! Laws: a meta function says *what* a call yields, the kernel *fills* it, so they cannot disagree on shape; what a
//! pass must know of an operator is a field here, and no pass knows operators by name.

use crate::args::{Args, Build, Meta, Real};
use crate::work::{Class, CostFn, Work};
use crate::{Argument, Builder, Fake, NodeId, Prepared, Result, Val, Value};
use oxport_sym::{Expr, Range};
use oxport_tensor::{DType, Layout, Tensor, TensorMut};

/// One operator: its contract and everything that can be done with it.
#[derive(Clone, Copy)]
pub struct OpDef {
    /// The signature in ATen's syntax: the single source of name, arguments, defaults and mutability.
    pub schema: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// From argument metas to result metas, one per return of the schema.
    pub meta: MetaFn,
    /// How it is computed.
    pub kernel: Kernel,
    /// What it makes once of its constant arguments.
    pub prepare: Option<PrepareFn>,
    /// For which calls its kernel is one elementwise loop over its tensors as they are ([`oxport_tensor::map`] and its
    /// kin), and reads and writes no element otherwise, so that a plan may join it with its neighbors
    /// ([`oxport_tensor::join`]).
    pub one_loop: Option<CallFn>,
    /// Of an operator whose result is the tensors of its first argument side by side, where each of them lies in the
    /// result. The kernel copies those that are not [absent](Tensor::is_absent): a plan has them made in their place.
    pub parts: Option<PartsFn>,
    /// Whether its kernel fills outputs with gaps between their elements as well as dense ones, as one loop does: a
    /// plan may have the result made in its place in a later one.
    pub fills_gaps: bool,
    /// Of a convolution: for which calls it may read the rows of its first argument as they are made
    /// ([`oxport_tensor::conv::Sliding`]). The tensor is [absent](Tensor::is_absent) then.
    pub reads_rows: Option<CallFn>,
    /// What it is made of.
    pub decomp: Decomp,
    /// Work and traffic: see [`crate::work`].
    pub work: Work,
    /// How closely two implementations must agree.
    pub exact: Exact,
    /// Of an operator that is exact to the bit: for which calls it is. Without it, all are.
    pub exact_if: Option<fn(&Args<'_, Meta>) -> Result<bool>>,
    /// What a call does beside returning values.
    pub effect: Effect,
    /// Of a random operator: the arguments that must all be true or above zero for a call to draw. Without any, every
    /// call does.
    pub draws_if: &'static [&'static str],
    /// Of a random operator: what its first argument has to do with what is drawn.
    pub noise: Noise,
    /// The arguments, by name, that make all elements of the result finite if they are, as numbers of its dtype.
    pub finite_of: Option<&'static [&'static str]>,
    /// What the strides of its operands are to its kernel.
    pub operand_strides: OperandStrides,
    /// Whether PyTorch computes other bits for operands of other strides: oneDNN takes what is dense.
    pub bits_by_strides: bool,
    /// Whether it reads the storage of its first argument past the elements of the tensor: `as_strided`, storage
    /// offsets.
    pub reads_storage: bool,
    /// Whose storage its result lies in.
    pub aliasing: Aliasing,
    /// What a write to a result that lies in the first argument's storage makes of that argument.
    pub write_back: WriteBack,
    /// Of a view that PyTorch refuses where the strides forbid it: the operator that copies there.
    pub or_copies: Option<&'static str>,
    /// What it writes beside what its schema says.
    pub mutation: Option<&'static Mutation>,
    /// What the numbers of an argument index; those out of range are an error.
    pub indexes: Option<Indexes>,
    /// What PyTorch's fake tensors remember of an argument, so that a second call gives the same symbols.
    pub memo: Option<Memo>,
    /// What it asserts of symbolic numbers.
    pub asserts: Option<AssertFn>,
    /// Whether its tensors may be on several devices.
    pub across_devices: bool,
    /// Whether it is a Python function on numbers that PyTorch loads in programs (`torch._export.verifier`).
    pub on_numbers: bool,
    /// Results of whose sizes PyTorch's meta function and its kernel disagree; what is recorded of these is not judged.
    pub open_sizes: &'static [usize],
    /// What PyTorch's fake tensors make of its dtypes under autocast, where that is not what it computes.
    pub autocast_fake: Option<AutocastFn>,
    /// Calls that must work, as text: `f32[2, 3], 1, alpha=2`; with `!` in front, calls that must be refused.
    pub samples: &'static [&'static str],
}

/// See [`OpDef::meta`].
pub type MetaFn = fn(&Args<'_, Meta>) -> Result<Vec<Val>>;
/// See [`OpDef::prepare`]. The arguments that are not constant are [`Arg::None`](crate::Arg::None); the value is what
/// the plan records of the result, whose strides may say which algorithm will run.
pub type PrepareFn = fn(&Args<'_, Real>, Option<&Val>) -> Result<Option<Prepared>>;
/// See [`OpDef::one_loop`] and [`OpDef::reads_rows`]. The arguments that are not constant are
/// [`Arg::None`](crate::Arg::None).
pub type CallFn = fn(&Args<'_, Real>) -> bool;

/// See [`OpDef::parts`]: a layout for each tensor, in that of the result.
pub type PartsFn = fn(&Args<'_, Real>, &Layout) -> Result<Vec<Layout>>;

/// See [`OpDef::asserts`].
pub type AssertFn = fn(&Args<'_, Meta>) -> Result<Assertion>;

/// See [`OpDef::autocast_fake`]: of the arguments as they are given, and the dtype of the region, the dtypes of the
/// results.
pub type AutocastFn = fn(&Args<'_, Meta>, DType) -> Result<Vec<DType>>;

/// How an operator is computed; what the planner may do with it is in the type.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Not at all: it runs by its decomposition.
    None,
    /// By views of its inputs that move no element. `None` means that the strides forbid a view: the result is then
    /// the first tensor argument's elements in row-major order, in fresh tensors of the sizes that the meta says.
    View(fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>),
    /// By filling outputs that were allocated from the metas: one per tensor in the results, in order.
    Fill(fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>),
    /// By making its results itself, one per return: numbers, sizes that depend on data, higher-order operators.
    Eval(fn(&Args<'_, Real>) -> Result<Vec<Value>>),
}

/// What an operator is made of.
#[derive(Clone, Copy)]
pub enum Decomp {
    /// Nothing simpler.
    None,
    /// A call text over the schema's argument names: `mul.Tensor(self, sigmoid(self))`.
    Expr(&'static str),
    /// What the function builds; one argument per return.
    Fn(fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>),
}

/// What the strides of its operands are to an operator's kernel.
#[derive(Clone, Copy)]
pub enum OperandStrides {
    /// It may see them: a plan gives it those that the program records.
    Recorded,
    /// They only say where elements are: the elements of the results do not depend on them, to the bit.
    Any,
    /// As [`OperandStrides::Any`]; calls of which this holds are faster if the channels of the first argument are
    /// neighbors in memory.
    ChannelsLast(fn(&Args<'_, Meta>) -> Result<bool>),
}

/// How closely two implementations must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// To the bit.
    Bits,
    /// Up to rounding.
    Rounding,
    /// Not at all: the values are random or undefined.
    Random,
}

/// What a call does beside returning values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it may be merged with an equal call, and dropped.
    Pure,
    /// It draws from the generator: never merged, never dropped, since what draws behind it would get other numbers.
    Random,
    /// It fails if a condition does not hold: never dropped.
    Assert,
    /// Anything else: never merged, dropped or moved across its like.
    Effectful,
}

/// What the first argument of a random operator has to do with what is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Its values are parameters of the distribution, or there is none.
    Weighted,
    /// It gives sizes, strides and dtype; its values do not matter: `rand_like`, `uniform`.
    Shaped,
    /// It is multiplied by what the call gives for ones: `dropout`.
    Factor,
}

/// Whose storage an operator's result lies in.
#[derive(Clone, Copy)]
pub enum Aliasing {
    /// That of the first argument where the schema annotates the result, else its own.
    BySchema,
    /// That of the first argument where this holds of the arguments and the result (of a list, its first tensor), as
    /// eager PyTorch decides it when it runs (`reshape`, `contiguous`, `to`), else its own.
    If(fn(&Args<'_, Meta>, &Fake) -> Result<bool>),
    /// Always its own, though PyTorch tags it as what may alias an argument.
    Never,
}

/// How a write to a view becomes one to what it is a view of.
#[derive(Clone, Copy)]
pub enum WriteBack {
    /// Not at all.
    None,
    /// By a call text over the schema's argument names and `value`, which was written: `select_scatter(self, value,
    /// dim, index)`.
    Expr(&'static str),
    /// By what the function builds of the call's arguments and the value.
    Fn(fn(&mut Builder<'_>, &Args<'_, Build>, NodeId) -> Result<NodeId>),
}

/// What an operator writes beside what its schema says: the running statistics of a batch norm.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// The arguments that are written, where they are given.
    pub written: &'static [&'static str],
    /// The argument that must be true for a call to write; without one, every call does.
    pub when: Option<&'static str>,
    /// The call without the writes.
    pub functional: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Mutated>,
}

/// What takes the place of a call that writes.
#[derive(Clone, Debug)]
pub struct Mutated {
    /// The result; of several results, all.
    pub result: NodeId,
    /// The new values of [`Mutation::written`].
    pub written: Vec<NodeId>,
}

/// What the numbers of an argument index.
#[derive(Clone, Copy, Debug)]
pub struct Indexes {
    /// The argument with the indices: a tensor, or a list of tensors.
    pub argument: &'static str,
    /// The tensor that they index.
    pub of: &'static str,
    /// The dimension.
    pub dim: IndexedDim,
}

/// The dimension that indices are of.
#[derive(Clone, Copy, Debug)]
pub enum IndexedDim {
    /// This one; negative ones count from the end.
    Fixed(i64),
    /// The one that this argument names.
    Named(&'static str),
    /// One for each tensor of the list, in order.
    Each,
}

/// What is read from an argument, which its schema names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memo {
    /// How many elements are not zero.
    Nonzero(&'static str),
    /// The same, of each mask in a list of indices.
    Masks(&'static str),
    /// Its one element.
    Item(&'static str),
}

/// What holds of symbolic numbers behind a call.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// The condition is true.
    Holds(Expr),
    /// The number is in the range.
    InRange(Expr, Range),
    /// Nothing that can be said in symbols.
    Nothing,
}

/// In which dtype an operator computes within a CPU autocast region (`aten/src/ATen/autocast_mode.cpp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autocast {
    /// That of its tensors.
    Unchanged,
    /// The region's lower precision.
    Lower,
    /// float32.
    Float32,
    /// The widest dtype of its tensors.
    Widest,
}

impl OpDef {
    /// An operator that is computed by nothing yet, exact up to rounding, and pure.
    pub const fn new(schema: &'static str, meta: MetaFn) -> OpDef {
        OpDef {
            schema,
            doc: "",
            meta,
            kernel: Kernel::None,
            prepare: None,
            one_loop: None,
            parts: None,
            fills_gaps: false,
            reads_rows: None,
            decomp: Decomp::None,
            work: Work::Unstated,
            exact: Exact::Rounding,
            exact_if: None,
            effect: Effect::Pure,
            draws_if: &[],
            noise: Noise::Weighted,
            finite_of: None,
            operand_strides: OperandStrides::Recorded,
            bits_by_strides: false,
            reads_storage: false,
            aliasing: Aliasing::BySchema,
            write_back: WriteBack::None,
            or_copies: None,
            mutation: None,
            indexes: None,
            memo: None,
            asserts: None,
            across_devices: false,
            on_numbers: false,
            open_sizes: &[],
            autocast_fake: None,
            samples: &[],
        }
    }
    /// Sets the doc sentence.
    pub const fn doc(self, doc: &'static str) -> OpDef {
        OpDef { doc, ..self }
    }
    /// Computes by views.
    pub const fn view(self, f: fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>) -> OpDef {
        OpDef { kernel: Kernel::View(f), exact: Exact::Bits, work: Work::Usual(Class::Call), ..self }
    }
    /// Computes by filling outputs.
    pub const fn fill(self, f: fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>) -> OpDef {
        OpDef { kernel: Kernel::Fill(f), ..self }
    }
    /// Computes by making results.
    pub const fn eval(self, f: fn(&Args<'_, Real>) -> Result<Vec<Value>>) -> OpDef {
        OpDef { kernel: Kernel::Eval(f), ..self }
    }
    /// Makes something of its constant arguments when a plan is made, which its kernel finds by [`Args::prepared`], and
    /// without which it computes the same bits.
    pub const fn prepare(self, f: PrepareFn) -> OpDef {
        OpDef { prepare: Some(f), ..self }
    }
    /// Says that its kernel is one elementwise loop.
    pub const fn one_loop(self) -> OpDef {
        self.one_loop_if(|_| true)
    }
    /// Says for which calls its kernel is one elementwise loop.
    pub const fn one_loop_if(self, f: CallFn) -> OpDef {
        OpDef { one_loop: Some(f), ..self }
    }
    /// Says where the tensors of its first argument lie in the result.
    pub const fn parts(self, f: PartsFn) -> OpDef {
        OpDef { parts: Some(f), ..self }
    }
    /// Says that its kernel fills outputs with gaps as well as dense ones.
    pub const fn fills_gaps(self) -> OpDef {
        OpDef { fills_gaps: true, ..self }
    }
    /// Says for which calls it may read rows of its first argument as they are made.
    pub const fn reads_rows_if(self, f: CallFn) -> OpDef {
        OpDef { reads_rows: Some(f), ..self }
    }
    /// Decomposes as a call text.
    pub const fn expr(self, text: &'static str) -> OpDef {
        OpDef { decomp: Decomp::Expr(text), ..self }
    }
    /// Decomposes by a function.
    pub const fn decomp(self, f: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>) -> OpDef {
        OpDef { decomp: Decomp::Fn(f), ..self }
    }
    /// Says that its work is what is usual for kernels of the class.
    pub const fn work(self, class: Class) -> OpDef {
        OpDef { work: Work::Usual(class), ..self }
    }
    /// Says that its work is what the function counts.
    pub const fn cost(self, class: Class, count: CostFn) -> OpDef {
        OpDef { work: Work::Counted(class, count), ..self }
    }
    /// Sets the exactness.
    pub const fn exact(self, exact: Exact) -> OpDef {
        OpDef { exact, ..self }
    }
    /// Says for which calls it is exact to the bit.
    pub const fn exact_if(self, f: fn(&Args<'_, Meta>) -> Result<bool>) -> OpDef {
        OpDef { exact: Exact::Bits, exact_if: Some(f), ..self }
    }
    /// Whether every implementation gives the same bits for a call.
    pub fn is_exact(&self, args: &Args<'_, Meta>) -> bool {
        self.exact == Exact::Bits && self.exact_if.is_none_or(|holds| holds(args).unwrap_or(false))
    }
    /// Sets the effect.
    pub const fn effect(self, effect: Effect) -> OpDef {
        OpDef { effect, ..self }
    }
    /// Makes it random where these arguments ask for it, and pure elsewhere: `&["dropout_p"]`, `&["p", "train"]`.
    pub const fn random_if(self, draws_if: &'static [&'static str]) -> OpDef {
        OpDef { effect: Effect::Random, draws_if, ..self }
    }
    /// Says what the first argument of a random operator has to do with what is drawn.
    pub const fn noise(self, noise: Noise) -> OpDef {
        OpDef { noise, ..self }
    }
    /// Names the arguments that make the result finite if they are.
    pub const fn finite_of(self, arguments: &'static [&'static str]) -> OpDef {
        OpDef { finite_of: Some(arguments), ..self }
    }
    /// Says that its elements do not depend on the strides of its operands.
    pub const fn any_strides(self) -> OpDef {
        OpDef { operand_strides: OperandStrides::Any, ..self }
    }
    /// As [`OpDef::any_strides`], and says which calls are faster over channels that are neighbors.
    pub const fn channels_last_if(self, f: fn(&Args<'_, Meta>) -> Result<bool>) -> OpDef {
        OpDef { operand_strides: OperandStrides::ChannelsLast(f), ..self }
    }
    /// Says that PyTorch's bits depend on strides.
    pub const fn bits_by_strides(self) -> OpDef {
        OpDef { bits_by_strides: true, ..self }
    }
    /// Says that it reads its first argument's storage past the elements of the tensor.
    pub const fn reads_storage(self) -> OpDef {
        OpDef { reads_storage: true, operand_strides: OperandStrides::Recorded, ..self }
    }
    /// Says when the result lies in the first argument's storage, where the schema does not.
    pub const fn alias_if(self, f: fn(&Args<'_, Meta>, &Fake) -> Result<bool>) -> OpDef {
        OpDef { aliasing: Aliasing::If(f), ..self }
    }
    /// Says that the result lies in storage of its own, where PyTorch only says that it may not.
    pub const fn own_storage(self) -> OpDef {
        OpDef { aliasing: Aliasing::Never, ..self }
    }
    /// Says what a write to the result makes of the first argument, as a call text over the arguments and `value`.
    pub const fn write_back(self, text: &'static str) -> OpDef {
        OpDef { write_back: WriteBack::Expr(text), ..self }
    }
    /// Says what a write to the result makes of the first argument, by a function.
    pub const fn write_back_fn(self, f: fn(&mut Builder<'_>, &Args<'_, Build>, NodeId) -> Result<NodeId>) -> OpDef {
        OpDef { write_back: WriteBack::Fn(f), ..self }
    }
    /// Names the operator that copies where the strides forbid this view.
    pub const fn or_copies(self, name: &'static str) -> OpDef {
        OpDef { or_copies: Some(name), ..self }
    }
    /// Says what it writes beside what its schema says.
    pub const fn mutation(self, mutation: &'static Mutation) -> OpDef {
        OpDef { mutation: Some(mutation), ..self }
    }
    /// Says that the numbers of `argument` index a dimension of the tensor `of`.
    pub const fn indexes(self, argument: &'static str, of: &'static str, dim: IndexedDim) -> OpDef {
        OpDef { indexes: Some(Indexes { argument, of, dim }), ..self }
    }
    /// Makes it an assertion, and says of what.
    pub const fn asserts(self, f: AssertFn) -> OpDef {
        OpDef { effect: Effect::Assert, asserts: Some(f), ..self }
    }
    /// Says that its tensors may be on several devices.
    pub const fn across_devices(self) -> OpDef {
        OpDef { across_devices: true, ..self }
    }
    /// Says that it is a Python function on numbers that PyTorch loads in programs.
    pub const fn on_numbers(self) -> OpDef {
        OpDef { on_numbers: true, ..self }
    }
    /// Says what PyTorch's fake tensors remember of an argument.
    pub const fn memo(self, memo: Memo) -> OpDef {
        OpDef { memo: Some(memo), ..self }
    }
    /// Says of which results PyTorch records other sizes than its kernel gives.
    pub const fn open_sizes(self, results: &'static [usize]) -> OpDef {
        OpDef { open_sizes: results, ..self }
    }
    /// Says what PyTorch records of it under autocast.
    pub const fn autocast_fake(self, f: AutocastFn) -> OpDef {
        OpDef { autocast_fake: Some(f), ..self }
    }
    /// Sets the samples.
    pub const fn samples(self, samples: &'static [&'static str]) -> OpDef {
        OpDef { samples, ..self }
    }
    /// The name: the schema up to its parenthesis.
    pub fn name(&self) -> &'static str {
        self.schema.split('(').next().unwrap_or(self.schema)
    }
}
