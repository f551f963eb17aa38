//! Programs as Python: the source of a PyTorch module that computes what the program does.
//!
//! The source is read by two: by Python, where `torch.export.export(Program(), args, kwargs,
//! dynamic_shapes=dynamic_shapes)` makes a program of it, and by oxport's own capture, which takes what the source says
//! of its call.
//!
//! | name in the source | is |
//! |---|---|
//! | `Program` | the module; each call is `torch.ops.aten.….…` |
//! | `example_inputs()` | `(args, kwargs)`: tensors of the sizes with which the program was captured |
//! | `dynamic_shapes` | which sizes are dynamic, as `torch.export.export` takes it; `None` if none is |
//! | `dialect` | `"TRAINING"`, or `"ATEN"` if the writes at the end of `forward` are mutation outputs |
//!
//! Parameters and buffers are registered in modules by the dots of their names; constants are attributes. Their data
//! are not in the source: `load_state_dict` takes them, constants too. Subgraphs are functions within the function that
//! hands them on. What a functional program returns as new values of buffers and inputs is written by `copy_` before
//! `forward` returns.
//!
//! Laws: what has no such source is refused, with the name of its place; every name is the node's own where Python
//! allows it; a call's arguments stand as the node has them.
//!
//! | module | holds |
//! |---|---|
//! | `forward` | graphs as functions |
//! | `state` | `__init__` and `load_state_dict` |
//! | `inputs` | example inputs and dynamic shapes |
//! | `tree` | containers of inputs and outputs |

mod forward;
mod inputs;
mod state;
mod tree;

use oxport_ir::print::python_str;
use oxport_ir::{Dialect, Error, ExportedProgram, Graph, NodeKind, Op, Result};
use std::collections::BTreeSet;

/// A program as the source of a PyTorch module.
///
/// # Errors
/// The program has something that no source of a module says: effect tokens, objects, tensors of a Python class of
/// their own, gradients, containers of a user's own type.
pub fn module(program: &ExportedProgram) -> Result<String> {
    let call = match program.call_signature() {
        Some(call) => call.clone(),
        None => program.flat_call(),
    };
    let mut types = tree::Types::default();
    let forward = forward::forward(program, &call, &mut types)?;
    let examples = inputs::inputs(program, &call, &mut types)?;
    let state = state::state(program)?;
    let mut out = header(program);
    let has = |word: &str| [&forward, &examples, &state].iter().any(|lines| lines.iter().any(|l| l.contains(word)));
    for (word, module) in [
        ("json.", "json"),
        ("collections.", "collections"),
        ("dataclasses.", "dataclasses"),
        ("functools.", "functools"),
    ] {
        if has(word) || types.definitions.iter().any(|l| l.contains(word)) {
            out += &format!("import {module}\n");
        }
    }
    for module in modules(&program.graph) {
        out += &format!("import {module}\n");
    }
    out += "import torch\nfrom torch import device, inf, nan\n";
    if has("Dim(") || has("Dim.") {
        out += "from torch.export import Dim\n";
    }
    for line in types.definitions {
        out += &format!("{line}\n");
    }
    out += "\n\nclass Program(torch.nn.Module):\n";
    for line in state.iter().chain(&forward) {
        out += &if line.is_empty() { "\n".to_string() } else { format!("    {line}\n") };
    }
    out += "\n\n";
    for line in examples {
        out += &format!("{line}\n");
    }
    let dialect = match program.dialect {
        Dialect::Training => "TRAINING",
        Dialect::Aten => "ATEN",
    };
    out += &format!("dialect = {}\n", python_str(dialect));
    Ok(out)
}

fn header(program: &ExportedProgram) -> String {
    let mut text = String::from(
        "\"\"\"A program of torch.export, printed by oxport.\n\n\
         model = Program()\n\
         model.load_state_dict(safetensors.torch.load_file(...))  # as `oxport convert` writes it\n\
         args, kwargs = example_inputs()\n\
         torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)\n",
    );
    let mut libraries = BTreeSet::new();
    each_op(&program.graph, &mut |op| {
        if !op.is_python() && !op.is_of_pytorch() && !op.is_higher_order() {
            libraries.insert(op.namespace().to_string());
        }
    });
    if !libraries.is_empty() {
        let libraries: Vec<String> = libraries.into_iter().collect();
        text +=
            &format!("\nIt calls operators of these libraries, which must be registered: {}\n", libraries.join(", "));
    }
    text + "\"\"\"\n\n"
}

/// The modules of the Python functions that a program calls.
fn modules(graph: &Graph) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_op(graph, &mut |op| match op.namespace() {
        "_operator" if oxport_ir::print::symbol(op).is_none() => drop(found.insert("operator".to_string())),
        "math" => drop(found.insert("math".to_string())),
        // `torch._C` is no module that can be imported by a statement of its own.
        module if module.starts_with("torch.") && op.is_python() && !module.starts_with("torch._C") => {
            found.insert(module.to_string());
        }
        _ => {}
    });
    found
}

fn each_op(graph: &Graph, f: &mut dyn FnMut(&Op)) {
    for (_, node) in graph.nodes() {
        if let NodeKind::CallFunction(op) = &node.kind {
            f(op);
        }
    }
    graph.subgraphs.values().for_each(|sub| each_op(sub, f));
}

/// What Python has as a name, and does not keep for itself.
fn is_identifier(name: &str) -> bool {
    const KEYWORDS: &str = "False None True and as assert async await break class continue def del elif else except \
        finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !KEYWORDS.split_ascii_whitespace().any(|k| k == name)
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{what} cannot be printed as Python"))
}
