//! `x[…]` as Python has it: what `torch.Tensor.__getitem__` traces
//! (`torch/csrc/autograd/python_variable_indexing.cpp`).
//!
//! Laws: a whole slice (`:`) traces nothing; integers, slices and new dimensions are views, applied from left to
//! right; tensors
//! among the indices are applied together at the end by `aten.index`.

use crate::{Error, Result, SymInt, Tensor, Value};
use oxport_tensor::DType;

/// One index.
#[derive(Clone, Debug)]
pub enum Index {
    /// `x[3]`
    At(SymInt),
    /// `x[start:end:step]`
    Slice(Option<SymInt>, Option<SymInt>, SymInt),
    /// `x[None]`
    New,
    /// `x[...]`
    Ellipsis,
    /// `x[mask]`, `x[positions]`
    Tensor(Tensor),
}

impl From<i64> for Index {
    fn from(i: i64) -> Index {
        Index::At(i.into())
    }
}
impl From<SymInt> for Index {
    fn from(i: SymInt) -> Index {
        Index::At(i)
    }
}
impl From<&Tensor> for Index {
    fn from(t: &Tensor) -> Index {
        Index::Tensor(t.clone())
    }
}
impl From<std::ops::RangeFull> for Index {
    fn from(_: std::ops::RangeFull) -> Index {
        Index::Slice(None, None, 1i64.into())
    }
}
impl<T: Into<SymInt>> From<std::ops::Range<T>> for Index {
    fn from(r: std::ops::Range<T>) -> Index {
        Index::Slice(Some(r.start.into()), Some(r.end.into()), 1i64.into())
    }
}
impl<T: Into<SymInt>> From<std::ops::RangeFrom<T>> for Index {
    fn from(r: std::ops::RangeFrom<T>) -> Index {
        Index::Slice(Some(r.start.into()), None, 1i64.into())
    }
}
impl<T: Into<SymInt>> From<std::ops::RangeTo<T>> for Index {
    fn from(r: std::ops::RangeTo<T>) -> Index {
        Index::Slice(None, Some(r.end.into()), 1i64.into())
    }
}

impl Tensor {
    /// `x[…]`; where it is refused, the result is void and the tracer keeps the error.
    #[track_caller]
    pub fn get<const N: usize>(&self, indices: [Index; N]) -> Tensor {
        match self.try_get(&indices) {
            Ok(tensor) => tensor,
            Err(error) => {
                if self.node.is_some() {
                    self.tracer.refuse(error);
                }
                self.tracer.void()
            }
        }
    }
    /// `x[…]`
    ///
    /// # Errors
    /// There are too many indices, or one is out of range; PyTorch's message.
    #[track_caller]
    pub fn try_get(&self, indices: &[Index]) -> Result<Tensor> {
        let (views, tensors) = self.viewed(indices)?;
        if tensors.iter().all(Value::is_none) {
            return Ok(views);
        }
        views.traced("aten.index", &[tensors.into()])
    }
    /// `x[…] = value`, in place.
    ///
    /// # Errors
    /// As [`Tensor::try_get`]; or the value cannot be broadcast.
    #[track_caller]
    pub fn try_set(&self, indices: &[Index], value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        let (views, tensors) = self.viewed(indices)?;
        if let ([Value::Tensor(mask)], Value::Int(_) | Value::Float(_) | Value::Bool(_)) = (&tensors[..], &value)
            && mask.dtype() == DType::Bool
        {
            views.traced("aten.masked_fill_", &[mask.into(), value])?;
            return Ok(());
        }
        if !tensors.iter().all(Value::is_none) {
            let value = match value {
                Value::Tensor(t) => t,
                number => self.tracer.scalar_tensor(number, self.dtype())?,
            };
            views.traced("aten.index_put_", &[tensors.into(), value.into()])?;
            return Ok(());
        }
        match value {
            Value::Tensor(t) => views.traced("aten.copy_", &[t.into()])?,
            number => views.traced("aten.fill_", &[number])?,
        };
        Ok(())
    }

    #[track_caller]
    fn traced(&self, op: &str, args: &[Value]) -> Result<Tensor> {
        let args: Vec<Value> = [Value::from(self)].iter().chain(args).cloned().collect();
        let value = self.tracer.op(op, &args, &[])?;
        value.as_tensor().cloned().ok_or_else(|| Error::invalid(format!("expected a tensor of {op}")))
    }

    /// The view that integers, slices and new dimensions give, and the indices that are tensors by dimension.
    #[track_caller]
    fn viewed(&self, indices: &[Index]) -> Result<(Tensor, Vec<Value>)> {
        let consumed = |i: &Index| match i {
            Index::At(_) | Index::Slice(..) => 1,
            Index::New | Index::Ellipsis => 0,
            Index::Tensor(t) if matches!(t.dtype(), DType::Bool | DType::U8) => t.ndim(),
            Index::Tensor(_) => 1,
        };
        let used: usize = indices.iter().map(consumed).sum();
        let rank = self.ndim();
        if used > rank {
            return Err(Error::invalid(format!("too many indices for tensor of dimension {rank}")));
        }
        let (mut view, mut dim, mut tensors) = (self.clone(), 0i64, Vec::new());
        for index in indices {
            let at = |n: &SymInt| Value::Int(n.clone());
            match index {
                Index::At(n) => view = view.traced("aten.select.int", &[dim.into(), at(n)])?,
                Index::Slice(start, end, step) => {
                    let is_whole = start.as_ref().is_none_or(|s| s.known() == Some(0))
                        && end.as_ref().is_none_or(|e| e.known() == Some(i64::MAX))
                        && step.known() == Some(1);
                    if !is_whole {
                        let start = start.as_ref().map_or(0i64.into(), at);
                        let end = end.as_ref().map_or(i64::MAX.into(), at);
                        view = view.traced("aten.slice.Tensor", &[dim.into(), start, end, at(step)])?;
                    }
                    dim += 1;
                }
                Index::New => {
                    view = view.traced("aten.unsqueeze", &[dim.into()])?;
                    dim += 1;
                }
                Index::Ellipsis => dim += (rank - used) as i64,
                Index::Tensor(t) => {
                    tensors.resize(dim as usize, Value::None);
                    tensors.push(t.into());
                    dim += consumed(index) as i64;
                }
            }
        }
        Ok((view, tensors))
    }
}
