//! What an operator is: one plain value, [`OpDef`], in a static table; and how it is found, [`Registry`].
//!
//! ```ignore
//! pub static OPS: &[OpDef] = &[
//!     OpDef::new("aten::silu(Tensor self) -> Tensor", meta::unary_float).doc("`x · sigmoid(x)`.")
//!         .fill(silu).expr("mul.Tensor(self, sigmoid(self))").samples(&["f32[2, 3]"]),
//! ];
//! ```
//!
//! A name is `namespace::op.overload` everywhere in oxport (`aten::add.Tensor`, `aten::relu`, `_operator::add`,
//! `higher_order::cond`); a *target* is the same thing as PyTorch spells it in programs (`torch.ops.aten.relu.default`,
//! `_operator.add`).
//!
//! Laws: a meta function says *what* a call yields, the kernel *fills* it, so they cannot disagree on shape; tables are
//! plain static data, and there is no registration at start-up.

use crate::args::{Args, Build, Meta, Real};
use crate::schema::FunctionSchema;
use crate::{Argument, Builder, Error, Result, Val, Value};
use oxport_tensor::{Tensor, TensorMut};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// One operator: its contract and everything that can be done with it.
#[derive(Clone, Copy)]
pub struct OpDef {
    /// The signature in ATen's syntax: the single source of name, arguments, defaults and mutability.
    pub schema: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// From argument metas to result metas, one per return of the schema.
    pub meta: MetaFn,
    /// How it is computed.
    pub kernel: Kernel,
    /// What it is made of.
    pub decomp: Decomp,
    /// Work and traffic, from argument and result metas.
    pub cost: CostFn,
    /// How closely two implementations must agree.
    pub exact: Exact,
    /// What a call does beside returning values.
    pub effect: Effect,
    /// Of a random operator: the arguments that must all be true or above zero for a call to draw. Without any, every call does.
    pub draws_if: &'static [&'static str],
    /// Of a random operator: what its first argument has to do with what is drawn.
    pub noise: Noise,
    /// Whether it reads the storage of its first argument past the elements of the tensor: `as_strided`, storage offsets.
    pub reads_storage: bool,
    /// Calls that must work, as text: `f32[2, 3], 1, alpha=2`; with `!` in front, calls that must be refused.
    pub samples: &'static [&'static str],
}

/// See [`OpDef::meta`].
pub type MetaFn = fn(&Args<'_, Meta>) -> Result<Vec<Val>>;
/// See [`OpDef::cost`].
pub type CostFn = fn(&Args<'_, Meta>, &[Val]) -> Cost;

/// How an operator is computed; what the planner may do with it is in the type.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Not at all: it runs by its decomposition.
    None,
    /// By views of its inputs that move no element. `None` means that the strides forbid a view: the result is then
    /// the first tensor argument's elements in row-major order, in fresh tensors of the sizes that the meta says.
    View(fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>),
    /// By filling outputs that were allocated from the metas: one per tensor in the results, in order.
    Fill(fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>),
    /// By making its results itself, one per return: numbers, sizes that depend on data, higher-order operators.
    Eval(fn(&Args<'_, Real>) -> Result<Vec<Value>>),
}

/// What an operator is made of.
#[derive(Clone, Copy)]
pub enum Decomp {
    /// Nothing simpler.
    None,
    /// A call text over the schema's argument names: `mul.Tensor(self, sigmoid(self))`.
    Expr(&'static str),
    /// What the function builds; one argument per return.
    Fn(fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>),
}

/// How closely two implementations must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// To the bit.
    Bits,
    /// Up to rounding.
    Rounding,
    /// Not at all: the values are random or undefined.
    Random,
}

/// What a call does beside returning values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it may be merged with an equal call, and dropped.
    Pure,
    /// It draws from the generator: never merged, never dropped, since what draws behind it would get other numbers.
    Random,
    /// It fails if a condition does not hold: never dropped.
    Assert,
    /// Anything else: never merged, dropped or moved across its like.
    Effectful,
}

/// What the first argument of a random operator has to do with what is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Its values are parameters of the distribution, or there is none.
    Weighted,
    /// It gives sizes, strides and dtype; its values do not matter: `rand_like`, `uniform`.
    Shaped,
    /// It is multiplied by what the call gives for ones: `dropout`.
    Factor,
}

/// Work and traffic of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

impl OpDef {
    /// An operator that is computed by nothing yet, exact up to rounding, and pure.
    pub const fn new(schema: &'static str, meta: MetaFn) -> OpDef {
        OpDef {
            schema,
            doc: "",
            meta,
            kernel: Kernel::None,
            decomp: Decomp::None,
            cost: default_cost,
            exact: Exact::Rounding,
            effect: Effect::Pure,
            draws_if: &[],
            noise: Noise::Weighted,
            reads_storage: false,
            samples: &[],
        }
    }
    /// Sets the doc sentence.
    pub const fn doc(self, doc: &'static str) -> OpDef {
        OpDef { doc, ..self }
    }
    /// Computes by views.
    pub const fn view(self, f: fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>) -> OpDef {
        OpDef { kernel: Kernel::View(f), exact: Exact::Bits, cost: |_, _| Cost { flops: 0.0, bytes: 0.0 }, ..self }
    }
    /// Computes by filling outputs.
    pub const fn fill(self, f: fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>) -> OpDef {
        OpDef { kernel: Kernel::Fill(f), ..self }
    }
    /// Computes by making results.
    pub const fn eval(self, f: fn(&Args<'_, Real>) -> Result<Vec<Value>>) -> OpDef {
        OpDef { kernel: Kernel::Eval(f), ..self }
    }
    /// Decomposes as a call text.
    pub const fn expr(self, text: &'static str) -> OpDef {
        OpDef { decomp: Decomp::Expr(text), ..self }
    }
    /// Decomposes by a function.
    pub const fn decomp(self, f: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>) -> OpDef {
        OpDef { decomp: Decomp::Fn(f), ..self }
    }
    /// Sets the cost.
    pub const fn cost(self, cost: CostFn) -> OpDef {
        OpDef { cost, ..self }
    }
    /// Sets the exactness.
    pub const fn exact(self, exact: Exact) -> OpDef {
        OpDef { exact, ..self }
    }
    /// Sets the effect.
    pub const fn effect(self, effect: Effect) -> OpDef {
        OpDef { effect, ..self }
    }
    /// Makes it random where these arguments ask for it, and pure elsewhere: `&["dropout_p"]`, `&["p", "train"]`.
    pub const fn random_if(self, draws_if: &'static [&'static str]) -> OpDef {
        OpDef { effect: Effect::Random, draws_if, ..self }
    }
    /// Says what the first argument of a random operator has to do with what is drawn.
    pub const fn noise(self, noise: Noise) -> OpDef {
        OpDef { noise, ..self }
    }
    /// Says that it reads its first argument's storage past the elements of the tensor.
    pub const fn reads_storage(self) -> OpDef {
        OpDef { reads_storage: true, ..self }
    }
    /// Sets the samples.
    pub const fn samples(self, samples: &'static [&'static str]) -> OpDef {
        OpDef { samples, ..self }
    }
    /// The name: the schema up to its parenthesis.
    pub fn name(&self) -> &'static str {
        self.schema.split('(').next().unwrap_or(self.schema)
    }
}

/// Reads every input and writes every output once, one operation per output element.
pub fn default_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let count = |v: &crate::Fake| args.cx.hint(&v.numel()).unwrap_or(4096) as f64;
    let mut cost = Cost::default();
    for out in outs.iter().flat_map(Val::tensors) {
        cost.flops += count(out);
        cost.bytes += count(out) * out.dtype.size() as f64;
    }
    fn tensors<'a>(a: &'a crate::Arg<Meta>, f: &mut dyn FnMut(&'a crate::Fake)) {
        match a {
            crate::Arg::Tensor(t) => f(t),
            crate::Arg::List(l) => l.iter().for_each(|a| tensors(a, f)),
            _ => {}
        }
    }
    args.values.iter().for_each(|a| tensors(a, &mut |t| cost.bytes += count(t) * t.dtype.size() as f64));
    cost
}

/// An operator as nodes hold it: its name, and what the registry knows of it. Equal if the names are.
#[derive(Clone)]
pub struct Op(Arc<OpEntry>);

struct OpEntry {
    name: Box<str>,
    schema: Option<FunctionSchema>,
    def: Option<&'static OpDef>,
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
    /// The table entry, if oxport implements it.
    pub fn def(&self) -> Option<&'static OpDef> {
        self.0.def
    }
    /// True if PyTorch tags the operator so (`core`, `pointwise`, `nondeterministic_seeded`), or registers it as that kind
    /// (`composite_implicit`).
    pub fn has_tag(&self, tag: &str) -> bool {
        self.0.tags.split_whitespace().any(|t| t == tag)
    }
    /// True if PyTorch makes it of other operators in every case, so that it aliases what these alias, whatever its schema says.
    pub fn is_composite(&self) -> bool {
        self.0.kinds.split_whitespace().any(|kind| kind == "composite_implicit")
    }
    /// True if it takes subgraphs: `higher_order::cond`.
    pub fn is_higher_order(&self) -> bool {
        self.namespace() == "higher_order"
    }
    /// True if it picks an element of a multiple result.
    pub fn is_getitem(&self) -> bool {
        self.name() == "_operator::getitem"
    }
    /// True if it writes to its arguments. An unknown operator may.
    pub fn is_mutable(&self) -> bool {
        self.schema().map_or(!self.is_python() && !self.is_higher_order(), FunctionSchema::is_mutable)
    }
    /// True for Python functions on numbers: `_operator.add`, `math.trunc`, `torch.sym_max`.
    pub fn is_python(&self) -> bool {
        is_python_namespace(self.namespace())
    }
    /// What a call does beside returning values, whatever its arguments. An unknown operator may do anything.
    pub fn effect(&self) -> Effect {
        match self.def() {
            Some(def) => def.effect,
            None if self.has_tag("nondeterministic_seeded") => Effect::Random,
            None if self.is_python() => Effect::Pure,
            None if self.namespace() == "aten" && !self.is_mutable() => Effect::Pure,
            None => Effect::Effectful,
        }
    }
    /// What a call of this operator with the node's arguments does: one that draws only where its arguments ask for it
    /// (`dropout_p`, `train`) is pure where they do not.
    pub fn effect_of(&self, node: &crate::Node) -> Effect {
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

/// All operators that are known: tables of [`OpDef`]s, and pinned schemas for the rest. A value; there is no global one.
pub struct Registry {
    defs: HashMap<&'static str, &'static OpDef>,
    pinned: HashMap<&'static str, Pinned>,
    found: Mutex<HashMap<Box<str>, Op>>,
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
        let mut registry = Registry { defs: HashMap::new(), pinned: HashMap::new(), found: Mutex::new(HashMap::new()) };
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
        self.defs.extend(table.iter().map(|def| (def.name(), def)));
        self.found.lock().expect("law: no panic while the lock is held").clear();
    }
    /// The operator of a name or a target. One that nobody knows is still an [`Op`], without schema.
    pub fn op(&self, name_or_target: &str) -> Op {
        let mut found = self.found.lock().expect("law: no panic while the lock is held");
        if let Some(op) = found.get(name_or_target) {
            return op.clone();
        }
        let name = name_of(name_or_target);
        let def = self.defs.get(name.as_str()).copied();
        let pinned = self.pinned.get(name.as_str()).copied().unwrap_or_default();
        let text = Some(def.map_or(pinned.schema, |d| d.schema)).filter(|t| t.contains('('));
        let schema = text.and_then(|t| FunctionSchema::parse(t).ok());
        let op = Op(Arc::new(OpEntry { name: name.into(), schema, def, tags: pinned.tags, kinds: pinned.kinds }));
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
    pub fn defs(&self) -> Vec<&'static OpDef> {
        let mut defs: Vec<_> = self.defs.values().copied().collect();
        defs.sort_unstable_by_key(|d| d.name());
        defs
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} implemented, {} pinned)", self.defs.len(), self.pinned.len())
    }
}
