//! Recurrent layers that are written out step by step and layer by layer, as PyTorch's decomposition leaves them: one
//! call again, and none where a step or a layer is another one.

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
    states: (NodeId, NodeId),
    product: NodeId,
    row: NodeId,
    order: [usize; 4],
) -> Result<(NodeId, NodeId)> {
    after_step_along(b, kind, states, (product, 2), row, order)
}

/// The states after a step, where the gates of the product of the state lie along this dimension.
fn after_step_along(
    b: &mut ProgramBuilder<'_>,
    kind: &str,
    (h, c): (NodeId, NodeId),
    (product, along): (NodeId, i64),
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
            let gates = split(b, sum, 4, along)?;
            let gates = order.map(|i| gates[i]);
            let (i, f) = (b.call("aten::sigmoid", (gates[0],))?, b.call("aten::sigmoid", (gates[1],))?);
            let (g, o) = (b.call("aten::tanh", (gates[2],))?, b.call("aten::sigmoid", (gates[3],))?);
            let (kept, new) = (b.call("aten::mul.Tensor", (f, c))?, b.call("aten::mul.Tensor", (i, g))?);
            let c = b.call("aten::add.Tensor", (kept, new))?;
            let bounded = b.call("aten::tanh", (c,))?;
            Ok((b.call("aten::mul.Tensor", (o, bounded))?, c))
        }
        "gru" => {
            let (of_state, of_row) = (split(b, product, 3, along)?, split(b, row, 3, 1)?);
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
        let state = [1, BATCH, HIDDEN];
        agree(&before, &after, &[&[STEPS, BATCH, FEATURES], &state, &state])
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

/// What is another one than in layers over one another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tangle {
    None,
    /// The last two parts of the state are exchanged.
    States,
    /// The second layer reads what the first one reads.
    Rows,
    /// Both directions are joined in the other order.
    Order,
}

/// Layers written out as calls of one layer and one direction: `(kind, both directions, batch first)`.
fn layered(kind: &str, is_two_way: bool, is_batch_first: bool, tangle: Tangle) -> Result<ExportedProgram> {
    let (op, gates) = match kind {
        "lstm" => ("aten::lstm.input", 4),
        "gru" => ("aten::gru.input", 3),
        "tanh" => ("aten::rnn_tanh.input", 1),
        _ => ("aten::rnn_relu.input", 1),
    };
    let directions = if is_two_way { 2 } else { 1 };
    let count = 2 * directions;
    let mut b = ProgramBuilder::new(registry());
    // As wide as what the layers give: each could read what another one does.
    let sizes = [STEPS, BATCH, directions * HIDDEN];
    let given = if is_batch_first { [sizes[1], sizes[0], sizes[2]] } else { sizes };
    let x = b.input("x", Fake::of(&tensor(&given, 0)))?;
    let states = [
        b.input("h", Fake::of(&tensor(&[count, BATCH, HIDDEN], 0)))?,
        b.input("c", Fake::of(&tensor(&[count, BATCH, HIDDEN], 0)))?,
    ];
    let first = if is_batch_first { b.call("aten::permute", (x, vec![1i64, 0, 2]))? } else { x };
    let (mut rows, mut last) = (first, Vec::new());
    for layer in 0..2 {
        let input = if tangle == Tangle::Rows { first } else { rows };
        let mut all = Vec::new();
        for direction in 0..directions {
            let number = layer * directions + direction;
            let part = if tangle == Tangle::States && number >= count - 2 { 2 * count - 3 - number } else { number };
            let of =
                |b: &mut ProgramBuilder<'_>, state: NodeId| b.call("aten::slice.Tensor", (state, 0i64, part, part + 1));
            let seed = 10 * number as u64;
            let weights = vec![
                b.parameter(&format!("wi{number}"), tensor(&[gates * HIDDEN, directions * HIDDEN], seed + 1))?,
                b.parameter(&format!("wh{number}"), tensor(&[gates * HIDDEN, HIDDEN], seed + 2))?,
                b.parameter(&format!("bi{number}"), tensor(&[gates * HIDDEN], seed + 3))?,
                b.parameter(&format!("bh{number}"), tensor(&[gates * HIDDEN], seed + 4))?,
            ];
            let input = if direction == 1 { b.call("aten::flip", (input, vec![0i64]))? } else { input };
            let h = of(&mut b, states[0])?;
            let rest = (weights, true, 1i64, 0.0, false, false, false);
            let call = match kind {
                "lstm" => {
                    let c = of(&mut b, states[1])?;
                    b.call(op, (input, vec![h, c], rest.0, rest.1, rest.2, rest.3, rest.4, rest.5, rest.6))?
                }
                _ => b.call(op, (input, h, rest.0, rest.1, rest.2, rest.3, rest.4, rest.5, rest.6))?,
            };
            let given = b.calls().getitem(call, 0)?;
            all.push(if direction == 1 { b.call("aten::flip", (given, vec![0i64]))? } else { given });
            let state = b.calls().getitem(call, 1)?;
            last.push(b.call("aten::squeeze.dims", (state, vec![0i64]))?);
        }
        if tangle == Tangle::Order {
            all.reverse();
        }
        rows = if let [one] = all[..] { one } else { b.call("aten::cat", (all, 2i64))? };
    }
    let rows = if is_batch_first { b.call("aten::permute", (rows, vec![1i64, 0, 2]))? } else { rows };
    let last = b.call("aten::cat", (last, 0i64))?;
    let last = b.call("aten::view", (last, vec![count, BATCH, HIDDEN]))?;
    b.finish(&[rows, last])
}

/// The results of a program of rows and states.
fn run(program: &ExportedProgram, sizes: &[&[i64]]) -> std::result::Result<Vec<Value>, String> {
    let inputs = sizes.iter().zip(7..).map(|(sizes, seed)| Value::Tensor(tensor(sizes, seed))).collect();
    let plan =
        oxport::plan(program, &PlanOptions { threads: 1, ..PlanOptions::default() }).map_err(|e| e.to_string())?;
    plan.run(inputs).map(|outputs| outputs.user).map_err(|e| e.to_string())
}

fn agree(before: &ExportedProgram, after: &ExportedProgram, sizes: &[&[i64]]) -> std::result::Result<(), String> {
    for (a, b) in run(before, sizes)?.iter().zip(&run(after, sizes)?) {
        let compared = compare(b, a, Tolerance::default());
        if !compared.agree {
            return Err(compared.detail);
        }
    }
    Ok(())
}

const STACKS: [(&str, &str); 4] =
    [("lstm", "stack-lstm"), ("gru", "stack-gru"), ("tanh", "stack-rnn-tanh"), ("relu", "stack-rnn-relu")];

#[test]
fn layers_over_one_another_are_one_call() {
    let cases = STACKS
        .iter()
        .flat_map(|kind| [(false, false), (true, false), (false, true), (true, true)].map(|way| (kind, way)));
    all(cases.collect::<Vec<_>>(), |((kind, rule), (is_two_way, is_batch_first))| {
        let before = layered(kind, *is_two_way, *is_batch_first, Tangle::None).map_err(|e| e.to_string())?;
        let (after, united) = optimized(&before, rule)?;
        // The second state of an LSTM is joined for it, too.
        if (united > 1, calls_of_layers(&after)) != (true, 1) {
            return Err(format!("{united} results were united, and there are {} layers", calls_of_layers(&after)));
        }
        let directions = if *is_two_way { 2 } else { 1 };
        let rows = if *is_batch_first { [BATCH, STEPS] } else { [STEPS, BATCH] };
        let state = [2 * directions, BATCH, HIDDEN];
        agree(&before, &after, &[&[rows[0], rows[1], directions * HIDDEN], &state, &state])
    });
}

#[test]
fn other_layers_are_left() {
    let tangles = [Tangle::States, Tangle::Rows, Tangle::Order];
    let cases = STACKS.iter().flat_map(|kind| tangles.map(|tangle| (kind, tangle)));
    all(cases.collect::<Vec<_>>(), |((kind, rule), tangle)| {
        // Of one layer both directions may be one call, where the layers are not.
        let before = layered(kind, true, false, *tangle).map_err(|e| e.to_string())?;
        let (after, _) = optimized(&before, rule)?;
        if calls_of_layers(&after) < 2 {
            return Err("the layers are one call".to_string());
        }
        let state = [4, BATCH, HIDDEN];
        agree(&before, &after, &[&[STEPS, BATCH, 2 * HIDDEN], &state, &state])
    });
}

/// One step by itself, of rows and states of two dimensions.
fn step_written_out(kind: &str, flaw: Flaw) -> Result<ExportedProgram> {
    let gates = if kind == "lstm" { 4 } else { 3 };
    let mut b = ProgramBuilder::new(registry());
    let x = b.input("x", Fake::of(&tensor(&[BATCH, FEATURES], 0)))?;
    let states =
        [b.input("h", Fake::of(&tensor(&[BATCH, HIDDEN], 0)))?, b.input("c", Fake::of(&tensor(&[BATCH, HIDDEN], 0)))?];
    let wi = b.parameter("wi", tensor(&[gates * HIDDEN, FEATURES], 1))?;
    let wh = b.parameter("wh", tensor(&[gates * HIDDEN, HIDDEN], 2))?;
    let bias = b.parameter("b", tensor(&[gates * HIDDEN], 3))?;
    let row = b.call("aten::linear", (x, wi, bias))?;
    let before = if flaw == Flaw::State { states[1] } else { states[0] };
    let product = b.call("aten::linear", (before, wh, bias))?;
    let mut order = [0, 1, 2, 3];
    if flaw == Flaw::Gates {
        order.swap(0, 1);
    }
    let (h, c) = after_step_along(&mut b, kind, (states[0], states[1]), (product, 1), row, order)?;
    let outputs = if kind == "lstm" { vec![h, c] } else { vec![h] };
    b.finish(&outputs)
}

#[test]
fn a_step_that_is_written_out_is_one_call() {
    let flaws = [Flaw::None, Flaw::Gates, Flaw::State];
    let cases =
        [("lstm", "lstm-cell"), ("gru", "gru-cell")].into_iter().flat_map(|kind| flaws.map(|flaw| (kind, flaw)));
    all(cases.collect::<Vec<_>>(), |((kind, rule), flaw)| {
        let before = step_written_out(kind, *flaw).map_err(|e| e.to_string())?;
        let (after, united) = optimized(&before, rule)?;
        // An LSTM of another state before is one of that.
        let results = if *kind == "lstm" { 2 } else { 1 };
        let is_step = *flaw == Flaw::None || (*kind, *flaw) == ("lstm", Flaw::State);
        if united != if is_step { results } else { 0 } {
            return Err(format!("{united} results were united"));
        }
        agree(&before, &after, &[&[BATCH, FEATURES], &[BATCH, HIDDEN], &[BATCH, HIDDEN]])
    });
}
