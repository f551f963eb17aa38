//! The pickle virtual machine.
//!
//! Values are in a heap and refer to each other by index, because a pickle memoizes a list before it fills it. The
//! resulting tree is built from the heap at the end, within limits.
//!
//! Invariant: no opcode copies a value of the heap, and each adds at most as much as it reads from the pickle, so the
//! heap is in proportion to the pickle; only [`Machine::unfold`] copies, within a budget.

use std::collections::{HashMap, HashSet};

use super::Pickled;
use super::rebuild::call;
use crate::Limits;

/// How deep the values of a pickle may nest.
const MAX_DEPTH: usize = 200;

/// The value of a pickle.
///
/// Errors have the byte offset.
pub(super) fn unpickle(bytes: &[u8], limits: &Limits) -> Result<Pickled, String> {
    let mut machine = Machine {
        bytes,
        at: 0,
        heap: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        limit: usize::try_from(limits.pickle_values).unwrap_or(usize::MAX),
    };
    let root = loop {
        let at = machine.at;
        match machine.step() {
            Ok(None) => {}
            Ok(Some(root)) => break root,
            Err(message) => return Err(format!("pickle, at byte {at}: {message}")),
        }
    };
    let mut budget = machine.limit;
    machine.unfold(root, MAX_DEPTH, &mut budget)
}

type Id = usize;

/// A value on the heap. Not `Clone`: copies would let a small pickle grow large.
enum Cell {
    /// A leaf value.
    Atom(Pickled),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or function by its name in the pickle, `module.name`.
    Global(String),
    /// A class or function by two strings of the heap: its module and its name.
    NamedBy(Id, Id),
    /// A storage: its persistent id, a tuple.
    Storage(Id),
    /// A call, with the modifications of its result.
    Call {
        callee: Id,
        args: Id,
        items: Vec<Id>,
        entries: Vec<(Id, Id)>,
        state: Option<Id>,
    },
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    heap: Vec<Cell>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    limit: usize,
}

type Step<T> = Result<T, String>;

impl<'a> Machine<'a> {
    /// Runs one opcode; the root when it is STOP.
    fn step(&mut self) -> Step<Option<Id>> {
        let op = self.take::<1>()?[0];
        match op {
            b'.' => return self.pop().map(Some),
            0x80 => drop(self.take::<1>()?),
            0x95 => drop(self.take::<8>()?),
            b'(' => {
                self.check_len(self.marks.len())?;
                self.marks.push(self.stack.len());
            }
            b'N' => self.push(Cell::Atom(Pickled::None))?,
            0x88 => self.push(Cell::Atom(Pickled::Bool(true)))?,
            0x89 => self.push(Cell::Atom(Pickled::Bool(false)))?,
            b'J' => {
                let n = i32::from_le_bytes(self.take()?);
                self.int(n.into())?;
            }
            b'K' => {
                let n = self.take::<1>()?[0];
                self.int(n.into())?;
            }
            b'M' => {
                let n = u16::from_le_bytes(self.take()?);
                self.int(n.into())?;
            }
            0x8a => {
                let len = self.take::<1>()?[0].into();
                let digits = self.slice(len)?;
                let n = long(digits).ok_or("an int does not fit into 64 bits")?;
                self.int(n)?;
            }
            b'G' => {
                let x = f64::from_be_bytes(self.take()?);
                self.push(Cell::Atom(Pickled::Float(x)))?;
            }
            b'X' | 0x8c => {
                let text = self.counted(op == 0x8c)?;
                let text = std::str::from_utf8(text).map_err(|_| "a string is not UTF-8")?.to_string();
                self.push(Cell::Atom(Pickled::Str(text)))?;
            }
            b'B' | b'C' | b'T' | b'U' => {
                let bytes = self.counted(matches!(op, b'C' | b'U'))?.to_vec();
                self.push(Cell::Atom(Pickled::Bytes(bytes)))?;
            }
            b')' => self.push(Cell::Tuple(Vec::new()))?,
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(op - 0x84))?;
                self.push(Cell::Tuple(items))?;
            }
            b't' => {
                let items = self.pop_mark()?;
                self.push(Cell::Tuple(items))?;
            }
            b']' => self.push(Cell::List(Vec::new()))?,
            b'l' => {
                let items = self.pop_mark()?;
                self.push(Cell::List(items))?;
            }
            b'}' => self.push(Cell::Dict(Vec::new()))?,
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(items)?;
            }
            b's' => {
                let pair = self.pop_many(2)?;
                self.set(pair)?;
            }
            b'u' => {
                let pairs = self.pop_mark()?;
                self.set(pairs)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Cell::Global(format!("{module}.{name}")))?;
            }
            0x93 => {
                let (module, name) = self.pop_two()?;
                if [module, name].iter().any(|id| !matches!(self.heap[*id], Cell::Atom(Pickled::Str(_)))) {
                    return Err("expected a string as the name of a global".into());
                }
                self.push(Cell::NamedBy(module, name))?;
            }
            b'q' => {
                let key = self.take::<1>()?[0];
                self.memo_put(key.into())?;
            }
            b'r' => {
                let key = u32::from_le_bytes(self.take()?);
                self.memo_put(key)?;
            }
            0x94 => self.memo_put(self.memo.len() as u32)?,
            b'h' => {
                let key = self.take::<1>()?[0];
                self.memo_get(key.into())?;
            }
            b'j' => {
                let key = u32::from_le_bytes(self.take()?);
                self.memo_get(key)?;
            }
            b'0' => drop(self.pop()?),
            b'Q' => {
                let id = self.pop()?;
                match &self.heap[id] {
                    Cell::Tuple(parts) if parts.len() == 5 && self.text(parts[0]) == "storage" => {}
                    _ => return Err("expected the tuple of a storage as a persistent id".into()),
                }
                self.push(Cell::Storage(id))?;
            }
            // REDUCE and NEWOBJ: a callable (or class) and its arguments.
            b'R' | 0x81 => {
                let (callee, args) = self.pop_two()?;
                self.push(Cell::Call { callee, args, items: Vec::new(), entries: Vec::new(), state: None })?;
            }
            b'b' => {
                let given = self.pop()?;
                match self.top()? {
                    // Python would apply both.
                    Cell::Call { state: Some(_), .. } => return Err("BUILD: the object has state already".into()),
                    Cell::Call { state, .. } => *state = Some(given),
                    _ => return Err("BUILD: expected an object".into()),
                }
            }
            op => return Err(format!("unsupported opcode {op:#04x}")),
        }
        Ok(None)
    }

    fn take<const N: usize>(&mut self) -> Step<[u8; N]> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        self.at += N;
        bytes.copied().ok_or_else(|| "unexpected end of the pickle".into())
    }

    fn slice(&mut self, len: usize) -> Step<&'a [u8]> {
        let bytes = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        self.at = self.at.saturating_add(len);
        bytes.ok_or_else(|| "unexpected end of the pickle".into())
    }

    fn counted(&mut self, short: bool) -> Step<&'a [u8]> {
        let len = match short {
            true => self.take::<1>()?[0].into(),
            false => u32::from_le_bytes(self.take()?) as usize,
        };
        self.slice(len)
    }

    fn line(&mut self) -> Step<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let len = rest.iter().position(|b| *b == b'\n').ok_or("unexpected end of the pickle")?;
        self.at += len + 1;
        std::str::from_utf8(&rest[..len]).map_err(|_| "a name is not UTF-8".into())
    }

    /// Checks that a list of this length may grow by one.
    fn check_len(&self, len: usize) -> Step<()> {
        if len < self.limit { Ok(()) } else { Err(format!("more than {} values", self.limit)) }
    }

    fn push(&mut self, cell: Cell) -> Step<()> {
        self.check_len(self.heap.len())?;
        self.stack.push(self.heap.len());
        self.heap.push(cell);
        Ok(())
    }

    fn int(&mut self, n: i64) -> Step<()> {
        self.push(Cell::Atom(Pickled::Int(n)))
    }

    /// The lowest index of the stack that may be popped.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop_many(&mut self, count: usize) -> Step<Vec<Id>> {
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= self.floor() => Ok(self.stack.split_off(start)),
            _ => Err("the stack is empty".into()),
        }
    }

    fn pop(&mut self) -> Step<Id> {
        if self.stack.len() <= self.floor() {
            return Err("the stack is empty".into());
        }
        self.stack.pop().ok_or_else(|| "the stack is empty".into())
    }

    fn pop_two(&mut self) -> Step<(Id, Id)> {
        let second = self.pop()?;
        Ok((self.pop()?, second))
    }

    fn pop_mark(&mut self) -> Step<Vec<Id>> {
        let mark = self.marks.pop().ok_or("no mark on the stack")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> Step<&mut Cell> {
        let id = *self.stack[self.floor()..].last().ok_or("the stack is empty")?;
        Ok(&mut self.heap[id])
    }

    fn append(&mut self, new: Vec<Id>) -> Step<()> {
        match self.top()? {
            Cell::List(items) | Cell::Call { items, .. } => items.extend(new),
            _ => return Err("APPEND: expected a list".into()),
        }
        Ok(())
    }

    fn set(&mut self, flat: Vec<Id>) -> Step<()> {
        if !flat.len().is_multiple_of(2) {
            return Err("SETITEM: a key without value".into());
        }
        let pairs = flat.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        match self.top()? {
            Cell::Dict(entries) | Cell::Call { entries, .. } => entries.extend(pairs),
            _ => return Err("SETITEM: expected a dictionary".into()),
        }
        Ok(())
    }

    fn memo_put(&mut self, key: u32) -> Step<()> {
        let id = *self.stack[self.floor()..].last().ok_or("the stack is empty")?;
        if !self.memo.contains_key(&key) {
            self.check_len(self.memo.len())?;
        }
        self.memo.insert(key, id);
        Ok(())
    }

    fn memo_get(&mut self, key: u32) -> Step<()> {
        let id = *self.memo.get(&key).ok_or_else(|| format!("GET: the memo has no entry {key}"))?;
        self.check_len(self.stack.len())?;
        self.stack.push(id);
        Ok(())
    }

    /// The tree of a value. The depth limits cycles, the budget limits sharing.
    fn unfold(&self, id: Id, depth: usize, budget: &mut usize) -> Result<Pickled, String> {
        // Sharing must not multiply long strings either.
        let len = match &self.heap[id] {
            Cell::Atom(Pickled::Str(text)) | Cell::Global(text) => text.len(),
            Cell::Atom(Pickled::Bytes(bytes)) => bytes.len(),
            Cell::NamedBy(module, name) => self.text(*module).len() + self.text(*name).len(),
            _ => 0,
        };
        *budget = budget.checked_sub(1 + len / 32).ok_or("pickle: too many values")?;
        let depth = depth.checked_sub(1).ok_or("pickle: the values are nested too deeply, or contain themselves")?;
        let mut each = |ids: &[Id]| ids.iter().map(|id| self.unfold(*id, depth, budget)).collect::<Result<Vec<_>, _>>();
        Ok(match &self.heap[id] {
            Cell::Atom(atom) => atom.clone(),
            Cell::Tuple(items) => Pickled::Tuple(each(items)?),
            Cell::List(items) => Pickled::List(each(items)?),
            Cell::Dict(entries) => Pickled::Dict(distinct(self.pairs(entries, depth, budget)?)?),
            Cell::Global(name) => Pickled::Global(name.clone()),
            Cell::NamedBy(module, name) => Pickled::Global(format!("{}.{}", self.text(*module), self.text(*name))),
            Cell::Storage(id) => match self.unfold(*id, depth, budget)? {
                Pickled::Tuple(args) => Pickled::Object {
                    class: "storage".to_string(),
                    args,
                    items: Vec::new(),
                    entries: Vec::new(),
                    state: None,
                },
                _ => return Err("pickle: expected a tuple as a persistent id".into()),
            },
            Cell::Call { callee, args, items, entries, state } => {
                let callee = self.unfold(*callee, depth, budget)?;
                let args = self.unfold(*args, depth, budget)?;
                let items = items.iter().map(|id| self.unfold(*id, depth, budget)).collect::<Result<_, _>>()?;
                let entries = distinct(self.pairs(entries, depth, budget)?)?;
                let state = state.map(|id| self.unfold(id, depth, budget)).transpose()?;
                call(callee, args, items, entries, state)?
            }
        })
    }

    /// A string of the heap.
    fn text(&self, id: Id) -> &str {
        if let Cell::Atom(Pickled::Str(text)) = &self.heap[id] { text } else { "" }
    }

    fn pairs(&self, pairs: &[(Id, Id)], depth: usize, budget: &mut usize) -> Result<Vec<(Pickled, Pickled)>, String> {
        let pair =
            |(key, value): &(Id, Id)| Ok((self.unfold(*key, depth, budget)?, self.unfold(*value, depth, budget)?));
        pairs.iter().map(pair).collect()
    }
}

/// The entries of a dictionary without duplicate keys: Python would keep the last value at the position of the first.
pub(super) fn distinct(entries: Vec<(Pickled, Pickled)>) -> Result<Vec<(Pickled, Pickled)>, String> {
    let mut seen = HashSet::with_capacity(entries.len());
    for (key, _) in &entries {
        let mut text = Vec::new();
        if spell_key(key, &mut text) && !seen.insert(text) {
            return Err("pickle: duplicate key in a dictionary".into());
        }
    }
    Ok(entries)
}

/// Writes a canonical form of a key: keys that are equal in Python have the same form. False for objects, whose classes
/// define equality.
fn spell_key(key: &Pickled, out: &mut Vec<u8>) -> bool {
    let mut put = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
        true
    };
    match key {
        Pickled::None => put(b'n', &[]),
        Pickled::Str(text) => put(b's', text.as_bytes()),
        Pickled::Bytes(bytes) => put(b'b', bytes),
        Pickled::Bool(b) => put(b'i', &i64::from(*b).to_le_bytes()),
        Pickled::Int(n) => put(b'i', &n.to_le_bytes()),
        // True, 1, 1.0 and 1+0j are one key.
        Pickled::Float(x) | Pickled::Complex(x, 0.0) if *x as i64 as f64 == *x => put(b'i', &(*x as i64).to_le_bytes()),
        Pickled::Float(x) | Pickled::Complex(x, 0.0) => put(b'f', &x.to_le_bytes()),
        Pickled::Complex(re, im) => put(b'c', &[re.to_le_bytes(), im.to_le_bytes()].concat()),
        Pickled::DType(dtype) => put(b'g', format!("torch.{}", dtype.name()).as_bytes()),
        Pickled::Global(name) => put(b'g', name.as_bytes()),
        Pickled::Tuple(items) => {
            put(b'(', &[]);
            let known = items.iter().all(|item| spell_key(item, out));
            out.push(b')');
            known
        }
        _ => false,
    }
}

/// A little-endian two's complement integer of any length, if it fits.
fn long(digits: &[u8]) -> Option<i64> {
    let sign = if digits.last().is_some_and(|top| top & 0x80 != 0) { 0xff } else { 0 };
    let mut bytes = [sign; 8];
    for (i, digit) in digits.iter().enumerate() {
        match bytes.get_mut(i) {
            Some(byte) => *byte = *digit,
            None if *digit != sign => return None,
            None => {}
        }
    }
    let n = i64::from_le_bytes(bytes);
    ((n < 0) == (sign != 0)).then_some(n)
}
