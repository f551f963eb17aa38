//! One binary for all workspace tests.
