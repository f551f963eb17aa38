//! Where the windows of a pool lie along one dimension.

use oxport_ir::Result;
use oxport_tensor::table;

/// The windows along one dimension.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The size of the input.
    pub input: usize,
    /// Every window: first element, one past the last, and its size for averages.
    pub windows: Vec<(usize, usize, i64)>,
    /// From element to element.
    pub step: usize,
}

impl Axis {
    /// One window over one element.
    pub fn single() -> Axis {
        Axis { input: 1, windows: vec![(0, 1, 1)], step: 1 }
    }
    /// Makes windows count what they hold only.
    pub fn forget_padding(&mut self) {
        self.windows.iter_mut().for_each(|(start, end, size)| *size = end.saturating_sub(*start) as i64);
    }
    /// The greatest number of elements in a window.
    pub fn reach(&self) -> usize {
        self.windows.iter().map(|&(start, end, _)| end.saturating_sub(start).div_ceil(self.step)).max().unwrap_or(0)
    }
}

/// Windows of a fixed kernel.
///
/// # Errors
/// There is no memory for so many.
pub fn sliding(input: i64, count: i64, [kernel, stride, padding, dilation]: [i64; 4]) -> Result<Axis> {
    let window = |i: i64| {
        let first = i * stride - padding;
        let size = (first + kernel).min(input + padding) - first;
        // Taps before the input fall away, and stay on the grid of the dilation.
        let skipped = if first < 0 { (-first).unsigned_abs().div_ceil(dilation.unsigned_abs()) as i64 } else { 0 };
        let start = first + skipped * dilation;
        let end = (first + (kernel - 1) * dilation + 1).min(input);
        (start as usize, end.max(start) as usize, size)
    };
    Ok(Axis { input: input as usize, windows: listed(count, window)?, step: dilation as usize })
}

/// So many windows over all of the input.
///
/// # Errors
/// As [`sliding`].
pub fn adaptive(input: i64, count: i64) -> Result<Axis> {
    let window = |i: i64| {
        let at = |i: i64| i128::from(i) * i128::from(input);
        let (start, end) = (at(i) / i128::from(count), (at(i + 1) + i128::from(count) - 1) / i128::from(count));
        (start as usize, end as usize, (end - start) as i64)
    };
    Ok(Axis { input: input as usize, windows: listed(count, window)?, step: 1 })
}

fn listed(count: i64, window: impl Fn(i64) -> (usize, usize, i64)) -> Result<Vec<(usize, usize, i64)>> {
    let mut windows = table(count.max(0) as usize)?;
    windows.extend((0..count).map(window));
    Ok(windows)
}

/// Windows at random places, as a sample in `0..1` says; in single precision where PyTorch computes so.
///
/// # Errors
/// As [`sliding`].
pub fn fractional(input: i64, count: i64, kernel: i64, sample: f64, single: bool) -> Result<Axis> {
    let room = input - kernel;
    let place = |i: i64| {
        if i == count - 1 {
            return room;
        }
        if single {
            let (alpha, sample) = (room as f32 / (count - 1) as f32, sample as f32);
            (((i as f32 + sample) * alpha) as i64).saturating_sub((sample * alpha) as i64)
        } else {
            let alpha = room as f64 / (count - 1) as f64;
            (((i as f64 + sample) * alpha) as i64).saturating_sub((sample * alpha) as i64)
        }
    };
    let window = |i: i64| {
        // Neither roundings of the last places nor samples outside of [0, 1) leave the input.
        let first = place(i).clamp(0, room);
        (first as usize, (first + kernel) as usize, kernel)
    };
    Ok(Axis { input: input as usize, windows: listed(count, window)?, step: 1 })
}

/// Calls `f(place of the output, place of the first tap's row)` in row-major order.
#[inline(always)]
pub fn for_windows(axes: &[Axis; 3], mut f: impl FnMut(usize, [(usize, usize, i64); 3])) {
    let mut place = 0;
    for &d in &axes[0].windows {
        for &h in &axes[1].windows {
            for &w in &axes[2].windows {
                f(place, [d, h, w]);
                place += 1;
            }
        }
    }
}

/// Calls `f(place of a tap)` in row-major order.
#[inline(always)]
pub fn for_taps(axes: &[Axis; 3], [d, h, w]: [(usize, usize, i64); 3], mut f: impl FnMut(usize)) {
    for d in (d.0..d.1).step_by(axes[0].step) {
        for h in (h.0..h.1).step_by(axes[1].step) {
            let row = (d * axes[1].input + h) * axes[2].input;
            for w in (w.0..w.1).step_by(axes[2].step) {
                f(row + w);
            }
        }
    }
}
