//! The values of an interpreted program.
//!
//! Invariants: an int that fits `i64` is `Int`, never `Big`; strings are shared with names; an instance of a class that
//! derives from a built-in one has the built-in value as its payload.

use crate::dict::DictMap;
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::iter::Iter;
use crate::journal::Slot;
use crate::syntax::tree::Code;
use indexmap::IndexMap;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::cell::{Cell, RefCell};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// A name or string.
pub type Name = Rc<str>;

/// FNV-1a: names are short, and a program cannot profit from collisions, as its steps are bounded.
#[derive(Clone, Copy)]
pub struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Names and their values, in order of definition.
pub type Namespace = IndexMap<Name, Value, BuildHasherDefault<NameHasher>>;

/// A value.
#[derive(Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `NotImplemented`.
    NotImplemented,
    /// `...`.
    Ellipsis,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// An int beyond 64 bits.
    Big(Rc<BigInt>),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// A string.
    Str(Name),
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// A tuple.
    Tuple(Rc<[Value]>),
    /// A list.
    List(Rc<Slot<Vec<Value>>>),
    /// A dict.
    Dict(Rc<Slot<DictMap>>),
    /// A set.
    Set(Rc<Slot<DictMap>>),
    /// A frozenset.
    FrozenSet(Rc<Slot<DictMap>>),
    /// A slice.
    Slice(Rc<[Value; 3]>),
    /// A range.
    Range(Rc<Range>),
    /// A function of the program.
    Function(Rc<Function>),
    /// A native function.
    Builtin(Rc<Builtin>),
    /// A function with its first argument.
    Method(Rc<Method>),
    /// A class.
    Class(Rc<Class>),
    /// An instance of a class of the program.
    Instance(Rc<Instance>),
    /// A module.
    Module(Rc<Module>),
    /// An iterator or generator.
    Iter(Rc<Iter>),
    /// A property.
    Property(Rc<Property>),
    /// A static method.
    StaticMethod(Rc<Value>),
    /// A class method.
    ClassMethod(Rc<Value>),
    /// `super()`: the class after which to look, and the instance or class.
    Super(Rc<(Rc<Class>, Value)>),
    /// An object of the host.
    Host(Rc<dyn Host>),
}

/// `range(start, stop, step)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub start: i64,
    /// The bound.
    pub stop: i64,
    /// The difference, not 0.
    pub step: i64,
}

impl Range {
    /// The count of elements.
    pub fn len(&self) -> usize {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let n = if step > 0 {
            (stop - start + step - 1).div_euclid(step)
        } else {
            (start - stop - step - 1).div_euclid(-step)
        };
        usize::try_from(n.max(0)).unwrap_or(usize::MAX)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, index: usize) -> i64 {
        self.start.wrapping_add((index as i64).wrapping_mul(self.step))
    }
}

/// The variables of a call, class body or comprehension, and the scope around it.
pub struct Scope {
    /// The variables.
    pub vars: Slot<Namespace>,
    /// The function's scope around this one; a class's is passed over.
    pub parent: Option<Rc<Scope>>,
    /// The code, which knows the names that are bound.
    pub code: Rc<Code>,
}

/// A class that is being defined: what `super()` in its methods means.
pub type ClassCell = Rc<RefCell<Option<Rc<Class>>>>;

/// A function of the program.
pub struct Function {
    /// The code.
    pub code: Rc<Code>,
    /// The values of the defaults, by parameter.
    pub defaults: Vec<Option<Value>>,
    /// The scope where it was defined, if that was a function's.
    pub closure: Option<Rc<Scope>>,
    /// The module.
    pub globals: Rc<Module>,
    /// The class in whose body it was defined.
    pub class_cell: Option<ClassCell>,
    /// Attributes: `__name__`, `__doc__` and the program's own.
    pub dict: Slot<Namespace>,
}

/// What a native function is called with.
#[derive(Clone, Default)]
pub struct Args {
    /// By position.
    pub pos: Vec<Value>,
    /// By name.
    pub kw: Vec<(Name, Value)>,
}

impl Args {
    /// Arguments by position only.
    pub fn of(pos: impl Into<Vec<Value>>) -> Args {
        Args { pos: pos.into(), kw: Vec::new() }
    }

    /// Takes a keyword argument.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.kw.iter().position(|(n, _)| &**n == name)?;
        Some(self.kw.remove(at).1)
    }
}

/// The body of a native function.
pub type NativeFn = Rc<dyn Fn(&mut Interp, Args) -> R<Value>>;

/// A native function.
pub struct Builtin {
    /// The name.
    pub name: Name,
    /// The body.
    pub body: NativeFn,
    /// Whether it takes the instance as its first argument when found in a class.
    pub binds: bool,
}

/// A callable and its first argument.
pub struct Method {
    /// The first argument.
    pub this: Value,
    /// The callable.
    pub function: Value,
}

/// A class.
pub struct Class {
    /// The name.
    pub name: Name,
    /// The module's name.
    pub module: Name,
    /// The bases.
    pub bases: Vec<Rc<Class>>,
    /// The method resolution order after the class itself.
    pub ancestors: Vec<Rc<Class>>,
    /// The attributes.
    pub dict: Slot<Namespace>,
    /// The metaclass, if it is not `type`.
    pub metaclass: Option<Rc<Class>>,
}

/// An instance of a class of the program.
pub struct Instance {
    /// The class.
    pub class: Slot<Rc<Class>>,
    /// The attributes.
    pub dict: Slot<Namespace>,
    /// The built-in value, if the class derives from a built-in one.
    pub payload: Slot<Value>,
}

/// A module.
pub struct Module {
    /// The dotted name.
    pub name: Name,
    /// The attributes.
    pub dict: Slot<Namespace>,
    /// Attributes that are made when they are first asked for.
    pub fallback: RefCell<Option<NativeFn>>,
    /// Whether its body is still running.
    pub is_loading: Cell<bool>,
    /// Whether it took all names of a module that is absent, so that nobody knows which it has.
    pub is_partial: Cell<bool>,
}

/// A property.
#[derive(Clone)]
pub struct Property {
    /// Reads.
    pub get: Value,
    /// Writes.
    pub set: Value,
    /// Deletes.
    pub delete: Value,
}

impl Value {
    /// A string.
    pub fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    /// A tuple.
    pub fn tuple(items: impl Into<Vec<Value>>) -> Value {
        Value::Tuple(Rc::from(items.into()))
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(Slot::new(items)))
    }

    /// A dict.
    pub fn dict(map: DictMap) -> Value {
        Value::Dict(Rc::new(Slot::new(map)))
    }

    /// A set.
    pub fn set(map: DictMap) -> Value {
        Value::Set(Rc::new(Slot::new(map)))
    }

    /// An int.
    pub fn from_big(n: BigInt) -> Value {
        match n.to_i64() {
            Some(n) => Value::Int(n),
            None => Value::Big(Rc::new(n)),
        }
    }

    /// A size or count.
    pub fn from_len(n: usize) -> Value {
        Value::from_big(BigInt::from(n))
    }

    /// A native function that takes no instance.
    pub fn native(name: &str, body: impl Fn(&mut Interp, Args) -> R<Value> + 'static) -> Value {
        Value::Builtin(Rc::new(Builtin { name: name.into(), body: Rc::new(body), binds: false }))
    }

    /// A native method, which takes the instance as its first argument.
    pub fn native_method(name: &str, body: impl Fn(&mut Interp, Args) -> R<Value> + 'static) -> Value {
        Value::Builtin(Rc::new(Builtin { name: name.into(), body: Rc::new(body), binds: true }))
    }

    /// The built-in value of an instance that has one; else the value.
    pub fn plain(&self) -> Value {
        match self {
            Value::Instance(i) => match &*i.payload.borrow() {
                Value::None => self.clone(),
                payload => payload.clone(),
            },
            _ => self.clone(),
        }
    }

    /// Whether both are the same object (`is`).
    pub fn is(&self, other: &Value) -> bool {
        use Value::*;
        match (self, other) {
            (None, None) | (NotImplemented, NotImplemented) | (Ellipsis, Ellipsis) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (Big(a), Big(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
            (Complex(a, b), Complex(c, d)) => (a.to_bits(), b.to_bits()) == (c.to_bits(), d.to_bits()),
            (Str(a), Str(b)) => a == b,
            (Tuple(a), Tuple(b)) => Rc::ptr_eq(a, b) || (a.is_empty() && b.is_empty()),
            _ => self.address().is_some_and(|a| other.address() == Some(a)),
        }
    }

    /// The address of a value on the heap: its identity.
    pub fn address(&self) -> Option<usize> {
        fn of<T: ?Sized>(rc: &Rc<T>) -> Option<usize> {
            Some(Rc::as_ptr(rc).cast::<u8>().addr())
        }
        match self {
            Value::None | Value::NotImplemented | Value::Ellipsis | Value::Bool(_) | Value::Int(_) => None,
            Value::Float(_) | Value::Complex(..) => None,
            Value::Big(v) => of(v),
            Value::Str(v) => of(v),
            Value::Bytes(v) => of(v),
            Value::Tuple(v) => of(v),
            Value::List(v) => of(v),
            Value::Dict(v) | Value::Set(v) | Value::FrozenSet(v) => of(v),
            Value::Slice(v) => of(v),
            Value::Range(v) => of(v),
            Value::Function(v) => of(v),
            Value::Builtin(v) => of(v),
            Value::Method(v) => of(v),
            Value::Class(v) => of(v),
            Value::Instance(v) => of(v),
            Value::Module(v) => of(v),
            Value::Iter(v) => of(v),
            Value::Property(v) => of(v),
            Value::StaticMethod(v) | Value::ClassMethod(v) => of(v),
            Value::Super(v) => of(v),
            Value::Host(v) => of(v),
        }
    }
}

impl Class {
    /// The class, then its ancestors, in resolution order.
    pub fn mro(self: &Rc<Class>) -> impl Iterator<Item = &Rc<Class>> {
        std::iter::once(self).chain(self.ancestors.iter())
    }

    /// An attribute of the class or an ancestor.
    pub fn lookup(self: &Rc<Class>, name: &str) -> Option<Value> {
        self.mro().find_map(|class| class.dict.borrow().get(name).cloned())
    }

    /// Whether this is a class or derives from it.
    pub fn is_subclass(self: &Rc<Class>, of: &Rc<Class>) -> bool {
        self.mro().any(|class| Rc::ptr_eq(class, of))
    }
}

impl Module {
    /// A module without attributes.
    pub fn new(name: &str) -> Rc<Module> {
        let module = Module {
            name: name.into(),
            dict: Slot::default(),
            fallback: RefCell::new(None),
            is_loading: Cell::new(false),
            is_partial: Cell::new(false),
        };
        module.dict.borrow_mut().insert("__name__".into(), Value::str(name));
        Rc::new(module)
    }

    /// Sets an attribute.
    pub fn set(&self, name: &str, value: Value) {
        self.dict.borrow_mut().insert(name.into(), value);
    }
}
