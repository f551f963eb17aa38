//! Layouts that a plan chooses: the results are those without, strides included.

use crate::winograd::noise;
use oxport::custom::Result;
use oxport::{DType, ExportedProgram, Fake, Opt, PlanOptions, ProgramBuilder, Tensor, Toolchain, Value};
use oxport_ir::{Argument, NodeId};

/// A sum of a sequence that lies column by column and one that lies row by row is laid out once, where rows are read.
#[test]
fn sequences_are_laid_out_by_rows() {
    let toolchain = Toolchain::standard();
    let sizes = |sizes: [i64; 3]| sizes.map(Into::into);
    let mut b = ProgramBuilder::new(toolchain.registry());
    let x = b.input("x", Fake::new(DType::F32, sizes([2, 8, 40]))).expect("an input");
    let y = b.input("y", Fake::new(DType::F32, sizes([2, 40, 8]))).expect("an input");
    let mut calls = || -> Result<[NodeId; 3]> {
        let turned = b.call("permute", (x, vec![0i64, 2, 1]))?;
        let sum = b.call("add.Tensor", (turned, y))?;
        let norm = b.call("layer_norm", (sum, vec![8i64]))?;
        let next = b.call("add.Tensor", (sum, norm))?;
        let last = b.call("softmax.int", (next, -1i64))?;
        Ok([sum, next, last])
    };
    let outputs = calls().expect("the calls are valid");
    let program = b.finish(&outputs).expect("a program");
    // One operand is laid out by rows; two results are permuted, copied and permuted back.
    assert_eq!(steps_of_layouts(&program, &[&[2, 8, 40], &[2, 40, 8]]), 1 + 2 * 3);
}

/// Convolutions of sequences, and what is added between them, are laid out by channels.
#[test]
fn sequences_are_laid_out_by_channels() {
    let toolchain = Toolchain::standard();
    let mut b = ProgramBuilder::new(toolchain.registry());
    let sizes: [&[i64]; 3] = [&[2, 16, 40], &[16, 16, 3], &[16, 16, 1]];
    let mut input = |i: usize| b.input(["x", "v", "w"][i], Fake::new(DType::F32, sizes[i].iter().map(|&n| n.into())));
    let inputs: Vec<NodeId> = (0..3).map(|i| input(i).expect("an input")).collect();
    let (x, v, w) = (inputs[0], inputs[1], inputs[2]);
    let mut calls = || -> Result<[NodeId; 2]> {
        let first = b.call("conv1d", (x, v, Argument::None, vec![1i64], vec![2i64], vec![2i64]))?;
        let sum = b.call("add.Tensor", (x, first))?;
        let last = b.call("conv1d", (sum, w))?;
        Ok([sum, last])
    };
    let outputs = calls().expect("the calls are valid");
    let program = b.finish(&outputs).expect("a program");
    // Two weights and one operand of the sum are turned by three steps each; two results are copied.
    assert_eq!(steps_of_layouts(&program, &sizes), 3 * 3 + 2);
}

/// How many steps more a plan has with layouts of its own; what it gives is the same, strides included.
fn steps_of_layouts(program: &ExportedProgram, inputs: &[&[i64]]) -> usize {
    let toolchain = Toolchain::standard();
    let run = |layout: bool| {
        let options = PlanOptions { threads: 1, layout, ..PlanOptions::default() };
        let prepared = toolchain.prepare(program, Opt::None).expect("it is prepared");
        let plan = toolchain.plan(&prepared, &options).expect("a plan");
        let inputs = inputs.iter().enumerate().map(|(i, sizes)| Value::Tensor(noise(sizes, i as i64))).collect();
        (plan.num_steps(), plan.run(inputs).expect("it runs").user)
    };
    let ((steps, plain), (more, laid_out)) = (run(false), run(true));
    for (a, b) in plain.iter().zip(&laid_out) {
        let (Value::Tensor(a), Value::Tensor(b)) = (a, b) else { panic!("tensors") };
        let bits = |t: &Tensor| t.to_vec::<f32>().expect("float32").iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((a.strides(), bits(a)), (b.strides(), bits(b)));
    }
    more - steps
}

/// A tensor of these sizes and strides as an input, what calls on it yield, and their strides.
fn strides_of(
    sizes: &[i64],
    strides: &[i64],
    call: &dyn Fn(&mut ProgramBuilder<'_>, NodeId) -> Result<NodeId>,
) -> Vec<i64> {
    let mut b = ProgramBuilder::new(oxport::registry());
    let mut fake = Fake::new(DType::F32, sizes.iter().map(|&n| n.into()));
    fake.strides = strides.iter().map(|&n| n.into()).collect();
    let x = b.input("x", fake).expect("an input");
    let y = call(&mut b, x).expect("the call is valid");
    b.calls().fake(y).expect("a tensor").strides.iter().map(|s| s.as_int().expect("a number")).collect()
}

/// Which results lie with their channels innermost, by PyTorch 2.15: of those in the memory format of their input, and
/// of batch norm, which asks in another way. Sizes of 1, gaps and strides of 0 make the difference.
#[test]
fn memory_formats_are_those_of_pytorch() {
    let inputs: [(&[i64], &[i64], bool, bool); 14] = [
        (&[1, 32, 65, 1], &[2080, 1, 32, 1], false, true),
        (&[1, 32, 1, 1], &[32, 1, 32, 32], true, false),
        (&[2, 1, 4, 5], &[20, 1, 5, 1], true, false),
        (&[2, 3, 4, 5], &[120, 1, 30, 6], true, true),
        (&[2, 3, 1, 1], &[3, 1, 1, 1], false, false),
        (&[2, 3, 1, 1], &[3, 1, 3, 3], true, false),
        (&[1, 1, 1, 1], &[1, 1, 1, 1], false, false),
        (&[2, 3, 4, 1], &[12, 1, 3, 3], true, true),
        (&[2, 3, 4, 1], &[12, 1, 3, 1], false, true),
        (&[2, 3, 4, 5], &[0, 0, 0, 0], false, false),
        (&[2, 3, 4, 5], &[60, 1, 0, 3], false, false),
        (&[2, 3, 2, 4, 5], &[120, 1, 60, 15, 3], true, true),
        (&[2, 3, 1, 4, 1], &[12, 1, 12, 3, 3], true, true),
        (&[1, 3, 1, 4, 1], &[12, 1, 7, 3, 3], false, true),
    ];
    for (sizes, strides, of_format, of_norm) in inputs {
        let n = sizes.len() - 2;
        let expected = |channels: i64, by_channels: bool| {
            let mut sizes = sizes.to_vec();
            sizes[1] = channels;
            let order: Vec<usize> = if by_channels {
                [1].into_iter().chain((2..n + 2).rev()).chain([0]).collect()
            } else {
                (0..n + 2).rev().collect()
            };
            let (mut strides, mut next) = (vec![0; n + 2], 1);
            order.into_iter().for_each(|d| {
                next *= {
                    strides[d] = next;
                    sizes[d]
                }
            });
            strides
        };
        let name = format!("{sizes:?} {strides:?}");
        let of = |call: &dyn Fn(&mut ProgramBuilder<'_>, NodeId) -> Result<NodeId>| strides_of(sizes, strides, call);
        let convolved = of(&|b, x| {
            let weight: Vec<i64> = [4, sizes[1]].into_iter().chain(vec![1; n]).collect();
            let weight = b.input("w", Fake::new(DType::F32, weight.into_iter().map(Into::into)))?;
            b.call(&format!("conv{n}d"), (x, weight))
        });
        assert_eq!(convolved, expected(4, of_format), "a convolution of {name}");
        let joined = of(&|b, x| b.call("cat", (vec![x, x], 1i64)));
        assert_eq!(joined, expected(2 * sizes[1], of_format), "two of {name} joined");
        let pooled = of(&|b, x| b.call(&format!("max_pool{n}d"), (x, vec![1i64; n])));
        assert_eq!(pooled, expected(sizes[1], of_format), "the pool of {name}");
        let norm = of(&|b, x| {
            let mut statistics = |name: &str| b.input(name, Fake::new(DType::F32, [sizes[1].into()]));
            let (mean, var) = (statistics("mean")?, statistics("var")?);
            b.call("batch_norm", (x, Argument::None, Argument::None, mean, var, false, 0.1, 1e-5, false))
        });
        assert_eq!(norm, expected(sizes[1], of_norm), "the batch norm of {name}");
    }
}

/// Channels of convolved sequences are neighbors where those of the weight are, whatever the sequence, by PyTorch 2.15.
#[test]
fn convolutions_of_sequences_lie_as_their_weight() {
    type Case = (&'static str, [i64; 3], [i64; 3], i64, &'static [i64]);
    let cases: [Case; 9] = [
        ("conv1d", [24, 8, 3], [24, 3, 1], 1, &[432, 18, 1]),
        ("conv1d", [24, 8, 3], [24, 1, 8], 1, &[432, 1, 24]),
        ("conv1d", [24, 8, 3], [48, 1, 16], 1, &[432, 1, 24]),
        ("conv1d", [24, 8, 1], [8, 1, 1], 1, &[480, 20, 1]),
        ("conv1d", [24, 8, 1], [8, 1, 8], 1, &[480, 1, 24]),
        ("conv1d", [24, 1, 3], [3, 3, 1], 1, &[432, 18, 1]),
        ("conv1d", [24, 1, 1], [1, 1, 1], 1, &[480, 20, 1]),
        ("conv1d", [24, 1, 3], [3, 1, 1], 24, &[432, 1, 24]),
        ("conv_transpose1d", [8, 24, 3], [72, 1, 24], 1, &[528, 1, 24]),
    ];
    for (name, sizes, strides, groups, expected) in cases {
        let channels = if name == "conv1d" { sizes[1] * groups } else { sizes[0] };
        for is_batched in [true, false] {
            let given = strides_of(&sizes, &strides, &|b, weight| {
                // A sequence whose channels are neighbors.
                let dims =
                    [(2, 20 * channels), (channels, 1), (20, channels)].into_iter().skip(usize::from(!is_batched));
                let mut x = Fake::new(DType::F32, dims.clone().map(|(size, _)| size.into()));
                x.strides = dims.map(|(_, stride)| stride.into()).collect();
                let x = b.input("sequence", x)?;
                b.calls().call_kw(name, (x, weight), &[("groups", groups.into())])
            });
            assert_eq!(given, expected[usize::from(!is_batched)..], "{name}: {sizes:?} {strides:?}, {is_batched}");
        }
    }
}

/// Pools of sequences are those of images of one row, by PyTorch 2.15.
#[test]
fn pools_of_sequences_keep_their_strides() {
    let of = |name: &'static str| strides_of(&[2, 32, 80], &[2560, 1, 32], &move |b, x| b.call(name, (x, vec![2i64])));
    assert_eq!(of("avg_pool1d"), [1280, 1, 32]);
    assert_eq!(of("max_pool1d"), [1280, 40, 1]);
    assert_eq!(of("adaptive_avg_pool1d"), [64, 1, 32]);
}

/// Which numbers of heads the fused kernel of attention takes, by PyTorch 2.15: its result lies as the query does.
#[test]
fn attention_is_fused_for_as_many_keys_as_values() {
    let cases = [
        ([2, 4], [2, 4], false, true),
        ([2, 1], [2, 1], false, true),
        ([2, 1], [2, 4], false, false),
        ([2, 4], [2, 1], false, false),
        ([1, 4], [2, 4], false, false),
        ([2, 2], [2, 2], true, true),
        ([2, 1], [2, 1], true, true),
        ([2, 2], [2, 1], true, false),
        ([2, 2], [2, 4], true, false),
    ];
    for (key, value, grouped, is_fused) in cases {
        let strides = strides_of(&[2, 4, 5, 16], &[320, 16, 64, 1], &|b, q| {
            let fake = |[batch, heads]: [i64; 2]| Fake::new(DType::F32, [batch, heads, 7, 16].map(Into::into));
            let (k, v) = (b.input("k", fake(key))?, b.input("v", fake(value))?);
            b.calls().call_kw("scaled_dot_product_attention", (q, k, v), &[("enable_gqa", grouped.into())])
        });
        let expected = if is_fused { [320, 16, 64, 1] } else { [320, 80, 16, 1] };
        assert_eq!(strides, expected, "keys {key:?}, values {value:?}, grouped: {grouped}");
    }
}

/// PyTorch fills a contiguous tensor with normal numbers in groups of sixteen, and any other one by one, in the order
/// of memory: what PyTorch 2.15 draws after `torch.manual_seed(0)`.
#[test]
fn normal_numbers_of_strided_tensors_are_drawn_one_by_one() {
    let drawn = |dtype: DType, sizes: &[i64], dims: &[i64]| {
        let toolchain = Toolchain::standard();
        let mut b = ProgramBuilder::new(toolchain.registry());
        let x = b.input("x", Fake::new(dtype, sizes.iter().map(|&n| n.into()))).expect("an input");
        let turned = b.call("permute", (x, dims.to_vec())).expect("a call");
        let y = b.call("randn_like", (turned,)).expect("a call");
        let program = b.finish(&[y]).expect("a program");
        let plan = toolchain.plan(&program, &PlanOptions { seed: 0, ..PlanOptions::default() }).expect("a plan");
        let x = Tensor::zeros(dtype, sizes).expect("a small tensor");
        let Value::Tensor(y) = plan.run(vec![Value::Tensor(x)]).expect("it runs").user.remove(0) else {
            panic!("a tensor")
        };
        y
    };
    let channels_last = drawn(DType::F32, &[1, 3, 3, 2], &[0, 3, 1, 2]).to_vec::<f32>().expect("float32");
    assert_eq!(channels_last[..4], [1.5409960746765137, -2.1787893772125244, -1.0845223665237427, 0.40334683656692505]);
    let double = drawn(DType::F64, &[3, 6], &[1, 0]).to_vec::<f64>().expect("float64");
    assert_eq!(double[..3], [1.5409961082440433, 0.4033468476292993, -0.8566745932963743]);
    let complex = drawn(DType::C64, &[3, 6], &[1, 0]).to_vec::<oxport_tensor::Complex<f32>>().expect("complex64");
    let complex: Vec<[f32; 2]> = complex[..3].iter().map(|z| [z.re, z.im]).collect();
    assert_eq!(
        complex,
        [
            [1.0896488428115845, -0.20748557150363922],
            [-0.605760395526886, 0.77824467420578],
            [0.1356721669435501, 0.8936378359794617],
        ]
    );
}
