//! Flatten and unflatten of a tree with 100,000 leaves: 10,000 dictionaries of ten tensors' worth of leaves in a list.
//!
//! `cargo bench -p oxport-pytree`; the same tree through `optree` (C++): `fixtures/pytree/bench_optree.py`.

use oxport_pytree::{NamedTupleFields, Tree, TreeSpec};
use std::hint::black_box;
use std::time::Instant;

fn tree() -> Tree<u64> {
    Tree::list((0..10_000u64).map(|i| Tree::dict((0..10u64).map(|k| (format!("key{k}"), Tree::Leaf(i * 10 + k))))))
}

fn time<T>(what: &str, mut f: impl FnMut() -> T) {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        black_box(f());
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{what:32} {:8.3} ms", best * 1e3);
}

fn main() {
    let tree = tree();
    let (leaves, spec) = tree.flatten();
    let text = spec.to_json();
    time("leaves", || tree.leaves());
    time("flatten (leaves and spec)", || tree.flatten());
    time("unflatten", || spec.unflatten(leaves.iter().copied()).map(drop).is_ok());
    time("flatten like a spec", || spec.flatten_like(&tree).map(|l| l.len()));
    time("write the text", || spec.to_json().len());
    time("read the text", || TreeSpec::from_json(&text, &NamedTupleFields::new()).map(drop).is_ok());
}
