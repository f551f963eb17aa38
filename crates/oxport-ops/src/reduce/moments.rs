//! Variances, standard deviations and norms.
//!
//! Laws: a variance takes two passes, in float64; one whose correction leaves nothing divides by 0. Complex numbers
//! count by their parts in variances and by their moduli in norms.

use crate::reduce::over::{Rule, over, reduced, widest};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rowmajor::as_dtype;
use oxport_ir::{Arg, Args, Argument, Build, Builder, Fake, NodeId, OpDef, Operand, Real, Result, ensure};
use oxport_tensor::{
    Analytic, Complex, DType, Float, Layout, Real as Ordered, Scalar, Tensor, TensorMut, dispatch, map, reduce, update,
    zip,
};

/// A variance, a standard deviation, or one of them and the mean.
macro_rules! spread {
    ($schema:literal, $rules:expr, $root:literal, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| reduced(args, $rules))
            .fill(|a, o| spread(a, o, $root))
            .doc($doc)
            .samples(&[$($sample),*])
    };
}
/// A norm.
macro_rules! norm {
    ($schema:literal, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, norm_meta).fill(norm).doc($doc).samples(&[$($sample),*])
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
    norm!(
        "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
        "Norms of vectors along some dimensions.",
        [
            "f32[2, 3]",
            "f32[2, 3], 1, [1], True",
            "f32[2, 3], 0.5",
            "c64[3]",
            "f32[0]",
            "f16[4], 3, dtype=float32",
            "!i64[3]",
            "!f32[0], -1"
        ]
    ),
    norm!(
        "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
        "The norm of all elements as a vector.",
        ["f32[2, 3]", "f32[2, 3], 1"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        "Norms of vectors along some dimensions.",
        ["f32[2, 3], None, [1]", "f32[2, 3], 3, [0, 1], True"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType \
        dtype) -> Tensor",
        "Norms of vectors along some dimensions, in a dtype.",
        ["f32[2, 3], 2, [1], False, dtype=float64"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
        "The norm of all elements as a vector, in a dtype.",
        ["f32[2, 3], 2, dtype=float64"]
    ),
    OpDef::new("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", norm_meta)
        .fill(norm)
        .doc("Norms over at most two dimensions.")
        .samples(&["f32[2, 3], [0, 1]"]),
    OpDef::new("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", dist_meta)
        .expr("norm.Scalar(sub.Tensor(self, other), p)")
        .doc("The norm of a difference.")
        .samples(&["f32[2, 3], f32[2, 3]", "f32[3], f32[2, 1], 1"]),
    OpDef::new("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", renorm_meta)
        .decomp(renorm)
        .doc("Every index of a dimension scaled down to a norm that is not to be exceeded.")
        .samples(&["f32[2, 3], 2, 0, 1.0", "!f32[3], 2, 0, 1.0"]),
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

/// The real and the imaginary parts of a complex tensor.
pub(crate) fn parts(x: &Tensor) -> Result<[Tensor; 2]> {
    let x = x.to_dtype(widest(x.dtype()))?.contiguous()?;
    let sizes: Vec<i64> = x.sizes().iter().copied().chain([2]).collect();
    let flat = x.reshape(&[-1])?.view_dtype(x.dtype().to_real())?.reshape(&sizes)?;
    Ok([flat.view(|l| l.select(-1, 0))?, flat.view(|l| l.select(-1, 1))?])
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

/// The order of a norm: the argument `p` or `ord`, 2 if it is missing.
fn order<W: oxport_ir::World>(args: &Args<'_, W>) -> Result<f64> {
    let schema = args.op.schema().expect("law: it is in the table");
    match ["p", "ord"].iter().find_map(|name| schema.arg(name)) {
        Some((i, _)) if !matches!(args.values[i], Arg::None) => Ok(args.at::<Scalar>(i)?.to()),
        _ => Ok(2.0),
    }
}

fn norm_meta(args: &MetaArgs<'_>) -> Metas {
    let order = order(args)?;
    if order < 0.0 || order == f64::INFINITY {
        let x: &oxport_ir::Fake = args.at(0)?;
        for &d in &over(args, x.dim())?.dims {
            ensure!(!args.cx.is(&x.sizes[d], 0), "{} of order {order} of no elements", args.op.name());
        }
    }
    let x: &oxport_ir::Fake = args.at(0)?;
    ensure!(
        x.dtype.is_float() || x.dtype.is_complex(),
        "{} of {}: expected a floating point or complex dtype",
        args.op.name(),
        x.dtype.name()
    );
    reduced(args, &[Rule::Norm])
}

fn norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let (dims, order) = (over(args, x.rank())?.loops(), order(args)?);
    let wide = widest(outs[0].dtype());
    let x = if x.dtype().is_complex() { moduli(x)? } else { x.clone() };
    let x = x.to_dtype(wide)?;
    as_dtype(&mut outs[0], wide, |out| dispatch!(wide_float wide, |T| norm_of::<T>(&x, &dims, T::from_f64(order), out)))
}

fn moduli(x: &Tensor) -> Result<Tensor> {
    let wide = widest(x.dtype());
    let x = x.to_dtype(wide)?;
    let mut out = TensorMut::empty(wide.to_real(), Layout::contiguous(x.sizes())?)?;
    match wide {
        DType::C128 => map::<Complex<f64>, f64>(&x, &mut out, |z: Complex<f64>| z.re.hypot(z.im))?,
        _ => map::<Complex<f32>, f32>(&x, &mut out, |z: Complex<f32>| z.re.hypot(z.im))?,
    }
    Ok(out.freeze())
}

fn norm_of<T: Float + Analytic>(x: &Tensor, dims: &[i64], p: T, out: &mut TensorMut) -> Result<()> {
    use reduce::reduce;
    let (zero, abs) = (T::ZERO, <T as Ordered>::abs);
    let sum = |a: T, b: T| a + b;
    Ok(if p == T::HIGHEST {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a.maximum(abs(x)), T::maximum, |a| a)
    } else if p == T::LOWEST {
        reduce::<T, T, T>(x, dims, out, T::HIGHEST, |a, x| a.minimum(abs(x)), T::minimum, |a| a)
    } else if p == zero {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| if x == zero { a } else { a + T::ONE }, sum, |a| a)
    } else if p == T::ONE {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + abs(x), sum, |a| a)
    } else if p == T::ONE + T::ONE {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + x * x, sum, |a| a.sqrt())
    } else {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + abs(x).pow(p), sum, |a| a.pow(T::ONE / p))
    }?)
}

fn dist_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (Operand<'_, oxport_ir::Meta>, Operand<'_, oxport_ir::Meta>) = args.unpack()?;
    let fake = crate::support::meta::pointwise(args.cx, &[a, b], crate::support::promote::Promotion::Default)?;
    ensure!(fake.dtype.is_float() || fake.dtype.is_complex(), "dist of {}", fake.dtype.name());
    let dtype = fake.dtype.to_real();
    crate::support::meta::one(oxport_ir::Fake { device: fake.device, ..oxport_ir::Fake::new(dtype, []) })
}

fn renorm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, p, dim, most): (&Fake, Scalar, i64, Scalar) = args.unpack()?;
    ensure!(x.dim() > 1, "renorm of {} dimensions", x.dim());
    ensure!(p.to::<f64>() > 0.0 && most.to::<f64>() >= 0.0, "renorm by the norm {p:?} to {most:?}");
    ensure!(x.dtype.is_float() || x.dtype.is_complex(), "renorm of {}", x.dtype.name());
    crate::support::meta::wrap_dim(dim, x.dim())?;
    crate::support::meta::one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn renorm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, p, dim, most): (NodeId, Argument, i64, Argument) = args.unpack()?;
    let rank = b.fake(x)?.dim();
    let d = crate::support::meta::wrap_dim(dim, rank)?;
    let others = Argument::List((0..rank).filter(|&e| e != d).map(|e| (e as i64).into()).collect());
    let norm = b.call("linalg_vector_norm", (x, p, others, true))?;
    let names = |name: &str| match name {
        "x" => Some(x.into()),
        "norm" => Some(norm.into()),
        "most" => Some(most.clone()),
        _ => None,
    };
    let down = "mul.Scalar(reciprocal(add.Scalar(norm, 1e-07)), most)";
    let text = format!("mul.Tensor(x, where.ScalarOther(gt.Scalar(norm, most), {down}, 1.0))");
    Ok(vec![b.expr(&text, &names)?])
}
