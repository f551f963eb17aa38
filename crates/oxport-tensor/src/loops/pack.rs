//! Moving a two-dimensional tile of elements between any two strides, by element size.

/// Moves `n.0 × n.1` elements of `size` bytes; strides are in bytes, the first one along `n.0`.
///
/// # Safety
/// All elements of both sides are valid, aligned to `min(size, 8)`, and the two sides do not overlap.
pub(crate) unsafe fn move_2d(
    from: *const u8,
    from_strides: (isize, isize),
    to: *mut u8,
    to_strides: (isize, isize),
    n: (usize, usize),
    size: usize,
) {
    let row = size as isize;
    if from_strides.0 == row && to_strides.0 == row {
        for i in 0..n.1 as isize {
            // SAFETY: both rows are contiguous and valid by the contract.
            unsafe {
                to.offset(i * to_strides.1).copy_from_nonoverlapping(from.offset(i * from_strides.1), n.0 * size);
            }
        }
        return;
    }
    // SAFETY: passed on; the unsigned types have the size and at most the alignment of the elements.
    unsafe {
        match size {
            1 => move_elements::<u8>(from, from_strides, to, to_strides, n),
            2 => move_elements::<u16>(from, from_strides, to, to_strides, n),
            4 => move_elements::<u32>(from, from_strides, to, to_strides, n),
            8 => move_elements::<u64>(from, from_strides, to, to_strides, n),
            _ => move_elements::<[u64; 2]>(from, from_strides, to, to_strides, n),
        }
    }
}

/// # Safety
/// As for [`move_2d`], with `T` of the elements' size.
unsafe fn move_elements<T: Copy>(
    from: *const u8,
    from_strides: (isize, isize),
    to: *mut u8,
    to_strides: (isize, isize),
    n: (usize, usize),
) {
    // The inner loop runs along the smaller stride of the source, so that a cache line is used up while it is there.
    let along_first = from_strides.0.abs() <= from_strides.1.abs() || n.1 == 1;
    let (f, t, n) = match along_first {
        true => (from_strides, to_strides, n),
        false => ((from_strides.1, from_strides.0), (to_strides.1, to_strides.0), (n.1, n.0)),
    };
    for i in 0..n.1 as isize {
        // SAFETY: every (j, i) is an element of both sides, valid and aligned by the contract.
        unsafe {
            let (from, to) = (from.offset(i * f.1), to.offset(i * t.1));
            if f.0 == 0 {
                let value = from.cast::<T>().read();
                for j in 0..n.0 as isize {
                    to.offset(j * t.0).cast::<T>().write(value);
                }
            } else {
                for j in 0..n.0 as isize {
                    to.offset(j * t.0).cast::<T>().write(from.offset(j * f.0).cast::<T>().read());
                }
            }
        }
    }
}
