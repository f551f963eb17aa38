//! Values for people: a summary of a tensor, its elements as Python prints them, and its largest elements.

use crate::{DType, Result, Tensor, Value};
use oxport_tensor::Complex;

/// What the elements of a tensor are like. NaN and ±∞ do not count for `min`, `max` and `mean`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The smallest element.
    pub min: Option<f64>,
    /// The largest element.
    pub max: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// How many elements are NaN.
    pub nan: usize,
    /// How many elements are infinite.
    pub inf: usize,
    /// The first elements, as text.
    pub first: Vec<String>,
}

/// How many elements a summary shows.
const FIRST: usize = 6;

impl Summary {
    /// The summary of a tensor. Complex numbers have no order, so that only NaN and ±∞ are counted.
    ///
    /// # Errors
    /// The elements cannot be read.
    pub fn of(t: &Tensor) -> Result<Summary> {
        let mut found = Summary { first: elements(t, FIRST)?, ..Summary::default() };
        if t.dtype().is_complex() {
            for c in t.to_vec::<Complex<f64>>()? {
                found.nan += usize::from(c.re.is_nan() || c.im.is_nan());
                found.inf += usize::from(c.re.is_infinite() || c.im.is_infinite());
            }
            return Ok(found);
        }
        let (mut sum, mut count) = (0.0, 0usize);
        for x in t.to_vec::<f64>()? {
            found.nan += usize::from(x.is_nan());
            found.inf += usize::from(x.is_infinite());
            if x.is_finite() {
                found.min = Some(found.min.map_or(x, |m| m.min(x)));
                found.max = Some(found.max.map_or(x, |m| m.max(x)));
                (sum, count) = (sum + x, count + 1);
            }
        }
        found.mean = (count > 0).then(|| sum / count as f64);
        Ok(found)
    }
}

/// The first elements of a tensor in row-major order, as text.
///
/// # Errors
/// The elements cannot be read.
pub fn elements(t: &Tensor, most: usize) -> Result<Vec<String>> {
    let t = match t.numel() > most {
        // Only what is shown is converted.
        true => t.contiguous()?.view(|l| {
            let mut l = l.clone();
            (l.sizes, l.strides) = ([most as i64].into_iter().collect(), [1].into_iter().collect());
            Ok(l)
        })?,
        false => t.clone(),
    };
    Ok(match t.dtype() {
        DType::Bool => t.to_vec::<bool>()?.into_iter().map(|b| if b { "True" } else { "False" }.to_string()).collect(),
        DType::U64 => t.to_vec::<u64>()?.iter().map(ToString::to_string).collect(),
        DType::F64 => t.to_vec::<f64>()?.into_iter().map(|x| format!("{x:?}")).collect(),
        d if d.is_float() => t.to_vec::<f32>()?.into_iter().map(|x| format!("{x:?}")).collect(),
        d if d.is_complex() => t.to_vec::<Complex<f64>>()?.iter().map(|c| format!("{:?}{:+?}j", c.re, c.im)).collect(),
        _ => t.to_vec::<i64>()?.iter().map(ToString::to_string).collect(),
    })
}

/// All elements in full precision as nested lists, one row a line; tensors of more than 1000 elements are summarized.
/// (`Display` of a [`Tensor`] is PyTorch's `print`, of four digits.)
///
/// # Errors
/// The elements cannot be read.
pub fn nested(t: &Tensor) -> Result<String> {
    let texts = elements(t, usize::MAX)?;
    Ok(oxport_tensor::nested(t.sizes(), 0, usize::MAX, &|i| texts.get(i).cloned().unwrap_or_default()))
}

/// The largest elements of the last dimension, for each row: the row's index, and pairs of position and element. At
/// most `rows`.
///
/// # Errors
/// The elements cannot be read.
pub fn top(t: &Tensor, count: usize, rows: usize) -> Result<Vec<(Vec<usize>, Vec<(usize, f64)>)>> {
    let Some((&width, outer)) = t.sizes().split_last() else { return Ok(Vec::new()) };
    let width = usize::try_from(width).unwrap_or(0);
    if t.dtype().is_complex() || width == 0 {
        return Ok(Vec::new());
    }
    let all = t.to_vec::<f64>()?;
    let one = |(i, row): (usize, &[f64])| {
        let mut order: Vec<(usize, f64)> = row.iter().copied().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        order.truncate(count);
        let mut rest = i;
        let mut index: Vec<usize> = outer
            .iter()
            .rev()
            .map(|n| {
                let n = usize::try_from(*n).unwrap_or(1).max(1);
                let at = rest % n;
                rest /= n;
                at
            })
            .collect();
        index.reverse();
        (index, order)
    };
    Ok(all.chunks(width).enumerate().take(rows).map(one).collect())
}

/// `f32[2, 3]`, or a number with its kind.
pub fn kind_of(value: &Value) -> String {
    match value {
        Value::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
        Value::None => "None".to_string(),
        Value::Int(n) => format!("int {n}"),
        Value::Float(x) => format!("float {x}"),
        Value::Bool(b) => format!("bool {b}"),
        Value::Complex(c) => format!("complex {c}"),
        Value::Str(s) => format!("str {s:?}"),
        other => other.kind().to_string(),
    }
}

/// A number in a few characters: `0.1234`, `1.234e-7`.
pub fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_string(),
        a if (1e-3..1e5).contains(&a) => {
            let text = format!("{x:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        _ => format!("{x:.3e}"),
    }
}
