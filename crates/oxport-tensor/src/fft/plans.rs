//! Plans of transforms of lines, by rustfft and realfft; without the feature `fft` there are none, and transforms are
//! unsupported.

#[cfg(feature = "fft")]
pub(super) use by_rustfft::*;
#[cfg(not(feature = "fft"))]
pub(super) use missing::*;

#[cfg(feature = "fft")]
mod by_rustfft {
    use super::super::Direction;
    use crate::Result;
    use num_complex::Complex;
    use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
    use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
    use std::cell::RefCell;
    use std::sync::Arc;

    const LENGTHS: &str = "law: lines and scratch are as long as their plan says";

    /// A plan for lines of some length.
    pub struct Plan<T>(Arc<dyn Fft<T>>);

    impl<T: FftNum> Plan<T> {
        /// How many numbers of scratch it wants.
        pub fn scratch(&self) -> usize {
            self.0.get_inplace_scratch_len()
        }
        /// Transforms lines, one behind the other, in place.
        pub fn run(&self, lines: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
            self.0.process_with_scratch(lines, scratch);
        }
    }

    /// A plan from a line of `n` real numbers to the first `n / 2 + 1` numbers of its transform.
    pub struct ToHalf<T>(Arc<dyn RealToComplex<T>>);

    impl<T: FftNum> ToHalf<T> {
        /// As [`Plan::scratch`].
        pub fn scratch(&self) -> usize {
            self.0.get_scratch_len()
        }
        /// Transforms one line, which is overwritten.
        pub fn run(&self, line: &mut [T], half: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
            self.0.process_with_scratch(line, half, scratch).expect(LENGTHS);
        }
    }

    /// The plan back, by the inverse transform.
    pub struct FromHalf<T>(Arc<dyn ComplexToReal<T>>);

    impl<T: FftNum> FromHalf<T> {
        /// As [`Plan::scratch`].
        pub fn scratch(&self) -> usize {
            self.0.get_scratch_len()
        }
        /// Transforms one half, which is overwritten. Numbers that are their own mirrors are real.
        pub fn run(&self, half: &mut [Complex<T>], line: &mut [T], scratch: &mut [Complex<T>]) {
            self.0.process_with_scratch(half, line, scratch).expect(LENGTHS);
        }
    }

    /// Numbers that are transformed, with a store of plans per thread.
    pub trait Planned: FftNum {
        /// The plan for lines of `n` numbers.
        fn plan(n: usize, direction: Direction) -> Result<Plan<Self>>;
        /// The plan for lines of `n` real numbers.
        fn to_half(n: usize) -> Result<ToHalf<Self>>;
        /// The plan back to `n` real numbers.
        fn from_half(n: usize) -> Result<FromHalf<Self>>;
    }

    macro_rules! planned { ($($t:ty)*) => {$(
        const _: () = {
            thread_local! {
                static PLANS: RefCell<FftPlanner<$t>> = RefCell::new(FftPlanner::new());
                static REAL: RefCell<RealFftPlanner<$t>> = RefCell::new(RealFftPlanner::new());
            }
            impl Planned for $t {
                fn plan(n: usize, direction: Direction) -> Result<Plan<Self>> {
                    let direction = match direction {
                        Direction::Forward => FftDirection::Forward,
                        Direction::Inverse => FftDirection::Inverse,
                    };
                    Ok(Plan(PLANS.with_borrow_mut(|plans| plans.plan_fft(n, direction))))
                }
                fn to_half(n: usize) -> Result<ToHalf<Self>> {
                    Ok(ToHalf(REAL.with_borrow_mut(|plans| plans.plan_fft_forward(n))))
                }
                fn from_half(n: usize) -> Result<FromHalf<Self>> {
                    Ok(FromHalf(REAL.with_borrow_mut(|plans| plans.plan_fft_inverse(n))))
                }
            }
        };
    )*}}
    planned! { f32 f64 }
}

#[cfg(not(feature = "fft"))]
mod missing {
    use super::super::Direction;
    use crate::{Error, Result};
    use num_complex::Complex;
    use std::convert::Infallible;
    use std::marker::PhantomData;

    /// A plan from a line of one kind of numbers to another, that cannot be made.
    pub struct Never<X, Y>(Infallible, PhantomData<(X, Y)>);
    pub type Plan<T> = Never<Complex<T>, Complex<T>>;
    pub type ToHalf<T> = Never<T, Complex<T>>;
    pub type FromHalf<T> = Never<Complex<T>, T>;

    impl<X, Y> Never<X, Y> {
        pub fn scratch(&self) -> usize {
            match self.0 {}
        }
    }
    impl<T> Plan<T> {
        pub fn run(&self, _: &mut [Complex<T>], _: &mut [Complex<T>]) {
            match self.0 {}
        }
    }
    impl<T> ToHalf<T> {
        pub fn run(&self, _: &mut [T], _: &mut [Complex<T>], _: &mut [Complex<T>]) {
            match self.0 {}
        }
    }
    impl<T> FromHalf<T> {
        pub fn run(&self, _: &mut [Complex<T>], _: &mut [T], _: &mut [Complex<T>]) {
            match self.0 {}
        }
    }

    fn none<T>() -> Result<T> {
        Err(Error::unsupported("a Fourier transform: oxport was built without the feature `fft`"))
    }

    /// Numbers that would be transformed.
    pub trait Planned: Copy + Send + Sync + 'static {
        fn plan(_: usize, _: Direction) -> Result<Plan<Self>> {
            none()
        }
        fn to_half(_: usize) -> Result<ToHalf<Self>> {
            none()
        }
        fn from_half(_: usize) -> Result<FromHalf<Self>> {
            none()
        }
    }
    impl Planned for f32 {}
    impl Planned for f64 {}
}
