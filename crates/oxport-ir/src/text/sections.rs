//! What stands behind the code of a program: the signature and the ranges, printed and read.

use crate::{ExportedProgram, Graph, InputKind, OutputKind, RangeConstraint, Signature};
use oxport_sym::Expr;
use std::fmt::Write;
use std::sync::Arc;

/// The signature as PyTorch prints it.
pub(super) fn signature(program: &ExportedProgram) -> String {
    let mut out = String::from("Graph signature:\n    # inputs\n");
    let line = |out: &mut String, name: &str, kind: &str, target: Option<&str>, more: &str| {
        let target = target.map_or(String::new(), |t| format!(" target='{t}'"));
        let _ = writeln!(out, "    {name}: {kind}{target}{more}");
    };
    for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        let (kind, persistent) = match &spec.kind {
            InputKind::UserInput | InputKind::ConstantInput(_) => ("USER_INPUT", ""),
            InputKind::Parameter(_) => ("PARAMETER", ""),
            InputKind::Buffer { persistent: true, .. } => ("BUFFER", " persistent=True"),
            InputKind::Buffer { persistent: false, .. } => ("BUFFER", " persistent=False"),
            InputKind::TensorConstant(_) => ("CONSTANT_TENSOR", ""),
            InputKind::CustomObj { .. } => ("CUSTOM_OBJ", ""),
            InputKind::Token => ("TOKEN", ""),
        };
        line(&mut out, &node.name, kind, spec.kind.lifted().map(|n| &**n), persistent);
    }
    out.push_str("    \n    # outputs\n");
    for (arg, spec) in program.graph.outputs().iter().zip(&program.signature.outputs) {
        let (kind, target) = match &spec.kind {
            OutputKind::UserOutput => ("USER_OUTPUT", None),
            OutputKind::BufferMutation(t) => ("BUFFER_MUTATION", Some(t)),
            OutputKind::ParameterMutation(t) => ("PARAMETER_MUTATION", Some(t)),
            OutputKind::UserInputMutation(t) => ("USER_INPUT_MUTATION", Some(t)),
            OutputKind::Token => ("TOKEN", None),
            OutputKind::LossOutput => ("LOSS_OUTPUT", None),
            OutputKind::GradientToParameter(t) => ("GRADIENT_TO_PARAMETER", Some(t)),
            OutputKind::GradientToUserInput(t) => ("GRADIENT_TO_USER_INPUT", Some(t)),
        };
        let name = arg.as_node().map_or("", |id| &program.graph.node(id).name);
        line(&mut out, name, kind, target.map(|t| &**t), "");
    }
    out.push_str("    ");
    out
}

/// The ranges as PyTorch prints them: `{s0: VR[2, int_oo]}`.
pub(super) fn ranges(program: &ExportedProgram) -> String {
    let bound = |b: Option<i64>, open: &str| b.map_or(open.to_string(), |n| n.to_string());
    let range = |(e, r): (&Expr, &RangeConstraint)| {
        format!("{e}: VR[{}, {}]", bound(r.min, "-int_oo"), bound(r.max, "int_oo"))
    };
    format!("{{{}}}", program.ranges.iter().map(range).collect::<Vec<_>>().join(", "))
}

/// Reads ranges; expressions by `expr`.
pub(super) fn read_ranges(
    text: &str,
    expr: &dyn Fn(&str) -> Result<Expr, String>,
) -> Result<Vec<(Expr, RangeConstraint)>, String> {
    let body = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or("expected `{…}`")?;
    let read = |item: &str| {
        let (key, range) = item.split_once(": VR[").ok_or("expected `expr: VR[min, max]`")?;
        let (min, max) = range.trim_end_matches(']').split_once(", ").ok_or("expected `VR[min, max]`")?;
        let bound = |t: &str| match t {
            "int_oo" | "-int_oo" | "oo" | "-oo" | "inf" | "-inf" => Ok(None),
            t => t.parse().map(Some).map_err(|_| format!("`{t}` is no bound")),
        };
        Ok((expr(key)?, RangeConstraint { min: bound(min)?, max: bound(max)? }))
    };
    body.split("],").map(str::trim).filter(|t| !t.is_empty()).map(read).collect()
}

/// The two lists of the signature.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    /// `# inputs`
    Inputs,
    /// `# outputs`
    Outputs,
}

/// The lines of `Graph signature:`.
#[derive(Default)]
pub(super) struct Specs {
    inputs: Vec<(String, InputKind)>,
    outputs: Vec<OutputKind>,
}

impl Specs {
    /// Reads one line.
    pub(super) fn line(&mut self, line: &str, side: Side) -> Result<(), String> {
        // An output that is a constant has no name.
        let (name, rest) = line.split_once(": ").ok_or("expected `name: KIND`")?;
        let kind = rest.split(' ').next().unwrap_or("");
        let target = rest
            .split_once("target='")
            .and_then(|(_, t)| Some(t.rsplit_once('\'')?.0))
            .map(Arc::<str>::from);
        let target = || target.clone().ok_or(format!("{kind} wants a target"));
        if side == Side::Inputs {
            let kind = match kind {
                "USER_INPUT" => InputKind::UserInput,
                "PARAMETER" => InputKind::Parameter(target()?),
                "BUFFER" => InputKind::Buffer { name: target()?, persistent: !rest.ends_with("persistent=False") },
                "CONSTANT_TENSOR" => InputKind::TensorConstant(target()?),
                "CUSTOM_OBJ" => InputKind::CustomObj { name: target()?, class: "".into() },
                "TOKEN" => InputKind::Token,
                other => return Err(format!("unknown input kind `{other}`")),
            };
            self.inputs.push((name.to_string(), kind));
        } else {
            self.outputs.push(match kind {
                "USER_OUTPUT" => OutputKind::UserOutput,
                "BUFFER_MUTATION" => OutputKind::BufferMutation(target()?),
                "PARAMETER_MUTATION" => OutputKind::ParameterMutation(target()?),
                "USER_INPUT_MUTATION" => OutputKind::UserInputMutation(target()?),
                "TOKEN" => OutputKind::Token,
                "LOSS_OUTPUT" => OutputKind::LossOutput,
                "GRADIENT_TO_PARAMETER" => OutputKind::GradientToParameter(target()?),
                "GRADIENT_TO_USER_INPUT" => OutputKind::GradientToUserInput(target()?),
                other => return Err(format!("unknown output kind `{other}`")),
            });
        }
        Ok(())
    }
    /// The signature of a graph; where none is given, all inputs and outputs are the user's.
    pub(super) fn signature(self, graph: &Graph, given: bool) -> Result<Signature, String> {
        if !given {
            let inputs = graph.placeholders().map(|_| InputKind::UserInput.into()).collect();
            let outputs = graph.outputs().iter().map(|_| OutputKind::UserOutput.into()).collect();
            return Ok(Signature { inputs, outputs });
        }
        let names: Vec<&str> = graph.placeholders().map(|(_, n)| &*n.name).collect();
        if names.len() != self.inputs.len() || names.iter().zip(&self.inputs).any(|(a, (b, _))| a != b) {
            return Err("the signature's inputs are not the placeholders in order".into());
        }
        let inputs = self.inputs.into_iter().map(|(_, kind)| kind.into()).collect();
        Ok(Signature { inputs, outputs: self.outputs.into_iter().map(Into::into).collect() })
    }
}
