//! Runs exported programs with custom operators:
//!
//! ```sh
//! cargo run --release -p oxport --example custom_op
//! ```
//!
//! `mylib::scaled_tanh` is a decomposition in one line; `mylib::add_into`, which writes its first argument, is a
//! kernel.

use oxport::compare::{Tolerance, compare};
use oxport::custom::{Args, Meta, Real, Result};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{Fake, OpDef, Opt, PlanOptions, ReadOptions, Tensor, Toolchain, Val, Value};
use std::path::Path;

static MYLIB: &[OpDef] = &[
    OpDef::new("mylib::scaled_tanh(Tensor x, float scale=2.0) -> Tensor", same)
        .doc("`tanh(x) * scale`")
        .expr("mul.Scalar(tanh(x), scale)"),
    // Nothing is returned. The kernel gives the new value of what the operator writes.
    OpDef::new("mylib::add_into(Tensor(a!) out, Tensor x) -> ()", |_| Ok(Vec::new())).doc("`out += x`").eval(add_into),
];

fn same(args: &Args<'_, Meta>) -> Result<Vec<Val>> {
    let x: &Fake = args.at(0)?;
    Ok(vec![Val::Tensor(x.clone())])
}

fn add_into(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (out, x): (&Tensor, &Tensor) = args.unpack()?;
    let sum: Vec<f32> = out.to_vec::<f32>()?.iter().zip(x.to_vec::<f32>()?).map(|(a, b)| a + b).collect();
    Ok(vec![Value::Tensor(Tensor::from_vec(out.sizes(), sum)?)])
}

pub fn main() -> oxport::Result<()> {
    let toolchain = Toolchain::new(&[MYLIB]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/custom");
    for name in ["pure", "written", "functional"] {
        let program = toolchain.read(folder.join(name).join("program.pt2"), &ReadOptions::default())?;
        assert!(toolchain.verify(&program).is_empty());
        let plan = toolchain.plan(&toolchain.prepare(&program, Opt::Exact)?, &PlanOptions::default())?;
        let values = read_values(&folder.join(name).join("io.safetensors"), &Default::default())?;
        let outputs = named_outputs(&plan.run(inputs_from(&program, &values)?)?);
        let compared = compare(&outputs["out.0"], &values["out.0"], Tolerance::default());
        assert!(compared.agree, "{name}: {}", compared.detail);
        println!("{name}: as PyTorch");
    }
    Ok(())
}
