//! How the example of a rule is varied: dtypes, sizes, layouts, constants.

use crate::DType;
use oxport_ir::text::split_top;
use oxport_rewrite::rule::{Rule, Soundness};
use std::fmt;

pub(crate) const DTYPES: [DType; 15] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::F8E4M3FN,
    DType::F8E5M2,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::Bool,
    DType::C64,
    DType::C128,
];

/// How the tensors of an instance are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layed {
    Contiguous,
    /// The dimensions in reverse, dense.
    Reversed,
    /// Every second element.
    Gapped,
    /// All elements in one place.
    Expanded,
    /// Recorded as [`Layed::Expanded`], and called with contiguous tensors.
    Otherwise,
}

/// What is done to the sizes of an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sizes {
    Given,
    /// One size put in the place of another, wherever it stands.
    Put(i64, i64),
    All(i64),
    Scalars,
    /// The first size a symbol of a range from 0 on; called with the given size, with 1 and with 0.
    Symbolic,
}

/// One way in which an example is varied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variation {
    pub dtype: Option<DType>,
    pub sizes: Sizes,
    pub layout: Layed,
    /// Another constant for a variable; `*` stands for all numbers, the first of them positive, the others negative.
    pub constant: Option<(String, String)>,
    /// The dtype of all tensors but the first.
    pub rest: Option<DType>,
    /// Another shape for one of the tensors, by its number.
    pub shape: Option<(usize, Shape)>,
    /// Other typed variables.
    pub given: Option<&'static str>,
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.given.map(|given| format!("with {given}")));
        parts.extend(self.dtype.map(|dtype| format!("in {dtype}")));
        parts.extend(self.rest.map(|dtype| format!("tensors but the first in {dtype}")));
        parts.extend(match self.sizes {
            Sizes::Given => None,
            Sizes::Put(from, to) => Some(format!("with size {to} instead of {from}")),
            Sizes::All(size) => Some(format!("with all sizes {size}")),
            Sizes::Scalars => Some("without dimensions".to_string()),
            Sizes::Symbolic => Some("with a symbolic first size".to_string()),
        });
        parts.extend(self.shape.map(|(tensor, shape)| match shape {
            Shape::Reversed => format!("with sizes of tensor {tensor} reversed"),
            Shape::WithoutFirst => format!("without the first dimension of tensor {tensor}"),
            Shape::WithoutLast => format!("without the last dimension of tensor {tensor}"),
            Shape::Within(size) => format!("with a first dimension of size {size} more in tensor {tensor}"),
            Shape::One(d) => format!("with size 1 in dimension {d} of tensor {tensor}"),
        }));
        parts.extend(
            match self.layout {
                Layed::Contiguous => None,
                Layed::Reversed => Some("with reversed strides"),
                Layed::Gapped => Some("with gaps"),
                Layed::Expanded => Some("with strides of 0"),
                Layed::Otherwise => Some("called with other strides than recorded"),
            }
            .map(str::to_string),
        );
        parts.extend(self.constant.as_ref().map(|(name, value)| match name.as_str() {
            "*" => format!("with numbers ±{value}"),
            name => format!("with {name}: {value}"),
        }));
        f.write_str(if parts.is_empty() { "as the example is" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// What is done to the shape of one tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Reversed,
    WithoutFirst,
    WithoutLast,
    /// One dimension more, in front.
    Within(i64),
    /// One dimension of size 1.
    One(usize),
}

impl Shape {
    /// The changed sizes.
    pub fn of(self, mut sizes: Vec<i64>) -> Vec<i64> {
        match self {
            Shape::Reversed => sizes.reverse(),
            Shape::WithoutFirst => drop(sizes.drain(..sizes.len().min(1))),
            Shape::WithoutLast => drop(sizes.pop()),
            Shape::Within(size) => sizes.insert(0, size),
            Shape::One(d) => sizes.iter_mut().skip(d).take(1).for_each(|s| *s = 1),
        }
        sizes
    }
}

/// A typed variable of an example.
pub(crate) enum Variable<'a> {
    Tensor {
        dtype: DType,
        sizes: Vec<i64>,
        /// The dimensions in the order in which they lie in memory, from the innermost.
        order: Vec<usize>,
        range: &'a str,
    },
    Constant(&'a str),
    /// A list of other variables: `{x, y}`.
    List(Vec<&'a str>),
}

pub(crate) fn variables(given: &'static str) -> Result<Vec<(&'static str, Variable<'static>)>, String> {
    let read = |given: &'static str| {
        let (name, text) = given.split_once(": ").ok_or(format!("`{given}` is no typed variable"))?;
        if let Some(names) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            return Ok((name, Variable::List(split_top(names))));
        }
        let tensor = text.split_once('[').and_then(|(short, rest)| {
            let (sizes, range) = rest.split_once(']')?;
            let sizes: Vec<i64> = split_top(sizes).into_iter().map(|s| s.parse().ok()).collect::<Option<_>>()?;
            Some((DType::from_short(short)?, sizes, range))
        });
        let Some((dtype, sizes, rest)) = tensor else { return Ok((name, Variable::Constant(text))) };
        let (strides, range) = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((strides, range)) => (split_top(strides), range),
            None => (Vec::new(), rest),
        };
        let strides: Option<Vec<i64>> = strides.into_iter().map(|s| s.parse().ok()).collect();
        let strides = strides.filter(|strides| strides.is_empty() || strides.len() == sizes.len());
        let strides = strides.ok_or(format!("`{given}`: expected a stride for each size"))?;
        let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
        order.sort_by_key(|&d| strides.get(d));
        match elements(&sizes).is_some_and(|n| n <= MAX_ELEMENTS) {
            true => Ok((name, Variable::Tensor { dtype, sizes, order, range })),
            false => Err(format!("`{given}`: expected at most {MAX_ELEMENTS} elements")),
        }
    };
    split_top(given).into_iter().map(read).collect()
}

/// The most elements of a tensor.
const MAX_ELEMENTS: i64 = 1 << 16;

/// How many elements a tensor of these sizes has; `None` if there is no such tensor.
fn elements(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |all, &size| all.checked_mul(size).filter(|_| size >= 0))
}

/// The example as it is given.
pub(crate) const PLAIN: Variation = Variation {
    dtype: None,
    sizes: Sizes::Given,
    layout: Layed::Contiguous,
    constant: None,
    rest: None,
    shape: None,
    given: None,
};

/// The ways in which further operators of a family are tried.
pub(crate) fn few() -> Vec<Variation> {
    let mut few = orders();
    for dtype in [DType::I64, DType::U8, DType::Bool, DType::C64].map(Some) {
        few.push(Variation { dtype, ..PLAIN });
    }
    let dtype = Some(DType::F32);
    few.push(Variation { dtype, sizes: Sizes::All(2), layout: Layed::Expanded, ..PLAIN });
    few.push(Variation { dtype, sizes: Sizes::Symbolic, ..PLAIN });
    few.extend([Layed::Reversed, Layed::Gapped].map(|layout| Variation { dtype, layout, ..PLAIN }));
    few
}

/// The ways in which other orders of operands are tried.
pub(crate) fn orders() -> Vec<Variation> {
    let dtype = |dtype| Variation { dtype: Some(dtype), ..PLAIN };
    let ones = Variation { sizes: Sizes::All(1), ..PLAIN };
    vec![PLAIN, dtype(DType::F16), ones, Variation { layout: Layed::Otherwise, ..PLAIN }]
}

/// All ways in which a rule's example is varied.
pub(crate) fn variations(rule: &Rule) -> Result<Vec<Variation>, String> {
    let variables = variables(rule.given)?;
    // Each size is put in the place of the others.
    for (name, variable) in &variables {
        let Variable::Tensor { sizes, .. } = variable else { continue };
        let largest = vec![sizes.iter().copied().max().unwrap_or(1); sizes.len()];
        if elements(&largest).is_none_or(|n| n > MAX_ELEMENTS) {
            return Err(format!("`{name}`: expected at most {MAX_ELEMENTS} elements if all sizes are the largest one"));
        }
    }
    let plain = PLAIN;
    let mut all = vec![plain.clone()];
    all.extend(rule.against.iter().map(|given| Variation { given: Some(given), ..plain.clone() }));
    let mut present: Vec<i64> = variables
        .iter()
        .flat_map(|(_, v)| if let Variable::Tensor { sizes, .. } = v { sizes.clone() } else { Vec::new() })
        .collect();
    present.sort_unstable();
    present.dedup();
    let mut sizes = vec![Sizes::All(0), Sizes::All(1), Sizes::All(2), Sizes::Scalars, Sizes::Symbolic];
    for &size in &present {
        sizes.extend([0, 1].map(|to| Sizes::Put(size, to)));
    }
    if rule.soundness == Soundness::Rounding {
        // What is empty has no values to round.
        sizes.retain(|s| !matches!(s, Sizes::All(0) | Sizes::Put(_, 0)));
    }
    for (dtype, rest) in
        [(DType::F32, DType::F16), (DType::F16, DType::F32), (DType::I64, DType::F32), (DType::F32, DType::I64)]
    {
        all.push(Variation { dtype: Some(dtype), rest: Some(rest), ..plain.clone() });
    }
    let layouts = [Layed::Reversed, Layed::Gapped, Layed::Expanded, Layed::Otherwise];
    for dtype in DTYPES.map(Some) {
        all.push(Variation { dtype, ..plain.clone() });
        all.extend(sizes.iter().map(|&sizes| Variation { dtype, sizes, ..plain.clone() }));
        for sizes in [Sizes::Given, Sizes::All(2)] {
            all.extend(layouts.map(|layout| Variation { dtype, layout, sizes, ..plain.clone() }));
        }
    }
    all.extend(shapes(&variables, &present));
    let is_rounding = rule.soundness == Soundness::Rounding;
    for (name, variable) in &variables {
        let Variable::Constant(text) = variable else { continue };
        let plain = (Sizes::Given, Layed::Contiguous);
        let dtypes: &[DType] =
            if is_rounding { &[DType::F32, DType::F16] } else { &[DType::F32, DType::F16, DType::I64, DType::C64] };
        let square = (Sizes::All(2), Layed::Contiguous);
        let ways = [plain, square, (Sizes::All(2), Layed::Otherwise), (Sizes::All(2), Layed::Expanded)];
        for other in others(text) {
            for &dtype in dtypes {
                let count = match (is_rounding, dtype) {
                    (false, _) => 4,
                    (true, DType::F32) => 3,
                    (true, _) => 2,
                };
                for &(sizes, layout) in &ways[..count] {
                    let constant = Some((name.to_string(), other.clone()));
                    all.push(Variation { dtype: Some(dtype), sizes, layout, constant, ..PLAIN });
                }
            }
        }
    }
    for given in rule.against {
        for (name, variable) in self::variables(given)? {
            let Variable::Constant(text) = variable else { continue };
            for (other, layout) in
                others(text).into_iter().flat_map(|o| [Layed::Contiguous, Layed::Otherwise].map(|l| (o.clone(), l)))
            {
                let constant = Some((name.to_string(), other));
                all.push(Variation { given: Some(given), layout, constant, ..PLAIN });
            }
        }
    }
    // Numbers that are another in `float64` only.
    for (name, variable) in &variables {
        let Variable::Constant(text) = variable else { continue };
        let near = text.parse::<f64>().ok().map(|x| x * (1.0 - 5e-8)).filter(|x| x.is_normal());
        let constant = near.map(|x| (name.to_string(), format!("{x:?}")));
        all.extend(constant.map(|c| Variation { dtype: Some(DType::F64), constant: Some(c), ..plain.clone() }));
    }
    // Numbers that cancel.
    let cancel = |dtype| Variation { dtype: Some(dtype), constant: Some(("*".into(), "1e30".into())), ..plain.clone() };
    all.extend([DType::F32, DType::F64].map(cancel));
    Ok(all)
}

/// The example with one of its tensors of another shape, and with one size in the place of another.
fn shapes(variables: &[(&'static str, Variable<'static>)], present: &[i64]) -> Vec<Variation> {
    let ranks = variables.iter().filter_map(|(_, v)| match v {
        Variable::Tensor { sizes, .. } => Some(sizes.len()),
        _ => None,
    });
    let mut changes = vec![None];
    for (tensor, rank) in ranks.enumerate() {
        let shapes = [Shape::Reversed, Shape::WithoutFirst, Shape::WithoutLast, Shape::Within(1), Shape::Within(2)];
        changes.extend(shapes.into_iter().chain((0..rank).map(Shape::One)).map(|shape| Some((tensor, shape))));
    }
    let mut sizes = vec![Sizes::Given, Sizes::All(2), Sizes::All(3)];
    let pairs = present.iter().flat_map(|&from| present.iter().map(move |&to| (from, to)));
    sizes.extend(pairs.filter(|(from, to)| from != to).map(|(from, to)| Sizes::Put(from, to)));
    let varied = |sizes| changes.iter().map(move |&shape| Variation { dtype: Some(DType::F32), sizes, shape, ..PLAIN });
    sizes.into_iter().flat_map(varied).collect()
}

/// Other constants in the place of one.
fn others(text: &str) -> Vec<String> {
    let Some(list) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        let others = match text.as_bytes()[0] {
            b'0'..=b'9' | b'-' => {
                "0 1 -1 2 3 0.0 -0.0 3.0 0.3 3e38 1e30 -1e30 1e-39 inf nan True \
                3000000000 9007199254740993 1e-310 1e300"
            }
            _ => "None True False 0.5 float64 float16 bfloat16 int64 int32 uint8 bool complex64 channels_last",
        };
        return others.split(' ').map(str::to_string).collect();
    };
    let numbers: Vec<i64> = split_top(list).iter().filter_map(|n| n.parse().ok()).collect();
    let mut others: Vec<Vec<i64>> =
        [&[1, 0][..], &[0, 1], &[-1, -2], &[2, 2], &[-1], &[0], &[1], &[1, -1]].map(Vec::from).into();
    others.push(numbers.iter().rev().copied().collect());
    others.push(numbers.iter().map(|n| n + 1).collect());
    for at in 1..numbers.len() {
        let mut swapped = numbers.clone();
        swapped.swap(at - 1, at);
        others.push(swapped);
        let mut moved = numbers.clone();
        moved[at - 1] += 1;
        moved[at] -= 1;
        others.push(moved);
    }
    others.iter().map(|l| format!("{l:?}")).collect()
}
