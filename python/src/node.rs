//! The methods of [`Node`], as `torch.fx.Node` has them.

use crate::argument::{self, by_schema, from_python, known, operator, to_python};
use crate::fake;
use crate::graph::{opcode, target_name};
use crate::handle::{Graph, Node, fx, node, nodes, refused};
use crate::live::Place;
use oxport::ir::{Kwargs, NodeKind};
use oxport::{Argument, NodeId};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

#[pymethods]
impl Node {
    /// The name, which no other node of the graph has.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |live, path, id| Ok(live.node(path, id)?.name.to_string()))
    }
    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |live, path, id| live.rename(path, id, name))
    }
    /// `placeholder`, `call_function`, `get_attr` or `output`.
    #[getter]
    fn op(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |live, path, id| Ok(opcode(&live.node(path, id)?.kind)))
    }
    /// What a call calls: a string that is equal to all spellings of the operator, and to PyTorch's operator itself. Of
    /// an input its name, of a `get_attr` the name of the subgraph.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (op, name) = self.with(py, |live, path, id| {
            let node = live.node(path, id)?;
            Ok((node.op().cloned(), target_name(node).map(str::to_string)))
        })?;
        match op {
            Some(op) => argument::target(py, &op),
            None => Ok(name.unwrap_or_default().into_pyobject(py)?.into_any()),
        }
    }
    /// Makes a call one of another operator, with the same arguments.
    #[setter]
    fn set_target(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        let graph = self.graph.bind(py);
        let is_call = self.with(py, |live, path, id| Ok(live.node(path, id)?.op().is_some()))?;
        if !is_call {
            return Err(refused(py, &format!("`{}` is no call, and has no other target", self.met())));
        }
        let op = operator(graph, target)?;
        known(graph.get(), py, &op)?;
        self.with(py, |live, path, id| {
            let node = live.node(path, id)?;
            let (mut args, mut kwargs) = (node.args.clone(), node.kwargs.clone());
            by_schema(&op, &mut args, &mut kwargs);
            live.set_call(path, id, Some(op), args, kwargs)
        })
    }
    /// The positional arguments. Of the output: one tuple of what the graph returns.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let graph = self.graph.bind(py);
        let (args, is_tuple) = self.with(py, |live, path, id| {
            let node = live.node(path, id)?;
            Ok((node.args.clone(), node.kind == NodeKind::Output && !live.graph(path)?.is_single_return))
        })?;
        let args = args.iter().map(|a| to_python(graph, a)).collect::<PyResult<Vec<_>>>()?;
        let args = PyTuple::new(py, args)?;
        if is_tuple { PyTuple::new(py, [args]) } else { Ok(args) }
    }
    #[setter]
    fn set_args(&self, py: Python<'_>, args: &Bound<'_, PyAny>) -> PyResult<()> {
        let args = argument::args(self.graph.bind(py), args)?;
        self.change(py, |_, kwargs| Ok((args, kwargs)))
    }
    /// The keyword arguments.
    #[getter]
    fn kwargs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = self.with(py, |live, path, id| Ok(live.node(path, id)?.kwargs.clone()))?;
        argument::dict(self.graph.bind(py), &kwargs)
    }
    #[setter]
    fn set_kwargs(&self, py: Python<'_>, kwargs: &Bound<'_, PyDict>) -> PyResult<()> {
        let kwargs = argument::kwargs(self.graph.bind(py), Some(kwargs))?;
        self.change(py, |args, _| Ok((args, kwargs)))
    }
    /// Sets a positional argument.
    fn update_arg(&self, py: Python<'_>, idx: usize, arg: &Bound<'_, PyAny>) -> PyResult<()> {
        let arg = from_python(self.graph.bind(py), arg)?;
        self.change(py, |mut args, kwargs| {
            let count = args.len();
            *args.get_mut(idx).ok_or_else(|| format!("there are {count} positional arguments, none at {idx}"))? = arg;
            Ok((args, kwargs))
        })
    }
    /// Inserts a positional argument.
    fn insert_arg(&self, py: Python<'_>, idx: usize, arg: &Bound<'_, PyAny>) -> PyResult<()> {
        let arg = from_python(self.graph.bind(py), arg)?;
        self.change(py, |mut args, kwargs| {
            if idx > args.len() {
                return Err(format!("insert_args index must be between 0 and len(self.args), got {idx}"));
            }
            args.insert(idx, arg);
            Ok((args, kwargs))
        })
    }
    /// Sets a keyword argument.
    fn update_kwarg(&self, py: Python<'_>, key: &str, arg: &Bound<'_, PyAny>) -> PyResult<()> {
        let arg = from_python(self.graph.bind(py), arg)?;
        self.change(py, |args, mut kwargs| {
            kwargs.insert(key.into(), arg);
            Ok((args, kwargs))
        })
    }
    /// The nodes that use this one, as keys.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let users =
            self.with(py, |live, path, id| Ok(live.graph(path)?.users(id).keys().copied().collect::<Vec<_>>()))?;
        let found = PyDict::new(py);
        nodes(self.graph.bind(py), users)?.into_iter().try_for_each(|user| found.set_item(user, py.None()))?;
        fx(py, "immutable_dict")?.call1((found,))
    }
    /// The nodes that the arguments mention, each once.
    #[getter]
    fn all_input_nodes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, Node>>> {
        let inputs = self.with(py, |live, path, id| Ok(live.node(path, id)?.inputs()))?;
        nodes(self.graph.bind(py), inputs)
    }
    /// The node behind this one; None behind the last.
    #[getter]
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Node>>> {
        let next = self.with(py, |live, path, id| live.step(path, (id, live.epoch), true))?;
        next.map(|id| node(self.graph.bind(py), id)).transpose()
    }
    /// The node before this one; None before the first.
    #[getter]
    fn prev<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Node>>> {
        let prev = self.with(py, |live, path, id| live.step(path, (id, live.epoch), false))?;
        prev.map(|id| node(self.graph.bind(py), id)).transpose()
    }
    /// The graph.
    #[getter]
    fn graph<'py>(&self, py: Python<'py>) -> Bound<'py, Graph> {
        self.graph.bind(py).clone()
    }
    /// What is known of the node: a mapping with `val`, and what was recorded at the export.
    #[getter]
    fn meta<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fx(slf.py(), "Meta")?.call1((slf,))
    }
    /// The Python stack at which the node was traced.
    #[getter]
    fn stack_trace(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |live, path, id| Ok(live.node(path, id)?.meta.stack_trace.as_deref().map(str::to_string)))
    }
    #[setter]
    fn set_stack_trace(&self, py: Python<'_>, trace: Option<&str>) -> PyResult<()> {
        self._set_text(py, "stack_trace", trace)
    }
    /// Makes all users of this node use another one, or those for which `delete_user_cb` is true; gives them.
    #[pyo3(signature = (replace_with, delete_user_cb = None, *, propagate_meta = false))]
    fn replace_all_uses_with<'py>(
        &self,
        py: Python<'py>,
        replace_with: &Bound<'py, Node>,
        delete_user_cb: Option<&Bound<'py, PyAny>>,
        propagate_meta: bool,
    ) -> PyResult<Vec<Bound<'py, Node>>> {
        let graph = self.graph.bind(py);
        let new = replace_with.get().id_in(py, graph.get())?;
        if propagate_meta {
            let (own, has) = self.with(py, |live, path, id| {
                Ok((live.node(path, id)?.meta.derived(None), !live.texts(path, new)?.is_empty()))
            })?;
            if has {
                return Err(refused(
                    py,
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already \
                     has .meta keys",
                ));
            }
            replace_with.get().with(py, |live, path, id| live.take_origin(path, id, &own))?;
        }
        let users =
            self.with(py, |live, path, id| Ok(live.graph(path)?.users(id).keys().copied().collect::<Vec<_>>()))?;
        let mut chosen = Vec::new();
        for user in users {
            let keeps = match delete_user_cb {
                Some(asked) => asked.call1((node(graph, user)?,))?.is_truthy()?,
                None => true,
            };
            chosen.extend(keeps.then_some(user));
        }
        let set: HashSet<NodeId> = chosen.iter().copied().collect();
        self.with(py, |live, path, id| live.replace_uses(path, id, new, Some(&set)))?;
        nodes(graph, chosen)
    }
    /// Uses another node wherever this one uses `old_input`.
    fn replace_input_with(
        &self,
        py: Python<'_>,
        old_input: &Bound<'_, Node>,
        new_input: &Bound<'_, Node>,
    ) -> PyResult<()> {
        let graph = self.graph.get();
        let (old, new) = (old_input.get().id_in(py, graph)?, new_input.get().id_in(py, graph)?);
        self.with(py, |live, path, id| live.replace_uses(path, old, new, Some(&HashSet::from([id]))))
    }
    /// Moves a node to stand right behind this one.
    fn append(&self, py: Python<'_>, x: &Bound<'_, Node>) -> PyResult<()> {
        self.draw(py, x, Place::After)
    }
    /// Moves a node to stand right before this one.
    fn prepend(&self, py: Python<'_>, x: &Bound<'_, Node>) -> PyResult<()> {
        self.draw(py, x, Place::Before)
    }
    /// Whether the node stays where nothing uses it: inputs, the output, what writes, asserts or binds a symbol, and,
    /// unless `impure_random` is false, what draws random numbers.
    #[pyo3(signature = (impure_random = true))]
    fn is_impure(&self, py: Python<'_>, impure_random: bool) -> PyResult<bool> {
        self.with(py, |live, path, id| live.is_impure(path, id, impure_random))
    }
    /// The node as a line of the printed graph.
    #[pyo3(signature = (placeholder_names = None, maybe_return_typename = None, *, include_tensor_metadata = false))]
    fn format_node(
        slf: &Bound<'_, Self>,
        placeholder_names: Option<&Bound<'_, PyAny>>,
        maybe_return_typename: Option<&Bound<'_, PyAny>>,
        include_tensor_metadata: bool,
    ) -> PyResult<Option<String>> {
        // They are of PyTorch's own printer, which is not this one.
        if placeholder_names.or(maybe_return_typename).is_some() {
            return Err(refused(slf.py(), "format_node: expected no lists to fill"));
        }
        fx(slf.py(), "_format_node")?.call1((slf, include_tensor_metadata))?.extract()
    }
    fn __repr__(&self, py: Python<'_>) -> String {
        // What is said of an erased node is its name, as in PyTorch.
        self.name(py).unwrap_or_else(|_| self.met().to_string())
    }
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Node>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let is_same = other.is_beside(self.graph.get()) && other.identity() == self.identity();
        let is_before = |a: NodeId, b: NodeId| self.with(py, |live, path, _| Ok(live.graph(path)?.is_before(a, b)));
        let ids = || Ok::<_, PyErr>((self.id, other.id_in(py, self.graph.get())?));
        let answer = match op {
            CompareOp::Eq => is_same,
            CompareOp::Ne => !is_same,
            CompareOp::Lt | CompareOp::Ge => {
                let (own, other) = ids()?;
                is_before(own, other)? == matches!(op, CompareOp::Lt)
            }
            CompareOp::Gt | CompareOp::Le => {
                let (own, other) = ids()?;
                is_before(other, own)? == matches!(op, CompareOp::Gt)
            }
        };
        Ok(answer.into_pyobject(py)?.to_owned().into_any().unbind())
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.graph.get().shared) as usize, &self.graph.get().path, self.identity()).hash(&mut hasher);
        hasher.finish()
    }
    /// The meta value in a tuple; None if there is none.
    fn _val<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        let val = self.with(py, |live, path, id| live.val(path, id))?;
        val.map(|val| Ok((fake::value(py, &val)?,))).transpose()
    }
    /// The texts of the metadata by key.
    fn _texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let texts = self.with(py, |live, path, id| live.texts(path, id))?;
        let found = PyDict::new(py);
        texts.iter().try_for_each(|(key, text)| found.set_item(&**key, &**text))?;
        Ok(found)
    }
    fn _set_text(&self, py: Python<'_>, key: &str, text: Option<&str>) -> PyResult<()> {
        self.with(py, |live, path, id| live.set_text(path, id, key, text))
    }
    /// Whether the graph returns its one value bare, of the output of one.
    fn _is_bare(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |live, path, _| Ok(live.graph(path)?.is_single_return))
    }
}

impl Node {
    /// Sets the arguments to what is made of those that there are: of the output, of the one tuple that it has.
    fn change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(Vec<Argument>, Kwargs) -> Result<(Vec<Argument>, Kwargs), String>,
    ) -> PyResult<()> {
        self.with(py, |live, path, id| {
            let node = live.node(path, id)?;
            let is_tuple = node.kind == NodeKind::Output && !live.graph(path)?.is_single_return;
            let had = node.args.clone();
            let had = if is_tuple { vec![Argument::List(had)] } else { had };
            let (mut args, mut kwargs) = f(had, node.kwargs.clone())?;
            if is_tuple {
                args = match <[Argument; 1]>::try_from(args) {
                    Ok([Argument::List(values)]) => values,
                    _ => return Err("expected one tuple of what the graph returns, `((a, b),)`".to_string()),
                };
            } else if node.kind == NodeKind::Output && args.len() != 1 {
                return Err(format!("expected the one value that the graph returns, got {}", args.len()));
            }
            if let Some(op) = node.op() {
                by_schema(op, &mut args, &mut kwargs);
            }
            live.set_call(path, id, None, args, kwargs)
        })
    }
    fn draw(&self, py: Python<'_>, x: &Bound<'_, Node>, place: fn(NodeId) -> Place) -> PyResult<()> {
        let moved = x.get().id_in(py, self.graph.get())?;
        self.with(py, |live, path, id| live.move_to(path, moved, place(id)))
    }
}
