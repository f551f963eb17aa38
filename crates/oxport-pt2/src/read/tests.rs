//! Reading: older layouts, and invalid files.

use std::path::PathBuf;

use oxport_ir::{Argument, NodeKind, Registry, Val};
use serde_json::{Value, json};

use super::*;
use crate::difference::difference;
use crate::zip::{Directory, ZipWriter};
use crate::{to_model, write_pt2_bytes};

fn registry() -> Registry {
    Registry::new(&[], include_str!("../../../../schemas/aten_schemas.txt"))
}

fn archive(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/archives")).join(name)
}

fn read_file(name: &str) -> ExportedProgram {
    read_pt2(&archive(name), &registry(), &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The document without keys that older versions did not have: names of nodes, kinds of arguments, guards.
fn comparable(program: &ExportedProgram) -> Value {
    fn strip(value: &mut Value) {
        if value.get("target").is_some() {
            value.as_object_mut().unwrap().remove("name");
        }
        if value.get("arg").is_some() {
            value.as_object_mut().unwrap().remove("kind");
        }
        match value {
            Value::Object(map) => map.values_mut().for_each(strip),
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(to_model(program).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("guards_code");
    strip(&mut value);
    value
}

#[test]
fn older_layouts_give_the_same_program() {
    let today = read_file("today.pt2");
    for name in ["pickled_8_8.pt2", "flat_7_3.pt2"] {
        let older = read_file(name);
        assert_eq!(difference(&comparable(&older), &comparable(&today)), None, "{name}");
        assert_eq!(format!("{:?}", older.state.keys()), format!("{:?}", today.state.keys()), "{name}");
        for ((key, a), (_, b)) in older.tensors().zip(today.tensors()) {
            assert_eq!(a.tensor.contiguous().unwrap().bytes(), b.tensor.contiguous().unwrap().bytes(), "{name}: {key}");
            assert_eq!((a.is_param, a.requires_grad), (b.is_param, b.requires_grad), "{name}: {key}");
        }
        assert_eq!(older.origin.extra_files["extra/note.txt"][..], *b"kept");
        assert!(crate::example_inputs(&older, &Limits::default()).unwrap().is_some_and(|inputs| inputs.len() == 1));
        let written = write_pt2_bytes(&older).unwrap();
        let again = read_pt2_bytes(&written, &registry(), &ReadOptions::default()).unwrap();
        assert_eq!(difference(&comparable(&again), &comparable(&today)), None, "{name}");
    }
}

#[test]
fn elements_and_subgraphs_become_nodes() {
    let program = read_file("today.pt2");
    let names: Vec<&str> = program.graph.nodes().map(|(_, node)| &*node.name).collect();
    let cond = names.iter().position(|name| *name == "cond").unwrap();
    assert_eq!(names[cond - 2..cond + 2], ["true_graph_0", "false_graph_0", "cond", "getitem_2"]);
    let node = program.graph.node(program.graph.find("true_graph_0").unwrap());
    assert!(matches!(&node.kind, NodeKind::GetAttr(name) if &**name == "true_graph_0"));
    let node = program.graph.node(program.graph.find("getitem").unwrap());
    assert!(matches!(node.args[..], [Argument::Node(_), Argument::Int(0)]));
    let split = program.graph.node(node.args[0].as_node().unwrap());
    assert!(matches!(split.val(), Some(Val::List(items)) if items.len() == 2));
}

/// The entries of an archive, to be changed and packed again.
fn unpack(name: &str) -> Vec<(String, Vec<u8>)> {
    let file = std::fs::read(archive(name)).unwrap();
    let directory = Directory::read(&file, &Limits::default()).unwrap();
    directory.entries.iter().map(|(name, e)| (name.clone(), e.read(name, &file).unwrap().into_owned())).collect()
}

fn pack(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Vec::new());
    entries.iter().for_each(|(name, data)| writer.add(name, data).unwrap());
    writer.finish().unwrap()
}

fn read(entries: &[(String, Vec<u8>)]) -> Result<ExportedProgram> {
    read_pt2_bytes(&pack(entries), &registry(), &ReadOptions::default())
}

/// Reads the archive with one of its JSON documents changed.
fn with_document(document: &str, change: impl FnOnce(&mut Value)) -> Result<ExportedProgram> {
    let mut entries = unpack("today.pt2");
    let (_, data) = entries.iter_mut().find(|(name, _)| name.ends_with(document)).unwrap();
    let mut value: Value = serde_json::from_slice(data).unwrap();
    change(&mut value);
    *data = value.to_string().into_bytes();
    read(&entries)
}

#[test]
fn invalid_documents_give_located_errors() {
    let graph = "/graph_module/graph";
    let table: Vec<(&str, &str, Value, &str)> = vec![
        (
            "model.json",
            "/schema_version/major",
            json!(9),
            "error[version] at json schema_version: expected schema version 7 or 8",
        ),
        (
            "model.json",
            "/graph_module/graph/nodes",
            json!({}),
            "error[json] at json models/model.json: graph_module.graph",
        ),
        (
            "model.json",
            "/nodes/2/inputs/0/arg",
            json!({"as_tensor": {"name": "y"}}),
            "node linear: the value \"y\" is used but not defined",
        ),
        (
            "model.json",
            "/nodes/2/inputs/0/arg",
            json!({"as_tensor": {"name": "mul"}}),
            "node linear: the value \"mul\" is used before it is defined",
        ),
        (
            "model.json",
            "/nodes/2/inputs/0/name",
            json!("inputs"),
            "node linear: aten::linear has no argument \"inputs\"",
        ),
        ("model.json", "/nodes/2/inputs/0/name", json!("weight"), "the argument \"weight\" is given twice"),
        ("model.json", "/nodes/2/outputs/0/as_tensor/name", json!("x"), "the value \"x\" is defined twice"),
        ("model.json", "/nodes/2/outputs/0/as_tensor/name", json!("y"), "the value \"y\" has no meta"),
        ("model.json", "/tensor_values/x/dtype", json!(99), "node x: expected a dtype, got 99"),
        ("model.json", "/tensor_values/x/layout", json!(1), "error[unsupported] at node x: expected a strided tensor"),
        ("model.json", "/tensor_values/x/strides", json!([]), "node x: expected as many strides as sizes (2), got 0"),
        (
            "model.json",
            "/tensor_values/x/sizes/0/as_expr/expr_str",
            json!("__import__('os').system('true')"),
            "error[expression] at node x",
        ),
        (
            "model.json",
            "/inputs/4",
            json!({"as_ints": [1]}),
            "node input 4: expected a tensor, number, string or object as an input",
        ),
        ("model.json", "/outputs/0", json!({"as_ints": [1]}), "expected a tensor, number, string or None as an output"),
        (
            "model.json",
            "/graph_module/signature/input_specs/0/parameter/arg/name",
            json!("w"),
            "error[signature] at input 0",
        ),
        (
            "model.json",
            "/graph_module/signature/output_specs",
            json!([]),
            "expected 4 outputs in the signature, as in the graph, got 0",
        ),
        (
            "model.json",
            "/graph_module/module_call_graph/0/signature/in_spec",
            json!("[2, {}]"),
            "error[tree] at json graph_module.module_call_graph[0].signature.in_spec",
        ),
        (
            "model.json",
            "/range_constraints",
            json!({"s77": {"min_val": 9, "max_val": 3}}),
            "error[range] at range s77: the range is empty",
        ),
        ("weights_config.json", "/config/lin.weight/path_name", json!("weight_9"), "config[\"lin.weight\"]"),
        ("weights_config.json", "/config/lin.weight/path_name", json!("../weight_0"), "without a slash"),
        ("weights_config.json", "/config/lin.weight/use_pickle", json!(true), "the pickled tensor cannot be read"),
        ("weights_config.json", "/config/lin.weight/tensor_meta/dtype", json!(8), "out of bounds of the file"),
        (
            "weights_config.json",
            "/config/lin.weight/tensor_meta/sizes/0/as_int",
            json!(1i64 << 62),
            "config[\"lin.weight\"]",
        ),
        (
            "weights_config.json",
            "/config/lin.weight/tensor_meta/storage_offset/as_int",
            json!(-1),
            "the storage offset is negative",
        ),
        (
            "weights_config.json",
            "/config/lin.weight/tensor_meta/storage_offset/as_int",
            json!(1),
            "out of bounds of the file",
        ),
        ("model.json", "/nodes/2/inputs/1/kind", json!(-1), "the kind of \"weight\": expected 1 or 2, got -1"),
    ];
    for (document, pointer, value, message) in table {
        let error = with_document(document, |root| {
            let is_rooted = root.pointer(pointer).is_some();
            let pointer = if is_rooted { pointer.to_string() } else { format!("{graph}{pointer}") };
            *root.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        });
        let error = error.expect_err(message).to_string();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
}

#[test]
fn positional_arguments_do_not_follow_named_ones() {
    // PyTorch gives `weight` by name, and `bias` would take its place.
    let error = with_document("model.json", |root| {
        let node = root.pointer_mut("/graph_module/graph/nodes/2").unwrap();
        node["target"] = json!("torch.ops.aten.layer_norm.default");
        let mut shape = node["inputs"][0].clone();
        (shape["name"], shape["arg"]) = (json!("normalized_shape"), json!({"as_ints": [4]}));
        node["inputs"].as_array_mut().unwrap().insert(1, shape);
        node["inputs"][2]["kind"] = json!(null);
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("\"bias\" is positional, \"weight\" before it has no kind"), "{error}");
}

#[test]
fn all_errors_are_reported_at_once() {
    let error = with_document("model.json", |root| {
        let nodes = root.pointer_mut("/graph_module/graph/nodes").unwrap();
        for node in nodes.as_array_mut().unwrap() {
            node["inputs"][0]["arg"] = json!({"as_tensor": {"name": "nothing"}});
        }
    });
    assert!(error.unwrap_err().diagnostics().len() >= 10);
}

#[test]
fn missing_and_stray_entries_are_refused() {
    let entries = unpack("today.pt2");
    for (i, (name, _)) in entries.iter().enumerate() {
        let is_optional = ["byteorder", "serialization_id"].iter().any(|n| name.ends_with(n));
        let mut rest = entries.clone();
        rest.remove(i);
        assert_eq!(read(&rest).is_ok(), is_optional, "without {name}");
    }
    let with = |name: &str, data: &[u8]| {
        let mut all = entries.clone();
        all.retain(|(n, _)| n != name);
        all.push((name.to_string(), data.to_vec()));
        read(&all).map(drop).map_err(|e| e.to_string())
    };
    for (name, data, message) in [
        ("stray", "", "the entry is not in the root folder \"today\""),
        ("today/archive_format", "pt3", "expected \"pt2\", got \"pt3\""),
        ("today/archive_version", "0\n", "expected \"0\""),
        ("today/.data/version", "11", "expected a number from 1 to 10"),
        ("today/byteorder", "big", "expected little-endian data, got big-endian"),
    ] {
        let error = with(name, data.as_bytes()).expect_err(message);
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    let error = read_pt2(&archive("none.pt2"), &registry(), &ReadOptions::default()).unwrap_err();
    assert!(error.is_io());
    let other = ReadOptions { model: Some("b".into()), ..ReadOptions::default() };
    let error = read_pt2(&archive("today.pt2"), &registry(), &other).unwrap_err().to_string();
    assert!(error.contains("no model \"b\"; its models are model"), "{error}");
}

/// Random replacements of values: an error or a program, never a panic.
#[test]
fn replaced_values_are_survived() {
    let wrong = [
        json!(null),
        json!(-1),
        json!(1i64 << 62),
        json!("x"),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"as_int": -9}),
    ];
    for document in ["model.json", "weights_config.json", "constants_config.json"] {
        let mut places = Vec::new();
        fn walk(value: &Value, at: String, places: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    for (key, value) in map {
                        walk(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places);
                    }
                }
                Value::Array(list) => {
                    list.iter().enumerate().for_each(|(i, value)| walk(value, format!("{at}/{i}"), places));
                }
                _ => {}
            }
            places.push(at);
        }
        with_document(document, |root| walk(root, String::new(), &mut places)).unwrap();
        for (i, place) in places.iter().enumerate().step_by(5) {
            let value = wrong[i / 5 % wrong.len()].clone();
            let result = with_document(document, |root| *root.pointer_mut(place).unwrap() = value);
            if let Ok(program) = result {
                let _ = write_pt2_bytes(&program);
            }
        }
    }
}

/// Only the keys that PyTorch requires: no kinds, no names, no optional keys.
#[test]
fn a_program_written_by_hand_is_read() {
    let meta = |sizes: Value| {
        json!({"dtype": 7, "sizes": sizes, "requires_grad": false, "device": {"type": "cpu"},
            "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})
    };
    let s0 = json!({"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 4}}});
    let tree = |children: &[&str]| {
        format!(
            "[1, {{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{}]}}]",
            children.join(", ")
        )
    };
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    let args = format!(r#"{{"type": "builtins.tuple", "context": "null", "children_spec": [{leaf}]}}"#);
    let kwargs = r#"{"type": "builtins.dict", "context": "[]", "children_spec": []}"#;
    let document = json!({
        "graph_module": {
            "graph": {
                "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
                "outputs": [{"as_tensor": {"name": "y"}}, {"as_sym_int": {"as_name": "n"}}],
                "nodes": [
                    {"target": "torch.ops.aten.mul.Tensor", "metadata": {}, "outputs": [{"as_tensor": {"name": "y"}}],
                     "inputs": [{"name": "other", "arg": {"as_tensor": {"name": "p_w"}}},
                                {"name": "self", "arg": {"as_tensor": {"name": "x"}}}]},
                    {"target": "torch.ops.aten.sym_size.int", "metadata": {},
                     "outputs": [{"as_sym_int": {"as_name": "n"}}],
                     "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}},
                                {"name": "dim", "arg": {"as_int": 0}}]}],
                "tensor_values": {"p_w": meta(json!([{"as_int": 1}])), "x": meta(json!([s0])), "y": meta(json!([s0]))},
                "sym_int_values": {"n": s0}, "sym_bool_values": {}},
            "signature": {
                "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                                {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}},
                                 {"user_output": {"arg": {"as_sym_int": {"as_name": "n"}}}}]},
            "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [],
                "in_spec": tree(&[&args, kwargs]), "out_spec": tree(&[leaf, leaf])}}]},
        "opset_version": {}, "range_constraints": {"s0": {"min_val": 2, "max_val": null}},
        "schema_version": {"major": 8, "minor": 0}});
    let weights = json!({"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false,
        "tensor_meta": meta(json!([{"as_int": 1}]))}}});
    let entry = |name: &str, data: &[u8]| (format!("hand/{name}"), data.to_vec());
    let archive = |samples: &[u8]| {
        read(&[
            entry("archive_format", b"pt2"),
            entry("archive_version", b"0"),
            entry(".data/version", b"3"),
            entry("models/model.json", document.to_string().as_bytes()),
            entry("data/weights/model_weights_config.json", weights.to_string().as_bytes()),
            entry("data/weights/weight_0", &2.0f32.to_le_bytes()),
            entry("data/constants/model_constants_config.json", b"{\"config\": {}}"),
            entry("data/sample_inputs/model.pt", samples),
        ])
    };
    // What PyTorch cannot unpickle, it does not load.
    assert!(archive(b"\x80\x02N.").is_ok());
    for samples in [&b"little"[..], b"\x80\x02N", b"PK\x03\x04"] {
        assert!(archive(samples).is_err(), "{samples:?}");
    }
    let program = archive(b"").unwrap();
    let node = program.graph.node(program.graph.find("y").unwrap());
    let names: Vec<&str> = node.inputs().iter().map(|id| &*program.graph.node(*id).name).collect();
    assert_eq!(names, ["x", "p_w"]);
    assert_eq!(program.state["w"].tensor.as_slice::<f32>(), Some(&[2.0][..]));
    assert_eq!(program.ranges.keys().next().unwrap().to_string(), "s0");
    let document = to_model(&program).unwrap();
    assert_eq!(document.graph_module.graph.nodes[0].name.as_deref(), Some("y"));
    assert_eq!(document.graph_module.graph.nodes[0].inputs[1].kind, Some(1));
}
