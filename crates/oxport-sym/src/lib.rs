//! Symbolic integers: expressions, ranges, and the shape environment.
