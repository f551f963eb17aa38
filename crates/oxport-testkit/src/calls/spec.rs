//! A tensor as text: `f32[2, 3]{1, 2}<-4..4>~`.
//!
//! ```text
//! spec := dtype "[" sizes "]" ("{" strides "}")? ("<" low ".." high ">")? "~"?
//! ```
//!
//! Elements are random in the range (integral for integer dtypes); `~` mixes in infinities, NaN, −0, subnormals and the
//! ends of integer ranges. A stride of zero makes a tensor of any size from few elements.

use crate::samples::{draw, extremes};
use oxport::{DType, Tensor};
use oxport_tensor::Layout;
use std::fmt;

/// A tensor as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The element type.
    pub dtype: DType,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The strides in elements, where they are not those of a contiguous tensor.
    pub strides: Option<Vec<i64>>,
    /// The range of elements.
    pub range: Option<(f64, f64)>,
    /// Whether extreme elements are mixed in.
    pub has_special_values: bool,
}

/// The maximum number of elements of a storage.
const MAX_ELEMENTS: usize = 1 << 20;

impl Spec {
    /// A contiguous tensor of ordinary elements.
    pub fn new(dtype: DType, sizes: &[i64]) -> Spec {
        Spec { dtype, sizes: sizes.to_vec(), strides: None, range: None, has_special_values: false }
    }
    /// The layout.
    ///
    /// # Errors
    /// Negative sizes, strides out of bounds of the storage, or an overflow of the number of elements.
    pub fn layout(&self) -> Result<Layout, String> {
        let layout = match &self.strides {
            Some(strides) => Layout::new(&self.sizes, strides, 0),
            None => Layout::contiguous(&self.sizes),
        };
        layout.map_err(|e| e.to_string())
    }
    /// The tensor; its elements depend on the seed.
    ///
    /// # Errors
    /// The layout is invalid, or its storage too large.
    pub fn tensor(&self, seed: u64) -> Result<Tensor, String> {
        let layout = self.layout()?;
        let count = layout.extent().map_err(|e| e.to_string())?.map_or(0, |(_, last)| last + 1);
        if count > MAX_ELEMENTS {
            return Err(format!("a storage of {count} elements is too large"));
        }
        let mut elements = draw(self.dtype, count, self.range, seed);
        if self.has_special_values {
            self.add_special_values(&mut elements, seed);
        }
        let storage = Tensor::from_vec(&[count as i64], elements).and_then(|t| t.to_dtype(self.dtype));
        storage.and_then(|t| t.with_layout(layout)).map_err(|e| e.to_string())
    }
    fn add_special_values(&self, elements: &mut [f64], seed: u64) {
        let is_whole = !(self.dtype.is_float() || self.dtype.is_complex());
        let odd = extremes(self.dtype.to_real(), elements.len(), seed).to_vec::<f64>().unwrap_or_default();
        for (i, (x, odd)) in elements.iter_mut().zip(odd).enumerate() {
            const ENDS: [f64; 6] = [-1.0, 9.3e18, -9.3e18, 255.0, -32768.0, 2147483648.0];
            match (is_whole, (i as u64 + seed) % 3) {
                (false, _) => *x = odd,
                (true, 0) => *x = ENDS[(i + seed as usize) / 3 % ENDS.len()],
                _ => {}
            }
        }
    }
    /// Reads the text.
    ///
    /// # Errors
    /// It does not parse.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let wrong = || format!("expected a tensor, got `{text}`");
        let (short, rest) = text.split_once('[').ok_or_else(wrong)?;
        let dtype = DType::from_short(short).ok_or_else(wrong)?;
        let (sizes, mut rest) = rest.split_once(']').ok_or_else(wrong)?;
        let mut spec = Spec::new(dtype, &numbers(sizes)?);
        if let Some((strides, behind)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
            (spec.strides, rest) = (Some(numbers(strides)?), behind);
        }
        if let Some(front) = rest.strip_suffix('~') {
            (spec.has_special_values, rest) = (true, front);
        }
        let float = |t: &str| t.trim().parse::<f64>().map_err(|_| wrong());
        spec.range = match (rest.strip_prefix('<'), rest.strip_prefix('>')) {
            (Some(range), _) => match range.trim_end_matches('>').split_once("..") {
                Some((low, high)) => Some((float(low)?, float(high)?)),
                None => Some((0.0, float(range.trim_end_matches('>'))?)),
            },
            (_, Some(low)) => Some((float(low)?, float(low)? + 2.0)),
            _ if rest.is_empty() => None,
            _ => return Err(wrong()),
        };
        Ok(spec)
    }
}

fn numbers(text: &str) -> Result<Vec<i64>, String> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    parts.map(|p| p.parse().map_err(|_| format!("expected a number, got `{p}`"))).collect()
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "{}[{}]", self.dtype.short(), join(&self.sizes))?;
        if let Some(strides) = &self.strides {
            write!(f, "{{{}}}", join(strides))?;
        }
        if let Some((low, high)) = self.range {
            write!(f, "<{low:?}..{high:?}>")?;
        }
        f.write_str(if self.has_special_values { "~" } else { "" })
    }
}
