//! Gathering along every dimension at once: what paddings and nearest-neighbor resampling are.
//!
//! ```text
//! out[i, j, …] = x[map₀[i], map₁[j], …]      or a filler, where a map points nowhere
//! ```

use crate::support::dense::{Dense, fill};
use crate::support::product::part;
use crate::support::rows::for_out_rows;
use oxport_ir::Result;
use oxport_tensor::{Element, Scalar, Tensor, TensorMut, dispatch};

/// Where a map points outside of the input.
pub const NOWHERE: usize = usize::MAX;

/// Fills `out` from `x` by one map per dimension, each as long as the dimension of `out`.
///
/// # Errors
/// There is no memory for a temporary.
pub fn gather(x: &Tensor, maps: &[Vec<usize>], filler: Scalar, out: &mut TensorMut) -> Result<()> {
    // Dimensions in the memory order of the output, slowest first.
    let strides = out.strides().to_vec();
    let mut order: Vec<usize> = (0..out.rank()).collect();
    if !out.layout().is_contiguous() {
        order.sort_by_key(|&d| std::cmp::Reverse(strides[d]));
    }
    let dims: Vec<i64> = order.iter().map(|&d| d as i64).collect();
    let x = x.view(|l| l.permute(&dims))?;
    let maps: Vec<&[usize]> = order.iter().map(|&d| &maps[d][..]).collect();
    let layout = out.layout().permute(&dims)?;
    part(out, layout, |out| dispatch!(all x.dtype(), |T| run::<T>(&x, &maps, filler.to::<T>(), out)))
}

#[inline(never)]
fn run<T: Element>(x: &Tensor, maps: &[&[usize]], filler: T, out: &mut TensorMut) -> Result<()> {
    let sizes: Vec<usize> = x.sizes().iter().map(|&n| n as usize).collect();
    let x = Dense::<T>::of(x)?;
    let Some((&inner, outer)) = maps.split_last() else {
        return fill(out, |out: &mut [T]| out.copy_from_slice(&x));
    };
    let width = sizes[outer.len()];
    // The stretch of the inner dimension that is a plain copy.
    let first = inner.iter().position(|&i| i != NOWHERE).unwrap_or(inner.len());
    let (start, end) = longest_run(inner, first);
    fill(out, |out: &mut [T]| {
        for_out_rows(out, inner.len(), inner.len(), |row, out| {
            let Some(base) = source_row(row, outer, &sizes) else {
                out.fill(filler);
                return;
            };
            let row = &x[base * width..][..width];
            let pick = |out: &mut [T], map: &[usize]| {
                for (y, &i) in out.iter_mut().zip(map) {
                    *y = if i == NOWHERE { filler } else { row[i] };
                }
            };
            pick(&mut out[..start], &inner[..start]);
            if start < end {
                out[start..end].copy_from_slice(&row[inner[start]..][..end - start]);
            }
            pick(&mut out[end..], &inner[end..]);
        });
    })
}

/// The longest stretch of consecutive sources.
pub fn longest_run(map: &[usize], from: usize) -> (usize, usize) {
    let (mut best, mut start) = ((from, from), from);
    for i in from + 1..=map.len() {
        let breaks = i == map.len() || map[i] == NOWHERE || map[i - 1] == NOWHERE || map[i] != map[i - 1] + 1;
        if breaks {
            if i - start > best.1 - best.0 && map[start] != NOWHERE {
                best = (start, i);
            }
            start = i;
        }
    }
    best
}

/// The row of the input that a row of the output comes from.
fn source_row(mut row: usize, maps: &[&[usize]], sizes: &[usize]) -> Option<usize> {
    let (mut base, mut stride) = (0, 1);
    for (map, &size) in maps.iter().zip(sizes).rev() {
        let i = map[row % map.len()];
        row /= map.len();
        if i == NOWHERE {
            return None;
        }
        base += i * stride;
        stride *= size;
    }
    Some(base)
}
