//! Typed terms in classes.
//!
//! Laws: a call exists only if its operator's meta function types it; what a term yields is computed from what its
//! arguments yield, or recorded in the first program; all work is bounded, whatever a proof asks for.

use super::Refusal;
use super::closure::{Closure, Merged, TermId};
use crate::constant::Constant;
use crate::kind::{Kind, Types, same_sizes, same_type};
use crate::terms::Terms;
use oxport_ir::{Registry, Val};
use oxport_sym::{Expr, ShapeEnv};
use std::sync::Arc;

/// What a term is, beside its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Head {
    /// A call of an operator. Names that begin with `!` are of calls that no rule knows: see `program`.
    Call(Arc<str>),
    /// A list of arguments.
    List,
    /// A constant argument.
    Const(Constant),
    /// What lies in the storage of a value.
    Storage,
    /// An input, or a state tensor, of the first program, by its node's name.
    Input(Arc<str>),
    /// A tensor constant that only the second program has, by its name.
    Constant(Arc<str>),
    /// An input of a subgraph: how deep it is, which one, and its type.
    Bound(u32, u32, Arc<str>),
}

/// Arguments and elements that may be typed in all.
const MAX_WORK: usize = 30_000_000;
/// Terms.
pub(crate) const MAX_TERMS: usize = 4_000_000;

/// What is known of a term.
struct Typed {
    kind: Kind,
    /// The same in the strides that kernels give, where these are others.
    laid: Option<Kind>,
    /// True if its sizes do not depend on open questions, if those of its arguments do not.
    is_certain: bool,
}

/// Typed terms in classes.
pub(crate) struct Store<'r> {
    pub types: Types<'r>,
    pub closure: Closure<Head>,
    typed: Vec<Typed>,
    /// Of a class: whether the sizes of one of its terms do not depend on open questions.
    certain: Vec<bool>,
    /// The sizes among which a right side may look for one.
    pub sizes: Vec<TermId>,
    work: usize,
}

impl<'r> Store<'r> {
    pub fn new(registry: &'r Registry, env: ShapeEnv) -> Store<'r> {
        let types = Types::new(registry, env);
        let closure = Closure::new();
        Store { types, closure, typed: Vec::new(), certain: Vec::new(), sizes: Vec::new(), work: 0 }
    }

    /// What a term yields.
    pub fn kind(&self, id: TermId) -> &Kind {
        &self.typed[id as usize].kind
    }

    /// The same in the strides that kernels give.
    pub fn laid(&self, id: TermId) -> &Kind {
        let typed = &self.typed[id as usize];
        typed.laid.as_ref().unwrap_or(&typed.kind)
    }

    /// What a call of this kind is in the strides that kernels give, if one of its arguments is laid otherwise than it
    /// was recorded; and whether its sizes stay what they are.
    pub fn laid_call(&self, op: &str, args: &[TermId], kind: &Kind, recorded: &Kind) -> (Option<Kind>, bool) {
        if self.are_plain(args) {
            return (None, true);
        }
        let kinds: Vec<&Kind> = args.iter().map(|&a| self.laid(a)).collect();
        let call = self.types.call_as(op, &kinds, recorded);
        match call.filter(|call| same_sizes(&self.types.env, kind, &call.kind)) {
            // The same again: then kernels lay it as it was recorded, which may say strides of ones in another way.
            Some(call) if call.kind == *kind => (None, call.is_certain),
            Some(call) => (Some(call.kind), call.is_certain),
            None => (None, false),
        }
    }

    fn are_plain(&self, args: &[TermId]) -> bool {
        args.iter().all(|&a| self.typed[a as usize].laid.is_none())
    }

    /// True if the sizes of a class are what they are whichever way open questions are answered.
    pub fn is_certain(&self, id: TermId) -> bool {
        self.certain[self.closure.find(id) as usize]
    }

    /// True if two terms yield the same, sizes and strides too, for all sizes in range.
    pub fn same_type(&self, a: TermId, b: TermId) -> bool {
        let env = &self.types.env;
        same_type(env, self.kind(a), self.kind(b)) && same_type(env, self.laid(a), self.laid(b))
    }

    /// True if a term that is equal to one yields the same as another.
    ///
    /// # Errors
    /// There are too many to look at.
    pub fn has_member_of_type(&mut self, of: TermId, like: TermId) -> Result<bool, Refusal> {
        self.spend(self.closure.members(of).len())?;
        Ok(self.closure.members(of).iter().any(|&member| self.same_type(member, like)))
    }

    /// A term of a known type; that of a term that exists stays.
    pub fn known(&mut self, head: Head, args: &[TermId], kind: Kind, is_certain: bool) -> TermId {
        self.known_laid(head, args, (kind, None), is_certain)
    }

    /// Likewise of one whose strides may be others than those that were recorded.
    pub fn known_laid(
        &mut self,
        head: Head,
        args: &[TermId],
        (kind, laid): (Kind, Option<Kind>),
        is_certain: bool,
    ) -> TermId {
        let before = self.closure.len();
        let id = self.closure.add(head, args);
        if self.closure.len() > before {
            self.typed.push(Typed { kind, laid, is_certain });
            self.certain.push(false);
            self.settle(vec![id]);
            // It may be equal to others from the start, and be the one that names the class.
            if self.closure.members(id).len() > 1 {
                let is_certain = self.closure.members(id).iter().any(|&m| self.certain[m as usize]);
                let root = self.closure.find(id);
                self.certain[root as usize] |= is_certain;
            }
        }
        id
    }

    /// A call.
    ///
    /// # Errors
    /// It is ill-typed, or there are too many.
    pub fn call(&mut self, op: &str, args: &[TermId]) -> Result<TermId, Refusal> {
        let head = Head::Call(op.into());
        if let Some(id) = self.closure.find_term(&head, args) {
            return Ok(id);
        }
        let kinds: Vec<&Kind> = args.iter().map(|&a| self.kind(a)).collect();
        let asked = kinds.iter().map(|k| weight(k)).sum::<usize>();
        let call = self.types.call(op, &kinds).ok_or_else(|| format!("the call of {op} is ill-typed"))?;
        let (laid, is_certain) = self.laid_call(op, args, &call.kind, &Kind::Unknown);
        self.spend(asked + weight(&call.kind))?;
        Ok(self.known_laid(head, args, (call.kind, laid), call.is_certain && is_certain))
    }

    /// A list.
    ///
    /// # Errors
    /// An element is a list, or there are too many.
    pub fn list(&mut self, items: &[TermId]) -> Result<TermId, Refusal> {
        let is_list = |id: &TermId| matches!(self.kind(*id), Kind::List(_) | Kind::Value(Val::List(_)));
        if items.iter().any(is_list) {
            return Err("a list of lists".to_string());
        }
        self.spend(items.len())?;
        Ok(self.list_of(items))
    }

    fn list_of(&mut self, items: &[TermId]) -> TermId {
        let list = |of: &dyn Fn(TermId) -> Kind| Kind::List(items.iter().map(|&i| of(i)).collect());
        let laid = (!self.are_plain(items)).then(|| list(&|i| self.laid(i).clone()));
        let kind = list(&|i| self.kind(i).clone());
        self.known_laid(Head::List, items, (kind, laid), true)
    }

    /// A constant.
    pub fn constant(&mut self, c: Constant) -> TermId {
        self.known(Head::Const(c.clone()), &[], Kind::Const(c), true)
    }

    /// What lies in the storage of a value.
    pub fn storage(&mut self, of: TermId) -> TermId {
        let Typed { kind, laid, .. } = &self.typed[of as usize];
        let kinds = (kind.clone(), laid.clone());
        self.known_laid(Head::Storage, &[of], kinds, true)
    }

    /// Makes two terms equal, for a reason of this number.
    pub fn unite(&mut self, a: TermId, b: TermId, reason: u32) {
        let merged = self.closure.unite(a, b, reason);
        self.merged(merged);
    }

    fn merged(&mut self, merged: Vec<Merged>) {
        let mut changed = Vec::new();
        for (kept, gone) in merged {
            let (a, b) = (self.certain[kept as usize], self.certain[gone as usize]);
            self.certain[kept as usize] = a | b;
            if a != b {
                changed.push(kept);
            }
        }
        let users = changed.iter().flat_map(|&c| self.closure.users(c).to_vec()).collect();
        self.settle(users);
    }

    /// Looks again at terms whose arguments may have become certain.
    fn settle(&mut self, mut open: Vec<TermId>) {
        while let Some(id) = open.pop() {
            let class = self.closure.find(id);
            if self.certain[class as usize] && self.certain[id as usize] {
                continue;
            }
            let args = self.closure.term(id).1;
            let is_certain = self.typed[id as usize].is_certain && args.iter().all(|&a| self.is_certain(a));
            if is_certain {
                self.certain[id as usize] = true;
                if !std::mem::replace(&mut self.certain[class as usize], true) || class == id {
                    open.extend(self.closure.users(class).to_vec());
                }
            }
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), Refusal> {
        self.work = self.work.saturating_add(work + 1);
        if self.work > MAX_WORK || self.closure.len() > MAX_TERMS {
            return Err("the proof is too large to check".to_string());
        }
        Ok(())
    }
}

/// How many values a kind has.
fn weight(kind: &Kind) -> usize {
    match kind {
        Kind::List(l) => l.len(),
        Kind::Value(Val::List(l)) => l.len(),
        _ => 1,
    }
}

impl Terms for Store<'_> {
    type Id = TermId;

    fn kind(&self, id: TermId) -> &Kind {
        self.kind(id)
    }
    fn laid(&self, id: TermId) -> &Kind {
        self.laid(id)
    }
    fn env(&self) -> &ShapeEnv {
        &self.types.env
    }
    fn registry(&self) -> &Registry {
        self.types.registry
    }
    fn any_call(&self, id: TermId, holds: &mut dyn FnMut(&str, &[TermId]) -> bool) -> bool {
        self.closure.members(id).iter().any(|&member| match self.closure.term(member) {
            (Head::Call(op), args) => holds(op, args),
            _ => false,
        })
    }
    fn items(&self, list: TermId) -> Option<Vec<TermId>> {
        match self.closure.term(list) {
            (Head::List, items) => Some(items.to_vec()),
            _ => None,
        }
    }
    fn size(&self, size: &Expr) -> Option<TermId> {
        let is = |id: &TermId| matches!(self.kind(*id), Kind::Value(Val::Int(e)) if e == size);
        self.sizes.iter().copied().find(is)
    }
    fn constant(&mut self, constant: Constant) -> TermId {
        self.constant(constant)
    }
    fn list(&mut self, items: Vec<TermId>) -> TermId {
        self.list_of(&items)
    }
    fn call(&mut self, op: &str, args: Vec<TermId>) -> Option<TermId> {
        self.call(op, &args).ok()
    }
}
