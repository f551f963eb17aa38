//! Verifying a program of 10,000 nodes, with and without inferring every meta again.
//!
//! `cargo bench -p oxport-testkit --bench verify`

use oxport::{DType, Fake, ProgramBuilder, registry};
use oxport_ir::verify::{Options, verify_with};
use std::time::Instant;

fn main() {
    let mut b = ProgramBuilder::new(registry());
    let batch = b.size("s0", 2, Some(1 << 20));
    let x = b.input("x", Fake::new(DType::F32, [batch, 64.into()])).expect("law: the name is free");
    let mut last = x;
    for i in 0..10_000 {
        let ops = ["aten::relu", "aten::add.Tensor", "aten::mul.Tensor", "aten::sigmoid"];
        let op = ops[i % ops.len()];
        let made = if op.contains('.') { b.call(op, (last, x)) } else { b.call(op, (last,)) };
        last = made.expect("law: the operators are in the table");
    }
    let program = b.finish(&[last]).expect("law: the program is whole");
    for reinfer in [false, true] {
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let start = Instant::now();
            assert!(verify_with(&program, registry(), Options { reinfer }).is_empty());
            best = best.min(start.elapsed().as_secs_f64());
        }
        let rate = program.graph.len() as f64 / best;
        println!("re-inference {reinfer}: {:.3} ms, {:.0} thousand nodes a second", best * 1e3, rate / 1e3);
    }
}
