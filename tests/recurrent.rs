//! Recurrent layers that are written out step by step, as PyTorch's decomposition leaves them: one call again, and none
//! where a step is another one.

use crate::all;
use crate::proofs::{Proved, check};
use oxport::compare::{Tolerance, compare};
use oxport::{
    DType, ExportedProgram, Fake, Limits, Model, Opt, PlanOptions, ProgramBuilder, Target, Tensor, Value, registry,
};
use oxport_ir::{NodeId, Result};
use oxport_testkit::samples;

const STEPS: i64 = 4;
const BATCH: i64 = 2;
const FEATURES: i64 = 5;
const HIDDEN: i64 = 3;

/// A tensor of numbers around 0.
fn tensor(sizes: &[i64], seed: u64) -> Tensor {
    let count = sizes.iter().product::<i64>() as usize;
    let values: Vec<f32> = samples::draw(DType::I64, count, Some((0.0, 2000.0)), seed + 1)
        .into_iter()
        .map(|n| n as f32 / 1e3 - 1.0)
        .collect();
    Tensor::from_vec(sizes, values).expect("law: as many as the sizes say")
}

/// What is another one than in a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// The weight of the state in the last step.
    Weight,
    /// The row that the third step reads is that of the second.
    Row,
    /// The first two states are joined in the other order.
    Order,
    /// The state before the third step is that before the second.
    State,
    /// Two gates are exchanged in the last step.
    Gates,
    /// The last row is not read.
    Rows,
    /// The first state is one row for all.
    First,
}

/// A layer, its steps written out: `(kind, biases, in reverse)`.
fn written_out(kind: &str, has_biases: bool, is_reversed: bool, flaw: Flaw) -> Result<ExportedProgram> {
    let gates = match kind {
        "lstm" => 4,
        "gru" => 3,
        _ => 1,
    };
    let mut b = ProgramBuilder::new(registry());
    let x = b.input("x", Fake::of(&tensor(&[STEPS, BATCH, FEATURES], 0)))?;
    let rows = if flaw == Flaw::First { 1 } else { BATCH };
    let mut h = b.input("h", Fake::of(&tensor(&[1, rows, HIDDEN], 0)))?;
    let mut c = b.input("c", Fake::of(&tensor(&[1, rows, HIDDEN], 0)))?;
    let wi = b.parameter("wi", tensor(&[gates * HIDDEN, FEATURES], 1))?;
    let wh = b.parameter("wh", tensor(&[gates * HIDDEN, HIDDEN], 2))?;
    let other = b.parameter("other", tensor(&[gates * HIDDEN, HIDDEN], 3))?;
    let (bi, bh) = match has_biases {
        true => (
            Some(b.parameter("bi", tensor(&[gates * HIDDEN], 4))?),
            Some(b.parameter("bh", tensor(&[gates * HIDDEN], 5))?),
        ),
        false => (None, None),
    };
    let mut products = b.call("aten::linear", (x, wi, bi))?;
    if is_reversed {
        products = b.call("aten::flip", (products, vec![0i64]))?;
    }
    let steps = if flaw == Flaw::Rows { STEPS - 1 } else { STEPS };
    let (mut all, mut before) = (Vec::new(), h);
    for step in 0..steps {
        let at = if flaw == Flaw::Row && step == 2 { 1 } else { step };
        let row = b.call("aten::slice.Tensor", (products, 0i64, at, at + 1))?;
        let row = b.call("aten::squeeze.dims", (row, vec![0i64]))?;
        let weight = if flaw == Flaw::Weight && step == steps - 1 { other } else { wh };
        let state = if flaw == Flaw::State && step == 2 { before } else { h };
        let product = b.call("aten::linear", (state, weight, bh))?;
        before = h;
        let mut order = [0, 1, 2, 3];
        if flaw == Flaw::Gates && step == steps - 1 {
            order.swap(0, 1);
        }
        (h, c) = after_step(&mut b, kind, (state, c), product, row, order)?;
        all.push(h);
    }
    if is_reversed {
        all.reverse();
    }
    if flaw == Flaw::Order {
        all.swap(0, 1);
    }
    let out = b.call("aten::cat", (all, 0i64))?;
    let out = b.call("aten::relu", (out,))?;
    let last = b.call("aten::neg", (h,))?;
    let outputs = if kind == "lstm" { vec![out, last, b.call("aten::neg", (c,))?] } else { vec![out, last] };
    b.finish(&outputs)
}

fn after_step(
    b: &mut ProgramBuilder<'_>,
    kind: &str,
    (h, c): (NodeId, NodeId),
    product: NodeId,
    row: NodeId,
    order: [usize; 4],
) -> Result<(NodeId, NodeId)> {
    let split = |b: &mut ProgramBuilder<'_>, x: NodeId, count: usize, dim: i64| -> Result<Vec<NodeId>> {
        let all = b.call("aten::split_with_sizes", (x, vec![HIDDEN; count], dim))?;
        (0..count as i64).map(|i| b.calls().getitem(all, i)).collect()
    };
    match kind {
        "lstm" => {
            let sum = b.call("aten::add.Tensor", (product, row))?;
            let gates = split(b, sum, 4, 2)?;
            let gates = order.map(|i| gates[i]);
            let (i, f) = (b.call("aten::sigmoid", (gates[0],))?, b.call("aten::sigmoid", (gates[1],))?);
            let (g, o) = (b.call("aten::tanh", (gates[2],))?, b.call("aten::sigmoid", (gates[3],))?);
            let (kept, new) = (b.call("aten::mul.Tensor", (f, c))?, b.call("aten::mul.Tensor", (i, g))?);
            let c = b.call("aten::add.Tensor", (kept, new))?;
            let bounded = b.call("aten::tanh", (c,))?;
            Ok((b.call("aten::mul.Tensor", (o, bounded))?, c))
        }
        "gru" => {
            let (of_state, of_row) = (split(b, product, 3, 2)?, split(b, row, 3, 1)?);
            let of_state: Vec<NodeId> = order[..3].iter().map(|&i| of_state[i]).collect();
            let mut gates = Vec::new();
            for i in 0..2 {
                let sum = b.call("aten::add.Tensor", (of_state[i], of_row[i]))?;
                gates.push(b.call("aten::sigmoid", (sum,))?);
            }
            let kept = b.call("aten::mul.Tensor", (of_state[2], gates[0]))?;
            let sum = b.call("aten::add.Tensor", (of_row[2], kept))?;
            let new = b.call("aten::tanh", (sum,))?;
            let difference = b.call("aten::sub.Tensor", (h, new))?;
            let kept = b.call("aten::mul.Tensor", (difference, gates[1]))?;
            Ok((b.call("aten::add.Tensor", (kept, new))?, c))
        }
        function => {
            let sum = b.call("aten::add.Tensor", (product, row))?;
            Ok((b.call(&format!("aten::{function}"), (sum,))?, c))
        }
    }
}

const KINDS: [(&str, &str); 4] =
    [("lstm", "roll-lstm"), ("gru", "roll-gru"), ("tanh", "roll-rnn-tanh"), ("relu", "roll-rnn-relu")];

/// The program optimized by all rules with this prefix among them, the report's count of the rule, and a checked proof.
fn optimized(before: &ExportedProgram, rule: &str) -> std::result::Result<(ExportedProgram, usize), String> {
    let limits = Limits { model: Model { target: Target::Cpu, ..Model::default() }, ..Limits::default() };
    let (after, report, proof) = oxport::optimize_with_proof(before, Opt::Fast, &limits).map_err(|e| e.to_string())?;
    let proof = proof.map_err(|refused| refused.to_string())?;
    check(&Proved { before: before.clone(), after: after.clone(), proof })?;
    Ok((after, report.rules.get(rule).copied().unwrap_or(0)))
}

fn calls_of_layers(program: &ExportedProgram) -> usize {
    let is_layer = |op: &str| ["lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"].contains(&op);
    program
        .graph
        .nodes()
        .filter(|(_, n)| n.op().is_some_and(|op| is_layer(op.name().trim_start_matches("aten::"))))
        .count()
}

#[test]
fn steps_that_are_written_out_are_one_call() {
    let cases = KINDS.iter().flat_map(|kind| [(kind, true, false), (kind, false, false), (kind, true, true)]);
    all(cases.collect::<Vec<_>>(), |((kind, rule), has_biases, is_reversed)| {
        let before = written_out(kind, *has_biases, *is_reversed, Flaw::None).map_err(|e| e.to_string())?;
        let (after, united) = optimized(&before, rule)?;
        let layers = calls_of_layers(&after);
        let results = if *kind == "lstm" { 3 } else { 2 };
        if (united, layers) != (results, 1) {
            return Err(format!("{united} results were united, and there are {layers} layers"));
        }
        let state = |seed| tensor(&[1, BATCH, HIDDEN], seed);
        let inputs = [tensor(&[STEPS, BATCH, FEATURES], 7), state(8), state(9)].map(Value::Tensor);
        let run = |program: &ExportedProgram| {
            let plan = oxport::plan(program, &PlanOptions { threads: 1, ..PlanOptions::default() });
            let plan = plan.map_err(|e| e.to_string())?;
            plan.run(inputs.to_vec()).map(|outputs| outputs.user).map_err(|e| e.to_string())
        };
        for (a, b) in run(&before)?.iter().zip(&run(&after)?) {
            let compared = compare(b, a, Tolerance::default());
            if !compared.agree {
                return Err(compared.detail);
            }
        }
        Ok(())
    });
}

#[test]
fn other_steps_are_left() {
    let flaws = [Flaw::Weight, Flaw::Row, Flaw::Order, Flaw::State, Flaw::Gates, Flaw::Rows, Flaw::First];
    let cases = KINDS.iter().flat_map(|kind| flaws.map(|flaw| (kind, flaw)));
    // One gate cannot be exchanged.
    let cases = cases.filter(|((kind, _), flaw)| *flaw != Flaw::Gates || ["lstm", "gru"].contains(kind));
    all(cases.collect::<Vec<_>>(), |((kind, rule), flaw)| {
        for is_reversed in [false, true] {
            let before = written_out(kind, true, is_reversed, *flaw).map_err(|e| e.to_string())?;
            let (after, united) = optimized(&before, rule)?;
            if united + calls_of_layers(&after) > 0 {
                return Err(format!("{united} results were united"));
            }
        }
        Ok(())
    });
}
