//! The diagnostics of a program that is not valid: a text whose second call has a wrong shape.

use oxport::{Severity, ir};

const TEXT: &str = r#"
def forward(self, x: "f32[2, 3]"):
    relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
    sum_1: "f32[5]" = torch.ops.aten.sum.dim_IntList(relu, [1])
    return (sum_1,)
"#;

pub fn main() -> oxport::Result<()> {
    let program = ir::parse::parse(TEXT, oxport::registry()).expect("the text can be parsed");
    let found = oxport::verify(&program);
    for diagnostic in &found {
        println!("{diagnostic}");
    }
    assert!(found.iter().any(|d| d.severity == Severity::Error && d.code == "meta"));
    // What transforms a program refuses one that is not valid.
    let error = oxport::prepare(&program, oxport::Opt::None).expect_err("it is not valid");
    assert_eq!(error.diagnostics().len(), found.len());
    Ok(())
}
