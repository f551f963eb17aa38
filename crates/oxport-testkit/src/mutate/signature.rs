//! Mutators of the signature, graph inputs and outputs, trees, module calls and the dialect.

use super::{Change, Document, Edit, Mutator, broken, value};
use serde_json::{Value, json};

const SPECS: &str = "/program/graph_module/signature/input_specs";
const OUTS: &str = "/program/graph_module/signature/output_specs";
const GRAPH: &str = "/program/graph_module/graph";
const CALL: &str = "/program/graph_module/module_call_graph";

pub(super) const MUTATORS: &[Mutator] = &[
    broken("unknown-dialect", |_| vec![Edit::one("CORE", "/program/verifiers", Change::Set(json!(["CORE"])))]),
    broken("training-as-functional", training_as_functional),
    broken("unknown-version", |_| vec![Edit::one("version", "/program/schema_version/major", Change::Set(json!(9)))]),
    broken("parameter-as-buffer", |d| {
        specs(d, "parameter", |s| {
            Some(json!({"buffer": {"arg": s["arg"], "buffer_name": s["parameter_name"], "persistent": true}}))
        })
    }),
    broken("buffer-as-parameter", |d| {
        specs(d, "buffer", |s| Some(json!({"parameter": {"arg": s["arg"], "parameter_name": s["buffer_name"]}})))
    }),
    broken("constant-as-parameter", |d| {
        specs(d, "tensor_constant", |s| {
            Some(json!({"parameter": {"arg": s["arg"], "parameter_name": s["tensor_constant_name"]}}))
        })
    }),
    broken("constant-as-user-input", |d| {
        specs(d, "tensor_constant", |s| Some(json!({"user_input": {"arg": {"as_tensor": s["arg"]}}})))
    }),
    broken("parameter-as-user-input", |d| {
        specs(d, "parameter", |s| Some(json!({"user_input": {"arg": {"as_tensor": s["arg"]}}})))
    }),
    broken("user-input-as-parameter", |d| {
        specs(d, "user_input", |s| {
            Some(json!({"parameter": {"arg": s["arg"]["as_tensor"].as_object()?, "parameter_name": "p"}}))
        })
    }),
    broken("user-input-as-token", |d| {
        specs(d, "user_input", |s| Some(json!({"token": {"arg": s["arg"]["as_tensor"].as_object()?}})))
    }),
    broken("persistence-flipped", |d| {
        specs(d, "buffer", |s| {
            let mut new = s.clone();
            new["persistent"] = json!(!s["persistent"].as_bool()?);
            Some(json!({"buffer": new}))
        })
    }),
    broken("state-name-unknown", |d| renamed_state(d, |_, _| Some("no.such.name".into()))),
    broken("state-name-twice", |d| renamed_state(d, other_state)),
    broken("spec-name", |d| {
        let count = d.len(SPECS);
        let edit = |i: usize| {
            Some(
                Edit::one(spec_name(d, i)?, format!("{}/name", spec_arg(d, i)?), Change::Set(json!("nobody")))
                    .word(format!("input {i}")),
            )
        };
        (0..count).filter_map(edit).collect()
    }),
    broken("specs-swapped", |d| {
        let pairs = (1..d.len(SPECS)).filter(|i| spec_name(d, *i).is_some() && spec_name(d, i - 1).is_some());
        pairs
            .map(|i| {
                Edit::one(
                    spec_name(d, i).unwrap_or_default(),
                    format!("{SPECS}/{i}"),
                    Change::Swap(format!("{SPECS}/{}", i - 1)),
                )
                .word(format!("input {i}"))
            })
            .collect()
    }),
    broken("spec-dropped", |d| {
        (0..d.len(SPECS))
            .map(|i| Edit::one("signature", format!("{SPECS}/{i}"), Change::Remove).word("inputs").word("input"))
            .collect()
    }),
    broken("input-dropped", |d| {
        (0..d.len(&format!("{GRAPH}/inputs")))
            .map(|i| {
                Edit::one(
                    d.text(&format!("{GRAPH}/inputs/{i}/as_tensor/name")),
                    format!("{GRAPH}/inputs/{i}"),
                    Change::Remove,
                )
                .word("inputs")
                .word("input")
            })
            .collect()
    }),
    broken("input-twice", |d| {
        (0..d.len(&format!("{GRAPH}/inputs")))
            .filter(|i| d.get(&format!("{GRAPH}/inputs/{i}/as_tensor")).is_object())
            .map(|i| {
                Edit::one(
                    d.text(&format!("{GRAPH}/inputs/{i}/as_tensor/name")),
                    format!("{GRAPH}/inputs/{i}"),
                    Change::Insert(d.get(&format!("{GRAPH}/inputs/{i}")).clone()),
                )
            })
            .collect()
    }),
    value("user-inputs-swapped", |d| {
        let user = |i: &usize| d.get(&format!("{SPECS}/{i}/user_input/arg/as_tensor")).is_object();
        let places: Vec<usize> = (0..d.len(SPECS)).filter(user).collect();
        places
            .windows(2)
            .map(|w| {
                Edit::one("input", format!("{SPECS}/{}", w[0]), Change::Swap(format!("{SPECS}/{}", w[1])))
                    .and(format!("{GRAPH}/inputs/{}", w[0]), Change::Swap(format!("{GRAPH}/inputs/{}", w[1])))
            })
            .collect()
    }),
    broken("constant-input", |d| {
        specs(d, "constant_input", |s| {
            let mut new = s.clone();
            new["value"] =
                if s["value"]["as_int"].is_i64() { json!({"as_int": 12345}) } else { json!({"as_string": "other"}) };
            Some(json!({"constant_input": new}))
        })
    }),
    broken("output-dropped", |d| {
        let count = d.len(&format!("{GRAPH}/outputs"));
        (0..count)
            .map(|i| {
                Edit::one("outputs", format!("{GRAPH}/outputs/{i}"), Change::Remove)
                    .word("output")
                    .word(format!("output {i}"))
            })
            .collect()
    }),
    broken("output-spec-dropped", |d| {
        (0..d.len(OUTS)).map(|i| Edit::one("outputs", format!("{OUTS}/{i}"), Change::Remove).word("output")).collect()
    }),
    broken("output-undefined", |d| outputs(d, |_| json!({"as_tensor": {"name": "no_such_value"}}))),
    broken("output-other-value", other_output),
    broken("outputs-swapped", |d| {
        let name = |i: usize| d.text(&format!("{GRAPH}/outputs/{i}/as_tensor/name")).to_string();
        (1..d.len(OUTS))
            .filter(|i| name(*i) != name(i - 1))
            .map(|i| {
                Edit::one(
                    format!("output {i}"),
                    format!("{GRAPH}/outputs/{i}"),
                    Change::Swap(format!("{GRAPH}/outputs/{}", i - 1)),
                )
                .word(name(i))
            })
            .collect()
    }),
    value("user-outputs-swapped", |d| {
        let user = |i: &usize| d.get(&format!("{OUTS}/{i}/user_output/arg/as_tensor")).is_object();
        let places: Vec<usize> = (0..d.len(OUTS)).filter(user).collect();
        places
            .windows(2)
            .map(|w| {
                Edit::one("output", format!("{OUTS}/{}", w[0]), Change::Swap(format!("{OUTS}/{}", w[1])))
                    .and(format!("{GRAPH}/outputs/{}", w[0]), Change::Swap(format!("{GRAPH}/outputs/{}", w[1])))
            })
            .collect()
    }),
    broken("mutation-unknown", |d| mutations(d, |_, _, _| Some(json!("no.such.name")))),
    broken("mutation-of-other", |d| mutations(d, |d, kind, own| other_target(d, kind, own).map(Value::from))),
    broken("mutation-as-output", |d| {
        let muts = (0..d.len(OUTS)).filter(|i| mutation(d, *i).is_some());
        muts.map(|i| {
            let (_, spec, _) = mutation(d, i).unwrap_or_default();
            let arg = d.get(&format!("{spec}/arg")).clone();
            Edit::one(
                "outputs",
                format!("{OUTS}/{i}"),
                Change::Set(json!({"user_output": {"arg": {"as_tensor": arg}}})),
            )
            .word("output")
        })
        .collect()
    }),
    broken("output-as-mutation", |d| {
        let user = (0..d.len(OUTS)).filter(|i| d.get(&format!("{OUTS}/{i}/user_output/arg/as_tensor")).is_object());
        user.map(|i| {
            let arg = d.get(&format!("{OUTS}/{i}/user_output/arg/as_tensor")).clone();
            Edit::one(
                "outputs",
                format!("{OUTS}/{i}"),
                Change::Set(json!({"buffer_mutation": {"arg": arg, "buffer_name": "nobody"}})),
            )
            .word(format!("output {i}"))
            .word("output")
        })
        .collect()
    }),
    broken("mutation-after-output", |d| {
        let last = d.len(OUTS).saturating_sub(1);
        let first = (0..d.len(OUTS)).find(|i| mutation(d, *i).is_some() && last > *i);
        first
            .into_iter()
            .map(|i| {
                Edit::one(format!("output {i}"), format!("{OUTS}/{i}"), Change::Swap(format!("{OUTS}/{last}")))
                    .and(format!("{GRAPH}/outputs/{i}"), Change::Swap(format!("{GRAPH}/outputs/{last}")))
                    .word(format!("output {last}"))
                    .word(format!("output {}", i + 1))
            })
            .collect()
    }),
    broken("mutation-twice", |d| {
        let muts = (0..d.len(OUTS)).filter(|i| mutation(d, *i).is_some());
        muts.map(|i| {
            Edit::one(
                format!("output {}", i + 1),
                format!("{OUTS}/{i}"),
                Change::Insert(d.get(&format!("{OUTS}/{i}")).clone()),
            )
            .and(format!("{GRAPH}/outputs/{i}"), Change::Insert(d.get(&format!("{GRAPH}/outputs/{i}")).clone()))
        })
        .collect()
    }),
    broken("tree-leaf-added", |d| {
        trees(d, |t| {
            t.replacen(
                "\"children_spec\": [{",
                "\"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}, {",
                1,
            )
        })
    }),
    broken("tree-leaf-dropped", |d| {
        trees(d, |t| {
            t.replacen(
                "{\"type\": null, \"context\": null, \"children_spec\": []}",
                "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": []}",
                1,
            )
        })
    }),
    broken("tree-garbage", |d| trees(d, |t| t[..t.len().saturating_sub(2)].to_string())),
    broken("tree-protocol", |d| trees(d, |t| t.replacen("[1,", "[2,", 1))),
    broken("tree-keys", |d| {
        trees(d, |t| {
            t.replacen("builtins.tuple\", \"context\": \"null\"", "builtins.dict\", \"context\": \"[\\\"q\\\"]\"", 1)
        })
    }),
    broken("tree-not-args-kwargs", |_| {
        vec![
            Edit::one(
                "inputs",
                format!("{CALL}/0/signature/in_spec"),
                Change::Set(json!("[1, {\"type\": null, \"context\": null, \"children_spec\": []}]")),
            )
            .word("in_spec")
            .word("args"),
        ]
    }),
    broken("argument-names", |d| {
        let names = format!("{CALL}/0/signature/forward_arg_names");
        if d.len(&names) == 0 {
            return Vec::new();
        }
        vec![Edit::one("argument", format!("{names}/0"), Change::Remove).word("argument names")]
    }),
    broken("own-call-missing", |d| {
        if d.len(CALL) == 0 {
            Vec::new()
        } else {
            vec![
                Edit::one("module", format!("{CALL}/0/signature"), Change::Set(Value::Null))
                    .word("program")
                    .word("entry"),
            ]
        }
    }),
    broken("own-call-renamed", |d| {
        if d.len(CALL) == 0 {
            Vec::new()
        } else {
            vec![
                Edit::one("module", format!("{CALL}/0/fqn"), Change::Set(json!("other"))).word("program").word("entry"),
            ]
        }
    }),
    broken("module-call-dangling", |d| {
        (1..d.len(CALL))
            .map(|i| {
                let spec = d.get(&format!("{CALL}/0/signature/in_spec")).clone();
                let signature = json!({"inputs": [{"as_tensor": {"name": "no_such_value"}}], "outputs": [],
                "in_spec": spec, "out_spec": spec, "forward_arg_names": null});
                Edit::one("no_such_value", format!("{CALL}/{i}/signature"), Change::Set(signature))
            })
            .collect()
    }),
    broken("module-call-twice", |d| {
        (1..d.len(CALL))
            .map(|i| {
                Edit::one(
                    d.text(&format!("{CALL}/{i}/fqn")),
                    format!("{CALL}/{i}"),
                    Change::Insert(d.get(&format!("{CALL}/{i}")).clone()),
                )
            })
            .collect()
    }),
];

fn training_as_functional(d: &Document) -> Vec<Edit> {
    let mut words: Vec<String> = Vec::new();
    for (_, node) in d.nodes() {
        let target = d.text(&format!("{node}/target"));
        let name = target.strip_prefix("torch.ops.aten.").and_then(|t| t.split('.').next()).unwrap_or("");
        if name.ends_with('_') && !name.starts_with("__") {
            words.extend(d.words(&node));
        }
    }
    let edit = Edit { words, changes: vec![("/program/verifiers".into(), Change::Set(json!(["ATEN"])))] };
    if edit.words.is_empty() { Vec::new() } else { vec![edit] }
}

/// Input specs of a kind, replaced.
fn specs(d: &Document, kind: &str, f: impl Fn(&Value) -> Option<Value>) -> Vec<Edit> {
    let edit = |i: usize| {
        let spec = d.get(&format!("{SPECS}/{i}/{kind}"));
        let new = f(spec).filter(|_| spec.is_object())?;
        let word = spec_name(d, i).unwrap_or_default();
        Some(Edit::one(word, format!("{SPECS}/{i}"), Change::Set(new)).word(format!("input {i}")).word("inputs"))
    };
    (0..d.len(SPECS)).filter_map(edit).collect()
}

/// The pointer of a spec's argument.
fn spec_arg(d: &Document, i: usize) -> Option<String> {
    let (kind, _) = d.entries(&format!("{SPECS}/{i}")).into_iter().next()?;
    let at = format!("{SPECS}/{i}/{kind}/arg");
    if kind == "user_input" {
        let tensor = format!("{at}/as_tensor");
        return d.get(&tensor).is_object().then_some(tensor);
    }
    d.get(&at).is_object().then_some(at)
}

fn spec_name(d: &Document, i: usize) -> Option<String> {
    Some(d.text(&format!("{}/name", spec_arg(d, i)?)).to_string())
}

/// Input specs that name a stored tensor, with another name.
fn renamed_state(d: &Document, f: impl Fn(&Document, &str) -> Option<String>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for i in 0..d.len(SPECS) {
        for key in ["parameter/parameter_name", "buffer/buffer_name", "tensor_constant/tensor_constant_name"] {
            let at = format!("{SPECS}/{i}/{key}");
            let own = d.text(&at);
            if let Some(new) = f(d, own).filter(|_| !own.is_empty()) {
                edits.push(
                    Edit::one(spec_name(d, i).unwrap_or_default(), at.clone(), Change::Set(json!(new)))
                        .word(format!("input {i}"))
                        .word(new),
                );
            }
        }
    }
    edits
}

fn other_state(d: &Document, own: &str) -> Option<String> {
    let mut names = d.entries("/weights/config").into_iter().map(|(name, _)| name);
    names.find(|name| name != own && d.get(SPECS).to_string().contains(&format!("\"{name}\"")))
}

/// Graph outputs, replaced.
fn outputs(d: &Document, f: impl Fn(&str) -> Value) -> Vec<Edit> {
    let edit = |i: usize| {
        let at = format!("{GRAPH}/outputs/{i}");
        let name = d.get(&format!("{at}/as_tensor/name")).as_str()?;
        Some(Edit::one(format!("output {i}"), at.clone(), Change::Set(f(name))).word("output").word(name))
    };
    (0..d.len(&format!("{GRAPH}/outputs"))).filter_map(edit).collect()
}

fn other_output(d: &Document) -> Vec<Edit> {
    let first = d.text(&format!("{GRAPH}/inputs/0/as_tensor/name")).to_string();
    let all = outputs(d, |_| json!({"as_tensor": {"name": first}}));
    all.into_iter().filter(|e| !first.is_empty() && !e.words.contains(&first)).collect()
}

/// The kind of a mutation output, the pointers of its spec and of its target's name.
fn mutation(d: &Document, i: usize) -> Option<(String, String, String)> {
    let (kind, at) = d.entries(&format!("{OUTS}/{i}")).into_iter().next()?;
    let name = kind.strip_suffix("_mutation")?;
    Some((name.to_string(), at.clone(), format!("{at}/{name}_name")))
}

fn mutations(d: &Document, f: impl Fn(&Document, &str, &str) -> Option<Value>) -> Vec<Edit> {
    let edit = |i: usize| {
        let (kind, _, name) = mutation(d, i)?;
        let new = f(d, &kind, d.text(&name))?;
        Some(Edit::one(format!("output {i}"), name, Change::Set(new)))
    };
    (0..d.len(OUTS)).filter_map(edit).collect()
}

/// Another buffer or input of other sizes or dtype, or one that gets a new value already.
fn other_target(d: &Document, kind: &str, own: &str) -> Option<String> {
    let key = if kind == "buffer" { "buffer/buffer_name" } else { "parameter/parameter_name" };
    let meta = |i: usize| {
        let m = d.get(&format!("{GRAPH}/tensor_values/{}", spec_name(d, i).unwrap_or_default()));
        (m["sizes"].clone(), m["dtype"].clone())
    };
    let name = |i: usize| d.text(&format!("{SPECS}/{i}/{key}")).to_string();
    let mine = (0..d.len(SPECS)).find(|i| name(*i) == own)?;
    (0..d.len(SPECS)).find(|i| !name(*i).is_empty() && meta(*i) != meta(mine)).map(name)
}

/// The two trees of the program's own call.
fn trees(d: &Document, f: impl Fn(&str) -> String) -> Vec<Edit> {
    let both = ["in_spec", "out_spec"].map(|k| (k, format!("{CALL}/0/signature/{k}")));
    let edit = |(key, at): &(&str, String)| {
        let new = f(d.get(at).as_str()?);
        let side = if *key == "in_spec" { "inputs" } else { "outputs" };
        Some(Edit::one(side, at.clone(), Change::Set(json!(new))).word(*key).word("tree"))
    };
    both.iter().filter_map(edit).collect()
}
