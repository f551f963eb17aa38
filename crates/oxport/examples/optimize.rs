//! Optimizes a program by rules that change no bit, and validates the result.

use oxport::validate::validate;
use oxport::{Limits, Opt, ReadLimits, Toolchain};
use std::path::Path;
use std::time::Duration;

pub fn main() -> oxport::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/vit_small/program.pt2");
    let before = oxport::functionalize(&oxport::read(file)?)?;
    let (after, report) = oxport::optimize(&before, Opt::Exact, &Limits::default())?;
    println!("{} nodes before, {} after", report.nodes_before, report.nodes_after);

    let (toolchain, limits) = (Toolchain::standard(), ReadLimits::default());
    let found = validate(toolchain, [&before, &after], Opt::Exact, &limits, Duration::from_secs(5))?;
    println!("{found}");
    assert!(found.is_agreement() && report.nodes_after <= report.nodes_before);
    Ok(())
}
