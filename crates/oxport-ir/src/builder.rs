//! Making graphs: [`Builder`] adds calls with inferred metas to a graph; [`ProgramBuilder`] makes whole programs.
//!
//! Law: every node that a builder adds has a meta value that its operator's meta function gave.

use crate::infer::{MetaCx, infer_call};
use crate::node::getitem_arguments;
use crate::{
    Argument, Constant, Error, ExportedProgram, Fake, Graph, InputKind, Kwargs, ModuleCall, ModuleCallSignature, Node,
    NodeId, NodeKind, NodeMeta, Op, OutputKind, Registry, Result, Signature, StateTensor, Val, template,
};
use oxport_pytree::{Kind, Tree};
use oxport_sym::{Expr, Range, ShapeEnv};
use oxport_tensor::Tensor;
use std::sync::Arc;

/// Adds calls to a graph.
pub struct Builder<'a> {
    /// The graph that grows.
    pub graph: &'a mut Graph,
    /// The symbols; fresh unbacked ones are added.
    pub env: &'a mut ShapeEnv,
    registry: &'a Registry,
    before: Option<NodeId>,
    origin: NodeMeta,
    stem: Option<Arc<str>>,
    /// How many calls may still be added.
    room: usize,
    guessed: Vec<(Expr, bool)>,
    /// For the next call: see [`MetaCx::recall`].
    memo: Vec<Option<Expr>>,
    /// The symbols that the last call brought.
    fresh: Vec<Expr>,
}

/// No decomposition has more calls: one that takes a step for each of 2^40, as a number in its call says, is refused.
pub const MOST_CALLS: usize = 1 << 16;

impl<'a> Builder<'a> {
    /// A builder that adds at the end (before the output node, if there is one).
    pub fn new(graph: &'a mut Graph, env: &'a mut ShapeEnv, registry: &'a Registry) -> Builder<'a> {
        let room = usize::MAX;
        let (before, origin, stem) = (None, NodeMeta::default(), None);
        let (guessed, memo, fresh) = Default::default();
        Builder { graph, env, registry, before, origin, stem, room, guessed, memo, fresh }
    }
    /// Adds before that node from now on, and gives new nodes its origin (stack trace, module stack, …).
    pub fn before(mut self, at: NodeId) -> Builder<'a> {
        self.before = Some(at);
        self.origin = self.graph.node(at).meta.derived(None);
        self
    }
    /// Adds [`MOST_CALLS`] at most, and refuses the next.
    pub fn bounded(self) -> Builder<'a> {
        Builder { room: MOST_CALLS, ..self }
    }
    /// Gives new nodes this origin.
    pub fn with_origin(mut self, origin: &NodeMeta) -> Builder<'a> {
        self.origin = origin.derived(None);
        self
    }
    /// The registry.
    pub fn registry(&self) -> &'a Registry {
        self.registry
    }
    /// The meta value of a node.
    ///
    /// # Errors
    /// It has none.
    pub fn val(&self, id: NodeId) -> Result<&Val> {
        let node = self.graph.node(id);
        node.val().ok_or_else(|| Error::invalid(format!("`{}` has no meta value", node.name)))
    }
    /// The meta value of a tensor node.
    ///
    /// # Errors
    /// It is no tensor.
    pub fn fake(&self, id: NodeId) -> Result<&Fake> {
        let name = &self.graph.node(id).name;
        self.val(id)?.as_tensor().ok_or_else(|| Error::invalid(format!("`{name}` is not a tensor")))
    }
    /// Calls an operator by name (`aten::add.Tensor`; the namespace `aten` may be left out).
    ///
    /// # Errors
    /// The operator is unknown, or refuses the call.
    pub fn call(&mut self, op: &str, args: impl IntoArgs) -> Result<NodeId> {
        self.call_kw(op, args, &[])
    }
    /// Calls an operator with keyword arguments.
    ///
    /// # Errors
    /// As [`Builder::call`].
    pub fn call_kw(&mut self, op: &str, args: impl IntoArgs, kwargs: &[(&str, Argument)]) -> Result<NodeId> {
        let op = if op.contains("::") { self.registry.op(op) } else { self.registry.op(&format!("aten::{op}")) };
        let kwargs = kwargs.iter().map(|(k, a)| (Arc::from(*k), a.clone())).collect();
        self.call_op(&op, args.into_args(), kwargs)
    }
    /// Calls an operator.
    ///
    /// # Errors
    /// As [`Builder::call`].
    pub fn call_op(&mut self, op: &Op, args: Vec<Argument>, kwargs: Kwargs) -> Result<NodeId> {
        let mut foreign = Ok(());
        let mut own = |id| foreign = std::mem::replace(&mut foreign, Ok(())).and_then(|()| self.graph.own(id));
        args.iter().chain(kwargs.values()).for_each(|a| a.for_each_node(&mut own));
        foreign?;
        let val = if op.is_getitem() {
            self.element(&args)?
        } else {
            let cx = MetaCx::with_fresh(self.env, self.env.next_unbacked());
            cx.recall(std::mem::take(&mut self.memo));
            let val = infer_call(self.graph, op, &args, &kwargs, &cx)?;
            self.guessed.extend(cx.guessed());
            self.fresh.clear();
            for (symbol, range) in cx.into_unbacked() {
                self.fresh.push(Expr::symbol(&symbol));
                self.env.reserve(&symbol);
                self.env.set_range(&symbol, range);
            }
            val
        };
        self.add(op, args, kwargs, Some(val))
    }
    /// The next call finds these answers to its first questions for symbols of what is read from data.
    pub fn recall(&mut self, answers: Vec<Option<Expr>>) {
        self.memo = answers;
    }
    /// The symbols of what is read from data that the last call brought, in their order.
    pub fn fresh(&self) -> &[Expr] {
        &self.fresh
    }
    /// The relations of sizes that the calls' metas hold for only as they were at the capture, with their truth.
    pub fn guessed(self) -> Vec<(Expr, bool)> {
        self.guessed
    }
    /// Adds a call with a given meta value, without inference.
    ///
    /// # Errors
    /// An argument is not a node of this graph.
    pub fn add(&mut self, op: &Op, args: Vec<Argument>, kwargs: Kwargs, val: Option<Val>) -> Result<NodeId> {
        let full = || Error::unsupported(format!("a decomposition of more than {MOST_CALLS} calls"));
        self.room = self.room.checked_sub(1).ok_or_else(full)?;
        let stem = self.stem.take();
        let name = self.graph.unique_name(stem.as_deref().unwrap_or(&stem_of(op)));
        let meta = self.origin.derived(val);
        let node = Node { name, kind: NodeKind::CallFunction(op.clone()), args, kwargs, meta };
        match self.before {
            Some(at) => self.graph.insert_before(at, node),
            None => self.graph.append(node),
        }
    }
    /// The next node that is added gets this name, or one that starts so.
    pub fn named(&mut self, stem: &str) -> &mut Builder<'a> {
        self.stem = Some(stem.into());
        self
    }
    /// Element `i` of a multiple result.
    ///
    /// # Errors
    /// There is no such element.
    pub fn getitem(&mut self, node: NodeId, i: i64) -> Result<NodeId> {
        let op = self.registry.op("_operator::getitem");
        self.call_op(&op, vec![node.into(), i.into()], Kwargs::new())
    }
    /// Calls an operator with several results and gives its element `i`.
    ///
    /// # Errors
    /// As [`Builder::call`].
    pub fn call_item(&mut self, op: &str, args: impl IntoArgs, i: i64) -> Result<NodeId> {
        let node = self.call(op, args)?;
        self.getitem(node, i)
    }
    fn element(&self, args: &[Argument]) -> Result<Val> {
        let expected = || Error::invalid("getitem: expected a node and an index");
        let (of, i) = getitem_arguments(args).ok_or_else(expected)?;
        match self.val(of)? {
            Val::List(l) => usize::try_from(i).ok().and_then(|i| l.get(i)).cloned(),
            _ => None,
        }
        .ok_or_else(|| Error::invalid(format!("`{}` has no element {i}", self.graph.node(of).name)))
    }
    /// Size `dim` of a tensor (negative counts from the end): a constant where it is known, else a `sym_size` call.
    ///
    /// # Errors
    /// There is no such dimension.
    pub fn size(&mut self, x: NodeId, dim: i64) -> Result<Argument> {
        let sizes = &self.fake(x)?.sizes;
        let i = if dim < 0 { dim + sizes.len() as i64 } else { dim };
        let size = sizes.get(i as usize).ok_or_else(|| Error::invalid(format!("no dimension {dim}")))?;
        match size.as_int() {
            Some(n) => Ok(n.into()),
            None => Ok(self.call("aten::sym_size.int", (x, i))?.into()),
        }
    }
    /// A call text over named values, `mul.Tensor(self, sigmoid(self))`: what [`crate::Decomp::Expr`] holds.
    ///
    /// # Errors
    /// The text is wrong, or a call in it is refused.
    pub fn expr(&mut self, text: &str, names: &dyn Fn(&str) -> Option<Argument>) -> Result<Argument> {
        template::build(self, text, names)
    }
}

/// The stem of a node's name, as FX makes it: the operator's name without overload.
fn stem_of(op: &Op) -> String {
    let stem = op.stem();
    // `__and__`: FX numbers what would be a keyword.
    if crate::verify::is_identifier(stem) { stem.to_string() } else { format!("{stem}_1") }
}

/// What can be an argument list: tuples of what converts to [`Argument`], and vectors of arguments.
pub trait IntoArgs {
    /// The list.
    fn into_args(self) -> Vec<Argument>;
}
impl IntoArgs for Vec<Argument> {
    fn into_args(self) -> Vec<Argument> {
        self
    }
}
macro_rules! into_args {
    ($($T:ident $i:tt),*) => {
        impl<$($T: Into<Argument>),*> IntoArgs for ($($T,)*) {
            fn into_args(self) -> Vec<Argument> {
                vec![$(self.$i.into()),*]
            }
        }
    };
}
into_args!(A 0);
into_args!(A 0, B 1);
into_args!(A 0, B 1, C 2);
into_args!(A 0, B 1, C 2, D 3);
into_args!(A 0, B 1, C 2, D 3, E 4);
into_args!(A 0, B 1, C 2, D 3, E 4, F 5);
into_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
into_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
into_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);

/// Makes a program: inputs and state, calls, outputs.
pub struct ProgramBuilder<'r> {
    program: ExportedProgram,
    registry: &'r Registry,
    inputs: Vec<Tree<()>>,
    names: Vec<Arc<str>>,
}

impl<'r> ProgramBuilder<'r> {
    /// An empty program over these operators.
    pub fn new(registry: &'r Registry) -> ProgramBuilder<'r> {
        let program = ExportedProgram::new(Graph::new(), Signature::default(), ShapeEnv::new());
        ProgramBuilder { program, registry, inputs: Vec::new(), names: Vec::new() }
    }
    /// A symbolic size from `min` to `max`.
    pub fn size(&mut self, name: &str, min: i64, max: Option<i64>) -> Expr {
        let symbol = oxport_sym::Symbol::new(name, oxport_sym::Assumptions::size());
        let expr = Expr::symbol(&symbol);
        self.program.env.set_range(&symbol, Range::from_bounds(Some(min), max));
        self.program.ranges.insert(expr.clone(), crate::RangeConstraint { min: Some(min), max });
        expr
    }
    /// A tensor input of the user.
    ///
    /// # Errors
    /// The name is taken.
    pub fn input(&mut self, name: &str, fake: Fake) -> Result<NodeId> {
        self.inputs.push(Tree::Leaf(()));
        self.names.push(name.into());
        self.placeholder(name, InputKind::UserInput, Val::Tensor(fake))
    }
    /// An input of the user that may be left out of a call: it is then that constant. The file format has no place for
    /// it.
    ///
    /// # Errors
    /// The name is taken, or the default is no constant.
    pub fn input_with_default(&mut self, name: &str, val: Val, default: impl Into<Argument>) -> Result<NodeId> {
        let default = default.into();
        let mut nodes = false;
        default.for_each_node(&mut |_| nodes = true);
        if nodes {
            return Err(Error::invalid(format!("expected a constant as default of `{name}`, got a node")));
        }
        self.inputs.push(Tree::Leaf(()));
        self.names.push(name.into());
        let id = self.placeholder(name, InputKind::UserInput, val)?;
        self.program.graph.set_args(id, vec![default], Kwargs::new());
        Ok(id)
    }
    /// A parameter of the program.
    ///
    /// # Errors
    /// The name is taken.
    pub fn parameter(&mut self, name: &str, tensor: Tensor) -> Result<NodeId> {
        let fake = Fake { requires_grad: true, ..Fake::of(&tensor) };
        self.program.state.insert(name.into(), StateTensor::new(tensor, true));
        self.placeholder(&lifted_name("p_", name), InputKind::Parameter(name.into()), Val::Tensor(fake))
    }
    /// A persistent buffer of the program.
    ///
    /// # Errors
    /// The name is taken.
    pub fn buffer(&mut self, name: &str, tensor: Tensor) -> Result<NodeId> {
        let fake = Fake::of(&tensor);
        self.program.state.insert(name.into(), StateTensor::new(tensor, false));
        let kind = InputKind::Buffer { name: name.into(), persistent: true };
        self.placeholder(&lifted_name("b_", name), kind, Val::Tensor(fake))
    }
    /// A tensor constant of the program.
    ///
    /// # Errors
    /// The name is taken.
    pub fn constant(&mut self, name: &str, tensor: Tensor) -> Result<NodeId> {
        let fake = Fake::of(&tensor);
        self.program.constants.insert(name.into(), Constant::Tensor(StateTensor::new(tensor, false)));
        self.placeholder(&lifted_name("c_", name), InputKind::TensorConstant(name.into()), Val::Tensor(fake))
    }
    fn placeholder(&mut self, name: &str, kind: InputKind, val: Val) -> Result<NodeId> {
        // Lifted inputs stand before the user's, as in PyTorch.
        let specs = &mut self.program.signature.inputs;
        let at = if kind.is_user() { specs.len() } else { specs.iter().take_while(|s| !s.kind.is_user()).count() };
        let follower = self.program.graph.placeholders().nth(at).map(|(id, _)| id);
        let follower =
            follower.or_else(|| self.program.graph.ids().find(|&id| self.program.graph.node(id).op().is_some()));
        let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(val);
        let id = match follower {
            Some(f) => self.program.graph.insert_before(f, node)?,
            None => self.program.graph.append(node)?,
        };
        self.program.signature.inputs.insert(at, kind.into());
        Ok(id)
    }
    /// A builder of calls.
    pub fn calls(&mut self) -> Builder<'_> {
        Builder::new(&mut self.program.graph, &mut self.program.env, self.registry)
    }
    /// Calls an operator: see [`Builder::call`].
    ///
    /// # Errors
    /// As there.
    pub fn call(&mut self, op: &str, args: impl IntoArgs) -> Result<NodeId> {
        self.calls().call(op, args)
    }
    /// The program that returns these values as a tuple; one value alone is returned bare.
    ///
    /// # Errors
    /// A value is not a node of this program.
    pub fn finish(mut self, outputs: &[NodeId]) -> Result<ExportedProgram> {
        let args: Vec<Argument> = outputs.iter().map(|&o| o.into()).collect();
        self.program.graph.append(Node::new("output", NodeKind::Output, args))?;
        self.program.signature.outputs = outputs.iter().map(|_| OutputKind::UserOutput.into()).collect();
        let result =
            if outputs.len() == 1 { Tree::Leaf(()) } else { Tree::tuple(outputs.iter().map(|_| Tree::Leaf(()))) };
        let call = Tree::tuple([Tree::tuple(self.inputs), Tree::node(Kind::Dict(Vec::new()), Vec::new())]);
        let signature = ModuleCallSignature {
            inputs: Vec::new(),
            outputs: Vec::new(),
            in_spec: call,
            out_spec: result,
            forward_arg_names: Some(self.names),
        };
        self.program.module_calls.push(ModuleCall { fqn: "".into(), signature: Some(signature) });
        Ok(self.program)
    }
}

/// The placeholder name of a lifted tensor, as torch.export makes it: `layer.0.weight` → `p_layer_0_weight`.
fn lifted_name(prefix: &str, name: &str) -> String {
    let clean = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    prefix.chars().chain(clean).collect()
}
