//! What a module's statement did not bind because it needs something that is not supported.
//!
//! Packages import much that a model does not compute with: data sets, plots, servers. A statement of a module's body
//! that binds names and fails because of what is missing *here* binds them to its error instead, which is raised where
//! one of them is read. A call of a part of an absent module whose result is dropped sets something of that module,
//! and is skipped. Invariant: nothing computes with such a value, and what the source itself raises is raised at once.

use crate::error::{ENTRY, R, StopKind, Unwind};
use crate::host::Host;
use crate::import::Absent;
use crate::interp::{Frame, Interp};
use crate::syntax::tree::{Expr, ExprKind, Stmt, StmtKind};
use crate::value::{Class, Name, Value};
use std::any::Any;
use std::rc::Rc;

/// The error that takes the place of a value.
struct Unavailable(Unwind);

impl Host for Unavailable {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.object.clone()
    }

    fn unavailable(&self) -> Option<Unwind> {
        Some(self.0.clone())
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Err(self.0.clone())
    }
}

/// The names that a statement binds, if binding them is all that it is for.
fn bound(stmt: &Stmt) -> Option<Vec<Name>> {
    fn names(target: &Expr, into: &mut Vec<Name>) -> bool {
        match &target.kind {
            ExprKind::Name(name) => {
                into.push(name.clone());
                true
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().all(|item| names(item, into)),
            _ => false,
        }
    }
    let mut found = Vec::new();
    let binds = match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().all(|target| names(target, &mut found)),
        StmtKind::AnnAssign { target, .. } => names(target, &mut found),
        StmtKind::Function { code, .. } | StmtKind::Class { code, .. } => {
            found.push(code.name.clone());
            true
        }
        StmtKind::Import(modules) => {
            found.extend(modules.iter().map(|(module, alias)| match alias {
                Some(alias) => alias.clone(),
                None => module.split('.').next().unwrap_or("").into(),
            }));
            true
        }
        StmtKind::ImportFrom { names, .. } => {
            found.extend(names.iter().map(|(name, alias)| alias.as_ref().unwrap_or(name).clone()));
            !names.is_empty()
        }
        // A file that is read: what its text gives.
        StmtKind::With { body, .. } => {
            for stmt in body.iter() {
                found.extend(bound(stmt)?);
            }
            true
        }
        _ => false,
    };
    binds.then_some(found)
}

impl Interp {
    /// Binds the names of a module's statement to its error, if it failed for want of something here.
    ///
    /// # Errors
    /// The statement's own, in all other cases.
    pub(crate) fn bind_unavailable(&mut self, frame: &mut Frame, stmt: &Stmt, unwind: Unwind) -> R<()> {
        let is_module = frame.scope.is_none() && frame.guarded == 0 && frame.code.source.name != ENTRY;
        let names = match is_module {
            true if self.is_call_of_absent(frame, stmt) => Some(Vec::new()),
            true => bound(stmt),
            false => None,
        };
        match (names, unwind) {
            (Some(names), unwind) if self.is_unsupported(&unwind) => {
                let error: Value = Value::Host(Rc::new(Unavailable(unwind)));
                // Of an import, those that are already there stay.
                let is_import = matches!(stmt.kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. });
                for name in names {
                    if !is_import || !frame.globals.dict.borrow().contains_key(&name) {
                        self.store(frame, &name, error.clone());
                    }
                }
                Ok(())
            }
            (_, unwind) => Err(unwind),
        }
    }

    /// Whether a statement calls a part of an absent module, and drops what it gives: a setting of that module.
    fn is_call_of_absent(&self, frame: &Frame, stmt: &Stmt) -> bool {
        let StmtKind::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) = &stmt.kind else { return false };
        let mut root = callee;
        while let ExprKind::Attribute(value, _) = &root.kind {
            root = value;
        }
        let ExprKind::Name(name) = &root.kind else { return false };
        matches!(frame.globals.dict.borrow().get(name), Some(Value::Host(host)) if host.as_any().is::<Absent>())
    }

    /// Whether CPython would not have raised it: a module, or a part of one, is missing here, or refused.
    fn is_unsupported(&self, unwind: &Unwind) -> bool {
        let raised = match unwind {
            Unwind::Raised(raised) => raised,
            Unwind::Stop(stop) => return stop.kind == StopKind::Refused,
        };
        let is_of = |class: &str| self.class_of(&raised.value).is_subclass(&self.exception_class(class));
        let is_ours =
            !raised.is_explicit || raised.trace.first().is_some_and(|place| place.source.name.starts_with('<'));
        raised.is_of_stand_in || is_ours && (is_of("NotImplementedError") || is_of("ModuleNotFoundError"))
    }
}
