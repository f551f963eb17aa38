//! The file tests: every `.fx` below this folder.

use crate::{all, root};
use oxport::ExportedProgram;
use oxport_ir::{Graph, Node, NodeId, parse::parse, print};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "fx") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_test_holds() {
    let mut found = Vec::new();
    files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
    found.sort();
    all(found, |path| oxport_testkit::filetest::check(path));
}

#[test]
fn every_verify_test_names_a_place() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("verify"), &mut found);
    assert!(found.len() >= 20, "there are at least twenty ways to break a program");
    all(found, |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let says = text.lines().any(|l| l.trim_start().starts_with("# error[") || l.contains(": error["));
        if says { Ok(()) } else { Err("no diagnostic in it".to_string()) }
    });
}

/// Attention lays its result out as the query, its decomposition does not: the layouts of its users must follow.
#[test]
fn layouts_follow_a_decomposition() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("decompose/attention_then_view.fx");
    let text = std::fs::read_to_string(file).expect("law: the file test is checked in");
    let source = text.split("# result").next().expect("law: text before the result");
    let program = parse(source, oxport::registry()).expect("a valid program");
    let core = oxport::decompose(&program).expect("a program to decompose");
    let strides = |program: &oxport::ExportedProgram| {
        let id = program.graph.find("permute").expect("a node of the program");
        program.graph.node(id).val().and_then(|v| v.as_tensor()).map(|t| t.strides.clone())
    };
    assert_ne!(strides(&program), strides(&core));
    assert_eq!([oxport::verify(&program), oxport::verify(&core)], [vec![], vec![]]);
}

#[test]
fn strangers_command_no_terminal() {
    use oxport_ir::terminal::{Lines, Plain};
    for (text, plain) in [
        ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
        ("\u{9b}2J\u{7f}\r\t\0", "\\u{9b}2J\\u{7f}\\u{d}\\u{9}\\u{0}"),
        ("x\u{202e}y\u{2066}z\u{200b}\u{feff}", "x\\u{202e}y\\u{2066}z\\u{200b}\\u{feff}"),
        ("größer 你好 \u{1f600} {}", "größer 你好 \u{1f600} {}"),
    ] {
        assert_eq!((Plain(text).to_string(), Lines(text).to_string()), (plain.into(), plain.into()));
    }
    assert_eq!(Lines("a\nb\u{2028}").to_string(), "a\nb\\u{2028}");
    assert_eq!(Plain("a\nb").to_string(), "a\\u{a}b");
}

/// What PyTorch printed, by the name of the program and the form: `programs/mlp.py`, `sizes.fx`.
fn torch_texts() -> BTreeMap<String, String> {
    let bytes = std::fs::read(root().join("fixtures/text/texts.zip")).expect("law: the fixtures are checked in");
    let directory = oxport_pt2::zip::Directory::read(&bytes, &oxport_pt2::Limits::DEFAULT).expect("an archive");
    let text = |(name, entry): (&String, &oxport_pt2::zip::Entry)| {
        let text = entry.read(name, &bytes).expect("a whole entry").into_owned();
        (name.clone(), String::from_utf8(text).expect("a text"))
    };
    let texts: BTreeMap<_, _> = directory.entries.iter().map(text).collect();
    assert!(texts.len() >= 2 * (38 + 70), "there are {} texts", texts.len());
    texts
}

fn program(name: &str) -> Result<ExportedProgram, String> {
    let file = match name.strip_prefix("programs/") {
        Some(name) => format!("fixtures/programs/{name}/program.pt2"),
        None => format!("fixtures/text/{name}.pt2"),
    };
    oxport::read(root().join(file)).map_err(|e| e.to_string())
}

fn parsed(text: &str) -> Result<ExportedProgram, String> {
    parse(text, oxport::registry()).map_err(|e| e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))
}

fn same_text(want: &str, got: &str) -> Result<(), String> {
    let differs = want.lines().zip(got.lines()).enumerate().find(|(_, (a, b))| a != b);
    match differs {
        Some((i, (a, b))) => Err(format!("line {}:\n    PyTorch: {a}\n    oxport:  {b}", i + 1)),
        None if want != got => Err("one text is longer".to_string()),
        None => Ok(()),
    }
}

#[test]
fn both_forms_are_pytorchs() {
    let texts = torch_texts();
    all(texts.keys(), |name| match (name.rsplit_once('.'), &texts[*name]) {
        (Some((name, "py")), text) => same_text(text, &print::readable(&program(name)?)),
        (Some((name, _)), text) => same_text(text, &print::fx(&program(name)?.graph)),
        _ => Err("no text".to_string()),
    });
}

#[test]
fn pytorchs_texts_parse_and_print_as_they_were() {
    let texts = torch_texts();
    all(texts.keys(), |name| match (name.rsplit_once('.'), &texts[*name]) {
        (Some((_, "py")), text) => same_text(text, &print::readable(&parsed(text)?)),
        (Some(_), text) => same_text(text, &print::fx(&parsed(text)?.graph)),
        _ => Err("no text".to_string()),
    });
}

/// A program's nodes, one text each: everything that is known of it, its arguments by name.
fn nodes(graph: &Graph) -> Vec<String> {
    let argument = |a: &oxport_ir::Argument| {
        let mut name = |id: NodeId| oxport_ir::Argument::Str(format!("%{}", graph.node(id).name).into());
        format!("{:?}", a.map_nodes(&mut name))
    };
    let node = |(_, n): (NodeId, &Node)| {
        let args: Vec<String> = n.args.iter().map(argument).collect();
        let kwargs: Vec<String> = n.kwargs.iter().map(|(k, a)| format!("{k}={}", argument(a))).collect();
        format!("{} {:?} {args:?} {kwargs:?} {:?}", n.name, n.kind, n.meta)
    };
    graph.nodes().map(node).collect()
}

/// The first thing that differs between two programs, of what the whole text promises.
fn difference(a: &ExportedProgram, b: &ExportedProgram) -> Result<(), String> {
    fn graphs<'g>(graph: &'g Graph, path: &str, found: &mut Vec<(String, &'g Graph)>) {
        found.push((path.to_string(), graph));
        graph.subgraphs.iter().for_each(|(name, sub)| graphs(sub, &format!("{path}.{name}"), found));
    }
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    graphs(&a.graph, "", &mut xs);
    graphs(&b.graph, "", &mut ys);
    for ((path, x), (other, y)) in xs.iter().zip(&ys) {
        if path != other || x.is_single_return != y.is_single_return {
            return Err(format!("graph {path} became {other}"));
        }
        for (x, y) in nodes(x).iter().zip(&nodes(y)) {
            if x != y {
                return Err(format!("{path}: {x} became {y}"));
            }
        }
    }
    let counts = |all: &[(String, &Graph)]| all.iter().map(|(_, graph)| graph.len()).collect::<Vec<_>>();
    let hints = |p: &ExportedProgram| {
        let of = |e: &oxport::Expr| e.free_symbols().into_iter().map(|s| (s.clone(), p.env.hint(&s).cloned()));
        p.ranges.keys().flat_map(of).collect::<Vec<_>>()
    };

    let origin =
        |p: &ExportedProgram| oxport_ir::program::Origin { extra_files: Default::default(), ..p.origin.clone() };
    for (what, same) in [
        ("nodes", counts(&xs) == counts(&ys)),
        ("signature", a.signature == b.signature),
        ("ranges", a.ranges.iter().eq(b.ranges.iter())),
        ("hints", hints(a) == hints(b)),
        ("known ranges", a.env.ranges().eq(b.env.ranges())),
        ("module calls", a.module_calls == b.module_calls),
        ("guards", a.guards == b.guards),
        ("dialect", a.dialect == b.dialect),
        ("origin", origin(a) == origin(b)),
    ] {
        if !same {
            return Err(format!("the {what} differ"));
        }
    }
    let document = |p: &ExportedProgram| oxport_pt2::to_json(p).map_err(|e| e.to_string());
    if document(a)? == document(b)? { Ok(()) } else { Err("the documents differ".to_string()) }
}

/// The fixtures, and their optimized and decomposed forms, which are of no file.
#[test]
fn whole_texts_lose_nothing() {
    let names: Vec<String> =
        torch_texts().into_keys().filter_map(|n| Some(n.strip_suffix(".py")?.to_string())).collect();
    all(names, |name| {
        let read = program(name)?;
        // Operators that oxport does not know are read and printed, but cannot be decomposed.
        let core = if name.starts_with("custom_operators") {
            read.clone()
        } else {
            oxport::decompose(&read).map_err(|e| e.to_string())?
        };
        for program in [read, core] {
            let text = print::whole(&program);
            difference(&program, &parsed(&text)?)?;
            let torch: String =
                text.lines().filter(|l| !l.trim_start().starts_with("#:")).map(|l| format!("{l}\n")).collect();
            same_text(&print::readable(&program), &torch)?;
        }
        Ok(())
    });
}

/// What PyTorch's readable text keeps of a graph's nodes, which are told by their places: some have other names there.
fn promised(graph: &Graph) -> Vec<String> {
    let places: std::collections::HashMap<NodeId, usize> = graph.ids().enumerate().map(|(i, id)| (id, i)).collect();
    let argument = |a: &oxport_ir::Argument| {
        let mut place = |id: NodeId| oxport_ir::Argument::Str(format!("%{}", places[&id]).into());
        print::argument(graph, &a.map_nodes(&mut place))
    };
    fn val(one: &oxport::Val) -> String {
        match one {
            oxport::Val::Tensor(t) => t.to_string(),
            oxport::Val::Int(e) | oxport::Val::Float(e) | oxport::Val::Bool(e) if !e.is_const() => e.to_string(),
            oxport::Val::List(l) => l.iter().map(val).collect::<Vec<_>>().join("; "),
            _ => String::new(),
        }
    }
    let node = |(_, n): (NodeId, &Node)| {
        let args: Vec<String> = n.args.iter().map(argument).collect();
        let kwargs: Vec<String> = n.kwargs.iter().map(|(k, a)| format!("{k}={}", argument(a))).collect();
        format!("{:?} {args:?} {kwargs:?} {}", n.kind, n.val().map_or(String::new(), val))
    };
    graph.nodes().map(node).collect()
}

/// PyTorch's text of a program is one, which has the same nodes with the same metas: what it lacks is inferred.
#[test]
fn pytorchs_texts_are_the_programs() {
    let texts = torch_texts();
    all(texts.keys().filter_map(|name| name.strip_suffix(".py")), |name| {
        let of_file = program(name)?;
        let mut of_text = parsed(&texts[&format!("{name}.py")])?;
        let (mut a, mut b) = (vec![&of_file.graph], vec![&of_text.graph]);
        while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
            // Loading makes nodes for absent elements, which a file does not have.
            let absent = y.nodes().any(|(_, n)| n.name.starts_with("as_none"));
            if !absent && let Some((x, y)) = promised(x).iter().zip(&promised(y)).find(|(x, y)| x != y) {
                return Err(format!("{x} became {y}"));
            }
            a.extend(x.subgraphs.values());
            b.extend(y.subgraphs.values());
        }
        (of_text.state, of_text.constants) = (of_file.state.clone(), of_file.constants.clone());
        let wrong = |p: &ExportedProgram| {
            let known = oxport::verify(&of_file);
            // How a tensor is stored, no text of PyTorch's says.
            let is_stored = |d: &oxport::Diagnostic| d.message.contains("is stored with strides");
            let is_new = |d: &oxport::Diagnostic| !is_stored(d) && !known.iter().any(|k| k.message == d.message);
            let new = oxport::verify(p).into_iter().find(is_new);
            new.map_or(Ok(()), |d| Err(d.to_string()))
        };
        wrong(&of_text)?;
        let bytes = oxport_pt2::write_pt2_bytes(&of_text).map_err(|e| format!("it is not written: {e}"))?;
        let again = oxport_pt2::read_pt2_bytes(&bytes, oxport::registry(), &Default::default());
        wrong(&again.map_err(|e| format!("it is not read: {e}"))?)
    });
}

#[test]
fn inputs_that_are_left_out_take_their_defaults() {
    let check = || -> oxport::Result<()> {
        let source = "def forward(self, x: \"f32[2]\", n: \"Sym(s0)\" = 3, y: \"Sym(s1)\" = 2):\n    \
                      mul: \"f32[2]\" = torch.ops.aten.mul.Tensor(x, n)\n    \
                      relu_: \"f32[2]\" = torch.ops.aten.relu_.default(mul)\n    \
                      add: \"f32[2]\" = torch.ops.aten.add.Tensor(relu_, y)\n    return (add,)\n";
        let program = parse(source, oxport::registry()).expect("a program");
        let one = oxport::Tensor::from_slice(&[2], &[1.0f32, -1.0])?;
        for opt in [oxport::Opt::None, oxport::Opt::Exact] {
            let prepared = oxport::prepare(&program, opt)?;
            assert!(print::readable(&prepared).contains("n: \"Sym(s0)\" = 3, y: \"Sym(s1)\" = 2"));
            let plan = oxport::plan(&prepared, &oxport::PlanOptions::default())?;
            let run = |rest: &[oxport::Value]| -> oxport::Result<Vec<f32>> {
                let inputs = std::iter::once(one.clone().into()).chain(rest.iter().cloned()).collect();
                let out = plan.run(inputs)?.user.remove(0);
                Ok(out.as_tensor().expect("a tensor").to_vec::<f32>()?)
            };
            assert_eq!(run(&[])?, [5.0, 2.0]);
            assert_eq!(run(&[oxport::Value::Int(4)])?, [6.0, 2.0]);
            assert!(plan.run(Vec::new()).is_err(), "x has no default");
            let mut named = oxport::io::Values::new();
            named.insert("in.0".into(), one.clone().into());
            assert_eq!(oxport::io::inputs_from(&program, &named)?.len(), 3);
        }
        let refused = oxport_pt2::write_pt2_bytes(&program).expect_err("a file has no place for it").to_string();
        assert!(
            refused.contains("the default of `n` cannot be written: the program JSON has no defaults"),
            "{refused}"
        );
        let mut b = oxport::ProgramBuilder::new(oxport::registry());
        let x = b.input("x", oxport::Fake::new(oxport::DType::F32, [oxport::Expr::from(2i64)]))?;
        let n = b.input_with_default("n", oxport::Val::Int(oxport::Expr::from(3i64)), 3i64)?;
        let mul = b.call("aten::mul.Tensor", (x, n))?;
        let built = b.finish(&[mul])?;
        assert!(print::fx(&built.graph).contains("%n : [num_users=1] = placeholder[target=n](default=3)"));
        assert_eq!(oxport::verify(&built).iter().map(|d| d.code).collect::<Vec<_>>(), ["document"]);
        let plan = oxport::plan(&oxport::prepare(&built, oxport::Opt::None)?, &Default::default())?;
        let mut module = oxport::Module::new(plan.into());
        module.call(vec![oxport_pytree::Tree::Leaf(one.into())], Default::default())?;
        Ok(())
    };
    check().expect("defaults are taken");
}
