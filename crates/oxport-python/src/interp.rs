//! The state of an interpreter: limits, built-in types, modules.
//!
//! Invariants: the program has no file, network, process or clock, except by the [`Loader`]; each statement, call and
//! iteration is a step; what is allocated is counted, and never counted back, so that the memory limit bounds what
//! lives.

use crate::error::{R, StopKind, Unwind};
use crate::syntax::tree::{Code, Pos, Source};
use crate::value::{Class, ClassCell, Module, Name, Scope, Value};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// The bounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Statements, calls and iterations, but for those of the bodies of bundled modules.
    pub steps: u64,
    /// Bytes allocated in the course of the run.
    pub memory: usize,
    /// Calls within calls.
    pub recursion: usize,
}

impl Limits {
    /// The limits if none are given.
    pub const DEFAULT: Limits = Limits { steps: 100_000_000, memory: 4 << 30, recursion: 1000 };
}

/// Finds the sources of modules.
pub trait Loader {
    /// The source of a module by its dotted name, and whether it is a package.
    fn load(&self, module: &str) -> Option<(Source, bool)>;
    /// The version of an installed distribution; nothing if it is not known.
    fn version(&self, _distribution: &str) -> Option<String> {
        None
    }
    /// The names of the modules in a package, in order.
    fn submodules(&self, _package: &str) -> Vec<String> {
        Vec::new()
    }
    /// Whether there is a module of this dotted name whose code is compiled, and no source of it.
    fn is_compiled(&self, _module: &str) -> bool {
        false
    }
}

/// A loader without modules.
pub struct NoModules;

impl Loader for NoModules {
    fn load(&self, _: &str) -> Option<(Source, bool)> {
        None
    }
}

/// A module that comes with the interpreter or its host: natively, as source, or both (the source then runs in the
/// native module).
#[derive(Clone, Copy)]
pub struct Bundled {
    /// Adds native attributes.
    pub native: Option<fn(&mut Interp, &Rc<Module>)>,
    /// The source.
    pub source: Option<&'static str>,
    /// Whether the loader finds further modules of the package.
    pub is_open: bool,
}

/// A call of a function, or the body of a module or class, while it runs.
pub struct Frame {
    /// The code.
    pub code: Rc<Code>,
    /// The variables; a module's are its attributes.
    pub scope: Option<Rc<Scope>>,
    /// The module.
    pub globals: Rc<Module>,
    /// The class that `super()` means.
    pub class_cell: Option<ClassCell>,
    /// What is evaluated.
    pub pos: Pos,
    /// The number of the call.
    pub id: u64,
    /// The `try` statements with handlers around what runs.
    pub guarded: usize,
    /// The `finally` blocks that are still to run, and may read the variables after a `return`.
    pub finals: usize,
}

/// Nested evaluations: bounds the native stack.
const MAX_DEPTH: usize = 12_000;

/// The stack that [`Interp`] needs at its recursion limit.
pub const STACK: usize = 1 << 30;

macro_rules! types {
    ($root:ident; $($field:ident $name:literal $base:ident,)*) => {
        /// The classes of the built-in types.
        #[allow(missing_docs)]
        pub struct Types { pub $root: Rc<Class>, $(pub $field: Rc<Class>,)* }

        impl Types {
            fn new() -> Types {
                let $root = Types::class("object", &[]);
                $(let $field = Types::class($name, &[&$base]);)*
                Types { $root, $($field,)* }
            }

            /// All of them with their names.
            pub fn all(&self) -> Vec<&Rc<Class>> {
                vec![&self.$root, $(&self.$field,)*]
            }
        }
    };
}

types! {
    object;
    type_ "type" object,
    none "NoneType" object,
    not_implemented "NotImplementedType" object,
    ellipsis "ellipsis" object,
    int "int" object,
    bool "bool" int,
    float "float" object,
    complex "complex" object,
    str "str" object,
    bytes "bytes" object,
    bytearray "bytearray" object,
    memoryview "memoryview" object,
    tuple "tuple" object,
    list "list" object,
    dict "dict" object,
    set "set" object,
    frozenset "frozenset" object,
    slice "slice" object,
    range "range" object,
    function "function" object,
    builtin "builtin_function_or_method" object,
    method "method" object,
    module "module" object,
    iterator "iterator" object,
    generator "generator" iterator,
    property "property" object,
    staticmethod "staticmethod" object,
    classmethod "classmethod" object,
    super_ "super" object,
}

impl Types {
    fn class(name: &str, bases: &[&Rc<Class>]) -> Rc<Class> {
        let bases: Vec<Rc<Class>> = bases.iter().map(|&b| b.clone()).collect();
        let ancestors = bases.iter().flat_map(|b| b.mro().cloned()).collect();
        let dict = crate::journal::Slot::default();
        Rc::new(Class { name: name.into(), module: "builtins".into(), bases, ancestors, dict, metaclass: None })
    }
}

/// An interpreter.
pub struct Interp {
    /// The bounds.
    pub limits: Limits,
    /// The built-in types.
    pub types: Types,
    /// The built-in names.
    pub builtins: Rc<Module>,
    /// The modules that were imported.
    pub modules: HashMap<String, Rc<Module>>,
    /// What `print` printed.
    pub output: String,
    /// What the host keeps with the interpreter.
    pub host: Option<Rc<dyn std::any::Any>>,
    /// The calls that run, outermost first, for stack traces.
    pub places: Vec<crate::error::Place>,
    /// The exceptions being handled, innermost last.
    pub handled: Vec<Value>,
    /// The `try` statements with handlers around what runs, in all calls.
    pub(crate) guarded: usize,
    pub(crate) bundled: HashMap<String, Bundled>,
    /// The classes that the program made, in order.
    pub(crate) classes: Vec<Weak<Class>>,
    pub(crate) loader: Rc<dyn Loader>,
    pub(crate) frames: u64,
    pub(crate) calls: usize,
    pub(crate) reprs: Vec<usize>,
    pub(crate) steps: u64,
    allocated: usize,
    depth: usize,
}

impl Interp {
    /// An interpreter with the built-in names and the standard library's modules.
    pub fn new(limits: Limits, loader: Rc<dyn Loader>) -> Interp {
        let mut interp = Interp {
            limits,
            types: Types::new(),
            builtins: Module::new("builtins"),
            modules: HashMap::new(),
            output: String::new(),
            host: None,
            places: Vec::new(),
            handled: Vec::new(),
            guarded: 0,
            bundled: HashMap::new(),
            classes: Vec::new(),
            loader,
            frames: 0,
            calls: 0,
            reprs: Vec::new(),
            steps: 0,
            allocated: 0,
            depth: 0,
        };
        crate::builtins::install(&mut interp);
        crate::stdlib::install(&mut interp);
        crate::packages::install(&mut interp);
        interp
    }

    /// Adds a module of the host.
    pub fn bundle(&mut self, name: &str, module: Bundled) {
        self.bundled.insert(name.to_string(), module);
    }

    /// Counts a step.
    ///
    /// # Errors
    /// If the limit is reached.
    pub fn tick(&mut self) -> R<()> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return self.stop(StopKind::Limit, format!("more than {} steps (`steps`)", self.limits.steps));
        }
        Ok(())
    }

    /// Counts bytes before they are allocated.
    ///
    /// # Errors
    /// If the limit is reached.
    pub fn charge(&mut self, bytes: usize) -> R<()> {
        self.allocated = self.allocated.saturating_add(bytes);
        if self.allocated > self.limits.memory {
            return self.stop(StopKind::Limit, format!("more than {} bytes allocated (`memory`)", self.limits.memory));
        }
        Ok(())
    }

    /// Evaluates one level deeper.
    ///
    /// # Errors
    /// A `RecursionError` if that is too deep.
    pub fn deeper<T>(&mut self, f: impl FnOnce(&mut Interp) -> R<T>) -> R<T> {
        if self.depth >= MAX_DEPTH {
            return self.raise("RecursionError", "maximum recursion depth exceeded");
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// A string value.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn new_str(&mut self, text: impl AsRef<str>) -> R<Value> {
        let text = text.as_ref();
        if text.len() > 64 {
            self.charge(text.len())?;
        }
        Ok(Value::str(text))
    }

    /// A list value.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn new_list(&mut self, items: Vec<Value>) -> R<Value> {
        self.charge(64 + 16 * items.len())?;
        Ok(Value::list(items))
    }

    /// A tuple value.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn new_tuple(&mut self, items: Vec<Value>) -> R<Value> {
        self.charge(32 + 16 * items.len())?;
        Ok(Value::tuple(items))
    }

    /// The class of a value: `type(value)`.
    pub fn class_of(&self, value: &Value) -> Rc<Class> {
        let types = &self.types;
        match value {
            Value::None => &types.none,
            Value::NotImplemented => &types.not_implemented,
            Value::Ellipsis => &types.ellipsis,
            Value::Bool(_) => &types.bool,
            Value::Int(_) | Value::Big(_) => &types.int,
            Value::Float(_) => &types.float,
            Value::Complex(..) => &types.complex,
            Value::Str(_) => &types.str,
            Value::Bytes(_) => &types.bytes,
            Value::Tuple(_) => &types.tuple,
            Value::List(_) => &types.list,
            Value::Dict(_) => &types.dict,
            Value::Set(_) => &types.set,
            Value::FrozenSet(_) => &types.frozenset,
            Value::Slice(_) => &types.slice,
            Value::Range(_) => &types.range,
            Value::Function(_) => &types.function,
            Value::Builtin(_) => &types.builtin,
            Value::Method(_) => &types.method,
            Value::Class(class) => return class.metaclass.clone().unwrap_or_else(|| types.type_.clone()),
            Value::Instance(instance) => return instance.class.borrow().clone(),
            Value::Module(_) => &types.module,
            Value::Iter(iter) => match iter.is_generator() {
                true => &types.generator,
                false => &types.iterator,
            },
            Value::Property(_) => &types.property,
            Value::StaticMethod(_) => &types.staticmethod,
            Value::ClassMethod(_) => &types.classmethod,
            Value::Super(_) => &types.super_,
            Value::Host(host) => return host.class(self),
        }
        .clone()
    }

    /// The name of a value's class.
    pub fn type_name(&self, value: &Value) -> Name {
        self.class_of(value).name.clone()
    }

    /// A frame for code, numbered.
    pub fn frame(&mut self, code: Rc<Code>, scope: Option<Rc<Scope>>, globals: Rc<Module>) -> Frame {
        self.frames += 1;
        let pos = code.pos;
        Frame { code, scope, globals, class_cell: None, pos, id: self.frames, guarded: 0, finals: 0 }
    }

    /// Marks an error with the place where the frame is.
    pub fn located(&self, frame: &Frame, unwind: Unwind) -> Unwind {
        let place = || crate::error::Place {
            source: frame.code.source.clone(),
            pos: frame.pos,
            function: frame.code.name.clone(),
            frame: frame.id,
        };
        unwind.at(place, frame.id)
    }
}
