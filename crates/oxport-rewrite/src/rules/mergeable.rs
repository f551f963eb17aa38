//! Products that can be merged, by where their operands stand.

/// A form of product: where its operands stand.
pub(crate) struct Form {
    pub op: &'static str,
    /// The shared input.
    pub input: usize,
    /// The weight, and its dimension of outputs.
    pub weight: (usize, i64),
    /// The bias, along the outputs.
    pub bias: Option<usize>,
    /// The dimension of outputs in the result.
    pub outputs: i64,
    /// The number of groups, which must be 1.
    pub groups: Option<usize>,
}

const fn form(op: &'static str, weight: (usize, i64), bias: Option<usize>, outputs: i64) -> Form {
    Form { op, input: 0, weight, bias, outputs, groups: None }
}

const fn conv(op: &'static str, groups: usize) -> Form {
    Form { groups: Some(groups), ..form(op, (1, 0), Some(2), 1) }
}

pub(crate) const FORMS: &[Form] = &[
    form("aten::linear", (1, 0), Some(2), -1),
    form("aten::mm", (1, 1), None, 1),
    form("aten::matmul", (1, 1), None, -1),
    Form { input: 1, ..form("aten::addmm", (2, 1), Some(0), 1) },
    conv("aten::conv1d", 6),
    conv("aten::conv2d", 6),
    conv("aten::conv3d", 6),
    conv("aten::convolution", 8),
];

impl Form {
    /// The name of its rule.
    pub fn rule(&self) -> String {
        format!("merge-{}", self.op.trim_start_matches("aten::"))
    }
}
