//! Sorting and selection that leave equal elements where PyTorch does.
//!
//! `sort` (not stable by default), `topk`, `kthvalue` and `mode` say *where* an element was found. Of equal elements
//! that is whichever their algorithm happens to leave at an index: those of the C++ standard library that PyTorch is
//! built with on Linux (libstdc++), and one of PyTorch's own. So these algorithms are reproduced exactly. Elements are
//! compared by `less(a, b)` only.
//!
//! Invariants: the result is a permutation, for any `less` (NaNs are not ordered by `<`); nothing panics.

/// `std::partial_sort`: the first `middle` elements become the least ones, in order.
pub fn partial_sort<T: Copy>(x: &mut [T], middle: usize, less: &impl Fn(&T, &T) -> bool) {
    heap_select(x, middle, less);
    for end in (1..middle).rev() {
        pop_heap(x, end, end, less);
    }
}

/// `std::nth_element`: index `nth` holds what it would in order, nothing greater comes before it and nothing less after
/// it.
pub fn nth_element<T: Copy>(x: &mut [T], nth: usize, less: &impl Fn(&T, &T) -> bool) {
    if nth >= x.len() {
        return;
    }
    let (mut first, mut last, mut depth) = (0, x.len(), depth(x.len()));
    while last - first > 3 {
        if depth == 0 {
            heap_select(&mut x[first..last], nth + 1 - first, less);
            x.swap(first, nth);
            return;
        }
        depth -= 1;
        let cut = first + partition(&mut x[first..last], less);
        if cut <= nth { first = cut } else { last = cut }
    }
    insertion_sort(&mut x[first..last], less);
}

/// `std::sort`.
pub fn sort<T: Copy>(x: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    introsort(x, depth(x.len()), less);
    let guarded = x.len().min(RUN);
    insertion_sort(&mut x[..guarded], less);
    for i in guarded..x.len() {
        sink(x, i, less);
    }
}

/// The quick select of PyTorch's `kthvalue`: index `k` holds what it would in order.
pub fn quick_select<T: Copy>(x: &mut [T], k: usize, less: &impl Fn(&T, &T) -> bool) {
    let (mut left, mut right) = (0, x.len().saturating_sub(1));
    while left + 1 < right {
        // The median of three goes to the left end.
        x.swap(left + (right - left) / 2, left + 1);
        for (a, b) in [(left + 1, right), (left, right), (left + 1, left)] {
            if less(&x[b], &x[a]) {
                x.swap(a, b);
            }
        }
        let (pivot, mut i, mut j) = (x[left], left + 1, right);
        loop {
            i += 1;
            while i < right && less(&x[i], &pivot) {
                i += 1;
            }
            j -= 1;
            while j > left && less(&pivot, &x[j]) {
                j -= 1;
            }
            if j < i {
                break;
            }
            x.swap(i, j);
        }
        x.swap(left, j);
        if j <= k {
            left = i;
        }
        if j >= k {
            right = j.saturating_sub(1);
        }
    }
    if left + 1 == right && less(&x[right], &x[left]) {
        x.swap(left, right);
    }
}

/// Slices of at most this many elements are left to insertion.
const RUN: usize = 16;

/// Divisions after which heaps take over, so that no order of elements takes quadratic time.
fn depth(n: usize) -> u32 {
    2 * n.checked_ilog2().unwrap_or(0)
}

fn introsort<T: Copy>(mut x: &mut [T], mut depth: u32, less: &impl Fn(&T, &T) -> bool) {
    while x.len() > RUN {
        if depth == 0 {
            return partial_sort(x, x.len(), less);
        }
        depth -= 1;
        let cut = partition(x, less);
        let (before, behind) = x.split_at_mut(cut);
        introsort(behind, depth, less);
        x = before;
    }
}

/// Divides by the median of three elements, which is put in front; gives the first index of the second part.
fn partition<T: Copy>(x: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let (a, b, c) = (1, x.len() / 2, x.len() - 1);
    let median = match (less(&x[a], &x[b]), less(&x[b], &x[c]), less(&x[a], &x[c])) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    x.swap(0, median);
    let (pivot, mut first, mut last) = (x[0], 1, x.len());
    loop {
        while first < x.len() && less(&x[first], &pivot) {
            first += 1;
        }
        last -= 1;
        while last > 0 && less(&pivot, &x[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        x.swap(first, last);
        first += 1;
    }
}

fn insertion_sort<T: Copy>(x: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for i in 1..x.len() {
        if less(&x[i], &x[0]) {
            x[..=i].rotate_right(1);
        } else {
            sink(x, i, less);
        }
    }
}

/// Moves element `i` down to where none before it is greater.
fn sink<T: Copy>(x: &mut [T], mut i: usize, less: &impl Fn(&T, &T) -> bool) {
    let value = x[i];
    while i > 0 && less(&value, &x[i - 1]) {
        x[i] = x[i - 1];
        i -= 1;
    }
    x[i] = value;
}

/// Gathers the least `middle` elements in front, as a heap with the greatest on top.
fn heap_select<T: Copy>(x: &mut [T], middle: usize, less: &impl Fn(&T, &T) -> bool) {
    if middle == 0 {
        return;
    }
    for parent in (0..middle / 2).rev() {
        adjust_heap(x, parent, middle, x[parent], less);
    }
    for i in middle..x.len() {
        if less(&x[i], &x[0]) {
            pop_heap(x, middle, i, less);
        }
    }
}

/// Moves the top of the heap `x[..end]` to index `to`, and that element into the heap.
fn pop_heap<T: Copy>(x: &mut [T], end: usize, to: usize, less: &impl Fn(&T, &T) -> bool) {
    let value = x[to];
    x[to] = x[0];
    adjust_heap(x, 0, end, value, less);
}

/// Puts a value into the heap `x[..end]` at or below a hole: the hole sinks to the bottom and rises to where the value
/// fits.
fn adjust_heap<T: Copy>(x: &mut [T], top: usize, end: usize, value: T, less: &impl Fn(&T, &T) -> bool) {
    let mut hole = top;
    while 2 * hole + 2 < end {
        let right = 2 * hole + 2;
        let child = if less(&x[right], &x[right - 1]) { right - 1 } else { right };
        x[hole] = x[child];
        hole = child;
    }
    if 2 * hole + 2 == end {
        x[hole] = x[end - 1];
        hole = end - 1;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(&x[parent], &value) {
            break;
        }
        x[hole] = x[parent];
        hole = parent;
    }
    x[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pair = (u32, usize);

    fn pairs(n: usize, number: impl Fn(usize) -> usize) -> Vec<Pair> {
        (0..n).map(|i| (number(i) as u32, i)).collect()
    }
    fn less(a: &Pair, b: &Pair) -> bool {
        a.0 < b.0
    }
    fn indices(x: &[Pair]) -> Vec<usize> {
        x.iter().map(|e| e.1).collect()
    }

    /// The indices are those of `topk`, `kthvalue` and `mode` of PyTorch 2.15 for these numbers.
    #[test]
    fn equal_elements_are_ordered_as_in_pytorch() {
        let forty = pairs(40, |i| (i * i * 7 + i * 3 + i / 5) % 6);
        let mut x = forty.clone();
        nth_element(&mut x, 19, &less);
        let parted = [20, 39, 36, 3, 33, 30, 6, 23, 22, 9, 10, 11, 0, 13, 14, 19, 16, 17, 12, 26];
        assert_eq!(indices(&x[..20]), parted);
        sort(&mut x[..19], &less);
        let sorted = [3, 33, 30, 14, 13, 0, 10, 11, 39, 17, 16, 19, 9, 6, 36, 22, 23, 20, 12, 26];
        assert_eq!(indices(&x[..20]), sorted);
        let mut x = forty.clone();
        quick_select(&mut x, 16, &less);
        assert_eq!(x[16], (2, 23));
        let mut x = forty;
        sort(&mut x, &less);
        assert_eq!(x.iter().rfind(|e| e.0 == 0), Some(&(0, 11)));
        let mut x = pairs(130, |i| (i * i * 7 + i * 3) % 5);
        partial_sort(&mut x, 2, &|a, b| b.0 < a.0);
        assert_eq!(indices(&x[..2]), [4, 2]);
    }

    proptest! {
        #![proptest_config(if cfg!(miri) { ProptestConfig::with_cases(3) } else { ProptestConfig::default() })]
        #[test]
        fn selections_select(numbers in prop::collection::vec(0..30usize, 1..200), k in 0..200usize, flips: u64) {
            let (x, k) = (pairs(numbers.len(), |i| numbers[i]), k % numbers.len());
            let mut expected = x.clone();
            expected.sort();
            let numbers = |x: &[Pair]| x.iter().map(|e| e.0).collect::<Vec<_>>();
            let run = |f: &dyn Fn(&mut Vec<Pair>)| {
                let mut y = x.clone();
                f(&mut y);
                let mut all = y.clone();
                all.sort();
                assert_eq!(all, expected, "a permutation");
                numbers(&y)
            };
            let sorted = numbers(&expected);
            prop_assert_eq!(&run(&|y| sort(y, &less)), &sorted);
            let nearly = if x.len() > RUN { sorted.clone() } else { numbers(&x) };
            prop_assert_eq!(&run(&|y| introsort(y, 0, &less)), &nearly);
            prop_assert_eq!(&run(&|y| partial_sort(y, k, &less))[..k], &sorted[..k]);
            for y in [run(&|y| nth_element(y, k, &less)), run(&|y| quick_select(y, k, &less))] {
                prop_assert_eq!(y[k], sorted[k]);
                prop_assert!(y[..k].iter().all(|v| *v <= y[k]) && y[k..].iter().all(|v| *v >= y[k]));
            }
            // No order at all: the answers of `less` are arbitrary.
            let any = |a: &Pair, b: &Pair| flips.rotate_left(a.0 * 5 + b.0) & 1 == 1;
            run(&|y| sort(y, &any));
            run(&|y| partial_sort(y, k, &any));
            run(&|y| nth_element(y, k, &any));
        }
    }
}
