//! The mutable cells of an interpreted program's heap, and the journal of what a branch changes in them.
//!
//! To keep both sides of a branch on data, the interpreter runs one, takes its changes back, runs the other, and joins.
//! Laws: everything that a program can change lies in a [`Slot`]; while a journal is open, the first change of a slot
//! that is older than the journal notes its content; [`end`] restores all that was noted, in the heap as it was. A slot
//! that was made since is not noted: nobody outside can know it. Journals nest.

use crate::dict::DictMap;
use crate::torch::tensor::Kind;
use crate::value::{Class, Namespace, Value};
use indexmap::IndexMap;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;

thread_local! {
    /// The open journals, outermost first. An interpreter never leaves its thread.
    static OPEN: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
    /// How many journals were opened so far: the age of slots.
    static AGE: Cell<u64> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

struct Level {
    since: u64,
    noted: IndexMap<usize, Noted>,
}

struct Noted {
    cell: Handle,
    born: u64,
    before: Content,
}

/// A cell of the heap.
pub struct Slot<T> {
    cell: Rc<RefCell<T>>,
    born: u64,
}

/// What the content of a slot is, so that branches can be joined.
#[derive(Clone)]
pub enum Content {
    /// The variables of a scope, or attributes.
    Names(Namespace),
    /// A list.
    Items(Vec<Value>),
    /// A dict or set.
    Map(DictMap),
    /// A built-in value of an instance.
    Payload(Value),
    /// The class of an instance.
    Class(Rc<Class>),
    /// What a tensor is made of.
    Tensor(Kind),
}

/// Which cell it is.
#[derive(Clone)]
pub enum Handle {
    /// Of names.
    Names(Rc<RefCell<Namespace>>),
    /// Of items.
    Items(Rc<RefCell<Vec<Value>>>),
    /// Of a map.
    Map(Rc<RefCell<DictMap>>),
    /// Of a payload.
    Payload(Rc<RefCell<Value>>),
    /// Of a class.
    Class(Rc<RefCell<Rc<Class>>>),
    /// Of a tensor.
    Tensor(Rc<RefCell<Kind>>),
}

/// A type of content.
pub trait Held: Clone {
    /// The handle of a cell of it.
    fn handle(cell: &Rc<RefCell<Self>>) -> Handle;
}

macro_rules! held {
    ($($variant:ident $type:ty;)*) => {
        $(impl Held for $type {
            fn handle(cell: &Rc<RefCell<Self>>) -> Handle {
                Handle::$variant(cell.clone())
            }
        })*

        impl Handle {
            /// What the cell holds.
            pub fn content(&self) -> Content {
                match self {
                    $(Handle::$variant(cell) => Content::$variant(cell.borrow().clone()),)*
                }
            }

            /// The identity of the cell.
            pub fn address(&self) -> usize {
                match self {
                    $(Handle::$variant(cell) => Rc::as_ptr(cell).addr(),)*
                }
            }

            fn restore(&self, content: Content) {
                match (self, content) {
                    $((Handle::$variant(cell), Content::$variant(content)) => *cell.borrow_mut() = content,)*
                    _ => {}
                }
            }
        }
    };
}
held! {
    Names Namespace;
    Items Vec<Value>;
    Map DictMap;
    Payload Value;
    Class Rc<Class>;
    Tensor Kind;
}

impl<T: Held> Slot<T> {
    /// A cell.
    pub fn new(content: T) -> Slot<T> {
        Slot { cell: Rc::new(RefCell::new(content)), born: AGE.get() }
    }

    /// Reads.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.cell.borrow()
    }

    /// Writes, and notes it.
    pub fn borrow_mut(&self) -> RefMut<'_, T> {
        if DEPTH.get() > 0 {
            note(&T::handle(&self.cell), self.born);
        }
        self.cell.borrow_mut()
    }

    /// Writes what is no change that the program can see: a cached result.
    pub fn cache(&self, content: T) {
        *self.cell.borrow_mut() = content;
    }

    /// The identity of the cell.
    pub fn address(&self) -> usize {
        Rc::as_ptr(&self.cell).addr()
    }
}

impl<T: Held + Default> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot::new(T::default())
    }
}

fn note(cell: &Handle, born: u64) {
    OPEN.with_borrow_mut(|open| {
        if let Some(level) = open.last_mut().filter(|level| born < level.since) {
            let noted = || Noted { cell: cell.clone(), born, before: cell.content() };
            level.noted.entry(cell.address()).or_insert_with(noted);
        }
    });
}

/// The age of what is made now.
pub fn age() -> u64 {
    AGE.get()
}

/// Whether something of that age was there before the innermost open journal.
pub fn is_older(born: u64) -> bool {
    DEPTH.get() > 0 && OPEN.with_borrow(|open| open.last().is_some_and(|level| born < level.since))
}

/// A cell that was changed: what it held before and after.
pub struct Change {
    /// The cell.
    pub cell: Handle,
    born: u64,
    /// Its content when the journal was opened, to which it is restored.
    pub before: Content,
    /// Its content when the journal was closed.
    pub after: Content,
}

impl Change {
    /// Gives the cell another content: a change like any other.
    pub fn write(&self, content: Content) {
        note(&self.cell, self.born);
        self.cell.restore(content);
    }
}

/// Opens a journal.
pub fn begin() {
    AGE.set(AGE.get() + 1);
    DEPTH.set(DEPTH.get() + 1);
    OPEN.with_borrow_mut(|open| open.push(Level { since: AGE.get(), noted: IndexMap::new() }));
}

/// Closes the innermost journal: takes back what was changed since it was opened.
pub fn end() -> Vec<Change> {
    let Some(level) = OPEN.with_borrow_mut(Vec::pop) else { return Vec::new() };
    DEPTH.set(DEPTH.get() - 1);
    // What is made from now on is not of the closed journal.
    AGE.set(AGE.get() + 1);
    let close = |Noted { cell, born, before }: Noted| {
        let after = cell.content();
        cell.restore(before.clone());
        Change { cell, born, before, after }
    };
    level.noted.into_values().map(close).collect()
}

/// How often the open journals mention a container.
pub fn mentions(value: &Value) -> usize {
    let is_it = |other: &&Value| other.is(value);
    let within = |content: &Content| match content {
        Content::Names(names) => names.values().filter(is_it).count(),
        Content::Items(items) => items.iter().filter(is_it).count(),
        Content::Map(map) => map.iter().map(|(_, v)| v).filter(is_it).count(),
        Content::Payload(payload) => usize::from(payload.is(value)),
        Content::Class(_) | Content::Tensor(_) => 0,
    };
    OPEN.with_borrow(|open| open.iter().flat_map(|level| level.noted.values()).map(|noted| within(&noted.before)).sum())
}
