//! The signature and the module calls of a document.

use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::program::ModuleCallArgument;
use oxport_ir::{
    Argument, Diagnostic, Graph, InputKind, InputSpec, Loc, ModuleCall, ModuleCallSignature, OutputKind, OutputSpec,
    Signature,
};
use oxport_pytree::{NamedTupleFields, TreeSpec};

use crate::Limits;
use crate::json::walk::walk;
use crate::model::{self, Argument as Json, ConstantValue, SymBoolArgument, SymFloatArgument, SymIntArgument};

/// The name of the placeholder of a constant input.
pub(super) fn input_name_at(json: &model::GraphSignature, i: usize) -> Option<String> {
    match json.input_specs.get(i)? {
        model::InputSpec::ConstantInput(spec) => Some(spec.name.clone()),
        spec => input_name(spec).map(str::to_string),
    }
}

/// The signature, checked against the graph's inputs and outputs by position and name.
pub(super) fn read_signature(json: &model::GraphSignature, graph: &Graph, errors: &mut Vec<Diagnostic>) -> Signature {
    let placeholders: Vec<Arc<str>> = graph.placeholders().map(|(_, node)| node.name.clone()).collect();
    for (what, specs, have) in [
        ("inputs", json.input_specs.len(), placeholders.len()),
        ("outputs", json.output_specs.len(), graph.outputs().len()),
    ] {
        if specs != have {
            let message = format!("expected {have} {what} in the signature, as in the graph, got {specs}");
            errors.push(Diagnostic::error("signature", Loc::Program, message));
        }
    }
    let inputs: Vec<InputSpec> = json.input_specs.iter().map(|spec| InputSpec::from(input_kind(spec))).collect();
    for (i, (spec, placeholder)) in json.input_specs.iter().zip(&placeholders).enumerate() {
        if let Some(name) = input_name(spec)
            && name != &**placeholder
        {
            let message = format!("expected the spec of {placeholder:?}, the graph's input, got {name:?}");
            errors.push(Diagnostic::error("signature", Loc::Input(i), message));
        }
    }
    let outputs: Vec<OutputSpec> = json.output_specs.iter().map(|spec| OutputSpec::from(output_kind(spec))).collect();
    for (i, (spec, output)) in json.output_specs.iter().zip(graph.outputs()).enumerate() {
        let Argument::Node(id) = output else { continue };
        let have = &graph.node(*id).name;
        if let Some(name) = output_name(spec)
            && name != &**have
        {
            let message = format!("expected the spec of {have:?}, the graph's output, got {name:?}");
            errors.push(Diagnostic::error("signature", Loc::Output(i), message));
        }
    }
    Signature { inputs, outputs }
}

fn input_kind(spec: &model::InputSpec) -> InputKind {
    match spec {
        model::InputSpec::UserInput(_) => InputKind::UserInput,
        model::InputSpec::Parameter(s) => InputKind::Parameter(s.parameter_name.as_str().into()),
        model::InputSpec::Buffer(s) => {
            InputKind::Buffer { name: s.buffer_name.as_str().into(), persistent: s.persistent }
        }
        model::InputSpec::TensorConstant(s) => InputKind::TensorConstant(s.tensor_constant_name.as_str().into()),
        model::InputSpec::CustomObj(s) => {
            InputKind::CustomObj { name: s.custom_obj_name.as_str().into(), class: s.arg.class_fqn.as_str().into() }
        }
        model::InputSpec::Token(_) => InputKind::Token,
        model::InputSpec::ConstantInput(s) => InputKind::ConstantInput(match &s.value {
            ConstantValue::AsNone(_) => Argument::None,
            ConstantValue::AsInt(n) => Argument::Int(*n),
            ConstantValue::AsFloat(x) => Argument::Float(x.0),
            ConstantValue::AsString(s) => s.as_str().into(),
            ConstantValue::AsBool(b) => Argument::Bool(*b),
        }),
    }
}

fn input_name(spec: &model::InputSpec) -> Option<&str> {
    match spec {
        model::InputSpec::UserInput(s) => value_name(&s.arg),
        model::InputSpec::Parameter(s) => Some(&s.arg.name),
        model::InputSpec::Buffer(s) => Some(&s.arg.name),
        model::InputSpec::TensorConstant(s) => Some(&s.arg.name),
        model::InputSpec::CustomObj(s) => Some(&s.arg.name),
        model::InputSpec::Token(s) => Some(&s.arg.name),
        model::InputSpec::ConstantInput(_) => None,
    }
}

fn output_kind(spec: &model::OutputSpec) -> OutputKind {
    let name = |name: &String| name.as_str().into();
    match spec {
        model::OutputSpec::UserOutput(_) => OutputKind::UserOutput,
        model::OutputSpec::LossOutput(_) => OutputKind::LossOutput,
        model::OutputSpec::BufferMutation(s) => OutputKind::BufferMutation(name(&s.buffer_name)),
        model::OutputSpec::GradientToParameter(s) => OutputKind::GradientToParameter(name(&s.parameter_name)),
        model::OutputSpec::GradientToUserInput(s) => OutputKind::GradientToUserInput(name(&s.user_input_name)),
        model::OutputSpec::UserInputMutation(s) => OutputKind::UserInputMutation(name(&s.user_input_name)),
        model::OutputSpec::Token(_) => OutputKind::Token,
        model::OutputSpec::ParameterMutation(s) => OutputKind::ParameterMutation(name(&s.parameter_name)),
    }
}

fn output_name(spec: &model::OutputSpec) -> Option<&str> {
    match spec {
        model::OutputSpec::UserOutput(s) => value_name(&s.arg),
        model::OutputSpec::LossOutput(s) => Some(&s.arg.name),
        model::OutputSpec::BufferMutation(s) => Some(&s.arg.name),
        model::OutputSpec::GradientToParameter(s) | model::OutputSpec::ParameterMutation(s) => Some(&s.arg.name),
        model::OutputSpec::GradientToUserInput(s) | model::OutputSpec::UserInputMutation(s) => Some(&s.arg.name),
        model::OutputSpec::Token(s) => Some(&s.arg.name),
    }
}

/// The name of the value that an argument is, if it is one.
fn value_name(arg: &Json) -> Option<&str> {
    match arg {
        Json::AsTensor(t) => Some(&t.name),
        Json::AsCustomObj(o) => Some(&o.name),
        Json::AsSymInt(SymIntArgument::AsName(name))
        | Json::AsSymFloat(SymFloatArgument::AsName(name))
        | Json::AsSymBool(SymBoolArgument::AsName(name)) => Some(name),
        _ => None,
    }
}

/// The module calls, their trees opened.
pub(super) fn read_module_calls(
    json: &[model::ModuleCallEntry],
    named_tuples: &IndexMap<Arc<str>, Vec<Arc<str>>>,
    limits: &Limits,
    errors: &mut Vec<Diagnostic>,
) -> Vec<ModuleCall> {
    let fields: NamedTupleFields = named_tuples
        .iter()
        .map(|(name, fields)| (name.to_string(), fields.iter().map(|f| f.to_string()).collect()))
        .collect();
    let mut calls = Vec::with_capacity(json.len());
    for (i, entry) in json.iter().enumerate() {
        let at = |part: &str| Loc::Json(format!("graph_module.module_call_graph[{i}].signature.{part}"));
        let mut tree = |part: &str, text: &str| {
            read_tree(text, &fields, limits).unwrap_or_else(|(code, message)| {
                errors.push(Diagnostic::error(code, at(part), message));
                TreeSpec::tuple([])
            })
        };
        let signature = entry.signature.as_ref().map(|s| ModuleCallSignature {
            inputs: s.inputs.iter().map(call_argument).collect(),
            outputs: s.outputs.iter().map(call_argument).collect(),
            in_spec: tree("in_spec", &s.in_spec),
            out_spec: tree("out_spec", &s.out_spec),
            forward_arg_names: s
                .forward_arg_names
                .as_ref()
                .map(|names| names.iter().map(|name| name.as_str().into()).collect()),
        });
        calls.push(ModuleCall { fqn: entry.fqn.as_str().into(), signature });
    }
    calls
}

/// The maximum nesting depth of a tree spec.
const TREE_DEPTH: usize = 60;

/// Parses a tree spec; errors are a code and a message.
fn read_tree(text: &str, fields: &NamedTupleFields, limits: &Limits) -> Result<TreeSpec, (&'static str, String)> {
    if text.len() as u64 > limits.tree {
        return Err(("tree", Limits::exceeded("tree", format!("{} bytes of tree spec", text.len()), limits.tree)));
    }
    // A container is an object with a list: two levels of text, as a leaf; one more for the protocol.
    if walk(text, 2 * TREE_DEPTH + 3, &mut |_, _| ()).is_err() {
        return Err(("depth", format!("containers are nested more than {} levels deep", TREE_DEPTH)));
    }
    let tree = TreeSpec::from_json(text, fields).map_err(|e| ("tree", e.to_string()))?;
    match tree.imported() {
        Some(name) => Err(("tree", format!("PyTorch would import {name:?} to construct a container"))),
        None => Ok(tree),
    }
}

fn call_argument(json: &Json) -> ModuleCallArgument {
    let constant = |argument| ModuleCallArgument::Constant(argument);
    match json {
        Json::AsTensor(t) => ModuleCallArgument::Tensor(t.name.as_str().into()),
        Json::AsSymInt(SymIntArgument::AsName(name)) => ModuleCallArgument::SymInt(name.as_str().into()),
        Json::AsSymFloat(SymFloatArgument::AsName(name)) => ModuleCallArgument::SymFloat(name.as_str().into()),
        Json::AsSymBool(SymBoolArgument::AsName(name)) => ModuleCallArgument::SymBool(name.as_str().into()),
        Json::AsCustomObj(o) => ModuleCallArgument::CustomObj(o.name.as_str().into(), o.class_fqn.as_str().into()),
        Json::AsInt(n) => constant(Argument::Int(*n)),
        Json::AsFloat(x) => constant(Argument::Float(x.0)),
        Json::AsBool(b) => constant(Argument::Bool(*b)),
        Json::AsString(s) => constant(s.as_str().into()),
        Json::AsInts(list) => constant(list.clone().into()),
        _ => constant(Argument::None),
    }
}
