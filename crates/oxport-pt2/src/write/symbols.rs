//! Symbolic numbers and tensor metas of a document.

use std::cell::RefCell;
use std::collections::HashMap;

use oxport_ir::{ExportedProgram, Fake, MemoryLayout};
use oxport_sym::Expr;

use crate::model::{Device, Hint, Real, SymBool, SymExpr, SymFloat, SymInt, TensorMeta};

/// Writes expressions with the hints and texts of one program.
pub(super) struct Symbols<'a> {
    program: &'a ExportedProgram,
    spelled: RefCell<HashMap<Expr, SymExpr>>,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(program: &'a ExportedProgram) -> Symbols<'a> {
        Symbols { program, spelled: RefCell::default() }
    }

    /// How many inputs the program has.
    pub(super) fn inputs(&self) -> usize {
        self.program.signature.inputs.len()
    }

    fn expr(&self, expr: &Expr) -> SymExpr {
        if let Some(known) = self.spelled.borrow().get(expr) {
            return known.clone();
        }
        let spelled = match self.program.origin.spellings.get(expr) {
            Some(spelling) => {
                SymExpr { expr_str: spelling.text.to_string(), hint: spelling.hint.map(Hint::AsInt), extra: None }
            }
            None => {
                let hint = self.program.env.hint_of(expr).map(|n| match n.as_i64() {
                    Some(n) => Hint::AsInt(n),
                    None => Hint::AsFloat(Real(n.to_f64())),
                });
                SymExpr { expr_str: expr.srepr(), hint, extra: None }
            }
        };
        self.spelled.borrow_mut().insert(expr.clone(), spelled.clone());
        spelled
    }

    pub(super) fn int(&self, n: &Expr) -> SymInt {
        // PyTorch accepts only an int as the hint of an int, and a float as that of a float.
        let whole = |e: SymExpr| SymExpr { hint: e.hint.filter(|hint| matches!(hint, Hint::AsInt(_))), ..e };
        n.as_int().map_or_else(|| SymInt::AsExpr(whole(self.expr(n))), SymInt::AsInt)
    }

    pub(super) fn float(&self, x: &Expr) -> SymFloat {
        match x.as_float().or(x.as_int().map(|n| n as f64)) {
            Some(x) => SymFloat::AsFloat(Real(x)),
            None => {
                let expr = self.expr(x);
                let hint = expr.hint.map(|hint| match hint {
                    Hint::AsInt(n) => Hint::AsFloat(Real(n as f64)),
                    other => other,
                });
                SymFloat::AsExpr(SymExpr { hint, ..expr })
            }
        }
    }

    /// PyTorch never writes a hint of a bool.
    pub(super) fn bool(&self, b: &Expr) -> SymBool {
        match b.as_bool() {
            Some(b) => SymBool::AsBool(b),
            None => SymBool::AsExpr(SymExpr { hint: None, ..self.expr(b) }),
        }
    }

    pub(super) fn tensor(&self, fake: &Fake) -> TensorMeta {
        TensorMeta {
            dtype: fake.dtype.code().into(),
            sizes: fake.sizes.iter().map(|n| self.int(n)).collect(),
            requires_grad: fake.requires_grad,
            device: device(&fake.device),
            strides: fake.strides.iter().map(|n| self.int(n)).collect(),
            storage_offset: self.int(&fake.offset),
            layout: MemoryLayout::Strided as i64,
            extra: None,
        }
    }
}

pub(super) fn device(device: &oxport_ir::Device) -> Device {
    Device { kind: device.kind.to_string(), index: device.index, extra: None }
}
