//! Sample texts of the operator table: `f32[2, 3], 1, alpha=2`, with `!` in front if the call must fail.
//!
//! ```text
//! tensor := dtype "[" sizes "]" ("{" strides "}")? ("<" (low "..")? high ">"? | ">" low)?
//! value  := tensor | number | True | False | None | "text" | [ value, … ] | dtype name | memory format | name=value
//! ```

use crate::{DType, Tensor};
use oxport_ir::text::split_top;
use oxport_ir::{Argument, MemoryFormat};
use oxport_tensor::Layout;

/// A parsed sample.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// True if the call must fail.
    pub is_error: bool,
    /// Positional arguments; tensors are given by their number in `tensors`, as [`Item::Tensor`].
    pub args: Vec<Item>,
    /// Keyword arguments.
    pub kwargs: Vec<(String, Item)>,
    /// The tensors, in order.
    pub tensors: Vec<Tensor>,
}

/// An argument of a sample.
#[derive(Clone, Debug)]
pub enum Item {
    /// A tensor, by its number.
    Tensor(usize),
    /// A constant.
    Const(Argument),
    /// A list.
    List(Vec<Item>),
}

impl Item {
    /// The argument, with tensors given by `tensor`.
    pub fn argument(&self, tensor: &dyn Fn(usize) -> Argument) -> Argument {
        match self {
            Item::Tensor(i) => tensor(*i),
            Item::Const(a) => a.clone(),
            Item::List(l) => Argument::List(l.iter().map(|i| i.argument(tensor)).collect()),
        }
    }
}

/// Reads a sample; tensor values are random, with a seed from the text.
///
/// # Errors
/// The text does not parse.
pub fn parse(text: &str) -> Result<Sample, String> {
    let (is_error, body) = text.strip_prefix('!').map_or((false, text), |b| (true, b));
    let mut sample = Sample { is_error, ..Sample::default() };
    for part in split_top(body) {
        let is_name = |k: &str| !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || c == '_');
        match part.split_once('=').filter(|(k, _)| is_name(k)) {
            Some((key, value)) => {
                let item = item(value.trim(), &mut sample.tensors)?;
                sample.kwargs.push((key.trim().to_string(), item));
            }
            None => {
                let item = item(part, &mut sample.tensors)?;
                sample.args.push(item);
            }
        }
    }
    Ok(sample)
}

/// Reads a constant, or a list of such.
///
/// # Errors
/// The text does not parse.
pub fn constant(text: &str) -> Result<Argument, String> {
    Ok(item(text, &mut Vec::new())?.argument(&|_| Argument::None))
}

fn item(text: &str, tensors: &mut Vec<Tensor>) -> Result<Item, String> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Ok(Item::List(split_top(inner).into_iter().map(|p| item(p, tensors)).collect::<Result<_, _>>()?));
    }
    if let Some((short, rest)) = text.split_once('[')
        && let Some(dtype) = DType::from_short(short)
    {
        tensors.push(tensor(dtype, rest, text, tensors.len())?);
        return Ok(Item::Tensor(tensors.len() - 1));
    }
    let quoted = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let format = MemoryFormat::ALL.into_iter().find(|m| m.name() == text || m.name() == format!("{text}_format"));
    Ok(Item::Const(match text {
        "None" => Argument::None,
        "True" => Argument::Bool(true),
        "False" => Argument::Bool(false),
        "cpu" => Argument::Device(oxport_ir::Device::cpu()),
        _ if text.strip_suffix('j').is_some_and(|n| n.parse::<f64>().is_ok()) => {
            let imaginary = text.trim_end_matches('j').parse().unwrap_or(0.0);
            Argument::Complex(oxport_ir::Complex::new(0.0, imaginary))
        }
        "strided" => Argument::Layout(oxport_ir::MemoryLayout::Strided),
        _ if quoted.is_some() => Argument::Str(quoted.unwrap_or("").into()),
        _ => match (text.parse(), text.parse(), DType::from_name(text), format) {
            (Ok(n), ..) => Argument::Int(n),
            (_, Ok(x), ..) => Argument::Float(x),
            (_, _, Some(d), _) => Argument::DType(d),
            (_, _, _, Some(m)) => Argument::MemoryFormat(m),
            _ => return Err(format!("expected a value, got `{text}`")),
        },
    }))
}

fn numbers(text: &str) -> Result<Vec<i64>, String> {
    split_top(text).into_iter().map(|n| n.parse().map_err(|_| format!("expected a number, got `{n}`"))).collect()
}

/// `2, 3]{1, 2}<5`
fn tensor(dtype: DType, rest: &str, text: &str, index: usize) -> Result<Tensor, String> {
    let (sizes, rest) = rest.split_once(']').ok_or_else(|| format!("`{text}`: unclosed sizes"))?;
    let sizes = numbers(sizes)?;
    let (strides, rest) = match rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
        Some((strides, rest)) => (Some(numbers(strides)?), rest),
        None => (None, rest),
    };
    let rest = if rest.starts_with('<') { rest.trim_end_matches('>') } else { rest };
    let range = match (rest.strip_prefix('<'), rest.strip_prefix('>')) {
        (Some(high), _) => match high.split_once("..") {
            Some((low, high)) => Some((number(low)?, number(high)?)),
            None => Some((0.0, number(high)?)),
        },
        (_, Some(low)) => Some((number(low)?, number(low)? + 2.0)),
        _ => None,
    };
    let count = sizes.iter().product::<i64>().max(0) as usize;
    let values = draw(dtype, count, range, index as u64 + 1);
    let made = || -> oxport_tensor::Result<Tensor> {
        let plain = Tensor::from_vec(&sizes, values)?.to_dtype(dtype)?;
        let Some(strides) = strides else { return Ok(plain) };
        let layout = Layout::new(&sizes, &strides, 0)?;
        let mut out = oxport_tensor::TensorMut::empty(dtype, layout)?;
        oxport_tensor::copy(&plain, &mut out)?;
        Ok(out.freeze())
    };
    made().map_err(|e| format!("`{text}`: {e}"))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("expected a number, got `{text}`"))
}

/// Random values: in the range, if given (integral for integer dtypes); else moderate floats, small integers, bools.
pub fn draw(dtype: DType, count: usize, range: Option<(f64, f64)>, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut unit = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (low, high) = range.unwrap_or(match dtype {
        d if d.is_bool() => (0.0, 2.0),
        d if d.is_float() || d.is_complex() => (-2.0, 2.0),
        d if d.is_signed() => (-9.0, 10.0),
        _ => (0.0, 10.0),
    });
    let is_whole = !(dtype.is_float() || dtype.is_complex());
    (0..count)
        .map(|_| {
            let x = low + unit() * (high - low);
            if is_whole { x.floor().min(high - 1.0) } else { x }
        })
        .collect()
}

/// A vector of a dtype's special values among moderate ones: smallest and largest, −0, ±∞, NaN, subnormals; complex
/// numbers with such parts. The seed determines where it begins.
///
/// # Panics
/// The allocation fails.
pub fn extremes(dtype: DType, count: usize, seed: u64) -> Tensor {
    const LAW: &str = "law: as many values as elements";
    let sizes = [count as i64];
    let plain = draw(DType::F64, 2 * count + 8, Some((-4.0, 4.0)), seed + 1);
    let pick = |i: usize, len: usize| {
        Some((i + count * seed as usize + i * (seed as usize % 3)) % (len + 3)).filter(|&at| at < len)
    };
    let part = dtype.to_real();
    let (least, greatest): (f64, f64) = match part {
        DType::F16 => (6e-8, 65504.0),
        DType::BF16 => (1e-40, 3.3895e38),
        DType::F64 => (5e-324, f64::MAX),
        _ => (1e-45, f64::from(f32::MAX)),
    };
    let tiny = if part == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let floats = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        least,
        -least,
        greatest,
        -greatest,
        tiny,
        1.0,
        -1.0,
        0.3,
        0.5,
        2.5,
    ];
    let float = |i: usize| pick(i, floats.len()).map_or(plain[i], |at| floats[at]);
    if dtype.is_complex() {
        let parts = (0..count).map(|i| oxport_ir::Complex::new(float(i), float(i + i / 4 + 5)));
        let parts: Vec<_> = parts.collect();
        return Tensor::from_vec(&sizes, parts).and_then(|t| t.to_dtype(dtype)).expect(LAW);
    }
    if dtype.is_float() {
        return Tensor::from_vec(&sizes, (0..count).map(float).collect()).and_then(|t| t.to_dtype(dtype)).expect(LAW);
    }
    let bits = 8 * dtype.size() as u32;
    let (low, high) = match (dtype.is_bool(), dtype.is_signed()) {
        (true, _) => (0, 1),
        (_, true) => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        (_, false) => (0, (u64::MAX >> (64 - bits)).min(i64::MAX as u64) as i64),
    };
    let ints = [low, low + 1, high, high - 1, 0, 1, if low < 0 { -1 } else { high / 2 }];
    let int = |i: usize| pick(i, ints.len()).map_or((plain[i] as i64).clamp(low, high), |at| ints[at]);
    Tensor::from_vec(&sizes, (0..count).map(int).collect()).and_then(|t| t.to_dtype(dtype)).expect(LAW)
}
