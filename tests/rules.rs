//! The rule table: every rule fires on its example, keeps types, and computes the same values; bitwise rules to the bit,
//! on awkward numbers too.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{ExportedProgram, Fake, Opt, PlanOptions, Tensor, Value, registry};
use oxport_ir::{Argument, Kwargs, NodeId};
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::rules;
use oxport_rewrite::term::Term;
use oxport_testkit::samples;
use std::collections::HashMap;

/// The left side of a rule as a program over its example.
fn left(rule: &Rule) -> Result<(ExportedProgram, Vec<Tensor>), String> {
    let mut b = oxport::ProgramBuilder::new(registry());
    let mut bound: HashMap<String, Argument> = HashMap::new();
    let mut tensors = Vec::new();
    for given in samples::split(rule.given) {
        let (name, text) = given.split_once(": ").ok_or(format!("`{given}` is no typed variable"))?;
        let sample = samples::parse(text)?;
        let item = sample.args.first().ok_or("an example without a value")?;
        // A variable is at most one tensor.
        let argument = match sample.tensors.first() {
            Some(t) => {
                tensors.push(t.clone());
                b.input(name, Fake::of(t)).map_err(|e| e.to_string())?.into()
            }
            None => item.argument(&|_| Argument::None),
        };
        bound.insert(format!("?{name}"), argument);
    }
    let pattern: egg::Pattern<Term> = rule.left.parse().map_err(|e| format!("{e:?}"))?;
    let mut values: Vec<Argument> = Vec::new();
    for node in pattern.ast.as_ref() {
        let value = match node {
            egg::ENodeOrVar::Var(v) => bound.get(&v.to_string()).cloned().ok_or(format!("{v} has no example"))?,
            egg::ENodeOrVar::ENode(Term::Const(c)) => c.argument(),
            egg::ENodeOrVar::ENode(Term::List(kids)) => {
                Argument::List(kids.iter().map(|k| values[usize::from(*k)].clone()).collect())
            }
            egg::ENodeOrVar::ENode(Term::Op(name, kids)) => {
                let op = registry().op(name.as_str());
                let schema = op.schema().ok_or(format!("no operator {name}"))?;
                let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
                for (param, kid) in schema.args.iter().zip(kids.iter()) {
                    let value = values[usize::from(*kid)].clone();
                    if param.kw_only { drop(kwargs.insert((*param.name).into(), value)) } else { args.push(value) }
                }
                let call = b.calls().call_op(&op, args, kwargs);
                call.map_err(|e| format!("the left side: {e}"))?.into()
            }
            egg::ENodeOrVar::ENode(Term::Leaf(_)) => return Err("a leaf in a pattern".to_string()),
        };
        values.push(value);
    }
    let root: NodeId = values.last().and_then(Argument::as_node).ok_or("the left side is no call")?;
    Ok((b.finish(&[root]).map_err(|e| e.to_string())?, tensors))
}

fn run(program: &ExportedProgram, inputs: &[Tensor]) -> Result<Value, String> {
    let run = || -> oxport::Result<Value> {
        let plan =
            oxport::plan(&oxport::prepare(program, Opt::None)?, &PlanOptions { threads: 1, ..Default::default() })?;
        Ok(plan.run(inputs.iter().cloned().map(Value::Tensor).collect())?.user.remove(0))
    };
    run().map_err(|e| e.to_string())
}

/// Values for the example's tensors: awkward ones for bitwise rules; the example's own ranges for rounding rules.
fn drawn(like: &[Tensor], soundness: Soundness, seed: u64) -> Vec<Tensor> {
    let one = |(i, t): (usize, &Tensor)| {
        if seed == 0 || soundness == Soundness::Rounding || !t.dtype().is_float() {
            return t.clone();
        }
        let values = samples::awkward(t.numel(), seed * 31 + i as u64);
        Tensor::from_vec(t.sizes(), values).expect("law: as many values as elements").to_dtype(t.dtype()).unwrap()
    };
    like.iter().enumerate().map(one).collect()
}

#[test]
fn every_rule_is_sound() {
    all(rules::all().map(|r| r.name), |name| {
        let rule = rules::all().find(|r| r.name == *name).expect("law: the name came from the table");
        let (program, tensors) = left(rule)?;
        let applied = oxport_rewrite::apply(&program, registry(), rule).map_err(|e| e.to_string())?;
        let right = applied.ok_or("it does not fire on its example")?;
        if let Some(d) = oxport::verify(&right).first() {
            return Err(format!("the right side is not valid: {d}"));
        }
        for seed in 0..40 {
            let inputs = drawn(&tensors, rule.soundness, seed);
            let (a, b) = (run(&program, &inputs)?, run(&right, &inputs)?);
            let tolerance = match rule.soundness {
                Soundness::Bitwise => Tolerance::Exact,
                Soundness::Rounding => Tolerance::default(),
            };
            let c = compare(&b, &a, tolerance);
            if !c.agree {
                return Err(format!("seed {seed}: {}", c.detail));
            }
        }
        Ok(())
    });
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = rules::all().map(|r| r.name).collect();
    let count = names.len();
    assert!(count >= 30, "there are at least thirty rules");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two rules share a name");
}

#[test]
fn what_is_not_sound_is_not_there() {
    // x + 0 is not x for x = −0; the rule for integers must not fire on floats.
    let rule = rules::all().find(|r| r.name == "add-0-int").expect("law: the rule is in the table");
    let float = Rule { given: "x: f32[4]", ..*rule };
    let (program, _) = left(&float).expect("law: x + 0 is a program");
    assert!(oxport_rewrite::apply(&program, registry(), rule).expect("law: matching cannot fail").is_none());
}
