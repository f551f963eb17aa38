//! Control flow by closures: the program keeps both ways, and computes the one that the data takes.

use oxport::Value;
use oxport_capture::nn::Linear;
use oxport_capture::{Export, Forward, manual_seed};
use oxport_tensor::{DType, Tensor as Data};

fn run(program: &oxport_ir::ExportedProgram, inputs: Vec<Data>) -> Vec<f32> {
    let prepared = oxport::prepare(program, oxport::Opt::None).unwrap();
    let plan = oxport::plan(&prepared, &Default::default()).unwrap();
    let outputs = plan.run(inputs.into_iter().map(Value::Tensor).collect()).unwrap();
    outputs.user[0].as_tensor().unwrap().to_vec::<f32>().unwrap()
}

fn vector(values: [f32; 2]) -> Data {
    Data::from_vec(&[2], values.to_vec()).unwrap()
}

#[test]
fn a_branch_lifts_what_it_uses() {
    manual_seed(0);
    let linear = Linear::new(2, 2);
    let program = Export::new()
        .arg("x", vector([0.0; 2]))
        .arg("y", vector([0.0; 2]))
        .run(&linear, |linear, i| {
            let (x, y) = (i.tensor("x"), i.tensor("y"));
            let positive = x.sum().gt(0);
            let chosen = i.tracer().cond(&positive, &[x], |o| linear.call(&o[0]), |o| &o[0] - &y);
            chosen.unwrap_or_else(|error| {
                i.tracer().refuse(error);
                oxport_pytree::Tree::Leaf(oxport_capture::Value::None)
            })
        })
        .unwrap();
    let found = oxport::verify(&program);
    assert!(found.is_empty(), "{found:?}\n{}", oxport_ir::print::readable(&program));
    let text = oxport_ir::print::readable(&program);
    assert!(
        text.contains("torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, [x, p_bias, p_weight, y])"),
        "{text}"
    );
    assert_eq!(run(&program, vec![vector([-1.0, -2.0]), vector([1.0, 1.0])]), [-2.0, -3.0]);
    let (w, b) =
        (linear.weight.data().to_vec::<f32>().unwrap(), linear.bias.as_ref().unwrap().data().to_vec::<f32>().unwrap());
    let expected = [w[0] + 2.0 * w[1] + b[0], w[2] + 2.0 * w[3] + b[1]];
    let got = run(&program, vec![vector([1.0, 2.0]), vector([0.0, 0.0])]);
    assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} {expected:?}");
}

#[test]
fn a_loop_runs_as_often_as_the_data_says() {
    let zero = Data::zeros(DType::I64, &[]).unwrap();
    let program = Export::new()
        .arg("n", zero)
        .arg("x", vector([0.0; 2]))
        .run(&oxport_capture::nn::Identity::default(), |_, i| {
            let (n, x) = (i.tensor("n"), i.tensor("x"));
            let step = &x * 2.0;
            let last = i.tracer().while_loop(&[n, x], |c| c[0].gt(0), |c| vec![&c[0] - 1, &c[1] + &step]);
            last.map_or_else(
                |error| {
                    i.tracer().refuse(error);
                    i.tensor("x")
                },
                |mut last| last.remove(1),
            )
        })
        .unwrap();
    let found = oxport::verify(&program);
    assert!(found.is_empty(), "{found:?}\n{}", oxport_ir::print::readable(&program));
    let n = |n: i64| Data::from_vec(&[], vec![n]).unwrap();
    assert_eq!(run(&program, vec![n(3), vector([1.0, 2.0])]), [7.0, 14.0]);
    assert_eq!(run(&program, vec![n(0), vector([1.0, 2.0])]), [1.0, 2.0]);
}

#[test]
fn branches_of_different_form_are_refused() {
    let refused = Export::new().arg("x", vector([0.0; 2])).run(&oxport_capture::nn::Identity::default(), |_, i| {
        let x = i.tensor("x");
        let both = i.tracer().cond(&x.sum().gt(0), std::slice::from_ref(&x), |o| o[0].clone(), |o| vec![o[0].clone()]);
        both.map(|_| ()).unwrap_or_else(|error| i.tracer().refuse(error));
        x
    });
    let message = refused.unwrap_err().message().to_string();
    assert_eq!(message, "Expected both branches of cond to return the same pytree structure");
}
