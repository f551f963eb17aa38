//! Plans of transforms of lines, by rustfft; without the feature `fft` there are none, and transforms are unsupported.

#[cfg(feature = "fft")]
pub(super) use by_rustfft::*;
#[cfg(not(feature = "fft"))]
pub(super) use missing::*;

#[cfg(feature = "fft")]
mod by_rustfft {
    use super::super::Direction;
    use crate::Result;
    use num_complex::Complex;
    use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
    use std::cell::RefCell;
    use std::sync::Arc;

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

    /// Numbers that are transformed, with a store of plans per thread.
    pub trait Planned: FftNum {
        /// The plan for lines of `n` numbers.
        fn plan(n: usize, direction: Direction) -> Result<Plan<Self>>;
    }

    macro_rules! planned { ($($t:ty)*) => {$(
        impl Planned for $t {
            fn plan(n: usize, direction: Direction) -> Result<Plan<Self>> {
                thread_local! {
                    static PLANS: RefCell<FftPlanner<$t>> = RefCell::new(FftPlanner::new());
                }
                let direction = match direction {
                    Direction::Forward => FftDirection::Forward,
                    Direction::Inverse => FftDirection::Inverse,
                };
                Ok(Plan(PLANS.with_borrow_mut(|plans| plans.plan_fft(n, direction))))
            }
        }
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

    /// A plan that cannot be made.
    pub struct Plan<T>(Infallible, PhantomData<T>);

    impl<T> Plan<T> {
        /// Never called.
        pub fn scratch(&self) -> usize {
            match self.0 {}
        }
        /// Never called.
        pub fn run(&self, _: &mut [Complex<T>], _: &mut [Complex<T>]) {
            match self.0 {}
        }
    }

    /// Numbers that would be transformed.
    pub trait Planned: Copy + Send + Sync + 'static {
        /// Unsupported.
        fn plan(_: usize, _: Direction) -> Result<Plan<Self>> {
            Err(Error::unsupported("a Fourier transform: oxport was built without the feature `fft`"))
        }
    }
    impl Planned for f32 {}
    impl Planned for f64 {}
}
