//! Calls as the text of a program has them: `torch.ops.aten.split.Tensor(x, 2)`, `torch.ops.higher_order.cond(…)`.
//!
//! Laws: a call is one node, of the overload that is named, whose results are taken apart where the text does it;
//! nothing is filled in and no number is bound beside it. A subgraph takes what its call gives it, in that order, and
//! uses nothing from around it.

use crate::autocast::autocast_of;
use crate::branch::Branch;
use crate::tracer::State;
use crate::value::Made;
use crate::{Error, Result, SymBool, SymFloat, SymInt, Tracer, Value};
use oxport_ir::infer::assertion;
use oxport_ir::schema::{FunctionSchema, Type};
use oxport_ir::verify::{batched, subgraph_inputs};
use oxport_ir::{Argument, Assertion, Builder, Kwargs, Node, NodeId, NodeKind, NodeMeta, Op, Val};
use oxport_tensor::DType;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// What such a call gives.
#[derive(Clone, Debug)]
pub enum Given {
    /// One value.
    Value(Value),
    /// Several results.
    Several(Several),
}

/// The results of one call, each of which becomes a node when it is asked for.
#[derive(Clone, Debug)]
pub struct Several {
    tracer: Tracer,
    node: NodeId,
    taken: Rc<RefCell<HashMap<usize, Value>>>,
    len: usize,
}

impl Several {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// One of them; the same node whenever it is asked for.
    ///
    /// # Errors
    /// There is none at this position.
    #[track_caller]
    pub fn get(&self, index: usize) -> Result<Value> {
        if let Some(value) = self.taken.borrow().get(&index) {
            return Ok(value.clone());
        }
        let origin = self.tracer.here(Location::caller(), "getitem");
        let mut state = self.tracer.state_mut();
        let getitem = state.registry.op("_operator::getitem");
        let args = vec![Argument::Node(self.node), Argument::Int(index as i64)];
        let node = state.add_call(&getitem, args, Kwargs::new(), &origin)?;
        let value = match state.given_of(&self.tracer, node) {
            Given::Value(value) => value,
            Given::Several(_) => return Err(Error::unsupported("a list of results within a list of results")),
        };
        self.taken.borrow_mut().insert(index, value.clone());
        Ok(value)
    }
}

/// A call of a higher-order operator whose subgraphs are being traced.
pub struct HigherOrder {
    op: Op,
    args: Vec<Argument>,
    kwargs: Kwargs,
    origin: NodeMeta,
}

impl Tracer {
    /// Calls the overload of that full name, `aten.split.Tensor`, as it stands.
    ///
    /// # Errors
    /// As [`Tracer::op`].
    #[track_caller]
    pub fn given(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Result<Given> {
        let trace = self.trace(Location::caller(), name);
        let node = self.call_node(name, args, kwargs, &trace, false).map_err(|e| e.traced(Some(&trace)))?;
        Ok(self.state_mut().given_of(self, node))
    }

    /// Calls a Python function that programs have as calls: `torch._C._set_grad_enabled`.
    ///
    /// # Errors
    /// An argument is of another capture, or the function has no meta function here.
    #[track_caller]
    pub fn function(&self, target: &str, args: &[Value]) -> Result<Given> {
        let origin = self.here(Location::caller(), target);
        let mut state = self.state_mut();
        let args = args.iter().map(|a| state.plain(self, a, &origin)).collect::<Result<Vec<_>>>()?;
        let op = state.registry.op(target);
        let node = match op.def() {
            Some(_) => state.add_call(&op, args, Kwargs::new(), &origin)?,
            // What only opens or closes a region gives nothing but its node.
            None => {
                let node = state.add_without_value(&op, args, Kwargs::new(), &origin)?;
                let graph = &state.program.graph;
                let val = match batched(graph.node(node), &|id| graph.node(id).val()) {
                    Some(fake) => Val::Tensor(fake.map_err(Error::invalid)?),
                    None => Val::None,
                };
                state.program.graph.meta_mut(node).val = Some(val);
                node
            }
        };
        match state.program.graph.node(node).val() {
            // A mark that another call names.
            Some(Val::None) => Ok(Given::Value(Value::Tensor(self.tensor(node)))),
            _ => Ok(state.given_of(self, node)),
        }
    }

    /// Begins a call of a higher-order operator; `None` stands where a subgraph is.
    ///
    /// # Errors
    /// An argument is of another capture.
    #[track_caller]
    pub fn higher_order(&self, name: &str, args: &[Option<Value>], kwargs: &[(&str, Value)]) -> Result<HigherOrder> {
        let origin = self.here(Location::caller(), name);
        let mut state = self.state_mut();
        let op = state.registry.op(&format!("higher_order::{name}"));
        let mut lowered = Vec::with_capacity(args.len());
        for value in args {
            lowered.push(match value {
                Some(value) => state.plain(self, value, &origin)?,
                None => Argument::None,
            });
        }
        let mut named = Kwargs::new();
        for (key, value) in kwargs {
            named.insert(Arc::from(*key), state.plain(self, value, &origin)?);
        }
        Ok(HigherOrder { op, args: lowered, kwargs: named, origin })
    }
    /// Begins the subgraph at that position: its inputs, by these names.
    ///
    /// # Errors
    /// There is no subgraph at that position; the operands do not say what its inputs are; or there are more or fewer.
    pub fn enter_subgraph(&self, call: &HigherOrder, position: usize, names: &[String]) -> Result<Vec<Value>> {
        let mut state = self.state_mut();
        let parameter = call.op.intrinsic().and_then(|i| i.parameters().get(position).copied());
        let node = Node {
            kwargs: call.kwargs.clone(),
            ..Node::new("call", NodeKind::CallFunction(call.op.clone()), call.args.clone())
        };
        let vals = parameter.and_then(|parameter| subgraph_inputs(&state.program.graph, &node, parameter));
        let vals =
            vals.ok_or_else(|| Error::unsupported(format!("a function as argument {position} of {}", call.op.name())))?;
        if vals.len() != names.len() {
            let (takes, gives, op) = (names.len(), vals.len(), call.op.name());
            return Err(Error::invalid(format!("a function takes {takes} arguments, {op} gives it {gives}")));
        }
        let region = autocast_of(&node).or_else(|| state.autocast());
        state.regions.push(region);
        state.enter(Branch::apart());
        let mut inputs = Vec::with_capacity(vals.len());
        for (name, val) in names.iter().zip(vals) {
            let node = state.apart_input(name, val.clone())?;
            inputs.push(match val {
                Some(Val::None) | None => Value::None,
                Some(_) => match state.given_of(self, node) {
                    Given::Value(value) => value,
                    Given::Several(_) => return Err(Error::unsupported("a list as an operand")),
                },
            });
        }
        Ok(inputs)
    }
    /// Ends the subgraph with these results, or one bare result.
    ///
    /// # Errors
    /// A result is no value of a program, or the subgraph uses a value from around it.
    pub fn leave_subgraph(
        &self,
        call: &mut HigherOrder,
        position: usize,
        name: &str,
        results: &[Value],
        is_bare: bool,
    ) -> Result<()> {
        let mut state = self.state_mut();
        let outputs: Result<Vec<Argument>> = results.iter().map(|v| state.result(self, v)).collect();
        let closed = outputs.and_then(|outputs| {
            state.program.graph.is_single_return = is_bare;
            Ok(state.program.graph.append(Node::new("output", NodeKind::Output, outputs))?)
        });
        let branch = state.leave();
        state.regions.pop();
        closed?;
        let argument = state.add_graph(branch?, name)?;
        match call.args.get_mut(position) {
            Some(slot) => *slot = argument,
            None => return Err(Error::invalid("there is no such argument")),
        }
        Ok(())
    }
    /// Drops the subgraph that is being traced.
    pub fn drop_subgraph(&self) {
        // Only called within one.
        let mut state = self.state_mut();
        let _ = state.leave();
        state.regions.pop();
    }
    /// The call, once all of its subgraphs are traced.
    ///
    /// # Errors
    /// The operator refuses its operands or subgraphs.
    pub fn finish_higher_order(&self, call: HigherOrder) -> Result<Given> {
        let mut state = self.state_mut();
        let node = state.add_call(&call.op, call.args, call.kwargs, &call.origin)?;
        Ok(state.given_of(self, node))
    }
}

impl State {
    /// The bound arguments of a call, by position and by name as they were given. What is written is the tensor itself,
    /// not what was last written to it.
    pub(crate) fn lower_given(
        &mut self,
        tracer: &Tracer,
        op: &Op,
        bound: Vec<Option<Value>>,
        (positional, named): (usize, &[(&str, Value)]),
        origin: &NodeMeta,
    ) -> Result<(Vec<Argument>, Kwargs)> {
        let schema = op.schema().ok_or_else(|| Error::invalid(format!("{} has no schema", op.name())))?;
        let (mut args, mut lowered) = (Vec::new(), Vec::new());
        for (at, (param, value)) in schema.args.iter().zip(bound).enumerate() {
            let Some(value) = value else { continue };
            let argument = match &value {
                Value::Tensor(tensor) if param.is_written() && tensor.tracer.is_same(tracer) => {
                    tensor.node.map(Argument::Node)
                }
                _ => None,
            };
            let argument = match argument {
                Some(argument) => argument,
                None => self.lower(tracer, &value, &param.ty, origin)?,
            };
            match at < positional {
                true => args.push(argument),
                false => lowered.push((&*param.name, argument)),
            }
        }
        // In the order in which they were given.
        lowered.sort_by_key(|(name, _)| named.iter().position(|(given, _)| given == name));
        Ok((args, lowered.into_iter().map(|(name, argument)| (Arc::from(name), argument)).collect()))
    }
    /// Adds a call as it was given; what it asserts holds from then on.
    pub(crate) fn add_given(
        &mut self,
        op: &Op,
        args: Vec<Argument>,
        kwargs: Kwargs,
        origin: &NodeMeta,
    ) -> Result<NodeId> {
        let gives_tensors = op.schema().is_some_and(|s| s.returns.iter().any(|r| r.ty.is_tensor_like()));
        let node = match self.add_call(op, args.clone(), kwargs.clone(), origin) {
            // `detach_` and the like give their argument.
            Err(error) if error.is_unsupported() && is_identity(op) => {
                let of = args.first().and_then(Argument::as_node);
                let val = of.and_then(|of| self.program.graph.node(of).val().cloned());
                let node = self.add_without_value(op, args, kwargs, origin)?;
                self.program.graph.meta_mut(node).val = val;
                node
            }
            // PyTorch records no value of some calls.
            Err(error) if error.is_unsupported() && !gives_tensors => {
                self.add_without_value(op, args, kwargs, origin)?
            }
            added => added?,
        };
        match assertion(&self.program.graph, self.program.graph.node(node), &self.program.env) {
            Assertion::Holds(relation) => self.program.env.add_fact(&relation),
            Assertion::InRange(e, range) => self.program.env.constrain(&e, &range),
            Assertion::Nothing => {}
        }
        Ok(node)
    }
    pub(crate) fn add_without_value(
        &mut self,
        op: &Op,
        args: Vec<Argument>,
        kwargs: Kwargs,
        origin: &NodeMeta,
    ) -> Result<NodeId> {
        let name = self.names.create(op.stem());
        let builder = Builder::new(&mut self.program.graph, &mut self.program.env, &self.registry);
        Ok(builder.with_origin(origin).named(&name).add(op, args, kwargs, None)?)
    }
    /// The dtype of the autocast region that is being traced.
    pub(crate) fn autocast(&self) -> Option<DType> {
        self.regions.last().copied().flatten()
    }
    /// An argument of what has no schema.
    fn plain(&mut self, tracer: &Tracer, value: &Value, origin: &NodeMeta) -> Result<Argument> {
        self.lower(tracer, value, &Type::Scalar, origin)
    }
    /// What a node gives, taken apart by nobody yet.
    fn given_of(&mut self, tracer: &Tracer, node: NodeId) -> Given {
        Given::Value(match self.program.graph.node(node).val().cloned().unwrap_or(Val::None) {
            Val::Tensor(fake) => {
                for (dim, size) in fake.sizes.iter().enumerate() {
                    if size.as_symbol().is_some_and(|s| s.is_unbacked()) {
                        self.numbers.readable.entry(size.clone()).or_insert((node, dim as i64));
                    }
                }
                Value::Tensor(tracer.tensor(node))
            }
            val @ (Val::Int(_) | Val::Float(_) | Val::Bool(_)) => {
                let mut value = self.number_of(tracer, node, val);
                if let Value::Int(SymInt(s)) | Value::Float(SymFloat(s)) | Value::Bool(SymBool(s)) = &mut value {
                    s.made = Some(Rc::new(Made::Given(node)));
                }
                value
            }
            Val::List(items) => {
                let taken = Rc::default();
                return Given::Several(Several { tracer: tracer.clone(), node, taken, len: items.len() });
            }
            Val::Str(s) => Value::Str((&*s).into()),
            Val::None | Val::Token | Val::Object(_) => Value::None,
        })
    }
}

/// Whether a call gives its only argument, which it writes at most marks of.
fn is_identity(op: &Op) -> bool {
    let takes_itself = |s: &FunctionSchema| matches!(&s.args[..], [only] if only.is_written());
    op.def().is_none() && op.schema().is_some_and(takes_itself)
}
