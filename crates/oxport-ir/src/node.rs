//! Nodes and their arguments.

use crate::{Device, Effect, Intrinsic, MemoryFormat, MemoryLayout, Op, Val};
use indexmap::IndexMap;
use num_complex::Complex64;
use oxport_tensor::DType;
use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// The identity of a node within its graph. Never reused, not even after the node is erased.
///
/// It knows its graph, so that another graph refuses it. A clone of a graph has the nodes of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    number: NonZeroU32,
    graph: GraphTag,
}

impl NodeId {
    /// The node of that index; `None` beyond 2³² − 2.
    pub(crate) fn new(index: usize, graph: GraphTag) -> Option<NodeId> {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new)?;
        Some(NodeId { number, graph })
    }
    /// The index of this node in dense side tables.
    pub fn index(self) -> usize {
        self.number.get() as usize - 1
    }
    /// The graph that made it.
    pub(crate) fn graph(self) -> GraphTag {
        self.graph
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({})", self.index())
    }
}

/// Tells graphs apart; a graph and its clones have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GraphTag(u32);

impl Default for GraphTag {
    /// One that no other of the last 2³² graphs has.
    fn default() -> GraphTag {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        GraphTag(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// One node: what it does, on what, and what is known of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Unique within the graph; a Python identifier.
    pub name: Arc<str>,
    /// What the node does.
    pub kind: NodeKind,
    /// The positional arguments. Of an output node: the values that the graph returns.
    pub args: Vec<Argument>,
    /// The keyword arguments.
    pub kwargs: Kwargs,
    /// What is known of the result.
    pub meta: NodeMeta,
}

/// The four kinds of node that an exported graph may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// An input of the graph.
    Placeholder,
    /// A call of an operator, a higher-order operator or a Python function on numbers.
    CallFunction(Op),
    /// A reference to a subgraph of this graph, by its name.
    GetAttr(Arc<str>),
    /// The end of the graph; its arguments are the results.
    Output,
}

impl Node {
    /// A node without meta.
    pub fn new(name: impl Into<Arc<str>>, kind: NodeKind, args: Vec<Argument>) -> Node {
        Node { name: name.into(), kind, args, kwargs: Kwargs::new(), meta: NodeMeta::default() }
    }
    /// The operator of a call.
    pub fn op(&self) -> Option<&Op> {
        if let NodeKind::CallFunction(op) = &self.kind { Some(op) } else { None }
    }
    /// The intrinsic that this node calls, if it calls one.
    pub fn intrinsic(&self) -> Option<Intrinsic> {
        self.op()?.intrinsic()
    }
    /// True if this node calls the operator of that name, `aten::add.Tensor`: for tests and tools.
    pub fn calls(&self, name: &str) -> bool {
        self.op().is_some_and(|op| op.name() == name)
    }
    /// Of a call of `getitem`: the list, and which of its elements.
    pub fn getitem(&self) -> Option<(NodeId, i64)> {
        self.op().filter(|op| op.is_getitem())?;
        getitem_arguments(&self.args)
    }
    /// The node that is the first argument, by position or by the schema's name: the tensor that a view is of, or that
    /// an operator of its own kind writes to.
    pub fn first_input(&self) -> Option<NodeId> {
        let named = || self.kwargs.get(&*self.op()?.schema()?.args.first()?.name);
        self.args.first().or_else(named)?.as_node()
    }
    /// Of a placeholder: the constant that it is where a call leaves it out.
    pub fn default_value(&self) -> Option<&Argument> {
        self.args.first().filter(|_| self.kind == NodeKind::Placeholder)
    }
    /// The positional arguments behind the first.
    pub fn after_first(&self) -> &[Argument] {
        self.args.get(1..).unwrap_or_default()
    }
    /// Of a call of an intrinsic: the arguments behind its parameters.
    pub fn operands(&self) -> &[Argument] {
        let parameters = self.intrinsic().map_or(self.args.len(), |intrinsic| intrinsic.parameters().len());
        self.args.get(parameters..).unwrap_or_default()
    }
    /// The argument of a parameter of the schema, or of an intrinsic, however it is given: by position, by name, or
    /// left to its default.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        let op = self.op()?;
        let Some(schema) = op.schema() else {
            let by_position = op.intrinsic()?.position(name).and_then(|i| self.args.get(i));
            return by_position.or_else(|| self.kwargs.get(name));
        };
        let (i, param) = schema.arg(name)?;
        let by_position = if param.kw_only { None } else { self.args.get(i) };
        by_position.or_else(|| self.kwargs.get(name)).or(param.default.as_ref())
    }
    /// What the call does beside returning values; nothing, where the node is none.
    pub fn effect(&self) -> Effect {
        self.op().map_or(Effect::Pure, |op| op.effect_of(self))
    }
    /// The meta value, if there is one.
    pub fn val(&self) -> Option<&Val> {
        self.meta.val.as_ref()
    }
    /// Calls `f` on every node that the arguments mention, as often as they do.
    pub fn for_each_input(&self, f: &mut dyn FnMut(NodeId)) {
        for a in self.args.iter().chain(self.kwargs.values()) {
            a.for_each_node(f);
        }
    }
    /// The nodes that the arguments mention, in order, each once.
    pub fn inputs(&self) -> Vec<NodeId> {
        let mut all = Vec::new();
        self.for_each_input(&mut |n| all.push(n));
        if all.len() > 16 {
            let mut seen = HashSet::with_capacity(all.len());
            all.retain(|n| seen.insert(*n));
            return all;
        }
        let mut i = 0;
        while i < all.len() {
            if all[..i].contains(&all[i]) {
                all.remove(i);
            } else {
                i += 1;
            }
        }
        all
    }
}

/// The list and the index in the arguments of `getitem`.
pub(crate) fn getitem_arguments(args: &[Argument]) -> Option<(NodeId, i64)> {
    match args {
        [Argument::Node(of), Argument::Int(index)] => Some((*of, *index)),
        _ => None,
    }
}

/// What is known of a node beside its call. Texts are kept as the file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeMeta {
    /// The result without its data; nodes called for their effect may lack it.
    pub val: Option<Val>,
    /// The Python stack at which the node was traced.
    pub stack_trace: Option<Arc<str>>,
    /// The modules around it: `key,path,type;…`.
    pub nn_module_stack: Option<Arc<str>>,
    /// `linear_1;builtin_function_or_method.linear`.
    pub torch_fn: Option<Arc<str>>,
    /// Everything else, by key: `source_fn_stack` in strict mode, `from_node`, the user's `custom`, ….
    pub extra: Vec<(Arc<str>, Arc<str>)>,
}

impl NodeMeta {
    /// The key in [`NodeMeta::extra`] under which a call whose operator has no schema keeps the names of its positional
    /// arguments.
    pub const INPUT_NAMES: &str = "oxport.input_names";
    /// The key by which a call says that its results stand in the document as one list of tensors, where no schema says
    /// so.
    pub const TENSOR_LIST: &str = "oxport.tensor_list";
    /// This meta's origin (stack traces, module stack, …) with another value: for nodes made from this one.
    pub fn derived(&self, val: Option<Val>) -> NodeMeta {
        // The value may be a list of thousands: it is not copied to be dropped.
        let NodeMeta { val: _, stack_trace, nn_module_stack, torch_fn, extra } = self;
        let (stack_trace, nn_module_stack) = (stack_trace.clone(), nn_module_stack.clone());
        NodeMeta { val, stack_trace, nn_module_stack, torch_fn: torch_fn.clone(), extra: extra.clone() }
    }
}

/// Keyword arguments by name, in the order in which they were given: an [`IndexMap`] behind a pointer, since most nodes
/// have none.
#[derive(Clone, Debug, Default)]
pub struct Kwargs(Option<Box<Named>>);

type Named = IndexMap<Arc<str>, Argument>;

impl Kwargs {
    /// None.
    pub fn new() -> Kwargs {
        Kwargs::default()
    }
    /// These arguments with every node replaced by `f` of it.
    pub fn map_nodes(&self, f: &mut dyn FnMut(NodeId) -> Argument) -> Kwargs {
        self.iter().map(|(name, a)| (name.clone(), a.map_nodes(f))).collect()
    }
}
impl Deref for Kwargs {
    type Target = Named;
    fn deref(&self) -> &Named {
        static NONE: LazyLock<Named> = LazyLock::new(Named::new);
        self.0.as_deref().unwrap_or_else(|| &*NONE)
    }
}
impl DerefMut for Kwargs {
    fn deref_mut(&mut self) -> &mut Named {
        self.0.get_or_insert_default()
    }
}
impl PartialEq for Kwargs {
    fn eq(&self, other: &Kwargs) -> bool {
        **self == **other
    }
}
impl FromIterator<(Arc<str>, Argument)> for Kwargs {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Argument)>>(all: I) -> Kwargs {
        let named: Named = all.into_iter().collect();
        Kwargs((!named.is_empty()).then(|| Box::new(named)))
    }
}
impl IntoIterator for Kwargs {
    type Item = (Arc<str>, Argument);
    type IntoIter = indexmap::map::IntoIter<Arc<str>, Argument>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.map_or_else(Named::new, |named| *named).into_iter()
    }
}
impl<'a> IntoIterator for &'a Kwargs {
    type Item = (&'a Arc<str>, &'a Argument);
    type IntoIter = indexmap::map::Iter<'a, Arc<str>, Argument>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// An argument of a node, as FX has them: nested plain data over nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `None`
    None,
    /// The result of another node.
    Node(NodeId),
    /// A Python int.
    Int(i64),
    /// A Python float.
    Float(f64),
    /// A Python bool.
    Bool(bool),
    /// A Python complex number.
    Complex(Complex64),
    /// A string.
    Str(Arc<str>),
    /// A `torch.dtype`.
    DType(DType),
    /// A `torch.layout`.
    Layout(MemoryLayout),
    /// A `torch.memory_format`.
    MemoryFormat(MemoryFormat),
    /// A `torch.device`.
    Device(Device),
    /// An operator as a value (`auto_functionalized`, `with_effects`).
    Op(Op),
    /// A list or tuple.
    List(Vec<Argument>),
    /// A dictionary with string keys.
    Dict(Kwargs),
}

impl Argument {
    /// Calls `f` on every node in this argument.
    pub fn for_each_node(&self, f: &mut dyn FnMut(NodeId)) {
        match self {
            Argument::Node(n) => f(*n),
            Argument::List(l) => l.iter().for_each(|a| a.for_each_node(f)),
            Argument::Dict(d) => d.values().for_each(|a| a.for_each_node(f)),
            _ => {}
        }
    }
    /// This argument with every node replaced by `f` of it.
    pub fn map_nodes(&self, f: &mut dyn FnMut(NodeId) -> Argument) -> Argument {
        match self {
            Argument::Node(n) => f(*n),
            Argument::List(l) => Argument::List(l.iter().map(|a| a.map_nodes(f)).collect()),
            Argument::Dict(d) => Argument::Dict(d.map_nodes(f)),
            other => other.clone(),
        }
    }
    /// The node, if it is one.
    pub fn as_node(&self) -> Option<NodeId> {
        if let Argument::Node(n) = self { Some(*n) } else { None }
    }
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Argument::Int(n) = self { Some(*n) } else { None }
    }
}

impl From<NodeId> for Argument {
    fn from(n: NodeId) -> Argument {
        Argument::Node(n)
    }
}
impl From<i64> for Argument {
    fn from(n: i64) -> Argument {
        Argument::Int(n)
    }
}
impl From<f64> for Argument {
    fn from(x: f64) -> Argument {
        Argument::Float(x)
    }
}
impl From<bool> for Argument {
    fn from(b: bool) -> Argument {
        Argument::Bool(b)
    }
}
impl From<DType> for Argument {
    fn from(d: DType) -> Argument {
        Argument::DType(d)
    }
}
impl From<&str> for Argument {
    fn from(s: &str) -> Argument {
        Argument::Str(s.into())
    }
}
impl From<oxport_tensor::Scalar> for Argument {
    fn from(s: oxport_tensor::Scalar) -> Argument {
        match s {
            oxport_tensor::Scalar::Int(n) => Argument::Int(n),
            oxport_tensor::Scalar::Float(x) => Argument::Float(x),
            oxport_tensor::Scalar::Bool(b) => Argument::Bool(b),
            oxport_tensor::Scalar::Complex(c) => Argument::Complex(c),
        }
    }
}
impl<T: Into<Argument>> From<Option<T>> for Argument {
    fn from(x: Option<T>) -> Argument {
        x.map_or(Argument::None, Into::into)
    }
}
impl<T: Into<Argument>> From<Vec<T>> for Argument {
    fn from(l: Vec<T>) -> Argument {
        Argument::List(l.into_iter().map(Into::into).collect())
    }
}
impl<T: Into<Argument> + Clone, const N: usize> From<[T; N]> for Argument {
    fn from(l: [T; N]) -> Argument {
        Argument::List(l.into_iter().map(Into::into).collect())
    }
}
