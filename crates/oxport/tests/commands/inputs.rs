//! Inputs that people have: files of every kind, values as text, pictures, generated ones; and what `run` says about
//! them.

use crate::info::fixture;
use crate::{oxport, text};
use oxport::inputs::{Literal, read_any};
use oxport::weights::read_state_dict;
use oxport::{DType, ReadLimits, Tensor, Value};
use std::path::Path;
use std::process::Output;

/// The path of a file that a user has.
pub fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/inputs").join(name);
    path.to_str().expect("law: paths are UTF-8").to_string()
}

fn run(program: &str, arguments: &[&str]) -> Output {
    oxport(&[&["run", &fixture(program)], arguments].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn tensor(value: &Value) -> &Tensor {
    value.as_tensor().expect("a tensor")
}

#[test]
fn arrays_are_read_whatever_their_layout() {
    let want: Vec<f32> = (0..8).map(|n| n as f32).collect();
    for name in ["x.npy", "x_columns.npy", "x_big_endian.npy", "table.npz", "table.pt"] {
        let values = read_any(Path::new(&file(name)), &ReadLimits::default()).expect("it is a file of values");
        let x = tensor(values.get("x").or(values.get("")).expect("it has the array"));
        assert_eq!(
            (x.sizes(), x.dtype(), x.to_vec::<f32>().expect("floats")),
            (&[2, 4][..], DType::F32, want.clone()),
            "{name}"
        );
    }
    for (name, message) in [
        ("object.npy", "expected an array of bools, integers, floats or complex numbers, got \"|O\""),
        ("module.pt", "expected tensors, got an object of torch.nn.modules.linear.Linear"),
        ("state_old.pt", "got a pickle, as torch.save wrote before PyTorch 1.6"),
        ("model.onnx", "got an ONNX model"),
    ] {
        let error = read_any(Path::new(&file(name)), &ReadLimits::default()).expect_err("it has no values").to_string();
        assert!(error.contains(message) && error.contains(name), "{error}");
    }
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    // A negative size, one that overflows, and one that the file is too short for.
    let text = String::from_utf8_lossy(&std::fs::read(file("x.npy")).expect("law: the fixture is there")[10..128])
        .into_owned();
    for shape in ["(-1, 4)", "(9223372036854775807, 2)", "(2, 5)", "(x,)"] {
        let header = text.replace("(2, 4)", shape);
        let length = u16::try_from(header.len()).expect("law: it is short").to_le_bytes();
        let bad = folder.path().join("bad.npy");
        std::fs::write(&bad, [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), &[0; 32]].concat())
            .expect("law: writable");
        assert!(read_any(&bad, &ReadLimits::default()).is_err(), "{shape}");
    }
    let whole = std::fs::read(file("x.npy")).expect("law: the fixture is there");
    for end in [6, 9, 40, whole.len() - 1] {
        let cut = folder.path().join("cut.npy");
        std::fs::write(&cut, &whole[..end]).expect("law: writable");
        assert!(read_any(&cut, &ReadLimits::default()).is_err(), "{end}");
    }
}

/// A safetensors file begins with the length of its header, whose bytes may be those that other files begin with.
#[test]
fn safetensors_of_any_header_are_read() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let header = r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    for (mark, length) in [("pickle", 0x0280), ("pickle", 0x0480), ("P5", 0x3550), ("P6", 0x3650), ("MZ", 0x5a4d)] {
        let padded = format!("{header:<length$}");
        let bytes = [&(length as u64).to_le_bytes()[..], padded.as_bytes(), &7f32.to_le_bytes()].concat();
        let path = folder.path().join("x.safetensors");
        std::fs::write(&path, bytes).expect("law: the folder can be written");
        let values = read_any(&path, &ReadLimits::default());
        let values = values.unwrap_or_else(|e| panic!("begins as {mark}: {e}"));
        assert_eq!(tensor(&values["x"]).to_vec::<f32>().expect("floats"), [7.0], "{mark}");
    }
}

#[test]
fn values_are_written_as_in_python() {
    let parsed = |text: &str| Literal::parse_file(text).and_then(|l| l.value(None).ok());
    for (text, want) in [
        ("3", "3"),
        ("-1.5e3", "-1500"),
        ("True", "true"),
        ("None", "None"),
        ("[1, 2, 3]", "i64[3]"),
        ("1,2,3", "i64[3]"),
        ("[[1, 2.5], [3, 4],]", "f32[2, 2]"),
        ("((1, 2),)", "i64[1, 2]"),
        ("[true, False]", "b8[2]"),
        ("[nan, -inf]", "f32[2]"),
        ("[]", "f32[0]"),
        ("1 2 3\n4 5 6\n", "i64[2, 3]"),
        ("# a comment\n1;2\n", "i64[2]"),
    ] {
        let value = parsed(text).unwrap_or_else(|| panic!("{text} is a value"));
        assert_eq!(oxport::compare::show(&value), want, "{text}");
    }
    for text in ["", "x", "[1, [2]]", "[1", "1]", "1 2\n3\n", "infinity", "[None]", &"[".repeat(100)] {
        assert!(parsed(text).is_none(), "{text}");
    }
    let error = |text: &str, dtype| {
        Literal::parse(text).expect("a value").value(Some(dtype)).expect_err("a wrong one").to_string()
    };
    assert_eq!(error("[1.5]", DType::I64), "expected numbers of int64, got 1.5");
    assert_eq!(error("300", DType::U8), "expected numbers of uint8, got 300");
}

#[test]
fn inputs_are_named_by_path_key_or_index() {
    for name in ["table['x']", "table.x", "x", "0", "in.0", "table_x"] {
        let output = run("pytree_inputs", &["--input", &format!("{name}={}", file("x.npy"))]);
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert!(
            said(&output).contains("input table['x']: f32[2, 4] (") && said(&output).contains("x.npy)"),
            "{}",
            said(&output)
        );
        assert!(said(&output).contains("input pair.left: f32[4] (the archive's sample inputs)"), "{}", said(&output));
    }
    // A container takes a file with its leaves; what it has besides is named.
    let output = run("pytree_inputs", &["--input", &format!("table={}", file("table.pt"))]);
    assert!(said(&output).contains("input table['nested'][0]: f32[4] ("), "{}", said(&output));
    let output = run("pytree_inputs", &["--inputs", &file("table.npz"), "--random"]);
    assert!(output.status.success() && said(&output).contains("warning: `other` of"), "{}", said(&output));
    let output = run("pytree_inputs", &["--input", &format!("x={}:other", file("table.npz"))]);
    assert!(said(&output).starts_with("input table['x']: i32[3]"), "{}", said(&output));
    // Text, in the dtype of the input; one number fills a tensor.
    let output = run("pytree_inputs", &["--input", "pair.left=0.5", "--input", "bias=[1, 2, 3, 4]", "--print"]);
    assert!(
        output.status.success() && said(&output).contains("input bias: f32[4] (the command line)"),
        "{}",
        said(&output)
    );
    // The inputs of a file in their order.
    let output = run("bert_encoder", &["--inputs", &file("ids.pt")]);
    assert!(output.status.success() && text(&output).starts_with("out.0: f32[2, 12, 48]"), "{}", said(&output));
}

/// Numbers as text, in a file or as the value itself, have no dtype of their own: they get that of the input.
#[test]
fn text_has_the_dtype_of_the_input() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let path = folder.path().join("numbers.txt");
    let path = path.to_str().expect("law: paths are UTF-8");
    let (tree, ids) = ("pytree_inputs", "bert_encoder");
    for (program, input, content, said_or_error) in [
        (tree, "bias", "1 2 3 4", "input bias: f32[4] ("),
        (tree, "bias", "[1, 2, 3, 4]", "input bias: f32[4] ("),
        (tree, "table['x']", "1,2,3,4\n5,6,7,8\n", "input table['x']: f32[2, 4] ("),
        (tree, "bias", "2", "input bias: f32[4] ("),
        (tree, "bias", "True", "input bias: f32[4] ("),
        (tree, "bias", "[true, false, 1, 0.5]", "input bias: f32[4] ("),
        (ids, "ids", "[[1.0, 2.0], [3, 4]]", "input ids: i64[2, 2] ("),
        (ids, "ids", "[[1, 2], [3, 4.5]]", "input `ids`: expected numbers of int64, got 4.5"),
        (ids, "ids", "0.5", "input `ids`: expected numbers of int64, got 0.5"),
    ] {
        std::fs::write(path, content).expect("law: writable");
        // Of a file, the number is wrong; on the command line, its usage.
        for (text, code) in [(path, 6), (content, 2)] {
            let output = run(program, &["--input", &format!("{input}={text}"), "--random"]);
            let is_error = said_or_error.contains("expected");
            if Literal::parse(text).is_none() && text != path {
                // Rows are for files.
                assert!(said(&output).contains("is no value, and cannot be opened"), "{}", said(&output));
                continue;
            }
            assert_eq!(output.status.code(), Some(if is_error { code } else { 0 }), "{content}: {}", said(&output));
            assert!(said(&output).contains(said_or_error), "{content}: {}", said(&output));
            assert!(!said(&output).contains("warning: input"), "{content}: {}", said(&output));
        }
    }
    std::fs::write(path, "1 2 3 4").expect("law: writable");
    let output = run(tree, &["--input", &format!("bias={path}:key"), "--random"]);
    assert!(said(&output).contains("there is no `key`"), "{}", said(&output));
    // The only input of a program needs no name.
    let program = folder.path().join("neg.py");
    let source =
        "def forward(self, x: \"f32[4]\"):\n    y: \"f32[4]\" = torch.ops.aten.neg.default(x)\n    return (y,)\n";
    std::fs::write(&program, source).expect("law: writable");
    let output = oxport(&["run", program.to_str().expect("law: paths are UTF-8"), "--inputs", path, "--print"]);
    assert!(text(&output).contains("[-1.0, -2.0, -3.0, -4.0]"), "{}{}", text(&output), said(&output));
}

#[test]
fn state_dicts_are_tensors_in_storages_of_their_own() {
    let read = |name: &str| read_state_dict(Path::new(&file(name)), &ReadLimits::default());
    let kinds = read("kinds.pth").expect("it is a state dict");
    let names = ["twin", "f16", "bf16", "steps", "mask", "fc.weight", "fc.bias"];
    assert_eq!(kinds.keys().collect::<Vec<_>>(), names);
    assert!(kinds.values().all(|t| t.is_contiguous() && t.layout().offset == 0));
    assert_eq!(kinds["fc.weight"].to_vec::<f32>().expect("floats"), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    for name in ["twin", "fc.bias"] {
        assert_eq!(kinds[name].to_vec::<f32>().expect("floats"), [2.0, 3.0]);
    }
    assert_ne!(kinds["twin"].storage().id(), kinds["fc.bias"].storage().id());
    let dtypes = names.map(|name| kinds[name].dtype());
    use DType::{BF16, Bool, F16, F32, I64};
    assert_eq!(dtypes, [F32, F16, BF16, I64, Bool, F32, F32]);
    assert_eq!(kinds["bf16"].to_dtype(F32).expect("it fits").to_vec::<f32>().expect("floats"), [1.5, 3.0]);

    let nested = read("nested.pth").expect("it has tensors alone");
    assert_eq!(nested.keys().collect::<Vec<_>>(), ["model.w", "parts.0", "parts.1"]);
    for (name, message) in [
        ("checkpoint.pth", "`epoch`: expected a tensor, got int 3; `rate`: expected a tensor, got float 0.5"),
        ("device.pth", "`model.args`: expected tensors, got another object"),
        ("keys.pth", "`model`: expected tensors, got a key that is neither a string nor an int"),
        ("module.pt", "expected tensors, got an object of torch.nn.modules.linear.Linear"),
        ("state_old.pt", "got a pickle, as torch.save wrote before PyTorch 1.6"),
        ("script.pt", "got a TorchScript program"),
    ] {
        let error = read(name).expect_err("it is no state dict").to_string();
        assert!(error.contains(message) && error.contains(name), "{error}");
    }
}

#[cfg(feature = "python")]
#[test]
fn captured_source_takes_a_state_dict_of_torch_save() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let source = "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        \
                  super().__init__()\n        self.weight = torch.nn.Parameter(torch.zeros(2, 2))\n        self.bias = \
                  torch.nn.Parameter(torch.zeros(2))\n\n    def forward(self, x):\n        return \
                  torch.nn.functional.linear(x, self.weight, self.bias)\n";
    std::fs::write(at("net.py"), source).expect("law: writable");
    let capture = |weights: &str| {
        let weights = ["--weights", &file(weights), "-o", &at("net.pt2")].map(String::from);
        let rest = ["capture", &at("net.py"), "--entry", "Net()", "--input", "x: f32[1, 2]"].map(String::from);
        oxport(&rest.iter().chain(&weights).map(String::as_str).collect::<Vec<_>>())
    };
    let output = capture("state.pt");
    assert!(output.status.success(), "{}", said(&output));
    let program = oxport::read(at("net.pt2")).expect("it was written");
    let given = read_state_dict(Path::new(&file("state.pt")), &ReadLimits::default()).expect("it is a state dict");
    assert_eq!(program.state["weight"].tensor.to_vec::<f32>().ok(), given["weight"].to_vec::<f32>().ok());
    let output = capture("checkpoint.pth");
    assert_eq!(output.status.code(), Some(6));
    assert!(said(&output).contains("checkpoint.pth: `epoch`: expected a tensor, got int 3"), "{}", said(&output));
    let output = capture("nested.pth");
    assert!(said(&output).contains("5 weights do not fit the module"), "{}", said(&output));
}

#[test]
fn wrong_inputs_are_named() {
    let x = |name: &str| format!("x={}", file(name));
    for (arguments, code, message) in [
        (["--input", "nix=3"], 2, "there is no input `nix`; the inputs are `table['x']`, `table['nested'][0]`"),
        (["--input", "x=none.npy"], 6, "input `x`: \"none.npy\" is no value, and cannot be opened"),
        (["--input", "3"], 2, "expected NAME=VALUE, got \"3\""),
        (
            ["--input", &x("x_double.npy")],
            5,
            "error: input `table['x']`: expected float32, as at the capture, got float64",
        ),
        (
            ["--inputs", &file("state.pt")],
            6,
            "expected the key `in.0` or `table_x` or `table['x']`; no inputs are `weight` of",
        ),
        (["--input", &x("table.npz:nix")], 6, "there is no `nix`; it has x, other"),
        (["--image", &x("picture.png")], 2, "cannot take a picture"),
    ] {
        let output = run("pytree_inputs", &arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(message), "{message} in {}", said(&output));
    }
}

#[test]
fn generated_inputs_have_the_asked_sizes() {
    let output = run("bert_encoder", &["--shape", "s27=5", "--random", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    assert_eq!(found["outputs"][0]["shape"], serde_json::json!([2, 5, 48]));
    assert_eq!(found["inputs"][1]["kind"], "i64[2, 5]");
    assert_eq!(found["inputs"][1]["source"], "generated, seed 0");
    // The sizes of what is given count, too.
    let output = run("bert_encoder", &["--input", "ids=[[1, 2, 3], [4, 5, 6]]", "--random"]);
    assert!(said(&output).contains("input mask: i64[2, 3] (generated, seed 0)"), "{}", said(&output));
    let output = run("bert_encoder", &["--input", "ids=[[1, 2, 3], [4, 5, 6]]", "--random", "--shape", "s27=4"]);
    assert!(output.status.code() == Some(6) && said(&output).contains("no sizes were found"), "{}", said(&output));
}

/// `(ids in range, ids above 1, others 0 or 1)`: numbers that index a table are drawn below its length, through views
/// and casts.
#[test]
fn generated_indices_are_in_range() {
    use oxport::random_inputs::generate_inputs;
    let text = "
class GraphModule(torch.nn.Module):
    def forward(self, ids: \"i64[s0, 16]\", m: \"i64[s0, 16]\", rows: \"i32[9]\", x: \"f32[7, 50]\", w: \"f32[99, 4]\"):
        view: \"i64[16*s0]\" = torch.ops.aten.view.default(ids, [-1])
        embedding: \"f32[16*s0, 4]\" = torch.ops.aten.embedding.default(w, view)
        select: \"f32[7, 9]\" = torch.ops.aten.index_select.default(x, 1, rows)
        return (embedding, select, m)
";
    let program = oxport_ir::parse::parse(text, oxport::registry()).expect("it is a program");
    for seed in 0..4 {
        let inputs = generate_inputs(&program, seed, &ReadLimits::default()).expect("there are sizes");
        let numbers = |i: usize| tensor(&inputs[i]).to_vec::<i64>().expect("integers");
        for (i, bound) in [(0, 99), (1, 2), (2, 50)] {
            let largest = numbers(i).into_iter().max().expect("some");
            assert!(numbers(i).iter().all(|n| (0..bound).contains(n)) && largest * 2 >= bound, "{i}: {:?}", numbers(i));
        }
    }
}

#[test]
fn pictures_are_resized_as_pillow_does() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let source = "def forward(self, x: \"f32[1, 3, s0, s1]\"):\n    \
        y: \"f32[1, 3, s0, s1]\" = torch.ops.aten.clone.default(x)\n    return (y,)\n";
    std::fs::write(at("any.py"), source).expect("law: writable");
    std::fs::write(at("fixed.py"), source.replace("s0", "16").replace("s1", "16")).expect("law: writable");
    std::fs::write(at("gray.py"), source.replace(", 3, s0, s1", ", s0, s1, 1")).expect("law: writable");
    let same = |program: &str, picture: &str, want: &str, atol: &str, more: &[&str]| {
        let image = format!("x={}", file(picture));
        let arguments = ["run", &at(program), "--image", &image, "--expect", &file(want), "--atol", atol];
        let output = oxport(&[&arguments[..], more].concat());
        assert!(output.status.success(), "{picture}: {}{}", text(&output), said(&output));
    };
    same("fixed.py", "picture.png", "picture_16.npy", "1e-6", &[]);
    same("any.py", "picture.ppm", "picture_16.npy", "1e-6", &["--image-size", "16x16"]);
    // JPEG loses a little.
    same("fixed.py", "picture.jpg", "picture_16.npy", "0.02", &[]);
    let normal = ["--image-size", "30x40", "--image-mean", "0.5", "--image-std", "0.25,0.5,1"];
    same("any.py", "picture.png", "picture_30x40.npy", "1e-5", &normal);
    let gray = |picture: &str| {
        let output = oxport(&["run", &at("gray.py"), "--image", &file(picture), "--print"]);
        assert!(output.status.success(), "{}", said(&output));
        text(&output)
    };
    assert_eq!(gray("gray.png"), gray("picture.png"), "Pillow's own weights");
    // Cut files are errors, and so is a picture that claims to be huge.
    for name in ["picture.png", "picture.jpg", "picture.ppm"] {
        let whole = std::fs::read(file(name)).expect("law: the fixture is there");
        std::fs::write(at("cut"), &whole[..whole.len() / 2]).expect("law: writable");
        let output = oxport(&["run", &at("any.py"), "--image", &at("cut")]);
        assert!(output.status.code() == Some(6) || name == "picture.jpg", "{name}: {}", said(&output));
    }
    for huge in [&b"P6 1000000 1000000 255\n"[..], b"P6 0 0 255\n", b"P6 1 1 65535\n\0\0\0\0\0\0"] {
        std::fs::write(at("huge"), huge).expect("law: writable");
        assert_eq!(oxport(&["run", &at("any.py"), "--image", &at("huge")]).status.code(), Some(6));
    }
    for (arguments, message) in [
        (["--image-std", "1,2"], "expected 1 or 3 numbers as the standard deviation, got 2"),
        (["--image-size", "0x3"], "expected a picture size of 1 to"),
        (["--image", &file("x.npy")], "x.npy: expected a picture (PNG, JPEG, binary PPM)"),
    ] {
        let output = oxport(&[&["run", &at("any.py"), "--image", &file("picture.png")], &arguments[..]].concat());
        assert!(!output.status.success() && said(&output).contains(message), "{}", said(&output));
    }
}

#[test]
fn outputs_are_shown() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let source =
        "def forward(self, x: \"f32[2, 4]\"):\n    y: \"f32[2, 4]\" = torch.ops.aten.log.default(x)\n    return (y,)\n";
    std::fs::write(at("log.py"), source).expect("law: writable");
    let printed = |arguments: &[&str]| {
        text(&oxport(&[&["run", &at("log.py"), "--input", "[[1, -1, 0, 1], [2, 1, 1, 1]]"], arguments].concat()))
    };
    let line = "out.0: f32[2, 4]  min 0  max 0.6931  mean 0.1155  nan 1  inf 1\n";
    assert_eq!(printed(&[]), format!("{line}    0.0, NaN, -inf, 0.0, 0.6931472, 0.0, …\n"));
    assert_eq!(printed(&["--print"]), format!("{line}[[0.0, NaN, -inf, 0.0],\n [0.6931472, 0.0, 0.0, 0.0]]\n"));
    assert_eq!(printed(&["--top", "2"]), format!("{line}    [0]  1: NaN  0: 0\n    [1]  0: 0.6931  1: 0\n"));
    let large = Tensor::from_vec(&[2, 600], (0..1200).map(|n| n as f32).collect()).expect("law: so many elements");
    let shown = oxport::display::nested(&large).expect("it can be read");
    assert_eq!(
        shown,
        "[[0.0, 1.0, 2.0,  ..., 597.0, 598.0, 599.0],\n [600.0, 601.0, 602.0,  ..., 1197.0, 1198.0, 1199.0]]"
    );
}
