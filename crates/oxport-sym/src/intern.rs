//! The interner: structurally equal nodes are one allocation, so equality of expressions is equality of pointers.
//!
//! The table holds weak references; a node takes itself out when its last expression goes. Laws: the lock of a shard is never
//! held while an expression is dropped, and hashes do not depend on the process.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use num_bigint::BigInt;
use num_rational::BigRational;
use smallvec::SmallVec;

use crate::expr::Expr;
use crate::func::Func;
use crate::symbol::Symbol;

/// An interned node with its cached hash.
pub(crate) struct Node {
    pub(crate) hash: u64,
    pub(crate) data: Data,
}

/// What is too large to stand inside an [`Expr`].
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Big(BigInt),
    Rational(BigRational),
    Symbol(Symbol),
    Call(Func, Box<[Expr]>),
}

/// The one node with this content.
pub(crate) fn intern(data: Data) -> Arc<Node> {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let hash = hasher.finish();
    let mut seen: SmallVec<[Arc<Node>; 2]> = SmallVec::new();
    let mut shard = lock(hash);
    let bucket = shard.entry(hash).or_default();
    for weak in bucket.iter() {
        if let Some(node) = weak.upgrade() {
            // Others with the same hash live in `seen` until the lock is gone: dropping the last reference takes the lock.
            seen.push(node);
            if seen.last().is_some_and(|n| n.data == data) {
                break;
            }
        }
    }
    if let Some(found) = seen.iter().find(|n| n.data == data).cloned() {
        drop(shard);
        return found;
    }
    let node = Arc::new(Node { hash, data });
    bucket.push(Arc::downgrade(&node));
    drop(shard);
    node
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut shard = lock(self.hash);
        if let Some(bucket) = shard.get_mut(&self.hash) {
            bucket.retain(|w| w.strong_count() > 0);
            if bucket.is_empty() {
                shard.remove(&self.hash);
            }
        }
    }
}

type Shard = HashMap<u64, SmallVec<[Weak<Node>; 1]>, BuildHasherDefault<Already>>;
const SHARDS: usize = 16;
static TABLE: LazyLock<[Mutex<Shard>; SHARDS]> = LazyLock::new(|| std::array::from_fn(|_| Mutex::default()));

fn lock(hash: u64) -> MutexGuard<'static, Shard> {
    TABLE[(hash >> 57) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hasher for keys that are hashes.
#[derive(Default)]
struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 << 8) ^ u64::from(*b);
        }
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}
