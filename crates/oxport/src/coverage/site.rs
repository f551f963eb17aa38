//! A node that may be a site, and what is asked of it.

use oxport_ir::{Argument, Fake, Graph, Node, NodeId, Val};

pub(super) const CASTS: &[&str] = &["to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "_to_copy"];
pub(super) const RESHAPES: &[&str] = &[
    "view",
    "reshape",
    "_unsafe_view",
    "flatten.using_ints",
    "unflatten.int",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
];
pub(super) const PARTS: &[&str] = &["slice.Tensor", "select.int", "narrow", "expand"];
pub(super) const SLICES: &[&str] = &["slice.Tensor", "select.int", "narrow"];
pub(super) const TRANSPOSES: &[&str] = &["transpose.int", "permute", "t", "numpy_T", "mT"];
pub(super) const BATCH_NORMS: &[&str] = &["batch_norm", "_native_batch_norm_legit_no_training"];
pub(super) const CONVOLUTIONS: &[&str] = &[
    "conv1d",
    "conv2d",
    "conv3d",
    "convolution",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
];

/// A node that may be a site.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub graph: &'a Graph,
    pub id: NodeId,
    pub node: &'a Node,
}

impl<'a> Site<'a> {
    pub fn of(graph: &'a Graph, id: NodeId) -> Site<'a> {
        Site { graph, id, node: graph.node(id) }
    }
    pub fn is(&self, names: &[&str]) -> bool {
        let op = self.node.op().filter(|op| op.namespace() == "aten");
        op.is_some_and(|op| names.contains(&op.short_name()))
    }
    pub fn operand(&self, at: usize) -> Option<Site<'a>> {
        Some(Site::of(self.graph, self.node.args.get(at)?.as_node()?))
    }
    pub fn operands(&self) -> impl Iterator<Item = Site<'a>> {
        let graph = self.graph;
        self.node.args.iter().filter_map(Argument::as_node).map(move |id| Site::of(graph, id))
    }
    pub fn users(&self) -> impl Iterator<Item = Site<'a>> {
        let graph = self.graph;
        graph.users(self.id).keys().map(move |id| Site::of(graph, *id))
    }
    pub fn number(&self, at: usize) -> Option<f64> {
        match self.node.args.get(at)? {
            Argument::Int(n) => Some(*n as f64),
            Argument::Float(x) => Some(*x),
            _ => None,
        }
    }
    /// True if an argument is `True`.
    pub fn flag(&self, at: usize) -> bool {
        matches!(self.node.args.get(at), Some(Argument::Bool(true)))
    }
    pub fn tensor(&self) -> Option<&'a Fake> {
        self.node.val().and_then(Val::as_tensor)
    }
    /// True if the result is of the dtype, sizes and device of the first operand.
    pub fn is_same_type(&self) -> bool {
        let (Some(x), Some(y)) = (self.operand(0).and_then(|x| x.tensor()), self.tensor()) else { return false };
        x.dtype == y.dtype && x.device == y.device && x.sizes == y.sizes
    }
    pub fn is_neutral(&self) -> bool {
        let neutral = match self.node.op().map(|op| op.short_name()) {
            Some("mul.Tensor" | "div.Tensor" | "pow.Tensor_Scalar") => 1.0,
            Some("add.Tensor" | "sub.Tensor") => 0.0,
            _ => return false,
        };
        self.number(1) == Some(neutral) && self.is_same_type()
    }
    /// The dimension that a slice or a concatenation is along, counted from the front.
    fn along(&self, at: usize, rank: usize) -> Option<usize> {
        let dim = self.node.args.get(at).map_or(Some(0.0), |_| self.number(at))? as i64;
        usize::try_from(if dim < 0 { dim + rank as i64 } else { dim }).ok()
    }
    /// True if what it is a part of is put together, or is itself a part, along the same dimension.
    pub fn is_of_parts(&self) -> bool {
        let Some(of) = self.operand(0).filter(|x| x.is(&["slice.Tensor", "narrow", "cat", "stack"])) else {
            return false;
        };
        let Some(rank) = of.tensor().map(Fake::dim) else { return false };
        let is_stepped = of.is(&["slice.Tensor"]) && of.number(4).is_some_and(|step| step != 1.0);
        !is_stepped && self.along(1, rank) == of.along(1, rank)
    }
    /// True if an operator is found within so many steps upwards.
    pub fn has(&self, name: &str, steps: usize) -> bool {
        self.operands().any(|x| x.is(&[name]) || steps > 1 && x.has(name, steps - 1))
    }
    /// True if a factor is 1 and the result of an operator, or a product with that is.
    pub fn has_one_more(&self, name: &str) -> bool {
        let is_sum = |x: &Site<'_>| x.is(&["add.Tensor"]) && x.number(1) == Some(1.0) && x.has(name, 1);
        self.operands().any(|x| is_sum(&x) || x.is(&["mul.Tensor"]) && x.operands().any(|y| is_sum(&y)))
    }
    pub fn has_cube(&self) -> bool {
        self.has("pow.Tensor_Scalar", 6) || self.has("mul.Tensor", 5)
    }
    pub fn is_scale(&self) -> bool {
        self.is(&["mul.Tensor", "div.Tensor"]) && self.number(1).is_some()
    }
    /// What a value is before calls that change nothing.
    pub fn bare(self) -> Site<'a> {
        let mut at = self;
        while (at.is(CASTS) || at.is(PARTS) || at.is(&["clone", "contiguous"])) && at.is_same_type() {
            let Some(next) = at.operand(0) else { break };
            at = next;
        }
        at
    }
    /// What a value is made of before casts, views, expansions and copies.
    pub fn origin(self) -> Site<'a> {
        let mut at = self;
        while at.is(CASTS) || at.is(RESHAPES) || at.is(&["expand", "clone", "contiguous", "dropout"]) {
            let Some(next) = at.operand(0) else { break };
            at = next;
        }
        at
    }
    /// Attention whose values, and so its keys, are repeated for several queries' heads.
    pub fn repeats_heads(&self) -> bool {
        let values = match self.is(&["scaled_dot_product_attention"]) {
            true => self.operand(2),
            false => super::attention::Attention::of(self).and_then(|_| self.operand(1)),
        };
        let joined = values.map(Site::bare).filter(|v| v.is(RESHAPES));
        let expanded = joined.and_then(|v| v.operand(0)).map(Site::bare_copy).filter(|x| x.is(&["expand"]));
        let one = expanded.filter(|x| !x.is_same_type()).and_then(|x| x.operand(0)).map(Site::bare);
        one.is_some_and(|x| x.is(RESHAPES) && x.tensor().is_some_and(|t| t.dim() == 5))
    }
    fn bare_copy(self) -> Site<'a> {
        self.operand(0).filter(|_| self.is(&["clone", "contiguous"])).unwrap_or(self)
    }
    /// A product of something with the reciprocal root of its mean square.
    pub fn is_rms_norm(&self) -> bool {
        self.is(&["mul.Tensor"]) && self.operands().any(|x| x.mean_of_squares().is_some())
    }
    /// The mean of squares of which it is the reciprocal root.
    pub fn mean_of_squares(&self) -> Option<Site<'a>> {
        let sum = self.operand(0).filter(|s| self.is(&["rsqrt"]) && s.is(&["add.Tensor"]))?;
        let mean = sum.operand(0).filter(|m| m.is(&["mean.dim"]))?;
        mean.operand(0).filter(|s| s.is(&["pow.Tensor_Scalar", "mul.Tensor"])).map(|_| mean)
    }
    pub fn is_silu(&self) -> bool {
        let operands: Vec<Site<'_>> = self.operands().collect();
        let [a, b] = &operands[..] else { return false };
        let is_of = |x: &Site<'_>, y: &Site<'_>| x.is(&["sigmoid"]) && x.operand(0).is_some_and(|of| of.id == y.id);
        self.is(&["mul.Tensor"]) && (is_of(a, b) || is_of(b, a))
    }
}
