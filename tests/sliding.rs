//! A 1×1 convolution and the kernel per channel behind it, over a sliding window: the same bits, and no tensor between
//! them.

use crate::all;
use crate::winograd::noise;
use oxport::compare::{Tolerance, compare};
use oxport::run::Place;
use oxport::{DType, ExportedProgram, Fake, NodeId, Opt, PlanOptions, ProgramBuilder, Toolchain, Value, registry};
use oxport_ir::{Argument, Val};

/// What follows a convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tail {
    None,
    Relu,
    Hardswish,
    Silu,
    /// A factor and a summand for each channel, an activation.
    Norm,
    /// A tensor is added, then an activation.
    Residual,
}

/// How a pair is unlike those that slide.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unlike {
    /// Something else reads the tensor between them, too.
    ReadTwice,
    /// The tensor between them is added to the output.
    ReadBehind,
    /// It leaves the program.
    Output,
    /// The second one reads all channels.
    Whole,
    /// Its padding is `same`.
    Same,
    /// Its taps are apart.
    Dilated,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    /// Images (of 0, one without a batch), channels of the input and of what lies between, height, width.
    sizes: [i64; 5],
    kernel: i64,
    stride: i64,
    tails: [Tail; 2],
    unlike: Option<Unlike>,
}

const USUAL: Case =
    Case { sizes: [1, 12, 40, 61, 58], kernel: 3, stride: 1, tails: [Tail::Relu, Tail::Hardswish], unlike: None };

fn follow(b: &mut ProgramBuilder<'_>, tail: Tail, x: NodeId, name: &str) -> oxport_ir::Result<NodeId> {
    let fake = b.calls().fake(x)?.clone();
    let channels = fake.sizes[1].as_int().expect("law: sizes are known");
    Ok(match tail {
        Tail::None => x,
        Tail::Relu => b.call("relu", (x,))?,
        Tail::Hardswish => b.call("hardswish", (x,))?,
        Tail::Silu => b.call("silu", (x,))?,
        Tail::Norm => {
            let scale = b.parameter(&format!("{name}_scale"), noise(&[1, channels, 1, 1], 5))?;
            let shift = b.parameter(&format!("{name}_shift"), noise(&[channels, 1, 1], 6))?;
            let scaled = b.call("mul.Tensor", (x, scale))?;
            let shifted = b.call("add.Tensor", (scaled, shift))?;
            b.call("sigmoid", (shifted,))?
        }
        Tail::Residual => {
            let other = b.input(name, Fake { requires_grad: false, ..fake })?;
            let sum = b.call("add.Tensor", (x, other))?;
            b.call("relu", (sum,))?
        }
    })
}

fn program(case: &Case) -> oxport::Result<ExportedProgram> {
    let Case { sizes: [n, c, o, h, w], kernel, stride, tails, unlike } = *case;
    let mut b = ProgramBuilder::new(registry());
    let x = [n, c, h, w].into_iter().skip(usize::from(n == 0)).map(Into::into);
    let x = b.input("x", Fake::new(DType::F32, x))?;
    let per_group = if unlike == Some(Unlike::Whole) { o } else { 1 };
    let first = b.parameter("first", noise(&[o, c, 1, 1], 1))?;
    let second = b.parameter("second", noise(&[o, per_group, kernel, kernel], 2))?;
    let bias = b.parameter("bias", noise(&[o], 3))?;
    let list = |n: i64| Argument::List(vec![Argument::Int(n), Argument::Int(n)]);
    let conv = b.call("conv2d", (x, first, bias))?;
    let between = follow(&mut b, tails[0], conv, "one")?;
    let dilation = if unlike == Some(Unlike::Dilated) { 2 } else { 1 };
    let with = (between, second, bias, list(stride));
    let conv = match unlike {
        Some(Unlike::Same) => b.call("conv2d.padding", (with.0, with.1, with.2, with.3, "same", list(1), o))?,
        _ => {
            let padding = list(kernel / 2 * dilation);
            b.call("conv2d", (with.0, with.1, with.2, with.3, padding, list(dilation), o / per_group))?
        }
    };
    let mut last = follow(&mut b, tails[1], conv, "two")?;
    let mut outputs = Vec::new();
    match unlike {
        Some(Unlike::ReadTwice) => outputs.push(b.call("sum", (between,))?),
        Some(Unlike::Output) => outputs.push(between),
        Some(Unlike::ReadBehind) => last = b.call("add.Tensor", (last, between))?,
        _ => {}
    }
    outputs.push(last);
    let program = b.finish(&outputs)?;
    Toolchain::standard().unverified().prepare(&program, Opt::None)
}

/// Whether the tensor between the convolutions is in no memory; the results are those of the steps one by one. Once a
/// run has seen that, the arena has no place for it either.
fn slides(case: &Case) -> Result<bool, String> {
    let run = || -> oxport::Result<_> {
        let program = program(case)?;
        let fakes: Vec<&Fake> =
            program.graph.placeholders().filter_map(|(_, node)| node.val().and_then(Val::as_tensor)).collect();
        let sizes = |i: usize| fakes[i].concrete_layout().expect("law: sizes are known").sizes;
        let users = program.signature.user_inputs();
        let inputs: Vec<Value> = users.map(|i| noise(&sizes(i), i as i64).into()).collect();
        let options = |threads, fuse_from| PlanOptions { threads, fuse_from, ..PlanOptions::default() };
        let apart = oxport::plan(&program, &options(1, usize::MAX))?.run(inputs.clone())?.user;
        let (mut found, mut shrinks) = (Vec::new(), Vec::new());
        for threads in [1, 2, 3, 8] {
            let plan = oxport::plan(&program, &options(threads, 1))?;
            let mut arenas = Vec::new();
            for _ in 0..3 {
                found.push(plan.run(inputs.clone())?.user);
                arenas.push(plan.arena_bytes());
            }
            shrinks.push(arenas[2] < arenas[1]);
            assert_eq!(plan.refused_regions(), 0, "{case:?}");
        }
        let steps = oxport::plan(&program, &options(1, 1))?.describe(inputs)?.steps;
        let reader = steps.iter().rposition(|step| step.op.name().contains("conv2d")).expect("law: it has two");
        let is_one_pass = steps[reader].pass < reader;
        let is_unseen = steps[reader - 1].results[0].place == Place::Pass;
        let slides = is_one_pass && is_unseen;
        assert!(shrinks.iter().all(|&shrinks| shrinks == slides), "{case:?}: the arena");
        Ok((apart, found, slides))
    };
    let (apart, found, slides) = run().map_err(|e| e.to_string())?;
    for (own, other) in found.iter().flat_map(|found| found.iter().zip(&apart)) {
        let found = compare(own, other, Tolerance::Exact);
        if !found.agree {
            return Err(found.detail);
        }
    }
    Ok(slides)
}

#[test]
fn pairs_slide() {
    use Tail::{Hardswish, None as Nothing, Norm, Relu, Silu};
    let mut cases = Vec::new();
    for (kernel, stride) in [(3, 1), (3, 2), (5, 1), (5, 2), (7, 1), (7, 2)] {
        for tails in [[Relu, Hardswish], [Silu, Silu], [Nothing, Nothing]] {
            cases.push(Case { kernel, stride, tails, ..USUAL });
        }
    }
    for first in [Nothing, Relu, Hardswish, Silu, Norm] {
        for second in [Nothing, Relu, Hardswish, Silu, Norm, Tail::Residual] {
            cases.push(Case { tails: [first, second], ..USUAL });
        }
    }
    // Channels of whole and of half registers, and others; rows of whole tiles, of fewer numbers than one; images.
    for sizes in
        [[1, 16, 64, 56, 56], [1, 24, 72, 56, 56], [1, 8, 37, 90, 43], [3, 8, 33, 101, 14], [2, 9, 130, 40, 15]]
    {
        for tails in [[Relu, Relu], [Hardswish, Silu]] {
            cases.push(Case { sizes, tails, ..USUAL });
        }
    }
    all(cases, |case| match slides(case) {
        Ok(false) => Err("it does not slide".to_string()),
        other => other.map(drop),
    });
}

#[test]
fn others_do_not() {
    use Unlike::{Dilated, Output, ReadBehind, ReadTwice, Same, Whole};
    let unlike = [ReadTwice, ReadBehind, Output, Whole, Same, Dilated];
    let unlike = unlike.map(|unlike| Case { unlike: Some(unlike), ..USUAL });
    let residual = Case { tails: [Tail::Residual, Tail::Relu], ..USUAL };
    // Few bytes; a weight that is large beside them; a kernel without a function for its rows; planes.
    let small = Case { sizes: [1, 12, 40, 30, 30], ..USUAL };
    let heavy = Case { sizes: [1, 200, 160, 30, 30], ..USUAL };
    let wide = Case { kernel: 9, ..USUAL };
    let alone = Case { sizes: [0, 12, 40, 61, 58], ..USUAL };
    all(unlike.into_iter().chain([residual, small, heavy, wide, alone]), |case| match slides(case) {
        Ok(true) => Err("it slides".to_string()),
        other => other.map(drop),
    });
}
