//! The document: one self-contained page.
//!
//! The script and its styles are files that the folder `viewer` builds; `integrity.txt`, which it builds too, has their
//! hashes for the policy of the document.
//!
//! Invariants: nothing within the data can end the element that it is in; the policy lets run what is checked in, and
//! nothing else, and load nothing.

use crate::Page;

const TEMPLATE: &str = include_str!("../assets/page.html");
const SCRIPT: &str = include_str!("../assets/viewer.js");
const STYLE: &str = include_str!("../assets/viewer.css");
/// `script=sha256-…` and `style=sha256-…`.
const INTEGRITY: &str = include_str!("../assets/integrity.txt");

/// The document of a page.
pub fn html(page: &Page) -> String {
    let data = serde_json::to_string(page).expect("law: a page is JSON");
    let parts = [
        ("{{policy}}", policy()),
        ("{{title}}", markup(page.title())),
        ("{{style}}", STYLE.to_string()),
        ("{{data}}", escape(&data)),
        ("{{script}}", SCRIPT.to_string()),
    ];
    // In one pass over the template, so that what stands in a part is never taken for a place.
    let (mut out, mut rest) = (String::with_capacity(data.len() + SCRIPT.len() + (1 << 16)), TEMPLATE);
    for (place, part) in parts {
        let (before, after) = rest.split_once(place).expect("law: the template has every place, in this order");
        out.push_str(before);
        out.push_str(&part);
        rest = after;
    }
    out + rest
}

/// The Content-Security-Policy of the document.
pub fn policy() -> String {
    let hash = |key: &str| {
        let of = |line: &'static str| line.strip_prefix(key)?.strip_prefix('=');
        INTEGRITY.lines().find_map(of).expect("law: both hashes are checked in")
    };
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash("script"),
        hash("style")
    )
}

/// JSON that may stand in an element `script`: no `<`, so that no tag begins or ends in it, and no line end of
/// JavaScript that is none of JSON. It is the same JSON.
pub fn escape(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// A text as the content of an element.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
