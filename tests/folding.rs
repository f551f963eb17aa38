//! What is computed before the first run: within bounds, of nothing that is drawn, and without rounding where that is
//! asked for.

use oxport::{ExportedProgram, Opt, registry};
use oxport_ir::parse::parse;
use oxport_ir::{Argument, NodeId, ProgramBuilder};
use oxport_tensor::Tensor;

fn fx(text: &str) -> ExportedProgram {
    parse(text, registry()).expect("law: the text is a program")
}

/// A program over a constant of `rows` rows, improved: how many constants it has then.
fn folded(rows: i64, build: impl Fn(&mut ProgramBuilder<'_>, NodeId) -> oxport_ir::Result<NodeId>) -> usize {
    let mut b = ProgramBuilder::new(registry());
    let x = b.input("x", oxport::Fake::new(oxport::DType::F32, [1.into()])).expect("an input");
    let table = Tensor::from_vec(&[rows, 1], vec![2.0f32; rows as usize]).expect("a tensor");
    let c = b.constant("c", table).expect("a constant");
    let made = build(&mut b, c).expect("a call");
    let y = b.call("aten::mul.Tensor", (made, x)).expect("a call");
    let program = b.finish(&[y]).expect("a program");
    let (improved, _) = oxport::optimize(&program, Opt::Fast, &Default::default()).expect("a program to improve");
    improved.constants.len() - 1
}

#[test]
fn folding_keeps_within_its_bounds() {
    assert_eq!(folded(64, |b, c| b.call("aten::exp", (c,))), 1);
    // Large, and cheap to make.
    assert_eq!(folded(64, |b, c| b.call("aten::expand", (c, vec![64i64, 4096]))), 0);
    assert_eq!(folded(64, |b, c| b.call("aten::repeat", (c, vec![1i64, 4096]))), 0);
    assert_eq!(
        folded(64, |b, c| {
            let row = b.call("aten::view", (c, vec![1i64, 64]))?;
            let wide = b.call("aten::repeat", (row, vec![1i64, 100]))?;
            b.call("aten::add.Tensor", (c, wide))
        }),
        0
    );
    // As many as the data say.
    assert_eq!(
        folded(64, |b, c| {
            let places = b.call("aten::nonzero", (c,))?;
            b.call("aten::sum", (places,))
        }),
        0
    );
    // Large on the way, small at the end: the sum is stored, within the work that folding may take.
    assert_eq!(
        folded(64, |b, c| {
            let wide = b.call("aten::expand", (c, vec![64i64, 4096]))?;
            b.call("aten::sum.dim_IntList", (wide, vec![1i64], true))
        }),
        1
    );
    // Too much work for what it gives.
    assert_eq!(
        folded(4096, |b, c| {
            let wide = b.call("aten::expand", (c, vec![4096i64, 1 << 21]))?;
            b.call("aten::sum.dim_IntList", (wide, vec![1i64], true))
        }),
        0
    );
    // Sixteen results of 4 KiB fill what all of them may add to the program.
    assert_eq!(
        folded(4, |b, c| {
            let mut sum = b.calls().call_kw("aten::rand", (Argument::List(vec![]),), &[])?;
            for i in 0..20 {
                let wide = b.call("aten::repeat", (c, vec![1i64, 256]))?;
                let moved = b.call("aten::add.Scalar", (wide, i))?;
                let made = b.call("aten::exp", (moved,))?;
                sum = b.call("aten::add.Tensor", (sum, made))?;
            }
            b.call("aten::sum", (sum,))
        }),
        16
    );
    // What fails is left to the run, and alone: the sine is folded, the row that is not there is not taken.
    assert_eq!(
        folded(64, |b, c| {
            let sine = b.call("aten::sin", (c,))?;
            let far = b.calls().call_kw("aten::full_like", (c, 100), &[("dtype", oxport::DType::I64.into())])?;
            let taken = b.call("aten::gather", (c, 0, far))?;
            let x = b.calls().call_kw("aten::rand", (Argument::List(vec![]),), &[])?;
            let (a, b1) = (b.call("aten::add.Tensor", (sine, x))?, b.call("aten::add.Tensor", (taken, x))?);
            b.call("aten::add.Tensor", (a, b1))
        }),
        1
    );
}

/// PyTorch's ranges of fractions have other bits on other CPUs: without rounding, only those are computed ahead that no
/// kernel rounds.
#[test]
fn ranges_that_round_are_left_to_the_run() {
    let folded = |range: &str, opt: Opt| {
        let text = format!(
            "def forward(self, x: \"f32[8]\"):\n    r = torch.ops.aten.arange.{range})\n    \
                m = torch.ops.aten.gt.Scalar(r, 1)\n    z = torch.ops.aten.where.ScalarOther(m, x, 0.0)\n    \
                return (z,)\n"
        );
        let (improved, _) = oxport::optimize(&fx(&text), opt, &Default::default()).expect("a program to improve");
        improved.tensors().count()
    };
    for (range, expected) in [
        ("default(8", 1),
        ("default(8.0", 1),
        ("start_step(0.5, 4.5, 0.5", 1),
        ("start_step(8, 0.25, -1, dtype = torch.bfloat16", 1),
        ("start_step(0, 0.8, 0.1", 0),
        ("start_step(16777216.0, 16777232.0, 2.0", 0),
        ("start_step(250, 258, dtype = torch.bfloat16", 0),
        // Whole numbers of an integer dtype, whatever it is made of.
        ("start_step(0, 4, 0.5, dtype = torch.int64", 1),
    ] {
        assert_eq!(folded(range, Opt::Exact), expected, "arange.{range})");
        assert_eq!(folded(range, Opt::Fast), 1, "arange.{range})");
    }
}

/// What depends on nothing but sizes is computed once, unless it is cheap and large, or drawn, or nothing but memory.
#[test]
fn what_sizes_decide_is_folded() {
    let folded = |body: &str| {
        let text = format!("def forward(self, x: \"f32[64, 64]\", y: \"f32[s0, 64]\"):\n{body}    return (z,)\n");
        let (improved, _) = oxport::optimize(&fx(&text), Opt::Fast, &Default::default()).expect("a program to improve");
        improved.tensors().map(|(_, t)| t.tensor.numel()).collect::<Vec<_>>()
    };
    let places = "    i = torch.ops.aten.arange.default(64)\n    r = torch.ops.aten.unsqueeze.default(i, 1)\n";
    // A mask; then one of more than 4 KiB, of whose two vectors one is stored, and the other a call of no tensors.
    let mask = "    m = torch.ops.aten.le.Tensor(i, r)\n    z = torch.ops.aten.where.ScalarOther(m, x, 0.0)\n";
    assert_eq!(folded(&format!("{places}{mask}")), [64 * 64]);
    let large = "    w = torch.ops.aten.sub.Tensor(i, r)\n    z = torch.ops.aten.mul.Tensor(x, w)\n";
    assert_eq!(folded(&format!("{places}{large}")), [64]);
    // As large, but dear.
    let unary = ["sin", "cos", "exp", "sin", "cos", "exp", "sin", "cos", "exp"];
    let mut table =
        "    f = torch.ops.aten.mul.Scalar(i, 0.01)\n    t0 = torch.ops.aten.mul.Tensor(f, r)\n".to_string();
    for (i, op) in unary.iter().enumerate() {
        table += &format!("    t{} = torch.ops.aten.{op}.default(t{i})\n", i + 1);
    }
    table += "    z = torch.ops.aten.mul.Tensor(x, t9)\n";
    assert_eq!(folded(&format!("{places}{table}")), [64 * 64]);
    for other in [
        // No more than a call of no tensors.
        "    o = torch.ops.aten.ones.default([64])\n    z = torch.ops.aten.mul.Tensor(x, o)\n",
        "    o = torch.ops.aten.rand.default([64])\n    e = torch.ops.aten.exp.default(o)\n    \
            z = torch.ops.aten.mul.Tensor(x, e)\n",
        "    o = torch.ops.aten.empty.memory_format([64])\n    e = torch.ops.aten.exp.default(o)\n    \
            z = torch.ops.aten.mul.Tensor(x, e)\n",
        // On another device.
        "    o = torch.ops.aten.arange.default(64, device = device(type='cuda', index=0))\n    \
            e = torch.ops.aten.exp.default(o)\n    z = torch.ops.aten.exp.default(e)\n",
        // Of sizes that a call says.
        "    n = torch.ops.aten.sym_size.int(y, 0)\n    o = torch.ops.aten.arange.default(n)\n    \
            e = torch.ops.aten.exp.default(o)\n    z = torch.ops.aten.exp.default(e)\n",
    ] {
        assert_eq!(folded(other), [0usize; 0], "{other}");
    }
}
