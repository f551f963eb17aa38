//! Arguments of one world as those of another: what all worlds share stays, tensors, numbers and subgraphs are given by
//! whoever knows both.

use crate::args::{Meta, Real, SubgraphMeta};
use crate::{Arg, Error, Fake, Result, Sym, Value, World};
use oxport_sym::Expr;
use std::sync::Arc;

impl<W: World> Arg<W> {
    /// The argument in another world, if it means the same in every one: neither tensor nor number nor subgraph, and no
    /// container.
    pub fn shared<V: World>(&self) -> Option<Arg<V>> {
        Some(match self {
            Arg::None => Arg::None,
            Arg::Complex(c) => Arg::Complex(*c),
            Arg::Str(s) => Arg::Str(s.clone()),
            Arg::DType(d) => Arg::DType(*d),
            Arg::Layout(l) => Arg::Layout(*l),
            Arg::MemoryFormat(m) => Arg::MemoryFormat(*m),
            Arg::Device(d) => Arg::Device(d.clone()),
            Arg::Op(op) => Arg::Op(op.clone()),
            Arg::Token => Arg::Token,
            Arg::Tensor(_) | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Graph(_) => return None,
            Arg::List(_) | Arg::Dict(_) => return None,
        })
    }

    /// The argument in another world; `leaf` gives tensors, numbers and subgraphs, within containers, too.
    ///
    /// # Errors
    /// Those of `leaf`.
    pub fn translate<V: World>(&self, leaf: &mut dyn FnMut(&Arg<W>) -> Result<Arg<V>>) -> Result<Arg<V>> {
        Ok(match self {
            Arg::List(l) => Arg::List(l.iter().map(|a| a.translate(leaf)).collect::<Result<_>>()?),
            Arg::Dict(d) => {
                Arg::Dict(d.iter().map(|(k, a)| Ok((k.clone(), a.translate(leaf)?))).collect::<Result<_>>()?)
            }
            other => match other.shared() {
                Some(shared) => shared,
                None => leaf(other)?,
            },
        })
    }
}

impl Arg<Real> {
    /// What a meta function sees of it: sizes, dtype and strides of tensors, numbers as constants, a subgraph of which
    /// nothing is known.
    pub fn to_meta(&self) -> Arg<Meta> {
        match self {
            Arg::Tensor(t) => Arg::Tensor(Fake::of(t)),
            Arg::Int(n) => Arg::Int(Expr::from(*n)),
            Arg::Float(x) => Arg::Float(Sym::Const(*x)),
            Arg::Bool(b) => Arg::Bool(Sym::Const(*b)),
            Arg::List(l) => Arg::List(l.iter().map(Arg::to_meta).collect()),
            Arg::Dict(d) => Arg::Dict(d.iter().map(|(k, a)| (k.clone(), a.to_meta())).collect()),
            Arg::Graph(_) => {
                Arg::Graph(Arc::new(SubgraphMeta { inputs: Vec::new(), outputs: Vec::new(), is_single_return: false }))
            }
            other => other.shared().unwrap_or(Arg::None),
        }
    }

    /// The argument as a value that a program could compute.
    ///
    /// # Errors
    /// It is a dtype, a layout, a memory format, a device, an operator, a dictionary or a subgraph.
    pub fn to_value(&self) -> Result<Value> {
        Ok(match self {
            Arg::None => Value::None,
            Arg::Tensor(t) => Value::Tensor(t.clone()),
            Arg::Int(n) => Value::Int(*n),
            Arg::Float(x) => Value::Float(*x),
            Arg::Bool(b) => Value::Bool(*b),
            Arg::Complex(c) => Value::Complex(*c),
            Arg::Str(s) => Value::Str(s.clone()),
            Arg::List(l) => Value::List(l.iter().map(Arg::to_value).collect::<Result<_>>()?),
            Arg::Token => Value::Token,
            other => return Err(Error::unsupported(format!("expected a tensor or a number, got a {}", other.kind()))),
        })
    }
}

impl From<Value> for Arg<Real> {
    #[inline]
    fn from(value: Value) -> Arg<Real> {
        match value {
            Value::None => Arg::None,
            Value::Tensor(t) => Arg::Tensor(t),
            Value::Int(n) => Arg::Int(n),
            Value::Float(x) => Arg::Float(x),
            Value::Bool(b) => Arg::Bool(b),
            Value::Complex(c) => Arg::Complex(c),
            Value::Str(s) => Arg::Str(s),
            Value::List(l) => Arg::List(l.into_iter().map(Arg::from).collect()),
            Value::Token => Arg::Token,
        }
    }
}
