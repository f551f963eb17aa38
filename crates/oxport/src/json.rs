//! Records as JSON, with the keys that docs/cli.md promises: what the command line prints with `--json`, and what other
//! languages get as data.

#[cfg(feature = "rewrite")]
use crate::bisect::Bisection;
use crate::difference::{Difference, Line, Side, TensorChange};
use crate::info::{Info, Port, SymbolInfo, Tensors};
use crate::trace::{NodeComparison, TraceComparison};
use crate::validate::Validation;
#[cfg(feature = "rewrite")]
use crate::{Checked, Refused, Report};
use crate::{Diagnostic, ExportedProgram, Val};
use oxport_pt2::scan::Finding;
#[cfg(feature = "rewrite")]
use oxport_rewrite::{Answer, Phase, Reason};
use serde_json::{Value, json};

/// What `info` found; docs/cli.md has the keys.
pub fn info(program: &ExportedProgram, found: &Info) -> Value {
    let origin = &program.origin;
    let tensors = |t: &Tensors| json!({"count": t.count, "elements": t.elements, "bytes": t.bytes});
    let names = |list: &[(String, usize)]| list.iter().map(|(name, n)| (name.clone(), json!(n))).collect::<Value>();
    let run = found.run.as_ref();
    let cannot = found.run.as_ref().err();
    json!({
        "torch_version": origin.torch_version.as_deref(),
        "schema_version": origin.schema_version.map(|(major, minor)| format!("{major}.{minor}")),
        "opset": origin.opset.iter().map(|(ns, n)| (ns.to_string(), json!(n))).collect::<Value>(),
        "dialect": crate::info::dialect(program),
        "nodes": found.nodes,
        "subgraphs": found.subgraphs,
        "inputs": found.inputs.iter().map(port).collect::<Value>(),
        "outputs": found.outputs.iter().map(port).collect::<Value>(),
        "symbols": found.symbols.iter().map(symbol).collect::<Value>(),
        "parameters": tensors(&found.parameters),
        "buffers": tensors(&found.buffers),
        "constants": tensors(&found.constants),
        "storage_bytes": found.storage_bytes,
        "flops": run.map(|r| r.cost.flops).ok(),
        "bytes_moved": run.map(|r| r.cost.bytes).ok(),
        "not_counted": run.map(|r| &r.uncosted[..]).ok(),
        "peak_bytes": run.map(|r| r.memory.arena).ok(),
        "output_bytes": run.map(|r| r.memory.outputs).ok(),
        "unknown_sizes": run.map(|r| r.memory.unknown).ok(),
        "operators": names(&found.operators),
        "can_run": cannot.is_none(),
        "reason": cannot.map(|c| &c.reason),
        "missing": cannot.map_or(&[][..], |c| &c.operators),
    })
}

/// A symbol of sizes.
pub fn symbol(s: &SymbolInfo) -> Value {
    json!({"name": s.name, "min": s.min, "max": s.max, "captured": s.captured})
}

/// `{key, path, kind, constant}` with `dtype` and `shape` of a tensor, or the `value` of a number.
pub fn port(port: &Port) -> Value {
    let number = |e: &crate::Expr| e.as_int().map_or_else(|| json!(e.to_string()), |n| json!(n));
    let mut record = json!({"key": port.key, "path": port.path, "constant": port.is_constant});
    let (kind, more) = match &port.val {
        Some(Val::Tensor(t)) => {
            let shape: Value = t.sizes.iter().map(number).collect();
            ("tensor", vec![("dtype", json!(t.dtype.name())), ("shape", shape)])
        }
        Some(Val::Int(e)) => ("int", vec![("value", number(e))]),
        Some(Val::Float(e)) => {
            ("float", vec![("value", e.as_float().map_or_else(|| json!(e.to_string()), |x| json!(x)))])
        }
        Some(Val::Bool(e)) => ("bool", vec![("value", e.as_bool().map_or_else(|| json!(e.to_string()), |b| json!(b)))]),
        Some(Val::Str(s)) => ("str", vec![("value", json!(&**s))]),
        Some(Val::None) => ("None", Vec::new()),
        Some(Val::List(_)) => ("list", Vec::new()),
        Some(Val::Token) => ("token", Vec::new()),
        Some(Val::Object(class)) => ("object", vec![("class", json!(&**class))]),
        None => ("unknown", Vec::new()),
    };
    record["kind"] = json!(kind);
    more.into_iter().for_each(|(key, value)| record[key] = value);
    record
}

/// The report of an optimization, and of its validation.
#[cfg(feature = "rewrite")]
pub fn optimization(report: &Report, validated: Option<&Validation>) -> Value {
    json!({
        "nodes_before": report.nodes_before,
        "nodes_after": report.nodes_after,
        "cost_before": report.cost_before,
        "cost_after": report.cost_after,
        "dropped": report.dropped,
        "too_large_to_freeze": report.is_too_large,
        "folding_cut": report.is_folding_cut,
        "saturated": report.saturated,
        "iterations": report.iterations,
        "egraph_nodes_before": report.egraph_nodes_before,
        "applications": report.applications,
        "out_of_fuel": report.is_out_of_fuel,
        "egraph_nodes": report.egraph_nodes,
        "egraph_classes": report.egraph_classes,
        "searched": report.searched,
        "replayed": report.replayed,
        "search_ms": report.search_ms,
        "extract_ms": report.extract_ms,
        "total_ms": report.total_ms,
        "rules": report.rules,
        "phases": report.phases.iter().map(phase).collect::<Value>(),
        "validated": validated.map(Validation::is_agreement),
        "validation": validated.map(validation),
    })
}

/// A phase of a search.
#[cfg(feature = "rewrite")]
fn phase(phase: &Phase) -> Value {
    json!({
        "name": phase.name,
        "rounds": phase.rounds,
        "rules": phase.rules,
        "replayed": phase.replayed,
        "nodes": phase.nodes,
        "classes": phase.classes,
        "stop": phase.stop.name(),
        "ms": phase.ms,
    })
}

/// Why a rule did nothing at a value: `{rule, node, reason, lines, cost, cost_with}`. The costs are nanoseconds, of a
/// rule whose result was not chosen.
#[cfg(feature = "rewrite")]
pub fn answer(answer: &Answer) -> Value {
    let (cost, cost_with) = match answer.reason {
        Reason::Dearer { chosen, with } => (Some(chosen), with),
        _ => (None, None),
    };
    json!({
        "rule": answer.question.rule,
        "node": answer.question.node,
        "reason": answer.reason.name(),
        "lines": answer.lines,
        "cost": cost,
        "cost_with": cost_with,
    })
}

/// What a bisection found.
#[cfg(feature = "rewrite")]
pub fn bisection(found: &Bisection) -> Value {
    json!({
        "applications": found.applications,
        "checks": found.checks,
        "failure": found.failure,
        "culprit": found.culprit.as_ref().map(|c| json!({
            "number": c.number,
            "rule": c.rule,
            "step": c.step,
            "nodes": c.nodes,
            "difference": difference(&c.difference),
        })),
    })
}

/// Whether a proof was accepted, and what it shows.
#[cfg(feature = "rewrite")]
pub fn checked(checked: &Result<Checked, Refused>) -> Value {
    let (shown, refused) = (checked.as_ref().ok(), checked.as_ref().err());
    json!({
        "accepted": shown.is_some(),
        "step": refused.and_then(|r| r.step),
        "reason": refused.map(|r| &r.reason),
        "rules": shown.map(|c| c.rules),
        "frozen": shown.map(|c| c.frozen),
        "rewrites": shown.map(|c| c.rewrites),
        "folds": shown.map(|c| c.folds),
        "terms": shown.map(|c| c.terms),
        "outputs": shown.map(|c| c.outputs),
        "effects": shown.map(|c| c.effects),
    })
}

/// The outcome of a validation.
pub fn validation(v: &Validation) -> Value {
    let refused = v.refused.iter().map(|(inputs, why)| json!({"inputs": inputs.to_string(), "why": why}));
    json!({
        "compared": v.compared.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "difference": v.difference,
        "worst": v.worst.as_ref().map(|(error, at)| json!({"error": error, "at": at})),
        "cut_short": v.cut_short,
    })
}

/// Diagnostics as JSON.
pub fn diagnostics(found: &[Diagnostic]) -> Value {
    let one = |d: &Diagnostic| {
        json!({
            "code": d.code,
            "severity": d.severity.to_string(),
            "at": d.at.to_string(),
            "message": d.message,
            "notes": d.notes,
        })
    };
    found.iter().map(one).collect()
}

/// What differs between two programs: lines as `{change, graph, node, text}`, tensors as `{change, name, detail}`.
pub fn difference(found: &Difference) -> Value {
    let line = |l: &Line| {
        let change = match l.side {
            Side::First => "removed",
            Side::Second => "added",
            Side::Both | Side::Gap => return None,
        };
        Some(json!({"change": change, "graph": l.graph, "node": l.node, "text": l.text}))
    };
    let tensor = |change: &TensorChange| match change {
        TensorChange::Removed(name) => json!({"change": "removed", "name": &**name, "detail": null}),
        TensorChange::Added(name) => json!({"change": "added", "name": &**name, "detail": null}),
        TensorChange::Renamed(old, new) => json!({"change": "renamed", "name": &**old, "detail": &**new}),
        TensorChange::Changed(name, how) => json!({"change": "changed", "name": &**name, "detail": how}),
    };
    json!({
        "equal": found.is_empty(),
        "graph": found.graph.iter().filter_map(line).collect::<Value>(),
        "signature": found.signature.iter().filter_map(line).collect::<Value>(),
        "tensors": found.tensors.iter().map(tensor).collect::<Value>(),
    })
}

/// A comparison of two runs.
pub fn comparison(found: &TraceComparison) -> Value {
    let one = |n: &NodeComparison| {
        json!({
            "name": n.name,
            "op": n.op,
            "agree": n.comparison.agree,
            "error": n.comparison.error,
            "detail": n.comparison.detail,
        })
    };
    json!({
        "compared": found.nodes.len(),
        "different": found.different().count(),
        "only_first": found.only_first,
        "only_second": found.only_second,
        "first_divergence": found.different().next().map(one),
        "worst": found.worst().map(one),
        "nodes": found.nodes.iter().map(one).collect::<Vec<_>>(),
    })
}

/// A finding of a scan.
pub fn finding(f: &Finding) -> Value {
    json!({
        "code": f.code,
        "danger": f.danger.to_string(),
        "at": f.at,
        "what": f.what,
        "effect": f.effect,
    })
}
