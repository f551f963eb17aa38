//! Loops over a dimension by closures: the programs of PyTorch 2.15 for the same code (`fixtures/capture_models.py`,
//! `over/*.txt`), what they compute, and what is refused in PyTorch's words.

use crate::models::{assert_computes, assert_same_lines};
use oxport_capture::control::Along;
use oxport_capture::nn::{Identity, Linear};
use oxport_capture::{Dim, Export, Forward, Module, Pytree, Result, Tensor, Tracer, manual_seed, pytree};
use oxport_ir::ExportedProgram;
use oxport_tensor::{DType, Tensor as Data};

/// A layer that the closures use.
#[derive(Module)]
struct Over {
    lin: Linear,
}

fn floats(sizes: &[i64]) -> Data {
    Data::zeros(DType::F32, sizes).unwrap()
}

/// A program over `xs: f32[4, 3]` and `h: f32[3]`.
fn program<O: Pytree>(dim: Dim, code: impl FnOnce(&Tracer, &Linear, &Tensor, &Tensor) -> Result<O>) -> ExportedProgram {
    manual_seed(0);
    let model = Over { lin: Linear::new(3, 3) };
    let export = Export::new().arg("xs", floats(&[4, 3])).arg("h", floats(&[3]));
    let export = if dim == Dim::Static { export } else { export.dim("xs", 0, dim) };
    export.run(&model, |m, i| code(i.tracer(), &m.lin, &i.tensor("xs"), &i.tensor("h")).unwrap()).unwrap()
}

fn lines(text: &str) -> Vec<String> {
    let all = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    // PyTorch reads an element of what it scans, and uses it for nothing.
    all.filter(|l| !l.starts_with("select_copy")).map(String::from).collect()
}

fn check(name: &str, text: &str, program: &ExportedProgram) {
    let found = oxport::verify(program);
    assert!(found.is_empty(), "{name}: {found:?}");
    assert_same_lines(name, &lines(&oxport_ir::print::whole(program)), &lines(text));
    assert_computes(name, program);
}

#[test]
fn map_lifts_what_its_closure_uses() {
    let lifts = program(Dim::new("t"), |t, lin, xs, h| {
        t.map(std::slice::from_ref(xs), std::slice::from_ref(h), |x, h| lin.call(&x[0]) + h[0].sum())
    });
    check("map_lifts", include_str!("over/map_lifts.txt"), &lifts);
    let trees = program(Dim::Static, |t, _, xs, h| {
        let twice = h * 2;
        t.map(&[xs.clone(), xs + 1], &[], |x, _| {
            pytree::dict([("a", (&x[0] * &twice).tree()), ("b", (x[1].cos(),).tree())])
        })
    });
    check("map_trees", include_str!("over/map_trees.txt"), &trees);
    let spec = &trees.call_signature().unwrap().out_spec;
    assert!(spec.to_json().contains(r#""context": "[\"a\", \"b\"]""#), "{}", spec.to_json());
}

#[test]
fn scan_passes_a_state_along() {
    let lifts = program(Dim::new("t"), |t, lin, xs, h| {
        let (last, all) = t.scan(std::slice::from_ref(h), std::slice::from_ref(xs), Along::default(), |state, x| {
            let next = (lin.call(&x[0]) + &state[0]).tanh();
            (vec![next.clone()], next * 2)
        })?;
        Ok((last[0].clone(), all))
    });
    check("scan_lifts", include_str!("over/scan_lifts.txt"), &lifts);
    let back = program(Dim::Static, |t, _, xs, h| {
        let thrice = h * 3;
        let init = [h.clone(), h + 1];
        let (last, all) = t.scan(&init, &[xs.t() * 1], Along { dim: -1, reverse: true }, |state, x| {
            let next = vec![&state[0] + &x[0] * &thrice, &state[1] * 2];
            (next, (&state[0] + 1, x[0].sum()))
        })?;
        Ok((last[0].clone(), last[1].clone(), all))
    });
    check("scan_back", include_str!("over/scan_back.txt"), &back);
}

#[test]
fn associative_scans_combine_neighbors() {
    let pairs = program(Dim::Static, |t, _, xs, _| {
        let combined = t.associative_scan(&[xs.clone(), xs * 2], Along { dim: 1, reverse: true }, |a, b| {
            vec![&a[0] * &b[0], &a[1] * &b[0] + &b[1]]
        })?;
        Ok((combined[0].clone(), combined[1].clone()))
    });
    check("associative", include_str!("over/associative.txt"), &pairs);
    let lifts = program(Dim::Static, |t, _, xs, h| {
        let combined =
            t.associative_scan(std::slice::from_ref(xs), Along::default(), |a, b| vec![(&a[0] + &b[0]).minimum(h)])?;
        Ok(combined[0].clone())
    });
    check("associative_lifts", include_str!("over/associative_lifts.txt"), &lifts);
}

#[test]
fn a_scan_may_give_its_state_alone() {
    let alone = program(Dim::Static, |t, _, xs, h| {
        let (last, all) = t.scan(std::slice::from_ref(h), std::slice::from_ref(xs), Along::default(), |state, x| {
            (vec![&state[0] + &x[0]], ())
        })?;
        Ok((last[0].clone(), all))
    });
    assert!(oxport::verify(&alone).is_empty());
    let plan = oxport::plan(&oxport::prepare(&alone, oxport::Opt::None).unwrap(), &Default::default()).unwrap();
    let xs = Data::from_vec(&[4, 3], (0..12).map(|i| i as f32).collect()).unwrap();
    let h = Data::from_vec(&[3], vec![0.5f32; 3]).unwrap();
    let outputs = plan.run([xs, h].map(oxport::Value::Tensor).to_vec()).unwrap().user;
    assert_eq!(outputs[0].as_tensor().unwrap().to_vec::<f32>().unwrap(), [18.5, 22.5, 26.5]);
    assert!(matches!(outputs[1], oxport::Value::None));
}

#[test]
fn loops_nest() {
    let nested = program(Dim::Static, |t, lin, xs, h| {
        t.map(std::slice::from_ref(xs), &[], |x, _| {
            let row = x[0].unsqueeze(1);
            let inner = t.scan(&[h.sum()], &[row], Along::default(), |state, x| {
                let next = &state[0] + x[0].sum() * lin.bias.as_ref().unwrap().get().sum();
                (vec![next.clone()], next)
            });
            inner.unwrap().1
        })
    });
    let found = oxport::verify(&nested);
    assert!(found.is_empty(), "{found:?}\n{}", oxport_ir::print::whole(&nested));
}

/// The message that refuses this code.
fn refused<O: Pytree>(code: impl Fn(&Tracer, &Tensor, &Tensor) -> Result<O>) -> String {
    let export = Export::new().arg("xs", floats(&[4, 3])).arg("h", floats(&[3]));
    let program = export.run(&Identity::default(), |_, i| {
        let result = code(i.tracer(), &i.tensor("xs"), &i.tensor("h"));
        result.map_err(|error| i.tracer().refuse(error)).ok()
    });
    program.unwrap_err().message().to_string()
}

#[test]
fn what_does_not_fit_is_refused_in_the_words_of_pytorch() {
    let one = std::slice::from_ref::<Tensor>;
    let along = Along::default();
    let rest = |xs: &Tensor| xs.get([(1..).into()]);
    let mutation = |op: &str, name: &str| {
        format!(
            "Higher order ops do not support input mutation. Found in {op}: `{name}` is written; write to a clone() \
             instead"
        )
    };
    let rows: Vec<(String, &str)> = vec![
        (
            refused(|t, xs, _| t.map(&[xs.clone(), rest(xs)], &[], |x, _| &x[0] + &x[1])),
            "Leading dimensions of mapped xs must be consistent. Got shapes [torch.Size([4, 3]), torch.Size([3, 3])].",
        ),
        (
            refused(|t, xs, _| t.map(&[xs.get([(..0).into()])], &[], |x, _| x[0].clone())),
            "Leading dimensions of mapped xs cannot be 0.",
        ),
        (
            refused(|t, xs, _| t.map(one(xs), &[], |_, _| 3i64)),
            "Expected all leaves to be of torch.Tensor type. Found in map_impl: int",
        ),
        (
            refused(|t, xs, _| t.map(&[xs.sum()], &[], |x, _| x[0].clone())),
            "Dimension out of range (expected to be in range of [-1, 0], but got 0)",
        ),
        (
            refused(|t, xs, h| {
                t.scan(one(h), one(xs), along, |c, x| (vec![(&c[0] + &x[0]).to(DType::F64)], x[0].exp()))
            }),
            "Expected init and carry to have same metadata but found:\npair[0] differ in dtype, where lhs is \
             f32[3] and rhs is f64[3]",
        ),
        (
            refused(|t, xs, h| t.scan(one(h), one(xs), along, |c, x| (vec![(&c[0] + &x[0]).sum()], x[0].exp()))),
            "Expected init and carry to have same metadata but found:\npair[0] differ in shape, where lhs is \
             f32[3] and rhs is f32[]",
        ),
        (
            refused(|t, xs, h| t.scan(one(h), one(xs), along, |c, x| (vec![c[0].exp(), x[0].exp()], x[0].exp()))),
            "Expected init and carry to have same number of outputs but got 1 and 2",
        ),
        (
            refused(|t, xs, _| t.scan(&[], one(xs), along, |_, x| (Vec::new(), x[0].exp()))),
            "scan() operator requires init leaves.",
        ),
        (
            refused(|t, xs, h| t.scan(one(h), &[xs.clone(), rest(xs)], along, |c, x| (c.to_vec(), x[1].exp()))),
            "All xs leaves must have the same scan dimension size",
        ),
        (
            refused(|t, xs, h| {
                t.scan(one(h), one(xs), Along { dim: 2, reverse: false }, |c, x| (c.to_vec(), x[0].exp()))
            }),
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ),
        (
            refused(|t, xs, h| {
                t.associative_scan(&[xs.clone(), h.clone()], Along { dim: 1, reverse: false }, |a, _| a.to_vec())
            }),
            "All xs leaves must have at least 'dim + 1' dimensions",
        ),
        (
            refused(|t, xs, _| t.associative_scan(one(xs), along, |a, b| vec![a[0].exp(), b[0].exp()])),
            "Expected initial_xs and combine_fn_output to have same number of outputs but got 1 and 2",
        ),
        (
            refused(|t, xs, _| t.associative_scan(one(xs), along, |a, b| vec![(&a[0] + &b[0]).to(DType::F64)])),
            "Expected initial_xs and combine_fn_output to have same metadata but found:\npair[0] differ in dtype, \
             where lhs is f32[3] and rhs is f64[3]",
        ),
        (refused(|t, _, _| t.associative_scan(&[], along, |a, _| a.to_vec())), "Expected at least 1 xs leaf"),
        (
            refused(|t, xs, h| t.map(one(xs), &[], |x, _| h + &x[0] + xs.t())),
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
        ),
    ];
    for (got, expected) in rows {
        assert_eq!(got, expected);
    }
    assert_eq!(refused(|t, xs, h| t.map(one(xs), &[], |x, _| h.add_(&x[0]))), mutation("map_impl", "h"));
    assert_eq!(refused(|t, xs, _| t.map(one(xs), &[], |x, _| x[0].add_(1))), mutation("map_impl", "xs"));
    let written = refused(|t, xs, h| t.scan(one(h), one(xs), along, |c, x| (vec![c[0].add_(&x[0])], x[0].exp())));
    assert_eq!(written, mutation("scan", "arg0_1"));
}
