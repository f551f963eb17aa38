//! How an operator is found: [`Op`], which nodes hold, and the [`Registry`] of all operators.
//!
//! A name is `namespace::op.overload` everywhere in oxport (`aten::add.Tensor`, `aten::relu`, `_operator::add`,
//! `higher_order::cond`); a *target* is the same thing as PyTorch spells it in programs (`torch.ops.aten.relu.default`,
//! `_operator.add`).
//!
//! Laws: tables are plain static data, there is no registration at start-up (rows that are made at run time make
//! another registry: [`Registry::with`]); what PyTorch registers of an operator
//! (schema, tags, kinds of kernels, autocast class) is read from the pinned schemas, whether oxport implements it or
//! not.

use crate::intrinsic::Intrinsic;
use crate::opdef::{Aliasing, Autocast, Effect, Kernel, Mutation, OpDef};
use crate::operator::Operator;
use crate::schema::FunctionSchema;
use crate::{Argument, Error, Node, Result};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// An operator as nodes hold it: its name, and what the registry knows of it. Equal if the names are.
#[derive(Clone)]
pub struct Op(Arc<OpEntry>);

struct OpEntry {
    name: Box<str>,
    schema: Option<FunctionSchema>,
    def: Option<Row>,
    intrinsic: Option<Intrinsic>,
    tags: &'static str,
    kinds: &'static str,
}

impl Op {
    /// `aten::add.Tensor`
    pub fn name(&self) -> &str {
        &self.0.name
    }
    /// The name without its namespace: `add.Tensor`.
    pub fn short_name(&self) -> &str {
        self.0.name.split_once("::").map_or(&*self.0.name, |(_, n)| n)
    }
    /// The name without namespace and overload, which PyTorch calls a packet of overloads: `add`.
    pub fn packet(&self) -> &str {
        self.short_name().split('.').next().unwrap_or_default()
    }
    /// What calls are named after: the packet, `and` for `__and__`.
    pub fn stem(&self) -> &str {
        let packet = self.packet();
        let inner = packet.strip_prefix("__").and_then(|s| s.strip_suffix("__"));
        inner.filter(|s| !s.is_empty()).unwrap_or(packet)
    }
    /// The namespace: `aten`, `higher_order`, `_operator`.
    pub fn namespace(&self) -> &str {
        self.0.name.split_once("::").map_or("", |(ns, _)| ns)
    }
    /// As PyTorch spells it in programs: `torch.ops.aten.relu.default`, `_operator.add`, `torch.sym_int`.
    pub fn target(&self) -> String {
        target_of(self.name())
    }
    /// The schema, if the operator has one and it is known.
    pub fn schema(&self) -> Option<&FunctionSchema> {
        self.0.schema.as_ref()
    }
    /// True for an operator of which not even the schema is known: it may write to its arguments.
    pub fn is_unknown(&self) -> bool {
        self.schema().is_none() && self.intrinsic().is_none() && !self.is_python() && !self.is_higher_order()
    }
    /// The table entry, if oxport implements it.
    pub fn def(&self) -> Option<&OpDef> {
        self.0.def.as_deref()
    }
    /// The operator, if it was made at run time.
    pub(crate) fn made(&self) -> Option<&Operator> {
        match &self.0.def {
            Some(Row::Made(op)) => Some(op),
            _ => None,
        }
    }
    /// Which intrinsic it is, if it is one.
    pub fn intrinsic(&self) -> Option<Intrinsic> {
        self.0.intrinsic
    }
    /// True if PyTorch tags the operator so (`core`, `pointwise`, `nondeterministic_seeded`), or registers it as that
    /// kind (`composite_implicit`).
    pub fn has_tag(&self, tag: &str) -> bool {
        self.0.tags.split_whitespace().any(|t| t == tag)
    }
    /// True if PyTorch makes it of other operators in every case, so that it aliases what these alias, whatever its
    /// schema says.
    pub fn is_composite(&self) -> bool {
        self.0.kinds.split_whitespace().any(|kind| kind == "composite_implicit")
    }
    /// True if its result may be an argument or a view of one, whatever its schema says: PyTorch makes it of other
    /// operators (`einsum` of one tensor), or does not vouch for the schema, and nothing here says better. What has a
    /// kernel here makes memory of its own, unless [`OpDef::aliasing`] says when not.
    pub fn is_alias_unknown(&self) -> bool {
        let is_vouched = self.has_tag("pt2_compliant_tag") && !self.is_composite();
        let is_open =
            |d: &OpDef| matches!(d.kernel, Kernel::None | Kernel::View(_)) && !matches!(d.aliasing, Aliasing::Never);
        !is_vouched && self.def().is_none_or(is_open)
    }
    /// In which dtype it computes within a CPU autocast region.
    pub fn autocast(&self) -> Autocast {
        let class = self.0.kinds.split_whitespace().find_map(|kind| kind.strip_prefix("autocast_"));
        match class {
            Some("lower") => Autocast::Lower,
            Some("float32") => Autocast::Float32,
            Some("widest") => Autocast::Widest,
            _ => Autocast::Unchanged,
        }
    }
    /// True if PyTorch registers it for TorchScript only, and has no function of Python for it.
    pub fn is_jit_only(&self) -> bool {
        self.0.kinds.split_whitespace().any(|kind| kind == "jit_only")
    }
    /// True if PyTorch's functions of Python take a number where its schema has a tensor: `x + 1` is `add.Tensor`.
    pub fn takes_number(&self) -> bool {
        self.0.kinds.split_whitespace().any(|kind| kind == "takes_number")
    }
    /// True if its result is its first argument itself, or a view of it, for some arguments only, which no schema says.
    pub fn is_alias_at_times(&self) -> bool {
        match self.def().map_or(Aliasing::BySchema, |d| d.aliasing) {
            Aliasing::BySchema => self.has_tag("maybe_aliasing_or_mutating"),
            Aliasing::If(_) => true,
            Aliasing::Never => false,
        }
    }
    /// True if its result is a number that it reads from a tensor: `item`.
    pub fn reads_number(&self) -> bool {
        self.schema().is_some_and(FunctionSchema::reads_number)
    }
    /// True if it takes subgraphs: `higher_order::cond`.
    pub fn is_higher_order(&self) -> bool {
        self.namespace() == "higher_order"
    }
    /// True if it picks an element of a multiple result.
    pub fn is_getitem(&self) -> bool {
        self.0.intrinsic == Some(Intrinsic::Getitem)
    }
    /// True if it writes to its arguments. An unknown operator may.
    pub fn is_mutable(&self) -> bool {
        self.schema().map_or(!self.is_python() && !self.is_higher_order(), FunctionSchema::is_mutable)
    }
    /// True for Python functions: `_operator.add`, `math.trunc`, `torch.sym_max`.
    pub fn is_python(&self) -> bool {
        is_python_namespace(self.namespace())
    }
    /// True for Python functions on numbers that PyTorch loads in programs: its row says so.
    pub fn is_on_numbers(&self) -> bool {
        self.def().is_some_and(|d| d.on_numbers)
    }
    /// True for PyTorch's own operators, which functionalization has variants of.
    pub fn is_aten(&self) -> bool {
        self.namespace() == "aten"
    }
    /// True if it is of a library that PyTorch registers as a whole, so that there are no operators but those that are
    /// pinned.
    pub fn is_of_pytorch(&self) -> bool {
        matches!(self.namespace(), "aten" | "prims" | "prim")
    }
    /// What a call does beside returning values, whatever its arguments. An unknown operator may do anything.
    pub fn effect(&self) -> Effect {
        match self.def() {
            Some(def) => def.effect,
            None if self.has_tag("nondeterministic_seeded") => Effect::Random,
            None if self.is_python() => Effect::Pure,
            None if self.is_aten() && !self.is_mutable() => Effect::Pure,
            None => Effect::Effectful,
        }
    }
    /// What a call of this operator with the node's arguments writes beside what its schema says.
    pub fn mutation_of(&self, node: &Node) -> Option<&'static Mutation> {
        let mutation = self.def()?.mutation?;
        let is_on = mutation.when.is_none_or(|flag| node.argument(flag) == Some(&Argument::Bool(true)));
        let is_given = mutation.written.iter().any(|name| matches!(node.argument(name), Some(Argument::Node(_))));
        (is_on && is_given).then_some(mutation)
    }
    /// What a call of this operator with the node's arguments does: one that draws only where its arguments ask for it
    /// (`dropout_p`, `train`) is pure where they do not.
    pub fn effect_of(&self, node: &Node) -> Effect {
        let is_off = |name: &&str| match node.argument(name) {
            Some(Argument::Bool(on)) => !on,
            Some(Argument::Int(n)) => *n == 0,
            Some(Argument::Float(p)) => *p == 0.0,
            _ => false,
        };
        match self.def() {
            Some(def) if def.draws_if.iter().any(is_off) => Effect::Pure,
            _ => self.effect(),
        }
    }
}

fn is_python_namespace(ns: &str) -> bool {
    matches!(ns, "_operator" | "math" | "builtins" | "torch") || ns.starts_with("torch.")
}

/// The name of a target: `torch.ops.aten.relu.default` → `aten::relu`, `_operator.add` → `_operator::add`. A name is
/// returned as it is.
pub fn name_of(target: &str) -> String {
    if target.contains("::") {
        return target.to_string();
    }
    let Some(rest) = target.strip_prefix("torch.ops.") else {
        return match target.rsplit_once('.') {
            Some((module, name)) => format!("{module}::{name}"),
            None => target.to_string(),
        };
    };
    match rest.split_once('.') {
        Some(("higher_order", name)) => format!("higher_order::{name}"),
        Some((ns, op)) => format!("{ns}::{}", op.strip_suffix(".default").unwrap_or(op)),
        None => rest.to_string(),
    }
}

/// The target of a name, the reverse of [`name_of`].
pub fn target_of(name: &str) -> String {
    match name.split_once("::") {
        Some(("higher_order", op)) => format!("torch.ops.higher_order.{op}"),
        Some((ns, op)) if is_python_namespace(ns) => format!("{ns}.{op}"),
        Some((ns, op)) if op.contains('.') => format!("torch.ops.{ns}.{op}"),
        Some((ns, op)) => format!("torch.ops.{ns}.{op}.default"),
        None => name.to_string(),
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}
impl Eq for Op {}
impl std::hash::Hash for Op {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        self.0.name.hash(h);
    }
}
impl PartialOrd for Op {
    fn partial_cmp(&self, other: &Op) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Op {
    fn cmp(&self, other: &Op) -> std::cmp::Ordering {
        self.0.name.cmp(&other.0.name)
    }
}
impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target())
    }
}

/// All operators that are known: tables of [`OpDef`]s, and pinned schemas for the rest. A value; there is no global
/// one.
pub struct Registry {
    defs: HashMap<&'static str, Row>,
    pinned: HashMap<&'static str, Pinned>,
    found: Mutex<HashMap<Box<str>, Op>>,
    derived: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// Where the row of an operator is.
#[derive(Clone)]
enum Row {
    /// In a table.
    Listed(&'static OpDef),
    /// In an operator made at run time.
    Made(Arc<Operator>),
}

impl Deref for Row {
    type Target = OpDef;
    fn deref(&self) -> &OpDef {
        match self {
            Row::Listed(def) => def,
            Row::Made(op) => op.def(),
        }
    }
}

/// A line of the pinned schemas: the schema, PyTorch's tags, and how it is dispatched.
#[derive(Clone, Copy, Default)]
struct Pinned {
    schema: &'static str,
    tags: &'static str,
    kinds: &'static str,
}

impl Registry {
    /// A registry of these tables, over pinned schemas: lines of `schema \t tags \t …`, as in
    /// `schemas/aten_schemas.txt`.
    pub fn new(tables: &[&'static [OpDef]], pinned: &'static str) -> Registry {
        let mut registry = Registry {
            defs: HashMap::new(),
            pinned: HashMap::new(),
            found: Mutex::default(),
            derived: Mutex::default(),
        };
        for line in pinned.lines() {
            let mut columns = line.split('\t');
            let [schema, tags, kinds] = std::array::from_fn(|_| columns.next().unwrap_or(""));
            registry.pinned.insert(schema.split('(').next().unwrap_or(""), Pinned { schema, tags, kinds });
        }
        for table in tables {
            registry.add(table);
        }
        registry
    }
    /// Adds a table: a user's own operators, or a replacement of some of ours.
    pub fn add(&mut self, table: &'static [OpDef]) {
        self.extend(table.iter().map(Row::Listed));
    }
    /// The same registry with these operators, which were made at run time, or instead of those of the same names.
    ///
    /// # Errors
    /// A schema cannot be read.
    pub fn with(&self, made: impl IntoIterator<Item = Operator>) -> Result<Registry> {
        let mut registry = Registry {
            defs: self.defs.clone(),
            pinned: self.pinned.clone(),
            found: Mutex::default(),
            derived: Mutex::default(),
        };
        let made: Vec<Operator> = made.into_iter().collect();
        for op in &made {
            FunctionSchema::parse(op.def().schema)?;
        }
        registry.extend(made.into_iter().map(|op| Row::Made(Arc::new(op))));
        Ok(registry)
    }
    fn extend(&mut self, rows: impl Iterator<Item = Row>) {
        self.defs.extend(rows.map(|row| (row.name(), row)));
        self.found.lock().expect("law: no panic while the lock is held").clear();
        self.derived.lock().expect("law: no panic while the lock is held").clear();
    }
    /// What a pass computes of these tables once: made at the first call for its type.
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce(&Registry) -> T) -> Arc<T> {
        let lock = || self.derived.lock().expect("law: no panic while the lock is held");
        let found = lock().get(&TypeId::of::<T>()).cloned();
        // Made without the lock: what is made may itself ask for something derived.
        let found = found.unwrap_or_else(|| {
            let made = Arc::new(make(self));
            lock().entry(TypeId::of::<T>()).or_insert(made).clone()
        });
        found.downcast().expect("law: the key is the type")
    }
    /// The operators with a row to which PyTorch gives this tag, by name.
    pub fn tagged(&self, tag: &str) -> Vec<Op> {
        let has_tag = |name: &&&str| self.pinned.get(**name).is_some_and(|p| p.tags.contains(tag));
        let mut names: Vec<&str> = self.defs.keys().filter(has_tag).copied().collect();
        names.sort_unstable();
        names.into_iter().map(|name| self.op(name)).filter(|op| op.has_tag(tag)).collect()
    }
    /// The operator of a name or a target. One that nobody knows is still an [`Op`], without schema.
    pub fn op(&self, name_or_target: &str) -> Op {
        let mut found = self.found.lock().expect("law: no panic while the lock is held");
        if let Some(op) = found.get(name_or_target) {
            return op.clone();
        }
        let name = name_of(name_or_target);
        let def = self.defs.get(name.as_str()).cloned();
        let pinned = self.pinned.get(name.as_str()).copied().unwrap_or_default();
        let text = Some(def.as_ref().map_or(pinned.schema, |d| d.schema)).filter(|t| t.contains('('));
        let schema = text.and_then(|t| FunctionSchema::parse(t).ok());
        let intrinsic = Intrinsic::of(&name);
        let (tags, kinds) = (pinned.tags, pinned.kinds);
        let op = Op(Arc::new(OpEntry { name: name.into(), schema, def, intrinsic, tags, kinds }));
        found.insert(name_or_target.into(), op.clone());
        op
    }
    /// The implemented operator of that name.
    ///
    /// # Errors
    /// Unsupported, if there is none.
    pub fn implemented(&self, name: &str) -> Result<Op> {
        let op = self.op(name);
        if op.def().is_some() { Ok(op) } else { Err(Error::unsupported(format!("operator {name} is not implemented"))) }
    }
    /// All names: implemented and pinned, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.defs.keys().chain(self.pinned.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    /// True if PyTorch registers an operator of this name.
    pub fn is_pinned(&self, name: &str) -> bool {
        self.pinned.contains_key(name)
    }
    /// The pinned schema text of a name.
    pub fn pinned_schema(&self, name: &str) -> Option<&'static str> {
        self.pinned.get(name).map(|p| p.schema)
    }
    /// All implemented operators, sorted by name.
    pub fn defs(&self) -> Vec<&OpDef> {
        let mut defs: Vec<&OpDef> = self.defs.values().map(|row| &**row).collect();
        defs.sort_unstable_by_key(|d| d.name());
        defs
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} implemented, {} pinned)", self.defs.len(), self.pinned.len())
    }
}
