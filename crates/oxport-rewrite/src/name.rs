//! Names of operators, stored once for the life of the process.
//!
//! Law: equal names are one, so they are compared and hashed by their numbers; ordered they are by what they say, since
//! numbers depend on what else the process did. Only what makes a name takes a lock: the search orders terms all the
//! time.

use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex};

/// A name.
#[derive(Clone, Copy)]
pub struct Name(&'static Entry);

struct Entry {
    text: &'static str,
    number: u32,
}

static NAMES: LazyLock<Mutex<FxHashMap<&'static str, Name>>> = LazyLock::new(Mutex::default);

impl Name {
    /// What it says.
    pub fn as_str(self) -> &'static str {
        self.0.text
    }
    /// Its number in this process.
    pub(crate) fn number(self) -> u32 {
        self.0.number
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        let mut names = NAMES.lock().expect("law: no panic while the lock is held");
        if let Some(&name) = names.get(text) {
            return name;
        }
        let text: &str = Box::leak(text.into());
        let number = u32::try_from(names.len()).expect("law: there are fewer names than fit the memory");
        let name = Name(Box::leak(Box::new(Entry { text, number })));
        names.insert(text, name);
        name
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::from(text.as_str())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0.number);
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        if self == other { Ordering::Equal } else { self.0.text.cmp(other.0.text) }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text.fmt(f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text)
    }
}
