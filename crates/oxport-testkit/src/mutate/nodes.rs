//! Mutators of nodes: targets, arguments, names, order, results.

use super::document::collect_names;
use super::{Change, Document, Edit, Mutator, broken, value};
use serde_json::{Value, json};

pub(super) const MUTATORS: &[Mutator] = &[
    value("swap-args", swap_args),
    value("other-tensor", other_tensor),
    value("other-int", |d| literal(d, "as_int", |v| json!({"as_int": v.as_i64().unwrap_or(0).wrapping_add(1)}))),
    value("negated-int", |d| literal(d, "as_int", |v| json!({"as_int": v.as_i64().unwrap_or(0).wrapping_neg()}))),
    value("huge-int", |d| literal(d, "as_int", |_| json!({"as_int": 1_000_003}))),
    value("int-for-float", |d| literal(d, "as_float", |_| json!({"as_int": 7}))),
    value("float-for-int", |d| literal(d, "as_int", |_| json!({"as_float": 1.5}))),
    value("string-for-int", |d| literal(d, "as_int", |_| json!({"as_string": "one"}))),
    value("bool-flipped", |d| literal(d, "as_bool", |v| json!({"as_bool": !v.as_bool().unwrap_or(false)}))),
    value("string-for-bool", |d| literal(d, "as_bool", |_| json!({"as_string": "True"}))),
    value("other-string", |d| literal(d, "as_string", |_| json!({"as_string": "nonsense"}))),
    value("list-longer", |d| literal(d, "as_ints", |v| json!({"as_ints": longer(v)}))),
    value("list-shorter", |d| literal(d, "as_ints", |v| json!({"as_ints": shorter(v)}))),
    value("list-other", |d| literal(d, "as_ints", |v| json!({"as_ints": first_plus(v)}))),
    value("other-dtype-argument", |d| {
        literal(d, "as_scalar_type", |v| json!({"as_scalar_type": if *v == 7 { 5 } else { 7 }}))
    }),
    broken("unknown-dtype-argument", |d| literal(d, "as_scalar_type", |_| json!({"as_scalar_type": 77}))),
    value("none-for-tensor", |d| literal(d, "as_tensor", |_| json!({"as_none": true}))),
    value("int-for-tensor", |d| literal(d, "as_tensor", |_| json!({"as_int": 3}))),
    value("tensor-for-int", tensor_for_int),
    value("tensors-dropped", |d| literal(d, "as_tensors", |v| json!({"as_tensors": shorter(v)}))),
    value("sym-int-fixed", |d| literal(d, "as_sym_int", |_| json!({"as_int": 1}))),
    broken("two-tags", |d| literal(d, "as_tensor", |v| json!({"as_tensor": v, "as_none": true}))),
    broken("unknown-tag", |d| literal(d, "as_tensor", |v| json!({"as_tensr": v}))),
    broken("missing-argument", missing_argument),
    broken("extra-argument", |d| {
        with_schema(d, |at| {
            Change::Insert(json!({"name": "bogus", "arg": {"as_int": 1}, "kind": 2})).at(format!("{at}/inputs/0"))
        })
    }),
    broken("misnamed-argument", |d| with_schema(d, |at| Change::Set(json!("slef")).at(format!("{at}/inputs/0/name")))),
    broken("argument-twice", argument_twice),
    broken("unknown-operator", |d| target(d, "torch.ops.aten.", |t| t.replacen("aten.", "aten.x", 1))),
    broken("unknown-overload", |d| {
        target(d, "torch.ops.aten.", |t| format!("{}.Nowhere", t.rsplit_once('.').map_or(t, |p| p.0)))
    }),
    broken("packet-target", |d| target(d, "torch.ops.aten.", |t| t.rsplit_once('.').map_or(t, |p| p.0).to_string())),
    broken("unknown-higher-order", |d| target(d, "torch.ops.higher_order.", |t| format!("{t}_x"))),
    broken("forbidden-function", |d| target(d, "_operator.", |_| "_operator.matmul_x".to_string())),
    broken("forbidden-module", |d| target(d, "torch.ops.aten.", |_| "os.system".to_string())),
    value("other-operator", other_operator),
    broken("in-place-in-functional", in_place),
    broken("undefined-value", |d| uses(d, |_| "no_such_value".to_string())),
    broken("own-result-as-argument", own_result),
    broken("moved-behind-user", moved),
    broken("value-twice", value_twice),
    broken("node-dropped", node_dropped),
    broken("result-dropped", result_dropped),
    broken("result-added", result_added),
    broken("result-of-other-kind", result_kind),
    broken("module-stack-parts", |d| metadata(d, "nn_module_stack", "L__self__,")),
    broken("source-fn-parts", |d| metadata(d, "source_fn_stack", "add,torch.add,torch")),
    broken("from-node-no-list", |d| metadata(d, "from_node", "{\"name\": \"add\"}")),
    broken("custom-no-json", |d| metadata(d, "custom", "{")),
    broken("result-none", |d| {
        each_node(d, |d, at| single(d, at).map(|_| Change::Set(json!([{"as_none": true}])).at(format!("{at}/outputs"))))
    }),
];

impl Change {
    fn at(self, at: String) -> (String, Change) {
        (at, self)
    }
}

/// One edit a node where `f` finds a change.
fn each_node(d: &Document, f: impl Fn(&Document, &str) -> Option<(String, Change)>) -> Vec<Edit> {
    let nodes = d.nodes().into_iter();
    nodes.filter_map(|(_, at)| Some(Edit { words: d.words(&at), changes: vec![f(d, &at)?] })).collect()
}

/// All arguments of this tag, replaced.
fn literal(d: &Document, tag: &str, f: impl Fn(&Value) -> Value) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (_, node) in d.nodes() {
        for i in 0..d.len(&format!("{node}/inputs")) {
            let at = format!("{node}/inputs/{i}/arg");
            let old = d.get(&format!("{at}/{tag}"));
            if !old.is_null() {
                edits.push(Edit { words: d.words(&node), changes: vec![(at, Change::Set(f(old)))] });
            }
        }
    }
    edits
}

fn longer(v: &Value) -> Value {
    let mut list = v.as_array().cloned().unwrap_or_default();
    list.push(json!(1));
    list.into()
}
fn shorter(v: &Value) -> Value {
    let mut list = v.as_array().cloned().unwrap_or_default();
    list.pop();
    list.into()
}
fn first_plus(v: &Value) -> Value {
    let mut list = v.as_array().cloned().unwrap_or_default();
    if let Some(first) = list.first_mut() {
        *first = json!(first.as_i64().unwrap_or(0) + 1);
    }
    list.into()
}

/// The value names of a node's plain tensor arguments, with their pointers.
fn tensor_args(d: &Document, node: &str) -> Vec<(String, String)> {
    let args = (0..d.len(&format!("{node}/inputs"))).map(|i| format!("{node}/inputs/{i}/arg"));
    args.filter(|at| d.get(&format!("{at}/as_tensor")).is_object())
        .map(|at| (d.text(&format!("{at}/as_tensor/name")).to_string(), at))
        .collect()
}

fn swap_args(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| match tensor_args(d, node).as_slice() {
        [(a, at), (b, other), ..] if a != b => Some(Change::Swap(other.clone()).at(at.clone())),
        _ => None,
    })
}

fn other_tensor(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs() {
        let mut seen: Vec<String> = Vec::new();
        collect_names(d.get(&format!("{}/inputs", g.at)), &mut seen);
        for i in 0..d.len(&format!("{}/nodes", g.at)) {
            let node = format!("{}/nodes/{i}", g.at);
            let meta = |name: &str| d.get(&format!("{}/tensor_values/{name}", g.at));
            for (name, at) in tensor_args(d, &node) {
                let other = seen.iter().rev().find(|s| {
                    let (a, b) = (meta(s), meta(&name));
                    a.is_object() && (a["sizes"] != b["sizes"] || a["dtype"] != b["dtype"])
                });
                if let Some(other) = other {
                    edits.push(Edit {
                        words: d.words(&node),
                        changes: vec![(at, Change::Set(json!({"as_tensor": {"name": other}})))],
                    });
                }
            }
            seen.extend(d.results(&node));
        }
    }
    edits
}

fn tensor_for_int(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| {
        let tensor = d.get(&tensor_args(d, node).first()?.1).clone();
        let ints = (0..d.len(&format!("{node}/inputs"))).map(|i| format!("{node}/inputs/{i}/arg"));
        let at = ints.into_iter().find(|at| d.get(&format!("{at}/as_int")).is_i64())?;
        Some(Change::Set(tensor).at(at))
    })
}

/// Nodes of ATen operators with arguments.
fn with_schema(d: &Document, f: impl Fn(&str) -> (String, Change)) -> Vec<Edit> {
    each_node(d, |d, at| {
        let is_aten = d.text(&format!("{at}/target")).starts_with("torch.ops.aten.");
        (is_aten && d.len(&format!("{at}/inputs")) > 0).then(|| f(at))
    })
}

fn missing_argument(d: &Document) -> Vec<Edit> {
    with_schema(d, |at| Change::Remove.at(format!("{at}/inputs/0")))
}

fn argument_twice(d: &Document) -> Vec<Edit> {
    each_node(d, |d, at| {
        let first = d.get(&format!("{at}/inputs/0"));
        let is_aten = d.text(&format!("{at}/target")).starts_with("torch.ops.aten.");
        (is_aten && first.is_object()).then(|| Change::Insert(first.clone()).at(format!("{at}/inputs/1")))
    })
}

fn target(d: &Document, prefix: &str, f: impl Fn(&str) -> String) -> Vec<Edit> {
    each_node(d, |d, at| {
        let at = format!("{at}/target");
        let old = d.text(&at);
        old.starts_with(prefix).then(|| Change::Set(json!(f(old))).at(at.clone()))
    })
}

/// Operators of the same arguments that give something else.
fn other_operator(d: &Document) -> Vec<Edit> {
    const OTHERS: &[(&str, &str)] = &[
        ("relu.default", "argmax.default"),
        ("gelu.default", "isnan.default"),
        ("linear.default", "bilinear.default"),
        ("add.Tensor", "eq.Tensor"),
        ("mul.Tensor", "gt.Tensor"),
        ("sub.Tensor", "mul.Tensor"),
        ("div.Tensor", "le.Tensor"),
        ("mm.default", "add.Tensor"),
        ("matmul.default", "add.Tensor"),
        ("bmm.default", "mul.Tensor"),
        ("view.default", "expand.default"),
        ("reshape.default", "repeat.default"),
        ("transpose.int", "select.int"),
        ("unsqueeze.default", "squeeze.dim"),
        ("permute.default", "view.default"),
        ("softmax.int", "select.int"),
        ("sum.default", "exp.default"),
        ("mean.dim", "amax.default"),
        ("tanh.default", "nonzero.default"),
        ("sigmoid.default", "signbit.default"),
        ("cat.default", "stack.default"),
        ("sin.default", "any.default"),
    ];
    let mut edits = Vec::new();
    for (from, to) in OTHERS {
        edits.extend(target(d, &format!("torch.ops.aten.{from}"), |_| format!("torch.ops.aten.{to}")));
    }
    edits
}

fn in_place(d: &Document) -> Vec<Edit> {
    let functional =
        |from: &str, to: &str| target(d, &format!("torch.ops.aten.{from}"), |_| format!("torch.ops.aten.{to}"));
    if !d.is_dialect("ATEN") {
        return Vec::new();
    }
    [
        ("add.Tensor", "add_.Tensor"),
        ("mul.Tensor", "mul_.Tensor"),
        ("relu.default", "relu_.default"),
        ("sigmoid.default", "sigmoid_.default"),
    ]
    .iter()
    .flat_map(|(a, b)| functional(a, b))
    .collect()
}

/// All uses of values by nodes, renamed.
fn uses(d: &Document, f: impl Fn(&str) -> String) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (_, node) in d.nodes() {
        for (name, at) in tensor_args(d, &node) {
            let new = f(&name);
            edits.push(Edit {
                words: d.words(&node),
                changes: vec![(format!("{at}/as_tensor/name"), Change::Set(json!(new)))],
            });
        }
    }
    edits
}

fn own_result(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| {
        let (_, at) = tensor_args(d, node).into_iter().next()?;
        let own = single(d, node)?;
        Some(Change::Set(json!(own)).at(format!("{at}/as_tensor/name")))
    })
}

/// The name of a node's only result, if it is a tensor.
fn single(d: &Document, node: &str) -> Option<String> {
    let outputs = format!("{node}/outputs");
    let name = d.get(&format!("{outputs}/0/as_tensor/name")).as_str()?;
    (d.len(&outputs) == 1).then(|| name.to_string())
}

fn moved(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs() {
        let nodes = format!("{}/nodes", g.at);
        for i in 0..d.len(&nodes) {
            let results = d.results(&format!("{nodes}/{i}"));
            let user = (i + 1..d.len(&nodes)).find(|k| {
                let mut used = Vec::new();
                collect_names(d.get(&format!("{nodes}/{k}/inputs")), &mut used);
                used.iter().any(|u| results.contains(u))
            });
            if let Some(user) = user {
                let node = d.get(&format!("{nodes}/{i}")).clone();
                let mut edit = Edit::one("", format!("{nodes}/{}", user + 1), Change::Insert(node))
                    .and(format!("{nodes}/{i}"), Change::Remove);
                edit.words = results.into_iter().chain(d.words(&format!("{nodes}/{user}"))).collect();
                edits.push(edit);
            }
        }
    }
    edits
}

fn value_twice(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs() {
        let mut earlier: Option<String> = None;
        for i in 0..d.len(&format!("{}/nodes", g.at)) {
            let node = format!("{}/nodes/{i}", g.at);
            let Some(name) = single(d, &node) else { continue };
            if let Some(earlier) = &earlier {
                let at = format!("{node}/outputs/0/as_tensor/name");
                edits.push(Edit::one(earlier, at, Change::Set(json!(earlier))).word(name.clone()));
            }
            earlier = Some(name);
        }
    }
    edits
}

fn node_dropped(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs() {
        let nodes = format!("{}/nodes", g.at);
        let mut used = Vec::new();
        for i in 0..d.len(&nodes) {
            collect_names(d.get(&format!("{nodes}/{i}/inputs")), &mut used);
        }
        collect_names(d.get(&format!("{}/outputs", g.at)), &mut used);
        for i in 0..d.len(&nodes) {
            let results = d.results(&format!("{nodes}/{i}"));
            if results.iter().any(|r| used.contains(r)) {
                edits.push(Edit { words: results, changes: vec![(format!("{nodes}/{i}"), Change::Remove)] });
            }
        }
    }
    edits
}

/// Multiple results, as their list and the pointer of the list.
fn results_list(d: &Document, node: &str) -> Option<String> {
    let several = format!("{node}/outputs");
    let list = format!("{node}/outputs/0/as_tensors");
    if d.len(&several) > 1 { Some(several) } else { (d.len(&list) > 1).then_some(list) }
}

fn result_dropped(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| {
        let list = results_list(d, node)?;
        Some(Change::Remove.at(format!("{list}/{}", d.len(&list) - 1)))
    })
}

fn result_added(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| {
        let name = single(d, node)?;
        Some(Change::Insert(json!({"as_tensor": {"name": name}})).at(format!("{node}/outputs/1")))
    })
}

fn result_kind(d: &Document) -> Vec<Edit> {
    each_node(d, |d, node| {
        let name = single(d, node)?;
        Some(Change::Set(json!({"as_sym_int": {"as_name": name}})).at(format!("{node}/outputs/0")))
    })
}

/// Metadata that PyTorch does not load.
fn metadata(d: &Document, key: &str, text: &str) -> Vec<Edit> {
    each_node(d, |_, at| Some(Change::Set(json!(text)).at(format!("{at}/metadata/{key}"))))
}
