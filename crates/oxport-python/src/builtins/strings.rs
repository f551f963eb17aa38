//! `str`: case, blanks, padding, classes of characters.

use super::add_methods;
use super::text::this;
use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Value};

pub(super) fn install(interp: &mut Interp) {
    add_methods(
        &interp.types.str,
        &[
            ("lower", |i, a| map(i, a, |t| t.to_lowercase())),
            ("upper", |i, a| map(i, a, |t| t.to_uppercase())),
            ("casefold", |i, a| map(i, a, |t| t.to_lowercase())),
            ("swapcase", |i, a| {
                map(i, a, |t| {
                    t.chars()
                        .flat_map(|c| {
                            if c.is_uppercase() {
                                c.to_lowercase().collect::<Vec<_>>()
                            } else {
                                c.to_uppercase().collect()
                            }
                        })
                        .collect()
                })
            }),
            ("capitalize", |i, a| map(i, a, capitalize)),
            ("title", |i, a| map(i, a, title)),
            ("strip", |i, a| strip(i, a, true, true)),
            ("lstrip", |i, a| strip(i, a, true, false)),
            ("rstrip", |i, a| strip(i, a, false, true)),
            ("removeprefix", |i, a| {
                let (text, part) = (this(i, &a)?, i.text(&a.at(i, "removeprefix", 1)?)?);
                Ok(Value::str(text.strip_prefix(&*part).unwrap_or(&text)))
            }),
            ("removesuffix", |i, a| {
                let (text, part) = (this(i, &a)?, i.text(&a.at(i, "removesuffix", 1)?)?);
                Ok(Value::str(text.strip_suffix(&*part).unwrap_or(&text)))
            }),
            ("ljust", |i, a| pad(i, a, '<')),
            ("rjust", |i, a| pad(i, a, '>')),
            ("center", |i, a| pad(i, a, '^')),
            ("zfill", |i, a| {
                let (text, width) = (this(i, &a)?, i.index(&a.at(i, "zfill", 1)?)?);
                let n = usize::try_from(width).unwrap_or(0).saturating_sub(text.chars().count());
                i.charge(n)?;
                let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
                i.new_str(format!("{sign}{}{digits}", "0".repeat(n)))
            }),
            ("isdigit", |i, a| all(i, a, |c| c.is_ascii_digit())),
            ("isdecimal", |i, a| all(i, a, |c| c.is_ascii_digit())),
            ("isnumeric", |i, a| all(i, a, char::is_numeric)),
            ("isalpha", |i, a| all(i, a, char::is_alphabetic)),
            ("isalnum", |i, a| all(i, a, char::is_alphanumeric)),
            ("isspace", |i, a| all(i, a, char::is_whitespace)),
            ("islower", |i, a| {
                let text = this(i, &a)?;
                Ok(Value::Bool(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)))
            }),
            ("isupper", |i, a| {
                let text = this(i, &a)?;
                Ok(Value::Bool(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)))
            }),
            ("isidentifier", |i, a| {
                let text = this(i, &a)?;
                let is_word = text.chars().all(|c| c == '_' || c.is_alphanumeric());
                Ok(Value::Bool(is_word && !text.is_empty() && !text.starts_with(|c: char| c.is_numeric())))
            }),
            ("expandtabs", |i, a| map(i, a, |t| t.replace('\t', "        "))),
            ("translate", |i, a| {
                let (text, table) = (this(i, &a)?, a.at(i, "translate", 1)?);
                let Value::Dict(table) = table else { return i.type_error("expected a dict") };
                let mut out = String::new();
                for c in text.chars() {
                    match i.dict_get(&table, &Value::Int(i64::from(c as u32)))? {
                        Some(Value::None) => {}
                        Some(Value::Str(part)) => out.push_str(&part),
                        _ => out.push(c),
                    }
                }
                i.new_str(out)
            }),
            ("maketrans", |i, a| {
                let (from, to) = (i.text(&a.at(i, "maketrans", 0)?)?, i.text(&a.at(i, "maketrans", 1)?)?);
                let pairs = from.chars().zip(to.chars());
                let items: Vec<_> =
                    pairs.map(|(f, t)| (Value::Int(i64::from(f as u32)), Value::str(&t.to_string()))).collect();
                Ok(Value::Dict(i.make_dict(items)?))
            }),
        ],
    );
}

fn map(interp: &mut Interp, args: Args, f: fn(&str) -> String) -> R<Value> {
    let text = this(interp, &args)?;
    interp.new_str(f(&text))
}

fn all(interp: &mut Interp, args: Args, f: fn(char) -> bool) -> R<Value> {
    let text = this(interp, &args)?;
    Ok(Value::Bool(!text.is_empty() && text.chars().all(f)))
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}

fn title(text: &str) -> String {
    let mut after_letter = false;
    let mut out = String::new();
    for c in text.chars() {
        if after_letter {
            out.extend(c.to_lowercase())
        } else {
            out.extend(c.to_uppercase())
        }
        after_letter = c.is_alphabetic();
    }
    out
}

fn strip(interp: &mut Interp, args: Args, left: bool, right: bool) -> R<Value> {
    let text = this(interp, &args)?;
    let set: Option<Vec<char>> = match args.pos.get(1) {
        None | Some(Value::None) => None,
        Some(set) => Some(interp.text(set)?.chars().collect()),
    };
    let is_stripped = |c: char| set.as_ref().map_or_else(|| c.is_whitespace(), |set| set.contains(&c));
    let mut rest: &str = &text;
    if left {
        rest = rest.trim_start_matches(is_stripped);
    }
    if right {
        rest = rest.trim_end_matches(is_stripped);
    }
    Ok(Value::str(rest))
}

fn pad(interp: &mut Interp, args: Args, align: char) -> R<Value> {
    let (text, width) = (this(interp, &args)?, interp.index(&args.at(interp, "ljust", 1)?)?);
    let fill = match args.pos.get(2) {
        Some(fill) => interp.text(fill)?,
        None => " ".into(),
    };
    let n = usize::try_from(width).unwrap_or(0).saturating_sub(text.chars().count());
    interp.charge(n)?;
    let pad = |n: usize| fill.repeat(n);
    interp.new_str(match align {
        '<' => format!("{text}{}", pad(n)),
        '>' => format!("{}{text}", pad(n)),
        // As CPython: the odd blank is on the left if the width is odd.
        _ => {
            let left = n / 2 + (n & width as usize & 1);
            format!("{}{text}{}", pad(left), pad(n - left))
        }
    })
}
