//! The operator table: what an entry says of itself agrees with itself, and with PyTorch's schemas.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{DType, Fake, Opt, PlanOptions, Tensor, Value, registry};
use oxport_ir::infer::{MetaCx, cost_of, infer_call};
use oxport_ir::{Argument, Class, Cost, Decomp, Exact, Kernel, MemoryFormat, OpDef, OperandStrides, Val, Work};
use oxport_sym::{Assumptions, Expr, Range, ShapeEnv, Symbol};
use oxport_testkit::samples::{Sample, parse};

fn tables() -> impl Iterator<Item = &'static OpDef> {
    oxport_ops::TABLES.iter().flat_map(|t| t.iter())
}

pub fn named(name: &str) -> &'static OpDef {
    tables().find(|d| d.name() == name).expect("law: the name came from the table")
}

#[test]
fn entries_are_unique_and_documented() {
    let mut names: Vec<&str> = tables().map(OpDef::name).collect();
    let count = names.len();
    names.sort_unstable();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1], "two entries of one operator");
    }
    assert!(count > 400, "the table holds {count} operators");
    all(names, |name| {
        let def = named(name);
        if def.doc.is_empty() || !def.doc.ends_with(['.', '`']) {
            return Err("an entry has a doc sentence".to_string());
        }
        match (def.kernel, def.decomp) {
            (Kernel::None, Decomp::None) => Err("it has neither kernel nor decomposition".to_string()),
            _ => Ok(()),
        }
    });
}

/// A kernel's work is stated; what has none costs what it is made of.
#[test]
fn entries_with_a_kernel_state_their_work() {
    all(tables().map(OpDef::name), |name| {
        let def = named(name);
        let is_counted = match def.work {
            Work::Unstated => matches!(def.kernel, Kernel::None),
            // What is usual for the class does not know of the inner sizes.
            Work::Usual(Class::Product | Class::Convolution | Class::Attention | Class::Recurrence) => {
                name.ends_with("_backward")
            }
            Work::Usual(Class::Call) => !matches!(def.kernel, Kernel::Fill(_)),
            Work::Usual(_) => true,
            Work::Counted(..) => true,
        };
        if is_counted { Ok(()) } else { Err("its work is not stated, or not that of its class".to_string()) }
    });
}

/// What some calls cost, counted by hand.
#[test]
fn calls_cost_what_they_do() {
    let rows: &[(&str, &str, Class, f64, f64)] = &[
        ("aten::mm", "f32[2, 3], f32[3, 5]", Class::Product, 60.0, 4.0 * (6.0 + 15.0 + 10.0)),
        ("aten::linear", "f32[4, 2, 3], f32[5, 3], f32[5]", Class::Product, 240.0, 4.0 * (24.0 + 15.0 + 5.0 + 40.0)),
        ("aten::conv2d", "f32[1, 2, 4, 4], f32[3, 2, 3, 3]", Class::Convolution, 432.0, 4.0 * (32.0 + 54.0 + 12.0)),
        ("aten::add.Tensor", "f32[8], f32[8]", Class::Pointwise, 8.0, 96.0),
        ("aten::sum", "f32[4, 4]", Class::Reduction, 16.0, 68.0),
        ("aten::cat", "[f32[2, 3], f32[4, 3]]", Class::Move, 0.0, 144.0),
        ("aten::view", "f32[2, 3], [6]", Class::Call, 0.0, 0.0),
        ("aten::view", "f32[2, 3]{1, 2}, [6]", Class::Move, 0.0, 48.0),
        ("aten::reshape", "f32[2, 3]{1, 2}, [6]", Class::Move, 0.0, 48.0),
        ("aten::contiguous", "f32[2, 3]", Class::Call, 0.0, 0.0),
        ("aten::to.dtype", "f32[2, 3], float32", Class::Call, 0.0, 0.0),
        ("aten::permute", "f32[2, 3], [1, 0]", Class::Call, 0.0, 0.0),
        ("aten::embedding", "f32[100, 4], i64[3]<0..9>", Class::Move, 0.0, 96.0),
    ];
    all(rows.iter().map(|row| format!("{}({})", row.0, row.1)).zip(rows).collect::<Vec<_>>(), |(_, row)| {
        let (name, sample, class, flops, bytes) = **row;
        let sample = parse(sample)?;
        let mut b = oxport::ProgramBuilder::new(registry());
        let inputs: Result<Vec<_>, _> =
            sample.tensors.iter().enumerate().map(|(i, t)| b.input(&format!("x{i}"), Fake::of(t))).collect();
        let inputs = inputs.map_err(|e| e.to_string())?;
        let args = sample.args.iter().map(|a| a.argument(&|i| Argument::Node(inputs[i]))).collect();
        let call = b.calls().call_op(&registry().op(name), args, Default::default()).map_err(|e| e.to_string())?;
        let program = b.finish(&[call]).map_err(|e| e.to_string())?;
        let node = program.graph.nodes().find(|(_, n)| n.calls(name)).ok_or("no call")?.1;
        let cost = cost_of(&program.graph, node, &program.env).ok_or("no cost")?;
        let expected = Cost { class, flops, bytes };
        if cost == expected { Ok(()) } else { Err(format!("{cost:?}, expected {expected:?}")) }
    });
}

#[test]
fn schemas_are_pytorchs() {
    all(tables().map(OpDef::name), |name| match registry().pinned_schema(name) {
        Some(pinned) if pinned.contains('(') && pinned != named(name).schema => {
            Err(format!("`{}` is not the pinned `{pinned}`", named(name).schema))
        }
        None if name.starts_with("aten::") || name.starts_with("prims::") => {
            Err("PyTorch has no such operator".to_string())
        }
        _ => Ok(()),
    });
}

#[test]
fn pinned_schemas_parse_and_print_back() {
    let pinned: Vec<&str> =
        include_str!("../schemas/aten_schemas.txt").lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(pinned.len(), 4301);
    all(pinned, |text| {
        let schema = oxport_ir::FunctionSchema::parse(text).map_err(|e| e.to_string())?;
        let printed = schema.to_string();
        if printed == *text { Ok(()) } else { Err(format!("became `{printed}`")) }
    });
}

#[test]
fn schemas_keep_what_they_say() {
    let parse = |text: &str| oxport_ir::FunctionSchema::parse(text).unwrap();
    let schema = parse("aten::f(t[](a!) self, Tensor(b!)[] other, str s=\"\\\"'\\\\\") -> ((Tensor, t)[])");
    assert!(schema.args[0].is_written() && schema.args[1].is_written());
    assert_eq!(schema.args[2].default, Some(Argument::from("\"'\\")));
    assert_eq!(schema.returns[0].ty.to_string(), "(Tensor, t)[]");
    assert!(!schema.is_vararg && parse("prim::Print(...) -> ()").is_vararg && parse("higher_order::cond").is_vararg);
    assert!(!parse("prim::TupleUnpack(Any tup) -> ...").is_vararg);
    assert!(oxport_ir::FunctionSchema::parse("cond").is_err() && oxport_ir::FunctionSchema::parse("a::b(").is_err());
}

/// What a sample's call yields, with or without the operator's own decomposition.
pub fn execute(def: &OpDef, sample: &Sample, decomposed: bool) -> Result<Vec<Value>, (bool, String)> {
    let failed = |e: oxport::Error| (e.is_unsupported(), e.to_string());
    let mut b = oxport::ProgramBuilder::new(registry());
    let mut ids = Vec::new();
    for (i, t) in sample.tensors.iter().enumerate() {
        ids.push(b.input(&format!("x{i}"), Fake::of(t)).map_err(|e| failed(e.into()))?);
    }
    let tensor = |i: usize| Argument::Node(ids[i]);
    let args = sample.args.iter().map(|a| a.argument(&tensor)).collect();
    let kwargs = sample.kwargs.iter().map(|(k, a)| (k.as_str().into(), a.argument(&tensor))).collect();
    let call = b.calls().call_op(&registry().op(def.name()), args, kwargs).map_err(|e| failed(e.into()))?;
    let val = b.calls().val(call).map_err(|e| failed(e.into()))?.clone();
    let outputs = match &val {
        Val::List(l) if !l.is_empty() => (0..l.len() as i64)
            .map(|i| b.calls().getitem(call, i))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| failed(e.into()))?,
        _ => vec![call],
    };
    let mut program = b.finish(&outputs).map_err(|e| failed(e.into()))?;
    if decomposed {
        program = oxport_passes::decompose_where(&program, registry(), &|op| op.name() == def.name())
            .map_err(|e| failed(e.into()))?;
    }
    // Some rows are of Python functions that PyTorch computes with while it traces, and refuses in a program.
    let toolchain = oxport::Toolchain::standard().unverified();
    let program = toolchain.prepare(&program, Opt::None).map_err(failed)?;
    let plan = oxport::plan(&program, &PlanOptions { threads: 1, ..PlanOptions::default() }).map_err(failed)?;
    let inputs = sample.tensors.iter().cloned().map(Value::Tensor).collect();
    let results = plan.run(inputs).map_err(|e| failed(e.into()))?.user;
    // The meta said what the kernel would give.
    let metas = match &val {
        Val::List(l) if !l.is_empty() => l.clone(),
        one => vec![one.clone()],
    };
    for (meta, got) in metas.iter().zip(&results) {
        if let (Val::Tensor(meta), Value::Tensor(t)) = (meta, got) {
            let sizes_differ = meta.concrete_sizes().is_some_and(|s| s[..] != *t.sizes());
            if meta.dtype != t.dtype() || sizes_differ {
                return Err((false, format!("meta {meta}, kernel {}{:?}", t.dtype().short(), t.sizes())));
            }
            // The stride of a dimension of one element says nothing, nor do those of no elements.
            let strides = meta.strides.iter().zip(t.strides()).zip(t.sizes()).filter(|(_, size)| **size > 1);
            if !decomposed
                && t.numel() > 0
                && strides.clone().any(|((said, is), _)| said.as_int().is_some_and(|said| said != *is))
            {
                let said: Vec<String> = meta.strides.iter().map(ToString::to_string).collect();
                return Err((false, format!("meta strides [{}], kernel {:?} of {meta}", said.join(", "), t.strides())));
            }
        }
    }
    Ok(results)
}

fn samples() -> Vec<(&'static str, &'static str)> {
    tables().flat_map(|d| d.samples.iter().map(move |s| (d.name(), *s))).collect()
}

#[test]
fn samples_run_and_error_samples_are_refused() {
    all(samples(), |(name, text)| {
        let sample = parse(text)?;
        match (execute(named(name), &sample, false), sample.is_error) {
            (Ok(_), false) => Ok(()),
            (Err((false, _)), true) => Ok(()),
            (Err((true, e)), true) => Err(format!("refused as unsupported: {e}")),
            (Ok(_), true) => Err("it must be refused".to_string()),
            (Err((_, e)), false) => Err(e),
        }
    });
}

/// Calls on images that are larger than what a kernel takes in one step.
const IMAGES: &[(&str, &str)] = &[
    ("aten::convolution", "f32[2, 19, 9, 11], f32[24, 19, 3, 3], f32[24], [2, 1], [1, 2], [1, 1], False, [0, 0], 1"),
    ("aten::convolution", "f32[1, 24, 9, 11], f32[48, 3, 3, 3], None, [1, 1], [1, 1], [1, 2], False, [0, 0], 8"),
    ("aten::convolution", "f32[1, 21, 9, 30], f32[21, 1, 3, 3], f32[21], [2, 2], [1, 1], [1, 1], False, [0, 0], 21"),
    ("aten::convolution", "f64[1, 3, 19, 17], f64[40, 3, 5, 5], f64[40], [2, 2], [2, 2], [1, 1], False, [0, 0], 1"),
    ("aten::convolution", "f32[1, 6, 7, 9], f32[6, 5, 3, 3], f32[5], [2, 2], [1, 1], [1, 1], True, [1, 1], 1"),
    (
        "aten::convolution",
        "f32[1, 5, 4, 6, 7], f32[9, 5, 3, 3, 3], f32[9], [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1",
    ),
    ("aten::conv2d", "bf16[1, 19, 9, 11], bf16[24, 19, 3, 3], bf16[24]"),
    ("aten::conv2d", "c64[1, 19, 9, 11], c64[24, 19, 3, 3]"),
    ("aten::sum.dim_IntList", "f32[2, 20, 19, 11], [2, 3]"),
    ("aten::sum.dim_IntList", "f32[2, 300, 9, 11], [1]"),
    ("aten::sum", "f32[2, 20, 19, 11]"),
    ("aten::mean.dim", "f32[2, 20, 19, 11], [2, 3], True"),
    ("aten::mean.dim", "bf16[2, 20, 19, 11], [-1]"),
    ("aten::var.correction", "f32[2, 20, 19, 11], [1, 3]"),
    ("aten::amax", "f32[2, 20, 19, 11], [2, 3]"),
    ("aten::max.dim", "f32[2, 20, 19, 11], 1"),
    ("aten::avg_pool2d", "f32[2, 20, 19, 11], [3, 3], [2, 1], [1, 1]"),
    ("aten::max_pool2d", "f32[2, 20, 19, 11], [3, 3], [2, 1], [1, 1]"),
    ("aten::max_pool2d_with_indices", "f32[2, 20, 19, 11], [3, 3], [2, 1], [1, 1]"),
    ("aten::adaptive_avg_pool2d", "f32[2, 300, 19, 11], [1, 1]"),
    ("aten::adaptive_avg_pool2d", "f32[1, 96, 19, 11], [1, 1]"),
    ("aten::adaptive_avg_pool2d", "f32[1, 304, 19, 11], [1, 1]"),
    ("aten::adaptive_avg_pool2d", "bf16[2, 20, 19, 11], [1, 1]"),
    ("aten::adaptive_avg_pool2d", "f32[2, 20, 19, 11], [4, 3]"),
    ("aten::adaptive_max_pool2d", "f32[2, 20, 19, 11], [4, 3]"),
    ("aten::_native_batch_norm_legit.no_stats", "f32[3, 20, 19, 11], f32[20], f32[20], True, 0.1, 1e-5"),
    ("aten::group_norm", "f32[2, 20, 19, 11], 4, f32[20], f32[20]"),
    ("aten::layer_norm", "f32[2, 20, 19, 70], [70], f32[70], f32[70]"),
    ("aten::softmax.int", "f32[2, 20, 19, 11], 1"),
    ("aten::_log_softmax", "f32[2, 20, 19, 70], 3, False"),
    ("aten::upsample_bilinear2d", "f32[2, 20, 9, 11], [17, 23], False"),
    ("aten::upsample_nearest2d", "f32[2, 20, 9, 11], [18, 22]"),
    ("aten::upsample_bicubic2d", "f32[2, 20, 9, 11], [17, 23], True"),
    ("aten::grid_sampler_2d", "f32[2, 20, 9, 11], f32[2, 5, 6, 2], 0, 0, False"),
    ("aten::linear", "f32[2, 20, 19, 70], f32[33, 70], f32[33]"),
    ("aten::matmul", "f32[2, 20, 19, 70], f32[2, 20, 70, 33]"),
    ("aten::addmm", "f32[33], f32[20, 400], f32[400, 33]"),
    ("aten::scaled_dot_product_attention", "f32[2, 3, 19, 20], f32[2, 3, 40, 20], f32[2, 3, 40, 20]"),
    ("aten::pixel_shuffle", "f32[2, 20, 9, 11], 2"),
    ("aten::cat", "[f32[2, 20, 9, 11], f32[2, 3, 9, 11]], 1"),
    ("aten::constant_pad_nd", "f32[2, 20, 9, 11], [1, 2, 0, 3], 0.5"),
    ("aten::gelu", "f32[2, 20, 19, 11]"),
    ("aten::silu", "f32[2, 20, 19, 11]"),
    ("aten::add.Tensor", "f32[2, 20, 19, 11], f32[20, 1, 1]"),
];

/// Of operators that say so, and of the convolutions that a plan turns: images in any order of memory, on three
/// threads.
#[test]
fn elements_do_not_depend_on_strides() {
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("three threads");
    let says = |name: &str| !matches!(named(name).operand_strides, OperandStrides::Recorded);
    let kernels = |name: &str| !matches!(named(name).kernel, Kernel::None) && named(name).exact != Exact::Random;
    let cases = samples().into_iter().filter(|(n, s)| says(n) && kernels(n) && !s.starts_with('!'));
    let (mut cases, images): (Vec<_>, Vec<_>) = (cases.collect(), IMAGES.to_vec());
    assert!(images.iter().all(|(name, _)| says(name)), "the images are of operators that take any strides");
    let reads = tables().find(|def| def.reads_storage && says(def.name()));
    assert!(reads.is_none(), "what reads a storage sees strides: {:?}", reads.map(OpDef::name));
    cases.extend(images);
    all(cases, |(name, text)| {
        let (def, sample) = (named(name), parse(text)?);
        let plain = execute(def, &sample, false).map_err(|e| e.1)?;
        // In reverse order, and the second dimension innermost.
        let orders: [&dyn Fn(i64) -> Vec<i64>; 2] =
            [&|n| (0..n).rev().collect(), &|n| std::iter::once(0).chain(2..n).chain([1]).take(n as usize).collect()];
        for order in orders {
            let mut sample = sample.clone();
            for t in sample.tensors.iter_mut().filter(|t| t.rank() > 1) {
                let order = order(t.rank() as i64);
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(i, &d)| back[d as usize] = i as i64);
                let turned = t.view(|l| l.permute(&order)).and_then(|t| t.contiguous());
                *t = turned.and_then(|t| t.view(|l| l.permute(&back))).map_err(|e| e.to_string())?;
            }
            let turned = three.install(|| execute(def, &sample, false)).map_err(|e| e.1)?;
            for (a, b) in plain.iter().zip(&turned) {
                let c = compare(b, a, Tolerance::Exact);
                if !c.agree {
                    return Err(format!("with strides {:?}: {}", sample.tensors[0].strides(), c.detail));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn decompositions_agree_with_kernels() {
    let both = |d: &OpDef| !matches!(d.kernel, Kernel::None) && !matches!(d.decomp, Decomp::None);
    let cases: Vec<_> = samples().into_iter().filter(|(n, s)| both(named(n)) && !s.starts_with('!')).collect();
    all(cases, |(name, text)| {
        let def = named(name);
        if def.exact == Exact::Random {
            return Ok(());
        }
        let sample = parse(text)?;
        let plain = execute(def, &sample, false).map_err(|e| e.1)?;
        let taken_apart = match execute(def, &sample, true) {
            // A decomposition may leave out what needs data; the kernel has it.
            Err((true, _)) => return Ok(()),
            done => done.map_err(|e| format!("decomposed: {}", e.1))?,
        };
        for (a, b) in plain.iter().zip(&taken_apart) {
            let c = compare(b, a, Tolerance::default());
            if !c.agree {
                return Err(c.detail);
            }
        }
        Ok(())
    });
}

/// The fake of a tensor with every size above 1 a symbol of its own, so valued at capture.
fn symbolic(t: &Tensor, env: &mut ShapeEnv, made: &mut Vec<(Expr, i64)>) -> Fake {
    let sizes: Vec<Expr> = t
        .sizes()
        .iter()
        .map(|&n| {
            if n < 2 {
                return Expr::from(n);
            }
            // Equal sizes are the same symbol: broadcasting needs them so.
            if let Some((e, _)) = made.iter().find(|(_, v)| *v == n) {
                return e.clone();
            }
            let symbol = Symbol::new(&format!("s{}", made.len()), Assumptions::size());
            env.set_range(&symbol, Range::at_least(2));
            env.set_hint(&symbol, n);
            made.push((Expr::symbol(&symbol), n));
            Expr::symbol(&symbol)
        })
        .collect();
    Fake::new(t.dtype(), sizes)
}

/// Operators whose results depend on sizes in a way that symbols do not express.
const NEEDS_NUMBERS: &[&str] = &[
    "aten::cross",
    "aten::pad_sequence",
    "torchao::choose_qparams_affine",
    "torchao::choose_scale_float8",
    "torchao::dequantize_affine",
    "torchao::quantize_affine",
];

#[test]
fn symbolic_metas_evaluate_to_concrete_ones() {
    let cases: Vec<_> = samples().into_iter().filter(|(_, s)| !s.starts_with('!') && !s.contains('{')).collect();
    all(cases, |(name, text)| {
        let def = named(name);
        let sample = parse(text)?;
        let (mut env, mut made) = (ShapeEnv::new(), Vec::new());
        let infer = |fakes: Vec<Fake>, env: &ShapeEnv| -> Result<Val, oxport_ir::Error> {
            let mut graph = oxport_ir::Graph::new();
            let mut ids = Vec::new();
            for (i, fake) in fakes.into_iter().enumerate() {
                let mut node = oxport_ir::Node::new(format!("x{i}"), oxport_ir::NodeKind::Placeholder, Vec::new());
                node.meta.val = Some(Val::Tensor(fake));
                ids.push(graph.append(node)?);
            }
            let tensor = |i: usize| Argument::Node(ids[i]);
            let args: Vec<Argument> = sample.args.iter().map(|a| a.argument(&tensor)).collect();
            let kwargs = sample.kwargs.iter().map(|(k, a)| (k.as_str().into(), a.argument(&tensor))).collect();
            infer_call(&graph, &registry().op(def.name()), &args, &kwargs, &MetaCx::new(env))
        };
        let concrete = infer(sample.tensors.iter().map(Fake::of).collect(), &env).map_err(|e| e.to_string())?;
        let fakes = sample.tensors.iter().map(|t| symbolic(t, &mut env, &mut made)).collect();
        let symbolic = match infer(fakes, &env) {
            Ok(val) => val,
            Err(e) if e.is_unsupported() && NEEDS_NUMBERS.contains(name) => return Ok(()),
            Err(e) => return Err(format!("with symbols for sizes: {e}")),
        };
        for (s, c) in symbolic.tensors().iter().zip(concrete.tensors()) {
            let value = |e: &Expr| e.as_int().or_else(|| env.hint_of(e)?.as_i64());
            let sizes: Option<Vec<i64>> = s.sizes.iter().map(value).collect();
            let want = c.concrete_sizes();
            if let (Some(sizes), Some(want)) = (sizes, want)
                && (sizes[..] != want[..] || s.dtype != c.dtype)
            {
                return Err(format!("symbolic {s} is {sizes:?}, concrete {c}"));
            }
        }
        Ok(())
    });
}

/// What PyTorch tags as drawing from the generator draws here, or draws where its arguments ask for it.
#[test]
fn what_draws_says_so() {
    let registry = oxport::registry();
    let drawing: Vec<&str> =
        registry.names().into_iter().filter(|n| registry.op(n).has_tag("nondeterministic_seeded")).collect();
    let rows = drawing.into_iter().filter(|n| registry.op(n).def().is_some());
    all(rows, |name| {
        let op = registry.op(name);
        let effect = op.effect();
        if effect != oxport_ir::Effect::Random {
            return Err(format!("PyTorch says it draws, the row says {effect:?}"));
        }
        let draws_if = op.def().map_or(&[][..], |d| d.draws_if);
        let unknown = draws_if.iter().find(|n| op.schema().is_none_or(|s| s.arg(n).is_none()));
        unknown.map_or(Ok(()), |n| Err(format!("the schema has no argument `{n}`")))
    });
}

/// A value that a kernel refuses (a class or an index out of range, a probability above 1), a decomposition refuses,
/// too: every tensor of numbers in every sample is filled with values that no operator takes for an index.
#[test]
fn decompositions_refuse_what_kernels_refuse() {
    let both = |d: &OpDef| !matches!(d.kernel, Kernel::None) && !matches!(d.decomp, Decomp::None);
    let cases: Vec<_> = samples().into_iter().filter(|(n, s)| both(named(n)) && !s.starts_with('!')).collect();
    all(cases, |(name, text)| {
        let def = named(name);
        let mut sample = parse(text)?;
        for i in 0..sample.tensors.len() {
            for value in [-1i64, -7, 100] {
                let (sizes, dtype) = (sample.tensors[i].sizes(), sample.tensors[i].dtype());
                let filled =
                    Tensor::from_vec(sizes, vec![value; sample.tensors[i].numel()]).map_err(|e| e.to_string())?;
                let was = std::mem::replace(
                    &mut sample.tensors[i],
                    filled.to_dtype(dtype).expect("law: there is memory for a sample"),
                );
                let done = (execute(def, &sample, false), execute(def, &sample, true));
                sample.tensors[i] = was;
                let (Err((false, _)), Ok(_)) = done else { continue };
                return Err(format!("with {value} in tensor {i} the kernel refuses, the decomposition does not"));
            }
        }
        Ok(())
    });
}

/// Two layers that hand on what they are given show which elements PyTorch drops between them after `manual_seed(7)`.
#[test]
fn recurrent_layers_drop_as_pytorch_does() {
    let text = r#"def forward(self, x: "f32[4, 1, 3]", h: "f32[2, 1, 3]", w: "f32[3, 3]", z: "f32[3, 3]"):
    y = torch.ops.aten.rnn_relu.input(x, h, [w, z, w, z], False, 2, 0.5, True, False, False)
    a: "f32[4, 1, 3]" = y[0]
    return (a,)
"#;
    let program = oxport_ir::parse::parse(text, oxport::registry()).expect("law: the text is a program");
    let tensor = |sizes: &[i64], data: Vec<f32>| Value::Tensor(Tensor::from_vec(sizes, data).expect("they fit"));
    let unit = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let inputs = vec![
        tensor(&[4, 1, 3], vec![1.0; 12]),
        tensor(&[2, 1, 3], vec![0.0; 6]),
        tensor(&[3, 3], unit),
        tensor(&[3, 3], vec![0.0; 9]),
    ];
    let options = PlanOptions { seed: 7, ..PlanOptions::default() };
    let outputs = oxport::plan(&program, &options).expect("a plan").run(inputs).expect("it runs");
    let Value::Tensor(y) = &outputs.user[0] else { panic!("a tensor") };
    let torch = [2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0f32];
    assert_eq!(y.to_vec::<f32>().expect("float32"), torch);
}

/// As PyTorch 2.15 has it: `to` keeps a tensor whose strides suggest the format, as those of all but channels last
/// suggest contiguous.
#[test]
fn to_keeps_what_suggests_its_format() {
    let strides = |layout: &[i64], format: MemoryFormat| {
        let sizes: &[i64] = &[2, 3, 4, 5];
        let x = Fake {
            strides: layout.iter().map(|&s| s.into()).collect(),
            ..Fake::of(&Tensor::zeros(DType::F32, sizes)?)
        };
        let mut b = oxport::ProgramBuilder::new(registry());
        let x = b.input("x", x)?;
        let kwargs = [("memory_format", Argument::MemoryFormat(format))];
        let y = b.calls().call_kw("to.dtype", (x, DType::F32), &kwargs)?;
        let strides = b.calls().fake(y)?.strides.clone();
        Ok::<_, oxport::Error>(strides.iter().map(|s| s.as_int()).collect::<Option<Vec<_>>>())
    };
    let (plain, last, turned) = ([60, 20, 5, 1], [60, 1, 15, 3], [60, 20, 1, 4]);
    for (given, format, expected) in [
        (plain, MemoryFormat::Contiguous, plain),
        (turned, MemoryFormat::Contiguous, turned),
        (last, MemoryFormat::Contiguous, plain),
        (last, MemoryFormat::ChannelsLast, last),
        (turned, MemoryFormat::ChannelsLast, last),
    ] {
        let found = strides(&given, format).expect("a valid call");
        assert_eq!(found, Some(expected.to_vec()), "{given:?} {format:?}");
    }
}
