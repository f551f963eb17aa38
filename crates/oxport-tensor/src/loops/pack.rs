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
            unsafe { copy_row(from.offset(i * from_strides.1), to.offset(i * to_strides.1), n.0 * size) };
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

/// Copies bytes; few of them by registers, since a call takes as long as some of these.
///
/// # Safety
/// So many bytes are valid on both sides, which do not overlap.
#[inline(always)]
unsafe fn copy_row(from: *const u8, to: *mut u8, bytes: usize) {
    const REGISTER: usize = 16;
    const FEW: usize = 512;
    if !(REGISTER..=FEW).contains(&bytes) {
        // SAFETY: passed on.
        return unsafe { to.copy_from_nonoverlapping(from, bytes) };
    }
    let last = bytes - REGISTER;
    // SAFETY: all registers are within the row; the last one may write some bytes again.
    let copy = |at: usize| unsafe { to.add(at).copy_from_nonoverlapping(from.add(at), REGISTER) };
    for at in (0..last).step_by(REGISTER) {
        copy(at);
    }
    copy(last);
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
    let size = size_of::<T>() as isize;
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if f.0 == size && t.1 == size && size == 4 {
        // SAFETY: passed on; the elements have four bytes.
        done = unsafe { transpose_4_bytes(from, f.1, to, t.0, n) };
    }
    for i in done as isize..n.1 as isize {
        // SAFETY: every (j, i) is an element of both sides, valid and aligned by the contract; where steps are of one
        // element, forwards or backwards, a row is a slice.
        unsafe {
            let (from, to) = (from.offset(i * f.1), to.offset(i * t.1));
            if f.0 == 0 && t.0 == size {
                std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<T>>(), n.0)
                    .fill(from.cast::<std::mem::MaybeUninit<T>>().read());
            } else if f.0 == -size && t.0 == size && n.0 > 0 {
                let first = from.offset((n.0 as isize - 1) * f.0).cast::<std::mem::MaybeUninit<T>>();
                let reversed = std::slice::from_raw_parts(first, n.0).iter().rev();
                let to = std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<T>>(), n.0);
                to.iter_mut().zip(reversed).for_each(|(to, from)| *to = *from);
            } else {
                for j in 0..n.0 as isize {
                    to.offset(j * t.0).cast::<T>().write(from.offset(j * f.0).cast::<T>().read());
                }
            }
        }
    }
}

/// Transposes by blocks of 4 × 4 with the shuffles that every x86-64 has. Source rows are contiguous along `n.0`,
/// target rows along `n.1`; gives the number of source rows done, a multiple of 4.
///
/// # Safety
/// As for [`move_2d`], for elements of four bytes.
#[cfg(target_arch = "x86_64")]
unsafe fn transpose_4_bytes(from: *const u8, from_row: isize, to: *mut u8, to_row: isize, n: (usize, usize)) -> usize {
    use std::arch::x86_64::{
        _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    let whole = n.0 / 4 * 4;
    for i in (0..n.1 / 4 * 4).step_by(4) {
        // SAFETY: rows i to i + 3 and columns j to j + 3 lie inside the tile; loads and stores may be unaligned; the
        // moved bits are never computed with, so their being floats does not matter.
        unsafe {
            let row = from.offset(i as isize * from_row);
            let column = to.add(i * 4);
            for j in (0..whole).step_by(4) {
                let load = |k: isize| _mm_loadu_ps(row.offset(k * from_row).add(j * 4).cast());
                let (a, b, c, d) = (load(0), load(1), load(2), load(3));
                let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
                let (ab_high, cd_high) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
                let store = |k: usize, x| _mm_storeu_ps(column.offset((j + k) as isize * to_row).cast(), x);
                store(0, _mm_movelh_ps(ab, cd));
                store(1, _mm_movehl_ps(cd, ab));
                store(2, _mm_movelh_ps(ab_high, cd_high));
                store(3, _mm_movehl_ps(cd_high, ab_high));
            }
            for k in 0..4 {
                for j in whole..n.0 {
                    let x = row.offset(k * from_row).add(j * 4).cast::<u32>().read();
                    column.offset(j as isize * to_row).offset(k * 4).cast::<u32>().write(x);
                }
            }
        }
    }
    n.1 / 4 * 4
}
