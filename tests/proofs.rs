//! Proofs of optimization: every kept program has them, and what was tampered with is refused.

mod attacks;
mod closure;
mod tampering;

use crate::{all, programs, root};
use oxport::rewrite::proof::{Entry, Step, explain};
use oxport::{Checked, DType, ExportedProgram, Expr, Fake, Limits, Model, Opt, Proof, Target, Tensor, Val};
use oxport_ir::{Argument, Kwargs, ProgramBuilder};
use std::collections::BTreeSet;
use std::path::Path;

/// A program, what it is optimized to, and the proof.
#[derive(Clone)]
pub(crate) struct Proved {
    pub before: ExportedProgram,
    pub after: ExportedProgram,
    pub proof: Proof,
}

/// How a program is optimized: the rules, whether weights are constants, and the target.
type Mode = (Opt, bool, Target);

const MODES: [Mode; 5] = [
    (Opt::Exact, false, Target::Aten),
    (Opt::Exact, true, Target::Aten),
    (Opt::Fast, false, Target::Aten),
    (Opt::Fast, true, Target::Aten),
    (Opt::Fast, true, Target::Cpu),
];

pub(crate) fn read(dir: &Path) -> Result<ExportedProgram, String> {
    oxport::read(dir.join("program.pt2")).map_err(|e| e.to_string())
}

pub(crate) fn prove(before: &ExportedProgram, (opt, frozen, target): Mode) -> Result<Proved, String> {
    let limits = Limits { model: Model { frozen, target, ..Model::default() }, ..Limits::default() };
    let (after, _, proof) = oxport::optimize_with_proof(before, opt, &limits).map_err(|e| e.to_string())?;
    Ok(Proved { before: before.clone(), after, proof: proof.map_err(|refused| refused.to_string())? })
}

pub(crate) fn check(proved: &Proved) -> Result<Checked, String> {
    let checked = oxport::check_proof(&proved.before, &proved.after, &proved.proof).map_err(|e| e.to_string())?;
    checked.map_err(|refused| refused.to_string())
}

#[test]
fn every_program_has_a_proof() {
    let folder = tempfile::tempdir().expect("a folder");
    let modes: Vec<_> = programs().into_iter().flat_map(|dir| MODES.map(|mode| (dir.clone(), mode))).collect();
    all(modes, |(dir, mode)| {
        let proved = prove(&read(dir)?, *mode)?;
        // As they are written, and read by somebody else.
        let (program, file) = (folder.path().join("after.pt2"), folder.path().join("proof.json"));
        oxport::write(&proved.after, &program).map_err(|e| e.to_string())?;
        oxport::proof::write_proof(&file, &proved.proof).map_err(|e| e.to_string())?;
        let after = oxport::read(&program).map_err(|e| e.to_string())?;
        let proof = oxport::proof::read_proof(&file, &oxport::ReadLimits::default()).map_err(|e| e.to_string())?;
        if proof != proved.proof {
            return Err("the proof is another one when it is read".to_string());
        }
        let checked = check(&Proved { after, proof, ..proved })?;
        if std::env::var_os("PROOFS").is_some() {
            let bytes = std::fs::metadata(&file).map_or(0, |m| m.len());
            let name = dir.file_name().unwrap_or_default().display();
            println!("{name} {mode:?}: {} bytes, {checked:?}", bytes);
        }
        Ok(())
    });
}

#[test]
fn the_search_of_a_proof_is_the_same() {
    let program = read(&root().join("fixtures/programs/llama_block")).expect("a program");
    let limits =
        Limits { model: Model { frozen: true, target: Target::Aten, ..Model::default() }, ..Limits::default() };
    let start = oxport::functionalize(&program).expect("a functional program");
    let (plain, report) = oxport::optimize(&start, Opt::Fast, &limits).expect("an optimized program");
    let (proved, with_proof, proof) = oxport::optimize_with_proof(&program, Opt::Fast, &limits).expect("likewise");
    assert!(oxport::difference::Difference::of(&plain, &proved).is_empty());
    assert_eq!(report.rules, with_proof.rules);
    assert!(!proof.expect("a proof").steps.is_empty());
}

/// Sizes that a right side computes may be arguments of the calls within it: here the batch of regrouped products.
#[test]
fn open_sizes_within_a_right_side_are_found() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, q: "f32[s0, 3, s1, 4]", k: "f32[s0, 3, s1, 4]", v: "f32[s0, 3, s1, 4]", m: "f32[s1]"):
            n: "Sym(s1)" = torch.ops.aten.sym_size.int(q, 2)
            b: "Sym(s0)" = torch.ops.aten.sym_size.int(v, 0)
            mul: "Sym(3*s0)" = b * 3
            reshape: "f32[3*s0, s1, 4]" = torch.ops.aten.reshape.default(q, [mul, n, 4])
            reshape_1: "f32[3*s0, s1, 4]" = torch.ops.aten.reshape.default(k, [mul, n, 4])
            reshape_2: "f32[3*s0, s1, 4]" = torch.ops.aten.reshape.default(v, [mul, n, 4])
            transpose: "f32[3*s0, 4, s1]" = torch.ops.aten.transpose.int(reshape_1, 1, 2)
            bmm: "f32[3*s0, s1, s1]" = torch.ops.aten.bmm.default(reshape, transpose)
            view: "f32[s0, 3, s1, s1]" = torch.ops.aten.view.default(bmm, [b, 3, n, n])
            add: "f32[s0, 3, s1, s1]" = torch.ops.aten.add.Tensor(view, m)
            view_1: "f32[3*s0, s1, s1]" = torch.ops.aten.view.default(add, [mul, n, n])
            softmax: "f32[3*s0, s1, s1]" = torch.ops.aten.softmax.int(view_1, -1)
            bmm_1: "f32[3*s0, s1, 4]" = torch.ops.aten.bmm.default(softmax, reshape_2)
            return (bmm_1,)

Graph signature:
    # inputs
    q: USER_INPUT
    k: USER_INPUT
    v: USER_INPUT
    m: USER_INPUT
    # outputs
    bmm_1: USER_OUTPUT

Range constraints: {s0: VR[2, 64], s1: VR[2, 64]}
"#;
    let program = oxport_ir::parse::parse(text, oxport::registry()).expect("a valid text");
    let proved = prove(&program, (Opt::Fast, true, Target::Aten)).expect("a proof");
    let is_regrouped = |step: &Step| matches!(step, Step::Rule { name, .. } if name == "matmul-regrouped");
    assert!(proved.proof.steps.iter().any(is_regrouped));
    check(&proved).expect("an accepted proof");
}

/// A call that is equal from the start may be recorded with other strides of dimensions of size 1 than inference gives:
/// here attention over one head.
#[test]
fn equal_terms_may_differ_in_strides_of_ones() {
    let mut b = ProgramBuilder::new(oxport::registry());
    let x = b.input("x", Fake::new(DType::F32, [4, 16, 16].map(Expr::from))).expect("an input");
    let heads = ["q", "k", "v"].map(|name| {
        let weight = (0u8..=255).map(|i| f32::from(i) / 256.0).collect();
        let weight = b.parameter(name, Tensor::from_vec(&[16, 16], weight).expect("a tensor")).expect("a weight");
        let linear = b.call("aten::linear", (x, weight)).expect("a call");
        let head = b.call("aten::view", (linear, vec![4i64, 16, 1, 16])).expect("a call");
        b.call("aten::transpose.int", (head, 1, 2)).expect("a call")
    });
    let mut recorded = Fake::new(DType::F32, [4, 1, 16, 16].map(Expr::from));
    recorded.strides = [256, 16, 16, 1].map(Expr::from).into_iter().collect();
    let attention = oxport::registry().op("aten::scaled_dot_product_attention");
    let args = heads.map(Argument::Node).to_vec();
    let y = b.calls().add(&attention, args, Kwargs::new(), Some(Val::Tensor(recorded))).expect("a call");
    let y = b.call("aten::transpose.int", (y, 1, 2)).expect("a call");
    let y = b.call("aten::reshape", (y, vec![4i64, 16, 16])).expect("a call");
    let program = b.finish(&[y]).expect("a program");
    let proved = prove(&program, (Opt::Fast, true, Target::Aten)).expect("a proof");
    let is_copied = |step: &Step| matches!(step, Step::Rule { name, .. } if name == "attention-copied-query-heads");
    assert!(proved.proof.steps.iter().any(is_copied));
    check(&proved).expect("an accepted proof");
}

/// Likewise a view of what is laid as it was recorded, though an operand of that is not.
#[test]
fn views_may_differ_in_strides_of_ones() {
    let mut b = ProgramBuilder::new(oxport::registry());
    let [x, y] = [("x", [1, 10, 4, 16]), ("y", [1, 4, 10, 16])]
        .map(|(name, sizes)| b.input(name, Fake::new(DType::F32, sizes.map(Expr::from))).expect("an input"));
    let x = b.call("aten::transpose.int", (x, 1, 2)).expect("a call");
    let mut call = |name: &str, args: Vec<Argument>, strides: [i64; 4]| {
        let mut recorded = Fake::new(DType::F32, [1, 4, 10, 16].map(Expr::from));
        recorded.strides = strides.map(Expr::from).into_iter().collect();
        let op = oxport::registry().op(name);
        b.calls().add(&op, args, Kwargs::new(), Some(Val::Tensor(recorded))).expect("a call")
    };
    // Kernels give 640, 160, 16, 1.
    let neg = call("aten::neg", vec![y.into()], [1280, 160, 16, 1]);
    let add = call("aten::add.Tensor", vec![x.into(), neg.into()], [640, 16, 64, 1]);
    // The view has 64, 16, 64, 1.
    let same = call("aten::reshape", vec![add.into(), vec![1i64, 4, 10, 16].into()], [640, 16, 64, 1]);
    let y = b.call("aten::mul.Tensor", (same, x)).expect("a call");
    let program = b.finish(&[y]).expect("a program");
    let proved = prove(&program, (Opt::Exact, false, Target::Aten)).expect("a proof");
    assert!(proved.proof.steps.iter().any(|step| matches!(step, Step::Rule { name, .. } if name == "view-same")));
    check(&proved).expect("an accepted proof");
}

/// Likewise what is computed before the first call: here a view of what an `alias` gave back.
#[test]
fn constants_may_differ_in_strides_of_ones() {
    let mut b = ProgramBuilder::new(oxport::registry());
    let x = b.input("x", Fake::new(DType::F32, [1, 6].map(Expr::from))).expect("an input");
    let weight = Tensor::from_vec(&[1, 2, 3], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("a tensor");
    let weight = b.parameter("w", weight).expect("a weight");
    let neg = b.call("aten::neg", (weight,)).expect("a call");
    let alias = b.call("aten::alias", (neg,)).expect("a call");
    let mut recorded = Fake::new(DType::F32, [1, 6].map(Expr::from));
    recorded.strides = [12, 1].map(Expr::from).into_iter().collect();
    let args = vec![alias.into(), vec![1i64, 6].into()];
    let view = oxport::registry().op("aten::view");
    let view = b.calls().add(&view, args, Kwargs::new(), Some(Val::Tensor(recorded))).expect("a call");
    let y = b.call("aten::add.Tensor", (x, view)).expect("a call");
    let program = b.finish(&[y]).expect("a program");
    let proved = prove(&program, (Opt::Fast, true, Target::Aten)).expect("a proof");
    assert!(proved.proof.steps.iter().any(|step| matches!(step, Step::Fold { .. })));
    check(&proved).expect("an accepted proof");
}

/// A list among the arguments of a call that no rule knows has no sizes of its own that were uncertain.
#[test]
fn what_is_behind_a_random_call_has_a_proof() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            randn: "f32[2, 3]" = torch.ops.aten.randn.default([2, 3])
            view: "f32[2, 3]" = torch.ops.aten.view.default(randn, [2, 3])
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, view)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    # outputs
    add: USER_OUTPUT

Range constraints: {}
"#;
    let program = oxport_ir::parse::parse(text, oxport::registry()).expect("a valid text");
    let proved = prove(&program, (Opt::Exact, false, Target::Aten)).expect("a proof");
    assert!(proved.proof.steps.iter().any(|step| matches!(step, Step::Rule { name, .. } if name == "view-same")));
    check(&proved).expect("an accepted proof");
}

/// A call with an effect is the same one as it was wrapped, as it was unwrapped, and as it was read from a file.
#[test]
fn unwrapped_effects_have_a_proof() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, token: "f32[0]", x: "f32[2, 3]", info: "i32[2]"):
            with_effects = torch.ops.higher_order.with_effects(token, torch.ops.aten._linalg_check_errors.default, info, 'solve', is_matrix = False)
            getitem: "f32[0]" = with_effects[0]
            as_none = with_effects[1]
            view: "f32[2, 3]" = torch.ops.aten.view.default(x, [2, 3])
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(view, x)
            return (getitem, add)

Graph signature:
    # inputs
    token: TOKEN
    x: USER_INPUT
    info: USER_INPUT
    # outputs
    getitem: TOKEN
    add: USER_OUTPUT

Range constraints: {}
"#;
    let program = oxport_ir::parse::parse(text, oxport::registry()).expect("a valid text");
    let mut proved = prove(&program, (Opt::Exact, false, Target::Aten)).expect("a proof");
    assert_eq!(check(&proved).expect("an accepted proof").effects, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("after.pt2");
    oxport::write(&proved.after, &file).expect("a written program");
    proved.after = oxport::read(&file).expect("the program that was written");
    assert_eq!(check(&proved).expect("an accepted proof").effects, 1);
}

#[test]
fn steps_are_explained() {
    let program = read(&root().join("fixtures/programs/cnn_bn_eval")).expect("a program");
    let proved = prove(&program, (Opt::Fast, true, Target::Aten)).expect("a proof");
    let lines = explain(&proved.proof);
    assert!(lines.len() >= proved.proof.steps.len());
    assert!(lines.iter().all(|line| line.contains(": ") && line.contains(" => ")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("fold: ")), "{lines:#?}");
}

/// What a proof of another format, or without bounds, may say.
#[test]
fn proofs_of_nonsense_are_refused() {
    let program = read(&root().join("fixtures/programs/mlp")).expect("a program");
    let proved = prove(&program, (Opt::Exact, false, Target::Aten)).expect("a proof");
    let rule = |name: &str| Step::Rule { name: name.to_string(), before: 0, after: 0, with: Default::default() };
    let nonsense: Vec<(&str, Vec<Entry>, Vec<Step>)> = vec![
        ("later terms", vec![Entry::Call("aten::relu".to_string(), vec![1]), Entry::List(Vec::new())], Vec::new()),
        ("itself", vec![Entry::List(vec![0])], Vec::new()),
        ("no such term", vec![Entry::Storage(4_000_000_000)], Vec::new()),
        ("no such operator", vec![Entry::Call("aten::nothing".to_string(), Vec::new())], Vec::new()),
        ("no such node", vec![Entry::Node("nothing".to_string())], Vec::new()),
        ("no such constant", vec![Entry::Constant("nothing".to_string())], Vec::new()),
        ("lists of lists", vec![Entry::List(Vec::new()), Entry::List(vec![0, 0])], Vec::new()),
        ("no such rule", vec![Entry::List(Vec::new())], vec![rule("nothing")]),
        ("no such term of a step", Vec::new(), vec![rule("clone")]),
        ("nothing merged", Vec::new(), vec![Step::Merge { name: "merge-linear".to_string(), pairs: Vec::new() }]),
    ];
    all(nonsense.iter().map(|(what, ..)| what), |what| {
        let (_, terms, steps) = nonsense.iter().find(|(name, ..)| name == *what).expect("it is among them");
        let mut proof = proved.proof.clone();
        (proof.terms, proof.steps) = (terms.clone(), steps.clone());
        let tampered = Proved { before: proved.before.clone(), after: proved.after.clone(), proof };
        if check(&tampered).is_ok() { Err("it is accepted".to_string()) } else { Ok(()) }
    });
}

/// The parts of the rewriter that the checker is made of, by file: none of them knows of an e-graph.
#[test]
fn the_checker_has_no_e_graph() {
    let source = root().join("crates/oxport-rewrite/src");
    let mut open = vec!["proof".to_string()];
    let mut seen = BTreeSet::new();
    // The tables of rules stand beside what merges, rolls and stacks in the e-graph, which are files of their own.
    let is_shared = |path: &Path| !["merge", "roll", "stack"].iter().any(|m| path.ends_with(format!("rules/{m}.rs")));
    while let Some(module) = open.pop() {
        if !seen.insert(module.clone()) {
            continue;
        }
        let folder = source.join(&module);
        let mut files = vec![source.join(format!("{module}.rs"))];
        files.extend(std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path()));
        for file in files.into_iter().filter(|f| f.is_file() && is_shared(f)) {
            let text = std::fs::read_to_string(&file).expect("a source file");
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            assert!(!code.iter().any(|line| line.contains("egg::")), "{} knows of an e-graph", file.display());
            let names = code.iter().flat_map(|line| line.split("crate::").skip(1));
            let word = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
            open.extend(names.map(word).filter(|name| !name.is_empty()));
        }
    }
    assert!(seen.contains("rules") && seen.contains("kind") && !seen.contains("typing"), "{seen:?}");
}
