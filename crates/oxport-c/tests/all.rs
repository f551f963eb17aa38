//! The C interface: its header, its examples in C and C++, its contract.
//!
//! Law: a missing C compiler is a failure that says so, never a test that is skipped.

#[path = "all/compiled.rs"]
mod compiled;
#[path = "all/contract.rs"]
mod contract;
#[path = "all/examples.rs"]
mod examples;
#[path = "all/fixtures.rs"]
mod fixtures;
#[path = "all/handles.rs"]
mod handles;
#[path = "all/header.rs"]
mod header;
#[path = "all/state.rs"]
mod state;
