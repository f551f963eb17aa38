//! From the argument unions of a document to arguments of nodes.

use oxport_ir::{Argument, Device, MemoryFormat, MemoryLayout};
use oxport_tensor::DType;

use super::graph::GraphReader;
use crate::model::{
    self, Argument as Json, OptionalTensorArgument, Real, SymBoolArgument, SymFloatArgument, SymIntArgument,
};

impl GraphReader<'_, '_> {
    /// An argument of a node; on an error it is reported and `None` is returned.
    pub(super) fn argument(&mut self, json: &Json) -> Argument {
        match json {
            Json::AsNone(_) => Argument::None,
            Json::AsTensor(t) => self.used(&t.name),
            Json::AsTensors(list) => list.iter().map(|t| self.used(&t.name)).collect::<Vec<_>>().into(),
            Json::AsOptionalTensor(t) => self.optional(t),
            Json::AsOptionalTensors(list) => list.iter().map(|t| self.optional(t)).collect::<Vec<_>>().into(),
            Json::AsNestedTensors(lists) => {
                let inner = |list: &Vec<model::TensorArgument>| {
                    Argument::List(list.iter().map(|t| self.used(&t.name)).collect())
                };
                lists.iter().map(inner).collect::<Vec<_>>().into()
            }
            Json::AsInt(n) => Argument::Int(*n),
            Json::AsInts(list) => list.clone().into(),
            Json::AsIntLists(lists) => lists.iter().map(|list| Argument::from(list.clone())).collect::<Vec<_>>().into(),
            Json::AsFloat(x) => Argument::Float(x.0),
            Json::AsFloats(list) => floats(list),
            Json::AsFloatLists(lists) => lists.iter().map(|list| floats(list)).collect::<Vec<_>>().into(),
            Json::AsComplex(c) => Argument::Complex(oxport_ir::Complex::new(c.real.0, c.imag.0)),
            Json::AsBool(b) => Argument::Bool(*b),
            Json::AsBools(list) => list.clone().into(),
            Json::AsString(s) => s.as_str().into(),
            Json::AsStrings(list) => list.iter().map(|s| Argument::from(s.as_str())).collect::<Vec<_>>().into(),
            Json::AsSymInt(n) => self.sym_int(n),
            Json::AsSymInts(list) => list.iter().map(|n| self.sym_int(n)).collect::<Vec<_>>().into(),
            Json::AsSymFloat(x) => self.sym_float(x),
            Json::AsSymFloats(list) => list.iter().map(|x| self.sym_float(x)).collect::<Vec<_>>().into(),
            Json::AsSymBool(b) => self.sym_bool(b),
            Json::AsSymBools(list) => list.iter().map(|b| self.sym_bool(b)).collect::<Vec<_>>().into(),
            Json::AsScalarType(code) => self.known("dtype", *code, dtype).map_or(Argument::None, Argument::DType),
            Json::AsMemoryFormat(code) => self
                .known("memory format", *code, MemoryFormat::from_code)
                .map_or(Argument::None, Argument::MemoryFormat),
            Json::AsLayout(code) => {
                self.known("layout", *code, MemoryLayout::from_code).map_or(Argument::None, Argument::Layout)
            }
            Json::AsDevice(d) => Argument::Device(device(d)),
            Json::AsGraph(g) => self.subgraph(g),
            Json::AsCustomObj(o) => match self.find(&o.name) {
                Some(id) => Argument::Node(id),
                None => {
                    self.unsupported(format!(
                        "the custom object {:?} is an argument, but not an input of the graph",
                        o.name
                    ));
                    Argument::None
                }
            },
            Json::AsOperator(target) => Argument::Op(self.operator(target)),
            Json::AsStringToArgument(dict) => {
                let item = |(key, arg): (&String, &Json)| (key.as_str().into(), self.argument(arg));
                Argument::Dict(dict.iter().map(item).collect())
            }
        }
    }

    fn optional(&mut self, json: &OptionalTensorArgument) -> Argument {
        match json {
            OptionalTensorArgument::AsTensor(t) => self.used(&t.name),
            OptionalTensorArgument::AsNone(_) => Argument::None,
        }
    }

    fn sym_int(&mut self, json: &SymIntArgument) -> Argument {
        match json {
            SymIntArgument::AsName(name) => self.used(name),
            SymIntArgument::AsInt(n) => Argument::Int(*n),
        }
    }

    fn sym_float(&mut self, json: &SymFloatArgument) -> Argument {
        match json {
            SymFloatArgument::AsName(name) => self.used(name),
            SymFloatArgument::AsFloat(x) => Argument::Float(x.0),
        }
    }

    fn sym_bool(&mut self, json: &SymBoolArgument) -> Argument {
        match json {
            SymBoolArgument::AsName(name) => self.used(name),
            SymBoolArgument::AsBool(b) => Argument::Bool(*b),
        }
    }

    /// Looks up a code; reports unknown ones.
    fn known<T>(&mut self, what: &str, code: i64, of: impl Fn(i64) -> Option<T>) -> Option<T> {
        let found = of(code);
        if found.is_none() {
            self.report("enum", format!("expected a {what}, got {code}"));
        }
        found
    }
}

/// The dtype of a `ScalarType` number.
pub(super) fn dtype(code: i64) -> Option<DType> {
    DType::from_code(u8::try_from(code).ok()?)
}

pub(super) fn device(json: &model::Device) -> Device {
    let device = Device { index: json.index, ..Device::cpu() };
    if *device.kind == *json.kind { device } else { Device { kind: json.kind.as_str().into(), ..device } }
}

fn floats(list: &[Real]) -> Argument {
    list.iter().map(|x| Argument::Float(x.0)).collect::<Vec<_>>().into()
}
