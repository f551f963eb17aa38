//! The elements of a walk that a part of a product's output is: walks of their own.

use smallvec::SmallVec;

use super::{Operand, Walk};

/// Elements of a walk whose first operand is dense but for [gaps](Walk::without_gaps): `rows` runs of `cols` elements,
/// `stride` apart, from element `at` of that operand on, which begins at `start`.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) start: *mut u8,
    pub(crate) at: usize,
    pub(crate) rows: usize,
    pub(crate) stride: usize,
    pub(crate) cols: usize,
    /// Where the first and the second operand have these elements, and how far apart their runs are, if not so.
    pub(crate) places: [Option<(*mut u8, usize)>; 2],
}

impl Walk {
    /// In a walk without tiles, the elements of the first operand from a line, which is all neighbors along the last
    /// dimension, to the next one; `None` if lines are not evenly spaced.
    pub(crate) fn pitch(&self) -> Option<usize> {
        let first = &self.operands[0];
        let (size, inner) = (first.size as isize, self.inner_sizes().0);
        let Some((&last, outer)) = first.strides.split_last() else { return Some(inner) };
        let pitch = outer.last().map_or(inner, |&step| (step / size).unsigned_abs());
        let mut step = pitch as isize * size;
        let mut fits = last == size && pitch >= inner;
        for (&stride, &size) in outer.iter().zip(&self.sizes).rev() {
            fits &= stride == step;
            step *= size as isize;
        }
        fits.then_some(pitch)
    }

    /// The same elements where lines of the first operand, which are `pitch` elements apart, are counted without the
    /// gaps between them; `None` if the elements lie over a gap.
    pub(crate) fn without_gaps(&self, pitch: usize, part: Part) -> Option<Part> {
        let Part { at, rows, stride, cols, .. } = part;
        let (inner, line, place) = (self.inner_sizes().0, at / pitch, at % pitch);
        let is_within = place + (rows - 1) * stride + cols <= inner;
        let stride = match stride {
            _ if pitch == inner => return Some(part),
            _ if rows == 1 || is_within => stride,
            _ if stride.is_multiple_of(pitch) => stride / pitch * inner,
            _ => return None,
        };
        (place + cols <= inner).then_some(Part { at: line * inner + place, stride, ..part })
    }

    /// The walks over these elements of a walk without tiles.
    pub(crate) fn parts(&self, part: Part, f: &mut dyn FnMut(Walk)) {
        let Part { at, rows, stride, cols, places, .. } = part;
        let inner = self.inner_sizes().0;
        let is_whole = stride == cols && places.iter().flatten().all(|&(_, apart)| apart == cols);
        if rows > 1 && is_whole {
            let all = rows * cols;
            let places = self.moved(places, |_| (0, all));
            return self.parts(Part { rows: 1, stride: all, cols: all, places, ..part }, f);
        }
        let place = at % inner;
        if rows == 1 && place + cols > inner {
            // It goes over several lines: the rest of the first one, whole ones, and a part of the last.
            let head = (inner - place) % inner;
            let lines = (cols - head) / inner;
            let rest = cols - head - lines * inner;
            if head > 0 {
                self.parts(Part { cols: head, ..part }, f);
            }
            if lines > 0 {
                let places = self.moved(places, |_| (head, inner));
                self.lines(Part { at: at + head, rows: lines, stride: inner, cols: inner, places, ..part }, f);
            }
            if rest > 0 {
                let done = cols - rest;
                let places = self.moved(places, |apart| (done, apart));
                self.parts(Part { at: at + done, cols: rest, places, ..part }, f);
            }
        } else if place + (rows - 1) * stride + cols <= inner {
            f(self.part(part, &|x| x.strides.last().map_or(0, |&step| step * stride as isize)));
        } else if stride == inner && place + cols <= inner {
            self.lines(part, f);
        } else {
            for r in 0..rows {
                let places = self.moved(places, |apart| (r * apart, apart));
                self.parts(Part { at: at + r * stride, rows: 1, places, ..part }, f);
            }
        }
    }

    /// Rows that lie in lines which follow each other: those of one plane at a time.
    fn lines(&self, part: Part, f: &mut dyn FnMut(Walk)) {
        let (inner, down) = self.inner_sizes();
        let mut line = 0;
        while line < part.rows {
            let rows = (part.rows - line).min(down - (part.at / inner + line) % down);
            let places = self.moved(part.places, |apart| (line * apart, apart));
            let step = |x: &Operand| x.strides.len().checked_sub(2).map_or(0, |d| x.strides[d]);
            f(self.part(Part { at: part.at + line * inner, rows, places, ..part }, &step));
            line += rows;
        }
    }

    /// The places of later elements: of how many, and how far apart their runs are, as functions of how far those of
    /// these are.
    fn moved(
        &self,
        places: [Option<(*mut u8, usize)>; 2],
        by: impl Fn(usize) -> (usize, usize),
    ) -> [Option<(*mut u8, usize)>; 2] {
        [0, 1].map(|k| {
            let (start, apart) = places[k]?;
            let (offset, apart) = by(apart);
            Some((start.wrapping_add(offset * self.operands[k].size), apart))
        })
    }

    /// The walk over rows that are evenly spaced in all operands; `row` gives the step.
    fn part(&self, part: Part, row: &dyn Fn(&Operand) -> isize) -> Walk {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        for (k, x) in self.operands.iter().enumerate() {
            let size = x.size as isize;
            let (start, steps) = match part.places.get(k) {
                Some(&Some((start, apart))) => (start, [apart as isize * size, size]),
                _ => {
                    let (mut rest, mut offset) = (part.at, 0);
                    for (&size, &stride) in self.sizes.iter().zip(&x.strides).rev() {
                        offset += (rest % size) as isize * stride;
                        rest /= size;
                    }
                    let from = if k == 0 { part.start } else { x.start };
                    (from.wrapping_offset(offset), [row(x), x.strides.last().copied().unwrap_or(0)])
                }
            };
            operands.push(Operand { start, size: x.size, strides: SmallVec::from_slice(&steps), access: x.access });
        }
        let sizes = [part.rows, part.cols];
        let mut walk = Walk { sizes: SmallVec::from_slice(&sizes), operands, tile: (1, 1), copies: false };
        walk.keep((0..2).filter(|&d| sizes[d] != 1).collect());
        walk.collapse();
        walk.tiled()
    }
}
