//! Gradients of sampling images at places, for the image and for the places.

use crate::resample::grid::{MOST_TAPS, Places};
use crate::support::checks::{agree, floating, fresh, of_sizes, same_dtype};
use crate::support::dense::{Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    form(
        "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int \
        interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, \
        Tensor)",
    )
    .samples(&[
        "f32[1, 2, 3, 4], f32[1, 2, 5, 5], f32[1, 3, 4, 2], 0, 0, False, [True, True]",
        "!f32[1, 2, 3, 4], f32[1, 2, 5, 5], f32[1, 2, 4, 2], 0, 0, False, [True, True]",
        "!f32[0, 2, 3, 4], f32[1, 2, 5, 5], f32[1, 3, 4, 2], 0, 0, False, [True, True]",
        "!f32[1, 2, 3, 4], f32[1, 2, 5, 5], f32[1, 3, 4, 3], 0, 0, False, [True, True]",
    ]),
    form(
        "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int \
        interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, \
        Tensor)",
    ),
];

const fn form(schema: &'static str) -> OpDef {
    OpDef::new(schema, meta)
        .doc("The gradients of sampling for the image and the places.")
        .fill(backward)
        .work(Class::Reduction)
}

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, grid): (&Fake, &Fake, &Fake) = args.unpack()?;
    floating(args, x, false)?;
    let mask: Vec<bool> = args.at(6)?;
    ensure!(
        mask.len() == 2 && x.dim() >= 4 && grid.dim() == x.dim(),
        "{}: gradient {grad} of {x} at {grid}",
        args.name()
    );
    let n = x.dim() - 2;
    ensure!((2..=3).contains(&n), "{}: an image {x}", args.name());
    agree(args.cx, &grid.sizes[0], &x.sizes[0], "images and grids")?;
    agree(args.cx, &grid.sizes[n + 1], &Expr::from(n as i64), "numbers of a place and spatial dimensions")?;
    let expected = [&x.sizes[0], &x.sizes[1]].into_iter().chain(&grid.sizes[1..=n]);
    of_sizes(args, grad, expected, "a gradient")?;
    same_dtype(args, &[x, grid, grad])?;
    ensure!(!x.sizes[2..].iter().any(|s| args.cx.is(s, 0)), "{}: an image {x} without pixels", args.name());
    // The gradient of the places is always made.
    let image = if mask[0] { Val::Tensor(fresh(x, x.dtype, x.sizes.clone())) } else { Val::None };
    Ok(vec![image, fresh(grid, grid.dtype, grid.sizes.clone()).into()])
}

fn backward(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, grid, mode, padding, align): (&Tensor, &Tensor, &Tensor, i64, i64, bool) = args.unpack()?;
    let places = Places::new(mode, padding, align);
    let n = x.rank() - 2;
    let sizes: Vec<usize> = x.sizes()[2..].iter().map(|&s| s as usize).collect();
    let channels = x.sizes()[1] as usize;
    let volume: usize = sizes.iter().product();
    let points = grad.sizes()[2..].iter().product::<i64>() as usize;
    let (image, places_out) = match outs {
        [image, places] => (Some(image), Some(places)),
        [places] => (None, Some(places)),
        _ => (None, None),
    };
    computed!(x.dtype(), |T| {
        let (grad, x, grid) = (Dense::<T>::of(grad)?, Dense::<T>::of(x)?, Dense::<T>::of(grid)?);
        let all = grid.chunks_exact(n).enumerate();
        let of = |k: usize, c: usize| {
            (
                (k / points.max(1) * channels + c) * points + k % points.max(1),
                (k / points.max(1) * channels + c) * volume,
            )
        };
        if let Some(out) = image {
            fill(out, |out: &mut [T]| {
                out.fill(0.0);
                let mut taps = [(0, 0.0); MOST_TAPS];
                for (k, at) in all.clone() {
                    let count = places.taps(at, &sizes, None, &mut taps);
                    for &(place, weight) in &taps[..count] {
                        (0..channels).map(|c| of(k, c)).for_each(|(g, plane)| out[plane + place] += grad[g] * weight);
                    }
                }
            })?;
        }
        match places_out {
            Some(out) => fill(out, |out: &mut [T]| {
                let mut taps = [(0, 0.0); MOST_TAPS];
                for (k, at) in all.clone() {
                    for d in 0..n {
                        let count = places.taps(at, &sizes, Some(d), &mut taps);
                        let share = |&(place, slope): &(usize, T)| {
                            (0..channels)
                                .map(|c| of(k, c))
                                .map(|(g, plane)| grad[g] * x[plane + place] * slope)
                                .sum::<T>()
                        };
                        out[k * n + n - 1 - d] = taps[..count].iter().map(share).sum();
                    }
                }
            }),
            None => Ok(()),
        }
    })
}
