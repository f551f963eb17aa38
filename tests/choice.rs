//! The choice of terms: against brute force on small spaces, and on published e-graphs.

use oxport_rewrite::choice::{Effort, Node, Pick, Space};
use oxport_testkit::samples;
use std::collections::HashMap;

/// A small space, drawn: some classes share much, some terms reach back.
fn drawn(seed: u64) -> Space {
    let draws = samples::draw(oxport::DType::I64, 400, Some((0.0, 1e6)), seed.wrapping_mul(0x2545_F491_4F6C_DD1D) + 1);
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
    for seed in 0..2500 {
        let space = drawn(seed);
        let given = first(&space);
        let chosen = space.choose(given.as_ref(), &Effort::default());
        let price = chosen.as_ref().and_then(|p| space.price(p));
        assert_eq!(price, brute(&space), "seed {seed}: {space:?} as {chosen:?}");
        possible += usize::from(price.is_some());
        improved += usize::from(given.is_some_and(|g| space.price(&g) > price));
        assert_eq!(chosen, space.choose(first(&space).as_ref(), &Effort::default()), "seed {seed}: not the same twice");
    }
    assert!(possible > 2000 && improved > 500, "{possible} spaces have a choice, {improved} a better one");
}

/// Without branch and bound: what moves find is acyclic, no dearer than what was given, and mostly the best.
#[test]
fn moves_alone_are_nearly_exact() {
    let mut missed = 0;
    for seed in 2500..5000 {
        let space = drawn(seed);
        let given = first(&space);
        let pick = space.choose(given.as_ref(), &Effort { exact: 0, ..Effort::default() });
        let (price, best) = (pick.and_then(|p| space.price(&p)), brute(&space));
        assert_eq!(price.is_some(), best.is_some(), "seed {seed}");
        assert!(price <= given.and_then(|g| space.price(&g)).or(price), "seed {seed}: dearer than given");
        missed += usize::from(price > best);
    }
    assert!(missed < 75, "{missed} of 2500 spaces were chosen from badly");
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

/// E-graphs in the form of the crate egraph-serialize: a small one, and those of a folder, whose prices are printed:
/// `EGRAPHS=FOLDER cargo test --release -p oxport-tests egraphs -- --nocapture`.
#[test]
fn egraphs_of_others_are_chosen_from() {
    fn node(class: &str, cost: f64, children: &[&str]) -> serde_json::Value {
        serde_json::json!({"op": "f", "eclass": class, "cost": cost, "children": children})
    }
    let small = serde_json::json!({
        "nodes": {
            "a0": node("a", 2.0, &["b0"]), "a1": node("a", 0.5, &["c0", "b1"]), "b0": node("b", 1.0, &["c0"]),
            "b1": node("b", 0.25, &["a0"]), "c0": node("c", 3.0, &[])
        },
        "root_eclasses": ["a"]
    });
    let space = read(&small);
    let pick = space.choose(None, &Effort::default()).expect("a choice");
    assert_eq!(space.price(&pick), Some(4_500_000_000));
    let Ok(folder) = std::env::var("EGRAPHS") else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder").map(|f| f.expect("a file").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        let space = read(&serde_json::from_str(&text).expect("JSON"));
        let start = std::time::Instant::now();
        let pick = space.choose(None, &Effort::default()).expect("a choice");
        let (ours, time) = (space.price(&pick).expect("acyclic"), start.elapsed());
        let terms: usize = space.classes.iter().map(Vec::len).sum();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("{name}: {} classes, {terms} terms, {:.6} in {time:?}", space.classes.len(), ours as f64 / 1e9);
    }
}

/// An e-graph in the form of the crate egraph-serialize; costs in billionths.
fn read(json: &serde_json::Value) -> Space {
    let nodes = json["nodes"].as_object().unwrap();
    let class_of = |node: &serde_json::Value| nodes[node.as_str().unwrap()]["eclass"].as_str().unwrap();
    let mut index: HashMap<&str, usize> = HashMap::new();
    let mut classes: Vec<Vec<Node>> = Vec::new();
    for node in nodes.values() {
        let class = node["eclass"].as_str().unwrap();
        index.entry(class).or_insert_with(|| {
            classes.push(Vec::new());
            classes.len() - 1
        });
    }
    for node in nodes.values() {
        let kids = node["children"].as_array().unwrap().iter().map(|kid| index[class_of(kid)]).collect();
        let cost = (node["cost"].as_f64().unwrap() * 1e9).round() as u64;
        classes[index[node["eclass"].as_str().unwrap()]].push(Node::new(cost, kids));
    }
    let roots = json["root_eclasses"].as_array().unwrap().iter().map(|r| index[r.as_str().unwrap()]).collect();
    Space { classes, roots }
}
