//! Which sizes are the same size.

use oxport_sym::{Expr, Range, ShapeEnv, Symbol};

fn env() -> ShapeEnv {
    let mut env = ShapeEnv::new();
    for (name, low, high) in
        [("s0", 2, None), ("s1", 2, Some(64)), ("s2", 1, Some(8)), ("u0", 0, None), ("u1", -5, Some(7))]
    {
        env.set_range(&Symbol::by_convention(name), Range::from_bounds(Some(low), high));
    }
    env
}

fn parse(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn equal_sizes() {
    let table = "
        s0 + 1                      | 1 + s0
        2*(s0 + 1)                  | 2*s0 + 2
        s0*(s1 + 1)                 | s0*s1 + s0
        (s0 + 1)*(s1 - 2)           | s0*s1 - 2*s0 + s1 - 2
        (s0 + 1)**2                 | s0*s0 + 2*s0 + 1
        (s0 + s1)*(s0 - s1)         | s0**2 - s1**2
        (2*s0)//2                   | s0
        (s0*4)//4                   | s0
        (4*s0*s1)//(2*s1)           | 2*s0
        (2*s0 + 1)//2               | s0
        (2*s0 + 3)//2               | s0 + 1
        (s0*s1 + s1)//s1            | s0 + 1
        (s0*s1 - 1)//s1             | s0 - 1
        (3*s0 + 2)//s0              | 3 + 2//s0
        (s0*s1 + s0 + s1 + 1)//(s1 + 1) | s0 + 1
        (s0//2)//2                  | s0//4
        ((s0//2)//3)//4             | s0//24
        ((s0//2) + 1)//2            | (s0 + 2)//4
        (s0 - 1)//2 + 1             | (s0 + 1)//2
        ((s0 - 1)//2 + 1 - 1)//2 + 1 | (s0 + 3)//4
        ((s0 + 2 - 2 - 1)//2 + 1)   | (s0 - 1)//2 + 1
        CeilDiv(s0, 2)              | (s0 + 1)//2
        -((-s0)//2)                 | (s0 + 1)//2
        (1 - s0)//2                 | -(s0//2)
        (2*s0 + 1)//4               | s0//2
        (6*s0 + 3)//9               | (2*s0 + 1)//3
        Mod(4*s0, 4)                | 0
        Mod(4*s0 + 1, 4)            | 1
        PythonMod(s0 + 4, 4)        | PythonMod(s0, 4)
        Mod(s0, 4)                  | s0 - 4*(s0//4)
        Mod(s0*s1, s1)              | 0
        PythonMod(-1, 4)            | 3
        ModularIndexing(s0, 2, 4)   | PythonMod(s0//2, 4)
        Max(1, s0)                  | s0
        Max(2, s0)                  | s0
        Max(0, s0 - 1)              | s0 - 1
        Max(s0, s0 + 1)             | s0 + 1
        Max(0, u0)                  | u0
        Min(64, s1)                 | s1
        Min(s1, 100)                | s1
        Max(3, s0) + 2              | Max(5, s0 + 2)
        Max(s0, s1) - s0            | Max(0, s1 - s0)
        Max(s0*s1, s0)              | s0*s1
        Abs(s0 - 1)                 | s0 - 1
        s2//9                       | 0
        s2//9 + Mod(s2, 9)          | s2
        (s2 + 9*s0)//9              | s0
        Identity(s0) + 1            | s0 + 1
        Where(s0 > 1, s1, s2)       | s1
        CleanDiv(s0*s1, s2)         | (s0*s1)//s2
        (s0*s1*64)//(s1*8)          | 8*s0
        TruncToInt(ToFloat(s1))     | s1
        s0*(s0 + 1) - s0*s0         | s0
        (8*s0*s1)//8 - s0*s1        | 0
        LShift(s0, 3)               | 8*s0
        RShift(s0, 3)               | s0//8
        (s0 - s0//2)                | (s0 + 1)//2
        s0//2 + (s0 + 1)//2         | s0
        ((s0 - 3)//2 + 1)           | (s0 - 1)//2
        ((s0*2 - 1)//2)             | s0 - 1
    ";
    check(&env(), table, true);
}

#[test]
fn different_sizes() {
    let table = "
        s0 | s1
        s0 | s0 + 1
        s0//2 | (s0 + 1)//2
        2*(s0//2) | s0
        (s0//2)//2 | s0//2
        Max(3, s0) | s0
        Min(63, s1) | s1
        Mod(s0, 4) | Mod(s0, 2)
        s0*s1 | s0 + s1
        s0**2 | 2*s0
        Max(0, u1) | u1
        (s0*s1)//2 | s0*(s1//2)
        s2//8 | 0
        3 | 4
        u0 | u1
    ";
    check(&env(), table, false);
}

#[test]
fn conditions() {
    let env = env();
    let table = "
        s0 >= 2 | true
        s0 > 2 | unknown
        s0 < 2 | false
        Eq(s0, 1) | false
        Ne(s0, 0) | true
        Eq(s0, s0) | true
        Eq(s0, s0 + 1) | false
        Eq(2*s0, 6) | unknown
        Eq(2*s0, 7) | false
        Eq(4*u1 + 2*s0, 1) | false
        s0*s1 >= s0 | true
        s0*s1 > s0 | true
        s0*s1 >= s0 + s1 | true
        s0*s1 - s0 >= 1 | true
        s0 - s0//2 >= 1 | true
        s0//2 <= s0 | true
        s0//2 < s0 | true
        2*(s0//2) <= s0 | true
        4*(s0//4) > s0 | false
        s1 <= 64 and s0 >= 1 | true
        s1 <= 63 or s0 >= 1 | true
        not (s1 > 64) | true
        s1 <= 63 | unknown
        u1 >= -5 | true
        Max(s0, s1) >= s1 | true
        Min(s0, s1) <= s1 | true
        Eq(Mod(4*s0, 2), 0) | true
        Eq(Mod(s0, 2), 0) | unknown
        Mod(s0, 4) < 4 | true
        PythonMod(u1, 4) >= 0 | true
        s0 < s1 | unknown
        s2 - 9 < 0 | true
        ToFloat(s0) >= 1.0 | true
        u0 + 1 > 0 | true
    ";
    for (condition, expected) in rows(table) {
        let known = match env.known(&parse(condition)) {
            Some(b) => b.to_string(),
            None => "unknown".into(),
        };
        assert_eq!(known, expected, "{condition}");
    }
}

#[test]
fn learned_facts_count() {
    let table = "
        u0 == 4*u1            | u0//4 | u1
        Eq(s0, s1)            | s0*2 | s0 + s1
        Eq(s0 + 1, s1)        | s1 - 1 | s0
        Eq(Mod(s0, 2), 0)     | 2*(s0//2) | s0
        Eq(Mod(s0, 2), 0)     | 2*s1*(s0//2) | s0*s1
        Eq(Mod(s0*s1, 8), 0)  | 8*((s0*s1)//8) | s0*s1
        Eq(2*s0, 3*s1)        | 4*s0 | 6*s1
        Eq(s0*s1, 24)         | s0*s1*2 | 48
        u0 >= 3               | Max(u0, 3) | u0
        u0 >= s0              | Max(u0, s0) | u0
        u0 < s1               | u0//64 | 0
        And(Eq(s0, 5), Eq(s1, s0)) | s1 | 5
        Ne(s0, 2)             | Max(s0, 3) | s0
    ";
    for row in rows3(table) {
        let (fact, a, b) = row;
        let (a, b) = (parse(a), parse(b));
        let mut env = env();
        assert!(!env.equal(&a, &b), "{a} = {b} without {fact}");
        env.add_fact(&parse(fact));
        // Only comparisons of sizes see facts that are not ranges or equalities.
        let proved = env.equal(&a, &b) || env.statically_true(&a.eq_(&b));
        assert!(proved, "{fact}: {} = {}", env.simplify(&a), env.simplify(&b));
    }
}

#[test]
fn simplify_stays_readable() {
    let table = "
        s0*(s1 + 1) | s0*(s1 + 1)
        (s0 + 1)*(s1 + 1) - s0*s1 | s0 + s1 + 1
        Mod(s0, 4) | Mod(s0, 4)
        Mod(4*s1 + s0, 4) | Mod(s0, 4)
        Max(1, s0*s1) | s0*s1
        2*(s0 + 1) - s0 | s0 + 2
        Eq(s0, 1) | False
        s0 >= 3 | s0 >= 3
        (s0 - 1)//2 + 1 | ((s0 + 1)//2)
        s2//9 | 0
    ";
    for (from, to) in rows(table) {
        assert_eq!(env().simplify(&parse(from)).to_string(), to, "{from}");
    }
}

fn check(env: &ShapeEnv, table: &str, expected: bool) {
    let wrong: Vec<String> = rows(table)
        .filter(|(a, b)| env.equal(&parse(a), &parse(b)) != expected || env.equal(&parse(b), &parse(a)) != expected)
        .map(|(a, b)| format!("{a} | {b}: {} | {}", env.simplify(&parse(a)), env.simplify(&parse(b))))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().filter_map(|l| l.split_once('|')).map(|(a, b)| (a.trim(), b.trim()))
}

fn rows3(table: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    rows(table).filter_map(|(a, rest)| rest.split_once('|').map(|(b, c)| (a, b.trim(), c.trim())))
}
