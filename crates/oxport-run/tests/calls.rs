//! Calls that PyTorch took or refused, replayed: `fixtures/calls/make_calls.py` made programs and table.

use flate2::read::GzDecoder;
use indexmap::IndexMap;
use oxport_ir::{ExportedProgram, Registry, Value};
use oxport_pt2::{ReadOptions, read_pt2};
use oxport_pytree::Tree;
use oxport_run::{InputChecks, check_call};
use oxport_tensor::{DType, Tensor};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/calls");
    std::env::var_os("OXPORT_CALLS").map_or_else(own, PathBuf::from)
}

fn program(name: &str) -> ExportedProgram {
    let registry = Registry::new(&[], include_str!("../../../schemas/aten_schemas.txt"));
    let path = folder().join(format!("{name}.pt2"));
    read_pt2(&path, &registry, &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A tree as the table writes it: tagged containers, tensors by dtype and sizes, floats as text.
fn tree(json: &Json) -> Tree<Value> {
    let list = |j: &Json| j.as_array().unwrap().iter().map(tree).collect::<Vec<_>>();
    let leaf = |v: Value| Tree::Leaf(v);
    match json {
        Json::Null => leaf(Value::None),
        Json::Bool(b) => leaf(Value::Bool(*b)),
        Json::Number(n) => leaf(Value::Int(n.as_i64().unwrap())),
        Json::String(s) => leaf(Value::Str(s.as_str().into())),
        Json::Object(o) => match o.iter().next().unwrap() {
            (tag, j) if tag == "u" => Tree::tuple(list(j)),
            (tag, j) if tag == "l" => Tree::list(list(j)),
            (tag, j) if tag == "d" => Tree::dict(pairs(j)),
            (tag, j) if tag == "f" => leaf(Value::Float(j.as_str().unwrap().parse().unwrap())),
            (_, dtype) => {
                let sizes: Vec<i64> = o["s"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
                let dtype = DType::from_name(dtype.as_str().unwrap()).unwrap();
                leaf(Tensor::zeros(dtype, &sizes).unwrap().into())
            }
        },
        Json::Array(_) => panic!("an untagged list"),
    }
}

fn pairs(json: &Json) -> Vec<(String, Tree<Value>)> {
    let pair = |p: &Json| (p[0].as_str().unwrap().to_owned(), tree(&p[1]));
    json.as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn pytorch_takes_and_refuses_the_same_calls() {
    let mut text = String::new();
    let packed = std::fs::read(folder().join("calls.tsv.gz")).unwrap();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let (mut programs, mut wrong, mut taken, mut count) = (HashMap::new(), Vec::new(), 0, 0);
    for line in text.lines() {
        let [name, call, answer, message] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let program = programs.entry(name.to_owned()).or_insert_with(|| program(name));
        let json: Json = serde_json::from_str(call).unwrap();
        let args: Vec<Tree<Value>> = json["args"].as_array().unwrap().iter().map(tree).collect();
        let kwargs: IndexMap<String, Tree<Value>> = pairs(&json["kwargs"]).into_iter().collect();
        count += 1;
        taken += usize::from(answer == "yes");
        match check_call(program, InputChecks::Torch, args.clone(), kwargs.clone()) {
            Ok(()) if answer == "yes" => {}
            Err(e) if answer == "no" && e.is_input() => assert!(e.to_string().len() > 20, "{e}"),
            got => wrong.push(format!("{name} {call}\n    torch: {answer} {message}\n    oxport: {got:?}")),
        }
        // What strictness takes, PyTorch takes.
        let strict = check_call(program, InputChecks::Strict, args, kwargs);
        if strict.is_ok() && answer == "no" {
            wrong.push(format!("{name} {call}\n    torch: {answer} {message}\n    strict: taken"));
        }
    }
    println!("{count} calls, {taken} taken, {} wrong", wrong.len());
    assert!(count >= 500 && taken >= 100 && wrong.is_empty(), "{} of {count} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn messages_say_what_to_change() {
    let zeros = |sizes: &[i64]| Tree::Leaf(Value::from(Tensor::zeros(DType::F32, sizes).unwrap()));
    let failure = |name: &str, mode: InputChecks, args: Vec<Tree<Value>>| {
        check_call(&program(name), mode, args, IndexMap::new()).unwrap_err().to_string()
    };
    let ranged = failure("ranged", InputChecks::Torch, vec![zeros(&[11, 3])]);
    assert_eq!(
        ranged,
        "expected input `x` at *args[0].shape[0] to be <= 10, but got 11: that is the declared range of s77; \
         pass a size from 4 to 10, or export with a wider Dim"
    );
    let derived = failure("derived", InputChecks::Torch, vec![zeros(&[5, 3]), zeros(&[12])]);
    assert_eq!(
        derived,
        "expected input `x` at *args[0] to be such that y.size()[0] == (1 + 2*x.size()[0]), but got x.size()[0] = 5, \
         y.size()[0] = 12: tracing assumed it (guards_code); pass sizes for which it holds, or export with an example \
         for which it does not"
    );
    let strict = failure("loose", InputChecks::Strict, vec![zeros(&[1, 1])]);
    assert_eq!(
        strict,
        "expected input `x` at *args[0].shape[1] to be >= 2, but got 1: that is the declared range of s27; \
         pass a size from 2 to any, or export with a wider Dim"
    );
}
