//! The rule table: every rule passes the test of `oxport::rule_test`, and a condition is there only if that test fails
//! without it.

mod fire;
mod killed;
mod mutants;
mod planted;
mod text;
mod tree;

use oxport::{DType, registry};
use oxport_ir::Argument;
use oxport_rewrite::rule::{Rule, rule};
use oxport_rewrite::rules;
use oxport_rewrite::term::Term;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rounding rules are tried on the same numbers every time; `SEED` gives others, to look for what those do not show.
static SEED: LazyLock<u64> =
    LazyLock::new(|| std::env::var("SEED").map_or(0, |s| s.parse().expect("SEED is a number from 0 on")));

/// As [`oxport::rule_test::check`].
fn check(rule: &Rule) -> Result<usize, String> {
    oxport::rule_test::check(rule, *SEED).map_err(|e| e.to_string())
}

fn named(name: &str) -> &'static Rule {
    rules::all().chain(rules::commuting()).find(|r| r.name == name).expect("law: the name came from the table")
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

/// `RULE=attention` tries the rules of that name alone.
fn chosen(rule: &&Rule) -> bool {
    static ONLY: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("RULE").ok());
    ONLY.as_ref().is_none_or(|only| rule.name.contains(only.as_str()))
}

#[test]
fn every_rule_is_sound() {
    let fired = AtomicUsize::new(0);
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
    assert!(std::env::var("RULE").is_ok() || fired >= 5000, "the rules fired on {fired} instances only");
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
