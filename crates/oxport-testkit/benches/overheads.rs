//! What a call, a step, a view and a shared job cost where there is nothing to compute: medians.
//!
//! `cargo bench -p oxport-testkit --bench overheads`

use oxport::{DType, Fake, Plan, PlanOptions, ProgramBuilder, Tensor, registry};
use oxport_tensor::{Pool, parallel};
use std::hint::black_box;
use std::time::{Duration, Instant};

const STEPS: usize = 500;

/// A plan of so many calls, each of the one before, on four elements: these again and again.
fn chain(count: usize, calls: &[(&str, Option<[i64; 2]>)]) -> Plan {
    let mut b = ProgramBuilder::new(registry());
    let mut last = b.input("x", Fake::new(DType::F32, [2.into(), 2.into()])).expect("law: the name is free");
    for i in 0..count {
        let (name, sizes) = calls[i % calls.len()];
        let made = match sizes {
            Some(sizes) => b.call(name, (last, sizes.to_vec())),
            None => b.call(name, (last,)),
        };
        last = made.expect("law: the operators are in the table");
    }
    let program = b.finish(&[last]).expect("law: the program is whole");
    Plan::new(&program, registry(), &PlanOptions { threads: 2, ..PlanOptions::default() }).expect("law: it is lowered")
}

/// The middle of many times, in nanoseconds.
fn median(mut f: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = Vec::new();
    let begin = Instant::now();
    while times.len() < 500 || (begin.elapsed() < Duration::from_millis(500) && times.len() < 100_000) {
        let start = Instant::now();
        f();
        times.push(start.elapsed());
    }
    times.sort();
    times[times.len() / 2].as_nanos() as f64
}

/// The time of a call.
fn call(plan: &Plan) -> f64 {
    let x = Tensor::from_vec(&[2, 2], vec![1.0f32, -2.0, 3.0, -4.0]).expect("law: four numbers");
    median(|| drop(black_box(plan.run(vec![x.clone().into()]).expect("law: it runs"))))
}

fn work(nanos: u128) {
    let start = Instant::now();
    while start.elapsed().as_nanos() < nanos {
        std::hint::spin_loop();
    }
}

fn main() {
    let one = call(&chain(1, &[("aten::relu", None)]));
    println!("a call of one step on 4 elements: {:.2} µs", one / 1e3);
    let view = |sizes| ("aten::view", Some(sizes));
    for (what, calls) in [
        ("step", &[("aten::relu", None), ("aten::neg", None), ("aten::abs", None)][..]),
        ("view", &[view([4, 1]), view([1, 4]), view([2, 2])]),
    ] {
        let plan = chain(STEPS, calls);
        let all = call(&plan);
        let each = (all - one) / (STEPS - 1) as f64;
        println!(
            "{STEPS} {what}s on 4 elements, {} in the plan: {:.2} µs, {each:.0} ns each",
            plan.num_steps(),
            all / 1e3
        );
    }
    let pool = Pool::new(2, usize::MAX).expect("law: a thread starts");
    pool.install(|| {
        let shared = median(|| parallel::for_single_tasks(2, &|_| work(2_000)));
        println!("two tasks of 2 µs in a team of two: {:.2} µs", shared / 1e3);
    });
}
