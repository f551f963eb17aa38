//! The rule table: from a rule's example instances are derived, over dtypes, sizes, layouts, symbolic sizes and
//! constants. Wherever the rule fires, both sides are valid, of one type, and compute the same: to the bit for bitwise
//! rules, with the extreme values of the dtype. A condition is there only if some instance fails without it.

mod instance;
mod judge;
mod planted;
mod variation;

use instance::instance;
use judge::{Outcome, Tried, judge};
use oxport::{DType, registry};
use oxport_ir::Argument;
use oxport_rewrite::forms::{Form, Forms};
use oxport_rewrite::rule::{Rule, Soundness, rule};
use oxport_rewrite::rules;
use oxport_rewrite::term::Term;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use variation::{Variation, few, orders, variations};

fn named(name: &str) -> &'static Rule {
    rules::all().chain(rules::commuting()).find(|r| r.name == name).expect("law: the name came from the table")
}

fn forms(rule: &Rule) -> Result<Arc<Forms>, String> {
    Forms::of(rule, registry()).map(Arc::new)
}

fn tried(rule: &Rule, forms: &Arc<Forms>) -> Tried {
    Tried { soundness: rule.soundness, rewrite: rule.rewrite(forms.clone()) }
}

/// What becomes of a form of a rule, varied.
fn outcome(rule: &Rule, form: &Form, tried: &Tried, variation: &Variation) -> Result<Outcome, String> {
    let made = instance(rule, form, variation)?;
    let is_rounded = rule.soundness == Soundness::Rounding && variation.rest.is_none();
    let wide = Variation { dtype: Some(DType::F64), ..variation.clone() };
    let exact = is_rounded.then(|| instance(rule, form, &wide).ok()).flatten();
    judge(tried, &made, exact.as_ref())
}

/// The first difference that a rule makes on what is derived from its example; else how many instances it fires on.
fn check(rule: &Rule) -> Result<usize, String> {
    let forms = forms(rule)?;
    let tried = tried(rule, &forms);
    let is_family = rule.left.contains(['~', '|']);
    let mut fired = 0;
    for (at, form) in forms.0.iter().enumerate() {
        // What differs between forms is operators, or the order of operands, which types do not depend on.
        let all = match (at, is_family) {
            (0, _) => variations(rule)?,
            (_, true) => few(),
            (_, false) => orders(),
        };
        // Dtypes for which the rule fires neither on the example's sizes nor on others are not looked at further.
        let mut idle: HashMap<Option<DType>, i64> = HashMap::new();
        for (i, variation) in all.iter().enumerate() {
            let is_plain = variation.constant.is_none() && variation.rest.is_none() && variation.given.is_none();
            if is_plain && idle.get(&variation.dtype).is_some_and(|n| *n >= 4) {
                continue;
            }
            let outcome = match outcome(rule, form, &tried, variation) {
                Err(e) if i == 0 && at == 0 && !is_family => return Err(e),
                Err(_) => Outcome::Nothing,
                Ok(outcome) => outcome,
            };
            match outcome {
                Outcome::Differs(how) => return Err(format!("{variation:?} of {:?}: {how}", operators(form))),
                Outcome::Nothing if i == 0 && at == 0 && !is_family => {
                    return Err("it does not fire on its example".to_string());
                }
                Outcome::Nothing if is_plain => *idle.entry(variation.dtype).or_insert(0) += 1,
                Outcome::Nothing => {}
                Outcome::Agrees => {
                    idle.insert(variation.dtype, i64::MIN);
                    fired += 1;
                }
            }
        }
    }
    if fired == 0 { Err("it fires on nothing".to_string()) } else { Ok(fired) }
}

fn operators(form: &Form) -> Vec<&'static str> {
    let name = |node: &egg::ENodeOrVar<Term>| match node {
        egg::ENodeOrVar::ENode(Term::Op(name, _)) => Some(name.as_str()),
        _ => None,
    };
    form.left.ast.as_ref().iter().filter_map(name).collect()
}

/// Runs a check on all items, on as many threads as there are cores, and fails with all failures at once.
fn every<T: Sync + std::fmt::Debug>(items: &[T], check: impl Fn(&T) -> Result<(), String> + Sync) {
    let next = AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(e) = check(item) {
                failures.lock().expect("law: no check panics").push(format!("{item:?}: {e}"));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut failures = failures.into_inner().expect("law: no check panics");
    failures.sort();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), items.len(), failures.join("\n"));
}

#[test]
fn every_rule_is_sound() {
    let fired = AtomicUsize::new(0);
    let only = std::env::var("RULE").ok();
    let chosen = |r: &&Rule| only.as_ref().is_none_or(|o| r.name.contains(o.as_str()));
    let names: Vec<&str> = rules::all().chain(rules::commuting()).filter(chosen).map(|r| r.name).collect();
    every(&names, |name| {
        let start = std::time::Instant::now();
        let result = check(named(name));
        println!("{name}: {result:?} in {:.1?}", start.elapsed());
        fired.fetch_add(result?, Ordering::Relaxed);
        Ok(())
    });
    let fired = fired.into_inner();
    println!("{} rules, {fired} instances", names.len());
    assert!(only.is_some() || fired >= 5000, "the rules fired on {fired} instances only");
}

/// Conditions that PyTorch's kernels need and ours do not.
const NEEDED_IN_PYTORCH: &[(&str, &str)] = &[
    // Its vectorized complex negation is 0 − x: −(−(−0)) is 0.
    ("neg-neg", "Real(\"x\")"),
    // Its complex differences and squares have NaN where ours are exact, and not in every lane.
    ("sub-0", "Real(\"x\")"),
    ("pow-2", "Real(\"x\")"),
    // It says of no other bias than a vector what `linear` does with it, and refuses one of another dtype.
    ("linear-add", "Rank(\"b\", 1)"),
    ("linear-add-bias", "Rank(\"c\", 1)"),
    ("linear-add-bias", "SameDType(\"b\", \"c\")"),
    ("addmm-linear", "Rank(\"b\", 1)"),
    // Its layer norm refuses parameters narrower than the input, its attention masks of another dtype.
    ("layer-norm-weight", "SameDType(\"x\", \"w\")"),
    ("layer-norm-bias", "SameDType(\"x\", \"b\")"),
    ("attention-mask", "SameDType(\"m\", \"q\")"),
    // `convolution` takes no sample without a batch.
    ("conv1d", "SameRank(\"x\", \"w\")"),
    ("conv2d", "SameRank(\"x\", \"w\")"),
    ("conv3d", "SameRank(\"x\", \"w\")"),
    ("conv-transposed", "SameRank(\"x\", \"w\")"),
    // Its roots and powers of half-precision floats round in other places.
    ("pow-half", "Full(\"x\")"),
    ("pow-minus-half", "Full(\"x\")"),
    // Its scalar loops over what is not dense have other bits than its vectorized ones.
    ("unary-reshape", "Contiguous(\"x\")"),
    ("number-reshape", "Contiguous(\"x\")"),
];

#[test]
fn every_condition_is_needed() {
    let only = std::env::var("RULE").ok();
    let chosen = |r: &&Rule| only.as_ref().is_none_or(|o| r.name.contains(o.as_str()));
    let conditions: Vec<(&str, usize)> =
        rules::all().filter(chosen).flat_map(|r| (0..r.when.len()).map(move |i| (r.name, i))).collect();
    every(&conditions, |&(name, i)| {
        let rule = named(name);
        let condition = format!("{:?}", rule.when[i]);
        if NEEDED_IN_PYTORCH.contains(&(name, condition.as_str())) {
            return Ok(());
        }
        let mut rest = rule.when.to_vec();
        rest.remove(i);
        let without = Rule { when: rest.leak(), ..*rule };
        match check(&without) {
            Ok(_) => Err(format!("{condition} is never needed")),
            Err(_) => Ok(()),
        }
    });
}

#[test]
fn every_rule_is_well_formed() {
    for rule in rules::all().chain(rules::commuting()) {
        assert_eq!(rule.check(registry()), Ok(()), "{}", rule.name);
    }
}

/// Rules that a user may write, and what is said of them.
#[test]
fn ill_formed_rules_are_refused() {
    for (left, right, expected) in [
        ("(add.Tensor ?x ?y 1", "?x", "`(add.Tensor ?x ?y 1`: "),
        ("(ad.Tensor ?x ?y 1)", "?x", "there is no operator aten::ad.Tensor"),
        ("(neg ?x)", "(abs ?y)", "`(abs ?y)`: the left side has no ?y"),
        ("(add.Tensor ?x ?y)", "?x", "aten::add.Tensor: expected 3 arguments, got 2"),
        ("(neg ?x)", "(mylib::twice ?x)", "there is no operator mylib::twice"),
        ("(neg ?x)", "(@half ?x)", "there is no function @half"),
        ("(neg ?x)", "(@swap ?x)", "@swap: expected 3 arguments, got 1"),
        ("(@sizes ?x)", "?x", "there is no operator @sizes"),
        ("(~any ?x)", "?x", "there is no family ~any of 1 tensors"),
        ("(neg|nobody ?x)", "?x", "there is no operator aten::nobody"),
    ] {
        let refused = rule("mine", left.to_string().leak(), right.to_string().leak()).check(registry());
        let said = refused.expect_err(left);
        assert!(said.starts_with(expected), "`{left}` = `{right}`:\n    got {said}\n    expected {expected}");
    }
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

/// What stands for itself in patterns.
#[test]
fn constants_of_patterns() {
    for (text, constant) in [
        ("None", Argument::None),
        ("True", Argument::Bool(true)),
        ("False", Argument::Bool(false)),
        ("-3", Argument::Int(-3)),
        ("2.5", Argument::Float(2.5)),
        ("float32", Argument::DType(DType::F32)),
        ("contiguous_format", Argument::MemoryFormat(oxport_ir::MemoryFormat::Contiguous)),
    ] {
        let term = <Term as egg::FromOp>::from_op(text, Vec::new());
        assert!(matches!(&term, Ok(Term::Const(c)) if c.argument() == constant), "{text} is {term:?}");
    }
    assert!(<Term as egg::FromOp>::from_op("x", Vec::new()).is_err());
}
