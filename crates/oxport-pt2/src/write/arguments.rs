//! From arguments of nodes to the argument unions of a document: the tag of a list depends on its elements.

use oxport_ir::schema::Type;
use oxport_ir::{Argument, NodeId, NodeKind, Val};

use super::graph::GraphWriter;
use super::symbols::device;
use crate::model::{
    Argument as Json, ComplexValue, CustomObjArgument, Dict, GraphArgument, OptionalTensorArgument, Real,
    SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument,
};

/// The kind of a node as an argument.
enum Use<'a> {
    Tensor,
    Int,
    Float,
    Bool,
    Object(&'a str),
    Graph(&'a str),
}

impl GraphWriter<'_, '_> {
    /// An argument of this schema type; `None` without a schema.
    ///
    /// Errors if the document cannot represent it.
    pub(super) fn argument(&mut self, arg: &Argument, ty: Option<&Type>) -> Result<Json, String> {
        let spelled_out = self.values.spelled_out(arg);
        Ok(match spelled_out.as_ref().unwrap_or(arg) {
            Argument::None => Json::NONE,
            Argument::Int(n) => Json::AsInt(*n),
            Argument::Float(x) => Json::AsFloat(Real(*x)),
            Argument::Bool(b) => Json::AsBool(*b),
            Argument::Complex(c) => Json::AsComplex(ComplexValue { real: Real(c.re), imag: Real(c.im), extra: None }),
            Argument::Str(s) => Json::AsString(s.to_string()),
            Argument::DType(d) => Json::AsScalarType(d.code().into()),
            Argument::Layout(l) => Json::AsLayout(*l as i64),
            Argument::MemoryFormat(m) => Json::AsMemoryFormat(*m as i64),
            Argument::Device(d) => Json::AsDevice(device(d)),
            Argument::Op(op) => Json::AsOperator(op.target()),
            Argument::Node(id) => self.node_argument(*id)?,
            Argument::Dict(items) => {
                let item =
                    |(key, arg): (&std::sync::Arc<str>, &Argument)| Ok((key.to_string(), self.argument(arg, None)?));
                Json::AsStringToArgument(items.iter().map(item).collect::<Result<Dict<Json>, String>>()?)
            }
            Argument::List(items) if items.is_empty() => empty_list(ty),
            Argument::List(items) => self.list(items)?,
        })
    }

    fn node_argument(&mut self, id: NodeId) -> Result<Json, String> {
        let name = self.name(id);
        Ok(match self.use_of(id)? {
            Use::Tensor => Json::tensor(name),
            Use::Int => Json::AsSymInt(SymIntArgument::AsName(name)),
            Use::Float => Json::AsSymFloat(SymFloatArgument::AsName(name)),
            Use::Bool => Json::AsSymBool(SymBoolArgument::AsName(name)),
            Use::Object(class) => {
                Json::AsCustomObj(CustomObjArgument { name, class_fqn: class.to_string(), extra: None })
            }
            Use::Graph(attribute) => {
                let name = attribute.to_string();
                let graph = Box::new(self.subgraph(&name)?);
                Json::AsGraph(GraphArgument { name, graph, extra: None })
            }
        })
    }

    fn use_of(&self, id: NodeId) -> Result<Use<'_>, String> {
        let node = self.graph.node(id);
        if let NodeKind::GetAttr(attribute) = &node.kind {
            return Ok(Use::Graph(attribute));
        }
        match node.val() {
            Some(Val::Tensor(_) | Val::Token) => Ok(Use::Tensor),
            Some(Val::Int(_)) => Ok(Use::Int),
            Some(Val::Float(_)) => Ok(Use::Float),
            Some(Val::Bool(_)) => Ok(Use::Bool),
            Some(Val::Object(class)) => Ok(Use::Object(class)),
            Some(Val::List(_)) => Err(format!("the list of results `{}` is used without getitem", node.name)),
            Some(Val::None | Val::Str(_)) | None => Err(format!("`{}` is used, but has no meta value", node.name)),
        }
    }

    fn list(&mut self, items: &[Argument]) -> Result<Json, String> {
        if let Some(list) = all(items, |a| if let Argument::Bool(b) = a { Some(*b) } else { None }) {
            return Ok(Json::AsBools(list));
        }
        if let Some(list) = all(items, Argument::as_int) {
            return Ok(Json::AsInts(list));
        }
        if let Some(list) = all(items, real) {
            return Ok(Json::AsFloats(list));
        }
        if let Some(list) = all(items, |a| if let Argument::Str(s) = a { Some(s.to_string()) } else { None }) {
            return Ok(Json::AsStrings(list));
        }
        if let Some(list) = all(items, |a| match a {
            Argument::Int(n) => Some(SymIntArgument::AsInt(*n)),
            a => self.named(a, |u| matches!(u, Use::Int)).map(SymIntArgument::AsName),
        }) {
            return Ok(Json::AsSymInts(list));
        }
        if let Some(list) = all(items, |a| match a {
            Argument::Float(x) => Some(SymFloatArgument::AsFloat(Real(*x))),
            a => self.named(a, |u| matches!(u, Use::Float)).map(SymFloatArgument::AsName),
        }) {
            return Ok(Json::AsSymFloats(list));
        }
        if let Some(list) = all(items, |a| match a {
            Argument::Bool(b) => Some(SymBoolArgument::AsBool(*b)),
            a => self.named(a, |u| matches!(u, Use::Bool)).map(SymBoolArgument::AsName),
        }) {
            return Ok(Json::AsSymBools(list));
        }
        let tensor = |a: &Argument| self.named(a, |u| matches!(u, Use::Tensor)).map(TensorArgument::new);
        if let Some(list) = all(items, tensor) {
            return Ok(Json::AsTensors(list));
        }
        if let Some(lists) = all(items, |a| all(inner(a)?, tensor)) {
            return Ok(Json::AsNestedTensors(lists));
        }
        if let Some(list) = all(items, |a| match a {
            Argument::None => Some(OptionalTensorArgument::AsNone(crate::model::Flag)),
            a => tensor(a).map(OptionalTensorArgument::AsTensor),
        }) {
            return Ok(Json::AsOptionalTensors(list));
        }
        if let Some(lists) = all(items, |a| all(inner(a)?, Argument::as_int)) {
            return Ok(Json::AsIntLists(lists));
        }
        if let Some(lists) = all(items, |a| all(inner(a)?, real)) {
            return Ok(Json::AsFloatLists(lists));
        }
        // Operands of a higher-order operator: PyTorch writes tensors and symbolic numbers alike.
        let is_value = |u: &Use<'_>| matches!(u, Use::Tensor | Use::Int | Use::Float | Use::Bool);
        let any = |a: &Argument| self.named(a, is_value).map(TensorArgument::new);
        if let Some(list) = all(items, any) {
            return Ok(Json::AsTensors(list));
        }
        Err("the list mixes kinds of values that the program JSON cannot mix".into())
    }

    /// The name of the value of an argument, if `wanted` accepts its kind.
    fn named(&self, arg: &Argument, wanted: impl Fn(&Use<'_>) -> bool) -> Option<String> {
        let id = arg.as_node()?;
        self.use_of(id).is_ok_and(|u| wanted(&u)).then(|| self.name(id))
    }
}

/// Maps all items, if `f` accepts every one.
fn all<T>(items: &[Argument], f: impl Fn(&Argument) -> Option<T>) -> Option<Vec<T>> {
    items.iter().map(f).collect()
}

fn inner(arg: &Argument) -> Option<&[Argument]> {
    if let Argument::List(items) = arg { Some(items) } else { None }
}

fn real(arg: &Argument) -> Option<Real> {
    if let Argument::Float(x) = arg { Some(Real(*x)) } else { None }
}

/// An empty list has the element kind of its schema; without a schema it is a list of tensors, as in PyTorch.
fn empty_list(ty: Option<&Type>) -> Json {
    let element =
        |ty: &Type| if let Type::List(element, _) = ty.strip_optional() { Some((**element).clone()) } else { None };
    let Some(inner) = ty.and_then(element) else { return Json::AsTensors(Vec::new()) };
    match inner.strip_optional() {
        Type::Bool => Json::AsBools(Vec::new()),
        Type::Int | Type::SymInt | Type::Scalar => Json::AsInts(Vec::new()),
        Type::Float => Json::AsFloats(Vec::new()),
        Type::Str => Json::AsStrings(Vec::new()),
        list @ Type::List(..) => match element(list) {
            Some(Type::Float) => Json::AsFloatLists(Vec::new()),
            Some(Type::Tensor) => Json::AsNestedTensors(Vec::new()),
            _ => Json::AsIntLists(Vec::new()),
        },
        _ => Json::AsTensors(Vec::new()),
    }
}
