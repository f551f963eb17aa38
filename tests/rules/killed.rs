//! Every mutant of every rule is killed by the rule test, or is listed as equal to the rule, with the reason.

use super::mutants::{Class, Mutant, mutants};
use super::{SEED, chosen, every, named};
use oxport::rule_test::{Case, Left, Outcome, Trial};
use oxport_rewrite::condition::Condition;
use oxport_rewrite::rule::Rule;
use oxport_rewrite::rules;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// What becomes of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Both sides differ.
    Killed,
    /// The right side is no program, or fails.
    Fails,
    /// It does not fire on the example, because the sides have other types.
    Refused,
    /// The rule test finds nothing, as a list says.
    Listed,
    /// The rule test finds nothing.
    Survives,
}

/// What is derived from the example of a rule: left sides are made when they are needed, and kept.
struct Bench {
    rule: Rule,
    trial: Trial,
    cases: Vec<Case>,
    lefts: Vec<OnceCell<Option<Left>>>,
}

impl Bench {
    fn of(rule: &Rule) -> Result<Bench, String> {
        let trial = Trial::of(rule, *SEED)?;
        let cases = trial.cases()?;
        Ok(Bench { rule: *rule, trial, lefts: cases.iter().map(|_| OnceCell::new()).collect(), cases })
    }

    /// True if a rule has the same left side in every case.
    fn fits(&self, rule: &Rule) -> bool {
        // Tensors whose elements must be known to be finite are made so.
        let finite =
            |rule: &Rule| rule.when.iter().filter(|c| matches!(c, Condition::Finite(_))).copied().collect::<Vec<_>>();
        let key = |rule: &Rule| (rule.left, rule.given, rule.against, finite(rule));
        key(&self.rule) == key(rule)
    }

    fn outcome(&self, rewrite: &Rewrite, at: usize) -> Result<Outcome, String> {
        let left = self.lefts[at].get_or_init(|| self.trial.left(&self.cases[at]).ok().flatten());
        left.as_ref().map_or(Ok(Outcome::Nothing), |left| left.judge(rewrite))
    }

    /// Tries a mutant on the example; then on what killed others; then where its own variable is varied; then, unless
    /// that is enough, on the rest.
    fn fate(&self, mutant: &Mutant, killers: &mut Vec<Case>, is_brief: bool) -> Result<(Fate, String), String> {
        let rewrite = Trial::of(&mutant.rule, *SEED)?.rewrite();
        let (plain, rest): (Vec<usize>, Vec<usize>) = (0..self.cases.len()).partition(|&i| self.cases[i].is_plain());
        let mut fires = false;
        let place = |at: usize| killers.iter().position(|killer| *killer == self.cases[at]);
        let varies = |at: usize| mutant.fresh.is_some_and(|fresh| self.cases[at].varies(fresh));
        let (likely, others) = (killers.len(), killers.len() + 1);
        let mut rest: Vec<(usize, usize)> =
            rest.into_iter().map(|at| (place(at).unwrap_or(if varies(at) { likely } else { others }), at)).collect();
        rest.sort_unstable();
        rest.retain(|(rank, _)| !is_brief || *rank <= likely);
        for at in plain.into_iter().chain(rest.into_iter().map(|(_, at)| at)) {
            let is_plain = self.cases[at].is_plain();
            if !is_plain && !fires {
                return Ok((Fate::Refused, String::new()));
            }
            let (fate, how) = match self.outcome(&rewrite, at) {
                Ok(Outcome::Nothing) => continue,
                Ok(Outcome::Agrees) => {
                    fires = true;
                    continue;
                }
                Ok(Outcome::Differs(how)) if how.contains("the right side") => (Fate::Fails, how),
                Ok(Outcome::Differs(how)) => (Fate::Killed, how),
                Err(how) if is_plain => (Fate::Fails, how),
                Err(_) => continue,
            };
            let case = self.cases[at].clone();
            let how = self.trial.failure(&case, how).to_string();
            killers.retain(|k| *k != case);
            killers.insert(0, case);
            return Ok((fate, how));
        }
        Ok((if fires { Fate::Survives } else { Fate::Refused }, String::new()))
    }
}

type Rewrite = egg::Rewrite<oxport_rewrite::term::Term, oxport_rewrite::typing::Typing<'static>>;

/// Mutants that are no mistakes, and those that are none in our kernels: lines in which `*` stands for anything.
const EQUAL: [&str; 2] = [include_str!("equivalent.txt"), include_str!("equal_here.txt")];

/// Whether a text is as a pattern says, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut words = pattern.split('*');
    let first = words.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pattern.rsplit('*').next().filter(|_| pattern.contains('*')) else { return rest.is_empty() };
    let middle: Vec<&str> = words.collect();
    for word in &middle[..middle.len() - 1] {
        let Some(at) = rest.find(word) else { return false };
        rest = &rest[at + word.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// How many mutants of a class have each fate.
type Counts = BTreeMap<Class, BTreeMap<Fate, usize>>;

fn print(counts: &Counts) {
    let fates = [Fate::Killed, Fate::Fails, Fate::Refused, Fate::Listed];
    let row = |name: String, cell: &dyn Fn(&Fate) -> String| {
        println!("{name:<12}{}", fates.iter().map(|fate| format!("{:>9}", cell(fate))).collect::<String>());
    };
    row(String::new(), &|fate| format!("{fate:?}"));
    for (class, of) in counts {
        row(format!("{class:?}"), &|fate| of.get(fate).unwrap_or(&0).to_string());
    }
}

#[test]
fn every_mutant_is_killed() {
    let lines = EQUAL.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    let used: Mutex<BTreeSet<usize>> = Mutex::default();
    let counts: Mutex<Counts> = Mutex::default();
    let names: Vec<&str> = rules::all().chain(rules::commuting()).filter(chosen).map(|r| r.name).collect();
    let [is_shown, is_long] = ["SHOW", "LONG"].map(|name| std::env::var(name).is_ok());
    every(&names, |name| {
        let rule = named(name);
        let bench = Bench::of(rule)?;
        let mut killers: Vec<Case> = Vec::new();
        let like = |mutant: &Mutant| -> Vec<usize> {
            let text = mutant.to_string();
            (0..lines.len()).filter(|&line| is_like(lines[line], &text)).collect()
        };
        // What is listed comes last, when it is known which cases tell mutants apart: it is tried on those.
        let (listed, others): (Vec<_>, Vec<_>) =
            mutants(rule).into_iter().map(|m| (like(&m), m)).partition(|(lines, _)| !lines.is_empty());
        let mut wrong = Vec::new();
        for (listed, mutant) in others.into_iter().chain(listed) {
            let own = if bench.fits(&mutant.rule) { None } else { Some(Bench::of(&mutant.rule)?) };
            let is_brief = !listed.is_empty() && !is_long;
            let (mut fate, how) = own.as_ref().unwrap_or(&bench).fate(&mutant, &mut killers, is_brief)?;
            match (&fate, &listed[..]) {
                (Fate::Survives, []) => wrong.push(format!("it survives: {mutant}")),
                (Fate::Survives, _) => fate = Fate::Listed,
                (_, []) => {}
                (fate, [line, ..]) => wrong.push(format!("it is {fate:?}, but listed as `{}`: {mutant}", lines[*line])),
            }
            if is_shown {
                println!("{fate:?} {mutant} {how}");
            }
            used.lock().expect("law: no check panics").extend(listed);
            let mut counts = counts.lock().expect("law: no check panics");
            *counts.entry(mutant.class).or_default().entry(fate).or_default() += 1;
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n    ")) }
    });
    let counts = counts.into_inner().expect("law: no check panics");
    print(&counts);
    if names.len() == rules::all().chain(rules::commuting()).count() {
        let used = used.into_inner().expect("law: no check panics");
        let stale: Vec<&str> = (0..lines.len()).filter(|line| !used.contains(line)).map(|line| lines[line]).collect();
        assert!(stale.is_empty(), "these lines are like no mutant:\n{}", stale.join("\n"));
        let count: usize = counts.values().flat_map(BTreeMap::values).sum();
        assert!(count >= 2000, "there are {count} mutants only");
    }
}
