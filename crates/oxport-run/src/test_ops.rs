//! A few operators for the tests of this crate, so that they do not depend on `oxport-ops`: slow, `f32` and `i64` only.

use crate::plan::{Plan, PlanOptions};
use oxport_ir::args::Meta;
use oxport_ir::{
    Arg, Args, Callable, Effect, Error, ExportedProgram, Fake, OpDef, Real, Registry, Result, Val, Value, parse,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Tensor, TensorMut, copy, map, zip};
use std::sync::Arc;

/// `add`, `relu` and `mul.Scalar` are pointwise, as in PyTorch; `sinh` is known but not implemented.
pub(crate) const TAGS: &str = "aten::add.Tensor\tpointwise\naten::relu\tpointwise\naten::mul.Scalar\tpointwise
aten::sinh(Tensor self) -> Tensor\tpointwise
aten::cosh(Tensor self) -> Tensor\tpointwise";

pub(crate) fn registry() -> Registry {
    Registry::new(&[OPS], TAGS)
}

/// Parses a program.
pub(crate) fn program(text: &str) -> ExportedProgram {
    parse::parse(text, &registry()).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

/// Parses and plans a program.
pub(crate) fn plan(text: &str) -> Plan {
    let options = PlanOptions { threads: 2, fuse_from: 1, ..PlanOptions::default() };
    Plan::new(&program(text), &registry(), &options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub(crate) fn f32s(sizes: &[i64], elements: impl IntoIterator<Item = f32>) -> Value {
    Value::Tensor(Tensor::from_vec(sizes, elements.into_iter().collect()).unwrap())
}

/// Elementwise steps, one of them unused.
pub(crate) const CHAIN: &str = r#"
def forward(self, x: "f32[s0, 2]"):
    relu = torch.ops.aten.relu.default(x)
    add = torch.ops.aten.add.Tensor(relu, x)
    view = torch.ops.aten.view.default(add, [2, -1])
    relu_1 = torch.ops.aten.relu.default(add)
    add_1 = torch.ops.aten.add.Tensor(relu_1, add)
    return (add_1,)
"#;

/// Runs three times (recording, replaying, replaying again); the results must agree.
pub(crate) fn run_three_times(plan: &Plan, inputs: &[Value]) -> Vec<String> {
    let once = || plan.run(inputs.to_vec()).unwrap().user.iter().map(show).collect::<Vec<_>>();
    let first = once();
    assert_eq!(first, once(), "replayed");
    assert_eq!(first, once(), "replayed again");
    first
}

/// `f32[2]: 1.0 2.0`, `7`, `[…]`: values as text.
pub(crate) fn show(v: &Value) -> String {
    match v {
        Value::Tensor(t) => {
            let elements: Vec<String> = t.to_vec::<f64>().unwrap().iter().map(f64::to_string).collect();
            format!("{}{:?}: {}", t.dtype().short(), t.sizes(), elements.join(" "))
        }
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => b.to_string(),
        Value::List(l) => format!("[{}]", l.iter().map(show).collect::<Vec<_>>().join(", ")),
        other => other.kind().into(),
    }
}

/// A program of random calls on vectors of 4, of 2, and square matrices, that returns some of its values.
pub(crate) fn random_program(draw: &mut dyn FnMut(usize) -> usize) -> String {
    let mut values: [Vec<String>; 3] = [vec!["x".into()], vec![], vec!["y".into()]];
    let mut text = "def forward(self, x: \"f32[4]\", y: \"f32[2, 2]\"):\n".to_string();
    let mut n = 0;
    for _ in 0..20 {
        let kind = draw(3);
        if values[kind].is_empty() {
            continue;
        }
        let a = values[kind][draw(values[kind].len())].clone();
        let b = values[kind][draw(values[kind].len())].clone();
        let (call, to) = match (draw(5), kind) {
            (0 | 1, _) => (format!("add.Tensor({a}, {b})"), kind),
            (2, _) => (format!("relu.default({a})"), kind),
            (_, 0) if draw(2) == 0 => (format!("view.default({a}, [2, 2])"), 2),
            (_, 0) => (format!("split.Tensor({a}, 2)"), 1),
            (_, 1) => (format!("cat.default([{a}, {b}])"), 0),
            (3, _) => (format!("t.default({a})"), 2),
            (_, _) => (format!("view.default({a}, [4])"), 0),
        };
        n += 1;
        text += &format!("    v{n} = torch.ops.aten.{call}\n");
        let mut name = format!("v{n}");
        if call.starts_with("split") {
            text += &format!("    e{n} = v{n}[{}]\n", draw(2));
            name = format!("e{n}");
        }
        values[to].push(name);
    }
    let all = values.concat();
    let outputs: Vec<String> = (0..1 + draw(3)).map(|_| all[draw(all.len())].clone()).collect();
    text + &format!("    return ({},)\n", outputs.join(", "))
}

pub(crate) static OPS: &[OpDef] = &[
    OpDef::new("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", like_first)
        .fill(|a, outs| {
            let (x, y): (&Tensor, &Tensor) = a.unpack()?;
            if x.dtype() != y.dtype() {
                return Err(Error::unsupported("add of two dtypes"));
            }
            Ok(zip(x, y, &mut outs[0], |x: f64, y: f64| x + y)?)
        })
        .one_loop(),
    OpDef::new("aten::relu(Tensor self) -> Tensor", like_first)
        .fill(|a, outs| Ok(map(a.at(0)?, &mut outs[0], |x: f64| x.max(0.0))?))
        .one_loop(),
    OpDef::new("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", like_first)
        .fill(|a, outs| {
            let factor: f64 = a.at(1)?;
            Ok(map(a.at(0)?, &mut outs[0], |x: f64| x * factor)?)
        })
        .one_loop(),
    OpDef::new("aten::full(SymInt[] size, Scalar fill_value) -> Tensor", |a| {
        let sizes: Vec<Expr> = a.at(0)?;
        Ok(vec![Fake::new(DType::F32, sizes).into()])
    })
    .fill(|a, outs| {
        let value: f64 = a.at(1)?;
        copy(&Tensor::scalar(value).view(|l| l.expand(outs[0].sizes()))?, &mut outs[0])?;
        Ok(())
    }),
    OpDef::new("aten::max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)", |a| {
        let x: &Fake = a.at(0)?;
        let sizes = || x.sizes[..x.dim() - 1].iter().cloned();
        Ok(vec![Fake::new(x.dtype, sizes()).into(), Fake::new(DType::I64, sizes()).into()])
    })
    .fill(|a, outs| {
        let x: &Tensor = a.at(0)?;
        let n = x.sizes()[x.rank() - 1] as usize;
        let best = |row: &[f32]| (0..n).fold(0, |b, i| if row[i] > row[b] { i } else { b });
        let rows: Vec<(f32, i64)> = x.to_vec::<f32>()?.chunks(n).map(|r| (r[best(r)], best(r) as i64)).collect();
        let sizes = outs[0].sizes().to_vec();
        copy(&Tensor::from_vec(&sizes, rows.iter().map(|r| r.0).collect())?, &mut outs[0])?;
        copy(&Tensor::from_vec(&sizes, rows.iter().map(|r| r.1).collect())?, &mut outs[1])?;
        Ok(())
    }),
    OpDef::new("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", |a| {
        let (x, sizes): (&Fake, Vec<Expr>) = a.unpack()?;
        Ok(vec![Fake::new(x.dtype, sizes).into()])
    })
    .view(|a| {
        let (x, sizes): (&Tensor, Vec<i64>) = a.unpack()?;
        x.layout().reshape(&sizes).map(|l| Ok(vec![x.with_layout(l)?])).transpose()
    }),
    OpDef::new("aten::t(Tensor(a) self) -> Tensor(a)", |a| {
        let x: &Fake = a.at(0)?;
        let mut out = x.clone();
        out.sizes.reverse();
        out.strides.reverse();
        Ok(vec![out.into()])
    })
    .view(|a| Ok(Some(vec![a.at::<&Tensor>(0)?.view(|l| l.transpose(0, 1))?]))),
    OpDef::new("aten::split.Tensor(Tensor(a) self, SymInt split_size) -> Tensor(a)[]", |a| {
        let (x, n): (&Fake, i64) = a.unpack()?;
        let whole = x.sizes[0].as_int().unwrap_or(n);
        let part = |_| Val::Tensor(Fake { sizes: [Expr::from(n)].into_iter().collect(), ..x.clone() });
        Ok(vec![Val::List((0..whole / n).map(part).collect())])
    })
    .view(|a| {
        let (x, n): (&Tensor, i64) = a.unpack()?;
        let part = |i| Ok(x.view(|l| l.narrow(0, i * n, n))?);
        (0..x.sizes()[0] / n).map(part).collect::<Result<_>>().map(Some)
    }),
    OpDef::new("aten::cat(Tensor[] tensors) -> Tensor", |a| {
        let parts: Vec<&Fake> = a.at(0)?;
        let total = parts.iter().fold(Expr::from(0i64), |n, t| n + &t.sizes[0]);
        let rest = parts[0].sizes[1..].iter().cloned();
        Ok(vec![Fake::new(parts[0].dtype, [total].into_iter().chain(rest)).into()])
    })
    .fill(|a, outs| {
        let parts: Vec<&Tensor> = a.at(0)?;
        for (part, place) in parts.into_iter().zip(places(a, outs[0].layout())?) {
            if !part.is_absent() {
                outs[0].part(place, |out| copy(part, out))?;
            }
        }
        Ok(())
    })
    .parts(places),
    OpDef::new("my::pick(Tensor[] tensors, Tensor at) -> Tensor", |a| {
        let (parts, at): (Vec<&Fake>, &Fake) = a.unpack()?;
        let is_one = at.sizes[0].as_int().is_none_or(|n| n == 1);
        if is_one { Ok(vec![parts[0].clone().into()]) } else { Err(Error::invalid("expected one number in `at`")) }
    })
    .eval(|a| {
        let (parts, at): (Vec<&Tensor>, &Tensor) = a.unpack()?;
        Ok(vec![parts[at.to_vec::<f32>()?[0] as usize].clone().into()])
    }),
    OpDef::new("aten::nonzero(Tensor self) -> Tensor", |a| Ok(vec![Fake::new(DType::I64, [a.cx.fresh_size()]).into()]))
        .eval(|a| {
            let x: &Tensor = a.at(0)?;
            let found =
                x.to_vec::<f32>()?.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i as i64).collect();
            let found: Vec<i64> = found;
            Ok(vec![Tensor::from_vec(&[found.len() as i64], found)?.into()])
        }),
    OpDef::new("aten::_local_scalar_dense(Tensor self) -> Scalar", |a| {
        let x: &Fake = a.at(0)?;
        let fresh = a.cx.fresh_size();
        Ok(vec![if x.dtype == DType::I64 { Val::Int(fresh) } else { Val::Float(fresh) }])
    })
    .eval(|a| Ok(vec![a.at::<&Tensor>(0)?.item()?.into()])),
    OpDef::new("aten::sym_size.int(Tensor self, int dim) -> SymInt", |a| {
        let (x, dim): (&Fake, i64) = a.unpack()?;
        Ok(vec![Val::Int(x.sizes[dim as usize].clone())])
    })
    .eval(|a| {
        let (x, dim): (&Tensor, i64) = a.unpack()?;
        Ok(vec![Value::Int(x.sizes()[dim as usize])])
    }),
    OpDef::new("_operator::mul", |a| {
        let (x, y): (Expr, Expr) = a.unpack()?;
        Ok(vec![Val::Int(x * y)])
    })
    .eval(|a| {
        let (x, y): (i64, i64) = a.unpack()?;
        Ok(vec![Value::Int(x * y)])
    }),
    OpDef::new("_operator::ge", |a| {
        let (x, y): (Expr, Expr) = a.unpack()?;
        Ok(vec![Val::Bool(x.ge(&y))])
    })
    .eval(|a| {
        let (x, y): (i64, i64) = a.unpack()?;
        Ok(vec![Value::Bool(x >= y)])
    }),
    OpDef {
        effect: Effect::Assert,
        ..OpDef::new("aten::_assert_scalar(Scalar self, str assert_msg) -> ()", |_| Ok(vec![])).eval(|a| {
            let (holds, message): (bool, &str) = a.unpack()?;
            if holds { Ok(vec![]) } else { Err(Error::assertion(message)) }
        })
    },
    OpDef::new("higher_order::cond", |a| match &a.values[1] {
        Arg::Graph(g) => Ok(g.outputs.clone()),
        _ => Ok(vec![]),
    })
    .eval(|a| {
        let yes = match a.values[0] {
            Arg::Bool(b) => b,
            _ => a.at::<&Tensor>(0)?.item()? != oxport_tensor::Scalar::Bool(false),
        };
        let branch: &Arc<dyn Callable> = a.at(if yes { 1 } else { 2 })?;
        let operands: Vec<&Tensor> = a.at(3)?;
        branch.call(a.cx, operands.into_iter().cloned().map(Value::Tensor).collect())
    }),
];

fn places(a: &Args<'_, Real>, whole: &Layout) -> Result<Vec<Layout>> {
    let (parts, mut start): (Vec<&Tensor>, i64) = (a.at(0)?, 0);
    let mut place = |part: &Tensor| {
        start += part.sizes()[0];
        Ok(whole.narrow(0, start - part.sizes()[0], part.sizes()[0])?)
    };
    parts.into_iter().map(&mut place).collect()
}

pub(crate) fn like_first(a: &Args<'_, Meta>) -> Result<Vec<Val>> {
    let x: &Fake = a.at(0)?;
    Ok(vec![Fake::new(x.dtype, x.sizes.iter().cloned()).into()])
}

pub(crate) fn fill(x: &Tensor, out: &mut TensorMut, f: impl Fn(usize, f64) -> f64) -> Result<()> {
    let elements = x.to_vec::<f64>()?.into_iter().enumerate().map(|(i, x)| f(i, x)).collect();
    copy(&Tensor::from_vec(x.sizes(), elements)?, out)?;
    Ok(())
}
