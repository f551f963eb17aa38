//! Variances and standard deviations.
//!
//! Laws: a variance takes two passes, in float64; one whose correction leaves nothing divides by 0. Complex numbers
//! count by their parts.

use crate::reduce::over::{Rule, over, reduced, widest};
use crate::support::complex_parts::parts;
use crate::support::rowmajor::as_dtype;
use oxport_ir::{Args, Class, OpDef, Real, Result};
use oxport_tensor::{Analytic, Float, Layout, Scalar, Tensor, TensorMut, dispatch, reduce, update, zip};

/// A variance, a standard deviation, or one of them and the mean.
macro_rules! spread {
    ($schema:literal, $rules:expr, $root:literal, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| reduced(args, $rules))
            .fill(|a, o| spread(a, o, $root)).work(Class::Reduction)
            .any_strides()
            .doc($doc)
            .samples(&[$($sample),*])
    };
}

const ONE: &[Rule] = &[Rule::Spread];
const TWO: &[Rule] = &[Rule::Spread, Rule::Mean];

/// The table.
pub static OPS: &[OpDef] = &[
    spread!(
        "aten::var(Tensor self, bool unbiased=True) -> Tensor",
        ONE,
        false,
        "The variance of all elements.",
        ["f32[2, 3]", "f32[4], False", "f32[1]", "c64[3]", "!i64[3]"]
    ),
    spread!(
        "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        ONE,
        false,
        "Variances over some dimensions.",
        ["f32[2, 3], [1]", "f32[2, 3], [0, 1], False, True"]
    ),
    spread!(
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool \
        keepdim=False) -> Tensor",
        ONE,
        false,
        "Variances over some dimensions.",
        ["f32[2, 3], [1], correction=0", "f16[5]"]
    ),
    spread!(
        "aten::std(Tensor self, bool unbiased=True) -> Tensor",
        ONE,
        true,
        "The standard deviation of all elements.",
        ["f32[2, 3]", "f32[4], False"]
    ),
    spread!(
        "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        ONE,
        true,
        "Standard deviations over some dimensions.",
        ["f32[2, 3], [1]"]
    ),
    spread!(
        "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool \
        keepdim=False) -> Tensor",
        ONE,
        true,
        "Standard deviations over some dimensions.",
        ["f32[2, 3], [1], correction=0, keepdim=True"]
    ),
    spread!(
        "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        TWO,
        false,
        "The variance and the mean of all elements.",
        ["f32[2, 3]"]
    ),
    spread!(
        "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> \
        (Tensor, Tensor)",
        TWO,
        false,
        "Variances and means over some dimensions.",
        ["f32[2, 3], [1]"]
    ),
    spread!(
        "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool \
        keepdim=False) -> (Tensor, Tensor)",
        TWO,
        false,
        "Variances and means over some dimensions.",
        ["f32[2, 3], [1], correction=0", "c64[3]"]
    ),
    spread!(
        "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        TWO,
        true,
        "The standard deviation and the mean of all elements.",
        ["f32[2, 3]"]
    ),
    spread!(
        "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> \
        (Tensor, Tensor)",
        TWO,
        true,
        "Standard deviations and means over some dimensions.",
        ["f32[2, 3], [1]"]
    ),
    spread!(
        "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool \
        keepdim=False) -> (Tensor, Tensor)",
        TWO,
        true,
        "Standard deviations and means over some dimensions.",
        ["f32[2, 3], [1], correction=0"]
    ),
];

fn correction(args: &Args<'_, Real>) -> Result<f64> {
    let schema = args.op.schema().expect("law: it is in the table");
    if schema.arg("unbiased").is_some() {
        return Ok(f64::from(args.named::<bool>("unbiased")?));
    }
    let given: Option<Scalar> = args.named("correction")?;
    Ok(given.map_or(1.0, Scalar::to))
}

fn spread(args: &Args<'_, Real>, outs: &mut [TensorMut], root: bool) -> Result<()> {
    fn run<T: Float + Analytic>(
        x: &Tensor,
        dims: &[i64],
        n: f64,
        out: &mut TensorMut,
        mean: Option<&mut TensorMut>,
    ) -> Result<()> {
        Ok(reduce::var::<T>(x, dims, n, out, mean)?)
    }
    fn roots<T: Analytic>(out: &mut TensorMut) -> Result<()> {
        Ok(update::<T>(out, T::sqrt)?)
    }
    let x: &Tensor = args.at(0)?;
    let (dims, correction) = (over(args, x.rank())?.loops(), correction(args)?);
    let wide = widest(outs[0].dtype());
    let (out, mean) = outs.split_first_mut().expect("law: it has a result");
    if x.dtype().is_complex() {
        let parts = parts(x)?;
        as_dtype(out, wide, |out| {
            let mut more = TensorMut::empty(wide, Layout::contiguous(out.sizes())?)?;
            let mut less = TensorMut::empty(wide, Layout::contiguous(out.sizes())?)?;
            dispatch!(wide_float wide, |T| {
                run::<T>(&parts[0], &dims, correction, &mut less, None)?;
                run::<T>(&parts[1], &dims, correction, &mut more, None)?;
                let add = |a: T, b: T| a + b;
                zip::<T, T, T>(&less.freeze(), &more.freeze(), out, add)?;
                if root { roots::<T>(out) } else { Ok(()) }
            })
        })?;
        return match mean.first_mut() {
            Some(mean) => complex_mean(x, &dims, mean),
            None => Ok(()),
        };
    }
    let x = x.to_dtype(wide)?;
    as_dtype(out, wide, |out| {
        dispatch!(wide_float wide, |T| {
            run::<T>(&x, &dims, correction, out, mean.first_mut())?;
            if root { roots::<T>(out) } else { Ok(()) }
        })
    })
}

fn complex_mean(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    fn run<T: Analytic>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        let n = T::from_real(dims.iter().map(|&d| x.sizes()[d as usize]).product::<i64>() as f64);
        Ok(reduce::reduce::<T, T, T>(x, dims, out, T::ZERO, T::add, T::add, |a| a.div(n))?)
    }
    let wide = widest(x.dtype());
    let x = x.to_dtype(wide)?;
    as_dtype(out, wide, |out| dispatch!(complex wide, |T| run::<T>(&x, dims, out)))
}
