//! Reads a program, runs it on the inputs of a file, and compares with PyTorch's outputs.

use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{Opt, PlanOptions};
use std::path::Path;

pub fn main() -> oxport::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/llama_block");
    let program = oxport::read(folder.join("program.pt2"))?;
    let plan = oxport::plan(&oxport::prepare(&program, Opt::Exact)?, &PlanOptions::default())?;

    let values = read_values(&folder.join("io.safetensors"), &Default::default())?;
    let outputs = named_outputs(&plan.run(inputs_from(&program, &values)?)?);
    for (name, got) in &outputs {
        let compared = compare(got, &values[name], Tolerance::default());
        assert!(compared.agree, "{name}: {}", compared.detail);
        println!("{name} agrees with PyTorch:\n{got}");
    }
    Ok(())
}
