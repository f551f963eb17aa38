//! The strings of a program JSON that PyTorch evaluates or imports.

use std::borrow::Cow;

use oxport_sym::Expr;
use serde_json::Value;

use super::globals::SYSTEM_MODULES;
use super::{Danger, Findings};
use crate::Limits;
use crate::json::walk::{Event, Step, unescaped, walk};
use crate::read::expressions::{check_text, excerpt, is_too_costly};
use crate::read::guards::check_guard;
use crate::read::is_plain_target;

const EVALUATES: &str = "evaluates the text as Python when the file is loaded (sympify)";
const EXECUTES: &str = "executes the text as Python when .module() is called";
const IMPORTS: &str = "imports the module when the file is loaded";
const RESOLVES: &str = "walks these attributes when the file is loaded";
const UNPICKLES: &str = "unpickles the object and calls its class";
const RESOURCES: &str = "may run for a very long time or overflow its stack when the file is loaded";

pub(super) fn scan(name: &str, data: &[u8], limits: &Limits, findings: &mut Findings) {
    let Ok(text) = std::str::from_utf8(data) else {
        return findings.add(
            "damaged-entry",
            Danger::Suspicious,
            name,
            "the document is not UTF-8",
            "fails to load it",
        );
    };
    let mut seen = std::collections::HashSet::new();
    let depth = usize::try_from(limits.json_depth).unwrap_or(usize::MAX);
    let walked = walk(text, depth, &mut |path, event| {
        let key = match (&event, path) {
            (Event::Text(_), [.., Step::Key(key)] | [.., Step::Key(key), Step::Index(_)]) => key,
            (Event::Key(_), [.., Step::Key(outer), Step::Key(_)]) if outer == "range_constraints" => outer,
            _ => return,
        };
        let check: fn(&str, &str, &Limits, &mut Findings) = match &**key {
            "expr_str" | "range_constraints" => expression,
            "guards_code" => guard,
            "in_spec" | "out_spec" => tree,
            "class_fqn" => class,
            "target" | "as_operator" => target,
            _ => return,
        };
        let string = match event {
            Event::Text(raw) => unescaped(raw),
            Event::Key(key) => key,
            Event::Other => return,
        };
        // Each text is scanned once.
        if seen.len() < 1 << 16 && seen.insert((key.clone(), hash(&string))) {
            check(&place(name, path), &string, limits, findings);
        }
    });
    if walked.is_err() {
        findings.add("depth", Danger::Suspicious, name, "the document is nested too deeply to be scanned", RESOURCES);
    }
}

fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn place(name: &str, path: &[Step<'_>]) -> String {
    let mut out = format!("{name}: ");
    for step in path {
        match step {
            Step::Key(key) => {
                out.push_str(if out.ends_with(' ') { "" } else { "." });
                out.extend(key.chars().take(60));
            }
            Step::Index(i) => out.push_str(&format!("[{i}]")),
        }
    }
    out
}

fn expression(at: &str, text: &str, limits: &Limits, findings: &mut Findings) {
    if check_text(text, limits).is_err() {
        let what = format!("an expression of {} bytes: {:?}", text.len(), excerpt(text));
        return findings.add("expression-cost", Danger::Dangerous, at, what, RESOURCES);
    }
    match Expr::parse(text) {
        Ok(expr) if is_too_costly(&expr) => {
            findings.add("expression-cost", Danger::Dangerous, at, format!("{:?}", excerpt(text)), RESOURCES);
        }
        Ok(_) => {}
        Err(e) if ["nested too deeply", "too long"].iter().any(|why| e.message.contains(why)) => {
            findings.add("expression-cost", Danger::Dangerous, at, format!("{:?}: {e}", excerpt(text)), RESOURCES);
        }
        Err(e) => {
            let what = format!("expected an expression, got {:?}: {e}", excerpt(text));
            findings.add("expression-code", Danger::Dangerous, at, what, EVALUATES);
        }
    }
}

fn guard(at: &str, text: &str, limits: &Limits, findings: &mut Findings) {
    match check_guard(text, limits) {
        Ok(()) => {}
        Err(why)
            if ["nested too deeply", "more than the limit", "too large to compute"].iter().any(|w| why.contains(w)) =>
        {
            findings.add("guard-cost", Danger::Dangerous, at, why, RESOURCES);
        }
        Err(why) => findings.add("guard-code", Danger::Dangerous, at, why, EXECUTES),
    }
}

/// Trees are scanned as text: PyTorch may import names before it rejects a malformed tree.
fn tree(at: &str, text: &str, limits: &Limits, findings: &mut Findings) {
    let depth = usize::try_from(limits.json_depth).unwrap_or(usize::MAX);
    let mut module = None;
    let walked = walk(text, depth, &mut |path, event| {
        let (Some(Step::Key(key)), Event::Text(value)) = (path.last(), event) else { return };
        let value = match &**key {
            "default_factory_module" | "default_factory_name" | "context" => unescaped(value),
            _ => return,
        };
        match &**key {
            "default_factory_module" => module = Some(value),
            "default_factory_name" => {
                let module = module.take().unwrap_or(Cow::Borrowed("?"));
                let danger = match (&*module, &*value) {
                    ("builtins", "int" | "float" | "list" | "dict" | "set" | "tuple" | "str" | "bool") => return,
                    ("collections", _) => Danger::Note,
                    _ => Danger::Dangerous,
                };
                let what = format!("a defaultdict whose factory is {module}.{value}");
                findings.add("tree-import", danger, at, what, IMPORTS);
            }
            "context" if value.contains("__enum__") => enums(at, &value, findings),
            _ => {}
        }
    });
    if walked.is_err() {
        findings.add("depth", Danger::Suspicious, at, "the tree is nested too deeply to be scanned", RESOURCES);
    }
}

fn enums(at: &str, context: &str, findings: &mut Findings) {
    let keys = if context.len() < 1 << 16 { serde_json::from_str::<Value>(context).ok() } else { None };
    let Some(Value::Array(keys)) = keys else {
        return findings.add("tree-import", Danger::Suspicious, at, "keys that are enums", IMPORTS);
    };
    for name in keys.iter().filter_map(|key| key.get("fqn")?.as_str()) {
        findings.add("tree-import", Danger::Suspicious, at, format!("a key of the enum {name}"), IMPORTS);
    }
}

fn class(at: &str, text: &str, _: &Limits, findings: &mut Findings) {
    findings.add(
        "custom-class",
        Danger::Suspicious,
        at,
        format!("an object of the class {:?}", excerpt(text)),
        UNPICKLES,
    );
}

fn target(at: &str, text: &str, _: &Limits, findings: &mut Findings) {
    // The origin of a node has the same key and is not resolved.
    let is_operator = text.starts_with("torch.ops.") && is_plain_target(text);
    let is_number = ["_operator.", "operator.", "math.", "torch.sym_", "torch._sym_", "torch._functorch.predispatch."];
    if is_operator || is_number.iter().any(|root| text.starts_with(root)) && is_plain_target(text) {
        return;
    }
    let what = format!("a call of {:?}", excerpt(text));
    let reaches = text.split('.').skip(1).any(|part| SYSTEM_MODULES.contains(&part));
    let danger = if is_plain_target(text) && !reaches { Danger::Suspicious } else { Danger::Dangerous };
    findings.add("target-code", danger, at, what, RESOLVES);
}
