//! Tensors as text: `Display` is PyTorch's `print(tensor)`, and [`nested`] the lists in it.
//!
//! Invariants: with PyTorch's default options (4 digits, 80 columns, more than 1000 elements by their edges) the text
//! is PyTorch's, character by character (`torch/_tensor_str.py`).

use crate::{DType, Tensor, Wide};
use std::fmt;

/// A tensor with more elements is shown by its edges.
const MAX_WHOLE: usize = 1000;
/// How many elements of a dimension each edge has.
const EDGE: usize = 3;
/// The columns of a line.
const COLUMNS: usize = 80;

/// Nested lists as PyTorch lays them out: one row a line, or several lines of at most `per_line` elements; dimensions
/// are separated by blank lines; a tensor of more than 1000 elements is shown by its edges. `text` gives an element by
/// its row-major position, `indent` is the column at which the text begins.
pub fn nested(sizes: &[i64], indent: usize, per_line: usize, text: &dyn Fn(usize) -> String) -> String {
    let sizes = lengths(sizes);
    let is_cut = is_cut(&sizes);
    match sizes.iter().product() {
        0 => "[]".to_string(),
        _ => level(&sizes, 0, indent, per_line, is_cut, text),
    }
}

fn level(
    sizes: &[usize],
    first: usize,
    indent: usize,
    per_line: usize,
    is_cut: bool,
    text: &dyn Fn(usize) -> String,
) -> String {
    let Some((&count, rest)) = sizes.split_first() else { return text(first) };
    let step: usize = rest.iter().product();
    let parts: Vec<String> = shown(count, is_cut)
        .into_iter()
        .map(|i| match i {
            Some(i) => level(rest, first + i * step, indent + 1, per_line, is_cut, text),
            None if rest.is_empty() => " ...".to_string(),
            None => "...".to_string(),
        })
        .collect();
    let margin = " ".repeat(indent + 1);
    let body = match rest.len() {
        0 => {
            let lines: Vec<String> = parts.chunks(per_line.max(1)).map(|line| line.join(", ")).collect();
            lines.join(&format!(",\n{margin}"))
        }
        depth => parts.join(&format!(",{}{margin}", "\n".repeat(depth))),
    };
    format!("[{body}]")
}

/// The indices of a dimension that are shown; `None` stands for those that are not.
fn shown(count: usize, is_cut: bool) -> Vec<Option<usize>> {
    match is_cut && count > 2 * EDGE {
        true => (0..EDGE).map(Some).chain([None]).chain((count - EDGE..count).map(Some)).collect(),
        false => (0..count).map(Some).collect(),
    }
}

fn lengths(sizes: &[i64]) -> Vec<usize> {
    sizes.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect()
}

fn is_cut(sizes: &[usize]) -> bool {
    sizes.iter().product::<usize>() > MAX_WHOLE
}

/// The row-major positions that are shown.
fn positions(sizes: &[usize], is_cut: bool) -> Vec<usize> {
    sizes.iter().fold(vec![0], |found, &count| {
        let shown: Vec<usize> = shown(count, is_cut).into_iter().flatten().collect();
        found.iter().flat_map(|at| shown.iter().map(move |i| at * count + i)).collect()
    })
}

/// How the floats of a tensor are printed: `_Formatter` of PyTorch.
struct Floats {
    is_scientific: bool,
    is_whole: bool,
    width: usize,
}

impl Floats {
    fn of(values: impl Iterator<Item = f64>) -> Floats {
        let values: Vec<f64> = values.filter(|x| x.is_finite() && *x != 0.0).collect();
        let min = values.iter().fold(f64::INFINITY, |m, x| m.min(x.abs()));
        let max = values.iter().fold(0f64, |m, x| m.max(x.abs()));
        let is_scientific = !values.is_empty() && (max / min > 1000.0 || max > 1e8 || min < 1e-4);
        let mut format = Floats { is_scientific, is_whole: values.iter().all(|x| x.fract() == 0.0), width: 1 };
        format.width = values.iter().map(|x| format.text(*x).len()).max().unwrap_or(1);
        format
    }
    fn text(&self, x: f64) -> String {
        let width = self.width;
        let text = match () {
            () if x.is_nan() => "nan".to_string(),
            () if x.is_infinite() => x.to_string(),
            () if self.is_scientific => scientific(x),
            () if self.is_whole => format!("{x:.0}."),
            () => format!("{x:.4}"),
        };
        format!("{text:>width$}")
    }
}

/// `1.2346e-07`: Python's `{:.4e}`.
fn scientific(x: f64) -> String {
    let text = format!("{x:.4e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The real and imaginary parts; other numbers have no imaginary part.
fn parts(x: Wide) -> (f64, f64) {
    match x {
        Wide::Bool(x) => (f64::from(u8::from(x)), 0.0),
        Wide::Int(x) => (x as f64, 0.0),
        Wide::UInt(x) => (x as f64, 0.0),
        Wide::Single(x) => (x.into(), 0.0),
        Wide::Double(x) => (x, 0.0),
        Wide::ComplexSingle(x) => (x.re.into(), x.im.into()),
        Wide::ComplexDouble(x) => (x.re, x.im),
    }
}

impl Tensor {
    /// The element at a row-major position.
    fn element(&self, position: usize) -> Wide {
        let read: crate::Result<Wide> =
            crate::dispatch!(all self.dtype(), |T| Ok(crate::Element::to_wide(self.reader::<T>().at(position))));
        read.expect("law: every dtype is listed")
    }
}

impl fmt::Display for Tensor {
    /// `tensor([[1., 2.],\n        [3., 4.]])`, as PyTorch prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &str = "tensor(";
        let indent = PREFIX.len();
        let sizes = lengths(self.sizes());
        let at: Vec<usize> = positions(&sizes, is_cut(&sizes));
        // Lines of one row begin behind the brackets of all dimensions.
        let room = COLUMNS.saturating_sub(indent + sizes.len().saturating_sub(1));
        let show = |width: usize, text: &dyn Fn(usize) -> String| {
            nested(self.sizes(), indent, (room / (width + 2)).max(1), text)
        };
        let numbers = |part: &dyn Fn((f64, f64)) -> f64| Floats::of(at.iter().map(|&i| part(parts(self.element(i)))));
        let body = match self.dtype() {
            d if d.is_complex() => {
                let (real, imaginary) = (numbers(&|(re, _)| re), numbers(&|(_, im)| im));
                show(real.width + imaginary.width + 1, &|i| {
                    let (re, im) = parts(self.element(i));
                    let im = imaginary.text(im);
                    let plus = if im.trim_start().starts_with('-') { "" } else { "+" };
                    format!("{}{plus}{}j", real.text(re), im.trim_start())
                })
            }
            d if d.is_float() => {
                let format = numbers(&|(re, _)| re);
                show(format.width, &|i| format.text(parts(self.element(i)).0))
            }
            _ => {
                let text = |i: usize| match self.element(i) {
                    Wide::Bool(true) => "True".to_string(),
                    Wide::Bool(false) => "False".to_string(),
                    Wide::UInt(x) => x.to_string(),
                    Wide::Int(x) => x.to_string(),
                    other => parts(other).0.to_string(),
                };
                let width = at.iter().map(|&i| text(i).len()).max().unwrap_or(1);
                show(width, &|i| format!("{:>width$}", text(i)))
            }
        };
        // What PyTorch cannot be told by the elements alone.
        let is_empty = self.numel() == 0;
        let is_default = match self.dtype() {
            DType::F32 => true,
            DType::I64 | DType::Bool | DType::C64 => !is_empty,
            _ => false,
        };
        let mut suffixes = Vec::new();
        if is_empty && self.rank() != 1 {
            let sizes: Vec<String> = self.sizes().iter().map(ToString::to_string).collect();
            suffixes.push(format!("size=({})", sizes.join(", ")));
        }
        if !is_default {
            suffixes.push(format!("dtype=torch.{}", self.dtype().name()));
        }
        // PyTorch counts two columns more than the last line has.
        let mut column = body.rfind('\n').map_or(indent + body.len(), |end| body.len() - end - 1) + 2;
        write!(f, "{PREFIX}{body}")?;
        for suffix in suffixes {
            if column + suffix.len() + 2 > COLUMNS {
                write!(f, ",\n{:indent$}{suffix}", "")?;
                column = indent + suffix.len();
            } else {
                write!(f, ", {suffix}")?;
                column += suffix.len() + 2;
            }
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;

    /// The texts are those of PyTorch 2.15.
    #[test]
    fn tensors_are_printed_as_pytorch_prints_them() {
        let inf = f32::INFINITY;
        let row = |n: i64| Tensor::from((0..n).collect::<Vec<i64>>());
        let cases: Vec<(Tensor, &str)> = vec![
            (Tensor::from([[1.0f32, 2.0], [3.0, -4.0]]), "tensor([[ 1.,  2.],\n        [ 3., -4.]])"),
            (Tensor::from([0.5f32, -1.25, 100.0]), "tensor([  0.5000,  -1.2500, 100.0000])"),
            (Tensor::from([1e-5f32, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
            (Tensor::from([1.0f32, 2e9]), "tensor([1.0000e+00, 2.0000e+09])"),
            (Tensor::from([f32::NAN, inf, -inf, 0.5]), "tensor([   nan,    inf,   -inf, 0.5000])"),
            (Tensor::from([f32::NAN, inf, 1.0, -0.0]), "tensor([nan, inf, 1., -0.])"),
            (Tensor::from([0.0f64, 1e-300]), "tensor([ 0.0000e+00, 1.0000e-300], dtype=torch.float64)"),
            (Tensor::from(2.5f64), "tensor(2.5000, dtype=torch.float64)"),
            (Tensor::from(7i64), "tensor(7)"),
            (Tensor::from([[true, false], [false, false]]), "tensor([[ True, False],\n        [False, False]])"),
            (Tensor::from([1u8, 200]), "tensor([  1, 200], dtype=torch.uint8)"),
            (Tensor::from([u64::MAX, 1]), "tensor([18446744073709551615,                    1], dtype=torch.uint64)"),
            (
                Tensor::from([[[1i32, -2], [3, 4]], [[5, 6], [7, 8]]]),
                concat!(
                    "tensor([[[ 1, -2],\n",
                    "         [ 3,  4]],\n",
                    "\n",
                    "        [[ 5,  6],\n",
                    "         [ 7,  8]]], dtype=torch.int32)",
                ),
            ),
            (
                Tensor::from([Complex::new(1.0f32, -2.0), Complex::new(0.5, 3.25)]),
                concat!("tensor([1.0000-2.0000j, 0.5000+3.2500j])",),
            ),
            (Tensor::from(Complex::new(1.0f64, 2.0)), "tensor(1.+2.j, dtype=torch.complex128)"),
            (
                Tensor::from([1.5f32, 2.0]).to_dtype(DType::BF16).unwrap(),
                concat!("tensor([1.5000, 2.0000], dtype=torch.bfloat16)",),
            ),
            (
                Tensor::from([1.5f32, 448.0]).to_dtype(DType::F8E4M3FN).unwrap(),
                concat!("tensor([  1.5000, 448.0000], dtype=torch.float8_e4m3fn)",),
            ),
            (Tensor::from(Vec::<f32>::new()), "tensor([])"),
            (Tensor::zeros(DType::I64, &[2, 0]).unwrap(), "tensor([], size=(2, 0), dtype=torch.int64)"),
            (Tensor::zeros(DType::Bool, &[0]).unwrap(), "tensor([], dtype=torch.bool)"),
            (
                row(30),
                concat!(
                    "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n",
                    "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
                ),
            ),
            (row(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
            (
                row(1400).reshape(&[2, 7, 100]).unwrap().to_dtype(DType::F64).unwrap(),
                concat!(
                    "tensor([[[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01,\n",
                    "          9.8000e+01, 9.9000e+01],\n",
                    "         [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02,\n",
                    "          1.9800e+02, 1.9900e+02],\n",
                    "         [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02,\n",
                    "          2.9800e+02, 2.9900e+02],\n",
                    "         ...,\n",
                    "         [4.0000e+02, 4.0100e+02, 4.0200e+02,  ..., 4.9700e+02,\n",
                    "          4.9800e+02, 4.9900e+02],\n",
                    "         [5.0000e+02, 5.0100e+02, 5.0200e+02,  ..., 5.9700e+02,\n",
                    "          5.9800e+02, 5.9900e+02],\n",
                    "         [6.0000e+02, 6.0100e+02, 6.0200e+02,  ..., 6.9700e+02,\n",
                    "          6.9800e+02, 6.9900e+02]],\n",
                    "\n",
                    "        [[7.0000e+02, 7.0100e+02, 7.0200e+02,  ..., 7.9700e+02,\n",
                    "          7.9800e+02, 7.9900e+02],\n",
                    "         [8.0000e+02, 8.0100e+02, 8.0200e+02,  ..., 8.9700e+02,\n",
                    "          8.9800e+02, 8.9900e+02],\n",
                    "         [9.0000e+02, 9.0100e+02, 9.0200e+02,  ..., 9.9700e+02,\n",
                    "          9.9800e+02, 9.9900e+02],\n",
                    "         ...,\n",
                    "         [1.1000e+03, 1.1010e+03, 1.1020e+03,  ..., 1.1970e+03,\n",
                    "          1.1980e+03, 1.1990e+03],\n",
                    "         [1.2000e+03, 1.2010e+03, 1.2020e+03,  ..., 1.2970e+03,\n",
                    "          1.2980e+03, 1.2990e+03],\n",
                    "         [1.3000e+03, 1.3010e+03, 1.3020e+03,  ..., 1.3970e+03,\n",
                    "          1.3980e+03, 1.3990e+03]]], dtype=torch.float64)",
                ),
            ),
            (
                Tensor::from([12345i16; 20]),
                concat!(
                    "tensor([12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345,\n",
                    "        12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345],\n",
                    "       dtype=torch.int16)",
                ),
            ),
            (
                Tensor::from([123456.5f64; 5]),
                concat!(
                    "tensor([123456.5000, 123456.5000, 123456.5000, 123456.5000, 123456.5000],\n",
                    "       dtype=torch.float64)",
                ),
            ),
        ];
        for (x, want) in cases {
            assert_eq!(x.to_string(), want, "{x:?}");
        }
    }
}
