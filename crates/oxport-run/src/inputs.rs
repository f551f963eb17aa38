//! What a call's inputs must be: PyTorch's input checks, compiled.
//!
//! As PyTorch has them: static sizes and constants must be equal; a symbol has one value wherever it stands, and `2*s0`
//! is solved for `s0`; a lower bound counts only above 2, because smaller ones were never guarded; dtypes, strides and
//! devices are free, and so is what stands where the program had `None`. The strict mode refuses other dtypes too.

use crate::error::{Error, Result};
use oxport_ir::{Argument, ExportedProgram, InputKind, Val, Value};
use oxport_sym::{Expr, Symbol};
use oxport_tensor::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// How strictly inputs are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputChecks {
    /// As PyTorch does.
    #[default]
    Torch,
    /// Dtypes must be the program's, too.
    Strict,
}

/// The checks of all user inputs.
#[derive(Debug)]
pub(crate) struct Checks {
    inputs: Vec<Check>,
    symbols: Vec<Symbol>,
    mode: InputChecks,
}

#[derive(Debug)]
struct Check {
    /// `*args[0]`, or the placeholder's name.
    path: String,
    name: Arc<str>,
    want: Want,
}

#[derive(Debug)]
enum Want {
    Anything,
    Constant(Value),
    Tensor(DType, Vec<Size>),
    Int(Size),
}

/// What a size or an integer must be.
#[derive(Debug)]
struct Size {
    is: Is,
    text: String,
    min: i64,
    max: i64,
}

#[derive(Debug)]
enum Is {
    Fixed(i64),
    /// The symbol of that number.
    Symbol(usize),
    /// An expression over one symbol, and `(a, b)` where it is `a*s + b`.
    Of(Expr, usize, Option<(i64, i64)>),
    /// An expression over several symbols, or over data: not checked.
    Open,
}

impl Checks {
    /// The checks of a program, with the path of every input by the program's input tree.
    pub fn of(program: &ExportedProgram, mode: InputChecks) -> Checks {
        let paths = program.call_signature().map(|s| s.in_spec.paths()).unwrap_or_default();
        let mut checks = Checks { inputs: Vec::new(), symbols: Vec::new(), mode };
        let placeholders = program.graph.placeholders().zip(&program.signature.inputs);
        for ((_, node), spec) in placeholders.filter(|(_, spec)| spec.kind.is_user()) {
            let path =
                paths.get(checks.inputs.len()).map_or_else(|| node.name.to_string(), |p| user_path(&p.to_string()));
            let want = match (&spec.kind, node.val()) {
                (InputKind::ConstantInput(Argument::None), _) => Want::Anything,
                (InputKind::ConstantInput(c), _) => crate::lower::constant(c).map_or(Want::Anything, Want::Constant),
                (_, Some(Val::Tensor(t))) => {
                    Want::Tensor(t.dtype, t.sizes.iter().map(|s| checks.size(s, program)).collect())
                }
                (_, Some(Val::Int(e))) => match e.as_int() {
                    Some(n) => Want::Constant(Value::Int(n)),
                    None => Want::Int(checks.size(e, program)),
                },
                (_, Some(Val::Float(e))) => e.as_float().map_or(Want::Anything, |x| Want::Constant(Value::Float(x))),
                (_, Some(Val::Bool(e))) => e.as_bool().map_or(Want::Anything, |b| Want::Constant(Value::Bool(b))),
                (_, Some(Val::Str(s))) => Want::Constant(Value::Str(Arc::from(&**s))),
                _ => Want::Anything,
            };
            checks.inputs.push(Check { path, name: node.name.clone(), want });
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
        let is = match (e.as_int(), e.as_symbol(), &symbols[..]) {
            (Some(n), _, _) => Is::Fixed(n),
            (_, Some(s), _) => Is::Symbol(number(s)),
            (_, _, [s]) => Is::Of(e.clone(), number(s), linear(e, s)),
            _ => Is::Open,
        };
        let range = program.ranges.get(e).cloned().unwrap_or_default();
        let min = range.min.filter(|&min| min > 2).unwrap_or(i64::MIN);
        Size { is, text: e.to_string(), min, max: range.max.unwrap_or(i64::MAX) }
    }

    /// The number of user inputs.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }
    /// The placeholder names of the user inputs.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.inputs.iter().map(|c| &c.name)
    }

    /// Checks flat user inputs.
    ///
    /// # Errors
    /// The first input that the program does not take: which, at which dimension, what was expected, what came, and why.
    pub fn check(&self, values: &[Value]) -> Result<()> {
        if values.len() != self.inputs.len() {
            let (want, got) = (self.inputs.len(), values.len());
            return Err(Error::input(format!("the program takes {want} inputs, but got {got}")));
        }
        let mut bound: SmallVec<[Option<i64>; 8]> = SmallVec::from_elem(None, self.symbols.len());
        for (check, value) in self.inputs.iter().zip(values) {
            match (&check.want, value) {
                (Want::Anything, _) => {}
                (Want::Constant(c), v) if same_constant(c, v) => {}
                (Want::Constant(c), v) => {
                    let (c, v) = (show(c), show(v));
                    return Err(check.refuse(
                        "",
                        format!("equal to {c}, but got {v}"),
                        "it was a constant when exported",
                    ));
                }
                (Want::Tensor(dtype, sizes), Value::Tensor(t)) => {
                    if t.rank() != sizes.len() {
                        let dims = sizes.iter().map(|s| &*s.text).collect::<Vec<_>>().join(", ");
                        let text = format!("of sizes [{dims}], but got {:?}", t.sizes());
                        return Err(check.refuse(".shape", text, "the number of dimensions is fixed"));
                    }
                    if self.mode == InputChecks::Strict && t.dtype() != *dtype {
                        let text = format!("{}, but got {}", dtype.name(), t.dtype().name());
                        return Err(check.refuse(".dtype", text, "dtypes are checked strictly"));
                    }
                    for (i, (size, &got)) in sizes.iter().zip(t.sizes()).enumerate() {
                        self.check_size(size, got, &mut bound)
                            .map_err(|(text, why)| check.refuse(&format!(".shape[{i}]"), text, &why))?;
                    }
                }
                (Want::Tensor(..), v) => {
                    return Err(check.refuse("", format!("a tensor, but got {}", show(v)), "it was one when exported"));
                }
                (Want::Int(size), Value::Int(n)) => {
                    self.check_size(size, *n, &mut bound).map_err(|(text, why)| check.refuse("", text, &why))?;
                }
                (Want::Int(_), v) => {
                    return Err(check.refuse("", format!("an int, but got {}", show(v)), "it was one when exported"));
                }
            }
        }
        Ok(())
    }

    fn check_size(&self, size: &Size, got: i64, bound: &mut [Option<i64>]) -> Result<(), (String, String)> {
        let equal = |want: i64, why: String| match want == got {
            true => Ok(()),
            false => Err((format!("equal to {want}, but got {got}"), why)),
        };
        match &size.is {
            Is::Fixed(n) => return equal(*n, "it is static".into()),
            Is::Symbol(s) => match bound[*s] {
                Some(n) => equal(n, format!("{} has that value elsewhere", size.text))?,
                None => bound[*s] = Some(got),
            },
            Is::Of(e, s, form) => match (bound[*s], form) {
                (Some(n), _) => {
                    if let Some(want) = e.eval_int(&|_| Some(n)) {
                        equal(want, format!("it is {} with {} = {n}", size.text, self.symbols[*s]))?;
                    }
                }
                (None, Some((a, b))) => {
                    let rest = got.checked_sub(*b).filter(|rest| rest % a == 0);
                    let Some(rest) = rest else {
                        let text = format!("of the form {}, but got {got}", size.text);
                        return Err((text, format!("{} is an integer", self.symbols[*s])));
                    };
                    bound[*s] = Some(rest / a);
                }
                (None, None) => {}
            },
            Is::Open => return Ok(()),
        }
        let declared = || format!("that is the declared range of {}", size.text);
        if got < size.min {
            return Err((format!(">= {}, but got {got}", size.min), declared()));
        }
        if got > size.max {
            return Err((format!("<= {}, but got {got}", size.max), declared()));
        }
        Ok(())
    }
}

impl Check {
    fn refuse(&self, part: &str, text: String, why: &str) -> Error {
        Error::input(format!("expected input `{}` at {}{part} to be {text}: {why}", self.name, self.path))
    }
}

/// `a` and `b` where an expression over one symbol is `a*s + b`.
fn linear(e: &Expr, s: &Symbol) -> Option<(i64, i64)> {
    let at = |n: i64| e.eval_int(&|t| (t == s).then_some(n));
    let (b, one, two) = (at(0)?, at(1)?, at(2)?);
    let a = one.checked_sub(b)?;
    let big = 1_000_003i64;
    let on_line = two.checked_sub(one)? == a && at(big)? == a.checked_mul(big)?.checked_add(b)?;
    (a != 0 && on_line).then_some((a, b))
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

fn show(v: &Value) -> String {
    match v {
        Value::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => if *b { "True" } else { "False" }.into(),
        Value::Str(s) => format!("{s:?}"),
        other => other.kind().into(),
    }
}

/// From the path within `(args, kwargs)` to what a caller knows: `[0][1]` is `*args[1]`, `[1]['mask']` is `mask`.
fn user_path(path: &str) -> String {
    match (path.strip_prefix("[0]"), path.strip_prefix("[1]['")) {
        (Some(rest), _) => format!("*args{rest}"),
        (_, Some(rest)) => rest.replacen("']", "", 1),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy_ops::program;
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
        for (got, want) in [
            (check(&[4, 3], &[9, 5], &[20], int(5)), "fine"),
            // Sizes of several symbols are free, and so is the low end of a range up to 2.
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
                check(&[4, 3], &[9, 5], &[20], Value::Float(5.0)),
                "`n` at n to be an int, but got 5.0: it was one when exported",
            ),
        ] {
            assert_eq!(got.strip_prefix("expected input ").unwrap_or(&got), want);
        }
        let few = checks.check(&[int(1)]).unwrap_err();
        assert!(few.is_input() && few.to_string() == "the program takes 4 inputs, but got 1");
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
        assert_eq!(e, "expected input `y` at y.shape[0] to be of the form 2*s0 + 1, but got 8: s0 is an integer");
        let e = check(9, 5).unwrap_err().to_string();
        assert_eq!(e, "expected input `x` at x.shape[0] to be equal to 4, but got 5: s0 has that value elsewhere");
    }

    #[test]
    fn dtypes_are_checked_on_demand() {
        let p = program("def forward(self, x: \"f32[2]\"):\n    return (x,)\n");
        let double = [tensor(DType::F64, &[2])];
        assert_eq!(Checks::of(&p, InputChecks::Torch).check(&double), Ok(()));
        let e = Checks::of(&p, InputChecks::Strict).check(&double).unwrap_err().to_string();
        assert_eq!(e, "expected input `x` at x.dtype to be float32, but got float64: dtypes are checked strictly");
    }

    #[test]
    fn constants_must_be_themselves() {
        let mut p = program("def forward(self, x: \"f32[2]\"):\n    return (x,)\n");
        let cases = [
            (Argument::Int(7), Value::Int(7), Value::Float(7.0)),
            (Argument::Float(f64::NAN), Value::Float(f64::NAN), Value::Float(0.0)),
            (Argument::Bool(true), Value::Bool(true), Value::Int(1)),
            (Argument::from("mean"), Value::Str("mean".into()), Value::Str("sum".into())),
        ];
        for (constant, same, other) in cases {
            p.signature.inputs[0].kind = InputKind::ConstantInput(constant);
            let checks = Checks::of(&p, InputChecks::Torch);
            assert_eq!(checks.check(&[same]), Ok(()));
            assert!(checks.check(&[other]).unwrap_err().to_string().ends_with("it was a constant when exported"));
        }
        p.signature.inputs[0].kind = InputKind::ConstantInput(Argument::None);
        assert_eq!(Checks::of(&p, InputChecks::Torch).check(&[Value::Int(3)]), Ok(()));
    }

    #[test]
    fn paths_as_callers_know_them() {
        for (path, want) in
            [("[0][1]", "*args[1]"), ("[0][0]['a'].x", "*args[0]['a'].x"), ("[1]['mask'][2]", "mask[2]")]
        {
            assert_eq!(user_path(path), want);
        }
    }
}
