//! `oxport capture`: a program of Python source, without Python and without PyTorch.

use super::output::{Read, check_new_program};
use super::report::{json, with_spinner};
use oxport::source::Request;
use oxport::{Error, ReadLimits, Result};
use oxport_python::Limits;
use oxport_python::torch::{Dim, Input};
use std::path::PathBuf;
use std::process::ExitCode;

/// Captures a module or function of Python source, and writes it as a program.
///
/// The source is interpreted without Python: it has no files, network, processes or clock, and its steps and memory are
/// bounded.
#[derive(clap::Args)]
pub struct Capture {
    /// The source file; one that lies in a package is imported as a part of it
    file: PathBuf,
    /// The module's class with its arguments, as `Net(3, bias=False)`, or a function
    #[arg(long, value_name = "NAME[(ARGS)]")]
    entry: String,
    /// An argument of the call, in order, as `x: f32[b, 3, 224, 224]` or `n: 3`
    #[arg(long, value_name = "INPUT")]
    input: Vec<String>,
    /// The range of a named size, as `b=1..64`, or `b=1..64:8` to trace with 8
    #[arg(long, value_name = "DIM")]
    dim: Vec<String>,
    /// The state dict, safetensors or a `.pth` of torch.save; without it parameters have the values that the code gives
    /// them
    #[arg(long, value_name = "F")]
    weights: Option<PathBuf>,
    /// A folder in which imports are found; the file's own folder is always one
    #[arg(long, value_name = "DIR")]
    path: Vec<PathBuf>,
    /// Leave the module in training mode
    #[arg(long)]
    train: bool,
    /// The statements, calls and iterations that the source may run
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.steps)]
    max_steps: u64,
    /// The bytes that the source may allocate
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.memory)]
    max_memory: usize,
    /// Where to write the program
    #[arg(short, long = "output", value_name = "OUT")]
    out: PathBuf,
    /// Print JSON: `{nodes, diagnostics}`, the latter as `verify --json` prints them
    #[arg(long)]
    json: bool,
}

impl Capture {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let read = Read::file(&self.file).and_values(self.weights.as_deref());
        check_new_program(&self.out, &read, self.json)?;
        let inputs = self.input.iter().map(|t| Input::parse(t)).collect::<std::result::Result<Vec<_>, _>>();
        let dims = self.dim.iter().map(|t| Dim::parse(t)).collect::<std::result::Result<Vec<_>, _>>();
        let (inputs, dims) = (inputs.map_err(Error::usage)?, dims.map_err(Error::usage)?);
        let weights = self.weights.as_ref().map(|path| oxport::weights::read_state_dict(path, limits)).transpose()?;
        let limits = Limits { steps: self.max_steps, memory: self.max_memory, ..Limits::DEFAULT };
        let request = Request {
            file: self.file.clone(),
            entry: self.entry.clone(),
            inputs,
            dims,
            weights,
            folders: self.path.clone(),
            train: self.train,
            limits,
        };
        let program = with_spinner("capturing", || oxport::source::capture(&request))?;
        let found = oxport::verify(&program);
        oxport::write(&program, &self.out)?;
        if self.json {
            json(&serde_json::json!({"nodes": program.graph.len(), "diagnostics": oxport::json::diagnostics(&found)}));
            return Ok(ExitCode::SUCCESS);
        }
        outln!("{} nodes, {} diagnostic{}", program.graph.len(), found.len(), if found.len() == 1 { "" } else { "s" });
        for diagnostic in &found {
            outln!("{diagnostic}");
        }
        Ok(ExitCode::SUCCESS)
    }
}
