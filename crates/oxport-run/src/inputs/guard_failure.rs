//! Why an input fails its checks, as text: what was expected, what was passed, why, and what to change.

use crate::inputs::Size;
use oxport_ir::Value;
use oxport_sym::{Number, Symbol};
use oxport_tensor::Tensor;

/// What was expected and what was passed; where the constraint comes from; what to change.
pub(crate) struct ErrorContext {
    pub expected: String,
    pub why: String,
    pub change: String,
}

/// A failed check of one input: which part of it (`.shape[0]`; empty for the input itself), and why.
pub(crate) struct GuardFailure {
    pub part: String,
    pub context: ErrorContext,
}

impl ErrorContext {
    pub(crate) fn new(expected: impl Into<String>, why: impl Into<String>, change: impl Into<String>) -> ErrorContext {
        ErrorContext { expected: expected.into(), why: why.into(), change: change.into() }
    }

    /// The failure of that part of an input.
    pub(crate) fn at(self, part: impl Into<String>) -> GuardFailure {
        GuardFailure { part: part.into(), context: self }
    }
}

impl GuardFailure {
    pub(crate) fn constant(expected: &Value, got: &Value) -> GuardFailure {
        let text = format!("equal to {}, but got {}", show(expected), show(got));
        ErrorContext::new(text, "it was a constant when exported", "pass that value, or export with another one").at("")
    }

    pub(crate) fn kind(expected: &str, got: &Value) -> GuardFailure {
        let text = format!("{expected}, but got {}", show(got));
        ErrorContext::new(text, "it was one when exported", format!("pass {expected}")).at("")
    }

    pub(crate) fn rank(sizes: &[Size], got: &Tensor) -> GuardFailure {
        let dims = sizes.iter().map(|s| &*s.text).collect::<Vec<_>>().join(", ");
        let text = format!("of sizes [{dims}], but got {:?}", got.sizes());
        let change = format!("pass a tensor of {} dimensions", sizes.len());
        ErrorContext::new(text, "the number of dimensions is fixed", change).at(".shape")
    }
}

impl Size {
    pub(crate) fn static_mismatch(&self, expected: i64, got: &Number) -> ErrorContext {
        let change = format!("pass size {expected}, or export with this dimension dynamic");
        ErrorContext::new(format!("equal to {expected}, but got {got}"), "it is static", change)
    }

    pub(crate) fn unequal(&self, expected: &Number, got: &Number, at: &str) -> ErrorContext {
        let at = if at.is_empty() { "elsewhere".to_owned() } else { format!("at {at}") };
        let why = format!("{} has that value {at}", self.text);
        let change = "pass equal sizes, or export with different Dims for them";
        ErrorContext::new(format!("equal to {expected}, but got {got}"), why, change)
    }

    /// The other dimension of the same symbol, at `at`, does not exist.
    pub(crate) fn missing_dim(&self, got: &Number, at: &str) -> ErrorContext {
        let why = format!("{} is also the size at {at}, which the tensor does not have", self.text);
        let change = "pass a tensor that has that dimension";
        ErrorContext::new(format!("equal to the size at {at}, but got {got}"), why, change)
    }

    pub(crate) fn derived_mismatch(&self, expected: &Number, got: &Number, s: &Symbol, value: &Number) -> ErrorContext {
        let why = format!("it is {} with {s} = {value}", self.text);
        let change = format!("pass sizes of which this one is {}", self.text);
        ErrorContext::new(format!("equal to {expected}, but got {got}"), why, change)
    }

    /// No integer value of the symbol gives the size.
    pub(crate) fn no_solution(&self, got: i64, s: &Symbol) -> ErrorContext {
        let change = format!("pass a size that is {} for some {s}", self.text);
        ErrorContext::new(format!("of the form {}, but got {got}", self.text), format!("{s} is an integer"), change)
    }

    /// The failure of a size outside of the checked range; `None` for a size inside.
    pub(crate) fn out_of_range(&self, got: &Number) -> Option<ErrorContext> {
        let is_outside = |bound: i64, below: bool| {
            let order = got.compare(&Number::from(bound));
            order.is_some_and(|o| if below { o.is_lt() } else { o.is_gt() })
        };
        let text = match () {
            _ if self.min != i64::MIN && is_outside(self.min, true) => format!(">= {}, but got {got}", self.min),
            _ if self.max != i64::MAX && is_outside(self.max, false) => format!("<= {}, but got {got}", self.max),
            _ => return None,
        };
        let end = |n: Option<i64>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let (min, max) = (end(self.declared.0), end(self.declared.1));
        let change = format!("pass a size from {min} to {max}, or export with a wider Dim");
        Some(ErrorContext::new(text, format!("that is the declared range of {}", self.text), change))
    }
}

pub(crate) fn show(v: &Value) -> String {
    match v {
        Value::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => if *b { "True" } else { "False" }.into(),
        Value::Str(s) => format!("{s:?}"),
        other => other.kind().into(),
    }
}
