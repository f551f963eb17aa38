//! Layers and loops against answers of PyTorch.

mod attention {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    #[test]
    fn attention_by_torch() {
        let tensors = [wave(&[1, 2, 3, 4], 0.7, 0.0), wave(&[1, 2, 5, 4], 0.4, 0.0), wave(&[1, 2, 5, 4], 0.9, 0.0)];
        let run = |causal: bool| {
            let rest = [Arg::None, Arg::Float(0.0), Arg::Bool(causal), Arg::None, Arg::Bool(false)];
            let args: Vec<_> = tensors.iter().cloned().map(Arg::Tensor).chain(rest).collect();
            call("aten::scaled_dot_product_attention", &args).unwrap().remove(0)
        };
        assert_wave(&run(false), &[0.175649, 0.103218, -0.047326, -0.162055], 1.75733);
        assert_wave(&run(true), &[0.0, 0.783327, 0.973848, 0.42738], 3.4494);
    }

    #[test]
    fn blocks_of_keys_agree_with_one_row_at_a_time() {
        // Longer than a block in both directions; the last query alone must give the same.
        let [q, k, v] = [0.7, 0.4, 0.9].map(|k| wave(&[1, 1, 300, 8], k, 0.3));
        let run = |q: &oxport_tensor::Tensor, seen: i64, causal: bool| {
            let [k, v] = [&k, &v].map(|x| x.view(|l| l.narrow(2, 0, seen)).unwrap());
            let rest = [Arg::None, Arg::Float(0.0), Arg::Bool(causal), Arg::None, Arg::Bool(false)];
            let args: Vec<_> = [q.clone(), k, v].into_iter().map(Arg::Tensor).chain(rest).collect();
            call("aten::scaled_dot_product_attention", &args).unwrap().remove(0).to_vec::<f64>().unwrap()
        };
        // A causal row sees the keys up to its own, wherever blocks end.
        for (causal, rows) in [(false, &[299][..]), (true, &[0, 1, 63, 64, 200, 255, 256, 299])] {
            let all = run(&q, 300, causal);
            for &row in rows {
                let seen = if causal { row + 1 } else { 300 };
                let one = run(&q.view(|l| l.narrow(2, row, 1)).unwrap(), seen, false);
                let same = all[row as usize * 8..].iter().zip(&one).all(|(a, b)| (a - b).abs() < 1e-6);
                assert!(same, "row {row}, causal {causal}");
            }
        }
    }
}

mod batch_norm {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    #[test]
    fn training_by_torch() {
        let w = |k: f64, p: f64| wave(&[3], k, p);
        let positive: Vec<f32> = w(0.7, 0.0).to_vec::<f32>().unwrap().iter().map(|x| x.abs()).collect();
        let var = oxport_tensor::Tensor::from_vec(&[3], positive).unwrap();
        let tensors = [wave(&[2, 3, 2], 0.7, 0.0), w(0.7, 0.0), w(0.7, 1.0), w(0.7, 2.0), var];
        let rest = [Arg::Bool(true), Arg::Float(0.1), Arg::Float(1e-5)];
        let args: Vec<_> = tensors.into_iter().map(Arg::Tensor).chain(rest).collect();
        let outs = call("aten::_native_batch_norm_legit_functional", &args).unwrap();
        assert_wave(&outs[0], &[0.841471, 0.841471, 1.653928, 1.534331], 10.0344);
        assert_wave(&outs[1], &[-0.302453, 0.308552, 0.40734], 0.41344);
        assert_wave(&outs[2], &[1.501595, 1.518709, 2.020604], 5.04091);
        assert_wave(&outs[3], &[0.788122, 0.415497, -0.189253], 1.01437);
        assert_wave(&outs[4], &[0.059132, 0.637603, 0.91956], 1.6163);
    }
}

mod class_loss {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    #[test]
    fn cross_entropy_by_torch() {
        let weight: Vec<f32> = wave(&[4], 0.7, 0.0).to_vec::<f32>().unwrap().iter().map(|x| x.abs()).collect();
        let args = [
            Arg::Tensor(wave(&[3, 4], 0.7, 0.0)),
            Arg::Tensor(oxport_tensor::Tensor::from_vec(&[3], vec![0i64, 3, 1]).unwrap()),
            Arg::Tensor(oxport_tensor::Tensor::from_vec(&[4], weight).unwrap()),
            Arg::Int(0),
            Arg::Int(-100),
            Arg::Float(0.1),
        ];
        let out = call("aten::cross_entropy_loss", &args).unwrap();
        assert_wave(&out[0], &[0.075956, 1.703573, 1.120322], 2.89985);
    }
}

mod grid {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    fn run(mode: i64, padding: i64, align: bool) -> oxport_tensor::Tensor {
        let grid: Vec<f32> = wave(&[12], 0.7, 0.0).to_vec::<f32>().unwrap().iter().map(|x| x * 1.3).collect();
        let grid = oxport_tensor::Tensor::from_vec(&[1, 2, 3, 2], grid).unwrap();
        let args = [
            Arg::Tensor(wave(&[1, 2, 4, 5], 0.7, 0.0)),
            Arg::Tensor(grid),
            Arg::Int(mode),
            Arg::Int(padding),
            Arg::Bool(align),
        ];
        call("aten::grid_sampler_2d", &args).unwrap().remove(0)
    }

    #[test]
    fn samples_by_torch() {
        assert_wave(&run(0, 0, false), &[-0.509984, 0.0, -0.000992, 0.0, 0.186981], 0.49923);
        assert_wave(&run(2, 2, true), &[-0.385969, 0.39505, -0.526828, -0.157969], 2.1658);
        let sizes = Arg::List([1, 1, 2, 3].map(Arg::Int).to_vec());
        let grid =
            call("aten::affine_grid_generator", &[Arg::Tensor(wave(&[1, 2, 3], 0.7, 0.0)), sizes, Arg::Bool(false)]);
        assert_wave(&grid.unwrap()[0], &[0.663341, -1.09375, 0.663341, -0.518277], 3.808);
    }
}

mod higher_order_scan {
    use oxport_ir::{Arg, Args, Callable, Real, Result, RunCx, Value};
    use oxport_tensor::Tensor;
    use std::sync::Arc;

    /// Adds its first two inputs and gives the sum as often as it was asked.
    #[derive(Debug)]
    struct Adder(usize);
    impl Callable for Adder {
        fn call(&self, _: &RunCx, inputs: Vec<Value>) -> Result<Vec<Value>> {
            let x = |i: usize| inputs[i].as_tensor().map_or_else(Vec::new, |t| t.to_vec::<i64>().unwrap());
            let sum: Vec<i64> = x(0).iter().zip(x(1)).map(|(a, b)| a + b).collect();
            Ok(vec![Value::Tensor(Tensor::from_vec(&[sum.len() as i64], sum)?); self.0])
        }
    }

    fn run(name: &str, values: &[Arg<Real>]) -> Vec<Vec<i64>> {
        let op = oxport_ops::registry().op(name);
        let oxport_ir::Kernel::Eval(f) = op.def().unwrap().kernel else { panic!("{name} is evaluated") };
        let outs = f(&Args::new(values, &op, &RunCx::default())).unwrap();
        outs.iter().map(|v| v.as_tensor().unwrap().to_vec::<i64>().unwrap()).collect()
    }

    #[test]
    fn scans() {
        let tensor = |sizes: &[i64], x: &[i64]| Arg::Tensor(Tensor::from_slice(sizes, x).unwrap());
        let list = |a: Arg<Real>| Arg::List(vec![a]);
        let f = |n: usize| Arg::Graph(Arc::new(Adder(n)) as Arc<dyn Callable>);
        let xs = || list(tensor(&[5, 1], &[1, 2, 3, 4, 5]));
        let args = [f(2), list(tensor(&[1], &[10])), xs(), Arg::List(vec![])];
        assert_eq!(run("higher_order::scan", &args), [vec![25], vec![11, 13, 16, 20, 25]]);
        assert_eq!(run("higher_order::associative_scan", &[f(1), xs()]), [vec![1, 3, 6, 10, 15]]);
        let args = [f(1), xs(), list(tensor(&[1], &[7]))];
        assert_eq!(run("higher_order::map_impl", &args), [vec![8, 9, 10, 11, 12]]);
        let args = [f(2), list(tensor(&[1], &[10])), list(tensor(&[0, 1], &[])), Arg::List(vec![])];
        assert_eq!(run("higher_order::scan", &args), [vec![10], vec![]]);
    }

    #[test]
    fn branches() {
        let tensor = |x: &[i64]| Arg::Tensor(Tensor::from_slice(&[1], x).unwrap());
        let f = |n: usize| Arg::Graph(Arc::new(Adder(n)) as Arc<dyn Callable>);
        let both = || Arg::List(vec![tensor(&[1]), tensor(&[2])]);
        assert_eq!(run("higher_order::cond", &[Arg::Bool(true), f(1), f(2), both()]), [[3]]);
        assert_eq!(run("higher_order::cond", &[tensor(&[0]), f(1), f(2), both()]), [[3], [3]]);
        assert_eq!(run("higher_order::switch", &[Arg::Int(1), Arg::List(vec![f(1), f(2)]), both()]), [[3], [3]]);
        let args = [Arg::Bool(false), f(1), tensor(&[1]), tensor(&[2])];
        assert_eq!(run("higher_order::wrap_with_set_grad_enabled", &args), [[3]]);
    }
}

mod resample {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    #[test]
    fn cubic_and_antialiased_by_torch() {
        let sizes = |h: i64, w: i64| Arg::List(vec![Arg::Int(h), Arg::Int(w)]);
        let cubic = [Arg::Tensor(wave(&[1, 1, 4, 5], 0.7, 0.0)), sizes(6, 3), Arg::Bool(false), Arg::None, Arg::None];
        let out = call("aten::upsample_bicubic2d", &cubic).unwrap();
        assert_wave(&out[0], &[0.243959, 1.156275, 0.551971, -0.282104], 0.59193);
        let smooth = [Arg::Tensor(wave(&[1, 1, 6, 8], 0.7, 0.0)), sizes(3, 3), Arg::Bool(false), Arg::None, Arg::None];
        let out = call("aten::_upsample_bilinear2d_aa", &smooth).unwrap();
        assert_wave(&out[0], &[0.196207, 0.605834, -0.36235, -0.553948], 0.51953);
    }
}

mod rnn {
    use crate::waves::{assert_wave, call, wave};
    use oxport_ir::Arg;

    fn list(tensors: &[oxport_tensor::Tensor]) -> Arg<oxport_ir::Real> {
        Arg::List(tensors.iter().cloned().map(Arg::Tensor).collect())
    }

    #[test]
    fn lstm_by_torch() {
        let states = list(&[wave(&[1, 2, 4], 0.7, 1.0), wave(&[1, 2, 4], 0.7, 2.0)]);
        let params =
            list(&[wave(&[16, 3], 0.3, 0.0), wave(&[16, 4], 0.5, 0.0), wave(&[16], 0.2, 0.0), wave(&[16], 0.9, 0.0)]);
        let flags =
            [Arg::Bool(true), Arg::Int(1), Arg::Float(0.0), Arg::Bool(false), Arg::Bool(false), Arg::Bool(false)];
        let args = [vec![Arg::Tensor(wave(&[3, 2, 3], 0.7, 0.0)), states, params], flags.to_vec()].concat();
        let outs = call("aten::lstm.input", &args).unwrap();
        assert_wave(&outs[0], &[0.032652, 0.605809, 0.30034, -0.603443], 4.02404);
        assert_wave(&outs[1], &[0.100276, 0.411923, 0.405781, -0.394029], 1.61188);
        assert_wave(&outs[2], &[1.416001, 0.982329, 0.905508, -0.775801], 4.78555);
    }

    #[test]
    fn gru_of_two_directions_by_torch() {
        let params = list(&[
            wave(&[12, 3], 0.3, 0.0),
            wave(&[12, 4], 0.5, 0.0),
            wave(&[12, 3], 0.4, 0.0),
            wave(&[12, 4], 0.6, 0.0),
        ]);
        let flags =
            [Arg::Bool(false), Arg::Int(1), Arg::Float(0.0), Arg::Bool(false), Arg::Bool(true), Arg::Bool(true)];
        let tensors = vec![Arg::Tensor(wave(&[2, 3, 3], 0.7, 0.0)), Arg::Tensor(wave(&[2, 2, 4], 0.7, 1.0)), params];
        let outs = call("aten::gru.input", &[tensors, flags.to_vec()].concat()).unwrap();
        assert_eq!(outs[0].strides(), [8, 16, 1]);
        assert_wave(&outs[0], &[0.604755, 0.394569, 0.532442, -0.006986], 6.6884);
        assert_wave(&outs[1], &[0.343157, 0.116187, 0.477088], 1.46897);
    }
}

mod attention_backward {
    /// As PyTorch's kernel makes them: by place, then head.
    #[test]
    fn gradients_lie_turned() {
        let q = "f32[[[[1], [2]], [[3], [4]]]]";
        let got = crate::trial::call(
            "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
            &format!("{q}, {q}, {q}, {q}, {q}, f32[[[0, 0], [0, 0]]], 0.0, False"),
        );
        assert_eq!(got.matches("f32[1, 2, 2, 1]{4, 1, 2, 1}").count(), 3, "{got}");
    }
}

mod recursion {
    /// The numbers are torchaudio's.
    #[test]
    fn filters_of_waveforms() {
        let written = "f32[1, 1, 6] 0.5 1 1 1.75 -1.0625 -0.640625";
        let got = crate::trial::call(
            "torchaudio::_lfilter_core_loop",
            "f32[[[1, 2, -1, 0.5]]], f32[[0.5, -0.25, 1]], f32[[[0.5, 1, 0, 0, 0, 0]]]",
        );
        assert_eq!(got, format!("{written}; {written}"));
        let got = crate::trial::call(
            "torchaudio::_overdrive_core_loop",
            "f32[[1, -2, 0.5]], f32[[0.5, 0.25, -1]], f32[0.25], f32[2], f32[[0, 0, 0]]",
        );
        let written =
            "f32[1] -1; f32[1] 0.718906044960022; f32[1, 3] 2.180000066757202 0.4841000437736511 0.7891795635223389";
        assert_eq!(got, format!("{written}; {written}"));
    }
}
