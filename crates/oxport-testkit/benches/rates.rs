//! What calls of each class of kernels take in programs, beside the cost model's coefficients.
//!
//! `cargo bench -p oxport-testkit --bench rates -- DIR...`, where DIR has program.pt2 and io.safetensors.
//!
//! Each step is run by itself, by one thread; the least time of its runs counts. `launch` is the median of calls that
//! move less than 4 kB, the rates are medians of calls that take at least eight times as long, each by its count alone:
//! of the two coefficients of a class that one binds which its calls reach.

use oxport::io::{inputs_from, read_values};
use oxport::{Opt, PlanOptions};
use oxport_ir::{Class, Cost, infer};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// How often a program runs, the first run aside.
const RUNS: usize = 15;

fn main() -> oxport::Result<()> {
    let mut seen: BTreeMap<Class, Vec<(Cost, f64)>> = BTreeMap::new();
    for folder in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        let folder = Path::new(&folder);
        let program = oxport::read(folder.join("program.pt2"))?;
        let program = oxport::prepare(&program, Opt::None)?;
        let plan = oxport::plan(&program, &PlanOptions { threads: 1, prepare: true, ..PlanOptions::default() })?;
        let inputs = inputs_from(&program, &read_values(&folder.join("io.safetensors"), &Default::default())?)?;
        plan.run(inputs.clone())?;
        let mut least: HashMap<String, f64> = HashMap::new();
        for _ in 0..RUNS {
            plan.watch(inputs.clone(), plan.initial_state(), &mut |step| {
                let time = step.time.as_secs_f64() * 1e9;
                let best = least.entry(step.name.to_string()).or_insert(f64::INFINITY);
                *best = best.min(time);
            })?;
        }
        for (_, node) in program.graph.nodes() {
            let cost = infer::cost_of(&program.graph, node, &program.env);
            if let (Some(cost), Some(&time)) = (cost, least.get(&*node.name)) {
                seen.entry(cost.class).or_default().push((cost, time));
            }
        }
    }
    let model = oxport::Model::default();
    println!(
        "class: calls; ns a call, flops/ns, bytes/ns (a quarter, half, three quarters of the calls); coefficients"
    );
    for (class, calls) in seen {
        let times = calls.iter().filter(|(cost, _)| cost.bytes < 4096.0 && cost.flops < 4096.0).map(|(_, time)| *time);
        let launch = quartiles(times.collect());
        let base = launch[1].min(5000.0);
        let long = || calls.iter().filter(move |(_, time)| *time > 8.0 * base);
        let flops = quartiles(long().map(|(cost, time)| cost.flops / (time - base)).collect());
        let bytes = quartiles(long().map(|(cost, time)| cost.bytes / (time - base)).collect());
        println!("{class:?}: {}; {launch:.0?}, {flops:.1?}, {bytes:.1?}; {:?}", calls.len(), model.rate(class));
    }
    Ok(())
}

/// A quarter, half and three quarters of what is there; NaN of nothing.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|q| values.get(values.len() * q / 4).copied().unwrap_or(f64::NAN))
}
