//! Dynamic shapes: which sizes of the example inputs stand for any size. `torch.export.Dim`.

use std::sync::Arc;

/// What a size of an example input stands for.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Dim {
    /// That number, at every call.
    #[default]
    Static,
    /// Any number that the code allows: `Dim.AUTO`. The capture finds out.
    Auto,
    /// Any number of a range that the code allows: `Dim.AUTO(min=1, max=64)`.
    Within {
        /// The least value.
        min: Option<i64>,
        /// The greatest value.
        max: Option<i64>,
    },
    /// Any number; a capture that allows only one is refused: `Dim.DYNAMIC`.
    Dynamic,
    /// Any number of a range, the same wherever the name stands: `Dim("batch", min=1, max=64)`.
    Named(Named),
    /// A number that depends on another one: `2 * batch + 1`.
    Derived {
        /// The other.
        root: Named,
        /// The factor.
        times: i64,
        /// What is added.
        plus: i64,
    },
}

/// A named size.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The name, an identifier.
    pub name: Arc<str>,
    /// The least value; 0 where not said.
    pub min: Option<i64>,
    /// The greatest value; none where not said.
    pub max: Option<i64>,
}

impl Dim {
    /// A named size without bounds.
    pub fn new(name: &str) -> Dim {
        Dim::Named(Named { name: name.into(), min: None, max: None })
    }
    /// At least this.
    pub fn min(self, min: i64) -> Dim {
        self.bounded(|n| n.min = Some(min))
    }
    /// At most this.
    pub fn max(self, max: i64) -> Dim {
        self.bounded(|n| n.max = Some(max))
    }
    fn bounded(mut self, set: impl FnOnce(&mut Named)) -> Dim {
        if let Dim::Named(named) = &mut self {
            set(named);
        }
        self
    }
    /// The root, the factor and the summand.
    fn linear(self) -> Option<(Named, i64, i64)> {
        match self {
            Dim::Named(root) => Some((root, 1, 0)),
            Dim::Derived { root, times, plus } => Some((root, times, plus)),
            _ => None,
        }
    }
}

/// Scales a named size. A size without a name stays as it is.
impl std::ops::Mul<i64> for Dim {
    type Output = Dim;
    fn mul(self, by: i64) -> Dim {
        match self.clone().linear() {
            Some((root, times, plus)) => {
                Dim::Derived { root, times: times.saturating_mul(by), plus: plus.saturating_mul(by) }
            }
            None => self,
        }
    }
}

/// Adds to a named size. A size without a name stays as it is.
impl std::ops::Add<i64> for Dim {
    type Output = Dim;
    fn add(self, more: i64) -> Dim {
        match self.clone().linear() {
            Some((root, times, plus)) => Dim::Derived { root, times, plus: plus.saturating_add(more) },
            None => self,
        }
    }
}

/// Subtracts from a named size. A size without a name stays as it is.
impl std::ops::Sub<i64> for Dim {
    type Output = Dim;
    fn sub(self, less: i64) -> Dim {
        std::ops::Add::add(self, less.saturating_neg())
    }
}
