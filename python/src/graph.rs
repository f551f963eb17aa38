//! The methods of [`Graph`], as `torch.fx.Graph` has them.

use crate::argument::{self, by_schema, from_python, known, operator};
use crate::errors::invalid;
use crate::fake::SymInt;
use crate::handle::{Graph, Node, fx, node, nodes, refused};
use crate::live::{Live, Made, Place};
use crate::tensor;
use oxport::ir::{InputKind, NodeKind, NodeMeta};
use oxport::{Argument, NodeId};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Mutex, PoisonError};

#[pymethods]
impl Graph {
    /// The nodes, in order. Nodes may be inserted and erased meanwhile.
    #[getter]
    fn nodes(slf: &Bound<'_, Self>) -> NodeList {
        NodeList(slf.clone().unbind())
    }
    /// The nodes of an opcode, and of a target.
    #[pyo3(signature = (*, op, target = None, sort = true))]
    fn find_nodes<'py>(
        slf: &Bound<'py, Self>,
        op: &str,
        target: Option<&Bound<'py, PyAny>>,
        sort: bool,
    ) -> PyResult<Vec<Bound<'py, Node>>> {
        // They are found in order, whether that is asked for or not.
        let _ = sort;
        let py = slf.py();
        let opcodes = ["placeholder", "get_attr", "call_function", "output"];
        if !opcodes.contains(&op) {
            return Err(refused(py, &format!("expected one of {}, got {op:?}", opcodes.join(", "))));
        }
        let (mut called, mut named) = (None, None);
        match target {
            Some(target) if op == "call_function" => called = Some(operator(slf, target)?),
            Some(target) => named = Some(target.extract::<String>()?),
            None => {}
        }
        let found = slf.get().with(py, |live, path| {
            let is_it = |node: &oxport::Node| match &node.kind {
                NodeKind::CallFunction(own) => op == "call_function" && called.as_ref().is_none_or(|op| op == own),
                kind => {
                    opcode(kind) == op && named.as_ref().is_none_or(|name| target_name(node) == Some(name.as_str()))
                }
            };
            Ok(live.graph(path)?.nodes().filter(|(_, n)| is_it(n)).map(|(id, _)| id).collect::<Vec<_>>())
        })?;
        nodes(slf, found)
    }
    /// Inserts new nodes before that node from now on, or within `with`; without a node, behind the inputs.
    #[pyo3(signature = (n = None))]
    fn inserting_before(slf: &Bound<'_, Self>, n: Option<&Bound<'_, Node>>) -> PyResult<InsertPoint> {
        point(slf, n, Place::Before, Place::Start)
    }
    /// Inserts each new node right behind that node from now on, or within `with`; without a node, before the output.
    #[pyo3(signature = (n = None))]
    fn inserting_after(slf: &Bound<'_, Self>, n: Option<&Bound<'_, Node>>) -> PyResult<InsertPoint> {
        point(slf, n, Place::After, Place::End)
    }
    /// Inserts a call. Its meta is inferred at once, and what the operator refuses is refused here, unless it uses what
    /// stands later or has no meta yet.
    #[pyo3(signature = (target, args = None, kwargs = None, *, name = None))]
    fn call_function<'py>(
        slf: &Bound<'py, Self>,
        target: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
        name: Option<String>,
    ) -> PyResult<Bound<'py, Node>> {
        let op = operator(slf, target)?;
        known(slf.get(), slf.py(), &op)?;
        let args = args.map_or(Ok(Vec::new()), |args| argument::args(slf, args))?;
        let kwargs = argument::kwargs(slf, kwargs)?;
        insert(slf, Made { op, args, kwargs, name, origin: NodeMeta::default() })
    }
    /// Inserts an input of a subgraph, which is given a value like that of the node `like`. A program's own inputs are
    /// those of its call: `parameter`, `buffer` and `constant` add tensors.
    #[pyo3(signature = (name, *, like = None))]
    fn placeholder<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        like: Option<&Bound<'py, Node>>,
    ) -> PyResult<Bound<'py, Node>> {
        let py = slf.py();
        // The node may be of the graph around: of the same program, whose symbols are these.
        let val = match like {
            Some(like) if !std::sync::Arc::ptr_eq(&like.get().graph.get().shared, &slf.get().shared) => {
                return Err(refused(py, &format!("expected a node of this program, got `{}`", like.get().met())));
            }
            Some(like) => like.get().with(py, |live, path, id| live.val(path, id))?,
            None => None,
        };
        let id = slf.get().with(py, |live, path| live.placeholder(path, name, val))?;
        node(slf, id)
    }
    /// A graph has its output: this says so. Set `graph.output_node().args` to return other values.
    fn output(&self, py: Python<'_>, result: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = result;
        Err(refused(py, "the graph has an output already: set `graph.output_node().args` to return other values"))
    }
    /// Inserts a node that stands for a subgraph, which is an argument of a higher-order operator. Tensors are inputs
    /// in an exported program: see `parameter`, `buffer` and `constant`.
    fn get_attr<'py>(slf: &Bound<'py, Self>, qualified_name: &str) -> PyResult<Bound<'py, Node>> {
        let own = slf.get();
        let id = own.with(slf.py(), |live, path| live.get_attr(path, qualified_name, own.place(live)))?;
        node(slf, id)
    }
    /// Inserts a node of an opcode: `call_function`, `get_attr`, or, of a subgraph, `placeholder`.
    #[pyo3(signature = (op, target, args = None, kwargs = None, name = None))]
    fn create_node<'py>(
        slf: &Bound<'py, Self>,
        op: &str,
        target: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
        name: Option<String>,
    ) -> PyResult<Bound<'py, Node>> {
        match op {
            "call_function" => Graph::call_function(slf, target, args, kwargs, name),
            "get_attr" => Graph::get_attr(slf, &target.extract::<String>()?),
            "placeholder" => Graph::placeholder(slf, &target.extract::<String>()?, None),
            "call_module" | "call_method" => {
                Err(refused(slf.py(), &format!("an exported program has no {op} nodes: call operators")))
            }
            _ => Err(refused(slf.py(), &format!("expected call_function, get_attr or placeholder, got {op:?}"))),
        }
    }
    /// Stores a tensor as a parameter, and inserts the input that stands for it.
    fn parameter<'py>(slf: &Bound<'py, Self>, name: &str, tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Node>> {
        lift(slf, InputKind::Parameter(name.into()), tensor)
    }
    /// Stores a tensor as a buffer, and inserts the input that stands for it.
    #[pyo3(signature = (name, tensor, persistent = true))]
    fn buffer<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        tensor: &Bound<'py, PyAny>,
        persistent: bool,
    ) -> PyResult<Bound<'py, Node>> {
        lift(slf, InputKind::Buffer { name: name.into(), persistent }, tensor)
    }
    /// Stores a tensor as a constant, and inserts the input that stands for it.
    fn constant<'py>(slf: &Bound<'py, Self>, name: &str, tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Node>> {
        lift(slf, InputKind::TensorConstant(name.into()), tensor)
    }
    /// Erases a node that nothing uses. With the input of a stored tensor, the tensor goes, too.
    fn erase_node(slf: &Bound<'_, Self>, to_erase: &Bound<'_, Node>) -> PyResult<()> {
        let id = to_erase.get().id_in(slf.py(), slf.get())?;
        slf.get().with(slf.py(), |live, path| live.erase(path, id))
    }
    /// Inserts a copy of a node, which may be of another graph; `arg_transform` gives for each node that it uses the
    /// one to use here.
    #[pyo3(signature = (node, arg_transform = None))]
    fn node_copy<'py>(
        slf: &Bound<'py, Self>,
        node: &Bound<'py, Node>,
        arg_transform: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Node>> {
        let py = slf.py();
        let source = node.get();
        let original = source.with(py, |live, path, id| Ok(live.node(path, id)?.clone()))?;
        let op = match &original.kind {
            NodeKind::CallFunction(op) => op.clone(),
            NodeKind::GetAttr(name) => return Graph::get_attr(slf, name),
            kind => return Err(refused(py, &format!("a node of the opcode {} cannot be copied", opcode(kind)))),
        };
        let mut used = std::collections::HashMap::new();
        for id in original.inputs() {
            let input = crate::handle::node(source.graph.bind(py), id)?.into_any();
            let instead = match arg_transform {
                Some(transform) => transform.call1((input,))?,
                None => input,
            };
            used.insert(id, from_python(slf, &instead)?);
        }
        let mut swap = |id: NodeId| used.get(&id).cloned().unwrap_or(Argument::None);
        let args = original.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
        let kwargs = original.kwargs.map_nodes(&mut swap);
        known(slf.get(), py, &op)?;
        insert(slf, Made { op, args, kwargs, name: Some(original.name.to_string()), origin: original.meta })
    }
    /// Erases what nothing uses and what has no effect, in subgraphs, too; true if there was something.
    /// `is_impure_node` says of a node whether it stays; then subgraphs are left alone.
    #[pyo3(signature = (is_impure_node = None))]
    fn eliminate_dead_code(slf: &Bound<'_, Self>, is_impure_node: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let (py, own) = (slf.py(), slf.get());
        let Some(is_impure) = is_impure_node else {
            return own.with(py, |live, path| live.eliminate_dead(path));
        };
        let ids = own.with(py, |live, path| {
            live.in_order(path)?;
            Ok(live.graph(path)?.ids().collect::<Vec<_>>())
        })?;
        let mut changed = false;
        for id in ids.into_iter().rev() {
            let is_candidate = own.with(py, |live, path| {
                let graph = live.graph(path)?;
                let is_inner = |n: &oxport::Node| !matches!(n.kind, NodeKind::Placeholder | NodeKind::Output);
                Ok(graph.get(id).is_some_and(is_inner) && graph.users(id).is_empty())
            })?;
            if is_candidate && !is_impure.call1((node(slf, id)?,))?.is_truthy()? {
                own.with(py, |live, path| live.erase(path, id))?;
                changed = true;
            }
        }
        Ok(changed)
    }
    /// Checks the edited program, without taking it: an exception has everything that is wrong.
    fn lint(&self, py: Python<'_>) -> PyResult<()> {
        match self.shared.with_detached(py, |live| live.checked().map(drop))? {
            Ok(()) => Ok(()),
            Err(found) => Err(invalid(found)),
        }
    }
    /// Prints the nodes as a table.
    fn print_tabular(slf: &Bound<'_, Self>) -> PyResult<()> {
        fx(slf.py(), "_print_tabular")?.call1((slf,)).map(drop)
    }
    /// The node that says what the graph returns.
    fn output_node<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Node>> {
        let no_output = || "the graph has no output".to_string();
        let id = slf.get().with(slf.py(), |live, path| live.graph(path)?.output().ok_or_else(no_output))?;
        node(slf, id)
    }
    /// The subgraphs by name: branches of `cond`, bodies of loops. They are edited likewise.
    #[getter]
    fn subgraphs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let names = slf
            .get()
            .with(slf.py(), |live, path| Ok(live.graph(path)?.subgraphs.keys().cloned().collect::<Vec<_>>()))?;
        let found = PyDict::new(slf.py());
        names.iter().try_for_each(|name| found.set_item(&**name, slf.get().subgraph(slf.py(), name)?))?;
        Ok(found)
    }
    /// Drops the edits that the program does not have. Nodes that were met before are no longer of the graph.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        fx(slf.py(), "_reset")?.call1((slf,)).map(drop)
    }
    /// The program whose graph this is; None for a copy.
    #[getter]
    fn owning_program<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.owner(py)
    }
    /// Whether there are edits that the program does not have yet.
    #[getter]
    fn is_edited(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |live, _| Ok(live.is_edited))
    }
    /// A copy, with copies of all nodes, which belongs to no program.
    fn copy(&self, py: Python<'_>) -> PyResult<Graph> {
        let live = self.with(py, |live, _| Ok(live.clone()))?;
        Graph::at(py, live, self.path.clone())
    }
    fn __copy__(&self, py: Python<'_>) -> PyResult<Graph> {
        self.copy(py)
    }
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Graph> {
        let _ = memo;
        self.copy(py)
    }
    /// The least and the greatest value that a size may have, None where there is no bound.
    fn range_of(&self, py: Python<'_>, size: &Bound<'_, PyAny>) -> PyResult<(Option<i64>, Option<i64>)> {
        let e = match size.cast::<SymInt>() {
            Ok(size) => size.get().0.clone(),
            Err(_) => crate::fake::expression(size)?,
        };
        self.with(py, |live, _| {
            let range = live.program.env.range_of(&e);
            Ok((range.min_int(), range.max_int()))
        })
    }
    /// The graph as PyTorch prints it, one line a node.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |live, path| {
            live.settle();
            Ok(oxport::print::fx(live.graph(path)?))
        })
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.with(py, |live, path| Ok(live.graph(path)?.len()))?;
        let name = if self.path.is_empty() { String::new() } else { format!(" {}", self.path.join(".")) };
        Ok(format!("<oxport.fx.Graph{name} of {count} nodes>"))
    }
}

fn point(
    graph: &Bound<'_, Graph>,
    n: Option<&Bound<'_, Node>>,
    at: fn(NodeId) -> Place,
    otherwise: Place,
) -> PyResult<InsertPoint> {
    let place = match n {
        Some(n) => at(n.get().id_in(graph.py(), graph.get())?),
        None => otherwise,
    };
    let epoch = graph.get().with(graph.py(), |live, _| Ok(live.epoch))?;
    Ok(InsertPoint { graph: graph.clone().unbind(), back: graph.get().set_place((place, epoch)) })
}

fn insert<'py>(graph: &Bound<'py, Graph>, mut made: Made) -> PyResult<Bound<'py, Node>> {
    by_schema(&made.op, &mut made.args, &mut made.kwargs);
    let own = graph.get();
    let id = own.with(graph.py(), |live, path| live.call(path, made, own.place(live)))?;
    node(graph, id)
}

fn lift<'py>(graph: &Bound<'py, Graph>, kind: InputKind, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Node>> {
    // The array may be written later; a program's tensors are its own.
    let tensor = tensor::unshared(tensor::from_python(x)?)?;
    let id = graph.get().with(graph.py(), |live, path| live.lift(path, kind, tensor))?;
    node(graph, id)
}

/// The opcode of a node.
pub(crate) fn opcode(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Placeholder => "placeholder",
        NodeKind::CallFunction(_) => "call_function",
        NodeKind::GetAttr(_) => "get_attr",
        NodeKind::Output => "output",
    }
}

/// The target of a node that calls nothing.
pub(crate) fn target_name(node: &oxport::Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Placeholder => Some(&node.name),
        NodeKind::GetAttr(name) => Some(name),
        NodeKind::Output => Some("output"),
        NodeKind::CallFunction(_) => None,
    }
}

/// What `inserting_before` and `inserting_after` give: at the end of `with`, the place before is taken again.
#[pyclass(frozen, module = "oxport.fx")]
pub(crate) struct InsertPoint {
    graph: Py<Graph>,
    back: (Place, u64),
}

#[pymethods]
impl InsertPoint {
    fn __enter__(&self) {}
    #[pyo3(signature = (*exception))]
    fn __exit__(&self, exception: &Bound<'_, PyTuple>) {
        let _ = exception;
        self.graph.get().set_place(self.back);
    }
}

/// The nodes of a graph in order.
#[pyclass(frozen, module = "oxport.fx")]
pub(crate) struct NodeList(Py<Graph>);

#[pymethods]
impl NodeList {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.get().with(py, |live, path| Ok(live.graph(path)?.len()))
    }
    fn __iter__(&self, py: Python<'_>) -> NodeIterator {
        NodeIterator { graph: self.0.clone_ref(py), at: Mutex::new(At::Start), forward: true }
    }
    fn __reversed__(&self, py: Python<'_>) -> NodeIterator {
        NodeIterator { graph: self.0.clone_ref(py), at: Mutex::new(At::Start), forward: false }
    }
    fn __contains__(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> bool {
        x.cast::<Node>().is_ok_and(|node| node.get().id_in(py, self.0.get()).is_ok())
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let list = PyList::type_object(py).call1((self.__iter__(py),))?;
        Ok(list.repr()?.to_string())
    }
}

/// Where an iteration is.
#[derive(Clone, Copy)]
enum At {
    Start,
    /// That node, of that program.
    Node(NodeId, u64),
    End,
}

/// An iteration over the nodes of a graph, which may be edited meanwhile.
#[pyclass(frozen, module = "oxport.fx")]
pub(crate) struct NodeIterator {
    graph: Py<Graph>,
    at: Mutex<At>,
    forward: bool,
}

#[pymethods]
impl NodeIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Node>>> {
        let at = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, epoch) = self.graph.get().with(py, |live: &mut Live, path| {
            let next = match at {
                At::End => None,
                At::Node(id, epoch) => live.step(path, (id, epoch), self.forward)?,
                At::Start => live.end(path, self.forward)?,
            };
            Ok((next, live.epoch))
        })?;
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = next.map_or(At::End, |id| At::Node(id, epoch));
        next.map(|id| node(self.graph.bind(py), id)).transpose()
    }
}
