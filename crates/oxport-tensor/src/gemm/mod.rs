//! Matrix products on strided slices: `C = alpha·A·B + (beta·C or bias)`, batched, for every number type.
//!
//! ```text
//!            n (columns: registers)            A is packed into panels of rows, B into panels of columns, both by k;
//!          ┌────────────────────┐              a micro-kernel multiplies two panels into a tile of C that stays in
//!   k      │  B   panel panel … │ k            registers. Work is cut into blocks of C; a block packs its own columns
//! ┌────┐   ├────────────────────┤              of B in slices of k that stay in the L2 cache.
//! │ A  │ m │  C   tile  tile  … │
//! └────┘   └────────────────────┘
//! ```
//!
//! Invariants:
//! * There is one order of summation: an element of C is a chain of multiply-adds in the order of k, cut into slices of
//!   at most [`Compute::K_BLOCK`] by k alone. Neither the number of rows and columns nor strides, packing, threads and
//!   the width of registers enter it, so all of them give the same bits (products of complex numbers excepted, which
//!   are products of their parts where they are large).
//! * `f16` and `bf16` are multiplied and summed in `f32` and rounded once; integers wrap; `int8` by `int8` in `int32`
//!   is exact ([`int8_matmul`]).
//! * `beta == 0` does not read C; an empty k gives `beta·C + bias`.

mod activation;
mod block;
mod check;
mod element;
mod few_rows;
mod grid;
mod group_bodies;
mod halves;
mod int8;
#[cfg(target_arch = "x86_64")]
mod int_lanes;
mod kernel;
mod lane;
mod line_bodies;
mod narrow;
mod narrow_bodies;
mod pack;
mod pack_bodies;
mod panels;
mod part;
mod planes;
mod runs;
mod spaced;
mod strided;
mod strip;
mod tap_bodies;
mod tensor;
mod tile;
mod tiny;
mod view;
mod windows;
mod winograd_bodies;
mod with_half;

pub(crate) use activation::{Activation, Finish, Gate, ScaleShift};
pub use block::gemm;
pub(crate) use block::rows_share_a_set;
pub use element::{Compute, Multiply};
pub(crate) use few_rows::{EvenRuns, times_packed};
pub(crate) use group_bodies::{Spread, Terms};
pub use int8::{PackedInt8, int8_matmul};
pub(crate) use kernel::{Kernels, LineFn, Lines, Tile};
pub(crate) use line_bodies::{LEAST_COLUMNS, Line};
pub use pack::{PackColumns, Packed, interleave};
pub use panels::together;
pub(crate) use runs::Pixels;
pub use runs::{Runs, ZEROS};
pub(crate) use spaced::Spaced;
pub(crate) use strip::{Strip, Strips};
pub use tensor::{Affine, PackedMatrix, Right, affine, matmul};
pub use tiny::SMALL;
pub use view::{After, Batch, Epilogue, Lhs, Mat, MatMut, Product, Rhs, Start};
pub(crate) use view::{Channels, Finished, Residual, Tail};
pub(crate) use view::{extent, is_disjoint};
pub(crate) use winograd_bodies::Factors;

#[cfg(test)]
pub(crate) mod tests;
