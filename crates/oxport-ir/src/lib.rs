//! The FX graph: nodes, meta values, signature, operator definitions, text, verifier.
