//! Results that are made in their place in a later one.
//!
//! ```text
//! conv ─ relu ─╮
//!              cat ─ …        each relu writes its half of the memory of `cat`, which has nothing left to copy
//! conv ─ relu ─╯
//! ```
//!
//! Such a result is [absent](oxport_tensor::Tensor::absent) between the step that makes it and the join.
//!
//! Laws: only the join reads the result; the steps between go as they were recorded; a run takes no more memory at
//! once.

use crate::fuse::{Block, is_loop};
use crate::memory::Lifetime;
use crate::output_alloc::{OutPlan, Packing, Place};
use crate::step::{Replay, Step};
use oxport_ir::{Arg, Real};
use oxport_tensor::{Layout, SharedLayout};
use std::collections::HashMap;
use std::sync::Arc;

/// A step that puts tensors side by side, and where each of them lies in its result.
#[derive(Debug)]
pub(crate) struct Join {
    pub step: usize,
    pub places: Vec<Layout>,
}

/// A result that has a place in a join's.
struct Part {
    step: usize,
    buffer: u32,
    layout: SharedLayout,
}

/// Gives results their places in those of the joins.
pub(crate) fn place(
    steps: &[Step],
    templates: &[Box<[Arg<Real>]>],
    blocks: &[Block],
    joins: &[Join],
    recorded: &mut [Replay],
    lives: &mut [Lifetime],
) {
    if joins.is_empty() {
        return;
    }
    let mut reads = HashMap::<u32, usize>::new();
    steps.iter().flat_map(|step| &step.patches).for_each(|patch| *reads.entry(patch.from.slot).or_default() += 1);
    let makers: HashMap<u32, usize> = steps.iter().enumerate().filter_map(|(i, step)| Some((step.out?, i))).collect();
    let pass = |i: usize| blocks.iter().position(|block| block.steps.contains(&i)).ok_or(i);
    let fills_gaps = |i: usize| {
        let is_said = steps[i].op.def().is_some_and(|def| def.fills_gaps);
        // The first step of a block may write where the last one does.
        let first = blocks.iter().find(|block| block.shares_result_of(i)).map(|block| block.steps.start);
        let first_does = first.is_none_or(|first| steps[first].op.def().is_some_and(|def| def.fills_gaps));
        (is_said || is_loop(&steps[i], &templates[i])) && first_does
    };
    let mut load = Load::of(lives, steps.len());
    for join in joins {
        let Some(whole) = single(&recorded[join.step]).filter(|whole| is_dense(whole)).cloned() else { continue };
        let mut parts: Vec<Part> = Vec::new();
        for patch in &steps[join.step].patches {
            let (&[0, k], None, slot) = (&patch.path[..], patch.from.element, patch.from.slot) else { continue };
            let (Some(&step), Some(place)) = (makers.get(&slot), join.places.get(k as usize)) else { continue };
            let Some(plan) = single(&recorded[step]) else { continue };
            let life = lives[plan.buffer as usize];
            let is_for_it_alone = reads[&slot] == 1 && life.last as usize == join.step && life.bytes > 0;
            let is_replayed = !recorded[step..join.step].iter().any(|replay| matches!(replay, Replay::Watch(_)));
            // A pass is given the memory of each of its results at once, and there is one whole.
            let is_in_another_pass = parts.iter().all(|part| pass(part.step) != pass(step));
            if is_for_it_alone && is_in_another_pass && is_replayed && plan.dtype == whole.dtype && fits(plan, place) {
                let layout = SharedLayout::new(place.clone()).ok().filter(|_| fills_gaps(step));
                parts.extend(layout.map(|layout| Part { step, buffer: plan.buffer, layout }));
            }
        }
        if parts.is_empty() || !load.replace(lives, &parts, whole.buffer) {
            continue;
        }
        for Part { step, layout, .. } in parts {
            let Replay::Fill(plans, _) = &mut recorded[step] else { continue };
            let (buffer, bytes) = (whole.buffer, whole.bytes);
            plans[0].place = Some(Arc::new(Place { layout, buffer, bytes, join: join.step }));
        }
    }
}

/// The one tensor that a step fills.
fn single(recorded: &Replay) -> Option<&OutPlan> {
    match recorded {
        Replay::Fill(plans, Packing::Tensor) => plans.first(),
        _ => None,
    }
}

fn is_dense(plan: &OutPlan) -> bool {
    plan.bytes > 0 && plan.layout.numel() * plan.dtype.size() == plan.bytes
}

/// Whether a result has the sizes of a place, and its dimensions in the same order in memory.
fn fits(plan: &OutPlan, place: &Layout) -> bool {
    let order = |layout: &Layout| {
        let mut dims: Vec<usize> = (0..layout.sizes.len()).filter(|&d| layout.sizes[d] > 1).collect();
        dims.sort_by_key(|&d| std::cmp::Reverse(layout.strides[d]));
        dims
    };
    plan.layout.sizes == place.sizes && order(&plan.layout) == order(place)
}

/// How many bytes are in use during each step.
struct Load(Vec<usize>);

impl Load {
    fn of(lives: &[Lifetime], steps: usize) -> Load {
        let mut load = vec![0; steps];
        for life in lives {
            let end = steps.min((life.last as usize).saturating_add(1));
            load[life.first as usize..end].iter_mut().for_each(|bytes| *bytes += life.bytes);
        }
        Load(load)
    }

    /// The buffer `whole` begins where the first of the parts does, and these need none; false where more would be in
    /// use than is now at most.
    fn replace(&mut self, lives: &mut [Lifetime], parts: &[Part], whole: u32) -> bool {
        let peak = self.0.iter().copied().max().unwrap_or(0);
        let of = |part: &Part| lives[part.buffer as usize];
        let (first, join) = (parts.iter().map(|part| of(part).first).min(), lives[whole as usize].first as usize);
        let Some(first) = first.map(|first| first as usize) else { return false };
        let after: Vec<usize> = (first..=join)
            .map(|i| {
                let begun = parts.iter().map(of).filter(|life| life.first as usize <= i);
                let more = if i < join { lives[whole as usize].bytes } else { 0 };
                self.0[i] + more - begun.map(|life| life.bytes).sum::<usize>()
            })
            .collect();
        if after.iter().any(|&bytes| bytes > peak) {
            return false;
        }
        self.0[first..=join].copy_from_slice(&after);
        lives[whole as usize].first = first as u32;
        parts.iter().for_each(|part| lives[part.buffer as usize].bytes = 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::describe::Place;
    use crate::plan::{Plan, PlanOptions};
    use crate::test_ops::{f32s, program, registry, run_three_times, show};

    /// Where the results of a program lie, and what it gives, which is the same without places.
    fn places(body: &str) -> (Vec<String>, usize) {
        let text = format!("\ndef forward(self, x: \"f32[64]\", y: \"f32[64]\"):\n{body}");
        let x = [0.0, 100.0].map(|from| f32s(&[64], (0..64).map(|i| i as f32 - 32.0 + from)));
        let plans = [true, false].map(|in_place| {
            let options = PlanOptions { fuse_from: 1, in_place, ..PlanOptions::default() };
            Plan::new(&program(&text), &registry(), &options).unwrap()
        });
        let [there, copied] = plans.each_ref().map(|plan| run_three_times(plan, &x));
        assert_eq!(there, copied, "{body}");
        let [there, copied] = plans.each_ref().map(|plan| plan.describe(x.to_vec()).unwrap());
        assert!(there.arena_bytes <= copied.arena_bytes, "{body}");
        assert!(plans.iter().all(|plan| plan.refused_regions() == 0));
        // Who looks at every step sees every value.
        let mut seen = Vec::new();
        let watch = |plan: &Plan, seen: &mut Vec<String>| {
            let mut see = |step: &crate::Seen<'_>| seen.push(show(step.value));
            plan.watch(x.to_vec(), Vec::new(), &mut see).map(|outputs| seen.extend(outputs.user.iter().map(show)))
        };
        watch(&plans[0], &mut seen).unwrap();
        let mut same = Vec::new();
        watch(&plans[1], &mut same).unwrap();
        assert_eq!(seen, same, "{body}");
        let steps = there.steps.iter();
        let parts = steps.filter(|step| step.results.iter().any(|result| matches!(result.place, Place::Part(_))));
        (parts.map(|step| step.name.to_string()).collect(), there.arena_bytes)
    }

    #[test]
    fn results_for_a_join_alone_are_made_in_it() {
        // The last of a joined pass, and one by itself.
        let (parts, bytes) = places(
            "    a = torch.ops.aten.relu.default(x)
    b = torch.ops.aten.add.Tensor(a, y)
    c = torch.ops.aten.mul.Scalar(y, 2.0)
    cat = torch.ops.aten.cat.default([b, x, c])
    d = torch.ops.aten.relu.default(cat)
    return (d,)
",
        );
        assert_eq!((parts, bytes), (vec!["b".to_string(), "c".into()], 3 * 256));
        // The result of the program is no region of the arena.
        let (parts, bytes) = places(
            "    a = torch.ops.aten.relu.default(x)
    b = torch.ops.aten.relu.default(y)
    cat = torch.ops.aten.cat.default([a, b])
    return (cat,)
",
        );
        assert_eq!((parts, bytes), (vec!["a".to_string(), "b".into()], 0));
    }

    /// Both are made by one pass: the whole can be lent for one of them.
    #[test]
    fn one_pass_makes_one_part() {
        let (parts, _) = places(
            "    a = torch.ops.aten.add.Tensor(x, y)
    b = torch.ops.aten.relu.default(a)
    c = torch.ops.aten.mul.Scalar(a, -1.0)
    d = torch.ops.aten.relu.default(c)
    cat = torch.ops.aten.cat.default([b, d])
    return (cat,)
",
        );
        assert_eq!(parts, ["b"]);
    }

    #[test]
    fn other_results_are_copied() {
        let none = Vec::<String>::new();
        // Read twice by the join, by another step, by a view of it, or returned.
        for body in [
            "    a = torch.ops.aten.relu.default(x)
    cat = torch.ops.aten.cat.default([a, a])
    return (cat,)
",
            "    a = torch.ops.aten.relu.default(x)
    cat = torch.ops.aten.cat.default([a, y])
    b = torch.ops.aten.mul.Scalar(a, 3.0)
    return (cat, b)
",
            "    a = torch.ops.aten.relu.default(x)
    view = torch.ops.aten.view.default(a, [32, 2])
    view_1 = torch.ops.aten.view.default(view, [64])
    cat = torch.ops.aten.cat.default([view_1, y])
    return (cat,)
",
            "    a = torch.ops.aten.relu.default(x)
    cat = torch.ops.aten.cat.default([a, y])
    return (cat, a)
",
            // A step between may end the replay.
            "    a = torch.ops.aten.relu.default(x)
    n = torch.ops.aten.nonzero.default(y)
    cat = torch.ops.aten.cat.default([a, y])
    return (cat, n)
",
        ] {
            assert_eq!(places(body).0, none, "{body}");
        }
    }

    /// A small result that waits long for large ones would keep all their memory.
    #[test]
    fn no_more_memory_is_used() {
        let (parts, _) = places(
            "    a = torch.ops.aten.relu.default(x)
    b = torch.ops.aten.cat.default([x, y, x, y, x, y, x, y])
    c = torch.ops.aten.relu.default(b)
    d = torch.ops.aten.add.Tensor(c, b)
    e = torch.ops.aten.split.Tensor(d, 64)
    f = e[0]
    cat = torch.ops.aten.cat.default([a, x, y, x, y, x, y, x, y, f])
    g = torch.ops.aten.relu.default(cat)
    return (g,)
",
        );
        assert_eq!(parts, Vec::<String>::new());
    }
}
