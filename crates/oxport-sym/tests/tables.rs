//! PyTorch's answers, replayed: the tables that `fixtures/sym/make_tables.py` made.
//!
//! A row must agree. Where it does not, PyTorch must be shown to be wrong by a value: such rows stand with the reason
//! in `fixtures/sym/exceptions.tsv`, which `UPDATE_EXPECT=1` rewrites. `OXPORT_SYM_TABLES` names another folder of
//! tables, whose exceptions are not listed but must have reasons all the same.

mod replay;

use oxport_sym::{Expr, Number, Range, ShapeEnv, Symbol};
use replay::{Verdict, number, parse, point, ranges, replay, samples};

#[test]
fn values() {
    replay("values", |row| {
        let [call, expected] = row[..] else { return Verdict::Wrong("two columns".into()) };
        let e = match Expr::parse(call) {
            Ok(e) => e,
            Err(e) => return Verdict::Wrong(e.to_string()),
        };
        let got = match e.eval(&|_| None) {
            _ if e.is_const() || e.srepr() == expected => e.srepr(),
            Ok(value) => format!("unfolded {value}"),
            Err(_) => "error".into(),
        };
        Verdict::same(&got, expected).or(|| replay::value_excuse(call, expected, &got))
    });
}

#[test]
fn forms() {
    replay("forms", |row| {
        let [written, srepr, infix, at, value, verdict] = row[..] else { return Verdict::Wrong("six columns".into()) };
        let e = match Expr::parse_with(written, &replay::symbol) {
            Ok(e) => e,
            Err(e) => return Verdict::Wrong(e.to_string()),
        };
        if !value.is_empty() {
            let got = e.eval(&point(at));
            if got != Ok(number(value)) && verdict == "ok" {
                return Verdict::Wrong(format!("at {at} it is {value}, but {e} is {got:?}"));
            }
        }
        // What torch wrote reads back and prints the same, whether it is what was meant or not.
        let torch = parse(srepr);
        let texts = Verdict::same(&torch.srepr(), srepr).and(|| Verdict::same(&torch.to_string(), infix));
        let wrong = || match verdict {
            "ok" | "-" => replay::differ(&e, &torch),
            _ => Some(format!("at {at} the value is {value}, {verdict}")),
        };
        texts.and(|| Verdict::same(&e.srepr(), srepr)).or(wrong)
    });
}

#[test]
fn ranges_are_sound_and_no_wider() {
    replay("ranges", |row| {
        let [of, srepr, low, high] = row[..] else { return Verdict::Wrong("four columns".into()) };
        let (of, e) = (ranges(of), parse(srepr));
        let torch = Range { min: number(low), max: number(high) };
        let mut env = ShapeEnv::new();
        of.iter().for_each(|(s, r)| env.set_range(s, r.clone()));
        let ours = env.range_of(&e);
        // Kinds get mixed up in torch: the power of a float infinity is `int_oo`.
        let torch = if ours.is_int() { torch } else { replay::widened(torch) };
        let (mut outside, mut evaluated) = (None, false);
        for at in samples(&of, srepr) {
            let Ok(value) = e.eval(&|s| at.iter().find(|(t, _)| t == s).map(|(_, n)| n.clone())) else { continue };
            if value.is_nan() || replay::saturates(&e, &at) {
                continue;
            }
            evaluated = true;
            if !ours.contains(&value) {
                return Verdict::Wrong(format!("{value} at {at:?} is not in {ours}"));
            }
            if !torch.contains(&value) {
                outside = Some(format!("the value is {value} where {}", replay::show(&at)));
            }
        }
        let saturated = || (!evaluated && srepr.contains("PowByNatural")).then(|| replay::SATURATED.to_owned());
        match torch.covers(&ours) {
            true => Verdict::Right,
            false => Verdict::Wrong(format!("{e} in {ours}, torch has {torch}")).or(|| outside.or_else(saturated)),
        }
    });
}

#[test]
fn equalities() {
    let env = ShapeEnv::new();
    replay("equalities", |row| {
        let [a, b] = row[..] else { return Verdict::Wrong("two columns".into()) };
        let b = Expr::parse_with(b, &replay::symbol).unwrap_or_else(|e| panic!("{b}: {e}"));
        let a = parse(a);
        match env.equal(&a, &b) && env.equal(&b, &a) {
            true => Verdict::Right,
            false => Verdict::Wrong(format!("{} and {}", env.simplify(&a), env.simplify(&b))),
        }
    });
}

#[test]
fn knowledge() {
    replay("knowledge", |row| {
        let [of, facts, question, torch] = row[..] else { return Verdict::Wrong("four columns".into()) };
        let of = ranges(of);
        let facts: Vec<Expr> = facts.split(" & ").filter(|f| !f.is_empty()).map(parse).collect();
        let question = parse(question);
        let mut env = ShapeEnv::new();
        of.iter().for_each(|(s, r)| env.set_range(s, r.clone()));
        facts.iter().for_each(|f| env.add_fact(f));
        let known = env.known(&question);
        for at in samples(&of, &question.to_string()) {
            let of = |s: &Symbol| at.iter().find(|(t, _)| t == s).map(|(_, n)| n.clone());
            if facts.iter().any(|f| f.eval(&of) != Ok(Number::Bool(true))) {
                continue;
            }
            let Ok(Number::Bool(truth)) = question.eval(&of) else { continue };
            if known == Some(!truth) {
                return Verdict::Wrong(format!("not {} at {}", !truth, replay::show(&at)));
            }
            if torch == if truth { "False" } else { "True" } {
                return Verdict::Wrong(String::new()).or(|| Some(format!("it is {truth} where {}", replay::show(&at))));
            }
        }
        match (torch, known) {
            ("True", Some(true)) | ("False", Some(false)) | ("unknown", _) => Verdict::Right,
            _ => Verdict::Wrong(format!("{question} is {torch}, but {known:?}")),
        }
    });
}

#[test]
fn solve() {
    replay("solve", |row| {
        let [relation, thing, through, expected] = row[..] else { return Verdict::Wrong("four columns".into()) };
        let relation = parse(relation);
        let thing = Expr::parse(thing).unwrap_or_default();
        let got = relation.solve_for(&thing, through == "yes");
        Verdict::same(&got.map_or("none".into(), |e| e.srepr()), expected)
    });
}
