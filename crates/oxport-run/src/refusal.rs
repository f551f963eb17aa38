//! What is said of an input that the program does not take: what was expected and came, why, and what to change.

use crate::inputs::Size;
use oxport_ir::Value;
use oxport_sym::{Number, Symbol};
use oxport_tensor::Tensor;

/// What was expected and came; the origin of the constraint; what to change.
pub(crate) type Words = (String, String, String);

/// Why an input is refused: the part of it, what it should be and is, the origin of the constraint, what to change.
pub(crate) struct Refusal {
    pub part: String,
    pub text: String,
    pub why: String,
    pub change: String,
}

impl Refusal {
    pub(crate) fn constant(want: &Value, got: &Value) -> Refusal {
        Refusal {
            part: String::new(),
            text: format!("equal to {}, but got {}", show(want), show(got)),
            why: "it was a constant when exported".into(),
            change: "pass that value, or export with another one".into(),
        }
    }

    pub(crate) fn kind(want: &str, got: &Value) -> Refusal {
        Refusal {
            part: String::new(),
            text: format!("{want}, but got {}", show(got)),
            why: "it was one when exported".into(),
            change: format!("pass {want}"),
        }
    }

    pub(crate) fn rank(sizes: &[Size], got: &Tensor) -> Refusal {
        let dims = sizes.iter().map(|s| &*s.text).collect::<Vec<_>>().join(", ");
        Refusal {
            part: ".shape".into(),
            text: format!("of sizes [{dims}], but got {:?}", got.sizes()),
            why: "the number of dimensions is fixed".into(),
            change: format!("pass a tensor of {} dimensions", sizes.len()),
        }
    }
}

impl Size {
    pub(crate) fn static_refusal(&self, want: i64, got: &Number) -> Words {
        let change = format!("pass size {want}, or export with this dimension dynamic");
        (format!("equal to {want}, but got {got}"), "it is static".into(), change)
    }

    pub(crate) fn unequal_refusal(&self, want: &Number, got: &Number, at: &str) -> Words {
        let other = if at.is_empty() { "elsewhere".to_owned() } else { format!("at {at}") };
        let why = format!("{} has that value {other}", self.text);
        let change = "pass equal sizes, or export with different Dims for them";
        (format!("equal to {want}, but got {got}"), why, change.into())
    }

    pub(crate) fn lonely_refusal(&self, got: &Number, at: &str) -> Words {
        let why = format!("{} has that value at {at}, and there is no such dimension", self.text);
        (format!("equal to another size, but got {got}"), why, "pass a tensor that has it".into())
    }

    pub(crate) fn derived_refusal(&self, want: &Number, got: &Number, s: &Symbol, is: &Number) -> Words {
        let change = format!("pass sizes of which this one is {}", self.text);
        (format!("equal to {want}, but got {got}"), format!("it is {} with {s} = {is}", self.text), change)
    }

    pub(crate) fn form_refusal(&self, got: i64, s: &Symbol) -> Words {
        let change = format!("pass a size that some {s} gives");
        (format!("of the form {}, but got {got}", self.text), format!("{s} is an integer"), change)
    }

    /// What to say of a size outside the range that is checked.
    pub(crate) fn range_refusal(&self, got: &Number) -> Option<Words> {
        let beyond = |bound: i64, below: bool| {
            let order = got.compare(&Number::from(bound));
            order.is_some_and(|o| if below { o.is_lt() } else { o.is_gt() })
        };
        let text = match () {
            _ if self.min != i64::MIN && beyond(self.min, true) => format!(">= {}, but got {got}", self.min),
            _ if self.max != i64::MAX && beyond(self.max, false) => format!("<= {}, but got {got}", self.max),
            _ => return None,
        };
        let end = |n: Option<i64>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let change = format!(
            "pass a size from {} to {}, or export with a wider Dim",
            end(self.declared.0),
            end(self.declared.1)
        );
        Some((text, format!("that is the declared range of {}", self.text), change))
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
