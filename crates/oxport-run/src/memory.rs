//! Memory planning: offsets of buffers in the arena, greedy by size over lifetimes.
//!
//! ```text
//! offset ^   +-------- b --------+
//!        |   +----+----+---------+--- c ---+        a and c never live at the same time, so they share
//!        |   | a  |    +-------------------+
//!        +--------------------------------------> step
//! ```
//!
//! Invariant: buffers whose lifetimes intersect do not overlap; every offset is a multiple of [`ALIGN`].

/// The alignment of buffers in an arena, in bytes.
pub(crate) const ALIGN: usize = 64;

/// The lifetime of a buffer: its size, the step that fills it and the last step that reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lifetime {
    pub bytes: usize,
    pub first: u32,
    pub last: u32,
}

/// The offsets of a recording's buffers in the arena.
#[derive(Debug)]
pub(crate) struct Placement {
    /// Per buffer; `None` for buffers that escape the body, and empty ones.
    pub offsets: Vec<Option<usize>>,
    /// The size of the arena.
    pub bytes: usize,
}

impl Lifetime {
    fn touches(&self, other: &Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Assigns an offset to every buffer; also gives the size of the arena. Largest buffers first, each into the smallest
/// gap that fits between buffers with intersecting lifetimes (best fit).
pub(crate) fn assign_offsets(buffers: &[Lifetime]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(buffers[i].bytes), buffers[i].first, i));
    let mut offsets = vec![0; buffers.len()];
    // (offset, end, buffer), sorted by offset.
    let mut placed: Vec<(usize, usize, usize)> = Vec::with_capacity(buffers.len());
    let mut total = 0;
    for i in order {
        let size = buffers[i].bytes.next_multiple_of(ALIGN);
        let (mut floor, mut best) = (0usize, None::<(usize, usize)>);
        for &(offset, end, other) in &placed {
            if !buffers[i].touches(&buffers[other]) {
                continue;
            }
            if offset >= floor + size && best.is_none_or(|(gap, _)| offset - floor < gap) {
                best = Some((offset - floor, floor));
            }
            floor = floor.max(end);
        }
        let offset = best.map_or(floor, |(_, at)| at);
        offsets[i] = offset;
        total = total.max(offset + size);
        let at = placed.partition_point(|p| p.0 <= offset);
        placed.insert(at, (offset, offset + size, i));
    }
    (offsets, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(list: &[(usize, u32, u32)]) -> Vec<Lifetime> {
        list.iter().map(|&(bytes, first, last)| Lifetime { bytes, first, last }).collect()
    }

    #[test]
    fn a_chain_needs_two_buffers() {
        let chain = lives(&[(64, 0, 1), (64, 1, 2), (64, 2, 3), (64, 3, 4)]);
        assert_eq!(assign_offsets(&chain), (vec![0, 64, 0, 64], 128));
    }

    #[test]
    fn small_buffers_take_the_tightest_gap() {
        // a and c leave a gap of 192 bytes where b was, d one of 64 where e was.
        let all = lives(&[(256, 0, 9), (192, 0, 1), (128, 0, 9), (64, 0, 1), (64, 0, 9), (60, 2, 9)]);
        let (offsets, total) = assign_offsets(&all);
        assert_eq!(total, 256 + 192 + 128 + 64 + 64);
        assert_eq!(offsets[5], offsets[3]);
    }

    #[test]
    fn random_lifetimes_never_overlap() {
        let mut seed = 7u64;
        let mut draw = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..50 {
            let all: Vec<Lifetime> = (0..60)
                .map(|_| {
                    let first = draw(40) as u32;
                    Lifetime { bytes: 1 + draw(500) as usize, first, last: first + draw(12) as u32 }
                })
                .collect();
            let (offsets, total) = assign_offsets(&all);
            for (i, a) in all.iter().enumerate() {
                assert!(offsets[i] % ALIGN == 0 && offsets[i] + a.bytes <= total);
                for (j, b) in all.iter().enumerate().skip(i + 1) {
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    assert!(apart || !a.touches(b), "{a:?} at {} and {b:?} at {}", offsets[i], offsets[j]);
                }
            }
            assert!(total <= all.iter().map(|b| b.bytes.next_multiple_of(ALIGN)).sum());
        }
    }
}
