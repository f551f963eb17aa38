//! Captures a model written in Rust, and runs the program. (Feature `capture`.)

use oxport::capture::nn::{Linear, ReLU};
use oxport::capture::{Dim, Export, Forward, Module, ModuleState, Tensor, manual_seed};
use oxport::{DType, Opt, Tensor as Data};

#[derive(Module)]
struct Mlp {
    fc1: Linear,
    act: ReLU,
    fc2: Linear,
}

impl Forward<&Tensor> for Mlp {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        self.fc2.call(&self.act.call(&self.fc1.call(x))) * 2.0
    }
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    manual_seed(0);
    let model = Mlp { fc1: Linear::new(4, 8), act: ReLU::default(), fc2: Linear::new(8, 3) };
    model.eval();
    let program = Export::new()
        .arg("x", Data::zeros(DType::F32, &[5, 4])?)
        .dim("x", 0, Dim::new("batch").max(64))
        .run(&model, |model, inputs| model.call(&inputs.tensor("x")))?;
    println!("{}", oxport::print::readable(&program));

    let plan = oxport::plan(&oxport::prepare(&program, Opt::Exact)?, &Default::default())?;
    let outputs = plan.run(vec![Data::zeros(DType::F32, &[2, 4])?.into()])?;
    assert_eq!(Data::try_from(outputs.user[0].clone())?.sizes(), [2, 3]);
    Ok(())
}
