//! Operators made at run time, whose functions are closures with state.

use oxport::custom::{Args, Effect, Meta, Real, Result};
use oxport::{DType, ExportedProgram, Fake, Operator, Opt, PlanOptions, ProgramBuilder, Tensor, Toolchain, Val, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn same(args: &Args<'_, Meta>) -> Result<Vec<Val>> {
    Ok(vec![Val::Tensor(args.at::<&Fake>(0)?.clone())])
}

/// `mylib::shift(x)`: its n-th call adds the n-th element of the table, if the row says so or not.
fn shift(table: Arc<Vec<f32>>, calls: Arc<AtomicU64>, effect: Effect) -> Operator {
    let add = move |args: &Args<'_, Real>| {
        let (x, call) = (args.at::<&Tensor>(0)?, calls.fetch_add(1, Ordering::Relaxed) as usize);
        let y = x.to_vec::<f32>()?.iter().map(|x| x + table[call % table.len()]).collect();
        Ok(vec![Value::Tensor(Tensor::from_vec(x.sizes(), y)?)])
    };
    Operator::new("mylib::shift(Tensor x) -> Tensor", same).eval(add).row(|row| row.effect(effect))
}

/// `shift(x) + shift(x)` over a vector of two.
fn twice(toolchain: &Toolchain) -> ExportedProgram {
    let mut b = ProgramBuilder::new(toolchain.registry());
    let x = b.input("x", Fake::new(DType::F32, [2i64.into()])).expect("an input");
    let first = b.calls().call("mylib::shift", (x,)).expect("a call");
    let second = b.calls().call("mylib::shift", (x,)).expect("a call");
    let sum = b.calls().call("add.Tensor", (first, second)).expect("a call");
    let program = b.finish(&[sum]).expect("a program");
    assert_eq!(toolchain.verify(&program), []);
    program
}

/// What the program gives for `[0, 10]`, prepared so.
fn run(toolchain: &Toolchain, program: &ExportedProgram, opt: Opt) -> Vec<f32> {
    let prepared = toolchain.prepare(program, opt).expect("it is prepared");
    let plan = toolchain.plan(&prepared, &PlanOptions::default()).expect("a plan");
    let x = Tensor::from_vec(&[2], vec![0.0f32, 10.0]).expect("a tensor");
    let outputs = plan.run(vec![Value::Tensor(x)]).expect("it runs");
    let Value::Tensor(y) = &outputs.user[0] else { panic!("a tensor") };
    y.to_vec().expect("float32")
}

#[test]
fn each_toolchain_has_its_own_state_and_drops_it() {
    let tables = [1.0, 2.0].map(|by| Arc::new(vec![by]));
    let calls = Arc::new(AtomicU64::new(0));
    let toolchains = tables.each_ref().map(|table| {
        Toolchain::standard().with_operators([shift(table.clone(), calls.clone(), Effect::Pure)]).expect("a schema")
    });
    let program = twice(&toolchains[0]);
    assert_eq!(run(&toolchains[0], &program, Opt::Exact), [2.0, 22.0]);
    assert_eq!(run(&toolchains[1], &twice(&toolchains[1]), Opt::None), [4.0, 24.0]);
    // A program keeps the operators that it was built with.
    drop(toolchains);
    assert_eq!((Arc::strong_count(&tables[0]), Arc::strong_count(&tables[1])), (2, 1));
    drop(program);
    assert_eq!((Arc::strong_count(&tables[0]), Arc::strong_count(&calls)), (1, 1));
}

#[test]
fn calls_are_merged_where_the_row_says_that_they_are_pure() {
    let (table, calls) = (Arc::new(vec![1.0, 100.0]), Arc::new(AtomicU64::new(0)));
    for (effect, expected) in [(Effect::Pure, [2.0, 22.0]), (Effect::Effectful, [101.0, 121.0])] {
        calls.store(0, Ordering::Relaxed);
        let op = shift(table.clone(), calls.clone(), effect);
        let toolchain = Toolchain::standard().with_operators([op]).expect("a schema");
        assert_eq!(run(&toolchain, &twice(&toolchain), Opt::Exact), expected);
        assert_eq!(calls.load(Ordering::Relaxed), if effect == Effect::Pure { 1 } else { 2 });
    }
}

#[test]
fn closures_fill_and_decompose() {
    let by = String::from("2.5").parse::<f64>().expect("a number");
    let filled = Operator::new("mylib::shift(Tensor x) -> Tensor", same).fill(move |args, outputs| {
        let x = args.at::<&Tensor>(0)?.to_vec::<f32>()?;
        let y = outputs[0].as_mut_slice::<f32>().expect("float32");
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x * by as f32);
        Ok(())
    });
    let decomposed = Operator::new("mylib::shift(Tensor x) -> Tensor", same)
        .decomp(move |b, args| Ok(vec![b.call("mul.Scalar", (args.at::<oxport::NodeId>(0)?, by))?.into()]));
    for op in [filled, decomposed] {
        let toolchain = Toolchain::standard().with_operators([op]).expect("a schema");
        assert_eq!(run(&toolchain, &twice(&toolchain), Opt::Exact), [0.0, 50.0]);
    }
}

#[test]
fn a_schema_that_cannot_be_read_is_an_error() {
    let error = Toolchain::standard().with_operators([Operator::new("mylib::shift(Tensor", same)]).unwrap_err();
    assert_eq!(error.to_string(), "schema column 20: expected a name in `mylib::shift(Tensor`");
}
