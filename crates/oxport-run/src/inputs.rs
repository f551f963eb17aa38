//! The input checks of a call, compiled: the same as PyTorch's.
//!
//! PyTorch has two ways. A program with sample inputs is checked by a guards function ([`guards`]); any other by a
//! forward pre-hook, which this module implements: static sizes and constants must be equal; a symbol has one value
//! everywhere; `2*s0` is solved for `s0`; a lower bound counts only above 2, because PyTorch does not guard smaller
//! ones; dtypes, strides, devices, and what was `None` at export, are not checked. The strict mode adds these dtypes,
//! the full declared range, and the guards.
//!
//! An error names the input as in the caller's code, what was expected, what was passed, why, and what to change.

mod flatten;
mod guard_failure;
pub(crate) mod guards;
mod strictness;

use crate::error::{Error, Result};
pub(crate) use flatten::flatten;
use flatten::user_path;
use guard_failure::{ErrorContext, GuardFailure};
use guards::{Guards, linear, python_number};
use indexmap::IndexMap;
use oxport_ir::{Argument, ExportedProgram, InputKind, Val, Value};
use oxport_pytree::Tree;
use oxport_sym::{Expr, Number, Symbol};
use oxport_tensor::DType;
use smallvec::SmallVec;
use std::sync::Arc;
pub use strictness::InputChecks;

/// The checks of all user inputs.
#[derive(Debug)]
pub(crate) struct Checks {
    inputs: Vec<Check>,
    symbols: Vec<Symbol>,
    mode: InputChecks,
    guards: Guards,
    /// Whether PyTorch would check by guards.
    by_guards: bool,
}

#[derive(Debug)]
struct Check {
    /// `*args[0]`, or the placeholder's name.
    path: String,
    name: Arc<str>,
    expected: Expected,
    /// The default value, if the input may be omitted.
    default: Option<Value>,
}

#[derive(Debug)]
pub(crate) enum Expected {
    Anything,
    Constant(Value),
    Tensor(DType, Vec<Size>),
    Int(Size),
}

/// The check of a size or an integer.
#[derive(Debug)]
pub(crate) struct Size {
    check: SizeCheck,
    pub expr: Expr,
    /// Whether `range_constraints` has this expression.
    pub known: bool,
    /// Whether it is in `range_constraints` and depends on exactly one symbol.
    pub derived: bool,
    /// `(a, b)` if the expression is `a*s + b`.
    pub linear: Option<(i64, i64)>,
    pub text: String,
    pub declared: (Option<i64>, Option<i64>),
    pub min: i64,
    pub max: i64,
}

#[derive(Debug)]
enum SizeCheck {
    Fixed(i64),
    /// The symbol with that index.
    Symbol(usize),
    /// An expression over that symbol.
    Derived(usize),
    /// An expression over several symbols, or over data: not checked.
    Unchecked,
}

/// Checks the arguments of a call without a plan: their pytree structure, and every input.
///
/// In the mode [`InputChecks::Torch`] this accepts exactly the calls that `ep.module()` accepts before it runs
/// anything.
///
/// # Errors
/// [`Error::is_input`]: the first mismatch, with the reason and what to change.
pub fn check_call(
    program: &ExportedProgram,
    mode: InputChecks,
    args: Vec<Tree<Value>>,
    kwargs: IndexMap<String, Tree<Value>>,
) -> Result<()> {
    let checks = Checks::of(program, mode);
    checks.check(&flatten(program.call_signature(), &checks, args, kwargs)?)
}

impl Checks {
    /// The checks of a program, with the path of every input by the program's input tree.
    pub fn of(program: &ExportedProgram, mode: InputChecks) -> Checks {
        let signature = program.call_signature();
        let paths = signature.map(|s| s.in_spec.paths()).unwrap_or_default();
        let by_guards = program.example_inputs.is_some() && mode == InputChecks::Torch;
        let mut checks = Checks { inputs: Vec::new(), symbols: Vec::new(), mode, guards: Guards::default(), by_guards };
        let placeholders = program.graph.placeholders().zip(&program.signature.inputs);
        for ((_, node), spec) in placeholders.filter(|(_, spec)| spec.kind.is_user()) {
            let path = paths.get(checks.inputs.len()).map(ToString::to_string);
            let path = path.map_or_else(|| node.name.to_string(), |p| user_path(&p));
            let expected = match (&spec.kind, node.val()) {
                (InputKind::ConstantInput(Argument::None), _) => Expected::Anything,
                (InputKind::ConstantInput(c), _) => {
                    crate::lower::constant(c).map_or(Expected::Anything, Expected::Constant)
                }
                (_, Some(Val::Tensor(t))) => {
                    Expected::Tensor(t.dtype, t.sizes.iter().map(|s| checks.size(s, program)).collect())
                }
                (_, Some(Val::Int(e))) => match e.as_int() {
                    Some(n) => Expected::Constant(Value::Int(n)),
                    None => Expected::Int(checks.size(e, program)),
                },
                (_, Some(Val::Float(e))) => {
                    e.as_float().map_or(Expected::Anything, |x| Expected::Constant(Value::Float(x)))
                }
                (_, Some(Val::Bool(e))) => {
                    e.as_bool().map_or(Expected::Anything, |b| Expected::Constant(Value::Bool(b)))
                }
                (_, Some(Val::Str(s))) => Expected::Constant(Value::Str(Arc::from(&**s))),
                _ => Expected::Anything,
            };
            let default = node.default_value().and_then(|c| crate::lower::constant(c).ok());
            checks.inputs.push(Check { path, name: node.name.clone(), expected, default });
        }
        if by_guards || mode == InputChecks::Strict {
            checks.guards = Guards::of(program);
        }
        checks
    }

    fn size(&mut self, e: &Expr, program: &ExportedProgram) -> Size {
        let mut number = |s: &Symbol| {
            let known = self.symbols.iter().position(|t| t == s);
            known.unwrap_or_else(|| {
                self.symbols.push(s.clone());
                self.symbols.len() - 1
            })
        };
        let symbols = e.free_symbols();
        let check = match (e.as_int(), e.as_symbol(), &symbols[..]) {
            (Some(n), _, _) => SizeCheck::Fixed(n),
            (_, Some(s), _) => SizeCheck::Symbol(number(s)),
            (_, _, [s]) => SizeCheck::Derived(number(s)),
            _ => SizeCheck::Unchecked,
        };
        let known = program.ranges.contains_key(e);
        let range = program.ranges.get(e).cloned().unwrap_or_default();
        let full = self.mode == InputChecks::Strict;
        Size {
            derived: known && matches!(check, SizeCheck::Derived(_)),
            linear: if let [s] = &symbols[..] { linear(e, s) } else { None },
            check,
            known,
            expr: e.clone(),
            text: e.to_string(),
            min: range.min.filter(|&min| full || min > 2).unwrap_or(i64::MIN),
            max: range.max.unwrap_or(i64::MAX),
            declared: (range.min, range.max),
        }
    }

    /// Flat user inputs, with defaults for omitted trailing ones.
    pub fn completed(&self, mut values: Vec<Value>) -> Vec<Value> {
        values.extend(self.defaults(values.len()));
        values
    }
    /// The defaults of the user inputs from that index on, up to the first without one.
    pub fn defaults(&self, from: usize) -> impl Iterator<Item = Value> {
        self.inputs.iter().skip(from).map_while(|check| check.default.clone())
    }
    /// The number of user inputs.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }
    /// The placeholder names of the user inputs.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.inputs.iter().map(|c| &c.name)
    }
    pub(crate) fn expected(&self) -> impl Iterator<Item = &Expected> {
        self.inputs.iter().map(|c| &c.expected)
    }
    pub(crate) fn guards(&self) -> &Guards {
        &self.guards
    }
    pub(crate) fn path(&self, input: usize) -> &str {
        &self.inputs[input].path
    }

    /// Checks flat user inputs before a run: as [`Checks::check`], and the kind and rank of every input. PyTorch
    /// accepts any kind and rank that no guard reads, and then fails later or computes something other than the
    /// exported program.
    ///
    /// # Errors
    /// As [`Checks::check`].
    pub fn admit(&self, values: &[Value]) -> Result<()> {
        self.check(values)?;
        for (i, (expected, value)) in self.expected().zip(values).enumerate() {
            let Expected::Tensor(_, sizes) = expected else { continue };
            match value {
                Value::Tensor(t) if t.rank() != sizes.len() => {
                    return Err(self.failure(i, GuardFailure::rank(sizes, t)));
                }
                Value::Tensor(_) => {}
                // A number is a tensor of rank zero.
                _ if sizes.is_empty() => {}
                v => return Err(self.failure(i, GuardFailure::kind("a tensor", v))),
            }
        }
        Ok(())
    }

    /// Checks flat user inputs.
    ///
    /// # Errors
    /// The first input that fails a check: which, at which dimension, what was expected, what was passed, and why.
    pub fn check(&self, values: &[Value]) -> Result<()> {
        if values.len() != self.inputs.len() {
            let (expected, got) = (self.inputs.len(), values.len());
            return Err(Error::input(format!("expected {expected} inputs, got {got}")));
        }
        if self.by_guards {
            return self.check_as_guards(values);
        }
        let mut bound: SmallVec<[Option<i64>; 8]> = SmallVec::from_elem(None, self.symbols.len());
        for (i, (expected, value)) in self.expected().zip(values).enumerate() {
            self.check_input(expected, value, &mut bound).map_err(|e| self.failure(i, e))?;
        }
        if self.mode == InputChecks::Strict { self.guards.check(self, values) } else { Ok(()) }
    }

    fn check_input(&self, expected: &Expected, value: &Value, bound: &mut [Option<i64>]) -> Result<(), GuardFailure> {
        match (expected, value) {
            (Expected::Anything, _) => Ok(()),
            (Expected::Constant(c), v) if same_constant(c, v) => Ok(()),
            (Expected::Constant(c), v) => Err(GuardFailure::constant(c, v)),
            (Expected::Tensor(dtype, sizes), Value::Tensor(t)) => {
                if t.rank() != sizes.len() {
                    return Err(GuardFailure::rank(sizes, t));
                }
                if self.mode == InputChecks::Strict && t.dtype() != *dtype {
                    let text = format!("{}, but got {}", dtype.name(), t.dtype().name());
                    let (why, change) = ("dtypes are checked strictly", "convert the tensor, or check as PyTorch does");
                    return Err(ErrorContext::new(text, why, change).at(".dtype"));
                }
                for (d, (size, &got)) in sizes.iter().zip(t.sizes()).enumerate() {
                    self.check_size(size, got, bound).map_err(|e| e.at(format!(".shape[{d}]")))?;
                }
                Ok(())
            }
            (Expected::Tensor(..), v) => Err(GuardFailure::kind("a tensor", v)),
            // PyTorch takes `int(v)`; the strict mode does not.
            (Expected::Int(size), v) => {
                let number = match v {
                    Value::Int(_) => python_number(v),
                    Value::Float(_) | Value::Bool(_) if self.mode == InputChecks::Torch => python_number(v),
                    _ => None,
                };
                let number = number.and_then(|n| n.trunc()).and_then(|n| n.as_i64());
                let n = number.ok_or_else(|| GuardFailure::kind("an int", v))?;
                self.check_size(size, n, bound).map_err(|e| e.at(""))
            }
        }
    }

    fn check_size(&self, size: &Size, got: i64, bound: &mut [Option<i64>]) -> Result<(), ErrorContext> {
        let number = Number::from(got);
        match &size.check {
            SizeCheck::Fixed(n) => return if *n == got { Ok(()) } else { Err(size.static_mismatch(*n, &number)) },
            SizeCheck::Symbol(s) => match bound[*s] {
                Some(n) if n != got => return Err(size.unequal(&n.into(), &number, "")),
                _ => bound[*s] = Some(got),
            },
            SizeCheck::Derived(s) => match (bound[*s], size.linear) {
                (Some(n), _) => {
                    if let Some(expected) = size.expr.eval_int(&|_| Some(n)).filter(|expected| *expected != got) {
                        return Err(size.derived_mismatch(&expected.into(), &number, &self.symbols[*s], &n.into()));
                    }
                }
                (None, Some((a, b))) => {
                    // A symbol of a size is positive.
                    let least = if self.symbols[*s].assumptions().is_positive() { 1 } else { i64::MIN };
                    let rest = got.checked_sub(b).filter(|rest| rest % a == 0 && rest / a >= least);
                    bound[*s] = Some(rest.ok_or_else(|| size.no_solution(got, &self.symbols[*s]))? / a);
                }
                (None, None) => {}
            },
            SizeCheck::Unchecked => return Ok(()),
        }
        size.out_of_range(&number).map_or(Ok(()), Err)
    }

    /// The error for a failed check of an input, in the words of PyTorch's own.
    pub(crate) fn failure(&self, input: usize, failure: GuardFailure) -> Error {
        let Check { path, name, .. } = &self.inputs[input];
        let GuardFailure { part, context: ErrorContext { expected, why, change } } = failure;
        Error::input(format!("expected input `{name}` at {path}{part} to be {expected}: {why}; {change}"))
    }
}

impl Size {
    pub(crate) fn is_bounded(&self) -> bool {
        self.known && (self.min != i64::MIN || self.max != i64::MAX)
    }
}

/// PyTorch's `type(a) == type(b) and a == b`, where NaN matches itself.
fn same_constant(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Complex(a), Value::Complex(b)) => a == b,
        (Value::None, Value::None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_ops::program;
    use oxport_tensor::Tensor;

    fn tensor(dtype: DType, sizes: &[i64]) -> Value {
        Tensor::zeros(dtype, sizes).unwrap().into()
    }

    const PROGRAM: &str = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]", y: "f32[2*s0 + 1, s1]", z: "f32[s0*s1]", n: "Sym(s1)"):
            return (x,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT
    z: USER_INPUT
    n: USER_INPUT
    # outputs
    x: USER_OUTPUT

Range constraints: {s0: VR[4, 10], s1: VR[2, int_oo], 2*s0 + 1: VR[9, 21]}
"#;

    #[test]
    fn inputs_as_pytorch_checks_them() {
        let checks = Checks::of(&program(PROGRAM), InputChecks::Torch);
        let check = |x: &[i64], y: &[i64], z: &[i64], n: Value| {
            let f = |s| tensor(DType::F32, s);
            checks.check(&[f(x), f(y), f(z), n]).map_or_else(|e| e.to_string(), |()| "fine".into())
        };
        let int = Value::Int;
        for (got, expected) in [
            (check(&[4, 3], &[9, 5], &[20], int(5)), "fine"),
            // Sizes of several symbols are not checked, nor is a lower bound of up to 2.
            (check(&[4, 3], &[9, 0], &[7], int(0)), "fine"),
            (check(&[4, 4], &[9, 5], &[20], int(5)), "`x` at x.shape[1] to be equal to 3, but got 4: it is static"),
            (
                check(&[3, 3], &[7, 5], &[20], int(5)),
                "`x` at x.shape[0] to be >= 4, but got 3: that is the declared range of s0",
            ),
            (
                check(&[11, 3], &[23, 5], &[20], int(5)),
                "`x` at x.shape[0] to be <= 10, but got 11: that is the declared range of s0",
            ),
            (
                check(&[4, 3], &[11, 5], &[20], int(5)),
                "`y` at y.shape[0] to be equal to 9, but got 11: it is 2*s0 + 1 with s0 = 4",
            ),
            (
                check(&[4, 3], &[9, 5], &[20], int(6)),
                "`n` at n to be equal to 5, but got 6: s1 has that value elsewhere",
            ),
            (
                check(&[4, 3, 1], &[9, 5], &[20], int(5)),
                "`x` at x.shape to be of sizes [s0, 3], but got [4, 3, 1]: the number of dimensions is fixed",
            ),
            (
                check(&[4, 3], &[9, 5], &[20], Value::None),
                "`n` at n to be an int, but got None: it was one when exported",
            ),
        ] {
            let got = got.split("; ").next().unwrap_or_default();
            assert_eq!(got.strip_prefix("expected input ").unwrap_or(got), expected);
        }
        let few = checks.check(&[int(1)]).unwrap_err();
        assert!(few.is_input() && few.to_string() == "expected 4 inputs, got 1");
    }

    #[test]
    fn derived_sizes_are_solved() {
        let text = r#"
def forward(self, y: "f32[2*s0 + 1]", x: "f32[s0]"):
    return (x,)
"#;
        let checks = Checks::of(&program(text), InputChecks::Torch);
        let check = |y, x| checks.check(&[tensor(DType::F32, &[y]), tensor(DType::F32, &[x])]);
        assert_eq!(check(9, 4), Ok(()));
        let e = check(8, 4).unwrap_err().to_string();
        assert!(
            e.starts_with("expected input `y` at y.shape[0] to be of the form 2*s0 + 1, but got 8: s0 is an integer"),
            "{e}"
        );
        let e = check(9, 5).unwrap_err().to_string();
        assert!(
            e.starts_with("expected input `x` at x.shape[0] to be equal to 4, but got 5: s0 has that value elsewhere"),
            "{e}"
        );
    }

    #[test]
    fn dtypes_are_checked_on_demand() {
        let p = program("def forward(self, x: \"f32[2]\"):\n    return (x,)\n");
        let double = [tensor(DType::F64, &[2])];
        assert_eq!(Checks::of(&p, InputChecks::Torch).check(&double), Ok(()));
        let e = Checks::of(&p, InputChecks::Strict).check(&double).unwrap_err().to_string();
        assert!(
            e.starts_with("expected input `x` at x.dtype to be float32, but got float64: dtypes are checked strictly"),
            "{e}"
        );
    }

    #[test]
    fn constants_must_match() {
        let mut p = program("def forward(self, x: \"f32[2]\"):\n    return (x,)\n");
        let complex = |im| Argument::Complex(oxport_ir::Complex::new(1.0, im));
        let cases = [
            (Argument::Int(7), Value::Int(7), Value::Float(7.0)),
            (Argument::Float(f64::NAN), Value::Float(f64::NAN), Value::Float(0.0)),
            (Argument::Bool(true), Value::Bool(true), Value::Int(1)),
            (Argument::from("mean"), Value::Str("mean".into()), Value::Str("sum".into())),
            (complex(2.0), Value::Complex(oxport_ir::Complex::new(1.0, 2.0)), Value::Complex(Default::default())),
        ];
        let is_refused = |e: Error| e.to_string().contains("it was a constant when exported");
        for (constant, same, other) in cases {
            p.signature.inputs[0].kind = InputKind::ConstantInput(constant);
            let checks = Checks::of(&p, InputChecks::Torch);
            assert_eq!(checks.check(&[same]), Ok(()));
            assert!(is_refused(checks.check(&[other]).unwrap_err()));
        }
        // An input whose meta is a constant is also one.
        p.signature.inputs[0].kind = InputKind::UserInput;
        let x = p.graph.find("x").unwrap();
        for (val, same, other) in [
            (Val::Int(7.into()), Value::Int(7), Value::Int(8)),
            (Val::Float(Expr::number(Number::Float(2.5))), Value::Float(2.5), Value::Float(2.0)),
            (Val::Bool(Expr::boolean(true)), Value::Bool(true), Value::Bool(false)),
        ] {
            p.graph.meta_mut(x).val = Some(val);
            let checks = Checks::of(&p, InputChecks::Torch);
            assert_eq!(checks.check(&[same]), Ok(()));
            assert!(is_refused(checks.check(&[other]).unwrap_err()));
        }
        p.signature.inputs[0].kind = InputKind::ConstantInput(Argument::None);
        assert_eq!(Checks::of(&p, InputChecks::Torch).check(&[Value::Int(3)]), Ok(()));
    }

    #[test]
    fn paths_as_callers_know_them() {
        for (path, expected) in
            [("[0][1]", "*args[1]"), ("[0][0]['a'].x", "*args[0]['a'].x"), ("[1]['mask'][2]", "mask[2]")]
        {
            assert_eq!(user_path(path), expected);
        }
    }
}
