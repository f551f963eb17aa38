//! Symbols of numbers that only the data tell: their kinds, and how they are numbered.
//!
//! Law: as in PyTorch, each kind is numbered by itself, so that `u0` and `zuf0` are the first of a program.

use crate::symbol::{Assumptions, Symbol};

/// What kind of number a data-dependent symbol stands for. A truth value is a condition on an integer, as in PyTorch
/// (`Eq(u0, 1)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unbacked {
    /// `u0`: an integer.
    Int,
    /// `zuf0`: a float, of which nothing is assumed.
    Float,
}

impl Unbacked {
    /// What the names of the symbols begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Unbacked::Int => "u",
            Unbacked::Float => "zuf",
        }
    }

    /// The symbol of this kind and number.
    pub fn symbol(self, number: u64) -> Symbol {
        let assumptions = match self {
            Unbacked::Int => Assumptions::integer(),
            Unbacked::Float => Assumptions::none(),
        };
        Symbol::new(&format!("{}{number}", self.prefix()), assumptions)
    }

    /// The kind that a name tells, with the digits behind the prefix; `None` for all other names.
    fn of_name(name: &str) -> Option<(Unbacked, &str)> {
        [Unbacked::Int, Unbacked::Float].into_iter().find_map(|kind| {
            let digits = name.strip_prefix(kind.prefix())?;
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then_some((kind, digits))
        })
    }
}

impl Symbol {
    /// True for names that PyTorch gives to data-dependent values: `u0`, `zuf1`.
    pub fn is_unbacked(&self) -> bool {
        Unbacked::of_name(self.name()).is_some()
    }

    /// The kind and the number of a data-dependent symbol; no number, if it does not fit.
    pub fn unbacked(&self) -> Option<(Unbacked, Option<u64>)> {
        Unbacked::of_name(self.name()).map(|(kind, digits)| (kind, digits.parse().ok()))
    }
}

/// Which symbols come next, of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextUnbacked {
    int: u64,
    float: u64,
}

impl NextUnbacked {
    /// The symbols from this number on, of every kind.
    pub const fn starting_at(number: u64) -> NextUnbacked {
        NextUnbacked { int: number, float: number }
    }

    /// The next symbol of a kind.
    pub fn take(&mut self, kind: Unbacked) -> Symbol {
        let next = self.of(kind);
        let symbol = kind.symbol(*next);
        *next = next.saturating_add(1);
        symbol
    }

    /// True for the symbols that are still to come.
    pub fn is_ahead(mut self, symbol: &Symbol) -> bool {
        let numbered = symbol.unbacked();
        numbered.is_some_and(|(kind, number)| number.is_some_and(|number| number >= *self.of(kind)))
    }

    /// Goes behind a symbol, if it is data-dependent.
    pub fn skip(&mut self, symbol: &Symbol) {
        if let Some((kind, Some(number))) = symbol.unbacked() {
            let next = self.of(kind);
            *next = (*next).max(number.saturating_add(1));
        }
    }

    /// The later of two, kind by kind.
    pub fn max(self, other: NextUnbacked) -> NextUnbacked {
        NextUnbacked { int: self.int.max(other.int), float: self.float.max(other.float) }
    }

    fn of(&mut self, kind: Unbacked) -> &mut u64 {
        match kind {
            Unbacked::Int => &mut self.int,
            Unbacked::Float => &mut self.float,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_by_themselves() {
        let mut next = NextUnbacked::default();
        let taken: Vec<Symbol> =
            [Unbacked::Int, Unbacked::Float, Unbacked::Float, Unbacked::Int].map(|kind| next.take(kind)).into();
        assert_eq!(format!("{taken:?}"), "[u0, zuf0, zuf1, u1]");
        assert!(taken.iter().all(|symbol| *symbol == Symbol::by_convention(symbol.name())), "{taken:?}");
        next.skip(&Symbol::by_convention("zuf7"));
        next.skip(&Symbol::by_convention("s9"));
        assert!(taken.iter().all(|symbol| !next.is_ahead(symbol)), "{next:?}");
        assert_eq!(next.take(Unbacked::Float).name(), "zuf8");
        assert_eq!(next.take(Unbacked::Int).name(), "u2");
    }

    #[test]
    fn names_tell_kinds() {
        for (name, kind) in [
            ("u0", Some((Unbacked::Int, Some(0)))),
            ("zuf12", Some((Unbacked::Float, Some(12)))),
            ("u99999999999999999999", Some((Unbacked::Int, None))),
            ("u", None),
            ("zuf", None),
            ("user", None),
            ("zu1", None),
            ("zf1", None),
            ("s1", None),
        ] {
            let symbol = Symbol::by_convention(name);
            assert_eq!(symbol.unbacked(), kind, "{name}");
            assert_eq!(symbol.is_unbacked(), kind.is_some(), "{name}");
        }
    }
}
