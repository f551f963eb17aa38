//! The rule table: from a rule's example instances are derived, over dtypes, sizes, layouts, symbolic sizes and
//! constants. Wherever the rule fires, both sides are valid, of one type, and compute the same: to the bit for bitwise
//! rules, with the extreme values of the dtype. A condition is there only if some instance fails without it.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{DType, ExportedProgram, Expr, Fake, Opt, Plan, PlanOptions, Tensor, Value, registry};
use oxport_ir::{Argument, Kwargs, NodeId};
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::rules;
use oxport_rewrite::term::Term;
use oxport_tensor::Layout;
use oxport_testkit::samples;
use std::collections::HashMap;

const DTYPES: [DType; 15] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::F8E4M3FN,
    DType::F8E5M2,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::Bool,
    DType::C64,
    DType::C128,
];

/// How the tensors of an instance are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layed {
    Contiguous,
    /// The dimensions in reverse, dense.
    Reversed,
    /// Every second element.
    Gapped,
    /// All elements in one place.
    Expanded,
    /// Recorded as [`Layed::Expanded`], and called with contiguous tensors.
    Otherwise,
}

/// What is done to the sizes of an example.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sizes {
    Given,
    /// One size put in the place of another, wherever it stands.
    Put(i64, i64),
    All(i64),
    Scalars,
    /// The first size a symbol of a range from 0 on; called with the given size, with 1 and with 0.
    Symbolic,
}

/// One way in which an example is varied.
#[derive(Clone, Debug)]
struct Variation {
    dtype: Option<DType>,
    sizes: Sizes,
    layout: Layed,
    /// Another constant for a variable; `*` stands for all numbers, the first of them positive, the others negative.
    constant: Option<(String, &'static str)>,
    /// The dtype of all tensors but the first.
    rest: Option<DType>,
}

/// A typed variable of an example.
enum Variable<'a> {
    Tensor { dtype: DType, sizes: Vec<i64>, range: &'a str },
    Constant(&'a str),
}

fn variables(rule: &Rule) -> Result<Vec<(&'static str, Variable<'static>)>, String> {
    let read = |given: &'static str| {
        let (name, text) = given.split_once(": ").ok_or(format!("`{given}` is no typed variable"))?;
        let tensor = text.split_once('[').and_then(|(short, rest)| {
            let (sizes, range) = rest.split_once(']')?;
            let sizes = samples::split(sizes).into_iter().map(|s| s.parse().ok()).collect::<Option<_>>()?;
            Some(Variable::Tensor { dtype: DType::from_short(short)?, sizes, range })
        });
        Ok((name, tensor.unwrap_or(Variable::Constant(text))))
    };
    samples::split(rule.given).into_iter().map(read).collect()
}

/// All ways in which a rule's example is varied.
fn variations(rule: &Rule) -> Result<Vec<Variation>, String> {
    let variables = variables(rule)?;
    let plain = Variation { dtype: None, sizes: Sizes::Given, layout: Layed::Contiguous, constant: None, rest: None };
    let mut all = vec![plain.clone()];
    let mut present: Vec<i64> = variables
        .iter()
        .flat_map(|(_, v)| if let Variable::Tensor { sizes, .. } = v { sizes.clone() } else { Vec::new() })
        .collect();
    present.sort_unstable();
    present.dedup();
    let mut sizes = vec![Sizes::All(0), Sizes::All(1), Sizes::All(2), Sizes::Scalars, Sizes::Symbolic];
    for size in present {
        sizes.extend([0, 1].map(|to| Sizes::Put(size, to)));
    }
    if rule.soundness == Soundness::Rounding {
        // What is empty has no values to round.
        sizes.retain(|s| !matches!(s, Sizes::All(0) | Sizes::Put(_, 0)));
    }
    for (dtype, rest) in
        [(DType::F32, DType::F16), (DType::F16, DType::F32), (DType::I64, DType::F32), (DType::F32, DType::I64)]
    {
        all.push(Variation { dtype: Some(dtype), rest: Some(rest), ..plain.clone() });
    }
    let layouts = [Layed::Reversed, Layed::Gapped, Layed::Expanded, Layed::Otherwise];
    for dtype in DTYPES.map(Some) {
        all.push(Variation { dtype, ..plain.clone() });
        all.extend(sizes.iter().map(|&sizes| Variation { dtype, sizes, ..plain.clone() }));
        for sizes in [Sizes::Given, Sizes::All(2)] {
            all.extend(layouts.map(|layout| Variation { dtype, layout, sizes, ..plain.clone() }));
        }
    }
    for (name, variable) in &variables {
        let Variable::Constant(text) = variable else { continue };
        // Of a fusion, the numbers that its conditions speak of: a convolution of stride or groups 0 is no call.
        if rule.soundness == Soundness::Rounding && !format!("{:?}", rule.when).contains(&format!("{name:?}")) {
            continue;
        }
        let others: &[&str] = match text.as_bytes()[0] {
            b'[' => &["[1, 0]", "[0, 1]", "[-1, -2]", "[2, 2]", "[-1]", "[1]"],
            b'0'..=b'9' | b'-' => &[
                "0", "1", "-1", "2", "0.0", "-0.0", "3.0", "0.3", "3e38", "1e30", "-1e30", "1e-39", "inf", "nan",
                "True",
            ],
            _ => &["None", "True", "False", "0.5", "float64", "int32", "channels_last"],
        };
        for other in others {
            for dtype in [DType::F32, DType::F16, DType::I64, DType::C64] {
                for (sizes, layout) in [
                    (Sizes::Given, Layed::Contiguous),
                    (Sizes::All(2), Layed::Expanded),
                    (Sizes::All(2), Layed::Otherwise),
                ] {
                    let constant = Some((name.to_string(), *other));
                    all.push(Variation { dtype: Some(dtype), sizes, layout, constant, rest: None });
                }
            }
        }
    }
    // Numbers that cancel.
    let cancel = |dtype| Variation { dtype: Some(dtype), constant: Some(("*".into(), "1e30")), ..plain.clone() };
    all.extend([DType::F32, DType::F64].map(cancel));
    Ok(all)
}

/// The left side of a rule as a program, and the tensors that it may be called with.
struct Instance {
    program: ExportedProgram,
    tensors: Vec<Input>,
}

/// A tensor of an instance.
#[derive(Clone)]
struct Input {
    dtype: DType,
    layout: Layout,
    range: &'static str,
    /// The dimension that is symbolic.
    open: Option<usize>,
}

impl Input {
    fn fake(&self, size: Option<&Expr>) -> Fake {
        let mut sizes: Vec<Expr> = self.layout.sizes.iter().map(|&s| Expr::from(s)).collect();
        if let (Some(d), Some(size)) = (self.open, size) {
            sizes[d] = size.clone();
            return Fake::new(self.dtype, sizes);
        }
        let strides = self.layout.strides.iter().map(|&s| Expr::from(s)).collect();
        Fake { strides, ..Fake::new(self.dtype, sizes) }
    }
    /// Values: extreme ones, or those of the example's own range.
    fn draw(&self, soundness: Soundness, seed: u64, size: i64) -> Tensor {
        let mut layout = self.layout.clone();
        if let Some(d) = self.open {
            let mut sizes = layout.sizes.to_vec();
            sizes[d] = size;
            layout = Layout::contiguous(&sizes).expect("law: small sizes");
        }
        let span: i64 = layout.sizes.iter().zip(&layout.strides).map(|(n, s)| (n - 1).max(0) * s).sum();
        let stored = match soundness {
            Soundness::Bitwise => samples::extremes(self.dtype, span as usize + 1, seed),
            Soundness::Rounding => {
                let text = format!("{}[{}]{}", self.dtype.short(), span + 1 + seed as i64, self.range);
                let all = samples::parse(&text).expect("law: the example was read").tensors.remove(0);
                all.view(|_| {
                    Ok(Layout { sizes: [span + 1][..].into(), strides: [1][..].into(), offset: seed as usize })
                })
                .expect("law: the part lies in the whole")
            }
        };
        let base = stored.layout().offset;
        stored.with_layout(Layout { offset: base, ..layout }).expect("law: the span holds the layout")
    }
}

fn layout(sizes: &[i64], how: Layed) -> Layout {
    let n = sizes.len();
    let mut strides = vec![1i64; n];
    let order: Vec<usize> = if how == Layed::Reversed { (0..n).collect() } else { (0..n).rev().collect() };
    let mut next = if how == Layed::Gapped { 2 } else { 1 };
    for d in order {
        strides[d] = next;
        next *= sizes[d].max(1);
    }
    if how == Layed::Expanded {
        strides.fill(0);
    }
    Layout { sizes: sizes.into(), strides: strides[..].into(), offset: 0 }
}

fn instance(rule: &Rule, variation: &Variation) -> Result<Instance, String> {
    let mut b = oxport::ProgramBuilder::new(registry());
    let mut bound: HashMap<String, Argument> = HashMap::new();
    let mut tensors = Vec::new();
    let mut again = false;
    let variables = variables(rule)?;
    let is_float = |v: &Variable<'_>| matches!(v, Variable::Tensor { dtype, .. } if !dtype.is_bool());
    let mixed = variables.iter().any(|(_, v)| is_float(v));
    let size = (variation.sizes == Sizes::Symbolic).then(|| b.size("s0", 0, None));
    let first = variables
        .iter()
        .find_map(|(_, v)| if let Variable::Tensor { sizes, .. } = v { sizes.first().copied() } else { None });
    for (name, variable) in variables {
        let argument = match variable {
            Variable::Tensor { dtype, sizes, range } => {
                let varied = variation.rest.filter(|_| !tensors.is_empty()).or(variation.dtype);
                let dtype = if mixed && dtype.is_bool() { dtype } else { varied.unwrap_or(dtype) };
                let sizes: Vec<i64> = match variation.sizes {
                    Sizes::Given | Sizes::Symbolic => sizes,
                    Sizes::Put(from, to) => sizes.into_iter().map(|s| if s == from { to } else { s }).collect(),
                    Sizes::All(to) => vec![to; sizes.len()],
                    Sizes::Scalars => Vec::new(),
                };
                let open = if size.is_some() { sizes.iter().position(|s| Some(*s) == first) } else { None };
                let recorded = if variation.layout == Layed::Otherwise { Layed::Expanded } else { variation.layout };
                let called = if variation.layout == Layed::Otherwise { Layed::Contiguous } else { variation.layout };
                let input = Input { dtype, layout: layout(&sizes, recorded), range, open };
                let id = b.input(name, input.fake(size.as_ref())).map_err(|e| e.to_string())?;
                tensors.push(Input { layout: layout(&sizes, called), ..input });
                id.into()
            }
            Variable::Constant(text) => {
                let is_number = text.parse::<f64>().is_ok();
                let other = variation.constant.as_ref().and_then(|(which, other)| match which.as_str() {
                    "*" if is_number => Some(if std::mem::replace(&mut again, true) { "-1e30" } else { other }),
                    which => Some(*other).filter(|_| which == name),
                });
                let text = match (DType::from_name(text), variation.dtype, other) {
                    (.., Some(other)) => other,
                    (Some(_), Some(dtype), _) => dtype.name(),
                    _ => text,
                };
                let sample = samples::parse(text)?;
                sample.args.first().ok_or("an example without a value")?.argument(&|_| Argument::None)
            }
        };
        bound.insert(format!("?{name}"), argument);
    }
    let pattern: egg::Pattern<Term> = rule.left.parse().map_err(|e| format!("{e:?}"))?;
    let mut values: Vec<Argument> = Vec::new();
    for node in pattern.ast.as_ref() {
        let value = match node {
            egg::ENodeOrVar::Var(v) => bound.get(&v.to_string()).cloned().ok_or(format!("{v} has no example"))?,
            egg::ENodeOrVar::ENode(Term::Const(c)) => c.argument(),
            egg::ENodeOrVar::ENode(Term::List(kids)) => {
                Argument::List(kids.iter().map(|k| values[usize::from(*k)].clone()).collect())
            }
            egg::ENodeOrVar::ENode(Term::Op(name, kids)) => {
                let op = registry().op(name.as_str());
                let schema = op.schema().ok_or(format!("no operator {name}"))?;
                let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
                for (param, kid) in schema.args.iter().zip(kids.iter()) {
                    let value = values[usize::from(*kid)].clone();
                    if param.kw_only { drop(kwargs.insert((*param.name).into(), value)) } else { args.push(value) }
                }
                let call = b.calls().call_op(&op, args, kwargs);
                call.map_err(|e| format!("the left side: {e}"))?.into()
            }
            egg::ENodeOrVar::ENode(_) => return Err("a leaf in a pattern".to_string()),
        };
        values.push(value);
    }
    let root: NodeId = values.last().and_then(Argument::as_node).ok_or("the left side is no call")?;
    // What is returned lies in a storage of its own, which no rule touches: the root is returned as a copy.
    let copy = b.call("aten::clone", (root,)).map_err(|e| e.to_string())?;
    Ok(Instance { program: b.finish(&[copy]).map_err(|e| e.to_string())?, tensors })
}

/// What became of an instance.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The left side is no program, or the rule does not fire.
    Nothing,
    Agrees,
    Differs(String),
}

fn try_instance(rule: &Rule, instance: &Instance) -> Result<Outcome, String> {
    let plan = |program: &ExportedProgram| -> oxport::Result<Plan> {
        oxport::plan(&oxport::prepare(program, Opt::None)?, &PlanOptions { threads: 1, ..Default::default() })
    };
    let run = |plan: &Plan, inputs: &[Tensor]| -> oxport::Result<Value> {
        Ok(plan.run(inputs.iter().cloned().map(Value::Tensor).collect())?.user.remove(0))
    };
    // A call that is refused, or of a dtype without kernel, is no program.
    let (true, Ok(left)) = (oxport::verify(&instance.program).is_empty(), plan(&instance.program)) else {
        return Ok(Outcome::Nothing);
    };
    let applied = oxport_rewrite::apply(&instance.program, registry(), rule).map_err(|e| e.to_string())?;
    let Some(right) = applied else { return Ok(Outcome::Nothing) };
    if let Some(d) = oxport::verify(&right).first() {
        return Ok(Outcome::Differs(format!("the right side is not valid: {d}")));
    }
    let right = plan(&right).map_err(|e| format!("the right side: {e}"))?;
    let mut ran = false;
    let sizes: &[i64] = if instance.tensors.iter().any(|t| t.open.is_some()) { &[4, 2, 1, 0] } else { &[0] };
    for seed in 0..6 {
        for &size in sizes {
            let inputs: Vec<Tensor> =
                instance.tensors.iter().zip(0..).map(|(t, i)| t.draw(rule.soundness, seed + 6 * i, size)).collect();
            let Ok(a) = run(&left, &inputs) else { continue };
            ran = true;
            let b = match run(&right, &inputs) {
                Ok(b) => b,
                Err(e) => return Ok(Outcome::Differs(format!("seed {seed}: the right side fails: {e}"))),
            };
            // Up to rounding: in proportion to the largest result, or, where terms of about 1 cancel in a half, to
            // those.
            let half = |unit: f32| Tolerance::Elementwise { rtol: 0.0, atol: 4.0 * f64::from(unit) };
            let cancelling = match a.as_tensor().map(Tensor::dtype) {
                Some(DType::F16) => half(f32::EPSILON * 4096.0),
                Some(DType::BF16) => half(f32::EPSILON * 32768.0),
                _ => Tolerance::default(),
            };
            let c = match rule.soundness {
                Soundness::Bitwise => compare(&b, &a, Tolerance::Exact),
                Soundness::Rounding => match compare(&b, &a, Tolerance::default()) {
                    c if c.agree => c,
                    _ => compare(&b, &a, cancelling),
                },
            };
            if !c.agree {
                return Ok(Outcome::Differs(format!("seed {seed}, size {size}: {}", c.detail)));
            }
        }
    }
    Ok(if ran { Outcome::Agrees } else { Outcome::Nothing })
}

fn named(name: &str) -> &'static Rule {
    rules::all().find(|r| r.name == name).expect("law: the name came from the table")
}

#[test]
fn every_rule_is_sound() {
    let fired = std::cell::Cell::new(0usize);
    all(rules::all().map(|r| r.name), |name| {
        let rule = named(name);
        for (i, variation) in variations(rule)?.iter().enumerate() {
            let outcome = match instance(rule, variation) {
                Err(e) if i == 0 => return Err(e),
                Err(_) => Outcome::Nothing,
                Ok(instance) => try_instance(rule, &instance).map_err(|e| format!("{variation:?}: {e}"))?,
            };
            match outcome {
                Outcome::Differs(how) => return Err(format!("{variation:?}: {how}")),
                Outcome::Nothing if i == 0 => return Err("it does not fire on its example".to_string()),
                Outcome::Nothing => {}
                Outcome::Agrees => fired.set(fired.get() + 1),
            }
        }
        Ok(())
    });
    println!("{} instances", fired.get());
    assert!(fired.get() >= 2000, "the rules fired on {} instances only", fired.get());
}

/// Conditions that PyTorch's kernels need and ours do not.
const NEEDED_IN_PYTORCH: &[(&str, &str)] = &[
    // Its vectorised complex negation is 0 − x: −(−(−0)) is 0.
    ("neg-neg", "Real(\"x\")"),
    // Its complex differences and squares have NaN where ours are exact, and not in every lane.
    ("sub-0", "Real(\"x\")"),
    ("pow-2", "Real(\"x\")"),
    // It says of no other bias than a vector what `linear` does with it.
    ("linear-add", "Rank(\"b\", 1)"),
];

#[test]
fn every_condition_is_needed() {
    let conditions = rules::all().flat_map(|r| (0..r.when.len()).map(move |i| (r.name, i)));
    all(conditions, |&(name, i)| {
        let rule = named(name);
        let condition = format!("{:?}", rule.when[i]);
        if NEEDED_IN_PYTORCH.contains(&(name, condition.as_str())) {
            return Ok(());
        }
        let mut rest = rule.when.to_vec();
        rest.remove(i);
        let without = Rule { when: rest.leak(), ..*rule };
        let mut more = Vec::new();
        for variation in variations(rule)? {
            let Ok(instance) = instance(rule, &variation) else { continue };
            match try_instance(&without, &instance) {
                Ok(Outcome::Nothing) => {}
                Ok(Outcome::Agrees) if try_instance(rule, &instance) == Ok(Outcome::Nothing) => more.push(variation),
                Ok(Outcome::Agrees) => {}
                _ => return Ok(()),
            }
        }
        more.dedup_by_key(|v| (v.dtype, v.constant.clone()));
        Err(format!("{condition} is never needed; without it the rule holds on {more:?} too"))
    });
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = rules::all().map(|r| r.name).collect();
    let count = names.len();
    assert!(count >= 30, "there are at least thirty rules");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two rules share a name");
}

/// What stands for itself in patterns.
#[test]
fn constants_of_patterns() {
    for (text, constant) in [
        ("None", Argument::None),
        ("True", Argument::Bool(true)),
        ("False", Argument::Bool(false)),
        ("-3", Argument::Int(-3)),
        ("2.5", Argument::Float(2.5)),
    ] {
        let term = <Term as egg::FromOp>::from_op(text, Vec::new());
        assert!(matches!(&term, Ok(Term::Const(c)) if c.argument() == constant), "{text} is {term:?}");
    }
    assert!(<Term as egg::FromOp>::from_op("x", Vec::new()).is_err());
}
