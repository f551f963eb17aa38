//! The map of dicts and sets: in order of insertion, with keys whose hash and equality the program may define.

use crate::error::R;
use crate::interp::Interp;
use crate::value::Value;
use hashbrown::HashTable;

/// Keys and values in order. The values of a set are `None`.
#[derive(Clone, Default)]
pub struct DictMap {
    /// The entries; removed ones leave a gap.
    entries: Vec<Option<(u64, Value, Value)>>,
    table: HashTable<usize>,
}

impl DictMap {
    /// The count of keys.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The entry at or after a slot, and the slot after it.
    pub fn next(&self, from: usize) -> Option<(usize, &Value, &Value)> {
        let offset = self.entries.get(from..)?.iter().position(Option::is_some)?;
        let (_, key, value) = self.entries[from + offset].as_ref()?;
        Some((from + offset + 1, key, value))
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> {
        self.entries.iter().flatten().map(|(_, k, v)| (k, v))
    }

    /// The keys.
    pub fn keys(&self) -> Vec<Value> {
        self.iter().map(|(k, _)| k.clone()).collect()
    }

    /// The values.
    pub fn values(&self) -> Vec<Value> {
        self.iter().map(|(_, v)| v.clone()).collect()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.clear();
    }

    /// Slots whose hash is the same.
    fn candidates(&self, hash: u64) -> Vec<(usize, Value)> {
        let same = |&&slot: &&usize| matches!(&self.entries[slot], Some((h, ..)) if *h == hash);
        let with_key = |&slot: &usize| self.entries[slot].as_ref().map(|(_, k, _)| (slot, k.clone()));
        self.table.iter_hash(hash).filter(same).filter_map(with_key).collect()
    }

    fn value_at(&self, slot: usize) -> Option<Value> {
        self.entries.get(slot)?.as_ref().map(|(.., v)| v.clone())
    }

    /// Removes a slot.
    fn remove_slot(&mut self, slot: usize) -> Option<(Value, Value)> {
        let (hash, key, value) = self.entries.get_mut(slot)?.take()?;
        if let Ok(entry) = self.table.find_entry(hash, |&s| s == slot) {
            entry.remove();
        }
        while matches!(self.entries.last(), Some(None)) {
            self.entries.pop();
        }
        Some((key, value))
    }

    /// Removes the last entry, or the first.
    pub fn pop_end(&mut self, last: bool) -> Option<(Value, Value)> {
        let position = |e: &Option<(u64, Value, Value)>| e.is_some();
        let slot = if last { self.entries.iter().rposition(position) } else { self.entries.iter().position(position) };
        self.remove_slot(slot?)
    }

    fn push(&mut self, hash: u64, key: Value, value: Value) {
        // Gaps are closed when they are the larger part.
        if self.entries.len() > 16 && self.entries.len() > 2 * self.table.len() {
            self.entries.retain(Option::is_some);
            self.table.clear();
            for (slot, entry) in self.entries.iter().enumerate() {
                if let Some((hash, ..)) = entry {
                    let entries = &self.entries;
                    self.table.insert_unique(*hash, slot, |&s| entries[s].as_ref().map_or(0, |e| e.0));
                }
            }
        }
        let slot = self.entries.len();
        self.entries.push(Some((hash, key, value)));
        let entries = &self.entries;
        self.table.insert_unique(hash, slot, |&s| entries[s].as_ref().map_or(0, |e| e.0));
    }
}

/// The shared cell of a dict or set.
pub type Shared = std::rc::Rc<crate::journal::Slot<DictMap>>;

impl Interp {
    fn find_slot(&mut self, map: &Shared, hash: u64, key: &Value) -> R<Option<usize>> {
        let candidates = map.borrow().candidates(hash);
        for (slot, candidate) in candidates {
            // Equality may run code of the program: nothing is borrowed here.
            if candidate.is(key) || self.equal(&candidate, key)? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// If the key cannot be hashed, or the program's `__eq__` fails.
    pub fn dict_get(&mut self, map: &Shared, key: &Value) -> R<Option<Value>> {
        let hash = self.hash(key)?;
        Ok(self.find_slot(map, hash, key)?.and_then(|slot| map.borrow().value_at(slot)))
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`Interp::dict_get`], and if the memory limit is reached.
    pub fn dict_set(&mut self, map: &Shared, key: Value, value: Value) -> R<()> {
        let hash = self.hash(&key)?;
        let slot = self.find_slot(map, hash, &key)?;
        let mut map = map.borrow_mut();
        match slot.and_then(|slot| map.entries.get_mut(slot)).and_then(Option::as_mut) {
            Some((.., old)) => *old = value,
            None => {
                self.charge(96)?;
                map.push(hash, key, value);
            }
        }
        Ok(())
    }

    /// Removes a key and gives its value.
    ///
    /// # Errors
    /// As [`Interp::dict_get`].
    pub fn dict_remove(&mut self, map: &Shared, key: &Value) -> R<Option<Value>> {
        let hash = self.hash(key)?;
        let slot = self.find_slot(map, hash, key)?;
        Ok(slot.and_then(|slot| map.borrow_mut().remove_slot(slot)).map(|(_, v)| v))
    }

    /// A dict of keys and values.
    ///
    /// # Errors
    /// As [`Interp::dict_set`].
    pub fn make_dict(&mut self, items: impl IntoIterator<Item = (Value, Value)>) -> R<Shared> {
        let map = Shared::default();
        for (key, value) in items {
            self.dict_set(&map, key, value)?;
        }
        Ok(map)
    }

    /// The keys of a set.
    ///
    /// # Errors
    /// As [`Interp::dict_set`].
    pub fn make_set(&mut self, items: impl IntoIterator<Item = Value>) -> R<Shared> {
        self.make_dict(items.into_iter().map(|item| (item, Value::None)))
    }
}
