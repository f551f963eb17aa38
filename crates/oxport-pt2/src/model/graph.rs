//! Graphs, nodes and arguments.

use super::{CustomObjArgument, Device, Dict, Flag, Real, SymBool, SymFloat, SymInt, TensorMeta, records, unions};

/// The [kind](NamedArgument::kind) of an argument that is given by its position.
pub const POSITIONAL: i64 = 1;
/// The [kind](NamedArgument::kind) of an argument that is given by its name.
pub const KEYWORD: i64 = 2;

records! {
    /// A graph: the top one, or one that a higher-order operator takes.
    Graph {
        /// The inputs; constant inputs are literals.
        inputs: Vec<Argument>,
        /// The outputs.
        outputs: Vec<Argument>,
        /// The calls, in order.
        nodes: Vec<Node>,
        /// The tensors by name.
        tensor_values: Dict<TensorMeta>,
        /// The symbolic ints by name.
        sym_int_values: Dict<SymInt>,
        /// The symbolic bools by name.
        sym_bool_values: Dict<SymBool>,
        /// True if the graph returns a bare tensor, not a tuple.
        is_single_tensor_return: bool = false,
        /// The custom objects by name.
        custom_obj_values: Dict<CustomObjArgument> = Dict::new(),
        /// The symbolic floats by name.
        sym_float_values: Dict<SymFloat> = Dict::new(),
    }

    /// A call.
    Node {
        /// The callee: `torch.ops.aten.add.Tensor`, `_operator.add`.
        target: String,
        /// The arguments.
        inputs: Vec<NamedArgument>,
        /// The results.
        outputs: Vec<Argument>,
        /// Metadata (stack trace, module stack, …), encoded as strings.
        metadata: Dict<String>,
        /// Of higher-order operators: true for a bare tensor, false for a tuple.
        is_hop_single_tensor_return: Option<bool> = None,
        /// The name of the FX node; since schema 8.17.
        name: Option<String> = None,
    }

    /// An argument of a call.
    NamedArgument {
        /// Its name in the operator's schema; may be empty without a schema.
        name: String,
        /// Its value.
        arg: Argument,
        /// 1 positional, 2 keyword; 0 or `null` by schema.
        kind: Option<i64> = None,
    }

    /// The use of a tensor.
    TensorArgument {
        /// The name of the value.
        name: String,
    }

    /// The use of an effect token.
    TokenArgument {
        /// The name of the value.
        name: String,
    }

    /// A subgraph, by value.
    GraphArgument {
        /// The attribute name of the subgraph in the graph module around it.
        name: String,
        /// The subgraph.
        graph: Box<Graph>,
    }

    /// A complex number.
    ComplexValue {
        /// The real part.
        real: Real,
        /// The imaginary part.
        imag: Real,
    }
}

unions! {
    /// An argument or result of a call.
    Argument {
        /// `None`.
        AsNone(Flag),
        /// A tensor.
        AsTensor(TensorArgument),
        /// A list of tensors.
        AsTensors(Vec<TensorArgument>),
        /// An int.
        AsInt(i64),
        /// A list of ints.
        AsInts(Vec<i64>),
        /// A float.
        AsFloat(Real),
        /// A list of floats.
        AsFloats(Vec<Real>),
        /// A string.
        AsString(String),
        /// A list of strings.
        AsStrings(Vec<String>),
        /// A symbolic int.
        AsSymInt(SymIntArgument),
        /// A list of ints, some of them symbolic.
        AsSymInts(Vec<SymIntArgument>),
        /// A dtype, as a `ScalarType` number.
        AsScalarType(i64),
        /// A memory format, as a number.
        AsMemoryFormat(i64),
        /// A layout, as a number.
        AsLayout(i64),
        /// A device.
        AsDevice(Device),
        /// A bool.
        AsBool(bool),
        /// A list of bools.
        AsBools(Vec<bool>),
        /// A symbolic bool.
        AsSymBool(SymBoolArgument),
        /// A list of bools, some of them symbolic.
        AsSymBools(Vec<SymBoolArgument>),
        /// A subgraph.
        AsGraph(GraphArgument),
        /// A list of tensors, some of them `None`.
        AsOptionalTensors(Vec<OptionalTensorArgument>),
        /// A custom object.
        AsCustomObj(CustomObjArgument),
        /// An operator as a value.
        AsOperator(String),
        /// A symbolic float.
        AsSymFloat(SymFloatArgument),
        /// A list of floats, some of them symbolic.
        AsSymFloats(Vec<SymFloatArgument>),
        /// A tensor or `None`.
        AsOptionalTensor(OptionalTensorArgument),
        /// A complex number.
        AsComplex(ComplexValue),
        /// A list of lists of tensors.
        AsNestedTensors(Vec<Vec<TensorArgument>>),
        /// A list of lists of ints.
        AsIntLists(Vec<Vec<i64>>),
        /// A dictionary.
        AsStringToArgument(Dict<Argument>),
        /// A list of lists of floats.
        AsFloatLists(Vec<Vec<Real>>),
    }

    /// A tensor or `None`.
    OptionalTensorArgument {
        /// A tensor.
        AsTensor(TensorArgument),
        /// `None`.
        AsNone(Flag),
    }

    /// An int, by name or literal.
    SymIntArgument {
        /// By name.
        AsName(String),
        /// Literal.
        AsInt(i64),
    }

    /// A float, by name or literal.
    SymFloatArgument {
        /// By name.
        AsName(String),
        /// Literal.
        AsFloat(Real),
    }

    /// A bool, by name or literal.
    SymBoolArgument {
        /// By name.
        AsName(String),
        /// Literal.
        AsBool(bool),
    }
}

impl Argument {
    /// `None`.
    pub const NONE: Argument = Argument::AsNone(Flag);

    /// A tensor by name.
    pub fn tensor(name: impl Into<String>) -> Argument {
        Argument::AsTensor(TensorArgument::new(name))
    }
}

impl TensorArgument {
    /// The tensor of that name.
    pub fn new(name: impl Into<String>) -> TensorArgument {
        TensorArgument { name: name.into(), extra: None }
    }
}
