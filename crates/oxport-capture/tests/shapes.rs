//! Dynamic shapes: guards, ranges, and what is said where the code does not allow what was declared. The messages are
//! those
//! of PyTorch 2.15 for the same code.

use oxport_capture::module::Visitor;
use oxport_capture::{Dim, Export, Inputs, Module, Result, Tensor};
use oxport_ir::ExportedProgram;
use oxport_tensor::{DType, Tensor as Data};

/// A module without state.
struct Nothing;
impl Module for Nothing {
    fn visit(&self, _: &mut dyn Visitor) {}
}

fn tensor(sizes: &[i64]) -> Data {
    Data::zeros(DType::F32, sizes).unwrap()
}

/// Exports code over `x: f32[4, 6]` and `y` of these sizes, where there are some.
fn export(x: Dim, y: Option<(&[i64], Dim)>, code: impl FnOnce(&Inputs) -> Tensor) -> Result<ExportedProgram> {
    let mut export = Export::new().arg("x", tensor(&[4, 6])).dim("x", 0, x);
    if let Some((sizes, dim)) = y {
        export = export.arg("y", tensor(sizes)).dim("y", 0, dim);
    }
    export.run(&Nothing, |_, inputs| code(inputs))
}

fn shown(program: &ExportedProgram) -> String {
    let ranges: Vec<String> = program.ranges.iter().map(|(e, r)| format!("{e}: {:?}..{:?}", r.min, r.max)).collect();
    format!("{} | {}", ranges.join(", "), program.guards.join(", "))
}

fn added(i: &Inputs) -> Tensor {
    i.tensor("x") + i.tensor("y")
}

/// `x + 1 if x.shape[0] > 3 else x`
fn compared(i: &Inputs) -> Tensor {
    let x = i.tensor("x");
    match i.tracer().decide(&x.size(0).gt(3)) {
        Ok(true) => &x + 1,
        Ok(false) => x,
        Err(error) => {
            i.tracer().refuse(error);
            x
        }
    }
}

#[test]
fn guards_and_ranges_are_those_of_pytorch() {
    let rows = [
        (export(Dim::new("a"), None, |i| i.tensor("x") + 1), "s77: Some(0)..None | "),
        (export(Dim::Auto, None, |i| i.tensor("x") + 1), "s77: Some(2)..None | "),
        (
            export(Dim::new("a"), Some((&[4, 6], Dim::new("a"))), added),
            "s17: Some(0)..None | L['x'].size()[0] == L['y'].size()[0]",
        ),
        (
            export(Dim::new("a"), Some((&[4, 6], Dim::Auto)), added),
            "s17: Some(2)..None | L['x'].size()[0] == L['y'].size()[0]",
        ),
        (
            export(Dim::new("b") + 1, Some((&[3, 6], Dim::new("b"))), |i| {
                i.tensor("x").slice(0, 0, -1, 1) + i.tensor("y")
            }),
            "s17: Some(0)..None, s17 + 1: Some(1)..None | ",
        ),
    ];
    for (program, expected) in rows {
        let program = program.unwrap();
        assert_eq!(shown(&program), expected);
        assert!(oxport::verify(&program).is_empty(), "{expected}: {:?}", oxport::verify(&program));
    }
}

#[test]
fn a_decision_of_code_is_a_guard() {
    let program = export(Dim::Auto, None, compared).unwrap();
    assert_eq!(shown(&program), "s77: Some(4)..None | L['x'].size()[0] > 3");
    let program = export(Dim::Static, None, compared).unwrap();
    assert_eq!(shown(&program), " | ");
}

#[test]
fn what_the_code_does_not_allow_is_explained_with_fixes() {
    let violated = |what: &str, why: &str, fixes: &str| {
        let fixes = if fixes.is_empty() { String::new() } else { format!("\n\nSuggested fixes:\n  {fixes}") };
        format!(
            "Constraints violated ({what})! For more information, run with TORCH_LOGS=\"+dynamic\".\n  - {why}{fixes}"
        )
    };
    let constant = |name: &str, n: i64| {
        format!(
            "You marked {name} as dynamic but your code specialized it to be a constant ({n}). If you're using \
             mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it \
             with either \
             Dim.STATIC or Dim.AUTO."
        )
    };
    let to_four = |i: &Inputs| {
        let x = i.tensor("x");
        i.tracer().specialize(&x.size(0)).unwrap();
        x + 1
    };
    let rows = [
        (
            export(Dim::new("a"), Some((&[4, 6], Dim::new("b"))), added),
            violated("b", "The values of b = L['y'].size()[0] and a = L['x'].size()[0] must always be equal.", "b = a"),
        ),
        (export(Dim::new("a"), Some((&[4, 6], Dim::Static)), added), violated("a", &constant("a", 4), "a = 4")),
        (export(Dim::new("a"), None, to_four), violated("a", &constant("a", 4), "a = 4")),
        (export(Dim::Dynamic, None, to_four), violated("L['x'].size()[0]", &constant("L['x'].size()[0]", 4), "")),
        (
            export(Dim::new("a"), None, compared),
            violated(
                "a",
                "Not all values of a = L['x'].size()[0] in the specified range satisfy the generated guard 4 <= \
                 L['x'].size()[0] and L['x'].size()[0] <= IntInfinity()",
                "a = Dim('a', min=4)",
            ),
        ),
        (
            export(Dim::new("a").min(1).max(10), None, compared),
            violated(
                "a",
                "Not all values of a = L['x'].size()[0] in the specified range a <= 10 satisfy the generated \
                 guard 4 <= \
                 L['x'].size()[0] and L['x'].size()[0] <= 10",
                "a = Dim('a', min=4, max=10)",
            ),
        ),
        (export(Dim::new("a").min(5).max(10), None, compared), "4 not in range [5, 10]".to_string()),
        (
            export(Dim::new("a"), Some((&[3, 6], Dim::new("b"))), |i| i.tensor("x").slice(0, 0, -1, 1) + i.tensor("y")),
            violated(
                "a",
                "The values of a = L['x'].size()[0] must always be related to the values of b = \
                 L['y'].size()[0] by a = b + 1.",
                "a = b + 1",
            ),
        ),
    ];
    for (program, expected) in rows {
        assert_eq!(program.unwrap_err().message(), expected);
    }
}

#[test]
fn a_wrong_call_is_refused_where_it_stands() {
    let error = export(Dim::Static, None, |i| (i.tensor("x") + i.tracer().ones([4, 5])).relu()).unwrap_err();
    assert_eq!(
        error.message(),
        "The size of tensor a (6) must match the size of tensor b (5) at non-singleton dimension 1"
    );
    let trace = error.trace().unwrap();
    assert!(trace.contains("tests/shapes.rs") && trace.ends_with("aten.add"), "{trace}");
}

#[test]
fn sizes_that_depend_on_data_are_not_decided() {
    let error = export(Dim::Static, None, |i| {
        let found = i.tensor("x").nonzero();
        let decided = i.tracer().decide(&found.size(0).gt(3));
        decided.map(|_| ()).unwrap_or_else(|e| i.tracer().refuse(e));
        found
    });
    let message = error.unwrap_err().message().to_string();
    assert!(
        message.starts_with("Could not guard on data-dependent expression u0 > 3 (unhinted: u0 > 3)."),
        "{message}"
    );
}

#[test]
fn strides_of_inputs_are_products_of_sizes_as_in_pytorch() {
    let whole = |sizes: &[i64]| {
        let count = sizes.iter().product::<i64>();
        Data::from_vec(sizes, (0..count).map(|i| i as f32).collect()).unwrap()
    };
    let permuted = |sizes: &[i64], dims: &[i64]| whole(sizes).view(|l| l.permute(dims)).unwrap();
    let rows: [(Data, &[usize], &str); 5] = [
        (permuted(&[6, 4], &[1, 0]), &[0], "s77, 6 / 1, s77"),
        (permuted(&[6, 4], &[1, 0]), &[1], "4, s27 / 1, 4"),
        (permuted(&[2, 8, 8, 3], &[0, 3, 1, 2]), &[0], "s77, 3, 8, 8 / 192, 1, 24, 3"),
        (permuted(&[2, 8, 9, 3], &[0, 3, 1, 2]), &[0, 2, 3], "s77, 3, s53, s0 / 3*s0*s53, 1, 3*s0, 3"),
        (whole(&[8, 6]).view(|l| l.slice(1, Some(0), Some(3), 1)).unwrap(), &[0], "s77, 3 / 6, 1"),
    ];
    for (x, dims, expected) in rows {
        let export = Export::new().arg("x", x.clone());
        let export = dims.iter().fold(export, |e, &dim| e.dim("x", dim, Dim::new(&format!("d{dim}"))));
        let program = export.run(&Nothing, |_, i| i.tensor("x") * 2).unwrap();
        let found = oxport::verify(&program);
        assert!(found.is_empty(), "{found:?}");
        let (_, node) = program.graph.placeholders().next().unwrap();
        let fake = node.val().unwrap().as_tensor().unwrap().clone();
        let list = |all: &[oxport_sym::Expr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        assert_eq!(format!("{} / {}", list(&fake.sizes), list(&fake.strides)), expected);
        let plan = oxport::plan(&oxport::prepare(&program, oxport::Opt::None).unwrap(), &Default::default()).unwrap();
        let outputs = plan.run(vec![oxport::Value::Tensor(x.clone())]).unwrap().user;
        let doubled: Vec<f32> = x.to_vec::<f32>().unwrap().iter().map(|x| x * 2.0).collect();
        assert_eq!(outputs[0].as_tensor().unwrap().to_vec::<f32>().unwrap(), doubled);
    }
}
