//! The passes: laws over every exported program, and what they must refuse or leave alone.

use crate::{all, programs};
use oxport::{ExportedProgram, Limits, Model, Opt, Toolchain, Value, registry};
use oxport_ir::parse::parse;
use oxport_ir::{Argument, Class, Dialect, Graph, Kwargs, NodeId, ProgramBuilder};
use oxport_tensor::Tensor;
use std::path::Path;

fn read(dir: &Path) -> Result<ExportedProgram, String> {
    oxport::read(dir.join("program.pt2")).map_err(|e| e.to_string())
}

fn fx(text: &str) -> ExportedProgram {
    parse(text, registry()).expect("law: the text is a program")
}

/// Gives every argument that a schema takes by position its name, in the reverse order.
fn name_arguments(graph: &mut Graph) -> usize {
    let mut named: usize = graph.subgraphs.values_mut().map(name_arguments).sum();
    for id in graph.ids().collect::<Vec<NodeId>>() {
        let node = graph.node(id);
        // Functions of Python take no names.
        let op = node.op().filter(|op| op.namespace() == "aten");
        let Some(schema) = op.and_then(|op| op.schema()).filter(|s| !s.is_vararg) else { continue };
        let by_position = schema.args.iter().zip(&node.args).map(|(p, a)| (std::sync::Arc::from(&*p.name), a.clone()));
        let names: Vec<_> = by_position.collect();
        named += names.len();
        let kwargs: Kwargs = node.kwargs.clone().into_iter().chain(names.into_iter().rev()).collect();
        graph.set_args(id, Vec::new(), kwargs);
    }
    named
}

/// PyTorch loads no functional program with an operator that writes.
#[test]
fn operators_that_are_not_known_may_write() {
    let text = |call: &str| {
        let first = "relu: \"f32[2]\" = torch.ops.aten.relu_.default(x)";
        fx(&format!("def forward(self, x: \"f32[2]\"):\n    {first}\n    {call}\n    return (relu,)\n"))
    };
    let dialect = |call: &str| oxport::functionalize(&text(call)).expect("a functional program").dialect;
    assert_eq!(dialect("exp = torch.ops.aten.exp.default(relu)"), Dialect::Aten);
    assert_eq!(dialect("fill = torch.ops.mine.fill.default(relu)"), Dialect::Training);
}

#[test]
fn named_arguments_mean_what_positions_mean() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let mut respelled = program.clone();
        if name_arguments(&mut respelled.graph) == 0 {
            return Err("no argument was given by position".to_string());
        }
        let prepared = |p: &ExportedProgram| oxport::prepare(p, Opt::Exact).map_err(|e| e.to_string());
        let difference = oxport::difference::difference(&prepared(&program)?, &prepared(&respelled)?);
        if difference.is_empty() { Ok(()) } else { Err(difference.join("\n")) }
    });
}

/// A copy that nothing reads, of every tensor that a call gives.
fn add_dead_nodes(program: &mut ExportedProgram) -> Result<usize, String> {
    let ExportedProgram { graph, env, .. } = program;
    let tensors: Vec<NodeId> = graph
        .nodes()
        .filter(|(_, n)| n.op().is_some() && n.val().is_some_and(|v| v.as_tensor().is_some()))
        .map(|(id, _)| id)
        .collect();
    for &id in &tensors {
        let next = graph.next(id).ok_or("a call at the end")?;
        let mut b = oxport_ir::Builder::new(graph, env, registry()).before(next);
        b.call("aten::clone", (id,)).map_err(|e| e.to_string())?;
    }
    Ok(tensors.len())
}

#[test]
fn dead_nodes_change_nothing() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let mut more = program.clone();
        if add_dead_nodes(&mut more)? == 0 {
            return Err("there is no tensor".to_string());
        }
        let functional = |p: &ExportedProgram| oxport::functionalize(p).map_err(|e| e.to_string());
        let difference = oxport::difference::difference(&functional(&program)?, &functional(&more)?);
        if difference.is_empty() { Ok(()) } else { Err(difference.join("\n")) }
    });
}

fn run(program: &ExportedProgram, opt: Opt, inputs: Vec<Value>) -> Vec<Value> {
    let prepared = oxport::prepare(program, opt).expect("a program to prepare");
    let plan = oxport::plan(&prepared, &Default::default()).expect("a plan");
    plan.run(inputs).expect("a run").user
}

#[test]
fn a_dead_draw_moves_the_generator_on() {
    let text = |outputs: &str| {
        format!(
            "def forward(self, x: \"f32[3]\"):\n    rand: \"f32[3]\" = torch.ops.aten.rand.default([3])\n    \
             rand_1: \"f32[3]\" = torch.ops.aten.rand.default([3])\n    \
             add: \"f32[3]\" = torch.ops.aten.add.Tensor(rand_1, x)\n    return {outputs}\n"
        )
    };
    let x = Value::Tensor(Tensor::from_vec(&[3], vec![0.0f32; 3]).expect("a tensor"));
    let drawn = |outputs: &str, opt| {
        let last = run(&fx(&text(outputs)), opt, vec![x.clone()]).pop().expect("an output");
        last.as_tensor().expect("a tensor").to_vec::<f32>().expect("elements")
    };
    for opt in [Opt::None, Opt::Exact] {
        assert_eq!(drawn("(add,)", opt), drawn("(rand, add)", opt));
    }
}

#[test]
fn what_does_not_verify_is_refused() {
    let stale = fx("def forward(self, x: \"f32[2, 3]\"):\n    \
                    y: \"f32[2, 3]\" = torch.ops.aten.permute.default(x, [1, 0])\n    return (y,)\n");
    let standard = Toolchain::standard();
    let refusals = [
        standard.functionalize(&stale).err(),
        standard.decompose(&stale).err(),
        standard.prepare(&stale, Opt::None).err(),
        standard.optimize(&stale, Opt::Exact, &Default::default()).err(),
    ];
    for refusal in refusals {
        let refusal = refusal.expect("a refusal");
        assert_eq!(refusal.exit_code(), 3);
        assert_eq!(refusal.diagnostics().iter().map(|d| d.code).collect::<Vec<_>>(), ["meta"]);
    }
    assert!(standard.unverified().prepare(&stale, Opt::Exact).is_ok());
}

/// Attention over a mask of numbers may give zeros where a softmax of nothing but −∞ gives NaN: a number that the dtype
/// does not hold is −∞, and attention is no more all that there is then.
#[test]
fn a_mask_is_finite_in_its_own_dtype_only() {
    let is_attention = |hidden: &str| {
        let program = fx(&format!(
            r#"def forward(self, q: "f32[1, 2, 3, 4]", c: "b8[3, 3]", z: "f32[3, 3]"):
    t: "f32[1, 2, 4, 3]" = torch.ops.aten.transpose.int(q, -2, -1)
    s: "f32[1, 2, 3, 3]" = torch.ops.aten.matmul.default(q, t)
    o: "f32[3, 3]" = torch.ops.aten.zeros_like.default(z)
    m: "f32[3, 3]" = torch.ops.aten.where.ScalarOther(c, o, {hidden})
    a: "f32[1, 2, 3, 3]" = torch.ops.aten.add.Tensor(s, m)
    p: "f32[1, 2, 3, 3]" = torch.ops.aten.softmax.int(a, -1)
    y: "f32[1, 2, 3, 4]" = torch.ops.aten.matmul.default(p, q)
    return (y,)
"#
        ));
        let (improved, _) = oxport::optimize(&program, Opt::Fast, &Default::default()).expect("a program to improve");
        let result = improved.graph.outputs()[0].as_node().expect("a node");
        improved.graph.node(result).op().is_some_and(|op| op.name() == "aten::scaled_dot_product_attention")
    };
    assert!(is_attention("-1e+38"));
    assert!(!is_attention("-1e+39"));
}

/// `n` in-place writes, each through a view of the view before.
fn chain(n: usize) -> ExportedProgram {
    let mut text =
        String::from("def forward(self, x: \"f32[3, 3]\"):\n    v0: \"f32[3, 3]\" = torch.ops.aten.clone.default(x)\n");
    for i in 1..=n {
        text += &format!("    v{i}: \"f32[3, 3]\" = torch.ops.aten.transpose.int(v{}, 0, 1)\n", i - 1);
        text += &format!("    w{i}: \"f32[3, 3]\" = torch.ops.aten.add_.Tensor(v{i}, x)\n");
    }
    fx(&(text + "    return (v0,)\n"))
}

#[test]
fn writes_through_chained_views_cost_their_length_once() {
    let nodes =
        |n| Toolchain::standard().unverified().functionalize(&chain(n)).expect("a functional program").graph.len();
    let (few, many) = (nodes(50), nodes(500));
    assert!(few > 100 && many <= 10 * few, "{few} nodes for 50 views, {many} for 500");
    // Nor is a long chain dropped link within link.
    assert!(nodes(20_000) <= 400 * few);
    // x + n · its sums with the transposed, by hand: every second write is to the transposed.
    let x = Tensor::from_vec(&[3, 3], (0..9).map(|i| i as f32).collect()).expect("a tensor");
    let mut program = chain(3);
    let out = run(
        &{
            program.dialect = oxport_ir::Dialect::Training;
            program
        },
        Opt::None,
        vec![Value::Tensor(x)],
    );
    let want: Vec<f32> = (0..9)
        .map(|i| {
            let (r, c) = (i / 3, i % 3);
            2.0 * (3 * r + c) as f32 + 2.0 * (3 * c + r) as f32
        })
        .collect();
    assert_eq!(out[0].as_tensor().expect("a tensor").to_vec::<f32>().expect("elements"), want);
}

/// A normalization is folded into the convolution before it only where that is work done once: over parameters.
#[test]
fn rules_choose_by_cost() {
    let normalizations = |is_static: bool, depth: usize| {
        let mut b = ProgramBuilder::new(registry());
        let mut x =
            b.input("x", oxport::Fake::new(oxport::DType::F32, [1, 3, 5, 5].map(oxport::Expr::from))).expect("x");
        let mut given = |name: &str, sizes: &[i64]| {
            let fake = oxport::Fake::new(oxport::DType::F32, sizes.iter().map(|&n| n.into()));
            let ones = Tensor::from_vec(sizes, vec![1.0f32; sizes.iter().product::<i64>() as usize]).expect("ones");
            let made = if is_static { b.parameter(name, ones) } else { b.input(name, fake) };
            made.expect("a placeholder")
        };
        let w = given("w", &[4, 3, 3, 3]);
        let [gamma, beta, mean, var] = ["gamma", "beta", "mean", "var"].map(|name| given(name, &[4]));
        for _ in 0..depth {
            x = b.call("aten::sin", (x,)).expect("a call");
        }
        let conv = b.call("aten::conv2d", (x, w)).expect("a call");
        let args: Vec<Argument> = [conv, gamma, beta, mean, var].map(Argument::from).into_iter().collect();
        let rest = [Argument::Bool(false), Argument::Float(0.1), Argument::Float(1e-5), Argument::Bool(true)];
        let normal = b.call("aten::batch_norm", [args, rest.to_vec()].concat()).expect("a call");
        let y = b.call("aten::relu", (normal,)).expect("a call");
        let program = b.finish(&[y]).expect("a program");
        let (improved, report) = oxport::optimize(&program, Opt::Fast, &frozen()).expect("an improved program");
        assert_eq!(report.cost_after < report.cost_before, is_static);
        let changed: Vec<&str> = report.changed.iter().map(|(name, ..)| &**name).collect();
        assert_eq!(changed.contains(&"batch_norm"), is_static, "{changed:?}");
        assert!(
            report.saturated && report.iterations > 0 && report.search_ms > 0.0 && report.search_ms <= report.total_ms
        );
        improved.graph.nodes().filter(|(_, n)| n.calls("aten::batch_norm")).count()
    };
    assert_eq!((normalizations(true, 0), normalizations(false, 0)), (0, 1));
    // More classes than a machine word has bits.
    assert_eq!((normalizations(true, 90), normalizations(false, 90)), (0, 1));
}

/// The scale of a quantized weight stays behind the product: as floats the weight is too large to be kept, so that the
/// scale would be multiplied into it at every call.
#[test]
fn scales_are_moved_only_into_weights_that_are_kept() {
    for (dtype, is_moved) in [(oxport::DType::I8, false), (oxport::DType::F32, true)] {
        let mut b = ProgramBuilder::new(registry());
        let x = b.input("x", oxport::Fake::new(oxport::DType::F32, [1, 96].map(oxport::Expr::from))).expect("an input");
        let tensor = |sizes: &[i64], of: oxport::DType| {
            let ones = Tensor::from_vec(sizes, vec![1i64; sizes.iter().product::<i64>() as usize]).expect("ones");
            ones.to_dtype(of).expect("ones")
        };
        let weight = b.parameter("weight", tensor(&[128, 96], dtype)).expect("a weight");
        let scale = b.parameter("scale", tensor(&[128], oxport::DType::F32)).expect("a scale");
        let floats = b.call("aten::to.dtype", (weight, oxport::DType::F32)).expect("a call");
        let product = b.call("aten::linear", (x, floats)).expect("a call");
        let scaled = b.call("aten::mul.Tensor", (product, scale)).expect("a call");
        let program = b.finish(&[scaled]).expect("a program");
        let (improved, _) = oxport::optimize(&program, Opt::Fast, &frozen()).expect("an improved program");
        let scaled = improved.graph.nodes().filter(|(_, n)| n.calls("aten::mul.Tensor"));
        let sizes: Vec<_> = scaled.filter_map(|(_, n)| n.val()?.as_tensor().map(|t| t.sizes.to_vec())).collect();
        let behind = vec![[1, 128].map(oxport::Expr::from).to_vec()];
        assert_eq!(sizes, if is_moved { vec![] } else { behind }, "{dtype}");
    }
}

/// Limits under which weights are constants.
fn frozen() -> Limits {
    Limits { model: Model { frozen: true, ..Model::default() }, ..Limits::default() }
}

#[test]
fn costs_are_those_of_the_operators() {
    let mut b = ProgramBuilder::new(registry());
    let x = b.input("x", oxport::Fake::new(oxport::DType::F32, [2, 3].map(oxport::Expr::from))).expect("an input");
    let w = b.parameter("w", Tensor::from_vec(&[6], vec![2.0f32; 6]).expect("a tensor")).expect("a parameter");
    let flat = b.call("aten::view", (x, vec![6i64])).expect("a call");
    let sine = b.call("aten::sin", (w,)).expect("a call");
    let sum = b.call("aten::add.Tensor", (flat, sine)).expect("a call");
    let program = b.finish(&[sum]).expect("a program");
    let model = frozen().model;
    let at = |class| model.rate(class);
    let (view, pointwise) = (at(Class::Call).launch, at(Class::Pointwise));
    let pass = |bytes: f64| pointwise.launch + bytes / pointwise.bytes;
    // The sine of a parameter is computed before the first call, if weights are frozen and may be rounded by us.
    for (limits, opt, sine) in
        [(frozen(), Opt::Fast, 0.0024), (frozen(), Opt::Exact, pass(48.0)), (Limits::default(), Opt::Fast, pass(48.0))]
    {
        let (_, report) = oxport::optimize(&program, opt, &limits).expect("an improved program");
        let wanted = view + pass(72.0) + sine;
        assert!((report.cost_before - wanted).abs() < 0.01, "{} is not {wanted}", report.cost_before);
    }
}

/// A program with the parameter `w` and the buffers `n` and `m`, of three elements each.
fn with_state(body: &str, outputs: &[(&str, &str)]) -> ExportedProgram {
    let returned: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
    let specs: String = outputs.iter().map(|(name, kind)| format!("    {name}: {kind}\n")).collect();
    let mut program = fx(&format!(
        "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        \
         def forward(self, p_w: \"f32[3]\", b_n: \"f32[3]\", b_m: \"f32[3]\", x: \"f32[3]\"):\n{body}            \
         return ({},)\n\nGraph signature:\n    # inputs\n    p_w: PARAMETER target='w'\n    \
         b_n: BUFFER target='n' persistent=True\n    b_m: BUFFER target='m' persistent=True\n    x: USER_INPUT\n\n    \
         # outputs\n{specs}\nRange constraints: {{}}\n",
        returned.join(", ")
    ));
    for name in ["w", "n", "m"] {
        let tensor = Tensor::from_vec(&[3], vec![1.0f32, 2.0, 3.0]).expect("a tensor");
        program.state.insert(name.into(), oxport_ir::StateTensor::new(tensor, name == "w"));
    }
    program
}

#[test]
fn written_state_is_an_output_and_no_constant() {
    let text = "            a: \"f32[3]\" = torch.ops.aten.add_.Tensor(p_w, x)\n            \
                b: \"f32[3]\" = torch.ops.aten.mul_.Tensor(b_n, x)\n            \
                c: \"f32[3]\" = torch.ops.aten.neg.default(p_w)\n";
    let mut program = with_state(text, &[("c", "USER_OUTPUT")]);
    program.dialect = oxport_ir::Dialect::Training;
    let functional = oxport::functionalize(&program).expect("a functional program");
    let kinds: Vec<_> = functional.signature.outputs.iter().map(|s| format!("{:?}", s.kind)).collect();
    assert_eq!(kinds, ["ParameterMutation(\"w\")", "BufferMutation(\"n\")", "UserOutput"]);

    // Of what is written nothing is folded, of the other buffer its exponential is.
    let text = "            e: \"f32[3]\" = torch.ops.aten.exp.default(b_n)\n            \
                f: \"f32[3]\" = torch.ops.aten.exp.default(b_m)\n            \
                g: \"f32[3]\" = torch.ops.aten.mul.Tensor(e, f)\n            \
                a: \"f32[3]\" = torch.ops.aten.add.Tensor(b_n, x)\n            \
                y: \"f32[3]\" = torch.ops.aten.mul.Tensor(g, x)\n";
    let program = with_state(text, &[("a", "BUFFER_MUTATION target='n'"), ("y", "USER_OUTPUT")]);
    let (improved, _) = oxport::optimize(&program, Opt::Fast, &frozen()).expect("an improved program");
    let exponentials: Vec<_> =
        improved.graph.nodes().filter(|(_, n)| n.calls("aten::exp")).map(|(_, n)| n.name.to_string()).collect();
    assert_eq!((exponentials, improved.constants.len()), (vec!["e".to_string()], 1));
}

/// What is written by a wrapped call is a tensor, a slice of one or a view; modes are no nodes of a functional program.
#[test]
fn wrappers_are_taken_off() {
    let text = r#"
def forward(self, x: "f32[4, 3]", y: "f32[2, 3]"):
    clone: "f32[4, 3]" = torch.ops.aten.clone.default(x)
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    w = torch.ops.higher_order.auto_functionalized_v2(torch.ops.aten.add_.Tensor, other = y, _self_base_index = 0, _self_slice_dim = 0, _self_slice_start = 1, _self_slice_end = 3, _all_bases = [clone])
    g: "f32[2, 3]" = w[0]
    g_1: "f32[4, 3]" = w[1]
    w_1 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.aten.mul_.Tensor, other = 3, _self_base_index = 0, _self_size = [2], _self_stride = [3], _self_storage_offset = 1, _all_bases = [g_1])
    g_2: "f32[4, 3]" = w_1[1]
    w_2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.aten.neg_.default, _self_base_index = 0, _all_bases = [g_2])
    g_3: "f32[4, 3]" = w_2[1]
    return (g, g_3)
"#;
    let mut program = fx(text);
    for (name, sizes) in [("w", &[2i64, 3][..]), ("w_1", &[2]), ("w_2", &[4, 3])] {
        let id = program.graph.find(name).expect("a node of the text");
        let fake = |sizes: &[i64]| oxport::Fake::new(oxport::DType::F32, sizes.iter().map(|&n| n.into())).into();
        program.graph.meta_mut(id).val = Some(oxport::Val::List(vec![fake(sizes), fake(&[4, 3])]));
    }
    let x = Tensor::from_vec(&[4, 3], (0..12).map(|i| i as f32).collect()).expect("a tensor");
    let y = Tensor::from_vec(&[2, 3], vec![100.0f32; 6]).expect("a tensor");
    let functional = oxport::functionalize(&program).expect("a functional program");
    let left = |n: &oxport_ir::Node| n.op().is_some_and(|op| op.is_higher_order() || op.namespace() == "torch._C");
    assert!(!functional.graph.nodes().any(|(_, n)| left(n)));
    let out = run(&program, Opt::Exact, vec![x.into(), y.into()]);
    let floats = |v: &Value| v.as_tensor().expect("a tensor").to_vec::<f32>().expect("elements");
    assert_eq!(floats(&out[0]), [103.0, 104.0, 105.0, 106.0, 107.0, 108.0]);
    assert_eq!(floats(&out[1]), [-0.0, -3.0, -2.0, -103.0, -312.0, -105.0, -106.0, -107.0, -108.0, -9.0, -10.0, -11.0]);
}

/// Autocast computes in the dtype that it says.
#[test]
fn autocast_has_its_dtype() {
    let mut program = fx(r#"
def forward(self, x: "f32[2, 3]", w: "f32[3, 4]"):
    submod_0 = self.submod_0
    wrap = torch.ops.higher_order.wrap_with_autocast('cpu', torch.float16, True, None, submod_0, x, w)
    mm: "f16[2, 4]" = wrap[0]
    return (mm,)

class submod_0(torch.nn.Module):
    def forward(self, x: "f32[2, 3]", w: "f32[3, 4]"):
        mm: "f16[2, 4]" = torch.ops.aten.mm.default(x, w)
        return (mm,)
"#);
    let before = program.graph.subgraphs.clone();
    oxport_ir::verify::fix::fix(&mut program, registry());
    // What autocast makes of a call is not fixed.
    let metas = |graphs: &indexmap::IndexMap<std::sync::Arc<str>, Graph>| {
        graphs.values().map(|g| g.nodes().map(|(_, n)| n.val().cloned()).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(metas(&program.graph.subgraphs), metas(&before));
    let functional = oxport::functionalize(&program).expect("a functional program");
    let id = functional.graph.find("mm").expect("a node");
    let operands: Vec<_> = functional.graph.node(id).inputs().into_iter().map(|n| functional.graph.node(n)).collect();
    let dtypes: Vec<_> = operands.iter().map(|n| n.val().and_then(|v| v.as_tensor()).map(|t| t.dtype)).collect();
    assert_eq!(dtypes, [Some(oxport::DType::F16); 2]);
}

#[test]
fn dropped_nodes_are_counted() {
    let mut program = fx("def forward(self, x: \"f32[3]\"):\n    a: \"f32[3]\" = torch.ops.aten.neg.default(x)\n    \
                          b: \"f32[3]\" = torch.ops.aten.neg.default(a)\n    return (x,)\n");
    assert_eq!(oxport_passes::eliminate_dead(&mut program), 2);
    assert_eq!(oxport_passes::eliminate_dead(&mut program), 0);
}
