//! The e-graph of a search in the form of the crate `egraph-serialize`, which tools for extraction read.
//!
//! Laws: the first node of a class stands for it where it is an argument; a node needs what the choice takes it to need
//! (a call that is not rewritten needs what it reads), so a choice here is one of the rewriter's, at the same price.

use crate::cost::Model;
use crate::extract::{Candidates, Prefer, once};
use crate::ingest::Ingested;
use crate::kind::Kind;
use crate::term::Term;
use indexmap::IndexMap;
use oxport_ir::ExportedProgram;
use serde::Serialize;

/// An e-graph with what each node costs.
#[derive(Clone, Debug, Serialize)]
pub struct SerializedGraph {
    /// The nodes by their names.
    pub nodes: IndexMap<String, SerializedNode>,
    /// The classes that outputs and effects need.
    pub root_eclasses: Vec<String>,
    /// What is known of classes.
    pub class_data: IndexMap<String, ClassData>,
}

/// A node: a call, a list, a constant, or a value that is not rewritten.
#[derive(Clone, Debug, Serialize)]
pub struct SerializedNode {
    /// The operator, the constant, or the name of the program's node.
    pub op: String,
    /// A node of each class that it needs.
    pub children: Vec<String>,
    /// Its class.
    pub eclass: String,
    /// What it costs by itself, in nanoseconds.
    pub cost: f64,
}

/// What is known of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassData {
    /// The type: `f32[s0, 4]`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<String>,
    /// The first node of the program with this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// The e-graph as it is.
pub(crate) fn dump(program: &ExportedProgram, ingested: &Ingested<'_>, model: &Model) -> SerializedGraph {
    let candidates = Candidates::of(program, ingested, once, model, Prefer::Cheap);
    let first = ingested.first_nodes(program);
    let name = |index: &u32| ingested.node_at.get(index).map(|&id| program.graph.node(id).name.to_string());
    let mut graph = SerializedGraph {
        nodes: IndexMap::new(),
        root_eclasses: candidates.space.roots.iter().map(ToString::to_string).collect(),
        class_data: IndexMap::new(),
    };
    for (class, (id, terms)) in candidates.classes.iter().zip(&candidates.terms).enumerate() {
        for (number, (term, node)) in terms.iter().zip(&candidates.space.classes[class]).enumerate() {
            let op = match term {
                Term::Op(op, _) => op.to_string(),
                Term::List(_) => "list".to_string(),
                Term::Const(c) => c.to_string(),
                Term::Leaf(index) => name(index).unwrap_or_default(),
                Term::Own(..) => "own".to_string(),
            };
            // As they are written where that is all that the node needs: twice where it is the same argument twice.
            let kids: Vec<usize> = match term {
                Term::Leaf(_) => node.kids.clone(),
                _ => egg::Language::children(term).iter().map(|&k| candidates.at(&ingested.egraph, k)).collect(),
            };
            let children = kids.iter().map(|kid| format!("{kid}.0")).collect();
            let cost = node.cost as f64 / 1e3;
            let node = SerializedNode { op, children, eclass: class.to_string(), cost };
            graph.nodes.insert(format!("{class}.{number}"), node);
        }
        let kind = &*ingested.egraph[*id].data.kind;
        let ty = matches!(kind, Kind::Value(_)).then(|| kind.to_string());
        let node = first.get(id).map(|&id| program.graph.node(id).name.to_string());
        graph.class_data.insert(class.to_string(), ClassData { ty, node });
    }
    graph
}
