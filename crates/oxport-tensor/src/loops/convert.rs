//! [`Converted`]: rows of other dtypes than those a loop computes in.

use smallvec::SmallVec;

use super::cast::{ConvertRow, row_function, stop_over};
use super::walk::{Access, RowFn};
use crate::scratch::Scratch;
use crate::{DType, Error, Result};

/// Elements that are converted at a time: small enough for the first-level cache.
const CHUNK: usize = 512;
/// Bytes of the largest element.
const LARGEST: usize = 16;

/// How each operand's rows become what the loop computes in, and back.
pub(super) struct Converted {
    operands: SmallVec<[Operand; 4]>,
}

struct Operand {
    /// Bytes per element of the tensor.
    size: usize,
    /// Bytes per element that the loop computes in.
    computed: usize,
    before: Option<ConvertRow>,
    after: Option<ConvertRow>,
    converts: bool,
}

impl Converted {
    /// Outputs come first. Errors for the pairs of dtypes that need an intermediate one.
    pub(super) fn new(own: &[DType], compute: &[DType], outputs: usize, access: Access) -> Result<Converted> {
        let find = |from: DType, to: DType| match stop_over(from, to) {
            None => row_function(from, to),
            Some(_) => Err(Error::unsupported(format!("no loop that converts from {from} to {to}"))),
        };
        let operand = |(k, (&own, &compute)): (usize, (&DType, &DType))| {
            let (reads, writes) = (k >= outputs || access == Access::Update, k < outputs);
            let converts = own != compute;
            Ok(Operand {
                size: own.size(),
                computed: compute.size(),
                before: if converts && reads { Some(find(own, compute)?) } else { None },
                after: if converts && writes { Some(find(compute, own)?) } else { None },
                converts,
            })
        };
        Ok(Converted { operands: own.iter().zip(compute).enumerate().map(operand).collect::<Result<_>>()? })
    }

    /// Calls `row` on converted chunks of these rows.
    ///
    /// # Safety
    /// The pointers are valid for `len` elements of the tensors' own dtypes, and outputs may be written.
    pub(super) unsafe fn call(&self, len: usize, pointers: &[*mut u8], row: RowFn<'_>) {
        let count = self.operands.iter().filter(|x| x.converts).count();
        let bytes = CHUNK * LARGEST;
        let mut buffers = Scratch::take::<u8>(count * bytes);
        let buffers = buffers.slice::<u8>(count * bytes);
        let mut chunk = SmallVec::<[*mut u8; 4]>::new();
        for first in (0..len).step_by(CHUNK) {
            let n = CHUNK.min(len - first);
            let mut free = buffers.chunks_exact_mut(bytes);
            chunk.clear();
            for (x, &pointer) in self.operands.iter().zip(pointers) {
                let own = pointer.wrapping_add(first * x.size);
                let buffer = if x.converts { free.next() } else { None };
                chunk.push(buffer.map_or(own, |buffer| {
                    if x.before.is_none() {
                        // A valid value of every element type: a row may be handed out before it is written.
                        buffer[..n * x.computed].fill(0);
                    }
                    buffer.as_mut_ptr()
                }));
                if let (Some(before), Some(&buffer)) = (x.before, chunk.last()) {
                    // SAFETY: `n` own elements exist by the contract, and a buffer holds `CHUNK` of any type.
                    unsafe { before(own, buffer, n) };
                }
            }
            row(n, &chunk);
            for ((x, &pointer), &buffer) in self.operands.iter().zip(pointers).zip(&chunk) {
                if let Some(after) = x.after {
                    // SAFETY: as above, the other way round.
                    unsafe { after(buffer, pointer.wrapping_add(first * x.size), n) };
                }
            }
        }
    }
}
