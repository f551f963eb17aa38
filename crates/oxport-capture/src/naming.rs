//! Names as PyTorch gives them: of nodes by FX (`torch.fx.graph._Namespace`), of placeholders and symbols by `torch.export`.

use oxport_ir::{Graph, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// Hands out the names of one graph's nodes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The number that the last name of a stem had.
    last: HashMap<Box<str>, u64>,
}

impl Names {
    /// The name of the next node of that stem: `add`, `add_1`, …; `max_1`, where the stem is a word of Python.
    pub(crate) fn next(&mut self, graph: &Graph, stem: &str) -> Arc<str> {
        let stem = legal(stem);
        let (base, number) = numbered(&stem);
        let is_free = |name: &str| graph.find(name).is_none();
        let mut candidate = stem.clone();
        let mut number = match number {
            Some(number) if is_free(&stem) => number,
            _ => {
                let last = self.last.get(stem.as_str()).copied().unwrap_or(0);
                if is_word(&stem) {
                    candidate = format!("{base}_{}", last + 1);
                    last + 1
                } else {
                    last
                }
            }
        };
        while !is_free(&candidate) {
            number += 1;
            candidate = format!("{base}_{number}");
        }
        self.last.insert(base.into(), number);
        candidate.into()
    }
}

/// `add_12` as `add` and 12.
fn numbered(name: &str) -> (&str, Option<u64>) {
    let split = name.rsplit_once('_').filter(|(_, digits)| !digits.is_empty());
    let parsed = split.filter(|(_, digits)| digits.bytes().all(|b| b.is_ascii_digit()));
    match parsed.and_then(|(base, digits)| Some((base, digits.parse().ok()?))) {
        Some((base, number)) => (base, Some(number)),
        None => (name, None),
    }
}

/// The stem as an identifier of Python.
fn legal(stem: &str) -> String {
    let clean: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match clean.chars().next() {
        None => "_unnamed".into(),
        Some(c) if c.is_ascii_digit() => format!("_{clean}"),
        Some(_) => clean,
    }
}

/// The stem of a call's name: the operator's, without overload; `and` for `__and__`.
pub(crate) fn stem_of(op: &Op) -> &str {
    let short = op.short_name();
    let short = short.split('.').next().unwrap_or(short);
    let inner = short.strip_prefix("__").and_then(|s| s.strip_suffix("__"));
    inner.filter(|s| !s.is_empty()).unwrap_or(short)
}

/// The placeholder of a lifted tensor: `layer.0.weight` → `p_layer_0_weight`.
pub(crate) fn lifted(prefix: &str, name: &str) -> String {
    let clean = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    prefix.chars().chain(clean).collect()
}

/// Keywords, builtins and the globals of FX's code: no node is called so.
fn is_word(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
        "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
        "return", "try", "while", "with", "yield", "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool",
        "breakpoint", "bytearray", "bytes", "callable", "chr", "classmethod", "compile", "complex", "copyright", "credits",
        "delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter", "float", "format", "frozenset",
        "getattr", "globals", "hasattr", "hash", "help", "hex", "id", "input", "int", "isinstance", "issubclass", "iter",
        "len", "license", "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct", "open", "ord",
        "pow", "print", "property", "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted",
        "staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip", "inf", "nan", "torch", "device", "fx_pytree",
        "pytree",
    ];
    WORDS.contains(&name)
}

/// The number of a symbol for a size: the SHA-256 of its source, modulo 100, or the next that is free, as in
/// `ShapeEnv._generate_unique_id`.
pub(crate) fn symbol_number(source: &str, is_taken: &dyn Fn(u64) -> bool) -> u64 {
    let modulo = sha256(source.as_bytes()).iter().fold(0u64, |n, byte| (n * 256 + u64::from(*byte)) % 100);
    (modulo..).find(|n| !is_taken(*n)).unwrap_or(modulo)
}

/// FIPS 180-4.
fn sha256(message: &[u8]) -> [u8; 32] {
    let primes: Vec<u64> = (2..312u64).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).collect();
    // The first 32 bits of the fractional parts of cube roots: floor(cbrt(p) * 2^32) mod 2^32, by integer search.
    let root = |p: u64, power: u32| -> u32 {
        let target = u128::from(p) << (32 * power);
        let (mut low, mut high) = (0u128, 1u128 << 37);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(power) <= target { low = middle } else { high = middle }
        }
        low as u32
    };
    let constants: Vec<u32> = primes.iter().take(64).map(|p| root(*p, 3)).collect();
    let mut state: Vec<u32> = primes.iter().take(8).map(|p| root(*p, 2)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w: Vec<u32> = block.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(constants[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        state.iter_mut().zip(v).for_each(|(s, v)| *s = s.wrapping_add(v));
    }
    let mut digest = [0; 32];
    digest.chunks_exact_mut(4).zip(state).for_each(|(out, word)| out.copy_from_slice(&word.to_be_bytes()));
    digest
}
