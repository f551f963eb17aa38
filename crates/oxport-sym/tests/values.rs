//! Calls on constants have torch's value; `torch_values.py` made the table.

use oxport_sym::Expr;

#[test]
fn calls_on_constants() {
    let mut wrong = Vec::new();
    for line in include_str!("torch_values.tsv").lines() {
        let Some((call, expected)) = line.split_once('\t') else { panic!("{line}") };
        let e = Expr::parse(call).unwrap_or_else(|e| panic!("{call}: {e}"));
        let got = match e.eval(&|_| None) {
            Ok(_) if e.is_const() => e.srepr(),
            Ok(value) => format!("unfolded {value}"),
            Err(_) => "error".into(),
        };
        if got != expected {
            wrong.push(format!("{call} = {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
