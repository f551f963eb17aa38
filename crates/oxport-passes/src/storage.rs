//! Memory that tensors share while a program is made functional, as a path from the storage to the alias that was
//! looked at last.
//!
//! ```text
//! x ──slice──> a ──view──> b     written: b     path: x, a, b*     b* is yet to be scattered into a, a into x
//! ```
//!
//! What was written to an alias stays there until something else of the memory is read; only what lies between the two
//! is computed then. So a write through a chain of views costs what it changes, and not the length of the chain.
//!
//! Laws: the value at a level of the path is right but for what deeper levels were written. What is read of an alias
//! has the strides that the alias was captured with: a new value that lies otherwise (`x[:, :2].add_(1)` is dense, the
//! slice is not) is scattered into what it is a view of, and the view made anew. Only a whole storage that is written
//! may come to lie otherwise.

use crate::aliasing::Step;
use crate::propagate_strides::have_other_strides;
use oxport_ir::{Builder, NodeId, Result};
use std::sync::Arc;

/// The way from a storage to an alias of it: the last step, and what it starts from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    /// The node that was this alias first: what tells it from others.
    alias: NodeId,
    step: Step,
    base: Chain,
    depth: usize,
}

impl Chain {
    /// One step on, to the alias that a node is.
    pub fn then(self, alias: NodeId, step: Step) -> Chain {
        let depth = self.depth() + 1;
        Chain(Some(Arc::new(Link { alias, step, base: self, depth })))
    }
    /// The alias that it leads to; `None` for the whole storage.
    pub fn alias(&self) -> Option<NodeId> {
        self.0.as_ref().map(|link| link.alias)
    }
    fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.depth)
    }
    /// The last step, and what it starts from.
    pub fn last(&self) -> Option<(&Step, &Chain)> {
        self.0.as_ref().map(|link| (&link.step, &link.base))
    }
}

/// Long chains are dropped link by link, not within each other.
impl Drop for Link {
    fn drop(&mut self) {
        let mut next = self.base.0.take();
        while let Some(mut link) = next.and_then(Arc::into_inner) {
            next = link.base.0.take();
        }
    }
}

/// Memory that tensors share: its value now, and how often it was written.
pub(crate) struct Storage {
    /// The node that made it, before all writes.
    pub origin: NodeId,
    root: NodeId,
    path: Vec<Level>,
    pub version: u32,
}

struct Level {
    alias: NodeId,
    step: Step,
    value: NodeId,
    is_written: bool,
}

impl Level {
    fn has_its_strides(&self, b: &Builder<'_>) -> bool {
        !have_other_strides(b.val(self.alias).ok(), b.val(self.value).ok())
    }
}

impl Storage {
    pub fn new(root: NodeId) -> Storage {
        Storage { origin: root, root, path: Vec::new(), version: 0 }
    }

    fn value(&self) -> NodeId {
        self.path.last().map_or(self.root, |level| level.value)
    }

    /// Goes to an alias; gives the node of its value now. `known` are nodes that hold an alias's value already.
    pub fn focus(
        &mut self,
        b: &mut Builder<'_>,
        chain: &Chain,
        known: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Result<NodeId> {
        let mut missing = Vec::new();
        let mut at = chain;
        while let Some(link) = &at.0 {
            if self.path.get(link.depth - 1).is_some_and(|level| level.alias == link.alias && level.has_its_strides(b))
            {
                break;
            }
            missing.push(link);
            at = &link.base;
        }
        while self.path.len() > at.depth() {
            self.leave(b)?;
        }
        for link in missing.into_iter().rev() {
            let value = match known(link.alias) {
                Some(value) => value,
                None => link.step.replay(b, self.value())?,
            };
            self.path.push(Level { alias: link.alias, step: link.step.clone(), value, is_written: false });
        }
        Ok(self.value())
    }

    /// Gives an alias a new value.
    pub fn write(
        &mut self,
        b: &mut Builder<'_>,
        chain: &Chain,
        value: NodeId,
        known: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Result<()> {
        self.version += 1;
        let Some(link) = &chain.0 else {
            // All of it: nothing that was there is left.
            self.path.clear();
            self.root = value;
            return Ok(());
        };
        self.focus(b, &link.base, known)?;
        self.path.push(Level { alias: link.alias, step: link.step.clone(), value, is_written: true });
        Ok(())
    }

    /// Goes one level up, with what was written.
    fn leave(&mut self, b: &mut Builder<'_>) -> Result<()> {
        let Some(level) = self.path.pop().filter(|level| level.is_written) else { return Ok(()) };
        let new = level.step.write_back(b, self.value(), level.value)?;
        match self.path.last_mut() {
            Some(above) => (above.value, above.is_written) = (new, true),
            None => self.root = new,
        }
        Ok(())
    }
}
