//! Layouts that a plan chooses: the results are those without, strides included.

use crate::winograd::noise;
use oxport::custom::Result;
use oxport::{DType, Fake, Opt, PlanOptions, ProgramBuilder, Tensor, Toolchain, Value};
use oxport_ir::NodeId;

/// A sum of a sequence that lies column by column and one that lies row by row is laid out once, where rows are read.
#[test]
fn sequences_are_laid_out_by_rows() {
    let toolchain = Toolchain::standard();
    let sizes = |sizes: [i64; 3]| sizes.map(Into::into);
    let mut b = ProgramBuilder::new(toolchain.registry());
    let x = b.input("x", Fake::new(DType::F32, sizes([2, 8, 40]))).expect("an input");
    let y = b.input("y", Fake::new(DType::F32, sizes([2, 40, 8]))).expect("an input");
    let mut calls = || -> Result<[NodeId; 3]> {
        let turned = b.call("permute", (x, vec![0i64, 2, 1]))?;
        let sum = b.call("add.Tensor", (turned, y))?;
        let norm = b.call("layer_norm", (sum, vec![8i64]))?;
        let next = b.call("add.Tensor", (sum, norm))?;
        let last = b.call("softmax.int", (next, -1i64))?;
        Ok([sum, next, last])
    };
    let outputs = calls().expect("the calls are valid");
    let program = b.finish(&outputs).expect("a program");
    let run = |layout: bool| {
        let options = PlanOptions { threads: 1, layout, ..PlanOptions::default() };
        let prepared = toolchain.prepare(&program, Opt::None).expect("it is prepared");
        let plan = toolchain.plan(&prepared, &options).expect("a plan");
        let inputs = vec![Value::Tensor(noise(&[2, 8, 40], 0)), Value::Tensor(noise(&[2, 40, 8], 1))];
        (plan.num_steps(), plan.run(inputs).expect("it runs").user)
    };
    let ((steps, plain), (more, laid_out)) = (run(false), run(true));
    // One operand is laid out by rows; two results are permuted, copied and permuted back.
    assert_eq!(more, steps + 1 + 2 * 3);
    for (a, b) in plain.iter().zip(&laid_out) {
        let (Value::Tensor(a), Value::Tensor(b)) = (a, b) else { panic!("tensors") };
        let bits = |t: &Tensor| t.to_vec::<f32>().expect("float32").iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((a.strides(), bits(a)), (b.strides(), bits(b)));
    }
}
