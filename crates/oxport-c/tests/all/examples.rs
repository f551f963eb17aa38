//! The examples, compiled against the shared and the static library, give what PyTorch gives.

use crate::compiled::{Link, SHARED, compile, fixture, libraries, outcome, root, run};
use oxport::compare::{Tolerance, compare};
use oxport::io::{Values, inputs_from, named_outputs, read_values};
use oxport::{DType, Module, Opt, PlanOptions, Tensor, Value};
use std::path::Path;
use std::sync::Arc;

fn values(name: &str, file: &str) -> Values {
    read_values(&fixture(name).join(file), &Default::default()).expect("a fixture can be read")
}

/// The inputs of a fixture as arguments of `run`: tensors are files in the folder.
fn arguments(name: &str, file: &str, folder: &Path) -> Vec<String> {
    let program = oxport::read(fixture(name).join("program.pt2")).expect("a fixture can be read");
    let inputs = inputs_from(&program, &values(name, file)).expect("a fixture has inputs");
    let one = |(i, value): (usize, &Value)| match value {
        Value::Tensor(tensor) => {
            let path = folder.join(format!("{name}.{file}.{i}"));
            let tensor = tensor.contiguous().expect("a copy");
            std::fs::write(&path, tensor.bytes().expect("it is contiguous")).expect("a file can be written");
            let sizes: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
            format!("{}:{}", sizes.join("x"), path.display())
        }
        Value::Bool(b) => u8::from(*b).to_string(),
        other => other.to_string(),
    };
    inputs.iter().enumerate().map(one).collect()
}

/// A printed result: `out.0 float32[2, 3] 1 2 3 4 5 6`, `out.1 int 3`.
fn parsed(line: &str) -> (String, Value) {
    let (key, rest) = line.split_once(' ').expect("a key comes first");
    let (kind, elements) = match rest.split_once('[') {
        Some((dtype, rest)) => {
            let (sizes, elements) = rest.split_once(']').expect("sizes end");
            let sizes: Vec<i64> = sizes.split(", ").filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect();
            (Some((DType::from_name(dtype).expect("a dtype"), sizes)), elements)
        }
        None => (None, rest),
    };
    let value = match kind {
        Some((dtype, sizes)) => {
            let numbers: Vec<f64> = elements.split_whitespace().map(|x| x.parse().expect("a number")).collect();
            Tensor::from_vec(&sizes, numbers).and_then(|t| t.to_dtype(dtype)).expect("a tensor").into()
        }
        None => match elements.split_once(' ').unwrap_or((elements, "")) {
            ("None", _) => Value::None,
            ("int", n) => Value::Int(n.parse().expect("an int")),
            ("float", x) => Value::Float(x.parse().expect("a float")),
            ("bool", b) => Value::Bool(b == "1"),
            (_, text) => Value::Str(text.into()),
        },
    };
    (key.to_string(), value)
}

/// The results that `run` prints behind its empty line.
fn results(printed: &str) -> Values {
    let (_, results) = printed.split_once("\n\n").expect("an empty line comes before the results");
    results.lines().map(parsed).collect()
}

fn agree(what: &str, got: &Values, want: &Values) {
    let is_result = |key: &str| ["out.", "mut.", "inmut."].iter().any(|prefix| key.starts_with(prefix));
    let mut count = 0;
    for (key, want) in want.iter().filter(|(key, _)| is_result(key)) {
        let got = got.get(key).unwrap_or_else(|| panic!("{what}: there is no {key} among {:?}", got.keys()));
        let compared = compare(got, want, Tolerance::default());
        assert!(compared.agree, "{what} {key}: {}", compared.detail);
        count += 1;
    }
    assert!(count > 0, "{what}: nothing was compared");
    assert_eq!(got.len(), count, "{what}: {:?}", got.keys());
}

/// Programs, files of inputs and outputs, and options that must not matter.
const RUNS: &[(&str, &str, &[&str])] = &[
    ("mlp", "io.safetensors", &[]),
    ("mlp", "io_2.safetensors", &["opt=none", "threads=1"]),
    ("llama_block", "io.safetensors", &[]),
    ("llama_block", "io_1.safetensors", &["checks=strict", "verify_weights=true"]),
    ("cond", "io.safetensors", &[]),
    ("cond", "io_1.safetensors", &["seed=3"]),
    ("input_mutation", "io.safetensors", &[]),
    ("pytree_inputs", "io.safetensors", &[]),
    ("kv_cache", "io.safetensors", &["limit=buffer=1M"]),
    ("cnn_bn_train", "io_1.safetensors", &[]),
    ("lifted_cache", "io.safetensors", &["opt=exact"]),
    ("mlp_f64", "io.safetensors", &[]),
];

#[test]
fn run_c_gives_the_outputs_of_pytorch() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(&root().join("examples/run.c"), Link::Shared, folder.path());
    for (name, file, options) in RUNS {
        let mut all = vec![fixture(name).join("program.pt2").display().to_string()];
        all.extend(options.iter().map(ToString::to_string));
        all.push("--".to_string());
        all.extend(arguments(name, file, folder.path()));
        agree(&format!("{name} {file}"), &results(&run(&program, &all)), &values(name, file));
    }
}

#[test]
fn run_c_prints_the_signature() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(&root().join("examples/run.c"), Link::Static, folder.path());
    let mut all = vec![fixture("mlp").join("program.pt2").display().to_string(), "--".to_string()];
    all.extend(arguments("mlp", "io.safetensors", folder.path()));
    let printed = run(&program, &all);
    let signature: Vec<&str> = printed.split("\n\n").next().unwrap_or_default().lines().collect();
    assert_eq!(signature, ["in.0 `input` float32[s31, 16] cpu", "out.0 `` float32[s31, 5] cpu"]);
    agree("mlp, static", &results(&printed), &values("mlp", "io.safetensors"));
}

#[test]
fn first_c_prints_the_first_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(&root().join("examples/first.c"), Link::Shared, folder.path());
    let path = fixture("mlp").join("program.pt2");
    let printed = run(&program, &[path.display().to_string(), "3".into(), "16".into()]);
    let got: Vec<f32> = printed.lines().map(|line| line.parse().expect("a number")).collect();
    let x = Tensor::from_vec(&[3, 16], (0..48).map(|i| i as f32 / 4.0).collect()).expect("a tensor");
    let prepared = oxport::prepare(&oxport::read(&path).expect("a program"), Opt::Exact).expect("it is valid");
    let outputs = oxport::plan(&prepared, &PlanOptions::default()).and_then(|plan| Ok(plan.run(vec![x.into()])?));
    let Value::Tensor(want) = &outputs.expect("it runs").user[0] else { panic!("expected a tensor") };
    assert_eq!(got, want.to_vec::<f32>().expect("floats"));
    // Errors end it with the exit codes of the command line, and a message.
    for (arguments, code, message) in [
        (["missing.pt2", "3", "16"], 6, "cannot open missing.pt2"),
        ([&path.display().to_string(), "3", "15"], 5, "to be equal to 16, but got 15"),
    ] {
        let (ended, out, err) = outcome(&program, &arguments.map(str::to_string));
        assert_eq!((ended, out.as_str()), (Some(code), ""), "{err}");
        assert!(err.contains(message), "{err}\nexpected: {message}");
    }
}

#[test]
fn state_cpp_keeps_buffers() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["io.safetensors", "io_1.safetensors", "io_2.safetensors"];
    let path = fixture("kv_cache").join("program.pt2");
    let mut all = vec![path.display().to_string()];
    for file in files {
        let inputs = arguments("kv_cache", file, folder.path());
        all.extend(inputs.iter().map(|text| text.split_once(':').expect("sizes").1.to_string()));
    }
    // The same calls in Rust.
    let program = oxport::read(&path).expect("a program");
    let prepared = oxport::prepare(&program, Opt::Exact).expect("it is valid");
    let mut module = Module::new(Arc::new(oxport::plan(&prepared, &PlanOptions::default()).expect("it can run")));
    let mut want = String::new();
    let line = |key: &str, tensor: &Value| {
        let Value::Tensor(tensor) = tensor else { panic!("expected a tensor") };
        let elements = tensor.to_vec::<f32>().expect("floats");
        format!("{key} {}\n", elements.iter().map(|x| shortest(*x)).collect::<Vec<_>>().join(" "))
    };
    for file in files {
        let inputs = inputs_from(&program, &values("kv_cache", file)).expect("inputs");
        let named = named_outputs(&module.call_flat(inputs).expect("it runs"));
        let Value::Tensor(length) = &named["out.1"] else { panic!("expected a tensor") };
        let length = length.to_vec::<i64>().expect("ints")[0];
        want += &format!("{}out.1 {length}\n", line("out.0", &named["out.0"]));
    }
    let k = module.buffers().find(|(name, _)| &***name == "k").expect("a buffer").1.clone();
    want += &line("mut.k", &k.into());
    want += "again equal, clone kept\n";
    let sizes = "expected f32[2, 4, 10, 4], got f32[320]";
    want += &format!("refused: buffer `k`: {sizes}\n");
    for link in [Link::Shared, Link::Static] {
        let binary = compile(&root().join("examples/state.cpp"), link, folder.path());
        let got = run(&binary, &all);
        assert_eq!(numbers(&got), numbers(&want));
    }
    // And the first call is that of PyTorch.
    let binary = folder.path().join("state-shared");
    let printed = run(&binary, &all[..3]);
    let (_, first) = parsed(&printed.lines().next().unwrap_or_default().replace("out.0", "out.0 float32[2, 2, 16]"));
    let compared = compare(&first, &values("kv_cache", files[0])["out.0"], Tolerance::default());
    assert!(compared.agree, "{}", compared.detail);
}

/// A float whose text differs from that of no other one.
fn shortest(x: f32) -> String {
    format!("{x:e}")
}

/// A text with its numbers as `f32` prints them.
fn numbers(text: &str) -> String {
    let word = |word: &str| word.parse::<f32>().map_or_else(|_| word.to_string(), shortest);
    text.lines().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
#[cfg(unix)]
fn threads_share_a_program_of_a_library_loaded_at_run_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = compile(&root().join("tests/threads.c"), Link::Alone, folder.path());
    let library = libraries().join(SHARED).display().to_string();
    let program = fixture("mlp").join("program.pt2").display().to_string();
    // Several times: the library may be unloaded while threads of the plan still end.
    for round in 0..5 {
        let printed = run(&binary, &[library.clone(), program.clone(), "50".into(), "9".into(), "16".into()]);
        assert_eq!(printed, "4 threads, 180 bytes, 0 failures, dlclose 0\n", "round {round}");
    }
}
