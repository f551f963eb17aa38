//! PyTorch's CPU random numbers: the same seed gives the same numbers as `torch.manual_seed` does.
//!
//! A [`Generator`] is a Mersenne twister with a cached normal number; every distribution draws from it in PyTorch's
//! order, one element after the other. So filling is serial, and the bits depend on the seed and the calls alone.
//!
//! Invariants: [`Generator::random`] takes one 32-bit word, [`Generator::random64`] two (the first is the upper half);
//! `f32` and narrower floats use 24 bits of one word, `f64` and everything drawn in `f64` 53 bits of two.

mod normal;

use crate::{Element, Wide, cast};

const STATE: usize = 624;
const MIDDLE: usize = 397;

/// A Mersenne twister (MT19937) as PyTorch's CPU generator drives it.
#[derive(Clone)]
pub struct Generator {
    seed: u64,
    state: Box<[u32; STATE]>,
    next: usize,
    next_normal: Option<f64>,
}

impl Generator {
    /// PyTorch's seed where none was set.
    pub const DEFAULT_SEED: u64 = 67_280_421_310_721;

    /// A generator as after `torch.manual_seed(seed)`; only the lower 32 bits matter to the numbers.
    pub fn new(seed: u64) -> Generator {
        let mut state = Box::new([0u32; STATE]);
        state[0] = seed as u32;
        for i in 1..STATE {
            let before = state[i - 1];
            state[i] = (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Generator { seed, state, next: STATE, next_normal: None }
    }

    /// The seed it was made with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next 32 bits.
    pub fn random(&mut self) -> u32 {
        if self.next == STATE {
            self.twist();
        }
        let y = temper(self.state[self.next]);
        self.next += 1;
        y
    }

    /// The next 64 bits.
    pub fn random64(&mut self) -> u64 {
        let high = self.random();
        u64::from(high) << 32 | u64::from(self.random())
    }

    /// A number of `[0, 1)` with 24 bits.
    pub fn uniform_f32(&mut self) -> f32 {
        unit(self.random())
    }

    /// A number of `[0, 1)` with 53 bits.
    pub fn uniform_f64(&mut self) -> f64 {
        const BITS: u64 = (1 << 53) - 1;
        (self.random64() & BITS) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution; every other call returns the partner of the one before.
    pub fn normal_f64(&mut self) -> f64 {
        if let Some(cached) = self.next_normal.take() {
            return cached;
        }
        let (u1, u2) = (self.uniform_f64(), self.uniform_f64());
        let radius = (-2.0 * (-u2).ln_1p()).sqrt();
        let theta = 2.0 * std::f64::consts::PI * u1;
        self.next_normal = Some(radius * theta.sin());
        radius * theta.cos()
    }

    /// Fills as `uniform_(from, to)` does, for float elements.
    pub fn fill_uniform<T: Element>(&mut self, out: &mut [T], from: f64, to: f64) {
        let (low, high) = (cast::<f64, T>(from), cast::<f64, T>(to));
        // What rounds up to the upper end becomes the lower one.
        let clamp = |x: T| if x == high { low } else { x };
        if matches!(T::from_wide(Wide::Double(0.0)).to_wide(), Wide::Double(_)) {
            out.iter_mut().for_each(|y| *y = clamp(cast(self.uniform_f64().mul_add(to - from, from))));
            return;
        }
        let (from, to) = (from as f32, to as f32);
        let width = to - from;
        let mut rest = out;
        while !rest.is_empty() {
            if self.next == STATE {
                self.twist();
            }
            let words = &self.state[self.next..];
            let n = words.len().min(rest.len());
            let run;
            (run, rest) = rest.split_at_mut(n);
            // Fused, as PyTorch's build is; without a lower end that is a plain product.
            match from == 0.0 {
                true => run.iter_mut().zip(words).for_each(|(y, &w)| *y = clamp(cast(unit(temper(w)) * width))),
                false => {
                    run.iter_mut().zip(words).for_each(|(y, &w)| *y = clamp(cast(unit(temper(w)).mul_add(width, from))))
                }
            }
            self.next += n;
        }
    }

    /// Fills float elements as `normal_(mean, std)` does those of a tensor that is not contiguous: one by one.
    pub fn draw_normal<T: Element>(&mut self, out: &mut [T], mean: f64, std: f64) {
        out.iter_mut().for_each(|y| *y = cast(self.normal_f64().mul_add(std, mean)));
    }

    /// Fills contiguous float elements as `normal_(mean, std)` does: in groups of sixteen where there are as many.
    pub fn fill_normal<T: Element>(&mut self, out: &mut [T], mean: f64, std: f64) {
        if out.len() < 16 {
            self.draw_normal(out, mean, std);
        } else {
            normal::fill(self, out, mean, std);
        }
    }

    /// True with probability `p`, drawn as for a scalar probability or a `float64` tensor of them.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.uniform_f64() < p
    }

    /// True with probability `p`, drawn as for a tensor of `float32` or narrower probabilities.
    pub fn bernoulli_f32(&mut self, p: f32) -> bool {
        self.uniform_f32() < p
    }

    /// An integer of `[from, to)` as `randint` and `random_(from, to)` draw it; the range must not be empty.
    pub fn int_between(&mut self, from: i64, to: i64) -> i64 {
        let range = to.wrapping_sub(from) as u64;
        let drawn = if range >= 1 << 28 { self.random64() } else { u64::from(self.random()) };
        (drawn.checked_rem(range).unwrap_or(drawn) as i64).wrapping_add(from)
    }

    /// Fills as `random_()` does: integers of all non-negative values, floats of the integers that they hold exactly.
    pub fn fill_random<T: Element>(&mut self, out: &mut [T]) {
        use crate::DType::*;
        let range: u64 = match T::DTYPE {
            Bool => 2,
            U8 => 1 << 8,
            I8 => 1 << 7,
            U16 => 1 << 16,
            I16 => 1 << 15,
            U32 => 1 << 32,
            I32 => 1 << 31,
            I64 | U64 => 1 << 63,
            BF16 => (1 << 8) + 1,
            F16 => (1 << 11) + 1,
            F64 => (1 << 53) + 1,
            _ => (1 << 24) + 1,
        };
        for y in out {
            let drawn = if matches!(T::DTYPE, F64 | I64) { self.random64() } else { u64::from(self.random()) };
            *y = if T::DTYPE == Bool { cast(drawn % 2 == 1) } else { cast((drawn % range) as i64) };
        }
    }

    /// A number of the exponential distribution of this rate.
    pub fn exponential(&mut self, lambda: f64) -> f64 {
        -1.0 / lambda * (-self.uniform_f64()).ln_1p()
    }

    /// The number of trials up to the first success of probability `p`.
    pub fn geometric(&mut self, p: f64) -> f64 {
        (self.uniform_f64().ln() / (-p).ln_1p()).ceil()
    }

    /// A number of the Cauchy distribution.
    pub fn cauchy(&mut self, median: f64, sigma: f64) -> f64 {
        median + sigma * (std::f64::consts::PI * (self.uniform_f64() - 0.5)).tan()
    }

    /// A number whose logarithm is normal with this mean and deviation.
    pub fn log_normal(&mut self, mean: f64, std: f64) -> f64 {
        self.normal_f64().mul_add(std, mean).exp()
    }

    /// The numbers below `n` in an order as `randperm(n)` gives it.
    pub fn permutation(&mut self, n: usize) -> Vec<i64> {
        let mut out: Vec<i64> = (0..n as i64).collect();
        let is_small = n < (u32::MAX / 20) as usize;
        for i in 0..n.saturating_sub(1) {
            let drawn = if is_small { u64::from(self.random()) } else { self.random64() };
            out.swap(i, i + (drawn % (n - i) as u64) as usize);
        }
        out
    }

    /// Makes the next 624 words.
    fn twist(&mut self) {
        let s = &mut *self.state;
        let mix = |a: u32, b: u32, far: u32| {
            let y = a & 0x8000_0000 | b & 0x7fff_ffff;
            far ^ y >> 1 ^ (b & 1).wrapping_neg() & 0x9908_b0df
        };
        for i in 0..STATE - MIDDLE {
            s[i] = mix(s[i], s[i + 1], s[i + MIDDLE]);
        }
        for i in STATE - MIDDLE..STATE - 1 {
            s[i] = mix(s[i], s[i + 1], s[i + MIDDLE - STATE]);
        }
        s[STATE - 1] = mix(s[STATE - 1], s[0], s[MIDDLE - 1]);
        self.next = 0;
    }
}

fn temper(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c_5680;
    y ^= y << 15 & 0xefc6_0000;
    y ^ y >> 18
}

fn unit(word: u32) -> f32 {
    (word & ((1 << 24) - 1)) as f32 / (1u32 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// What PyTorch 2.15 draws after `torch.manual_seed(0)`.
    #[test]
    fn draws_what_pytorch_draws() {
        let g = || Generator::new(0);
        let mut x = [0f32; 4];
        g().fill_uniform(&mut x, 0.0, 1.0);
        assert_eq!(x, [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688]);
        let mut x = [0f64; 3];
        g().fill_uniform(&mut x, 0.0, 1.0);
        assert_eq!(x, [0.9700530018065531, 0.707819864399788, 0.45938294312745087]);
        let (mut x, mut half) = ([0f32; 6], [f16::ZERO; 6]);
        let mut both = g();
        both.fill_uniform(&mut x, -0.3, 0.7);
        both.fill_uniform(&mut half, -0.3, 0.7);
        assert_eq!(x[..3], [0.1962565779685974, 0.4682217836380005, -0.21152257919311523]);
        assert_eq!(half.map(f32::from)[..3], [0.1900634765625, 0.5966796875, 0.1556396484375]);
        let (mut a, mut b) = ([0f32; 3], [0f32; 2]);
        let mut cached = g();
        cached.fill_normal(&mut a, 0.0, 1.0);
        cached.fill_normal(&mut b, 0.0, 1.0);
        assert_eq!(a, [1.5409960746765137, -0.293428897857666, -2.1787893772125244]);
        assert_eq!(b, [0.5684312582015991, -1.0845223665237427]);
        let mut x = [0f32; 17];
        g().fill_normal(&mut x, 0.0, 1.0);
        assert_eq!(x[..3], [-1.1258398294448853, -1.6959311962127686, 0.5666506290435791]);
        assert_eq!(x[14..], [0.946298360824585, -0.843676745891571, 0.9318265914916992]);
        let mut x = [0f32; 20];
        g().fill_normal(&mut x, 1.3, 2.7);
        assert_eq!(x[..2], [-1.7397676706314087, -1.8113726377487183]);
        assert_eq!(x[18..], [6.713447570800781, 1.44508957862854]);
        let mut x = [0f64; 17];
        g().fill_normal(&mut x, 1.3, 2.7);
        assert_eq!(x[14..], [0.08927732727908201, -1.1057081949609915, 3.1221153677038105]);
        let mut x = [bf16::ZERO; 17];
        g().fill_normal(&mut x, 0.0, 1.0);
        assert_eq!(x.map(f32::from)[..5], [-1.125, -1.3515625, -1.6953125, 0.56640625, 0.79296875]);
        let mut ints = g();
        assert_eq!([0; 8].map(|_| ints.int_between(-5, 100)), [69, 19, 93, 25, 38, 4, 92, 68]);
        let mut ints = g();
        assert_eq!([0; 2].map(|_| ints.int_between(0, 1 << 40)), [741280623151, 506137267392]);
        assert_eq!(g().permutation(10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
        let mut p = g();
        assert_eq!([0; 6].map(|_| p.bernoulli_f32(0.3)), [false, false, true, true, false, false]);
        let mut p = g();
        assert_eq!([0; 7].map(|_| p.bernoulli(0.3)), [false, false, false, false, false, false, true]);
        let mut e = g();
        assert_eq!([0; 2].map(|_| e.exponential(1.5)), [2.338884124471761, 0.8202565094531178]);
        let mut e = g();
        assert_eq!([0; 5].map(|_| e.geometric(0.3)), [1.0, 1.0, 3.0, 1.0, 2.0]);
        let mut e = g();
        assert_eq!([0; 2].map(|_| e.cauchy(0.0, 1.0) as f32), [10.597729682922363, 0.7647672891616821]);
        let mut e = g();
        assert_eq!([0; 2].map(|_| e.log_normal(1.0, 2.0) as f32), [59.2634162902832, 1.5115599632263184]);
        let mut u = Generator::new((1 << 40) + 7);
        assert_eq!([0; 2].map(|_| u.uniform_f32()), [0.5349225401878357, 0.19880318641662598]);
    }

    #[test]
    fn fills_integers_and_floats_with_random_values() {
        let mut g = Generator::new(0);
        let (mut a, mut b, mut c) = ([0i64; 4], [0u8; 4], [0f32; 3]);
        g.fill_random(&mut a);
        g.fill_random(&mut b);
        g.fill_random(&mut c);
        assert_eq!(a[..2], [900450186894289455, 3969543146641149120]);
        assert_eq!((b, c), ([9, 211, 21, 242], [374452.0, 2832907.0, 4930402.0]));
        let mut g = Generator::new(0);
        let (mut a, mut b, mut c, mut d) = ([false; 4], [0i8; 4], [f16::ZERO; 2], [0f64; 2]);
        g.fill_random(&mut a);
        g.fill_random(&mut b);
        g.fill_random(&mut c);
        g.fill_random(&mut d);
        assert_eq!((a, b), ([false, true, true, false], [67, 123, 67, 103]));
        assert_eq!((c.map(f32::from), d), ([1831.0, 1302.0], [7126026704835016.0, 1608741408159447.0]));
    }

    /// Sums of the bits of long fills, as PyTorch 2.15 with AVX2 gives them.
    #[test]
    fn long_fills_have_the_same_bits() {
        let sum32 = |x: &[f32]| x.iter().map(|x| u64::from(x.to_bits())).sum::<u64>();
        let sum64 = |x: &[f64]| x.iter().fold(0u64, |s, x| s.wrapping_add(x.to_bits()));
        let (mut x, mut y) = (vec![0f32; 1 << 16], vec![0f64; 4000]);
        // A minute under Miri.
        if !cfg!(miri) {
            Generator::new(0).fill_normal(&mut x, 0.0, 1.0);
            assert_eq!(sum32(&x), 139831104796834);
        }
        Generator::new(0).fill_uniform(&mut x[..4000], -0.3, 1.9);
        assert_eq!(sum32(&x[..4000]), 5396103787795);
        Generator::new(0).fill_uniform(&mut y, -0.3, 1.9);
        assert_eq!(sum64(&y), 2119698459140355778);
        // A strided output is drawn one by one in PyTorch.
        let mut g = Generator::new(0);
        let one_by_one: Vec<f64> = (0..4000).map(|_| g.normal_f64().mul_add(1.9, 0.3)).collect();
        assert_eq!(sum64(&one_by_one), 8577720800918127086);
    }

    #[test]
    fn mixes_calls_as_one_stream() {
        let mut g = Generator::new(0);
        g.fill_normal(&mut [0f32; 5], 0.0, 1.0);
        let mut x = [0f32; 1000];
        g.fill_uniform(&mut x, 0.0, 1.0);
        assert_eq!(x[999], 0.5830078125);
        assert_eq!(g.normal_f64() as f32, -1.3985954523086548);
        let mut x = [0f32; 40];
        g.fill_normal(&mut x, 0.0, 1.0);
        assert_eq!(x[39], 0.16292265057563782);
    }
}
