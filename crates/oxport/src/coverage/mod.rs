//! Where a program has what the rules are for: sites by family, counted in the graph, and what keeps those that
//! rewriting leaves.
//!
//! Law: nothing here knows the rules or their patterns, so that what they miss is seen. A site that rewriting leaves is
//! still counted afterwards.

mod attention;
mod reason;
mod shared;
mod site;

use oxport_ir::{ExportedProgram, NodeId};
use reason::Surroundings;
use site::{BATCH_NORMS, CASTS, CONVOLUTIONS, PARTS, RESHAPES, SLICES, Site, TRANSPOSES};
use std::collections::BTreeMap;

/// What tells the sites of a family.
struct Family {
    name: &'static str,
    is_site: fn(&Site<'_>) -> bool,
    /// Why a site is left, if it is for a reason of the family's own.
    why: fn(&Site<'_>, &Surroundings<'_>) -> Option<&'static str>,
}

const fn family(name: &'static str, is_site: fn(&Site<'_>) -> bool) -> Family {
    Family { name, is_site, why: |_, _| None }
}

impl Family {
    const fn left(self, why: fn(&Site<'_>, &Surroundings<'_>) -> Option<&'static str>) -> Family {
        Family { why, ..self }
    }
}

/// The families, in the order in which they are printed.
const FAMILIES: &[Family] = &[
    family("cast that changes nothing", |s| s.is(CASTS) && s.is_same_type()).left(reason::copied),
    family("whole slice, same view, same expand", |s| (s.is(RESHAPES) || s.is(PARTS)) && s.is_same_type())
        .left(reason::copied),
    family("arithmetic that changes nothing", |s| s.is_neutral()).left(reason::copied),
    family("metadata that is asserted", |s| s.is(&["_assert_tensor_metadata"])),
    family("view of a view", |s| s.is(RESHAPES) && s.operand(0).is_some_and(|x| x.is(RESHAPES))).left(reason::viewed),
    family("transpose of a transpose", |s| s.is(TRANSPOSES) && s.operand(0).is_some_and(|x| x.is(TRANSPOSES))),
    family("slice of a slice, a concatenation or a stack", |s| s.is(SLICES) && s.is_of_parts()).left(reason::sliced),
    family("cast of a cast", |s| s.is(CASTS) && s.operand(0).is_some_and(|x| x.is(CASTS))).left(reason::narrowed),
    family("batch norm after a convolution", |s| {
        s.is(BATCH_NORMS) && s.operand(0).is_some_and(|x| x.is(CONVOLUTIONS)) && !s.flag(5)
    })
    .left(reason::batch_norm),
    family("attention of products and softmax", |s| attention::Attention::of(s).is_some()).left(attention::why),
    family("softmax of parts", |s| s.is(&["div.Tensor"]) && s.has("exp", 2) && s.has("sum.dim_IntList", 2)),
    family("RMS norm of parts", |s| s.is_rms_norm()).left(reason::normalized),
    family("layer norm of parts", |s| {
        let is_divided = s.is(&["div.Tensor"]) && s.has("sqrt", 1) || s.is(&["mul.Tensor"]) && s.has("rsqrt", 1);
        is_divided
            && s.has("sub.Tensor", 1)
            && ["mean.dim", "var.correction", "var.dim"].iter().any(|measure| s.has(measure, 4))
    }),
    family("GELU of parts", |s| {
        s.is(&["mul.Tensor"]) && (s.has_one_more("tanh") && s.has_cube() || s.has_one_more("erf"))
    }),
    family("SiLU of parts", |s| s.is_silu()),
    family("heads repeated for attention", |s| s.repeats_heads()).left(attention::why),
    family("constant scale of a constant scale", |s| s.is_scale() && s.operand(0).is_some_and(|x| x.is_scale()))
        .left(reason::scaled),
];

/// The sites of each family.
pub type Sites = BTreeMap<&'static str, usize>;

/// A site that rewriting left.
pub struct Kept {
    /// Its family.
    pub family: &'static str,
    /// The node, by its name in the rewritten program: the first of several.
    pub node: String,
    /// What keeps it.
    pub why: &'static str,
    /// The node before it of which nothing is certain, if that keeps it.
    pub behind: Option<String>,
}

/// Counts the sites of every family in a functional program.
pub fn sites(program: &ExportedProgram) -> Sites {
    let mut sites: Sites = FAMILIES.iter().map(|family| (family.name, 0)).collect();
    for (id, _) in program.graph.nodes() {
        let site = Site::of(&program.graph, id);
        for family in FAMILIES.iter().filter(|family| (family.is_site)(&site)) {
            *sites.entry(family.name).or_default() += 1;
        }
    }
    sites.insert(shared::FAMILY, shared::groups(program).len());
    sites
}

/// The sites that rewriting left in a functional program; `frozen` says whether weights were constants.
pub fn left(program: &ExportedProgram, frozen: bool) -> Vec<Kept> {
    let around = Surroundings::of(program, frozen);
    let mut left = Vec::new();
    let mut keep = |family: &'static str, id: NodeId, why: &dyn Fn() -> Option<&'static str>| {
        let open = around.open(id);
        let why = open.map(|(why, _)| why).or_else(why).unwrap_or(reason::UNKNOWN);
        let name = |id: NodeId| program.graph.node(id).name.to_string();
        left.push(Kept { family, node: name(id), why, behind: open.map(|(_, at)| name(at)) });
    };
    for (id, _) in program.graph.nodes() {
        let site = Site::of(&program.graph, id);
        for family in FAMILIES.iter().filter(|family| (family.is_site)(&site)) {
            keep(family.name, id, &|| (family.why)(&site, &around));
        }
    }
    for group in shared::groups(program) {
        keep(shared::FAMILY, group.first().id, &|| group.why(&around));
    }
    left
}

/// The names of the families, in order.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name).chain([shared::FAMILY])
}
