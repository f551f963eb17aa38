//! The bodies of the kernels of convolutions over planes: taps at offsets of a padded input, summed or gathered.
//!
//! Invariants: those of [`super::kernel`].

use super::kernel::Tile;
use super::lane::Lane;

#[inline(always)]
pub(super) unsafe fn taps_body<L: Lane>(
    tiles: &[Tile],
    offsets: &[usize],
    factors: &[L::T],
    x: *const L::T,
    start: L::T,
    y: *mut L::T,
) {
    assert!(factors.len() == offsets.len(), "law: every tap has its factor");
    // SAFETY: the caller gives a register of numbers at every offset of every tile, and room for every tile in `y`.
    unsafe {
        let (eights, rest) = tiles.as_chunks::<8>();
        for tiles in eights {
            taps_group::<L, 8>(tiles, offsets, factors, x, start, y);
        }
        let (twos, rest) = rest.as_chunks::<2>();
        for tiles in twos {
            taps_group::<L, 2>(tiles, offsets, factors, x, start, y);
        }
        for &tile in rest {
            taps_group::<L, 1>(&[tile], offsets, factors, x, start, y);
        }
    }
}

#[inline(always)]
unsafe fn taps_group<L: Lane, const G: usize>(
    tiles: &[Tile; G],
    offsets: &[usize],
    factors: &[L::T],
    x: *const L::T,
    start: L::T,
    y: *mut L::T,
) {
    // SAFETY: as for `taps_body`, which has looked at the lengths.
    unsafe {
        let from = tiles.map(|t| x.add(t.from));
        let mut acc = [L::splat(start); G];
        for (&offset, &f) in offsets.iter().zip(factors) {
            let f = L::splat(f);
            for (a, x) in acc.iter_mut().zip(from) {
                *a = f.mul_add(L::load(x.add(offset)), *a);
            }
        }
        for (a, tile) in acc.into_iter().zip(tiles) {
            if tile.len == L::N { a.store(y.add(tile.to)) } else { a.store_part(y.add(tile.to), tile.len) }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn gather_body<L: Lane>(
    offsets: &[usize],
    tiles: &[Tile],
    x: *const L::T,
    out: *mut L::T,
    step: usize,
) {
    // SAFETY: the caller gives every tile at every offset of `x`, and room for it in every row of `out`.
    unsafe {
        for (p, &offset) in offsets.iter().enumerate() {
            let (x, out) = (x.add(offset), out.add(p * step));
            for t in tiles {
                if t.len == L::N {
                    L::load(x.add(t.from)).store(out.add(t.to));
                } else {
                    L::load_part(x.add(t.from), t.len).store_part(out.add(t.to), t.len);
                }
            }
        }
    }
}
