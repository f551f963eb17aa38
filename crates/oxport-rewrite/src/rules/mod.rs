//! The rules, by subject. `docs/add-a-rule.md` shows how one is added: a line.

mod algebra;
mod fuse;
mod view;

use crate::rule::{Rule, Soundness};

/// All rules.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    view::RULES.iter().chain(algebra::RULES).chain(fuse::RULES)
}

/// The rules of a soundness class: bitwise ones, or all.
pub fn of(soundness: Soundness) -> impl Iterator<Item = &'static Rule> {
    all().filter(move |r| soundness == Soundness::Rounding || r.soundness == Soundness::Bitwise)
}
