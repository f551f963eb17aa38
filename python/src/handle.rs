//! [`Graph`] and [`Node`]: what Python holds of a graph that is being edited, and how it gets at it.
//!
//! Laws: two handles of one node are one object as long as somebody holds it, and equal in any case; the lock is waited
//! for without the GIL, and no object of Python is made or dropped while it is held. (An operator that is written in
//! Python may be asked while it is held: one that then uses the same graph is refused.)

use crate::infer::Path;
use crate::live::{self, Live, Place};
use oxport::{NodeId, Toolchain};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyWeakrefReference};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

/// The edited program that the graphs of one program share.
#[derive(Debug)]
pub(crate) struct Shared {
    live: Mutex<Live>,
    /// Who has it now.
    holder: Mutex<Option<ThreadId>>,
}

/// Lets the next one know that nobody has the program, whatever happens.
struct Held<'a>(&'a Shared);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Shared {
    pub(crate) fn new(live: Live) -> Arc<Shared> {
        Arc::new(Shared { live: Mutex::new(live), holder: Mutex::new(None) })
    }
    fn is_held_here(&self) -> bool {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
    }
    fn hold(&self) -> Held<'_> {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
        Held(self)
    }
    /// Reads or edits the program.
    pub(crate) fn with<T>(&self, py: Python<'_>, f: impl FnOnce(&mut Live) -> live::Result<T>) -> PyResult<T> {
        if self.is_held_here() {
            return Err(refused(py, "the graph is in use by the edit that asks this function"));
        }
        let done = {
            let mut live = self.live.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            let _held = self.hold();
            f(&mut live)
        };
        done.map_err(|message| refused(py, &message))
    }
    /// As [`Shared::with`], for what takes long: others may run meanwhile.
    pub(crate) fn with_detached<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Live) -> T + Send) -> PyResult<T> {
        if self.is_held_here() {
            return Err(refused(py, "the graph is in use by the edit that asks this function"));
        }
        Ok(py.detach(|| {
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            let _held = self.hold();
            f(&mut live)
        }))
    }
}

/// The exception for an edit that is refused.
pub(crate) fn refused(py: Python<'_>, message: &str) -> PyErr {
    let made = fx(py, "GraphError").and_then(|class| class.call1((message,)));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// What the Python part of the package has by that name.
pub(crate) fn fx<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("oxport.fx")?.getattr(name)
}

/// A graph of a program, to be inspected and edited as `torch.fx.Graph` is.
///
/// Edits take effect by `Program.recompile`, which checks the program as a whole. `oxport.fx` says what differs.
#[pyclass(frozen, weakref, module = "oxport.fx", name = "Graph")]
pub(crate) struct Graph {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: Path,
    pub(crate) toolchain: Toolchain,
    place: Mutex<(Place, u64)>,
    /// The nodes that somebody holds, by number.
    held: Py<PyAny>,
    subgraphs: Py<PyDict>,
    owner: Option<Py<PyWeakrefReference>>,
}

impl Graph {
    /// The program's own graph, over a copy of it.
    pub(crate) fn new(py: Python<'_>, live: Live, owner: Option<&Bound<'_, PyAny>>) -> PyResult<Graph> {
        let toolchain = live.toolchain.clone();
        let owner = owner.map(PyWeakrefReference::new).transpose()?.map(Bound::unbind);
        Graph::of(py, Shared::new(live), Path::new(), toolchain, owner)
    }
    /// A graph of no program.
    pub(crate) fn at(py: Python<'_>, live: Live, path: Path) -> PyResult<Graph> {
        let toolchain = live.toolchain.clone();
        Graph::of(py, Shared::new(live), path, toolchain, None)
    }
    fn of(
        py: Python<'_>,
        shared: Arc<Shared>,
        path: Path,
        toolchain: Toolchain,
        owner: Option<Py<PyWeakrefReference>>,
    ) -> PyResult<Graph> {
        let held = py.import("weakref")?.getattr("WeakValueDictionary")?.call0()?.unbind();
        let (place, subgraphs) = (Mutex::default(), PyDict::new(py).unbind());
        Ok(Graph { shared, path, toolchain, place, held, subgraphs, owner })
    }
    /// Reads or edits the graph.
    pub(crate) fn with<T>(&self, py: Python<'_>, f: impl FnOnce(&mut Live, &Path) -> live::Result<T>) -> PyResult<T> {
        self.shared.with(py, |live| f(live, &self.path))
    }
    /// Where nodes are inserted.
    pub(crate) fn place(&self, live: &Live) -> Place {
        let (place, epoch) = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if epoch == live.epoch { place } else { Place::End }
    }
    /// Inserts there from now on, as long as the program is that one; gives the place before.
    pub(crate) fn set_place(&self, place: (Place, u64)) -> (Place, u64) {
        std::mem::replace(&mut *self.place.lock().unwrap_or_else(PoisonError::into_inner), place)
    }
    /// The program whose graph this is, while it is there.
    pub(crate) fn owner<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        use pyo3::types::PyWeakrefMethods;
        self.owner.as_ref()?.bind(py).upgrade()
    }
    /// The graph of a subgraph; the same object each time.
    pub(crate) fn subgraph<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, Graph>> {
        let known = self.subgraphs.bind(py);
        if let Some(graph) = known.get_item(name)? {
            return Ok(graph.cast_into::<Graph>()?);
        }
        let path: Path = self.path.iter().cloned().chain([name.into()]).collect();
        let owner = self.owner.as_ref().map(|owner| owner.clone_ref(py));
        let made = Graph::of(py, self.shared.clone(), path, self.toolchain.clone(), owner)?;
        let made = Bound::new(py, made)?;
        // Another thread may have been faster.
        let graph = known.call_method1("setdefault", (name, made))?;
        Ok(graph.cast_into::<Graph>()?)
    }
}

/// A node of a graph, as `torch.fx.Node`.
#[pyclass(frozen, weakref, module = "oxport.fx", name = "Node")]
pub(crate) struct Node {
    pub(crate) graph: Py<Graph>,
    pub(crate) id: NodeId,
    /// Which of the programs it is of that the graph had.
    epoch: u64,
    /// Its name when it was first met: what is said of it once it is erased.
    met: Arc<str>,
}

impl Node {
    /// Reads or edits the node.
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Live, &Path, NodeId) -> live::Result<T>,
    ) -> PyResult<T> {
        self.graph.get().with(py, |live, path| {
            if live.epoch != self.epoch {
                return Err(format!("the node `{}` is of the graph before it was reset", self.met));
            }
            match live.graph(path)?.get(self.id) {
                Some(_) => f(live, path, self.id),
                None => Err(format!("the node `{}` was erased", self.met)),
            }
        })
    }
    /// What tells it from all other nodes of the graph.
    pub(crate) fn identity(&self) -> (NodeId, u64) {
        (self.id, self.epoch)
    }
    /// Whether it is a node of that graph.
    pub(crate) fn is_beside(&self, graph: &Graph) -> bool {
        let own = self.graph.get();
        Arc::ptr_eq(&own.shared, &graph.shared) && own.path == graph.path
    }
    /// The id in a graph.
    pub(crate) fn id_in(&self, py: Python<'_>, graph: &Graph) -> PyResult<NodeId> {
        if !self.is_beside(graph) {
            return Err(refused(py, &format!("expected a node of this graph, got `{}` of another one", self.met)));
        }
        self.with(py, |_, _, id| Ok(id))
    }
    /// The name that is said of it in messages, whether it is there or not.
    pub(crate) fn met(&self) -> &Arc<str> {
        &self.met
    }
}

/// The handle of a node.
pub(crate) fn node<'py>(graph: &Bound<'py, Graph>, id: NodeId) -> PyResult<Bound<'py, Node>> {
    let (py, own) = (graph.py(), graph.get());
    let held = own.held.bind(py);
    let (met, epoch) = own.with(py, |live, path| Ok((live.node(path, id)?.name.clone(), live.epoch)))?;
    let key = id.index();
    let found = held.call_method1("get", (key,))?;
    if let Ok(found) = found.cast_into::<Node>()
        && (found.get().id, found.get().epoch) == (id, epoch)
    {
        return Ok(found);
    }
    let made = Bound::new(py, Node { graph: graph.clone().unbind(), id, epoch, met })?;
    held.set_item(key, &made)?;
    Ok(made)
}

/// The handles of nodes.
pub(crate) fn nodes<'py>(
    graph: &Bound<'py, Graph>,
    ids: impl IntoIterator<Item = NodeId>,
) -> PyResult<Vec<Bound<'py, Node>>> {
    ids.into_iter().map(|id| node(graph, id)).collect()
}
