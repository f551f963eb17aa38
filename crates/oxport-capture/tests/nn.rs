//! The modules of `nn`: the calls that each of them traces are those of PyTorch's module (`nn.tsv`, written by
//! PyTorch 2.15); the
//! state dict is loaded by name, or refused with all that is wrong with it.

use indexmap::IndexMap;
use oxport_capture::nn::*;
use oxport_capture::{Buffer, Export, Forward, Inputs, Module, ModuleState, Parameter, Tensor, Visitor};
use oxport_tensor::{DType, Tensor as Data};
use std::collections::HashMap;

pub(crate) fn floats(sizes: &[i64]) -> Data {
    Data::zeros(DType::F32, sizes).unwrap()
}
pub(crate) fn ints(sizes: &[i64]) -> Data {
    Data::zeros(DType::I64, sizes).unwrap()
}

/// Placeholders, and what is called, as a row of the table has it.
pub(crate) fn traced<M: Module>(
    module: M,
    inputs: Vec<(&str, Data)>,
    is_training: bool,
    run: impl Fn(&M, &Inputs),
) -> String {
    module.train(is_training);
    let export = inputs.into_iter().fold(Export::new(), |e, (name, data)| e.arg(name, data));
    let program = export.run(&module, |m, i| run(m, i)).unwrap();
    let placeholders: Vec<&str> = program.graph.placeholders().map(|(_, n)| &*n.name).collect();
    let mut row = placeholders.join(", ");
    for line in oxport_ir::print::readable(&program).lines().map(str::trim) {
        let is_call = line.contains(" = ") && !["#", "def ", "class "].iter().any(|s| line.starts_with(s));
        if line.starts_with("Graph signature") {
            break;
        }
        if is_call {
            let line = line.split(";  ").next().unwrap();
            let (name, call) = line.split_once(" = ").unwrap();
            row += &format!(" ; {} = {call}", name.split(':').next().unwrap());
        }
    }
    row
}

pub(crate) fn one<M: for<'a> Forward<&'a Tensor>>(module: M, name: &str, input: Data) -> String {
    traced(module, vec![(name, input)], false, |m, i| drop(m.call(&i.tensor(name))))
}

pub(crate) fn loss<M: for<'a> Forward<(&'a Tensor, &'a Tensor)>>(module: M, input: Data, target: Data) -> String {
    traced(module, vec![("input", input), ("target", target)], false, |m, i| {
        drop(m.call((&i.tensor("input"), &i.tensor("target"))));
    })
}

fn rows() -> Vec<(&'static str, String)> {
    let (x, im) = (|| floats(&[2, 5, 8]), || floats(&[1, 4, 8, 8]));
    let mut rows = Vec::new();
    macro_rules! rows {
        ($($name:ident: $module:expr, $input:expr;)*) => {
            $(rows.push((stringify!($name), one($module, "input", $input)));)*
        };
        (defaults: $($name:ident)*) => {
            $(rows.push((stringify!($name), one($name::default(), "input", im())));)*
        };
        (losses: $($name:ident)*) => {
            $(rows.push((stringify!($name), loss($name::default(), x(), x())));)*
        };
    }
    rows! {
        Linear: Linear::new(8, 3), x();
        LinearNoBias: Linear::without_bias(8, 3), x();
        Conv1d: Conv1d::new(5, 3, 3).stride(2).padding(1).dilation(2), x();
        Conv2d: Conv2d::grouped(4, 6, [3, 3], 2, true), im();
        Conv2dCircular: Conv2d { padding_mode: PaddingMode::Circular, ..Conv2d::new(4, 3, 3).padding(1) }, im();
        Conv3d: Conv3d::new(4, 3, 3).padding(1), floats(&[1, 4, 1, 8, 8]);
        ConvTranspose1d: ConvTranspose1d::new(5, 3, 3), x();
        ConvTranspose2d: ConvTranspose2d::new(4, 3, 3).stride(2).padding(1).output_padding(1), im();
        BatchNorm2d: BatchNorm2d::new(4), im();
        InstanceNorm2d: InstanceNorm2d::new(4, true), im();
        LayerNorm: LayerNorm::over(&[5, 8]), x();
        GroupNorm: GroupNorm::new(2, 4), im();
        EmbeddingPadding: Embedding { padding_idx: Some(0), ..Embedding::new(10, 8) }, ints(&[1, 2]);
        LSTM: LSTM::stacked(8, 6, 2, true).batch_first(), x();
        GRU: GRU::new(8, 6), x();
        RNN: RNN::new(8, 6), x();
        MaxPool1d: MaxPool1d::default(), x();
        MaxPool2d: MaxPool2d::new(3, 2).padding(1), im();
        AvgPool1d: AvgPool1d::default(), x();
        AdaptiveAvgPool1d: AdaptiveAvgPool1d::default(), x();
        ReflectionPad2d: ReflectionPad2d::default().padding([1; 4]), im();
        ConstantPad1d: ConstantPad1d::default().padding([1; 2]).value(0.5), x();
        ConstantPad2d: ConstantPad2d::default().padding([1; 4]), im();
        Threshold: Threshold::default().threshold(0.1).value(2.0), im();
        ReLUInplace: ReLU::default().inplace(true), im();
        GELUTanh: GELU::default().is_tanh(true), im();
        PReLU: PReLU::new(1), im();
        Dropout: Dropout::new(0.1), x();
    }
    rows! { defaults:
        AvgPool2d AdaptiveAvgPool2d UpsamplingNearest2d UpsamplingBilinear2d ReLU GELU SiLU Sigmoid Tanh ELU
        LeakyReLU Softplus
        Hardswish Mish ReLU6 SELU CELU Hardsigmoid Hardtanh LogSigmoid Softsign Tanhshrink Flatten GLU
        Hardshrink Softshrink
        Softmax LogSoftmax PixelShuffle PixelUnshuffle
    }
    rows! { losses: MSELoss L1Loss SmoothL1Loss HuberLoss BCEWithLogitsLoss BCELoss }
    let sum = KLDivLoss::new().reduction(Reduction::Sum);
    rows.push(("KLDivLoss", loss(sum, x(), x())));
    rows.push(("CrossEntropyLoss", loss(CrossEntropyLoss::default(), floats(&[3, 5]), ints(&[3]))));
    rows.push(("NLLLoss", loss(NLLLoss::default(), floats(&[3, 5]), ints(&[3]))));
    rows.push(("RMSNorm", one(RMSNorm::new(8), "x", x())));
    let train = |i: Vec<(&'static str, Data)>| i;
    let input = |i: &Inputs| i.tensor("input");
    rows.push((
        "BatchNorm2dTrain",
        traced(BatchNorm2d::new(4), train(vec![("input", im())]), true, |m, i| drop(m.call(&input(i)))),
    ));
    rows.push((
        "DropoutTrain",
        traced(Dropout::new(0.1), train(vec![("input", x())]), true, |m, i| drop(m.call(&input(i)))),
    ));
    rows.push((
        "AlphaDropoutTrain",
        traced(AlphaDropout::default(), train(vec![("input", x())]), true, |m, i| drop(m.call(&input(i)))),
    ));
    rows.push((
        "Bilinear",
        traced(Bilinear::new(8, 8, 3), vec![("input1", x()), ("input2", x())], false, |m, i| {
            drop(m.call((&i.tensor("input1"), &i.tensor("input2"))));
        }),
    ));
    let step = || floats(&[5, 8]);
    rows.push((
        "LSTMCell",
        traced(LSTMCell::new(8, 6), vec![("input", step())], false, |m, i| {
            drop(m.call((&i.tensor("input"), &[][..])));
        }),
    ));
    rows.push((
        "GRUCell",
        traced(GRUCell::new(8, 6), vec![("input", step())], false, |m, i| {
            drop(m.call((&i.tensor("input"), &[][..])));
        }),
    ));
    let attention = |module: MultiheadAttention, x: Data, has_mask: bool, needs_weights: bool| {
        let mut inputs = vec![("x", x)];
        if has_mask {
            inputs.push(("mask", floats(&[5, 5])));
        }
        traced(module, inputs, false, |m, i| {
            let mask = has_mask.then(|| i.tensor("mask"));
            drop(m.call((&i.tensor("x"), Attention { mask: mask.as_ref(), needs_weights, ..Attention::default() })));
        })
    };
    let new = || MultiheadAttention::new(8, 2);
    rows.push(("MultiheadAttention", attention(new().batch_first(), x(), false, true)));
    rows.push(("MultiheadAttentionMask", attention(new().batch_first(), x(), true, false)));
    rows.push(("MultiheadAttentionMaskWeights", attention(new(), floats(&[5, 2, 8]), true, true)));
    let layer = || TransformerEncoderLayer::new(8, 2, 16, 0.1);
    let run = |m: &TransformerEncoderLayer, i: &Inputs| drop(m.call((&i.tensor("src"), None)));
    rows.push(("TransformerEncoderLayerTrain", traced(layer().batch_first(), vec![("src", x())], true, run)));
    rows.push(("TransformerEncoderLayerNormFirst", traced(layer().norm_first(), vec![("src", x())], false, run)));
    rows
}

#[test]
fn modules_trace_what_pytorch_traces() {
    assert_table(include_str!("nn.tsv"), &rows());
}

/// The rows are those of the table, which PyTorch wrote.
pub(crate) fn assert_table(table: &str, rows: &[(&str, String)]) {
    let table: HashMap<&str, &str> = table.lines().map(|l| l.split_once('\t').unwrap()).collect();
    let mut wrong = String::new();
    for (name, got) in rows {
        let expected = table.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        if got != expected {
            wrong += &format!("{name}\n  PyTorch: {expected}\n  here:    {got}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let missing: Vec<_> = table.keys().filter(|name| !rows.iter().any(|(n, _)| n == *name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_state_dict_is_loaded_by_name_or_refused_with_all_that_is_wrong() {
    let linear = Linear::new(2, 3);
    let entries = |all: &[(&str, &[i64])]| -> IndexMap<String, Data> {
        all.iter().map(|(name, sizes)| (name.to_string(), floats(sizes))).collect()
    };
    let error = linear.load_state_dict(&entries(&[("weight", &[3, 4]), ("weigth", &[1])])).unwrap_err();
    assert_eq!(
        error.message(),
        "Error(s) in loading state_dict for Linear:\n\tUnexpected key(s) in state_dict: \"weigth\". \n\tMissing \
         key(s) in \
         state_dict: \"bias\". \n\tsize mismatch for weight: copying a param with shape torch.Size([3, 4]) from \
         checkpoint, the \
         shape in current model is torch.Size([3, 2])."
    );
    linear.load_state_dict(&entries(&[("weight", &[3, 2]), ("bias", &[3])])).unwrap();
    assert!(linear.weight.data().to_vec::<f32>().unwrap().iter().all(|x| *x == 0.0));
}

/// A module as `fixtures/inputs/make.py` has it.
#[derive(Module)]
struct Kinds {
    twin: Parameter,
    f16: Parameter,
    bf16: Parameter,
    steps: Buffer,
    mask: Buffer,
    fc: Linear,
}

#[test]
fn a_state_dict_of_torch_save_is_loaded_whatever_its_tensors_are() {
    let zeros = |dtype, sizes: &[i64]| Data::zeros(dtype, sizes).unwrap();
    let kinds = Kinds {
        twin: Parameter::new(floats(&[2])),
        f16: Parameter::new(zeros(DType::F16, &[2])),
        bf16: Parameter::new(zeros(DType::BF16, &[2])),
        steps: Buffer::new(zeros(DType::I64, &[])),
        mask: Buffer::new(zeros(DType::Bool, &[2])),
        fc: Linear::new(3, 2),
    };
    let read = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/inputs").join(name);
        oxport::weights::read_state_dict(&path, &Default::default()).unwrap()
    };
    kinds.load_state_dict(&read("kinds.pth")).unwrap();
    assert_eq!(kinds.fc.weight.data().to_vec::<f32>().unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(kinds.steps.data().to_vec::<i64>().unwrap(), [7]);
    let half = kinds.f16.data().to_dtype(DType::F32).unwrap();
    assert_eq!(half.to_vec::<f32>().unwrap(), [0.5, -2.0]);
    let program = Export::new().arg("x", floats(&[1, 3])).run(&kinds, |m, i| m.fc.call(&i.tensor("x"))).unwrap();
    assert!(oxport::verify(&program).is_empty());
    let error = kinds.load_state_dict(&read("state.pt")).unwrap_err();
    assert_eq!(
        error.message(),
        "Error(s) in loading state_dict for Kinds:\n\tUnexpected key(s) in state_dict: \"weight\", \"bias\". \
         \n\tMissing key(s) in state_dict: \"twin\", \"f16\", \"bf16\", \"steps\", \"mask\", \"fc.weight\", \
         \"fc.bias\". "
    );
}

#[test]
fn tied_parameters_are_one_tensor_under_two_names() {
    struct Tied {
        emb: Embedding,
        out: Linear,
    }
    impl Module for Tied {
        fn visit(&self, visitor: &mut dyn Visitor) {
            visitor.module("emb", &self.emb);
            visitor.module("out", &self.out);
        }
    }
    let emb = Embedding::new(5, 4);
    let out = Linear { weight: emb.weight.clone(), bias: None };
    let program = Export::new()
        .arg("i", ints(&[2]))
        .run(&Tied { emb, out }, |m, i| m.out.call(&m.emb.call(&i.tensor("i"))))
        .unwrap();
    // Both are placeholders; the code uses the last, as in PyTorch.
    let text = oxport_ir::print::readable(&program);
    assert!(text.contains("torch.ops.aten.embedding.default(p_out_weight, i)"), "{text}");
    assert_eq!(program.state.keys().map(|k| &**k).collect::<Vec<_>>(), ["emb.weight", "out.weight"]);
    assert!(oxport::verify(&program).is_empty());
}

#[test]
fn training_writes_the_statistics_of_a_normalization() {
    let norm = BatchNorm1d::new(2);
    let program = Export::new().arg("x", floats(&[3, 2])).run(&norm, |m, i| m.call(&i.tensor("x"))).unwrap();
    let functional = oxport::functionalize(&program).unwrap();
    let mutated: Vec<String> = functional.signature.outputs.iter().map(|o| format!("{:?}", o.kind)).collect();
    assert!(mutated.iter().any(|o| o.contains("BufferMutation(\"running_mean\")")), "{mutated:?}");
    let plan = oxport::plan(&oxport::prepare(&program, oxport::Opt::None).unwrap(), &Default::default()).unwrap();
    let x = Data::from_vec(&[3, 2], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let outputs = plan.run(vec![oxport::Value::Tensor(x)]).unwrap();
    let mean = outputs.mutated_buffers.iter().find(|(name, _)| &**name == "running_mean").unwrap();
    assert_eq!(mean.1.to_vec::<f32>().unwrap(), [0.3, 0.4]);
}

#[test]
fn what_is_not_of_the_module_is_refused() {
    let other = Parameter::new(floats(&[2]));
    let error = Export::new().arg("x", floats(&[2])).run(&Linear::new(2, 2), |_, i| i.tensor("x") + other.get());
    assert_eq!(error.unwrap_err().message(), "a parameter or buffer that is not of the exported module");
}
