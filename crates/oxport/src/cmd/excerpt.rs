//! Excerpts of a program's text around diagnostics, in the form of rustc's.
//!
//! ```text
//! error[meta]: the recorded value is the tensor f32[2], the operator yields the tensor f32[3]
//!   --> model.pt2: node relu
//!    |
//!  7 |         # File: model.py:3 in forward, code: return x.relu()
//!  8 |         relu: "f32[2]" = torch.ops.aten.relu.default(x)
//!    |         ^^^^
//!    = note: `oxport verify --fix` infers it again
//! ```

use oxport::listing::Listing;
use oxport::{Diagnostic, ExportedProgram};
use oxport_ir::Loc;
use oxport_ir::print::Style;
use std::fmt::Write;
use std::path::Path;

/// Every diagnostic with the line of the program's text that it is about, if it is about one: of the `source` that the
/// program was read from, if that is a text, else as it is printed.
pub fn excerpts(path: &Path, source: Option<&str>, program: &ExportedProgram, diagnostics: &[Diagnostic]) -> String {
    let listing = match source {
        Some(text) => Listing::of_source(program, text),
        None => Listing::of(program, Style { origins: true, ..Style::GRAPH }),
    };
    let mut out = String::new();
    for d in diagnostics {
        let place = match &d.at {
            Loc::Node { graph, node } | Loc::Argument { graph, node, .. } => {
                listing.place(graph, node).map(|at| (&listing.lines[..], at, node.as_str()))
            }
            _ => None,
        };
        excerpt(&mut out, path, d, place);
    }
    out
}

/// The most characters of a line that are shown.
const WIDTH: usize = 110;

/// The part of a line around a column, and how far it was shifted to the left.
fn window(line: &str, column: usize) -> (String, usize) {
    let count = line.chars().count();
    if count <= WIDTH {
        return (line.to_string(), 0);
    }
    let first = if column + 60 < WIDTH { 0 } else { column.min(count - 60).saturating_sub(30) };
    let mut shown: String = line.chars().skip(first).take(WIDTH).collect();
    if first + WIDTH < count {
        shown.push('…');
    }
    // The mark of the cut takes the place of one character.
    if first > 0 {
        shown = format!("…{}", shown.chars().skip(1).collect::<String>());
    }
    (shown, first)
}

fn excerpt(out: &mut String, path: &Path, d: &Diagnostic, place: Option<(&[String], usize, &str)>) {
    let _ = writeln!(out, "{}", d.headline());
    let _ = writeln!(out, "  --> {}: {}", path.display(), d.at);
    if let Some((lines, at, span)) = place {
        let width = (at + 1).to_string().len().max(2);
        // The line above says where the node comes from.
        let first = at.checked_sub(1).filter(|above| lines[*above].trim_start().starts_with("# File")).unwrap_or(at);
        let _ = writeln!(out, "{:width$} |", "");
        let line = &lines[at];
        let start = if span.is_empty() { line.len() - line.trim_start().len() } else { line.find(span).unwrap_or(0) };
        let length = if span.is_empty() { line.trim().chars().count() } else { span.chars().count() };
        let before = line[..start].chars().count();
        for n in first..at {
            let _ = writeln!(out, "{:>width$} | {}", n + 1, window(&lines[n], 0).0);
        }
        let (shown, shift) = window(line, before);
        let _ = writeln!(out, "{:>width$} | {shown}", at + 1);
        let marks = "^".repeat(length.clamp(1, WIDTH));
        let _ = writeln!(out, "{:width$} | {}{marks}", "", " ".repeat(before - shift));
    }
    d.notes.iter().for_each(|note| {
        let _ = writeln!(out, "   = note: {note}");
    });
}
