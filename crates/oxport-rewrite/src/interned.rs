//! Kinds that are stored once, so that what is said of them is computed once.
//!
//! Law: equal kinds are one, so they are compared by their addresses.

use crate::kind::Kind;
use crate::name::Name;
use indexmap::{Equivalent, IndexMap};
use rustc_hash::{FxBuildHasher, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// A kind that is stored once.
#[derive(Clone, Debug)]
pub struct Interned(Rc<Kind>);

impl Deref for Interned {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.0
    }
}

impl fmt::Display for Interned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Interned {
    fn eq(&self, other: &Interned) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interned {}

impl Hash for Interned {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

/// The kinds that there are, for all e-graphs that share them.
#[derive(Clone, Default)]
pub(crate) struct Kinds(Rc<RefCell<FxHashSet<Rc<Kind>>>>);

impl Kinds {
    /// The one kind that is equal to this one.
    pub fn intern(&self, kind: Kind) -> Interned {
        let mut known = self.0.borrow_mut();
        let found = known.get(&kind).cloned();
        Interned(found.unwrap_or_else(|| {
            let kind = Rc::new(kind);
            known.insert(kind.clone());
            kind
        }))
    }
}

/// An operator, and the kinds of its arguments; of its result, too, where that is not computed.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub op: Name,
    pub kinds: Vec<Interned>,
}

/// A call that is looked up.
#[derive(Hash)]
pub(crate) struct CallRef<'a> {
    pub op: Name,
    pub kinds: SmallVec<[&'a Interned; 8]>,
}

impl Equivalent<Call> for CallRef<'_> {
    fn equivalent(&self, call: &Call) -> bool {
        self.op == call.op && self.kinds.iter().copied().eq(&call.kinds)
    }
}

/// Something that depends on the kinds of a call alone, for all who share it.
#[derive(Clone)]
pub(crate) struct PerCall<T>(Rc<RefCell<IndexMap<Call, T, FxBuildHasher>>>);

impl<T: Clone> PerCall<T> {
    /// Nothing is known yet.
    pub fn new() -> PerCall<T> {
        PerCall(Rc::default())
    }

    /// What is known of a call; else it is computed.
    pub fn of(&self, call: CallRef<'_>, compute: impl FnOnce(&CallRef<'_>) -> T) -> T {
        if let Some(known) = self.0.borrow().get(&call) {
            return known.clone();
        }
        let computed = compute(&call);
        let call = Call { op: call.op, kinds: call.kinds.into_iter().cloned().collect() };
        self.0.borrow_mut().insert(call, computed.clone());
        computed
    }
}
