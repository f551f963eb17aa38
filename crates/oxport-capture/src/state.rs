//! The tensors that a program has beside its inputs: parameters, buffers, and constants.
//!
//! Law: what `forward` makes of data is copied where it is made, so that writes to it end with the call.

use crate::tracer::{State, Tracer};
use crate::value::Tensor;
use crate::{Error, Result, naming};
use oxport_ir::{Constant, Fake, InputKind, StateTensor, Val};
use oxport_tensor::Tensor as Data;
use std::panic::Location;

impl Tracer {
    /// A parameter of the program, by its name in the state dict.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn parameter(&self, name: &str, data: Data) -> Result<Tensor> {
        let requires_grad = data.dtype().is_float() || data.dtype().is_complex();
        self.parameter_as(name, data, requires_grad)
    }
    /// As [`Tracer::parameter`], of which autograd tracks or does not.
    ///
    /// # Errors
    /// As there.
    pub fn parameter_as(&self, name: &str, data: Data, requires_grad: bool) -> Result<Tensor> {
        let fake = Fake { requires_grad, ..Fake::of(&data) };
        let tensor = StateTensor { requires_grad, ..StateTensor::new(data, true) };
        self.state_mut().add_state(name, tensor)?;
        self.lifted("p_", InputKind::Parameter(name.into()), fake, name)
    }
    /// A buffer of the program, by its name; one that is not persistent is not in the state dict.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn buffer(&self, name: &str, data: Data, persistent: bool) -> Result<Tensor> {
        let fake = Fake::of(&data);
        let tensor = StateTensor::new(data, false);
        match persistent {
            true => self.state_mut().add_state(name, tensor)?,
            false => drop(self.state_mut().program.constants.insert(name.into(), Constant::Tensor(tensor))),
        }
        self.lifted("b_", InputKind::Buffer { name: name.into(), persistent }, fake, name)
    }
    /// The data of a parameter, buffer or constant.
    pub fn state_of(&self, tensor: &Tensor) -> Option<Data> {
        let state = self.state();
        let program = &state.program;
        let at = program.graph.placeholders().position(|(id, _)| Some(id) == tensor.node)?;
        Some(program.lifted(&program.signature.inputs.get(at)?.kind)?.tensor.clone())
    }
    /// A constant that the code makes, `torch.tensor([1., 2.])`: lifted, copied where it is made, so that each call
    /// writes a copy of its own, and detached, as PyTorch traces it.
    ///
    /// # Errors
    /// None, but a `Result` as every call has.
    #[track_caller]
    pub fn constant(&self, data: Data) -> Result<Tensor> {
        let fresh = self.lift_fresh(data)?;
        let node = fresh.node.ok_or_else(|| Error::invalid("expected a tensor"))?;
        let trace = self.trace(Location::caller(), "torch.tensor");
        let mut state = self.state_mut();
        let origin = state.origin(&trace);
        let detached = state.add_identity("aten.detach_", node, &origin)?;
        Ok(self.tensor(detached))
    }
    /// A constant that the code makes of data that it has, `torch.as_tensor([1., 2.])` or an index `x[[0, 2]]`: lifted
    /// and copied where it is made.
    ///
    /// # Errors
    /// None, but a `Result` as every call has.
    #[track_caller]
    pub fn lift_fresh(&self, data: Data) -> Result<Tensor> {
        let lifted = self.attribute(&self.fresh_name(), data)?;
        let fresh = self.op("aten.lift_fresh_copy", &[lifted.into()], &[])?;
        fresh.as_tensor().cloned().ok_or_else(|| Error::invalid("expected a tensor"))
    }
    /// The name that the next lifted constant without a name of its own has: `lifted_tensor_0`, `lifted_tensor_1`.
    pub fn fresh_name(&self) -> String {
        let mut state = self.state_mut();
        state.constants += 1;
        format!("lifted_tensor_{}", state.constants - 1)
    }
    /// A tensor that is an attribute of a module, and neither parameter nor buffer.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn attribute(&self, name: &str, data: Data) -> Result<Tensor> {
        let fake = Fake::of(&data);
        let constant = Constant::Tensor(StateTensor::new(data, false));
        self.state_mut().program.constants.insert(name.into(), constant);
        self.lifted("c_", InputKind::TensorConstant(name.into()), fake, name)
    }
    fn lifted(&self, prefix: &str, kind: InputKind, fake: Fake, name: &str) -> Result<Tensor> {
        let node = self.state_mut().placeholder(&naming::lifted(prefix, name), kind, Some(Val::Tensor(fake)))?;
        Ok(self.tensor(node))
    }
}

impl State {
    fn add_state(&mut self, name: &str, tensor: StateTensor) -> Result<()> {
        if self.program.state.contains_key(name) {
            return Err(Error::invalid(format!("attribute '{name}' already exists")));
        }
        self.program.state.insert(name.into(), tensor);
        Ok(())
    }
}
