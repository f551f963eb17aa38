//! The gradients of attention, from its output and the logarithms of its sums.
//!
//! ```text
//! W = exp(scale·q kᵀ + mask − logsumexp)      gv = Wᵀ g,  dW = g vᵀ,  dS = W ∘ (dW − rowsum(g ∘ out))
//! gq = scale · dS k,  gk = scale · dSᵀ q
//! ```

use crate::nn::attention::additive;
use crate::support::checks::{floating, fresh, of_dim, of_numel, of_sizes};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, dense_strides};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result};
use oxport_tensor::{Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[OpDef::new(
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, \
    Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, \
    Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor \
    grad_value)",
    meta,
)
.doc("The gradients of attention for query, key and value.")
.fill(backward)
.work(Class::Attention)
.samples(&[
    "f32[1, 2, 3, 4], f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], f32[1, 2, 3, 4], f32[1, 2, \
    3], 0.0, False",
    "!f32[1, 2, 3, 4], f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 6, 4], f32[1, 2, 3, 4], f32[1, 2, \
    3], 0.0, False",
    "!f32[1, 2, 3, 4], f32[1, 2, 7, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], f32[1, 2, 3, 4], f32[1, 2, \
    3], 0.0, False",
    "!f32[1, 2, 3, 4], f32[1, 2, 3, 4], f32[1, 2, 5, 3], f32[1, 2, 5, 4], f32[1, 2, 3, 4], f32[1, 2, \
    3], 0.0, False",
])];

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, q, k, v, out, sums): (&Fake, &Fake, &Fake, &Fake, &Fake, &Fake) = args.unpack()?;
    floating(args, q, false)?;
    for t in [q, k, v] {
        of_dim(args, t, 4..=4, "an operand")?;
    }
    let [n, heads, l, e] = [0, 1, 2, 3].map(|d| &q.sizes[d]);
    of_sizes(args, k, [n, &k.sizes[1], &k.sizes[2], e], "keys")?;
    of_sizes(args, v, [n, &k.sizes[1], &k.sizes[2], &v.sizes[3]], "values")?;
    of_sizes(args, grad, [n, heads, l, &v.sizes[3]], "a gradient")?;
    of_sizes(args, out, [n, heads, l, &v.sizes[3]], "an output")?;
    of_numel(args, sums, &(&(n * heads) * l), "logsumexp")?;
    // PyTorch's kernel makes them `[n, l, heads, e]`.
    let turned =
        |t: &Fake| Fake { strides: dense_strides(&t.sizes, &[3, 1, 2, 0]), ..fresh(t, t.dtype, t.sizes.clone()) };
    Ok([q, k, v].map(|t| turned(t).into()).into())
}

/// A head's matrices, row-major.
struct Head<'a, T> {
    grad: &'a [T],
    q: &'a [T],
    k: &'a [T],
    v: &'a [T],
    out: &'a [T],
    sums: &'a [T],
    mask: Option<&'a [T]>,
}

fn backward(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, q, k, v, out, sums): (&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Tensor) = args.unpack()?;
    let (dropout, causal, mask, scale): (f64, bool, Option<&Tensor>, Option<f64>) =
        (args.at(6)?, args.at(7)?, args.at(8)?, args.at(9)?);
    if dropout != 0.0 || q.sizes()[1] != k.sizes()[1] {
        return Err(Error::unsupported("the gradient of attention with dropout or grouped heads"));
    }
    let [l, e] = [q.sizes()[2] as usize, q.sizes()[3] as usize];
    let [s, w] = [k.sizes()[2] as usize, v.sizes()[3] as usize];
    let scale = scale.unwrap_or(1.0 / (e as f64).sqrt());
    let scores = [q.sizes()[0], q.sizes()[1], l as i64, s as i64];
    let [gq, gk, gv] = outs else { return Err(Error::invalid("attention has three gradients")) };
    computed!(q.dtype(), |T| {
        let mask = mask.map(|m| Dense::<T>::of(&additive::<T>(m)?.view(|l| l.expand(&scores))?)).transpose()?;
        let all = [grad, q, k, v, out, sums].into_iter().map(Dense::<T>::of).collect::<Result<Vec<_>>>()?;
        let heads = q.sizes()[0] as usize * q.sizes()[1] as usize;
        let (mut dq, mut dk, mut dv) = (
            filled(T::of(0.0), heads * l * e)?,
            filled(T::of(0.0), heads * s * e)?,
            filled(T::of(0.0), heads * s * w)?,
        );
        for h in 0..heads {
            let head = Head {
                grad: &all[0][h * l * w..(h + 1) * l * w],
                q: &all[1][h * l * e..(h + 1) * l * e],
                k: &all[2][h * s * e..(h + 1) * s * e],
                v: &all[3][h * s * w..(h + 1) * s * w],
                out: &all[4][h * l * w..(h + 1) * l * w],
                sums: &all[5][h * l..(h + 1) * l],
                mask: mask.as_deref().map(|m| &m[h * l * s..(h + 1) * l * s]),
            };
            let to = (
                &mut dq[h * l * e..(h + 1) * l * e],
                &mut dk[h * s * e..(h + 1) * s * e],
                &mut dv[h * s * w..(h + 1) * s * w],
            );
            one_head(&head, [l, s, e, w], causal, T::of(scale), to);
        }
        fill(gq, |y: &mut [T]| y.copy_from_slice(&dq))?;
        fill(gk, |y: &mut [T]| y.copy_from_slice(&dk))?;
        fill(gv, |y: &mut [T]| y.copy_from_slice(&dv))
    })
}

fn one_head<T: Compute>(
    h: &Head<'_, T>,
    [l, s, e, w]: [usize; 4],
    causal: bool,
    scale: T,
    (gq, gk, gv): (&mut [T], &mut [T], &mut [T]),
) {
    let dot = |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| a * b).sum::<T>();
    let add = |to: &mut [T], from: &[T], by: T| to.iter_mut().zip(from).for_each(|(y, &x)| *y += x * by);
    for i in 0..l {
        let (q, g) = (&h.q[i * e..][..e], &h.grad[i * w..][..w]);
        let level = dot(g, &h.out[i * w..][..w]);
        for j in 0..if causal { s.min(i + 1) } else { s } {
            let (k, v) = (&h.k[j * e..][..e], &h.v[j * w..][..w]);
            let score = dot(q, k) * scale + h.mask.map_or(T::zero(), |m| m[i * s + j]);
            let weight = (score - h.sums[i]).exp();
            add(&mut gv[j * w..][..w], g, weight);
            let slope = weight * (dot(g, v) - level) * scale;
            add(&mut gq[i * e..][..e], k, slope);
            add(&mut gk[j * e..][..e], q, slope);
        }
    }
}
