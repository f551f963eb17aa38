//! Pickles, opcode by opcode, of every protocol: which globals they import, without running them.
//!
//! Only strings are tracked, on the stack and in the memo. Invariant: memory is in proportion to the pickle, and a
//! damaged pickle is followed up to the damage, as PyTorch would execute it.

use std::collections::HashMap;
use std::rc::Rc;

/// The imports of one pickle.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Imports {
    /// The globals, `module.name`, in order, each once; `None` for one whose name is computed.
    pub(super) globals: Vec<Option<String>>,
    /// True if something is called, not only imported.
    pub(super) calls: bool,
    /// True if the end of the pickle was reached.
    pub(super) is_complete: bool,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// The argument format of an opcode.
#[derive(Clone, Copy)]
enum Arg {
    Bytes(usize),
    /// A length of this many bytes, and that many bytes of text.
    Counted(usize),
    /// Text up to the end of the line.
    Line,
    TwoLines,
}

/// The stack effect of an opcode: values popped, whether one is pushed; or pop down to the mark.
#[derive(Clone, Copy)]
enum Effect {
    Replace(usize, usize),
    ToMark(usize),
    Mark,
    Text,
    Global,
    StackGlobal,
    Inst,
    Extension,
    Put,
    PutNext,
    PutLine,
    Get,
    GetLine,
    Call(usize),
    CallToMark,
    Dup,
    Stop,
}

fn opcode(byte: u8) -> Option<(Arg, Effect)> {
    use Arg::*;
    use Effect::*;
    Some(match byte {
        b'.' => (Bytes(0), Stop),
        b'(' => (Bytes(0), Mark),
        b'0' => (Bytes(0), Replace(1, 0)),
        b'1' => (Bytes(0), ToMark(0)),
        b'2' => (Bytes(0), Dup),
        b'N' | b')' | b']' | b'}' | 0x88 | 0x89 | 0x8f | 0x97 => (Bytes(0), Replace(0, 1)),
        b'F' | b'I' | b'L' => (Line, Replace(0, 1)),
        b'J' => (Bytes(4), Replace(0, 1)),
        b'K' => (Bytes(1), Replace(0, 1)),
        b'M' => (Bytes(2), Replace(0, 1)),
        b'G' => (Bytes(8), Replace(0, 1)),
        0x8a => (Counted(1), Replace(0, 1)),
        0x8b => (Counted(4), Replace(0, 1)),
        b'S' | b'V' => (Line, Text),
        b'T' | b'X' | b'B' => (Counted(4), Text),
        b'U' | b'C' | 0x8c => (Counted(1), Text),
        0x8d | 0x8e | 0x96 => (Counted(8), Text),
        b'P' => (Line, Replace(0, 1)),
        b'Q' => (Bytes(0), Replace(1, 1)),
        b'a' => (Bytes(0), Replace(1, 0)),
        b's' => (Bytes(0), Replace(2, 0)),
        b'e' | b'u' | 0x90 => (Bytes(0), ToMark(0)),
        b'd' | b'l' | b't' | 0x91 => (Bytes(0), ToMark(1)),
        0x85 => (Bytes(0), Replace(1, 1)),
        0x86 => (Bytes(0), Replace(2, 1)),
        0x87 => (Bytes(0), Replace(3, 1)),
        b'c' => (TwoLines, Global),
        0x93 => (Bytes(0), StackGlobal),
        b'i' => (TwoLines, Inst),
        b'o' => (Bytes(0), CallToMark),
        b'R' | 0x81 => (Bytes(0), Call(2)),
        0x92 => (Bytes(0), Call(3)),
        b'b' => (Bytes(0), Call(2)),
        0x82 => (Bytes(1), Extension),
        0x83 => (Bytes(2), Extension),
        0x84 => (Bytes(4), Extension),
        b'q' => (Bytes(1), Put),
        b'r' => (Bytes(4), Put),
        b'p' => (Line, PutLine),
        0x94 => (Bytes(0), PutNext),
        b'h' => (Bytes(1), Get),
        b'j' => (Bytes(4), Get),
        b'g' => (Line, GetLine),
        0x80 => (Bytes(1), Replace(0, 0)),
        0x95 => (Bytes(8), Replace(0, 0)),
        0x98 => (Bytes(0), Replace(0, 0)),
        _ => return None,
    })
}

type Cell = Option<Rc<str>>;

/// Follows a pickle.
pub(super) fn imports(bytes: &[u8]) -> Imports {
    let mut found = Imports::default();
    let mut seen = std::collections::HashSet::new();
    let (mut stack, mut marks): (Vec<Cell>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut memo: HashMap<u64, Cell> = HashMap::new();
    let mut at = 0;
    while let Some((arg, effect)) = bytes.get(at).copied().and_then(opcode) {
        let start = at;
        at += 1;
        let Some((first, second)) = argument(bytes, &mut at, arg) else {
            at = start;
            break;
        };
        let mut import = |name: Option<String>| {
            if seen.len() < 1000 && seen.insert(name.clone()) {
                found.globals.push(name);
            }
        };
        match effect {
            Effect::Stop => {
                found.is_complete = true;
                break;
            }
            Effect::Replace(gone, come) => {
                stack.truncate(stack.len().saturating_sub(gone));
                stack.extend((0..come).map(|_| None));
            }
            Effect::ToMark(come) => {
                stack.truncate(marks.pop().unwrap_or(0));
                stack.extend((0..come).map(|_| None));
            }
            Effect::Mark => marks.push(stack.len()),
            Effect::Text => stack.push(text(first)),
            Effect::Global => {
                import(named(&text(first), &text(second)));
                stack.push(None);
            }
            Effect::StackGlobal => {
                let (name, module) = (stack.pop().flatten(), stack.pop().flatten());
                import(named(&module, &name));
                stack.push(None);
            }
            Effect::Inst => {
                import(named(&text(first), &text(second)));
                found.calls = true;
                stack.truncate(marks.pop().unwrap_or(0));
                stack.push(None);
            }
            Effect::Extension => {
                import(None);
                stack.push(None);
            }
            Effect::Put => drop(memo.insert(number(first), stack.last().cloned().flatten())),
            Effect::PutNext => drop(memo.insert(memo.len() as u64, stack.last().cloned().flatten())),
            Effect::PutLine => drop(memo.insert(decimal(first), stack.last().cloned().flatten())),
            Effect::Get => stack.push(memo.get(&number(first)).cloned().flatten()),
            Effect::GetLine => stack.push(memo.get(&decimal(first)).cloned().flatten()),
            Effect::Call(gone) => {
                found.calls = true;
                stack.truncate(stack.len().saturating_sub(gone));
                stack.push(None);
            }
            Effect::CallToMark => {
                found.calls = true;
                stack.truncate(marks.pop().unwrap_or(0));
                stack.push(None);
            }
            Effect::Dup => stack.push(stack.last().cloned().flatten()),
        }
    }
    found.len = at.min(bytes.len());
    found
}

/// The argument of an opcode; of two lines, both.
fn argument<'a>(bytes: &'a [u8], at: &mut usize, arg: Arg) -> Option<(&'a [u8], &'a [u8])> {
    let mut take = |len: usize| {
        let piece = bytes.get(*at..at.checked_add(len)?)?;
        *at += len;
        Some(piece)
    };
    Some(match arg {
        Arg::Bytes(len) => (take(len)?, &[]),
        Arg::Counted(width) => {
            let len = usize::try_from(number(take(width)?)).ok()?;
            (take(len)?, &[])
        }
        Arg::Line => (line(bytes, at)?, &[]),
        Arg::TwoLines => (line(bytes, at)?, line(bytes, at)?),
    })
}

fn line<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let rest = bytes.get(*at..)?;
    let len = rest.iter().position(|b| *b == b'\n')?;
    *at += len + 1;
    Some(&rest[..len])
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn decimal(line: &[u8]) -> u64 {
    std::str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok()).unwrap_or(u64::MAX)
}

/// A string; too long ones cannot be names.
fn text(bytes: &[u8]) -> Cell {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= 500)?;
    Some(text.trim_matches(['\'', '"']).into())
}

fn named(module: &Cell, name: &Cell) -> Option<String> {
    Some(format!("{}.{}", module.as_ref()?, name.as_ref()?))
}
