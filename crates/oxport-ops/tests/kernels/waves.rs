//! What unit tests of kernels share: calls by name, and inputs that PyTorch can make too.

use oxport_ir::args::Sym;
use oxport_ir::{Arg, Args, Error, Fake, Kernel, Meta, MetaCx, Real, Result, RunCx, Val};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::{Tensor, TensorMut};

/// `sin(k·i + p)` for every element number `i`, rounded to float32.
pub fn wave(sizes: &[i64], k: f64, p: f64) -> Tensor {
    let n: i64 = sizes.iter().product();
    let values: Vec<f32> = (0..n).map(|i| (i as f64 * k + p).sin() as f32).collect();
    Tensor::from_vec(sizes, values).expect("law: as many values as the sizes say")
}

/// The outputs of a filling kernel; arguments are positional and complete.
pub fn call(name: &str, values: &[Arg<Real>]) -> Result<Vec<Tensor>> {
    let op = oxport_ops::registry().op(name);
    let def = op.def().ok_or_else(|| Error::unsupported(name))?;
    let metas: Vec<Arg<Meta>> = values.iter().map(meta).collect();
    let env = ShapeEnv::new();
    let outs = (def.meta)(&Args::new(&metas, &op, &MetaCx::new(&env)))?;
    let empty = |v: &Val| {
        let layout =
            v.as_tensor().and_then(Fake::concrete_layout).ok_or_else(|| Error::invalid("a symbolic result"))?;
        Ok(TensorMut::empty(v.as_tensor().map_or(oxport_tensor::DType::F32, |t| t.dtype), layout)?)
    };
    let mut outs = outs.iter().map(empty).collect::<Result<Vec<_>>>()?;
    let Kernel::Fill(fill) = def.kernel else { return Err(Error::unsupported(format!("{name} fills nothing"))) };
    fill(&Args::new(values, &op, &RunCx::default()), &mut outs)?;
    Ok(outs.into_iter().map(TensorMut::freeze).collect())
}

/// The first elements of a tensor and the sum of all must be these, up to 2e-5.
#[track_caller]
pub fn assert_wave(t: &Tensor, first: &[f64], sum: f64) {
    let values = t.to_vec::<f64>().unwrap();
    let close = |a: f64, b: f64| (a - b).abs() < 2e-5 * (1.0 + b.abs());
    let fits = values.len() >= first.len() && values.iter().zip(first).all(|(&a, &b)| close(a, b));
    assert!(fits, "{:?} instead of {first:?}", &values[..values.len().min(first.len())]);
    assert!(close(values.iter().sum(), sum), "a sum of {} instead of {sum}", values.iter().sum::<f64>());
}

fn meta(a: &Arg<Real>) -> Arg<Meta> {
    match a {
        Arg::Tensor(t) => Arg::Tensor(Fake::of(t)),
        Arg::Int(n) => Arg::Int(Expr::from(*n)),
        Arg::Float(x) => Arg::Float(Sym::Const(*x)),
        Arg::Bool(b) => Arg::Bool(Sym::Const(*b)),
        Arg::Str(s) => Arg::Str(s.clone()),
        Arg::DType(d) => Arg::DType(*d),
        Arg::List(l) => Arg::List(l.iter().map(meta).collect()),
        _ => Arg::None,
    }
}
