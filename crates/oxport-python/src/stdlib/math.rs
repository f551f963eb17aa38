//! `math`.

use crate::error::R;
use crate::interp::Interp;
use crate::syntax::tree::BinOp;
use crate::value::{Args, Module, Name, Value};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive};
use oxport_tensor::math::special;
use std::rc::Rc;

/// Functions of one float, which must be in the domain.
const UNARY: &[(&str, fn(f64) -> f64)] = &[
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("exp", f64::exp),
    ("exp2", f64::exp2),
    ("expm1", f64::exp_m1),
    ("log10", f64::log10),
    ("log1p", f64::ln_1p),
    ("fabs", f64::abs),
    ("degrees", f64::to_degrees),
    ("radians", f64::to_radians),
    ("cbrt", f64::cbrt),
    ("asinh", f64::asinh),
    ("acosh", f64::acosh),
    ("atanh", f64::atanh),
    ("erf", special::erf),
    ("erfc", special::erfc),
    ("lgamma", special::lgamma),
];

pub(super) fn install(_: &mut Interp, module: &Rc<Module>) {
    module.set("pi", Value::Float(std::f64::consts::PI));
    module.set("e", Value::Float(std::f64::consts::E));
    module.set("tau", Value::Float(std::f64::consts::TAU));
    module.set("inf", Value::Float(f64::INFINITY));
    module.set("nan", Value::Float(f64::NAN));
    for &(name, f) in UNARY {
        module.set(
            name,
            Value::native(name, move |i, a| {
                let x = i.real(&a.at(i, name, 0)?)?;
                checked(i, f(x), x.is_finite())
            }),
        );
    }
    let binary: [(&str, fn(f64, f64) -> f64); 5] = [
        ("atan2", f64::atan2),
        ("fmod", |a, b| a % b),
        ("copysign", f64::copysign),
        ("remainder", |a, b| a - b * (a / b).round_ties_even()),
        ("dist", |a, b| (a - b).abs()),
    ];
    for (name, f) in binary {
        module.set(
            name,
            Value::native(name, move |i, a| {
                let (x, y) = (i.real(&a.at(i, name, 0)?)?, i.real(&a.at(i, name, 1)?)?);
                checked(i, f(x, y), x.is_finite() && y.is_finite())
            }),
        );
    }
    module.set(
        "sqrt",
        Value::native("sqrt", |i, a| {
            let value = a.at(i, "sqrt", 0)?;
            if let Some(value) = symbolic(i, &value, "__sym_sqrt__")? {
                return Ok(value);
            }
            let x = i.real(&value)?;
            checked(i, x.sqrt(), x.is_finite())
        }),
    );
    module.set(
        "pow",
        Value::native("pow", |i, a| {
            let (x, y) = (i.real(&a.at(i, "pow", 0)?)?, i.real(&a.at(i, "pow", 1)?)?);
            checked(i, x.powf(y), x.is_finite() && y.is_finite())
        }),
    );
    module.set(
        "log",
        Value::native("log", |i, a| {
            let x = log_argument(i, &a.at(i, "log", 0)?)?;
            match a.pos.get(1) {
                Some(base) => {
                    let base = log_argument(i, base)?;
                    Ok(Value::Float(x.ln() / base.ln()))
                }
                None => Ok(Value::Float(x.ln())),
            }
        }),
    );
    module.set("log2", Value::native("log2", |i, a| Ok(Value::Float(log_argument(i, &a.at(i, "log2", 0)?)?.log2()))));
    rounding(module);
    integers(module);
}

fn checked(interp: &Interp, value: f64, is_finite: bool) -> R<Value> {
    if value.is_nan() && is_finite {
        return interp.value_error("math domain error");
    }
    if value.is_infinite() && is_finite {
        return interp.raise("OverflowError", "math range error");
    }
    Ok(Value::Float(value))
}

fn log_argument(interp: &mut Interp, value: &Value) -> R<f64> {
    let x = interp.real(value)?;
    if x <= 0.0 { interp.value_error("math domain error") } else { Ok(x) }
}

/// What the host keeps symbolic.
fn symbolic(interp: &mut Interp, value: &Value, method: &str) -> R<Option<Value>> {
    match value {
        Value::Host(host) => match host.clone().get_attr(interp, value, method)? {
            Some(method) => interp.call(&method, Args::default()).map(Some),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn rounding(module: &Module) {
    let functions: [(&str, fn(f64) -> f64); 3] = [("floor", f64::floor), ("ceil", f64::ceil), ("trunc", f64::trunc)];
    for (name, f) in functions {
        module.set(
            name,
            Value::native(name, move |i, a| {
                let value = a.at(i, name, 0)?;
                if let Some(value) = symbolic(i, &value, &format!("__sym_{name}__"))? {
                    return Ok(value);
                }
                if let Value::Instance(_) = &value
                    && let Some(method) = i.find_attr(&value, &Name::from(format!("__{name}__")))?
                {
                    return i.call(&method, Args::default());
                }
                match value.plain() {
                    n @ (Value::Int(_) | Value::Big(_)) => Ok(n),
                    other => {
                        let x = i.real(&other)?;
                        match BigInt::from_f64(f(x)) {
                            Some(n) => Ok(Value::from_big(n)),
                            None if x.is_nan() => i.value_error("cannot convert float NaN to integer"),
                            None => i.raise("OverflowError", "cannot convert float infinity to integer"),
                        }
                    }
                }
            }),
        );
    }
    let tests: [(&str, fn(f64) -> bool); 3] =
        [("isnan", f64::is_nan), ("isinf", f64::is_infinite), ("isfinite", f64::is_finite)];
    for (name, f) in tests {
        module.set(name, Value::native(name, move |i, a| Ok(Value::Bool(f(i.real(&a.at(i, name, 0)?)?)))));
    }
    module.set(
        "isclose",
        Value::native("isclose", |i, mut a| {
            let mut part = |i: &mut Interp, name: &str, default: f64| match a.take(name) {
                Some(value) => i.real(&value),
                None => Ok(default),
            };
            let (relative, absolute) = (part(i, "rel_tol", 1e-9)?, part(i, "abs_tol", 0.0)?);
            let (x, y) = (i.real(&a.at(i, "isclose", 0)?)?, i.real(&a.at(i, "isclose", 1)?)?);
            let close = (x - y).abs() <= (relative * x.abs().max(y.abs())).max(absolute);
            Ok(Value::Bool(x == y || (close && x.is_finite() && y.is_finite())))
        }),
    );
    module.set(
        "modf",
        Value::native("modf", |i, a| {
            let x = i.real(&a.at(i, "modf", 0)?)?;
            Ok(Value::tuple([Value::Float(x.fract()), Value::Float(x.trunc())]))
        }),
    );
    module.set(
        "hypot",
        Value::native("hypot", |i, a| {
            let mut sum = 0.0f64;
            for x in &a.pos {
                sum = sum.hypot(i.real(x)?);
            }
            Ok(Value::Float(sum))
        }),
    );
    module.set(
        "fsum",
        Value::native("fsum", |i, a| {
            let mut sum = 0.0;
            for x in i.collect(&a.at(i, "fsum", 0)?)? {
                sum += i.real(&x)?;
            }
            Ok(Value::Float(sum))
        }),
    );
}

fn big(interp: &mut Interp, value: &Value) -> R<BigInt> {
    match crate::ops::big_of(&value.plain()) {
        Some(n) => Ok(n),
        None => interp.index(value).map(BigInt::from),
    }
}

fn integers(module: &Module) {
    let fold: [(&str, fn(&BigInt, &BigInt) -> BigInt); 2] = [("gcd", |a, b| a.gcd(b)), ("lcm", |a, b| a.lcm(b).abs())];
    for (at, (name, f)) in fold.into_iter().enumerate() {
        module.set(
            name,
            Value::native(name, move |i, a| {
                let mut result = BigInt::from(at);
                for value in &a.pos {
                    result = f(&result, &big(i, value)?);
                }
                Ok(Value::from_big(result))
            }),
        );
    }
    module.set(
        "prod",
        Value::native("prod", |i, mut a| {
            let mut product = a.take("start").unwrap_or(Value::Int(1));
            for value in i.collect(&a.at(i, "prod", 0)?)? {
                product = i.binary(&product, BinOp::Mul, &value)?;
            }
            Ok(product)
        }),
    );
    module.set(
        "factorial",
        Value::native("factorial", |i, a| {
            let n = i.index(&a.at(i, "factorial", 0)?)?;
            if n < 0 {
                return i.value_error("factorial() not defined for negative values");
            }
            let mut product = Value::Int(1);
            for k in 2..=n {
                i.tick()?;
                product = i.binary(&product, BinOp::Mul, &Value::Int(k))?;
            }
            Ok(product)
        }),
    );
    module.set(
        "isqrt",
        Value::native("isqrt", |i, a| {
            let n = big(i, &a.at(i, "isqrt", 0)?)?;
            if n.is_negative() {
                return i.value_error("isqrt() argument must be nonnegative");
            }
            Ok(Value::from_big(n.sqrt()))
        }),
    );
    module.set(
        "comb",
        Value::native("comb", |i, a| {
            let (n, k) = (big(i, &a.at(i, "comb", 0)?)?, big(i, &a.at(i, "comb", 1)?)?);
            let k = k.to_i64().unwrap_or(i64::MAX);
            let mut result = BigInt::from(1);
            for at in 0..k {
                i.tick()?;
                result = result * (&n - at) / (at + 1);
            }
            Ok(Value::from_big(result))
        }),
    );
}
