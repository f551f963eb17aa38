//! JSON as Python reads and writes it: errors have a path, and output equals that of `json.dumps`.

pub(crate) mod walk;

use std::io;

use oxport_ir::Loc;
use oxport_pytree::python;
use serde::de::DeserializeOwned;
use serde::ser::Serialize;
use serde_json::ser::Formatter;

use crate::{Error, Limits, Result};

/// Reads a JSON document; errors name it `name`.
///
/// Python's bare words `NaN`, `Infinity` and `-Infinity`, which PyTorch 2.5 and 2.6 wrote, are read as strings of that
/// name. Errors have the path within the document. Limits are checked before values are built.
pub fn from_slice<T: DeserializeOwned>(name: &str, bytes: &[u8], limits: &Limits) -> Result<T> {
    parse(name, checked(name, bytes, limits)?)
}

/// The text of a document, checked against the limits.
pub(crate) fn checked<'a>(name: &str, bytes: &'a [u8], limits: &Limits) -> Result<&'a str> {
    let at = || Loc::Json(name.to_string());
    if bytes.len() as u64 > limits.json {
        let message = Limits::exceeded("json", format!("{} bytes of text", bytes.len()), limits.json);
        return Err(Error::invalid("size", at(), message));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Error::invalid("json", at(), format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    if let Some((code, message)) = walk::excess(text, limits) {
        return Err(Error::invalid(code, at(), message));
    }
    Ok(text)
}

/// Parses a checked text.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    let at = |path: String| Loc::Json(if path.is_empty() { name.to_string() } else { format!("{name}: {path}") });
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let error = match quote_bare_words(text).map(|text| serde_json::from_str(&text)) {
        Some(Ok(value)) => return Ok(value),
        _ => error,
    };
    let (line, column) = (error.line(), error.column());
    let offset: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut message = error.to_string();
    message.truncate(message.rfind(" at line").unwrap_or(message.len()));
    Err(Error::invalid("json", at(path_at(text, offset + column)), format!("{message} (line {line}, column {column})")))
}

/// Writes a JSON document as Python's `json.dumps` does: `, ` and `: ` as separators, ASCII only.
pub fn to_string(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Python);
    value.serialize(&mut serializer).expect("law: the types of this crate have string keys and finite numbers");
    String::from_utf8(out).expect("law: a JSON text is UTF-8")
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(python::float_repr(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            return out.write_all(fragment.as_bytes());
        }
        let mut quoted = String::new();
        python::write_json_string(fragment, &mut quoted);
        out.write_all(&quoted.as_bytes()[1..quoted.len() - 1])
    }
}

/// The text with Python's bare words quoted; `None` if it has none.
pub(crate) fn quote_bare_words(text: &str) -> Option<String> {
    if !["NaN", "Infinity"].iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut out = String::new();
    let mut done = 0;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'-' | b'I' | b'N' if !in_string && at >= done => {
                let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| text[at..].starts_with(word));
                if let Some(word) = word {
                    out.extend([&text[done..at], "\"", word, "\""]);
                    done = at + word.len();
                }
            }
            _ => {}
        }
    }
    (done > 0).then(|| out + &text[done..])
}

/// The path of the value at a byte of a document: `graph_module.graph.nodes[3].target`.
fn path_at(text: &str, offset: usize) -> String {
    enum Step<'a> {
        Key(&'a str),
        Index(usize),
    }
    let bytes = text.as_bytes();
    let mut path: Vec<Step<'_>> = Vec::new();
    let mut at = 0;
    while at < offset.min(bytes.len()) {
        match bytes[at] {
            b'{' => path.push(Step::Key("")),
            b'[' => path.push(Step::Index(0)),
            // Errors about the type of a value are reported at its end.
            b'}' | b']' if at + 1 < offset => drop(path.pop()),
            b',' => {
                if let Some(Step::Index(i)) = path.last_mut() {
                    *i += 1;
                }
            }
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let after = bytes.get(at + 1..).unwrap_or(&[]);
                let is_key = after.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if let (true, Some(Step::Key(key)), Some(text)) = (is_key, path.last_mut(), text.get(start..at)) {
                    *key = text;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key("") => {}
            Step::Key(key) => {
                out.push_str(if out.is_empty() { "" } else { "." });
                out.push_str(key);
            }
            Step::Index(i) => out.push_str(&format!("[{i}]")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn texts_are_those_of_python() {
        let text =
            r#"{"b": [1, -2.5, 1e-05, 1e+16, true, null, []], "a": {"\u00e9\n\"": "\ud83d\ude00\u007f"}, "c": {}}"#;
        let value: Value = from_slice("t", text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(to_string(&value), text);
    }

    #[test]
    fn bare_words_are_read_as_strings() {
        let text = r#"{"a": [NaN, -Infinity, Infinity, "a\"NaN", 3]}"#;
        let value: Value = from_slice("t", text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(value.to_string(), r#"{"a":["NaN","-Infinity","Infinity","a\"NaN",3]}"#);
    }

    #[test]
    fn errors_name_their_place() {
        let table = [
            ("", "json t: EOF while parsing a value"),
            ("{\"a\": [1, {\"b\": [2, 3, x]}]}", "json t: a[1].b[2]: expected value (line 1, column 24)"),
            ("{\"a\": 1,\n \"b\": [[], [1, 2],\n nul]}", "json t: b[2]: expected ident (line 3, column 5)"),
            ("{\"a\": {\"q\": \"}]\"}, \"c\" 3}", "json t: a: expected `:`"),
        ];
        for (text, message) in table {
            let error = from_slice::<Value>("t", text.as_bytes(), &Limits::default()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
        let deep = "[".repeat(100_000);
        let error = from_slice::<Value>("t", deep.as_bytes(), &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("error[depth]"), "{error}");
        assert!(from_slice::<Value>("t", b"\xef\xbb\xbf{}", &Limits::default()).is_err());
        let tight = Limits { json: 3, ..Limits::default() };
        let error = from_slice::<Value>("t", b"[1,2]", &tight).unwrap_err().to_string();
        assert!(error.contains("error[size]"), "{error}");
    }
}
