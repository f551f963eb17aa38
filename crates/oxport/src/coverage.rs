//! Where a program has what the rules are for: sites by family, counted in the graph.
//!
//! Law: nothing here knows the rules or their patterns, so that what they miss is seen. A site that rewriting leaves is
//! still counted afterwards.

use oxport_ir::{Argument, Dialect, ExportedProgram, Graph, Node, NodeId, Val};
use std::collections::BTreeMap;

/// The families, in the order in which they are printed, with what tells their sites.
const FAMILIES: &[(&str, fn(&Site<'_>) -> bool)] = &[
    ("cast that changes nothing", |s| s.is(CASTS) && s.is_same_type()),
    ("whole slice, same view, same expand", |s| s.is(RESHAPES) && s.is_same_type() || s.is(PARTS) && s.is_same_type()),
    ("arithmetic that changes nothing", |s| s.is_neutral()),
    ("metadata that is asserted", |s| s.is(&["_assert_tensor_metadata"])),
    ("view of a view", |s| s.is(RESHAPES) && s.operand(0).is_some_and(|x| x.is(RESHAPES))),
    ("transpose of a transpose", |s| s.is(TRANSPOSES) && s.operand(0).is_some_and(|x| x.is(TRANSPOSES))),
    ("slice of a slice, a concatenation or a stack", |s| {
        s.is(PARTS) && s.operand(0).is_some_and(|x| x.is(&["slice.Tensor", "narrow", "cat", "stack"]))
    }),
    ("cast of a cast", |s| s.is(CASTS) && s.operand(0).is_some_and(|x| x.is(CASTS))),
    ("batch norm after a convolution", |s| s.is(BATCH_NORMS) && s.operand(0).is_some_and(|x| x.is(CONVOLUTIONS))),
    ("attention of products and softmax", |s| s.is_attention()),
    ("softmax of parts", |s| s.is(&["div.Tensor"]) && s.has("exp", 2) && s.has("sum.dim_IntList", 2)),
    ("RMS norm of parts", |s| s.is_rms_norm()),
    ("layer norm of parts", |s| {
        s.is(&["div.Tensor"])
            && s.has("sub.Tensor", 1)
            && s.has("sqrt", 1)
            && (s.has("mean.dim", 4) || s.has("var.correction", 4))
    }),
    ("GELU of parts", |s| {
        s.is(&["mul.Tensor"]) && (s.has("tanh", 2) && s.has_cube() || s.has("erf", 2) || s.has("erf", 3))
    }),
    ("SiLU of parts", |s| s.is_silu()),
    ("heads repeated by expand and reshape", |s| {
        s.is(RESHAPES)
            && s.operand(0).is_some_and(|x| x.is(&["expand"]) && x.operand(0).is_some_and(|y| y.adds_dimension()))
    }),
    ("constant scale of a constant scale", |s| s.is_scale() && s.operand(0).is_some_and(|x| x.is_scale())),
];

const CASTS: &[&str] = &["to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "_to_copy"];
const RESHAPES: &[&str] = &[
    "view",
    "reshape",
    "_unsafe_view",
    "flatten.using_ints",
    "unflatten.int",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
];
const PARTS: &[&str] = &["slice.Tensor", "select.int", "narrow", "expand"];
const TRANSPOSES: &[&str] = &["transpose.int", "permute", "t", "numpy_T", "mT"];
const BATCH_NORMS: &[&str] = &["batch_norm", "_native_batch_norm_legit_no_training"];
const CONVOLUTIONS: &[&str] = &[
    "conv1d",
    "conv2d",
    "conv3d",
    "convolution",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
];

/// A node that may be a site.
struct Site<'a> {
    graph: &'a Graph,
    node: &'a Node,
}

impl<'a> Site<'a> {
    fn of(graph: &'a Graph, id: NodeId) -> Site<'a> {
        Site { graph, node: graph.node(id) }
    }
    fn is(&self, names: &[&str]) -> bool {
        let op = self.node.op().filter(|op| op.namespace() == "aten");
        op.is_some_and(|op| names.contains(&op.short_name()))
    }
    fn operand(&self, at: usize) -> Option<Site<'a>> {
        Some(Site::of(self.graph, self.node.args.get(at)?.as_node()?))
    }
    fn operands(&self) -> impl Iterator<Item = Site<'a>> {
        let graph = self.graph;
        self.node.args.iter().filter_map(Argument::as_node).map(move |id| Site::of(graph, id))
    }
    fn number(&self, at: usize) -> Option<f64> {
        match self.node.args.get(at)? {
            Argument::Int(n) => Some(*n as f64),
            Argument::Float(x) => Some(*x),
            _ => None,
        }
    }
    /// True if the result is of the dtype, sizes and device of the first operand.
    fn is_same_type(&self) -> bool {
        let tensor = |node: &'a Node| node.val().and_then(Val::as_tensor);
        let (Some(x), Some(y)) = (self.operand(0).and_then(|x| tensor(x.node)), tensor(self.node)) else {
            return false;
        };
        x.dtype == y.dtype && x.device == y.device && x.sizes == y.sizes
    }
    fn is_neutral(&self) -> bool {
        let neutral = match self.node.op().map(|op| op.short_name()) {
            Some("mul.Tensor" | "div.Tensor" | "pow.Tensor_Scalar") => 1.0,
            Some("add.Tensor" | "sub.Tensor") => 0.0,
            _ => return false,
        };
        self.number(1) == Some(neutral) && self.is_same_type()
    }
    /// True if an operator is found within so many steps upwards.
    fn has(&self, name: &str, steps: usize) -> bool {
        self.operands().any(|x| x.is(&[name]) || steps > 1 && x.has(name, steps - 1))
    }
    fn has_cube(&self) -> bool {
        self.has("pow.Tensor_Scalar", 6) || self.has("mul.Tensor", 5)
    }
    fn is_scale(&self) -> bool {
        self.is(&["mul.Tensor", "div.Tensor"]) && self.number(1).is_some()
    }
    fn adds_dimension(&self) -> bool {
        self.is(&["unsqueeze"])
    }
    /// What a value is made of before casts, views, expansions and copies.
    fn origin(self) -> Site<'a> {
        let mut at = self;
        while at.is(CASTS) || at.is(RESHAPES) || at.is(&["expand", "clone", "contiguous", "dropout"]) {
            let Some(next) = at.operand(0) else { break };
            at = next;
        }
        at
    }
    /// A product of probabilities, which are a softmax of a product.
    fn is_attention(&self) -> bool {
        let products = &["matmul", "bmm"];
        let Some(softmax) = self.operand(0).map(Site::origin).filter(|_| self.is(products)) else { return false };
        let scores = |at: &Site<'_>| at.is(products) || at.has("matmul", 4) || at.has("bmm", 5);
        softmax.is(&["softmax.int", "_softmax"]) && softmax.operand(0).map(Site::origin).is_some_and(|s| scores(&s))
    }
    /// A product of something with the reciprocal root of its mean square.
    fn is_rms_norm(&self) -> bool {
        self.is(&["mul.Tensor"])
            && self.operands().any(|x| {
                let sum = x.operand(0).filter(|_| x.is(&["rsqrt"]));
                let mean = sum.filter(|s| s.is(&["add.Tensor"])).and_then(|s| s.operand(0));
                let square = mean.filter(|m| m.is(&["mean.dim"])).and_then(|m| m.operand(0));
                square.is_some_and(|s| s.is(&["pow.Tensor_Scalar", "mul.Tensor"]))
            })
    }
    fn is_silu(&self) -> bool {
        let operands: Vec<Site<'_>> = self.operands().collect();
        let [a, b] = &operands[..] else { return false };
        let is_of = |x: &Site<'_>, y: &Site<'_>| {
            x.is(&["sigmoid"]) && x.operand(0).is_some_and(|of| std::ptr::eq(of.node, y.node))
        };
        self.is(&["mul.Tensor"]) && (is_of(a, b) || is_of(b, a))
    }
}

/// The sites of each family.
pub type Sites = BTreeMap<&'static str, usize>;

/// Counts the sites of every family in a functional program.
pub fn sites(program: &ExportedProgram) -> Sites {
    debug_assert!(program.dialect == Dialect::Aten);
    let mut sites: Sites = FAMILIES.iter().map(|(name, _)| (*name, 0)).collect();
    for (id, _) in program.graph.nodes() {
        let site = Site::of(&program.graph, id);
        for (name, is_site) in FAMILIES {
            if is_site(&site) {
                *sites.entry(name).or_default() += 1;
            }
        }
    }
    sites
}

/// The names of the families, in order.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(name, _)| *name)
}
