//! [`Ready`]: a planned program, and the way of a call: arguments to values, values to results.
//!
//! Laws: an array of the caller is written where the program writes its input, and nowhere else; results belong to the
//! caller alone.

use crate::errors::{raise_call, usage};
use crate::tensor::{self, Tensor};
use crate::trees::{self, Arguments};
use indexmap::IndexMap;
use oxport::{Module, Outputs, Plan, Tree, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A planned program.
pub(crate) struct Ready {
    /// Takes arguments apart; its buffers are not used.
    pub(crate) module: Module,
    /// The buffers that calls change, if there are some.
    pub(crate) state: Option<Mutex<Module>>,
}

/// The lock of a mutex; a panic elsewhere has left nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ready {
    pub(crate) fn new(plan: Plan) -> Ready {
        let plan = Arc::new(plan);
        let module = Module::new(plan.clone());
        let state = (!plan.state().is_empty()).then(|| Mutex::new(Module::new(plan)));
        Ready { module, state }
    }
    /// The flat inputs of a call.
    pub(crate) fn inputs<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        given: &mut Arguments<'py>,
    ) -> PyResult<Vec<Value>> {
        let spec = self.module.plan().signature().map(|s| &s.in_spec);
        let (spec_args, spec_kwargs) = match spec.map(|s| s.children()) {
            Some([args, kwargs]) => (args.children(), Some(kwargs)),
            _ => (&[][..], None),
        };
        let trees = args.iter().enumerate().map(|(i, x)| given.tree(&x, spec_args.get(i)));
        let trees = trees.collect::<PyResult<Vec<_>>>()?;
        let mut named: IndexMap<String, Tree<Value>> = IndexMap::new();
        for (name, x) in kwargs.into_iter().flatten() {
            let name: String = name.extract()?;
            let spec = spec_kwargs.and_then(|s| s.get(&oxport::pytree::Key::Str(name.clone())));
            named.insert(name, given.tree(&x, spec)?);
        }
        if spec.is_none() && named.is_empty() {
            return Ok(trees.into_iter().flat_map(|t| t.into_flat().0).collect());
        }
        self.module.flatten(trees, named).map_err(raise_call)
    }
    /// A call.
    pub(crate) fn call(&self, py: Python<'_>, inputs: Vec<Value>) -> PyResult<Outputs> {
        py.detach(|| match &self.state {
            None => self.module.plan().call(inputs, Vec::new(), None),
            Some(state) => lock(state).call_flat(inputs),
        })
        .map_err(raise_call)
    }
    /// The flat results of a call, after the new values of inputs were written into the caller's arrays. `ids` are the
    /// [`storages`] of the inputs.
    pub(crate) fn written<'py>(
        &self,
        py: Python<'py>,
        outputs: Outputs,
        given: &Arguments<'py>,
        ids: &[Option<usize>],
    ) -> PyResult<Vec<Value>> {
        for (input, new) in outputs.mutated_inputs {
            let owner = ids[input].and_then(|id| given.owners.iter().find(|(owner, _)| *owner == id));
            if let Some((_, owner)) = owner {
                write_back(py, owner, new)?;
            }
        }
        Ok(outputs.user)
    }
    /// The result of a call in the structure that was exported.
    pub(crate) fn result<'py>(
        &self,
        py: Python<'py>,
        outputs: Outputs,
        given: &Arguments<'py>,
        ids: &[Option<usize>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let user = self.written(py, outputs, given, ids)?;
        match self.module.plan().signature() {
            Some(signature) => {
                let tree = signature.out_spec.unflatten(user);
                let tree = tree.map_err(|e| usage(format!("the outputs do not match the program's out_spec: {e}")))?;
                trees::object(py, tree, given.library)
            }
            None => {
                let all = user.into_iter().map(|v| trees::leaf(py, v, given.library)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, all)?.into_any())
            }
        }
    }
}

/// Writes what a program has written to an input into the caller's array, as PyTorch does.
fn write_back<'py>(py: Python<'py>, owner: &Bound<'py, PyAny>, new: oxport::Tensor) -> PyResult<()> {
    if owner.cast::<Tensor>().is_ok() {
        return Err(usage(
            "the program writes an input: expected an array of NumPy or a tensor of PyTorch, got an oxport.Tensor",
        ));
    }
    if owner.hasattr(intern!(py, "requires_grad"))? {
        let new = trees::array(py, new, tensor::Library::Torch)?;
        let owner = owner.call_method0(intern!(py, "detach"))?;
        owner.call_method1(intern!(py, "copy_"), (new,))?;
        return Ok(());
    }
    let new = trees::array(py, new, tensor::Library::Other)?;
    owner.set_item(py.Ellipsis(), new)
}

/// The storages of the inputs that are tensors.
pub(crate) fn storages(inputs: &[Value]) -> Vec<Option<usize>> {
    inputs.iter().map(|v| v.as_tensor().map(|t| t.storage().id())).collect()
}

pub(crate) fn set_buffers(module: &mut Module, state: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, value) in state {
        // A copy: the caller may write the array later.
        let value = tensor::unshared(tensor::from_python(&value)?)?;
        module.set_buffer(&name.extract::<String>()?, value).map_err(raise_call)?;
    }
    Ok(())
}
