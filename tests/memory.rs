//! What rules that remember find, against what egg finds, in e-graphs that are made and united at random.

use egg::{Id, PatternAst, Rewrite, SearchMatches, Subst};
use oxport::registry;
use oxport_rewrite::forms;
use oxport_rewrite::rule::{Rule, rule};
use oxport_rewrite::term::{Constant, Term};
use oxport_rewrite::typing::{Graph, Typing};
use oxport_sym::ShapeEnv;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::Cell;

/// From patterns of one level to some that are deeper than what is remembered; with forms, families and constants.
static RULES: [Rule; 14] = [
    rule("flat", "(neg ?x)", "?x"),
    rule("two", "(neg (abs ?x))", "?x"),
    rule("three", "(neg (abs (neg ?x)))", "?x"),
    rule("orders", "(add.Tensor ?x (neg ?y) 1)", "?x"),
    rule("another-constant", "(add.Tensor ?x ?y 2)", "?x"),
    rule("twice", "(mul.Tensor ?x ?x)", "?x"),
    rule("twice-below", "(add.Tensor (mul.Tensor ?x ?y) ?x 1)", "?x"),
    rule("both-sides", "(mul.Tensor (add.Tensor ?x ?y 1) (neg ?y))", "?x"),
    rule("list", "(cat (list ?x (neg ?y)) 0)", "?x"),
    rule("family", "(~exact (mul.Tensor ?x ?y))", "?x"),
    rule("named", "(neg|abs (add.Tensor ?x ?y 1))", "?x"),
    rule("absent", "(sin (neg ?x))", "?x"),
    rule("seven", "(neg (neg (neg (neg (neg (neg (neg (abs ?x))))))))", "?x"),
    rule("deep", "(abs (neg (neg (neg (neg (neg (neg (neg (neg (neg (neg ?x)))))))))))", "?x"),
];

/// What is done to an e-graph. Classes are told by numbers of terms, which are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    Add(usize, usize, usize),
    Unite(usize, usize),
    /// All rules are searched: for as many matches.
    Search(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let limit = prop_oneof![3 => Just(usize::MAX), 1 => 0..6usize];
    prop_oneof![
        6 => (0..8usize, any::<usize>(), any::<usize>()).prop_map(|(op, a, b)| Step::Add(op, a, b)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Unite(a, b)),
        2 => limit.prop_map(Step::Search),
    ]
}

fn add(graph: &mut Graph<'_>, op: usize, a: Id, b: Id) -> Id {
    let mut number = |n: i64| graph.add(Term::Const(Constant::Int(n)));
    let [zero, one, two] = [0, 1, 2].map(&mut number);
    let call = |name: &str, kids: Vec<Id>| Term::Op(name.into(), kids.into());
    let term = match op {
        0 | 1 => call("aten::neg", vec![a]),
        2 => call("aten::abs", vec![a]),
        3 => call("aten::add.Tensor", vec![a, b, one]),
        4 => call("aten::add.Tensor", vec![a, b, two]),
        5 => call("aten::mul.Tensor", vec![a, b]),
        6 => call("aten::mul.Tensor", vec![a, a]),
        _ => {
            let list = graph.add(Term::List(vec![a, b].into()));
            call("aten::cat", vec![list, zero])
        }
    };
    graph.add(term)
}

/// Matches one by one.
fn listed(found: Vec<SearchMatches<'_, Term>>) -> Vec<(Id, Subst, PatternAst<Term>)> {
    let of = |found: SearchMatches<'_, Term>| {
        let (class, ast) = (found.eclass, found.ast.expect("a pattern").into_owned());
        found.substs.into_iter().map(move |subst| (class, subst, ast.clone()))
    };
    found.into_iter().flat_map(of).collect()
}

/// How many matches were compared.
///
/// # Errors
/// The first difference.
fn compare(steps: &[Step]) -> Result<usize, TestCaseError> {
    let mut graph: Graph<'_> = egg::EGraph::new(Typing::new(registry(), ShapeEnv::new(), false));
    let mut ids: Vec<Id> = (0..3).map(|leaf| graph.add(Term::Leaf(leaf))).collect();
    let both = |(number, rule): (usize, &Rule)| (rule.remembered(number), rule.compile(registry()));
    let rules: Vec<(Rewrite<_, _>, Rewrite<_, _>)> = RULES.iter().enumerate().map(both).collect();
    let mut count = 0;
    for step in steps {
        match *step {
            Step::Add(op, a, b) => {
                let [a, b] = [a, b].map(|i| ids[i % ids.len()]);
                ids.push(add(&mut graph, op, a, b));
            }
            Step::Unite(a, b) => {
                graph.union(ids[a % ids.len()], ids[b % ids.len()]);
            }
            Step::Search(limit) => {
                graph.rebuild();
                forms::begin_round(&graph);
                for (remembered, plain) in &rules {
                    let mut expected = listed(plain.searcher.search_with_limit(&graph, usize::MAX));
                    expected.truncate(limit);
                    let found = listed(remembered.searcher.search_with_limit(&graph, limit));
                    prop_assert_eq!(&found, &expected, "{}", plain.name);
                    count += found.len();
                }
            }
        }
    }
    Ok(count)
}

#[test]
fn what_is_remembered_is_what_egg_finds() {
    let seed = RngSeed::Fixed(16);
    let config = ProptestConfig { cases: 600, failure_persistence: None, rng_seed: seed, ..ProptestConfig::default() };
    let count = Cell::new(0);
    let checked = TestRunner::new(config).run(&prop::collection::vec(step(), 1..70), |steps| {
        count.set(count.get() + compare(&steps)?);
        Ok(())
    });
    checked.unwrap_or_else(|e| panic!("{e}"));
    assert!(count.get() > 20_000, "{} matches", count.get());
}
