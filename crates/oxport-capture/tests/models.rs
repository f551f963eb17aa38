//! The models of `examples/models`: their programs are those that PyTorch 2.15 exports of the same models, line by line
//! (`models/*.txt`, without comments), and compute what PyTorch computes with the weights of the same seed
//! (`models/io.safetensors`).

#[path = "../examples/models/zoo.rs"]
mod zoo;

use oxport::Value;
use oxport_capture::{ModuleState, manual_seed};
use oxport_ir::ExportedProgram;
use oxport_tensor::DType;
use std::sync::LazyLock;

/// PyTorch writes beside each `to` what it knows of the tensor before; no call of the code makes it.
const NOT_TRACED: &str = "_assert_tensor_metadata_default";

/// The models, with the text of PyTorch's program.
macro_rules! texts {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("models/", $name, ".txt")))),*]
    };
}
const TEXTS: &[(&str, &str)] = texts! {
    "mlp" "encoder" "gpt2" "llama" "unet" "tagger" "vit" "vae" "detector" "decoder"
};

fn exported(name: &str) -> ExportedProgram {
    let (_, make) = zoo::MODELS.iter().find(|(n, _)| *n == name).unwrap();
    manual_seed(0);
    let model = make();
    model.module().eval();
    model.export().unwrap()
}

fn lines(text: &str) -> Vec<String> {
    let all = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    all.filter(|l| !l.contains(NOT_TRACED)).map(String::from).collect()
}

/// The lines of PyTorch's text, but for what its passes left in it.
fn expected(name: &str, text: &str) -> Vec<String> {
    let text = match name {
        // A symbol that PyTorch's tracing of the loop left.
        "decoder" => text.replace("{u0: VR[1, int_oo]}", "{}"),
        _ => text.to_string(),
    };
    lines(&text)
}

/// The nodes of numbers, named by their order: PyTorch's numbers count those that its passes made and dropped, too.
fn numbered(lines: &[String]) -> Vec<String> {
    let name = |line: &String| line.split_once(':').map(|(name, _)| name.to_string());
    let numbers: Vec<String> = lines.iter().filter(|l| l.contains(": \"Sym(")).filter_map(name).collect();
    let renamed = |line: &String| {
        let words = line.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').map(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_').len();
            match numbers.iter().position(|number| *number == word[..end]) {
                Some(i) => format!("number_{i}{}", &word[end..]),
                None => word.to_string(),
            }
        });
        words.collect()
    };
    lines.iter().map(renamed).collect()
}

/// The same lines; else it is said which differ.
pub(crate) fn assert_same_lines(name: &str, got: &[String], expected: &[String]) {
    let differ = got.iter().zip(expected).filter(|(a, b)| a != b).take(5);
    let shown: String = differ.map(|(got, expected)| format!("\n  PyTorch: {expected}\n  here:    {got}")).collect();
    assert!(
        shown.is_empty() && got.len() == expected.len(),
        "{name}: {}, not {} lines{shown}",
        got.len(),
        expected.len()
    );
}

#[test]
fn programs_are_those_of_pytorch() {
    for (name, text) in TEXTS {
        let program = exported(name);
        let found = oxport::verify(&program);
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_same_lines(
            name,
            &numbered(&lines(&oxport_ir::print::whole(&program))),
            &numbered(&expected(name, text)),
        );
    }
}

/// The tensors of that name and number, `NAME.0`, `NAME.1`, ….
pub(crate) fn recorded(name: &str) -> Vec<Value> {
    static VALUES: LazyLock<oxport::io::Values> = LazyLock::new(|| {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/io.safetensors");
        oxport::io::read_values(&file, &Default::default()).unwrap()
    });
    (0..).map_while(|i| VALUES.get(&format!("{name}.{i}")).cloned()).collect()
}

/// The program gives of the recorded inputs what PyTorch recorded.
pub(crate) fn assert_computes(name: &str, program: &ExportedProgram) {
    let program = oxport::prepare(program, oxport::Opt::None).unwrap();
    let plan = oxport::plan(&program, &Default::default()).unwrap();
    let outputs = plan.run(recorded(&format!("{name}.in"))).unwrap().user;
    let expected = recorded(&format!("{name}.out"));
    assert!(!expected.is_empty() && outputs.len() == expected.len(), "{name}");
    for (got, expected) in outputs.iter().zip(&expected) {
        let (got, expected) = (got.as_tensor().unwrap(), expected.as_tensor().unwrap());
        assert_eq!((got.sizes(), got.dtype()), (expected.sizes(), expected.dtype()), "{name}");
        if got.dtype() == DType::I64 {
            assert_eq!(got.to_vec::<i64>().unwrap(), expected.to_vec::<i64>().unwrap(), "{name}");
            continue;
        }
        let (got, expected) = (got.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
        let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max);
        // Products are summed in another order than in PyTorch's library.
        assert!(worst < 2e-6, "{name}: {worst}");
    }
}

#[test]
fn programs_compute_what_pytorch_computes_with_the_weights_of_the_seed() {
    for (name, _) in TEXTS {
        assert_computes(name, &exported(name));
    }
}

#[test]
fn a_program_is_written_and_read_again() {
    let program = exported("gpt2");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpt2.pt2");
    oxport::write(&program, &path).unwrap();
    let read = oxport::read(&path).unwrap();
    // A file says who wrote it, and in which version of the format.
    let own = ["#: schema(", "#: torch(", "#: opset("];
    let text = |p| {
        oxport_ir::print::whole(p)
            .lines()
            .filter(|l| !own.iter().any(|o| l.starts_with(o)))
            .map(String::from)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(text(&read) == text(&program), "{}\n{}", text(&read), text(&program));
    assert_eq!(read.guards, program.guards);
}

#[test]
fn resnet_has_the_state_of_torchvision() {
    let program = exported("resnet18");
    assert_eq!(program.state.len(), 122);
    assert!(program.state.contains_key("layer2.0.downsample.1.num_batches_tracked"));
    assert!(oxport::verify(&program).is_empty());
}
