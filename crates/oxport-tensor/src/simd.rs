//! Code compiled several times, for the instruction sets a CPU may have, and chosen when it runs.
//!
//! The default build targets baseline x86-64. A [`Kernel`] is inlined into functions that LLVM may compile for AVX2 and
//! AVX-512, so its loops become wide vector code where the CPU has it. Invariant: all versions give the same bits (Rust
//! never fuses or reorders float operations by itself).

/// A loop with everything it needs. `run` must be `#[inline(always)]`, and so should be what it calls per element.
pub trait Kernel {
    /// What the loop gives.
    type Output;
    /// Is a version for AVX-512 worth its code? Yes for float arithmetic, no for moving and comparing.
    const WIDE: bool = true;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs a kernel in the best version for this CPU.
#[inline(always)]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        match level() {
            // SAFETY: `level` found every feature that the function is compiled for.
            Level::Avx512 if K::WIDE => return unsafe { avx512(kernel) },
            // SAFETY: as above; AVX-512 implies AVX2 here.
            Level::Avx2 | Level::Avx512 => return unsafe { avx2(kernel) },
            Level::Base => {}
        }
    }
    kernel.run()
}

/// Runs a closure as a [`Kernel`]. Only what is inlined gains by it: give `#[inline(always)] || …`, and mark what it
/// calls so, too.
#[inline(always)]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    struct Closure<F>(F);
    impl<R, F: FnOnce() -> R> Kernel for Closure<F> {
        type Output = R;
        #[inline(always)]
        fn run(self) -> R {
            (self.0)()
        }
    }
    run(Closure(f))
}

/// `a[i] = f(a[i], x[i])` for as many as both have, as part of a [`Kernel`].
///
/// Where `f` chooses one of the two, LLVM makes masked stores of a plain loop for AVX2, which take CPUs of AMD more
/// than ten times as long as others. The box hides that what is written is what has been read.
#[inline(always)]
pub fn fold_into<A: Copy, T: Copy>(a: &mut [A], x: &[T], f: impl Fn(A, T) -> A) {
    fold_each_into(a, x, x, |a, x, _, _| f(a, x));
}

/// As [`fold_into`]: `a[i] = f(a[i], x[i], y[i], i)`.
#[inline(always)]
pub fn fold_each_into<A: Copy, T: Copy, U: Copy>(a: &mut [A], x: &[T], y: &[U], f: impl Fn(A, T, U, usize) -> A) {
    let n = a.len().min(x.len()).min(y.len());
    let (a, x, y) = (&mut a[..n], &x[..n], &y[..n]);
    let done = fold_chunks::<32, _, _, _>(a, x, y, 0, &f);
    let done = fold_chunks::<8, _, _, _>(a, x, y, done, &f);
    for i in done..n {
        *std::hint::black_box(&mut a[i]) = f(a[i], x[i], y[i], i);
    }
}

/// Whole chunks from element `from` on; gives where they end.
#[inline(always)]
fn fold_chunks<const N: usize, A: Copy, T: Copy, U: Copy>(
    a: &mut [A],
    x: &[T],
    y: &[U],
    from: usize,
    f: &impl Fn(A, T, U, usize) -> A,
) -> usize {
    let (a, x, y) = (a[from..].as_chunks_mut::<N>().0, x[from..].as_chunks::<N>().0, y[from..].as_chunks::<N>().0);
    let count = a.len();
    for (c, ((a, x), y)) in a.iter_mut().zip(x).zip(y).enumerate() {
        let mut folded = *a;
        for i in 0..N {
            folded[i] = f(a[i], x[i], y[i], from + c * N + i);
        }
        *std::hint::black_box(a) = folded;
    }
    from + count * N
}

/// The instruction sets for which kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the build targets.
    Base,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ, VL, and all of the above.
    Avx512,
}

/// The best instruction set of this CPU, or a lower one by `OXPORT_ISA=base` or `avx2`, to test and to
/// measure what other machines do.
#[inline]
pub fn level() -> Level {
    static LEVEL: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
    *LEVEL.get_or_init(|| {
        let most = match std::env::var("OXPORT_ISA").as_deref() {
            Ok("base") => Level::Base,
            Ok("avx2") => Level::Avx2,
            _ => Level::Avx512,
        };
        detected().min(most)
    })
}

/// Miri says that the CPU has what the build targets. It has no conversion to halves, so F16C is not asked for there.
fn detected() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2")
            && has!("fma")
            && (has!("f16c") || cfg!(miri))
            && has!("bmi1")
            && has!("bmi2")
            && has!("lzcnt")
            && has!("popcnt")
        {
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            return if wide { Level::Avx512 } else { Level::Avx2 };
        }
    }
    Level::Base
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[cfg_attr(not(miri), target_feature(enable = "f16c"))]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
#[cfg_attr(not(miri), target_feature(enable = "f16c"))]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::fold_each_into;

    /// Chunks of every size, their rests, and operands of different lengths.
    #[test]
    fn each_element_is_folded_once() {
        for n in 0..100usize {
            let (x, y): (Vec<u64>, Vec<u8>) = ((0..n as u64 + n as u64 % 3).collect(), (0..n as u8).rev().collect());
            let mut a = vec![7; 100];
            fold_each_into(&mut a, &x, &y, |a, x, y, i| a + 1000 * x + 10 * i as u64 + u64::from(y));
            let want = (0..n as u64).map(|i| 7 + 1010 * i + (n as u64 - 1 - i));
            assert_eq!(a, want.chain(std::iter::repeat(7)).take(100).collect::<Vec<_>>(), "{n} elements");
        }
    }
}
