//! What a reduction reduces, the sizes that are left, and the dtypes of results and of kernels.
//!
//! Law: an operator without `dim`, with `dim=None` or with `dim=[]` reduces everything.

use crate::support::meta::{MetaArgs, Metas, wrap_dims};
use oxport_ir::{Arg, Args, Error, Fake, Numeral, Result, Val, World, ensure};
use oxport_tensor::DType;

/// How a reduction's result dtype follows from the input's.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// The input's.
    Same,
    /// The argument `dtype`, or int64 for integers and bools, or the input's.
    Sum,
    /// The argument `dtype`, or the input's; a float or complex one.
    Mean,
    /// The input's, or float32 for integers and bools.
    Float,
    /// Bool; uint8 for uint8.
    Truth,
    /// int64.
    Index,
    /// uint64, of real numbers.
    Bits,
    /// The argument `dtype`, or the input's; its real dtype if complex.
    Norm,
    /// The input's, which is a float or complex; its real dtype if complex.
    Spread,
}

impl Rule {
    fn dtype(self, args: &MetaArgs<'_>, x: DType) -> Result<DType> {
        let has_dtype = args.op.schema().is_some_and(|s| s.arg("dtype").is_some());
        let wanted = if has_dtype { args.named::<Option<DType>>("dtype")? } else { None };
        let inexact = |d: DType| d.is_float() || d.is_complex();
        Ok(match self {
            Rule::Same => x,
            Rule::Index => DType::I64,
            Rule::Bits => {
                ensure!(!x.is_complex(), "{} of {}", args.op.name(), x.name());
                DType::U64
            }
            Rule::Truth if x == DType::U8 => x,
            Rule::Truth => DType::Bool,
            Rule::Float if inexact(x) => x,
            Rule::Float => DType::F32,
            Rule::Sum if wanted.is_none() && !inexact(x) => DType::I64,
            Rule::Sum => wanted.unwrap_or(x),
            Rule::Mean | Rule::Norm | Rule::Spread => {
                let dtype = wanted.unwrap_or(x);
                ensure!(
                    inexact(dtype),
                    "{} of {}: expected a floating point or complex dtype",
                    args.op.name(),
                    dtype.name()
                );
                if self == Rule::Mean { dtype } else { dtype.to_real() }
            }
        })
    }
}

/// What a reduction reduces.
pub(crate) struct Over {
    /// The dimensions, from the start.
    pub dims: Vec<usize>,
    /// Whether they stay with size 1.
    pub keepdim: bool,
}

impl Over {
    /// The dimensions as the loops take them.
    pub fn loops(&self) -> Vec<i64> {
        self.dims.iter().map(|&d| d as i64).collect()
    }
}

/// The arguments `dim` and `keepdim`, for a tensor of this rank.
///
/// # Errors
/// A dimension is out of range or given twice.
pub(crate) fn over<W: World>(args: &Args<'_, W>, rank: usize) -> Result<Over> {
    ensure!(rank <= 64, "only tensors with up to 64 dims are supported");
    let place = |name| args.op.schema().and_then(|s| s.arg(name)).map(|(i, _)| i);
    let number = |a: &Arg<W>| if let Arg::Int(n) = a { n.known() } else { None };
    let open = || Error::unsupported(format!("{}: a symbolic dim", args.op.name()));
    let dims: Vec<i64> = match place("dim").map(|i| &args.values[i]) {
        Some(Arg::List(l)) => l.iter().map(number).collect::<Option<_>>().ok_or_else(open)?,
        Some(a @ Arg::Int(_)) => vec![number(a).ok_or_else(open)?],
        _ => Vec::new(),
    };
    let keepdim = place("keepdim").map_or(Ok(false), |i| args.at(i))?;
    let mut dims = wrap_dims(&dims, rank)?;
    // Only of `any` and `all` does an empty list name no dimension; elsewhere it means all.
    let none = matches!(args.op.short_name(), "any.dims" | "all.dims") && matches!(&args.values[1], Arg::List(_));
    if dims.is_empty() && !none {
        dims = (0..rank).collect();
    }
    // A 0-d tensor has a dimension to name, but none to reduce.
    dims.retain(|&d| d < rank);
    Ok(Over { dims, keepdim })
}

/// The sizes that are left.
pub(crate) fn left<S: Clone + From<i64>>(sizes: &[S], over: &Over) -> Vec<S> {
    let keep = |(d, s): (usize, &S)| match over.dims.contains(&d) {
        true => over.keepdim.then(|| S::from(1)),
        false => Some(s.clone()),
    };
    sizes.iter().enumerate().filter_map(keep).collect()
}

/// Contiguous results with these dtypes.
pub(crate) fn reduced(args: &MetaArgs<'_>, rules: &[Rule]) -> Metas {
    let x: &Fake = args.at(0)?;
    let sizes = left(&x.sizes, &over(args, x.dim())?);
    let out = |rule: &Rule| {
        let fake = Fake::new(rule.dtype(args, x.dtype)?, sizes.clone());
        Ok(Val::Tensor(Fake { device: x.device.clone(), ..fake }))
    };
    rules.iter().map(out).collect()
}

/// Refuses to reduce no elements where there is no result for none.
pub(crate) fn refuse_empty(args: &MetaArgs<'_>) -> Result<()> {
    let x: &Fake = args.at(0)?;
    let over = over(args, x.dim())?;
    for &d in &over.dims {
        ensure!(!args.cx.is(&x.sizes[d], 0), "{} over dimension {d} of size 0", args.op.name());
    }
    Ok(())
}

/// The dtype that kernels compute a dtype in, which holds its values exactly.
pub(crate) fn widest(d: DType) -> DType {
    match d {
        DType::F16 | DType::BF16 => DType::F32,
        DType::C32 => DType::C64,
        DType::U64 => DType::U64,
        d if d.is_integer() || d.is_bool() => DType::I64,
        d => d,
    }
}

/// [`dispatch!`] over the results of [`widest`].
macro_rules! wide {
    (arith $dtype:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "bool, integers, floats, complex", $dtype, [I64 U64 F32 F64 C64 C128], $T, $body)
    };
    (real $dtype:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "bool, integers, floats", $dtype, [I64 U64 F32 F64], $T, $body)
    };
    (inexact $dtype:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "floats, complex", $dtype, [F32 F64 C64 C128], $T, $body)
    };
}
pub(crate) use wide;
