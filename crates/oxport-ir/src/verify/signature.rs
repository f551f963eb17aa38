//! The signature and the graph's inputs and outputs agree.

use super::compare::{Compare, article};
use super::{Check, state};
use crate::diagnostic::{Diagnostic, Loc};
use crate::infer::val_of_argument;
use crate::{Argument, InputKind, OutputKind, Val};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) fn check(c: &mut Check<'_>) {
    dialect(c);
    inputs(c);
    outputs(c);
}

fn dialect(c: &mut Check<'_>) {
    for name in c.program.origin.verifiers.iter().flatten() {
        if !matches!(&**name, "ATEN" | "TRAINING" | "") {
            c.error("dialect", Loc::Program, format!("there is no dialect `{name}`, only ATEN and TRAINING"));
        }
    }
}

fn inputs(c: &mut Check<'_>) {
    let program = c.program;
    let placeholders: Vec<_> = program.graph.placeholders().map(|(_, n)| n).collect();
    if placeholders.len() != program.signature.inputs.len() {
        let (specs, have) = (program.signature.inputs.len(), placeholders.len());
        c.error("signature", Loc::Program, format!("{specs} input specs for {have} placeholders"));
    }
    let mut lifted: HashMap<&Arc<str>, usize> = HashMap::new();
    for (i, (node, spec)) in placeholders.iter().zip(&program.signature.inputs).enumerate() {
        let val = node.val().unwrap_or(&Val::None);
        if let Some(expected) = expected(&spec.kind, val) {
            let message = format!("{} is {expected}, but its meta is {}", c.input_path(i), article(val));
            c.error("signature", Loc::Input(i), message);
        }
        if let Some(name) = spec.kind.lifted()
            && let Some(first) = lifted.insert(name, i)
        {
            let message = format!("`{}` is lifted as `{name}`, as input {first} is already", node.name);
            c.error("signature", Loc::Input(i), message);
        }
        if !node.args.is_empty() && !spec.kind.is_user() {
            c.node_error("default", &node.name, format!("`{}` has a default, but is lifted", node.name));
        }
        state::check(c, node, &spec.kind);
    }
    // Only a signature that covers the graph can say what is not used.
    if placeholders.len() == program.signature.inputs.len() {
        for name in program.state.keys().chain(program.constants.keys()).filter(|name| !lifted.contains_key(name)) {
            let message = format!("`{name}` is stored, but no input is lifted from it");
            c.report(Diagnostic::warning("dangling", Loc::State(name.to_string()), message));
        }
    }
}

/// What a kind of input expects its meta to be, unless it is that.
fn expected(kind: &InputKind, val: &Val) -> Option<String> {
    let is_constant = |c: &Argument| match (c, val) {
        (Argument::None, Val::None) => true,
        (Argument::Int(a), Val::Int(b)) => b.as_int().is_none_or(|b| *a == b),
        (Argument::Float(a), Val::Float(b)) => b.as_float().is_none_or(|b| *a == b || a.is_nan() && b.is_nan()),
        (Argument::Bool(a), Val::Bool(b)) => b.as_bool().is_none_or(|b| *a == b),
        (Argument::Str(a), Val::Str(b)) => **a == **b,
        _ => false,
    };
    let (fits, expected) = match kind {
        InputKind::Parameter(_) | InputKind::Buffer { .. } | InputKind::TensorConstant(_) => {
            (matches!(val, Val::Tensor(_)), "lifted from a tensor".to_string())
        }
        InputKind::CustomObj { class, .. } => {
            (matches!(val, Val::Object(c) if **c == **class), format!("an object of class {class}"))
        }
        InputKind::Token => (matches!(val, Val::Token | Val::Tensor(_)), "a token".to_string()),
        InputKind::ConstantInput(constant) => (is_constant(constant), format!("the constant {}", spell(constant))),
        InputKind::UserInput => (!matches!(val, Val::List(_) | Val::Token), "the user's".to_string()),
    };
    (!fits).then_some(expected)
}

fn spell(a: &Argument) -> String {
    match a {
        Argument::None => "None".into(),
        Argument::Int(n) => n.to_string(),
        Argument::Float(x) => format!("{x:?}"),
        Argument::Bool(b) => if *b { "True" } else { "False" }.into(),
        Argument::Str(s) => format!("{s:?}"),
        _ => "that it has no value for".into(),
    }
}

fn outputs(c: &mut Check<'_>) {
    let program = c.program;
    let (outputs, specs) = (program.graph.outputs(), &program.signature.outputs);
    if outputs.len() != specs.len() {
        let message = format!("{} output specs for {} outputs", specs.len(), outputs.len());
        c.error("signature", Loc::Program, message);
    }
    let mut targets: HashMap<(&'static str, &str), Option<&Val>> = HashMap::new();
    for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        let key = match &spec.kind {
            InputKind::Buffer { name, .. } => ("buffer", &**name),
            InputKind::Parameter(name) => ("parameter", &**name),
            kind if kind.is_user() => ("user input", &*node.name),
            _ => continue,
        };
        targets.insert(key, node.val());
    }
    let mut rank = 0;
    let (mut written, mut values) = (HashSet::new(), HashSet::new());
    for (i, (spec, output)) in specs.iter().zip(outputs).enumerate() {
        let own = match spec.kind {
            OutputKind::Token => 0,
            _ if spec.kind.is_mutation() => 1,
            _ => 2,
        };
        if own < rank {
            c.error("output-order", Loc::Output(i), "a mutation stands after a user output, or a token after either");
        }
        rank = rank.max(own);
        let (what, name) = match &spec.kind {
            OutputKind::BufferMutation(n) => ("buffer", n),
            OutputKind::ParameterMutation(n) | OutputKind::GradientToParameter(n) => ("parameter", n),
            OutputKind::UserInputMutation(n) | OutputKind::GradientToUserInput(n) => ("user input", n),
            _ => continue,
        };
        let Some(target) = targets.get(&(what, &**name)) else {
            c.error("signature", Loc::Output(i), format!("there is no {what} `{name}`"));
            continue;
        };
        if spec.kind.is_mutation() && !written.insert((what, &**name)) {
            c.error("signature", Loc::Output(i), format!("the {what} `{name}` gets a new value twice"));
        }
        if let (true, Argument::Node(value)) = (spec.kind.is_mutation(), output)
            && !values.insert(*value)
        {
            let value = &program.graph.node(*value).name;
            let message =
                format!("`{value}` is the new value of another tensor, too: PyTorch tells them apart by name");
            c.error("signature", Loc::Output(i), message);
        }
        if spec.kind.is_mutation() && !matches!(output, Argument::Node(_)) {
            c.error("signature", Loc::Output(i), "a mutation's new value is a constant");
        } else if let (Some(target), Some(value)) = (target, val_of_argument(&program.graph, output)) {
            new_value(c, i, what, name, target, &value);
        }
    }
}

/// The new value of a tensor, or its gradient, is like it.
fn new_value(c: &mut Check<'_>, i: usize, what: &str, name: &str, target: &Val, value: &Val) {
    let fits = match (target, value) {
        (Val::Tensor(a), Val::Tensor(b)) => {
            a.dtype == b.dtype && Compare::new(c.env).values(&Val::Tensor(a.clone()), value).is_none()
        }
        _ => false,
    };
    if !fits {
        let message = format!("the {what} `{name}` is {}, its new value is {}", article(target), article(value));
        c.error("output-value", Loc::Output(i), message);
    }
}
