//! [`Tracer`]: the program that grows while code runs.
//!
//! Laws: placeholders stand in the order of `torch.export`: parameters, buffers, constants, inputs of the user; a
//! node has the
//! meta that its operator's meta function gave when it was traced; a refused call adds no node.

use crate::autocast::Region;
use crate::branch::Outer;
use crate::constraint::Declared;
use crate::memo::Memos;
use crate::naming;
use crate::number::Numbers;
use crate::overload::Packets;
use crate::{Error, Result, SymInt, Tensor, Value};
use indexmap::IndexMap;
use oxport_ir::text::Namespace;
use oxport_ir::{
    Argument, Dialect, ExportedProgram, Fake, Graph, InputKind, ModuleCall, ModuleCallSignature, Node, NodeId,
    NodeKind, NodeMeta, OutputKind, RangeConstraint, Registry, Signature, Val,
};
use oxport_pytree::{Kind, Tree, TreeSpec};
use oxport_sym::{Expr, Range, ShapeEnv, Symbol};
use std::cell::{Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

/// Traces calls into a program. A handle: its clones trace into the same one.
#[derive(Clone)]
pub struct Tracer(Rc<RefCell<State>>);

/// What a tracer knows.
pub(crate) struct State {
    pub(crate) registry: Arc<Registry>,
    pub(crate) packets: Arc<Packets>,
    pub(crate) program: ExportedProgram,
    pub(crate) names: Namespace,
    pub(crate) numbers: Numbers,
    pub(crate) declared: Vec<Declared>,
    /// The graphs around the closures that are being traced, the outermost first.
    pub(crate) outer: Vec<Outer>,
    /// The tensors of branches that were left.
    pub(crate) left: HashMap<NodeId, Fake>,
    /// By tensor, the call that last wrote it.
    pub(crate) written: HashMap<NodeId, NodeId>,
    pub(crate) memos: Memos,
    /// The autocast regions of code, in the order in which they begin.
    pub(crate) marked: Vec<Region>,
    /// The autocast regions that are being traced, by dtype.
    pub(crate) regions: Vec<Option<oxport_tensor::DType>>,
    frames: Vec<ModuleFrame>,
    trace: Option<Arc<str>>,
    errors: Vec<Error>,
    inputs: Vec<Arc<str>>,
    modules: IndexMap<Arc<str>, ()>,
    pub(crate) constants: usize,
}

/// A module whose `forward` runs.
struct ModuleFrame {
    path: Arc<str>,
    class: Arc<str>,
    line: Option<Arc<str>>,
}

/// The operators of oxport, and their overloads: made once.
fn standard() -> (Arc<Registry>, Arc<Packets>) {
    static STANDARD: LazyLock<(Arc<Registry>, Arc<Packets>)> = LazyLock::new(|| {
        let registry = Registry::new(oxport_ops::TABLES, oxport_ops::SCHEMAS);
        let packets = Packets::new(&registry);
        (Arc::new(registry), Arc::new(packets))
    });
    STANDARD.clone()
}

impl Default for Tracer {
    fn default() -> Tracer {
        Tracer::new()
    }
}

impl Tracer {
    /// An empty program over the operators of oxport.
    pub fn new() -> Tracer {
        let (registry, packets) = standard();
        Tracer::over(registry, packets)
    }
    /// An empty program over these operators, those of a user's own among them.
    pub fn with_registry(registry: Arc<Registry>) -> Tracer {
        let packets = Arc::new(Packets::new(&registry));
        Tracer::over(registry, packets)
    }
    fn over(registry: Arc<Registry>, packets: Arc<Packets>) -> Tracer {
        let mut program = ExportedProgram::new(Graph::new(), Signature::default(), ShapeEnv::tracing());
        program.dialect = Dialect::Training;
        Tracer(Rc::new(RefCell::new(State {
            registry,
            packets,
            program,
            names: Namespace::default(),
            numbers: Numbers::default(),
            declared: Vec::new(),
            outer: Vec::new(),
            left: HashMap::new(),
            written: HashMap::new(),
            memos: Memos::default(),
            marked: Vec::new(),
            regions: Vec::new(),
            frames: Vec::new(),
            trace: None,
            errors: Vec::new(),
            inputs: Vec::new(),
            modules: IndexMap::new(),
            constants: 0,
        })))
    }
    pub(crate) fn state(&self) -> Ref<'_, State> {
        self.0.borrow()
    }
    pub(crate) fn state_mut(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }
    /// True if both trace into one program.
    pub fn is_same(&self, other: &Tracer) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
    pub(crate) fn is_placeholder(&self, node: NodeId) -> bool {
        self.state().node(node).is_some_and(|n| n.kind == NodeKind::Placeholder)
    }
    pub(crate) fn fake(&self, node: NodeId) -> Option<Fake> {
        let state = self.state();
        let fake = match state.node(node) {
            Some(node) => node.val()?.as_tensor()?,
            None => state.left.get(&node)?,
        };
        Some(state.simplified(fake))
    }
    pub(crate) fn name_of(&self, node: NodeId) -> Option<Arc<str>> {
        Some(self.state().node(node)?.name.clone())
    }
    pub(crate) fn tensor(&self, node: NodeId) -> Tensor {
        Tensor { tracer: self.clone(), node: Some(node) }
    }
    /// A tensor that nothing computes: the result of a refused call.
    pub(crate) fn void(&self) -> Tensor {
        Tensor { tracer: self.clone(), node: None }
    }

    /// A tensor that the user gives.
    ///
    /// # Errors
    /// None, but a `Result` as every call has.
    pub fn input(&self, name: &str, fake: Fake) -> Result<Tensor> {
        let node = self.state_mut().user_input(name, Val::Tensor(fake))?;
        Ok(self.tensor(node))
    }
    /// A number, string or `None` that the user gives, and that must be this one at every call.
    ///
    /// # Errors
    /// It is no constant.
    pub fn constant_input(&self, name: &str, constant: &Value) -> Result<()> {
        let mut state = self.state_mut();
        let argument = state.constant(constant)?;
        state.inputs.push(name.into());
        let val = constant.as_val().or(match constant {
            Value::None => Some(Val::None),
            Value::Str(s) => Some(Val::Str((&**s).into())),
            _ => None,
        });
        state.placeholder(name, InputKind::ConstantInput(argument), val)?;
        Ok(())
    }
    /// A symbolic size of inputs: its source, as `L['x'].size()[0]`, names it as in PyTorch; its value is that of the
    /// example.
    /// While the code is traced it is at least `least`, as PyTorch takes sizes to be neither 0 nor 1.
    pub fn size(&self, source: &str, hint: i64, least: i64, declared: RangeConstraint) -> SymInt {
        let mut state = self.state_mut();
        let symbol = state.new_symbol(source, hint, Range::from_bounds(Some(least), declared.max));
        let expr = Expr::symbol(&symbol);
        state.program.ranges.insert(expr.clone(), declared);
        drop(state);
        SymInt::new(expr, self)
    }

    /// Calls an operator: `aten.roll`, whose overload is found as PyTorch's parser finds it, or `aten.roll.default`.
    /// Several
    /// results are a list.
    ///
    /// # Errors
    /// No overload takes the arguments, or the operator refuses them; with PyTorch's message, and the caller's line.
    #[track_caller]
    pub fn op(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Result<Value> {
        let trace = self.trace(Location::caller(), name);
        self.call(name, args, kwargs, &trace).map_err(|e| e.traced(Some(&trace)))
    }
    /// As [`Tracer::op`] for code that does not stop at an error: a refused call gives a void tensor, and the error
    /// is kept
    /// for [`Tracer::finish`].
    #[track_caller]
    pub fn lenient(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Value {
        if args.iter().chain(kwargs.iter().map(|(_, v)| v)).any(Value::is_void) {
            return Value::Tensor(self.void());
        }
        match self.op(name, args, kwargs) {
            Ok(value) => value,
            Err(error) => {
                self.refuse(error);
                Value::Tensor(self.void())
            }
        }
    }
    /// Keeps an error: the capture fails with it.
    pub fn refuse(&self, error: Error) {
        self.state_mut().errors.push(error);
    }
    /// The errors so far.
    pub fn errors(&self) -> Vec<Error> {
        self.state().errors.clone()
    }

    /// What `stack_trace` says of the nodes from now on, instead of the lines of Rust that call the tracer: for those
    /// who trace
    /// another language. `None` returns to Rust.
    pub fn set_stack_trace(&self, trace: Option<&str>) {
        self.state_mut().trace = trace.map(Arc::from);
    }
    /// Runs code as the `forward` of the module at this path, of that class: nodes say so in `nn_module_stack`.
    #[track_caller]
    pub fn in_module<T>(&self, path: &str, class: &str, code: impl FnOnce() -> T) -> T {
        let caller = Location::caller();
        let line = (!path.is_empty()).then(|| line(caller, class));
        self.state_mut().frames.push(ModuleFrame { path: path.into(), class: class.into(), line });
        let result = code();
        self.state_mut().frames.pop();
        result
    }
    /// Says that there is a module at this path, called or not.
    pub fn add_module(&self, path: &str) {
        self.state_mut().modules.insert(path.into(), ());
    }
    pub(crate) fn trace(&self, caller: &Location<'_>, name: &str) -> Arc<str> {
        let state = self.state();
        if let Some(trace) = &state.trace {
            return trace.clone();
        }
        let mut text = String::new();
        for frame in state.frames.iter().filter_map(|f| f.line.as_deref()) {
            text += frame;
            text += "\n  ";
        }
        (text + &line(caller, name)).into()
    }

    /// The program that returns this value: a tree of it is made by lists only, which come out as tuples. See
    /// [`Tracer::finish_as`].
    ///
    /// # Errors
    /// As there.
    pub fn finish(&self, output: impl Into<Value>) -> Result<ExportedProgram> {
        fn tree(value: Value) -> Tree<Value> {
            match value {
                Value::List(items) => Tree::tuple(items.into_iter().map(tree)),
                leaf => Tree::Leaf(leaf),
            }
        }
        let names = self.state().inputs.clone();
        let leaves = names.iter().map(|_| Tree::Leaf(()));
        let call = Tree::tuple([Tree::tuple(leaves), Tree::node(Kind::Dict(Vec::new()), Vec::new())]);
        self.finish_as(call, names, tree(output.into()))
    }
    /// The program that returns this tree, called by that spec with arguments of those names.
    ///
    /// # Errors
    /// The first error of the capture, if there was one; or a value is of another tracer, or of a type that no program
    /// returns.
    pub fn finish_as(&self, in_spec: TreeSpec, names: Vec<Arc<str>>, output: Tree<Value>) -> Result<ExportedProgram> {
        if let Some(error) = self.errors().first() {
            return Err(error.clone());
        }
        let (leaves, out_spec) = output.into_flat();
        let mut args = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            args.push(self.state_mut().result(self, leaf)?);
        }
        let state = self.state();
        state.check_guards()?;
        let mut program = state.program.clone();
        program.graph.append(Node::new("output", NodeKind::Output, args))?;
        state.wrap_regions(&mut program.graph)?;
        program.signature.outputs = leaves.iter().map(|_| OutputKind::UserOutput.into()).collect();
        let forward_arg_names = Some(names);
        let (inputs, outputs) = (Vec::new(), Vec::new());
        let signature = ModuleCallSignature { inputs, outputs, in_spec, out_spec, forward_arg_names };
        program.module_calls.push(ModuleCall { fqn: "".into(), signature: Some(signature) });
        let modules = state.modules.keys().map(|fqn| ModuleCall { fqn: fqn.clone(), signature: None });
        program.module_calls.extend(modules);
        state.settle(&mut program);
        Ok(program)
    }
    /// As [`Tracer::finish_as`], where copies to inputs and buffers at the end are the program's mutation outputs.
    ///
    /// # Errors
    /// As there.
    pub fn finish_functional(
        &self,
        in_spec: TreeSpec,
        names: Vec<Arc<str>>,
        output: Tree<Value>,
    ) -> Result<ExportedProgram> {
        let mut program = self.finish_as(in_spec, names, output)?;
        crate::functional::functional(&mut program, &self.state().registry)?;
        Ok(program)
    }
}

/// `File "src/model.rs", line 12, in forward`, and what is called there, as tracebacks of Python have it.
fn line(at: &Location<'_>, code: &str) -> Arc<str> {
    format!("File \"{}\", line {}, in forward\n    {code}", at.file(), at.line()).into()
}

impl State {
    /// A node of the graph that is being traced, or of one around it.
    fn node(&self, id: NodeId) -> Option<&Node> {
        self.program.graph.get(id).or_else(|| self.outer.iter().rev().find_map(|outer| outer.node(id)))
    }
    /// What stands for a tensor from now on: the call that last wrote it, as in PyTorch, where that gives the tensor
    /// itself.
    pub(crate) fn newest(&self, mut node: NodeId) -> NodeId {
        while let Some(newer) = self.written.get(&node) {
            node = *newer;
        }
        node
    }
    /// Notes that a call wrote a tensor.
    pub(crate) fn wrote(&mut self, tensor: NodeId, call: NodeId) {
        if tensor != call {
            self.written.insert(tensor, call);
        }
    }
    fn user_input(&mut self, name: &str, val: Val) -> Result<NodeId> {
        self.inputs.push(name.into());
        let node = self.placeholder(name, InputKind::UserInput, Some(val))?;
        self.note_sizes(node);
        Ok(node)
    }
    /// A placeholder behind those of its kind.
    pub(crate) fn placeholder(&mut self, name: &str, kind: InputKind, val: Option<Val>) -> Result<NodeId> {
        let rank = |kind: &InputKind| match kind {
            InputKind::Token => 0,
            InputKind::Parameter(_) => 1,
            InputKind::Buffer { .. } => 2,
            InputKind::TensorConstant(_) | InputKind::CustomObj { .. } => 3,
            InputKind::UserInput | InputKind::ConstantInput(_) => 4,
        };
        let own = rank(&kind);
        let specs = &self.program.signature.inputs;
        let at = specs.iter().position(|s| rank(&s.kind) > own).unwrap_or(specs.len());
        // The inputs of the program stand in the outermost graph.
        let (graph, names) = match self.outer.first_mut() {
            Some(outermost) => outermost.graph_and_names(),
            None => (&mut self.program.graph, &mut self.names),
        };
        let follower = graph.ids().nth(at);
        // A placeholder may be called as a builtin of Python; no other node is called like it.
        let free = names.create(name);
        let name = if graph.find(name).is_none() { name.into() } else { Arc::from(free) };
        let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
        node.meta.val = val;
        let id = match follower {
            Some(f) => graph.insert_before(f, node)?,
            None => graph.append(node)?,
        };
        self.program.signature.inputs.insert(at, kind.into());
        Ok(id)
    }
    /// A constant as an argument.
    fn constant(&self, value: &Value) -> Result<Argument> {
        Ok(match value {
            Value::None => Argument::None,
            Value::Int(n) if let Some(n) = n.known() => n.into(),
            Value::Float(x) if let Some(x) = x.known() => x.into(),
            Value::Bool(b) if let Some(b) = b.known() => b.into(),
            Value::Str(s) => Argument::Str(s.clone()),
            other => return Err(Error::invalid(format!("expected a constant, got a {}", other.type_name()))),
        })
    }
    /// A leaf of what the program returns.
    pub(crate) fn result(&mut self, tracer: &Tracer, value: &Value) -> Result<Argument> {
        match value {
            Value::Tensor(t) if !t.tracer.is_same(tracer) => {
                Err(Error::invalid("a tensor of another capture is returned"))
            }
            Value::Tensor(t) => match t.node {
                Some(node) => Ok(Argument::Node(self.lifted(self.newest(node))?)),
                None => Err(Error::invalid("a void tensor is returned")),
            },
            Value::Bool(b) if !b.0.is_given() => self.number(&Val::Bool(b.expr().clone()), &NodeMeta::default()),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => self.number_value(value, &NodeMeta::default()),
            other => self.constant(other),
        }
    }
    /// The origin of a call: where it stands, and in which modules.
    pub(crate) fn origin(&self, trace: &Arc<str>) -> NodeMeta {
        let frame = |f: &ModuleFrame| format!("L__self__{},{},{}", f.path, f.path, f.class);
        let stack: Vec<String> = self.frames.iter().map(frame).collect();
        let nn_module_stack = (!stack.is_empty()).then(|| stack.join(";").into());
        NodeMeta { stack_trace: Some(trace.clone()), nn_module_stack, ..NodeMeta::default() }
    }
    /// A new symbol, named by its source.
    fn new_symbol(&mut self, source: &str, hint: i64, range: Range) -> Symbol {
        let name = |n: u64| format!("s{n}");
        let is_taken = |n: u64| self.program.env.ranges().any(|(s, _)| s.name() == name(n));
        let symbol = Symbol::by_convention(&name(naming::symbol_number(source, &is_taken)));
        self.program.env.set_range(&symbol, range);
        self.program.env.set_hint(&symbol, hint);
        self.numbers.add_source(&symbol, source);
        symbol
    }
    /// The sizes of a tensor by what is known of them by now.
    pub(crate) fn simplified(&self, fake: &Fake) -> Fake {
        fake.map_exprs(&mut |e| self.program.env.simplify(e))
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer({} nodes)", self.state().program.graph.len())
    }
}
