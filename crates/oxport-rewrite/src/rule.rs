//! Rules: one line each, data.
//!
//! A rule has a name, two patterns, an example of typed variables, conditions, and a soundness class: *bitwise* unless
//! it says `.rounding()`. The left pattern stands for all its forms (operand orders, operators of a family), see
//! [`forms`](crate::forms); in the right pattern, `(@f ?a …)` is computed from what was matched, see `compute`.
//!
//! Laws: a rule fires only where all its conditions hold and both sides have the same type, for all sizes in range; the
//! rule table's test checks, for every rule, that it fires on its example and that both sides compute the same values
//! on what is derived from it: to the bit for bitwise rules, extreme values included.

use crate::condition::Condition;

/// A rewrite rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name.
    pub name: &'static str,
    /// What is found.
    pub left: &'static str,
    /// What it is equal to.
    pub right: &'static str,
    /// Typed variables on which it must fire: `x: f32[2, 3], d: 1`.
    pub given: &'static str,
    /// Other typed variables, for which a condition keeps the rule from firing, and nothing else does.
    pub against: &'static [&'static str],
    /// When it holds.
    pub when: &'static [Condition],
    /// How equal both sides are.
    pub soundness: Soundness,
    /// The published optimizer or model that it is for, where it fires in none of the kept programs; else empty.
    pub stands_for: &'static str,
}

/// How equal the two sides of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// To the bit.
    Bitwise,
    /// Up to rounding: only where the user allows it.
    Rounding,
}

/// A bitwise rule without conditions.
pub const fn rule(name: &'static str, left: &'static str, right: &'static str) -> Rule {
    Rule { name, left, right, given: "", against: &[], when: &[], soundness: Soundness::Bitwise, stands_for: "" }
}

impl Rule {
    /// Sets the example.
    pub const fn given(self, given: &'static str) -> Rule {
        Rule { given, ..self }
    }
    /// Adds typed variables for which a condition keeps it from firing.
    pub const fn against(self, against: &'static [&'static str]) -> Rule {
        Rule { against, ..self }
    }
    /// Sets the conditions.
    pub const fn when(self, when: &'static [Condition]) -> Rule {
        Rule { when, ..self }
    }
    /// Says which published optimizer or model it is for, where it fires in none of the kept programs.
    pub const fn stands_for(self, stands_for: &'static str) -> Rule {
        Rule { stands_for, ..self }
    }
    /// Says that the sides may round differently.
    pub const fn rounding(self) -> Rule {
        Rule { soundness: Soundness::Rounding, ..self }
    }
    /// True if a search for results as equal as that may use it.
    pub(crate) fn allowed(&self, soundness: Soundness) -> bool {
        soundness == Soundness::Rounding || self.soundness == Soundness::Bitwise
    }
}
