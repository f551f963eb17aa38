//! Equality saturation over the ATen graph.
