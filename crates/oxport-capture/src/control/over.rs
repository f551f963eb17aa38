//! Closures over the elements of a dimension: `map`, `scan` and `associative_scan` of `torch._higher_order_ops`.

use crate::branch::Over;
use crate::methods::tensors as tensors_of;
use crate::pytree::Pytree;
use crate::{Error, Result, SymInt, Tensor, Tracer, Value};
use oxport_pytree::{Tree, TreeSpec};

/// Along which dimension a scan goes, and from which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    /// The dimension, counted from the end where negative.
    pub dim: i64,
    /// Whether the last element comes first.
    pub reverse: bool,
}

impl Tracer {
    /// `map(f, xs, *operands)`: what the closure gives of each element of the first dimension of `xs`, stacked. It is
    /// given the elements, and the operands.
    ///
    /// # Errors
    /// The closure is refused, writes to what it is given or to a tensor from around it, or gives other than tensors;
    /// the tensors of `xs` have no first dimension, an empty one, or not the same.
    #[track_caller]
    pub fn map<T: Pytree>(
        &self,
        xs: &[Tensor],
        operands: &[Tensor],
        f: impl FnOnce(&[Tensor], &[Tensor]) -> T,
    ) -> Result<Tree<Value>> {
        self.check_first_dimension(xs)?;
        let (values, spec) = self.over_closure(Over::Map(operands), xs, |given| {
            let (elements, operands) = given.split_at(xs.len());
            f(elements, operands).tree()
        })?;
        Ok(unflatten(&spec, values))
    }

    /// `scan(f, init, xs, dim=…, reverse=…)`: the last state, and the results of all elements, stacked. The closure is
    /// given the state and an element of each of `xs`; it gives the next state and results, which may be `None`.
    ///
    /// # Errors
    /// As [`Tracer::map`], but a dimension may be empty; or there is no state, or the next one has other dtypes or
    /// sizes.
    #[track_caller]
    pub fn scan<T: Pytree>(
        &self,
        init: &[Tensor],
        xs: &[Tensor],
        along: Along,
        f: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, T),
    ) -> Result<(Vec<Tensor>, Tree<Value>)> {
        let dim = scanned(xs, along.dim)?;
        if init.is_empty() {
            return Err(Error::invalid("scan() operator requires init leaves."));
        }
        let size = |x: &Tensor| x.shape()[dim].clone();
        if xs[1..].iter().any(|x| self.differ(&size(&xs[0]), &size(x))) {
            return Err(Error::invalid("All xs leaves must have the same scan dimension size"));
        }
        let moved = xs.iter().map(Value::from).collect();
        let moved = tensors(reversed(if dim == 0 { moved } else { with_dim(moved, dim, 0) }, along));
        let mut count = 0;
        let (mut last, spec) = self.over_closure(Over::Scan(init), &moved, |given| {
            let (state, elements) = given.split_at(init.len());
            let (next, results) = f(state, elements);
            count = next.len();
            Tree::tuple([Tree::tuple(next.into_iter().map(Pytree::tree)), results.tree()])
        })?;
        if count != init.len() {
            let expected = init.len();
            return Err(Error::invalid(format!(
                "Expected init and carry to have same number of outputs but got {expected} and {count}"
            )));
        }
        let results = reversed(last.split_off(count), along);
        let results = if dim == 0 { results } else { with_dim(results, 0, dim) };
        let results = spec.children().last().map(|spec| unflatten(spec, results));
        Ok((tensors(last), results.unwrap_or(Tree::Leaf(Value::None))))
    }

    /// `associative_scan(f, xs, dim, reverse)`: the running combinations of the elements, by a closure that combines
    /// two of them, neighbors first. It is given an element of each of `xs`, and their neighbors, and must be
    /// associative and work element by element (`combine_mode="pointwise"`).
    ///
    /// # Errors
    /// As [`Tracer::scan`]; or the combination has other dtypes or sizes than an element.
    #[track_caller]
    pub fn associative_scan(
        &self,
        xs: &[Tensor],
        along: Along,
        f: impl FnOnce(&[Tensor], &[Tensor]) -> Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let dim = scanned(xs, along.dim)?;
        let moved = tensors(reversed(with_dim(xs.iter().map(Value::from).collect(), dim, 0), along));
        let (all, _) = self.over_closure(Over::AssociativeScan, &moved, |given| {
            let (one, other) = given.split_at(xs.len());
            Tree::tuple(f(one, other).into_iter().map(Pytree::tree))
        })?;
        Ok(tensors(with_dim(reversed(all, along), 0, dim)))
    }

    #[track_caller]
    fn over_closure(
        &self,
        how: Over<'_>,
        xs: &[Tensor],
        f: impl FnOnce(&[Tensor]) -> Tree<Value>,
    ) -> Result<(Vec<Value>, TreeSpec)> {
        let given = self.enter_loop_over(how, xs)?;
        let traced = self.trace_closure(|| Ok(given), f)?;
        Ok((self.loop_over(how, xs, (traced.branch, &traced.leaves))?, traced.spec))
    }

    /// What `map` demands of what it maps.
    fn check_first_dimension(&self, xs: &[Tensor]) -> Result<()> {
        let sizes = xs.iter().map(|x| x.try_size(0)).collect::<Result<Vec<_>>>()?;
        let Some(first) = sizes.first() else { return Err(Error::invalid("there is nothing to map")) };
        if self.decide_now(&first.eq(0)) == Some(true) {
            return Err(Error::invalid("Leading dimensions of mapped xs cannot be 0."));
        }
        if sizes[1..].iter().any(|size| self.differ(first, size)) {
            let shape = |x: &Tensor| {
                let sizes: Vec<String> = x.shape().iter().map(ToString::to_string).collect();
                format!("torch.Size([{}])", sizes.join(", "))
            };
            let shapes = xs.iter().map(shape).collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!(
                "Leading dimensions of mapped xs must be consistent. Got shapes [{shapes}]."
            )));
        }
        Ok(())
    }
    /// Whether two sizes differ; those that depend on data are compared when the program runs.
    fn differ(&self, a: &SymInt, b: &SymInt) -> bool {
        self.decide_now(&a.eq(b)) == Some(false)
    }
}

#[track_caller]
fn reversed(mut values: Vec<Value>, along: Along) -> Vec<Value> {
    if along.reverse {
        for value in &mut values {
            if let Value::Tensor(x) = value {
                *x = x.flip([0]);
            }
        }
    }
    values
}

/// A result that has no such dimension stays as it is.
#[track_caller]
fn with_dim(mut values: Vec<Value>, from: usize, to: usize) -> Vec<Value> {
    for value in &mut values {
        match value {
            Value::Tensor(x) if from.max(to) < x.ndim() => *x = x.movedim(from, to),
            _ => {}
        }
    }
    values
}

/// The dimension along which a scan goes.
fn scanned(xs: &[Tensor], dim: i64) -> Result<usize> {
    let Some(first) = xs.first() else { return Err(Error::invalid("Expected at least 1 xs leaf")) };
    first.try_size(dim)?;
    let dim = if dim < 0 { dim + first.ndim() as i64 } else { dim };
    match usize::try_from(dim) {
        Ok(dim) if xs.iter().all(|x| dim < x.ndim()) => Ok(dim),
        _ => Err(Error::invalid("All xs leaves must have at least 'dim + 1' dimensions")),
    }
}

fn tensors(values: Vec<Value>) -> Vec<Tensor> {
    tensors_of(Value::List(values))
}

fn unflatten(spec: &TreeSpec, values: Vec<Value>) -> Tree<Value> {
    let mut values = values.into_iter();
    spec.map_ref(&mut |()| values.next().unwrap_or(Value::None))
}
