//! How Python spells strings and floats: `repr`, and the `json` module with its default settings.
//!
//! Torch compares and stores such texts, so they are reproduced to the byte.

use std::fmt::Write as _;

/// `repr(x)`: the shortest digits that read back as `x`, in scientific form below 1e-4 and from 1e16 on.
pub fn float_repr(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` prints an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` prints a decimal exponent");
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{x}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// `json.dumps(x)` of a float: as `repr`, with `Infinity`, `-Infinity` and `NaN` as bare words.
pub fn json_float(x: f64) -> String {
    match x {
        x if x.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        x => float_repr(x),
    }
}

/// Appends `json.dumps(s)`: everything outside printable ASCII is escaped.
pub fn write_json_string(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("writing to a string succeeds");
                }
            }
        }
    }
    out.push('"');
}

/// `repr(s)` of a string.
pub fn str_repr(s: &str) -> String {
    let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(s.len() + 2);
    out.push(quote);
    for c in s.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => match c as u32 {
                n @ ..=0xff => write!(out, "\\x{n:02x}"),
                n @ ..=0xffff => write!(out, "\\u{n:04x}"),
                n => write!(out, "\\U{n:08x}"),
            }
            .expect("writing to a string succeeds"),
        }
    }
    out.push(quote);
    out
}

/// Nearly `str.isprintable`: controls, separators other than the space, and the common format characters are not.
fn is_printable(c: char) -> bool {
    let format = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{e000}'..='\u{f8ff}');
    c == ' ' || !(c.is_control() || c.is_whitespace() || format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_python_prints_them() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (2.5, "2.5"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1e22, "1e+22"),
            (-1e300, "-1e+300"),
            (5e-324, "5e-324"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ];
        for (x, text) in table {
            assert_eq!(float_repr(x), text);
        }
        assert_eq!(json_float(f64::NEG_INFINITY), "-Infinity");
    }

    #[test]
    fn strings_as_python_prints_them() {
        let mut out = String::new();
        write_json_string("é\"\n\u{2028}😀/\u{7f}\\", &mut out);
        assert_eq!(out, r#""\u00e9\"\n\u2028\ud83d\ude00/\u007f\\""#);
        for (s, text) in [
            ("a", "'a'"),
            ("it's", "\"it's\""),
            ("it's \"so\"", "'it\\'s \"so\"'"),
            ("é\"\n\u{2028}😀/\u{7f}\\", "'é\"\\n\\u2028😀/\\x7f\\\\'"),
        ] {
            assert_eq!(str_repr(s), text);
        }
    }
}
