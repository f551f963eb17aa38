//! The inputs of a capture: `x: f32[b, 3, h, w]`, and the ranges of their sizes: `b=1..64`.

use crate::error::R;
use crate::interp::Interp;
use oxport_capture::{SymInt, Tensor, Tracer, Value as Traced};
use oxport_ir::{Fake, RangeConstraint};
use oxport_sym::Expr;
use oxport_tensor::DType;
use std::collections::HashMap;

/// A size of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Size {
    Known(i64),
    Named(String),
}

/// An input: its name, and a tensor's dtype and sizes, or a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name of the argument.
    pub name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Tensor(DType, Vec<Size>),
    Int(i64),
    Float(f64),
    Bool(bool),
    None,
}

impl Input {
    /// Reads `x: f32[b, 3]`, `n: 3`, `flag: True`.
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn parse(text: &str) -> Result<Input, String> {
        let wrong = || format!("input {text:?}: expected `name: f32[2, n]` or `name: number`");
        let (name, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (name, rest) = (name.trim().to_string(), rest.trim());
        let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric());
        if !is_name {
            return Err(wrong());
        }
        let kind = match rest {
            "None" => Kind::None,
            "True" => Kind::Bool(true),
            "False" => Kind::Bool(false),
            _ if rest.ends_with(']') => {
                let (dtype, sizes) = rest.trim_end_matches(']').split_once('[').ok_or_else(wrong)?;
                let dtype = dtype.trim();
                let found = DType::from_short(dtype).or_else(|| DType::from_name(dtype));
                let dtype = found.ok_or_else(|| format!("input {text:?}: expected a dtype, got {dtype:?}"))?;
                let size = |text: &str| match text.parse::<i64>() {
                    Ok(n) if n >= 0 => Ok(Size::Known(n)),
                    _ if text.chars().all(|c| c == '_' || c.is_alphanumeric()) => Ok(Size::Named(text.to_string())),
                    _ => Err(wrong()),
                };
                let parts = sizes.split(',').map(str::trim).filter(|p| !p.is_empty());
                Kind::Tensor(dtype, parts.map(size).collect::<Result<_, _>>()?)
            }
            _ => match (rest.parse::<i64>(), rest.parse::<f64>()) {
                (Ok(n), _) => Kind::Int(n),
                (_, Ok(f)) => Kind::Float(f),
                _ => return Err(wrong()),
            },
        };
        Ok(Input { name, kind })
    }
}

/// The range of a named size, and the size that the code is traced with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dim {
    /// The name.
    pub name: String,
    /// The least size.
    pub min: Option<i64>,
    /// The greatest size.
    pub max: Option<i64>,
    /// The size that decides branches.
    pub hint: Option<i64>,
}

impl Dim {
    /// Reads `b=1..64`, `b=2..`, `b=1..64:8` (traced with 8).
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn parse(text: &str) -> Result<Dim, String> {
        let wrong = || format!("dim {text:?}: expected `name=min..max` or `name=min..max:example`");
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        let (range, hint) = match range.split_once(':') {
            Some((range, hint)) => (range, Some(hint.trim().parse().map_err(|_| wrong())?)),
            None => (range, None),
        };
        let (min, max) = range.split_once("..").ok_or_else(wrong)?;
        let bound = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse::<i64>().map(Some).map_err(|_| wrong()),
        };
        let dim = Dim { name: name.trim().to_string(), min: bound(min)?, max: bound(max)?, hint };
        if let (Some(min), Some(max)) = (dim.min, dim.max)
            && (min > max || min < 0)
        {
            return Err(format!("dim {text:?}: expected a range of sizes, got {min}..{max}"));
        }
        Ok(dim)
    }
}

/// Adds the inputs to a program, and gives their values.
pub(crate) fn add(interp: &Interp, tracer: &Tracer, inputs: &[Input], dims: &[Dim]) -> R<Vec<Traced>> {
    let is_named = |dim: &Dim| {
        let sizes = inputs.iter().filter_map(|i| if let Kind::Tensor(_, sizes) = &i.kind { Some(sizes) } else { None });
        sizes.flatten().any(|size| matches!(size, Size::Named(name) if *name == dim.name))
    };
    if let Some(dim) = dims.iter().find(|dim| !is_named(dim)) {
        return interp.raise("TypeError", format!("no input has a size `{}`", dim.name));
    }
    let mut known: HashMap<&str, SymInt> = HashMap::new();
    let mut values = Vec::new();
    for input in inputs {
        let value = match &input.kind {
            Kind::Tensor(dtype, sizes) => {
                let mut exprs: Vec<Expr> = Vec::new();
                for (at, size) in sizes.iter().enumerate() {
                    exprs.push(match size {
                        Size::Known(n) => Expr::from(*n),
                        Size::Named(name) => {
                            let source = format!("L['{}'].size()[{at}]", input.name);
                            let symbol = known.entry(name).or_insert_with(|| symbol(tracer, &source, name, dims));
                            symbol.expr().clone()
                        }
                    });
                }
                let made: Result<Tensor, _> = tracer.input(&input.name, Fake::new(*dtype, exprs));
                match made {
                    Ok(tensor) => Traced::Tensor(tensor),
                    Err(error) => return interp.raise("RuntimeError", error.message()),
                }
            }
            constant => {
                let value = match constant {
                    Kind::Int(n) => Traced::from(*n),
                    Kind::Float(f) => Traced::from(*f),
                    Kind::Bool(b) => Traced::from(*b),
                    _ => Traced::None,
                };
                if let Err(error) = tracer.constant_input(&input.name, &value) {
                    return interp.raise("RuntimeError", error.message());
                }
                value
            }
        };
        values.push(value);
    }
    Ok(values)
}

fn symbol(tracer: &Tracer, source: &str, name: &str, dims: &[Dim]) -> SymInt {
    let dim = dims.iter().find(|d| d.name == name);
    let (min, max) = (dim.and_then(|d| d.min), dim.and_then(|d| d.max));
    // An example that is neither 0 nor 1, as PyTorch's users give.
    let hint = dim.and_then(|d| d.hint).unwrap_or_else(|| 4.max(min.unwrap_or(2)).min(max.unwrap_or(i64::MAX)));
    tracer.size(source, hint, 2, RangeConstraint { min: Some(min.unwrap_or(0)), max })
}
