//! Arguments and targets of nodes, from Python and to it.
//!
//! PyTorch's own objects (`torch.dtype`, `torch.ops.aten.add.Tensor`, …) are known by their class's name: PyTorch is
//! never imported. Law: what is read here and set again is the same argument.

use crate::fake::SymInt;
use crate::handle::{Graph, Node, fx, node, refused};
use oxport::ir::schema::Type;
use oxport::ir::{Device, Kwargs, MemoryFormat, MemoryLayout};
use oxport::{Argument, DType, Op, Registry};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// No list of a program is nested deeper.
const DEEPEST: usize = 32;

/// An argument as Python has it. Lists are lists.
pub(crate) fn to_python<'py>(graph: &Bound<'py, Graph>, a: &Argument) -> PyResult<Bound<'py, PyAny>> {
    let py = graph.py();
    let named = |class: &str, text: String| fx(py, class)?.call1((text,));
    Ok(match a {
        Argument::None => py.None().into_bound(py),
        Argument::Node(id) => node(graph, *id)?.into_any(),
        Argument::Int(n) => n.into_pyobject(py)?.into_any(),
        Argument::Float(x) => x.into_pyobject(py)?.into_any(),
        Argument::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Argument::Complex(c) => PyComplex::from_doubles(py, c.re, c.im).into_any(),
        Argument::Str(s) => PyString::new(py, s).into_any(),
        Argument::DType(d) => named("dtype", format!("torch.{}", d.name()))?,
        Argument::Layout(l) => named("layout", format!("torch.{}", l.name()))?,
        Argument::MemoryFormat(m) => named("memory_format", format!("torch.{}", m.name()))?,
        Argument::Device(d) => named("device", d.to_string())?,
        Argument::Op(op) => target(py, op)?,
        Argument::List(items) => {
            let items = items.iter().map(|a| to_python(graph, a)).collect::<PyResult<Vec<_>>>()?;
            fx(py, "immutable_list")?.call1((items,))?
        }
        Argument::Dict(entries) => dict(graph, entries)?,
    })
}

/// Keyword arguments as a dict.
pub(crate) fn dict<'py>(graph: &Bound<'py, Graph>, entries: &Kwargs) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(graph.py());
    entries.iter().try_for_each(|(name, a)| dict.set_item(&**name, to_python(graph, a)?))?;
    fx(graph.py(), "immutable_dict")?.call1((dict,))
}

/// What a node calls: a string that is equal to all spellings of it.
pub(crate) fn target<'py>(py: Python<'py>, op: &Op) -> PyResult<Bound<'py, PyAny>> {
    fx(py, "Target")?.call1((op.target(),))
}

/// An argument from Python.
pub(crate) fn from_python(graph: &Bound<'_, Graph>, x: &Bound<'_, PyAny>) -> PyResult<Argument> {
    nested(graph, x, DEEPEST)
}

fn nested(graph: &Bound<'_, Graph>, x: &Bound<'_, PyAny>, deeper: usize) -> PyResult<Argument> {
    let py = x.py();
    let Some(deeper) = deeper.checked_sub(1) else {
        return Err(refused(py, &format!("an argument is nested deeper than {DEEPEST} lists")));
    };
    let list = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        items.map(|item| nested(graph, &item, deeper)).collect::<PyResult<Vec<_>>>().map(Argument::List)
    };
    if x.is_none() {
        return Ok(Argument::None);
    }
    if let Ok(node) = x.cast::<Node>() {
        return Ok(Argument::Node(node.get().id_in(py, graph.get())?));
    }
    if let Ok(b) = x.cast::<PyBool>() {
        return Ok(Argument::Bool(b.is_true()));
    }
    if x.is_instance_of::<PyInt>() {
        let far = |_| refused(py, &format!("expected an int of 64 bits, got {x}"));
        return x.extract::<i64>().map(Argument::Int).map_err(far);
    }
    if x.is_instance_of::<PyFloat>() {
        return Ok(Argument::Float(x.extract()?));
    }
    if let Some(named) = constant(graph, x)? {
        return Ok(named);
    }
    if let Ok(text) = x.cast::<PyString>() {
        return Ok(Argument::Str(text.to_cow()?.as_ref().into()));
    }
    if let Ok(c) = x.cast::<PyComplex>() {
        use pyo3::types::PyComplexMethods;
        return Ok(Argument::Complex(oxport::ir::Complex::new(c.real(), c.imag())));
    }
    if let Ok(items) = x.cast::<PyList>() {
        return list(&mut items.iter());
    }
    if let Ok(items) = x.cast::<PyTuple>() {
        return list(&mut items.iter());
    }
    if let Ok(entries) = x.cast::<PyDict>() {
        return Ok(Argument::Dict(entries_of(graph, entries, deeper)?));
    }
    // NumPy's integers, which are no ints of Python.
    if x.hasattr("__index__")?
        && !x.hasattr("shape").unwrap_or(true)
        && let Ok(n) = x.extract::<i64>()
    {
        return Ok(Argument::Int(n));
    }
    let class = x.get_type().name()?;
    let hint = match &*class.to_cow()? {
        "SymInt" => "; a symbolic size is a value of the graph: call `aten.sym_size.int` on the tensor that has it",
        "Tensor" | "ndarray" | "Parameter" => "; lift a tensor by `parameter`, `buffer` or `constant` of the graph",
        _ => "",
    };
    let is_symbolic = x.is_instance_of::<SymInt>();
    let shown = if is_symbolic { format!("the size {x}") } else { class.to_string() };
    Err(refused(py, &format!("expected a node, a number, a string, None, or lists of these, got {shown}{hint}")))
}

/// Keyword arguments from a dict.
pub(crate) fn kwargs(graph: &Bound<'_, Graph>, entries: Option<&Bound<'_, PyDict>>) -> PyResult<Kwargs> {
    entries.map_or(Ok(Kwargs::new()), |entries| entries_of(graph, entries, DEEPEST))
}

fn entries_of(graph: &Bound<'_, Graph>, entries: &Bound<'_, PyDict>, deeper: usize) -> PyResult<Kwargs> {
    let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| match key.cast::<PyString>() {
        Ok(key) => Ok((key.to_cow()?.as_ref().into(), nested(graph, &value, deeper)?)),
        Err(_) => Err(refused(graph.py(), &format!("expected a string as a key, got {key}"))),
    };
    entries.iter().map(entry).collect()
}

/// Positional arguments from a tuple or list.
pub(crate) fn args(graph: &Bound<'_, Graph>, x: &Bound<'_, PyAny>) -> PyResult<Vec<Argument>> {
    match from_python(graph, x)? {
        Argument::List(items) => Ok(items),
        _ => Err(refused(graph.py(), &format!("expected a tuple of arguments, got {}", x.get_type().name()?))),
    }
}

/// A dtype, layout, memory format, device or operator, of PyTorch or of `oxport.fx`.
fn constant(graph: &Bound<'_, Graph>, x: &Bound<'_, PyAny>) -> PyResult<Option<Argument>> {
    let class = x.get_type();
    let module = class.module()?;
    let (module, name) = (module.to_cow()?, class.name()?);
    if !matches!(&*module, "torch" | "oxport.fx" | "torch._ops") && !is_operator(x)? {
        return Ok(None);
    }
    let text = || Ok::<_, PyErr>(x.str()?.to_cow()?.into_owned());
    let found = match &*name.to_cow()? {
        "dtype" => dtype(&text()?),
        "layout" => layout(&text()?),
        "memory_format" => memory_format(&text()?),
        "device" => device(&text()?),
        "Target" | "OpOverload" => Some(Argument::Op(operator(graph, x)?)),
        _ if is_operator(x)? => Some(Argument::Op(operator(graph, x)?)),
        _ => return Ok(None),
    };
    found.map(Some).ok_or_else(|| refused(x.py(), &format!("there is no {name} {x}")))
}

fn dtype(text: &str) -> Option<Argument> {
    DType::from_name(text.strip_prefix("torch.").unwrap_or(text)).map(Argument::DType)
}
fn layout(text: &str) -> Option<Argument> {
    let text = text.strip_prefix("torch.").unwrap_or(text);
    MemoryLayout::ALL.into_iter().find(|l| l.name() == text).map(Argument::Layout)
}
fn memory_format(text: &str) -> Option<Argument> {
    let text = text.strip_prefix("torch.").unwrap_or(text);
    MemoryFormat::ALL.into_iter().find(|m| m.name() == text).map(Argument::MemoryFormat)
}
fn device(text: &str) -> Option<Argument> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index.parse().ok()?)),
        None => (text, None),
    };
    (!kind.is_empty()).then(|| Argument::Device(Device { kind: kind.into(), index }))
}

/// Whether an object is an operator of PyTorch, of whatever class.
fn is_operator(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    for class in x.get_type().mro() {
        let class = class.cast_into::<pyo3::types::PyType>()?;
        if &*class.module()?.to_cow()? == "torch._ops" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The operator of a target: its name in any spelling, PyTorch's operator itself, or a function of Python.
pub(crate) fn operator(graph: &Bound<'_, Graph>, x: &Bound<'_, PyAny>) -> PyResult<Op> {
    let text = match x.cast::<PyString>() {
        Ok(text) => text.to_cow()?.into_owned(),
        Err(_) => fx(graph.py(), "_target_of")?.call1((x,))?.extract::<String>()?,
    };
    Ok(graph.get().toolchain.registry().op(&full_name(&text, graph.get().toolchain.registry())))
}

/// The name of an operator in any of its spellings: `aten.relu.default`, `aten::relu`, `operator.add`, `cond`.
pub(crate) fn full_name(text: &str, registry: &Registry) -> String {
    let text = text.trim();
    if let Some(name) = text.strip_prefix("operator.") {
        return format!("_operator::{name}");
    }
    if text.contains("::") {
        return text.strip_suffix(".default").unwrap_or(text).to_string();
    }
    let named = oxport::ir::op::name_of(text);
    match text.split('.').next() {
        _ if text.starts_with("torch.ops.") => named,
        Some("_operator" | "math" | "builtins" | "torch") => named,
        _ if !text.contains('.') => {
            let higher = format!("higher_order::{text}");
            let is_known = registry.op(&higher).def().is_some() || registry.is_pinned(&higher);
            if is_known { higher } else { text.to_string() }
        }
        _ => oxport::ir::op::name_of(&format!("torch.ops.{text}")),
    }
}

/// Refuses what no exported program may call, and what nothing is known of.
pub(crate) fn known(graph: &Graph, py: Python<'_>, op: &Op) -> PyResult<()> {
    let registry = graph.toolchain.registry();
    let is_known = match () {
        () if op.is_python() => op.is_on_numbers() || op.intrinsic().is_some(),
        () if op.is_higher_order() => op.def().is_some() || registry.is_pinned(op.name()),
        () => op.schema().is_some() || op.intrinsic().is_some(),
    };
    if is_known {
        return Ok(());
    }
    let near = oxport::suggest::operators(registry, op.name());
    let near = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
    Err(refused(py, &format!("there is no operator `{}`{near}", op.target())))
}

/// Strings where an operator takes a dtype, a layout, a memory format or a device.
pub(crate) fn by_schema(op: &Op, args: &mut [Argument], kwargs: &mut Kwargs) {
    let Some(schema) = op.schema() else { return };
    let set = |ty: &Type, a: &mut Argument| {
        let Argument::Str(text) = &*a else { return };
        let found = match ty.strip_optional() {
            Type::DType => dtype(text),
            Type::Layout => layout(text),
            Type::MemoryFormat => memory_format(text),
            Type::Device => device(text),
            _ => None,
        };
        if let Some(found) = found {
            *a = found;
        }
    };
    args.iter_mut().zip(&schema.args).for_each(|(a, param)| set(&param.ty, a));
    if kwargs.is_empty() {
        return;
    }
    for (name, a) in kwargs.iter_mut() {
        if let Some((_, param)) = schema.arg(name) {
            set(&param.ty, a);
        }
    }
}
