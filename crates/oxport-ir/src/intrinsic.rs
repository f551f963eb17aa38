//! Intrinsics: the calls of a graph that are no operators on tensors, and that passes and the verifier handle one by
//! one.
//!
//! Higher-order operators take subgraphs; PyTorch's Python functions open and close regions of a training graph. They
//! have no schema, so that this table has the names of their parameters, as PyTorch's own functions have them. It is
//! the only place that knows these calls by name; what is known of an operator stands in its row ([`crate::OpDef`]).

/// Defines [`Intrinsic`] and its table from rows of `Variant: "name" | … ("parameter", …)`.
macro_rules! intrinsics {
    ($($(#[doc = $doc:literal])+ $variant:ident: $($name:literal)|+ ($($parameter:literal),*);)+) => {
        /// A call that is handled by itself. The variants are named for PyTorch's functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Intrinsic {
            $($(#[doc = $doc])+ $variant,)+
        }

        const TABLE: &[(Intrinsic, &[&str], &[&str])] =
            &[$((Intrinsic::$variant, &[$($name),+], &[$($parameter),*]),)+];
    };
}

intrinsics! {
    /// Element `b` of the list `a`.
    Getitem: "_operator::getitem" ("a", "b");

    /// One of two subgraphs.
    Cond: "higher_order::cond" ("pred", "true_fn", "false_fn", "operands");
    /// One of several subgraphs.
    Switch: "higher_order::switch" ("index", "branches", "operands");
    /// A loop over carried values.
    WhileLoop: "higher_order::while_loop" ("cond_fn", "body_fn", "carried_inputs", "additional_inputs");
    /// The same, with the values of every trip.
    WhileLoopStackOutput: "higher_order::while_loop_stack_output"
        ("cond_fn", "body_fn", "carried_inputs", "additional_inputs");
    /// A subgraph over slices.
    MapImpl: "higher_order::map_impl" ("f", "xs", "pos_args");
    /// A subgraph over slices that carries values.
    Scan: "higher_order::scan" ("combine_fn", "init", "xs", "additional_inputs");
    /// Prefixes by an associative subgraph.
    AssociativeScan: "higher_order::associative_scan" ("combine_fn", "xs", "additional_inputs");
    /// A subgraph with or without gradients; its operands follow.
    WrapWithSetGradEnabled: "higher_order::wrap_with_set_grad_enabled" ("enable_grad", "wrapped_func");
    /// A subgraph under autocast; its operands follow.
    WrapWithAutocast: "higher_order::wrap_with_autocast"
        ("device_type", "dtype", "enabled", "cache_enabled", "wrapped_func");
    /// A subgraph by its identifier; its operands follow.
    InvokeSubgraph: "higher_order::invoke_subgraph" ("subgraph", "identifier");
    /// A subgraph of constants.
    RunConstGraph: "higher_order::run_const_graph" ("graph", "args");
    /// A subgraph that was traced strictly.
    StrictMode: "higher_order::strict_mode" ("callable", "operands");
    /// A subgraph with hints for a compiler.
    HintsWrapper: "higher_order::hints_wrapper" ("body_fn", "args", "kwargs", "hints");
    /// A subgraph; its operands follow.
    Wrap: "higher_order::wrap" ("func");
    /// A subgraph whose activations are computed again; its operands follow.
    ActivationCheckpoint:
        "higher_order::wrap_activation_checkpoint" | "higher_order::tag_activation_checkpoint" ("function");
    /// An operator that writes, by value: its arguments are given by name.
    AutoFunctionalized: "higher_order::auto_functionalized" ("_mutable_op");
    /// The same, of arguments that are views of `_all_bases`.
    AutoFunctionalizedV2: "higher_order::auto_functionalized_v2" ("_mutable_op");
    /// An operator with an effect, after those whose token it takes; its arguments follow.
    WithEffects: "higher_order::with_effects" ("token", "op");

    /// A tensor that a stored tensor of a Python class wraps.
    AccessSubclassInnerTensor: "export::access_subclass_inner_tensor" ("src_subclass_tensor", "attr");
    /// Gradients from here on, which are nothing to inference.
    SetGradEnabled: "torch._C::_set_grad_enabled" | "torch._C._nn::_set_grad_enabled" ("enabled");
    /// The beginning of an autocast region.
    EnterAutocast: "torch.amp.autocast_mode::_enter_autocast" ();
    /// Its end.
    ExitAutocast: "torch.amp.autocast_mode::_exit_autocast" ("mode");
    /// A truth value as a number, without a guard.
    CastSymbool: "torch.fx.experimental.symbolic_shapes::cast_symbool_to_symint_guardless" ("symbool");
    /// What imports the decompositions of functions like these.
    LazyLoadDecompositions: "torch._functorch.predispatch::lazy_load_decompositions" ();
    /// The beginning of a function that `torch.vmap` maps.
    VmapIncrementNesting: "torch._functorch.predispatch::_vmap_increment_nesting" ("batch_size", "randomness");
    /// Its end.
    VmapDecrementNesting: "torch._functorch.predispatch::_vmap_decrement_nesting" ();
    /// A slice of a tensor that is mapped over.
    AddBatchDim: "torch._functorch.predispatch::_add_batch_dim" ("self", "batch_dim", "level");
    /// The slices of a result, stacked.
    RemoveBatchDim: "torch._functorch.predispatch::_remove_batch_dim" ("self", "level", "batch_size", "out_dim");
    /// Forward-mode differentiation, which is kept and not interpreted.
    ForwardMode: "torch._functorch.predispatch::_make_dual" | "torch._functorch.predispatch::_unpack_dual"
        | "torch._functorch.predispatch::_jvp_increment_nesting"
        | "torch._functorch.predispatch::_jvp_decrement_nesting"
        | "torch._functorch.predispatch::_unwrap_for_grad"
        | "torch._functorch.predispatch::_enter_dual_level"
        | "torch._functorch.predispatch::_exit_dual_level" ();
}

impl Intrinsic {
    /// The intrinsic of an operator's name, if it is one.
    pub(crate) fn of(name: &str) -> Option<Intrinsic> {
        TABLE.iter().find(|(_, names, _)| names.contains(&name)).map(|(intrinsic, ..)| *intrinsic)
    }
    /// The names of its parameters, in order. What is given by position behind them are operands.
    pub fn parameters(self) -> &'static [&'static str] {
        TABLE.iter().find(|(intrinsic, ..)| *intrinsic == self).map_or(&[], |(.., parameters)| *parameters)
    }
    /// The position of a parameter.
    pub fn position(self, parameter: &str) -> Option<usize> {
        self.parameters().iter().position(|name| *name == parameter)
    }
}
