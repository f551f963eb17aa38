//! The signature and the module calls of a document.

use oxport_ir::program::ModuleCallArgument;
use oxport_ir::{Argument, Diagnostic, ExportedProgram, InputKind, Loc, ModuleCall, NodeId, OutputKind, Val};

use super::graph::Values;
use crate::model::{
    self, Argument as Json, ConstantValue, CustomObjArgument, Flag, Real, SymBoolArgument, SymFloatArgument,
    SymIntArgument, TensorArgument, TokenArgument,
};

/// The signature.
pub(super) fn write_signature(
    program: &ExportedProgram,
    values: &Values,
    errors: &mut Vec<Diagnostic>,
) -> model::GraphSignature {
    let graph = &program.graph;
    let placeholders: Vec<NodeId> = graph.placeholders().map(|(id, _)| id).collect();
    let counts = [
        ("inputs", program.signature.inputs.len(), placeholders.len()),
        ("outputs", program.signature.outputs.len(), graph.outputs().len()),
    ];
    for (what, specs, have) in counts.into_iter().filter(|(_, specs, have)| specs != have) {
        let message = format!("expected {have} {what} in the signature, as in the graph, got {specs}");
        errors.push(Diagnostic::error("signature", Loc::Program, message));
    }
    let inputs = placeholders.iter().zip(&program.signature.inputs);
    let outputs = graph.outputs().iter().zip(&program.signature.outputs);
    model::GraphSignature {
        input_specs: inputs.map(|(id, spec)| input_spec(program, values, *id, &spec.kind)).collect(),
        output_specs: outputs.map(|(arg, spec)| output_spec(program, values, arg, &spec.kind)).collect(),
        extra: None,
    }
}

fn input_spec(program: &ExportedProgram, values: &Values, id: NodeId, kind: &InputKind) -> model::InputSpec {
    let name = program.graph.node(id).name.to_string();
    let arg = TensorArgument::new(name.clone());
    match kind {
        InputKind::UserInput => match values.constant(id) {
            // A leaf without a value is a constant, as in PyTorch.
            Some(constant) => constant_input(name, constant),
            None => {
                let arg = value(program, values, &Argument::Node(id));
                model::InputSpec::UserInput(model::UserInputSpec { arg, extra: None })
            }
        },
        InputKind::ConstantInput(constant) => constant_input(name, constant),
        InputKind::Parameter(p) => {
            model::InputSpec::Parameter(model::ParameterSpec { arg, parameter_name: p.to_string(), extra: None })
        }
        InputKind::Buffer { name, persistent } => {
            let (buffer_name, persistent) = (name.to_string(), *persistent);
            model::InputSpec::Buffer(model::BufferSpec { arg, buffer_name, persistent, extra: None })
        }
        InputKind::TensorConstant(c) => {
            let tensor_constant_name = c.to_string();
            model::InputSpec::TensorConstant(model::TensorConstantSpec { arg, tensor_constant_name, extra: None })
        }
        InputKind::CustomObj { name: object, class } => {
            let arg = CustomObjArgument { name, class_fqn: class.to_string(), extra: None };
            model::InputSpec::CustomObj(model::CustomObjSpec { arg, custom_obj_name: object.to_string(), extra: None })
        }
        InputKind::Token => {
            let arg = TokenArgument { name, extra: None };
            model::InputSpec::Token(model::TokenSpec { arg, extra: None })
        }
    }
}

fn constant_input(name: String, constant: &Argument) -> model::InputSpec {
    let value = match constant {
        Argument::Int(n) => ConstantValue::AsInt(*n),
        Argument::Float(x) => ConstantValue::AsFloat(Real(*x)),
        Argument::Bool(b) => ConstantValue::AsBool(*b),
        Argument::Str(s) => ConstantValue::AsString(s.to_string()),
        _ => ConstantValue::AsNone(Flag),
    };
    model::InputSpec::ConstantInput(model::ConstantInputSpec { name, value, extra: None })
}

fn output_spec(program: &ExportedProgram, values: &Values, output: &Argument, kind: &OutputKind) -> model::OutputSpec {
    use model::OutputSpec as Spec;
    let name = output.as_node().map_or(String::new(), |id| values.name(&program.graph, id));
    let arg = TensorArgument::new(name.clone());
    let parameter = |arg, name: &std::sync::Arc<str>| model::ParameterOutputSpec {
        arg,
        parameter_name: name.to_string(),
        extra: None,
    };
    let user_input = |arg, name: &std::sync::Arc<str>| model::UserInputOutputSpec {
        arg,
        user_input_name: name.to_string(),
        extra: None,
    };
    match kind {
        OutputKind::UserOutput => {
            Spec::UserOutput(model::UserOutputSpec { arg: value(program, values, output), extra: None })
        }
        OutputKind::BufferMutation(b) => {
            Spec::BufferMutation(model::BufferMutationSpec { arg, buffer_name: b.to_string(), extra: None })
        }
        OutputKind::ParameterMutation(p) => Spec::ParameterMutation(parameter(arg, p)),
        OutputKind::GradientToParameter(p) => Spec::GradientToParameter(parameter(arg, p)),
        OutputKind::UserInputMutation(i) => Spec::UserInputMutation(user_input(arg, i)),
        OutputKind::GradientToUserInput(i) => Spec::GradientToUserInput(user_input(arg, i)),
        OutputKind::Token => Spec::Token(model::TokenSpec { arg: TokenArgument { name, extra: None }, extra: None }),
        OutputKind::LossOutput => Spec::LossOutput(model::LossOutputSpec { arg, extra: None }),
    }
}

/// A value of the top graph by its name, or a constant.
fn value(program: &ExportedProgram, values: &Values, arg: &Argument) -> Json {
    let Argument::Node(id) = arg else { return constant(arg) };
    if let Some(known) = values.constant(*id) {
        return constant(known);
    }
    let name = values.name(&program.graph, *id);
    match program.graph.node(*id).val() {
        Some(Val::Int(_)) => Json::AsSymInt(SymIntArgument::AsName(name)),
        Some(Val::Float(_)) => Json::AsSymFloat(SymFloatArgument::AsName(name)),
        Some(Val::Bool(_)) => Json::AsSymBool(SymBoolArgument::AsName(name)),
        Some(Val::Object(class)) => {
            Json::AsCustomObj(CustomObjArgument { name, class_fqn: class.to_string(), extra: None })
        }
        _ => Json::tensor(name),
    }
}

fn constant(arg: &Argument) -> Json {
    match arg {
        Argument::Int(n) => Json::AsInt(*n),
        Argument::Float(x) => Json::AsFloat(Real(*x)),
        Argument::Bool(b) => Json::AsBool(*b),
        Argument::Str(s) => Json::AsString(s.to_string()),
        Argument::List(items) => match items.iter().map(Argument::as_int).collect() {
            Some(list) => Json::AsInts(list),
            None => Json::NONE,
        },
        _ => Json::NONE,
    }
}

/// The module calls; adds one for the program itself if there is none.
pub(super) fn write_module_calls(program: &ExportedProgram, values: &Values) -> Vec<model::ModuleCallEntry> {
    let own = || ModuleCall { fqn: "".into(), signature: Some(program.flat_call()) };
    let (made, rest) = match program.module_calls.split_first() {
        Some((first, rest)) if first.fqn.is_empty() && first.signature.is_none() => (Some(own()), rest),
        None => (Some(own()), &[][..]),
        _ => (None, &program.module_calls[..]),
    };
    let arguments = |list: &[ModuleCallArgument]| list.iter().map(|arg| call_argument(program, values, arg)).collect();
    let entry = |call: &ModuleCall| model::ModuleCallEntry {
        fqn: call.fqn.to_string(),
        signature: call.signature.as_ref().map(|s| model::ModuleCallSignature {
            inputs: arguments(&s.inputs),
            outputs: arguments(&s.outputs),
            in_spec: s.in_spec.to_json(),
            out_spec: s.out_spec.to_json(),
            forward_arg_names: s.forward_arg_names.as_ref().map(|names| names.iter().map(|n| n.to_string()).collect()),
            extra: None,
        }),
        extra: None,
    };
    made.iter().chain(rest).map(entry).collect()
}

fn call_argument(program: &ExportedProgram, values: &Values, arg: &ModuleCallArgument) -> Json {
    // Duplicate `getitem` nodes have one name.
    let name = |name: &str| program.graph.find(name).map_or(name.to_string(), |id| values.name(&program.graph, id));
    match arg {
        ModuleCallArgument::Tensor(n) | ModuleCallArgument::Token(n) => Json::tensor(name(n)),
        ModuleCallArgument::SymInt(n) => Json::AsSymInt(SymIntArgument::AsName(name(n))),
        ModuleCallArgument::SymFloat(n) => Json::AsSymFloat(SymFloatArgument::AsName(name(n))),
        ModuleCallArgument::SymBool(n) => Json::AsSymBool(SymBoolArgument::AsName(name(n))),
        ModuleCallArgument::CustomObj(n, class) => {
            Json::AsCustomObj(CustomObjArgument { name: name(n), class_fqn: class.to_string(), extra: None })
        }
        ModuleCallArgument::Constant(arg) => constant(arg),
    }
}
