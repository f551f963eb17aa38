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
//! * Same bits for any number of threads: an element of C is a chain of multiply-adds in the order of k, cut at
//!   multiples of [`Compute::K_BLOCK`]; how C is cut does not enter. Which algorithm is used (tiles, dot products, row
//!   sums) depends on shapes and strides only.
//! * `f16` and `bf16` are multiplied and summed in `f32` and rounded once; integers wrap.
//! * `beta == 0` does not read C; an empty k gives `beta·C + bias`.

mod block;
mod element;
mod kernel;
mod lane;
mod narrow;
mod pack;
mod planes;
mod tensor;
mod view;

pub use block::gemm;
pub use element::{Compute, Multiply};
pub(crate) use kernel::Tile;
pub use pack::{PackColumns, Packed};
pub(crate) use tensor::as_singles;
pub use tensor::{Affine, After, PackedMatrix, Right, affine, matmul};
pub use view::{Batch, Epilogue, Lhs, Mat, MatMut, Product, Rhs, Start};
pub(crate) use view::{extent, is_disjoint};

#[cfg(test)]
mod tests;
