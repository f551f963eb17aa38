//! Values without data as text: annotations, and what the whole text has where an annotation does not say enough.
//!
//! ```text
//! f32[s0, 4]                                        a tensor: contiguous, on the CPU, without gradient
//! f32[s0, 4] strides [1, s0] device cuda:0 grad     a tensor that is not so
//! Sym(s0 + 1)                                       a symbolic integer
//! Float(zf0)  Bool(s0 > 3)  Str('x')  Object('C')   other values, with Int(3) for a constant integer
//! None  Token  [f32[2], None]                       nothing, an effect token, several results
//! ```

use super::lex;
use super::values::python_str;
use crate::fake::Dims;
use crate::{Device, Fake, Val};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// Reads an expression.
pub(super) type ReadExpr<'a> = &'a dyn Fn(&str) -> Result<Expr, String>;

/// The text of a value; [`read_val`] reads it.
pub(super) fn val_text(val: &Val) -> String {
    match val {
        Val::None => "None".to_string(),
        Val::Tensor(t) => tensor_text(t),
        Val::Int(e) => format!("Int({})", exact(e)),
        Val::Float(e) => format!("Float({})", exact(e)),
        Val::Bool(e) => format!("Bool({})", exact(e)),
        Val::Str(s) => format!("Str({})", python_str(s)),
        Val::List(items) => format!("[{}]", items.iter().map(val_text).collect::<Vec<_>>().join(", ")),
        Val::Token => "Token".to_string(),
        Val::Object(class) => format!("Object({})", python_str(class)),
    }
}

/// An expression in a text that reads as the same: the short one, if it does.
fn exact(e: &Expr) -> String {
    let short = e.to_string();
    if Expr::parse(&short).is_ok_and(|read| read == *e) { short } else { e.srepr() }
}

fn list(items: &[Expr], text: &dyn Fn(&Expr) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
}

fn tensor_text(t: &Fake) -> String {
    let mut text = format!("{}{}", t.dtype.short(), list(&t.sizes, &exact));
    if t.strides != Fake::new(t.dtype, t.sizes.iter().cloned()).strides {
        text.push_str(&format!(" strides {}", list(&t.strides, &exact)));
    }
    if t.offset.as_int() != Some(0) {
        text.push_str(&format!(" offset ({})", exact(&t.offset)));
    }
    if t.device != Device::cpu() {
        text.push_str(&format!(" device {}", t.device));
    }
    if t.requires_grad {
        text.push_str(" grad");
    }
    text
}

/// Reads the text of a value.
pub(super) fn read_val(text: &str, expr: ReadExpr<'_>) -> Result<Val, String> {
    read_deep(text, expr, 0)
}

fn read_deep(text: &str, expr: ReadExpr<'_>, depth: usize) -> Result<Val, String> {
    let text = text.trim();
    if depth > super::line::MOST_DEEP {
        return Err(format!("values nest deeper than {} levels", super::line::MOST_DEEP));
    }
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let string = |quoted: &str| match quoted.chars().next() {
        Some(quote @ ('\'' | '"')) => lex::string(quoted, quote).map(|(text, _)| text.into_boxed_str()),
        _ => Err(format!("expected a string, got `{quoted}`")),
    };
    Ok(match text {
        "None" => Val::None,
        "Token" => Val::Token,
        _ if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) => Val::List(
            split_top(inner).into_iter().map(|item| read_deep(item, expr, depth + 1)).collect::<Result<_, _>>()?,
        ),
        _ if let Some(e) = inner("Int") => Val::Int(expr(e)?),
        _ if let Some(e) = inner("Float") => Val::Float(expr(e)?),
        _ if let Some(e) = inner("Bool") => Val::Bool(expr(e)?),
        _ if let Some(s) = inner("Str") => Val::Str(string(s)?),
        _ if let Some(s) = inner("Object") => Val::Object(string(s)?),
        _ => Val::Tensor(tensor(text, expr)?),
    })
}

/// Reads an annotation, `f32[s0, 4]` or `Sym(s0 + 1)`; with strides and device as `print_readable` has them where it is
/// asked for them, `f32[2, 3][3, 1]cuda:0`. A symbolic number is taken for an integer.
pub(super) fn plain_annotation(text: &str, expr: ReadExpr<'_>) -> Result<Val, String> {
    if let Some(inner) = text.strip_prefix("Sym(").and_then(|t| t.strip_suffix(')')) {
        return Ok(Val::Int(expr(inner)?));
    }
    tensor(text, expr).map(Val::Tensor)
}

fn tensor(text: &str, expr: ReadExpr<'_>) -> Result<Fake, String> {
    let wrong = || format!("`{text}` is no annotation");
    let open = text.find('[').ok_or_else(wrong)?;
    let dtype = DType::from_short(&text[..open]).ok_or_else(|| format!("unknown dtype `{}`", &text[..open]))?;
    let exprs = |text: &str| split_top(text).into_iter().map(expr).collect::<Result<Dims, _>>();
    let (sizes, mut rest) = bracketed(&text[open..]).ok_or_else(wrong)?;
    let mut fake = Fake::new(dtype, exprs(sizes)?);
    let is_verbose = rest.starts_with('[');
    if is_verbose || rest.starts_with(" strides ") {
        let (strides, after) = bracketed(rest.trim_start_matches(" strides ")).ok_or_else(wrong)?;
        (fake.strides, rest) = (exprs(strides)?, after);
        if fake.strides.len() != fake.sizes.len() {
            return Err(format!("`{text}` has {} sizes and {} strides", fake.sizes.len(), fake.strides.len()));
        }
    }
    if let Some(offset) = rest.strip_prefix(" offset ") {
        let (offset, after) = bracketed(offset).ok_or_else(wrong)?;
        (fake.offset, rest) = (expr(offset)?, after);
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let device = rest.strip_prefix(" device ").or_else(|| Some(rest).filter(|r| r.starts_with(char::is_alphabetic)));
    if let Some(device) = device {
        let end = device.find(|c| !is_plain(c)).unwrap_or(device.len());
        (fake.device, rest) = (read_device(&device[..end]).ok_or_else(wrong)?, &device[end..]);
    }
    fake.requires_grad = rest == " grad";
    if rest.is_empty() || fake.requires_grad { Ok(fake) } else { Err(wrong()) }
}

/// `cpu`, `cuda:0`
pub(super) fn read_device(text: &str) -> Option<Device> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index.parse().ok()?)),
        None => (text, None),
    };
    let is_kind = !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_kind.then(|| Device { kind: kind.into(), index })
}

/// What stands within the brackets that a text begins with, and what follows.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (i > 0).then(|| (&text[1..i], &text[i + 1..]));
        }
    }
    None
}

/// Splits at commas outside of brackets and strings; what is empty is left out.
pub fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i64, 0);
    let (mut quote, mut escaped) = (None, false);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}
