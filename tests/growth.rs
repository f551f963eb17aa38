//! Verifying takes time in proportion to the program, whatever it has much of.
//!
//! Programs of n and 4n of a thing are verified; four times the work may take ten times the processor time of this
//! thread, where what is quadratic takes sixteen.

use crate::all;
use std::fmt::Write as _;

/// A dimension in which a program can grow: its name, a size that takes some milliseconds, the program of a size.
type Dimension = (&'static str, usize, fn(usize) -> String);

/// A program of these parameters and statements.
fn program(parameters: &[String], body: &str, returned: &str) -> String {
    format!("def forward(self, {}):\n{body}    return ({returned},)\n", parameters.join(", "))
}

fn one(body: &str, returned: &str) -> String {
    program(&["x: \"f32[4]\"".into()], body, returned)
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

/// Data-dependent numbers `u0`, `u1`, …, and a statement for each of them but the last two.
fn numbers(n: usize, fact: fn(usize) -> String) -> String {
    let mut body = lines(n, |i| {
        format!(
            "    e{i}: \"i64[]\" = torch.ops.aten.select.int(x, 0, {i})\n    n{i}: \"Sym(u{i})\" = \
            torch.ops.aten.item.default(e{i})\n"
        )
    });
    for i in 0..n - 2 {
        let _ = writeln!(body, "    b{i}: \"Sym({})\" = n{i} == n{i}", fact(i));
        let _ = writeln!(body, "    a{i} = torch.ops.aten._assert_scalar.default(b{i}, 'm')");
    }
    program(&[format!("x: \"i64[{n}]\"")], &body, "x")
}

const DIMENSIONS: &[Dimension] = &[
    ("nodes", 500, |n| {
        let relu = |i| format!("    r{}: \"f32[4]\" = torch.ops.aten.relu.default({})\n", i + 1, name("r", i));
        one(&lines(n, relu), &name("r", n))
    }),
    ("inputs and outputs", 500, |n| {
        let inputs: Vec<String> = (0..n).map(|i| format!("x{i}: \"f32[4]\"")).collect();
        program(&inputs, "", &(0..n).map(|i| format!("x{i}")).collect::<Vec<_>>().join(", "))
    }),
    ("symbols", 100, |n| {
        let inputs: Vec<String> = (0..n).map(|i| format!("x{i}: \"f32[s{i}]\"")).collect();
        let rev = |i| format!("    r{i}: \"f32[s{i}]\" = torch.ops.prims.rev.default(x{i}, [0])\n");
        program(&inputs, &lines(n, rev), "x0")
    }),
    ("results of one call", 1000, |n| {
        let split = "    s = torch.ops.aten.split.Tensor(x, 1)\n".to_string();
        let items = lines(n, |i| format!("    g{i}: \"f32[1]\" = s[{i}]\n"));
        program(&[format!("x: \"f32[{n}]\"")], &(split + &items), "g0")
    }),
    ("wrong results of one call", 500, |n| {
        let split = "    s = torch.ops.aten.split.Tensor(x, 1)\n".to_string();
        let items = lines(n, |i| format!("    g{i}: \"f32[2]\" = s[{i}]\n"));
        program(&[format!("x: \"f32[{n}]\"")], &(split + &items), "g0")
    }),
    ("values in one list", 1000, |n| {
        let list: Vec<&str> = vec!["x"; n];
        one(&format!("    c: \"f32[{}]\" = torch.ops.aten.cat.default([{}])\n", 4 * n, list.join(", ")), "c")
    }),
    ("sizes that one list adds up", 200, |n| {
        let inputs: Vec<String> = (0..n).map(|i| format!("x{i}: \"f32[s{i}]\"")).collect();
        let each = |stem: &str| (0..n).map(|i| format!("{stem}{i}")).collect::<Vec<_>>();
        let (list, sum) = (each("x").join(", "), each("s").join(" + "));
        program(&inputs, &format!("    c: \"f32[{sum}]\" = torch.ops.aten.cat.default([{list}])\n"), "c")
    }),
    ("users of one value", 500, |n| {
        one(&lines(n, |i| format!("    r{i}: \"f32[4]\" = torch.ops.aten.relu.default(x)\n")), "r0")
    }),
    ("calls without names of their own", 500, |n| {
        one(&lines(n, |i| format!("    add_{}: \"f32[4]\" = torch.ops.aten.add.Tensor(x, x)\n", i + 1)), "add_1")
    }),
    ("wrong metas", 300, |n| {
        one(&lines(n, |i| format!("    r{i}: \"f32[5]\" = torch.ops.aten.relu.default(x)\n")), "r0")
    }),
    ("wrong symbols", 100, |n| {
        let inputs: Vec<String> = (0..n).map(|i| format!("x{i}: \"f32[s{i}]\"")).collect();
        let relu = |i| format!("    r{i}: \"f32[s{i} + 1]\" = torch.ops.aten.relu.default(x{i})\n");
        program(&inputs, &lines(n, relu), "x0")
    }),
    ("long names", 50, |n| {
        let long = "n".repeat(20 * n);
        one(
            &lines(50, |i| format!("    {long}{i}: \"f32[4]\" = torch.ops.aten.relu.default(x)\n")),
            &format!("{long}0"),
        )
    }),
    ("terms of an expression", 50, |n| {
        let sum: Vec<String> = (0..n).map(|i| format!("s{i}")).collect();
        let mut inputs: Vec<String> = (0..n).map(|i| format!("x{i}: \"f32[s{i}]\"")).collect();
        inputs.push(format!("y: \"f32[{}]\"", sum.join(" + ")));
        let relu = format!("    r: \"f32[{}]\" = torch.ops.aten.relu.default(y)\n", sum.join(" + "));
        program(&inputs, &relu, "r")
    }),
    ("equal numbers", 400, |n| numbers(n, |i| format!("Eq(u{i}, u{})", i + 1))),
    ("numbers in an inequality", 50, |n| numbers(n, |i| format!("u{i} <= u{}", i + 1))),
    ("equations that grow by one another", 20, |n| {
        numbers(n, |i| format!("Eq(u{i}, u{0} + u{1} + u{0}*u{1})", i + 1, i + 2))
    }),
    ("equations that nothing solves", 40, |n| numbers(n, |i| format!("Eq(u{i}*u{i}, u{0}*u{1})", i + 1, i + 2))),
];

fn name(stem: &str, i: usize) -> String {
    if i == 0 { "x".into() } else { format!("{stem}{i}") }
}

/// The nanoseconds that this thread has run, where the system counts them.
fn processor_time() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Nanoseconds after which a measurement ends: many ticks of a clock that ticks every 4 ms.
const ENOUGH: u64 = 100_000_000;

#[test]
fn verifying_is_linear_in_everything() {
    if processor_time().is_none() {
        return;
    }
    all(DIMENSIONS, |(name, size, text)| {
        let took = |n: usize| -> Result<f64, String> {
            let program = oxport_ir::parse::parse(&text(n), oxport::registry()).map_err(|e| format!("{e:?}"))?;
            // Until the clock, which may tick coarsely, has seen enough of it.
            let (begin, mut runs) = (processor_time().unwrap_or_default(), 0.0);
            loop {
                oxport::verify(&program);
                runs += 1.0;
                let passed = processor_time().unwrap_or_default() - begin;
                if passed > ENOUGH {
                    return Ok(passed as f64 / runs);
                }
            }
        };
        let (small, large) = (took(*size)?, took(4 * size)?);
        let ratio = large / small;
        if std::env::var("OXPORT_GROWTH").is_ok() {
            eprintln!(
                "{name}: {size} in {:.2} ms, {} in {:.2} ms, {ratio:.1} times",
                small / 1e6,
                4 * size,
                large / 1e6
            );
        }
        if ratio > 10.0 { Err(format!("four times as much takes {ratio:.1} times as long")) } else { Ok(()) }
    });
}
