//! Indexing against one element after the other, over drawn sizes, strides, dtypes and indices.

use proptest::prelude::*;

use super::*;
use crate::{Number, bf16, cast};
use num_complex::Complex;

/// Draws small numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
    fn sizes(&mut self, rank: usize) -> Vec<i64> {
        // Some are large enough for several threads.
        let large = !cfg!(miri) && self.below(8) == 0;
        (0..rank).map(|_| if large && rank < 3 { 150 + self.below(200) } else { self.below(7) } as i64).collect()
    }
    /// A layout of these sizes whose dimensions lie in any order, with gaps.
    fn layout(&mut self, sizes: &[i64]) -> Layout {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i + 1));
        }
        let (mut strides, mut next) = (vec![0; sizes.len()], 1);
        for d in order {
            next *= if self.below(4) == 0 { 2 } else { 1 };
            strides[d] = next;
            next *= sizes[d].max(1);
        }
        Layout::new(sizes, &strides, self.below(3)).unwrap()
    }
    fn elements<T: Element>(&mut self, sizes: &[i64], mut value: impl FnMut(&mut Draw) -> i64) -> Tensor {
        let layout = self.layout(sizes);
        let mut out = TensorMut::empty(T::DTYPE, layout).unwrap();
        let n = out.numel();
        let values: Vec<T> = (0..n).map(|_| cast(value(self))).collect();
        crate::copy(&Tensor::from_vec(sizes, values).unwrap(), &mut out).unwrap();
        out.freeze()
    }
    fn numbers<T: Element>(&mut self, sizes: &[i64]) -> Tensor {
        self.elements::<T>(sizes, |draw| draw.below(100) as i64)
    }
    /// Indices from `low` to below `size`, rarely one outside, some repeated along whole dimensions.
    fn indices(&mut self, sizes: &[i64], low: i64, size: i64) -> Tensor {
        let own: Vec<i64> = sizes.iter().map(|&n| if n > 0 && self.below(4) == 0 { 1 } else { n }).collect();
        let outside = self.below(6) == 0;
        let range = (size - low).max(1) as usize;
        let value = |draw: &mut Draw| match outside && draw.below(9) == 0 {
            true => [low - 1, size, i64::from(i32::MIN)][draw.below(3)],
            false => low + draw.below(range) as i64,
        };
        let index =
            if self.below(2) == 0 { self.elements::<i64>(&own, value) } else { self.elements::<i32>(&own, value) };
        index.view(|l| l.expand(sizes)).unwrap()
    }
}

/// A tensor as a function of coordinates.
struct Plain<T> {
    sizes: Vec<i64>,
    elements: Vec<T>,
}

impl<T: Element> Plain<T> {
    fn of(x: &Tensor) -> Plain<T> {
        Plain { sizes: x.sizes().to_vec(), elements: x.to_vec::<T>().unwrap() }
    }
    fn at(&mut self, coordinates: &[i64]) -> &mut T {
        let position = self.sizes.iter().zip(coordinates).fold(0, |p, (n, c)| p * n + c);
        &mut self.elements[position as usize]
    }
    fn is(&self, x: &Tensor) -> bool {
        x.to_vec::<T>().unwrap() == self.elements
    }
}

fn coordinates(sizes: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for &n in sizes {
        all = all.iter().flat_map(|c: &Vec<i64>| (0..n).map(|i| [&c[..], &[i]].concat())).collect();
    }
    all
}

fn first_outside(index: &Tensor, low: i64, size: i64) -> Option<String> {
    let bad = index.to_vec::<i64>().unwrap().into_iter().find(|i| !(low..size).contains(i))?;
    Some(format!("index {bad} is out of bounds for dimension with size {size}"))
}

/// Elements in order meet by something that tells orders apart.
fn mixed<T: Number>(a: T, b: T) -> T {
    a.add(a).add(a).add(b)
}

fn output(draw: &mut Draw, x: &Tensor) -> TensorMut {
    let mut out = TensorMut::empty(x.dtype(), draw.layout(x.sizes())).unwrap();
    crate::copy(x, &mut out).unwrap();
    out
}

fn elements<T: Number>(draw: &mut Draw) {
    let rank = 1 + draw.below(3);
    let sizes = draw.sizes(rank);
    let d = draw.below(rank);
    let mut of_index: Vec<i64> = sizes.iter().map(|&n| if draw.below(2) == 0 { n } else { n.min(3) }).collect();
    of_index[d] = draw.below(9) as i64 * if sizes[d] > 100 { 30 } else { 1 };
    if sizes[d] == 0 {
        of_index[d] = 0;
    }
    let (x, index, src) =
        (draw.numbers::<T>(&sizes), draw.indices(&of_index, 0, sizes[d]), draw.numbers::<T>(&of_index));
    let error = first_outside(&index, 0, sizes[d]);
    let (mut plain_x, mut names, mut plain_src) = (Plain::<T>::of(&x), Plain::<i64>::of(&index), Plain::<T>::of(&src));
    let mut out = TensorMut::empty(T::DTYPE, draw.layout(&of_index)).unwrap();
    let gathered = gather(&x, d as i64, &index, &mut out).map_err(|e| e.to_string());
    assert_eq!(gathered.as_ref().err(), error.as_ref());
    let mut wanted = Plain::<T>::of(&Tensor::zeros(T::DTYPE, &of_index).unwrap());
    let (mut written, mut updated) = (Plain::<T>::of(&x), Plain::<T>::of(&x));
    for c in coordinates(if error.is_none() { &of_index } else { &[0] }) {
        let mut named = c.clone();
        named[d] = *names.at(&c);
        *wanted.at(&c) = *plain_x.at(&named);
        *written.at(&named) = *plain_src.at(&c);
        *updated.at(&named) = mixed(*updated.at(&named), *plain_src.at(&c));
    }
    assert!(wanted.is(&out.freeze()));
    let mut out = output(draw, &x);
    assert_eq!(scatter(&mut out, d as i64, &index, &src).map_err(|e| e.to_string()).err(), error);
    assert!(written.is(&out.freeze()));
    let mut out = output(draw, &x);
    scatter_with(&mut out, d as i64, &index, &src, mixed::<T>).ok();
    assert!(updated.is(&out.freeze()));
}

fn slabs<T: Number>(draw: &mut Draw) {
    let rank = 1 + draw.below(3);
    let sizes = draw.sizes(rank);
    let d = draw.below(rank);
    let mut of_src = sizes.clone();
    of_src[d] = if sizes[d] == 0 { 0 } else { draw.below(9) as i64 };
    let (x, index) = (draw.numbers::<T>(&sizes), draw.indices(&[of_src[d]], 0, sizes[d]));
    let (src, list) = (draw.numbers::<T>(&of_src), index.to_vec::<i64>().unwrap());
    let error = first_outside(&index, 0, sizes[d]);
    let (mut plain_x, mut plain_src) = (Plain::<T>::of(&x), Plain::<T>::of(&src));
    let mut wanted = Plain::<T>::of(&Tensor::zeros(T::DTYPE, &of_src).unwrap());
    let (mut written, mut updated) = (Plain::<T>::of(&x), Plain::<T>::of(&x));
    for c in coordinates(if error.is_none() { &of_src } else { &[0] }) {
        let mut named = c.clone();
        named[d] = list[c[d] as usize];
        *wanted.at(&c) = *plain_x.at(&named);
        *written.at(&named) = *plain_src.at(&c);
        *updated.at(&named) = mixed(*updated.at(&named), *plain_src.at(&c));
    }
    let mut out = TensorMut::empty(T::DTYPE, draw.layout(&of_src)).unwrap();
    assert_eq!(select(&x, d as i64, &index, &mut out).map_err(|e| e.to_string()).err(), error);
    assert!(wanted.is(&out.freeze()));
    let mut out = output(draw, &x);
    assert_eq!(copy_slabs(&mut out, d as i64, &index, &src).map_err(|e| e.to_string()).err(), error);
    assert!(written.is(&out.freeze()));
    let mut out = output(draw, &x);
    update_slabs(&mut out, d as i64, &index, &src, mixed::<T>).ok();
    assert!(updated.is(&out.freeze()));
}

fn tensors<T: Number>(draw: &mut Draw) {
    let rank = 1 + draw.below(4);
    let sizes = draw.sizes(rank);
    let x = draw.numbers::<T>(&sizes);
    let common_rank = draw.below(3);
    let mut common = draw.sizes(common_rank);
    common.iter_mut().for_each(|n| *n = (*n).min(40));
    let mut indices: Vec<Option<Tensor>> = Vec::new();
    for &size in &sizes {
        let lead = draw.below(common.len() + 1);
        let own: Vec<i64> = common[lead..].iter().map(|&n| if draw.below(4) == 0 { 1 } else { n }).collect();
        indices.push((draw.below(3) > 0).then(|| draw.indices(&own, -size, size)));
    }
    let Ok(plan) = Advanced::new(x.layout(), &indices) else { return };
    let result = plan.sizes.to_vec();
    let spread: Vec<(usize, Plain<i64>)> = plan.named.iter().map(|(d, i)| (*d, Plain::of(i))).collect();
    let error = plan.named.iter().find_map(|(d, i)| first_outside(i, -sizes[*d], sizes[*d]));
    let (at, common_rank, plain_dims) = (plan.at, plan.rank, plan.plain.clone());
    let values =
        draw.numbers::<T>(&result).view(|l| if draw.below(3) > 0 { Ok(l.clone()) } else { narrowed(l) }).unwrap();
    let (mut plain_x, mut spread) = (Plain::<T>::of(&x), spread);
    let mut plain_values = Plain::<T>::of(&values.view(|l| l.expand(&result)).unwrap());
    let mut wanted = Plain::<T>::of(&Tensor::zeros(T::DTYPE, &result).unwrap());
    let (mut written, mut updated) = (Plain::<T>::of(&x), Plain::<T>::of(&x));
    let is_ok = error.is_none();
    // The order of the index comes first where positions repeat, which is that of the whole result, too.
    for c in coordinates(if is_ok { &result } else { &[0] }) {
        let mut named = vec![0; rank];
        let rest: Vec<i64> = [&c[..at], &c[at + common_rank..]].concat();
        plain_dims.iter().zip(rest).for_each(|(&d, i)| named[d] = i);
        for (d, index) in &mut spread {
            let i = *index.at(&c[at..at + common_rank]);
            named[*d] = if i < 0 { i + sizes[*d] } else { i };
        }
        *wanted.at(&c) = *plain_x.at(&named);
        *written.at(&named) = *plain_values.at(&c);
        *updated.at(&named) = mixed(*updated.at(&named), *plain_values.at(&c));
    }
    let mut out = TensorMut::empty(T::DTYPE, draw.layout(&result)).unwrap();
    assert_eq!(index(&x, &indices, &mut out).map_err(|e| e.to_string()).err(), error);
    assert!(wanted.is(&out.freeze()));
    let mut out = output(draw, &x);
    assert_eq!(put(&mut out, &indices, &values).map_err(|e| e.to_string()).err(), error);
    assert!(written.is(&out.freeze()));
    let mut out = output(draw, &x);
    put_with(&mut out, &indices, &values, mixed::<T>).ok();
    assert!(updated.is(&out.freeze()));
}

/// Only the first element along the first dimension, to be broadcast.
fn narrowed(layout: &Layout) -> Result<Layout> {
    if layout.rank() == 0 || layout.is_empty() { Ok(layout.clone()) } else { layout.narrow(0, 0, 1) }
}

fn by_masks<T: Number>(draw: &mut Draw) {
    let rank = draw.below(4);
    let sizes = draw.sizes(rank);
    let often = draw.below(5);
    let mask = draw.elements::<bool>(&sizes, |draw| i64::from(draw.below(4) < often));
    let (x, truth) = (draw.numbers::<T>(&sizes), mask.to_vec::<bool>().unwrap());
    let places: Vec<usize> = (0..truth.len()).filter(|&i| truth[i]).collect();
    let all = x.to_vec::<T>().unwrap();
    let chosen: Vec<T> = places.iter().map(|&i| all[i]).collect();
    assert_eq!(masked_select(&x, &mask).unwrap().to_vec::<T>().unwrap(), chosen);
    let found = nonzero(&mask).unwrap();
    let every = coordinates(&sizes);
    let wanted: Vec<i64> = places.iter().flat_map(|&i| every[i].clone()).collect();
    assert_eq!((found.sizes(), found.to_vec::<i64>().unwrap()), (&[places.len() as i64, rank as i64][..], wanted));
    let more = draw.below(2) as i64;
    let src = draw.numbers::<T>(&[places.len() as i64 + more]);
    let (mut out, next) = (output(draw, &x), src.to_vec::<T>().unwrap());
    masked_scatter(&mut out, &mask, &src).unwrap();
    let mut wanted = all;
    places.iter().zip(next).for_each(|(&i, new)| wanted[i] = new);
    assert_eq!(out.freeze().to_vec::<T>().unwrap(), wanted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 400 }))]
    #[test]
    fn as_one_element_after_the_other(seed: u64, kind in 0..4usize, dtype in 0..6usize) {
        fn run<T: Number>(seed: u64, kind: usize) {
            [elements::<T>, slabs::<T>, tensors::<T>, by_masks::<T>][kind](&mut Draw(seed));
        }
        [run::<bool>, run::<bf16>, run::<i32>, run::<f32>, run::<Complex<f32>>, run::<Complex<f64>>][dtype](seed, kind);
    }
}
