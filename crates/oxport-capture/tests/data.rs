//! What depends on data, what is written in place, what is indexed and returned: the calls that PyTorch 2.15 traces
//! of the same
//! code, and programs that verify.

use oxport_capture::nn::Identity;
use oxport_capture::pytree::Tree;
use oxport_capture::{Dim, Export, Inputs, Pytree, Tensor, Value};
use oxport_ir::ExportedProgram;
use oxport_tensor::{DType, Tensor as Data};

fn program<O: Pytree>(input: Data, dim: Dim, code: impl FnOnce(&Inputs, Tensor) -> O) -> ExportedProgram {
    let export = Export::new().arg("x", input);
    let export = if dim == Dim::Static { export } else { export.dim("x", 0, dim) };
    let program = export.run(&Identity::default(), |_, i| code(i, i.tensor("x"))).unwrap();
    let found = oxport::verify(&program);
    assert!(found.is_empty(), "{found:?}\n{}", oxport_ir::print::readable(&program));
    program
}

fn floats() -> Data {
    Data::zeros(DType::F32, &[4, 6]).unwrap()
}

/// The lines between the signature of `forward` and the end of the code.
fn code(program: &ExportedProgram) -> String {
    let text = oxport_ir::print::readable(program);
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let lines = lines.skip_while(|l| !l.starts_with("def ")).skip(1).take_while(|l| !l.starts_with("Graph signature"));
    lines.map(|l| l.split(";  ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn sizes_that_depend_on_data_are_asserted() {
    let found = program(floats(), Dim::Static, |_, x| x.nonzero() * 1);
    assert_eq!(
        code(&found),
        "nonzero: \"i64[u0, 2]\" = torch.ops.aten.nonzero.default(x)\n\
         sym_size_int: \"Sym(u0)\" = torch.ops.aten.sym_size.int(nonzero, 0)\n\
         ge: \"Sym(u0 >= 0)\" = sym_size_int >= 0\n\
         _assert_scalar_default = torch.ops.aten._assert_scalar.default(ge, \"Runtime assertion failed for \
         expression u0 >= 0 \
         on node 'ge'\")\n\
         le: \"Sym(u0 <= 24)\" = sym_size_int <= 24\n\
         _assert_scalar_default_1 = torch.ops.aten._assert_scalar.default(le, \"Runtime assertion failed for \
         expression u0 <= 24 \
         on node 'le'\")\n\
         mul: \"i64[u0, 2]\" = torch.ops.aten.mul.Tensor(nonzero, 1)\n\
         return (mul,)"
    );
}

#[test]
fn a_number_that_is_read_makes_a_size_once_it_is_checked() {
    let made = program(Data::zeros(DType::I64, &[]).unwrap(), Dim::Static, |i, x| {
        let n = x.item();
        i.tracer().check(&n.as_int().unwrap().lt(20), Some("too many")).unwrap();
        i.tracer().zeros(Value::List(vec![n]))
    });
    assert_eq!(
        code(&made),
        "item: \"Sym(u0)\" = torch.ops.aten.item.default(x)\n\
         lt: \"Sym(u0 < 20)\" = item < 20\n\
         _assert_scalar_default = torch.ops.aten._assert_scalar.default(lt, 'too many')\n\
         zeros: \"f32[u0]\" = torch.ops.aten.zeros.default([item], device = device(type='cpu'), pin_memory = False)\n\
         return (zeros,)"
    );
}

#[test]
fn counts_are_remembered_until_the_mask_is_written() {
    let made = program(floats(), Dim::Static, |i, x| {
        let mask = x.gt(0);
        let (first, picked) = (mask.nonzero(), x.index(vec![Value::from(&mask)]));
        let _ = (&x + 1).add_(1);
        let second = mask.nonzero();
        i.tracer().op("aten.logical_not_", &[Value::from(&mask.view(-1))], &[]).unwrap();
        (first, picked, second, mask.nonzero())
    });
    let text = code(&made);
    let sizes = text.lines().filter(|l| l.contains("nonzero.default(") || l.contains("index.Tensor("));
    let sizes: Vec<&str> = sizes.filter_map(|l| l.split('"').nth(1)).collect();
    assert_eq!(sizes, ["i64[u0, 2]", "f32[u0]", "i64[u0, 2]", "i64[u1, 2]"], "{text}");
}

#[test]
fn floats_and_truths_that_are_read_have_symbols_as_pytorch_names_them() {
    let made = program(Data::zeros(DType::F32, &[]).unwrap(), Dim::Static, |i, x| {
        let (Value::Float(s), flag) = (x.item(), x.gt(0).item()) else { panic!("law: floats are read as floats") };
        i.tracer().check(&s.gt(0.5), Some("too small")).unwrap();
        let scaled = (s.clone() / 2.0 - 1.0).pow(2.0);
        (&x * scaled, x.masked_fill(x.gt(1), flag), &x + (&x * 2).item())
    });
    assert_eq!(
        code(&made),
        "item: \"Sym(zuf0)\" = torch.ops.aten.item.default(x)\n\
         gt: \"b8[]\" = torch.ops.aten.gt.Scalar(x, 0)\n\
         item_1: \"Sym(Eq(u0, 1))\" = torch.ops.aten.item.default(gt)\n\
         gt_1: \"Sym(zuf0 > 0.5)\" = item > 0.5\n\
         _assert_scalar_default = torch.ops.aten._assert_scalar.default(gt_1, 'too small')\n\
         truediv: \"Sym(FloatTrueDiv(zuf0, 2.0))\" = item / 2.0\n\
         sub: \"Sym((FloatTrueDiv(zuf0, 2.0)) - 1.0)\" = truediv - 1.0\n\
         pow_1: \"Sym(FloatPow((FloatTrueDiv(zuf0, 2.0)) - 1.0, 2.0))\" = sub ** 2.0\n\
         mul: \"f32[]\" = torch.ops.aten.mul.Tensor(x, pow_1)\n\
         gt_2: \"b8[]\" = torch.ops.aten.gt.Scalar(x, 1)\n\
         masked_fill: \"f32[]\" = torch.ops.aten.masked_fill.Scalar(x, gt_2, item_1)\n\
         mul_1: \"f32[]\" = torch.ops.aten.mul.Tensor(x, 2)\n\
         item_2: \"Sym(zuf1)\" = torch.ops.aten.item.default(mul_1)\n\
         add: \"f32[]\" = torch.ops.aten.add.Tensor(x, item_2)\n\
         return (mul, masked_fill, add)"
    );
    let ranges: Vec<String> = made.ranges.iter().map(|(e, r)| format!("{e}: {:?} {:?}", r.min, r.max)).collect();
    assert_eq!(ranges, ["u0: Some(0) Some(1)", "zuf0: None None", "zuf1: None None"]);
    let plan = oxport::plan(&oxport::prepare(&made, oxport::Opt::None).unwrap(), &Default::default()).unwrap();
    let run = |x: f32| plan.run(vec![oxport::Value::Tensor(Data::from_vec(&[], vec![x]).unwrap())]);
    let outputs: Vec<f32> =
        run(5.0).unwrap().user.iter().map(|o| o.as_tensor().unwrap().to_vec::<f32>().unwrap()[0]).collect();
    assert_eq!(outputs, [11.25, 1.0, 15.0]);
    assert!(run(0.5).unwrap_err().to_string().contains("too small"));
}

#[test]
fn indices_are_views_and_writes_go_through_them() {
    let written = program(floats(), Dim::Static, |_, x| {
        let y = &x * 1.0;
        y.get([(..).into(), (0..2).into()]).add_(1);
        y.try_set(&[(1..3).into(), 2.into()], x.get([(0..2).into(), 0.into()])).unwrap();
        let rest = x.get([oxport_capture::Index::Ellipsis, (1..).into(), oxport_capture::Index::New]);
        (y, rest, x.get([(&x.gt(0)).into()]).sum(), x.get([(-1).into(), (2..4).into()]))
    });
    let lines = code(&written);
    let calls: Vec<&str> = lines.lines().filter_map(|l| l.split_once(" = torch.ops.aten.").map(|(_, c)| c)).collect();
    assert_eq!(
        calls[..10],
        [
            "mul.Tensor(x, 1.0)",
            "slice.Tensor(mul, 1, 0, 2)",
            "add_.Tensor(slice_1, 1)",
            "slice.Tensor(x, 0, 0, 2)",
            "select.int(slice_2, 1, 0)",
            "slice.Tensor(mul, 0, 1, 3)",
            "select.int(slice_3, 1, 2)",
            "copy_.default(select_1, select)",
            "slice.Tensor(x, 1, 1, 9223372036854775807)",
            "unsqueeze.default(slice_4, 2)",
        ]
    );
    let plan = oxport::plan(&oxport::prepare(&written, oxport::Opt::None).unwrap(), &Default::default()).unwrap();
    let input = Data::from_vec(&[4, 6], (0..24).map(|i| i as f32).collect()).unwrap();
    let outputs = plan.run(vec![oxport::Value::Tensor(input)]).unwrap().user;
    let y = outputs[0].as_tensor().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(y[..3], [1.0, 2.0, 2.0]);
    assert_eq!((y[8], y[14]), (0.0, 6.0));
    assert_eq!(outputs[3].as_tensor().unwrap().to_vec::<f32>().unwrap(), [20.0, 21.0]);
}

#[test]
fn a_tensor_that_was_written_is_the_call_that_wrote_it() {
    let written = program(floats(), Dim::Static, |_, x| {
        let y = &x * 1.0;
        y.try_set(&[(&x.gt(0)).into()], 0.0).unwrap();
        (y.get([0.into()]), y)
    });
    assert_eq!(
        code(&written),
        "mul: \"f32[4, 6]\" = torch.ops.aten.mul.Tensor(x, 1.0)\n\
         gt: \"b8[4, 6]\" = torch.ops.aten.gt.Scalar(x, 0)\n\
         masked_fill_: \"f32[4, 6]\" = torch.ops.aten.masked_fill_.Scalar(mul, gt, 0.0)\n\
         select: \"f32[6]\" = torch.ops.aten.select.int(masked_fill_, 0, 0)\n\
         return (select, masked_fill_)"
    );
}

#[test]
fn constants_of_code_are_lifted_and_copied() {
    let added = program(Data::zeros(DType::F32, &[3]).unwrap(), Dim::Static, |i, x| {
        x + i.tracer().constant(Data::from_vec(&[3], vec![1f32, 2.0, 3.0]).unwrap()).unwrap()
    });
    assert_eq!(
        code(&added),
        "lift_fresh_copy: \"f32[3]\" = torch.ops.aten.lift_fresh_copy.default(c_lifted_tensor_0)\n\
         detach_: \"f32[3]\" = torch.ops.aten.detach_.default(lift_fresh_copy)\n\
         add: \"f32[3]\" = torch.ops.aten.add.Tensor(x, detach_)\n\
         return (add,)"
    );
}

#[derive(oxport_capture::Pytree)]
struct Both {
    rows: oxport_capture::SymInt,
    parts: Vec<Tensor>,
}

#[test]
fn trees_of_tensors_numbers_and_none_are_returned() {
    let tree = program(floats(), Dim::Auto, |_, x| {
        let both = Both { rows: x.size(0) * 2, parts: vec![x.clone(), &x + 1] };
        (both, (3i64, 2.5, true), Value::None, x.size(0) / 2)
    });
    assert_eq!(
        code(&tree),
        "sym_size_int_1: \"Sym(s77)\" = torch.ops.aten.sym_size.int(x, 0)\n\
         add: \"f32[s77, 6]\" = torch.ops.aten.add.Tensor(x, 1)\n\
         mul: \"Sym(2*s77)\" = sym_size_int_1 * 2\n\
         truediv: \"Sym(IntTrueDiv(s77, 2))\" = sym_size_int_1 / 2\n\
         return (mul, x, add, 3, 2.5, True, None, truediv)"
    );
    let spec = &tree.call_signature().unwrap().out_spec;
    assert!(spec.to_json().contains(r#""builtins.dict", "context": "[\"rows\", \"parts\"]""#), "{}", spec.to_json());
}

#[test]
fn inputs_are_trees_with_pytorchs_names() {
    let tensor = |n| Tree2::Leaf(oxport_ir::Value::Tensor(Data::zeros(DType::F32, &[n, 2]).unwrap()));
    let batch =
        Tree2::dict([("Ids", tensor(3)), ("pair", Tree2::tuple([tensor(3), Tree2::Leaf(oxport_ir::Value::Int(7))]))]);
    let program = Export::new()
        .arg_tree("batch", batch)
        .dim("batch['Ids']", 0, Dim::new("n"))
        .dim("batch['pair'][0]", 0, Dim::new("n"))
        .run(&Identity::default(), |_, i| {
            let tensors: Vec<Tensor> =
                i.tree("batch").unwrap().leaves().iter().filter_map(|v| v.as_tensor().cloned()).collect();
            &tensors[0] + &tensors[1]
        })
        .unwrap();
    let names: Vec<&str> = program.graph.placeholders().map(|(_, n)| &*n.name).collect();
    assert_eq!(names, ["batch_ids", "batch_pair_0", "batch_pair_1"]);
    assert_eq!(&*program.guards[0], "L['batch']['Ids'].size()[0] == L['batch']['pair'][0].size()[0]");
    let found = oxport::verify(&program);
    assert!(found.is_empty(), "{found:?}");
    let error = Export::new().dim("y", 0, Dim::Auto).run(&Identity::default(), |_, _| ()).unwrap_err();
    assert!(error.message().starts_with("no tensor input is called `y`"), "{error}");
}

type Tree2 = oxport_pytree::Tree<oxport_ir::Value>;

#[test]
fn the_tree_type_is_that_of_values() {
    let leaf: Tree = 3i64.tree();
    assert!(matches!(leaf, Tree::Leaf(Value::Int(n)) if n.known() == Some(3)));
}
