//! The Rust types that a bound argument can be read as.
//!
//! Law: reading never guesses; an argument that is symbolic is not read as a number.

use crate::args::{Arg, Args, Build, Complex, Meta, Numeral, Real, SubgraphMeta, Sym, World};
use crate::{Argument, Callable, Device, Error, Fake, MemoryFormat, MemoryLayout, NodeId, Op, Result};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, Tensor};
use std::sync::Arc;

/// A Rust type that an argument can be read as.
pub trait FromArg<'a, W: World>: Sized {
    /// What the type expects, for messages.
    const EXPECTS: &'static str;
    /// The argument as this type.
    fn from_arg(a: &'a Arg<W>) -> Option<Self>;
}

/// Tuples of [`FromArg`] types.
pub trait Unpack<'a, W: World>: Sized {
    /// See [`Args::unpack`].
    ///
    /// # Errors
    /// As there.
    fn unpack(args: &Args<'a, W>) -> Result<Self>;
}

macro_rules! unpack {
    ($($T:ident $i:tt),*) => {
        impl<'a, W: World, $($T: FromArg<'a, W>),*> Unpack<'a, W> for ($($T,)*) {
            #[track_caller]
            fn unpack(args: &Args<'a, W>) -> Result<Self> {
                Ok(($(args.at::<$T>($i)?,)*))
            }
        }
    };
}
unpack!(A 0);
unpack!(A 0, B 1);
unpack!(A 0, B 1, C 2);
unpack!(A 0, B 1, C 2, D 3);
unpack!(A 0, B 1, C 2, D 3, E 4);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
unpack!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

/// A number or a tensor, where the schema says `Tensor` and Python numbers may stand for it.
#[derive(Debug)]
pub enum Operand<'a, W: World> {
    /// A tensor.
    Tensor(&'a W::Tensor),
    /// A wrapped number: 0-d, and in type promotion it counts for its category only.
    Number(Number<W>),
}

/// A number that is possibly symbolic.
#[derive(Clone, Debug)]
pub enum Number<W: World> {
    /// An integer.
    Int(W::Int),
    /// A float.
    Float(W::Float),
    /// A bool.
    Bool(W::Bool),
    /// A complex constant.
    Complex(Complex),
}

impl<W: World> Number<W> {
    /// The number, if it is known.
    pub fn known(&self) -> Option<Scalar> {
        match self {
            Number::Int(n) => n.known().map(Scalar::Int),
            Number::Float(x) => x.known().map(Scalar::Float),
            Number::Bool(b) => b.known().map(Scalar::Bool),
            Number::Complex(c) => Some(Scalar::Complex(*c)),
        }
    }
    /// The dtype that a wrapped number has by itself: int64, float32, bool, complex64.
    pub fn default_dtype(&self) -> DType {
        match self {
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F32,
            Number::Bool(_) => DType::Bool,
            Number::Complex(_) => DType::C64,
        }
    }
}

impl<'a, W: World> FromArg<'a, W> for Number<W> {
    const EXPECTS: &'static str = "a number";
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        Some(match a {
            Arg::Int(n) => Number::Int(n.clone()),
            Arg::Float(x) => Number::Float(x.clone()),
            Arg::Bool(b) => Number::Bool(b.clone()),
            Arg::Complex(c) => Number::Complex(*c),
            _ => return None,
        })
    }
}

impl<'a, W: World> FromArg<'a, W> for Operand<'a, W> {
    const EXPECTS: &'static str = "a tensor or a number";
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        match a {
            Arg::Tensor(t) => Some(Operand::Tensor(t)),
            other => Number::from_arg(other).map(Operand::Number),
        }
    }
}

impl<'a, W: World> FromArg<'a, W> for &'a Arg<W> {
    const EXPECTS: &'static str = "anything";
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        Some(a)
    }
}

impl<'a, W: World, T: FromArg<'a, W>> FromArg<'a, W> for Option<T> {
    const EXPECTS: &'static str = T::EXPECTS;
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        if let Arg::None = a { Some(None) } else { T::from_arg(a).map(Some) }
    }
}

impl<'a, W: World, T: FromArg<'a, W>> FromArg<'a, W> for Vec<T> {
    const EXPECTS: &'static str = T::EXPECTS;
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        if let Arg::List(l) = a { l.iter().map(T::from_arg).collect() } else { None }
    }
}

macro_rules! from_arg {
    ($($T:ty, $expects:literal, $arg:pat => $value:expr;)*) => {$(
        impl<'a, W: World> FromArg<'a, W> for $T {
            const EXPECTS: &'static str = $expects;
            fn from_arg(a: &'a Arg<W>) -> Option<Self> {
                match a {
                    $arg => $value,
                    _ => None,
                }
            }
        }
    )*};
}
from_arg! {
    i64, "a known int", Arg::Int(n) => n.known();
    bool, "a known bool", Arg::Bool(b) => b.known();
    &'a str, "a string", Arg::Str(s) => Some(s);
    DType, "a dtype", Arg::DType(d) => Some(*d);
    MemoryLayout, "a layout", Arg::Layout(l) => Some(*l);
    MemoryFormat, "a memory format", Arg::MemoryFormat(m) => Some(*m);
    &'a Device, "a device", Arg::Device(d) => Some(d);
    &'a Op, "an operator", Arg::Op(op) => Some(op);
}

impl<'a, W: World> FromArg<'a, W> for f64 {
    const EXPECTS: &'static str = "a known number";
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        match a {
            Arg::Float(x) => x.known(),
            Arg::Int(n) => n.known().map(|n| n as f64),
            _ => None,
        }
    }
}

impl<'a, W: World> FromArg<'a, W> for Scalar {
    const EXPECTS: &'static str = "a known number";
    fn from_arg(a: &'a Arg<W>) -> Option<Self> {
        Number::from_arg(a)?.known()
    }
}

macro_rules! world_types {
    ($($W:ty: $T:ty, $G:ty;)*) => {$(
        impl<'a> FromArg<'a, $W> for &'a $T {
            const EXPECTS: &'static str = "a tensor";
            fn from_arg(a: &'a Arg<$W>) -> Option<Self> {
                if let Arg::Tensor(t) = a { Some(t) } else { None }
            }
        }
        impl<'a> FromArg<'a, $W> for &'a $G {
            const EXPECTS: &'static str = "a subgraph";
            fn from_arg(a: &'a Arg<$W>) -> Option<Self> {
                if let Arg::Graph(g) = a { Some(g) } else { None }
            }
        }
    )*};
}
world_types! {
    Meta: Fake, Arc<SubgraphMeta>;
    Real: Tensor, Arc<dyn Callable>;
}

impl<'a> FromArg<'a, Build> for NodeId {
    const EXPECTS: &'static str = "a tensor";
    fn from_arg(a: &'a Arg<Build>) -> Option<Self> {
        if let Arg::Tensor(t) | Arg::Graph(t) = a { Some(*t) } else { None }
    }
}

impl<'a> FromArg<'a, Meta> for Expr {
    const EXPECTS: &'static str = "an int";
    fn from_arg(a: &'a Arg<Meta>) -> Option<Self> {
        if let Arg::Int(n) = a { Some(n.clone()) } else { None }
    }
}

/// Any argument as it stands in a graph: for decompositions that pass it on.
impl<'a> FromArg<'a, Build> for Argument {
    const EXPECTS: &'static str = "anything";
    fn from_arg(a: &'a Arg<Build>) -> Option<Self> {
        fn sym<T: Copy + Into<Argument>>(s: &Sym<T, NodeId>) -> Argument {
            match s {
                Sym::Const(c) => (*c).into(),
                Sym::Sym(n) => Argument::Node(*n),
            }
        }
        Some(match a {
            Arg::None | Arg::Token => Argument::None,
            Arg::Tensor(n) | Arg::Graph(n) => Argument::Node(*n),
            Arg::Int(n) => sym(n),
            Arg::Float(x) => sym(x),
            Arg::Bool(b) => sym(b),
            Arg::Complex(c) => Argument::Complex(*c),
            Arg::Str(s) => Argument::Str(s.clone()),
            Arg::DType(d) => Argument::DType(*d),
            Arg::Layout(l) => Argument::Layout(*l),
            Arg::MemoryFormat(m) => Argument::MemoryFormat(*m),
            Arg::Device(d) => Argument::Device(d.clone()),
            Arg::Op(op) => Argument::Op(op.clone()),
            Arg::List(l) => Argument::List(l.iter().map(Argument::from_arg).collect::<Option<_>>()?),
            Arg::Dict(d) => {
                let item = |(k, a): (&Arc<str>, &'a Arg<Build>)| Some((k.clone(), Argument::from_arg(a)?));
                Argument::Dict(d.iter().map(item).collect::<Option<_>>()?)
            }
        })
    }
}

impl<'a, W: World> Args<'a, W> {
    /// The leading arguments as a tuple of Rust types.
    ///
    /// # Errors
    /// An argument's value is not what the body can take (symbolic where it needs a number); the message names it.
    ///
    /// # Panics
    /// The tuple is longer than the schema.
    #[track_caller]
    pub fn unpack<T: Unpack<'a, W>>(&self) -> Result<T> {
        T::unpack(self)
    }
    /// Argument `i`.
    ///
    /// # Errors
    /// As [`Args::unpack`]; or a call of an operator without schema has no such argument.
    #[track_caller]
    pub fn at<T: FromArg<'a, W>>(&self, i: usize) -> Result<T> {
        let Some(arg) = self.values.get(i) else {
            return Err(Error::invalid(format!("{}: argument {i} is missing", self.op.name())));
        };
        T::from_arg(arg).ok_or_else(|| {
            let name = self.op.schema().and_then(|s| s.args.get(i)).map_or(String::new(), |a| format!(" `{}`", a.name));
            Error::invalid(format!(
                "{}: argument {i}{name}: expected {}, got {}",
                self.op.name(),
                T::EXPECTS,
                describe(arg)
            ))
        })
    }
    /// The argument of that name as a node's argument; `None` if there is no such argument, or it is none.
    pub fn argument(&self, name: &str) -> Option<Argument>
    where
        Argument: FromArg<'a, W>,
    {
        let (i, _) = self.op.schema()?.arg(name)?;
        Argument::from_arg(self.values.get(i)?)
    }
    /// The argument of that name.
    ///
    /// # Errors
    /// As [`Args::unpack`].
    ///
    /// # Panics
    /// The schema has no such argument.
    #[track_caller]
    pub fn named<T: FromArg<'a, W>>(&self, name: &str) -> Result<T> {
        let (i, _) = self.op.schema().and_then(|s| s.arg(name)).expect("law: a body names arguments of its schema");
        self.at(i)
    }
}

fn describe<W: World>(arg: &Arg<W>) -> String {
    match arg {
        Arg::List(l) => format!("[{}]", l.iter().map(describe).collect::<Vec<_>>().join(", ")),
        Arg::Int(n) => n.known().map_or_else(|| format!("{n:?}"), |n| n.to_string()),
        other => other.kind().to_string(),
    }
}
