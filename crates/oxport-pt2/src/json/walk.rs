//! One pass over a JSON text that builds nothing: it counts the values that a reader would build, and gives a scanner
//! every key and string with its path.
//!
//! Invariant: memory is bounded by the nesting depth, which is limited, for any text. Text that is not JSON is walked
//! without an error; the parser reports it.

use std::borrow::Cow;

use crate::Limits;

/// An element of a JSON text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// A key of an object.
    Key(Cow<'a, str>),
    /// A string value with its escapes; see [`unescaped`].
    Text(&'a str),
    /// Any other value: a number, a word, a list, an object.
    Other,
}

/// One step of the path of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step<'a> {
    /// Within an object, below the last key.
    Key(Cow<'a, str>),
    /// Within a list, by index.
    Index(usize),
}

/// Why the walk ended early.
#[derive(Debug, PartialEq)]
pub(crate) struct TooDeep {
    /// The offset of the first bracket beyond the limit.
    pub(crate) offset: usize,
}

/// Walks a text; calls `visit` with every event and its path (a key is the last step of its own path).
pub(crate) fn walk<'a>(
    text: &'a str,
    depth: usize,
    visit: &mut dyn FnMut(&[Step<'a>], Event<'a>),
) -> Result<(), TooDeep> {
    let bytes = text.as_bytes();
    let mut path: Vec<Step<'a>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            open @ (b'{' | b'[') => {
                visit(&path, Event::Other);
                if path.len() >= depth {
                    return Err(TooDeep { offset: at });
                }
                path.push(if open == b'{' { Step::Key(Cow::Borrowed("")) } else { Step::Index(0) });
            }
            b'}' | b']' => drop(path.pop()),
            b',' => {
                if let Some(Step::Index(i)) = path.last_mut() {
                    *i += 1;
                }
            }
            b'"' => {
                let start = at + 1;
                at = end_of_string(bytes, start);
                let string = text.get(start..at).unwrap_or("");
                let after = bytes.get(at + 1..).unwrap_or(&[]);
                let is_key = after.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                match path.last_mut() {
                    Some(Step::Key(key)) if is_key => {
                        *key = unescaped(string);
                        let key = key.clone();
                        visit(&path, Event::Key(key));
                    }
                    _ => visit(&path, Event::Text(string)),
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                visit(&path, Event::Other);
                let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"+-._".contains(b);
                at += bytes[at..].iter().take_while(|b| is_word(b)).count() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// A string with its escapes resolved.
pub(crate) fn unescaped(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    serde_json::from_str(&format!("\"{raw}\"")).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// The first limit that a text exceeds: code and message.
pub(crate) fn excess(text: &str, limits: &Limits) -> Option<(&'static str, String)> {
    // Records are counted by a key that only they have.
    let counted = [
        ("target", "nodes", limits.nodes),
        ("strides", "tensors", limits.tensors),
        ("min_val", "ranges", limits.ranges),
        ("path_name", "payloads", limits.payloads),
    ];
    let mut counts = [0u64; 4];
    let mut values = 0u64;
    let depth = usize::try_from(limits.json_depth).unwrap_or(usize::MAX);
    let walked = walk(text, depth, &mut |_, event| match event {
        Event::Key(key) => {
            if let Some(i) = counted.iter().position(|(name, ..)| *name == key) {
                counts[i] += 1;
            }
        }
        Event::Text(_) | Event::Other => values += 1,
    });
    if let Err(TooDeep { offset }) = walked {
        let depth = limits.json_depth;
        return Some(("depth", format!("the text nests deeper than {depth} levels at byte {offset} (`json_depth`)")));
    }
    for ((key, name, limit), count) in counted.into_iter().zip(counts) {
        if count > limit {
            return Some((name, Limits::exceeded(name, format!("{count} records with the key {key:?}"), limit)));
        }
    }
    if values > limits.dense_values && values > text.len() as u64 / 6 {
        let found = format!("{values} values in {} bytes", text.len());
        return Some(("values", Limits::exceeded("dense_values", found, limits.dense_values)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> String {
        let mut out = String::new();
        let _ = walk(text, 5, &mut |path, event| {
            let path: String = path
                .iter()
                .map(|s| match s {
                    Step::Key(key) => format!(".{key}"),
                    Step::Index(i) => format!("[{i}]"),
                })
                .collect();
            out += &match event {
                Event::Key(key) => format!("{path}: key {key}\n"),
                Event::Text(text) => format!("{path}: {:?}\n", unescaped(text)),
                Event::Other => format!("{path}: value\n"),
            };
        });
        out
    }

    #[test]
    fn events_come_with_their_place() {
        assert_eq!(
            events(r#"{"a": [1, {"b": "c\"}"}, "d"], "\u0065": true}"#),
            ": value\n.a: key a\n.a: value\n.a[0]: value\n.a[1]: value\n.a[1].b: key b\n.a[1].b: \"c\\\"}\"\n\
             .a[2]: \"d\"\n.e: key e\n.e: value\n"
        );
    }

    #[test]
    fn any_text_is_walked() {
        for text in ["", "\"", "\"\\", "}}}]", "{\"a", "{\"a\":", "[,,,", "nul", "\u{1}é\"é", "{1:2}", "\"a\":3"] {
            events(text);
        }
    }

    #[test]
    fn values_to_build_are_counted() {
        let limits = Limits { nodes: 2, json_depth: 4, dense_values: 10, ..Limits::default() };
        let table = [
            ("[[[[]]]]".to_string(), ""),
            ("[[[[[]]]]]".to_string(), "depth"),
            (format!("[{}0]", r#"{"target": 1}, "#.repeat(2)), ""),
            (format!("[{}0]", r#"{"target": 1}, "#.repeat(3)), "nodes"),
            (format!("[{}0]", r#"{"t\u0061rget": 1}, "#.repeat(3)), "nodes"),
            (format!("[{}0]", "0,".repeat(20)), "values"),
            (format!("[{}0]", "1000000, ".repeat(20)), ""),
        ];
        for (text, code) in table {
            assert_eq!(excess(&text, &limits).map_or("", |(code, _)| code), code, "{text}");
        }
    }
}
