//! Convolutions of tensors: checks shapes, converts layouts, dispatches dtypes.

use super::sliding::{self, RowReader, RowSource, Sliding};
use super::{
    Convolution, Form, Geometry, PackedWeight, Winograd, checked, checked_output, convolve, grouped, pixel_stride,
    pixels,
};
use crate::gemm::{After, Compute, Multiply};
use crate::parallel::for_chunks;
use crate::scratch::Scratch;
use crate::strided::{Counts, counts};
use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut, copy, dispatch, memory};
use std::any::Any;
use std::borrow::Cow;

/// Elements that a convolution may always keep besides its operands: 1 GB of `float32`.
const MAX_WORK: usize = 1 << 28;
/// Bytes of work that are not tried first: finding out that there is no room for so few costs more than it is worth.
const SMALL_WORK: usize = 16 << 20;

/// Kernels with fewer places, of all channels, are packed while a product runs.
const LEAST_PLACES: i64 = 8;

/// That there is room for so many bytes of work.
fn room(bytes: usize) -> Result<()> {
    if bytes <= SMALL_WORK { memory::admit(bytes) } else { memory::table::<u8>(bytes).map(drop) }
}

/// The options of `aten.convolution`; a list of one number applies to all spatial dimensions.
#[derive(Clone, Copy, Debug)]
pub struct ConvOptions<'a> {
    /// Steps of the window.
    pub stride: &'a [i64],
    /// Zeros on both sides.
    pub padding: &'a [i64],
    /// Steps between taps.
    pub dilation: &'a [i64],
    /// Whether this is the transposed convolution.
    pub transposed: bool,
    /// Extra output size of a transposed convolution.
    pub output_padding: &'a [i64],
    /// Groups of channels.
    pub groups: i64,
}

impl Default for ConvOptions<'_> {
    fn default() -> Self {
        ConvOptions { stride: &[1], padding: &[0], dilation: &[1], transposed: false, output_padding: &[0], groups: 1 }
    }
}

impl ConvOptions<'_> {
    /// The sizes of the output `[N, O, spatial…]` for an input `[N, C, spatial…]` and a weight of these sizes.
    pub fn output_sizes(&self, x: &[i64], weight: &[i64]) -> Result<Vec<i64>> {
        let geometry = self.geometry(x, weight)?;
        let out = self.checked_output(&geometry, x, weight)?;
        Ok(sizes_of(&geometry, &out, x.len()))
    }

    /// Whether [`Winograd`] is for a convolution with such a weight `[O, C, …]`, of outputs with planes of these sizes.
    pub fn fits_winograd(&self, weight: &Tensor, plane: [i64; 2]) -> bool {
        let &[_, channels, ref depth @ .., _, _] = weight.sizes() else { return false };
        // What a window of 3×3 with steps of 1 makes such a plane of; how many planes a volume has does not matter.
        let padding = |d: usize| self.padding.get(depth.len() + d).or(self.padding.first()).copied().unwrap_or(0);
        let input = [0, 1].map(|d| plane[d].saturating_add(2).saturating_sub(padding(d).saturating_mul(2)));
        let frames = depth.iter().map(|_| i64::from(i32::MAX));
        let sizes: Vec<i64> = [1, channels].into_iter().chain(frames).chain(input).collect();
        let geometry = self.geometry(&sizes, weight.sizes());
        weight.dtype() == DType::F32 && geometry.is_ok_and(|g| Winograd::fits(&g))
    }

    /// Whether outputs are faster to compute over pixels, with neighboring channels, for a weight of these sizes: there
    /// are enough channels to fill registers.
    pub fn is_faster_over_pixels(&self, weight: &[i64]) -> bool {
        let sizes: Vec<usize> = weight.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
        let ([out, ig, kernel @ ..], Ok(groups @ 1..)) = (&sizes[..], usize::try_from(self.groups)) else {
            return false;
        };
        if self.transposed {
            return *ig >= pixels::LEAST_CHANNELS;
        }
        let channels = if groups == 1 || *ig > 1 { out / groups } else { groups };
        let are_few = groups > 1 && kernel.iter().any(|&size| size > 1) && grouped::are_few(*ig, out / groups);
        channels >= pixels::LEAST_CHANNELS || are_few
    }

    fn checked_output(&self, g: &Geometry, x: &[i64], weight: &[i64]) -> Result<[usize; 3]> {
        g.output().ok_or_else(|| Error::shape(format!("a kernel {weight:?} does not fit an input {x:?} with {self:?}")))
    }

    /// Refuses what would take memory out of all proportion to its operands (a padding or a kernel that is far too
    /// large), or more than there is, for numbers of so many bytes.
    fn check_work(&self, g: &Geometry, x: &[i64], weight: &[i64], bytes: usize) -> Result<()> {
        if let Some(work) = g.work().filter(|&work| work <= MAX_WORK.max(g.operands().saturating_mul(16))) {
            return room(work.saturating_mul(bytes));
        }
        Err(Error::unsupported(format!(
            "a convolution of {x:?} with a kernel {weight:?} and {self:?}: it takes too much memory"
        )))
    }

    fn geometry(&self, x: &[i64], weight: &[i64]) -> Result<Geometry> {
        let fail = || Error::shape(format!("cannot convolve an input {x:?} with a kernel {weight:?} and {self:?}"));
        let rank =
            x.len().checked_sub(2).filter(|r| (1..=3).contains(r) && weight.len() == x.len()).ok_or_else(fail)?;
        let spread = |list: &[i64], absent: usize| -> Result<[usize; 3]> {
            let mut out = [absent; 3];
            let list = counts(list)?;
            for d in 0..rank {
                out[3 - rank + d] = *if list.len() == 1 { &list[0] } else { list.get(d).ok_or_else(fail)? };
            }
            Ok(out)
        };
        let groups = usize::try_from(self.groups).ok().filter(|&g| g > 0).ok_or_else(fail)?;
        let (xs, ws) = (counts(x)?, counts(weight)?);
        let out_channels = if self.transposed { ws[1].checked_mul(groups).ok_or_else(fail)? } else { ws[0] };
        let mut geometry = Geometry {
            batch: xs[0],
            groups,
            in_channels: xs[1],
            out_channels,
            input: spread(&x[2..], 1)?,
            kernel: spread(&weight[2..], 1)?,
            stride: spread(self.stride, 1)?,
            padding: spread(self.padding, 0)?,
            dilation: spread(self.dilation, 1)?,
            transposed: self.transposed,
            output_padding: if self.transposed { spread(self.output_padding, 0)? } else { [0; 3] },
        };
        if !self.transposed {
            // A step out of the input is never taken, and may be of any length.
            for d in 0..3 {
                let reach = geometry.padding[d].saturating_mul(2).saturating_add(geometry.input[d]);
                geometry.stride[d] = geometry.stride[d].min(reach.max(1));
            }
        }
        let [first, second, ..] = geometry.weight();
        if [first, second] != ws[..2] || xs[1] % groups != 0 || out_channels % groups != 0 {
            return Err(fail());
        }
        Ok(geometry)
    }
}

/// A constant weight packed once for many inputs of any size.
pub struct PackedKernel {
    dtype: DType,
    sizes: Counts,
    packed: Box<dyn Any + Send + Sync>,
}

impl PackedKernel {
    /// As [`PackedKernel::new`], where that pays for a constant weight of floats with enough places to fill panels.
    /// Halves in planes are left as they are, since they would take twice the room.
    ///
    /// # Errors
    /// The panels are larger than a buffer may be.
    pub fn of_constant(weight: &Tensor, form: Form, options: &ConvOptions<'_>) -> Result<Option<PackedKernel>> {
        let is_large = weight.rank() > 2 && weight.numel() as i64 / weight.sizes()[0].max(1) >= LEAST_PLACES;
        let is_known = match weight.dtype() {
            DType::F32 | DType::F64 => true,
            DType::F16 | DType::BF16 => form == Form::Pixels || options.transposed,
            _ => false,
        };
        if !is_large || !is_known {
            return Ok(None);
        }
        memory::admit(weight.numel().saturating_mul(weight.dtype().size()))?;
        PackedKernel::new(weight, form, options)
    }

    /// Transforms a constant weight `[O, C, 3, 3]` or `[O, C, D, 3, 3]` for [`Winograd`], which rounds otherwise: see
    /// [`ConvOptions::fits_winograd`].
    ///
    /// # Errors
    /// It is no `float32` of such sizes, or the transformed weight is larger than a buffer may be.
    pub fn winograd(weight: &Tensor) -> Result<PackedKernel> {
        let sizes = counts(weight.sizes())?;
        let (&[out_channels, in_channels, ref depth @ .., 3, 3], DType::F32) = (&sizes[..], weight.dtype()) else {
            let (dtype, sizes) = (weight.dtype(), weight.sizes());
            return Err(Error::shape(format!("expected a float32 weight [O, C, …, 3, 3], got {dtype} {sizes:?}")));
        };
        let depth = depth.iter().product();
        memory::admit(weight.numel().saturating_mul(4 * size_of::<f32>()))?;
        let weight = weight.contiguous()?;
        let made = Winograd::new(weight.span::<f32>()?, [out_channels, in_channels, depth]);
        Ok(PackedKernel { dtype: DType::F32, sizes, packed: Box::new(made) })
    }

    /// Packs a weight `[O, C/groups, kernel…]`, or `[C, O/groups, kernel…]` of a transposed convolution, for its stride
    /// and dilation; `None` where no algorithm uses a packed one (a kernel per channel).
    pub fn new(weight: &Tensor, form: Form, options: &ConvOptions<'_>) -> Result<Option<PackedKernel>> {
        let sizes = counts(weight.sizes())?;
        let Some(groups) = usize::try_from(options.groups).ok().filter(|_| (3..=5).contains(&sizes.len())) else {
            return Ok(None);
        };
        let channels = |n: usize| i64::try_from(n.saturating_mul(groups)).unwrap_or(i64::MAX);
        // An input that the kernel fits; packing does not ask for more.
        let input = [1, if options.transposed { weight.sizes()[0] } else { channels(sizes[1]) }];
        let dilation = |d: usize| options.dilation.get(d).or(options.dilation.first()).copied().unwrap_or(1);
        let reach = |(d, &size): (usize, &i64)| (size - 1).saturating_mul(dilation(d)).saturating_add(1);
        let input: Vec<i64> = input.into_iter().chain(weight.sizes()[2..].iter().enumerate().map(reach)).collect();
        let options = ConvOptions { padding: &[0], output_padding: &[0], ..*options };
        let Ok(geometry) = options.geometry(&input, weight.sizes()) else { return Ok(None) };
        if geometry.output().is_none() {
            return Ok(None);
        }
        let weight = weight.contiguous()?;
        dispatch!(arith weight.dtype(), |T| {
            let packed = PackedWeight::new(form, &geometry, weight.span::<T>()?);
            Ok(packed.map(|packed| PackedKernel { dtype: weight.dtype(), sizes, packed: Box::new(packed) }))
        })
    }
}

/// What goes with a convolution; without effect on the result.
#[derive(Clone, Copy, Default)]
pub struct With<'a> {
    /// The same weight.
    pub packed: Option<&'a PackedKernel>,
    /// What finished elements are given to as by [`Convolution`], unless they are halves, or the pixels of the output
    /// are not evenly spaced.
    pub after: Option<After<'a>>,
    /// What it has to do with a neighbor.
    pub sliding: Sliding<'a>,
}

/// Fills `out [N, O, spatial…]` with the convolution of `x [N, C, spatial…]` and `weight` (`[O, C/groups, kernel…]`, or
/// `[C, O/groups, kernel…]` if transposed), plus `bias [O]`: `aten.convolution` for one to three spatial dimensions.
/// All dtypes are equal.
///
/// # Errors
/// Sizes or dtypes do not agree, the kernel does not fit, it takes too much memory; an input that is made a row at a
/// time ([`Sliding::From`]) is none for this convolution: nothing is written then.
pub fn convolution(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    with: With<'_>,
    out: &mut TensorMut,
) -> Result<()> {
    let dtypes = [x.dtype(), weight.dtype(), bias.map_or(x.dtype(), Tensor::dtype)];
    if let Some(other) = dtypes.into_iter().find(|&d| d != out.dtype()) {
        return Err(Error::invalid(format!(
            "expected all to have the same dtype, but got {other} and {}",
            out.dtype()
        )));
    }
    let geometry = options.geometry(x.sizes(), weight.sizes())?;
    let spatial = options.checked_output(&geometry, x.sizes(), weight.sizes())?;
    let sizes = sizes_of(&geometry, &spatial, x.rank());
    if sizes != out.sizes() || bias.is_some_and(|b| b.sizes() != &sizes[1..2]) {
        return Err(Error::shape(format!("expected a convolution output of sizes {sizes:?}, got {:?}", out.sizes())));
    }
    options.check_work(&geometry, x.sizes(), weight.sizes(), x.dtype().size().max(4))?;
    let is_spaced = spaced(&spatial, out)?;
    let operands = Operands { geometry, x, weight, bias, packed: with.packed, after: with.after };
    if out.dtype() == DType::F32 && is_spaced {
        match with.sliding {
            Sliding::From(source) if operands.slide(source, out)? => return Ok(()),
            Sliding::ReadBy(reader) if operands.lend(reader, out)? => return Ok(()),
            _ => {}
        }
    }
    if x.is_absent() {
        return Err(Error::unsupported("a convolution that its input is not made for"));
    }
    let run = |operands: Operands<'_>, out: &mut TensorMut| -> Result<()> {
        match (with.packed.and_then(|packed| packed.packed.downcast_ref::<Winograd>()), out.dtype()) {
            (Some(made), DType::F32) => operands.run::<f32, _>(out, |conv, y, at| made.convolve(conv, y, at)),
            (_, dtype @ (DType::F16 | DType::BF16)) => dispatch!(half dtype, |T| operands.run_halves::<T>(out)),
            (_, dtype) => dispatch!(@ "integers, floats, complex", dtype,
                [U8 I8 I16 I32 I64 U16 U32 U64 F32 F64 C64 C128], T, operands.run::<T, _>(out, convolve::<T>)),
        }
    };
    let is_half = matches!(out.dtype(), DType::F16 | DType::BF16);
    if is_spaced && (!is_half || out.layout().is_dense()) {
        return run(operands, out);
    }
    let mut dense = TensorMut::empty(out.dtype(), Layout::contiguous(&sizes)?)?;
    run(Operands { after: None, ..operands }, &mut dense)?;
    copy(&dense.freeze(), out)
}

/// The sizes of an output of so many dimensions.
fn sizes_of(g: &Geometry, spatial: &[usize; 3], rank: usize) -> Vec<i64> {
    let sizes = [g.batch, g.out_channels].into_iter().chain(spatial[5 - rank..].iter().copied());
    sizes.map(|s| s as i64).collect()
}

/// Whether the pixels of an output are evenly spaced, as the product needs it.
fn spaced(sizes: &[usize; 3], out: &TensorMut) -> Result<bool> {
    Ok(pixel_stride(*sizes, five(out.layout())?).is_some())
}

/// Strides `[N, C, D, H, W]`, zero for absent dimensions.
fn five(layout: &Layout) -> Result<[usize; 5]> {
    let strides = counts(&layout.strides)?;
    let mut out = [0; 5];
    out[..2].copy_from_slice(&strides[..2]);
    out[7 - strides.len()..].copy_from_slice(&strides[2..]);
    Ok(out)
}

/// The operands of a convolution, of equal dtypes.
#[derive(Clone, Copy)]
struct Operands<'a> {
    geometry: Geometry,
    x: &'a Tensor,
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
    packed: Option<&'a PackedKernel>,
    after: Option<After<'a>>,
}

impl Operands<'_> {
    /// Runs it over rows of an input; whether it can be.
    fn slide(self, source: &RowSource<'_>, out: &mut TensorMut) -> Result<bool> {
        self.run::<f32, _>(out, |conv, y, at| {
            checked_output(conv, y, at).is_none_or(|mut out| sliding::run(conv, source, &mut out))
        })
    }

    /// Lends the rows of its output to a reader; whether that has taken them.
    fn lend(self, reader: &RowReader<'_>, out: &mut TensorMut) -> Result<bool> {
        self.run::<f32, _>(out, |conv, y, at| {
            let source = checked(conv, y, at).and_then(|mut out| RowSource::new(conv, &mut out));
            source.is_some_and(|source| reader.read(&source))
        })
    }

    /// In the type of the input and the output.
    fn run<T: Element + Compute, R>(
        self,
        out: &mut TensorMut,
        convolve: impl FnOnce(&Convolution<'_, T>, &mut [T], [usize; 5]) -> R,
    ) -> Result<R> {
        let x = if self.x.is_absent() { None } else { Some(self.x.forward()?) };
        let from = x.as_ref().map_or(Ok(&[][..]), |x| x.span::<T>())?;
        let (x_strides, strides) = (five(x.as_ref().map_or(self.x, |x| x).layout())?, five(out.layout())?);
        self.over(from, x_strides, out.span::<T>()?, strides, convolve)
    }

    /// Halves as `float32`, into a dense output: widened as they lie, summed, and rounded once. Nothing is given to
    /// what follows.
    fn run_halves<T: Element + Multiply<Acc = f32>>(self, out: &mut TensorMut) -> Result<()> {
        /// Numbers that a task converts.
        const TASK: usize = 1 << 14;
        let x = if self.x.layout().is_dense() { self.x.forward()? } else { Cow::Owned(self.x.contiguous()?) };
        let (from, to) = (x.span::<T>()?, out.numel());
        room(from.len().saturating_add(to).saturating_mul(size_of::<f32>()))?;
        let mut scratch = [Scratch::take::<f32>(from.len()), Scratch::take::<f32>(to)];
        let [wide, sums] = &mut scratch;
        let (wide, sums) = (wide.slice::<f32>(from.len()), sums.slice::<f32>(to));
        for_chunks(wide, TASK, 1, |i, wide| T::widen(&from[i * TASK..][..wide.len()], wide));
        let (x_strides, strides) = (five(x.layout())?, five(out.layout())?);
        Operands { after: None, ..self }.over(wide, x_strides, sums, strides, convolve::<f32>)?;
        for_chunks(out.span::<T>()?, TASK, 1, |i, out| T::narrow(&sums[i * TASK..][..out.len()], out));
        Ok(())
    }

    /// With an input and an output of these strides. Weight and bias may be of another type.
    fn over<T: Element + Compute, R>(
        self,
        x: &[T],
        x_strides: [usize; 5],
        out: &mut [T],
        strides: [usize; 5],
        convolve: impl FnOnce(&Convolution<'_, T>, &mut [T], [usize; 5]) -> R,
    ) -> Result<R> {
        let bias = self.bias.map(|bias| bias.to_dtype(T::DTYPE)?.contiguous()).transpose()?;
        let packed = match self.packed {
            Some(p) if p.dtype != self.weight.dtype() || p.sizes != counts(self.weight.sizes())? => {
                let (dtype, sizes) = (p.dtype, &p.sizes);
                return Err(Error::invalid(format!("a packed {dtype} {sizes:?} in place of {:?}", self.weight)));
            }
            Some(p) => p.packed.downcast_ref::<PackedWeight<T>>(),
            None => None,
        };
        let is_read = !packed.is_some_and(|packed| packed.replaces_weight(&self.geometry, strides));
        let weight = is_read.then(|| self.weight.to_dtype(T::DTYPE)?.contiguous()).transpose()?;
        let conv = Convolution {
            geometry: self.geometry,
            x,
            x_strides,
            weight: weight.as_ref().map_or(Ok(&[][..]), |weight| weight.span::<T>())?,
            packed,
            bias: bias.as_ref().map(|b| b.span::<T>()).transpose()?,
            after: self.after,
        };
        Ok(convolve(&conv, out, strides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(sizes: &[i64]) -> Tensor {
        let n = sizes.iter().product::<i64>();
        Tensor::from_vec(sizes, (0..n).map(|i| (i * 7 % 11 - 5) as f32).collect()).expect("a valid case")
    }

    fn run(x: &Tensor, w: &Tensor, b: Option<&Tensor>, options: &ConvOptions<'_>, last: bool) -> Result<Vec<f32>> {
        let sizes = options.output_sizes(x.sizes(), w.sizes())?;
        let layout = if last { Layout::channels_last(&sizes)? } else { Layout::contiguous(&sizes)? };
        let mut out = TensorMut::empty(x.dtype(), layout)?;
        let packed = PackedKernel::new(w, if last { Form::Pixels } else { Form::Planes }, options)?;
        convolution(x, w, b, options, With { packed: packed.as_ref(), ..With::default() }, &mut out)?;
        out.freeze().to_dtype(DType::F32)?.to_vec()
    }

    /// The numbers are PyTorch's for these inputs.
    #[test]
    fn one_and_two_dimensions() {
        let (x, w, b) = (tensor(&[1, 2, 5]), tensor(&[2, 2, 3]), tensor(&[2]));
        let options = ConvOptions { stride: &[2], padding: &[1], ..Default::default() };
        let y = run(&x, &w, Some(&b), &options, false).expect("a valid case");
        assert_eq!(y, ONE);
        let (x, w) = (tensor(&[1, 2, 3, 3]), tensor(&[2, 1, 2, 2]));
        let options = ConvOptions { stride: &[2, 1], transposed: true, output_padding: &[1, 0], ..Default::default() };
        for last in [false, true] {
            let y = run(&x, &w, None, &options, last).expect("a valid case");
            assert_eq!(y, TWO);
        }
    }

    #[test]
    fn weights_are_packed_for_any_dilation() {
        let w = tensor(&[16, 16, 3, 3]);
        for dilation in [&[1][..], &[2], &[1, 3]] {
            for (form, transposed) in [(Form::Planes, false), (Form::Pixels, false), (Form::Pixels, true)] {
                let options = ConvOptions { dilation, transposed, ..Default::default() };
                assert!(matches!(PackedKernel::of_constant(&w, form, &options), Ok(Some(_))), "{form:?} {options:?}");
            }
        }
    }

    #[test]
    fn halves_are_summed_in_float32_and_rounded_once() -> Result<()> {
        let options = ConvOptions { padding: &[1, 1], ..Default::default() };
        let full = |sizes: &[i64], x: f32| Tensor::from_vec(sizes, vec![x; sizes.iter().product::<i64>() as usize]);
        let (x, w, b) = (full(&[2, 24, 5, 6], 1.5)?, full(&[20, 24, 3, 3], 10.25)?, full(&[20], 4.0)?);
        let sums = Tensor::from_vec(&[2, 20, 5, 6], run(&x, &w, Some(&b), &options, false)?)?;
        for dtype in [DType::F16, DType::BF16] {
            let rounded = sums.to_dtype(dtype)?.to_dtype(DType::F32)?.to_vec::<f32>()?;
            assert!(rounded != sums.to_vec::<f32>()?);
            let [x, w, b] = [&x, &w, &b].map(|t| t.to_dtype(dtype).expect("a cast"));
            for last in [false, true] {
                assert!(run(&x, &w, Some(&b), &options, last)? == rounded, "{dtype} {last}");
            }
        }
        Ok(())
    }

    const ONE: [f32; 6] = [-34.0, 3.0, -45.0, -23.0, 22.0, 7.0];
    const TWO: [f32; 28] = [
        28.0, -30.0, 12.0, 11.0, 22.0, -33.0, -6.0, -10.0, -23.0, -3.0, 28.0, -21.0, -2.0, 15.0, 31.0, -15.0, -19.0,
        2.0, 33.0, -20.0, -4.0, 8.0, 24.0, -20.0, 0.0, 0.0, 0.0, 0.0,
    ];

    #[test]
    fn refuses_what_does_not_fit() {
        let d = ConvOptions::default();
        for (x, w, options) in [
            (&[1, 2, 5][..], &[2, 3, 3][..], d),
            (&[1, 2, 2], &[2, 2, 3], d),
            (&[2, 5], &[2, 3], d),
            (&[1, 2, 5, 5], &[2, 2, 3], d),
            (&[1, 4, 5], &[3, 2, 3], ConvOptions { groups: 2, ..d }),
            (&[1, 2, 5], &[2, 2, 3], ConvOptions { groups: 0, ..d }),
            (&[1, 2, 5], &[2, 2, 3], ConvOptions { stride: &[0], ..d }),
            (&[1, 2, 5], &[2, 2, 3], ConvOptions { padding: &[-1], ..d }),
            (&[1, 2, 5, 5], &[2, 2, 3, 3], ConvOptions { stride: &[], ..d }),
        ] {
            assert!(options.output_sizes(x, w).is_err(), "{x:?} {w:?} {options:?}");
        }
    }

    /// A few outputs of an input that its padding makes immense, and a kernel whose taps are.
    #[test]
    fn refuses_immense_work() {
        for padding in [1 << 16, 1 << 31, 1 << 40, i64::MAX / 4] {
            for groups in [1, 2] {
                let (x, w) = (tensor(&[1, 2, 5, 5]), tensor(&[2, 2 / groups, 3, 3]));
                let (pad, step) = ([padding], [padding / 2]);
                let options = ConvOptions { stride: &step, padding: &pad, groups, ..Default::default() };
                for last in [false, true] {
                    let e = run(&x, &w, None, &options, last).expect_err("too much memory");
                    assert!(e.to_string().contains("it takes too much memory"), "{padding}: {e}");
                }
            }
        }
        let x = tensor(&[1]).view(|l| l.expand(&[1, 1, 300, 300])).expect("a valid case");
        let w = x.clone();
        let options = ConvOptions { transposed: true, ..Default::default() };
        assert!(run(&x, &w, None, &options, false).is_err());
    }
}
