//! What a file says, shown on a terminal.
//!
//! Law: no text of a stranger commands the terminal, hides, or turns the reading around. Such characters are shown by
//! their number: control characters (C0, DEL, C1), marks of direction, what has no width, and line ends of other kinds.

use std::fmt::{self, Display, Write};

/// A text that keeps its line ends.
pub struct Lines<T>(pub T);

/// A text within a line: line ends are shown by their number, too.
pub struct Plain<T>(pub T);

impl<T: Display> Display for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping { out: f, lines: true }, "{}", self.0)
    }
}

impl<T: Display> Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping { out: f, lines: false }, "{}", self.0)
    }
}

struct Escaping<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    lines: bool,
}

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| !is_plain(c) && !(self.lines && c == '\n')) {
            self.out.write_str(&rest[..at])?;
            write!(self.out, "{}", c.escape_unicode())?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.out.write_str(rest)
    }
}

/// True if a character shows what it is, and nothing else.
pub fn is_plain(c: char) -> bool {
    !c.is_control() && !HIDDEN.iter().any(|range| range.contains(&c))
}

/// Format characters of Unicode, line and paragraph separators, fillers, and what no standard gives a shape.
const HIDDEN: [std::ops::RangeInclusive<char>; 17] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff0}'..='\u{fffb}',
    '\u{e0000}'..='\u{e0fff}',
];
