//! Convolutions by Winograd's algorithm, where a plan may round ([`PlanOptions::fast`]): near those that may not.

use oxport::compare::{Tolerance, compare};
use oxport::{ExportedProgram, PlanOptions, Tensor, Value, registry};
use oxport_ir::{StateTensor, parse};

/// A convolution, what a pass joins with it, and one by name, of one weight.
fn program(height: &str, symbols: &str) -> ExportedProgram {
    let text = format!(
        r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[24, 24, 3, 3]", p_b: "f32[24]", x: "f32[2, 24, {height}, 13]"):
            a: "f32[2, 24, {height}, 13]" = torch.ops.aten.conv2d.default(x, p_w, p_b, [1, 1], [1, 1])
            b: "f32[2, 24, {height}, 13]" = torch.ops.aten.relu.default(a)
            c: "f32[2, 24, {height}, 13]" = torch.ops.aten.conv2d.padding(b, p_w, p_b, [1, 1], 'same')
            d: "f32[2, 24, {height}, 13]" = torch.ops.aten.add.Tensor(c, x)
            return (d,)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    p_b: PARAMETER target='b'
    x: USER_INPUT
    # outputs
    d: USER_OUTPUT

Range constraints: {{{symbols}}}
"#
    );
    let mut program = parse::parse(&text, registry()).expect("a valid text");
    let state = |sizes: &[i64], seed| StateTensor::new(noise(sizes, seed), true);
    program.state.insert("w".into(), state(&[24, 24, 3, 3], 1));
    program.state.insert("b".into(), state(&[24], 2));
    program
}

pub fn noise(sizes: &[i64], seed: i64) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let number = |i: i64| ((i * 7919 + seed * 104_729) % 1009) as f32 / 5045.0 - 0.1;
    Tensor::from_vec(sizes, (0..count).map(number).collect()).expect("a valid case")
}

/// Three calls, of which the later ones are joined.
fn run(program: &ExportedProgram, options: PlanOptions) -> Vec<Value> {
    let plan = oxport::plan(program, &PlanOptions { fuse_from: 1, ..options }).expect("it has kernels");
    let call = || plan.run(vec![noise(&[2, 24, 12, 13], 3).into()]).expect("it runs").user.remove(0);
    vec![call(), call(), call()]
}

#[test]
fn fast_plans_round_and_are_near() {
    let fast = || PlanOptions { fast: true, ..PlanOptions::default() };
    let fixed = program("12", "");
    let exact = run(&fixed, PlanOptions::default());
    let rounded = run(&fixed, PlanOptions { threads: 1, ..fast() });
    let is_equal = |a: &Value, b: &Value| compare(a, b, Tolerance::Exact).agree;
    for value in &rounded {
        assert!(is_equal(value, &rounded[0]), "joined or not, the same bits");
        assert!(!is_equal(value, &exact[0]), "the algorithm is used");
        let found = compare(value, &exact[0], Tolerance::ByDtype { f32: 1e-5 });
        assert!(found.agree, "{}", found.detail);
    }
    assert!(is_equal(&run(&fixed, PlanOptions { threads: 3, ..fast() })[2], &rounded[0]), "on any number of threads");
    // What is not prepared is exact, and so are planes of unknown size.
    assert!(is_equal(&run(&fixed, PlanOptions { prepare: false, ..fast() })[2], &exact[0]));
    let open = program("s0", "s0: VR[9, 40]");
    assert!(is_equal(&run(&open, fast())[2], &run(&open, PlanOptions::default())[2]));
}

/// A weight that a plane of known size shares with one of unknown size is made both into points and into panels.
#[test]
fn every_call_of_a_weight_decides_for_itself() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[24, 24, 3, 3]", x: "f32[2, 24, 12, 13]", y: "f32[2, 24, s0, 13]"):
            a: "f32[2, 24, 12, 13]" = torch.ops.aten.conv2d.default(x, p_w, None, [1, 1], [1, 1])
            b: "f32[2, 24, s0, 13]" = torch.ops.aten.conv2d.default(y, p_w, None, [1, 1], [1, 1])
            return (a, b)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    x: USER_INPUT
    y: USER_INPUT
    # outputs
    a: USER_OUTPUT
    b: USER_OUTPUT

Range constraints: {s0: VR[9, 40]}
"#;
    let mut program = parse::parse(text, registry()).expect("a valid text");
    program.state.insert("w".into(), StateTensor::new(noise(&[24, 24, 3, 3], 1), true));
    let run = |fast: bool| {
        let plan = oxport::plan(&program, &PlanOptions { fast, ..PlanOptions::default() }).expect("it has kernels");
        let x = || Value::Tensor(noise(&[2, 24, 12, 13], 3));
        plan.run(vec![x(), x()]).expect("it runs").user
    };
    let (exact, fast) = (run(false), run(true));
    let is_equal = |i: usize| compare(&fast[i], &exact[i], Tolerance::Exact).agree;
    assert!(!is_equal(0) && is_equal(1));
}

/// Planes of a volume, of any number of frames, are for the algorithm, too.
#[test]
fn frames_of_a_volume_are_planes() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[24, 24, 3, 3, 3]", x: "f32[1, 24, s0, 12, 13]"):
            a: "f32[1, 24, s0, 12, 13]" = torch.ops.aten.conv3d.default(x, p_w, None, [1, 1, 1], [1, 1, 1])
            return (a,)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    x: USER_INPUT
    # outputs
    a: USER_OUTPUT

Range constraints: {s0: VR[2, 40]}
"#;
    let mut program = parse::parse(text, registry()).expect("a valid text");
    program.state.insert("w".into(), StateTensor::new(noise(&[24, 24, 3, 3, 3], 1), true));
    for frames in [2, 5] {
        let run = |fast: bool| {
            let plan = oxport::plan(&program, &PlanOptions { fast, ..PlanOptions::default() }).expect("it has kernels");
            plan.run(vec![noise(&[1, 24, frames, 12, 13], 3).into()]).expect("it runs").user.remove(0)
        };
        let (exact, fast) = (run(false), run(true));
        assert!(!compare(&fast, &exact, Tolerance::Exact).agree, "the algorithm is used for {frames} frames");
        let found = compare(&fast, &exact, Tolerance::ByDtype { f32: 1e-5 });
        assert!(found.agree, "{}", found.detail);
    }
}
