//! The program around the graph.

use super::{Argument, Bound, Dict, Graph, GraphSignature, records};

records! {
    /// The whole document.
    ExportedProgram<G = Graph> {
        /// The graph with its signature.
        graph_module: GraphModule<G>,
        /// Operator set versions by namespace; PyTorch ignores them.
        opset_version: Dict<i64>,
        /// The declared ranges, by expression in infix form.
        range_constraints: Dict<RangeConstraint>,
        /// The version of this schema.
        schema_version: SchemaVersion,
        /// The dialects: `TRAINING` or `ATEN`.
        verifiers: Vec<String> = Vec::new(),
        /// The version of PyTorch that wrote the document.
        torch_version: String = "<=2.4".to_string(),
        /// Python expressions over the inputs.
        guards_code: Vec<String> = Vec::new(),
    }

    /// The graph with its signature.
    GraphModule<G = Graph> {
        /// The graph.
        graph: G,
        /// The signature of its inputs and outputs.
        signature: GraphSignature,
        /// The call signatures of the program and its modules.
        module_call_graph: Vec<ModuleCallEntry>,
        /// Free text by key; `custom` is JSON.
        metadata: Dict<String> = Dict::new(),
        /// The field names of namedtuples in tree specs, by registered name.
        treespec_namedtuple_fields: Dict<NamedTupleDef> = Dict::new(),
    }

    /// A module of the program.
    ModuleCallEntry {
        /// Its path; empty for the program itself.
        fqn: String,
        /// Its call signature, if preserved.
        signature: Option<ModuleCallSignature> = None,
    }

    /// The call signature of a module.
    ModuleCallSignature {
        /// The inputs.
        inputs: Vec<Argument>,
        /// The outputs.
        outputs: Vec<Argument>,
        /// The tree of `(args, kwargs)`.
        in_spec: String,
        /// The tree of the result.
        out_spec: String,
        /// The argument names of `forward`.
        forward_arg_names: Option<Vec<String>> = None,
    }

    /// The fields of a namedtuple.
    NamedTupleDef {
        /// Their names in order.
        field_names: Vec<String>,
    }

    /// The declared range of an expression.
    RangeConstraint {
        /// The least value.
        min_val: Bound,
        /// The greatest value.
        max_val: Bound,
    }

    /// A version of the schema.
    SchemaVersion {
        /// Changes when old programs can no longer be read.
        major: i64,
        /// Changes when something is added.
        minor: i64,
    }
}
