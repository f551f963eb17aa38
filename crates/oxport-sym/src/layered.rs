//! A map with cheap clones: clones share their common entries.
//!
//! Invariant: a clone copies at most [`MAX_OVERLAY`] entries, now or when it is first written to; so does a write,
//! unless the map has clones and [`MAX_OVERLAY`] others were written since the last of them.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An ordered map; entries are never taken out.
#[derive(Clone, Debug)]
pub(crate) struct Layered<K, V> {
    /// The shared entries.
    base: Arc<BTreeMap<K, V>>,
    /// Entries written since, overriding the base.
    top: Arc<BTreeMap<K, V>>,
}

/// The most entries of the upper layer.
const MAX_OVERLAY: usize = 64;

impl<K, V> Default for Layered<K, V> {
    fn default() -> Layered<K, V> {
        Layered { base: Arc::default(), top: Arc::default() }
    }
}

impl<K: Ord + Clone, V: Clone> Layered<K, V> {
    /// The value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        // Most maps have one layer.
        let written = if self.top.is_empty() { None } else { self.top.get(key) };
        written.or_else(|| self.base.get(key))
    }

    /// True if there is no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.base.is_empty() && self.top.is_empty()
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(base) = Arc::get_mut(&mut self.base).filter(|_| self.top.is_empty()) {
            base.insert(key, value);
            return;
        }
        let top = Arc::make_mut(&mut self.top);
        top.insert(key, value);
        if top.len() > MAX_OVERLAY {
            Arc::make_mut(&mut self.base).append(top);
        }
    }

    /// All entries in the order of keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (mut base, mut top) = (self.base.iter().peekable(), self.top.iter().peekable());
        std::iter::from_fn(move || match (base.peek(), top.peek()) {
            (Some((a, _)), Some((b, _))) if a < b => base.next(),
            (Some((a, _)), Some((b, _))) if a == b => {
                base.next();
                top.next()
            }
            (_, Some(_)) => top.next(),
            (_, None) => base.next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_independent() {
        let mut first = Layered::default();
        let mut plain = BTreeMap::new();
        for n in 0..1000 {
            first.insert(n * 7 % 1000, n);
            plain.insert(n * 7 % 1000, n);
        }
        let (kept, before) = (first.clone(), plain.clone());
        for n in 0..200 {
            first.insert(n * 13, -n);
            plain.insert(n * 13, -n);
            assert!(first.top.len() <= MAX_OVERLAY);
            assert_eq!(first.get(&(n * 13)), Some(&-n));
            assert!(first.iter().eq(plain.iter()));
        }
        assert!(kept.iter().eq(before.iter()));
    }

    /// What costs time is copied entries; a clone that is written to once copies none of the base.
    #[test]
    fn a_clone_shares_what_was_there() {
        let mut map = Layered::default();
        (0..10_000).for_each(|n| map.insert(n, n));
        let mut clone = map.clone();
        clone.insert(3, 0);
        assert!(Arc::ptr_eq(&map.base, &clone.base));
        assert_eq!((map.get(&3), clone.get(&3)), (Some(&3), Some(&0)));
    }
}
