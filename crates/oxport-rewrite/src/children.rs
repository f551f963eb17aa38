//! The children of a term, stored within it where they are few.
//!
//! Law: they are equal, ordered and hashed as the slice of their ids; copying a few of them allocates nothing.

use egg::Id;
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// How many are stored within a term: as many as nearly all calls have arguments.
const WITHIN: usize = 4;

/// The children of a term.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Children(SmallVec<[Id; WITHIN]>);

impl Clone for Children {
    fn clone(&self) -> Children {
        // `SmallVec::clone` copies one by one.
        Children(SmallVec::from_slice(&self.0))
    }
}

impl Hash for Children {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The search hashes terms more than anything else, so two at a time.
        let word = |id: Option<&Id>| id.map_or(0, |id| usize::from(*id) as u64);
        state.write_usize(self.len());
        self.chunks(2).for_each(|pair| state.write_u64(word(pair.first()) | word(pair.get(1)) << 32));
    }
}

impl Deref for Children {
    type Target = [Id];

    fn deref(&self) -> &[Id] {
        &self.0
    }
}

impl DerefMut for Children {
    fn deref_mut(&mut self) -> &mut [Id] {
        &mut self.0
    }
}

impl From<Vec<Id>> for Children {
    fn from(ids: Vec<Id>) -> Children {
        ids.into_iter().collect()
    }
}

impl<const N: usize> From<[Id; N]> for Children {
    fn from(ids: [Id; N]) -> Children {
        ids.into_iter().collect()
    }
}

impl FromIterator<Id> for Children {
    fn from_iter<T: IntoIterator<Item = Id>>(ids: T) -> Children {
        Children(ids.into_iter().collect())
    }
}

impl fmt::Debug for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
