//! Imports: bundled modules, then the loader's sources.
//!
//! Invariants: a module's body runs once; what is refused (`os.system`, `subprocess`) is a module whose use stops the
//! program. A module that is not found raises `ModuleNotFoundError` within `try`; elsewhere it is an absent module,
//! which raises when it is used, so that a model is not lost for an import that it does not need.

use crate::error::{R, Unwind};
use crate::host::Host;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::Source;
use crate::value::{Args, Class, Module, Name, Value};
use std::any::Any;
use std::rc::Rc;

/// A module that was not found, or one of its attributes.
pub struct Absent(Name);

impl Host for Absent {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.module.clone()
    }

    fn get_attr(&self, interp: &mut Interp, this: &Value, name: &str) -> R<Option<Value>> {
        Ok(match name {
            "__mro_entries__" => Some(Value::native(name, |_, _| Ok(Value::tuple([])))),
            "__instancecheck__" | "__subclasscheck__" => Some(Value::native(name, |_, _| Ok(Value::Bool(false)))),
            "__name__" => Some(Value::Str(self.0.clone())),
            // What asks for these wants to know what the object can do.
            "__version__" => return self.missing(interp),
            _ if name.starts_with("__") => None,
            _ => {
                let _ = this;
                Some(Value::Host(Rc::new(Absent(format!("{}.{name}", self.0).into()))))
            }
        })
    }

    // What replaces a part of what is absent is not used, either.
    fn set_attr(&self, _: &mut Interp, _: &str, _: Value) -> R<bool> {
        Ok(true)
    }

    fn call(&self, interp: &mut Interp, _: Args) -> R<Option<Value>> {
        self.missing(interp)
    }

    fn get_item(&self, _: &mut Interp, this: &Value, _: &Value) -> R<Option<Value>> {
        Ok(Some(this.clone()))
    }

    fn binary(
        &self,
        _: &mut Interp,
        _: &Value,
        op: crate::syntax::tree::BinOp,
        other: &Value,
        _: bool,
    ) -> R<Option<Value>> {
        // `np.ndarray | None` in a type alias.
        Ok((op == crate::syntax::tree::BinOp::Or).then(|| other.clone()))
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok(format!("<absent module '{}'>", self.0))
    }
}

impl Absent {
    fn missing<T>(&self, interp: &Interp) -> R<T> {
        let root = self.0.split('.').next().unwrap_or("");
        if interp.bundled.contains_key(root) {
            return interp.raise("NotImplementedError", format!("`{}` is not supported", self.0));
        }
        let message = format!("`{}` is used, but no module named '{root}' is in the search path", self.0);
        interp.raise("ModuleNotFoundError", message)
    }
}

/// Modules whose every use is refused.
const REFUSED: [&str; 13] = [
    "subprocess",
    "socket",
    "ctypes",
    "multiprocessing",
    "threading",
    "tempfile",
    "urllib",
    "requests",
    "pickle",
    "signal",
    "asyncio",
    "http",
    "ssl",
];

/// Packages of compiled code, whose sources alone do not work, and of files, processes and the network.
const COMPILED: [&str; 18] = [
    "PIL",
    "scipy",
    "cv2",
    "matplotlib",
    "pandas",
    "sklearn",
    "triton",
    "tokenizers",
    "safetensors",
    "yaml",
    "huggingface_hub",
    "regex",
    "accelerate",
    "fsspec",
    "psutil",
    "filelock",
    "jinja2",
    "aiohttp",
];

impl Interp {
    /// The module of a dotted name, with its packages; nothing if it is not found.
    ///
    /// # Errors
    /// What its body raises.
    pub fn find_module(&mut self, name: &str) -> R<Option<Rc<Module>>> {
        if !is_dotted(name) {
            return Ok(None);
        }
        if let Some(module) = self.modules.get(name) {
            return Ok(Some(module.clone()));
        }
        if let Some((package, _)) = name.rsplit_once('.') {
            if self.find_module(package)?.is_none() {
                return Ok(None);
            }
            if let Some(module) = self.modules.get(name) {
                return Ok(Some(module.clone()));
            }
        }
        let module = if let Some(bundled) = self.bundled.get(name).copied() {
            let module = Module::new(name);
            self.modules.insert(name.to_string(), module.clone());
            module.set("__package__", Value::str(name));
            if let Some(native) = bundled.native {
                native(self, &module);
            }
            if let Some(source) = bundled.source {
                // Once a module, and ours: where a source reaches its limit does not depend on how long these are.
                let steps = self.steps;
                self.run_module(&module, Source { name: format!("<{name}>"), text: source.to_string() })?;
                self.steps = steps;
            }
            module
        } else if self.is_closed(name) {
            return Ok(None);
        } else {
            let loader = self.loader.clone();
            let Some((source, is_package)) = loader.load(name) else { return Ok(None) };
            self.charge(source.text.len())?;
            let module = Module::new(name);
            let package = if is_package { name } else { name.rsplit_once('.').map_or("", |(package, _)| package) };
            module.set("__package__", Value::str(package));
            module.set("__spec__", self.module_spec(name, &source, is_package)?);
            module.set("__file__", Value::str(&source.name));
            if is_package {
                module.set("__path__", Value::list(vec![Value::str(name)]));
            }
            self.modules.insert(name.to_string(), module.clone());
            if let Err(unwind) = self.run_module(&module, source) {
                self.modules.remove(name);
                return Err(unwind);
            }
            // A module may put another object in its place.
            self.modules.get(name).cloned().unwrap_or(module)
        };
        if let Some((package, last)) = name.rsplit_once('.')
            && let Some(package) = self.modules.get(package)
        {
            package.set(last, Value::Module(module.clone()));
        }
        Ok(Some(module))
    }

    /// What a module knows of itself: name, package, file.
    fn module_spec(&mut self, name: &str, source: &Source, is_package: bool) -> R<Value> {
        let Some(machinery) = self.find_module("importlib.machinery")? else { return Ok(Value::None) };
        let class = self.get_attr(&Value::Module(machinery), &Name::from("ModuleSpec"))?;
        let kw = vec![("origin".into(), Value::str(&source.name)), ("is_package".into(), Value::Bool(is_package))];
        self.call(&class, Args { pos: vec![Value::str(name), Value::None], kw })
    }

    /// Whether a module is of a package that comes whole with the interpreter or its host: real sources of it are not
    /// read. The innermost bundled package decides.
    fn is_closed(&self, name: &str) -> bool {
        let root = name.split('.').next().unwrap_or("");
        let mut packages = std::iter::successors(Some(name), |name| name.rsplit_once('.').map(|(package, _)| package));
        COMPILED.contains(&root)
            || packages.find_map(|package| self.bundled.get(package)).is_some_and(|package| !package.is_open)
    }

    /// Whether a module would be found, which is not run.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        self.modules.contains_key(name) || self.bundled.contains_key(name) || self.source_of(name).is_some()
    }

    /// The source of a module that is not bundled.
    pub(crate) fn source_of(&self, name: &str) -> Option<Source> {
        let is_read = is_dotted(name) && !self.is_closed(name);
        is_read.then(|| self.loader.load(name)).flatten().map(|(source, _)| source)
    }

    /// The names of the modules that the loader has in a package, in order.
    pub(crate) fn submodules(&self, package: &str) -> Vec<String> {
        if is_dotted(package) { self.loader.submodules(package) } else { Vec::new() }
    }

    /// Runs a source as the body of a module.
    ///
    /// # Errors
    /// A `SyntaxError`; what the body raises.
    pub fn run_module(&mut self, module: &Rc<Module>, source: Source) -> R<()> {
        let source = Rc::new(source);
        let code = match crate::syntax::parse_module(&source) {
            Ok(code) => code,
            Err(error) => {
                let result = self.raise("SyntaxError", &error.message);
                let place = || crate::error::Place {
                    source: source.clone(),
                    pos: error.pos,
                    function: "<module>".into(),
                    frame: 0,
                };
                return result.map_err(|unwind| unwind.at(place, 0));
            }
        };
        if let doc @ Value::Str(_) = code.doc() {
            module.set("__doc__", doc);
        }
        let mut frame = self.frame(code.clone(), None, module.clone());
        module.is_loading.set(true);
        let result = self.deeper(|i| i.block(&mut frame, &code.body));
        module.is_loading.set(false);
        result.map(drop)
    }

    /// A module, also a refused one; nothing if it is not found.
    ///
    /// # Errors
    /// What its body raises.
    pub(crate) fn known_module(&mut self, name: &str) -> R<Option<Value>> {
        let root = name.split('.').next().unwrap_or("");
        if REFUSED.contains(&root) && !self.bundled.contains_key(name) {
            return Ok(Some(refused_module(name)));
        }
        Ok(self.find_module(name)?.map(Value::Module))
    }

    /// A module that must be there for the program, or the absent one.
    fn import_module(&mut self, frame: &Frame, name: &str) -> R<Value> {
        match self.known_module(name)? {
            Some(module) => Ok(module),
            None => self.absent(frame, name),
        }
    }

    fn absent(&mut self, frame: &Frame, name: &str) -> R<Value> {
        if frame.guarded > 0 {
            return self.raise("ModuleNotFoundError", format!("No module named '{name}'"));
        }
        Ok(Value::Host(Rc::new(Absent(name.into()))))
    }

    pub(crate) fn import_statement(&mut self, frame: &mut Frame, names: &[(Name, Option<Name>)]) -> R<()> {
        for (name, alias) in names {
            let module = self.import_module(frame, name)?;
            match alias {
                Some(alias) => self.store(frame, alias, module),
                None => {
                    let root: Name = name.split('.').next().unwrap_or("").into();
                    let value = match self.modules.get(&*root) {
                        Some(root) => Value::Module(root.clone()),
                        None => module,
                    };
                    self.store(frame, &root, value);
                }
            }
        }
        Ok(())
    }

    /// The absolute name of a relative import.
    fn absolute(&self, frame: &Frame, module: &str, level: usize) -> R<String> {
        if level == 0 {
            return Ok(module.to_string());
        }
        let package = match frame.globals.dict.borrow().get("__package__") {
            Some(Value::Str(package)) => package.to_string(),
            _ => String::new(),
        };
        let mut parts: Vec<&str> = package.split('.').filter(|p| !p.is_empty()).collect();
        if level > parts.len() {
            return self.raise("ImportError", "attempted relative import beyond top-level package");
        }
        parts.truncate(parts.len() + 1 - level);
        if !module.is_empty() {
            parts.push(module);
        }
        Ok(parts.join("."))
    }

    pub(crate) fn import_from(
        &mut self,
        frame: &mut Frame,
        module: &str,
        level: usize,
        names: &[(Name, Option<Name>)],
    ) -> R<()> {
        let absolute = self.absolute(frame, module, level)?;
        let module = self.import_module(frame, &absolute)?;
        if names.is_empty() {
            return self.import_all(frame, &module);
        }
        for (name, alias) in names {
            let is_absent = matches!(&module, Value::Host(host) if host.as_any().is::<Absent>());
            let may_lack = matches!(&module, Value::Module(module) if self.may_lack(module));
            let mut found = if is_absent { None } else { self.imported_name(&module, name)? };
            if let (None, Value::Module(package)) = (&found, &module) {
                let submodule = format!("{}.{name}", package.name);
                found = self.find_module(&submodule)?.map(Value::Module);
            }
            let value = match found {
                Some(value) => value,
                None if frame.guarded == 0
                    && (is_absent || may_lack || self.is_compiled(&format!("{absolute}.{name}"))) =>
                {
                    self.absent(frame, &format!("{absolute}.{name}"))?
                }
                None => {
                    let partly = match &module {
                        Value::Module(m) if m.is_loading.get() => "partially initialized module ",
                        _ => "",
                    };
                    let message = format!("cannot import name '{name}' from {partly}'{absolute}'");
                    return self.raise("ImportError", message);
                }
            };
            self.store(frame, alias.as_ref().unwrap_or(name), value);
        }
        Ok(())
    }

    /// An attribute of a module; nothing if it says that there is none.
    fn imported_name(&mut self, module: &Value, name: &Name) -> R<Option<Value>> {
        let result = self.get_attr(module, name);
        // What fails while `__getattr__` looks for the name is not that there is none.
        if let Err(Unwind::Raised(raised)) = &result
            && !self.str(&raised.value)?.contains(&**name)
        {
            return result.map(Some);
        }
        let found = self.unless(result, "AttributeError")?;
        match found {
            // Handed on as it is: it raises where it is read.
            Some(Value::Host(host)) if host.unavailable().is_some() => Ok(Some(Value::Host(host))),
            found => found.map(|value| self.usable(value)).transpose(),
        }
    }

    /// Whether a module may lack names that the real one has: it comes with the interpreter or its host, or took the
    /// names of a module that is absent.
    pub(crate) fn may_lack(&self, module: &Module) -> bool {
        module.is_partial.get() || self.bundled.contains_key(&*module.name)
    }

    fn is_compiled(&self, name: &str) -> bool {
        is_dotted(name) && self.loader.is_compiled(name)
    }

    fn import_all(&mut self, frame: &mut Frame, module: &Value) -> R<()> {
        let Value::Module(from) = module else {
            frame.globals.is_partial.set(true);
            return Ok(());
        };
        frame.globals.is_partial.set(frame.globals.is_partial.get() || from.is_partial.get());
        let all = from.dict.borrow().get("__all__").cloned();
        let names: Vec<Name> = match all {
            Some(all) => self.collect(&all)?.iter().filter_map(|v| self.text(v).ok()).collect(),
            None => from.dict.borrow().keys().filter(|name| !name.starts_with('_')).cloned().collect(),
        };
        for name in names {
            let value = self.get_attr(module, &name)?;
            self.store(frame, &name, value);
        }
        Ok(())
    }
}

/// Whether a text is a name that an `import` could have: a loader makes paths of it.
fn is_dotted(name: &str) -> bool {
    name.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// A module whose every attribute stops the program when it is called.
pub(crate) fn refused_module(name: &str) -> Value {
    Value::Host(Rc::new(RefusedModule(name.into())))
}

struct RefusedModule(Name);

impl Host for RefusedModule {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.module.clone()
    }

    fn get_attr(&self, interp: &mut Interp, _: &Value, name: &str) -> R<Option<Value>> {
        Ok(match name {
            "__mro_entries__" => Some(Value::native(name, |_, _| Ok(Value::tuple([])))),
            "__instancecheck__" | "__subclasscheck__" => Some(Value::native(name, |_, _| Ok(Value::Bool(false)))),
            _ if name.starts_with("__") => {
                let _ = interp;
                None
            }
            _ => Some(refused_module(&format!("{}.{name}", self.0))),
        })
    }

    fn call(&self, interp: &mut Interp, _: Args) -> R<Option<Value>> {
        interp.refuse(&self.0)
    }

    fn get_item(&self, _: &mut Interp, this: &Value, _: &Value) -> R<Option<Value>> {
        Ok(Some(this.clone()))
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok(format!("<refused module '{}'>", self.0))
    }
}
