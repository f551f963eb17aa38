//! What the verifier finds in programs that text cannot say: programs of text, edited in memory.

use crate::all;
use oxport::{DType, ExportedProgram, Expr, Fake, Val, registry};
use oxport_ir::Device;
use oxport_sym::{Assumptions, Number, Symbol};

/// The statements between `def forward(self, x: "f32[2, 3]", y: "f32[2, 3]")` and the end, an edit, what is found.
type Case = (&'static str, fn(&mut ExportedProgram), &'static [&'static str]);

fn val<'p>(program: &'p mut ExportedProgram, name: &str) -> &'p mut Val {
    let id = program.graph.find(name).expect("a node of the text");
    program.graph.meta_mut(id).val.get_or_insert(Val::None)
}

fn tensor<'p>(program: &'p mut ExportedProgram, name: &str) -> &'p mut Fake {
    let Val::Tensor(t) = val(program, name) else { panic!("`{name}` is no tensor") };
    t
}

fn lay(program: &mut ExportedProgram, name: &str, strides: [i64; 2]) {
    tensor(program, name).strides = strides.map(Expr::from).into_iter().collect();
}

fn element<'p>(program: &'p mut ExportedProgram, name: &str, i: usize) -> &'p mut Val {
    let Val::List(l) = val(program, name) else { panic!("`{name}` is no list") };
    &mut l[i]
}

fn rename(program: &mut ExportedProgram, from: &str, to: &str) {
    let id = program.graph.find(from).expect("a node of the text");
    program.graph.rename(id, to).expect("a free name");
}

fn cuda() -> Device {
    Device { kind: "cuda".into(), index: Some(0) }
}

const RELU: &str = "    r: \"f32[2, 3]\" = torch.ops.aten.relu.default(x)\n    return (r,)\n";
const ADD: &str = "    a: \"f32[2, 3]\" = torch.ops.aten.add.Tensor(x, y)\n    return (a,)\n";
const WRITE: &str = "    a: \"f32[2, 3]\" = torch.ops.aten.add_.Tensor(x, y)\n    return (a,)\n";
const NEGATED: &str = "    n: \"f32[2, 3]\" = torch.ops.aten._neg_view.default(x)\n    return (n,)\n";
const SPLIT: &str = "    s = torch.ops.aten.split.Tensor(x, 1)\n    g: \"f32[1, 3]\" = s[0]\n    return (g,)\n";
const MAX: &str = "    m = torch.ops.aten.max.dim(x, 0)\n    g: \"f32[3]\" = m[0]\n    return (g,)\n";
const DIVIDE: &str =
    "    n: \"Sym(2)\" = torch.ops.aten.sym_size.int(x, 0)\n    d: \"Sym(1/3)\" = n / 6\n    return (x,)\n";

const ITEM: &str = "    c: \"f32[]\" = torch.ops.aten.sum.default(x)\n    \
    n: \"Sym(zf0)\" = torch.ops.aten.item.default(c)\n    return (x,)\n";
const READ: &str = "    c: \"f32[]\" = torch.ops.aten.sum.default(x)\n    \
    n: \"Sym(zf0)\" = torch.ops.aten.item.default(c)\n    \
    s: \"f32[2, 3]\" = torch.ops.aten.add.Scalar(x, n)\n    return (s,)\n";
const UNKNOWN: &str = "    r = torch.ops.mine.unknown.default(x)\n    return (r,)\n";
const CAT: &str = "    c: \"f32[4, 3]\" = torch.ops.aten.cat.default([x, y])\n    return (c,)\n";
const TAKE: &str = "    n: \"i64[6, 2]\" = torch.ops.aten.nonzero_static.default(x, size = 6)\n    \
    i: \"i64[6]\" = torch.ops.aten.select.int(n, 1, 0)\n    \
    t: \"f32[2, 6]\" = torch.ops.aten.index.Tensor(x, [y, i])\n    return (t,)\n";
const BAG: &str = "    b: \"bf16[2, 3]\" = torch.ops.aten.to.dtype(x, torch.bfloat16)\n    \
    n: \"i64[6, 2]\" = torch.ops.aten.nonzero_static.default(x, size = 6)\n    \
    i: \"i64[6]\" = torch.ops.aten.select.int(n, 1, 0)\n    \
    o: \"i64[1]\" = torch.ops.aten.slice.Tensor(i, 0, 0, 1)\n    \
    e = torch.ops.aten.embedding_bag.default(b, i, o)\n    g: \"bf16[1, 3]\" = e[0]\n    return (g,)\n";
const NOTHING: &str = "    r = torch.ops.aten._assert_async.default(x)\n    s: \"f32[2, 3]\" = \
    torch.ops.aten.relu.default(r)\n    return (s,)\n";

const DRAW: &str = "    b: \"f32[2, 3]\" = torch.ops.aten.bernoulli.default(x, generator = None)\n    return (b,)\n";

const CASES: &[Case] = &[
    (DRAW, |_| (), &[]),
    (
        BAG,
        |p| {
            let indices = val(p, "i").clone();
            *element(p, "e", 1) = indices.clone();
            *element(p, "e", 2) = indices;
        },
        &["error[meta] at node e: element 2: the recorded meta is i64[6], the operator yields i64[1]"],
    ),
    (
        SPLIT,
        |p| {
            let id = p.graph.find("g").expect("a node of the text");
            let kwargs = [("i".into(), 1.into())].into_iter().collect();
            p.graph.set_args(id, p.graph.node(id).args.clone(), kwargs);
        },
        &["error[document] at node g: getitem: expected a node and an index, and nothing else"],
    ),
    (
        UNKNOWN,
        |_| (),
        &[
            "warning[unknown-op] at node r: operator `torch.ops.mine.unknown.default` is not known",
            "error[document] at node output: `r` gives no value that can be used",
        ],
    ),
    (
        NOTHING,
        |_| (),
        &[
            "error[document] at node s: argument `self`: `r` gives no value that can be used",
            "error[arguments] at node s argument self: aten::relu: argument `self`: expected Tensor, got \
            None\n    note: aten::relu(Tensor self) -> Tensor",
        ],
    ),
    (
        CAT,
        |p| *val(p, "x") = Val::Str("mean".into()),
        &[
            "error[document] at node c: argument `tensors`: the list mixes kinds of values that the program \
            JSON cannot mix",
            "error[arguments] at node c argument tensors: aten::cat: argument `tensors`: expected Tensor[], \
            got a list of str, Tensor\n    note: aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
        ],
    ),
    // An input that is `None` is `None` in a list of tensors, too.
    (
        TAKE,
        |p| {
            *val(p, "y") = Val::None;
            p.signature.inputs[1] = oxport_ir::InputKind::ConstantInput(oxport_ir::Argument::None).into();
        },
        &[],
    ),
    (RELU, |p| rename(p, "r", "größe"), &[]),
    (RELU, |p| rename(p, "r", "gr-ße"), &["error[name] at node gr-ße: `gr-ße` is no Python identifier, or a keyword"]),
    (
        RELU,
        |p| *val(p, "r") = Val::None,
        &[
            "error[document] at node output: `r` gives no value that can be used",
            "error[meta] at node r: the recorded value is None, the operator yields the tensor f32[2, 3]",
        ],
    ),
    // A number that PyTorch knew.
    (
        ITEM,
        |p| *val(p, "n") = Val::None,
        &["warning[unrecorded] at node n: the number is not recorded, and nothing reads it"],
    ),
    (
        READ,
        |p| *val(p, "n") = Val::None,
        &[
            "error[document] at node s: argument `other`: `n` gives no value that can be used",
            "error[meta] at node n: the recorded value is None, the operator yields the float zuf1099511627776",
            "error[arguments] at node s argument other: aten::add.Scalar: argument `other`: expected Scalar, got \
            None\n    note: aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        ],
    ),
    (
        RELU,
        |p| *val(p, "r") = Val::List(vec![val(p, "x").clone()]),
        &[
            "error[document] at node r: the operator gives one value, but a list of 1 is recorded",
            "error[document] at node r: `output` uses this multiple result as a whole",
            "error[meta] at node r: the recorded value is a list of 1, the operator yields the tensor f32[2, 3]",
        ],
    ),
    (
        ADD,
        |p| tensor(p, "y").device = cuda(),
        &["error[device] at node a: the call takes tensors on cpu and on cuda:0"],
    ),
    (
        SPLIT,
        |p| {
            if let Val::Tensor(t) = element(p, "s", 1) {
                t.device = cuda()
            }
        },
        &["error[device] at node s: element 1 is on cuda:0, the operator yields it on cpu"],
    ),
    (
        MAX,
        |p| *element(p, "m", 1) = Val::Bool(Expr::boolean(true)),
        &[
            "error[document] at node m: one of several results is a bool, which PyTorch does not load",
            "error[meta] at node m: element 1: the recorded value is the bool True, the operator yields the \
            tensor i64[3]",
        ],
    ),
    (MAX, |p| *element(p, "m", 1) = Val::None, &[]),
    (
        WRITE,
        |p| lay(p, "a", [1, 2]),
        &["error[stride] at node a: the recorded strides of f32[2, 3] are (1, 2), the operator yields (3, 1)"],
    ),
    // Computed when it is read, in PyTorch: it lies there as its input does.
    (NEGATED, |p| ["x", "n"].iter().for_each(|name| lay(p, name, [12, 2])), &[]),
    (
        NEGATED,
        |p| [("x", [12, 2]), ("n", [6, 2])].iter().for_each(|(name, strides)| lay(p, name, *strides)),
        &["error[stride] at node n: the recorded strides of f32[2, 3] are (6, 2), the operator yields (3, 1)"],
    ),
    (DIVIDE, |p| *val(p, "d") = Val::Float(Expr::number(Number::Float(1.0 / 3.0 + 1e-12))), &[]),
    (
        DIVIDE,
        |p| *val(p, "d") = Val::Float(Expr::number(Number::Float(0.34))),
        &["error[meta] at node d: the recorded float is 0.340000000000000, the operator yields 0.333333333333333"],
    ),
    (
        ADD,
        |p| {
            for (name, assumptions) in [("x", Assumptions::size()), ("y", Assumptions::integer())] {
                let symbol = Expr::symbol(&Symbol::new("s0", assumptions));
                *tensor(p, name) = Fake::new(DType::F32, [symbol, 3.into()]);
            }
        },
        &[
            "error[meta] at node a: the recorded meta is f32[2, 3], the operator yields f32[s0, 3]\n    \
            note: s0 comes from size 0 of `x`",
            "error[symbol] at node y: there are two symbols \"s0\", of which different things are assumed",
        ],
    ),
];

/// An input is named as the caller knows it.
#[test]
fn inputs_are_named_by_their_paths() {
    let read = oxport::read(crate::root().join("fixtures/programs/pytree_inputs/program.pt2")).expect("a program");
    let users = read.graph.placeholders().zip(&read.signature.inputs).filter(|(_, spec)| spec.kind.is_user());
    let names: Vec<String> = users.map(|((_, node), _)| node.name.to_string()).collect();
    let found: Vec<String> = names
        .iter()
        .map(|name| {
            let mut program = read.clone();
            *val(&mut program, name) = Val::List(vec![]);
            let found = oxport::verify(&program);
            let said = found.iter().find(|d| d.code == "signature").map(|d| d.message.clone());
            said.unwrap_or_default().split(" is ").next().unwrap_or_default().to_string()
        })
        .collect();
    let said = [
        "`table_x` (args[0]['x'])",
        "`table_nested_0` (args[0]['nested'][0])",
        "`pair_left` (args[1].left)",
        "`pair_right_r` (args[1].right['r'])",
        "`sample_value` (args[2].value)",
        "`sample_parts_0` (args[2].parts[0])",
        "`sample_parts_1` (args[2].parts[1])",
        "`rest_0` (args[3])",
        "`times` (kwargs['times'])",
        "`scale` (kwargs['scale'])",
        "`mode` (kwargs['mode'])",
        "`flag` (kwargs['flag'])",
        "`none` (kwargs['none'])",
        "`bias` (kwargs['bias'])",
    ];
    assert_eq!(found, said);
}

#[test]
fn programs_that_text_cannot_say() {
    all(CASES, |(body, edit, said)| {
        let text = format!("def forward(self, x: \"f32[2, 3]\", y: \"f32[2, 3]\"):\n{body}");
        let mut program = oxport_ir::parse::parse(&text, registry()).map_err(|e| format!("{e:?}"))?;
        edit(&mut program);
        let found: Vec<String> = oxport::verify(&program).iter().map(|d| d.to_string()).collect();
        if found == *said { Ok(()) } else { Err(format!("{body}says {found:#?}")) }
    });
}

/// What tracing took for granted is a guard, and metas are right where it holds.
#[test]
fn metas_may_rest_on_guards() {
    let text = "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: \"f32[2, s0]\"):
            pool: \"f32[2, ((s0 - 3)//2) + 1]\" = torch.ops.aten.avg_pool1d.default(x, [3], [2])
            mul: \"f32[2, 1]\" = torch.ops.aten.mul.Tensor(pool, 2)
            return (mul,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    mul: USER_OUTPUT

Range constraints: {s0: VR[3, int_oo]}
";
    let mut program = oxport_ir::parse::parse(text, registry()).expect("a program");
    for (guard, errors) in [
        ("L['x'].size()[1] >= 3", 1),
        ("1 + (((-3) + L['x'].size()[1]) // 2) == 2", 1),
        ("1 + (((-3) + L['y'].size()[1]) // 2) == 1", 1),
        ("1 + (((-3) + L['x'].size()[1]) // 2) == 1", 0),
    ] {
        program.guards = vec![guard.into()];
        assert_eq!(oxport::verify(&program).len(), errors, "{guard}");
    }
}

/// That examples are as large does not make sizes one: branches of two sizes give a third.
#[test]
fn branches_of_two_sizes() {
    let text = "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p: \"b8[]\", x: \"f32[s0, s1]\"):
            true_graph_0 = self.true_graph_0
            false_graph_0 = self.false_graph_0
            cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x])
            getitem: \"f32[u0]\" = cond[0]
            return (getitem,)

        class true_graph_0(torch.nn.Module):
            def forward(self, x: \"f32[s0, s1]\"):
                sum_1: \"f32[s1]\" = torch.ops.aten.sum.dim_IntList(x, [0])
                return (sum_1,)

        class false_graph_0(torch.nn.Module):
            def forward(self, x: \"f32[s0, s1]\"):
                sum_1: \"f32[s0]\" = torch.ops.aten.sum.dim_IntList(x, [1])
                return (sum_1,)
";
    let mut program = oxport_ir::parse::parse(text, registry()).expect("a program");
    let sizes = tensor(&mut program, "x").sizes.clone();
    for symbol in sizes.iter().flat_map(|size| size.free_symbols()) {
        program.env.set_hint(&symbol, 3);
    }
    let found: Vec<String> = oxport::verify(&program).iter().map(|d| d.to_string()).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// PyTorch makes strides as if a size that was 1 at capture were always 1.
#[test]
fn strides_of_sizes_that_were_one() {
    let text = "def forward(self, x: \"f32[s0, 3]\"):\n    r: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)\n    return (r,)\n";
    for (hint, strides, count) in [(1, [7, 1], 0), (1, [3, 2], 1), (2, [7, 1], 1)] {
        let mut program = oxport_ir::parse::parse(text, registry()).expect("a program");
        let symbols = tensor(&mut program, "x").sizes[0].free_symbols();
        symbols.iter().for_each(|symbol| program.env.set_hint(symbol, hint));
        lay(&mut program, "r", strides);
        let found = oxport::verify(&program);
        assert_eq!(found.iter().filter(|d| d.code == "stride").count(), count, "{hint} {strides:?}: {found:#?}");
    }
}

/// A region of nothing gives nothing: PyTorch records no value for `enable_grad` in a block of `no_grad` alone.
#[test]
fn regions_of_nothing() {
    let text = "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: \"f32[3]\"):
            submod_1 = self.submod_1
            wrap_with_set_grad_enabled = torch.ops.higher_order.wrap_with_set_grad_enabled(False, submod_1)
            cos: \"f32[3]\" = torch.ops.aten.cos.default(x)
            return (cos,)

        class submod_1(torch.nn.Module):
            def forward(self):
                return ()
";
    let mut program = oxport_ir::parse::parse(text, registry()).expect("a program");
    let region = program.graph.find("wrap_with_set_grad_enabled").expect("a node of the text");
    program.graph.meta_mut(region).val = None;
    let found: Vec<String> = oxport::verify(&program).iter().map(|d| d.to_string()).collect();
    assert!(found.is_empty(), "{found:#?}");
}
