//! Convolutions of one, two and three dimensions, forward and transposed, on strided slices.
//!
//! ```text
//!   weight [O, K·C]  ×  columns [K·C, pixels]  =  output [O, pixels]        one product per image and group
//! ```
//!
//! Algorithms, chosen by shape and strides: where the channels of the output are neighbors, the windows of the input
//! are read where they lie (`pixels`; of a kernel per channel, `channels`, perhaps while its input is made, `sliding`;
//! of few channels in planes, from copied rows, `few_channels`), or, of groups of few channels, spread first
//! (`grouped`); over planes a kernel per channel is summed directly (`depthwise`); a 1×1 kernel is a matrix product of
//! the input itself; else the columns of a tile of pixels are packed from a padded copy of the input while the product
//! runs (`columns`). A transposed convolution is one of the input for each phase of its stride (`phases`), of few
//! channels a product whose columns are added into the output (`transposed`). A 3×3 kernel over pixels may be done with
//! fewer multiplications (`winograd`), if its weight is given so.
//!
//! Invariants: as of [`crate::gemm`]: same bits for any number of threads, half types are summed in `f32` and rounded
//! once, integers wrap. An output is its bias and then its taps in order, channel by channel in each, in the slices of
//! a product: the same bits for any strides (those of `winograd` are others). Lower dimensions are three with sizes of
//! 1 in front.

mod channels;
mod columns;
mod depthwise;
mod few_channels;
mod grouped;
mod padded;
mod phases;
mod pixels;
mod sliding;
mod source;
mod tensor;
mod transposed;
mod weight;
mod winograd;

use crate::gemm::{
    After, Batch, Compute, Epilogue, Finish, Lhs, Mat, MatMut, Multiply, Product, Rhs, Start, extent, gemm, is_disjoint,
};
pub use sliding::{RowReader, RowSource, Sliding};
pub use tensor::{ConvOptions, PackedKernel, With, convolution};
pub use weight::{Form, PackedWeight};
pub use winograd::Winograd;

use columns::Columns;
use padded::Padded;

/// The sizes of a convolution; spatial numbers are depth, height, width, with 1 (or padding 0) for absent ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Images.
    pub batch: usize,
    /// Groups that channels are divided into.
    pub groups: usize,
    /// Channels of the input, of all groups.
    pub in_channels: usize,
    /// Channels of the output, of all groups.
    pub out_channels: usize,
    /// Spatial sizes of the input.
    pub input: [usize; 3],
    /// Spatial sizes of the kernel.
    pub kernel: [usize; 3],
    /// Steps of the window.
    pub stride: [usize; 3],
    /// Zeros around the input, on both sides.
    pub padding: [usize; 3],
    /// Steps between the taps of the kernel.
    pub dilation: [usize; 3],
    /// Whether this is the transposed convolution.
    pub transposed: bool,
    /// Extra size at the end of the output of a transposed convolution.
    pub output_padding: [usize; 3],
}

impl Geometry {
    /// Spatial sizes of the output, or `None` where PyTorch refuses: the kernel does not fit, a stride or dilation is
    /// zero, groups do not divide the channels, or sizes overflow.
    pub fn output(&self) -> Option<[usize; 3]> {
        let divides = |c: usize| self.groups > 0 && c.is_multiple_of(self.groups);
        if !divides(self.in_channels) || !divides(self.out_channels) {
            return None;
        }
        let mut out = [0; 3];
        for d in 0..3 {
            let (s, p) = (self.stride[d], self.padding[d].checked_mul(2)?);
            if s == 0 || self.dilation[d] == 0 || self.kernel[d] == 0 {
                return None;
            }
            let reach = (self.kernel[d] - 1).checked_mul(self.dilation[d])?.checked_add(1)?;
            out[d] = if self.transposed {
                let last = self.input[d].checked_sub(1)?.checked_mul(s)?;
                last.checked_add(reach)?.checked_add(self.output_padding[d])?.checked_sub(p)?
            } else {
                self.input[d].checked_add(p)?.checked_sub(reach)? / s + 1
            };
        }
        Some(out)
    }

    /// Sizes of the weight: `[O, C/groups, kernel…]`, or `[C, O/groups, kernel…]` if transposed.
    pub fn weight(&self) -> [usize; 5] {
        let [d, h, w] = self.kernel;
        let (first, second) =
            if self.transposed { (self.in_channels, self.out_channels) } else { (self.out_channels, self.in_channels) };
        [first, second / self.groups.max(1), d, h, w]
    }

    /// The maximum number of elements that an algorithm keeps besides the operands: the padded input, or the columns of
    /// a transposed convolution.
    /// `None` on overflow.
    fn work(&self) -> Option<usize> {
        let times = |a: usize, b: usize| a.checked_mul(b);
        if self.transposed {
            let [_, og, kernel @ ..] = self.weight();
            return kernel.into_iter().chain(self.input).try_fold(og, times);
        }
        let [d, h, w] = [0, 1, 2].map(|i| self.padding[i].checked_mul(2)?.checked_add(self.input[i]));
        // A row is rounded up to whole steps.
        let row = w?.checked_add(self.stride[2])?;
        // Without images or channels, too, an algorithm counts the places of a plane.
        [self.in_channels.max(1), d?, h?, row].into_iter().try_fold(self.batch.max(1), times)
    }

    /// Numbers of the operands.
    fn operands(&self) -> usize {
        let count = |sizes: &[usize]| sizes.iter().fold(1, |a: usize, &b| a.saturating_mul(b));
        let [d, h, w] = self.input;
        count(&[self.batch, self.in_channels, d, h, w]).saturating_add(count(&self.weight()))
    }

    fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
    fn in_group(&self) -> usize {
        self.in_channels / self.groups
    }
    fn out_group(&self) -> usize {
        self.out_channels / self.groups
    }
}

/// A convolution to run.
pub struct Convolution<'a, T: Compute> {
    /// The sizes.
    pub geometry: Geometry,
    /// The input `[N, C, D, H, W]`, from its first element.
    pub x: &'a [T],
    /// Strides of the input.
    pub x_strides: [usize; 5],
    /// The weight, contiguous, of sizes [`Geometry::weight`]; not read where a packed one takes its place.
    pub weight: &'a [T],
    /// The weight, packed; the output is the same.
    pub packed: Option<&'a PackedWeight<T>>,
    /// A number per output channel.
    pub bias: Option<&'a [T]>,
    /// What finished outputs are given to; those of a transposed convolution, and of a large kernel per channel over
    /// pixels, are not.
    pub after: Option<After<'a>>,
}

impl<T: Compute> Convolution<'_, T> {
    /// What follows first, if kernels can do it to each number of an output whose channels lie side by side.
    fn finish(&self) -> Option<Finish<T>> {
        let finish = self.after?.tail?.finish(self.geometry.out_channels)?;
        (&finish as &dyn std::any::Any).downcast_ref().copied()
    }
}

/// Runs a convolution into `y`, with strides `[N, C, D, H, W]`; the spatial strides must be those of a contiguous
/// volume times a pixel stride (contiguous and channels-last outputs are).
///
/// # Panics
/// If sizes and slices do not agree: shapes are checked before kernels run, so this is a broken law.
pub fn convolve<T: Compute>(conv: &Convolution<'_, T>, y: &mut [T], y_strides: [usize; 5]) {
    let g = &conv.geometry;
    let Some(mut out) = checked(conv, y, y_strides) else { return };
    if phases::fits::<T>(g) {
        phases::run(conv, out);
    } else if g.transposed {
        transposed::run(conv, out);
    } else if out.strides[1] == 1 && grouped::fits::<T>(g) {
        grouped::run(conv, out);
    } else if out.strides[1] == 1 && pixels::fits::<T>(g) {
        pixels::run(conv, out);
    } else if g.in_group() == 1 && out.strides[2] == 1 {
        depthwise::planes(conv, out);
    } else if g.in_group() == 1 && out.strides[1] == 1 {
        if !channels::run(conv, &mut out) {
            grouped::run(conv, out);
        }
    } else {
        product(conv, out);
    }
}

/// The output, unless it is empty.
///
/// # Panics
/// If sizes and slices do not agree.
fn checked<'a, T: Compute>(conv: &Convolution<'_, T>, y: &'a mut [T], y_strides: [usize; 5]) -> Option<Output<'a, T>> {
    let g = &conv.geometry;
    let out = checked_output(conv, y, y_strides)?;
    let [d, h, w] = g.input;
    let dims = [g.batch, g.in_channels, d, h, w].into_iter().zip(conv.x_strides);
    assert!(extent(dims).is_some_and(|e| e <= conv.x.len()), "law: a volume is within its slice");
    Some(out)
}

/// The same where the input is not looked at.
///
/// # Panics
/// As there.
fn checked_output<'a, T: Compute>(
    conv: &Convolution<'_, T>,
    y: &'a mut [T],
    y_strides: [usize; 5],
) -> Option<Output<'a, T>> {
    let g = &conv.geometry;
    let out = g.output().expect("law: a convolution has an output");
    if g.batch * g.out_channels * out.iter().product::<usize>() == 0 {
        return None;
    }
    let dims = || [g.batch, g.out_channels, out[0], out[1], out[2]].into_iter().zip(y_strides);
    assert!(extent(dims()).is_some_and(|e| e <= y.len()), "law: a volume is within its slice");
    assert!(is_disjoint(dims()), "law: outputs do not overlap");
    let is_read = !conv.packed.is_some_and(|packed| packed.replaces_weight(g, y_strides));
    assert!(!is_read || conv.weight.len() >= g.weight().iter().product(), "law: a weight has all its taps");
    assert!(conv.bias.is_none_or(|b| b.len() >= g.out_channels), "law: a bias per channel");
    let pixel = pixel_stride(out, y_strides).expect("law: pixels of an output are evenly spaced");
    Some(Output { data: y, sizes: out, strides: [y_strides[0], y_strides[1], pixel] })
}

/// The output: where, how large, and strides of images, channels and pixels.
struct Output<'a, T> {
    data: &'a mut [T],
    sizes: [usize; 3],
    strides: [usize; 3],
}

impl<T> Output<'_, T> {
    fn pixels(&self) -> usize {
        self.sizes.iter().product()
    }
}

/// The stride from pixel to pixel if a volume's spatial dimensions are one run.
fn pixel_stride(sizes: [usize; 3], strides: [usize; 5]) -> Option<usize> {
    let mut run: Option<(usize, usize)> = None; // (stride of a pixel, expected stride of the next dimension)
    for d in [2, 1, 0] {
        if sizes[d] == 1 {
            continue;
        }
        let stride = strides[d + 2];
        let (pixel, expected) = run.unwrap_or((stride, stride));
        if stride != expected {
            return None;
        }
        run = Some((pixel, expected * sizes[d]));
    }
    Some(run.map_or(1, |r| r.0))
}

/// The algorithms by a matrix product: weight times input, or weight times columns.
fn product<T: Compute>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (k, pixels) = (g.in_group() * g.taps(), out.pixels());
    let [sn, sc, sp] = out.strides;
    let is_pointwise = g.taps() == 1 && g.stride == [1; 3] && g.padding == [0; 3];
    let x_pixel = if is_pointwise { pixel_stride(g.input, conv.x_strides) } else { None };
    let padded;
    let columns;
    let (b, xn, xg) = match x_pixel {
        Some(stride) => {
            let [xn, xc, ..] = conv.x_strides;
            (Rhs::Strided(Mat::new(conv.x, xc, stride)), xn, xc * g.in_group())
        }
        None => {
            padded = Padded::new(g, conv.x, conv.x_strides);
            columns = Columns::new(g, &padded, out.sizes);
            (Rhs::Columns(&columns), 0, 0)
        }
    };
    // A product that is written channels-last is turned around, which a packed left operand is not; it stays plain.
    let may_pack = g.taps() > 1 || sp == 1 && (g.batch > 1 || conv.packed.is_some());
    let given = conv.packed.filter(|packed| packed.form == Form::Planes);
    let own = (may_pack && given.is_none()).then(|| PackedWeight::new(Form::Planes, g, conv.weight)).flatten();
    let packed = given.or(own.as_ref()).filter(|_| may_pack);
    let og = g.out_group();
    gemm(
        &Product {
            m: og,
            n: pixels,
            k,
            a: packed.map_or(Lhs::Strided(Mat::new(conv.weight, k, 1)), |p| Lhs::Packed(&p.groups)),
            b,
            alpha: T::ONE,
            epilogue: Epilogue { start: conv.bias.map_or(Start::Zero, Start::PerRow), after: conv.after },
            batch: Batch {
                sizes: &[g.batch, g.groups],
                a: &[0, if packed.is_some() { 1 } else { og * k }],
                b: &[xn, xg],
                c: &[sn, og * sc],
                start: &[0, og],
            },
        },
        MatMut { data: out.data, rows: sc, cols: sp },
    );
}

#[cfg(test)]
mod tests;
