//! Where the windows of a pool lie along one dimension.

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
pub fn sliding(input: i64, count: i64, [kernel, stride, padding, dilation]: [i64; 4]) -> Axis {
    let window = |i: i64| {
        let first = i * stride - padding;
        let size = (first + kernel).min(input + padding) - first;
        // Taps before the input fall away, and stay on the grid of the dilation.
        let skipped = (-first).max(0).div_euclid(dilation) + i64::from((-first).max(0) % dilation != 0);
        let start = first + skipped * dilation;
        let end = (first + (kernel - 1) * dilation + 1).min(input);
        (start as usize, end.max(start) as usize, size)
    };
    Axis { input: input as usize, windows: (0..count).map(window).collect(), step: dilation as usize }
}

/// So many windows over all of the input.
pub fn adaptive(input: i64, count: i64) -> Axis {
    let window = |i: i64| {
        let (start, end) = (i * input / count, ((i + 1) * input + count - 1) / count);
        (start as usize, end as usize, end - start)
    };
    Axis { input: input as usize, windows: (0..count).map(window).collect(), step: 1 }
}

/// Windows at random places, as a sample in `0..1` says; in single precision where PyTorch computes so.
pub fn fractional(input: i64, count: i64, kernel: i64, sample: f64, single: bool) -> Axis {
    let room = input - kernel;
    let place = |i: i64| {
        if i == count - 1 {
            return room;
        }
        if single {
            let (alpha, sample) = (room as f32 / (count - 1) as f32, sample as f32);
            ((i as f32 + sample) * alpha) as i64 - (sample * alpha) as i64
        } else {
            let alpha = room as f64 / (count - 1) as f64;
            ((i as f64 + sample) * alpha) as i64 - (sample * alpha) as i64
        }
    };
    let window = |i: i64| (place(i) as usize, (place(i) + kernel) as usize, kernel);
    Axis { input: input as usize, windows: (0..count).map(window).collect(), step: 1 }
}
