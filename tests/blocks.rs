//! Repeated blocks: one is searched for all of them, and the result is what a search of all of them gives.

use crate::all;
use crate::proofs::{check, prove};
use oxport::capture::nn::{LayerNorm, TransformerEncoder, TransformerEncoderLayer};
use oxport::capture::{Export, Forward, ModuleState, manual_seed};
use oxport::difference::Difference;
use oxport::{
    Argument, DType, ExportedProgram, Expr, Fake, Limits, Model, Opt, ProgramBuilder, Report, Target, Tensor, registry,
};

/// How programs are optimized: the rules, whether weights are constants, and the target.
const MODES: [(Opt, bool, Target); 4] = [
    (Opt::Exact, false, Target::Aten),
    (Opt::Fast, false, Target::Aten),
    (Opt::Fast, true, Target::Aten),
    (Opt::Fast, true, Target::Cpu),
];

/// An encoder of so many equal layers, as it is captured.
fn encoder(layers: usize, norm_first: bool) -> ExportedProgram {
    manual_seed(0);
    let layer = TransformerEncoderLayer::new(16, 2, 32, 0.1).batch_first().gelu();
    let layer = if norm_first { layer.norm_first() } else { layer };
    let encoder = TransformerEncoder::new(&layer, layers).norm(LayerNorm::new(16));
    encoder.eval();
    let x = Tensor::zeros(DType::F32, &[2, 5, 16]).expect("a tensor");
    let export = Export::new().arg("x", x);
    export.run(&encoder, |encoder, inputs| encoder.call((&inputs.tensor("x"), None))).expect("a program")
}

/// An encoder as `oxport decompose --to functional` and `--to core` give it.
fn forms(layers: usize, norm_first: bool) -> [ExportedProgram; 2] {
    let program = encoder(layers, norm_first);
    [oxport::functionalize(&program).expect("a program"), oxport::decompose(&program).expect("a program")]
}

/// What differs in one of some equal blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Odd {
    Nothing,
    Factor,
    Weight,
    Operator,
    Output,
}

/// Eight blocks, of which one may be another one.
fn odd_blocks(odd: Odd) -> ExportedProgram {
    let mut b = ProgramBuilder::new(registry());
    let mut x = b.input("x", Fake::new(DType::F32, [4, 8].map(Expr::from))).expect("an input");
    let (mut outputs, mut weight) = (Vec::new(), None);
    for i in 0..8 {
        let is_odd = |what: Odd| odd == what && i == 5;
        let data: Vec<f32> = (0..64).map(|n| (n + i) as f32).collect();
        let own = b.parameter(&format!("w{i}"), Tensor::from_vec(&[8, 8], data).expect("a tensor"));
        let own = own.expect("a parameter");
        let w = weight.filter(|_| is_odd(Odd::Weight)).unwrap_or(own);
        weight = Some(w);
        let transposed = b.call("aten::t", (w,)).expect("a call");
        let back = b.call("aten::t", (transposed,)).expect("a call");
        let y = b.call("aten::linear", (x, back)).expect("a call");
        let activation = if is_odd(Odd::Operator) { "aten::sin" } else { "aten::relu" };
        let y = b.call(activation, (y,)).expect("a call");
        let factor = if is_odd(Odd::Factor) { 2i64 } else { 1 };
        let y = b.call("aten::mul.Scalar", (y, factor)).expect("a call");
        let flat = b.call("aten::view", (y, vec![32i64])).expect("a call");
        let y = b.call("aten::view", (flat, vec![4i64, 8])).expect("a call");
        if is_odd(Odd::Output) {
            outputs.push(y);
        }
        let args: Vec<Argument> = vec![x.into(), y.into()];
        x = b.call("aten::add.Tensor", args).expect("a call");
    }
    outputs.push(x);
    b.finish(&outputs).expect("a program")
}

/// Layers of a convolution, its norm and an activation. The first two convolutions have other steps, so that what
/// repeats begins between the second one and its norm.
fn shifted_layers() -> ExportedProgram {
    let mut b = ProgramBuilder::new(registry());
    let mut x = b.input("x", Fake::new(DType::F32, [1, 64, 64, 64].map(Expr::from))).expect("an input");
    for i in 0..10 {
        let mut parameter = |name: &str, sizes: &[i64]| {
            let seed = 31 * i + name.len() as i64;
            let data = (0..sizes.iter().product::<i64>()).map(|n| (n * 7919 + seed) as f32 % 1009.0 + 1.0).collect();
            let tensor = Tensor::from_vec(sizes, data).expect("a tensor");
            b.parameter(&format!("{name}{i}"), tensor).expect("a parameter")
        };
        let kernel = parameter("kernel", &[64, 16, 3, 3]);
        let [weight, bias, mean, var] = ["weight", "bias", "mean", "var"].map(|name| parameter(name, &[64]));
        let none = || Argument::from(None::<Argument>);
        let [steps, padding, dilation] = [if i < 2 { 2 } else { 1 }, 1, 1].map(|n| vec![n, n]);
        let args = [x.into(), kernel.into(), none(), steps.into(), padding.into(), dilation.into(), 4i64.into()];
        let y = b.call("aten::conv2d", args.to_vec()).expect("a call");
        let given = [y, weight, bias, mean, var].map(Argument::from);
        let args = given.into_iter().chain([false.into(), 0.1.into(), 1e-5.into(), true.into()]);
        let y = b.call("aten::batch_norm", args.collect::<Vec<_>>()).expect("a call");
        x = b.call("aten::relu", (y,)).expect("a call");
    }
    b.finish(&[x]).expect("a program")
}

fn optimize(
    program: &ExportedProgram,
    (opt, frozen, target): (Opt, bool, Target),
    replay: bool,
) -> Result<(ExportedProgram, Report), String> {
    let limits = Limits { model: Model { frozen, target, ..Model::default() }, replay, ..Limits::default() };
    oxport::optimize(program, opt, &limits).map_err(|e| e.to_string())
}

/// An error unless what is given by replaying is as good as what a search of everything gives: better, or equal.
fn is_as_good(program: &ExportedProgram, mode: (Opt, bool, Target)) -> Result<[Report; 2], String> {
    let (_, plain) = optimize(program, mode, false)?;
    let (_, report) = optimize(program, mode, true)?;
    let is_equal = report.cost_after == plain.cost_after && report.nodes_after == plain.nodes_after;
    if report.saturated != plain.saturated || !is_equal && report.cost_after >= plain.cost_after {
        return Err(format!("{mode:?}: {report:?} is not {plain:?}"));
    }
    Ok([plain, report])
}

#[test]
fn one_of_equal_layers_is_searched() {
    all([false, true].iter().flat_map(|first| MODES.map(|mode| (*first, mode))), |&(norm_first, mode)| {
        let [few, some, many] = [4, 12, 20].map(|layers| forms(layers, norm_first));
        for form in 0..few.len() {
            let (_, few) = optimize(&few[form], mode, true)?;
            let [plain, some] = is_as_good(&some[form], mode)?;
            let (_, many) = optimize(&many[form], mode, true)?;
            let counts = [few.searched, some.searched, many.searched, plain.searched];
            if some.egraph_nodes != many.egraph_nodes {
                return Err(format!("{} nodes, then {}", some.egraph_nodes, many.egraph_nodes));
            }
            if 2 * some.searched > 3 * few.searched || many.searched != some.searched || some.replayed == 0 {
                return Err(format!("matches {counts:?}"));
            }
            if 2 * some.searched > plain.searched {
                return Err(format!("all are searched: {counts:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn a_block_that_differs_is_searched_by_itself() {
    let odd = [Odd::Nothing, Odd::Factor, Odd::Weight, Odd::Operator, Odd::Output];
    all(odd.iter().flat_map(|odd| MODES.map(|mode| (*odd, mode))), |&(odd, mode)| {
        let program = odd_blocks(odd);
        let [plain, report] = is_as_good(&program, mode)?;
        if odd == Odd::Nothing && report.searched >= plain.searched {
            return Err(format!("{} matches are not fewer", report.searched));
        }
        check(&prove(&program, mode)?).map(drop)
    });
}

#[test]
fn a_block_may_begin_within_a_layer() {
    let program = shifted_layers();
    all(MODES, |&mode| {
        let (optimized, report) = optimize(&program, mode, true)?;
        let is_norm = |id| optimized.graph.node(id).op().is_some_and(|op| op.name() == "aten::batch_norm");
        let norms = optimized.graph.ids().filter(|&id| is_norm(id)).count();
        is_as_good(&program, mode)?;
        let is_folded = norms == 0 || !mode.1;
        if is_folded { Ok(()) } else { Err(format!("{norms} norms, {report:?}")) }
    });
}

#[test]
fn replayed_applications_are_proved() {
    all([encoder(6, true), encoder(6, false)].iter().zip(MODES).enumerate().map(|(i, (p, m))| (i, p, m)), |item| {
        let (_, program, mode) = *item;
        check(&prove(program, mode)?).map(drop)
    });
}

#[test]
fn replaying_gives_the_same_bytes_whatever_ran_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let mode = (Opt::Fast, true, Target::Aten);
    let bytes = |program: &ExportedProgram| -> Vec<u8> {
        let (result, _) = optimize(program, mode, true).expect("an optimized program");
        let path = folder.path().join("result.pt2");
        oxport::write(&result, &path).expect("it is written");
        std::fs::read(&path).expect("it is read")
    };
    let [first, last] = [encoder(5, true), encoder(7, false)].map(|p| oxport::decompose(&p).expect("a program"));
    let others: Vec<ExportedProgram> = [Odd::Factor, Odd::Weight, Odd::Operator, Odd::Output].map(odd_blocks).into();
    let forwards = (bytes(&first), bytes(&last));
    others.iter().for_each(|other| drop(bytes(other)));
    let backwards = (bytes(&last), bytes(&first));
    others.iter().rev().for_each(|other| drop(bytes(other)));
    assert!(forwards == (backwards.1, backwards.0));
    assert!((0..3).all(|_| bytes(&first) == forwards.0));
}

#[test]
fn optimizing_equal_layers_twice_changes_nothing() {
    all(MODES, |&mode| {
        let (once, report) = optimize(&forms(5, true)[1], mode, true)?;
        let (twice, again) = optimize(&once, mode, true)?;
        let same = Difference::of(&once, &twice).is_empty();
        if same { Ok(()) } else { Err(format!("{} ns, then {}", report.cost_after, again.cost_after)) }
    });
}
