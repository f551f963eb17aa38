//! Rules as text: what `docs/add-a-rule.md` describes for users.
//!
//! ```text
//! # a comment
//! abs-neg: (abs (neg ?x)) => (abs ?x)
//!     given x: f32[4]
//!     when Signed(x)
//! ```
//!
//! Invariants: no text makes it panic, and the work is bounded; all errors of a text are reported, each with its line;
//! what is read passes [`Rule::check`], has a name of its own, and its conditions are about variables of its left side.

use crate::condition::Condition;
use crate::rule::{Rule, rule};
use crate::rules;
use crate::term::Term;
use egg::{ENodeOrVar, Pattern};
use oxport_ir::Registry;
use std::collections::HashSet;

/// The largest text, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// How deep patterns may be.
const MAX_DEPTH: usize = 64;

/// An error of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// What is read of one rule.
struct Block {
    line: usize,
    name: &'static str,
    /// Where the patterns are in the text.
    patterns: (usize, usize),
    given: Option<&'static str>,
    against: Vec<&'static str>,
    when: Vec<(usize, Condition)>,
    is_rounding: bool,
    has_clauses: bool,
}

/// Reads rules.
///
/// # Errors
/// All errors, in the order of their lines.
pub fn read(text: &'static str, registry: &Registry) -> Result<Vec<Rule>, Vec<Wrong>> {
    let mut wrong = Vec::new();
    if text.len() > MAX_TEXT {
        let message = format!("expected at most {MAX_TEXT} bytes, got {}", text.len());
        return Err(vec![Wrong { line: 1, message }]);
    }
    let blocks = blocks(text, &mut wrong);
    let mut names: HashSet<String> = rules::names().collect();
    let mut read = Vec::new();
    for block in blocks {
        if !names.insert(block.name.to_string()) {
            let message = format!("expected a name that no other rule has, got `{}`", block.name);
            wrong.push(Wrong { line: block.line, message });
        }
        match block.rule(text, registry) {
            Ok(rule) => read.push(rule),
            Err(e) => wrong.push(e),
        }
    }
    wrong.sort_by_key(|w| w.line);
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

fn blocks(text: &'static str, wrong: &mut Vec<Wrong>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut is_lost) = (0, false);
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        let at = start;
        start += whole.len();
        let line = whole.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fail = |message: String| wrong.push(Wrong { line: number, message });
        if !whole.starts_with([' ', '\t']) {
            let head = whole.split_once(':').map(|(name, _)| name);
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.^".contains(c);
            let head = head.filter(|name| !name.is_empty() && name.chars().all(is_name));
            is_lost = head.is_none();
            match head {
                Some(name) => blocks.push(Block {
                    line: number,
                    name,
                    patterns: (at + name.len() + 1, start),
                    given: None,
                    against: Vec::new(),
                    when: Vec::new(),
                    is_rounding: false,
                    has_clauses: false,
                }),
                None => fail(format!("expected `NAME: LEFT => RIGHT`, got `{line}`")),
            }
            continue;
        }
        // What belongs to a head that is wrong is not looked at.
        let Some(block) = blocks.last_mut().filter(|_| !is_lost) else {
            if !is_lost {
                fail(format!("expected `NAME: LEFT => RIGHT`, got the indented line `{line}`"));
            }
            continue;
        };
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "given" if block.given.is_some() => fail("expected one `given`, got another".to_string()),
            "given" => block.given = Some(rest),
            "against" => block.against.push(rest),
            "when" => match conditions(rest) {
                Ok(found) => block.when.extend(found.into_iter().map(|c| (number, c))),
                Err(e) => fail(e),
            },
            "rounding" if rest.is_empty() => block.is_rounding = true,
            _ if !block.has_clauses && line.starts_with(['(', '?', '=', ')']) => {
                block.patterns.1 = start;
                continue;
            }
            _ => fail(format!("expected `given`, `when`, `against` or `rounding`, got `{line}`")),
        }
        block.has_clauses = true;
    }
    blocks
}

impl Block {
    fn rule(self, text: &'static str, registry: &Registry) -> Result<Rule, Wrong> {
        let fail = |line: usize, message: String| Wrong { line, message };
        let patterns = &text[self.patterns.0..self.patterns.1];
        let Some((left, right)) = patterns.split_once("=>") else {
            return Err(fail(self.line, format!("expected `LEFT => RIGHT`, got `{}`", patterns.trim())));
        };
        let (left, right) = (left.trim(), right.trim());
        if let Some(side) = [left, right].into_iter().find(|side| depth(side) > MAX_DEPTH) {
            return Err(fail(self.line, format!("expected at most {MAX_DEPTH} nested calls, got {}", depth(side))));
        }
        let Some(given) = self.given else {
            return Err(fail(self.line, "expected `given` with typed variables, got none".to_string()));
        };
        let when: Vec<Condition> = self.when.iter().map(|(_, c)| *c).collect();
        // Rules are data of static lifetime, as those of the table; a text is read once, and is bounded.
        let made = Rule { when: when.leak(), ..rule(self.name, left, right).given(given) };
        let made = made.against(self.against.leak());
        let made = if self.is_rounding { made.rounding() } else { made };
        made.check(registry).map_err(|e| fail(self.line, e))?;
        let left: Pattern<Term> = left.parse().map_err(|e| fail(self.line, format!("`{left}`: {e:?}")))?;
        if !matches!(left.ast.as_ref().last(), Some(ENodeOrVar::ENode(Term::Op(..)))) {
            return Err(fail(self.line, format!("expected a call on the left side, got `{}`", made.left)));
        }
        let bound: HashSet<String> = left.vars().iter().map(ToString::to_string).collect();
        for (line, condition) in &self.when {
            if let Some(v) = condition.variables().into_iter().find(|v| !bound.contains(&format!("?{v}"))) {
                return Err(fail(*line, format!("{condition}: the left side has no ?{v}")));
            }
        }
        Ok(made)
    }
}

fn depth(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// How a condition is made of the words in its parentheses.
enum Make {
    One(fn(&'static str) -> Condition),
    Two(fn(&'static str, &'static str) -> Condition),
    Three(fn(&'static str, &'static str, &'static str) -> Condition),
    Four(fn(&'static str, &'static str, &'static str, &'static str) -> Condition),
    Number(fn(&'static str, f64) -> Condition),
    TwoNumber(fn(&'static str, &'static str, f64) -> Condition),
    Count(fn(&'static str, usize) -> Condition),
    TwoCount(fn(&'static str, &'static str, usize) -> Condition),
}

impl Make {
    /// What the parentheses hold.
    fn expected(&self) -> &'static str {
        match self {
            Make::One(_) => "a variable",
            Make::Two(_) => "two variables",
            Make::Three(_) => "three variables",
            Make::Four(_) => "four variables",
            Make::Number(_) => "a variable and a number",
            Make::TwoNumber(_) => "two variables and a number",
            Make::Count(_) => "a variable and a count",
            Make::TwoCount(_) => "two variables and a count",
        }
    }
    fn make(&self, words: &[&'static str]) -> Option<Condition> {
        Some(match (self, words) {
            (Make::One(make), [a]) => make(a),
            (Make::Two(make), [a, b]) => make(a, b),
            (Make::Three(make), [a, b, c]) => make(a, b, c),
            (Make::Four(make), [a, b, c, d]) => make(a, b, c, d),
            (Make::Number(make), [a, x]) => make(a, x.parse().ok()?),
            (Make::TwoNumber(make), [a, b, x]) => make(a, b, x.parse().ok()?),
            (Make::Count(make), [a, n]) => make(a, n.parse().ok()?),
            (Make::TwoCount(make), [a, b, n]) => make(a, b, n.parse().ok()?),
            _ => return None,
        })
    }
}

/// The conditions by name.
const CONDITIONS: &[(&str, Make)] = &[
    ("Float", Make::One(Condition::Float)),
    ("Full", Make::One(Condition::Full)),
    ("Half", Make::One(Condition::Half)),
    ("Integer", Make::One(Condition::Integer)),
    ("Real", Make::One(Condition::Real)),
    ("NotComplex", Make::Two(Condition::NotComplex)),
    ("Signed", Make::One(Condition::Signed)),
    ("Holds", Make::Two(Condition::Holds)),
    ("Identity", Make::One(Condition::Identity)),
    ("SwapsLast", Make::One(Condition::SwapsLast)),
    ("KeepsEnd", Make::One(Condition::KeepsEnd)),
    ("MovesOnes", Make::Two(Condition::MovesOnes)),
    ("Last", Make::Two(Condition::Last)),
    ("Contiguous", Make::One(Condition::Contiguous)),
    ("PowerOfTwo", Make::One(Condition::PowerOfTwo)),
    ("Number", Make::One(Condition::Number)),
    ("NotNegative", Make::One(Condition::NotNegative)),
    ("Modest", Make::One(Condition::Modest)),
    ("ModestInHalf", Make::Two(Condition::ModestInHalf)),
    ("NoOverflowBetween", Make::Three(Condition::NoOverflowBetween)),
    ("Is", Make::Number(Condition::Is)),
    ("Near", Make::TwoNumber(Condition::Near)),
    ("Zeros", Make::One(Condition::Zeros)),
    ("SameDType", Make::Two(Condition::SameDType)),
    ("OfDType", Make::Two(Condition::OfDType)),
    ("Rank", Make::Count(Condition::Rank)),
    ("SameRank", Make::Two(Condition::SameRank)),
    ("PerChannel", Make::TwoCount(Condition::PerChannel)),
    ("Centers", Make::Two(Condition::Centers)),
    ("Batched", Make::One(Condition::Batched)),
    ("KeepsFormat", Make::One(Condition::KeepsFormat)),
    ("OneInput", Make::One(Condition::OneInput)),
    ("Finite", Make::One(Condition::Finite)),
    ("Hides", Make::One(Condition::Hides)),
    ("AtMost", Make::Number(Condition::AtMost)),
    ("Expands", Make::Three(Condition::Expands)),
    ("OneLast", Make::One(Condition::OneLast)),
    ("KeepsLast", Make::TwoCount(Condition::KeepsLast)),
    ("AsMany", Make::Three(Condition::AsMany)),
    ("KeepsBehind", Make::Four(Condition::KeepsBehind)),
    ("SplitsSquares", Make::Two(Condition::SplitsSquares)),
    ("LiesAlong", Make::Four(Condition::LiesAlong)),
    ("Repeats", Make::Three(Condition::Repeats)),
];

/// `Signed(x), Is(c, 3.0)`
fn conditions(text: &'static str) -> Result<Vec<Condition>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let (one, more) = rest.split_once(')').ok_or_else(|| format!("expected `NAME(VARIABLE, …)`, got `{rest}`"))?;
        let (name, words) = one.split_once('(').ok_or_else(|| format!("expected `NAME(VARIABLE, …)`, got `{one})`"))?;
        let known = CONDITIONS.iter().find(|(known, _)| *known == name.trim());
        let (_, make) = known.ok_or_else(|| format!("expected a condition, got `{}`", name.trim()))?;
        let words: Vec<&'static str> = words.split(',').map(str::trim).collect();
        let made = make.make(&words);
        found.push(
            made.ok_or_else(|| format!("{}: expected {}, got `{}`", name.trim(), make.expected(), words.join(", ")))?,
        );
        rest = match (more.trim(), more.trim().strip_prefix(',')) {
            ("", _) => return Ok(found),
            (_, Some(more)) => more.trim(),
            (more, None) => return Err(format!("expected a comma, got `{more}`")),
        };
    }
}
