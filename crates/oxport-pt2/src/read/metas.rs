//! From the metas of a document to meta values. A meta is read when the node that defines the value is created.

use oxport_ir::{Fake, MemoryLayout, Val};
use oxport_sym::Expr;
use oxport_tensor::DType;

use super::arguments::{device, dtype};
use super::document::Lazy;
use super::graph::GraphReader;
use crate::Limits;
use crate::model::{self, Argument as Json, CustomObjArgument, SymBool, SymFloat, SymInt, TensorMeta};

/// A meta of the document that no node has used yet.
pub(super) enum Meta<'a> {
    Tensor(Lazy<'a, TensorMeta>),
    Int(&'a SymInt),
    Float(&'a SymFloat),
    Bool(&'a SymBool),
    Object(&'a CustomObjArgument),
    Taken,
}

impl<'a> GraphReader<'a, '_> {
    /// The meta of a value.
    pub(super) fn val(&mut self, name: &str) -> Option<Val> {
        match self.metas.get_mut(name) {
            Some(meta) => {
                let meta = std::mem::replace(meta, Meta::Taken);
                self.read_meta(name, meta)
            }
            None => {
                self.report("meta", format!("the value {name:?} has no meta"));
                None
            }
        }
    }

    /// Checks that a value is of the kind of its mention.
    pub(super) fn is_kind(&mut self, mention: &Json, val: Option<&Val>) {
        let is_other = matches!(
            (mention, val),
            (Json::AsTensor(_), Some(Val::Int(_) | Val::Float(_) | Val::Bool(_)))
                | (Json::AsSymInt(_), Some(Val::Tensor(_) | Val::Float(_) | Val::Bool(_)))
                | (Json::AsSymFloat(_), Some(Val::Tensor(_) | Val::Int(_) | Val::Bool(_)))
                | (Json::AsSymBool(_), Some(Val::Tensor(_) | Val::Int(_) | Val::Float(_)))
        );
        if is_other {
            self.report("meta", "the value and its meta are of different kinds");
        }
    }

    pub(super) fn add_metas(&mut self, metas: impl Iterator<Item = (&'a String, Meta<'a>)>) {
        for (name, meta) in metas {
            if self.metas.insert(name.as_str().into(), meta).is_some() {
                self.at.clone_from(name);
                self.report("name", format!("the value {name:?} has metas of two kinds"));
            }
        }
    }

    fn read_meta(&mut self, name: &str, meta: Meta<'_>) -> Option<Val> {
        let before = std::mem::replace(&mut self.at, name.to_string());
        let val = match meta {
            Meta::Tensor(text) => text.read().map(|json| {
                self.cx.text.passed(text.len());
                Val::Tensor(self.fake(&json))
            }),
            Meta::Int(value) => Some(Val::Int(self.int(value))),
            Meta::Float(SymFloat::AsFloat(x)) => Some(Val::Float(Expr::float(x.0))),
            Meta::Float(SymFloat::AsExpr(e)) => Some(Val::Float(self.expr(e))),
            Meta::Bool(SymBool::AsBool(b)) => Some(Val::Bool(Expr::boolean(*b))),
            Meta::Bool(SymBool::AsExpr(e)) => Some(Val::Bool(self.expr(e))),
            Meta::Object(object) => Some(Val::Object(object.class_fqn.as_str().into())),
            Meta::Taken => return None,
        };
        self.cx.broken |= val.is_none();
        self.at = before;
        val
    }

    /// Checks metas that no node uses.
    pub(super) fn check_unused_metas(&mut self) {
        for (name, meta) in std::mem::take(&mut self.metas) {
            match meta {
                // The name may be in text whose memory was released.
                Meta::Taken => {}
                _ if self.cx.broken => return,
                meta => drop(self.read_meta(&name, meta)),
            }
        }
    }

    fn fake(&mut self, json: &model::TensorMeta) -> Fake {
        let dtype = dtype(json.dtype).unwrap_or_else(|| {
            self.report("enum", format!("expected a dtype, got {}", json.dtype));
            DType::F32
        });
        if json.layout != MemoryLayout::Strided as i64 {
            self.unsupported("expected a strided tensor");
        }
        let (rank, limit) = (json.sizes.len().max(json.strides.len()), self.cx.limits.rank);
        if rank as u64 > limit {
            self.report("rank", Limits::exceeded("rank", format!("{rank} dimensions"), limit));
            return Fake::new(dtype, Vec::<Expr>::new());
        }
        if json.sizes.len() != json.strides.len() {
            let message =
                format!("expected as many strides as sizes ({}), got {}", json.sizes.len(), json.strides.len());
            self.report("meta", message);
        }
        let mut known = json.sizes.iter().filter_map(|n| if let SymInt::AsInt(n) = n { Some(*n) } else { None });
        if known.clone().all(|n| n != 0) && known.try_fold(1i64, |numel, n| numel.checked_mul(n)).is_none() {
            self.report("meta", "the number of elements overflows 64 bits");
        }
        Fake {
            dtype,
            sizes: json.sizes.iter().map(|n| self.int(n)).collect(),
            strides: json.strides.iter().map(|n| self.int(n)).collect(),
            offset: self.int(&json.storage_offset),
            device: device(&json.device),
            requires_grad: json.requires_grad,
        }
    }

    fn int(&mut self, json: &SymInt) -> Expr {
        match json {
            SymInt::AsInt(n) => Expr::from(*n),
            SymInt::AsExpr(e) => {
                let n = self.expr(e);
                if n.is_const() && n.as_int().is_none() {
                    self.report("expression", format!("expected a size, got {n}"));
                }
                n
            }
        }
    }

    fn expr(&mut self, json: &model::SymExpr) -> Expr {
        self.cx.expressions.read(json).unwrap_or_else(|message| {
            self.report("expression", message);
            Expr::from(0i64)
        })
    }
}
