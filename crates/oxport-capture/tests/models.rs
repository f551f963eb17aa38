//! The models of `examples/models`: their programs are those that PyTorch 2.15 exports of the same models, line by line
//! (`models/*.txt`, without comments), and compute what PyTorch computes with the weights of the same seed
//! (`models/io.safetensors`).

#[path = "../examples/models/zoo.rs"]
mod zoo;

use oxport::Value;
use oxport_capture::{ModuleState, manual_seed};
use oxport_ir::ExportedProgram;

/// PyTorch writes beside each `to` what it knows of the tensor before; no call of the code makes it.
const NOT_TRACED: &str = "_assert_tensor_metadata_default";

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

#[test]
fn programs_are_those_of_pytorch() {
    let texts = [
        ("mlp", include_str!("models/mlp.txt")),
        ("encoder", include_str!("models/encoder.txt")),
        ("gpt2", include_str!("models/gpt2.txt")),
        ("llama", include_str!("models/llama.txt")),
        ("tagger", include_str!("models/tagger.txt")),
        ("vae", include_str!("models/vae.txt")),
    ];
    for (name, text) in texts {
        let program = exported(name);
        let found = oxport::verify(&program);
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_eq!(lines(&oxport_ir::print::whole(&program)), lines(text), "{name}");
    }
}

#[test]
fn programs_compute_what_pytorch_computes_with_the_weights_of_the_seed() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/io.safetensors");
    let values = oxport::io::read_values(&file, &Default::default()).unwrap();
    let of =
        |prefix: String| -> Vec<Value> { (0..).map_while(|i| values.get(&format!("{prefix}.{i}")).cloned()).collect() };
    for name in ["mlp", "encoder", "gpt2", "llama", "tagger", "vae"] {
        let program = oxport::prepare(&exported(name), oxport::Opt::None).unwrap();
        let plan = oxport::plan(&program, &Default::default()).unwrap();
        let outputs = plan.run(of(format!("{name}.in"))).unwrap().user;
        let expected = of(format!("{name}.out"));
        assert_eq!(outputs.len(), expected.len(), "{name}");
        for (got, expected) in outputs.iter().zip(&expected) {
            let (got, expected) = (got.as_tensor().unwrap(), expected.as_tensor().unwrap());
            assert_eq!(got.sizes(), expected.sizes(), "{name}");
            let (got, expected) = (got.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max);
            // Products are summed in another order than in PyTorch's library.
            assert!(worst < 2e-6, "{name}: {worst}");
        }
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
