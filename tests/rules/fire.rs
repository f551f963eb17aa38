//! A rule that fires in none of the kept programs says which published optimizer or model it is for.

use crate::root;
use oxport::{Limits, Model, Opt};
use oxport_rewrite::rules;
use std::collections::HashSet;

#[test]
fn a_rule_fires_or_says_what_it_is_for() {
    let mut fired: HashSet<String> = HashSet::new();
    for dir in std::fs::read_dir(root().join("fixtures/programs")).expect("law: the fixtures are checked in").flatten()
    {
        let program = oxport::read(dir.path().join("program.pt2")).expect("a fixture");
        for (frozen, form) in [(false, oxport::functionalize(&program)), (true, oxport::decompose(&program))] {
            let model = Model { frozen, ..Model::default() };
            let limits = Limits { model, grow: f64::INFINITY, ..Limits::default() };
            let (_, report) =
                oxport::optimize(&form.expect("a form"), Opt::Fast, &limits).expect("an optimized program");
            fired.extend(report.rules.into_keys());
        }
    }
    let wrong = rules::all().filter(|rule| fired.contains(rule.name) != rule.stands_for.is_empty());
    let wrong: Vec<&str> = wrong.map(|rule| rule.name).collect();
    assert!(wrong.is_empty(), "these rules fire and say what they are for, or do neither: {wrong:?}");
}
