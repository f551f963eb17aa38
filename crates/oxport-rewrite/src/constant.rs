//! Constants as arguments, and arguments as they are written.

use oxport_ir::{Argument, Device, Kwargs, MemoryFormat, MemoryLayout, Op};
use oxport_tensor::DType;
use std::fmt;
use std::sync::Arc;

/// A constant argument, with an order and a hash: floats by their bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// `None`
    None,
    /// An int.
    Int(i64),
    /// A float's bits.
    Float(u64),
    /// A bool.
    Bool(bool),
    /// The bits of real and imaginary part.
    Complex(u64, u64),
    /// A string.
    Str(Arc<str>),
    /// A dtype, by its code in the program JSON.
    DType(u8),
    /// A layout.
    Layout(MemoryLayout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
}

impl Constant {
    /// The constant of an argument, if it is one.
    pub fn of(a: &Argument) -> Option<Constant> {
        Some(match a {
            Argument::None => Constant::None,
            Argument::Int(n) => Constant::Int(*n),
            Argument::Float(x) => Constant::Float(x.to_bits()),
            Argument::Bool(b) => Constant::Bool(*b),
            Argument::Complex(c) => Constant::Complex(c.re.to_bits(), c.im.to_bits()),
            Argument::Str(s) => Constant::Str(s.clone()),
            Argument::DType(d) => Constant::DType(d.code()),
            Argument::Layout(l) => Constant::Layout(*l),
            Argument::MemoryFormat(m) => Constant::MemoryFormat(*m),
            Argument::Device(d) => Constant::Device(d.clone()),
            _ => return None,
        })
    }
    /// The argument that this constant is.
    pub fn argument(&self) -> Argument {
        match self {
            Constant::None => Argument::None,
            Constant::Int(n) => Argument::Int(*n),
            Constant::Float(x) => Argument::Float(f64::from_bits(*x)),
            Constant::Bool(b) => Argument::Bool(*b),
            Constant::Complex(re, im) => {
                Argument::Complex(oxport_ir::Complex::new(f64::from_bits(*re), f64::from_bits(*im)))
            }
            Constant::Str(s) => Argument::Str(s.clone()),
            Constant::DType(code) => Argument::DType(DType::from_code(*code).expect("law: the code came from a dtype")),
            Constant::Layout(l) => Argument::Layout(*l),
            Constant::MemoryFormat(m) => Argument::MemoryFormat(*m),
            Constant::Device(d) => Argument::Device(d.clone()),
        }
    }
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Constant::Int(n) => Some(*n as f64),
            Constant::Float(x) => Some(f64::from_bits(*x)),
            _ => None,
        }
    }
    /// The constant that a pattern writes as this text.
    pub fn read(text: &str) -> Option<Constant> {
        match text {
            "None" => Some(Constant::None),
            "True" => Some(Constant::Bool(true)),
            "False" => Some(Constant::Bool(false)),
            quoted if quoted.len() > 1 && quoted.starts_with('\'') && quoted.ends_with('\'') => {
                Some(Constant::Str(quoted[1..quoted.len() - 1].into()))
            }
            name if DType::from_name(name).is_some() => DType::from_name(name).map(|d| Constant::DType(d.code())),
            name if MemoryFormat::ALL.iter().any(|m| m.name() == name) => {
                MemoryFormat::ALL.into_iter().find(|m| m.name() == name).map(Constant::MemoryFormat)
            }
            _ => text
                .parse()
                .map(Constant::Int)
                .or_else(|_| text.parse().map(|x: f64| Constant::Float(x.to_bits())))
                .ok(),
        }
    }
}

/// As Python writes it, without `torch.`.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::None => f.write_str("None"),
            Constant::Int(n) => write!(f, "{n}"),
            Constant::Float(x) => write!(f, "{:?}", f64::from_bits(*x)),
            Constant::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Constant::Complex(re, im) => write!(f, "({:?}, {:?})", f64::from_bits(*re), f64::from_bits(*im)),
            Constant::Str(s) => write!(f, "{s:?}"),
            Constant::DType(d) => f.write_str(DType::from_code(*d).map_or("", DType::name)),
            Constant::Layout(l) => f.write_str(l.name()),
            Constant::MemoryFormat(m) => f.write_str(m.name()),
            Constant::Device(d) => write!(f, "{d}"),
        }
    }
}

/// Arguments as the tracer writes them: keyword-only ones by name, defaults left out at the end.
pub(crate) fn written(op: &Op, arguments: Vec<Argument>) -> (Vec<Argument>, Kwargs) {
    let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
    let Some(schema) = op.schema() else { return (arguments, kwargs) };
    // By bits: −0 is not the default 0.
    let is_default = |default: Option<&Argument>, a: &Argument| {
        default.is_some_and(|d| d == a && Constant::of(d) == Constant::of(a))
    };
    for (param, argument) in schema.args.iter().zip(arguments) {
        if !param.kw_only {
            args.push(argument);
        } else if !is_default(param.default.as_ref(), &argument) {
            kwargs.insert((*param.name).into(), argument);
        }
    }
    while let Some(last) = args.last()
        && is_default(schema.args[args.len() - 1].default.as_ref(), last)
    {
        args.pop();
    }
    (args, kwargs)
}
