//! Calls as Python has them, and the nodes that PyTorch's export makes of them (`calls.tsv`, written by PyTorch 2.15): overloads,
//! promoted numbers, spread lists, defaults, options of new tensors, messages.

use oxport_capture::{Tracer, Value};
use oxport_ir::Fake;
use oxport_tensor::DType;
use std::collections::HashMap;

/// The tensors that the calls are over.
const TENSORS: &[(&str, DType, &[i64])] = &[
    ("x", DType::F32, &[2, 3, 4]),
    ("y", DType::F32, &[2, 3, 4]),
    ("m", DType::F32, &[4, 4]),
    ("v", DType::F32, &[4]),
    ("i", DType::I64, &[2]),
    ("b", DType::Bool, &[2, 2]),
    ("j", DType::I64, &[2, 3, 4]),
    ("w", DType::F32, &[5, 3, 3]),
    ("q", DType::F32, &[1, 4, 4, 4]),
];

/// The parts of a list that no bracket holds together.
fn apart(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut is_quoted) = (Vec::new(), 0, 0, false);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '\'' => is_quoted = !is_quoted,
            ',' if depth == 0 && !is_quoted => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|p| !p.is_empty()).collect()
}

fn value<'a>(t: &Tracer, seen: &mut HashMap<&'a str, Value>, text: &'a str) -> Value {
    if let Some(known) = seen.get(text) {
        return known.clone();
    }
    let inside = |open, close| text.strip_prefix(open).and_then(|s: &str| s.strip_suffix(close));
    if let Some(list) = inside('[', ']').or(inside('(', ')')) {
        return Value::List(apart(list).into_iter().map(|item| value(t, seen, item)).collect());
    }
    if let Some(s) = inside('\'', '\'') {
        return s.into();
    }
    if let Some((name, dtype, sizes)) = TENSORS.iter().find(|(name, ..)| *name == text) {
        let tensor = t.input(name, Fake::new(*dtype, sizes.iter().map(|&n| n.into()))).unwrap();
        seen.insert(text, (&tensor).into());
        return tensor.into();
    }
    match text {
        "None" => Value::None,
        "True" => true.into(),
        "False" => false.into(),
        "f32" => DType::F32.into(),
        "f64" => DType::F64.into(),
        "i64" => DType::I64.into(),
        number => number.parse::<i64>().map(Value::from).unwrap_or_else(|_| number.parse::<f64>().unwrap().into()),
    }
}

/// The first node of that call, as the text of the program shows it, or the message that refuses it.
fn traced(call: &str) -> String {
    let t = Tracer::new();
    let (name, args) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
    let mut seen = HashMap::new();
    let mut named = |text| value(&t, &mut seen, text);
    let (mut positional, mut keywords) = (Vec::new(), Vec::new());
    for arg in apart(args) {
        match arg.split_once('=') {
            Some((key, text)) => keywords.push((key, named(text))),
            None => positional.push(named(arg)),
        }
    }
    match t.op(&format!("aten.{name}"), &positional, &keywords) {
        Err(e) => format!("!{}", e.message().lines().next().unwrap()),
        Ok(_) => {
            let program = t.finish(Value::List(Vec::new())).unwrap();

            let text = oxport_ir::print::readable(&program);
            let line =
                text.lines().find_map(|l| l.trim().split_once(" = torch.ops.").map(|(_, call)| call)).unwrap_or("");
            format!("torch.ops.{}", line.split(';').next().unwrap())
        }
    }
}

#[test]
fn calls_become_the_nodes_of_pytorch() {
    let rows: Vec<(&str, &str)> = include_str!("calls.tsv").lines().map(|l| l.split_once('\t').unwrap()).collect();
    assert!(rows.len() > 200);
    let mut wrong = String::new();
    for (call, expected) in rows {
        let got = traced(call);
        if got != expected {
            wrong += &format!("{call}\n  PyTorch: {expected}\n  here:    {got}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
