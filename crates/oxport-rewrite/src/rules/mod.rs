//! The rules, by subject. `docs/add-a-rule.md` shows how one is added: a line.

mod activation;
mod algebra;
mod attention;
mod branches;
mod cast;
mod channels;
mod commuting;
pub mod merge;
pub(crate) mod mergeable;
mod noop;
mod norm;
mod padding;
mod piece;
mod pointwise;
mod product;
pub(crate) mod recurrent;
mod regroup;
pub(crate) mod roll;
pub(crate) mod stack;
mod view;

use crate::rule::Rule;

/// All rules.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let tables: [&[Rule]; 14] = [
        noop::RULES,
        view::RULES,
        piece::RULES,
        padding::RULES,
        cast::RULES,
        algebra::RULES,
        pointwise::RULES,
        activation::RULES,
        norm::RULES,
        product::RULES,
        regroup::RULES,
        attention::RULES,
        channels::RULES,
        branches::RULES,
    ];
    tables.into_iter().flatten()
}

/// The rules that say which operators commute. They are tested as the others are; no search applies them, since the
/// left sides of the others stand for either order.
pub fn commuting() -> impl Iterator<Item = &'static Rule> {
    commuting::COMMUTING.iter()
}

/// The names of all rules of a search, those over several terms among them.
pub fn names() -> impl Iterator<Item = String> {
    let over_several = mergeable::FORMS.iter().map(|form| form.rule());
    let of_layers = recurrent::LAYERS.iter().flat_map(|layer| layer.rules()).map(str::to_string);
    let over_several = over_several.chain(of_layers);
    all().map(|r| r.name.to_string()).chain(over_several)
}

/// True if the first two operands of an operator commute, where of each further one it is said whether it is 1.
pub(crate) fn commutes(name: &str, mut are_ones: impl Iterator<Item = bool>) -> bool {
    let name = name.strip_prefix("aten::").unwrap_or(name);
    are_ones.all(|is_one| is_one) && commuting::COMMUTING.iter().any(|r| r.left[1..].split(' ').next() == Some(name))
}
