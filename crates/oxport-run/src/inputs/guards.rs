//! The checks that `ep.module()` makes of a program with sample inputs: PyTorch's guards function.
//!
//! It differs from the hook that checks programs without sample inputs: it does not check ranks, kinds and dtypes, but
//! it does check sizes of several symbols, and every condition that tracing recorded in `guards_code`.

use crate::error::Result;
use crate::inputs::guard_failure::{ErrorContext, GuardFailure};
use crate::inputs::{Checks, Expected, Size};
use oxport_ir::guards::sources;
use oxport_ir::{ExportedProgram, Value};
use oxport_sym::{Assumptions, Expr, Number, Symbol};
use std::cell::RefCell;
use std::collections::HashMap;

/// The program's `guards_code`, compiled by our own grammar; never executed.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    conditions: Vec<Condition>,
    sources_by_symbol: HashMap<Symbol, GuardSource>,
}

#[derive(Debug)]
struct Condition {
    holds: Expr,
    /// The guard with inputs named as in Python code: `y.size()[0] == 2*x.size()[0]`.
    text: String,
}

/// The number that a source path of a guard reads.
#[derive(Clone, Copy, Debug)]
enum GuardSource {
    Value(usize),
    Size(usize, usize),
    Stride(usize, usize),
    Offset(usize),
}

impl Guards {
    /// Compiles the guards of a program.
    ///
    /// A guard outside of the grammar, or about something other than an input, is skipped: PyTorch cannot evaluate it
    /// either.
    pub fn of(program: &ExportedProgram) -> Guards {
        let mut guards = Guards::default();
        let sources = sources(program);
        for text in &program.guards {
            let sources_by_symbol = RefCell::new(Vec::new());
            let named = |name: &str| {
                let symbol = Symbol::new(name, Assumptions::integer());
                sources_by_symbol.borrow_mut().push((symbol.clone(), parse_source(name, &sources)?));
                Some(Expr::symbol(&symbol))
            };
            if let Ok(holds) = Expr::parse_guard(text, &named) {
                guards.sources_by_symbol.extend(sources_by_symbol.into_inner());
                guards.conditions.push(Condition { holds, text: as_written(text) });
            }
        }
        guards
    }

    /// Checks every guard.
    pub fn check(&self, checks: &Checks, values: &[Value]) -> Result<()> {
        let of = |s: &Symbol| self.sources_by_symbol.get(s).and_then(|p| p.read(values));
        for Condition { holds, text } in &self.conditions {
            if holds.eval(&of) == Ok(Number::Bool(true)) {
                continue;
            }
            let about: Vec<(Symbol, Option<Number>)> =
                holds.free_symbols().into_iter().map(|s| (s.clone(), of(&s))).collect();
            let got = about.iter().map(|(s, n)| {
                let n = n.as_ref().map_or("missing".into(), Number::to_string);
                format!("{} = {n}", as_written(s.name()))
            });
            let input = about.first().and_then(|(s, _)| self.sources_by_symbol.get(s)).map_or(0, |p| p.input());
            let expected = format!("such that {text}, but got {}", got.collect::<Vec<_>>().join(", "));
            let why = "tracing assumed it (guards_code)";
            let change = "pass sizes for which it holds, or export with an example for which it does not";
            return Err(checks.failure(input, ErrorContext::new(expected, why, change).at("")));
        }
        Ok(())
    }
}

impl GuardSource {
    fn input(self) -> usize {
        match self {
            GuardSource::Value(i) | GuardSource::Size(i, _) | GuardSource::Stride(i, _) | GuardSource::Offset(i) => i,
        }
    }

    fn read(self, values: &[Value]) -> Option<Number> {
        let value = values.get(self.input())?;
        match (self, value) {
            (GuardSource::Value(_), v) => python_number(v),
            (GuardSource::Size(_, d), Value::Tensor(t)) => t.sizes().get(d).map(|n| Number::from(*n)),
            (GuardSource::Stride(_, d), Value::Tensor(t)) => t.strides().get(d).map(|n| Number::from(*n)),
            (GuardSource::Offset(_), Value::Tensor(t)) => i64::try_from(t.layout().offset).ok().map(Number::from),
            _ => None,
        }
    }
}

/// The guards of a program as conditions on its symbols: each size is replaced by the expression in the input's meta.
/// Guards about strides or data stay unresolved.
pub fn guard_conditions(program: &ExportedProgram) -> Vec<Expr> {
    let checks = Checks::of(program, crate::InputChecks::Strict);
    let expected: Vec<&Expected> = checks.expected().collect();
    let guards = checks.guards();
    let meaning = |s: &Symbol| match (
        *guards.sources_by_symbol.get(s)?,
        *expected.get(guards.sources_by_symbol.get(s)?.input())?,
    ) {
        (GuardSource::Size(_, d), Expected::Tensor(_, sizes)) => sizes.get(d).map(|size| size.expr.clone()),
        (GuardSource::Value(_), Expected::Int(size)) => Some(size.expr.clone()),
        (GuardSource::Value(_), Expected::Constant(v)) => python_number(v).map(Expr::number),
        _ => None,
    };
    guards.conditions.iter().map(|c| c.holds.subs(&meaning)).collect()
}

/// Parses a source path such as `L['x']['k'].size()[0]`.
fn parse_source(source: &str, sources: &[Vec<String>]) -> Option<GuardSource> {
    let (name, part) = match source.find(".size()").or(source.find(".stride()")).or(source.find(".storage_offset()")) {
        Some(at) => source.split_at(at),
        None => (source, ""),
    };
    let input = sources.iter().position(|names| names.iter().any(|n| n == name))?;
    let index = |rest: &str| rest.strip_prefix('[')?.strip_suffix(']')?.parse::<usize>().ok();
    match part {
        "" => Some(GuardSource::Value(input)),
        ".storage_offset()" => Some(GuardSource::Offset(input)),
        _ => match part.strip_prefix(".size()") {
            Some(rest) => Some(GuardSource::Size(input, index(rest)?)),
            None => Some(GuardSource::Stride(input, index(part.strip_prefix(".stride()")?)?)),
        },
    }
}

/// `L['x']['k']` as `x['k']`.
fn as_written(text: &str) -> String {
    let mut parts = text.split("L['");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + &part.replacen("']", "", 1))
}

/// A number as Python's `==` and `<` see it; truth values are 0 and 1.
pub(crate) fn python_number(v: &Value) -> Option<Number> {
    Some(match v {
        Value::Int(n) => Number::from(*n),
        Value::Bool(b) => Number::from(*b as i64),
        Value::Float(x) => Number::Float(*x),
        _ => return None,
    })
}

/// Python's `v == constant`; for a NaN constant the guard is `isnan`.
fn python_equal(constant: &Value, v: &Value) -> bool {
    match (constant, v) {
        (Value::Float(c), Value::Float(x)) if c.is_nan() => x.is_nan(),
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::None, _) => true,
        (Value::Complex(a), Value::Complex(b)) => a == b,
        _ => match (python_number(constant), python_number(v)) {
            (Some(a), Some(b)) => a.compare(&b).is_some_and(|o| o.is_eq()),
            _ => false,
        },
    }
}

/// The first size with an expression: where it is, and its value; `None` if the tensor has no such dimension.
struct FirstUse {
    at: String,
    value: Option<Number>,
}

impl Checks {
    /// The checks of the guards function.
    pub(crate) fn check_as_guards(&self, values: &[Value]) -> Result<()> {
        let mut seen: HashMap<&Expr, FirstUse> = HashMap::new();
        let mut derived: Vec<(usize, usize, &Size, Number)> = Vec::new();
        for (i, (expected, value)) in self.expected().zip(values).enumerate() {
            match (expected, value) {
                (Expected::Constant(c), v) if !python_equal(c, v) => {
                    return Err(self.failure(i, GuardFailure::constant(c, v)));
                }
                (Expected::Anything | Expected::Constant(_), _) => {}
                (Expected::Tensor(_, sizes), v) => {
                    let of = v.as_tensor().map_or(&[][..], |t| t.sizes());
                    let missing =
                        || v.as_tensor().map_or(GuardFailure::kind("a tensor", v), |t| GuardFailure::rank(sizes, t));
                    for (d, size) in sizes.iter().enumerate() {
                        let got = of.get(d).map(|n| Number::from(*n));
                        derived.extend(got.clone().filter(|_| size.derived).map(|n| (i, d, size, n)));
                        self.guard(&mut seen, i, Some(d), size, got, &missing)?;
                    }
                }
                (Expected::Int(size), v) => {
                    self.guard(&mut seen, i, None, size, python_number(v), &|| GuardFailure::kind("an int", v))?;
                }
            }
        }
        self.check_derived(&seen, &derived)?;
        self.guards().check(self, values)
    }

    /// Checks a static size, the range of a size, or its equality with the first size of the same expression. A
    /// dimension that the tensor does not have is an error (`missing`) only if one of these checks reads it.
    fn guard<'a>(
        &'a self,
        seen: &mut HashMap<&'a Expr, FirstUse>,
        input: usize,
        dim: Option<usize>,
        size: &'a Size,
        got: Option<Number>,
        missing: &dyn Fn() -> GuardFailure,
    ) -> Result<()> {
        let part = dim.map_or_else(String::new, |d| format!(".shape[{d}]"));
        let fail = |context: ErrorContext| Err(self.failure(input, context.at(part.as_str())));
        let (fixed, first) = (size.expr.as_int(), seen.get(&size.expr));
        let at = || format!("{}{part}", self.path(input));
        let Some(got) = got else {
            let is_read = fixed.is_some() || size.known && (first.is_some() || size.is_bounded());
            if size.known {
                seen.insert(&size.expr, FirstUse { at: at(), value: None });
            }
            return if is_read { Err(self.failure(input, missing())) } else { Ok(()) };
        };
        match (fixed, first) {
            (Some(n), _) if got == Number::from(n) => {}
            (Some(n), _) => return fail(size.static_mismatch(n, &got)),
            _ if !size.known => {}
            (_, Some(FirstUse { at, value: None })) => return fail(size.missing_dim(&got, at)),
            (_, Some(FirstUse { at, value: Some(value) })) => {
                if !got.compare(value).is_some_and(|o| o.is_eq()) {
                    return fail(size.unequal(value, &got, at));
                }
            }
            (_, None) => {
                size.out_of_range(&got).map_or(Ok(()), fail)?;
                seen.insert(&size.expr, FirstUse { at: at(), value: Some(got) });
            }
        }
        Ok(())
    }

    /// Checks sizes derived from a symbol that is not itself the size of an input: the first determines the symbol, the
    /// others must agree with it.
    fn check_derived(&self, seen: &HashMap<&Expr, FirstUse>, derived: &[(usize, usize, &Size, Number)]) -> Result<()> {
        let mut solved: HashMap<Symbol, Number> = HashMap::new();
        for (input, dim, size, got) in derived {
            let [symbol] = &size.expr.free_symbols()[..] else { continue };
            if seen.contains_key(&Expr::symbol(symbol)) {
                continue;
            }
            match (solved.get(symbol), size.linear) {
                (Some(value), _) => {
                    let expected = size.expr.eval(&|_| Some(value.clone()));
                    let equal = expected.as_ref().is_ok_and(|w| w.compare(got).is_some_and(|o| o.is_eq()));
                    if let (false, Ok(expected)) = (equal, expected) {
                        let context = size.derived_mismatch(&expected, got, symbol, value);
                        return Err(self.failure(*input, context.at(format!(".shape[{dim}]"))));
                    }
                }
                (None, Some((a, b))) => {
                    if let Some(value) = got.sub(&b.into()).div(&a.into()) {
                        solved.insert(symbol.clone(), value);
                    }
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// `a` and `b` if an expression over one symbol is `a*s + b`.
pub(crate) fn linear(e: &Expr, s: &Symbol) -> Option<(i64, i64)> {
    let at = |n: i64| e.eval_int(&|t| (t == s).then_some(n));
    let (b, one, two) = (at(0)?, at(1)?, at(2)?);
    let a = one.checked_sub(b)?;
    let big = 1_000_003i64;
    let on_line = two.checked_sub(one)? == a && at(big)? == a.checked_mul(big)?.checked_add(b)?;
    (a != 0 && on_line).then_some((a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InputChecks;
    use crate::test_ops::program;
    use oxport_ir::{Argument, Complex, InputKind};
    use oxport_tensor::{DType, Tensor};

    fn zeros(sizes: &[i64]) -> Value {
        Value::Tensor(Tensor::zeros(DType::F32, sizes).unwrap())
    }

    /// A guard compares with `==`: 7.0 equals 7, and 1 equals True.
    #[test]
    fn constants_must_be_equal() {
        let mut p = program("def forward(self, x: \"f32[2]\"):\n    return (x,)\n");
        p.example_inputs = Some([][..].into());
        let complex = |im| Complex::new(1.0, im);
        for (constant, equal, other) in [
            (Argument::Int(7), Value::Float(7.0), Value::Int(8)),
            (Argument::Float(f64::NAN), Value::Float(f64::NAN), Value::Float(0.0)),
            (Argument::Bool(true), Value::Int(1), Value::Bool(false)),
            (Argument::from("mean"), Value::Str("mean".into()), Value::Str("sum".into())),
            (Argument::Complex(complex(2.0)), Value::Complex(complex(2.0)), Value::Complex(complex(3.0))),
        ] {
            p.signature.inputs[0].kind = InputKind::ConstantInput(constant);
            let checks = Checks::of(&p, InputChecks::Torch);
            assert_eq!(checks.check(&[equal]), Ok(()));
            assert!(checks.check(&[other]).unwrap_err().to_string().contains("it was a constant when exported"));
        }
    }

    /// PyTorch's guards check sizes one by one and accept tensors with additional dimensions; a run requires the
    /// exported rank.
    #[test]
    fn guards_leave_ranks_to_admission() {
        let mut p = program("def forward(self, x: \"f32[2, 3]\"):\n    return (x,)\n");
        p.example_inputs = Some([][..].into());
        let checks = Checks::of(&p, InputChecks::Torch);
        let (right, deeper) = ([zeros(&[2, 3])], [zeros(&[2, 3, 4])]);
        assert_eq!((checks.check(&right), checks.check(&deeper), checks.admit(&right)), (Ok(()), Ok(()), Ok(())));
        let e = checks.admit(&deeper).unwrap_err().to_string();
        assert!(e.contains("of sizes [2, 3], but got [2, 3, 4]: the number of dimensions is fixed"), "{e}");
        assert!(checks.admit(&[Value::Int(2)]).unwrap_err().is_input());
    }

    #[test]
    fn linear_expressions_are_recognized() {
        let s = Symbol::new("s", Assumptions::integer());
        let x = || Expr::symbol(&s);
        for (e, line) in [
            (x(), Some((1, 0))),
            (x() * Expr::from(-2i64) + Expr::from(3i64), Some((-2, 3))),
            (x() * x(), None),
            (x().clone() * x() * x() - x() * x() * Expr::from(3i64) + x() * Expr::from(2i64), None),
            (Expr::from(4i64), None),
        ] {
            assert_eq!(linear(&e, &s), line, "{e}");
        }
    }

    #[test]
    fn conditions_are_about_symbols() {
        let mut p = program("def forward(self, n: \"Sym(s0)\", k: \"Sym(7)\", x: \"f32[s1, 2]\"):\n    return (x,)\n");
        for (guard, condition) in [
            ("L['n'] + L['x'].size()[0] == L['k']", "Eq(s0 + s1, 7)"),
            ("L['flat_args'][0] >= L['x'].size()[1]", "s0 >= 2"),
        ] {
            p.guards = vec![guard.into()];
            assert_eq!(guard_conditions(&p).iter().map(ToString::to_string).collect::<Vec<_>>(), [condition]);
        }
    }
}
