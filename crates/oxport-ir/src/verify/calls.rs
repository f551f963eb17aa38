//! How the program and its modules are called: tree specs and module signatures agree with the graph.

use super::Check;
use crate::diagnostic::Loc;
use crate::program::{ModuleCallArgument, ModuleCallSignature};
use crate::{Argument, Val};
use oxport_pytree::{Key, KeyPath, Kind, PathEntry, TreeSpec};
use std::collections::HashSet;

pub(super) fn check(c: &mut Check<'_>) {
    trees(c);
    module_calls(c);
}

/// A path in `(args, kwargs)` as the user says it: `args[0]['a']`, `kwargs['b']`.
pub(super) fn user_path(path: &KeyPath) -> String {
    let mut entries = path.0.iter();
    let head = match entries.next() {
        Some(PathEntry::Index(0)) => "args",
        Some(PathEntry::Index(1)) => "kwargs",
        _ => "inputs",
    };
    entries.fold(head.to_string(), |text, entry| format!("{text}{entry}"))
}

fn trees(c: &mut Check<'_>) {
    let program = c.program;
    if program.origin.schema_version.is_some() && program.call_signature().is_none() {
        c.error("module-call", Loc::Program, "no entry of the module call graph says how the program is called");
    } else if program.module_calls.first().is_some_and(|m| !m.fqn.is_empty()) {
        c.error("module-call", Loc::Program, "the program's own entry is not the first of the module call graph");
    }
    let Some(call) = program.call_signature() else { return };
    let sides = [
        ("inputs", &call.in_spec, program.signature.user_inputs().count()),
        ("outputs", &call.out_spec, program.signature.user_outputs().count()),
    ];
    for (what, spec, have) in sides {
        let leaves = spec.num_leaves();
        if leaves != have {
            c.error("tree", Loc::Program, format!("the tree of {what} has {leaves} leaves, the signature {have}"));
        }
    }
    call_tree(c, "the program", call);
}

/// The tree of inputs is `(args, kwargs)`, and the names of `forward` are as many.
fn call_tree(c: &mut Check<'_>, what: &str, call: &ModuleCallSignature) {
    let (Some(Kind::Tuple), [args, kwargs]) = (call.in_spec.kind(), call.in_spec.children()) else {
        return c.error("tree", Loc::Program, format!("the inputs of {what} are no pair of args and kwargs"));
    };
    let (Some(Kind::Tuple), Some(Kind::Dict(keys))) = (args.kind(), kwargs.kind()) else {
        return c.error("tree", Loc::Program, format!("the inputs of {what} are no pair of a tuple and a dict"));
    };
    let (Some(names), args) = (&call.forward_arg_names, args.children()) else { return };
    if names.len() != args.len() + keys.len() {
        let message =
            format!("{what} has {} argument names for {} args and {} kwargs", names.len(), args.len(), keys.len());
        return c.error("tree", Loc::Program, message);
    }
    for (name, key) in names[args.len()..].iter().zip(keys.iter()) {
        if !matches!(key, Key::Str(k) if **k == **name) {
            c.error("tree", Loc::Program, format!("{what} has the argument name `{name}` where the tree has {key}"));
        }
    }
    let distinct: HashSet<_> = names.iter().collect();
    if distinct.len() != names.len() {
        c.error("tree", Loc::Program, format!("{what} has an argument name twice"));
    }
}

fn module_calls(c: &mut Check<'_>) {
    let program = c.program;
    let mut seen = HashSet::new();
    for call in &program.module_calls {
        if !seen.insert(&*call.fqn) {
            let message = format!("the module `{}` has two entries in the module call graph", call.fqn);
            c.error("module-call", Loc::Program, message);
        }
        let Some(signature) = &call.signature else { continue };
        let what = if call.fqn.is_empty() { "the program".to_string() } else { format!("module `{}`", call.fqn) };
        for argument in signature.inputs.iter().chain(&signature.outputs) {
            named(c, &what, argument);
        }
        if call.fqn.is_empty() {
            continue;
        }
        let (mut inputs, outputs) = (signature.inputs.len(), signature.outputs.len());
        let count = |spec: &TreeSpec| spec.num_leaves();
        if signature.inputs.iter().any(|a| matches!(a, ModuleCallArgument::Token(_))) {
            inputs = count(&signature.in_spec);
        }
        for (side, leaves, have) in
            [("inputs", count(&signature.in_spec), inputs), ("outputs", count(&signature.out_spec), outputs)]
        {
            if leaves != have {
                let message = format!("the tree of {side} of {what} has {leaves} leaves, its signature {have}");
                c.error("tree", Loc::Program, message);
            }
        }
        call_tree(c, &what, signature);
    }
}

/// A value that a module takes or returns is in the top graph, and of that kind.
fn named(c: &mut Check<'_>, what: &str, argument: &ModuleCallArgument) {
    let (name, fits): (_, fn(&Val) -> bool) = match argument {
        ModuleCallArgument::Tensor(name) => (name, |v| matches!(v, Val::Tensor(_))),
        ModuleCallArgument::SymInt(name) => (name, |v| matches!(v, Val::Int(_))),
        ModuleCallArgument::SymFloat(name) => (name, |v| matches!(v, Val::Float(_))),
        ModuleCallArgument::SymBool(name) => (name, |v| matches!(v, Val::Bool(_))),
        ModuleCallArgument::CustomObj(name, _) => (name, |v| matches!(v, Val::Object(_))),
        ModuleCallArgument::Token(name) => (name, |v| matches!(v, Val::Token | Val::Tensor(_))),
        ModuleCallArgument::Constant(constant) => {
            let ints = |l: &[Argument]| l.iter().all(|a| matches!(a, Argument::Int(_)));
            let fits = match constant {
                Argument::None | Argument::Int(_) | Argument::Float(_) | Argument::Bool(_) | Argument::Str(_) => true,
                Argument::List(items) => ints(items),
                _ => false,
            };
            if !fits {
                let message = format!("{what} is called with a constant that the program JSON has not there");
                c.error("document", Loc::Program, message);
            }
            return;
        }
    };
    match c.program.graph.find(name) {
        None => {
            let message = format!("{what} is called with `{name}`, which is not in the graph");
            c.error("module-call", Loc::Program, message);
        }
        Some(id) => {
            let val = c.program.graph.node(id).val();
            if let Some(val) = val.filter(|v| !fits(v)) {
                let have = super::compare::article(val);
                let message = format!("{what} is called with `{name}`, which is {have}, not what its signature says");
                c.error("module-call", Loc::Program, message);
            }
        }
    }
}
