//! A graph as `torch.export.load` makes it of the file that holds it. What it prints is of that graph, which differs in
//! two things: a call that gives nothing is renamed, and an absent element of a multiple result has a `getitem` node of
//! its own.

use super::names::{Namespace, fx_name};
use crate::{Argument, Graph, Node, NodeId, NodeKind, Op, Registry, Val};
use std::borrow::Cow;
use std::collections::HashMap;

/// The name of a node that picks an absent element.
pub(super) const ABSENT: &str = "as_none";

/// The graph that PyTorch has after loading; of subgraphs, nothing is said.
pub(super) fn as_loaded(graph: &Graph) -> Cow<'_, Graph> {
    let is_absent = |val: &Val| matches!(val, Val::List(items) if items.contains(&Val::None));
    if !graph.nodes().any(|(_, node)| gives_nothing(node) || node.val().is_some_and(is_absent)) {
        return Cow::Borrowed(graph);
    }
    let mut loaded = graph.clone();
    let mut names = Namespace::default();
    for id in graph.ids() {
        let node = graph.node(id);
        if matches!(node.kind, NodeKind::Output) {
            continue;
        }
        names.create(&node.name);
        if gives_nothing(node) {
            let stem = node.op().map(fx_name).unwrap_or_default();
            // A name that only a node further on has is free for PyTorch; that node gets another one there.
            let name = names.create(&format!("{stem}_unused"));
            let _ = loaded.rename(id, &name);
        }
        if let Some(Val::List(items)) = node.val()
            && items.contains(&Val::None)
        {
            absent_elements(graph, &mut loaded, &mut names, id, items);
        }
    }
    Cow::Owned(loaded)
}

fn absent_elements(graph: &Graph, loaded: &mut Graph, names: &mut Namespace, of: NodeId, items: &[Val]) {
    let mut picks: HashMap<i64, NodeId> = HashMap::new();
    for &user in graph.users(of).keys() {
        let node = graph.node(user);
        if let Some((_, i)) = node.getitem() {
            picks.entry(i).or_insert(user);
        }
    }
    // An operator as a node has it is all that is asked of it here: no table knows more of `getitem`.
    let getitem = Registry::new(&[], "").op("_operator::getitem");
    let mut at = of;
    for (i, item) in items.iter().enumerate() {
        match picks.get(&(i as i64)) {
            Some(&pick) => at = pick,
            None if *item == Val::None => {
                let args = vec![Argument::Node(of), Argument::Int(i as i64)];
                let mut node = Node::new("", NodeKind::CallFunction(getitem.clone()), args);
                node.name = loaded.unique_name(&names.create(ABSENT));
                node.meta = graph.node(of).meta.derived(Some(Val::None));
                at = loaded
                    .insert_after(at, node)
                    .expect("law: the name is unique, the node that it picks from is there");
            }
            None => {}
        }
    }
}

/// True for a call whose result is said to be `None`. An operator whose schema says so is not, as nothing is written of
/// it.
fn gives_nothing(node: &Node) -> bool {
    let is_said = |op: &Op| !op.is_getitem() && op.schema().is_none_or(|schema| !schema.returns.is_empty());
    node.op().is_some_and(is_said) && node.val() == Some(&Val::None)
}
