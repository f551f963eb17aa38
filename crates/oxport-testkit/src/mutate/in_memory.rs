//! Random edits of programs in memory, also those that the program JSON cannot represent.

use super::Rng;
use oxport_ir::program::ModuleCallArgument;
use oxport_ir::{
    Argument, Complex, Device, Dialect, ExportedProgram, Fake, Graph, InputKind, Kwargs, Node, NodeId, NodeKind,
    OutputKind, RangeConstraint, Registry, Val,
};
use oxport_sym::{Assumptions, Expr, Symbol};
use oxport_tensor::DType;
use std::sync::Arc;

/// Makes one to three random edits; returns their descriptions.
pub fn edit_in_memory(program: &mut ExportedProgram, registry: &Registry, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    for _ in 0..4 {
        rng.below(2);
    }
    let edits = 1 + rng.below(3);
    let done: Vec<String> = (0..edits).map(|_| edit(program, registry, &mut rng)).collect();
    done.join(", ")
}

fn edit(program: &mut ExportedProgram, registry: &Registry, rng: &mut Rng) -> String {
    match rng.below(12) {
        0..=7 => {
            let graph = some_graph(&mut program.graph, rng);
            let ids: Vec<NodeId> = graph.ids().collect();
            if ids.is_empty() {
                return "nothing".into();
            }
            let id = ids[rng.below(ids.len())];
            let what = node(graph, id, registry, rng);
            let name = graph.get(id).map_or("a node".to_string(), |n| n.name.to_string());
            format!("{what} of `{name}`")
        }
        8 | 9 => signature(program, rng),
        10 => subgraph_name(program, rng),
        _ => around(program, rng),
    }
}

/// The top graph, or one below it.
fn some_graph<'g>(graph: &'g mut Graph, rng: &mut Rng) -> &'g mut Graph {
    let count = graph.subgraphs.len();
    if count == 0 || rng.below(2) == 0 {
        return graph;
    }
    let (_, below) = graph.subgraphs.get_index_mut(rng.below(count)).expect("law: the index is below the count");
    some_graph(below, rng)
}

fn node(graph: &mut Graph, id: NodeId, registry: &Registry, rng: &mut Rng) -> String {
    const NAMES: [&str; 12] =
        ["self", "torch", "é", "²", "lambda", "a b", "", "getitem", "as_none", "output", "true_graph_0", "max"];
    const KEYS: [&str; 5] = ["source_fn_stack", "from_node", "custom", "oxport.tensor_list", "other"];
    const TEXTS: [&str; 10] = ["", "a", "a,b", "a,b,c", "a,b(c,d),e;", "[]", "{", "[{\"name\": 1}]", "null", "[1]"];
    let is_getitem = graph.node(id).op().is_some_and(|op| op.is_getitem());
    match rng.below(11) {
        0 => {
            let name = match rng.below(3) {
                0 => format!("{}_unused_{}", graph.node(id).name, rng.below(2)),
                _ => NAMES[rng.below(NAMES.len())].to_string(),
            };
            let _ = graph.rename(id, &name);
            "the name".into()
        }
        1 => {
            graph.meta_mut(id).val = None;
            "the meta removed".into()
        }
        2 => {
            let val = value(graph, rng);
            graph.meta_mut(id).val = Some(val);
            "the meta".into()
        }
        3 => {
            if let Some(Val::Tensor(t)) = &mut graph.meta_mut(id).val {
                corrupt_meta(t, rng);
            }
            "the meta corrupted".into()
        }
        4..=6 => {
            let (mut args, kwargs) = (graph.node(id).args.clone(), graph.node(id).kwargs.clone());
            let new = argument(graph, registry, rng, 2);
            match rng.below(3) {
                0 => args.push(new),
                _ if args.is_empty() => args.push(new),
                _ => {
                    let i = rng.below(args.len());
                    args[i] = new;
                }
            }
            graph.set_args(id, args, kwargs);
            "an argument".into()
        }
        7 => {
            let (args, mut kwargs): (_, Kwargs) = (graph.node(id).args.clone(), graph.node(id).kwargs.clone());
            let new = argument(graph, registry, rng, 1);
            kwargs.insert(["dim", "x", "", "a b", "alpha"][rng.below(5)].into(), new);
            graph.set_args(id, args, kwargs);
            "a keyword".into()
        }
        8 if is_getitem => {
            // A duplicate of the same element, which all users use instead.
            let copy = graph.node(id).clone();
            let name = graph.unique_name("duplicate");
            if let Ok(new) = graph.insert_after(id, Node { name, ..copy }) {
                graph.replace_uses_where(id, new, |_, user| user != new);
            }
            "a duplicate getitem".into()
        }
        8 | 9 => {
            let text: Arc<str> = TEXTS[rng.below(TEXTS.len())].into();
            let meta = graph.meta_mut(id);
            match rng.below(3) {
                0 => meta.nn_module_stack = Some(text),
                1 => meta.torch_fn = Some(text),
                _ => meta.extra.push((KEYS[rng.below(KEYS.len())].into(), text)),
            }
            "the metadata".into()
        }
        _ => {
            graph.is_single_return ^= true;
            "the graph".into()
        }
    }
}

/// Corrupts a tensor's meta.
fn corrupt_meta(t: &mut Fake, rng: &mut Rng) {
    match rng.below(6) {
        0 => t.requires_grad = true,
        1 => t.dtype = [DType::I64, DType::Bool, DType::F8E4M3FN, DType::C32][rng.below(4)],
        2 => t.sizes.iter_mut().for_each(|s| *s = Expr::from(1i64 << 40)),
        3 => {
            t.device = Device {
                kind: ["banana", "cuda", "", "npu"][rng.below(4)].into(),
                index: Some(rng.below(3) as i64 - 1),
            }
        }
        4 => t.offset = Expr::from(3i64),
        _ => drop(t.sizes.pop()),
    }
}

fn symbol(rng: &mut Rng) -> Expr {
    let name = ["s0", "s77", "u0", "user", "u", "a b", "Max", "batch", "zuf0"][rng.below(9)];
    let assumptions = [Assumptions::size(), Assumptions::integer(), Assumptions::none()];
    Expr::symbol(&Symbol::new(name, assumptions[rng.below(3)].clone()))
}

fn value(graph: &Graph, rng: &mut Rng) -> Val {
    let nodes: Vec<&Val> = graph.nodes().filter_map(|(_, n)| n.val()).collect();
    match rng.below(12) {
        0 => Val::None,
        1 => Val::Str("a".into()),
        2 => Val::Token,
        3 => Val::Object("__torch__.a.B".into()),
        4 => Val::List(Vec::new()),
        5 => Val::List(vec![Val::None; 1 + rng.below(2)]),
        6 => Val::Bool(symbol(rng).ge(&Expr::from(2i64))),
        7 => Val::Float(symbol(rng)),
        8 => Val::Int(symbol(rng)),
        9 => Val::Int(Expr::from(3i64)),
        10 if !nodes.is_empty() => {
            let one = nodes[rng.below(nodes.len())].clone();
            Val::List(vec![one; 1 + rng.below(2)])
        }
        _ if !nodes.is_empty() => nodes[rng.below(nodes.len())].clone(),
        _ => Val::None,
    }
}

fn argument(graph: &Graph, registry: &Registry, rng: &mut Rng, depth: usize) -> Argument {
    let ids: Vec<NodeId> = graph.ids().collect();
    match rng.below(if depth == 0 { 12 } else { 16 }) {
        0..=3 if !ids.is_empty() => ids[rng.below(ids.len())].into(),
        4 => Argument::None,
        5 => Argument::Int([0, 1, -1, i64::MAX][rng.below(4)]),
        6 => Argument::Float([0.5, f64::NAN, f64::INFINITY][rng.below(3)]),
        7 => Argument::Bool(true),
        8 => ["a", ""][rng.below(2)].into(),
        9 => Argument::Complex(Complex::new(1.0, f64::NAN)),
        10 => Argument::Device(Device { kind: ["cpu", "banana"][rng.below(2)].into(), index: None }),
        11 => Argument::Op(registry.op(["aten::add.Tensor", "my ns::op", "nonsense"][rng.below(3)])),
        12 | 13 => {
            let count = rng.below(4);
            Argument::List((0..count).map(|_| argument(graph, registry, rng, depth - 1)).collect())
        }
        14 => Argument::Dict([(Arc::from("k"), argument(graph, registry, rng, depth - 1))].into_iter().collect()),
        _ => DType::F32.into(),
    }
}

fn signature(program: &mut ExportedProgram, rng: &mut Rng) -> String {
    let (inputs, outputs) = (program.signature.inputs.len(), program.signature.outputs.len());
    match rng.below(6) {
        0 if inputs > 0 => {
            let constants = [Argument::None, Argument::Int(3), Argument::Float(0.5), "a".into(), vec![1i64].into()];
            let kind = match rng.below(3) {
                0 => InputKind::UserInput,
                1 => InputKind::ConstantInput(constants[rng.below(5)].clone()),
                _ => InputKind::Token,
            };
            program.signature.inputs[rng.below(inputs)].kind = kind;
            "an input spec".into()
        }
        1 if outputs > 0 => {
            let kinds = [OutputKind::UserOutput, OutputKind::Token, OutputKind::LossOutput];
            program.signature.outputs[rng.below(outputs)].kind = kinds[rng.below(3)].clone();
            "an output spec".into()
        }
        2 => {
            // An input that is a constant, and used.
            let val = [Val::None, Val::Str("a".into()), Val::Int(Expr::from(2i64)), Val::Float(Expr::float(0.5))];
            let val = val[rng.below(4)].clone();
            let Some(first) = program.graph.ids().find(|&id| program.graph.node(id).kind != NodeKind::Placeholder)
            else {
                return "nothing".into();
            };
            let mut node = Node::new(program.graph.unique_name("extra"), NodeKind::Placeholder, Vec::new());
            node.meta.val = Some(val);
            let Ok(id) = program.graph.insert_before(first, node) else { return "nothing".into() };
            program.signature.inputs.push(InputKind::UserInput.into());
            if let Some(output) = program.graph.output().filter(|_| rng.below(2) == 0) {
                let mut args = program.graph.node(output).args.clone();
                args.push(id.into());
                program.graph.set_args(output, args, Kwargs::new());
                program.signature.outputs.push(OutputKind::UserOutput.into());
            }
            program.module_calls.clear();
            program.origin.schema_version = None;
            "a constant input".into()
        }
        3 => {
            program.module_calls.clear();
            program.origin.schema_version = None;
            "no module calls".into()
        }
        4 => {
            let Some(output) = program.graph.output() else { return "nothing".into() };
            let ids: Vec<NodeId> = program.graph.ids().filter(|&id| id != output).collect();
            let mut args = program.graph.node(output).args.clone();
            args.push(match rng.below(3) {
                0 => Argument::Int(3),
                1 => Argument::None,
                _ => ids[rng.below(ids.len())].into(),
            });
            program.graph.set_args(output, args, Kwargs::new());
            program.signature.outputs.push(OutputKind::UserOutput.into());
            program.module_calls.clear();
            program.origin.schema_version = None;
            "one more output".into()
        }
        _ => {
            if let Some(call) = program.module_calls.first_mut().and_then(|m| m.signature.as_mut()) {
                let constant = [Argument::Int(1), DType::F32.into(), vec![0.5].into()][rng.below(3)].clone();
                call.inputs.push(match rng.below(3) {
                    0 => ModuleCallArgument::Constant(constant),
                    1 => ModuleCallArgument::Token("nobody".into()),
                    _ => ModuleCallArgument::Tensor("output".into()),
                });
            }
            "the program's own call".into()
        }
    }
}

fn subgraph_name(program: &mut ExportedProgram, rng: &mut Rng) -> String {
    const NAMES: [&str; 6] = ["forward", "a.b", "", "x", "lambda", "cpu"];
    let graph = some_graph(&mut program.graph, rng);
    let Some((old, sub)) = graph.subgraphs.pop() else { return "nothing".into() };
    let new: Arc<str> = NAMES[rng.below(NAMES.len())].into();
    graph.subgraphs.insert(new.clone(), sub);
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        if graph.node(id).kind == NodeKind::GetAttr(old.clone()) {
            let node = Node { kind: NodeKind::GetAttr(new.clone()), ..graph.node(id).clone() };
            let name = graph.unique_name("renamed");
            if let Ok(copy) = graph.insert_after(id, Node { name, ..node }) {
                graph.replace_all_uses(id, copy);
            }
            let _ = graph.erase(id);
        }
    }
    format!("the name of `{old}`")
}

fn around(program: &mut ExportedProgram, rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => {
            program.dialect = [Dialect::Training, Dialect::Aten][rng.below(2)];
            "the dialect".into()
        }
        1 => {
            let range = RangeConstraint { min: Some(2), max: [None, Some(2), Some(1000)][rng.below(3)] };
            let expr = if rng.below(2) == 0 { symbol(rng) } else { symbol(rng) + Expr::from(1i64) };
            program.ranges.insert(expr, range);
            "a range".into()
        }
        2 => {
            program.origin.verifiers = Some(vec![["ATEN", "TRAINING", ""][rng.below(3)].into()]);
            "the verifiers".into()
        }
        _ => {
            for state in program.state.values_mut() {
                state.requires_grad = true;
            }
            "gradients".into()
        }
    }
}
