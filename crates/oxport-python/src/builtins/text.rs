//! `str` and `bytes`: making them, searching, splitting.

use super::add_methods;
use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Name, Value};

pub(super) fn install(interp: &mut Interp) {
    let types = &interp.types;
    add_methods(
        &types.str,
        &[
            ("__new__", str_new),
            ("split", |i, a| split(i, a, false)),
            ("rsplit", |i, a| split(i, a, true)),
            ("splitlines", |i, a| {
                let text = this(i, &a)?;
                let keep = a.pos.get(1).is_some_and(|v| matches!(v, Value::Bool(true))) || !a.kw.is_empty();
                let lines = match keep {
                    true => text.split_inclusive('\n').map(Value::str).collect(),
                    false => text.lines().map(Value::str).collect(),
                };
                i.new_list(lines)
            }),
            ("partition", |i, a| partition(i, a, false)),
            ("rpartition", |i, a| partition(i, a, true)),
            ("find", |i, a| find(i, a, "find", false)),
            ("rfind", |i, a| find(i, a, "rfind", false)),
            ("index", |i, a| find(i, a, "index", true)),
            ("rindex", |i, a| find(i, a, "rindex", true)),
            ("count", |i, a| {
                let (text, part) = (this(i, &a)?, i.text(&a.at(i, "count", 1)?)?);
                let n = if part.is_empty() { text.chars().count() + 1 } else { text.matches(&*part).count() };
                Ok(Value::from_len(n))
            }),
            ("startswith", |i, a| affix(i, a, "startswith")),
            ("endswith", |i, a| affix(i, a, "endswith")),
            ("join", join),
            ("replace", |i, a| {
                let (text, old) = (this(i, &a)?, i.text(&a.at(i, "replace", 1)?)?);
                let new = i.text(&a.at(i, "replace", 2)?)?;
                let n = text.len() / old.len().max(1) + 1;
                i.charge(text.len().saturating_add(n.saturating_mul(new.len())))?;
                let replaced = match a.pos.get(3) {
                    Some(n) => match usize::try_from(i.index(n)?) {
                        Ok(n) => text.replacen(&*old, &new, n),
                        Err(_) => text.replace(&*old, &new),
                    },
                    None => text.replace(&*old, &new),
                };
                i.new_str(replaced)
            }),
            ("format", |i, mut a| {
                let text = this(i, &a)?;
                a.pos.remove(0);
                let formatted = i.str_format(&text, &a)?;
                i.new_str(formatted)
            }),
            ("format_map", |i, a| {
                let text = this(i, &a)?;
                let mapping = a.at(i, "format_map", 1)?;
                let items = i.mapping_items(&mapping)?;
                let kw = items.into_iter().filter_map(|(k, v)| Some((i.text(&k).ok()?, v))).collect();
                let formatted = i.str_format(&text, &Args { pos: Vec::new(), kw })?;
                i.new_str(formatted)
            }),
            ("encode", |i, a| Ok(Value::Bytes(this(i, &a)?.as_bytes().into()))),
        ],
    );
    for class in [&types.bytearray, &types.memoryview] {
        add_methods(
            class,
            &[("__new__", |i, _| i.raise("NotImplementedError", "bytes that change are not supported"))],
        );
    }
    add_methods(
        &types.bytes,
        &[
            ("__new__", bytes_new),
            ("decode", |i, a| match a.at(i, "decode", 0)? {
                Value::Bytes(bytes) => match std::str::from_utf8(&bytes) {
                    Ok(text) => i.new_str(text),
                    Err(_) => i.raise("UnicodeDecodeError", "'utf-8' codec can't decode bytes"),
                },
                _ => i.type_error("expected bytes"),
            }),
            ("hex", |i, a| match a.at(i, "hex", 0)? {
                Value::Bytes(bytes) => i.new_str(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()),
                _ => i.type_error("expected bytes"),
            }),
        ],
    );
    super::strings::install(interp);
}

pub(super) fn this(interp: &Interp, args: &Args) -> R<Name> {
    match args.pos.first().map(Value::plain) {
        Some(Value::Str(text)) => Ok(text),
        _ => interp.type_error("descriptor requires a 'str' object"),
    }
}

fn str_new(interp: &mut Interp, args: Args) -> R<Value> {
    let class = interp.types.str.clone();
    let Value::Class(of) = args.at(interp, "str", 0)? else { return interp.type_error("X is not a type object") };
    let text = match args.pos.get(1).or_else(|| args.kw.first().map(|(_, v)| v)) {
        Some(Value::Bytes(bytes)) if args.pos.len() > 2 => String::from_utf8_lossy(bytes).as_ref().into(),
        Some(value) => interp.str(value)?,
        None => Name::from(""),
    };
    interp.wrap(&of, &class, Value::Str(text))
}

fn bytes_new(interp: &mut Interp, args: Args) -> R<Value> {
    let bytes: Vec<u8> = match args.pos.get(1) {
        None => Vec::new(),
        Some(Value::Str(text)) => text.as_bytes().to_vec(),
        Some(Value::Bytes(bytes)) => bytes.to_vec(),
        Some(Value::Int(n)) => {
            let n = usize::try_from(*n).unwrap_or(0);
            interp.charge(n)?;
            vec![0; n]
        }
        Some(items) => {
            let mut bytes = Vec::new();
            for item in interp.collect(items)? {
                match u8::try_from(interp.index(&item)?) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => return interp.value_error("bytes must be in range(0, 256)"),
                }
            }
            bytes
        }
    };
    Ok(Value::Bytes(bytes.into()))
}

fn split(interp: &mut Interp, args: Args, from_right: bool) -> R<Value> {
    let text = this(interp, &args)?;
    let mut rest = args;
    rest.pos.remove(0);
    let values = rest.bind(interp, "split", &["sep", "maxsplit"], 0)?;
    let max = match &values[1] {
        Some(n) => usize::try_from(interp.index(n)?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    interp.charge(16 * text.len())?;
    let parts: Vec<Value> = match &values[0] {
        None | Some(Value::None) if max == usize::MAX => text.split_whitespace().map(Value::str).collect(),
        None | Some(Value::None) => {
            let mut parts = Vec::new();
            let mut rest = text.trim();
            while !rest.is_empty() && parts.len() < max {
                let at = if from_right { rest.rfind(char::is_whitespace) } else { rest.find(char::is_whitespace) };
                let Some(at) = at else { break };
                let width = rest[at..].chars().next().map_or(1, char::len_utf8);
                if from_right {
                    parts.push(&rest[at + width..]);
                    rest = rest[..at].trim_end();
                } else {
                    parts.push(&rest[..at]);
                    rest = rest[at..].trim_start();
                }
            }
            if !rest.is_empty() {
                parts.push(rest);
            }
            if from_right {
                parts.reverse();
            }
            parts.into_iter().map(Value::str).collect()
        }
        Some(separator) => {
            let separator = interp.text(separator)?;
            if separator.is_empty() {
                return interp.value_error("empty separator");
            }
            let n = max.saturating_add(1);
            match from_right {
                true => {
                    let mut parts: Vec<Value> = text.rsplitn(n, &*separator).map(Value::str).collect();
                    parts.reverse();
                    parts
                }
                false => text.splitn(n, &*separator).map(Value::str).collect(),
            }
        }
    };
    interp.new_list(parts)
}

fn partition(interp: &mut Interp, args: Args, from_right: bool) -> R<Value> {
    let (text, separator) = (this(interp, &args)?, interp.text(&args.at(interp, "partition", 1)?)?);
    let found = if from_right { text.rsplit_once(&*separator) } else { text.split_once(&*separator) };
    Ok(Value::tuple(match found {
        Some((before, after)) => [Value::str(before), Value::Str(separator), Value::str(after)],
        None if from_right => [Value::str(""), Value::str(""), Value::Str(text)],
        None => [Value::Str(text), Value::str(""), Value::str("")],
    }))
}

/// The byte offset of a character.
fn byte_offset(text: &str, at: usize) -> usize {
    text.char_indices().nth(at).map_or(text.len(), |(n, _)| n)
}

fn find(interp: &mut Interp, args: Args, name: &str, must: bool) -> R<Value> {
    let (text, part) = (this(interp, &args)?, interp.text(&args.at(interp, name, 1)?)?);
    let len = text.chars().count();
    let slice =
        [args.pos.get(2).cloned().unwrap_or(Value::None), args.pos.get(3).cloned().unwrap_or(Value::None), Value::None];
    let bounds = interp.slice_bounds(&slice, len)?;
    let (start, stop) = (byte_offset(&text, bounds.start as usize), byte_offset(&text, bounds.stop as usize));
    let within = text.get(start..stop.max(start)).unwrap_or("");
    let found = if name.starts_with('r') { within.rfind(&*part) } else { within.find(&*part) };
    match found {
        Some(at) => Ok(Value::from_len(text[..start + at].chars().count())),
        None if must => interp.value_error("substring not found"),
        None => Ok(Value::Int(-1)),
    }
}

fn affix(interp: &mut Interp, args: Args, name: &str) -> R<Value> {
    let text = this(interp, &args)?;
    let options = match args.at(interp, name, 1)? {
        Value::Tuple(items) => items.to_vec(),
        option => vec![option],
    };
    let text = match args.pos.get(2) {
        Some(start) => {
            let bounds = interp.slice_bounds(&[start.clone(), Value::None, Value::None], text.chars().count())?;
            Name::from(&text[byte_offset(&text, bounds.start as usize)..])
        }
        None => text,
    };
    for option in options {
        let Value::Str(option) = option.plain() else {
            let class = interp.type_name(&option);
            return interp.type_error(format!("{name} first arg must be str or a tuple of str, not {class}"));
        };
        if if name == "endswith" { text.ends_with(&*option) } else { text.starts_with(&*option) } {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn join(interp: &mut Interp, args: Args) -> R<Value> {
    let separator = this(interp, &args)?;
    let mut out = String::new();
    for (at, item) in interp.collect(&args.at(interp, "join", 1)?)?.into_iter().enumerate() {
        let Value::Str(part) = item.plain() else {
            let class = interp.type_name(&item);
            return interp.type_error(format!("sequence item {at}: expected str instance, {class} found"));
        };
        interp.charge(part.len() + separator.len())?;
        if at > 0 {
            out.push_str(&separator);
        }
        out.push_str(&part);
    }
    Ok(Value::Str(out.into()))
}
