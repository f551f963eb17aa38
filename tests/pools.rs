//! Which of equal elements a pool gives.

use oxport::{Fake, PlanOptions, ProgramBuilder, Tensor, Value, registry};

/// Of zeros of two signs the first one of a window counts, in rows and across them: as where places are asked for.
#[test]
fn the_first_of_equal_maxima_counts() {
    let pooled = |sizes: &[i64], x: Vec<f32>| {
        let x = Tensor::from_vec(sizes, x).expect("law: as many as the sizes say");
        let mut b = ProgramBuilder::new(registry());
        let input = b.input("x", Fake::of(&x)).expect("an input");
        let values = b.call("aten::max_pool2d", (input, vec![2i64, 2])).expect("a call");
        let both = b.call("aten::max_pool2d_with_indices", (input, vec![2i64, 2])).expect("a call");
        let indexed = b.calls().getitem(both, 0).expect("the values");
        let program = b.finish(&[values, indexed]).expect("a program");
        let plan = oxport::plan(&program, &PlanOptions::default()).expect("a plan");
        let outputs = plan.run(vec![Value::Tensor(x)]).expect("a run").user;
        let bits = |v: &Value| {
            let values = v.as_tensor().expect("a tensor").to_vec::<f32>().expect("floats");
            values.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        [bits(&outputs[0]), bits(&outputs[1])]
    };
    let negative = (-0f32).to_bits();
    // The greatest of the left window are its second and third element, of the right one its last two.
    let [values, indexed] = pooled(&[1, 1, 2, 4], vec![-1.0, -0.0, -2.0, -1.0, 0.0, -3.0, 0.0, -0.0]);
    assert_eq!((&values[..], &indexed[..]), (&[negative, 0][..], &[negative, 0][..]));
    let zero = |i: u32| [0f32, -0.0, -1.0][(i.wrapping_mul(0x9e37_79b9) >> 13) as usize % 3];
    let [values, indexed] = pooled(&[2, 3, 8, 9], (0..432).map(zero).collect());
    assert!(values == indexed && values.contains(&negative));
}

/// Over pixels, whose channels are folded together, maxima are those over planes: of NaN the last one of a window, of
/// zeros of two signs the first.
#[test]
fn pixels_are_pooled_as_planes() {
    let number = |i: u32| match i.wrapping_mul(0x9e37_79b9) >> 27 {
        0 => f32::from_bits(0x7fc0_0000 + i),
        1 => f32::from_bits(0xffc0_0000 + i),
        2..=9 => -0.0,
        10..=17 => 0.0,
        18..=29 => f32::NEG_INFINITY,
        _ => f32::INFINITY,
    };
    let planes = Tensor::from_vec(&[2, 40, 9, 7], (0..5040).map(number).collect()).expect("law: so many elements");
    let turned = planes.view(|l| l.permute(&[0, 2, 3, 1])).and_then(|t| t.contiguous()).expect("a copy");
    let pixels = turned.view(|l| l.permute(&[0, 3, 1, 2])).expect("a view");
    let pooled = |x: &Tensor| {
        let mut b = ProgramBuilder::new(registry());
        let input = b.input("x", Fake::of(x)).expect("an input");
        let [kernel, stride, padding] = [3i64, 2, 1].map(|n| vec![n, n]);
        let output = b.call("aten::max_pool2d", (input, kernel, stride, padding)).expect("a call");
        let plan = oxport::plan(&b.finish(&[output]).expect("a program"), &PlanOptions::default()).expect("a plan");
        let outputs = plan.run(vec![Value::Tensor(x.clone())]).expect("a run").user;
        let values = outputs[0].as_tensor().expect("a tensor").to_vec::<f32>().expect("floats");
        values.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let expected = pooled(&planes);
    assert!(pooled(&pixels) == expected);
    let has = |f: &dyn Fn(f32) -> bool| expected.iter().any(|&bits| f(f32::from_bits(bits)));
    assert!(has(&f32::is_nan) && has(&|x| x == 0.0 && x.is_sign_negative()) && has(&|x| x == f32::INFINITY));
}
