//! The class analysis: what every class yields, computed by the operators' own meta functions.
//!
//! Laws: two classes are merged only if their values have the same dtype, sizes, strides and device, so an ill-typed
//! rule cannot hide, and what reads strides reads the same; they are merged only if that holds for all sizes in range,
//! and not just for those of the capture; where PyTorch's tracing recorded other strides than kernels give, only if it
//! holds for both; analysis never adds a guard.

use crate::applied::Applied;
use crate::fuel::Fuel;
pub use crate::interned::Interned;
use crate::interned::{CallRef, Kinds, PerCall};
pub use crate::kind::Kind;
use crate::kind::{Differs, Types, difference, same_sizes, unbacked_of};
use crate::memory::Memory;
use crate::term::{Constant, Name, Term, discriminant_of_op};
use crate::terms::Terms;
use egg::{Analysis, DidMerge, EGraph, Id, Justification, Language};
use oxport_ir::{Registry, Val};
use oxport_sym::{Expr, ShapeEnv};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The e-graph of this crate.
pub type Graph<'r> = EGraph<Term, Typing<'r>>;

/// What the analysis needs: operators and symbols.
pub struct Typing<'r> {
    /// The operators and symbols.
    pub(crate) types: Types<'r>,
    /// What classes yield.
    pub(crate) kinds: Kinds,
    /// What calls yield.
    calls: PerCall<Option<Called>>,
    /// Whether only operators are computed before the first call whose results are the same bits everywhere.
    exact_folds: bool,
    /// The recorded value of the term that is added next: the program's own metas are trusted.
    pub(crate) recorded: Option<Data>,
    /// For each symbolic size the first class that yields it.
    pub(crate) sizes: HashMap<Expr, Id>,
    /// What rules did, where that is to be proved.
    pub(crate) log: Option<Vec<Applied>>,
    /// What rules matched before.
    pub(crate) memory: RefCell<Memory>,
    /// How many matches were looked at.
    pub(crate) searched: usize,
    /// How many more rules may be applied.
    pub(crate) fuel: Fuel,
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub struct Data {
    /// What it yields.
    pub kind: Interned,
    /// The same in the strides that kernels give: others where something was recorded otherwise.
    pub laid: Interned,
    /// True if it depends on constants only, and is computed before the first call.
    pub is_static: bool,
    /// True if its sizes are what they are whichever way the questions that ranges leave open are answered.
    /// `x.squeeze(0)` of a size from 0 on is not: for 1 it has a dimension less.
    pub is_certain: bool,
    /// The first term of the class, once there is one.
    pub(crate) first: Id,
}

impl Data {
    /// Of a kind whose strides are those that kernels give.
    pub(crate) fn new(kind: Interned, is_static: bool, is_certain: bool) -> Data {
        Data { laid: kind.clone(), kind, is_static, is_certain, first: Id::default() }
    }

    /// The first thing in which the type differs from another one, as recorded or as kernels lay it.
    pub(crate) fn difference(&self, env: &ShapeEnv, other: &Data) -> Option<Differs> {
        // What is stored once is compared first.
        let differs = |a: &Interned, b: &Interned| match a == b && matches!(**a, Kind::Value(_)) {
            true => None,
            false => difference(env, a, b),
        };
        differs(&self.kind, &other.kind).or_else(|| differs(&self.laid, &other.laid))
    }

    /// True if the types are the same.
    pub(crate) fn is_like(&self, env: &ShapeEnv, other: &Data) -> bool {
        self.difference(env, other).is_none()
    }
}

impl<'r> Typing<'r> {
    /// An analysis over these operators and symbols.
    pub fn new(registry: &'r Registry, env: ShapeEnv, exact_folds: bool) -> Typing<'r> {
        let types = Types::new(registry, env);
        let (kinds, calls) = (Kinds::default(), PerCall::new());
        let (recorded, sizes, log) = (None, HashMap::new(), None);
        let (memory, searched, fuel) = (RefCell::default(), 0, Fuel::default());
        Typing { types, kinds, calls, exact_folds, recorded, sizes, log, memory, searched, fuel }
    }

    /// The analysis of another e-graph over the same operators and symbols, which has the same kinds.
    pub(crate) fn of_another(&self) -> Typing<'r> {
        let (kinds, calls) = (self.kinds.clone(), self.calls.clone());
        Typing { kinds, calls, ..Typing::new(self.types.registry, self.types.env.clone(), self.exact_folds) }
    }

    /// What a call yields; `None` if it is ill-typed.
    fn call<'a>(&self, op: Name, kids: impl Iterator<Item = &'a Interned>, recorded: &Kind) -> Option<Called> {
        let compute = |CallRef { op, kinds }: &CallRef<'_>| {
            let kids: Vec<&Kind> = kinds.iter().map(|kind| &***kind).collect();
            let call = self.types.call_as(op.as_str(), &kids, recorded)?;
            let (row, exact) = (self.types.registry.op(op.as_str()), self.exact_folds);
            let is_folded = self.types.is_folded(&row, &kids, &call.kind, exact);
            Some(Called { kind: self.kinds.intern(call.kind), is_certain: call.is_certain, is_folded })
        };
        let call = CallRef { op, kinds: kids.collect() };
        // What is read from data is called as it was recorded.
        if unbacked_of(recorded).is_empty() { self.calls.of(call, compute) } else { compute(&call) }
    }
}

/// What a call on constants yields, if they are certain.
#[derive(Clone)]
struct Called {
    kind: Interned,
    is_certain: bool,
    is_folded: bool,
}

/// What a term over existing classes would yield; `None` if it is ill-typed.
pub(crate) fn type_of(graph: &Graph<'_>, term: &Term) -> Option<Data> {
    type_as(graph, term, &Kind::Unknown)
}

/// Likewise of a term that was recorded: what it reads from data is called as it is there.
pub(crate) fn type_as(graph: &Graph<'_>, term: &Term, recorded: &Kind) -> Option<Data> {
    let typing = &graph.analysis;
    // Each class is looked up once: that takes most of the time.
    let kids: SmallVec<[&Data; 8]> = term.children().iter().map(|id| &graph[*id].data).collect();
    let are_plain = || kids.iter().all(|kid| kid.kind == kid.laid);
    Some(match term {
        Term::Const(c) => Data::new(typing.kinds.intern(Kind::Const(c.clone())), true, true),
        Term::List(_) => {
            let list = |of: fn(&Data) -> &Interned| {
                typing.kinds.intern(Kind::List(kids.iter().map(|kid| Kind::clone(of(kid))).collect()))
            };
            let kind = list(|d| &d.kind);
            let laid = if are_plain() { kind.clone() } else { list(|d| &d.laid) };
            let is_static = kids.iter().all(|kid| kid.is_static);
            let is_certain = kids.iter().all(|kid| kid.is_certain);
            Data { laid, ..Data::new(kind, is_static, is_certain) }
        }
        Term::Leaf(_) => return None,
        Term::Own(..) => Data::clone(kids[0]),
        Term::Op(name, _) => {
            let called = typing.call(*name, kids.iter().map(|kid| &kid.kind), recorded)?;
            let is_static = called.is_folded && kids.iter().all(|kid| kid.is_static);
            let mut is_certain = called.is_certain && kids.iter().all(|kid| kid.is_certain);
            let mut laid = called.kind.clone();
            if !are_plain() {
                let other = typing.call(*name, kids.iter().map(|kid| &kid.laid), recorded);
                let other = other.filter(|other| same_sizes(&typing.types.env, &called.kind, &other.kind));
                is_certain &= other.as_ref().is_some_and(|other| other.is_certain);
                laid = other.map_or(laid, |other| other.kind);
            }
            Data { laid, ..Data::new(called.kind, is_static, is_certain) }
        }
    })
}

/// The first term of a class, which stands for it whatever it is united with later.
pub(crate) fn first(graph: &Graph<'_>, class: Id) -> Id {
    graph[class].data.first
}

/// The classes that have a call of an operator with so many arguments, in order.
pub(crate) fn classes_of(graph: &Graph<'_>, op: &str, arguments: usize) -> BTreeSet<Id> {
    let op = discriminant_of_op(op.into(), arguments);
    graph.classes_for_op(&op).into_iter().flatten().map(|id| graph.find(id)).collect()
}

/// Adds a term over existing classes, which is one over their first terms; `None` if it is ill-typed.
pub(crate) fn add(graph: &mut Graph<'_>, term: Term) -> Option<Id> {
    graph.lookup(term.clone()).or_else(|| {
        let term = term.map_children(|kid| first(graph, kid));
        graph.analysis.recorded = Some(type_of(graph, &term)?);
        let id = graph.add(term);
        graph.analysis.recorded = None;
        Some(id)
    })
}

impl Terms for Graph<'_> {
    type Id = Id;

    fn kind(&self, id: Id) -> &Kind {
        &self[id].data.kind
    }
    fn laid(&self, id: Id) -> &Kind {
        &self[id].data.laid
    }
    fn env(&self) -> &ShapeEnv {
        &self.analysis.types.env
    }
    fn registry(&self) -> &Registry {
        self.analysis.types.registry
    }
    fn any_call(&self, id: Id, holds: &mut dyn FnMut(&str, &[Id]) -> bool) -> bool {
        self[id].nodes.iter().any(|term| match term {
            Term::Op(name, kids) => holds(name.as_str(), kids),
            _ => false,
        })
    }
    fn items(&self, list: Id) -> Option<Vec<Id>> {
        self[list].nodes.iter().find_map(|term| match term {
            Term::List(items) => Some(items.to_vec()),
            _ => None,
        })
    }
    fn size(&self, size: &Expr) -> Option<Id> {
        self.analysis.sizes.get(size).copied()
    }
    fn constant(&mut self, constant: Constant) -> Id {
        self.add(Term::Const(constant))
    }
    fn list(&mut self, items: Vec<Id>) -> Id {
        add(self, Term::List(items.into())).expect("law: lists of any kinds have a type")
    }
    fn call(&mut self, op: &str, args: Vec<Id>) -> Option<Id> {
        add(self, Term::Op(op.into(), args.into()))
    }
}

impl<'r> Analysis<Term> for Typing<'r> {
    type Data = Data;

    fn make(graph: &mut Graph<'r>, term: &Term, id: Id) -> Data {
        let data = graph.analysis.recorded.take().or_else(|| type_of(graph, term));
        let data = data.unwrap_or_else(|| Data::new(graph.analysis.kinds.intern(Kind::Unknown), false, false));
        let data = Data { first: id, ..data };
        if let Kind::Value(Val::Int(size)) = &*data.kind {
            graph.analysis.sizes.entry(size.clone()).or_insert(id);
        }
        data
    }

    fn pre_union(graph: &Graph<'r>, a: Id, b: Id, _: &Option<Justification>) {
        graph.analysis.memory.borrow_mut().unite(graph, a, b);
    }

    fn merge(&mut self, a: &mut Data, b: Data) -> DidMerge {
        // The rule applier has compared the types. What is merged by congruence has equal children, so equal types; the
        // recorded value stays, and what is known to be static stays so.
        let was = (a.is_static, a.is_certain);
        a.first = a.first.min(b.first);
        a.is_static |= b.is_static;
        a.is_certain |= b.is_certain;
        if matches!(*a.kind, Kind::Unknown) && !matches!(*b.kind, Kind::Unknown) {
            (a.kind, a.laid) = (b.kind, b.laid);
            return DidMerge(true, true);
        }
        let now = (a.is_static, a.is_certain);
        DidMerge(now != was, now != (b.is_static, b.is_certain))
    }
}
