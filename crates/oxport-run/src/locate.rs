//! Errors with their location: the node, the call with its argument shapes, the Python line.

use crate::executor::Step;
use oxport_ir::{Arg, Error, Real};

/// The same error with lines that give its location.
pub(crate) fn locate(e: Error, step: &Step, args: &[Arg<Real>]) -> Error {
    let call = args.iter().map(describe).collect::<Vec<_>>().join(", ");
    let mut text = format!("{}\n  in %{} = {}({call})", e.message(), step.name, step.op.name());
    if let Some(line) = step.stack_trace.as_deref().and_then(last_line) {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    e.with_message(text)
}

/// `File "m.py", line 3, in forward: return x + y` of a Python stack trace's last frame.
fn last_line(trace: &str) -> Option<String> {
    let lines: Vec<&str> = trace.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let at = lines.iter().rposition(|l| l.starts_with("File "))?;
    Some(lines[at..].iter().take(2).copied().collect::<Vec<_>>().join(": "))
}

/// `f32[2, 3]`, `7`, `[1, 2]`.
pub(crate) fn describe(arg: &Arg<Real>) -> String {
    match arg {
        Arg::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
        Arg::Int(n) => n.to_string(),
        Arg::Float(x) => format!("{x:?}"),
        Arg::Bool(b) => if *b { "True" } else { "False" }.into(),
        Arg::Complex(c) => c.to_string(),
        Arg::Str(s) => format!("{s:?}"),
        Arg::DType(d) => d.name().into(),
        Arg::Device(d) => d.to_string(),
        Arg::MemoryFormat(m) => m.name().into(),
        Arg::Layout(l) => l.name().into(),
        Arg::Op(op) => op.name().into(),
        Arg::List(l) => format!("[{}]", l.iter().map(describe).collect::<Vec<_>>().join(", ")),
        Arg::Dict(d) => {
            let items = d.iter().map(|(k, a)| format!("{k}: {}", describe(a)));
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        Arg::None | Arg::Graph(_) | Arg::Token => arg.kind().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_of_a_stack_trace() {
        let trace = "  File \"a.py\", line 1, in forward\n    return self.b(x)\n  File \"b.py\", line 22, in \
            forward\n    y = x + 1\n";
        assert_eq!(last_line(trace).as_deref(), Some("File \"b.py\", line 22, in forward: y = x + 1"));
        assert_eq!(last_line("no frames"), None);
    }
}
