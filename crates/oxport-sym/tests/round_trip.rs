//! Text as PyTorch wrote it → expression → the same text; `torch_exprs.py` made the table.

use oxport_sym::{Expr, ShapeEnv};

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("torch_exprs.tsv").lines().filter_map(|l| l.split_once('\t'))
}

#[test]
fn srepr_and_str_are_torch_s() {
    let mut wrong = Vec::new();
    for (srepr, infix) in rows() {
        match Expr::parse(srepr) {
            Err(e) => wrong.push(format!("{srepr}\n  {e}")),
            Ok(e) => {
                if e.srepr() != srepr {
                    wrong.push(format!("srepr {srepr}\n   got {}", e.srepr()));
                }
                if e.to_string() != infix {
                    wrong.push(format!("  str {infix}\n  got {e}"));
                }
            }
        }
    }
    assert!(rows().count() >= 400);
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn infix_reads_back_to_an_equal_size() {
    let env = ShapeEnv::new();
    let mut wrong = Vec::new();
    // Floats are printed with fewer digits than they have, and `it's` is not a name.
    for (srepr, infix) in
        rows().filter(|(s, i)| !s.contains("Float") && !i.contains("it's") && !i.contains('k') && *i != "e")
    {
        let (Ok(a), b) = (Expr::parse(srepr), Expr::parse(infix)) else { continue };
        match b {
            Ok(b) if a == b || env.equal(&a, &b) => {}
            other => wrong.push(format!("{infix}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
