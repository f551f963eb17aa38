//! Exchanges the weights of a program by name, as `oxport convert --weights`.

use oxport::Tensor;
use oxport::io::Values;
use oxport::weights::exchange;
use std::path::Path;

pub fn main() -> oxport::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp/program.pt2");
    let mut program = oxport::read(file)?;
    let (name, old) = program.tensors().next().map(|(n, t)| (n.to_string(), t.tensor.clone())).expect("it has weights");
    let zeros = Tensor::zeros(old.dtype(), old.sizes())?;

    let found = exchange(&mut program, &Values::from([(name.clone(), zeros.clone().into())]), true)?;
    println!("{} tensor exchanged: {name}", found.exchanged);
    assert_eq!((found.exchanged, &program.state[&*name].tensor), (1, &zeros));
    // All weights must be there, unless they need not.
    let error = exchange(&mut program, &Values::new(), false).expect_err("they are missing");
    println!("{error}");
    Ok(())
}
