//! `re`, over a regular expression engine without backreferences and lookaround.

use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Module, Name, Value};
use regex_lite::Regex;
use std::rc::Rc;

const FUNCTIONS: [&str; 7] = ["match", "search", "fullmatch", "findall", "finditer", "sub", "split"];

pub(super) fn install(_: &mut Interp, module: &Rc<Module>) {
    for (name, flag) in
        [("IGNORECASE", 2), ("I", 2), ("MULTILINE", 8), ("M", 8), ("DOTALL", 16), ("S", 16), ("VERBOSE", 64), ("X", 64)]
    {
        module.set(name, Value::Int(flag));
    }
    for name in FUNCTIONS {
        module.set(
            name,
            Value::native(name, move |i, mut a| {
                let flags = a.take("flags");
                let pattern = a.at(i, name, 0)?;
                let compiled = compile(i, &pattern, flags.as_ref())?;
                a.pos.remove(0);
                apply(i, &compiled, name, a)
            }),
        );
    }
    module.set(
        "compile",
        Value::native("compile", |i, mut a| {
            let flags = a.take("flags").or_else(|| a.pos.get(1).cloned());
            let pattern = a.at(i, "compile", 0)?;
            let compiled = compile(i, &pattern, flags.as_ref())?;
            let object = Module::new("re.Pattern");
            object.set("pattern", pattern);
            for name in FUNCTIONS {
                let compiled = compiled.clone();
                object.set(name, Value::native(name, move |i, a| apply(i, &compiled, name, a)));
            }
            Ok(Value::Module(object))
        }),
    );
    module.set(
        "escape",
        Value::native("escape", |i, a| {
            let text = i.text(&a.at(i, "escape", 0)?)?;
            i.new_str(regex_lite::escape(&text))
        }),
    );
}

fn compile(interp: &mut Interp, pattern: &Value, flags: Option<&Value>) -> R<Rc<Regex>> {
    if let Value::Module(module) = pattern {
        let text = module.dict.borrow().get("pattern").cloned().unwrap_or(Value::None);
        return compile(interp, &text, flags);
    }
    let text = interp.text(pattern)?;
    let flags = match flags {
        Some(flags) => interp.index(flags)?,
        None => 0,
    };
    interp.charge(64 * text.len())?;
    // Python's end of text and named groups, as this engine writes them.
    let translated = text.replace("\\Z", "\\z");
    let mut builder = regex_lite::RegexBuilder::new(&translated);
    builder.case_insensitive(flags & 2 != 0).multi_line(flags & 8 != 0);
    builder.dot_matches_new_line(flags & 16 != 0).ignore_whitespace(flags & 64 != 0).size_limit(1 << 20);
    match builder.build() {
        Ok(regex) => Ok(Rc::new(regex)),
        Err(error) => {
            interp.raise("NotImplementedError", format!("regular expression `{text}` is not supported: {error}"))
        }
    }
}

fn apply(interp: &mut Interp, regex: &Rc<Regex>, name: &str, args: Args) -> R<Value> {
    let at = usize::from(name == "sub");
    let text = interp.text(&args.at(interp, name, at)?)?;
    interp.charge(text.len())?;
    match name {
        "search" | "match" | "fullmatch" => {
            let found = regex.captures(&text).filter(|c| {
                let whole = c.get(0).map_or(0..0, |m| m.range());
                (name == "search" || whole.start == 0) && (name != "fullmatch" || whole.end == text.len())
            });
            // A later alternative may match at the start or the whole: the pattern is anchored for that.
            let anchored = match name {
                "search" => None,
                "match" => Regex::new(&format!("^(?:{})", regex.as_str())).ok(),
                _ => Regex::new(&format!("^(?:{})$", regex.as_str())).ok(),
            };
            Ok(match found.or_else(|| anchored.as_ref().and_then(|r| r.captures(&text))) {
                Some(captures) => found_match(regex, &text, &captures),
                None => Value::None,
            })
        }
        "finditer" => {
            let matches = regex.captures_iter(&text).map(|c| found_match(regex, &text, &c)).collect();
            Ok(crate::iter::Iter::values(matches))
        }
        "findall" => {
            let group = |c: &regex_lite::Captures<'_>, n: usize| Value::str(c.get(n).map_or("", |m| m.as_str()));
            let n = regex.captures_len();
            let of = |c: regex_lite::Captures<'_>| match n {
                1 => group(&c, 0),
                2 => group(&c, 1),
                n => Value::tuple((1..n).map(|n| group(&c, n)).collect::<Vec<_>>()),
            };
            interp.new_list(regex.captures_iter(&text).map(of).collect())
        }
        "split" => split(interp, regex, &text, &args),
        _ => substitute(interp, regex, &text, &args),
    }
}

/// The parts between the matches, with what the groups of each match caught: nothing for a group that took no part.
fn split(interp: &mut Interp, regex: &Regex, text: &str, args: &Args) -> R<Value> {
    let most = match args.pos.get(1).or_else(|| args.kw.iter().find(|(k, _)| &**k == "maxsplit").map(|(_, v)| v)) {
        Some(most) => usize::try_from(interp.index(most)?).unwrap_or(0),
        None => 0,
    };
    let (mut parts, mut end) = (Vec::new(), 0);
    for (n, captures) in regex.captures_iter(text).enumerate() {
        let Some(whole) = captures.get(0).filter(|_| most == 0 || n < most) else { break };
        parts.push(Value::str(&text[end..whole.start()]));
        end = whole.end();
        let groups = (1..captures.len()).map(|i| captures.get(i).map_or(Value::None, |g| Value::str(g.as_str())));
        parts.extend(groups);
    }
    parts.push(Value::str(&text[end..]));
    interp.new_list(parts)
}

fn substitute(interp: &mut Interp, regex: &Rc<Regex>, text: &str, args: &Args) -> R<Value> {
    let replacement = args.at(interp, "sub", 0)?;
    let count = match args.pos.get(2).or_else(|| args.kw.iter().find(|(k, _)| &**k == "count").map(|(_, v)| v)) {
        Some(count) => usize::try_from(interp.index(count)?).unwrap_or(0),
        None => 0,
    };
    let (mut out, mut end) = (String::new(), 0);
    for (n, captures) in regex.captures_iter(text).enumerate() {
        if count > 0 && n >= count {
            break;
        }
        let Some(whole) = captures.get(0) else { continue };
        out.push_str(&text[end..whole.start()]);
        end = whole.end();
        match &replacement {
            Value::Str(template) => out.push_str(&expand(template, &captures)),
            function => {
                let found = found_match(regex, text, &captures);
                let part = interp.call(function, Args::of([found]))?;
                out.push_str(&interp.text(&part)?);
            }
        }
        interp.charge(out.len())?;
    }
    out.push_str(&text[end..]);
    interp.new_str(out)
}

/// A replacement with `\1` and `\g<name>`.
fn expand(template: &str, captures: &regex_lite::Captures<'_>) -> String {
    let mut out = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(digit @ '0'..='9') => {
                let n = digit as usize - '0' as usize;
                out.push_str(captures.get(n).map_or("", |m| m.as_str()));
            }
            Some('g') => {
                chars.next();
                let name: String = chars.by_ref().take_while(|c| *c != '>').collect();
                let group = match name.parse() {
                    Ok(n) => captures.get(n),
                    Err(_) => captures.name(&name),
                };
                out.push_str(group.map_or("", |m| m.as_str()));
            }
            Some('n') => out.push('\n'),
            Some(c) => out.push(c),
            None => {}
        }
    }
    out
}

/// A match: `group`, `groups`, `groupdict`, `start`, `end`, `span`.
fn found_match(regex: &Rc<Regex>, text: &str, captures: &regex_lite::Captures<'_>) -> Value {
    let groups: Vec<Value> =
        (0..captures.len()).map(|n| captures.get(n).map_or(Value::None, |m| Value::str(m.as_str()))).collect();
    let names: Vec<Option<Name>> = regex.capture_names().map(|n| n.map(Name::from)).collect();
    let chars = |at: usize| Value::from_len(text[..at].chars().count());
    let span = captures.get(0).map_or((Value::Int(0), Value::Int(0)), |m| (chars(m.start()), chars(m.end())));
    let object = Module::new("re.Match");
    let (all, known) = (groups.clone(), names.clone());
    let group = move |i: &mut Interp, key: &Value| {
        let n = match key {
            Value::Str(name) => known.iter().position(|n| n.as_ref() == Some(name)),
            key => usize::try_from(i.index(key)?).ok(),
        };
        match n.and_then(|n| all.get(n)) {
            Some(value) => Ok(value.clone()),
            None => i.raise("IndexError", "no such group"),
        }
    };
    object.set(
        "group",
        Value::native("group", move |i, a| match a.pos.as_slice() {
            [] => group(i, &Value::Int(0)),
            [only] => group(i, only),
            several => {
                let items = several.iter().map(|key| group(i, key)).collect::<R<Vec<_>>>()?;
                Ok(Value::tuple(items))
            }
        }),
    );
    let rest = groups[1..].to_vec();
    object.set("groups", Value::native("groups", move |_, _| Ok(Value::tuple(rest.clone()))));
    object.set(
        "groupdict",
        Value::native("groupdict", move |i, _| {
            let named = names.iter().zip(&groups).filter_map(|(n, v)| Some((Value::Str(n.clone()?), v.clone())));
            Ok(Value::Dict(i.make_dict(named.collect::<Vec<_>>())?))
        }),
    );
    let (start, end) = span;
    let both = Value::tuple([start.clone(), end.clone()]);
    object.set("start", Value::native("start", move |_, _| Ok(start.clone())));
    object.set("end", Value::native("end", move |_, _| Ok(end.clone())));
    object.set("span", Value::native("span", move |_, _| Ok(both.clone())));
    Value::Module(object)
}
