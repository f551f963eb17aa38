//! The memory of one run: where steps put their results.
//!
//! Invariant: what leaves the body lies in no arena.

use crate::memory::Placement;
use crate::output_alloc::{OutPlan, make_owned};
use oxport_ir::{Error, Result};
use oxport_tensor::{Arena, FreeList, Storage, Tensor, TensorMut};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The memory of one run.
pub(crate) struct Buffers<'a> {
    pub arena: Option<Arena>,
    /// Memory of what leaves the body.
    pub results: &'a Arc<FreeList>,
    /// Counts regions of the arena that could not be used.
    pub refused: &'a AtomicUsize,
    /// Whether results are made in their place in a later one: not where somebody looks at each by itself.
    pub in_place: bool,
    /// Results of which some parts are there, by the numbers of their buffers.
    pub begun: SmallVec<[(u32, TensorMut); 2]>,
}

impl Buffers<'_> {
    /// A buffer at its offset in the arena; one of its own if it has no offset, or the region is still in use. For a
    /// result that is made in its place, and for one of which parts are there: that of the whole.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn make(&mut self, plan: &OutPlan, placement: &Placement) -> Result<TensorMut> {
        let place = plan.place.as_ref().filter(|_| self.in_place);
        let (layout, buffer, bytes) = match place {
            Some(place) => (&place.layout, place.buffer, place.bytes),
            None => (&plan.layout, plan.buffer, plan.bytes),
        };
        if let Some(at) = self.begun.iter().position(|(begun, _)| *begun == buffer) {
            return Ok(self.begun.swap_remove(at).1.relaid(layout.clone())?);
        }
        if let (Some(offset), Some(arena)) = (placement.offsets[buffer as usize], &mut self.arena) {
            match arena.region(buffer as usize, offset, bytes) {
                Ok(region) => return Ok(TensorMut::in_region(region, plan.dtype, layout.clone())?),
                Err(_) => self.refused.fetch_add(1, Relaxed),
            };
        }
        // Between elements that are apart, nothing is written; in a whole, other parts are.
        if place.is_none() && plan.layout.numel() * plan.dtype.size() < bytes {
            return make_owned(plan);
        }
        Ok(TensorMut::in_region(Storage::of_list(self.results, bytes)?, plan.dtype, layout.clone())?)
    }

    /// The filled output of a kernel; of a result that was made in its place, an [absent](Tensor::absent) tensor.
    ///
    /// # Errors
    /// As [`OutPlan::filled`].
    pub fn filled(&mut self, plan: &OutPlan, out: TensorMut) -> Result<Tensor> {
        let Some(place) = plan.place.as_ref().filter(|_| self.in_place) else { return plan.filled(out) };
        if out.dtype() != plan.dtype || *out.shared_layout() != place.layout {
            return Err(Error::invalid("the kernel replaced its output, which was a part of another one"));
        }
        self.begun.push((place.buffer, out));
        Ok(Tensor::absent(plan.dtype, place.layout.clone())?)
    }
}
