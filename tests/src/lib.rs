//! Nothing: the tests are in `main.rs` beside this folder.
