//! What a program is: its inputs and outputs, its parameters, what a call costs.

use oxport::Toolchain;
use oxport::info::info;
use std::path::Path;

pub fn main() -> oxport::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp/program.pt2");
    let program = oxport::read(file)?;
    let found = info(Toolchain::standard(), &program, &Default::default());
    for port in found.inputs.iter().chain(&found.outputs) {
        println!("{}  {}  {:?}", port.key, port.path, port.val);
    }
    for symbol in &found.symbols {
        println!("{symbol}");
    }
    println!("{} parameters, {} bytes", found.parameters.elements, found.parameters.bytes);
    match found.run {
        Ok(run) => println!("a call: {} operations, {} bytes read and written", run.cost.flops, run.cost.bytes),
        Err(why) => println!("it cannot run: {}", why.reason),
    }
    assert_eq!((found.inputs.len(), found.parameters.elements), (1, 2645));
    Ok(())
}
