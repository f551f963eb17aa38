//! The parts of the standard library that model code uses: some native, most as Python source of our own.

mod importlib;
mod math;
mod native;
mod regex;

use crate::interp::{Bundled, Interp};
use crate::value::Module;
use std::rc::Rc;

type Native = Option<fn(&mut Interp, &Rc<Module>)>;

/// The modules: name, native part, source.
const MODULES: &[(&str, Native, Option<&str>)] = &[
    ("abc", None, Some(include_str!("abc.py"))),
    ("argparse", None, Some(include_str!("argparse.py"))),
    ("bisect", None, Some(include_str!("bisect.py"))),
    ("builtins", Some(native::builtins), None),
    ("collections", None, Some(include_str!("collections.py"))),
    ("collections.abc", None, Some(include_str!("collections_abc.py"))),
    ("contextlib", None, Some(include_str!("contextlib.py"))),
    ("contextvars", None, Some(include_str!("contextvars.py"))),
    ("copy", None, Some(include_str!("copy.py"))),
    ("dataclasses", None, Some(include_str!("dataclasses.py"))),
    ("distutils", None, Some("")),
    ("distutils.version", None, Some(include_str!("distutils_version.py"))),
    ("enum", None, Some(include_str!("enum.py"))),
    ("functools", None, Some(include_str!("functools.py"))),
    ("heapq", None, Some(include_str!("heapq.py"))),
    ("importlib", Some(importlib::install), Some(include_str!("importlib.py"))),
    ("importlib.machinery", None, Some(include_str!("importlib_machinery.py"))),
    ("importlib.metadata", None, Some(include_str!("importlib_metadata.py"))),
    ("importlib.util", None, Some(include_str!("importlib_util.py"))),
    ("inspect", Some(native::inspect), Some(include_str!("inspect.py"))),
    ("itertools", None, Some(include_str!("itertools.py"))),
    ("json", None, Some(include_str!("json.py"))),
    ("keyword", None, Some(include_str!("keyword.py"))),
    ("logging", None, Some(include_str!("logging.py"))),
    ("math", Some(math::install), None),
    ("numbers", None, Some(include_str!("numbers.py"))),
    ("operator", None, Some(include_str!("operator.py"))),
    ("os", Some(native::os), None),
    ("os.path", Some(native::os_path), None),
    ("pathlib", Some(native::others_refused), Some(include_str!("pathlib.py"))),
    ("pkgutil", None, Some(include_str!("pkgutil.py"))),
    ("platform", None, Some(include_str!("platform.py"))),
    ("random", None, Some(include_str!("random.py"))),
    ("re", Some(regex::install), None),
    ("shutil", Some(native::others_refused), Some(include_str!("shutil.py"))),
    (
        "string",
        None,
        Some(
            "ascii_lowercase = 'abcdefghijklmnopqrstuvwxyz'\nascii_uppercase = ascii_lowercase.upper()\n\
        ascii_letters = ascii_lowercase + ascii_uppercase\ndigits = '0123456789'\n\
        punctuation = '!\"#$%&\\'()*+,-./:;<=>?@[\\\\]^_`{|}~'\nwhitespace = ' \\t\\n\\r\\x0b\\x0c'\n",
        ),
    ),
    ("sys", Some(native::sys), Some(include_str!("sys.py"))),
    ("textwrap", None, Some(include_str!("textwrap.py"))),
    ("time", None, Some(include_str!("time.py"))),
    ("threading", None, Some(include_str!("threading.py"))),
    ("__future__", None, Some("annotations = division = print_function = absolute_import = None\n")),
    ("traceback", None, Some(include_str!("traceback.py"))),
    ("types", Some(native::types), Some(include_str!("types.py"))),
    ("typing", None, Some(include_str!("typing.py"))),
    ("typing_extensions", None, Some("from typing import *\nfrom typing import __getattr__\n")),
    ("urllib", Some(native::others_refused), None),
    ("urllib.parse", None, Some(include_str!("urllib_parse.py"))),
    ("warnings", None, Some(include_str!("warnings.py"))),
    ("weakref", None, Some(include_str!("weakref.py"))),
];

/// Adds the modules.
pub(crate) fn install(interp: &mut Interp) {
    for &(name, native, source) in MODULES {
        interp.bundle(name, Bundled { native, source, is_open: false });
    }
}
