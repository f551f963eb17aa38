//! The operator tables: schema, meta, kernel, decomposition, cost and samples side by side.
