//! Which elements of a line an element of its resampled line is made of, and with which weights.

use crate::support::dense::Compute;
use oxport_ir::Result;
use oxport_tensor::table;

/// The shape of interpolation between elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    /// A triangle two elements wide.
    Linear,
    /// Cubic convolution, four elements wide.
    Cubic,
    /// A windowed sinc, six elements wide.
    Lanczos,
}

/// The taps of every output element: elements from `first` on, one per weight.
pub struct Taps<T> {
    /// The first element, and where its weights begin; one more entry ends the weights.
    pub starts: Vec<(usize, usize)>,
    /// The weights of all taps.
    pub weights: Vec<T>,
    /// The size of the input.
    pub input: usize,
}

impl<T: Compute> Taps<T> {
    /// The number of output elements.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }
    /// First element and weights of an output element.
    pub fn at(&self, i: usize) -> (usize, &[T]) {
        (self.starts[i].0, &self.weights[self.starts[i].1..self.starts[i + 1].1])
    }
    /// Makes the weights whole numbers of 16 bits, as PyTorch does for bytes; gives the power of two that 1 became.
    pub fn quantize(&mut self) -> u32 {
        let top = self.weights.iter().fold(T::zero(), |a, &b| a.max(b));
        let fits = |bits: &u32| (T::of(0.5) + top * T::of(f64::from(1u32 << (bits + 1)))).floor() < T::of(32768.0);
        let bits = (0..22).take_while(fits).count() as u32;
        let scale = T::of(f64::from(1u32 << bits));
        self.weights.iter_mut().for_each(|w| *w = (*w * scale).round());
        bits
    }
    /// True if every element is made of itself.
    pub fn is_identity(&self) -> bool {
        self.count() == self.input && (0..self.count()).all(|i| self.at(i) == (i, &[T::one()]))
    }

    /// The taps of a line resampled from `input` to `count` elements.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(
        filter: Filter,
        antialias: bool,
        align: bool,
        input: i64,
        count: i64,
        factor: Option<f64>,
    ) -> Result<Taps<T>> {
        let scale = scale::<T>(input, count, align, factor);
        let reach = if antialias { filter.reach() * scale.to_f64().unwrap_or(1.0).max(1.0) } else { 2.0 };
        // A window reaches so far to both sides, but not beyond the input.
        let most = (2.0 * reach + 2.0).min(input as f64) * count as f64;
        let weights = table(if most < 9e18 { most as usize } else { usize::MAX })?;
        let mut taps = Taps { starts: table(count as usize + 1)?, weights, input: input as usize };
        for i in 0..count {
            taps.push(filter, antialias, align, scale, i, count);
        }
        taps.starts.push((0, taps.weights.len()));
        Ok(taps)
    }

    fn push(&mut self, filter: Filter, antialias: bool, align: bool, scale: T, i: i64, count: i64) {
        let (input, i) = (self.input as i64, T::of(i as f64));
        let half = T::of(0.5);
        let place = if align { scale * i } else { scale * (i + half) - half };
        let mut pairs: Vec<(i64, T)> = Vec::new();
        if antialias {
            let center = scale * (i + half);
            let reach = T::of(filter.reach());
            let (support, inverse) = if scale >= T::one() { (reach * scale, scale.recip()) } else { (reach, T::one()) };
            let whole = |x: T| x.to_i64().unwrap_or(0);
            let first = whole(center - support + half).max(0);
            let end = whole(center + support + half).min(input);
            let weight = |j: i64| filter.window((T::of(j as f64) - center + half) * inverse);
            let total: T = (first..end).map(weight).sum();
            pairs.extend((first..end).map(|j| (j, if total == T::zero() { T::zero() } else { weight(j) / total })));
        } else if filter == Filter::Linear {
            if input == count {
                pairs.push((i.to_i64().unwrap_or(0), T::one()));
            } else {
                let place = place.max(T::zero());
                let first = place.floor().to_i64().unwrap_or(0).min(input - 1);
                let part = (place - T::of(first as f64)).max(T::zero()).min(T::one());
                pairs.extend([(first, T::one() - part), ((first + 1).min(input - 1), part)]);
            }
        } else {
            let first = place.floor();
            let part = place - first;
            let first = first.to_i64().unwrap_or(0);
            for (j, w) in (-1..3).zip(cubic_weights(part)) {
                pairs.push(((first + j).clamp(0, input - 1), w));
            }
        }
        // Taps that fell on the same edge element become one; the rest are neighbors.
        let first = pairs.first().map_or(0, |p| p.0);
        self.starts.push((first as usize, self.weights.len()));
        for (j, (place, weight)) in pairs.iter().enumerate() {
            match j.checked_sub(1).map(|k| pairs[k].0) {
                Some(before) if before == *place => {
                    *self.weights.last_mut().expect("law: a tap stands before") += *weight
                }
                _ => self.weights.push(*weight),
            }
        }
    }
}

impl Filter {
    /// How far the antialiasing window reaches.
    fn reach(self) -> f64 {
        match self {
            Filter::Linear => 1.0,
            Filter::Cubic => 2.0,
            Filter::Lanczos => 3.0,
        }
    }
    /// The antialiasing window at a distance.
    fn window<T: Compute>(self, x: T) -> T {
        let x = x.abs();
        let sinc = |x: T| if x == T::zero() { T::one() } else { (x * T::PI()).sin() / (x * T::PI()) };
        match self {
            Filter::Linear if x < T::one() => T::one() - x,
            Filter::Cubic if x < T::one() => cubic_near(x, T::of(-0.5)),
            Filter::Cubic if x < T::of(2.0) => cubic_far(x, T::of(-0.5)),
            Filter::Lanczos if x < T::of(3.0) => sinc(x) * sinc(x / T::of(3.0)),
            _ => T::zero(),
        }
    }
}

fn cubic_near<T: Compute>(x: T, a: T) -> T {
    ((a + T::of(2.0)) * x - (a + T::of(3.0))) * x * x + T::one()
}
fn cubic_far<T: Compute>(x: T, a: T) -> T {
    ((a * x - T::of(5.0) * a) * x + T::of(8.0) * a) * x - T::of(4.0) * a
}
/// The weights of the four neighbors of a point between the second and the third.
pub(crate) fn cubic_weights<T: Compute>(t: T) -> [T; 4] {
    let a = T::of(-0.75);
    let rest = T::one() - t;
    [cubic_far(t + T::one(), a), cubic_near(t, a), cubic_near(rest, a), cubic_far(rest + T::one(), a)]
}

/// The distance in the input of neighbors in the output.
fn scale<T: Compute>(input: i64, count: i64, align: bool, factor: Option<f64>) -> T {
    if align {
        return if count > 1 { T::of((input - 1) as f64) / T::of((count - 1) as f64) } else { T::zero() };
    }
    match factor.filter(|&f| f > 0.0) {
        Some(f) => T::of(1.0 / f),
        None => T::of(input as f64) / T::of(count as f64),
    }
}

/// The nearest element for every output element; `exact` measures from the middles of elements.
///
/// # Errors
/// There is no memory for them.
pub fn nearest(input: i64, count: i64, factor: Option<f64>, exact: bool) -> Result<Vec<usize>> {
    let scale = scale::<f32>(input, count, false, factor);
    let place = |i: i64| match exact {
        true => (((i as f32) + 0.5) * scale) as i64,
        false if count == input => i,
        false if Some(count) == input.checked_mul(2) => i >> 1,
        false => (i as f32 * scale) as i64,
    };
    let mut places = table(count.max(0) as usize)?;
    places.extend((0..count).map(|i| place(i).clamp(0, input - 1) as usize));
    Ok(places)
}
