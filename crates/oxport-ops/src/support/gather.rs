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
/// The rows of a tensor of one dimension.
static ONE_ROW: &[usize] = &[0];
/// So few planes are no tasks by themselves.
const FEW_PLANES: usize = 16;

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
    let (&rows, outer) = outer.split_last().unwrap_or((&ONE_ROW, &[]));
    let (width, height) = (sizes[maps.len() - 1], if maps.len() > 1 { sizes[maps.len() - 2] } else { 1 });
    // The stretch of the inner dimension that is a plain copy.
    let first = inner.iter().position(|&i| i != NOWHERE).unwrap_or(inner.len());
    let (start, end) = longest_run(inner, first);
    let plane = rows.len() * inner.len();
    // Rows of a plane are shared by threads where there are few planes.
    let block = if out.numel() / plane.max(1) < FEW_PLANES { 1 } else { rows.len() };
    fill(out, |out: &mut [T]| {
        for_out_rows(out, block * inner.len(), block * inner.len(), |place, out| {
            let blocks = rows.len() / block;
            let Some(base) = source_plane(place / blocks, outer, &sizes) else {
                out.fill(filler);
                return;
            };
            let x = &x[base * height * width..][..height * width];
            let pick = |row: &[T], out: &mut [T], map: &[usize]| {
                for (y, &i) in out.iter_mut().zip(map) {
                    *y = if i == NOWHERE { filler } else { row[i] };
                }
            };
            let rows = &rows[place % blocks * block..][..block];
            for (out, &row) in out.chunks_exact_mut(inner.len()).zip(rows) {
                if row == NOWHERE {
                    out.fill(filler);
                    continue;
                }
                let row = &x[row * width..][..width];
                pick(row, &mut out[..start], &inner[..start]);
                if start < end {
                    out[start..end].copy_from_slice(&row[inner[start]..][..end - start]);
                }
                pick(row, &mut out[end..], &inner[end..]);
            }
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

/// The plane of the input that a plane of the output comes from.
fn source_plane(mut plane: usize, maps: &[&[usize]], sizes: &[usize]) -> Option<usize> {
    let (mut base, mut stride) = (0, 1);
    for (map, &size) in maps.iter().zip(sizes).rev() {
        let i = map[plane % map.len()];
        plane /= map.len();
        if i == NOWHERE {
            return None;
        }
        base += i * stride;
        stride *= size;
    }
    Some(base)
}
