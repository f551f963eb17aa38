//! Reads tables and exceptions, and compares.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use oxport_sym::{Assumption, Assumptions, Expr, Func, Number, Range, Symbol};

/// The result of a row.
pub enum Verdict {
    Right,
    /// We disagree, and PyTorch is wrong for this reason.
    Excused(String),
    Wrong(String),
}

impl Verdict {
    pub fn same(got: &str, expected: &str) -> Verdict {
        if got == expected { Verdict::Right } else { Verdict::Wrong(format!("got {got}\n     not {expected}")) }
    }

    pub fn and(self, next: impl FnOnce() -> Verdict) -> Verdict {
        if let Verdict::Right = self { next() } else { self }
    }

    pub fn or(self, excuse: impl FnOnce() -> Option<String>) -> Verdict {
        match self {
            Verdict::Wrong(why) => excuse().map_or(Verdict::Wrong(why), Verdict::Excused),
            other => other,
        }
    }
}

fn folder() -> (PathBuf, bool) {
    match std::env::var_os("OXPORT_SYM_TABLES") {
        Some(other) => (other.into(), false),
        None => (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sym"), true),
    }
}

/// Compares every row of a table, and the exceptions with those that are listed.
pub fn replay(table: &str, check: impl Fn(&[&str]) -> Verdict) {
    let (folder, own) = folder();
    let packed = std::fs::read(folder.join(format!("{table}.tsv.gz"))).unwrap_or_else(|e| panic!("{table}: {e}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap_or_else(|e| panic!("{table}: {e}"));
    let (mut wrong, mut excused, mut rows) = (Vec::new(), String::new(), 0);
    for line in text.lines() {
        rows += 1;
        let row: Vec<&str> = line.split('\t').collect();
        match check(&row) {
            Verdict::Right => {}
            Verdict::Excused(why) => {
                writeln!(excused, "{}\t{why}", row[..row.len().min(3)].join("\t")).unwrap_or_default()
            }
            Verdict::Wrong(why) => wrong.push(format!("{line}\n     {why}")),
        }
    }
    println!("{table}: {rows} rows, {} exceptions, {} wrong", excused.lines().count(), wrong.len());
    let shown = wrong.iter().take(2000).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{table}: {} of {rows} rows wrong\n{shown}", wrong.len());
    if own {
        expect_test::expect_file![folder.join(format!("exceptions_{table}.tsv"))].assert_eq(&excused);
    }
}

/// An expression as the tables write it.
pub fn parse(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The symbols of the tables: PyTorch's names, and real `zf0`, `zf1`.
pub fn symbol(name: &str) -> Option<Expr> {
    let real = || Symbol::new(name, Assumptions::new(vec![(Assumption::Real, true)]));
    name.starts_with("zf").then(|| Expr::symbol(&real()))
}

pub fn number(text: &str) -> Number {
    Expr::parse(text).ok().and_then(|e| e.as_number()).unwrap_or_else(|| panic!("expected a number, got {text}"))
}

/// `s0=2,u1=-3` as a valuation.
pub fn point(text: &str) -> impl Fn(&Symbol) -> Option<Number> {
    let pairs = text.split(',').filter_map(|p| p.split_once('='));
    let of: Vec<(String, Number)> = pairs.map(|(s, v)| (s.to_owned(), number(v))).collect();
    move |s| of.iter().find(|(t, _)| t == s.name()).map(|(_, v)| v.clone())
}

/// `s0:2:int_oo,u1:-3:4` as ranges.
pub fn ranges(text: &str) -> Vec<(Symbol, Range)> {
    let split = |p: &str| -> Option<(Symbol, Range)> {
        let [name, low, high] = p.split(':').collect::<Vec<_>>()[..] else { return None };
        let symbol = symbol(name).and_then(|e| e.as_symbol().cloned()).unwrap_or_else(|| Symbol::by_convention(name));
        Some((symbol, Range { min: number(low), max: number(high) }))
    };
    text.split(',').filter_map(split).collect()
}

/// Valuations inside ranges: all ends, values near them, and some in between.
pub fn samples(of: &[(Symbol, Range)], seed: &str) -> Vec<Vec<(Symbol, Number)>> {
    let mut state =
        seed.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3)) | 1;
    let mut draw = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let candidates: Vec<Vec<Number>> = of
        .iter()
        .map(|(_, r)| {
            let mut all: Vec<Number> = vec![r.min.clone(), r.max.clone()];
            let float = r.min.is_float() || r.max.is_float();
            for k in [
                -1000, -100, -17, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 63, 64, 65,
                100, 1000,
            ] {
                all.push(if float { Number::Float(k as f64 * 0.5) } else { Number::from(k) });
                all.push(r.min.add(&Number::from(i64::abs(k))));
                all.push(r.max.sub(&Number::from(i64::abs(k))));
            }
            all.retain(|n| !n.is_infinite() && r.contains(n));
            all.sort_by(|a, b| a.compare(b).unwrap_or(std::cmp::Ordering::Equal));
            all.dedup();
            all
        })
        .collect();
    if candidates.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let total = candidates.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).unwrap_or(usize::MAX);
    let (most, corners) = (300, 1usize << candidates.len().min(6));
    (0..total.min(most))
        .map(|i| {
            let mut rest = i;
            let pick = |(k, (c, (s, _))): (usize, (&Vec<Number>, &(Symbol, Range)))| {
                let at = match () {
                    _ if total <= most => {
                        let at = rest % c.len();
                        rest /= c.len();
                        at
                    }
                    // The corners first, then anything.
                    _ if i < corners => (c.len() - 1) * (i >> k & 1),
                    _ => draw(c.len()),
                };
                (s.clone(), c[at].clone())
            };
            candidates.iter().zip(of).enumerate().map(pick).collect()
        })
        .collect()
}

/// Why a range may differ where every power exceeds 64 bits.
pub const SATURATED: &str =
    "the power is int_oo only because it is large: dividing by it rounds to -1 below zero, not to 0";

/// Whether a power inside is so large that PyTorch takes it for infinite; then its value is not Python's.
pub fn saturates(e: &Expr, at: &[(Symbol, Number)]) -> bool {
    let of = |s: &Symbol| at.iter().find(|(t, _)| t == s).map(|(_, n)| n.clone());
    let mut found = false;
    e.visit(&mut |part| {
        let power = part.as_call().is_some_and(|(f, _)| f == Func::PowByNatural);
        found |= power && part.eval(&of).is_ok_and(|n| n.is_infinite());
    });
    found
}

/// A range with float infinities.
pub fn widened(r: Range) -> Range {
    let float = |n: Number| if n.is_infinite() { Number::Float(n.to_f64()) } else { n };
    Range { min: float(r.min), max: float(r.max) }
}

pub fn show(at: &[(Symbol, Number)]) -> String {
    at.iter().map(|(s, n)| format!("{s}={n}")).collect::<Vec<_>>().join(", ")
}

/// A valuation at which our form and PyTorch's differ: one of the two is wrong, and ours was checked against Python.
pub fn differ(ours: &Expr, torch: &Expr) -> Option<String> {
    let any = |s: &Symbol| match (s.assumptions().is_positive(), s.assumptions().is_integer()) {
        (true, _) => Range::at_least(1),
        (_, true) => Range::integers(),
        _ => Range::floats(),
    };
    let of: Vec<(Symbol, Range)> = ours.free_symbols().into_iter().map(|s| (s.clone(), any(&s))).collect();
    samples(&of, &ours.to_string()).into_iter().find_map(|at| {
        let of = |s: &Symbol| at.iter().find(|(t, _)| t == s).map(|(_, n)| n.clone());
        let (a, b) = (ours.eval(&of).ok()?, torch.eval(&of).ok()?);
        (a != b).then(|| format!("{ours} and {torch} are {a} and {b} where {}", show(&at)))
    })
}

/// Why PyTorch's value of a call on constants is not the right one.
pub fn value_excuse(call: &str, expected: &str, got: &str) -> Option<String> {
    let (head, arguments) = call.split_once('(')?;
    let infinite = arguments.contains("oo");
    let float = |text: &str| -> Option<f64> { text.strip_prefix("Float('")?.split_once('\'')?.0.parse().ok() };
    let reason = match () {
        _ if expected.contains("precision") && !expected.ends_with("precision=53)") => {
            "a number of more bits than a double has; Python's float() rounds"
        }
        _ if float(expected).is_some_and(f64::is_infinite) => "a number beyond the doubles, where Python has none",
        _ if head.starts_with("OpaqueUnaryFn") && (infinite || got.ends_with("oo")) && float(expected).is_none() => {
            "no number, but sympy's symbolic value of an infinity or an overflow"
        }
        _ if matches!(head, "CeilToInt" | "RoundToInt") && arguments.starts_with("Integer") => {
            "the integer goes through a double; FloorToInt and Python's math.ceil leave it as it is"
        }
        _ if head == "RoundToInt" && infinite => "an error, where RoundToInt of the float infinity is int_oo",
        _ if head == "TruncToInt" && expected.starts_with("Float") => {
            "a float from a function whose values are integers"
        }
        _ if call == expected && matches!(got, "true" | "false") => "not evaluated, though int_oo itself is",
        _ => return None,
    };
    Some(reason.to_owned())
}
