//! `oxport_score('model.pt2', column…)`: a program exported by `torch.export` as a scalar function of SQL.
//!
//! The first argument is the path of the program, a constant. The columns are those of its inputs, in order; if the
//! program has one input, they lie next to one another in dimension 1. A program is read once per process, whatever the
//! number of threads and queries.

use datafusion::arrow::array::{ArrayRef, RecordBatch, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use oxport::{Opt, PlanOptions};
use oxport_score::{Model, Options};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The function, to be registered where queries are planned and where they run.
pub fn oxport_score() -> ScalarUDF {
    ScalarUDF::from(Score { signature: Signature::variadic_any(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Score {
    signature: Signature,
}

/// Programs by path, and by the number of columns that are bound to them.
type Models = HashMap<(String, usize), Arc<Model>>;

static MODELS: LazyLock<Mutex<Models>> = LazyLock::new(Mutex::default);

fn external(e: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(e))
}

/// The program of a path for that many columns. The lock is held while it is read, so that it is read once.
fn model(path: &str, columns: usize) -> Result<Arc<Model>> {
    let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(model) = models.get(&(path.to_string(), columns)) {
        return Ok(model.clone());
    }
    let program = oxport::read(path).map_err(external)?;
    let prepared = oxport::prepare(&program, Opt::Exact).map_err(external)?;
    let plan = || oxport::plan(&prepared, &PlanOptions::default()).map_err(external);
    let names: Vec<String> = (0..columns).map(column).collect();
    let plain = Model::new(&program, plan()?, Options::default()).map_err(external)?;
    let inputs: Vec<String> = plain.columns().map(|(name, _)| name.to_string()).collect();
    let bind = match (&inputs[..], columns) {
        ([only], _) => vec![(only.clone(), names)],
        (inputs, n) if inputs.len() == n => {
            inputs.iter().cloned().zip(names.into_iter().map(|name| vec![name])).collect()
        }
        (inputs, n) => return plan_err!("{path}: expected {} columns, got {n}", inputs.len()),
    };
    let options = Options { bind, squeeze: true, ..Options::default() };
    let model = Arc::new(Model::new(&program, plan()?, options).map_err(external)?);
    models.insert((path.to_string(), columns), model.clone());
    Ok(model)
}

fn column(i: usize) -> String {
    format!("c{i}")
}

/// The type of the results: of one output its own, of several a struct.
fn result_type(model: &Model) -> DataType {
    let fields: Vec<Field> = model.outputs().map(|(name, of)| Field::new(name, of.clone(), true)).collect();
    match &fields[..] {
        [only] => only.data_type().clone(),
        _ => DataType::Struct(Fields::from(fields)),
    }
}

impl ScalarUDFImpl for Score {
    fn name(&self) -> &str {
        "oxport_score"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("oxport_score: the type of the result depends on the program")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(Some(ScalarValue::Utf8(Some(path)) | ScalarValue::Utf8View(Some(path)))) =
            args.scalar_arguments.first()
        else {
            return plan_err!("oxport_score: expected the path of a program as first argument");
        };
        let model = model(path, args.arg_fields.len() - 1)?;
        // A column that cannot be bound is an error before the query runs.
        model.bind(&table(&args.arg_fields[1..])).map_err(external)?;
        Ok(Arc::new(Field::new(self.name(), result_type(&model), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(path)) | ScalarValue::Utf8View(Some(path)))) =
            args.args.first()
        else {
            return exec_err!("oxport_score: expected the path of a program as first argument");
        };
        let rows = args.number_rows;
        let columns: Vec<ArrayRef> = args.args[1..].iter().map(|value| value.to_array(rows)).collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(Arc::new(table(&args.arg_fields[1..])), columns)?;
        let scorer = model(path, batch.num_columns())?.bind(&batch.schema()).map_err(external)?;
        let scored = scorer.score(&batch).map_err(external)?;
        let array: ArrayRef = match scored.columns() {
            [only] => only.clone(),
            _ => Arc::new(StructArray::from(scored)),
        };
        Ok(ColumnarValue::Array(array))
    }
}

/// The columns by their positions; nulls are errors of rows, not of types.
fn table(fields: &[FieldRef]) -> Schema {
    let one = |(i, field): (usize, &FieldRef)| Field::new(column(i), field.data_type().clone(), true);
    Schema::new(fields.iter().enumerate().map(one).collect::<Vec<_>>())
}
