//! Whether a rule's step is right.

use super::Refusal;
use super::closure::TermId;
use super::pattern::{Pattern, Substitution};
use super::store::{Head, Store};
use super::text::Rules;
use crate::rule::{Rule, Soundness};
use crate::rules;
use std::collections::HashMap;

/// The rules by name, with their patterns.
pub(crate) struct Table<'a> {
    rules: HashMap<&'static str, Vec<(&'a Rule, Pattern, Pattern)>>,
}

impl<'a> Table<'a> {
    /// The standard rules and these.
    ///
    /// # Errors
    /// A pattern cannot be read.
    pub fn new(further: &'a [Rule]) -> Result<Table<'a>, Refusal> {
        let mut rules: HashMap<&'static str, Vec<_>> = HashMap::new();
        for rule in rules::all().map(|rule| -> &'a Rule { rule }).chain(further) {
            let (left, right) = (Pattern::read(rule.left)?, Pattern::read(rule.right)?);
            rules.entry(rule.name).or_default().push((rule, left, right));
        }
        Ok(Table { rules })
    }

    /// The rules that give back an operand, with their left sides: copies and views of all.
    pub fn identities(&self) -> impl Iterator<Item = (&'a Rule, &Pattern, &str)> {
        self.rules.values().flatten().filter_map(|(rule, left, right)| match (left, right) {
            (Pattern::Call(..), Pattern::Var(name)) => Some((*rule, left, name.as_str())),
            _ => None,
        })
    }

    /// Checks that a rule makes two terms equal; does not unite them.
    ///
    /// # Errors
    /// There is no such rule, the first term is not of its left side, a condition does not hold, types differ, or the
    /// second term is not what the right side gives.
    pub fn check(
        &self,
        store: &mut Store<'_>,
        rules: Rules,
        name: &str,
        (before, after): (TermId, TermId),
        with: &Substitution,
    ) -> Result<(), Refusal> {
        let named = self.rules.get(name).ok_or_else(|| format!("there is no rule {name}"))?;
        let mut refused = None;
        for (rule, left, right) in named {
            match apply(store, rules, rule, (left, right), (before, after), with) {
                Ok(()) => return Ok(()),
                Err(refusal) => refused = Some(refusal),
            }
        }
        Err(refused.unwrap_or_default())
    }
}

fn apply(
    store: &mut Store<'_>,
    rules: Rules,
    rule: &Rule,
    (left, right): (&Pattern, &Pattern),
    (before, after): (TermId, TermId),
    with: &Substitution,
) -> Result<(), Refusal> {
    if rule.soundness == Soundness::Rounding && rules == Rules::Exact {
        return Err("it rounds, and the proof is of equal bits".to_string());
    }
    let mut member = None;
    if !left.is_instance(store, before, with, &mut member) {
        return Err("the term before is not of the left side".to_string());
    }
    let at = |name: &str| with.get(name).copied();
    if let Some(condition) = rule.when.iter().find(|c| !c.holds(store, &at)) {
        return Err(format!("{condition} does not hold"));
    }
    store.sizes = sizes_near(store, right, after);
    let right = right.instance(store, with, member.as_deref(), before);
    store.sizes.clear();
    let right = right.map_err(|e| format!("the right side: {e}"))?;
    is_sound(store, before, right)?;
    match store.closure.equal(right, after) {
        true => Ok(()),
        false => Err("the term after is not what the right side gives".to_string()),
    }
}

/// An error unless two terms have the same type for all sizes in range, or one of them and a term equal to the other:
/// strides of dimensions of size 1 may differ among equal terms, since what was recorded follows PyTorch there.
pub(crate) fn is_sound(store: &mut Store<'_>, before: TermId, after: TermId) -> Result<(), Refusal> {
    let is_same = store.same_type(before, after)
        || store.has_member_of_type(before, after)?
        || store.has_member_of_type(after, before)?;
    if !is_same {
        return Err("both sides differ in dtype, sizes, strides or device".to_string());
    }
    match store.is_certain(before) && store.is_certain(after) {
        true => Ok(()),
        false => Err("sizes are not certain".to_string()),
    }
}

/// The numbers among the arguments of a term, and in lists among them; likewise of its calls that a right side has.
fn sizes_near(store: &Store<'_>, right: &Pattern, term: TermId) -> Vec<TermId> {
    let args = store.closure.term(term).1;
    let mut near = Vec::new();
    for &arg in args {
        match store.closure.term(arg) {
            (Head::List, items) => near.extend(items),
            _ => near.push(arg),
        }
    }
    if let Pattern::Call(_, parts) = right {
        let calls = parts.iter().zip(args).filter(|(part, _)| matches!(part, Pattern::Call(..)));
        near.extend(calls.flat_map(|(part, &arg)| sizes_near(store, part, arg)));
    }
    near
}
