//! Builds a program in Rust, with a dynamic batch size, and writes it as PyTorch would.

use oxport::{DType, Fake, Opt, ProgramBuilder, Tensor};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut b = ProgramBuilder::new(oxport::registry());
    let batch = b.size("s0", 1, Some(64));
    let x = b.input("x", Fake::new(DType::F32, [batch, 2.into()]))?;
    let w = b.parameter("w", Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]))?;
    let y = b.call("aten::linear", (x, w))?;
    let z = b.call("aten::relu", (y,))?;
    let program = b.finish(&[z])?;
    assert!(oxport::verify(&program).is_empty());

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("small.pt2");
    oxport::write(&program, &file)?;

    let plan = oxport::plan(&oxport::prepare(&oxport::read(&file)?, Opt::None)?, &Default::default())?;
    let outputs = plan.run(vec![Tensor::from([[1.0f32, -1.0], [0.0, 1.0]]).into()])?;
    println!("{}", outputs.user[0]);
    assert_eq!(outputs.user[0], Tensor::from([[0.0f32, 0.0], [2.0, 4.0]]).into());
    Ok(())
}
