//! The arguments that say what a program runs on, and the lines that say what it ran on.

use super::report;
use oxport::inputs::{ImageOptions, Inputs, Request, gather};
use oxport::names::InputNames;
use oxport::{Error, ExportedProgram, ReadLimits, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of commands that run a program. What is not given comes from the archive's sample inputs, or is generated.
#[derive(clap::Args)]
pub struct InputArgs {
    /// A file with inputs: safetensors, .npz, .npy, .pt of tensors. Keys are `in.0`, `in.1`, …, placeholder names or
    /// paths
    #[arg(long, value_name = "F")]
    pub inputs: Option<PathBuf>,
    /// One input, by path (`batch['ids']`, `batch.ids`), key or index: a file (FILE:KEY for one of its values), or a
    /// value such as `0.5` or `[[1, 2], [3, 4]]`
    #[arg(long = "input", value_name = "NAME=FILE|VALUE", allow_hyphen_values = true)]
    each: Vec<String>,
    /// One input from a picture: PNG, JPEG, PPM
    #[arg(long, value_name = "NAME=FILE")]
    image: Vec<String>,
    /// The size of pictures; by default that of the input
    #[arg(long, value_name = "HxW", value_parser = height_and_width)]
    image_size: Option<(usize, usize)>,
    /// Subtracted from the channels of pictures, which are in 0..=1: one number, or one for each
    #[arg(long, value_name = "MEAN", value_delimiter = ',', allow_hyphen_values = true)]
    image_mean: Vec<f64>,
    /// The channels of pictures are divided by it, likewise
    #[arg(long, value_name = "STD", value_delimiter = ',')]
    image_std: Vec<f64>,
    /// The value of a symbol in the shapes of generated inputs: `s77=16`
    #[arg(long, value_name = "NAME=N")]
    shape: Vec<String>,
    /// Generate the inputs that are not given, even if the archive has sample inputs
    #[arg(long)]
    random: bool,
    /// The seed of generated inputs and of random operators
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
}

impl InputArgs {
    /// True if an argument says what the inputs are.
    pub fn is_given(&self) -> bool {
        let lists = [&self.each, &self.image, &self.shape];
        self.inputs.is_some() || self.random || lists.iter().any(|list| !list.is_empty())
    }

    /// All files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        let file = |text: &String| {
            let (_, path) = text.split_once('=').unwrap_or(("", text));
            // `FILE:KEY`, or a value.
            let plain = path.rsplit_once(':').map(|(file, _)| file).filter(|_| !Path::new(path).exists());
            PathBuf::from(plain.unwrap_or(path))
        };
        let given = self.each.iter().chain(&self.image).map(file).filter(|path| path.exists());
        self.inputs.iter().cloned().chain(given).collect()
    }

    /// The inputs, with a line for each on standard error that says where it came from.
    ///
    /// # Errors
    /// As [`gather`].
    pub fn values(&self, program: &ExportedProgram, limits: &ReadLimits) -> Result<Inputs> {
        let pair = |text: &String| named(text, program);
        let path = |(name, file): (String, String)| (name, PathBuf::from(file));
        let request = Request {
            file: self.inputs.clone(),
            each: self.each.iter().map(pair).collect::<Result<_>>()?,
            images: self.image.iter().map(|text| pair(text).map(path)).collect::<Result<_>>()?,
            image_options: ImageOptions {
                size: self.image_size,
                mean: self.image_mean.clone(),
                std: self.image_std.clone(),
            },
            sizes: super::args::sizes(&self.shape, program)?,
            is_random: self.random,
            seed: self.seed,
        };
        let found = gather(program, &request, limits)?;
        tell(program, &found);
        Ok(found)
    }
}

/// `NAME=REST`; of a program with one input, also `REST` alone.
fn named(text: &String, program: &ExportedProgram) -> Result<(String, String)> {
    let names = InputNames::of(program);
    match text.split_once('=') {
        Some((name, rest)) => Ok((name.trim().to_string(), rest.to_string())),
        None if names.len() == 1 => Ok(("0".to_string(), text.clone())),
        None => Err(Error::usage(format!("expected NAME=VALUE, got {text:?}; the inputs are {}", names.list()))),
    }
}

fn tell(program: &ExportedProgram, found: &Inputs) {
    let names = InputNames::of(program);
    for ((name, value), source) in names.iter().zip(&found.values).zip(&found.sources) {
        report::note(format_args!("input {}: {} ({source})", name.path, oxport::display::kind_of(value)));
    }
    found.unused.iter().for_each(|what| report::warning(format_args!("{what} is no input, and is not used")));
    found.warnings.iter().for_each(report::warning);
}

/// The record of every input: `{path, kind, source}`.
pub fn records(program: &ExportedProgram, found: &Inputs) -> Value {
    let names = InputNames::of(program);
    let all = names.iter().zip(found.values.iter().zip(&found.sources));
    all.map(
        |(name, (value, source))| json!({"path": name.path, "kind": oxport::display::kind_of(value), "source": source}),
    )
    .collect()
}

fn height_and_width(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "expected a height and a width, like 224x224".to_string();
    let (height, width) = text.split_once('x').unwrap_or((text, text));
    Ok((height.trim().parse().map_err(|_| wrong())?, width.trim().parse().map_err(|_| wrong())?))
}
