//! [`Scorer`]: a model bound to the columns of a schema.
//!
//! Invariant: [`Scorer::score`] gives batches of [`Scorer::schema`], with as many rows as it is given.

use crate::columns::{check, column, plain, tensor};
use crate::error::{Error, Remedy, Result};
use crate::model::{Feed, Keep, Model, padded};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use oxport_ir::Value;
use std::sync::Arc;

/// A model bound to the columns of a schema. Any number of threads may use it.
#[derive(Clone, Debug)]
pub struct Scorer {
    model: Arc<Model>,
    /// The columns of each input.
    columns: Vec<Vec<usize>>,
    /// The columns that are written as they are.
    keep: Vec<usize>,
    table: SchemaRef,
    schema: SchemaRef,
}

impl Model {
    /// Finds the columns of the inputs in a schema.
    ///
    /// # Errors
    /// A column is missing, two have the same name, or its type is not that of the input.
    pub fn bind(self: &Arc<Model>, table: &Schema) -> Result<Scorer> {
        let fill = &self.options.fill;
        let mut columns = Vec::new();
        for input in &self.inputs {
            let Feed::Columns(target) = &input.feed else {
                columns.push(Vec::new());
                continue;
            };
            let given = self.options.bind.iter().rev().find(|(name, _)| input.names.contains(name));
            let found = match given {
                Some((_, names)) => names.iter().map(|name| index(table, name)).collect::<Result<Vec<_>>>()?,
                None => {
                    let named = input.names.iter().find_map(|name| table.index_of(name).ok());
                    vec![named.ok_or_else(|| {
                        missing(table, &format!("input `{}`: expected a column of this name", input.names[0]))
                    })?]
                }
            };
            let types: Vec<(&str, &DataType)> =
                found.iter().map(|&i| (table.field(i).name().as_str(), table.field(i).data_type())).collect();
            check(&types, target, fill).map_err(|e| e.at(format!("input `{}`", input.names[0])))?;
            columns.push(found);
        }
        let keep = match &self.options.keep {
            Keep::Nothing => Vec::new(),
            Keep::All => (0..table.fields().len()).collect(),
            Keep::These(names) => names.iter().map(|name| index(table, name)).collect::<Result<_>>()?,
        };
        let kept = keep.iter().map(|&i| written(&table.fields()[i]));
        let new = |(name, of): (&str, &DataType)| Arc::new(Field::new(name, of.clone(), self.options.is_nullable));
        let fields: Vec<FieldRef> = kept.chain(self.outputs().map(new)).collect();
        if let Some(twice) = (1..fields.len()).find(|&i| fields[..i].iter().any(|f| f.name() == fields[i].name())) {
            let name = fields[twice].name();
            return Err(Error::Request(format!("two columns would be called `{name}`"), Some(Remedy::Outputs)));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Scorer { model: self.clone(), columns, keep, table: Arc::new(table.clone()), schema })
    }
}

/// The field of a column that is written as it is: values instead of keys.
fn written(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Dictionary(_, values) => {
            Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()).with_nullable(true))
        }
        _ => field.clone(),
    }
}

fn index(table: &Schema, name: &str) -> Result<usize> {
    table.index_of(name).map_err(|_| missing(table, &format!("expected a column `{name}`")))
}

fn missing(table: &Schema, expected: &str) -> Error {
    let has: Vec<String> = table.fields().iter().take(20).map(|field| format!("`{}`", field.name())).collect();
    let more = if table.fields().len() > has.len() { ", …" } else { "" };
    Error::Request(format!("{expected}, got the columns {}{more}", has.join(", ")), Some(Remedy::Bind))
}

impl Scorer {
    /// The schema of the results: the columns that are kept, then those of the outputs.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }
    /// The columns of the table that are read.
    pub fn needed(&self) -> Vec<String> {
        let mut all: Vec<usize> = self.columns.iter().flatten().chain(&self.keep).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|i| self.table.field(i).name().clone()).collect()
    }

    /// Scores a batch of the schema that was bound. A program of a fixed batch size is called as often as needed, the
    /// last time with its last row repeated.
    ///
    /// # Errors
    /// A cell that no tensor can hold, with its row; or the program fails.
    pub fn score(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let most = self.model.batch.max;
        let mut done: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.model.outputs.len()];
        let mut from = 0;
        while from < rows {
            let piece = if rows <= most { batch.clone() } else { batch.slice(from, most.min(rows - from)) };
            let results = self.call(&piece).map_err(|e| e.below(from as u64))?;
            done.iter_mut().zip(results).for_each(|(all, one)| all.push(one));
            from += piece.num_rows();
        }
        let mut arrays = self.kept(batch)?;
        for (parts, output) in done.into_iter().zip(&self.model.outputs) {
            arrays.push(match &parts[..] {
                [] => new_null_array(&output.of, 0),
                [one] => one.clone(),
                _ => {
                    let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
                    arrow_select::concat::concat(&parts).map_err(|e| Error::Data(e.to_string()))?
                }
            });
        }
        self.finish(arrays, rows)
    }

    /// The result for a batch that could not be scored: outputs are null.
    ///
    /// # Errors
    /// The columns of outputs may not have nulls.
    pub fn nulls(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut arrays = self.kept(batch)?;
        arrays.extend(self.model.outputs.iter().map(|output| new_null_array(&output.of, batch.num_rows())));
        self.finish(arrays, batch.num_rows())
    }

    fn kept(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.keep.iter().map(|&i| plain(batch.column(self.at(batch, i)?))).collect()
    }

    /// The index in a batch of a column of the table: batches need only have the columns that are read.
    fn at(&self, batch: &RecordBatch, column: usize) -> Result<usize> {
        let name = self.table.field(column).name();
        match batch.schema_ref().fields().get(column).filter(|field| field.name() == name) {
            Some(_) => Ok(column),
            None => index(batch.schema_ref(), name),
        }
    }

    fn finish(&self, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(|e| Error::Data(e.to_string()))
    }

    /// One call of the program.
    fn call(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let rows = batch.num_rows();
        let wanted = rows.max(self.model.batch.min);
        let mut values = Vec::new();
        for (input, columns) in self.model.inputs.iter().zip(&self.columns) {
            values.push(match &input.feed {
                Feed::Constant(value) => value.clone(),
                Feed::Columns(target) => {
                    let at = columns.iter().map(|&i| self.at(batch, i)).collect::<Result<Vec<_>>>()?;
                    let named = at.iter().zip(columns);
                    let arrays: Vec<(&str, &ArrayRef)> =
                        named.map(|(&at, &i)| (self.table.field(i).name().as_str(), batch.column(at))).collect();
                    Value::Tensor(padded(tensor(&arrays, target, &self.model.options.fill)?, wanted)?)
                }
            });
        }
        let results = self.model.plan.run(values)?;
        let one = |output: &crate::model::Output| match results.user.get(output.index) {
            Some(Value::Tensor(t)) if t.sizes().first() == Some(&(wanted as i64)) => {
                column(t, rows, &output.of).map_err(|e| e.at(format!("output `{}`", output.column)))
            }
            other => {
                let got = match other {
                    Some(Value::Tensor(t)) => format!("sizes {:?}", t.sizes()),
                    Some(value) => format!("a value of kind {}", value.kind()),
                    None => "nothing".to_string(),
                };
                Err(Error::Data(format!("output `{}`: expected {wanted} rows, got {got}", output.column)))
            }
        };
        self.model.outputs.iter().map(one).collect()
    }
}
