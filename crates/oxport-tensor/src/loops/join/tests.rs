//! Joined passes beside the same calls one by one, over drawn layouts.

use super::*;
use crate::conv::{ConvOptions, Form, PackedKernel, With, convolution};
use crate::gemm::{Affine, PackedMatrix, Right, affine};
use crate::{Pool, add, clamp, clamp_gate, copy, map, scale_shift, update, zip, zip3};

fn absent(dtype: DType, layout: Layout) -> Tensor {
    Tensor::absent(dtype, SharedLayout::new(layout).unwrap()).unwrap()
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
    fn dtype(&mut self) -> DType {
        [DType::F32, DType::F32, DType::F16, DType::I32, DType::Bool, DType::F64][self.below(6)]
    }
    /// A dense layout of these sizes, with dimensions in a drawn order.
    fn layout(&mut self, sizes: &[i64]) -> Layout {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        if self.below(2) == 0 {
            (1..order.len()).for_each(|i| order.swap(i, self.below(i + 1)));
        }
        let mut strides = vec![1; sizes.len()];
        let mut step = 1;
        for &d in order.iter().rev() {
            strides[d] = step;
            step *= sizes[d];
        }
        Layout::new(sizes, &strides, 0).unwrap()
    }
    /// An operand that broadcasts to these sizes.
    fn operand(&mut self, sizes: &[i64]) -> Tensor {
        let mut own: Vec<i64> = sizes.iter().map(|&s| if self.below(3) == 0 { 1 } else { s }).collect();
        if self.below(3) == 0 {
            own = own.split_off(self.below(own.len() + 1));
        }
        let n = own.iter().product::<i64>();
        let x = Tensor::from_vec(&own, (0..n).map(|_| self.below(9) as f32 - 4.0).collect()).unwrap();
        let mut out = TensorMut::empty(self.dtype(), self.layout(&own)).unwrap();
        copy(&x, &mut out).unwrap();
        out.freeze()
    }
}

/// A drawn call of earlier values and of operands.
#[derive(Clone)]
struct Made {
    kind: usize,
    inputs: Vec<Result<usize, Tensor>>,
    dtype: DType,
    layout: Layout,
    is_kept: bool,
}

fn run(kind: usize, x: &[&Tensor], out: &mut TensorMut) -> bool {
    match kind {
        0 => map(x[0], out, |x: f32| x * 0.5 + 1.0),
        1 => zip(x[0], x[1], out, |x: f32, y: f32| x - y),
        2 => zip3(x[0], x[1], x[2], out, |c: bool, x: f64, y: f64| if c { x } else { y }),
        3 => zip(x[0], x[0], out, |x: f32, y: f32| x < y + 0.5),
        4 => clamp(x[0], out, -1.0f32, Some(2.0)),
        5 => add(x[0], x[1], out),
        6 => add(x[1], x[0], out),
        7 => scale_shift::<f32>(x[0], x[1], x[2], out),
        _ => copy(x[0], out),
    }
    .is_ok()
}

fn draw_calls(draw: &mut Draw, sizes: &[i64], from: usize) -> Vec<Made> {
    let count = 1 + draw.below(5);
    (0..count)
        .map(|i| {
            let kind = draw.below(9);
            let mut inputs: Vec<_> = (0..3)
                .map(|_| match draw.below(2) {
                    0 if from + i > 0 => Ok(draw.below(from + i)),
                    _ => Err(draw.operand(sizes)),
                })
                .collect();
            if from + i > 0 {
                inputs[0] = Ok(from + i - 1);
            }
            let (dtype, layout) = (draw.dtype(), draw.layout(sizes));
            Made { kind, inputs, dtype, layout, is_kept: i + 1 == count || draw.below(3) == 0 }
        })
        .collect()
}

fn bytes(x: &Tensor) -> Vec<u8> {
    x.contiguous().unwrap().bytes().unwrap().to_vec()
}

type Produce<'a> = &'a (dyn Fn(&mut TensorMut, Option<After<'_>>) -> bool + Sync);

fn produced(is_whole: bool) -> Produced {
    if is_whole { Produced::Whole } else { Produced::Nothing }
}

/// Both ways; whether the joined one took place, and how many threads there are.
fn compare(made: &[Made], producer: Option<(Tensor, Produce<'_>, bool)>, threads: usize) -> bool {
    let (from, sizes) = (usize::from(producer.is_some()), made[0].layout.sizes.clone());
    let mut expected: Vec<Tensor> = Vec::new();
    if let Some((value, produce, _)) = &producer {
        let mut out = TensorMut::empty(value.dtype(), value.layout().clone()).unwrap();
        assert!(produce(&mut out, None));
        expected.push(out.freeze());
    }
    for call in made {
        let mut out = TensorMut::empty(call.dtype, call.layout.clone()).unwrap();
        let inputs: Vec<&Tensor> =
            call.inputs.iter().map(|x| x.as_ref().map_or_else(|t| t, |&i| &expected[i])).collect();
        assert!(run(call.kind, &inputs, &mut out), "{sizes:?}");
        expected.push(out.freeze());
    }
    let mut values: Vec<Tensor> = producer.iter().map(|p| p.0.clone()).collect();
    values.extend(made.iter().map(|call| absent(call.dtype, call.layout.clone())));
    let kernels: Vec<_> = made
        .iter()
        .map(|call| {
            let values = &values;
            move |outs: &mut [TensorMut]| {
                let inputs: Vec<&Tensor> =
                    call.inputs.iter().map(|x| x.as_ref().map_or_else(|t| t, |&i| &values[i])).collect();
                run(call.kind, &inputs, &mut outs[0])
            }
        })
        .collect();
    let is_shared = producer.as_ref().is_some_and(|p| p.2);
    let mut own = producer.as_ref().map(|p| TensorMut::empty(p.0.dtype(), p.0.layout().clone()).unwrap());
    let mut outs: Vec<Option<TensorMut>> = made
        .iter()
        .map(|call| call.is_kept.then(|| TensorMut::empty(call.dtype, call.layout.clone()).unwrap()))
        .collect();
    let mut calls: Vec<Call<'_>> = kernels
        .iter()
        .zip(&mut outs)
        .enumerate()
        .map(|(i, (kernel, out))| Call { value: &values[from + i], out: out.as_mut(), kernel })
        .collect();
    let kernel = producer
        .as_ref()
        .map(|&(_, produce, _)| move |out: &mut TensorMut, after: Option<After<'_>>| produced(produce(out, after)));
    let joined =
        kernel.as_ref().map(|kernel| Producer { value: &values[0], out: own.as_mut().filter(|_| !is_shared), kernel });
    let pool = Pool::new(threads, usize::MAX).unwrap();
    // The calls are not sent to another thread: a joined pass begins where it is called.
    let is_done = if threads == 1 { pool.alone(|| join(&mut calls, joined)) } else { join(&mut calls, joined) };
    if is_done {
        for (i, out) in outs.into_iter().enumerate() {
            if let Some(out) = out {
                let text = format!("{sizes:?} call {i} of {:?}", made.iter().map(|m| m.kind).collect::<Vec<_>>());
                assert_eq!(bytes(&out.freeze()), bytes(&expected[from + i]), "{text}");
            }
        }
        if let Some(own) = own.filter(|_| !is_shared) {
            assert_eq!(bytes(&own.freeze()), bytes(&expected[0]));
        }
    }
    is_done
}

#[test]
fn passes_are_their_calls_one_by_one() {
    let mut draw = Draw(5);
    let mut done = 0;
    let rounds = if cfg!(miri) { 6 } else { 300 };
    for _ in 0..rounds {
        let most = if cfg!(miri) { 4 } else { 40 };
        let sizes: Vec<i64> = (0..1 + draw.below(4)).map(|_| 1 + draw.below(most) as i64).collect();
        let made = draw_calls(&mut draw, &sizes, 0);
        done += usize::from(compare(&made, None, 1 + draw.below(2)));
    }
    assert_eq!(done, rounds);
}

#[test]
fn passes_follow_products() {
    let mut draw = Draw(6);
    let (mut done, rounds) = (0, if cfg!(miri) { 3 } else { 150 });
    for _ in 0..rounds {
        let small = cfg!(miri);
        let batch = [1, 1, 3][draw.below(3)];
        let m = [1, 3, 7, 64, 300][draw.below(if small { 3 } else { 5 })];
        let n = [1, 5, 33, 64, 400][draw.below(if small { 3 } else { 5 })];
        let k = [1, 8, 70][draw.below(if small { 2 } else { 3 })];
        let noise = |sizes: &[i64]| {
            let n = sizes.iter().product::<i64>();
            Tensor::from_vec(sizes, (0..n).map(|i| ((i * 7) % 11 - 5) as f32).collect()).unwrap()
        };
        let (a, b) = (noise(&[batch, m, k]), noise(&[k, n]));
        let packed = PackedMatrix::new(&b).unwrap();
        let right = if draw.below(2) == 0 { Right::Packed(&packed) } else { Right::Tensor(&b) };
        let sizes = [batch, m, n];
        let produce: Produce<'_> = &|out, after| affine(&a, right, out, &Affine { after, ..Affine::default() }).is_ok();
        let layout = if draw.below(3) == 0 { draw.layout(&sizes) } else { Layout::contiguous(&sizes).unwrap() };
        done += usize::from(follow(&mut draw, DType::F32, layout, produce));
    }
    assert_eq!(done, rounds);
}

#[test]
fn passes_follow_convolutions() {
    let mut draw = Draw(7);
    let (mut done, rounds) = (0, if cfg!(miri) { 3 } else { 120 });
    for _ in 0..rounds {
        let (c, o, groups) = [(3, 8, 1), (16, 40, 1), (16, 300, 1), (24, 24, 24), (8, 32, 2)][draw.below(5)];
        let (h, w, batch) = (3 + draw.below(15) as i64, 3 + draw.below(9) as i64, 1 + draw.below(2) as i64);
        let (kernel, stride) = ([1, 3, 5][draw.below(3)], 1 + draw.below(2) as i64);
        let is_last = draw.below(3) > 0;
        let laid = |sizes: &[i64]| {
            if is_last { Layout::channels_last(sizes).unwrap() } else { Layout::contiguous(sizes).unwrap() }
        };
        let noise = |sizes: &[i64], layout: Layout| {
            let n = sizes.iter().product::<i64>();
            let x = Tensor::from_vec(sizes, (0..n).map(|i| ((i * 7) % 11 - 5) as f32).collect()).unwrap();
            let mut out = TensorMut::empty(DType::F32, layout).unwrap();
            copy(&x, &mut out).unwrap();
            out.freeze()
        };
        let (xs, ws) = ([batch, c, h, w], [o, c / groups, kernel, kernel]);
        let (x, weight) = (noise(&xs, laid(&xs)), noise(&ws, Layout::contiguous(&ws).unwrap()));
        let padding = [kernel / 2];
        let options = ConvOptions { stride: &[stride], padding: &padding, groups, ..Default::default() };
        let form = if is_last { Form::Pixels } else { Form::Planes };
        let packed = PackedKernel::new(&weight, form, &options).unwrap();
        let sizes = options.output_sizes(&xs, &ws).unwrap();
        let produce: Produce<'_> = &|out, after| {
            let with = With { packed: packed.as_ref(), after, ..With::default() };
            convolution(&x, &weight, None, &options, with, out).is_ok()
        };
        done += usize::from(follow(&mut draw, DType::F32, laid(&sizes), produce));
    }
    assert_eq!(done, rounds);
}

fn follow(draw: &mut Draw, dtype: DType, layout: Layout, produce: Produce<'_>) -> bool {
    let sizes = layout.sizes.to_vec();
    let mut made = draw_calls(draw, &sizes, 1);
    let is_shared = draw.below(3) > 0;
    if sizes.len() > 1 && draw.below(3) == 0 {
        // A normalization of channels.
        let mut own = vec![1; sizes.len()];
        own[1] = sizes[1];
        let mut vector =
            || Err(Tensor::from_vec(&own, (0..own[1]).map(|_| draw.below(9) as f32 - 4.0).collect()).unwrap());
        let inputs = vec![Ok(0), vector(), vector()];
        made.truncate(2);
        made[0] = Made { kind: 7, inputs, dtype, layout: layout.clone(), is_kept: false };
    }
    let last = made.last_mut().unwrap();
    last.is_kept = true;
    if is_shared {
        (last.dtype, last.layout) = (dtype, layout.clone());
    }
    let value = absent(dtype, layout);
    compare(&made, Some((value, produce, is_shared)), 1 + draw.below(2))
}

/// A factor and a shift for each column, a sum with a tensor of the same layout, a clamp or a gate, or some of them
/// behind a product, which the product's kernel computes: crossed bounds, NaN and −0 included.
#[test]
fn what_follows_is_the_products_own() {
    let numbers = [1.0, -0.0, f32::NAN, -2.5, f32::INFINITY, 0.0, 3.0, -1e-40];
    let tensor = |sizes: &[i64], step: usize| {
        let n = sizes.iter().product::<i64>() as usize;
        // Rows of zeros make sums of −0, and few products are NaN.
        let number = |i: usize| if i % 97 < 8 { numbers[i * step % 8] } else { (i * 7 % 11) as f32 - 5.0 };
        Tensor::from_vec(sizes, (0..n).map(number).collect()).unwrap()
    };
    let sizes = [(1, 8, 33), (7, 400, 40), (64, 1, 64), (300, if cfg!(miri) { 3 } else { 800 }, 70), (5, 0, 9)];
    for (m, k, n) in sizes.into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
        let (a, b, more) = (tensor(&[m, k], 1), tensor(&[k, n], 3), tensor(&[m, n], 5));
        let packed = PackedMatrix::new(&b).unwrap();
        let layout = Layout::contiguous(&[m, n]).unwrap();
        let make = || TensorMut::empty(DType::F32, layout.clone()).unwrap();
        type Apply<'a> = &'a dyn Fn(&Tensor, &mut TensorMut) -> bool;
        let bounds = [(0.0, None), (-1.0, Some(2.0)), (2.0, Some(-1.0)), (f32::NAN, Some(1.0))];
        let clamps = bounds.map(|(low, high)| move |x: &Tensor, out: &mut TensorMut| clamp(x, out, low, high).is_ok());
        let sums: [Apply<'_>; 2] = [&|x, out| add(x, &more, out).is_ok(), &|x, out| add(&more, x, out).is_ok()];
        let gate = |x: &Tensor, out: &mut TensorMut| clamp_gate(x, out, 3.0f32, [0.0, 6.0], 1.0 / 6.0).is_ok();
        let [a0, a1, a2, a3] = clamps.each_ref().map(|clamp| clamp as Apply<'_>);
        let activations: [Apply<'_>; 5] = [a0, a1, a2, a3, &gate];
        let pairs = sums.iter().flat_map(|&sum| activations.map(|last| vec![sum, last]));
        let chains: Vec<Vec<Apply<'_>>> = activations.iter().chain(&sums).map(|&f| vec![f]).chain(pairs).collect();
        let vector =
            |step: i64| Tensor::from_vec(&[1, n], (0..n).map(|i| (i * step % 11 - 5) as f32).collect()).unwrap();
        let [scale, shift] = [7, 4].map(vector);
        let normal: Apply<'_> = &|x, out| scale_shift::<f32>(x, &scale, &shift, out).is_ok();
        let normal_first = chains.iter().map(|chain| [&[normal], &chain[..]].concat());
        // Others follow those that are the product's own.
        let half: Apply<'_> = &|x, out| map(x, out, |x: f32| x * 0.5 + 1.0).is_ok();
        let parts =
            [vec![normal], vec![normal, half], vec![a0, half], vec![normal, sums[0], half], vec![normal, a1, half]];
        let chains: Vec<_> = normal_first.chain(parts).chain(chains.clone()).collect();
        for right in [Right::Packed(&packed), Right::Tensor(&b)] {
            for (i, chain) in chains.iter().enumerate() {
                let mut product = make();
                affine(&a, right, &mut product, &Affine::default()).unwrap();
                let expected = chain.iter().fold(product.freeze(), |x, f| {
                    let mut out = make();
                    assert!(f(&x, &mut out));
                    out.freeze()
                });
                let values = [(); 4].map(|()| absent(DType::F32, layout.clone()));
                let kernels = [0, 1, 2].map(|i| {
                    let (x, f) = (&values[i], chain.get(i));
                    move |outs: &mut [TensorMut]| f.is_some_and(|f| f(x, &mut outs[0]))
                });
                let product = |out: &mut TensorMut, after: Option<After<'_>>| {
                    assert!(after.is_some_and(|after| after.tail.is_some()), "{i}");
                    produced(affine(&a, right, out, &Affine { after, ..Affine::default() }).is_ok())
                };
                let mut out = make();
                let call = |i: usize| Call { value: &values[i + 1], out: None, kernel: &kernels[i] };
                let mut calls: Vec<Call<'_>> = (0..chain.len()).map(call).collect();
                calls.last_mut().unwrap().out = Some(&mut out);
                assert!(join(&mut calls, Some(Producer { value: &values[0], out: None, kernel: &product })));
                // Which of two NaN a sum is depends on the instruction set.
                let same = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                let [out, expected] = [out.freeze(), expected].map(|x| x.to_vec::<f32>().unwrap());
                assert!(out.len() == expected.len() && out.iter().zip(&expected).all(same), "{m}×{k}×{n}, {i}");
            }
        }
    }
}

/// Kernels that read, write or loop in another way are refused, and see no memory.
#[test]
fn other_kernels_are_refused() {
    let layout = || Layout::contiguous(&[4]).unwrap();
    let x = Tensor::from_vec(&[4], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    type Kernel<'a> = &'a dyn Fn(&Tensor, &mut TensorMut) -> bool;
    let double = |x: &Tensor, out: &mut TensorMut| map(x, out, |x: f32| 2.0 * x).is_ok();
    let kernels: [(Kernel<'_>, bool); 6] = [
        (&double, true),
        (&|x, out| double(x, out) && update(out, |x: f32| x + 1.0).is_ok(), false),
        (&|_, _| true, false),
        (&|x, out| x.to_dtype(DType::F64).is_ok_and(|x| double(&x, out)), false),
        (&|x, out| x.view(|l| l.flip(&[0])).is_ok_and(|x| double(&x, out)), false),
        (&|x, out| double(x, out) && double(x, out), false),
    ];
    for (i, (kernel, is_joined)) in kernels.into_iter().enumerate() {
        let values = [(); 3].map(|()| absent(DType::F32, layout()));
        let mut out = TensorMut::empty(DType::F32, layout()).unwrap();
        let first = |outs: &mut [TensorMut]| double(&x, &mut outs[0]);
        let second = |outs: &mut [TensorMut]| kernel(&values[0], &mut outs[0]);
        let third = |outs: &mut [TensorMut]| double(&values[1], &mut outs[0]);
        let mut calls = [
            Call { value: &values[0], out: None, kernel: &first },
            Call { value: &values[1], out: None, kernel: &second },
            Call { value: &values[2], out: Some(&mut out), kernel: &third },
        ];
        assert_eq!(join(&mut calls, None), is_joined, "{i}");
        if is_joined {
            assert_eq!(out.freeze().to_vec::<f32>().unwrap(), [8.0, 16.0, 24.0, 32.0]);
        }
    }
    let read = absent(DType::F32, layout());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read.to_vec::<f32>().unwrap())).is_err());
}
