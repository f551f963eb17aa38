//! The exported program: a graph, what its inputs and outputs mean, and the tensors that it owns.
//!
//! Law: an `ExportedProgram` is a value. Passes take one and give one; cloning shares every tensor.

use crate::{Argument, Device, Error, Graph, InputKind, Intrinsic, MemoryLayout, Node, Result, Signature};
use indexmap::IndexMap;
use oxport_pytree::{Kind, Tree, TreeSpec};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::{Layout, Storage, Tensor};
use std::sync::Arc;

/// A program as `torch.export` gives it.
#[derive(Clone, Debug)]
pub struct ExportedProgram {
    /// The nodes.
    pub graph: Graph,
    /// What placeholders and outputs mean.
    pub signature: Signature,
    /// Parameters and persistent buffers by name, in state-dict order.
    pub state: IndexMap<Arc<str>, StateTensor>,
    /// Lifted constants, non-persistent buffers and objects by name.
    pub constants: IndexMap<Arc<str>, Constant>,
    /// The declared range of every symbol and derived size.
    pub ranges: IndexMap<Expr, RangeConstraint>,
    /// Symbols, their ranges, and their values when captured.
    pub env: ShapeEnv,
    /// How the program and the modules that kept their signature are called. Entry 0 is the program itself.
    pub module_calls: Vec<ModuleCall>,
    /// What the graph may hold.
    pub dialect: Dialect,
    /// Python expressions over the inputs that PyTorch checks at every call; texts, never executed.
    pub guards: Vec<Arc<str>>,
    /// The file's own example inputs, as bytes of a nested archive, where it has some.
    pub example_inputs: Option<Arc<[u8]>>,
    /// What the file said of itself and of things that oxport does not interpret.
    pub origin: Origin,
}

/// A parameter or a persistent buffer.
#[derive(Clone, Debug)]
pub struct StateTensor {
    /// The data. Tied tensors and views share a storage.
    pub tensor: Tensor,
    /// True for parameters.
    pub is_param: bool,
    /// Whether PyTorch's autograd would track it.
    pub requires_grad: bool,
    /// Where PyTorch had it.
    pub device: Device,
    /// Its layout: strided.
    pub layout: MemoryLayout,
    /// What is behind it, where it is of a Python class of its own; then `tensor` has its sizes and dtype, but no
    /// values.
    pub subclass: Option<Arc<Subclass>>,
}

/// A tensor of a Python class that wraps others, as torchao's quantized weights do.
#[derive(Clone, Debug)]
pub struct Subclass {
    /// The class, by module and name. Nothing imports it.
    pub class: Arc<str>,
    /// The layout that it shows.
    pub face: Layout,
    /// The tensors that it wraps, by attribute.
    pub inner: IndexMap<Arc<str>, Tensor>,
    /// The file that pickles it, which is written back as it is.
    pub pickle: Storage,
}

impl Subclass {
    /// The attribute and the tensor that a call on the wrapper asks for: `access_subclass_inner_tensor(wrapper,
    /// 'qdata')`.
    ///
    /// # Errors
    /// The call is no access, or there is no such tensor.
    pub fn accessed<'n>(&self, call: &'n Node) -> Result<(&'n str, &Tensor)> {
        match (call.intrinsic(), call.argument("attr")) {
            (Some(Intrinsic::AccessSubclassInnerTensor), Some(Argument::Str(attribute))) => {
                let missing = || Error::invalid(format!("{} holds no tensor `{attribute}`", self.class));
                Ok((attribute, self.inner.get(attribute).ok_or_else(missing)?))
            }
            _ => Err(Error::unsupported(format!("a {} used as a whole", self.class))),
        }
    }
}

/// A constant.
#[derive(Clone, Debug)]
pub enum Constant {
    /// A tensor.
    Tensor(StateTensor),
    /// An object that oxport keeps but does not interpret: its file name within the archive, and its bytes.
    Opaque {
        /// The file name, `custom_obj_0`.
        file: Arc<str>,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

impl StateTensor {
    /// A CPU tensor.
    pub fn new(tensor: Tensor, is_param: bool) -> StateTensor {
        let device = Device::cpu();
        let layout = MemoryLayout::Strided;
        StateTensor { tensor, is_param, requires_grad: is_param, device, layout, subclass: None }
    }
    /// Sizes, strides and offset as PyTorch shows them.
    pub fn face(&self) -> &Layout {
        self.subclass.as_ref().map_or(self.tensor.layout(), |s| &s.face)
    }
}

/// A declared range; `None` is unbounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeConstraint {
    /// The least value.
    pub min: Option<i64>,
    /// The greatest value.
    pub max: Option<i64>,
}

/// What the graph may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// In-place operators and aliasing, as `torch.export.export` gives it.
    Training,
    /// Functional operators only, as `run_decompositions` gives it.
    #[default]
    Aten,
}

/// How a module within the program is called.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleCall {
    /// The module's path; empty for the program itself.
    pub fqn: Arc<str>,
    /// Its signature, where it was kept.
    pub signature: Option<ModuleCallSignature>,
}

/// The signature of a module within the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleCallSignature {
    /// The values it takes, by name of the top graph; constants as they are.
    pub inputs: Vec<ModuleCallArgument>,
    /// The values it returns.
    pub outputs: Vec<ModuleCallArgument>,
    /// The tree of `(args, kwargs)`.
    pub in_spec: TreeSpec,
    /// The tree of the result.
    pub out_spec: TreeSpec,
    /// The argument names of `forward`, where known.
    pub forward_arg_names: Option<Vec<Arc<str>>>,
}

/// A value or a constant in a module's signature.
#[derive(Clone, Debug, PartialEq)]
pub enum ModuleCallArgument {
    /// A tensor of the top graph, by name.
    Tensor(Arc<str>),
    /// A symbolic number of the top graph, by name.
    SymInt(Arc<str>),
    /// A symbolic number of the top graph, by name.
    SymFloat(Arc<str>),
    /// A symbolic truth value of the top graph, by name.
    SymBool(Arc<str>),
    /// A token, by name.
    Token(Arc<str>),
    /// A custom object, by name and class.
    CustomObj(Arc<str>, Arc<str>),
    /// A constant.
    Constant(Argument),
}

/// What a file said of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The schema version of the program JSON that was read.
    pub schema_version: Option<(u32, u32)>,
    /// The version of PyTorch that wrote it.
    pub torch_version: Option<Arc<str>>,
    /// Operator set versions, by namespace.
    pub opset: IndexMap<Arc<str>, i64>,
    /// The graph module's own metadata.
    pub metadata: IndexMap<Arc<str>, Arc<str>>,
    /// Field names of registered namedtuples.
    pub namedtuple_fields: IndexMap<Arc<str>, Vec<Arc<str>>>,
    /// Expressions whose text or hint in the file is not what oxport derives: kept so that nothing is lost.
    pub spellings: std::collections::HashMap<Expr, Spelling>,
    /// Whether the file had the key `verifiers`, and its exact list where it was unusual.
    pub verifiers: Option<Vec<Arc<str>>>,
    /// Other archive entries (`extra/…`), name and bytes.
    pub extra_files: IndexMap<Arc<str>, Arc<[u8]>>,
    /// Unknown JSON keys by their place, as JSON text.
    pub unknown: IndexMap<Arc<str>, Arc<str>>,
}

/// How a file spells an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Spelling {
    /// The text.
    pub text: Arc<str>,
    /// The hint: the value when captured.
    pub hint: Option<i64>,
}

impl ExportedProgram {
    /// A program of this graph and signature, without state.
    pub fn new(graph: Graph, signature: Signature, env: ShapeEnv) -> ExportedProgram {
        ExportedProgram {
            graph,
            signature,
            state: IndexMap::new(),
            constants: IndexMap::new(),
            ranges: IndexMap::new(),
            env,
            module_calls: Vec::new(),
            dialect: Dialect::Aten,
            guards: Vec::new(),
            example_inputs: None,
            origin: Origin::default(),
        }
    }
    /// The signature of the program's own call, where it is known.
    pub fn call_signature(&self) -> Option<&ModuleCallSignature> {
        self.module_calls.iter().find(|m| m.fqn.is_empty())?.signature.as_ref()
    }
    /// How the program is called where nothing says it: every user input is a positional argument of its placeholder's
    /// name, and what `forward` returns is a tuple.
    pub fn flat_call(&self) -> ModuleCallSignature {
        let leaves = |count: usize| std::iter::repeat_n(Tree::Leaf(()), count);
        let users: Vec<usize> = self.signature.user_inputs().collect();
        let mut names: Vec<Arc<str>> = self.graph.placeholders().map(|(_, n)| n.name.clone()).collect();
        names = users.iter().filter_map(|&i| names.get(i).cloned()).collect();
        let args = Tree::tuple(leaves(users.len()));
        ModuleCallSignature {
            inputs: Vec::new(),
            outputs: Vec::new(),
            in_spec: Tree::tuple([args, Tree::node(Kind::Dict(Vec::new()), Vec::new())]),
            out_spec: Tree::tuple(leaves(self.signature.user_outputs().count())),
            forward_arg_names: Some(names),
        }
    }
    /// The tensor that fills a placeholder of this kind; `None` for user inputs, tokens, objects and missing state.
    pub fn lifted(&self, kind: &InputKind) -> Option<&StateTensor> {
        let constant = |name: &Arc<str>| match self.constants.get(name) {
            Some(Constant::Tensor(t)) => Some(t),
            _ => None,
        };
        match kind {
            InputKind::Parameter(name) => self.state.get(name),
            InputKind::Buffer { name, persistent: true } => self.state.get(name).or_else(|| constant(name)),
            InputKind::Buffer { name, persistent: false } | InputKind::TensorConstant(name) => constant(name),
            _ => None,
        }
    }
    /// All tensors that the program owns, with their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&Arc<str>, &StateTensor)> {
        let constants = self.constants.iter().filter_map(|(name, c)| match c {
            Constant::Tensor(t) => Some((name, t)),
            Constant::Opaque { .. } => None,
        });
        self.state.iter().chain(constants)
    }
}
