//! Messages: files of other kinds, excerpts around diagnostics, suggestions, verbosity, completions and manual pages.

use crate::info::fixture;
use crate::inputs::file;
use crate::{oxport, text};

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn files_of_other_kinds_are_recognized() {
    for (name, kind, advice) in [
        ("state.pt", "a state dict of torch.save", "it has weights, but no graph"),
        ("module.pt", "a pickled module of torch.save", "loading it executes code"),
        ("state_old.pt", "a pickle, as torch.save wrote before PyTorch 1.6", "`oxport verify --scan`"),
        ("script.pt", "a TorchScript program", "TorchScript is another format"),
        ("compiled.pt2", "a compiled package of AOTInductor", "save the exported program before it is compiled"),
        ("model.onnx", "an ONNX model", "programs of torch.export only"),
        ("model.gguf", "a GGUF file", "programs of torch.export only"),
        ("table.npz", "NumPy arrays (.npz)", "it can be an input"),
        ("picture.jpg", "a picture", "`oxport run PROGRAM --image NAME=FILE`"),
    ] {
        for command in ["run", "verify", "info", "show"] {
            let output = oxport(&[command, &file(name)]);
            let first = said(&output).lines().next().unwrap_or_default().to_string();
            assert_eq!(first, format!("error: {}: expected an exported program, got {kind}", file(name)), "{command}");
            assert!(said(&output).contains(advice) && output.status.code() == Some(3), "{}", said(&output));
            assert_eq!(said(&output).matches("error").count(), 1, "{}", said(&output));
        }
    }
    // By their first bytes.
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    for (name, bytes, kind, advice) in [
        ("x.npy", &b"\x93NUMPY\x01\0"[..], "a NumPy array (.npy)", "it can be an input"),
        ("x.pte", b"\x30\0\0\0ET12\0\0\0\0", "a program of ExecuTorch", "programs of torch.export only"),
        ("x.rten", b"RTEN\x02\0\0\0", "a model of RTen", "programs of torch.export only"),
        ("net.py", b"import torch\n\nclass Net:\n    pass\n", "Python source", "`oxport capture FILE --entry NAME`"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("law: writable");
        let message = said(&oxport(&["run", path.to_str().expect("law: paths are UTF-8")]));
        assert!(message.contains(&format!("expected an exported program, got {kind}\n")), "{message}");
        assert!(message.contains(advice), "{message}");
    }
    // With weights, safetensors says how to use them.
    let values = fixture("mlp").replace("program.pt2", "io.safetensors");
    assert!(said(&oxport(&["run", &values])).contains("oxport convert --weights FILE"));
}

#[test]
fn errors_name_their_file_once() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    for (name, bytes) in
        [("cut.safetensors", &b"\x10\0\0\0\0\0\0\0{\"a\":"[..]), ("empty.safetensors", b""), ("io.npz", b"PK\x03\x04")]
    {
        std::fs::write(at(name), bytes).expect("law: writable");
        for option in ["--inputs", "--expect"] {
            let output = oxport(&["run", &fixture("mlp"), option, &at(name), "-q"]);
            let message = said(&output);
            assert!(output.status.code() == Some(6) && message.contains(&at(name)), "{message}");
            assert!(message.starts_with("error: ") && message.matches("error").count() == 1, "{message}");
        }
    }
    let wrong = at("wrong.py");
    std::fs::write(&wrong, "def forward(self, x):\n    y = torch.ops.aten.relu.default(z)\n").expect("law: writable");
    let message = said(&oxport(&["run", &wrong]));
    assert!(message.ends_with(&format!("error: {wrong} is not valid: 1 error\n")), "{message}");
}

#[test]
fn verify_prints_excerpts() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let path = folder.path().join("stale.py");
    let path = path.to_str().expect("law: paths are UTF-8");
    let source = "def forward(self, x: \"f32[2, 3]\"):\n    relu: \"f32[2, 4]\" = torch.ops.aten.relu.default(x)\n    \
                  abs_1: \"f32[2, 3]\" = torch.ops.aten.abs.default(relu)\n    return (abs_1,)\n";
    std::fs::write(path, source).expect("law: writable");
    let found = text(&oxport(&["verify", path]));
    let excerpt = format!(
        "error[meta]: the recorded meta is f32[2, 4], the operator yields f32[2, 3]\n  --> {path}: node relu\n   |\n \
         2 |     relu: \"f32[2, 4]\" = torch.ops.aten.relu.default(x)\n   |     ^^^^\n"
    );
    assert!(found.starts_with(&excerpt), "{found}");
    assert!(!found.contains("def forward"), "{found}");
    let whole = text(&oxport(&["verify", path, "--whole"]));
    assert!(whole.contains("def forward") && whole.contains("# error[meta]"), "{whole}");
}

#[test]
fn wrong_names_have_suggestions() {
    for (arguments, tip) in [
        (&["rnu", "x"][..], "a similar subcommand exists: 'run'"),
        (&["optimise", "x"], "a similar subcommand exists: 'optimize'"),
        (&["run", "x", "--iputs", "y"], "a similar argument exists: '--inputs'"),
        (&["run", "x", "--opt", "fsat"], "a similar value exists: 'fast'"),
        (&["ops", "embeding"], "no operator has `embeding` in its name; similar: aten::embedding"),
        (&["ops", "torch.ops.aten.conv2dd.default"], "similar: aten::conv2d"),
    ] {
        assert!(said(&oxport(arguments)).contains(tip), "{tip} in {}", said(&oxport(arguments)));
    }
    // The operator of a program, and the name of a node.
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let path = folder.path().join("misspelled.py");
    let path = path.to_str().expect("law: paths are UTF-8");
    let source =
        "def forward(self, x: \"f32[2]\"):\n    y: \"f32[2]\" = torch.ops.aten.rellu.default(x)\n    return (y,)\n";
    std::fs::write(path, source).expect("law: writable");
    let found = text(&oxport(&["verify", path]));
    assert!(found.contains("there is no operator") && found.contains("= note: similar: aten::relu"), "{found}");
    let dump = folder.path().join("dump");
    let dump = dump.to_str().expect("law: paths are UTF-8");
    let found = said(&oxport(&["run", &fixture("bert_encoder"), "--dump", dump, "--dump-only", "gellu,linear_*"]));
    assert!(found.contains("warning: --dump-only: `gellu` is the name of no node"), "{found}");
    assert!(found.contains("; similar: gelu") && found.matches("warning").count() == 1, "{found}");
    // PyTorch's spellings are understood.
    for name in ["torch.ops.aten.add.Tensor", "aten.add.Tensor", "aten::add.Tensor"] {
        let found = text(&oxport(&["ops", name]));
        assert!(found.contains(" aten::add.Tensor(Tensor self"), "{name}: {found}");
    }
}

#[test]
fn quiet_and_verbose_are_everywhere() {
    let program = fixture("mlp");
    for command in
        [&["run", &program][..], &["bench", &program, "--runs", "1"], &["info", &program], &["verify", &program]]
    {
        let quiet = oxport(&[command, &["-q"]].concat());
        assert!(quiet.status.success() && said(&quiet).is_empty(), "{command:?}: {}", said(&quiet));
        let verbose = oxport(&[command, &["-v"]].concat());
        assert!(
            said(&verbose).contains("reading: ") && said(&verbose).contains(" ms"),
            "{command:?}: {}",
            said(&verbose)
        );
        assert!(!text(&verbose).contains('\u{1b}'), "no colors without a terminal");
    }
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let out = folder.path().join("out.pt2");
    let out = out.to_str().expect("law: paths are UTF-8");
    let source = folder.path().join("f.py");
    std::fs::write(&source, "def f(x): return x + 1").expect("law: writable");
    let source = source.to_str().expect("law: paths are UTF-8");
    let capture = ["capture", source, "--entry", "f", "--input", "x: f32[3]"];
    for command in [&["decompose", &program][..], &["optimize", &program], &["convert", &program], &capture] {
        let output = oxport(&[command, &["--output", out, "--json"]].concat());
        assert!(output.status.success(), "{}", said(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("one JSON document");
    }
    let listing = folder.path().join("listing.txt");
    let listing = listing.to_str().expect("law: paths are UTF-8");
    assert!(oxport(&["show", &program, "--format", "fx", "-o", listing]).status.success());
    assert_eq!(
        std::fs::read_to_string(listing).expect("law: written"),
        text(&oxport(&["show", &program, "--format", "fx"]))
    );
    assert_eq!(text(&oxport(&["show", &program, "--json"])), text(&oxport(&["show", &program, "--format", "json"])));
}

/// The help of every command has its own options first, then `--help`, then those of every command, in one order.
#[test]
fn helps_have_one_order() {
    let option = |line: &str| {
        let word = line.trim_start().split(['<', ' ', ',']).next()?;
        (word.starts_with('-') && word.len() > 1).then(|| word.to_string())
    };
    let options = |help: &str| help.lines().filter_map(option).collect::<Vec<_>>();
    let top = text(&oxport(&["--help"]));
    let (_, common) = top.split_once("Options of every command:").expect("they have a heading");
    let commands = top.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        for how in ["-h", "--help"] {
            let help = text(&oxport(&[name, how]));
            let (own, last) = help.split_once("Options of every command:").expect("they have a heading");
            assert_eq!(options(last), options(common), "{name} {how}");
            assert_eq!(options(own).last().map(String::as_str), Some("-h"), "{name} {how}: {own}");
        }
    }
    assert_eq!(options(common), ["--limit", "-q", "-v", "--color"]);
}

#[test]
fn completions_and_pages_are_of_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&oxport(&["completions", shell]));
        assert!(script.contains("dump-only") && script.contains("compare"), "{shell}");
    }
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let path = folder.path().to_str().expect("law: paths are UTF-8");
    assert!(oxport(&["man", path]).status.success());
    let help = text(&oxport(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|n| *n != "help").collect();
    assert!(names.len() > 10 && names.contains(&"info"), "{names:?}");
    for name in names {
        let page = std::fs::read_to_string(at(&format!("oxport-{name}.1"))).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    assert!(text(&oxport(&["man"])).contains(".TH oxport 1"));
}

#[test]
fn colors_are_those_of_a_terminal_or_of_the_option() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    std::fs::write(at("a.py"), "def forward(self, x: \"f32[2]\"):\n    return (x,)\n").expect("law: writable");
    let absent = at("absent.pt2");
    // Output that is no terminal has none.
    assert!(said(&oxport(&["run", &absent])).starts_with("error: cannot open"));
    assert!(said(&oxport(&["run", &absent, "--color", "always"])).starts_with("\x1b[1;31merror\x1b[0m: cannot open"));
    assert!(said(&oxport(&["run", &absent, "--color", "never"])).starts_with("error: "));
    assert!(text(&oxport(&["verify", &at("a.py"), "--color", "always"])).starts_with("\x1b[32mvalid\x1b[0m"));
    let patch = text(&oxport(&["diff", &at("a.py"), &fixture("mlp"), "--color=always"]));
    assert!(patch.contains("\n\x1b[31m- \x1b[0m") && patch.contains("\n\x1b[32m+ \x1b[0m"), "{patch}");
    assert_eq!(oxport(&["diff", &at("a.py"), &at("a.py"), "--color", "sometimes"]).status.code(), Some(2));
}

/// The exit codes of `capture`: wrong usage, rejected source, what is not supported, what fails.
#[test]
fn capture_says_what_kind_of_error_it_was() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let source = at("model.py");
    let (entry, sizes, out) = (["--entry", "f"], ["--input", "x: f32[b, 3]"], at("out.pt2"));
    for (code, text, more, message) in [
        (0, "def f(x): return x + 1", &[][..], ""),
        (2, "def g(x): return x + 1", &[], "NameError"),
        (2, "def f(x): return x + 1", &["--dim", "c=1..4"], "TypeError: no input has a size `c`"),
        (3, "def f(x) return x + 1", &[], "SyntaxError"),
        (3, "def f(x): return open('file')", &[], "refused"),
        (4, "import nowhere\ndef f(x): return nowhere.g(x)", &[], "nowhere"),
        (4, "import torch\ndef f(x): return torch.tensor([1j]) + x", &[], "NotImplementedError"),
        (5, "def f(x): raise ValueError('no')", &[], "ValueError: no"),
        (5, "def f(x):\n    while True: pass", &[], "limit"),
    ] {
        std::fs::write(&source, text).expect("law: writable");
        let arguments = [&["capture", &source, "--max-steps", "10000"][..], &entry, &sizes, more, &["--output", &out]];
        let output = oxport(&arguments.concat());
        assert_eq!(output.status.code(), Some(code), "{text}: {}", said(&output));
        assert!(said(&output).contains(message), "{text}: expected {message}, got {}", said(&output));
    }
}
