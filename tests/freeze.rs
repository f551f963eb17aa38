//! What is done where weights are constants: products of one input are merged, weights are named by what they are made
//! of, and those that nothing reads are dropped. Without it, the state dict stays.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{
    DType, ExportedProgram, Fake, Limits, Model, Opt, PlanOptions, ProgramBuilder, Target, Tensor, Value, registry,
};
use oxport_ir::{NodeId, Result};
use oxport_testkit::samples;

/// A tensor of small numbers.
fn tensor(sizes: &[i64], seed: u64) -> Tensor {
    let count = sizes.iter().product::<i64>() as usize;
    let values: Vec<f32> = samples::draw(DType::I64, count, Some((0.0, 2000.0)), seed + 1)
        .into_iter()
        .map(|n| n as f32 / 1e3 - 1.0)
        .collect();
    Tensor::from_vec(sizes, values).expect("law: as many as the sizes say")
}

/// A program over `x` of these sizes.
fn program(sizes: &[i64], build: impl Fn(&mut ProgramBuilder<'_>, NodeId) -> Result<Vec<NodeId>>) -> ExportedProgram {
    let mut b = ProgramBuilder::new(registry());
    let x = b.input("x", Fake::of(&tensor(sizes, 0))).expect("an input");
    let outputs = build(&mut b, x).expect("calls");
    b.finish(&outputs).expect("a program")
}

/// Products of `x` by parameters of these names and widths, each followed by a relu.
fn linears(b: &mut ProgramBuilder<'_>, x: NodeId, rows: &[(&str, i64)], bias: bool) -> Result<Vec<NodeId>> {
    rows.iter()
        .zip(0u64..)
        .map(|(&(name, width), i)| {
            let w = b.parameter(&format!("attn.{name}.weight"), tensor(&[width, 16], i))?;
            let y = match bias {
                true => {
                    let bias = b.parameter(&format!("attn.{name}.bias"), tensor(&[width], 7 + i))?;
                    b.call("aten::linear", (x, w, bias))?
                }
                false => b.call("aten::linear", (x, w))?,
            };
            b.call("aten::relu", (y,))
        })
        .collect()
}

const QKV: &[(&str, i64)] = &[("q", 16), ("k", 8), ("v", 8)];

fn limits(frozen: bool, grow: f64) -> Limits {
    Limits { model: Model { frozen, target: Target::Cpu, ..Model::default() }, grow, ..Limits::default() }
}

/// Runs both and compares up to rounding, strides too.
fn is_kept(before: &ExportedProgram, after: &ExportedProgram, x: &Tensor) -> std::result::Result<(), String> {
    if let Some(d) = oxport::verify(after).first() {
        return Err(format!("not valid: {d}"));
    }
    let run = |program: &ExportedProgram| {
        let plan = oxport::plan(program, &PlanOptions { threads: 1, ..PlanOptions::default() });
        let plan = plan.map_err(|e| e.to_string())?;
        plan.run(vec![Value::Tensor(x.clone())]).map(|o| o.user).map_err(|e| e.to_string())
    };
    for (a, b) in run(before)?.iter().zip(&run(after)?) {
        let compared = compare(b, a, Tolerance::default());
        let strides = |v: &Value| v.as_tensor().map(|t| t.strides().to_vec());
        if !compared.agree || strides(a) != strides(b) {
            return Err(format!("{}; strides {:?} and {:?}", compared.detail, strides(a), strides(b)));
        }
    }
    Ok(())
}

/// The calls of an operator.
fn calls(program: &ExportedProgram, op: &str) -> usize {
    program.graph.nodes().filter(|(_, n)| n.calls(op)).count()
}

#[test]
fn products_of_one_input_are_merged() {
    for bias in [true, false] {
        let before = program(&[1, 1, 16], |b, x| linears(b, x, QKV, bias));
        let (after, report) = oxport::optimize(&before, Opt::Fast, &limits(true, 0.05)).unwrap();
        assert_eq!(
            (calls(&after, "aten::linear"), report.rules.get("merge-linear")),
            (1, Some(&3)),
            "{:?}",
            report.rules
        );
        assert!(report.cost_after < report.cost_before && !report.is_too_large);
        let names: Vec<&str> = after.constants.keys().map(|n| &**n).collect();
        let expected: &[&str] = if bias { &["attn.qkv_weight", "attn.qkv_bias"] } else { &["attn.qkv_weight"] };
        assert!(expected.iter().all(|n| names.contains(n)) && names.len() == expected.len(), "{names:?}");
        // Nothing reads the old ones.
        assert_eq!((after.state.len(), report.dropped.len()), (0, 3 + 3 * usize::from(bias)));
        is_kept(&before, &after, &tensor(&[1, 1, 16], 3)).unwrap();
    }
}

/// Attention over the parts of a merged product: nothing is copied, though there are several rows.
#[test]
fn heads_are_parts_of_one_product() {
    let before = program(&[2, 5, 16], |b, x| {
        let mut heads = Vec::new();
        for (name, seed) in [("q", 1), ("k", 2), ("v", 3)] {
            let weight = b.parameter(&format!("attn.{name}.weight"), tensor(&[12, 16], seed))?;
            let product = b.call("aten::linear", (x, weight))?;
            let rows = b.call("aten::view", (product, vec![2i64, 5, 3, 4]))?;
            heads.push(b.call("aten::transpose.int", (rows, 1i64, 2i64))?);
        }
        Ok(vec![b.call("aten::scaled_dot_product_attention", (heads[0], heads[1], heads[2]))?])
    });
    let (after, report) = oxport::optimize(&before, Opt::Fast, &limits(true, 0.05)).unwrap();
    let ops = ["linear", "split_with_sizes", "clone", "contiguous"];
    assert_eq!(ops.map(|op| calls(&after, &format!("aten::{op}"))), [1, 1, 0, 0], "{:?}", report.rules);
    assert!(report.cost_after < report.cost_before);
    is_kept(&before, &after, &tensor(&[2, 5, 16], 3)).unwrap();
}

#[test]
fn nothing_is_merged_that_may_not_be() {
    let cases = ["no freeze", "exact", "weights that are written", "weights that are given", "a tensor that grows"];
    all(cases, |case| {
        let before = program(&[1, 1, 16], |b, x| match *case {
            // One of the weights stays, since it is returned: the merged one is stored beside it.
            "a tensor that grows" => {
                let mut outputs = Vec::new();
                for (name, seed) in [("q", 1), ("k", 2)] {
                    let w = b.parameter(name, tensor(&[4000, 16], seed))?;
                    let y = b.call("aten::linear", (x, w))?;
                    outputs.push(b.call("aten::relu", (y,))?);
                    outputs.push(b.call("aten::mul.Tensor", (w, x))?);
                }
                Ok(outputs)
            }
            "weights that are given" => {
                let w = ["a", "b"].map(|name| b.input(name, Fake::of(&tensor(&[16, 16], 1))));
                let [v, w] = w;
                let (v, w) = (v?, w?);
                Ok(vec![b.call("aten::linear", (x, v))?, b.call("aten::linear", (x, w))?])
            }
            "weights that are written" => {
                let v = b.buffer("v", tensor(&[16, 16], 1))?;
                let w = b.buffer("w", tensor(&[16, 16], 2))?;
                let outputs = vec![b.call("aten::linear", (x, v))?, b.call("aten::linear", (x, w))?];
                b.call("aten::add_.Tensor", (v, 1i64))?;
                b.call("aten::add_.Tensor", (w, 1i64))?;
                Ok(outputs)
            }
            _ => linears(b, x, QKV, true),
        });
        let mut before = before;
        if *case == "weights that are written" {
            before.dialect = oxport_ir::Dialect::Training;
            before = oxport::functionalize(&before).map_err(|e| e.to_string())?;
        }
        let opt = if *case == "exact" { Opt::Exact } else { Opt::Fast };
        let (after, report) =
            oxport::optimize(&before, opt, &limits(*case != "no freeze", 0.0)).map_err(|e| e.to_string())?;
        let (a, b) = (calls(&before, "aten::linear"), calls(&after, "aten::linear"));
        let is_merged = a != b || calls(&after, "aten::split_with_sizes") > 0;
        let is_told = report.is_too_large == (*case == "a tensor that grows");
        let is_whole = *case != "no freeze" || after.state.keys().eq(before.state.keys()) && report.dropped.is_empty();
        if is_merged || !is_told || !is_whole {
            return Err(format!("{a} products became {b}, {:?}, dropped {:?}", report.rules, report.dropped));
        }
        Ok(())
    });
}

#[test]
fn a_part_costs_the_pass_that_is_joined_with_a_whole_product() {
    for (target, left) in [(Target::Cpu, 2), (Target::Aten, 1)] {
        let before = program(&[1, 16, 64, 64], |b, x| {
            let rows = [("a", 1), ("b", 2)].into_iter().map(|(name, seed)| {
                let w = b.parameter(name, tensor(&[16, 16, 1, 1], seed))?;
                let y = b.call("aten::conv2d", (x, w))?;
                b.call("aten::relu", (y,))
            });
            rows.collect()
        });
        let limits = Limits { model: Model { target, ..limits(true, 0.05).model }, ..limits(true, 0.05) };
        let (after, report) = oxport::optimize(&before, Opt::Fast, &limits).unwrap();
        let convolutions = calls(&after, "aten::conv2d") + calls(&after, "aten::convolution");
        assert_eq!(convolutions, left, "{target:?}: {:?}", report.rules);
        is_kept(&before, &after, &tensor(&[1, 16, 64, 64], 3)).unwrap();
    }
}

/// Convolutions of one geometry become one; one of another stays.
#[test]
fn convolutions_of_one_input_are_merged() {
    let before = program(&[1, 4, 6, 6], |b, x| {
        let weight = |b: &mut ProgramBuilder<'_>, name: &str, outputs: i64, side: i64| {
            b.parameter(&format!("{name}.weight"), tensor(&[outputs, 4, side, side], outputs as u64))
        };
        let (v, w, other) = (weight(b, "a", 8, 1)?, weight(b, "b", 3, 1)?, weight(b, "c", 3, 3)?);
        let mut outputs = Vec::new();
        for w in [v, w, other] {
            let y = b.call("aten::conv2d", (x, w))?;
            outputs.push(b.call("aten::relu", (y,))?);
        }
        Ok(outputs)
    });
    let (after, report) = oxport::optimize(&before, Opt::Fast, &limits(true, 0.05)).unwrap();
    assert_eq!((calls(&after, "aten::conv2d"), report.rules.get("merge-conv2d")), (2, Some(&2)), "{:?}", report.rules);
    is_kept(&before, &after, &tensor(&[1, 4, 6, 6], 5)).unwrap();
}

/// A result must not share its storage with others than before: that of a batch norm, which PyTorch tags as what may,
/// is its own.
#[test]
fn a_batch_norm_that_is_returned_is_folded() {
    let before = program(&[1, 4, 6, 6], |b, x| {
        let w = b.parameter("conv.weight", tensor(&[8, 4, 1, 1], 1))?;
        let y = b.call("aten::conv2d", (x, w))?;
        let mut channels = |name: &str, seed: u64| b.parameter(name, tensor(&[8], seed));
        let (scale, bias, mean) = (channels("bn.weight", 2)?, channels("bn.bias", 3)?, channels("bn.mean", 4)?);
        let variance = b.parameter("bn.var", Tensor::from_vec(&[8], vec![0.5f32; 8])?)?;
        let y = b.call("aten::batch_norm", (y, scale, bias, mean, variance, false, 0.1, 1e-5, true))?;
        Ok(vec![y])
    });
    let (after, report) = oxport::optimize(&before, Opt::Fast, &limits(true, 0.05)).unwrap();
    let left = ["aten::batch_norm", "aten::mul.Tensor"].map(|op| calls(&after, op));
    let convolutions = calls(&after, "aten::conv2d") + calls(&after, "aten::convolution");
    assert_eq!((convolutions, left), (1, [0, 0]), "{:?}", report.rules);
    is_kept(&before, &after, &tensor(&[1, 4, 6, 6], 5)).unwrap();
}

#[test]
fn names_say_what_they_are_made_of() {
    let cases = [
        ("h.0.q.weight h.0.k.weight h.0.v.weight", Some("h.0.qkv_weight")),
        ("a.q_proj.bias a.k_proj.bias a.v_proj.bias", Some("a.qkv_proj_bias")),
        ("gate.weight up.weight", Some("gateup_weight")),
        ("conv1.weight bn1.running_var", Some("conv1_weight_folded")),
        ("w", Some("w_folded")),
        ("w1 w2", Some("w12")),
        ("", None),
    ];
    all(cases, |(sources, expected)| {
        let sources: Vec<_> = sources.split_whitespace().map(Into::into).collect();
        let made = oxport_passes::names::made_of(&sources);
        if made.as_deref() == *expected { Ok(()) } else { Err(format!("{made:?}")) }
    });
}
