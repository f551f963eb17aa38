//! The mutable state of one run: slots, arguments, an arena. Frames are pooled, so that many threads can run one body
//! without allocating a frame each time.

use oxport_ir::{Arg, Real, Result, Value};
use oxport_tensor::Arena;
use std::sync::{Mutex, PoisonError};

/// The mutable state of one run.
pub(crate) struct Frame {
    pub slots: Vec<Value>,
    /// Per step, the arguments: the template, patched while the step runs.
    pub args: Vec<Box<[Arg<Real>]>>,
    pub arena: Option<Arena>,
}

impl Frame {
    /// Makes sure that the arena has at least this many bytes.
    ///
    /// # Errors
    /// The allocation fails.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.arena.as_ref().map_or(0, |a| a.len_bytes()) {
            self.arena = None;
            self.arena = Some(Arena::new(bytes)?);
        }
        Ok(())
    }
}

/// Frames that are not in use.
#[derive(Default)]
pub(crate) struct Frames(Mutex<Vec<Frame>>);

/// How many idle frames a body keeps.
const MAX_IDLE: usize = 32;

impl Frames {
    /// An idle frame, or a new one with so many slots and these arguments.
    pub fn take(&self, slots: usize, templates: &[Box<[Arg<Real>]>]) -> Frame {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Frame { slots: vec![Value::None; slots], args: templates.to_vec(), arena: None })
    }
    /// Keeps a frame for the next run; all its slots are empty.
    pub fn recycle(&self, frame: Frame) {
        debug_assert!(
            frame.slots.iter().all(|v| matches!(v, Value::None)),
            "law: slots are empty after their last use"
        );
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(frame);
        }
    }
}
