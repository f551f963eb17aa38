//! Argument lists bound to a schema, read in one of three worlds.
//!
//! ```text
//! world    tensor   int              used by
//! Meta     Fake     Expr             meta functions, costs
//! Build    NodeId   Sym<i64, NodeId> decompositions
//! Real     Tensor   i64              kernels
//! ```
//!
//! A body reads its arguments as a tuple, in schema order, already bound: defaults filled, kinds checked.
//!
//! ```ignore
//! let (x, dim, half): (&Fake, i64, bool) = args.unpack()?;
//! ```
//!
//! Law: the tuple may be shorter than the schema (trailing arguments ignored), never longer.

use crate::schema::{FunctionSchema, Type};
use crate::{
    Argument, Callable, Device, Error, Fake, Kwargs, MemoryFormat, MemoryLayout, MetaCx, NodeId, Op, Prepared, Result,
    RunCx, Val,
};
use indexmap::IndexMap;
pub use num_complex::Complex64 as Complex;
use oxport_sym::Expr;
use oxport_tensor::conv::Sliding;
use oxport_tensor::gemm::After;
use oxport_tensor::{DType, Tensor};
use std::fmt::{self, Debug, Display};
use std::sync::Arc;

/// What tensors, numbers and subgraphs are in one reading of the graph.
pub trait World: Sized + Clone + 'static {
    /// A tensor.
    type Tensor: Clone + Debug;
    /// An integer.
    type Int: Numeral<i64>;
    /// A float.
    type Float: Numeral<f64>;
    /// A bool.
    type Bool: Numeral<bool>;
    /// A subgraph.
    type Graph: Clone + Debug;
    /// What bodies may ask of their surroundings.
    type Cx<'a>;
}

/// A number of a world: a constant, or what stands for a number that is not known yet.
pub trait Numeral<T>: Clone + Debug + From<T> {
    /// The number, if it is known.
    fn known(&self) -> Option<T>;
}

/// While inferring: fakes and expressions.
#[derive(Clone, Copy, Debug)]
pub enum Meta {}
/// While building: nodes.
#[derive(Clone, Copy, Debug)]
pub enum Build {}
/// While running: tensors with data.
#[derive(Clone, Copy, Debug)]
pub enum Real {}

/// A number that is known (`Const`) or stands for something computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Sym<T, S> {
    /// Known.
    Const(T),
    /// Computed: an expression, or a node.
    Sym(S),
}

impl<T, S> From<T> for Sym<T, S> {
    fn from(x: T) -> Self {
        Sym::Const(x)
    }
}

impl<T: Copy + Debug, S: Clone + Debug> Numeral<T> for Sym<T, S> {
    fn known(&self) -> Option<T> {
        if let Sym::Const(c) = self { Some(*c) } else { None }
    }
}

impl Numeral<i64> for Expr {
    fn known(&self) -> Option<i64> {
        self.as_int()
    }
}

macro_rules! known {
    ($($t:ty)*) => {$(
        impl Numeral<$t> for $t {
            fn known(&self) -> Option<$t> {
                Some(*self)
            }
        }
    )*};
}
known! { i64 f64 bool }

/// What a meta function sees of a subgraph.
#[derive(Clone, Debug)]
pub struct SubgraphMeta {
    /// The meta values of its placeholders.
    pub inputs: Vec<Val>,
    /// The meta values of what it returns.
    pub outputs: Vec<Val>,
    /// True if it returns its one output bare.
    pub is_single_return: bool,
}

impl World for Meta {
    type Tensor = Fake;
    type Int = Expr;
    type Float = Sym<f64, Expr>;
    type Bool = Sym<bool, Expr>;
    type Graph = Arc<SubgraphMeta>;
    type Cx<'a> = MetaCx<'a>;
}

impl World for Build {
    type Tensor = NodeId;
    type Int = Sym<i64, NodeId>;
    type Float = Sym<f64, NodeId>;
    type Bool = Sym<bool, NodeId>;
    type Graph = NodeId;
    type Cx<'a> = ();
}

impl World for Real {
    type Tensor = Tensor;
    type Int = i64;
    type Float = f64;
    type Bool = bool;
    type Graph = Arc<dyn Callable>;
    type Cx<'a> = RunCx;
}

/// One argument.
#[derive(Clone, Debug)]
pub enum Arg<W: World> {
    /// `None`, or left out where the default is `None`.
    None,
    /// A tensor.
    Tensor(W::Tensor),
    /// An integer.
    Int(W::Int),
    /// A float.
    Float(W::Float),
    /// A bool.
    Bool(W::Bool),
    /// A complex constant.
    Complex(Complex),
    /// A string.
    Str(Arc<str>),
    /// A dtype.
    DType(DType),
    /// A layout.
    Layout(MemoryLayout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
    /// An operator as a value.
    Op(Op),
    /// A list.
    List(Vec<Arg<W>>),
    /// A dictionary.
    Dict(IndexMap<Arc<str>, Arg<W>>),
    /// A subgraph.
    Graph(W::Graph),
    /// An effect token.
    Token,
}

impl<W: World> Arg<W> {
    /// A word for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Arg::None => "None",
            Arg::Tensor(_) => "Tensor",
            Arg::Int(_) => "int",
            Arg::Float(_) => "float",
            Arg::Bool(_) => "bool",
            Arg::Complex(_) => "complex",
            Arg::Str(_) => "str",
            Arg::DType(_) => "ScalarType",
            Arg::Layout(_) => "Layout",
            Arg::MemoryFormat(_) => "MemoryFormat",
            Arg::Device(_) => "Device",
            Arg::Op(_) => "operator",
            Arg::List(_) => "list",
            Arg::Dict(_) => "dict",
            Arg::Graph(_) => "graph",
            Arg::Token => "token",
        }
    }

    /// A constant argument; nodes are given by `node`.
    ///
    /// # Errors
    /// Those of `node`.
    pub fn lower(a: &Argument, node: &mut dyn FnMut(NodeId) -> Result<Arg<W>>) -> Result<Arg<W>> {
        Ok(match a {
            Argument::None => Arg::None,
            Argument::Node(n) => node(*n)?,
            Argument::Int(n) => Arg::Int((*n).into()),
            Argument::Float(x) => Arg::Float((*x).into()),
            Argument::Bool(b) => Arg::Bool((*b).into()),
            Argument::Complex(c) => Arg::Complex(*c),
            Argument::Str(s) => Arg::Str(s.clone()),
            Argument::DType(d) => Arg::DType(*d),
            Argument::Layout(l) => Arg::Layout(*l),
            Argument::MemoryFormat(m) => Arg::MemoryFormat(*m),
            Argument::Device(d) => Arg::Device(d.clone()),
            Argument::Op(op) => Arg::Op(op.clone()),
            Argument::List(l) => Arg::List(l.iter().map(|a| Arg::lower(a, node)).collect::<Result<_>>()?),
            Argument::Dict(d) => {
                Arg::Dict(d.iter().map(|(k, a)| Ok((k.clone(), Arg::lower(a, node)?))).collect::<Result<_>>()?)
            }
        })
    }

    /// True if a schema argument of this type takes this.
    pub fn fits(&self, ty: &Type) -> bool {
        match (ty, self) {
            (Type::Other(_), _) | (Type::Generator, Arg::None) => true,
            (Type::Optional(_), Arg::None) => true,
            (Type::Optional(t), a) => a.fits(t),
            // A Python number may stand for a tensor: a wrapped number.
            (Type::Tensor, Arg::Tensor(_) | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Complex(_)) => true,
            (Type::Int | Type::SymInt, Arg::Int(_)) => true,
            (Type::Float, Arg::Float(_) | Arg::Int(_)) => true,
            (Type::Bool, Arg::Bool(_)) => true,
            (Type::Scalar, Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Complex(_)) => true,
            (Type::Str, Arg::Str(_)) | (Type::DType, Arg::DType(_)) | (Type::Layout, Arg::Layout(_)) => true,
            (Type::MemoryFormat, Arg::MemoryFormat(_)) | (Type::Device, Arg::Device(_) | Arg::Str(_)) => true,
            (Type::List(t, _), Arg::List(l)) => l.iter().all(|a| a.fits(t)),
            _ => false,
        }
    }
}

/// Binds a call's arguments to its schema: one [`Arg`] per schema argument, defaults filled in, kinds checked, single
/// numbers spread over fixed-length lists (`stride=1` for `int[2] stride`). Nodes are given by `node`.
///
/// # Errors
/// An argument is missing, unknown, given twice or of the wrong kind; the message names it.
pub fn bind<W: World>(
    schema: &FunctionSchema,
    args: &[Argument],
    kwargs: &Kwargs,
    node: &mut dyn FnMut(NodeId) -> Result<Arg<W>>,
) -> Result<Vec<Arg<W>>> {
    let name = &schema.name;
    if args.len() > schema.positional() {
        return Err(Error::invalid(format!(
            "{name} takes {} positional arguments, not {}",
            schema.positional(),
            args.len()
        )));
    }
    for (key, _) in kwargs {
        match schema.arg(key) {
            None => return Err(Error::invalid(format!("{name} has no argument `{key}`"))),
            Some((i, _)) if i < args.len() => {
                return Err(Error::invalid(format!("{name}: argument `{key}` is given twice")));
            }
            _ => {}
        }
    }
    let mut bound = Vec::with_capacity(schema.args.len());
    for (i, param) in schema.args.iter().enumerate() {
        let given = args.get(i).or_else(|| kwargs.get(&*param.name)).or(param.default.as_ref());
        let Some(given) = given else {
            return Err(Error::invalid(format!("{name}: argument `{}` is missing", param.name)));
        };
        let mut arg = Arg::lower(given, node)?;
        if let Type::List(_, Some(n)) = param.ty.strip_optional()
            && !matches!(arg, Arg::List(_) | Arg::None)
        {
            arg = Arg::List(vec![arg; *n as usize]);
        }
        if !arg.fits(&param.ty) {
            let (got, ty) = (arg.kind(), &param.ty);
            return Err(Error::invalid(format!("{name}: argument `{}`: expected {ty}, got {got}", param.name)));
        }
        bound.push(arg);
    }
    Ok(bound)
}

/// A bound argument list with its surroundings.
pub struct Args<'a, W: World> {
    /// One argument per schema argument; for operators without schema, the positional ones.
    pub values: &'a [Arg<W>],
    /// The operator called.
    pub op: &'a Op,
    /// The surroundings.
    pub cx: &'a W::Cx<'a>,
    /// What the operator has made of the constants among the arguments: see [`Args::prepared`].
    prepared: Option<&'a Prepared>,
    /// What finished elements are given to: see [`Args::after`].
    after: Option<After<'a>>,
    /// See [`Args::sliding`].
    sliding: Sliding<'a>,
}

impl<'a, W: World> Args<'a, W> {
    /// Arguments of which nothing is prepared.
    pub fn new(values: &'a [Arg<W>], op: &'a Op, cx: &'a W::Cx<'a>) -> Self {
        Args { values, op, cx, prepared: None, after: None, sliding: Sliding::None }
    }
    /// The same arguments, with what finished elements of the first output are given to.
    pub fn with_after(self, after: Option<After<'a>>) -> Self {
        Args { after, ..self }
    }
    /// What a kernel may give to a product or convolution that fills its first output, from its first element on, and
    /// is the last thing that it does. Without effect on the results.
    pub fn after(&self) -> Option<After<'a>> {
        self.after
    }
    /// The same arguments, with what a convolution has to do with its neighbor.
    pub fn with_sliding(self, sliding: Sliding<'a>) -> Self {
        Args { sliding, ..self }
    }
    /// What a kernel gives to the convolution that fills its first output; of [`OpDef::reads_rows`], the first argument
    /// may be absent then. Without effect on the results.
    ///
    /// [`OpDef::reads_rows`]: crate::OpDef::reads_rows
    pub fn sliding(&self) -> Sliding<'a> {
        self.sliding
    }
    /// The same arguments, with what [`OpDef::prepare`](crate::OpDef::prepare) has made of the constants among them.
    pub fn with_prepared(self, prepared: Option<&'a Prepared>) -> Self {
        Args { prepared, ..self }
    }
    /// What was made of the constants when the plan was, if something was. The results must be the same without it.
    pub fn prepared<T: std::any::Any>(&self) -> Option<&'a T> {
        self.prepared.and_then(Prepared::get)
    }
    /// The operator's name, to show in a message: `aten::add.Tensor`.
    pub fn name(&self) -> NameToShow<'a> {
        NameToShow(self.op.name())
    }
    /// The same without its namespace, as PyTorch's own sentences have it: `add.Tensor`.
    pub fn short_name(&self) -> NameToShow<'a> {
        NameToShow(self.op.short_name())
    }
    /// Whether the operator's schema has an argument of this name.
    pub fn has(&self, name: &str) -> bool {
        self.op.schema().is_some_and(|s| s.arg(name).is_some())
    }
}

/// A name that can be shown and not compared: what tells operators apart stands in their rows, not in their names.
#[derive(Clone, Copy)]
pub struct NameToShow<'a>(&'a str);

impl Display for NameToShow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
