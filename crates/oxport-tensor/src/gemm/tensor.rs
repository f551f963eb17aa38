//! Products of tensors: shapes checked, batch dimensions broadcast, dtypes dispatched.

use super::{After, Batch, Compute, Epilogue, Lhs, Mat, MatMut, Multiply, Packed, Product, Rhs, Start, gemm};
use crate::strided::{Counts, counts};
use crate::{DType, Element, Error, Result, Scalar, Tensor, TensorMut, copy, dispatch};
use std::any::Any;
use std::mem::swap;

/// The right operand of a product.
#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// A tensor `[…, k, n]`.
    Tensor(&'a Tensor),
    /// Matrices `[…, k, n]` packed before.
    Packed(&'a PackedMatrix),
}

/// What goes with a product `out = beta·add + alpha·(a @ b)`.
#[derive(Clone, Copy)]
pub struct Affine<'a> {
    /// Added to the product; broadcasts to the output. As in PyTorch, it is not read where `beta` is 0.
    pub add: Option<&'a Tensor>,
    /// Factor of `add`.
    pub beta: Scalar,
    /// Factor of the product.
    pub alpha: Scalar,
    /// What finished elements of the output are given to.
    pub after: Option<After<'a>>,
}

impl Default for Affine<'_> {
    fn default() -> Self {
        Affine { add: None, beta: Scalar::Int(1), alpha: Scalar::Int(1), after: None }
    }
}

/// Fills `out [b…, m, n]` with the products of the matrices of `a [b…, m, k]` and `b [b…, k, n]`; batch dimensions
/// broadcast. All dtypes are equal: integers (wrapping), floats (halves are summed in `f32`) or complex.
pub fn matmul(a: &Tensor, b: &Tensor, out: &mut TensorMut) -> Result<()> {
    affine(a, Right::Tensor(b), out, &Affine::default())
}

/// As [`matmul`], with something added, factors, a packed right operand or a hook (`addmm`, `baddbmm`, `linear`).
pub fn affine(a: &Tensor, b: Right<'_>, out: &mut TensorMut, with: &Affine<'_>) -> Result<()> {
    let dtypes = [Some(a.dtype()), Some(b.dtype()), with.add.map(Tensor::dtype)];
    if let Some(other) = dtypes.into_iter().flatten().find(|&d| d != out.dtype()) {
        return Err(Error::invalid(format!(
            "expected all to have the same dtype, but got {other} and {}",
            out.dtype()
        )));
    }
    dispatch!(arith out.dtype(), |T| typed::<T>(a, b, out, with))
}

fn typed<T: Element + Multiply>(a: &Tensor, b: Right<'_>, out: &mut TensorMut, with: &Affine<'_>) -> Result<()>
where
    T::Acc: Element,
{
    let a = a.forward()?;
    let held;
    let tensor = match b {
        Right::Tensor(b) => {
            held = b.forward()?;
            Some(&*held)
        }
        Right::Packed(_) => None,
    };
    let b_sizes = match b {
        Right::Tensor(b) => counts(b.sizes())?,
        Right::Packed(p) => p.sizes.clone(),
    };
    let b_strides = match tensor {
        Some(b) => counts(b.strides())?,
        // Those of the batch count matrices.
        None => row_major(&b_sizes[..b_sizes.len() - 2]).into_iter().chain([0, 0]).collect(),
    };
    let shape = Shape::new(&a, (&b_sizes, &b_strides), out)?;
    let (beta, alpha) = (with.beta.to::<T::Acc>(), with.alpha.to::<T::Acc>());
    let add = with.add.filter(|_| beta != T::Acc::ZERO);
    // A bias along the last dimension is a start value per column; anything else is written to the output first.
    let bias = match add {
        Some(x) if x.rank() == 1 && x.sizes()[0] == shape.n as i64 && beta == T::Acc::ONE => Some(x.contiguous()?),
        Some(x) => {
            let sizes = out.sizes().to_vec();
            copy(&x.view(|l| l.expand(&sizes))?, out)?;
            None
        }
        None => None,
    };
    let start = match &bias {
        Some(bias) => Start::PerColumn(bias.span::<T>()?),
        None if add.is_some() => Start::Scaled(beta),
        None => Start::Zero,
    };
    let c = out.span::<T>()?;
    let dims = shape.folded();
    let [am, bm, cm] = dims.strides;
    let product = Product {
        m: dims.m,
        n: dims.n,
        k: dims.k,
        a: Lhs::Strided(Mat::new(a.span::<T>()?, am.0, am.1)),
        b: match (b, tensor) {
            (Right::Packed(p), _) => Rhs::Packed(p.panels::<T>()?),
            (_, Some(b)) => Rhs::Strided(Mat::new(b.span::<T>()?, bm.0, bm.1)),
            (Right::Tensor(_), None) => return Err(Error::invalid("law: a tensor on the right is held")),
        },
        alpha,
        epilogue: Epilogue { start, after: with.after },
        batch: Batch { sizes: &dims.sizes, a: &dims.batch[0], b: &dims.batch[1], c: &dims.batch[2], start: &[] },
    };
    gemm(&product, MatMut { data: c, rows: cm.0, cols: cm.1 });
    Ok(())
}

/// The checked shape of a product: matrix sizes and strides, and batch dimensions with strides of 0 where broadcast.
struct Shape {
    m: usize,
    n: usize,
    k: usize,
    /// Strides of rows and columns of a, b, out.
    strides: [(usize, usize); 3],
    sizes: Counts,
    batch: [Counts; 3],
}

impl Shape {
    fn new(a: &Tensor, (b_sizes, b_strides): (&[usize], &[usize]), out: &TensorMut) -> Result<Shape> {
        let (a_sizes, c_sizes) = (counts(a.sizes())?, counts(out.sizes())?);
        let fail = || Error::shape(format!("cannot multiply {a_sizes:?} by {b_sizes:?} into {c_sizes:?}"));
        let matrix = |s: &[usize]| s.len().checked_sub(2).map(|r| (r, s[r], s[r + 1])).ok_or_else(fail);
        let ((ar, m, k), (br, k2, n), (cr, m2, n2)) = (matrix(&a_sizes)?, matrix(b_sizes)?, matrix(&c_sizes)?);
        if k != k2 || m != m2 || n != n2 {
            return Err(fail());
        }
        let (a_strides, c_strides) = (counts(a.strides())?, counts(out.strides())?);
        let aligned = |sizes: &[usize], strides: &[usize], rank: usize| -> Result<Counts> {
            let skip = cr.checked_sub(rank).ok_or_else(fail)?;
            let own = (0..rank).map(|d| match sizes[d] {
                s if s == c_sizes[skip + d] => Ok(strides[d]),
                1 => Ok(0),
                _ => Err(fail()),
            });
            (0..skip).map(|_| Ok(0)).chain(own).collect()
        };
        let pair = |s: &[usize]| (s[s.len() - 2], s[s.len() - 1]);
        Ok(Shape {
            m,
            n,
            k,
            strides: [pair(&a_strides), pair(b_strides), pair(&c_strides)],
            batch: [
                aligned(&a_sizes, &a_strides, ar)?,
                aligned(b_sizes, b_strides, br)?,
                c_strides[..cr].iter().copied().collect(),
            ],
            sizes: c_sizes[..cr].iter().copied().collect(),
        })
    }

    /// Dimensions that share B are rows: those that continue one another in A and in the output are one, and the
    /// longest is that of the products where the last one has few. A row's sums do not depend on the others.
    fn folded(mut self) -> Shape {
        self.fold();
        let others = (0..self.sizes.len()).filter(|&d| self.batch[1][d] == 0);
        let longest = others.max_by_key(|&d| self.sizes[d]).filter(|&d| self.sizes[d] > self.m);
        if let Some(d) = longest.filter(|_| self.m < FEW_ROWS) {
            swap(&mut self.m, &mut self.sizes[d]);
            swap(&mut self.strides[0].0, &mut self.batch[0][d]);
            swap(&mut self.strides[2].0, &mut self.batch[2][d]);
            self.fold();
        }
        self
    }

    /// Joins dimensions with the rows while they continue them.
    fn fold(&mut self) {
        while let Some(d) = (0..self.sizes.len()).rev().find(|&d| self.continues(d)) {
            if self.sizes[d] != 1 {
                if self.m == 1 {
                    (self.strides[0].0, self.strides[2].0) = (self.batch[0][d], self.batch[2][d]);
                }
                self.m *= self.sizes[d];
            }
            self.sizes.remove(d);
            for strides in &mut self.batch {
                strides.remove(d);
            }
        }
    }

    /// Whether a batch dimension shares B and continues the rows of A and of the output.
    fn continues(&self, d: usize) -> bool {
        let follows = |x: usize| self.m == 1 || self.batch[x][d] == self.m * self.strides[x].0;
        self.sizes[d] == 1 || self.batch[1][d] == 0 && follows(0) && follows(2)
    }
}

/// Fewer rows do not fill a few tiles.
const FEW_ROWS: usize = 32;

/// The strides of contiguous sizes.
fn row_major(sizes: &[usize]) -> Counts {
    let mut strides = Counts::from_elem(1, sizes.len());
    for d in (1..sizes.len()).rev() {
        strides[d - 1] = strides[d] * sizes[d];
    }
    strides
}

/// Matrices with fewer rows or columns than this are not worth packing: most of a panel would be padding.
const LEAST_PACKED: usize = 16;

/// A constant right operand, packed once for many products with any number of rows.
pub struct PackedMatrix {
    dtype: DType,
    /// `[…, k, n]`
    sizes: Counts,
    packed: Box<dyn Any + Send + Sync>,
}

impl PackedMatrix {
    /// Packs `b […, k, n]`; of any strides, so a weight `[n, k]` is packed by its transposed view.
    ///
    /// # Errors
    /// `b` is no matrix, has no product, or its panels are larger than a buffer may be.
    pub fn new(b: &Tensor) -> Result<PackedMatrix> {
        let (sizes, b) = (counts(b.sizes())?, b.forward()?);
        let Some(lead) = sizes.len().checked_sub(2) else {
            return Err(Error::shape(format!("expected a matrix, got sizes {:?}", b.sizes())));
        };
        let (k, n, strides) = (sizes[lead], sizes[lead + 1], counts(b.strides())?);
        dispatch!(arith b.dtype(), |T| {
            let count = sizes[..lead].iter().product::<usize>();
            let bytes = [count, k, n, size_of::<T>()].into_iter().fold(1, usize::saturating_mul);
            crate::memory::admit(bytes)?;
            let (data, steps) = (b.span::<T>()?, row_major(&sizes[..lead]));
            let first = |i: usize| (0..lead).map(|d| i / steps[d] % sizes[d] * strides[d]).sum::<usize>();
            let pack = |i| T::packed_right(k, n, Mat::new(&data[first(i)..], strides[lead], strides[lead + 1]));
            let packed: Vec<Packed<<T as Multiply>::Acc>> = (0..count).map(pack).collect();
            Ok(PackedMatrix { dtype: b.dtype(), sizes, packed: Box::new(packed) })
        })
    }

    /// As [`PackedMatrix::new`], where that pays for an operand of many products: of floats, large enough to fill
    /// panels, with every element in a place of its own.
    ///
    /// # Errors
    /// As there.
    pub fn of_constant(b: &Tensor) -> Result<Option<PackedMatrix>> {
        let pays = matches!(b.dtype(), DType::F32 | DType::F64 | DType::BF16 | DType::F16)
            && b.rank() >= 2
            && b.sizes()[b.rank() - 2..].iter().all(|&s| s >= LEAST_PACKED as i64)
            && b.sizes().iter().zip(b.strides()).all(|(&size, &stride)| size == 1 || stride != 0);
        if pays && b.numel() > 0 { Self::new(b).map(Some) } else { Ok(None) }
    }

    /// `[…, k, n]`.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }
    /// The dtype of the matrices that were packed.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The panels, for products that are computed in the same type as those of `T`.
    ///
    /// # Errors
    /// They are for those of another type.
    pub fn panels<T: Element + Multiply>(&self) -> Result<&[Packed<T::Acc>]> {
        let packed = self.packed.downcast_ref::<Vec<Packed<T::Acc>>>();
        let packed =
            packed.ok_or_else(|| Error::invalid(format!("a packed {} in a product of {}", self.dtype, T::DTYPE)));
        packed.map(|packed| &packed[..])
    }
}

impl Right<'_> {
    fn dtype(&self) -> DType {
        match self {
            Right::Tensor(t) => t.dtype(),
            Right::Packed(p) => p.dtype,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn tensor(sizes: &[i64], from: i64) -> Tensor {
        let n = sizes.iter().product::<i64>();
        Tensor::from_vec(sizes, (0..n).map(|i| ((i * 7 + from) % 11 - 5) as f32).collect()).expect("a valid case")
    }

    fn out(sizes: &[i64]) -> TensorMut {
        TensorMut::empty(DType::F32, Layout::contiguous(sizes).expect("a valid case")).expect("a valid case")
    }

    /// By the definition, over broadcast contiguous copies.
    fn naive(a: &Tensor, b: &Tensor, sizes: &[i64]) -> Vec<f32> {
        let [.., m, n] = *sizes else { panic!("a matrix") };
        let (k, batch) = (a.sizes()[a.rank() - 1], &sizes[..sizes.len() - 2]);
        let full = |x: &Tensor, tail: [i64; 2]| {
            x.view(|l| l.expand(&[batch, &tail[..]].concat())).expect("a valid case").to_vec::<f32>().unwrap()
        };
        let (a, b) = (full(a, [m, k]), full(b, [k, n]));
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let one = |i: usize| {
            let (x, r, c) = (i / (m * n), i / n % m, i % n);
            (0..k).map(|p| a[(x * m + r) * k + p] * b[(x * k + p) * n + c]).sum()
        };
        (0..sizes.iter().product::<i64>() as usize).map(one).collect()
    }

    #[test]
    fn batches_broadcast_and_fold() {
        for (a, b, c) in [
            (&[3, 4][..], &[4, 5][..], &[3, 5][..]),
            (&[2, 6, 3, 4], &[4, 5], &[2, 6, 3, 5]),
            (&[2, 1, 3, 4], &[6, 4, 5], &[2, 6, 3, 5]),
            (&[3, 4], &[2, 6, 4, 5], &[2, 6, 3, 5]),
            (&[7, 1, 4], &[4, 40], &[7, 1, 40]),
            (&[0, 3, 4], &[4, 5], &[0, 3, 5]),
            (&[2, 3, 0], &[0, 5], &[2, 3, 5]),
            (&[1, 3, 4], &[2, 4, 5], &[2, 3, 5]),
        ] {
            let (a, b, mut y) = (tensor(a, 1), tensor(b, 2), out(c));
            matmul(&a, &b, &mut y).expect("a valid case");
            assert_eq!(y.freeze().to_vec::<f32>().unwrap(), naive(&a, &b, c), "{:?} {:?}", a.sizes(), b.sizes());
        }
        let (a, b) = (tensor(&[4, 3], 1), tensor(&[5, 4], 2));
        let turn = |x: &Tensor| x.view(|l| l.transpose(0, 1)).expect("a valid case");
        let (a, b, mut y) = (turn(&a), turn(&b), out(&[3, 5]));
        matmul(&a, &b, &mut y).expect("a valid case");
        assert_eq!(y.freeze().to_vec::<f32>().unwrap(), naive(&a, &b, &[3, 5]));
        for (b_sizes, c) in [(&[2, 6, 4, 40][..], &[2, 6, 3, 40][..]), (&[6, 4, 40], &[6, 3, 40])] {
            let (a, b, mut y) = (tensor(&[1, 3, 4], 1), tensor(b_sizes, 2), out(c));
            let packed = PackedMatrix::new(&b).expect("a valid case");
            affine(&a, Right::Packed(&packed), &mut y, &Affine::default()).expect("a valid case");
            assert_eq!(y.freeze().to_vec::<f32>().unwrap(), naive(&a, &b, c), "packed {b_sizes:?}");
        }
        // Sequences first, in memory the batch: the rows are those of the sequence.
        for sizes in [[2, 40, 4], [3, 1, 4], [1, 9, 4], [2, 2, 4]] {
            let a = tensor(&sizes, 1).view(|l| l.transpose(0, 1)).expect("a valid case");
            let c = [sizes[1], sizes[0], 5];
            let mut y = out(&c);
            matmul(&a, &b, &mut y).expect("a valid case");
            assert_eq!(y.freeze().to_vec::<f32>().unwrap(), naive(&a, &b, &c), "{sizes:?}");
        }
        let flipped = a.view(|l| l.flip(&[0])).expect("a valid case");
        let mut y = out(&[3, 5]);
        matmul(&flipped, &b, &mut y).expect("a valid case");
        assert_eq!(y.freeze().to_vec::<f32>().unwrap(), naive(&flipped, &b, &[3, 5]));
    }

    #[test]
    fn adds_with_factors_packed_and_hooked() {
        let (x, w) = (tensor(&[2, 3, 8], 1), tensor(&[5, 8], 2));
        let b = w.view(|l| l.transpose(0, 1)).expect("a valid case");
        let packed = PackedMatrix::new(&b).expect("a valid case");
        let product = naive(&x, &b, &[2, 3, 5]);
        let relu = |part| crate::gemm::tests::each::<f32>(part, |y| *y = y.max(0.0));
        for add in [tensor(&[5], 3), tensor(&[3, 1], 4), tensor(&[2, 3, 5], 5)] {
            let full = add.view(|l| l.expand(&[2, 3, 5])).expect("a valid case").to_vec::<f32>().unwrap();
            for (beta, alpha) in [(1, 1), (2, 3), (0, 1)] {
                let expected: Vec<f32> =
                    product.iter().zip(&full).map(|(p, a)| (beta as f32 * a + alpha as f32 * p).max(0.0)).collect();
                for right in [Right::Tensor(&b), Right::Packed(&packed)] {
                    let with = Affine {
                        add: Some(&add),
                        beta: Scalar::Int(beta),
                        alpha: Scalar::Int(alpha),
                        after: Some(After { f: &relu, writes: false, tail: None }),
                    };
                    let mut y = out(&[2, 3, 5]);
                    affine(&x, right, &mut y, &with).expect("a valid case");
                    assert_eq!(y.freeze().to_vec::<f32>().unwrap(), expected, "{:?} {beta} {alpha}", add.sizes());
                }
            }
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let shapes = |a: &[i64], b: &[i64], c: &[i64]| matmul(&tensor(a, 0), &tensor(b, 0), &mut out(c)).is_err();
        assert!(shapes(&[3, 4], &[5, 5], &[3, 5]));
        assert!(shapes(&[2, 3, 4], &[3, 4, 5], &[3, 3, 5]));
        assert!(shapes(&[4], &[4, 5], &[5]));
        assert!(shapes(&[2, 3, 4], &[4, 5], &[3, 5]));
        let ints = Tensor::from_vec(&[2, 2], vec![1i64; 4]).expect("a valid case");
        assert!(matmul(&ints, &tensor(&[2, 2], 0), &mut out(&[2, 2])).is_err());
        let bools = Tensor::from_vec(&[1, 1], vec![true]).expect("a valid case");
        let mut y = TensorMut::empty(DType::Bool, bools.layout().clone()).expect("a valid case");
        assert!(matmul(&bools, &bools, &mut y).unwrap_err().is_unsupported());
    }
}
