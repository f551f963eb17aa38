//! Tensors from numbers, slices and nested lists of Rust, and their equality.
//!
//! The dtype is that of the Rust type: `Tensor::from([1, 2])` has `int32`, where `torch.tensor([1, 2])` has `int64`.
//!
//! Invariants: the results are contiguous; conversions that cannot fail are `From`, and lists that may be ragged
//! `TryFrom`.

use crate::{Element, Error, Result, Tensor};

/// A tensor without dimensions.
///
/// ```
/// # use oxport_tensor::Tensor;
/// assert_eq!(Tensor::from(2.5f32), Tensor::from_vec(&[], vec![2.5f32])?);
/// # Ok::<(), oxport_tensor::Error>(())
/// ```
impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Tensor {
        Tensor::scalar(value)
    }
}

/// A tensor of one dimension.
impl<T: Element> From<&[T]> for Tensor {
    fn from(elements: &[T]) -> Tensor {
        of(&[elements.len()], elements)
    }
}

/// A tensor of one dimension.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(elements: Vec<T>) -> Tensor {
        elements.as_slice().into()
    }
}

/// A tensor of one dimension.
impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(elements: [T; N]) -> Tensor {
        elements.as_slice().into()
    }
}

/// A tensor of two dimensions.
///
/// ```
/// # use oxport_tensor::Tensor;
/// let x = Tensor::from([[1i64, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.sizes(), [2, 3]);
/// assert_eq!(x.to_string(), "tensor([[1, 2, 3],\n        [4, 5, 6]])");
/// ```
impl<T: Element, const N: usize, const M: usize> From<[[T; N]; M]> for Tensor {
    fn from(rows: [[T; N]; M]) -> Tensor {
        of(&[M, N], rows.as_flattened())
    }
}

/// A tensor of three dimensions.
impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; N]; M]; L]> for Tensor {
    fn from(planes: [[[T; N]; M]; L]) -> Tensor {
        of(&[L, M, N], planes.as_flattened().as_flattened())
    }
}

/// A tensor of two dimensions; fails if the rows have different lengths.
///
/// ```
/// # use oxport_tensor::Tensor;
/// let wrong = Tensor::try_from(vec![vec![1.0f32, 2.0], vec![3.0]]).unwrap_err();
/// assert_eq!(wrong.to_string(), "expected sequence of length 2 at dim 1 (got 1)");
/// ```
impl<T: Element> TryFrom<Vec<Vec<T>>> for Tensor {
    type Error = Error;
    fn try_from(rows: Vec<Vec<T>>) -> Result<Tensor> {
        Ok(of(&[rows.len(), length(&rows, 1)?], &rows.concat()))
    }
}

/// A tensor of three dimensions; fails if lists of the same depth have different lengths.
impl<T: Element> TryFrom<Vec<Vec<Vec<T>>>> for Tensor {
    type Error = Error;
    fn try_from(planes: Vec<Vec<Vec<T>>>) -> Result<Tensor> {
        let (count, height) = (planes.len(), length(&planes, 1)?);
        let rows = planes.concat();
        Ok(of(&[count, height, length(&rows, 2)?], &rows.concat()))
    }
}

/// The one element of a tensor that has one element, as Python's `float(tensor)`, `int(tensor)`, `bool(tensor)`.
macro_rules! number_of_a_tensor {
    ($($T:ty),*) => { $(
        impl TryFrom<&Tensor> for $T {
            type Error = Error;
            fn try_from(x: &Tensor) -> Result<$T> {
                Ok(x.item()?.to())
            }
        }
    )* };
}
number_of_a_tensor!(f64, i64, bool);

/// Equal dtypes, sizes and elements, whatever the strides; NaN is unequal to itself.
impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        if self.dtype() != other.dtype() || self.sizes() != other.sizes() {
            return false;
        }
        let equal: Result<bool> = crate::dispatch!(all self.dtype(), |T| {
            Ok(match (self.as_slice::<T>(), other.as_slice::<T>()) {
                (Some(a), Some(b)) => a == b,
                _ => {
                    let (a, b) = (self.reader::<T>(), other.reader::<T>());
                    (0..self.numel()).all(|i| a.at(i) == b.at(i))
                }
            })
        });
        equal.expect("law: every dtype is listed")
    }
}

fn of<T: Element>(sizes: &[usize], elements: &[T]) -> Tensor {
    let sizes: Vec<i64> = sizes.iter().map(|&n| i64::try_from(n).expect("law: a length fits an i64")).collect();
    Tensor::from_slice(&sizes, elements).expect("law: the sizes are those of the elements")
}

/// The length that all lists have; PyTorch's error if they differ.
fn length<T>(lists: &[Vec<T>], dim: usize) -> Result<usize> {
    let expected = lists.first().map_or(0, Vec::len);
    match lists.iter().map(Vec::len).find(|&len| len != expected) {
        Some(other) => Err(Error::shape(format!("expected sequence of length {expected} at dim {dim} (got {other})"))),
        None => Ok(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn nested_lists_become_dimensions() {
        let planes = Tensor::from([[[1u8, 2], [3, 4], [5, 6]]]);
        assert_eq!((planes.sizes(), planes.dtype()), (&[1, 3, 2][..], DType::U8));
        let same = Tensor::try_from(vec![vec![vec![1u8, 2], vec![3, 4], vec![5, 6]]]).unwrap();
        assert_eq!(planes, same);
        assert_eq!(Tensor::from(vec![true, false]).sizes(), [2]);
        assert_eq!(Tensor::try_from(Vec::<Vec<f32>>::new()).unwrap().sizes(), [0, 0]);
        let ragged = Tensor::try_from(vec![vec![vec![1]], vec![vec![1, 2]]]).unwrap_err();
        assert_eq!(ragged.to_string(), "expected sequence of length 1 at dim 2 (got 2)");
        let ragged = Tensor::try_from(vec![vec![vec![1]], vec![]]).unwrap_err();
        assert_eq!(ragged.to_string(), "expected sequence of length 1 at dim 1 (got 0)");
    }

    #[test]
    fn equality_is_of_elements_not_of_strides() {
        let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
        let t = Tensor::from([[1.0f32, 3.0], [2.0, 4.0]]).view(|l| l.transpose(0, 1)).unwrap();
        assert_eq!(x, t);
        assert_ne!(x, x.to_dtype(DType::F64).unwrap());
        assert_ne!(x, x.reshape(&[4]).unwrap());
        assert_ne!(x, Tensor::from([[1.0f32, 2.0], [3.0, 5.0]]));
        let nan = Tensor::from(f32::NAN);
        assert_ne!(nan, nan);
    }

    #[test]
    fn one_element_is_a_number() {
        assert_eq!(f64::try_from(&Tensor::from([[2.5f32]])).unwrap(), 2.5);
        assert_eq!(i64::try_from(&Tensor::from(2.5f32)).unwrap(), 2);
        assert!(bool::try_from(&Tensor::from([1u8])).unwrap());
        assert!(f64::try_from(&Tensor::from([1.0f32, 2.0])).unwrap_err().is_shape());
    }
}
