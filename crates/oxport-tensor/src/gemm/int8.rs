//! Products of int8 matrices in int32.
//!
//! Law: every sum is exact modulo 2^32. Two neighboring steps of k are one number ([`Pair`]), since CPUs multiply and
//! add pairs of 16 bits in one instruction; all else is a product as any other, of half as many steps.

use super::element::{Compute, one_part};
use super::kernel::{Kernels, pair_kernels};
use super::{After, Batch, Epilogue, Lhs, Mat, MatMut, Packed, Product, Rhs, Start, gemm};
use crate::scratch::Plain;
use crate::simd::vectorize;
use crate::strided::counts;
use crate::{DType, Error, Result, Tensor, TensorMut, memory};

/// As a factor, numbers of 16 bits of two neighboring steps of k, the first in the lower half; as a sum of products,
/// a number of 32 bits.
///
/// The product of two factors is the sum of both products, so that there is no factor of one: sums are not scaled.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Pair(i32);

// SAFETY: a transparent wrapper of a primitive number.
unsafe impl Plain for Pair {}

impl Pair {
    fn of([first, second]: [i16; 2]) -> Pair {
        Pair(i32::from(second) << 16 | i32::from(first as u16))
    }
    fn halves(self) -> [i32; 2] {
        [i32::from(self.0 as i16), self.0 >> 16]
    }
    #[cfg(target_arch = "x86_64")]
    pub(super) fn bits(self) -> i32 {
        self.0
    }
    /// Sums, as what they are.
    fn sums(x: &mut [i32]) -> &mut [Pair] {
        // SAFETY: a transparent wrapper, which has the layout of what it wraps.
        unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
    }
}

impl Compute for Pair {
    const ZERO: Self = Pair(0);
    const ONE: Self = Pair(1);
    const MINUS_ONE: Self = Pair(-1);
    #[inline(always)]
    fn mul_then_add(self, b: Self, c: Self) -> Self {
        c.plus(self.times(b))
    }
    #[inline(always)]
    fn times(self, b: Self) -> Self {
        let ([a0, a1], [b0, b1]) = (self.halves(), b.halves());
        Pair((a0 * b0).wrapping_add(a1 * b1))
    }
    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Pair(self.0.wrapping_add(b.0))
    }
    one_part!(pair_kernels);
}

/// A constant right operand of [`int8_matmul`], packed once for many products with any number of rows.
pub struct PackedInt8 {
    sizes: [usize; 2],
    packed: [Packed<Pair>; 1],
}

impl PackedInt8 {
    /// Packs `b [k, n]` of int8, of any strides.
    ///
    /// # Errors
    /// It is no int8 matrix, or its panels are larger than a buffer may be.
    pub fn new(b: &Tensor) -> Result<PackedInt8> {
        let [k, n] = matrix(b)?;
        if b.dtype() != DType::I8 {
            return Err(Error::unsupported_dtype(b.dtype(), "int8"));
        }
        let steps = k.div_ceil(2);
        memory::admit(steps.saturating_mul(n).saturating_mul(size_of::<Pair>()))?;
        Ok(PackedInt8 { sizes: [k, n], packed: [Packed::rhs(steps, n, Columns::of(b)?.mat())] })
    }
}

/// Fills `out [m, n]` of int32 with the product of `a [m, k]` (int8 or uint8) and `b [k, n]` (int8), or of what was
/// packed of it; finished parts are given to `after`.
///
/// # Errors
/// Other dtypes or sizes.
pub fn int8_matmul(
    a: &Tensor,
    b: &Tensor,
    packed: Option<&PackedInt8>,
    out: &mut TensorMut,
    after: Option<After<'_>>,
) -> Result<()> {
    let ([m, k], [k2, n]) = (matrix(a)?, matrix(b)?);
    let fits = matches!(a.dtype(), DType::I8 | DType::U8) && b.dtype() == DType::I8;
    if !fits || k != k2 || counts(out.sizes())?[..] != [m, n] || packed.is_some_and(|p| p.sizes != [k, n]) {
        let (of, by) = ((a.dtype(), a.sizes()), (b.dtype(), b.sizes()));
        return Err(Error::shape(format!("cannot multiply {of:?} by {by:?} into {:?}", out.sizes())));
    }
    let (steps, strides) = (k.div_ceil(2), counts(out.strides())?);
    let a = a.contiguous()?;
    let left = if a.dtype() == DType::I8 { pairs(a.span::<i8>()?, k) } else { pairs(a.span::<u8>()?, k) };
    let columns;
    let right = match packed {
        Some(packed) => Rhs::Packed(&packed.packed),
        None => {
            columns = Columns::of(b)?;
            Rhs::Strided(columns.mat())
        }
    };
    let product = Product {
        m,
        n,
        k: steps,
        a: Lhs::Strided(Mat::new(&left, steps, 1)),
        b: right,
        alpha: Pair::ONE,
        epilogue: Epilogue { start: Start::Zero, after },
        batch: Batch::default(),
    };
    gemm(&product, MatMut { data: Pair::sums(out.span::<i32>()?), rows: strides[0], cols: strides[1] });
    Ok(())
}

/// The sizes of a matrix.
fn matrix(x: &Tensor) -> Result<[usize; 2]> {
    let sizes = <[usize; 2]>::try_from(&counts(x.sizes())?[..]);
    sizes.map_err(|_| Error::shape(format!("expected a matrix, got sizes {:?}", x.sizes())))
}

/// A right operand of bytes in pairs, with the strides of pairs along k and of columns.
struct Columns(Vec<Pair>, (usize, usize));

impl Columns {
    fn of(b: &Tensor) -> Result<Columns> {
        let [k, n] = matrix(b)?;
        if k > 1 && b.strides()[0] == 1 {
            let b = b.view(|l| l.transpose(0, 1))?.contiguous()?;
            return Ok(Columns(pairs(b.span::<i8>()?, k), (1, k.div_ceil(2))));
        }
        let b = b.contiguous()?;
        let (mut made, zeros) = (vec![Pair::ZERO; k.div_ceil(2) * n], vec![0; n * (k % 2)]);
        for (to, rows) in made.chunks_exact_mut(n.max(1)).zip(b.span::<i8>()?.chunks(2 * n.max(1))) {
            let (first, second) = rows.split_at(n);
            let second = if second.is_empty() { &zeros } else { second };
            let each = to.iter_mut().zip(first).zip(second);
            vectorize(
                #[inline(always)]
                || each.for_each(|((to, &x), &y)| *to = Pair::of([x.into(), y.into()])),
            );
        }
        Ok(Columns(made, (n, 1)))
    }

    fn mat(&self) -> Mat<'_, Pair> {
        Mat::new(&self.0, self.1.0, self.1.1)
    }
}

/// Rows of `k` bytes in pairs, with a zero behind an odd number of them.
fn pairs<T: Copy + Into<i16>>(x: &[T], k: usize) -> Vec<Pair> {
    let mut made = vec![Pair::ZERO; x.len().checked_div(k).unwrap_or(0) * k.div_ceil(2)];
    for (to, row) in made.chunks_exact_mut(k.div_ceil(2).max(1)).zip(x.chunks_exact(k.max(1))) {
        let (two, rest) = row.as_chunks::<2>();
        vectorize(
            #[inline(always)]
            || to.iter_mut().zip(two).for_each(|(to, &[x, y])| *to = Pair::of([x.into(), y.into()])),
        );
        if let ([x], Some(to)) = (rest, to.last_mut()) {
            *to = Pair::of([(*x).into(), 0]);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use rayon::ThreadPoolBuilder;

    fn room(dtype: DType, sizes: &[i64]) -> TensorMut {
        let layout = Layout::contiguous(sizes).expect("a valid case");
        TensorMut::empty(dtype, layout).expect("a valid case")
    }

    fn bytes(n: usize, seed: i32) -> Vec<i32> {
        (0..n as i32).map(|i| ((i * 7919 + seed) % 257 + i % 3) as i8 as i32).collect()
    }

    /// Products of all bytes equal plain loops, whichever way they lie, packed or not.
    #[test]
    fn int8_products_are_exact() {
        let sizes: &[_] = if cfg!(miri) {
            &[(1, 33, 5), (5, 3, 4)]
        } else {
            &[(1, 300, 801), (1, 5, 2), (3, 70, 33), (17, 40, 64), (40, 37, 1), (64, 96, 1200), (4, 6, 0), (2, 1, 7)]
        };
        for &(m, n, k) in sizes {
            let (a, b) = (bytes(m * k, 5), bytes(k * n, 77));
            for unsigned in [false, true] {
                let of = |x: &i32| if unsigned { *x & 255 } else { *x };
                let expected: Vec<i32> =
                    (0..m * n).map(|at| (0..k).map(|p| of(&a[at / n * k + p]) * b[p * n + at % n]).sum()).collect();
                let dtype = if unsigned { DType::U8 } else { DType::I8 };
                let left = Tensor::from_vec(&[m as i64, k as i64], a.clone()).expect("a valid case");
                let left = left.to_dtype(dtype).expect("a valid case");
                let right = Tensor::from_vec(&[k as i64, n as i64], b.clone()).expect("a valid case");
                let right = right.to_dtype(DType::I8).expect("a valid case");
                let turned = |x: &Tensor| x.view(|l| l.transpose(0, 1)).expect("a matrix");
                let columns = turned(&turned(&right).contiguous().expect("a valid case"));
                let packed = PackedInt8::new(&columns).expect("a valid case");
                for (right, packed) in [(&right, None), (&columns, None), (&right, Some(&packed))] {
                    for threads in if cfg!(miri) { 2..3 } else { 1..3 } {
                        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
                        let mut out = room(DType::I32, &[m as i64, n as i64]);
                        pool.install(|| int8_matmul(&left, right, packed, &mut out, None)).expect("a valid case");
                        assert!(out.freeze().to_vec::<i32>().expect("int32") == expected, "{m}x{n}x{k}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_product_of_bytes_is_refused() {
        let tensor = |dtype, sizes: &[i64]| room(dtype, sizes).freeze();
        let refused = |a: Tensor, b: Tensor, out: &[i64]| {
            let mut out = room(DType::I32, out);
            int8_matmul(&a, &b, None, &mut out, None).is_err()
        };
        assert!(!refused(tensor(DType::I8, &[2, 3]), tensor(DType::I8, &[3, 4]), &[2, 4]));
        assert!(refused(tensor(DType::I8, &[2, 3]), tensor(DType::U8, &[3, 4]), &[2, 4]));
        assert!(refused(tensor(DType::I32, &[2, 3]), tensor(DType::I8, &[3, 4]), &[2, 4]));
        assert!(refused(tensor(DType::I8, &[2, 2]), tensor(DType::I8, &[3, 4]), &[2, 4]));
        assert!(refused(tensor(DType::I8, &[2, 3]), tensor(DType::I8, &[3, 4]), &[4, 2]));
        assert!(refused(tensor(DType::I8, &[1, 2, 3]), tensor(DType::I8, &[3, 4]), &[2, 4]));
        assert!(PackedInt8::new(&tensor(DType::U8, &[3, 4])).is_err());
        let other = PackedInt8::new(&tensor(DType::I8, &[2, 4])).expect("a valid case");
        let (a, b, mut out) = (tensor(DType::I8, &[2, 3]), tensor(DType::I8, &[3, 4]), room(DType::I32, &[2, 4]));
        assert!(int8_matmul(&a, &b, Some(&other), &mut out, None).is_err());
    }
}
