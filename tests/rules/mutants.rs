//! Mutants of a rule: what it would be with one mistake. The rule test must find every one of them.

use super::tree::{Slot, Tree};
use oxport::{DType, registry};
use oxport_ir::schema::Type;
use oxport_ir::text::split_top;
use oxport_rewrite::condition::Condition::{self, *};
use oxport_rewrite::rule::Rule;
use oxport_rewrite::rules;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

/// What is mistaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A condition is not there.
    Removed,
    /// A condition asks for less.
    Weakened,
    /// Two arguments on the right side are exchanged.
    Swapped,
    /// A variable on the right side is another one.
    Variable,
    /// A constant on the right side is another one.
    Constant,
    /// A call on the right side is one of its operands.
    Dropped,
    /// A constant on the left side may be anything.
    Generalised,
    /// What must be the same twice on the left side may be two things.
    Split,
}

/// A rule with one mistake.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub class: Class,
    /// The mistake.
    pub what: String,
    pub rule: Rule,
    /// The variable that the rule does not have.
    pub fresh: Option<&'static str>,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name, self.what)
    }
}

/// What arguments and variables hold.
#[derive(Clone, Debug, PartialEq)]
enum Sort {
    Tensor,
    Number,
    List,
    Other(String),
}

/// All mutants of a rule: each well-formed, no two the same, and none the rule itself with commuting operands the other
/// way round.
pub fn mutants(rule: &'static Rule) -> Vec<Mutant> {
    static COMMUTING: LazyLock<Vec<Tree>> = LazyLock::new(|| rules::commuting().map(|r| Tree::read(r.left)).collect());
    let all = [conditions(rule), right_sides(rule), left_sides(rule)].concat();
    let key = |rule: &Rule| {
        let [left, right] = [rule.left, rule.right].map(|side| Tree::read(side).ordered(&COMMUTING).to_string());
        format!("{left} {right} {:?}", rule.when)
    };
    let mut seen = BTreeSet::from([key(rule)]);
    // What commutes is in one order in each key, unless the operator's own rule says so.
    let is_commuting = rules::commuting().any(|r| r.name == rule.name);
    all.into_iter()
        .filter(|m| m.rule.left != m.rule.right && m.rule.check(registry()).is_ok())
        .filter(|m| is_commuting || seen.insert(key(&m.rule)))
        .collect()
}

fn leak(text: String) -> &'static str {
    text.leak()
}

/// One condition less, or a weaker one.
fn conditions(rule: &'static Rule) -> Vec<Mutant> {
    let with = |i: usize, class: Class, weaker: Option<Condition>| {
        let mut when = rule.when.to_vec();
        let what = match weaker {
            Some(weaker) => format!("when {} is {weaker}", rule.when[i]),
            None => format!("without {}", rule.when[i]),
        };
        when.splice(i..=i, weaker);
        Mutant { class, what, rule: Rule { when: when.leak(), ..*rule }, fresh: None }
    };
    let all = rule.when.iter().enumerate();
    all.flat_map(|(i, condition)| {
        let weaker = weaker(*condition).into_iter().map(move |weaker| with(i, Class::Weakened, Some(weaker)));
        std::iter::once(with(i, Class::Removed, None)).chain(weaker)
    })
    .collect()
}

/// Conditions that hold wherever this one does, and elsewhere.
fn weaker(condition: Condition) -> Vec<Condition> {
    match condition {
        Full(v) | Half(v) => vec![Float(v)],
        Float(v) | Integer(v) | Signed(v) => vec![Real(v)],
        Identity(v) => vec![KeepsEnd(v)],
        PowerOfTwo(v) => vec![Modest(v), Number(v)],
        Modest(v) | NotNegative(v) | Hides(v) | Is(v, _) | Near(_, v, _) => vec![Number(v)],
        AtMost(v, most) => vec![AtMost(v, 2.0 * most), Number(v)],
        KeepsLast(a, b, n) if n > 1 => vec![KeepsLast(a, b, n - 1)],
        _ => Vec::new(),
    }
}

/// The examples of the variables, by name.
fn examples(given: &'static str) -> BTreeMap<&'static str, &'static str> {
    split_top(given).into_iter().filter_map(|one| one.split_once(": ")).collect()
}

fn sort_of_type(ty: &Type) -> Sort {
    match ty.strip_optional() {
        Type::Tensor => Sort::Tensor,
        Type::Int | Type::SymInt | Type::Float | Type::Scalar => Sort::Number,
        Type::List(..) => Sort::List,
        ty => Sort::Other(format!("{ty:?}")),
    }
}

/// What a constant or the example of a variable holds; of `None` the argument says what it might.
fn sort_of_text(text: &str, slot: &Slot) -> Sort {
    let is_tensor = text.split_once('[').is_some_and(|(short, _)| DType::from_short(short).is_some());
    match text {
        _ if is_tensor => Sort::Tensor,
        _ if text.parse::<f64>().is_ok() => Sort::Number,
        _ if text.starts_with(['[', '{']) => Sort::List,
        "True" | "False" => sort_of_type(&Type::Bool),
        _ => slot.ty.as_ref().map_or(Sort::Other(String::new()), sort_of_type),
    }
}

/// The variables of the left side, and what they hold.
fn bound(rule: &Rule) -> Vec<(String, Sort)> {
    let examples = examples(rule.given);
    let left = Tree::read(rule.left);
    let mut bound: Vec<(String, Sort)> = Vec::new();
    for (_, slot, part) in left.parts() {
        let Some(name) = part.variable() else { continue };
        if !bound.iter().any(|(known, _)| known == name) {
            bound.push((name.to_string(), sort_of_text(examples.get(name).unwrap_or(&"None"), &slot)));
        }
    }
    bound
}

fn sort(part: &Tree, slot: &Slot, bound: &[(String, Sort)]) -> Sort {
    match (part, part.variable()) {
        (_, Some(name)) => bound.iter().find(|(v, _)| v == name).map_or(Sort::Tensor, |(_, sort)| sort.clone()),
        (Tree::Leaf(text), _) => sort_of_text(text, slot),
        (Tree::Call(name, _), _) if name == "list" => Sort::List,
        (Tree::Call(..), _) => slot.ty.as_ref().map_or(Sort::List, sort_of_type),
    }
}

/// Mistakes on the right side.
fn right_sides(rule: &'static Rule) -> Vec<Mutant> {
    let (right, bound) = (Tree::read(rule.right), bound(rule));
    let mut mutants = Vec::new();
    let mut add = |class: Class, what: String, right: Tree| {
        mutants.push(Mutant { class, what, rule: Rule { right: leak(right.to_string()), ..*rule }, fresh: None });
    };
    let parts = right.parts();
    for (way, slot, part) in &parts {
        let kids: Vec<_> = parts.iter().filter(|(to, ..)| to.split_last().is_some_and(|(_, to)| to == way)).collect();
        for (i, (_, a, x)) in kids.iter().enumerate() {
            for (j, (_, b, y)) in kids.iter().enumerate().skip(i + 1) {
                if x != y && sort(x, a, &bound) == sort(y, b, &bound) {
                    let swapped = part.with(&[i], (*y).clone()).with(&[j], (*x).clone());
                    add(Class::Swapped, format!("{} and {} exchanged", a.name, b.name), right.with(way, swapped));
                }
            }
        }
        let own = sort(part, slot, &bound);
        for (_, kid, operand) in kids.iter().filter(|(_, kid, operand)| sort(operand, kid, &bound) == own) {
            add(Class::Dropped, format!("{} is its own {}", slot.name, kid.name), right.with(way, (*operand).clone()));
        }
        if let Some(name) = part.variable() {
            for (other, _) in bound.iter().filter(|(other, sort)| *sort == own && other != name) {
                let what = format!("{} is ?{other} instead of {part}", slot.name);
                add(Class::Variable, what, right.with(way, Tree::Leaf(format!("?{other}"))));
            }
        }
        let is_constant = matches!(part, Tree::Leaf(_)) && part.variable().is_none();
        let mut others: Vec<String> = if is_constant { other_constants(&part.to_string(), slot) } else { Vec::new() };
        if part.to_string() == "None" && own == Sort::Tensor {
            others.extend(bound.iter().filter(|(_, sort)| *sort == Sort::Tensor).map(|(name, _)| format!("?{name}")));
        }
        let is_optional = matches!(slot.ty, Some(Type::Optional(_)));
        others.extend((is_optional && part.to_string() != "None").then(|| "None".to_string()));
        for other in others {
            let what = format!("{} is {other} instead of {part}", slot.name);
            add(Class::Constant, what, right.with(way, Tree::Leaf(other)));
        }
    }
    mutants
}

/// Other constants in the place of one.
fn other_constants(text: &str, slot: &Slot) -> Vec<String> {
    let others: &[&str] = match (text, slot.ty.as_ref().map(Type::strip_optional)) {
        ("True", _) => &["False"],
        ("False", _) => &["True"],
        ("'none'", _) => &["'tanh'"],
        ("'tanh'", _) => &["'none'"],
        ("contiguous_format", _) | ("None", Some(Type::MemoryFormat)) => &["preserve_format", "channels_last"],
        ("None", Some(Type::DType)) => &["float16", "float64"],
        ("None", Some(Type::Int | Type::SymInt)) => &["1"],
        ("None", Some(Type::Float | Type::Scalar)) => &["0.5"],
        ("None", Some(Type::Bool)) => &["True"],
        _ if DType::from_name(text).is_some() => &["float16", "float32", "float64"],
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(n), _) => return [n - 1, n + 1].map(|n| n.to_string()).to_vec(),
            (_, Ok(x)) => return [x - 1.0, x + 1.0].map(|x| format!("{x:?}")).to_vec(),
            _ => &[],
        },
    };
    others.iter().filter(|other| **other != text).map(|other| other.to_string()).collect()
}

/// Vectors of each of the sizes of the example, of the dtype of its first tensor.
fn vectors(rule: &Rule) -> Vec<String> {
    let tensors: Vec<(&str, &str)> =
        split_top(rule.given).into_iter().filter_map(|one| one.split_once(": ")?.1.split_once('[')).collect();
    let sizes = tensors.iter().filter_map(|(_, rest)| rest.split_once(']')).flat_map(|(sizes, _)| split_top(sizes));
    let sizes: BTreeSet<&str> = sizes.collect();
    let dtype = tensors.first().map_or("f32", |(dtype, _)| dtype);
    sizes.into_iter().map(|size| format!("{dtype}[{size}]")).collect()
}

/// Left sides that ask for less.
fn left_sides(rule: &'static Rule) -> Vec<Mutant> {
    let (left, examples) = (Tree::read(rule.left), examples(rule.given));
    let fresh = ('a'..='z').map(|c| c.to_string()).find(|name| !examples.contains_key(name.as_str()));
    let fresh = leak(fresh.expect("law: no rule has so many variables"));
    let parts = left.parts();
    // The example of the new variable is a constant, or that of another variable; or else one of some tensors.
    let more =
        |class: Class, what: String, way: &[usize], example: &dyn Fn(&'static str) -> String, tensors: &[String]| {
            let with = |given: &'static str| leak(format!("{given}, {fresh}: {}", example(given)));
            let tensors = tensors.iter().map(|tensor| leak(format!("{}, {fresh}: {tensor}", rule.given)));
            let against: Vec<&str> = rule.against.iter().map(|given| with(given)).chain(tensors).collect();
            let left = leak(left.with(way, Tree::Leaf(format!("?{fresh}"))).to_string());
            let rule = Rule { left, given: with(rule.given), against: against.leak(), ..*rule };
            Mutant { class, what, rule, fresh: Some(fresh) }
        };
    let mutant = |(way, slot, part): &(Vec<usize>, Slot, &Tree)| match (part, part.variable()) {
        (_, Some(name)) => {
            let is_twice = parts.iter().filter(|(.., other)| other == part).count() > 1;
            let example = |given| self::examples(given).get(name).map_or(String::new(), ToString::to_string);
            is_twice.then(|| more(Class::Split, format!("{} is another {part}", slot.name), way, &example, &[]))
        }
        (Tree::Leaf(text), _) => {
            let what = format!("{} is anything instead of {part}", slot.name);
            let is_tensor = text == "None" && slot.ty.as_ref().is_some_and(|ty| *ty.strip_optional() == Type::Tensor);
            let tensors = if is_tensor { vectors(rule) } else { Vec::new() };
            Some(more(Class::Generalised, what, way, &|_| text.replace('\'', "\""), &tensors))
        }
        _ => None,
    };
    parts.iter().filter_map(mutant).collect()
}
