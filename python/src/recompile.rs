//! Names, metadata, and taking an edited program: checks all of it at once.
//!
//! Law: a program is taken whole and valid, or not at all.

use crate::infer::Path;
use crate::live::{Live, Result};
use oxport::ir::program::ModuleCallArgument;
use oxport::ir::{Effect, NodeKind, NodeMeta, OutputKind};
use oxport::{Diagnostic, ExportedProgram, Loc, NodeId, Severity, Symbol};
use std::sync::Arc;

/// A program that was checked, with what was dropped of it.
pub(crate) struct Checked {
    pub(crate) program: ExportedProgram,
    pub(crate) warnings: Vec<String>,
}

impl Live {
    /// Infers what is pending, and checks the program.
    ///
    /// # Errors
    /// The diagnostics of a program that is not valid.
    pub(crate) fn checked(&mut self) -> std::result::Result<Checked, Vec<Diagnostic>> {
        self.settle();
        let mut program = self.program.clone();
        let warnings = self.follow(&mut program);
        let mut found = self.toolchain.verify(&program);
        found.retain(|d| d.severity == Severity::Error);
        // What no file can say need not keep a program from being run; but no edit brings it.
        if found.iter().any(|d| d.code == "document") {
            let before = self.base.upgrade().map_or(Vec::new(), |base| self.toolchain.verify(&base));
            found.retain(|d| d.code != "document" || !before.contains(d));
        }
        // What follows from another problem is not said.
        if found.iter().any(|d| d.code != "no-meta") {
            found.retain(|d| d.code != "no-meta" || self.reason(d).is_some());
        }
        for diagnostic in found.iter_mut().filter(|d| d.code == "no-meta") {
            diagnostic.notes.extend(self.reason(diagnostic));
        }
        if found.is_empty() { Ok(Checked { program, warnings }) } else { Err(found) }
    }
    /// Why a node has no meta, where oxport cannot infer it.
    fn reason(&self, diagnostic: &Diagnostic) -> Option<String> {
        let Loc::Node { graph, node } = &diagnostic.at else { return None };
        let path: Path = graph.split('.').filter(|name| !name.is_empty()).map(Arc::from).collect();
        let id = self.graph(&path).ok()?.find(node)?;
        let refused = self.pending.get(&path)?.refused.get(&id)?;
        refused.is_unsupported().then(|| refused.to_string())
    }
    /// Takes a checked program as what further edits begin with.
    pub(crate) fn take(&mut self, program: ExportedProgram, base: &Arc<ExportedProgram>) {
        self.program = program;
        self.base = Arc::downgrade(base);
        self.successors.clear();
        self.is_edited = false;
    }

    /// The signatures of modules name values of the graph: those that were replaced are followed, and a signature whose
    /// values are gone is dropped.
    fn follow(&self, program: &mut ExportedProgram) -> Vec<String> {
        let graph = &program.graph;
        let mut warnings = Vec::new();
        for call in program.module_calls.iter_mut().filter(|m| !m.fqn.is_empty()) {
            let Some(signature) = &mut call.signature else { continue };
            let mut gone = None;
            for name in signature.inputs.iter_mut().chain(&mut signature.outputs).filter_map(named) {
                // A successor may have been replaced itself: at most once each.
                let mut steps = self.successors.len();
                while graph.find(name).is_none()
                    && steps > 0
                    && let Some(next) = self.successors.get(name)
                {
                    *name = next.clone();
                    steps -= 1;
                }
                if graph.find(name).is_none() {
                    gone = Some(name.clone());
                }
            }
            if let Some(gone) = gone {
                warnings.push(format!("module `{}` lost its signature, which names the erased `{gone}`", call.fqn));
                call.signature = None;
            }
        }
        warnings
    }

    /// Gives a node another name, and names it so wherever the program does.
    pub(crate) fn rename(&mut self, path: &[Arc<str>], id: NodeId, name: &str) -> Result<()> {
        let old = self.node(path, id)?.name.clone();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !name.chars().all(is_word) || name.chars().next().is_none_or(char::is_numeric) {
            return Err(format!("expected a Python identifier as name of a node, got {name:?}"));
        }
        self.graph_mut(path)?.rename(id, name).map_err(|e| e.to_string())?;
        self.used(path, name)?;
        if !path.is_empty() {
            return Ok(());
        }
        for spec in &mut self.program.signature.outputs {
            if let OutputKind::UserInputMutation(target) | OutputKind::GradientToUserInput(target) = &mut spec.kind
                && **target == *old
            {
                *target = name.into();
            }
        }
        for signature in self.program.module_calls.iter_mut().filter_map(|m| m.signature.as_mut()) {
            let names = signature.inputs.iter_mut().chain(&mut signature.outputs).filter_map(named);
            names.filter(|own| **own == old).for_each(|own| *own = name.into());
        }
        Ok(())
    }

    /// Whether a node stays where nothing uses it.
    pub(crate) fn is_impure(&self, path: &[Arc<str>], id: NodeId, impure_random: bool) -> Result<bool> {
        let node = self.node(path, id)?;
        let Some(op) = node.op() else {
            return Ok(matches!(node.kind, NodeKind::Placeholder | NodeKind::Output));
        };
        let has_effect = match node.effect() {
            Effect::Pure => false,
            Effect::Random => impure_random,
            _ => true,
        };
        let mut binds = false;
        if let Some(val) = node.val().filter(|_| op.reads_number()) {
            val.for_each_expr(&mut |e| binds |= e.free_symbols().iter().any(Symbol::is_unbacked));
        }
        Ok(has_effect || op.is_mutable() || binds)
    }

    /// The texts of a node's metadata, by key.
    pub(crate) fn texts(&self, path: &[Arc<str>], id: NodeId) -> Result<Vec<(Arc<str>, Arc<str>)>> {
        let meta = &self.node(path, id)?.meta;
        let named = [
            ("stack_trace", &meta.stack_trace),
            ("nn_module_stack", &meta.nn_module_stack),
            ("torch_fn", &meta.torch_fn),
        ];
        let named = named.into_iter().filter_map(|(key, text)| Some((Arc::from(key), text.clone()?)));
        Ok(named.chain(meta.extra.iter().filter(|(key, _)| !is_internal(key)).cloned()).collect())
    }
    /// Sets or drops a text of a node's metadata.
    pub(crate) fn set_text(&mut self, path: &[Arc<str>], id: NodeId, key: &str, text: Option<&str>) -> Result<()> {
        self.node(path, id)?;
        if key == "val" || is_internal(key) {
            return Err(format!("the metadata `{key}` follows from the graph and cannot be set"));
        }
        let meta = self.graph_mut(path)?.meta_mut(id);
        let text: Option<Arc<str>> = text.map(Arc::from);
        match key {
            "stack_trace" => meta.stack_trace = text,
            "nn_module_stack" => meta.nn_module_stack = text,
            "torch_fn" => meta.torch_fn = text,
            _ => match (meta.extra.iter().position(|(own, _)| &**own == key), text) {
                (Some(i), Some(text)) => meta.extra[i].1 = text,
                (Some(i), None) => drop(meta.extra.remove(i)),
                (None, Some(text)) => meta.extra.push((key.into(), text)),
                (None, None) => {}
            },
        }
        Ok(())
    }
    /// Gives a node the metadata of another, all but its value.
    pub(crate) fn take_origin(&mut self, path: &[Arc<str>], id: NodeId, origin: &NodeMeta) -> Result<()> {
        self.node(path, id)?;
        let meta = self.graph_mut(path)?.meta_mut(id);
        *meta = origin.derived(meta.val.take());
        meta.extra.retain(|(key, _)| !is_internal(key));
        Ok(())
    }
}

/// Keys by which oxport itself keeps what a document says.
fn is_internal(key: &str) -> bool {
    key.starts_with("oxport.")
}

/// The value that an entry of a module's signature names.
fn named(argument: &mut ModuleCallArgument) -> Option<&mut Arc<str>> {
    match argument {
        ModuleCallArgument::Tensor(name)
        | ModuleCallArgument::SymInt(name)
        | ModuleCallArgument::SymFloat(name)
        | ModuleCallArgument::SymBool(name)
        | ModuleCallArgument::Token(name)
        | ModuleCallArgument::CustomObj(name, _) => Some(name),
        ModuleCallArgument::Constant(_) => None,
    }
}
