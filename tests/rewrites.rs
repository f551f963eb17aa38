//! Programs whose meaning improvement must keep: values to the bit (or up to rounding), strides of outputs, what shares
//! a storage with what, and the state that is left behind. A table of them, and a generator of small ones.
//!
//! A sketch is a line of inputs (`x: f32[2, 3]{1, 2}`; names that begin with `b_` are buffers), calls, and what is
//! returned:
//! `x: f32[2, 3] | y = clone(x); add_.Tensor(x, 1) | y`.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{
    DType, ExportedProgram, Fake, Limits, Opt, Outputs, PlanOptions, ProgramBuilder, Tensor, Value, registry,
};
use oxport_ir::storage::{Sharing, sharing};
use oxport_ir::{Argument, Dialect, Graph, MemoryFormat, Node, NodeId, NodeKind};
use oxport_testkit::samples;
use std::collections::HashMap;

/// A sketch as a program, and its user's inputs as metas.
fn program(sketch: &str) -> Result<ExportedProgram, String> {
    let mut parts = sketch.split('|').map(str::trim);
    let (inputs, calls, returned) = match (parts.next(), parts.next(), parts.next()) {
        (Some(i), Some(c), Some(r)) => (i, c, r),
        _ => return Err("a sketch has three parts".to_string()),
    };
    let mut b = ProgramBuilder::new(registry());
    let mut names: HashMap<String, Argument> = HashMap::new();
    for (i, input) in oxport_ir::text::split_top(inputs).into_iter().enumerate() {
        let (name, text) = input.split_once(": ").ok_or("an input is `name: tensor`")?;
        let tensor = samples::parse(text)?.tensors.pop().ok_or("an input is a tensor")?;
        let node = match name.strip_prefix("b_") {
            Some(buffer) => b.buffer(buffer, awkward(&Fake::of(&tensor), i as u64)),
            None => b.input(name, Fake::of(&tensor)),
        };
        names.insert(name.to_string(), node.map_err(|e| e.to_string())?.into());
    }
    for call in calls.split(';').map(str::trim).filter(|c| !c.is_empty()) {
        let (name, text) = call.split_once(" = ").unwrap_or(("_", call));
        let look = |w: &str| {
            let dtype = DType::from_name(w).map(Argument::DType);
            let format = MemoryFormat::ALL.into_iter().find(|m| m.name() == w).map(Argument::MemoryFormat);
            names.get(w).cloned().or(dtype).or(format)
        };
        let value = b.calls().expr(text, &look).map_err(|e| format!("{call}: {e}"))?;
        names.insert(name.to_string(), value);
    }
    let node = |name: &str| names.get(name).and_then(Argument::as_node).ok_or(format!("no value {name}"));
    let returned: Vec<NodeId> = oxport_ir::text::split_top(returned).into_iter().map(node).collect::<Result<_, _>>()?;
    let mut program = b.finish(&returned).map_err(|e| e.to_string())?;
    program.dialect = Dialect::Training;
    Ok(program)
}

/// A tensor of a meta's dtype and layout with extreme values.
fn awkward(fake: &Fake, seed: u64) -> Tensor {
    let layout = fake.concrete_layout().expect("law: sketches have plain sizes");
    let span: i64 = layout.sizes.iter().zip(&layout.strides).map(|(n, s)| (n - 1).max(0) * s).sum();
    samples::extremes(fake.dtype, span as usize + 1, seed).with_layout(layout).expect("law: the span holds the layout")
}

/// True for a `reshape` or its like whose result is a view of its first argument.
fn is_viewed(graph: &Graph, node: &Node) -> bool {
    let layout = |node: &Node| node.val()?.as_tensor()?.concrete_layout();
    let input = node.args.first().and_then(Argument::as_node).and_then(|x| layout(graph.node(x)));
    let is_view = node.op().and_then(|op| op.schema()).is_some_and(|s| s.is_view()) && !node.calls("aten::to.dtype");
    is_view
        && input
            .zip(layout(node))
            .is_some_and(|(from, to)| from.reshape(&to.sizes).is_some_and(|l| l.strides == to.strides))
}

/// True for a `reshape` that has to copy, and for a `view` like it, which PyTorch refuses outside of functional graphs.
fn must_copy(graph: &Graph, node: &Node) -> bool {
    let layout = |node: &Node| node.val()?.as_tensor()?.concrete_layout();
    let input = node.args.first().and_then(Argument::as_node).and_then(|x| layout(graph.node(x)));
    (node.calls("aten::view") || node.calls("aten::reshape"))
        && input.zip(layout(node)).is_some_and(|(from, to)| from.reshape(&to.sizes).is_none())
}

/// For each output the storages that it may lie in: an input by its name, else the first output of the same.
fn storages(program: &ExportedProgram) -> Vec<Vec<String>> {
    let graph = &program.graph;
    let mut seen: HashMap<NodeId, usize> = HashMap::new();
    let outputs = graph.outputs().iter().enumerate();
    outputs
        .map(|(i, output)| {
            let (mut open, mut found) = (Vec::from_iter(output.as_node()), Vec::new());
            while let Some(id) = open.pop() {
                let node = graph.node(id);
                match (&node.kind, sharing(node)) {
                    (NodeKind::Placeholder, _) => found.push(node.name.to_string()),
                    (_, how) if how == Sharing::Own || must_copy(graph, node) => {
                        found.push(format!("output {}", seen.entry(id).or_insert(i)));
                    }
                    (_, Sharing::View | Sharing::Own) => {
                        open.extend(node.args.first().and_then(Argument::as_node));
                    }
                    // One that copies only what cannot be viewed.
                    (_, Sharing::Unclear) if is_viewed(graph, node) => {
                        open.extend(node.args.first().and_then(Argument::as_node));
                    }
                    (_, Sharing::Unclear) => {
                        found.push(format!("output {}", seen.entry(id).or_insert(i)));
                        node.for_each_input(&mut |n| open.push(n));
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        })
        .collect()
}

/// Compares a program with what improvement makes of it.
fn is_kept(program: &ExportedProgram, opt: Opt) -> Result<(), String> {
    let run = |program: &ExportedProgram, inputs: &[Tensor]| -> Result<Outputs, String> {
        let prepared = oxport::prepare(program, Opt::None).map_err(|e| e.to_string())?;
        let options = PlanOptions { threads: 1, seed: 3, ..Default::default() };
        let plan = oxport::plan(&prepared, &options).map_err(|e| e.to_string())?;
        plan.run(inputs.iter().cloned().map(Value::Tensor).collect()).map_err(|e| e.to_string())
    };
    let before = oxport::functionalize(program).map_err(|e| format!("not functional: {e}"))?;
    // Writes to gapped inputs are made functional with strides that do not follow: the verifier says so, before any
    // rule.
    if let Some(d) = oxport::verify(&before).first() {
        return Err(format!("not functional: {d}"));
    }
    let (after, report) = oxport::optimize(&before, opt, &Limits::default()).map_err(|e| format!("improve: {e}"))?;
    let fired = format!("{opt:?} {:?}", report.rules);
    if let Some(d) = oxport::verify(&after).first() {
        return Err(format!("{fired}: not valid: {d}"));
    }
    let (a, b) = (storages(&before), storages(&after));
    if a != b {
        return Err(format!("{fired}: storages {a:?} became {b:?}"));
    }
    let fakes: Vec<Fake> = before
        .graph
        .placeholders()
        .zip(&before.signature.inputs)
        .filter(|(_, spec)| spec.kind.is_user())
        .filter_map(|((_, node), _)| node.val()?.as_tensor().cloned())
        .collect();
    for seed in 0..4 {
        let inputs: Vec<Tensor> = fakes.iter().zip(0..).map(|(f, i)| awkward(f, seed + 3 * i)).collect();
        let (a, b) = match (run(&before, &inputs), run(&after, &inputs)) {
            // A call that fails may be left out where nobody needs its result, as PyTorch does.
            (Err(_), _) => continue,
            (Ok(a), b) => (a, b.map_err(|e| format!("{fired}: after: {e}"))?),
        };
        let tolerance = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
        let values = |o: &Outputs| -> Vec<Value> {
            let written =
                o.mutated_inputs.iter().map(|(_, t)| t).chain(o.mutated_buffers.iter().map(|(_, t)| t)).chain(&o.state);
            o.user.iter().cloned().chain(written.cloned().map(Value::Tensor)).collect()
        };
        let (a, b) = (values(&a), values(&b));
        if a.len() != b.len() {
            return Err(format!("{fired}: {} results became {}", a.len(), b.len()));
        }
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            let c = compare(b, a, tolerance);
            if !c.agree {
                return Err(format!("{fired}: result {i}, seed {seed}: {}", c.detail));
            }
            if let (Value::Tensor(a), Value::Tensor(b)) = (a, b)
                && a.strides() != b.strides()
            {
                return Err(format!("{fired}: result {i}: strides {:?} became {:?}", a.strides(), b.strides()));
            }
        }
    }
    Ok(())
}

/// Sketches over dtypes: `_` stands for each.
const PER_DTYPE: &[&str] = &[
    "x: _[40] | y = abs(neg(x)) | y",
    "x: _[40] | y = relu(abs(x)) | y",
    "x: _[40] | y = neg(neg(x)) | y",
    "x: _[40] | y = sign(sign(x)) | y",
    "x: _[40] | y = floor(floor(x)); z = ceil(ceil(x)) | y, z",
    "x: _[40] | y = add.Tensor(mul.Tensor(x, 1), x) | y",
    "x: _[40] | y = add.Tensor(mul.Tensor(x, 1.0), x) | y",
    "x: _[40] | y = add.Tensor(div.Tensor(x, 1), x) | y",
    "x: _[40] | y = sub.Tensor(x, 0); z = add.Tensor(x, 0); w = add.Tensor(y, z) | y, z, w",
    "x: _[40] | y = pow.Tensor_Scalar(x, 1); z = pow.Tensor_Scalar(x, 2); w = add.Tensor(y, z) | y, z, w",
    "x: _[40] | y = div.Tensor(x, 8); z = div.Tensor(x, 1024); w = div.Tensor(x, 0.0009765625); v = \
    div.Tensor(x, -4.0) | y, z, w, v",
    "x: _[4, 10] | y = logical_not(logical_not(x)); z = logical_and(x, x); w = logical_or(x, x) | y, z, w",
    "x: _[40] | y = bitwise_not(bitwise_not(x)) | y",
    "x: _[40], c: b8[3, 40] | y = where.self(c, x, x); z = maximum(x, x); w = minimum(x, x) | y, z, w",
    "x: _[2, 3] | y = to.dtype(x, float32); z = add.Tensor(y, 1) | y, z",
    "x: _[2, 3] | y = to.dtype(to.dtype(x, float64), float16) | y",
];

const SKETCHES: &[&str] = &[
    // Sizes of 0, of 1, and none.
    "x: f32[] | y = pow.Tensor_Scalar(x, 2) | y",
    "x: f32[0, 3] | y = view(view(x, [3, 0]), [0, 5]) | y",
    "x: f32[0, 2] | y = view(view(x, [0, 3, 2, 0]), [-1, 7]) | y",
    "x: f32[1, 3] | y = expand(expand(x, [0, 3]), [0, 3]); z = add.Tensor(expand(expand(x, [2, 3]), \
    [4, 2, 3]), 1) | y, z",
    "x: f32[2, 3, 4] | y = squeeze.dim(unsqueeze(x, -2), -2); z = permute(permute(x, [-1, 0, 1]), [1, -1, 0]) | y, z",
    "x: f32[2, 3] | y = add.Tensor(cat([x], 1), 1); z = add.Tensor(slice.Tensor(x, 0, -100, 100, 1), 1) | y, z",
    "x: f32[1, 3] | y = squeeze.dim(x, 0); z = squeeze.dim(x, 1) | y, z",
    // What shares a storage.
    "x: f32[2, 3] | y = clone(x); z = clone(x) | y, z",
    "x: f32[2, 3] | y = view(clone(x), [6]); z = clone(view(x, [6])) | y, z",
    "x: f32[2, 3] | y = contiguous(transpose.int(x, 0, 1)) | y",
    "x: f32[1, 3] | y = clone(expand(x, [4, 3])) | y",
    "x: f32[2, 3] | y = add.Tensor(x, 1); z = add.Tensor(x, 1) | y, z",
    "x: f32[2, 3] | y = add.Tensor(x, 1); z = clone(add.Tensor(x, 1)) | y, z",
    "x: f32[2, 3] | y = relu(x); z = relu(relu(x)) | y, z",
    "x: f32[2, 3] | y = relu(x); z = relu(neg(neg(x))) | y, z",
    "x: f32[2, 3] | y = neg(neg(x)); z = t(t(x)) | y, z",
    "x: f32[2, 3] | y = to.dtype(x, float32, False, True); z = to.dtype(x, float32) | y, z",
    "x: f32[2, 3] | y = _to_copy(x, dtype=float32); z = cat([x]); w = alias(x); v = detach(x) | y, z, w, v",
    "x: f32[2, 3, 4, 5] | y = clone(relu(x), memory_format=channels_last) | y",
    "x: f32[2, 3] | y = unbind.int(clone(x))[0]; z = unbind.int(x)[0]; w = unbind.int(x)[0] | y, z, w",
    "x: f32[2, 3] | y = max.dim(x, 0)[0]; z = max.dim(x, 0)[0]; w = max.dim(x, 0)[1] | y, z, w",
    "x: f32[2, 3] | y = reshape(x, [6]); z = reshape(reshape(clone(x), [6]), [3, 2]); w = \
    flatten.using_ints(x) | y, z, w",
    "x: f32[2, 3], b_c: f32[3] | y = add.Tensor(x, b_c); z = view(b_c, [3, 1]) | y, z",
    // What is written later.
    "x: f32[2, 3] | y = view(clone(x), [6]); add_.Tensor(x, 1) | y",
    "x: f32[2, 3] | y = clone(x); add_.Tensor(x, 1) | y",
    "x: f32[2, 3], y: f32[2, 3] | a = select.int(clone(x), 0, 0); b = select.int(clone(y), 0, 0); \
    copy_(x, y); mul_.Tensor(y, 0) | a, b",
    "x: f32[3, 2], b_c: f32[2, 3] | y = transpose.int(clone(b_c), 0, 1); add_.Tensor(b_c, 1); z = \
    add.Tensor(y, x) | z, y",
    "x: f32[2, 3], b_c: f32[2, 3] | y = clone(view(b_c, [6])); copy_(b_c, x) | y",
    "x: f32[2], b_c: f32[2, 3] | y = clone(expand(b_c, [2, 2, 3])); mul_.Tensor(b_c, 2) | y",
    "x: f32[3], b_c: f32[3], b_d: f32[3] | h = clone(b_c); copy_(b_c, b_d); copy_(b_d, h); y = add.Tensor(x, 1) | y",
    "x: f32[3] | a = zeros([3]); b = zeros([3]); add_.Tensor(a, 5); y = add.Tensor(a, x); z = add.Tensor(b, x) | y, z",
    "x: f32[3, 4] | v = slice.Tensor(x, 1, 0, 2); add_.Tensor(v, 1); y = as_strided(v, [2, 2], [4, 1]) | y",
    "x: f32[3, 4] | v = slice.Tensor(x, 1, 0, 2); add_.Tensor(v, 1); y = t(v); z = add.Tensor(v, 1) | v, y, z",
    "x: f32[2, 3]{6, 2} | y = alias(x); z = mul_.Tensor(x, 2) | z, y, y",
    "x: f32[0, 3] | y = permute(x, [0, 1]); z = add_.Tensor(transpose.int(x, 0, 1), 1) | z, y, y",
    // Random numbers.
    "x: f32[5] | a = rand_like(x); b = rand_like(x) | b",
    "x: f32[5] | a = rand_like(x); b = mul.Tensor(rand_like(x), 1.0) | a, b",
    "x: f32[1, 2, 4, 8]<1 | a = scaled_dot_product_attention(x, x, x, None, 0.5); b = \
    scaled_dot_product_attention(x, x, x, None, 0.5); c = sub.Tensor(a, b) | a, b, c",
    "x: f32[5] | a = sub.Tensor(rrelu(x, 0.1, 0.3, True), rrelu(x, 0.1, 0.3, True)) | a",
    "x: f32[3, 4] | a = rand_like(contiguous(t(x))); b = rand_like(t(x)); c = \
    bernoulli.p(contiguous(t(x)), 0.5) | a, b, c",
    "x: f32[13, 14] | a = dropout(contiguous(t(add.Tensor(x, 1))), 0.5, True) | a",
    // What reads strides and storages.
    "x: f32[2, 3] | y = as_strided(contiguous(transpose.int(x, 0, 1)), [2, 2], [1, 2]) | y",
    "x: f32[2, 3] | y = as_strided(add.Tensor(contiguous(transpose.int(x, 0, 1)), 1), [2, 2], [1, 2]) | y",
    "x: f32[4, 3] | y = as_strided(clone(slice.Tensor(x, 0, 1, 4)), [2, 2], [1, 2], 0) | y",
    "x: f32[4, 3] | y = as_strided(slice.Tensor(x, 0, 1, 4), [2, 2], [1, 2], 0) | y",
    "x: f32[2, 3, 4] | y = view_as_complex(clone(slice.Tensor(transpose.int(x, 0, 2), 2, 0, 2), \
    memory_format=contiguous_format)) | y",
    "x: f32[2, 3] | y = view.dtype(contiguous(transpose.int(x, 0, 1)), int32); z = \
    unfold(contiguous(t(x)), 0, 2, 1) | y, z",
    "x: f32[2, 3] | y = mul.Tensor(contiguous(t(x)), sym_stride.int(contiguous(t(x)), 0)) | y",
    "x: f32[4, 6] | y = mm(contiguous(t(x)), x); z = sum(contiguous(t(x))); w = cumsum(contiguous(t(x)), 1) | y, z, w",
];

#[test]
fn meaning_is_kept() {
    const DTYPES: [&str; 10] = ["f32", "f64", "f16", "bf16", "i8", "i32", "i64", "u8", "b8", "c64"];
    let each = PER_DTYPE.iter().flat_map(|s| DTYPES.iter().map(|d| s.replacen("_[", &format!("{d}["), 1)));
    let taken = std::cell::Cell::new(0);
    all(each.map(|s| (s, true)).chain(SKETCHES.iter().map(|s| (s.to_string(), false))), |(sketch, may_be_refused)| {
        let program = match program(sketch) {
            Err(_) if *may_be_refused => return Ok(()),
            program => program?,
        };
        taken.set(taken.get() + 1);
        is_kept(&program, Opt::Exact)?;
        // Extreme values are beyond what rounding bounds; the rules that round are tried in `rules.rs`.
        if *may_be_refused { Ok(()) } else { is_kept(&program, Opt::Fast) }
    });
    assert!(taken.get() >= 150, "{} sketches were taken", taken.get());
}

/// What reads a storage past its tensor's elements is refused where a write made that storage another one.
#[test]
fn storages_that_lie_otherwise_are_not_read() {
    let cases = [
        ("x: f32[2, 3]{6, 2} | mul_.Tensor(x, 2); y = as_strided(x, [2, 2], [6, 2]) | y", false),
        ("x: f32[2, 3]{6, 2} | v = t(x); mul_.Tensor(v, 2); y = as_strided(v, [2, 2], [6, 2]) | y", false),
        ("x: f32[2, 3]{1, 2} | mul_.Tensor(x, 2); y = as_strided(x, [2, 2], [1, 3]) | y", true),
        ("x: f32[2, 3]{6, 2} | y = as_strided(x, [2, 2], [6, 2]) | y", true),
    ];
    all(cases, |(sketch, is_taken)| {
        let functional = oxport::functionalize(&program(sketch)?);
        let refused = functional.as_ref().err().is_some_and(|e| e.to_string().contains("may lie otherwise"));
        if functional.is_ok() == *is_taken && refused != *is_taken {
            Ok(())
        } else {
            Err(format!("{sketch}: {functional:?}"))
        }
    });
}

/// Calls of the generator: `$` stands for a value.
const CALLS: &[&str] = &[
    "neg($)",
    "abs($)",
    "relu($)",
    "floor($)",
    "ceil($)",
    "sign($)",
    "logical_not($)",
    "bitwise_not($)",
    "clone($)",
    "contiguous($)",
    "alias($)",
    "detach($)",
    "t($)",
    "mul.Tensor($, 1)",
    "mul.Tensor($, 1.0)",
    "div.Tensor($, 8.0)",
    "div.Tensor($, 1)",
    "add.Tensor($, 0)",
    "sub.Tensor($, 0)",
    "pow.Tensor_Scalar($, 1)",
    "pow.Tensor_Scalar($, 2)",
    "transpose.int($, 0, 1)",
    "permute($, [1, 0])",
    "permute($, [0, 1])",
    "view($, [-1])",
    "view($, [3, 2])",
    "reshape($, [2, 3])",
    "reshape($, [-1])",
    "flatten.using_ints($)",
    "expand($, [2, 3])",
    "slice.Tensor($, 0, 0, 9)",
    "slice.Tensor($, 0, 1, 2)",
    "slice.Tensor($, 1, 0, 9, 2)",
    "select.int($, 0, 0)",
    "squeeze.dim($, 0)",
    "squeeze.dim($, 1)",
    "unsqueeze($, 0)",
    "unsqueeze($, 1)",
    "cat([$])",
    "cat([$, $])",
    "to.dtype($, float32)",
    "_to_copy($, dtype=float16)",
    "_to_copy($)",
    "sum($)",
    "cumsum($, 0)",
    "rand_like($)",
    "dropout($, 0.5, True)",
    "bernoulli.p($, 0.5)",
    "mm($, $)",
    "maximum($, $)",
    "where.self(gt.Scalar($, 0), $, $)",
    "as_strided($, [2, 2], [1, 2])",
    "as_strided($, [2], [1], 1)",
    "add.Tensor($, $)",
    "mul.Tensor($, $)",
    "logical_and($, $)",
    "max.dim($, 0)[0]",
    "unbind.int($)[0]",
    "split.Tensor($, 1)[0]",
    "sigmoid($)",
    "clone($, memory_format=contiguous_format)",
    "lift_fresh_copy($)",
    "add_.Tensor($, 1)",
    "mul_.Tensor($, 2)",
    "copy_($, $)",
    "relu_($)",
    "neg_($)",
    "abs_($)",
];

/// A small program, drawn.
fn drawn(seed: u64) -> String {
    let mut numbers = samples::draw(DType::I64, 64, Some((0.0, 1e6)), seed.wrapping_mul(0x2545_F491_4F6C_DD1D) + 1)
        .into_iter()
        .cycle();
    let mut next = |n: usize| numbers.next().expect("law: endless") as usize % n;
    let dtypes = ["f32", "f32", "f64", "f16", "bf16", "i8", "i32", "i64", "u8", "b8", "c64"];
    let shapes = [
        "2, 3",
        "3, 2",
        "2, 2",
        "1, 3",
        "2, 1",
        "0, 3",
        "6",
        "1",
        "",
        "2, 3]{1, 2",
        "2, 3]{6, 2",
        "2, 2]{0, 0",
        "1, 3]{7, 1",
    ];
    let dtype = dtypes[next(dtypes.len())];
    let input = |name: &str, at: usize| {
        format!("{name}: {dtype}[{}{}", shapes[at], if shapes[at].contains('{') { "}" } else { "]" })
    };
    let shape = next(shapes.len());
    let mut inputs = vec![input("x", shape), input("y", if next(2) == 0 { shape } else { next(shapes.len()) })];
    let mut values = vec!["x".to_string(), "y".to_string()];
    if next(3) == 0 {
        inputs.push(format!("b_c: {dtype}[2, 3]"));
        values.push("b_c".to_string());
    }
    let mut calls: Vec<String> = Vec::new();
    let wanted = 2 + next(7);
    for _ in 0..4 * wanted {
        let mut call = CALLS[next(CALLS.len())].to_string();
        while call.contains('$') {
            // Late values more often: chains are what rules match.
            let back = next(3).min(next(values.len()));
            let at = if next(3) == 0 { next(values.len()) } else { values.len() - 1 - back.min(values.len() - 1) };
            call = call.replacen('$', &values[at], 1);
        }
        let name = format!("v{}", calls.len());
        let tried = format!("{} | {}; {name} = {call} | {name}", inputs.join(", "), calls.join("; "));
        if program(&tried).is_ok() {
            calls.push(format!("{name} = {call}"));
            values.push(name);
        }
        if calls.len() == wanted {
            break;
        }
    }
    let mut returned = vec![values[values.len() - 1].clone()];
    for _ in 0..next(3) {
        returned.push(values[next(values.len())].clone());
    }
    format!("{} | {} | {}", inputs.join(", "), calls.join("; "), returned.join(", "))
}

/// True if the sketch is a program that runs; an error if improvement changes it.
fn hunted(seed: u64) -> Result<bool, String> {
    let sketch = drawn(seed);
    let Ok(program) = program(&sketch) else { return Ok(false) };
    if program.graph.nodes().any(|(_, node)| node.calls("aten::view") && must_copy(&program.graph, node)) {
        // PyTorch exports no such program: its own `view` refuses.
        return Ok(false);
    }
    match is_kept(&program, Opt::Exact) {
        Ok(()) => Ok(true),
        // A write that has no functional form.
        Err(e) if e.starts_with("not functional") => Ok(false),
        Err(e) => Err(format!("{sketch}\n    {e}")),
    }
}

/// A part of a hunt; `MINUTES=60 FROM=1000 cargo test --release -p oxport-tests drawn -- --nocapture` goes on from
/// there.
#[test]
fn drawn_programs_keep_their_meaning() {
    let number = |name: &str| std::env::var(name).ok().and_then(|m| m.parse::<u64>().ok()).unwrap_or(0);
    let (start, first) = (std::time::Instant::now(), number("FROM"));
    let (mut drawn, mut ran, mut failures) = (0, 0, Vec::new());
    while drawn < 600 || start.elapsed().as_secs() < 60 * number("MINUTES") && failures.len() < 20 {
        match hunted(first + drawn) {
            Ok(true) => ran += 1,
            Ok(false) => {}
            Err(e) => failures.push(format!("{}: {e}", first + drawn)),
        }
        drawn += 1;
    }
    println!("{drawn} programs drawn, {ran} ran, in {} s", start.elapsed().as_secs());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(2 * ran >= drawn, "{ran} of {drawn} programs ran");
}
