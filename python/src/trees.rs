//! Arguments and results: trees of Python objects as trees of values, and back.
//!
//! Laws: what a call was exported with decides how an argument is taken apart, so that a named tuple or dataclass of
//! the caller's own class needs no registration to be an argument; results are made of registered classes
//! (`oxport.pytree`), else of plain containers. A mismatch is left for the program's own check, which names the path.

use crate::errors::usage;
use crate::memory;
use crate::tensor::{self, Library, Tensor};
use oxport::pytree::{Key, Kind};
use oxport::{Tree, TreeSpec, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The deepest tree of arguments.
const MAX_DEPTH: usize = 500;

/// The arguments of one call.
pub(crate) struct Arguments<'py> {
    py: Python<'py>,
    /// Whose tensors there are.
    pub(crate) library: Library,
    /// The objects behind tensors, by the identity of their storage: for inputs that the program writes.
    pub(crate) owners: Vec<(usize, Bound<'py, PyAny>)>,
}

impl<'py> Arguments<'py> {
    pub(crate) fn new(py: Python<'py>) -> Arguments<'py> {
        Arguments { py, library: Library::Other, owners: Vec::new() }
    }

    /// The tree of an object where the program has this structure.
    pub(crate) fn tree(&mut self, x: &Bound<'py, PyAny>, spec: Option<&TreeSpec>) -> PyResult<Tree<Value>> {
        self.tree_at(x, spec, 0)
    }

    fn tree_at(&mut self, x: &Bound<'py, PyAny>, spec: Option<&TreeSpec>, depth: usize) -> PyResult<Tree<Value>> {
        if depth > MAX_DEPTH {
            return Err(usage(format!("the arguments are nested more than {MAX_DEPTH} deep")));
        }
        if let Some(leaf) = self.leaf(x)? {
            return Ok(Tree::Leaf(leaf));
        }
        let (kind, children) = self.container(x, spec)?;
        let specs = spec.map_or(&[][..], |s| s.children());
        // The children of a dictionary are found by key, because a call may give them in any order.
        let spec_of = |i: usize| match (&kind, spec) {
            (Kind::Dict(keys), Some(s)) => keys.get(i).and_then(|key| s.get(key)),
            _ => specs.get(i),
        };
        let children = children.iter().enumerate().map(|(i, child)| self.tree_at(child, spec_of(i), depth + 1));
        let children = children.collect::<PyResult<Vec<_>>>()?;
        Ok(Tree::node(kind, children))
    }

    fn leaf(&mut self, x: &Bound<'py, PyAny>) -> PyResult<Option<Value>> {
        if x.is_exact_instance_of::<PyTuple>()
            || x.is_exact_instance_of::<PyList>()
            || x.is_exact_instance_of::<PyDict>()
        {
            return Ok(None);
        }
        if x.is_none() {
            return Ok(Some(Value::None));
        }
        if let Ok(b) = x.cast::<PyBool>() {
            return Ok(Some(Value::Bool(b.is_true())));
        }
        if x.is_instance_of::<PyInt>() {
            return Ok(Some(Value::Int(x.extract()?)));
        }
        if x.is_instance_of::<PyFloat>() {
            return Ok(Some(Value::Float(x.extract()?)));
        }
        if let Ok(text) = x.cast::<PyString>() {
            return Ok(Some(Value::Str(text.to_str()?.into())));
        }
        if let Ok(z) = x.cast::<PyComplex>() {
            use pyo3::types::PyComplexMethods;
            return Ok(Some(Value::Complex(oxport::tensor::Complex::new(z.real(), z.imag()))));
        }
        let Some((tensor, library)) = tensor::borrowed(x)? else { return Ok(None) };
        if library == Library::Torch {
            self.library = library;
        }
        self.owners.push((tensor.storage().id(), x.clone()));
        Ok(Some(Value::Tensor(tensor)))
    }

    /// What kind of container it is, and its children.
    fn container(
        &mut self,
        x: &Bound<'py, PyAny>,
        spec: Option<&TreeSpec>,
    ) -> PyResult<(Kind, Vec<Bound<'py, PyAny>>)> {
        let expected = spec.and_then(|s| s.kind());
        if let Ok(list) = x.cast_exact::<PyList>() {
            return Ok((Kind::List, list.iter().collect()));
        }
        if let Ok(tuple) = x.cast_exact::<PyTuple>() {
            return Ok((Kind::Tuple, tuple.iter().collect()));
        }
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            return Ok((Kind::Dict(keys(dict)?), dict.values().iter().collect()));
        }
        if let Some(found) = registered(self.py, x)? {
            let (name, parts): (String, Bound<'py, PyAny>) = found;
            let (children, context): (Vec<Bound<'py, PyAny>>, String) = parts.extract()?;
            let fields = match expected {
                Some(Kind::Custom { fields, .. }) => fields.clone(),
                _ => None,
            };
            return Ok((Kind::Custom { name, context, fields }, children));
        }
        if let Ok(tuple) = x.cast::<PyTuple>() {
            let children = tuple.iter().collect();
            if let Ok(fields) = x.getattr(intern!(self.py, "_fields")).and_then(|f| f.extract::<Vec<String>>()) {
                return Ok((named_tuple(x, fields, expected)?, children));
            }
            return Ok((
                expected.filter(|k| matches!(k, Kind::ReturnType(_) | Kind::Size)).cloned().unwrap_or(Kind::Tuple),
                children,
            ));
        }
        if let Ok(dict) = x.cast::<PyDict>() {
            return Ok((mapping(x, dict)?, dict.values().iter().collect()));
        }
        if x.hasattr(intern!(self.py, "__dataclass_fields__"))? && !x.is_instance_of::<pyo3::types::PyType>() {
            return self.dataclass(x, expected);
        }
        let class = x.get_type();
        if class.name()? == "deque" {
            let maxlen: Option<u64> = x.getattr("maxlen")?.extract()?;
            return Ok((Kind::Deque { maxlen }, x.try_iter()?.collect::<PyResult<_>>()?));
        }
        Err(usage(format!(
            "expected arrays, numbers, strings, None, and containers of them, got {} (`oxport.register_pytree_node` \
             takes classes of yours)",
            full_name(&class)?
        )))
    }

    fn dataclass(&self, x: &Bound<'py, PyAny>, expected: Option<&Kind>) -> PyResult<(Kind, Vec<Bound<'py, PyAny>>)> {
        let class = x.get_type();
        let all: Vec<String> =
            x.getattr("__dataclass_fields__")?.cast::<PyDict>().map_err(|e| usage(e.to_string()))?.keys().extract()?;
        let (mut fields, mut none, mut children) = (Vec::new(), Vec::new(), Vec::new());
        for field in all {
            let value = x.getattr(field.as_str())?;
            // As in `torch.export.register_dataclass`: a field that is None is no leaf.
            if value.is_none() {
                none.push(field);
            } else {
                fields.push(field);
                children.push(value);
            }
        }
        let name = match (expected, class_name(&class)?) {
            (_, Some(name)) => name,
            (Some(Kind::Dataclass { name, .. }), None) => name.clone(),
            (_, None) => full_name(&class)?,
        };
        Ok((Kind::Dataclass { name, fields, none }, children))
    }
}

fn named_tuple(x: &Bound<'_, PyAny>, fields: Vec<String>, expected: Option<&Kind>) -> PyResult<Kind> {
    let class = x.get_type();
    Ok(match (expected, class_name(&class)?) {
        (_, Some(name)) => Kind::NamedTuple { name, fields: Some(fields) },
        (Some(Kind::NamedTuple { name, fields: theirs }), None) if theirs.as_ref().is_none_or(|f| *f == fields) => {
            Kind::NamedTuple { name: name.clone(), fields: theirs.clone() }
        }
        (Some(kind @ Kind::ReturnType(_)), None) => kind.clone(),
        (_, None) => Kind::NamedTuple { name: full_name(&class)?, fields: Some(fields) },
    })
}

fn mapping(x: &Bound<'_, PyAny>, dict: &Bound<'_, PyDict>) -> PyResult<Kind> {
    let keys = keys(dict)?;
    Ok(match &*x.get_type().name()?.to_string() {
        "OrderedDict" => Kind::OrderedDict(keys),
        "defaultdict" => {
            let factory = x.getattr("default_factory")?;
            match factory.is_none() {
                true => Kind::DefaultDict { module: String::new(), name: String::new(), keys },
                false => {
                    let text = |name| factory.getattr(name).and_then(|t| t.extract::<String>());
                    Kind::DefaultDict { module: text("__module__")?, name: text("__qualname__")?, keys }
                }
            }
        }
        _ => Kind::Dict(keys),
    })
}

fn keys(dict: &Bound<'_, PyDict>) -> PyResult<Vec<Key>> {
    dict.keys().iter().map(|key| key_of(&key)).collect()
}

fn key_of(key: &Bound<'_, PyAny>) -> PyResult<Key> {
    if key.is_none() {
        return Ok(Key::None);
    }
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(Key::Str(text.to_str()?.to_string()));
    }
    if let Ok(b) = key.cast::<PyBool>() {
        return Ok(Key::Bool(b.is_true()));
    }
    if key.is_instance_of::<PyInt>() {
        return Ok(Key::Int(key.extract()?));
    }
    if key.is_instance_of::<PyFloat>() {
        return Ok(Key::Float(key.extract()?));
    }
    if let Ok(tuple) = key.cast::<PyTuple>() {
        return Ok(Key::Tuple(tuple.iter().map(|k| key_of(&k)).collect::<PyResult<_>>()?));
    }
    if let (Ok(name), true) = (key.getattr("name"), key.hasattr("value")?) {
        let class = key.get_type();
        let fqn = format!("{}:{}", class.module()?, class.qualname()?);
        return Ok(Key::Enum { fqn, name: name.extract()? });
    }
    Err(usage(format!("expected a dictionary key that can be exported, got {}", key.repr()?)))
}

/// `module.Class`, as PyTorch names classes that are registered without a name.
fn full_name(class: &Bound<'_, pyo3::types::PyType>) -> PyResult<String> {
    Ok(format!("{}.{}", class.module()?, class.qualname()?))
}

fn registry<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("oxport.pytree")?.into_any().unbind()))?.bind(py))
}

/// The name under which a named tuple or dataclass is registered.
fn class_name(class: &Bound<'_, pyo3::types::PyType>) -> PyResult<Option<String>> {
    let py = class.py();
    registry(py)?.getattr(intern!(py, "NAMES"))?.call_method1(intern!(py, "get"), (class,))?.extract()
}

/// The registered name of a class with functions of its own, and what its function takes an object apart into.
fn registered<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
    let found = registry(py)?.call_method1(intern!(py, "_flatten"), (x,))?;
    if found.is_none() { Ok(None) } else { Ok(Some(found.extract()?)) }
}

/// The object of a tree.
pub(crate) fn object<'py>(py: Python<'py>, tree: Tree<Value>, library: Library) -> PyResult<Bound<'py, PyAny>> {
    let (kind, children) = match tree {
        Tree::Leaf(value) => return leaf(py, value, library),
        Tree::Node(kind, children) => (kind, children),
    };
    let children = children.into_vec().into_iter().map(|c| object(py, c, library)).collect::<PyResult<Vec<_>>>()?;
    let dict = |keys: &[Key]| {
        let dict = PyDict::new(py);
        keys.iter().zip(&children).try_for_each(|(key, child)| dict.set_item(python_key(py, key)?, child))?;
        Ok::<_, PyErr>(dict)
    };
    Ok(match &*kind {
        Kind::Tuple | Kind::Size => PyTuple::new(py, children)?.into_any(),
        Kind::List | Kind::ImmutableList => PyList::new(py, children)?.into_any(),
        Kind::Dict(keys) | Kind::ImmutableDict(keys) => dict(keys)?.into_any(),
        Kind::OrderedDict(keys) => py.import("collections")?.getattr("OrderedDict")?.call1((dict(keys)?,))?,
        Kind::DefaultDict { module, name, keys } => {
            let builtin = ["list", "dict", "set", "tuple", "int", "float", "str", "bool"].contains(&&**name);
            let factory = match module == "builtins" && builtin {
                true => py.import("builtins")?.getattr(name.as_str())?,
                false => py.None().into_bound(py),
            };
            py.import("collections")?.getattr("defaultdict")?.call1((factory, dict(keys)?))?
        }
        Kind::Deque { maxlen } => {
            py.import("collections")?.getattr("deque")?.call1((PyList::new(py, children)?, *maxlen))?
        }
        Kind::NamedTuple { name, fields } => {
            registry(py)?.call_method1("_named_tuple", (name, fields.clone(), children))?
        }
        Kind::Dataclass { name, fields, none } => {
            registry(py)?.call_method1("_dataclass", (name, fields.clone(), children, none.clone()))?
        }
        Kind::ReturnType(name) => registry(py)?.call_method1("_return_type", (name, children))?,
        Kind::Custom { name, context, .. } => registry(py)?.call_method1("_custom", (name, context, children))?,
    })
}

fn python_key<'py>(py: Python<'py>, key: &Key) -> PyResult<Bound<'py, PyAny>> {
    Ok(match key {
        Key::Str(text) => PyString::new(py, text).into_any(),
        Key::Int(n) => n.into_pyobject(py)?.into_any(),
        Key::Float(x) => PyFloat::new(py, *x).into_any(),
        Key::Bool(b) => PyBool::new(py, *b).to_owned().into_any(),
        Key::None => py.None().into_bound(py),
        Key::Tuple(keys) => {
            PyTuple::new(py, keys.iter().map(|k| python_key(py, k)).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        // The class is never imported.
        Key::Enum { name, .. } => PyString::new(py, name).into_any(),
    })
}

/// One value; of several tensors with the same memory each is given its own.
pub(crate) fn leaf<'py>(py: Python<'py>, value: Value, library: Library) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None | Value::Token => py.None().into_bound(py),
        Value::Tensor(t) => array(py, t, library)?,
        Value::Int(n) => n.into_pyobject(py)?.into_any(),
        Value::Float(x) => PyFloat::new(py, x).into_any(),
        Value::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Value::Complex(z) => PyComplex::from_doubles(py, z.re, z.im).into_any(),
        Value::Str(text) => PyString::new(py, &text).into_any(),
        Value::List(items) => {
            let items = items.into_iter().map(|v| leaf(py, v, library)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
    })
}

/// A tensor as the array of a library, over the same memory where nobody else has it.
pub(crate) fn array<'py>(py: Python<'py>, tensor: oxport::Tensor, library: Library) -> PyResult<Bound<'py, PyAny>> {
    let own = Tensor::owned(tensor)?;
    if library == Library::Torch {
        static FROM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let from = FROM.import(py, "torch.utils.dlpack", "from_dlpack")?;
        return from.call1((memory::export(py, own.inner().clone(), true, false)?,));
    }
    static ASARRAY: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();
    let numpy = ASARRAY.get_or_init(py, || Some(py.import("numpy").ok()?.getattr("asarray").ok()?.unbind()));
    let has_dtype = memory::array_interface(py, own.inner(), true)?.is_some();
    let own = Bound::new(py, own)?.into_any();
    match numpy {
        Some(asarray) if has_dtype => asarray.bind(py).call1((own,)),
        _ => Ok(own),
    }
}
