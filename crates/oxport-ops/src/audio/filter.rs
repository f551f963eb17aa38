//! Recursive filters of torchaudio: each sample depends on those in front of it.
//!
//! Law: these operators write their arguments, and are implemented by value: the kernel gives the results and then the
//! new values of what is written, in the order of the schema.

use crate::support::checks::{agree, of_dim, same_dtype};
use crate::support::dense::{Compute, Dense};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, Value, ensure};
use oxport_tensor::{DType, Tensor};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) \
        padded_output_waveform) -> Tensor(a!)",
        recursive_meta,
    )
    .doc("Each sample less the weighted sum of the outputs in front of it, as `lfilter` needs it.")
    .eval(recursive)
    .work(Class::Reduction)
    .samples(&["f32[2, 3, 6], f32[3, 3], f32[2, 3, 8]", "!f32[2, 3, 6], f32[3, 3], f32[2, 3, 7]"]),
    OpDef::new(
        "torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, \
        Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
        overdrive_meta,
    )
    .doc("The blocker of constant parts behind the distortion of `overdrive`, mixed with the waveform.")
    .eval(overdrive)
    .work(Class::Reduction)
    .samples(&["f32[2, 5], f32[2, 5], f32[2], f32[2], f32[2, 5]"]),
];

/// torchaudio's kernels are for `float32` and `float64`.
fn check_dtype(args: &MetaArgs<'_>, tensors: &[&Fake]) -> Result<()> {
    let dtype = same_dtype(args, tensors)?;
    ensure!(matches!(dtype, DType::F32 | DType::F64), "{}: expected float32 or float64, got {dtype}", args.name());
    Ok(())
}

fn recursive_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, factors, out): (&Fake, &Fake, &Fake) = args.unpack()?;
    check_dtype(args, &[x, factors, out])?;
    of_dim(args, x, 3..=3, "the signal")?;
    of_dim(args, factors, 2..=2, "the factors")?;
    of_dim(args, out, 3..=3, "the output")?;
    agree(args.cx, &x.sizes[0], &out.sizes[0], "batch sizes of signal and output")?;
    agree(args.cx, &x.sizes[1], &out.sizes[1], "channels of signal and output")?;
    agree(args.cx, &x.sizes[1], &factors.sizes[0], "channels of signal and factors")?;
    agree(args.cx, &(&x.sizes[2] + &factors.sizes[1] - 1), &out.sizes[2], "samples of signal and output")?;
    Ok(vec![out.clone().into()])
}

fn recursive(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, factors, out): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    // Sizes may be symbolic where the meta function sees them.
    let expected = match (x.sizes(), factors.sizes()) {
        (&[batch, channels, samples], &[rows, order]) if rows == channels => {
            Some([batch, channels, samples + order - 1])
        }
        _ => None,
    };
    ensure!(
        expected.is_some_and(|expected| out.sizes() == expected),
        "{}: expected sizes [b, c, n], [c, k] and [b, c, n + k - 1], got {:?}, {:?} and {:?}",
        args.name(),
        x.sizes(),
        factors.sizes(),
        out.sizes()
    );
    let made = match x.dtype() {
        DType::F64 => recursive_in::<f64>(x, factors, out)?,
        _ => recursive_in::<f32>(x, factors, out)?,
    };
    Ok(vec![Value::Tensor(made.clone()), Value::Tensor(made)])
}

fn recursive_in<T: Compute>(x: &Tensor, factors: &Tensor, out: &Tensor) -> Result<Tensor> {
    let (channels, samples, order) = (x.sizes()[1] as usize, x.sizes()[2] as usize, factors.sizes()[1] as usize);
    let (x, factors, mut made) = (Dense::<T>::of(x)?, Dense::<T>::of(factors)?, Dense::<T>::of(out)?.to_vec());
    // Without factors no sample has a place.
    if samples > 0 && order > 0 {
        for (i, (x, y)) in x.chunks_exact(samples).zip(made.chunks_exact_mut(samples + order - 1)).enumerate() {
            let factors = &factors[i % channels * order..][..order];
            for (at, &x) in x.iter().enumerate() {
                let window = &mut y[at..at + order];
                window[order - 1] = window.iter().zip(factors).fold(x, |rest, (&y, &a)| rest - y * a);
            }
        }
    }
    Ok(Tensor::from_vec(out.sizes(), made)?)
}

fn overdrive_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, distorted, last_in, last_out, out): (&Fake, &Fake, &Fake, &Fake, &Fake) = args.unpack()?;
    check_dtype(args, &[x, distorted, last_in, last_out, out])?;
    for (t, what) in [(x, "the waveform"), (distorted, "the distorted waveform"), (out, "the output")] {
        of_dim(args, t, 2..=2, what)?;
        agree(args.cx, &x.sizes[0], &t.sizes[0], "numbers of waveforms")?;
        agree(args.cx, &x.sizes[1], &t.sizes[1], "numbers of samples")?;
    }
    for t in [last_in, last_out] {
        of_dim(args, t, 1..=1, "the last samples")?;
        agree(args.cx, &x.sizes[0], &t.sizes[0], "numbers of waveforms and of last samples")?;
    }
    Ok([last_in, last_out, out].map(|t| t.clone().into()).into())
}

fn overdrive(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, distorted, last_in, last_out, out): (&Tensor, &Tensor, &Tensor, &Tensor, &Tensor) = args.unpack()?;
    for (t, dims) in [(x, 2), (distorted, 2), (out, 2), (last_in, 1), (last_out, 1)] {
        let expected = x.sizes().get(..dims).unwrap_or_default();
        ensure!(
            x.sizes().len() == 2 && t.sizes() == expected,
            "{}: expected sizes {expected:?}, got {:?}",
            args.name(),
            t.sizes()
        );
    }
    let made = match x.dtype() {
        DType::F64 => overdrive_in::<f64>(x, distorted, [last_in, last_out], out)?,
        _ => overdrive_in::<f32>(x, distorted, [last_in, last_out], out)?,
    };
    Ok(made.iter().chain(&made).cloned().map(Value::Tensor).collect())
}

/// The last samples that went in and came out, and the output. Sums are computed in `f64`, as by torchaudio's kernel.
fn overdrive_in<T: Compute>(x: &Tensor, distorted: &Tensor, last: [&Tensor; 2], out: &Tensor) -> Result<[Tensor; 3]> {
    let samples = x.sizes()[1] as usize;
    let (x, distorted) = (Dense::<T>::of(x)?, Dense::<T>::of(distorted)?);
    let [mut last_in, mut last_out] = [Dense::<T>::of(last[0])?.to_vec(), Dense::<T>::of(last[1])?.to_vec()];
    let mut made = Dense::<T>::of(out)?.to_vec();
    let wide = |x: T| x.to_f64().unwrap_or(f64::NAN);
    for (i, line) in made.chunks_exact_mut(samples.max(1)).enumerate() {
        let (x, distorted) = (&x[i * samples..], &distorted[i * samples..]);
        for ((y, &x), &d) in line.iter_mut().zip(x).zip(distorted) {
            last_out[i] = T::of(wide(d - last_in[i]) + 0.995 * wide(last_out[i]));
            last_in[i] = d;
            *y = T::of(wide(x) * 0.5 + wide(last_out[i]) * 0.75);
        }
    }
    let lines = last[0].sizes();
    Ok([Tensor::from_vec(lines, last_in)?, Tensor::from_vec(lines, last_out)?, Tensor::from_vec(out.sizes(), made)?])
}
