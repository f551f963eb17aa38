//! One plan, called by several threads at once.

use oxport::io::{inputs_from, read_values};
use oxport::{Opt, PlanOptions};
use std::path::Path;

pub fn main() -> oxport::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp");
    let program = oxport::read(folder.join("program.pt2"))?;
    // One thread per call: the calls are what runs side by side.
    let options = PlanOptions { threads: 1, ..PlanOptions::default() };
    let plan = oxport::plan(&oxport::prepare(&program, Opt::Exact)?, &options)?;
    let inputs = inputs_from(&program, &read_values(&folder.join("io.safetensors"), &Default::default())?)?;

    let expected = plan.run(inputs.clone())?.user;
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| plan.run(inputs.clone()))).collect();
        for call in calls {
            assert_eq!(call.join().expect("no panic")?.user, expected);
        }
        Ok::<(), oxport::Error>(())
    })?;
    println!("four calls gave the same bits:\n{}", expected[0]);
    Ok(())
}
