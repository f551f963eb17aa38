//! Programs of Python source files: [`capture`].
//!
//! The source is interpreted without Python: it has no files, network, processes or clock, and its steps and memory are
//! bounded. Imports are read from folders, as text.

use crate::{Error, ExportedProgram, Opt, PlanOptions, Result, Tensor, Value};
use indexmap::IndexMap;
use oxport_python::syntax::tree::Source;
use oxport_python::torch::{Dim, Input, Options};
use oxport_python::{Limits, Loader, STACK};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What is captured.
#[derive(Clone, Debug)]
pub struct Request {
    /// The source file; one that lies in a package is imported as a part of it.
    pub file: PathBuf,
    /// The module's class with its arguments, as `Net(3, bias=False)`, or a function.
    pub entry: String,
    /// The arguments of the call.
    pub inputs: Vec<Input>,
    /// The ranges of named sizes.
    pub dims: Vec<Dim>,
    /// The state dict; without it parameters have the values that the code gives them.
    pub weights: Option<IndexMap<String, Tensor>>,
    /// Folders in which imports are found, beside the file's own.
    pub folders: Vec<PathBuf>,
    /// Whether the module is left in training mode.
    pub train: bool,
    /// The bounds of the interpreter.
    pub limits: Limits,
}

/// Captures a module or function of a source file.
///
/// # Errors
/// The file cannot be read, the source raises, asks for what is not supported, or reaches a limit; weights do not fit.
pub fn capture(request: &Request) -> Result<ExportedProgram> {
    let text = std::fs::read_to_string(&request.file).map_err(|e| Error::io(request.file.display(), e))?;
    let (module, root) = match in_package(&request.file) {
        Some((module, root)) => (Some(module), root),
        None => (None, request.file.parent().unwrap_or(Path::new("")).to_path_buf()),
    };
    let mut folders = vec![root];
    folders.extend(request.folders.iter().cloned());
    let options = Options {
        file: request.file.display().to_string(),
        text,
        module,
        entry: request.entry.clone(),
        inputs: request.inputs.clone(),
        dims: request.dims.clone(),
        weights: request.weights.as_ref(),
        train: request.train,
        limits: request.limits,
    };
    // The interpreter recurses as its program does.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let captured = oxport_python::torch::capture(&options, Rc::new(Folders(folders)), Rc::new(evaluate));
            captured.map_err(Error::from)
        });
        match thread.map(|t| t.join()) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::io("a thread", error)),
        }
    })
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
fn evaluate(program: &ExportedProgram) -> std::result::Result<Vec<Tensor>, String> {
    let run = || -> Result<Vec<Value>> {
        let program = crate::prepare(program, Opt::None)?;
        let plan = crate::plan(&program, &PlanOptions::default())?;
        Ok(plan.run(Vec::new())?.user)
    };
    let values = run().map_err(|e| e.to_string())?;
    let tensor = |value: Value| match value {
        Value::Tensor(tensor) => Ok(tensor),
        _ => Err("expected a tensor".to_string()),
    };
    values.into_iter().map(tensor).collect()
}
