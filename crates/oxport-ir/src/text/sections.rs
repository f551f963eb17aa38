//! What follows the code of a program: the signature and the ranges, printed and read.

use crate::{ExportedProgram, Graph, InputKind, OutputKind, RangeConstraint, Signature};
use oxport_sym::Expr;
use std::sync::Arc;

/// The signature as PyTorch prints it.
pub(super) fn signature(program: &ExportedProgram) -> String {
    let line = |name: &str, kind: &str, target: Option<&str>, more: &str| {
        let target = target.map_or(String::new(), |t| format!(" target='{t}'"));
        format!("{name}: {kind}{target}{more}")
    };
    let inputs = program.graph.placeholders().zip(&program.signature.inputs).map(|((_, node), spec)| {
        let (kind, persistent) = match &spec.kind {
            InputKind::UserInput | InputKind::ConstantInput(_) => ("USER_INPUT", ""),
            InputKind::Parameter(_) => ("PARAMETER", ""),
            InputKind::Buffer { persistent: true, .. } => ("BUFFER", " persistent=True"),
            InputKind::Buffer { persistent: false, .. } => ("BUFFER", " persistent=False"),
            InputKind::TensorConstant(_) => ("CONSTANT_TENSOR", ""),
            InputKind::CustomObj { .. } => ("CUSTOM_OBJ", ""),
            InputKind::Token => ("TOKEN", ""),
        };
        line(&node.name, kind, spec.kind.lifted().map(|n| &**n), persistent)
    });
    let outputs = program.graph.outputs().iter().zip(&program.signature.outputs).map(|(arg, spec)| {
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
        line(name, kind, target.map(|t| &**t), "")
    });
    let [inputs, outputs] = [inputs.collect::<Vec<_>>(), outputs.collect()].map(|lines| lines.join("\n"));
    format!("Graph signature:\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n").replace('\n', "\n    ")
}

/// The ranges as PyTorch prints them: `{s0: VR[2, int_oo]}`.
pub(super) fn ranges(program: &ExportedProgram) -> String {
    let bound = |b: Option<i64>, open: &str| b.map_or(open.to_string(), |n| n.to_string());
    let range =
        |(e, r): (&Expr, &RangeConstraint)| format!("{e}: VR[{}, {}]", bound(r.min, "-int_oo"), bound(r.max, "int_oo"));
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
    outputs: Vec<(String, OutputKind)>,
}

impl Specs {
    /// Reads one line.
    pub(super) fn line(&mut self, line: &str, side: Side) -> Result<(), String> {
        // An output that is a constant has no name.
        let (name, rest) = line.split_once(": ").ok_or("expected `name: KIND`")?;
        let kind = rest.split(' ').next().unwrap_or("");
        let target = rest.split_once("target='").and_then(|(_, t)| Some(t.rsplit_once('\'')?.0)).map(Arc::<str>::from);
        let target = || target.clone().ok_or(format!("{kind}: expected a target"));
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
            let kind = match kind {
                "USER_OUTPUT" => OutputKind::UserOutput,
                "BUFFER_MUTATION" => OutputKind::BufferMutation(target()?),
                "PARAMETER_MUTATION" => OutputKind::ParameterMutation(target()?),
                "USER_INPUT_MUTATION" => OutputKind::UserInputMutation(target()?),
                "TOKEN" => OutputKind::Token,
                "LOSS_OUTPUT" => OutputKind::LossOutput,
                "GRADIENT_TO_PARAMETER" => OutputKind::GradientToParameter(target()?),
                "GRADIENT_TO_USER_INPUT" => OutputKind::GradientToUserInput(target()?),
                other => return Err(format!("unknown output kind `{other}`")),
            };
            self.outputs.push((name.to_string(), kind));
        }
        Ok(())
    }
    /// Gives the results the names that the signature has for them: those in the code may be others.
    pub(super) fn rename_outputs(&self, graph: &mut Graph) {
        let mut renamed = Vec::new();
        for (arg, (name, _)) in graph.outputs().iter().zip(&self.outputs) {
            if let Some(id) = arg.as_node().filter(|id| !name.is_empty() && *graph.node(*id).name != **name) {
                renamed.push((id, name));
            }
        }
        for (id, name) in renamed {
            // Where the name is taken, the signature is of another program; its inputs are checked.
            let _ = graph.rename(id, name);
        }
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
        Ok(Signature { inputs, outputs: self.outputs.into_iter().map(|(_, kind)| kind.into()).collect() })
    }
}
