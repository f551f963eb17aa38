//! Tables through small programs: columns of every kind, what stands in for missing cells, batch sizes, files, errors,
//! and jobs that stop and go on.

#[path = "tables/columns.rs"]
mod columns;
#[path = "tables/jobs.rs"]
mod jobs;

use arrow_array::{ArrayRef, RecordBatch};
use oxport_ir::{ExportedProgram, Fake, ProgramBuilder};
use oxport_run::{Plan, PlanOptions};
use oxport_score::{Model, Options, Scorer};
use oxport_sym::Expr;
use oxport_tensor::DType;
use std::sync::Arc;

/// `x + x`, or `x` itself for bools, of a dtype and of sizes behind the batch, where -1 stands for any.
fn twice(dtype: DType, batch: Option<(i64, Option<i64>)>, sizes: &[i64]) -> ExportedProgram {
    let mut b = ProgramBuilder::new(oxport_ops::registry());
    let rows = match batch {
        Some((n, Some(max))) if n == max => Expr::from(n),
        Some((min, max)) => b.size("rows", min, max),
        None => b.size("rows", 1, None),
    };
    let mut dims = vec![rows];
    for (i, &size) in sizes.iter().enumerate() {
        dims.push(if size < 0 { b.size(&format!("d{i}"), 0, None) } else { size.into() });
    }
    let x = b.input("x", Fake::new(dtype, dims)).expect("it is the first input");
    let (op, y) = if dtype == DType::Bool { ("aten::logical_and", x) } else { ("aten::add.Tensor", x) };
    let z = b.call(op, (x, y)).expect("the operator takes any tensor");
    b.finish(&[z]).expect("the program is complete")
}

fn model(program: &ExportedProgram, options: Options) -> Result<Arc<Model>, String> {
    let plan = Plan::new(program, oxport_ops::registry(), &PlanOptions { threads: 2, ..PlanOptions::default() });
    Model::new(program, plan.expect("every operator has a kernel"), options).map(Arc::new).map_err(|e| e.to_string())
}

fn bound(program: &ExportedProgram, options: Options, batch: &RecordBatch) -> Result<Scorer, String> {
    model(program, options)?.bind(batch.schema_ref()).map_err(|e| e.to_string())
}

/// The output for one column `x`, as text, or the error.
fn scored(program: &ExportedProgram, options: Options, x: ArrayRef) -> String {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", x, true)]).expect("one column is a table");
    let scorer = match bound(program, options, &batch) {
        Ok(scorer) => scorer,
        Err(e) => return e,
    };
    match scorer.score(&batch) {
        Ok(done) => {
            assert_eq!(done.schema_ref(), scorer.schema());
            shown(done.column(done.num_columns() - 1))
        }
        Err(e) => e.to_string(),
    }
}

/// An array as text: `Float32 [2.0, 4.0]`.
fn shown(array: &ArrayRef) -> String {
    format!("{} {}", array.data_type(), elements(array))
}

fn elements(array: &ArrayRef) -> String {
    let text = format!("{array:?}");
    let lines = text.lines().map(str::trim).filter(|line| {
        let is_type = line.ends_with('>') || line.starts_with("PrimitiveArray") || line.starts_with("StringArray");
        !is_type && !line.ends_with("Array")
    });
    lines.collect::<Vec<_>>().join(" ").replace(", ]", "]").replace(",]", "]").replace("[ ", "[")
}
