//! Binds the operands of each call once, when the plan is made: in the [`World`] of planned calls, tensors and numbers
//! are references to slots.
//!
//! ```text
//! node      add(x, p_w, alpha=n)                     x, n computed; p_w a weight
//! template  [None, Tensor(w), None]                  shared by all calls
//! patches   [0] <- slot 3, [2] <- slot 7 (last use)  set for each call, and reset afterwards
//! ```
//!
//! Invariant: a patch that is the last use of its slot moves the value, so a slot is empty after its last use.

use oxport_ir::{Arg, Callable, Real, Result, Sym, Value, World};
use oxport_tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// The world of planned calls.
#[derive(Clone, Debug)]
pub(crate) enum Slots {}

/// A slot, or an element of the list in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ref {
    pub slot: u32,
    pub element: Option<u32>,
}

/// A tensor operand: a constant of the plan, or a reference to a slot.
#[derive(Clone, Debug)]
pub(crate) enum TensorRef {
    Ref(Ref),
    Known(Tensor),
}

impl World for Slots {
    type Tensor = TensorRef;
    type Int = Sym<i64, Ref>;
    type Float = Sym<f64, Ref>;
    type Bool = Sym<bool, Ref>;
    type Graph = Arc<dyn Callable>;
    type Cx<'a> = ();
}

/// An operand that a call sets in its argument template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patch {
    /// The argument's index, then indices into nested lists and dictionaries.
    pub path: SmallVec<[u32; 2]>,
    pub from: Ref,
    /// True if this is the last use of the slot.
    pub take: bool,
}

impl Patch {
    /// Moves or copies the value from its slot into the arguments of a call.
    ///
    /// # Errors
    /// The slot's list is too short.
    #[inline]
    pub fn apply(&self, slots: &mut [Value], args: &mut [Arg<Real>]) -> Result<()> {
        // The common case, in a form that moves a tensor once.
        if let ([i], true, None) = (&self.path[..], self.take, self.from.element) {
            args[*i as usize] = Arg::from(std::mem::replace(&mut slots[self.from.slot as usize], Value::None));
            return Ok(());
        }
        let value = fetch(slots, self.from, self.take)?;
        self.put(args, value.into());
        Ok(())
    }
    /// Sets the argument at this patch's path.
    #[inline]
    pub fn put(&self, args: &mut [Arg<Real>], value: Arg<Real>) {
        *self.place(args) = value;
    }
    /// Takes the value of a call out again.
    #[inline]
    pub fn clear(&self, args: &mut [Arg<Real>]) {
        *self.place(args) = Arg::None;
    }
    #[inline]
    fn place<'a>(&self, args: &'a mut [Arg<Real>]) -> &'a mut Arg<Real> {
        let (first, rest) = self.path.split_first().expect("law: a path begins with the argument's index");
        let mut at = &mut args[*first as usize];
        for &i in rest {
            at = match at {
                Arg::List(l) => &mut l[i as usize],
                Arg::Dict(d) => &mut d[i as usize],
                _ => unreachable!("law: a patch's path leads through lists and dictionaries"),
            };
        }
        at
    }
}

/// Splits a bound call into the template that all calls share and the patches of each call.
pub(crate) fn template(bound: Vec<Arg<Slots>>) -> (Box<[Arg<Real>]>, Vec<Patch>) {
    let mut patches = Vec::new();
    let mut path = SmallVec::new();
    let mut args = Vec::with_capacity(bound.len());
    for (i, arg) in bound.into_iter().enumerate() {
        path.push(i as u32);
        args.push(split(arg, &mut path, &mut patches));
        path.pop();
    }
    (args.into(), patches)
}

fn split(arg: Arg<Slots>, path: &mut SmallVec<[u32; 2]>, patches: &mut Vec<Patch>) -> Arg<Real> {
    let mut later = |from: Ref, path: &SmallVec<[u32; 2]>| {
        patches.push(Patch { path: path.clone(), from, take: false });
        Arg::None
    };
    match arg {
        Arg::Tensor(TensorRef::Ref(r)) | Arg::Int(Sym::Sym(r)) | Arg::Float(Sym::Sym(r)) | Arg::Bool(Sym::Sym(r)) => {
            later(r, path)
        }
        Arg::Tensor(TensorRef::Known(t)) => Arg::Tensor(t),
        Arg::Int(Sym::Const(n)) => Arg::Int(n),
        Arg::Float(Sym::Const(x)) => Arg::Float(x),
        Arg::Bool(Sym::Const(b)) => Arg::Bool(b),
        Arg::List(l) => {
            let mut inner = |(i, a)| {
                path.push(i as u32);
                let a = split(a, path, patches);
                path.pop();
                a
            };
            Arg::List(l.into_iter().enumerate().map(&mut inner).collect())
        }
        Arg::Dict(d) => {
            let mut inner = |(i, (k, a))| {
                path.push(i as u32);
                let a = split(a, path, patches);
                path.pop();
                (k, a)
            };
            Arg::Dict(d.into_iter().enumerate().map(&mut inner).collect())
        }
        Arg::Graph(g) => Arg::Graph(g),
        other => other.shared().unwrap_or(Arg::None),
    }
}

/// The value in a slot, or an element of the list in it; moved out if this is the last use.
///
/// # Errors
/// The list has no such element.
pub(crate) fn fetch(slots: &mut [Value], from: Ref, take: bool) -> Result<Value> {
    let slot = &mut slots[from.slot as usize];
    let Some(i) = from.element else {
        return Ok(if take { std::mem::replace(slot, Value::None) } else { slot.clone() });
    };
    let found = match slot {
        Value::List(l) if take => (l.len() > i as usize).then(|| l.swap_remove(i as usize)),
        Value::List(l) => l.get(i as usize).cloned(),
        _ => None,
    };
    if take {
        *slot = Value::None;
    }
    found.ok_or_else(|| oxport_ir::Error::invalid(format!("list index {i} out of range")))
}

/// Calls `f` on every tensor in an argument.
pub(crate) fn for_each_tensor(arg: &Arg<Real>, f: &mut dyn FnMut(&Tensor)) {
    match arg {
        Arg::Tensor(t) => f(t),
        Arg::List(l) => l.iter().for_each(|a| for_each_tensor(a, f)),
        Arg::Dict(d) => d.values().for_each(|a| for_each_tensor(a, f)),
        _ => {}
    }
}
