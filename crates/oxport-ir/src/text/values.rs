//! Arguments as text: as Python source, which the readable form has, and as `str` prints them, which the graph form
//! has.

use crate::{Argument, Complex, Graph, Kwargs, NodeId};
use std::fmt::Write;
use std::sync::Arc;

/// How arguments are printed.
pub(super) struct Values<'a> {
    /// The name of a node.
    pub(super) name: &'a dyn Fn(NodeId) -> String,
    /// As `str` prints them: strings and dictionary keys without quotes, devices and operators by their short names.
    pub(super) plain: bool,
}

/// An argument as Python source.
pub fn argument(graph: &Graph, a: &Argument) -> String {
    let name = |id: NodeId| graph.get(id).map_or("<erased>".to_string(), |node| node.name.to_string());
    Values { name: &name, plain: false }.argument(a)
}

/// An argument as Python source, nodes by these names.
pub fn argument_with(name: &dyn Fn(NodeId) -> String, a: &Argument) -> String {
    Values { name, plain: false }.argument(a)
}

impl Values<'_> {
    /// One argument.
    pub(super) fn argument(&self, a: &Argument) -> String {
        match a {
            Argument::None => "None".to_string(),
            Argument::Node(id) => (self.name)(*id),
            Argument::Int(n) => n.to_string(),
            Argument::Float(x) => python_float(*x),
            Argument::Bool(b) => if *b { "True" } else { "False" }.to_string(),
            Argument::Complex(c) => complex(*c, self.plain),
            Argument::Str(s) if self.plain => s.to_string(),
            Argument::Str(s) => python_str(s),
            Argument::DType(d) => format!("torch.{}", d.name()),
            Argument::Layout(l) => format!("torch.{}", l.name()),
            Argument::MemoryFormat(m) => format!("torch.{}", m.name()),
            Argument::Device(d) if self.plain => d.to_string(),
            Argument::Device(d) => match d.index {
                Some(i) => format!("device(type='{}', index={i})", d.kind),
                None => format!("device(type='{}')", d.kind),
            },
            Argument::Op(op) if self.plain && op.is_higher_order() => op.short_name().to_string(),
            Argument::Op(op) if self.plain => match op.target().strip_prefix("torch.ops.") {
                Some(name) => name.to_string(),
                None => op.target(),
            },
            Argument::Op(op) => op.target(),
            Argument::List(l) => format!("[{}]", self.list(l)),
            Argument::Dict(d) => format!("{{{}}}", self.dictionary(d)),
        }
    }
    /// Arguments between commas.
    pub(super) fn list(&self, items: &[Argument]) -> String {
        items.iter().map(|a| self.argument(a)).collect::<Vec<_>>().join(", ")
    }
    /// A tuple.
    pub(super) fn tuple(&self, items: &[Argument]) -> String {
        if items.len() == 1 { format!("({},)", self.list(items)) } else { format!("({})", self.list(items)) }
    }
    /// What stands between the braces of a dictionary.
    pub(super) fn dictionary(&self, entries: &Kwargs) -> String {
        let key = |key: &Arc<str>| if self.plain { key.to_string() } else { python_str(key) };
        entries.iter().map(|(k, a)| format!("{}: {}", key(k), self.argument(a))).collect::<Vec<_>>().join(", ")
    }
}

/// A float as Python's `repr` prints it: `1e-05`, `0.5`, `inf`.
pub fn python_float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_string();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e').expect("law: {:e} prints an exponent");
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{x:?}")
}

/// A complex number as Python's `repr` prints it: `(1+2j)`.
pub fn python_complex(c: Complex) -> String {
    let part = |x: f64| {
        let text = python_float(x);
        text.strip_suffix(".0").map_or(text.clone(), str::to_string)
    };
    if c.re == 0.0 && c.re.is_sign_positive() {
        return format!("{}j", part(c.im));
    }
    let sign = if c.im.is_sign_negative() && !c.im.is_nan() { "" } else { "+" };
    format!("({}{sign}{}j)", part(c.re), part(c.im))
}

/// A complex number: as `repr` prints it; in source, where that would not read back, as a call.
fn complex(c: Complex, plain: bool) -> String {
    let is_safe = |x: f64| x != 0.0 && x.is_finite();
    if !plain && !(is_safe(c.re) && is_safe(c.im)) {
        return format!("complex({}, {})", python_float(c.re), python_float(c.im));
    }
    python_complex(c)
}

/// A string as Python's `repr` prints it.
pub fn python_str(s: &str) -> String {
    let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in s.chars() {
        let code = c as u32;
        let _ = match c {
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => write!(out, "{c}"),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x10000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
    out
}

/// What Python prints of a string as it is. Spaces other than the plain one, private characters and those that command
/// or hide are printed by number.
fn is_printable(c: char) -> bool {
    let is_private = matches!(c as u32, 0xe000..=0xf8ff | 0xf0000..);
    c == ' ' || !c.is_whitespace() && !is_private && (crate::terminal::is_plain(c) || is_visible_mark(c))
}

/// Marks and letters without a shape of their own, which Python prints all the same: variation selectors, fillers.
fn is_visible_mark(c: char) -> bool {
    matches!(c as u32, 0x34f | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180d | 0x180f | 0x3164 | 0xfe00..=0xfe0f)
}
