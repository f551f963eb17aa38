//! Formatting: `format()`, f-strings, `str.format`, `%`.

use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Name, Value};
use num_traits::Signed;

/// A format specification: `[[fill]align][sign][#][0][width][,][.precision][type]`.
#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

impl Spec {
    fn parse(text: &str) -> Option<Spec> {
        let chars: Vec<char> = text.chars().collect();
        let mut spec = Spec::default();
        let mut at = 0;
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
        if is_align(chars.get(1)) {
            (spec.fill, spec.align, at) = (Some(chars[0]), Some(chars[1]), 2);
        } else if is_align(chars.first()) {
            (spec.align, at) = (Some(chars[0]), 1);
        }
        if let Some(c @ ('+' | '-' | ' ')) = chars.get(at) {
            spec.sign = Some(*c);
            at += 1;
        }
        if chars.get(at) == Some(&'#') {
            spec.alternate = true;
            at += 1;
        }
        if chars.get(at) == Some(&'0') {
            spec.zero = true;
            at += 1;
        }
        let number = |at: &mut usize| {
            let from = *at;
            while chars.get(*at).is_some_and(char::is_ascii_digit) {
                *at += 1;
            }
            let digits: String = chars[from..*at].iter().collect();
            if digits.is_empty() {
                Some(None)
            } else {
                digits.parse::<usize>().ok().filter(|n| *n <= 1 << 20).map(Some)
            }
        };
        spec.width = number(&mut at)?.unwrap_or(0);
        if let Some(c @ (',' | '_')) = chars.get(at) {
            spec.grouping = Some(*c);
            at += 1;
        }
        if chars.get(at) == Some(&'.') {
            at += 1;
            spec.precision = Some(number(&mut at)??);
        }
        spec.kind = chars.get(at).copied();
        at += usize::from(spec.kind.is_some());
        (at == chars.len()).then_some(spec)
    }

    /// Pads a text to the width; `sign` is the part before the digits.
    fn pad(&self, sign: &str, body: &str, default: char) -> String {
        let n = self.width.saturating_sub(sign.chars().count() + body.chars().count());
        let fill = self.fill.unwrap_or(if self.zero { '0' } else { ' ' });
        let align = self.align.unwrap_or(if self.zero { '=' } else { default });
        let pad = |n: usize| fill.to_string().repeat(n);
        match align {
            '<' => format!("{sign}{body}{}", pad(n)),
            '^' => format!("{}{sign}{body}{}", pad(n / 2), pad(n - n / 2)),
            '=' => format!("{sign}{}{body}", pad(n)),
            _ => format!("{}{sign}{body}", pad(n)),
        }
    }

    fn sign_of(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        }
    }

    fn group(&self, digits: &str, every: usize) -> String {
        let Some(separator) = self.grouping else { return digits.to_string() };
        let (whole, rest) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
        let mut out = String::new();
        for (at, c) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at) % every == 0 {
                out.push(separator);
            }
            out.push(c);
        }
        out + rest
    }
}

/// A float's digits without sign, by the type of the specification.
fn float_digits(f: f64, kind: char, precision: Option<usize>, alternate: bool) -> String {
    if !f.is_finite() {
        return if f.is_nan() { "nan".into() } else { "inf".into() };
    }
    let exponent_form = |text: String| {
        let (digits, exponent) =
            text.split_once('e').map_or((text.clone(), 0), |(d, e)| (d.to_string(), e.parse().unwrap_or(0)));
        let exponent: i32 = exponent;
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    };
    match kind {
        'f' => format!("{f:.*}", precision.unwrap_or(6)),
        'e' => exponent_form(format!("{f:.*e}", precision.unwrap_or(6))),
        _ => {
            let precision = precision.unwrap_or(6).max(1);
            let rounded = format!("{f:.*e}", precision - 1);
            let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
            let trim = |text: String| match text.contains('.') && !alternate {
                true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
                false => text,
            };
            if exponent < -4 || exponent >= precision as i32 {
                let (digits, _) = rounded.split_once('e').unwrap_or((&rounded, ""));
                return exponent_form(format!("{}e{exponent}", trim(digits.to_string())));
            }
            trim(format!("{f:.*}", usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0)))
        }
    }
}

impl Interp {
    /// `format(value, spec)`.
    ///
    /// # Errors
    /// A `ValueError` for a wrong specification; what `__format__` raises.
    pub fn format(&mut self, value: &Value, spec: &str) -> R<String> {
        if let Value::Instance(_) = value
            && let Some(method) = self.special(value, "__format__")?
        {
            let text = self.call(&method, Args::of([Value::str(spec)]))?;
            return Ok(self.text(&text)?.to_string());
        }
        if spec.is_empty() {
            return Ok(self.str(value)?.to_string());
        }
        let value = match value {
            // A symbolic number is written as its specialized value.
            Value::Host(host) => match host.clone().int(self, value)? {
                Some(n) if !matches!(n, Value::Host(_)) => n,
                _ => value.clone(),
            },
            value => value.plain(),
        };
        let Some(parsed) = Spec::parse(spec) else {
            let class = self.type_name(&value);
            return self.value_error(format!("Invalid format specifier '{spec}' for object of type '{class}'"));
        };
        self.charge(parsed.width + parsed.precision.unwrap_or(0))?;
        let kind = parsed.kind;
        match (&value, kind) {
            (Value::Str(text), None | Some('s')) => {
                let text: String = match parsed.precision {
                    Some(n) => text.chars().take(n).collect(),
                    None => text.to_string(),
                };
                Ok(parsed.pad("", &text, '<'))
            }
            (Value::Float(_), None)
            | (
                Value::Float(_) | Value::Int(_) | Value::Bool(_) | Value::Big(_),
                Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%'),
            ) => {
                let Value::Float(f) = self.float(&value)? else { return self.value_error("expected a float") };
                let lower = kind.map_or('g', |k| k.to_ascii_lowercase());
                let size = f.abs();
                let mut digits = match (kind, parsed.precision) {
                    (None, None) => crate::repr::float_repr(size),
                    (Some('%'), precision) => float_digits(size * 100.0, 'f', precision, false) + "%",
                    (_, precision) => {
                        let text = float_digits(size, lower, precision, parsed.alternate);
                        let is_bare = kind.is_none() && !text.contains(['.', 'e', 'n']);
                        if is_bare { text + ".0" } else { text }
                    }
                };
                if kind.is_some_and(|k| k.is_ascii_uppercase()) {
                    digits = digits.to_ascii_uppercase();
                }
                let is_negative = f.is_sign_negative() && !f.is_nan();
                Ok(parsed.pad(parsed.sign_of(is_negative), &parsed.group(&digits, 3), '>'))
            }
            (Value::Int(_) | Value::Bool(_) | Value::Big(_), None | Some('d' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c')) => {
                let Some(n) = crate::ops::big_of(&value) else { return self.value_error("expected an int") };
                if kind == Some('c') {
                    let text = self.repr(&value)?.parse().ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                    return Ok(parsed.pad("", &text.to_string(), '<'));
                }
                let magnitude = n.magnitude();
                let (digits, prefix, every) = match kind {
                    Some('x') => (magnitude.to_str_radix(16), "0x", 4),
                    Some('X') => (magnitude.to_str_radix(16).to_ascii_uppercase(), "0X", 4),
                    Some('o') => (magnitude.to_str_radix(8), "0o", 4),
                    Some('b') => (magnitude.to_str_radix(2), "0b", 4),
                    _ => (magnitude.to_str_radix(10), "", 3),
                };
                let prefix = if parsed.alternate { prefix } else { "" };
                let sign = format!("{}{prefix}", parsed.sign_of(n.is_negative()));
                Ok(parsed.pad(&sign, &parsed.group(&digits, every), '>'))
            }
            (Value::Bool(_) | Value::None | Value::Tuple(_) | Value::List(_) | Value::Dict(_) | Value::Class(_), _) => {
                let class = self.type_name(&value);
                self.type_error(format!("unsupported format string passed to {class}.__format__"))
            }
            (Value::Host(_), _) => {
                let text = self.str(&value)?;
                Ok(parsed.pad("", &text, '<'))
            }
            (_, Some(kind)) => {
                let class = self.type_name(&value);
                self.value_error(format!("Unknown format code '{kind}' for object of type '{class}'"))
            }
            (_, None) => {
                let text = self.str(&value)?;
                Ok(parsed.pad("", &text, '<'))
            }
        }
    }

    /// `format % values`.
    pub(crate) fn percent_format(&mut self, format: &str, values: &Value) -> R<String> {
        let mapping = matches!(values, Value::Dict(_)).then(|| values.clone());
        let mut given = match values {
            Value::Tuple(items) => items.to_vec(),
            other => vec![other.clone()],
        }
        .into_iter();
        let mut out = String::new();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut key = None;
            if chars.next_if_eq(&'(').is_some() {
                key = Some(chars.by_ref().take_while(|c| *c != ')').collect::<String>());
            }
            let mut spec = String::new();
            let mut left = false;
            while let Some(flag) = chars.next_if(|c| "-+ #0".contains(*c)) {
                if flag == '-' { left = true } else { spec.push(flag) }
            }
            let mut number = |given: &mut std::vec::IntoIter<Value>, i: &mut Interp| -> R<String> {
                if chars.next_if_eq(&'*').is_some() {
                    let n = given.next().unwrap_or(Value::Int(0));
                    return Ok(i.index(&n)?.to_string());
                }
                Ok(std::iter::from_fn(|| chars.next_if(char::is_ascii_digit)).collect())
            };
            let width = number(&mut given, self)?;
            let mut rest = width.clone();
            if chars.peek() == Some(&'.') {
                chars.next();
                let mut number = || std::iter::from_fn(|| chars.next_if(char::is_ascii_digit)).collect::<String>();
                let precision = number();
                rest = format!("{width}.{}", if precision.is_empty() { "0" } else { &precision });
            }
            while chars.next_if(|c| "hlL".contains(*c)).is_some() {}
            let Some(kind) = chars.next() else { return self.value_error("incomplete format") };
            if kind == '%' {
                out.push('%');
                continue;
            }
            let value = match (&key, &mapping) {
                (Some(key), Some(mapping)) => self.get_item(mapping, &Value::str(key))?,
                _ => match given.next() {
                    Some(value) => value,
                    None => return self.type_error("not enough arguments for format string"),
                },
            };
            let align = if left { "<" } else { ">" };
            let text = match kind {
                's' => {
                    let text = self.str(&value)?;
                    self.format(&Value::Str(text), &format!("{align}{rest}"))?
                }
                'r' | 'a' => {
                    let text = self.repr(&value)?;
                    self.format(&Value::str(&text), &format!("{align}{rest}"))?
                }
                'd' | 'i' | 'u' => {
                    let n = match self.unless(self.format_int(&value), "TypeError")? {
                        Some(n) => n,
                        None => {
                            let class = self.type_name(&value);
                            return self.type_error(format!("%{kind} format: a real number is required, not {class}"));
                        }
                    };
                    let align = if left { "<" } else { "" };
                    self.format(&n, &format!("{align}{spec}{rest}d"))?
                }
                _ => {
                    let align = if left { "<" } else { "" };
                    self.format(&value, &format!("{align}{spec}{rest}{kind}"))?
                }
            };
            out.push_str(&text);
        }
        if given.next().is_some() && mapping.is_none() {
            return self.type_error("not all arguments converted during string formatting");
        }
        Ok(out)
    }

    fn format_int(&self, value: &Value) -> R<Value> {
        match value.plain() {
            Value::Float(f) => {
                Ok(num_traits::FromPrimitive::from_f64(f.trunc()).map_or(Value::Int(0), Value::from_big))
            }
            v @ (Value::Int(_) | Value::Bool(_) | Value::Big(_) | Value::Host(_)) => Ok(v),
            _ => self.type_error("a number is required"),
        }
    }

    /// `text.format(*args, **kw)`.
    pub(crate) fn str_format(&mut self, text: &str, args: &Args) -> R<String> {
        let chars: Vec<char> = text.chars().collect();
        let (mut at, mut auto) = (0, 0);
        self.format_fields(&chars, &mut at, args, &mut auto, false)
    }

    fn format_fields(
        &mut self,
        chars: &[char],
        at: &mut usize,
        args: &Args,
        auto: &mut usize,
        inner: bool,
    ) -> R<String> {
        let mut out = String::new();
        while let Some(&c) = chars.get(*at) {
            match c {
                '{' if chars.get(*at + 1) == Some(&'{') && !inner => {
                    out.push('{');
                    *at += 2;
                }
                '}' if inner => return Ok(out),
                '}' if chars.get(*at + 1) == Some(&'}') => {
                    out.push('}');
                    *at += 2;
                }
                '}' => return self.value_error("Single '}' encountered in format string"),
                '{' => {
                    *at += 1;
                    let field = self.format_field(chars, at, args, auto)?;
                    out.push_str(&field);
                }
                c => {
                    out.push(c);
                    *at += 1;
                }
            }
        }
        Ok(out)
    }

    fn format_field(&mut self, chars: &[char], at: &mut usize, args: &Args, auto: &mut usize) -> R<String> {
        let from = *at;
        while chars.get(*at).is_some_and(|c| !matches!(c, '}' | ':' | '!')) {
            *at += 1;
        }
        let name: String = chars[from..*at].iter().collect();
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, path) = name.split_at(end);
        let mut value = if first.is_empty() {
            *auto += 1;
            args.pos.get(*auto - 1).cloned()
        } else if let Ok(n) = first.parse::<usize>() {
            args.pos.get(n).cloned()
        } else {
            match args.kw.iter().find(|(k, _)| &**k == first) {
                Some((_, value)) => Some(value.clone()),
                None => return self.raise_with("KeyError", vec![Value::str(first)]),
            }
        };
        let Some(mut current) = value.take() else {
            return self.raise(
                "IndexError",
                format!("Replacement index {} out of range for positional args tuple", (*auto).max(1) - 1),
            );
        };
        let mut rest = path;
        while !rest.is_empty() {
            if let Some(tail) = rest.strip_prefix('.') {
                let end = tail.find(['.', '[']).unwrap_or(tail.len());
                current = self.get_attr(&current, &Name::from(&tail[..end]))?;
                rest = &tail[end..];
            } else {
                let tail = &rest[1..];
                let end = tail.find(']').unwrap_or(tail.len());
                let key = tail[..end].parse().map_or_else(|_| Value::str(&tail[..end]), Value::Int);
                current = self.get_item(&current, &key)?;
                rest = tail.get(end + 1..).unwrap_or("");
            }
        }
        if chars.get(*at) == Some(&'!') {
            let conversion = chars.get(*at + 1).copied();
            *at += 2;
            current = match conversion {
                Some('r' | 'a') => Value::str(&self.repr(&current)?),
                _ => Value::Str(self.str(&current)?),
            };
        }
        let mut spec = String::new();
        if chars.get(*at) == Some(&':') {
            *at += 1;
            spec = self.format_fields(chars, at, args, auto, true)?;
        }
        if chars.get(*at) != Some(&'}') {
            return self.value_error("expected '}' before end of string");
        }
        *at += 1;
        self.format(&current, &spec)
    }
}
