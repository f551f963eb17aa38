//! A call as text, and back: `aten::add.Tensor(f32[2, 3], 1, alpha=read(2)) symbolic`.

use super::{Call, Item, Mode, Spec};
use oxport::DType;
use oxport_ir::text::split_top;
use oxport_ir::{Argument, Complex, Device, MemoryFormat, MemoryLayout};
use std::fmt;

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.kwargs.iter().map(|(k, i)| format!("{k}={i}"));
        let all: Vec<String> = self.args.iter().map(Item::to_string).chain(named).collect();
        write!(f, "{}({}) {}", self.op, all.join(", "), self.mode.word())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Tensor(t) => t.fmt(f),
            Item::Const(a) => f.write_str(&constant(a)),
            Item::Read(a) => write!(f, "read({})", constant(a)),
            Item::Size(n) => write!(f, "size({n})"),
            Item::List(l) => write!(f, "[{}]", l.iter().map(Item::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

fn constant(a: &Argument) -> String {
    match a {
        Argument::Int(n) => n.to_string(),
        Argument::Float(x) => format!("{x:?}"),
        Argument::Bool(b) => if *b { "True" } else { "False" }.to_string(),
        Argument::Complex(c) => format!("complex({:?}, {:?})", c.re, c.im),
        Argument::Str(s) => format!("\"{}\"", s.replace('"', "")),
        Argument::DType(d) => d.name().to_string(),
        Argument::Layout(l) => l.name().to_string(),
        Argument::MemoryFormat(m) => m.name().to_string(),
        Argument::Device(d) => format!("device({d})"),
        Argument::List(l) => format!("[{}]", l.iter().map(constant).collect::<Vec<_>>().join(", ")),
        Argument::None | Argument::Node(_) | Argument::Op(_) | Argument::Dict(_) => "None".to_string(),
    }
}

impl Call {
    /// Reads the text; a call without a mode is [`Mode::Plain`].
    ///
    /// # Errors
    /// It does not parse.
    pub fn parse(text: &str) -> Result<Call, String> {
        let (op, rest) = text.split_once('(').ok_or_else(|| format!("expected a call, got `{text}`"))?;
        let (body, word) = rest.rsplit_once(')').ok_or_else(|| format!("expected `)`, got `{text}`"))?;
        let mode = Mode::ALL.into_iter().find(|m| m.word() == word.trim());
        let mut call =
            Call { op: op.to_string(), args: Vec::new(), kwargs: Vec::new(), mode: mode.unwrap_or(Mode::Plain) };
        call.read_arguments(body)?;
        Ok(call)
    }
    /// Reads arguments as samples of the operator table have them.
    ///
    /// # Errors
    /// One does not parse.
    pub fn read_arguments(&mut self, body: &str) -> Result<(), String> {
        let is_name = |k: &str| !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || c == '_');
        for part in split_top(body) {
            match part.split_once('=').filter(|(k, _)| is_name(k)) {
                Some((key, value)) => self.kwargs.push((key.to_string(), Item::parse(value.trim())?)),
                None => self.args.push(Item::parse(part)?),
            }
        }
        Ok(())
    }
}

impl Item {
    /// Reads an argument.
    ///
    /// # Errors
    /// It does not parse.
    pub fn parse(text: &str) -> Result<Item, String> {
        let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            return Ok(Item::List(split_top(inner).into_iter().map(Item::parse).collect::<Result<_, _>>()?));
        }
        if let Some(size) = inside("size") {
            return size.parse().map(Item::Size).map_err(|_| format!("expected a size, got `{text}`"));
        }
        if let Some(value) = inside("read") {
            return match Item::parse(value)? {
                Item::Const(a) => Ok(Item::Read(a)),
                _ => Err(format!("expected a number to read, got `{text}`")),
            };
        }
        if text.split_once('[').is_some_and(|(short, _)| DType::from_short(short).is_some()) {
            return Spec::parse(text).map(Item::Tensor);
        }
        parse_constant(text).map(Item::Const).ok_or_else(|| format!("expected a value, got `{text}`"))
    }
}

fn parse_constant(text: &str) -> Option<Argument> {
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let format = MemoryFormat::ALL.into_iter().find(|m| m.name() == text || m.name() == format!("{text}_format"));
    let layout = MemoryLayout::ALL.into_iter().find(|l| l.name() == text);
    Some(match text {
        "None" => Argument::None,
        "True" => Argument::Bool(true),
        "False" => Argument::Bool(false),
        "cpu" => Argument::Device(Device::cpu()),
        _ if text.starts_with('"') => Argument::Str(text.trim_matches('"').into()),
        _ => match (text.parse(), text.parse(), DType::from_name(text), format, layout) {
            (Ok(n), ..) => Argument::Int(n),
            (_, Ok(x), ..) => Argument::Float(x),
            (_, _, Some(d), ..) => Argument::DType(d),
            (_, _, _, Some(m), _) => Argument::MemoryFormat(m),
            (.., Some(l)) => Argument::Layout(l),
            _ => match (inside("complex"), inside("device"), text.strip_suffix('j')) {
                (Some(parts), ..) => {
                    let (re, im) = parts.split_once(',')?;
                    Argument::Complex(Complex::new(re.trim().parse().ok()?, im.trim().parse().ok()?))
                }
                (_, Some(device), _) => {
                    let (kind, index) = device.split_once(':').map_or((device, None), |(k, i)| (k, i.parse().ok()));
                    Argument::Device(Device { kind: kind.into(), index })
                }
                (_, _, Some(imaginary)) => Argument::Complex(Complex::new(0.0, imaginary.parse().ok()?)),
                _ => return None,
            },
        },
    })
}
