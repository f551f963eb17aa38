//! Four operators as a user would add them, each one row: a view, a random one, one that writes, one that reads
//! strides.
//! `docs/add-an-op.md` shows the table; here every pass treats the rows as what they say.

use crate::root;
use oxport::DType;
use oxport::custom::{Args, Meta, Real, Result};
use oxport::{Fake, OpDef, Opt, PlanOptions, ProgramBuilder, Tensor, Toolchain, Val, Value};
use oxport_ir::{Dialect, Effect, NodeId};

static MYLIB: &[OpDef] = &[
    OpDef::new("mylib::every_other(Tensor(a) x) -> Tensor(a)", every_other)
        .doc("Every other row, as a view.")
        .expr("slice.Tensor(x, 0, None, None, 2)")
        .write_back("slice_scatter(x, value, 0, None, None, 2)"),
    OpDef::new("mylib::jitter(Tensor x) -> Tensor", same)
        .doc("Uniform noise added.")
        .expr("add.Tensor(x, rand_like(x))")
        .effect(Effect::Random),
    OpDef::new("mylib::scale_(Tensor(a!) x, float by) -> ()", |_| Ok(Vec::new()))
        .doc("Multiplied in place: the kernel gives the new value of what the schema says is written.")
        .eval(scale),
    OpDef::new("mylib::row_stride(Tensor x) -> int", |args| {
        Ok(vec![Val::Int(args.at::<&Fake>(0)?.strides[0].clone())])
    })
    .doc("The stride of the first dimension.")
    .eval(|args| Ok(vec![Value::Int(args.at::<&Tensor>(0)?.strides()[0])])),
];

fn same(args: &Args<'_, Meta>) -> Result<Vec<Val>> {
    Ok(vec![Val::Tensor(args.at::<&Fake>(0)?.clone())])
}

fn every_other(args: &Args<'_, Meta>) -> Result<Vec<Val>> {
    let mut view = args.at::<&Fake>(0)?.clone();
    view.sizes[0] = (&view.sizes[0] + 1).floor_div(&2.into());
    view.strides[0] = &view.strides[0] * 2;
    Ok(vec![Val::Tensor(view)])
}

fn scale(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, by): (&Tensor, f64) = args.unpack()?;
    let scaled = x.to_vec::<f32>()?.iter().map(|x| x * by as f32).collect();
    Ok(vec![Value::Tensor(Tensor::from_vec(x.sizes(), scaled)?)])
}

/// What a program over `x = [[0, 1], [2, 3], [4, 5]]` gives, under `none` and `exact` alike; and how many nodes `exact`
/// leaves.
fn run(build: impl Fn(&mut oxport_ir::Builder<'_>, NodeId) -> Result<NodeId>) -> (Vec<f32>, usize) {
    let toolchain = Toolchain::new(&[MYLIB]);
    let x = Tensor::from_vec(&[3, 2], (0u8..6).map(f32::from).collect::<Vec<_>>()).expect("a tensor");
    let mut b = ProgramBuilder::new(toolchain.registry());
    let input = b.input("x", Fake::new(DType::F32, [3i64.into(), 2i64.into()])).expect("an input");
    let result = build(&mut b.calls(), input).expect("the calls are valid");
    let mut program = b.finish(&[result]).expect("a program");
    program.dialect = Dialect::Training;
    assert_eq!(toolchain.verify(&program), []);
    let mut results = [Opt::None, Opt::Exact].map(|opt| {
        let prepared = toolchain.prepare(&program, opt).expect("it is prepared");
        assert_eq!(toolchain.verify(&prepared), []);
        let plan = toolchain.plan(&prepared, &PlanOptions { seed: 7, ..PlanOptions::default() }).expect("a plan");
        let outputs = plan.run(vec![Value::Tensor(x.clone())]).expect("it runs");
        let Value::Tensor(y) = &outputs.user[0] else { panic!("a tensor") };
        (y.to_vec::<f32>().expect("float32"), prepared.graph.len())
    });
    assert_eq!(results[0].0, results[1].0);
    std::mem::take(&mut results[1])
}

#[test]
fn a_view_is_written_through() {
    let (y, _) = run(|b, x| {
        let own = b.call("clone", (x,))?;
        let view = b.call("mylib::every_other", (own,))?;
        b.call("add_.Scalar", (view, 10.0))?;
        Ok(own)
    });
    assert_eq!(y, [10.0, 11.0, 2.0, 3.0, 14.0, 15.0]);
}

#[test]
fn random_calls_are_neither_merged_nor_dropped() {
    let difference = |b: &mut oxport_ir::Builder<'_>, x| {
        let (first, second) = (b.call("mylib::jitter", (x,))?, b.call("mylib::jitter", (x,))?);
        b.call("sub.Tensor", (second, first))
    };
    let (y, _) = run(difference);
    assert!(y.iter().all(|d| *d != 0.0), "{y:?}");
    // A draw that nobody uses: those behind it get the numbers that they got.
    let second = |is_used: bool| {
        run(move |b, x| {
            let first = b.call("mylib::jitter", (x,))?;
            let second = b.call("mylib::jitter", (x,))?;
            if is_used { b.call("cat", (vec![second, first],)) } else { Ok(second) }
        })
    };
    assert_eq!(second(true).0[..6], second(false).0[..]);
}

#[test]
fn a_write_is_seen_by_what_follows() {
    let (y, _) = run(|b, x| {
        let own = b.call("clone", (x,))?;
        b.call("mylib::scale_", (own, 3.0))?;
        b.call("add.Scalar", (own, 1.0))
    });
    assert_eq!(y, [1.0, 4.0, 7.0, 10.0, 13.0, 16.0]);
}

#[test]
fn strides_are_those_of_the_program() {
    let (y, _) = run(|b, x| {
        let turned = b.call("t", (x,))?;
        let stride = b.call("mylib::row_stride", (turned,))?;
        b.call("mul.Scalar", (x, stride))
    });
    assert_eq!(y, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

/// A plan lays images out channels-last: what reads strides sees those of the program, and so does the caller. One
/// image has a size that is not known.
#[test]
fn strides_are_those_of_the_program_behind_convolutions() {
    let toolchain = Toolchain::new(&[MYLIB]);
    let noise = |sizes: &[i64]| {
        let n = sizes.iter().product::<i64>() as usize;
        let data = (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
        Tensor::from_vec(sizes, data).expect("a tensor")
    };
    let mut b = ProgramBuilder::new(toolchain.registry());
    let height = b.size("s0", 4, Some(100));
    let x = b.input("x", Fake::new(DType::F32, [2i64.into(), 3i64.into(), height, 10i64.into()])).expect("an input");
    let first = b.parameter("first", noise(&[16, 3, 3, 3])).expect("a parameter");
    let second = b.parameter("second", noise(&[24, 16, 1, 1])).expect("a parameter");
    let mut calls = || -> Result<[NodeId; 4]> {
        let y = b.call("conv2d", (x, first))?;
        let y = b.call("relu", (y,))?;
        let z = b.call("conv2d", (y, second))?;
        let image = b.call("select.int", (z, 0i64, 0i64))?;
        let stride = b.call("mylib::row_stride", (image,))?;
        let turned = b.call("transpose.int", (y, 1i64, 3i64))?;
        let mean = b.call("mean.dim", (z, vec![2i64, 3]))?;
        Ok([stride, z, turned, mean])
    };
    let outputs = calls().expect("the calls are valid");
    let program = b.finish(&outputs).expect("a program");
    let prepared = toolchain.prepare(&program, Opt::None).expect("it is prepared");
    for rows in [8, 5] {
        let run = |layout: bool| {
            let options = PlanOptions { threads: 1, layout, ..PlanOptions::default() };
            let plan = toolchain.plan(&prepared, &options).expect("a plan");
            let inputs = || vec![Value::Tensor(noise(&[2, 3, rows, 10]))];
            plan.run(inputs()).expect("it runs");
            (plan.num_steps(), plan.run(inputs()).expect("it runs").user)
        };
        let ((steps, plain), (more, laid_out)) = (run(false), run(true));
        assert!(more > steps, "the plan has steps that restore strides: {more}, without {steps}");
        assert!(matches!(laid_out[0], Value::Int(n) if n == (rows - 2) * 8), "{:?}", laid_out[0]);
        for (a, b) in plain[1..].iter().zip(&laid_out[1..]) {
            let (Value::Tensor(a), Value::Tensor(b)) = (a, b) else { panic!("tensors") };
            let bits = |t: &Tensor| t.to_vec::<f32>().expect("float32").iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!((a.strides(), bits(a)), (b.strides(), bits(b)));
        }
    }
}

#[test]
fn the_page_shows_this_table() {
    let page = std::fs::read_to_string(root().join("docs/add-an-op.md")).expect("a page");
    let table = include_str!("added_ops.rs").split_once("static MYLIB").and_then(|(_, t)| t.split_once("];\n"));
    let table = format!("static MYLIB{}];", table.expect("a table").0);
    assert!(page.contains(&table), "docs/add-an-op.md does not have\n{table}");
}
