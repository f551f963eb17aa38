//! Native parts of `importlib`: what the loader and the bundled modules have.

use crate::interp::Interp;
use crate::value::{Module, Value};
use std::rc::Rc;

/// `_find(name)`, `_is_found(name)`, `_source(name)`, `_version(distribution)`, `_submodules(package)`.
pub(super) fn install(_: &mut Interp, module: &Rc<Module>) {
    module.set(
        "_find",
        Value::native("import_module", |i, a| {
            let name = i.text(&a.at(i, "import_module", 0)?)?;
            match i.known_module(&name)? {
                Some(module) => Ok(module),
                None => i.raise("ModuleNotFoundError", format!("No module named '{name}'")),
            }
        }),
    );
    module.set(
        "_is_found",
        Value::native("find_spec", |i, a| {
            let name = i.text(&a.at(i, "find_spec", 0)?)?;
            Ok(Value::Bool(i.has_module(&name)))
        }),
    );
    module.set(
        "_source",
        Value::native("getsource", |i, a| {
            let name = i.text(&a.at(i, "getsource", 0)?)?;
            match i.source_of(&name) {
                Some(source) => i.new_str(source.text),
                None => i.raise("OSError", "could not get source code"),
            }
        }),
    );
    module.set(
        "_version",
        Value::native("version", |i, a| {
            let name = i.text(&a.at(i, "version", 0)?)?;
            let known = i.has_module(&name.replace('-', "_"));
            let version = i.loader.clone().version(&name).filter(|_| known);
            Ok(version.map_or(Value::None, |version| Value::str(&version)))
        }),
    );
    module.set(
        "_submodules",
        Value::native("iter_modules", |i, a| {
            let package = i.text(&a.at(i, "iter_modules", 0)?)?;
            let names = i.submodules(&package);
            Ok(Value::list(names.iter().map(|name| Value::str(name)).collect()))
        }),
    );
}
