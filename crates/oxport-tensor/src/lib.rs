//! Tensors: dtypes, layouts, storages, and the dtype-generic loops that kernels are built from.
//!
//! The picture to have in mind: a [`Tensor`] is a [`DType`], a [`Layout`] (sizes, strides, offset) and a shared piece
//! of memory, a [`Storage`]. It never changes. A [`TensorMut`] is the same thing owned by one hand and being filled;
//! `freeze` turns it into a `Tensor`. Every loop reads tensors and fills one `TensorMut`.
//!
//! Invariants: nothing here knows an operator or a graph; bad input gives an [`Error`], never a panic; results do not
//! depend on the number of threads; this crate is the only one with `unsafe`, each block with its reason.

mod arena;
mod block;
mod borrowed;
pub mod conv;
mod convert;
mod dispatch;
mod dtype;
mod element;
mod error;
pub mod fft;
pub mod float8;
pub mod gemm;
pub mod half_float;
pub mod index;
pub mod layout;
pub mod loops;
pub mod math;
pub mod memory;
#[cfg(feature = "ndarray")]
mod ndarray;
mod number;
mod pages;
pub mod parallel;
pub mod reduce;
mod rest;
pub mod rng;
pub mod rows;
mod scalar;
mod scoped;
mod scratch;
pub mod select;
pub mod simd;
pub mod sort;
mod storage;
mod strided;
mod team;
mod tensor;
mod tensor_mut;
mod text;

pub use arena::Arena;
pub use block::{FreeList, recycling};
pub use dtype::{Category, DType, native};
pub use element::{Element, HasDType, Wide, cast};
pub use error::{Error, Result};
pub use gemm::{affine, matmul};
pub use half::{bf16, f16};
pub use layout::{Dims, Layout, SharedLayout};
pub use loops::join;
pub use loops::{Binary, Rows, Unary, add, clamp, clamp_gate, copy, fill};
pub use loops::{map, scale_shift, update, update_rows, update_zip, zip, zip_rows, zip3};
pub use math::Analytic;
pub use memory::{Pool, filled, table};
pub use num_complex::Complex;
pub use number::{Bits, Float, Int, Number, Real};
pub use reduce::{fold_slice, reduce, reduce_indexed, reduce_with};
pub use rows::{Lines, along, for_rows, scan};
pub use scalar::Scalar;
pub use storage::Storage;
pub use tensor::Tensor;
pub use tensor_mut::TensorMut;
pub use text::nested;
