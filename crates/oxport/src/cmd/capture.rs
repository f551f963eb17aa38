//! `oxport capture`: a program of Python source, without Python and without PyTorch.

use super::output::{Read, check_new_program};
use super::report::{json, with_spinner};
use super::verify::list;
use oxport::{Error, Opt, PlanOptions, ReadLimits, Result};
use oxport_ir::{ExportedProgram, Value};
use oxport_python::syntax::tree::Source;
use oxport_python::torch::{Dim, Input, Options};
use oxport_python::{Limits, Loader, STACK};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

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

/// Finds modules in folders.
struct Folders(Vec<PathBuf>);

impl Loader for Folders {
    fn load(&self, module: &str) -> Option<(Source, bool)> {
        let relative: PathBuf = module.split('.').collect();
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Source { name: path.display().to_string(), text })
        };
        self.0.iter().find_map(|folder| {
            let place = folder.join(&relative);
            match read(place.join("__init__.py")) {
                Some(source) => Some((source, true)),
                None => match read(place.with_extension("py")) {
                    Some(source) => Some((source, false)),
                    // A folder without `__init__` is a package without code.
                    None => place
                        .is_dir()
                        .then(|| (Source { name: place.display().to_string(), text: String::new() }, true)),
                },
            }
        })
    }

    /// By the folder `NAME-VERSION.dist-info` that installers write.
    fn version(&self, distribution: &str) -> Option<String> {
        let plain = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
        let wanted = plain(distribution);
        entries(&self.0).find_map(|entry| {
            let (name, version) = entry.strip_suffix(".dist-info")?.rsplit_once('-')?;
            (plain(name) == wanted).then(|| version.to_string())
        })
    }

    /// By a file `NAME.….so` or `.pyd`.
    fn is_compiled(&self, module: &str) -> bool {
        let (package, name) = module.rsplit_once('.').unwrap_or(("", module));
        let relative: PathBuf = package.split('.').collect();
        let folders: Vec<PathBuf> = self.0.iter().map(|folder| folder.join(&relative)).collect();
        entries(&folders).any(|entry| {
            let rest = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| matches!(rest.rsplit('.').next(), Some("so" | "pyd")))
        })
    }

    fn submodules(&self, package: &str) -> Vec<String> {
        let relative: PathBuf = package.split('.').collect();
        let folders: Vec<PathBuf> = self.0.iter().map(|folder| folder.join(&relative)).collect();
        let name = |entry: String| match entry.strip_suffix(".py") {
            Some("__init__") => None,
            Some(module) => Some(module.to_string()),
            None => folders.iter().any(|folder| folder.join(&entry).join("__init__.py").is_file()).then_some(entry),
        };
        let mut names: Vec<String> = entries(&folders).filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The names in some folders.
fn entries(folders: &[PathBuf]) -> impl Iterator<Item = String> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// The dotted name of a file in a package, and the folder that the package lies in.
fn in_package(file: &Path) -> Option<(String, PathBuf)> {
    let mut folder = file.parent()?;
    let mut names = vec![file.file_stem()?.to_str()?];
    while folder.join("__init__.py").is_file() {
        names.push(folder.file_name()?.to_str()?);
        folder = folder.parent()?;
    }
    let is_in_package = names.len() > 1;
    names.reverse();
    is_in_package.then(|| (names.join(".").trim_end_matches(".__init__").to_string(), folder.to_path_buf()))
}

/// Computes a program without inputs.
fn evaluate(program: &ExportedProgram) -> std::result::Result<Vec<oxport::Tensor>, String> {
    let run = || -> Result<Vec<Value>> {
        let program = oxport::prepare(program, Opt::None)?;
        let plan = oxport::plan(&program, &PlanOptions::default())?;
        Ok(plan.run(Vec::new())?.user)
    };
    let values = run().map_err(|e| e.to_string())?;
    let tensor = |value: Value| match value {
        Value::Tensor(tensor) => Ok(tensor),
        _ => Err("expected a tensor".to_string()),
    };
    values.into_iter().map(tensor).collect()
}

impl Capture {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let read = Read::file(&self.file).and_values(self.weights.as_deref());
        check_new_program(&self.out, &read, self.json)?;
        let text = std::fs::read_to_string(&self.file).map_err(|e| Error::io(self.file.display(), e))?;
        let inputs = self.input.iter().map(|t| Input::parse(t)).collect::<std::result::Result<Vec<_>, _>>();
        let dims = self.dim.iter().map(|t| Dim::parse(t)).collect::<std::result::Result<Vec<_>, _>>();
        let (inputs, dims) = (inputs.map_err(Error::usage)?, dims.map_err(Error::usage)?);
        let weights = self.weights.as_ref().map(|path| oxport::weights::read_state_dict(path, limits)).transpose()?;
        let (module, root) = match in_package(&self.file) {
            Some((module, root)) => (Some(module), root),
            None => (None, self.file.parent().unwrap_or(Path::new("")).to_path_buf()),
        };
        let mut folders = vec![root];
        folders.extend(self.path.iter().cloned());
        let limits = Limits { steps: self.max_steps, memory: self.max_memory, ..Limits::DEFAULT };
        let options = Options {
            file: self.file.display().to_string(),
            text,
            module,
            entry: self.entry.clone(),
            inputs,
            dims,
            weights: weights.as_ref(),
            train: self.train,
            limits,
        };
        // The interpreter recurses as its program does.
        let program = with_spinner("capturing", || {
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
                    let captured =
                        oxport_python::torch::capture(&options, Rc::new(Folders(folders)), Rc::new(evaluate));
                    captured.map_err(Error::from)
                });
                match thread.map(|t| t.join()) {
                    Ok(Ok(result)) => result,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    Err(error) => Err(Error::io("a thread", error)),
                }
            })
        })?;
        let found = oxport::verify(&program);
        oxport::write(&program, &self.out)?;
        if self.json {
            json(&serde_json::json!({"nodes": program.graph.len(), "diagnostics": list(&found)}));
            return Ok(ExitCode::SUCCESS);
        }
        outln!("{} nodes, {} diagnostic{}", program.graph.len(), found.len(), if found.len() == 1 { "" } else { "s" });
        for diagnostic in &found {
            outln!("{diagnostic}");
        }
        Ok(ExitCode::SUCCESS)
    }
}
