//! The interner: structurally equal nodes are one allocation, so equality of expressions is equality of pointers.
//!
//! The table holds weak references; a node takes itself out when its last expression goes. Invariants: the lock of a
//! shard is never held while an expression is dropped, and hashes do not depend on the process.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use num_bigint::BigInt;
use num_rational::BigRational;
use smallvec::SmallVec;

use crate::assume::{self, Signs};
use crate::expr::Expr;
use crate::func::Func;
use crate::symbol::Symbol;

/// An interned node with what is asked of it often.
pub(crate) struct Node {
    pub(crate) hash: u64,
    pub(crate) shape: Shape,
    pub(crate) data: Data,
}

/// Cached facts about an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Nodes of the tree counted twice, because sympy's ordering counts a float as half a node. Saturating.
    pub(crate) halves: u32,
    /// Longest path to a leaf.
    pub(crate) depth: u32,
    /// Every value is an integer.
    pub(crate) integer: bool,
    /// Of a call: every value is a real number.
    pub(crate) real: bool,
    /// Of a call: the sign of every value.
    pub(crate) signs: Signs,
}

impl Shape {
    pub(crate) fn leaf(integer: bool) -> Shape {
        Shape { halves: 2, depth: 0, integer, real: false, signs: Signs::default() }
    }

    pub(crate) fn of_call(func: Func, args: &[Expr]) -> Shape {
        // Facts about arguments are cached in their shapes, so that queries do not walk expressions.
        let alone = Shape {
            real: assume::is_real_call(func, args),
            signs: assume::signs_of_call(func, args),
            ..Shape::leaf(assume::is_integer_call(func, args))
        };
        args.iter().map(Expr::shape).fold(alone, |whole, part| Shape {
            halves: whole.halves.saturating_add(part.halves),
            depth: whole.depth.max(part.depth + 1),
            ..whole
        })
    }
}

/// The contents of an expression that do not fit inline in an [`Expr`].
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Big(BigInt),
    Rational(BigRational),
    Symbol(Symbol),
    Call(Func, Box<[Expr]>),
}

/// The one node with this content.
pub(crate) fn intern(data: Data, shape: Shape) -> Arc<Node> {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let hash = hasher.finish();
    let mut seen: SmallVec<[Arc<Node>; 2]> = SmallVec::new();
    let mut shard = lock(hash);
    let bucket = shard.entry(hash).or_default();
    for weak in bucket.iter() {
        if let Some(node) = weak.upgrade() {
            // Others with the same hash live in `seen` until the lock is gone: dropping the last reference takes the
            // lock.
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
    let node = Arc::new(Node { hash, shape, data });
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

type Shard = HashMap<u64, SmallVec<[Weak<Node>; 1]>, BuildHasherDefault<PrehashedHasher>>;
const SHARDS: usize = 16;
static TABLE: LazyLock<[Mutex<Shard>; SHARDS]> = LazyLock::new(|| std::array::from_fn(|_| Mutex::default()));

fn lock(hash: u64) -> MutexGuard<'static, Shard> {
    TABLE[(hash >> 57) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hasher for keys that are already hashes.
#[derive(Default)]
struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
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

#[cfg(test)]
mod tests {
    use crate::{Expr, Symbol};

    fn entries() -> usize {
        super::TABLE.iter().map(|s| s.lock().map_or(0, |s| s.len())).sum()
    }

    #[test]
    fn nodes_leave_with_their_last_expression() {
        // Other tests share the table, so this looks at far more nodes than they hold.
        const COUNT: usize = 10_000;
        let symbol = |i: usize| Expr::symbol(&Symbol::by_convention(&format!("leaving{i}")));
        let kept: Vec<Expr> = (0..COUNT).map(symbol).collect();
        assert!(entries() >= COUNT);
        assert!(kept.iter().enumerate().all(|(i, e)| *e == symbol(i)));
        drop(kept);
        assert!(entries() < COUNT);
    }

    #[test]
    fn threads_agree() {
        let build = || (0..200).fold(Expr::int(1), |e, i| e.max(&Expr::parse(&format!("s{i}*2 + {i}")).unwrap()));
        let all: Vec<Expr> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..8).map(|_| scope.spawn(build)).collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        });
        assert!(all.windows(2).all(|w| w[0] == w[1]));
    }
}
