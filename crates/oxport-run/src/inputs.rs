//! What a call's inputs must be: PyTorch's input checks, compiled.
//!
//! PyTorch has two ways. A program with sample inputs is checked by a guards function ([`crate::guards`]); any other by
//! a hook, which is here: static sizes and constants must be equal; a symbol has one value wherever it stands, and
//! `2*s0` is solved for `s0`; a lower bound counts only above 2, because smaller ones were never guarded; dtypes,
//! strides and devices are free, and so is what stands where the program had `None`. The strict mode is the hook with
//! the full declared range, the dtypes, and the guards.
//!
//! A refusal names the input as the caller knows it, the dimension, what was expected and what came, why, and what to
//! change.

use crate::error::{Error, Result};
use crate::guards::{Guards, linear, python_number, sources};
use crate::refusal::{Refusal, Words};
use indexmap::IndexMap;
use oxport_ir::{Argument, ExportedProgram, InputKind, Val, Value};
use oxport_pytree::Tree;
use oxport_sym::{Expr, Number, Symbol};
use oxport_tensor::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// How strictly inputs are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputChecks {
    /// As PyTorch's `ep.module()` does: by guards if the program has sample inputs, else by the hook.
    #[default]
    Torch,
    /// Dtypes must be the program's too, sizes in the full declared range, and every guard must hold.
    Strict,
}

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
    want: Want,
    /// What it is where it is left out.
    default: Option<Value>,
}

#[derive(Debug)]
pub(crate) enum Want {
    Anything,
    Constant(Value),
    Tensor(DType, Vec<Size>),
    Int(Size),
}

/// What a size or an integer must be.
#[derive(Debug)]
pub(crate) struct Size {
    is: Is,
    pub expr: Expr,
    /// Whether the program declares a range of this very expression.
    pub known: bool,
    /// Whether it is declared, and computed from just one symbol.
    pub derived: bool,
    /// `(a, b)` where it is `a*s + b`.
    pub linear: Option<(i64, i64)>,
    pub text: String,
    pub declared: (Option<i64>, Option<i64>),
    pub min: i64,
    pub max: i64,
}

#[derive(Debug)]
enum Is {
    Fixed(i64),
    /// The symbol of that number.
    Symbol(usize),
    /// An expression over that symbol.
    Of(usize),
    /// An expression over several symbols, or over data: not checked.
    Open,
}

/// Checks the arguments of a call without a plan: whether they form the tree that the program takes, and fit it.
///
/// In the mode [`InputChecks::Torch`] this takes exactly the calls that `ep.module()` takes before it runs anything.
///
/// # Errors
/// [`Error::is_input`]: what does not fit, with the reason and what to change.
pub fn check_call(
    program: &ExportedProgram,
    mode: InputChecks,
    args: Vec<Tree<Value>>,
    kwargs: IndexMap<String, Tree<Value>>,
) -> Result<()> {
    let checks = Checks::of(program, mode);
    checks.check(&crate::module::flatten(program.call_signature(), &checks, args, kwargs)?)
}

impl Checks {
    /// The checks of a program, with the path of every input by the program's input tree.
    pub fn of(program: &ExportedProgram, mode: InputChecks) -> Checks {
        let signature = program.call_signature();
        let paths = signature.map(|s| s.in_spec.paths()).unwrap_or_default();
        let arguments = signature.and_then(|s| s.forward_arg_names.as_deref()).unwrap_or_default();
        let by_guards = program.example_inputs.is_some() && mode == InputChecks::Torch;
        let mut checks = Checks { inputs: Vec::new(), symbols: Vec::new(), mode, guards: Guards::default(), by_guards };
        let mut names = Vec::new();
        let placeholders = program.graph.placeholders().zip(&program.signature.inputs);
        for ((_, node), spec) in placeholders.filter(|(_, spec)| spec.kind.is_user()) {
            let path = paths.get(checks.inputs.len()).map(ToString::to_string);
            names.push(sources(path.as_deref().unwrap_or_default(), &node.name, arguments, names.len()));
            let path = path.map_or_else(|| node.name.to_string(), |p| user_path(&p));
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
            let default = node.args.first().and_then(|c| crate::lower::constant(c).ok());
            checks.inputs.push(Check { path, name: node.name.clone(), want, default });
        }
        if by_guards || mode == InputChecks::Strict {
            checks.guards = Guards::of(program, &names);
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
            (_, _, [s]) => Is::Of(number(s)),
            _ => Is::Open,
        };
        let known = program.ranges.contains_key(e);
        let range = program.ranges.get(e).cloned().unwrap_or_default();
        let full = self.mode == InputChecks::Strict;
        Size {
            derived: known && matches!(is, Is::Of(_)),
            linear: if let [s] = &symbols[..] { linear(e, s) } else { None },
            is,
            known,
            expr: e.clone(),
            text: e.to_string(),
            min: range.min.filter(|&min| full || min > 2).unwrap_or(i64::MIN),
            max: range.max.unwrap_or(i64::MAX),
            declared: (range.min, range.max),
        }
    }

    /// Flat user inputs, the trailing ones that are left out being what they are by default.
    pub fn completed(&self, mut values: Vec<Value>) -> Vec<Value> {
        values.extend(self.defaults(values.len()));
        values
    }
    /// What the user inputs from that one on are by default, as far as they have one.
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
    pub(crate) fn wants(&self) -> impl Iterator<Item = &Want> {
        self.inputs.iter().map(|c| &c.want)
    }
    pub(crate) fn guards(&self) -> &Guards {
        &self.guards
    }
    pub(crate) fn path(&self, input: usize) -> &str {
        &self.inputs[input].path
    }

    /// Checks flat user inputs that are about to be run: as [`Checks::check`], and kinds and ranks everywhere. Where no
    /// guard looks at them, PyTorch takes any, and fails later or computes something else than was exported.
    ///
    /// # Errors
    /// As [`Checks::check`].
    pub fn admit(&self, values: &[Value]) -> Result<()> {
        self.check(values)?;
        for (i, (want, value)) in self.wants().zip(values).enumerate() {
            let Want::Tensor(_, sizes) = want else { continue };
            match value {
                Value::Tensor(t) if t.rank() != sizes.len() => return Err(self.refuse(i, Refusal::rank(sizes, t))),
                Value::Tensor(_) => {}
                // A number is a tensor of rank zero.
                _ if sizes.is_empty() => {}
                v => return Err(self.refuse(i, Refusal::kind("a tensor", v))),
            }
        }
        Ok(())
    }

    /// Checks flat user inputs.
    ///
    /// # Errors
    /// The first input that the program does not take: which, at which dimension, what was expected, what came, and
    /// why.
    pub fn check(&self, values: &[Value]) -> Result<()> {
        if values.len() != self.inputs.len() {
            let (want, got) = (self.inputs.len(), values.len());
            return Err(Error::input(format!("the program takes {want} inputs, but got {got}")));
        }
        if self.by_guards {
            return self.check_as_guards(values);
        }
        let mut bound: SmallVec<[Option<i64>; 8]> = SmallVec::from_elem(None, self.symbols.len());
        for (i, (want, value)) in self.wants().zip(values).enumerate() {
            self.check_input(want, value, &mut bound).map_err(|refusal| self.refuse(i, refusal))?;
        }
        if self.mode == InputChecks::Strict { self.guards.check(self, values) } else { Ok(()) }
    }

    fn check_input(&self, want: &Want, value: &Value, bound: &mut [Option<i64>]) -> Result<(), Refusal> {
        match (want, value) {
            (Want::Anything, _) => Ok(()),
            (Want::Constant(c), v) if same_constant(c, v) => Ok(()),
            (Want::Constant(c), v) => Err(Refusal::constant(c, v)),
            (Want::Tensor(dtype, sizes), Value::Tensor(t)) => {
                if t.rank() != sizes.len() {
                    return Err(Refusal::rank(sizes, t));
                }
                if self.mode == InputChecks::Strict && t.dtype() != *dtype {
                    let text = format!("{}, but got {}", dtype.name(), t.dtype().name());
                    let (why, change) = ("dtypes are checked strictly", "convert the tensor, or check as PyTorch does");
                    return Err(Refusal { part: ".dtype".into(), text, why: why.into(), change: change.into() });
                }
                for (d, (size, &got)) in sizes.iter().zip(t.sizes()).enumerate() {
                    let refuse = |(text, why, change)| Refusal { part: format!(".shape[{d}]"), text, why, change };
                    self.check_size(size, got, bound).map_err(refuse)?;
                }
                Ok(())
            }
            (Want::Tensor(..), v) => Err(Refusal::kind("a tensor", v)),
            // PyTorch takes `int(v)`, which strictness does not.
            (Want::Int(size), v) => {
                let number = match v {
                    Value::Int(_) => python_number(v),
                    Value::Float(_) | Value::Bool(_) if self.mode == InputChecks::Torch => python_number(v),
                    _ => None,
                };
                let number = number.and_then(|n| n.trunc()).and_then(|n| n.as_i64());
                let n = number.ok_or_else(|| Refusal::kind("an int", v))?;
                let refuse = |(text, why, change)| Refusal { part: String::new(), text, why, change };
                self.check_size(size, n, bound).map_err(refuse)
            }
        }
    }

    fn check_size(&self, size: &Size, got: i64, bound: &mut [Option<i64>]) -> Result<(), Words> {
        let number = Number::from(got);
        match &size.is {
            Is::Fixed(n) => return if *n == got { Ok(()) } else { Err(size.static_refusal(*n, &number)) },
            Is::Symbol(s) => match bound[*s] {
                Some(n) if n != got => return Err(size.unequal_refusal(&n.into(), &number, "")),
                _ => bound[*s] = Some(got),
            },
            Is::Of(s) => match (bound[*s], size.linear) {
                (Some(n), _) => {
                    if let Some(want) = size.expr.eval_int(&|_| Some(n)).filter(|want| *want != got) {
                        return Err(size.derived_refusal(&want.into(), &number, &self.symbols[*s], &n.into()));
                    }
                }
                (None, Some((a, b))) => {
                    // A symbol that stands for a size is positive.
                    let least = if self.symbols[*s].assumptions().is_positive() { 1 } else { i64::MIN };
                    let rest = got.checked_sub(b).filter(|rest| rest % a == 0 && rest / a >= least);
                    bound[*s] = Some(rest.ok_or_else(|| size.form_refusal(got, &self.symbols[*s]))? / a);
                }
                (None, None) => {}
            },
            Is::Open => return Ok(()),
        }
        size.range_refusal(&number).map_or(Ok(()), Err)
    }

    pub(crate) fn refuse(&self, input: usize, r: Refusal) -> Error {
        let Check { path, name, .. } = &self.inputs[input];
        let Refusal { part, text, why, change } = r;
        Error::input(format!("expected input `{name}` at {path}{part} to be {text}: {why}; {change}"))
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
                check(&[4, 3], &[9, 5], &[20], Value::None),
                "`n` at n to be an int, but got None: it was one when exported",
            ),
        ] {
            let got = got.split("; ").next().unwrap_or_default();
            assert_eq!(got.strip_prefix("expected input ").unwrap_or(got), want);
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
    fn constants_must_be_themselves() {
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
        // What the meta of an input says is a constant, too.
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
        for (path, want) in
            [("[0][1]", "*args[1]"), ("[0][0]['a'].x", "*args[0]['a'].x"), ("[1]['mask'][2]", "mask[2]")]
        {
            assert_eq!(user_path(path), want);
        }
    }
}
