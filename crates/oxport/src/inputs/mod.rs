//! The inputs of a run, from whatever the user has: files, values as text, pictures, the archive's samples, or random
//! numbers.
//!
//! Invariants: every input has one value, and [`Inputs::sources`] says where it came from; what was given but not used
//! is in [`Inputs::unused`]; generated inputs have the sizes that the given ones and [`Request::sizes`] determine, and
//! satisfy the program's ranges and guards.

mod files;
mod image;
mod literal;
mod npy;

pub use files::read_any;
pub use image::ImageOptions;
pub use literal::Literal;

use crate::io::{Values, constant};
use crate::names::InputNames;
use crate::random_inputs::{Assignment, Fill, InputGenerator, Known};
use crate::{Error, ExportedProgram, Result, Scalar, Tensor, Val, Value};
use files::{Content, read_content};
use image::read_image;
use oxport_ir::InputKind;
use oxport_pt2::Limits;
use std::path::{Path, PathBuf};

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A file with several inputs: `--inputs`.
    pub file: Option<PathBuf>,
    /// Names, each with a file or a value as text: `--input`. Later ones count.
    pub each: Vec<(String, String)>,
    /// Names, each with a picture: `--image`.
    pub images: Vec<(String, PathBuf)>,
    /// How pictures become tensors.
    pub image_options: ImageOptions,
    /// Values of symbols: `--shape`.
    pub sizes: Assignment,
    /// Whether the inputs that are not given are generated, even if the archive has samples.
    pub is_random: bool,
    /// The seed of generated inputs.
    pub seed: u64,
}

/// The inputs of a run.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The flat user inputs.
    pub values: Vec<Value>,
    /// Where each came from: `x.npy`, `the archive's sample inputs`, `generated, seed 0`.
    pub sources: Vec<String>,
    /// What was given but is no input: names, each with its file.
    pub unused: Vec<String>,
    /// What is suspicious: inputs of another dtype than at the capture.
    pub warnings: Vec<String>,
}

/// A value that was given; a number can fill a tensor whose sizes are known later.
#[derive(Clone, Debug)]
enum Given {
    Value(Value),
    Fill(Value),
}

struct Gathered<'p> {
    program: &'p ExportedProgram,
    names: InputNames,
    given: Vec<Option<(Given, String)>>,
    unused: Vec<String>,
}

/// The inputs that a request determines.
///
/// # Errors
/// A file cannot be read, a name is no input, an input is missing, or no sizes satisfy the program.
pub fn gather(program: &ExportedProgram, request: &Request, limits: &Limits) -> Result<Inputs> {
    let names = InputNames::of(program);
    let given = vec![None; names.len()];
    let mut all = Gathered { program, names, given, unused: Vec::new() };
    if let Some(path) = &request.file {
        all.add_file(path, limits)?;
    }
    for (name, text) in &request.each {
        all.add_named(name, text, limits)?;
    }
    for (name, path) in &request.images {
        all.add_image(name, path, &request.image_options)?;
    }
    all.complete(request, limits)
}

impl Gathered<'_> {
    /// A file of several inputs, by name; or of as many values as there are inputs, in their order.
    fn add_file(&mut self, path: &Path, limits: &Limits) -> Result<()> {
        let values = match (read_content(path, limits)?, self.names.len()) {
            (Content::Text(literal), 1) => return self.set_literal(0, &literal, Some(path)),
            (content, _) => content.into_values()?,
        };
        // `numpy.savez(file, a, b)` calls them `arr_0` and `arr_1`.
        let is_number = |step: &str| step.strip_prefix("arr_").unwrap_or(step).parse::<usize>().is_ok();
        let is_positional = |key: &String| key.split('.').next().is_some_and(is_number);
        let in_order = values.len() == self.names.len()
            && (values.keys().all(is_positional) || values.len() == 1 && values.contains_key(""));
        let source = path.display().to_string();
        for (i, (key, value)) in values.into_iter().enumerate() {
            match self.names.find(&key)[..] {
                _ if in_order => self.set(i, value, &source)?,
                // The key by position counts more than any other.
                [one] if self.given[one].is_some() && !key.starts_with("in.") => {}
                [one] => self.set(one, value, &source)?,
                // The file has more than inputs: outputs, for example.
                _ if ["out.", "mut.", "inmut."].iter().any(|prefix| key.starts_with(prefix)) => {}
                _ => self.unused.push(format!("`{key}` of {source}")),
            }
        }
        Ok(())
    }

    /// `NAME=FILE`, `NAME=FILE:KEY` or `NAME=VALUE`.
    fn add_named(&mut self, name: &str, text: &str, limits: &Limits) -> Result<()> {
        let found = self.find(name)?;
        if let [one] = found[..] {
            let val = self.val(one);
            if let Some(Val::Str(_)) = val {
                self.given[one] = Some((Given::Value(Value::Str(text.into())), "the command line".to_string()));
                return Ok(());
            }
            if let Some(literal) = Literal::parse(text).filter(|_| !Path::new(text).exists()) {
                return self.set_literal(one, &literal, None);
            }
        }
        let (path, key) = split_key(text);
        let source = path.display().to_string();
        if !oxport_pt2::is_standard_input(&path) && !path.exists() {
            let what = format!("input `{name}`: {text:?} is no value, and cannot be opened");
            return Err(Error::io(what, std::io::ErrorKind::NotFound.into()));
        }
        let mut values = match (read_content(&path, limits)?, &found[..], &key) {
            (Content::Text(literal), [one], None) => return self.set_literal(*one, &literal, Some(&path)),
            (content, ..) => content.into_values()?,
        };
        if let Some(key) = key {
            let value = values.shift_remove(&key).ok_or_else(|| {
                let keys: Vec<&str> = values.keys().map(String::as_str).collect();
                Error::data(format!("{source}: there is no `{key}`; it has {}", keys.join(", ")))
            })?;
            values = Values::from_iter([(String::new(), value)]);
        }
        match (&found[..], values.len()) {
            ([one], 1) => values.into_iter().try_for_each(|(_, value)| self.set(*one, value, &source)),
            // A container: its leaves by their names below it, or in order.
            _ => {
                let in_order = values.len() == found.len();
                for (i, (key, value)) in values.into_iter().enumerate() {
                    let inner = [format!("{name}.{key}"), format!("{name}[{key}]"), key.clone()];
                    let by_name =
                        inner.iter().find_map(|n| self.names.find(n).first().copied().filter(|i| found.contains(i)));
                    match by_name.or_else(|| in_order.then(|| found[i])) {
                        Some(one) => self.set(one, value, &source)?,
                        None => self.unused.push(format!("`{key}` of {source}")),
                    }
                }
                Ok(())
            }
        }
    }

    fn add_image(&mut self, name: &str, path: &Path, options: &ImageOptions) -> Result<()> {
        let found = self.find(name)?;
        let (&[one], Some(Val::Tensor(fake))) = (&found[..], found.first().and_then(|i| self.val(*i))) else {
            return Err(Error::usage(format!("input `{name}` cannot take a picture: expected a tensor")));
        };
        let file = oxport_pt2::open_file(path)?;
        let tensor = read_image(path, file.bytes(), &fake.clone(), options)?;
        self.set(one, Value::Tensor(tensor), &path.display().to_string())
    }

    fn find(&self, name: &str) -> Result<Vec<usize>> {
        let found = self.names.find(name);
        match found.is_empty() {
            true => Err(Error::usage(format!("there is no input `{name}`; the inputs are {}", self.names.list()))),
            false => Ok(found),
        }
    }

    fn val(&self, input: usize) -> Option<&Val> {
        self.program.graph.node(self.names.get(input)?.id).val()
    }

    fn set(&mut self, input: usize, value: Value, source: &str) -> Result<()> {
        self.given[input] = Some((Given::Value(value), source.to_string()));
        Ok(())
    }

    /// A value as text, of the command line or of that file, in the dtype of the input; one number fills a tensor.
    fn set_literal(&mut self, input: usize, literal: &Literal, file: Option<&Path>) -> Result<()> {
        let val = self.val(input);
        let dtype = val.and_then(Val::as_tensor).map(|t| t.dtype);
        let value = literal.value(dtype).map_err(|e| {
            let name = self.names.get(input).map_or("", |name| &name.path);
            match file {
                Some(file) => Error::data(format!("{}: input `{name}`: {e}", file.display())),
                None => Error::usage(format!("input `{name}`: {e}")),
            }
        })?;
        let given = match (val, literal, value) {
            (Some(Val::Tensor(t)), Literal::Scalar(_), value) if t.dim() > 0 => Given::Fill(value),
            (Some(Val::Float(_)), Literal::Scalar(Scalar::Int(n)), _) => Given::Value(Value::Float(*n as f64)),
            (_, _, value) => Given::Value(value),
        };
        let source = file.map_or("the command line".to_string(), |file| file.display().to_string());
        self.given[input] = Some((given, source));
        Ok(())
    }

    /// Fills in what was not given, and checks dtypes.
    fn complete(self, request: &Request, limits: &Limits) -> Result<Inputs> {
        let of = |g: &'_ Option<(Given, String)>| match g {
            Some((Given::Value(value), _)) => Some(value.clone()),
            _ => None,
        };
        let values: Vec<Option<Value>> = self.given.iter().map(of).collect();
        let given: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
        let kinds: Vec<&InputKind> =
            self.program.signature.inputs.iter().map(|s| &s.kind).filter(|kind| kind.is_user()).collect();
        let default = |i: usize| match (kinds.get(i), self.names.get(i)) {
            (Some(InputKind::ConstantInput(c)), _) => Some(constant(c)),
            (_, Some(name)) => self.program.graph.node(name.id).default_value().map(constant),
            _ => None,
        };
        let is_open = |i: usize| self.given[i].is_none() && default(i).is_none();
        let needs_sizes = self.given.iter().any(|g| matches!(g, Some((Given::Fill(_), _))));
        let any_given = request.file.is_some() || self.given.iter().any(Option::is_some);
        let wants_random = request.is_random || !request.sizes.is_empty();
        let is_open_any = (0..self.given.len()).any(is_open);
        let (samples, unread) = match wants_random || !is_open_any || request.file.is_some() {
            true => (None, None),
            false => match oxport_pt2::example_inputs(self.program, limits) {
                Ok(samples) => (samples, None),
                Err(e) => (None, Some(format!("the archive's sample inputs cannot be read: {e}"))),
            },
        };
        let is_generated = is_open_any && samples.is_none() && (wants_random || !any_given);
        let known = Known { sizes: &request.sizes, values: &given };
        let generated = match is_generated || needs_sizes {
            true => {
                let of_samples = samples.as_ref().map(|all| all.iter().map(Some).collect::<Vec<_>>());
                let known = match &of_samples {
                    Some(values) => Known { values, ..known },
                    None => known,
                };
                Some(generate(self.program, &known, request.seed, limits)?)
            }
            false => None,
        };
        let warnings = unread.into_iter().collect();
        let mut inputs = Inputs { values: Vec::new(), sources: Vec::new(), unused: self.unused.clone(), warnings };
        for (i, name) in self.names.iter().enumerate() {
            let from = |list: &Option<Vec<Value>>| list.as_ref().and_then(|l| l.get(i)).cloned();
            let (value, source) = match (&self.given[i], default(i)) {
                (Some((Given::Value(value), source)), _) => (value.clone(), source.clone()),
                (Some((Given::Fill(number), source)), _) => (filled(number, from(&generated))?, source.clone()),
                (None, Some(value)) => (value, "the program".to_string()),
                (None, None) => match (from(&samples), from(&generated)) {
                    (Some(value), _) => (value, "the archive's sample inputs".to_string()),
                    (None, Some(value)) => (value, format!("generated, seed {}", request.seed)),
                    (None, None) => {
                        let mut keys = vec![format!("`in.{i}`"), format!("`{}`", name.placeholder)];
                        keys.extend((*name.path != *name.placeholder).then(|| format!("`{}`", name.path)));
                        let unused = match self.unused.is_empty() {
                            true => String::new(),
                            false => format!("; no inputs are {}", self.unused.join(", ")),
                        };
                        let keys = keys.join(" or ");
                        let message =
                            format!("input {i} is missing: expected the key {keys}{unused}; `--random` generates it");
                        return Err(Error::data(message));
                    }
                },
            };
            inputs.warnings.extend(self.dtype_warning(i, &value));
            inputs.values.push(value);
            inputs.sources.push(source);
        }
        Ok(inputs)
    }

    fn dtype_warning(&self, input: usize, value: &Value) -> Option<String> {
        let (Some(Val::Tensor(expected)), Value::Tensor(got)) = (self.val(input), value) else { return None };
        let name = &self.names.get(input)?.path;
        let (want, has) = (expected.dtype.name(), got.dtype().name());
        (want != has).then(|| format!("input `{name}`: expected {want}, as at the capture, got {has}"))
    }
}

fn generate(program: &ExportedProgram, known: &Known<'_>, seed: u64, limits: &Limits) -> Result<Vec<Value>> {
    let generator = InputGenerator::with(program, known);
    let none = || Error::data("no sizes were found that satisfy the program's ranges and guards, and what is given");
    generator.generate(generator.assignments().first().ok_or_else(none)?, Fill::Ordinary, seed, limits)
}

/// A tensor like that, filled with a number.
fn filled(number: &Value, like: Option<Value>) -> Result<Value> {
    match (number, like) {
        (Value::Tensor(number), Some(Value::Tensor(t))) => {
            let spread: Tensor = number.view(|layout| layout.expand(t.sizes()))?;
            Ok(Value::Tensor(spread.contiguous()?))
        }
        _ => Ok(number.clone()),
    }
}

/// `FILE:KEY`, unless there is a file of the whole name.
fn split_key(text: &str) -> (PathBuf, Option<String>) {
    match text.rsplit_once(':') {
        Some((path, key)) if !Path::new(text).exists() && Path::new(path).exists() => {
            (path.into(), Some(key.to_string()))
        }
        _ => (text.into(), None),
    }
}
