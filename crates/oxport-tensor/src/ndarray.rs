//! Conversions from and to arrays of the crate `ndarray` (feature `ndarray`).
//!
//! Invariant: elements are copied, in row-major order.

use crate::{Element, Error, Result, Tensor};
use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Tensor {
        (&array).into()
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        let sizes: Vec<i64> =
            array.shape().iter().map(|&n| i64::try_from(n).expect("law: a length fits an i64")).collect();
        let elements: Vec<T> = array.iter().copied().collect();
        Tensor::from_vec(&sizes, elements).expect("law: an array has as many elements as its shape says")
    }
}

/// Fails if the dtype is not that of `T`: [`Tensor::to_dtype`] converts it.
impl<T: Element> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<ArrayD<T>> {
        if x.dtype() != T::DTYPE {
            return Err(Error::invalid(format!("expected a tensor of {}, got {}", T::DTYPE.name(), x.dtype().name())));
        }
        let sizes: Vec<usize> = x.sizes().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        ArrayD::from_shape_vec(IxDyn(&sizes), x.to_vec()?).map_err(|e| Error::shape(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn arrays_become_tensors_and_back() {
        let array: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let x = Tensor::from(array.t().to_owned());
        assert_eq!(x, Tensor::from([[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]]));
        assert_eq!(Tensor::from(&array.view()), Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        assert_eq!(ArrayD::<f32>::try_from(&x).unwrap(), array.t().into_dyn());
        let e = ArrayD::<i64>::try_from(&x).unwrap_err();
        assert_eq!(e.to_string(), "expected a tensor of int64, got float32");
    }
}
