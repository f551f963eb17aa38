//! Proofs that were tampered with, each in one place, such that it cannot be a proof any more.

use super::{Proved, check, prove, read};
use crate::root;
use oxport::rewrite::proof::closure::{Closure, TermId};
use oxport::rewrite::proof::{Entry, Rules, Step, Value};
use oxport::rewrite::rules;
use oxport::{Argument, ExportedProgram, Opt, Proof, StateTensor, Target, Tensor};
use std::collections::HashMap;

/// The programs, by folder, with how they are optimized: all have steps.
const PROGRAMS: &[(&str, Opt, bool)] = &[
    ("mlp_core", Opt::Fast, true),
    ("cnn_bn_eval", Opt::Fast, true),
    ("bert_encoder", Opt::Fast, false),
    ("llama_block", Opt::Fast, true),
    ("vit_small", Opt::Fast, true),
    ("autocast_composites", Opt::Exact, true),
    ("gpt2_causal", Opt::Fast, true),
];

/// A generator of numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// The classes of a proof's terms once all of its steps are made.
fn classes(proof: &Proof) -> Vec<TermId> {
    let mut closure: Closure<String> = Closure::new();
    let mut ids: Vec<TermId> = Vec::new();
    for entry in &proof.terms {
        let (head, args): (String, &[u32]) = match entry {
            Entry::Call(op, args) => (op.clone(), args),
            Entry::List(items) => ("list".to_string(), items),
            Entry::Storage(of) => ("storage".to_string(), std::slice::from_ref(of)),
            leaf => (format!("{leaf:?}"), &[]),
        };
        let args: Vec<TermId> = args.iter().map(|&a| ids[a as usize]).collect();
        ids.push(closure.add(head, &args));
    }
    for step in &proof.steps {
        let pairs = match step {
            Step::Rule { before, after, .. } => vec![(*before, *after)],
            Step::Merge { pairs, .. } => pairs.clone(),
            Step::Fold { .. } => Vec::new(),
        };
        for (a, b) in pairs {
            closure.unite(ids[a as usize], ids[b as usize], 0);
        }
    }
    ids.into_iter().map(|id| closure.find(id)).collect()
}

/// The operator at the root of a rule's left side.
fn root_of(name: &str) -> Option<&'static str> {
    let rule = rules::all().find(|r| r.name == name)?;
    rule.left.trim_start_matches('(').split(' ').next()
}

/// Another value of the same kind.
fn another(value: &Value) -> Value {
    match value {
        Value::None => Value::Int(3),
        Value::Int(n) => Value::Int(n.wrapping_add(1)),
        Value::Float(x) => Value::Float(x * 2.0 + 1.0),
        Value::Bits(bits) => Value::Float(*bits as f64),
        Value::Bool(b) => Value::Bool(!b),
        Value::Complex(re, im) => Value::Complex(*im, re ^ 1),
        Value::Str(s) => Value::Str(format!("{s}!")),
        Value::Dtype(name) if name == "float32" => Value::Dtype("float64".to_string()),
        Value::Dtype(_) => Value::Dtype("float32".to_string()),
        Value::Layout(_) => Value::None,
        Value::MemoryFormat(name) if name == "contiguous_format" => Value::MemoryFormat("channels_last".to_string()),
        Value::MemoryFormat(_) => Value::MemoryFormat("contiguous_format".to_string()),
        Value::Device(kind, index) => Value::Device(format!("{kind}x"), *index),
    }
}

/// Proofs with one step changed, and what was.
fn steps(proof: &Proof, draw: &mut Draw) -> Vec<(String, Proof)> {
    let classes = classes(proof);
    let names: Vec<&str> = rules::all().map(|r| r.name).collect();
    let mut found: Vec<(String, Proof)> = Vec::new();
    let other = |draw: &mut Draw, than: u32| {
        let i = draw.below(proof.terms.len());
        (classes[i] != classes[than as usize]).then_some(i as u32)
    };
    for (at, step) in proof.steps.iter().enumerate() {
        let mut tamper = |what: String, step: Option<Step>| {
            let mut tampered = proof.clone();
            match step {
                Some(step) => tampered.steps[at] = step,
                None => drop(tampered.steps.remove(at)),
            }
            found.push((format!("step {at}: {what}"), tampered));
        };
        tamper("left out".to_string(), None);
        match step {
            Step::Rule { name, before, after, with } => {
                let rename = |name: &str| Step::Rule {
                    name: name.to_string(),
                    before: *before,
                    after: *after,
                    with: with.clone(),
                };
                for _ in 0..4 {
                    let new = names[draw.below(names.len())];
                    if root_of(new) != root_of(name) && !new.contains("commutes") {
                        tamper(format!("{new} instead of {name}"), Some(rename(new)));
                    }
                }
                for _ in 0..3 {
                    if let Some(i) = other(draw, *before) {
                        let step = Step::Rule { name: name.clone(), before: i, after: *after, with: with.clone() };
                        tamper(format!("{i} before"), Some(step));
                    }
                    if let Some(i) = other(draw, *after) {
                        let step = Step::Rule { name: name.clone(), before: *before, after: i, with: with.clone() };
                        tamper(format!("{i} after"), Some(step));
                    }
                }
                if before != after {
                    let step = Step::Rule { name: name.clone(), before: *after, after: *before, with: with.clone() };
                    tamper("turned".to_string(), Some(step));
                }
                for (variable, i) in with {
                    let mut with = with.clone();
                    with.remove(variable);
                    let step = |with| Step::Rule { name: name.clone(), before: *before, after: *after, with };
                    tamper(format!("without {variable}"), Some(step(with.clone())));
                    if let Some(new) = other(draw, *i) {
                        with.insert(variable.clone(), new);
                        tamper(format!("{new} for {variable}"), Some(step(with)));
                    }
                }
            }
            Step::Merge { name, pairs } => {
                let step = |pairs| Step::Merge { name: name.clone(), pairs };
                tamper("one product less".to_string(), Some(step(pairs[1..].to_vec())));
                tamper("products turned".to_string(), Some(step(pairs.iter().rev().copied().collect())));
                let mut parts = pairs.clone();
                (parts[0].1, parts[1].1) = (parts[1].1, parts[0].1);
                tamper("parts exchanged".to_string(), Some(step(parts)));
                tamper("another rule".to_string(), Some(Step::Merge { name: "merge-mm".into(), pairs: pairs.clone() }));
            }
            Step::Fold { term, constant, tensor } => {
                let mut hash = tensor.clone();
                hash.hash = hash.hash.replace('0', "1").replace(|c: char| c != '1', "0");
                let step = |term, tensor| Step::Fold { term, constant: constant.clone(), tensor };
                tamper("another hash".to_string(), Some(step(*term, hash)));
                let mut sizes = tensor.clone();
                sizes.sizes.push(1);
                tamper("other sizes".to_string(), Some(step(*term, sizes)));
                if let Some(i) = other(draw, *term) {
                    tamper(format!("{i} computed"), Some(step(i, tensor.clone())));
                }
                let (constant, tensor) = (format!("{constant}x"), tensor.clone());
                tamper("another constant".to_string(), Some(Step::Fold { term: *term, constant, tensor }));
            }
        }
    }
    found
}

/// Proofs with one term changed, and what was.
fn terms(proof: &Proof) -> Vec<(String, Proof)> {
    let mut found = Vec::new();
    for (at, entry) in proof.terms.iter().enumerate() {
        let new = match entry {
            Entry::Value(value) => Entry::Value(another(value)),
            Entry::Call(op, args) => Entry::Call(format!("{op}_x"), args.clone()),
            Entry::List(items) => Entry::List(items.iter().copied().chain(items.first().copied()).collect()),
            Entry::Node(name) => Entry::Node(format!("{name}_x")),
            Entry::Constant(name) => Entry::Constant(format!("{name}_x")),
            Entry::Storage(_) => continue,
        };
        if new == *entry {
            continue;
        }
        let mut tampered = proof.clone();
        tampered.terms[at] = new;
        found.push((format!("term {at}: {entry:?}"), tampered));
    }
    found
}

/// Other programs: a number of a call, or an element of a weight, is another one.
fn others(program: &ExportedProgram) -> Vec<(String, ExportedProgram)> {
    let mut found = Vec::new();
    for (id, node) in program.graph.nodes().filter(|(_, n)| n.op().is_some()) {
        let is_number = |a: &Argument| matches!(a, Argument::Float(_));
        let Some(at) = node.args.iter().position(is_number) else { continue };
        let mut other = program.clone();
        let mut args = node.args.clone();
        args[at] = Argument::Float(0.25);
        if args != node.args {
            other.graph.set_args(id, args, node.kwargs.clone());
            found.push((format!("a number of {}", node.name), other));
        }
    }
    for ((id, _), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        // What nothing reads may be anything.
        let read = spec.kind.lifted().filter(|_| !program.graph.users(id).is_empty());
        let Some((name, state)) = read.and_then(|name| program.state.get_key_value(name)) else { continue };
        let Ok(mut elements) = state.tensor.to_vec::<f32>() else { continue };
        if state.tensor.dtype() != oxport::DType::F32 || elements.is_empty() {
            continue;
        }
        elements[0] += 1.0;
        let Ok(tensor) = Tensor::from_vec(state.tensor.sizes(), elements) else { continue };
        let mut other = program.clone();
        other.state.insert(name.clone(), StateTensor { tensor, ..state.clone() });
        found.push((format!("an element of {name}"), other));
    }
    found
}

/// All that is made of one proof.
fn tampered(proved: &Proved, draw: &mut Draw) -> Vec<(String, Proved)> {
    let with = |proof: Proof| Proved { before: proved.before.clone(), after: proved.after.clone(), proof };
    let mut found: Vec<(String, Proved)> =
        steps(&proved.proof, draw).into_iter().chain(terms(&proved.proof)).map(|(what, p)| (what, with(p))).collect();
    let mut none = proved.proof.clone();
    none.steps.clear();
    found.push(("no steps".to_string(), with(none)));
    let mut format = proved.proof.clone();
    format.format.push('0');
    found.push(("another format".to_string(), with(format)));
    for (what, after) in others(&proved.after) {
        found.push((what, Proved { before: proved.before.clone(), after, proof: proved.proof.clone() }));
    }
    let rounding: HashMap<&str, bool> =
        rules::all().map(|r| (r.name, r.soundness == oxport::rewrite::rule::Soundness::Rounding)).collect();
    let rounds = |step: &Step| matches!(step, Step::Rule { name, .. } if rounding.get(name.as_str()) == Some(&true));
    if proved.proof.steps.iter().any(rounds) {
        found.push(("equal bits".to_string(), with(Proof { rules: Rules::Exact, ..proved.proof.clone() })));
    }
    if proved.proof.frozen {
        found.push(("any weights".to_string(), with(Proof { frozen: false, ..proved.proof.clone() })));
    }
    found
}

#[test]
fn what_was_tampered_with_is_refused() {
    let mut draw = Draw(17);
    let (mut count, mut accepted, mut proofs) = (0, Vec::new(), Vec::new());
    for &(name, opt, frozen) in PROGRAMS {
        let program = read(&root().join("fixtures/programs").join(name)).expect("a program");
        let proved = prove(&program, (opt, frozen, Target::Aten)).expect("a proof");
        assert!(!proved.proof.steps.is_empty(), "{name} has no steps");
        check(&proved).expect("the proof is accepted");
        let mut found = tampered(&proved, &mut draw);
        // As many of each program, from everywhere in its proof.
        let step = found.len().div_ceil(220);
        found = found.into_iter().enumerate().filter(|(i, _)| i % step == 0).map(|(_, t)| t).collect();
        for (what, tampered) in found {
            count += 1;
            if check(&tampered).is_ok() {
                accepted.push(format!("{name}: {what}"));
            }
        }
        proofs.push((name, proved));
    }
    // Proofs of other programs.
    for (name, proved) in &proofs {
        for (other, of_other) in proofs.iter().filter(|(other, _)| other != name) {
            count += 1;
            let proof = of_other.proof.clone();
            let mixed = Proved { before: proved.before.clone(), after: proved.after.clone(), proof };
            if check(&mixed).is_ok() {
                accepted.push(format!("{name}: the proof of {other}"));
            }
        }
    }
    assert!(accepted.is_empty(), "{} of {count} are accepted:\n{}", accepted.len(), accepted.join("\n"));
    assert!(count >= 1000, "{count} proofs were tampered with");
}
