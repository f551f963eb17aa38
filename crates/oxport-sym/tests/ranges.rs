//! Ranges are at least as tight as torch's; `torch_ranges.py` made the table from the same symbols.

use oxport_sym::{Expr, Number, Range, ShapeEnv, Symbol};

fn number(text: &str) -> Number {
    Expr::parse(text).ok().and_then(|e| e.as_number()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn no_looser_than_torch() {
    let mut env = ShapeEnv::new();
    let known = [
        ("s0", 2, None),
        ("s1", 2, Some(10)),
        ("s2", 1, Some(8)),
        ("u0", 0, None),
        ("u1", -5, Some(7)),
        ("s77", 2, Some(100)),
    ];
    for (name, low, high) in known {
        env.set_range(&Symbol::by_convention(name), Range::from_bounds(Some(low), high));
    }
    let mut wrong = Vec::new();
    for line in include_str!("torch_ranges.tsv").lines() {
        let [srepr, low, high] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (e, torch) = (Expr::parse(srepr).unwrap(), Range { min: number(low), max: number(high) });
        let ours = env.range_of(&e);
        if !torch.covers(&ours) {
            wrong.push(format!("{e}: {ours}, torch {torch}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
