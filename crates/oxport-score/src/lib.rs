//! Arrow and Parquet tables through exported programs: a batch of rows in, a batch of rows out.
//!
//! ```text
//! files ─> batches ─> columns → tensors ─> Plan::run ─> tensors → columns ─> parts ─> a file or a folder
//!          one thread └──────────── one thread each ────────────────────┘    in order
//! ```
//!
//! [`Model`] is a plan whose inputs and outputs have names; [`Model::bind`] finds the columns for them in a schema, and
//! gives a [`Scorer`], which knows the schema of its results before it has seen a row. [`Job`] scores files.
//!
//! Invariants: a row's result depends on its batch only where the program or padding lets it; batches are written in
//! the order in which they were read; a job that was killed and resumed writes the same bytes as one that was not; no
//! value is converted with loss, dropped or filled in unless [`Options`] say so.

mod columns;
mod error;
mod fill;
mod job;
mod join;
mod manifest;
mod model;
mod rows;
mod scorer;
mod sink;
mod source;
mod state;

pub use arrow_array::{self, RecordBatch};
pub use arrow_schema::{self, Schema};
pub use error::{Error, Remedy, Result};
pub use fill::Fill;
pub use job::{Job, OnError, Progress, Summary};
pub use manifest::fingerprint;
pub use model::{Keep, Model, Options};
pub use scorer::Scorer;
pub use sink::{Codec, Format};
pub use source::{Source, find};
