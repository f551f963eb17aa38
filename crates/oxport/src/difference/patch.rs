//! The patch that makes one aligned graph of another.
//!
//! Invariant: a node that only stands elsewhere is no difference; every line that differs is in the patch once.

use super::align::Pairs;
use super::{Line, Side};
use crate::listing::Listing;
use oxport_ir::{Graph, NodeId, NodeKind};
use std::collections::HashMap;

/// How many equal lines are shown on either side of a difference.
const AROUND: usize = 1;

/// The lines that differ, with those around them; gaps stand where equal lines are left out. Empty if nothing differs.
pub(super) fn patch(
    (a, first): (&Graph, &Listing),
    (b, second): (&Graph, &Listing),
    path: &str,
    pairs: &Pairs,
) -> Vec<Line> {
    let all = merged((a, first), (b, second), path, pairs);
    let is_shown = |i: usize| {
        let near = i.saturating_sub(AROUND)..(i + AROUND + 1).min(all.len());
        all[near].iter().any(|line| line.side != Side::Both)
    };
    let mut out = Vec::new();
    let mut is_gap = true;
    for (i, line) in all.iter().enumerate() {
        match is_shown(i) {
            true => {
                if is_gap {
                    out.push(Line {
                        side: Side::Gap,
                        graph: path.to_string(),
                        node: String::new(),
                        text: String::new(),
                    });
                }
                out.push(line.clone());
                is_gap = false;
            }
            false => is_gap = true,
        }
    }
    out
}

/// All lines of both graphs, in the order of the second; those that only the first has stand where they were.
fn merged((a, first): (&Graph, &Listing), (b, second): (&Graph, &Listing), path: &str, pairs: &Pairs) -> Vec<Line> {
    let is_step = |graph: &Graph, id: NodeId| graph.node(id).kind != NodeKind::Placeholder;
    let steps = |graph: &Graph| graph.ids().filter(|id| is_step(graph, *id)).collect::<Vec<_>>();
    let (steps_a, steps_b) = (steps(a), steps(b));
    let partners: HashMap<NodeId, NodeId> = pairs.iter().map(|(y, x)| (*x, *y)).collect();
    let places: HashMap<NodeId, usize> = steps_a.iter().enumerate().map(|(i, id)| (*id, i)).collect();
    let line = |side, graph: &Graph, listing: &Listing, id: NodeId| {
        let node = graph.node(id).name.to_string();
        Line { side, graph: path.to_string(), text: listing.line(path, &node).to_string(), node }
    };
    let (mut out, mut added, mut next) = (Vec::new(), Vec::new(), 0);
    let removed_until = |next: &mut usize, until: usize, out: &mut Vec<Line>| {
        while *next < until {
            let id = steps_a[*next];
            if !partners.contains_key(&id) {
                out.push(line(Side::First, a, first, id));
            }
            *next += 1;
        }
    };
    for id in steps_b {
        let Some(partner) = pairs.get(&id) else {
            added.push(line(Side::Second, b, second, id));
            continue;
        };
        removed_until(&mut next, places.get(partner).copied().unwrap_or(0), &mut out);
        out.append(&mut added);
        let (old, new) = (line(Side::First, a, first, *partner), line(Side::Second, b, second, id));
        match old.text == new.text {
            true => out.push(Line { side: Side::Both, ..old }),
            false => out.extend([old, new]),
        }
    }
    removed_until(&mut next, steps_a.len(), &mut out);
    out.append(&mut added);
    out
}
