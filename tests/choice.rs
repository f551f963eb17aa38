//! The choice of terms: against brute force on small spaces, on published e-graphs, and on those that are dumped.

use crate::{all, programs, root};
use oxport::proof::Inquiry;
use oxport::{DType, Expr, Fake, Limits, Model, Opt, ProgramBuilder, Target, Toolchain, registry};
use oxport_ir::NodeId;
use oxport_rewrite::choice::{Effort, Node, Pick, Space};
use oxport_testkit::samples;
use std::collections::HashMap;

/// A small space, drawn: some classes share much, some terms reach back.
fn drawn(seed: u64) -> Space {
    let draws = samples::draw(DType::I64, 400, Some((0.0, 1e6)), seed.wrapping_mul(0x2545_F491_4F6C_DD1D) + 1);
    let mut numbers = draws.into_iter().cycle();
    let mut next = |n: usize| numbers.next().expect("law: endless") as usize % n;
    let count = 2 + next(6);
    let classes = (0..count).map(|class| {
        let term = |next: &mut dyn FnMut(usize) -> usize| {
            // Mostly over earlier classes, at times over any.
            let from = if next(4) == 0 { count } else { class };
            let kids = (0..next(4)).filter(|_| from > 0).map(|_| next(from)).collect();
            Node::new([0, 1, 1, 2, 3, 5, 10, 40][next(8)], kids)
        };
        (0..1 + next(3)).map(|_| term(&mut next)).collect()
    });
    let classes = classes.collect();
    Space { classes, roots: (0..1 + next(2)).map(|i| count - 1 - i).collect() }
}

/// The price of the best choice there is.
fn brute(space: &Space) -> Option<u64> {
    let sizes: Vec<usize> = space.classes.iter().map(Vec::len).collect();
    let all: usize = sizes.iter().product();
    (0..all)
        .filter_map(|mut n| {
            let term = |&size: &usize| {
                let i = n % size;
                n /= size;
                Some(i)
            };
            space.price(&sizes.iter().map(term).collect())
        })
        .min()
}

/// The first term of each class, where that is a choice.
fn first(space: &Space) -> Option<Pick> {
    let pick: Pick = vec![Some(0); space.classes.len()];
    space.price(&pick).map(|_| pick)
}

#[test]
fn small_spaces_are_chosen_from_exactly() {
    let (mut possible, mut improved) = (0, 0);
    for seed in 0..10_000 {
        let space = drawn(seed);
        let given = first(&space);
        let chosen = space.choose(given.as_ref(), &Effort::default());
        let price = chosen.as_ref().and_then(|p| space.price(p));
        assert_eq!(price, brute(&space), "seed {seed}: {space:?} as {chosen:?}");
        possible += usize::from(price.is_some());
        improved += usize::from(given.is_some_and(|g| space.price(&g) > price));
        assert_eq!(chosen, space.choose(first(&space).as_ref(), &Effort::default()), "seed {seed}: not the same twice");
    }
    assert!(possible > 8000 && improved > 2000, "{possible} spaces have a choice, {improved} a better one");
}

/// Layers that read the one before twice, each with terms that are the cheaper the later they are priced.
fn deep(layers: usize, late: usize) -> Space {
    let one = |kids: Vec<usize>| vec![Node::new(1, kids)];
    let mut classes = vec![one(vec![])];
    for _ in 0..layers {
        let input = classes.len() - 1;
        classes.extend((0..late).map(|at| one(vec![input + at])));
        let terms = (0..late).map(|at| Node::new(8 * (late - 1 - at) as u64, vec![input + 1 + at]));
        classes.push(std::iter::once(Node::new(10 * late as u64, vec![input])).chain(terms).collect());
        classes.push(one(vec![input + late + 1, input]));
    }
    let roots = vec![classes.len() - 1];
    Space { classes, roots }
}

/// Without moves: a layer is priced when those below it are, not for every change in each of them.
#[test]
fn deep_networks_are_priced_layer_by_layer() {
    let (layers, late) = (1000, 8);
    let space = deep(layers, late);
    let pick = space.choose(first(&space).as_ref(), &Effort { moves: 0, exact: 0 });
    let best = 1 + (late as u64 + 1) * layers as u64;
    assert_eq!(pick.and_then(|p| space.price(&p)), Some(best), "expected the late terms of all layers");
}

/// Without moves: small spaces are one window, which is solved.
#[test]
fn windows_alone_are_exact() {
    let mut cycles = 0;
    for seed in 20_000..30_000 {
        let space = drawn(seed);
        let effort = Effort { moves: 0, ..Effort::default() };
        let pick = space.choose(first(&space).as_ref(), &effort);
        assert_eq!(pick.and_then(|p| space.price(&p)), brute(&space), "seed {seed}: {space:?}");
        cycles += usize::from(first(&space).is_none());
    }
    assert!(cycles > 1000, "{cycles} spaces have choices with cycles");
}

/// Spaces side by side that have only one class in common, which all of them need: more choices than can be tried
/// together, so each space is a part that is solved by itself.
#[test]
fn parts_are_chosen_from_exactly() {
    let (mut improved, mut classes) = (0, 0);
    for seed in 0..300 {
        let (mut whole, mut best) = (Space { classes: vec![vec![Node::new(7, vec![])]], roots: vec![0] }, Some(7));
        for small in (0..14).map(|i| drawn(40_000 + 14 * seed + i)) {
            let Some(price) = brute(&small) else { continue };
            let first = whole.classes.len();
            let node = |node: &Node| {
                let kids = node.kids.iter().map(|kid| kid + first);
                Node::new(node.cost, kids.chain((node.cost % 2 == 0).then_some(0)).collect())
            };
            whole.classes.extend(small.classes.iter().map(|nodes| nodes.iter().map(node).collect()));
            whole.roots.extend(small.roots.iter().map(|root| root + first));
            best = best.map(|best| best + price);
        }
        // So few steps are not enough for all at once.
        let effort = Effort { moves: 0, exact: 10_000 };
        let greedy = whole.choose(None, &Effort { exact: 0, ..effort }).and_then(|p| whole.price(&p));
        let price = whole.choose(None, &effort).and_then(|p| whole.price(&p));
        assert_eq!(price, best, "seed {seed}");
        improved += usize::from(greedy > price);
        classes += whole.classes.iter().filter(|nodes| nodes.len() > 1).count();
    }
    assert!(improved > 200 && classes > 10_000, "{improved} improved, {classes} classes with a choice");
}

/// A space of so many classes, of which most have a choice; some terms reach back.
fn large(seed: u64, count: usize) -> Space {
    let draws = samples::draw(DType::I64, 8 * count, Some((0.0, 1e6)), seed * 0x2545_F491 + 1);
    let mut numbers = draws.into_iter().cycle();
    let mut next = |n: usize| numbers.next().expect("law: endless") as usize % n;
    let term = |class: usize, i: usize, next: &mut dyn FnMut(usize) -> usize| {
        let near = class.saturating_sub(12)..if i > 0 && next(8) == 0 { count.min(class + 6) } else { class };
        let kids = (0..1 + next(3)).filter(|_| !near.is_empty()).map(|_| near.start + next(near.len())).collect();
        Node::new(1 + next(60) as u64, kids)
    };
    let classes = (0..count).map(|class| (0..1 + next(4)).map(|i| term(class, i, &mut next)).collect()).collect();
    Space { classes, roots: vec![count - 1, count - 2, count / 2] }
}

/// More classes with a choice than one window has: the choice is acyclic, no dearer than what moves find, and no other
/// term of any class is better beside it.
#[test]
fn windows_leave_nothing_to_one_class() {
    let mut improved = 0;
    for seed in 0..60 {
        let space = large(seed, 400);
        let moved = space.choose(None, &Effort { exact: 0, ..Effort::default() }).expect("a choice");
        let mut pick = space.choose(None, &Effort { exact: 10_000, ..Effort::default() }).expect("a choice");
        let price = space.price(&pick).expect("it has no cycle");
        let by_moves = space.price(&moved).expect("it has no cycle");
        assert!(price <= by_moves, "seed {seed}: {price} is more than {by_moves}");
        improved += usize::from(price < by_moves);
        for class in 0..pick.len() {
            let taken = pick[class];
            for other in 0..space.classes[class].len() {
                pick[class] = Some(other);
                assert!(space.price(&pick).is_none_or(|other| other >= price), "seed {seed}: class {class}");
            }
            pick[class] = taken;
        }
    }
    assert!(improved > 10, "windows improved {improved} choices");
}

/// Without branch and bound: what moves find is acyclic, no dearer than what was given, and mostly the best.
#[test]
fn moves_alone_are_nearly_exact() {
    let mut missed = 0;
    for seed in 10_000..20_000 {
        let space = drawn(seed);
        let given = first(&space);
        let pick = space.choose(given.as_ref(), &Effort { exact: 0, ..Effort::default() });
        let (price, best) = (pick.and_then(|p| space.price(&p)), brute(&space));
        assert_eq!(price.is_some(), best.is_some(), "seed {seed}");
        assert!(price <= given.and_then(|g| space.price(&g)).or(price), "seed {seed}: dearer than given");
        missed += usize::from(price > best);
    }
    assert!(missed < 300, "{missed} of 10000 spaces were chosen from badly");
}

/// What no single class would take: a merged product, half as dear as its parts together.
#[test]
fn parts_of_a_merged_product_are_taken_together() {
    let mut classes = vec![vec![Node::new(1, vec![])]];
    // Sixty products, by threes, each group of which may be one product.
    let mut outputs = Vec::new();
    for group in 0..20 {
        classes.push(vec![Node::new(150, vec![0])]);
        let merged = classes.len() - 1;
        for _ in 0..3 {
            let copied = if group % 2 == 0 { 1 } else { 60 };
            classes.push(vec![Node::new(100, vec![0]), Node::new(copied, vec![merged])]);
            outputs.push(classes.len() - 1);
        }
    }
    classes.push(vec![Node::new(0, outputs)]);
    let space = Space { roots: vec![classes.len() - 1], classes };
    let given = first(&space);
    for exact in [0, Effort::default().exact] {
        let pick = space.choose(given.as_ref(), &Effort { exact, ..Effort::default() }).unwrap();
        assert_eq!(space.price(&pick), Some(1 + 10 * (150 + 3) + 10 * 300));
    }
}

/// The published e-graphs, each with the least cost of a choice: see `fixtures/egraphs/README.md`.
const PUBLISHED: [(&str, f64); 6] = [
    ("bert", 0.704720),
    ("bert_acyclic", 0.708439),
    ("resnet50", 4.385795),
    ("resnet50_acyclic", 4.415993),
    ("vgg", 4.850757),
    ("vgg_acyclic", 4.866775),
];

/// `cargo test --release -p oxport-tests published -- --nocapture` prints the costs.
#[test]
fn published_egraphs_are_chosen_from_nearly_exactly() {
    all(PUBLISHED, |&(name, optimum)| {
        let file = std::fs::File::open(root().join(format!("fixtures/egraphs/{name}.json.gz"))).expect("a file");
        let json = serde_json::from_reader(flate2::read::GzDecoder::new(file)).expect("JSON");
        let space = read(&json, 1e9)?;
        let start = std::time::Instant::now();
        let pick = space.choose(None, &Effort::default()).ok_or("no choice")?;
        let (price, time) = (space.price(&pick).ok_or("a choice that is cyclic")?, start.elapsed());
        let greedy = space.price(&cheapest_trees(&space)).ok_or("the cheapest trees are cyclic")?;
        let (cost, greedy) = (price as f64 / 1e9, greedy as f64 / 1e9);
        let terms: usize = space.classes.iter().map(Vec::len).sum();
        println!("{name}: {} classes, {terms} terms, {cost:.6} in {time:?}; by class {greedy:.6}", space.classes.len());
        // To the six digits that are known of it.
        let is_near = (optimum - 1e-6..optimum * 1.01).contains(&cost);
        if is_near && cost <= greedy { Ok(()) } else { Err(format!("{cost}, by class {greedy}, at best {optimum}")) }
    });
}

/// The term of each class whose tree costs least, what is shared counted as often as it is needed.
fn cheapest_trees(space: &Space) -> Pick {
    let mut costs: Vec<Option<u64>> = vec![None; space.classes.len()];
    let mut pick: Pick = vec![None; space.classes.len()];
    loop {
        let mut is_settled = true;
        for (class, nodes) in space.classes.iter().enumerate() {
            for (i, node) in nodes.iter().enumerate() {
                let Some(kids) = node.kids.iter().map(|&kid| costs[kid]).sum::<Option<u64>>() else { continue };
                let cost = node.cost + kids;
                if costs[class].is_none_or(|known| cost < known) {
                    (costs[class], pick[class], is_settled) = (Some(cost), Some(i), false);
                }
            }
        }
        if is_settled {
            return pick;
        }
    }
}

/// What `optimize --dump-egraph` writes: a choice of it costs what the report says. In one program an output must lie
/// in a storage of its own: the call that gives it one is in the program and its price, and no term of the e-graph.
#[test]
fn dumped_egraphs_have_the_costs_of_the_report() {
    let modes = [(Opt::Exact, false, Target::Aten), (Opt::Fast, true, Target::Cpu)];
    all(
        programs().into_iter().flat_map(|dir| modes.map(|mode| (dir.clone(), mode))),
        |(dir, (opt, frozen, target))| {
            let program = oxport::read(dir.join("program.pt2")).map_err(|e| e.to_string())?;
            let model = Model { frozen: *frozen, target: *target, ..Model::default() };
            let limits = Limits { model, ..Limits::default() };
            let inquiry = Inquiry { egraph: true, ..Inquiry::default() };
            let asked = Toolchain::standard().optimize_asked(&program, *opt, &limits, &inquiry);
            let (_, report, found) = asked.map_err(|e| e.to_string())?;
            let text = serde_json::to_string(&found.egraph.ok_or("no e-graph")?).map_err(|e| e.to_string())?;
            let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
            let nodes = json["nodes"].as_object().map_or(0, serde_json::Map::len);
            if nodes != report.egraph_nodes
                || json["class_data"].as_object().map(|c| c.len()) != Some(report.egraph_classes)
            {
                return Err(format!("{nodes} nodes, and the report has {}", report.egraph_nodes));
            }
            // Costs are nanoseconds, in the report too; a choice counts picoseconds.
            let space = read(&json, 1e3)?;
            let pick = space.choose(None, &Effort::default()).ok_or("no choice")?;
            let cost = space.price(&pick).ok_or("a choice that is cyclic")? as f64 / 1e3;
            let is_equal = (cost == report.cost_after) != dir.ends_with("lifted_cache");
            if is_equal && cost <= report.cost_after {
                Ok(())
            } else {
                Err(format!("{cost} ns, and the report has {}", report.cost_after))
            }
        },
    );
}

/// An e-graph in the form of the crate egraph-serialize, with a cost of 1 as so many units.
fn read(json: &serde_json::Value, unit: f64) -> Result<Space, String> {
    let nodes = json["nodes"].as_object().ok_or("no nodes")?;
    let text =
        |value: &serde_json::Value| value.as_str().map(str::to_string).ok_or(format!("expected a name, got {value}"));
    let list = |value: &serde_json::Value| -> Result<Vec<String>, String> {
        value.as_array().ok_or(format!("expected a list, got {value}"))?.iter().map(text).collect()
    };
    let mut index: HashMap<String, usize> = HashMap::new();
    for node in nodes.values() {
        let next = index.len();
        index.entry(text(&node["eclass"])?).or_insert(next);
    }
    let class = |name: &String| index.get(name).copied().ok_or(format!("there is no class {name}"));
    let mut classes: Vec<Vec<Node>> = vec![Vec::new(); index.len()];
    for node in nodes.values() {
        let kids = list(&node["children"])?.into_iter().map(|kid| {
            let kid = nodes.get(&kid).ok_or(format!("there is no node {kid}"))?;
            class(&text(&kid["eclass"])?)
        });
        let cost = node["cost"].as_f64().ok_or("expected a cost")?;
        let kids = kids.collect::<Result<Vec<usize>, String>>()?;
        classes[class(&text(&node["eclass"])?)?].push(Node::new((cost * unit).round() as u64, kids));
    }
    let roots = list(&json["root_eclasses"])?.iter().map(class).collect::<Result<_, _>>()?;
    Ok(Space { classes, roots })
}

/// Core ATen's linear layer is a view of a product: that what is joined to a product is lost in a part of it holds for
/// both, or what the rules make of it would seem to be dearer.
#[test]
fn parts_of_a_product_cost_the_same_behind_a_view() {
    let mut b = ProgramBuilder::new(registry());
    let f32s = |sizes: &[i64]| Fake::new(DType::F32, sizes.iter().map(|&size| Expr::from(size)));
    let build = |b: &mut ProgramBuilder<'_>| -> oxport_ir::Result<NodeId> {
        let x = b.input("x", f32s(&[1, 200, 64]))?;
        let (w, bias) = (b.input("w", f32s(&[64, 64]))?, b.input("b", f32s(&[64]))?);
        let rows = b.call("aten::view", (x, vec![200i64, 64]))?;
        let w = b.call("aten::permute", (w, vec![1i64, 0]))?;
        let product = b.call("aten::addmm", (bias, rows, w))?;
        let product = b.call("aten::view", (product, vec![1i64, 200, 64]))?;
        let part = b.call("aten::slice.Tensor", (product, 1i64, 1i64, i64::MAX))?;
        b.call("aten::relu", (part,))
    };
    let relu = build(&mut b).expect("calls");
    let program = b.finish(&[relu]).expect("a program");
    let limits = Limits { model: Model { target: Target::Cpu, ..Model::default() }, ..Limits::default() };
    let (after, report) = oxport::optimize(&program, Opt::Fast, &limits).expect("it is optimized");
    assert!(report.cost_after < report.cost_before, "{} µs became {}", report.cost_before, report.cost_after);
    assert!(after.graph.nodes().any(|(_, node)| node.op().is_some_and(|op| op.short_name() == "linear")));
}
