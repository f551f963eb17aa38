//! More modules of `nn`: `layers.tsv` holds what PyTorch 2.15 traces of each, written by `fixtures/capture_modules.py`.

use crate::nn::{assert_table, floats, ints, loss, one, traced};
use oxport_capture::nn::*;
use oxport_capture::{Forward, Module, Tensor, manual_seed};
use oxport_tensor::{DType, Tensor as Data};

fn x() -> Data {
    floats(&[2, 5, 8])
}
fn im() -> Data {
    floats(&[1, 4, 8, 8])
}
fn vol() -> Data {
    floats(&[1, 4, 4, 4, 4])
}

fn three<M: for<'a> Forward<(&'a Tensor, &'a Tensor, &'a Tensor)>>(
    module: M,
    names: [&'static str; 3],
    inputs: [Data; 3],
) -> String {
    let given = names.into_iter().zip(inputs).collect();
    traced(module, given, false, |m, i| drop(m.call((&i.tensor(names[0]), &i.tensor(names[1]), &i.tensor(names[2])))))
}

fn two<M: for<'a> Forward<(&'a Tensor, &'a Tensor)>>(module: M, names: [&'static str; 2], inputs: [Data; 2]) -> String {
    let given = names.into_iter().zip(inputs).collect();
    traced(module, given, false, |m, i| drop(m.call((&i.tensor(names[0]), &i.tensor(names[1])))))
}

fn training<M: for<'a> Forward<&'a Tensor>>(module: M, input: Data) -> String {
    traced(module, vec![("input", input)], true, |m, i| drop(m.call(&i.tensor("input"))))
}

/// A decoder of a target over a memory, with a mask where there is one.
fn decoder<M>(module: M, names: [&'static str; 2], inputs: [Data; 2], mask: Option<Data>) -> String
where
    M: for<'a> Forward<(&'a Tensor, &'a Tensor, Option<&'a Tensor>)>,
{
    let has_mask = mask.is_some();
    let given = names.into_iter().zip(inputs).chain(mask.map(|mask| ("tgt_mask", mask))).collect();
    traced(module, given, false, |m, i| {
        let mask = has_mask.then(|| i.tensor("tgt_mask"));
        drop(m.call((&i.tensor(names[0]), &i.tensor(names[1]), mask.as_ref())));
    })
}

fn plain() -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    macro_rules! rows {
        ($($name:ident: $module:expr, $input:expr;)*) => {
            $(rows.push((stringify!($name), one($module, "input", $input)));)*
        };
    }
    rows! {
        AdaptiveMaxPool1d: AdaptiveMaxPool1d::default().output_size([2]), x();
        AdaptiveMaxPool2d: AdaptiveMaxPool2d::default().output_size([2, 3]), im();
        AdaptiveMaxPool3d: AdaptiveMaxPool3d::default().output_size([2; 3]), vol();
        LPPool1d: LPPool1d::default().kernel_size(3), x();
        LPPool2d: LPPool2d::default().norm_type(3.0).kernel_size(3).stride(Some(2)), im();
        ReflectionPad1d: ReflectionPad1d::default().padding([1, 2]), x();
        ReflectionPad3d: ReflectionPad3d::default().padding([1; 6]), vol();
        ReplicationPad1d: ReplicationPad1d::default().padding([1, 2]), x();
        ReplicationPad2d: ReplicationPad2d::default().padding([1; 4]), im();
        ReplicationPad3d: ReplicationPad3d::default().padding([1; 6]), vol();
        ConstantPad3d: ConstantPad3d::default().padding([1; 6]).value(0.5), vol();
        ZeroPad1d: ZeroPad1d::default().padding([1, 2]), x();
        ZeroPad2d: ZeroPad2d::default().padding([1; 4]), im();
        ZeroPad3d: ZeroPad3d::default().padding([1; 6]), vol();
        CircularPad1d: CircularPad1d::default().padding([1, 2]), x();
        CircularPad2d: CircularPad2d::default().padding([1; 4]), im();
        CircularPad3d: CircularPad3d::default().padding([1; 6]), vol();
        RReLU: RReLU::default(), x();
        Softmax2d: Softmax2d::default(), im();
        Softmin: Softmin::default().dim(1), x();
        Unflatten: Unflatten::default().sizes(vec![2, 2]), im();
        Fold: Fold::default().output_size([4, 5]).kernel_size([2, 2]).padding(1), floats(&[1, 8, 30]);
        Unfold: Unfold::default().kernel_size([2, 2]).stride(2), im();
        ChannelShuffle: ChannelShuffle::default().groups(2), im();
        LocalResponseNorm: LocalResponseNorm::default().size(3), im();
        LocalResponseNorm1d: LocalResponseNorm::default().size(2), x();
        Dropout3d: Dropout3d::default().p(0.2), vol();
        UpsampleNearest1d: Upsample::default().scale_factor(Some(2.0)), x();
        UpsampleLinear: Upsample::default().scale_factor(Some(2.0)).mode_of(Upsampling::Linear), x();
        UpsampleBicubic:
            Upsample::default().size(Some(vec![5, 6])).mode_of(Upsampling::Cubic).align_corners(true), im();
        UpsampleTrilinear: Upsample::default().scale_factor(Some(2.0)).mode_of(Upsampling::Linear), vol();
        UpsampleNearestSize: Upsample::default().size(Some(vec![5, 6])), im();
        EmbeddingBag: EmbeddingBag::new(10, 8), ints(&[2, 3]);
        EmbeddingBagMax:
            EmbeddingBag { mode: BagMode::Max, padding_idx: Some(0), ..EmbeddingBag::new(10, 8) }, ints(&[2, 3]);
    }
    rows
}

fn others() -> Vec<(&'static str, String)> {
    let (rows5, rows3) = (|| floats(&[3, 5]), || floats(&[3]));
    let sequence = || [floats(&[5, 2, 8]), floats(&[4, 2, 8])];
    let layer = || TransformerDecoderLayer::new(8, 2, 16, 0.1);
    let step = |is_first: bool| {
        let states = if is_first { vec![] } else { vec![("hx", floats(&[5, 6]))] };
        [vec![("input", floats(&[5, 8]))], states].concat()
    };
    vec![
        ("RReLUTrain", training(RReLU::default().lower(0.2).upper(0.4), x())),
        ("Dropout1dTrain", training(Dropout1d::default().p(0.2), x())),
        ("FeatureAlphaDropoutTrain", training(FeatureAlphaDropout::default().p(0.2), im())),
        ("CosineSimilarity", two(CosineSimilarity::default(), ["x1", "x2"], [x(), x()])),
        ("PairwiseDistance", two(PairwiseDistance::default(), ["x1", "x2"], [x(), x()])),
        ("HingeEmbeddingLoss", loss(HingeEmbeddingLoss::new(), x(), x())),
        ("SoftMarginLoss", loss(SoftMarginLoss::new(), x(), x())),
        ("MultiLabelMarginLoss", loss(MultiLabelMarginLoss::new(), rows5(), ints(&[3, 5]))),
        ("MultiLabelSoftMarginLoss", loss(MultiLabelSoftMarginLoss::new(), rows5(), rows5())),
        ("MultiMarginLoss", loss(MultiMarginLoss::new(), rows5(), ints(&[3]))),
        ("PoissonNLLLoss", two(PoissonNLLLoss::new(), ["log_input", "target"], [x(), x()])),
        (
            "CosineEmbeddingLoss",
            three(CosineEmbeddingLoss::new(), ["input1", "input2", "target"], [rows5(), rows5(), rows3()]),
        ),
        (
            "MarginRankingLoss",
            three(MarginRankingLoss::new(), ["input1", "input2", "target"], [rows3(), rows3(), rows3()]),
        ),
        (
            "TripletMarginLoss",
            three(TripletMarginLoss::new(), ["anchor", "positive", "negative"], [rows5(), rows5(), rows5()]),
        ),
        ("RNNCell", traced(RNNCell::new(8, 6), step(true), false, |m, i| drop(m.call((&i.tensor("input"), &[][..]))))),
        (
            "RNNCellRelu",
            traced(ReluRNNCell::new(8, 6), step(false), false, |m, i| {
                drop(m.call((&i.tensor("input"), &[i.tensor("hx")][..])));
            }),
        ),
        (
            "EmbeddingBagOffsets",
            two(
                EmbeddingBag { mode: BagMode::Sum, ..EmbeddingBag::new(10, 8) },
                ["input", "offsets"],
                [ints(&[6]), ints(&[2])],
            ),
        ),
        ("TransformerDecoderLayer", decoder(layer(), ["tgt", "memory"], sequence(), None)),
        (
            "TransformerDecoderLayerMask",
            decoder(
                layer().batch_first().norm_first().gelu(),
                ["tgt", "memory"],
                [x(), floats(&[2, 4, 8])],
                Some(floats(&[5, 5])),
            ),
        ),
        (
            "TransformerDecoder",
            decoder(TransformerDecoder::new(&layer(), 2).norm(LayerNorm::new(8)), ["tgt", "memory"], sequence(), None),
        ),
        ("Transformer", decoder(Transformer::new(8, 2, [1, 1], 16, 0.1), ["src", "tgt"], sequence(), None)),
    ]
}

/// Attention with padded keys, within a module that calls it `a`.
fn padded(module: MultiheadAttention, inputs: Vec<Data>, needs_weights: bool) -> String {
    #[derive(Module)]
    struct Padded {
        a: MultiheadAttention,
    }
    let given: Vec<(&str, Data)> = ["x", "padding", "mask"].into_iter().zip(inputs).collect();
    let has_mask = given.len() > 2;
    traced(Padded { a: module }, given, false, |m, i| {
        let (padding, mask) = (i.tensor("padding"), has_mask.then(|| i.tensor("mask")));
        let how = Attention { mask: mask.as_ref(), key_padding_mask: Some(&padding), needs_weights };
        drop(m.a.call((&i.tensor("x"), how)));
    })
}

fn attentions() -> Vec<(&'static str, String)> {
    let bools = |sizes: &[i64]| Data::zeros(DType::Bool, sizes).unwrap();
    let (new, seq) = (|| MultiheadAttention::new(8, 2), || floats(&[5, 2, 8]));
    vec![
        ("AttentionPadded", padded(new(), vec![seq(), bools(&[2, 5])], false)),
        ("AttentionPaddedWeights", padded(new(), vec![seq(), bools(&[2, 5])], true)),
        ("AttentionPaddedFloat", padded(new().batch_first(), vec![x(), floats(&[2, 5])], false)),
        ("AttentionPaddedMasked", padded(new(), vec![seq(), bools(&[2, 5]), bools(&[5, 5])], false)),
        ("AttentionPaddedMaskedFloat", padded(new(), vec![seq(), bools(&[2, 5]), floats(&[5, 5])], false)),
    ]
}

#[test]
fn layers_trace_what_pytorch_traces() {
    assert_table(include_str!("layers.tsv"), &[plain(), others(), attentions()].concat());
}

/// The sum of all elements of the state of the same seed in PyTorch: of its float32 values, in float64.
fn sum(module: &dyn Module) -> f64 {
    use oxport_capture::ModuleState;
    module.state_dict().values().flat_map(|t| t.to_vec::<f32>().unwrap()).map(f64::from).sum()
}

#[test]
fn initial_weights_are_those_of_the_seed() {
    let table = include_str!("layers_sums.tsv").lines().map(|l| l.split_once('\t').unwrap());
    for (name, expected) in table {
        manual_seed(3);
        let module: Box<dyn Module> = match name {
            "Transformer" => Box::new(Transformer::new(8, 2, [1, 2], 16, 0.1)),
            "TransformerDecoderLayer" => Box::new(TransformerDecoderLayer::new(8, 2, 16, 0.1)),
            "EmbeddingBag" => Box::new(EmbeddingBag::new(10, 8)),
            "RNNCell" => Box::new(RNNCell::new(8, 6)),
            other => panic!("no module is made for {other}"),
        };
        assert_eq!(sum(&*module), expected.parse::<f64>().unwrap(), "{name}");
    }
}
