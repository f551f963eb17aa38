//! How strictly inputs are checked: [`InputChecks`].

/// How strictly inputs are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputChecks {
    /// As PyTorch's `ep.module()` does: by guards if the program has sample inputs, else by the hook.
    #[default]
    Torch,
    /// Dtypes must be the program's too, sizes in the full declared range, and every guard must hold.
    Strict,
}

impl InputChecks {
    /// The checks of a name: `torch`, `strict`.
    pub fn from_name(name: &str) -> Option<InputChecks> {
        match name {
            "torch" => Some(InputChecks::Torch),
            "strict" => Some(InputChecks::Strict),
            _ => None,
        }
    }
}
