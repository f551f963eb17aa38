//! [`Model`]: a plan whose inputs take columns or constants, and whose outputs give columns.
//!
//! Invariants: every user input is a constant or takes columns; all that take columns have the batch in dimension 0,
//! and so have the outputs that are chosen.

use crate::columns::{Target, type_of};
use crate::error::{Error, Remedy, Result};
use crate::fill::Fill;
use crate::rows::Dim;
use arrow_schema::DataType;
use oxport_ir::infer::val_of_argument;
use oxport_ir::{Argument, ExportedProgram, Fake, InputKind, OutputKind, Val, Value};
use oxport_pytree::{Key, PathEntry};
use oxport_run::Plan;
use oxport_sym::Expr;
use oxport_tensor::Tensor;

/// How a program meets tables.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What each input is called beside its placeholder's name, in order; the first name is that of messages.
    pub names: Vec<Vec<String>>,
    /// The columns of an input; by default the one of its name. Several columns lie next to one another in dimension 1.
    pub bind: Vec<(String, Vec<String>)>,
    /// The values of inputs that take no column.
    pub constants: Vec<(String, Value)>,
    /// The outputs that are written, each with the name of its column; by default all.
    pub outputs: Vec<(Option<String>, String)>,
    /// The columns of the table that are written beside them.
    pub keep: Keep,
    /// What stands in for missing cells, and which conversions are allowed.
    pub fill: Fill,
    /// Whether an output of sizes `[batch, 1]` is a column of numbers, not of lists.
    pub squeeze: bool,
    /// Whether the columns of outputs may have nulls.
    pub is_nullable: bool,
}

/// Which columns of the table are written beside the outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// None.
    #[default]
    Nothing,
    /// All, in their order.
    All,
    /// These, in this order.
    These(Vec<String>),
}

/// A plan whose inputs take columns or constants, and whose outputs give columns.
#[derive(Debug)]
pub struct Model {
    pub(crate) plan: Plan,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) batch: BatchSize,
    pub(crate) options: Options,
}

/// A user input.
#[derive(Debug)]
pub(crate) struct Input {
    /// How it is called, the preferred name first.
    pub names: Vec<String>,
    pub feed: Feed,
}

#[derive(Debug)]
pub(crate) enum Feed {
    Columns(Target),
    Constant(Value),
}

/// A user output that gives a column.
#[derive(Debug)]
pub(crate) struct Output {
    /// Its index among the user outputs.
    pub index: usize,
    pub column: String,
    pub of: DataType,
}

/// The rows that a call takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSize {
    pub min: usize,
    pub max: usize,
}

impl Model {
    /// A plan of this program. The program says what inputs and outputs are like; the plan may be that of an optimized
    /// one.
    ///
    /// # Errors
    /// A name is no input or output, an input has neither columns nor a value, or there is no batch dimension.
    pub fn new(program: &ExportedProgram, plan: Plan, options: Options) -> Result<Model> {
        let mut inputs = inputs(program, &options.names);
        let constant = |name: &str| -> Result<usize> { find_input(&inputs, name) };
        let given: Vec<(usize, Value)> = options
            .constants
            .iter()
            .map(|(name, value)| Ok((constant(name)?, value.clone())))
            .collect::<Result<_>>()?;
        for (name, _) in &options.bind {
            constant(name)?;
        }
        for (i, value) in given {
            inputs[i].2 = Some(value);
        }
        let (batch, size) = batch(program, &inputs)?;
        let mut ready = Vec::new();
        for (names, val, value) in inputs {
            let feed = match (value, val) {
                (Some(value), _) => Feed::Constant(value),
                (None, Some(Val::Tensor(fake))) => {
                    options.fill.check(fake.dtype)?;
                    Feed::Columns(Target { dtype: fake.dtype, dims: dims(&fake.sizes[1..]) })
                }
                _ => return Err(no_value(&names[0])),
            };
            ready.push(Input { names, feed });
        }
        let outputs = chosen(outputs(program), &options, &size)?;
        Ok(Model { plan, inputs: ready, outputs, batch, options })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The names of the inputs that take columns, each with the number of columns that lie next to one another in it,
    /// if the program fixes one.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        self.inputs.iter().filter_map(|input| match &input.feed {
            Feed::Columns(target) => Some((
                input.names[0].as_str(),
                match target.dims[..] {
                    [Dim::Fixed(n)] => Some(n),
                    _ => None,
                },
            )),
            Feed::Constant(_) => None,
        })
    }

    /// The names and types of the columns of outputs.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.outputs.iter().map(|output| (output.column.as_str(), &output.of))
    }
}

/// Names, what is known of the value, and the value where it is fixed.
type Found = (Vec<String>, Option<Val>, Option<Value>);

fn inputs(program: &ExportedProgram, given: &[Vec<String>]) -> Vec<Found> {
    let all = program.graph.placeholders().zip(&program.signature.inputs);
    let users = all.filter(|(_, spec)| spec.kind.is_user()).enumerate();
    let one = |(i, ((_, node), spec)): (usize, ((_, &oxport_ir::Node), &oxport_ir::InputSpec))| {
        let value = match &spec.kind {
            InputKind::ConstantInput(c) => constant(c),
            _ => node.default_value().and_then(constant),
        };
        let mut names = given.get(i).cloned().unwrap_or_default();
        if !names.iter().any(|name| **name == *node.name) {
            names.push(node.name.to_string());
        }
        (names, node.val().cloned(), value)
    };
    users.map(one).collect()
}

fn constant(c: &Argument) -> Option<Value> {
    Some(match c {
        Argument::None => Value::None,
        Argument::Int(n) => Value::Int(*n),
        Argument::Float(x) => Value::Float(*x),
        Argument::Bool(b) => Value::Bool(*b),
        Argument::Str(s) => Value::Str(s.to_string().into()),
        _ => return None,
    })
}

fn find_input(inputs: &[Found], name: &str) -> Result<usize> {
    let at = inputs.iter().position(|(names, ..)| names.iter().any(|n| n == name));
    at.ok_or_else(|| {
        let all: Vec<String> = inputs.iter().map(|(names, ..)| format!("`{}`", names[0])).collect();
        Error::request(format!("there is no input `{name}`; the inputs are {}", all.join(", ")))
    })
}

fn no_value(name: &str) -> Error {
    Error::Request(
        format!("input `{name}`: expected a value, because it has no batch dimension"),
        Some(Remedy::Constant),
    )
}

/// The rows that a call takes, and the size that stands for them.
fn batch(program: &ExportedProgram, inputs: &[Found]) -> Result<(BatchSize, Expr)> {
    let mut first: Option<(&str, &Expr)> = None;
    for (names, val, value) in inputs {
        let (None, Some(Val::Tensor(fake))) = (value, val) else { continue };
        let size = fake.sizes.first().ok_or_else(|| no_value(&names[0]))?;
        match first {
            Some((other, batch)) if batch != size => {
                let name = &names[0];
                return Err(Error::Request(
                    format!("input `{name}`: expected the batch size {batch} of `{other}` in dimension 0, got {size}"),
                    Some(Remedy::Constant),
                ));
            }
            _ => first = Some((&names[0], size)),
        }
    }
    let Some((name, size)) = first else {
        return Err(Error::request("expected an input that takes a column, got none"));
    };
    let bound = |n: Option<i64>| n.and_then(|n| usize::try_from(n).ok());
    let range = match (size.as_int(), size.as_symbol()) {
        (Some(n), _) => BatchSize { min: n.max(0) as usize, max: n.max(0) as usize },
        (_, Some(_)) => {
            let range = program.ranges.get(size).cloned().unwrap_or_default();
            // As PyTorch does, which does not check smaller bounds.
            let min = bound(range.min).filter(|&min| min > 2).unwrap_or(1);
            BatchSize { min, max: bound(range.max).unwrap_or(usize::MAX) }
        }
        _ => return Err(Error::request(format!("input `{name}`: expected a batch dimension, got the size {size}"))),
    };
    match range.max {
        0 => Err(Error::request(format!("input `{name}`: expected a batch dimension, got the size 0"))),
        _ => Ok((range, size.clone())),
    }
}

fn dims(sizes: &[Expr]) -> Vec<Dim> {
    let one = |size: &Expr| size.as_int().and_then(|n| usize::try_from(n).ok()).map_or(Dim::Any, Dim::Fixed);
    sizes.iter().map(one).collect()
}

/// The names of a user output, the preferred first, and what is known of it.
type Port = (Vec<String>, Option<Val>);

fn outputs(program: &ExportedProgram) -> Vec<Port> {
    let is_user = |kind: &OutputKind| !matches!(kind, OutputKind::Token) && !kind.is_mutation();
    let all = program.graph.outputs().iter().zip(&program.signature.outputs);
    let users: Vec<_> = all.filter(|(_, spec)| is_user(&spec.kind)).map(|(argument, _)| argument).collect();
    let paths = program.call_signature().map(|s| s.out_spec.paths()).unwrap_or_default();
    let one = |(i, argument): (usize, &&Argument)| {
        let key = format!("out.{i}");
        let path = paths.get(i).filter(|_| paths.len() == users.len());
        let steps = path.map_or(&[][..], |path| &path.0);
        let mut names = match steps.first() {
            None | Some(PathEntry::Index(_)) => vec![key],
            _ => vec![steps.iter().map(step).collect::<Vec<_>>().join("."), key],
        };
        names.extend(path.map(ToString::to_string).filter(|path| !path.is_empty()));
        (names, val_of_argument(&program.graph, argument))
    };
    users.iter().enumerate().map(one).collect()
}

fn step(entry: &PathEntry) -> String {
    match entry {
        PathEntry::Index(i) => i.to_string(),
        PathEntry::Key(Key::Str(name)) | PathEntry::Attr(name) => name.clone(),
        PathEntry::Key(key) => key.to_string(),
    }
}

fn chosen(ports: Vec<Port>, options: &Options, batch: &Expr) -> Result<Vec<Output>> {
    let wanted: Vec<(usize, String)> = match &options.outputs[..] {
        [] => ports.iter().enumerate().map(|(i, (names, _))| (i, names[0].clone())).collect(),
        choice => choice.iter().map(|(column, name)| find_output(&ports, column, name)).collect::<Result<_>>()?,
    };
    let mut found: Vec<Output> = Vec::new();
    for (index, column) in wanted {
        if found.iter().any(|other| other.column == column) {
            return Err(Error::Request(format!("two outputs are called `{column}`"), Some(Remedy::Outputs)));
        }
        let of = match &ports[index].1 {
            Some(Val::Tensor(fake)) if fake.sizes.first() == Some(batch) => output_type(fake, options.squeeze)?,
            other => {
                let what = match other {
                    Some(Val::Tensor(fake)) => format!("a tensor of sizes {:?}", shown(fake)),
                    _ => "no tensor".to_string(),
                };
                let message = format!("output `{column}`: expected the batch size {batch} in dimension 0, got {what}");
                return Err(Error::Request(message, Some(Remedy::Outputs)));
            }
        };
        found.push(Output { index, column, of });
    }
    match found.is_empty() {
        true => Err(Error::request("the program has no output")),
        false => Ok(found),
    }
}

fn shown(fake: &Fake) -> Vec<String> {
    fake.sizes.iter().map(ToString::to_string).collect()
}

fn output_type(fake: &Fake, squeeze: bool) -> Result<DataType> {
    let sizes = dims(&fake.sizes[1..]);
    let is_squeezed = squeeze && sizes == [Dim::Fixed(1)];
    type_of(fake.dtype, if is_squeezed { &[] } else { &sizes })
}

fn find_output(ports: &[Port], column: &Option<String>, name: &str) -> Result<(usize, String)> {
    let at = ports.iter().position(|(names, _)| names.iter().any(|n| n == name));
    let at = at.ok_or_else(|| {
        let all: Vec<String> = ports.iter().map(|(names, _)| format!("`{}`", names[0])).collect();
        Error::request(format!("there is no output `{name}`; the outputs are {}", all.join(", ")))
    })?;
    Ok((at, column.clone().unwrap_or_else(|| name.to_string())))
}

/// A tensor with this many rows: the last one is repeated.
pub(crate) fn padded(t: Tensor, rows: usize) -> Result<Tensor> {
    let run = |e: oxport_tensor::Error| Error::Run(oxport_ir::Error::from(e).into());
    let have = t.sizes().first().map_or(0, |&n| n.max(0) as usize);
    if have >= rows || have == 0 {
        return Ok(t);
    }
    let sizes: Vec<i64> = [rows as i64].iter().chain(&t.sizes()[1..]).copied().collect();
    oxport_tensor::dispatch!(all t.dtype(), |T| repeated::<T>(&t, &sizes, rows - have)).map_err(run)
}

fn repeated<T: oxport_tensor::Element>(t: &Tensor, sizes: &[i64], more: usize) -> oxport_tensor::Result<Tensor> {
    let mut all = t.to_vec::<T>()?;
    let per_row: usize = sizes[1..].iter().map(|&n| n as usize).product();
    let last = all[all.len() - per_row..].to_vec();
    (0..more).for_each(|_| all.extend_from_slice(&last));
    Tensor::from_vec(sizes, all)
}
