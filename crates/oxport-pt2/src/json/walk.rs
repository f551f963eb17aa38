//! One pass over a JSON text that builds nothing: it counts what a reader would have to build, and shows a scanner every
//! key and string with its place.
//!
//! Law: memory is bounded by the depth of nesting, which is bounded; the text may be anything. A text that is no JSON is
//! walked somehow; that it is none is the parser's complaint.

use std::borrow::Cow;

use crate::Limits;

/// What stands in a JSON text, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// A key of an object.
    Key(Cow<'a, str>),
    /// A string that is a value, as it is written; see [`unescaped`].
    Text(&'a str),
    /// Any other value: a number, a word, a list, an object.
    Other,
}

/// One step of the place of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step<'a> {
    /// Within an object, below the key that was read last.
    Key(Cow<'a, str>),
    /// Within a list, by index.
    Index(usize),
}

/// Why the walk ended early.
#[derive(Debug, PartialEq)]
pub(crate) struct TooDeep {
    /// The byte of the bracket that is one too many.
    pub(crate) offset: usize,
}

/// Walks a text; `visit` is told every event and the path to it (the key itself is the last step of its own path).
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

/// What a string says.
pub(crate) fn unescaped(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    serde_json::from_str(&format!("\"{raw}\"")).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// What a text asks for beyond the limits: a code and the words of the refusal.
pub(crate) fn excess(text: &str, limits: &Limits) -> Option<(&'static str, String)> {
    // A record is counted by a key that only such records have.
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
    fn what_a_reader_would_build_is_counted() {
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
