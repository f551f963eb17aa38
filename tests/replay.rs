//! Later calls of a plan, which take what the first one of a shape recorded: as the calls of a new plan.

use oxport::{ExportedProgram, PlanOptions, Tensor, Value, registry};
use oxport_ir::parse;

fn program() -> ExportedProgram {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]", n: "Sym(s0)"):
            select: "f32[3]" = torch.ops.aten.select.int(x, 0, n)
            t: "f32[3, 4]" = torch.ops.aten.t.default(x)
            reshape: "f32[12]" = torch.ops.aten.reshape.default(t, [12])
            split = torch.ops.aten.split.Tensor(x, 3)
            rest: "f32[1, 3]" = split[1]
            relu: "f32[4, 3]" = torch.ops.aten.relu.default(x)
            flat: "f32[12]" = torch.ops.aten.view.default(relu, [12])
            return (select, t, reshape, rest, flat)

Graph signature:
    # inputs
    x: USER_INPUT
    n: USER_INPUT
    # outputs
    select: USER_OUTPUT
    t: USER_OUTPUT
    reshape: USER_OUTPUT
    rest: USER_OUTPUT
    flat: USER_OUTPUT

Range constraints: {s0: VR[0, 3]}
"#;
    parse::parse(text, registry()).expect("a valid text")
}

/// Values with their strides, and whether they are views of the input.
fn shown(values: &[Value], x: &Tensor) -> Vec<(Vec<f32>, Vec<i64>, bool)> {
    let tensor = |v: &Value| v.as_tensor().expect("all outputs are tensors").clone();
    let show = |t: Tensor| (t.to_vec().expect("it fits"), t.strides().to_vec(), t.storage().same_storage(x.storage()));
    values.iter().map(tensor).map(show).collect()
}

#[test]
fn views_follow_layouts_and_numbers() {
    let plan = || oxport::plan(&program(), &PlanOptions::default()).expect("it has kernels");
    let veteran = plan();
    let rows = |from: usize| Tensor::from_vec(&[4, 3], (from..from + 12).map(|i| i as f32 - 5.0).collect()).unwrap();
    let turned = Tensor::from_vec(&[3, 4], (0..12).map(|i| i as f32).collect()).unwrap();
    let turned = turned.view(|l| l.transpose(0, 1)).unwrap();
    // Of the same sizes and strides, from another place of its memory on.
    let late = Tensor::from_vec(&[6, 3], (0..18).map(|i| i as f32).collect()).unwrap();
    let late = late.view(|l| l.slice(0, Some(2), None, 1)).unwrap();
    for x in [rows(0), rows(1), turned.clone(), late, rows(2), turned] {
        for n in [1, 3, 0] {
            let run = |plan: &oxport::Plan| plan.run(vec![x.clone().into(), Value::Int(n)]).expect("it runs").user;
            assert_eq!(shown(&run(&veteran), &x), shown(&run(&plan()), &x), "{n} of {:?}", x.layout());
        }
    }
}

/// What the user holds stays as it is, and what is dropped serves the next call.
#[test]
fn results_are_the_users() {
    let text = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[300, 100]"):
            add: "f32[300, 100]" = torch.ops.aten.add.Tensor(x, x)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    # outputs
    add: USER_OUTPUT

Range constraints: {}
"#;
    let program = parse::parse(text, registry()).expect("a valid text");
    let plan = oxport::plan(&program, &PlanOptions::default()).expect("it has kernels");
    let call = |number: f32| {
        let x = Tensor::from_vec(&[300, 100], vec![number; 30_000]).unwrap();
        plan.run(vec![x.into()]).expect("it runs").user.remove(0).as_tensor().expect("a tensor").clone()
    };
    let place = |t: &Tensor| t.as_slice::<f32>().expect("it is dense").as_ptr().addr();
    drop(call(0.0));
    let (first, second) = (call(1.0), call(2.0));
    assert_ne!(place(&first), place(&second));
    let free = place(&first);
    drop(first);
    let third = call(3.0);
    assert_eq!(place(&third), free);
    for (value, number) in [(second, 4.0), (third, 6.0)] {
        assert!(value.as_slice::<f32>().expect("it is dense").iter().all(|&x| x == number));
    }
}
