//! Text as PyTorch wrote it → expression → the same text. `torch_exprs.py` and `exported_exprs.py` made the tables: the
//! first by calling torch's functions, the second from exported programs.

use oxport_sym::{Expr, ShapeEnv};

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let tables = [include_str!("torch_exprs.tsv"), include_str!("exported_exprs.tsv")];
    tables.into_iter().flat_map(str::lines).filter_map(|l| l.split_once('\t'))
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
    assert!(rows().count() >= 500);
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
        let Ok(a) = Expr::parse(srepr) else { continue };
        let symbols = a.free_symbols();
        let b = Expr::parse_with(infix, &|name| symbols.iter().find(|s| s.name() == name).map(Expr::symbol));
        match b {
            Ok(b) if a == b || env.equal(&a, &b) => {}
            other => wrong.push(format!("{infix}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
