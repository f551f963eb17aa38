//! Patterns of rules, read anew, and terms compared with them.
//!
//! Law: a term is an instance of a pattern only as the pattern is written, with operands of operators that commute in
//! either order, and one operator of a family in all places of the family's.

use super::Refusal;
use super::closure::TermId;
use super::store::{Head, Store};
use crate::compute::compute;
use crate::constant::Constant;
use crate::family;
use crate::rules;
use std::collections::BTreeMap;

/// A pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// A variable, without its question mark.
    Var(String),
    /// A constant.
    Const(Constant),
    /// A list.
    List(Vec<Pattern>),
    /// A call.
    Call(String, Vec<Pattern>),
    /// What a function of right sides gives.
    Computed(String, Vec<Pattern>),
}

/// What variables stand for.
pub(crate) type Substitution = BTreeMap<String, TermId>;

/// How deep a pattern may be.
const MAX_DEPTH: usize = 64;

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str) -> Result<Pattern, Refusal> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut at = 0;
        let pattern = read(&words, &mut at, 0).filter(|_| at == words.len());
        pattern.ok_or_else(|| format!("`{text}` is no pattern"))
    }

    /// True if a term is an instance, where variables stand for these; `member` is the operator that the family's
    /// stands for, once that is known.
    pub fn is_instance(
        &self,
        store: &Store<'_>,
        term: TermId,
        with: &Substitution,
        member: &mut Option<String>,
    ) -> bool {
        let (head, args) = store.closure.term(term);
        match (self, head) {
            (Pattern::Var(name), _) => with.get(name) == Some(&term),
            (Pattern::Const(c), Head::Const(d)) => c == d,
            (Pattern::List(items), Head::List) => {
                let mut pairs = items.iter().zip(args);
                items.len() == args.len() && pairs.all(|(p, &a)| p.is_instance(store, a, with, member))
            }
            (Pattern::Call(name, operands), Head::Call(op)) => {
                let more = match family::is_family(name) {
                    true => {
                        let more = family::further(name, operands.len(), op, store.types.registry);
                        let is_first = member.is_none();
                        let is_it = *member.get_or_insert_with(|| op.to_string()) == **op;
                        match more.filter(|_| is_it) {
                            Some(more) => more,
                            None => {
                                if is_first {
                                    *member = None;
                                }
                                return false;
                            }
                        }
                    }
                    false if **op == **name => 0,
                    false => return false,
                };
                if operands.len() + more != args.len() {
                    return false;
                }
                let (own, further) = args.split_at(operands.len());
                let is_further = |(i, arg): (usize, &TermId)| with.get(&format!("~{i}")) == Some(arg);
                if !further.iter().enumerate().all(is_further) {
                    return false;
                }
                let mut are_instances = |args: &[TermId]| {
                    let was = member.clone();
                    let are = operands.iter().zip(args).all(|(p, &a)| p.is_instance(store, a, with, member));
                    if !are {
                        *member = was;
                    }
                    are
                };
                if are_instances(own) {
                    return true;
                }
                let [a, b, rest @ ..] = own else { return false };
                let swapped: Vec<TermId> = [*b, *a].into_iter().chain(rest.iter().copied()).collect();
                let is_one = |p: &Pattern| *p == Pattern::Const(Constant::Int(1));
                let is_number = |p: &Pattern| matches!(p, Pattern::Const(_));
                let is_complex = |arg: &TermId| store.kind(*arg).tensor().is_some_and(|t| t.dtype.is_complex());
                !own.iter().any(is_complex)
                    && !operands[..2].iter().any(is_number)
                    && further.is_empty()
                    && rules::commutes(op, operands[2..].iter().map(is_one))
                    && are_instances(&swapped)
            }
            _ => false,
        }
    }

    /// The term of this pattern. `whole` is the term that it is to be equal to.
    ///
    /// # Errors
    /// A part is ill-typed, a variable stands for nothing, or a function has no value.
    pub fn instance(
        &self,
        store: &mut Store<'_>,
        with: &Substitution,
        member: Option<&str>,
        whole: TermId,
    ) -> Result<TermId, Refusal> {
        let all = |store: &mut Store<'_>, of: &[Pattern]| -> Result<Vec<TermId>, Refusal> {
            of.iter().map(|p| p.instance(store, with, member, whole)).collect()
        };
        match self {
            Pattern::Var(name) => with.get(name).copied().ok_or_else(|| format!("?{name} stands for nothing")),
            Pattern::Const(c) => Ok(store.constant(c.clone())),
            Pattern::List(items) => {
                let items = all(store, items)?;
                store.list(&items)
            }
            Pattern::Call(name, operands) => {
                let mut args = all(store, operands)?;
                if !family::is_family(name) {
                    return store.call(name, &args);
                }
                let member = member.ok_or_else(|| format!("no operator stands for {name}"))?;
                args.extend((0..).map_while(|i| with.get(&format!("~{i}"))));
                store.call(member, &args)
            }
            Pattern::Computed(name, operands) => {
                let args = all(store, operands)?;
                compute(store, name, &args, whole).ok_or_else(|| format!("{name} has no value here"))
            }
        }
    }
}

/// The pattern that begins at a word; `None` if none does.
fn read(words: &[&str], at: &mut usize, depth: usize) -> Option<Pattern> {
    let word = words.get(*at).filter(|_| depth <= MAX_DEPTH)?;
    *at += 1;
    match word.strip_prefix('?') {
        Some(name) => return Some(Pattern::Var(name.to_string())),
        None if *word != "(" => return Constant::read(word).map(Pattern::Const),
        None => {}
    }
    let name = *words.get(*at)?;
    *at += 1;
    let mut operands = Vec::new();
    while *words.get(*at)? != ")" {
        operands.push(read(words, at, depth + 1)?);
    }
    *at += 1;
    Some(match name {
        "list" => Pattern::List(operands),
        name if name.starts_with('@') => Pattern::Computed(name.to_string(), operands),
        name if name.contains("::") => Pattern::Call(name.to_string(), operands),
        name => Pattern::Call(format!("aten::{name}"), operands),
    })
}
