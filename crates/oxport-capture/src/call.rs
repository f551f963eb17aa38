//! From a call as code has it to a node as PyTorch traces it.
//!
//! What the dispatcher of PyTorch hands to its tracer stands in the graph: numbers of the type of the schema, lists
//! of full
//! length, defaults left out from the end, options of new tensors as the functions of Python fill them in.

use crate::autocast::{Inferred, Scope};
use crate::memo::read_by;
use crate::overload;
use crate::{Error, Result, SymBool, SymFloat, SymInt, Tracer, Value};
use oxport_ir::schema::{FunctionSchema, TENSOR_OPTIONS, Type};
use oxport_ir::{Argument, Autocast, Builder, Device, Kwargs, NodeId, NodeMeta, Op, Val};
use oxport_sym::{Expr, Symbol};
use std::sync::Arc;

use crate::tracer::State;

impl Tracer {
    pub(crate) fn call(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)], trace: &Arc<str>) -> Result<Value> {
        let node = self.call_node(name, args, kwargs, trace, true)?;
        let mut state = self.state_mut();
        let origin = state.origin(trace);
        state.value_of(self, node, &origin)
    }
    /// The node of a call: of one by a function of Python, which fills in options of new tensors, or of one as given.
    pub(crate) fn call_node(
        &self,
        name: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        trace: &Arc<str>,
        fills: bool,
    ) -> Result<NodeId> {
        if args.iter().chain(kwargs.iter().map(|(_, v)| v)).any(Value::is_void) {
            return Err(Error::invalid("an argument is the result of a refused call"));
        }
        let (registry, packets) = {
            let state = self.state();
            (state.registry.clone(), state.packets.clone())
        };
        let overloads = packets.overloads(&registry, name)?;
        let (op, bound) = overload::resolve(&overloads, args, kwargs)?;
        let mut state = self.state_mut();
        let origin = state.origin(trace);
        let (args, kwargs) = match fills {
            true => state.lower_all(self, &op, bound, &origin)?,
            false => state.lower_given(self, &op, bound, (args.len(), kwargs), &origin)?,
        };
        let written = match (op.schema().and_then(|s| s.args.first()), args.first()) {
            (Some(param), Some(Argument::Node(tensor))) if param.is_written() => Some(*tensor),
            _ => None,
        };
        let node = match fills {
            true => state.add_call(&op, args, kwargs, &origin)?,
            false => state.add_given(&op, args, kwargs, &origin)?,
        };
        if let Some(tensor) = written {
            state.wrote(tensor, node);
        }
        Ok(node)
    }
}

impl State {
    /// The bound arguments of a call, by position and by name, defaults left out as PyTorch leaves them out
    /// (`parseIValuesToPyArgsKwargs`).
    fn lower_all(
        &mut self,
        tracer: &Tracer,
        op: &Op,
        bound: Vec<Option<Value>>,
        origin: &NodeMeta,
    ) -> Result<(Vec<Argument>, Kwargs)> {
        let schema = op.schema().ok_or_else(|| Error::invalid(format!("{} has no schema", op.name())))?;
        let is_factory = makes_tensors(op, schema);
        let takes_tensor = schema.args.iter().any(|p| p.ty.is_tensor_like());
        let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
        // How many leading positional arguments are needed: up to the last that is not its default.
        let mut needed = 0;
        for (param, value) in schema.args.iter().zip(bound) {
            let given = match value {
                Some(value) => Some(self.lower(tracer, &value, &param.ty, origin)?),
                None if is_factory && &*param.name == "pin_memory" => Some(Argument::Bool(false)),
                None if is_factory && !takes_tensor && &*param.name == "device" => {
                    Some(Argument::Device(Device::cpu()))
                }
                None => None,
            };
            // PyTorch's loader wants a value where the name is a keyword of Python, which `from` alone is.
            let is_default = (given.is_none() || given == param.default) && &*param.name != "from";
            let value = given.or_else(|| param.default.clone()).unwrap_or(Argument::None);
            if !param.kw_only {
                args.push(value);
                needed = if is_default { needed } else { args.len() };
            } else if !is_default {
                kwargs.insert(Arc::from(&*param.name), value);
            }
        }
        // An argument without default that stands behind is given too.
        let required = schema.args[..schema.positional()].iter().rposition(|p| p.default.is_none());
        args.truncate(needed.max(required.map_or(0, |i| i + 1)));
        Ok((args, kwargs))
    }

    /// A value as an argument of this type.
    pub(crate) fn lower(&mut self, tracer: &Tracer, value: &Value, ty: &Type, origin: &NodeMeta) -> Result<Argument> {
        if let (Type::Optional(_), Value::None) = (ty, value) {
            return Ok(Argument::None);
        }
        Ok(match (ty.strip_optional(), value) {
            (_, Value::Tensor(t)) if !t.tracer.is_same(tracer) => {
                return Err(Error::invalid("a tensor of another capture is an argument"));
            }
            (_, Value::Tensor(t)) => {
                let node = t.node.ok_or_else(|| Error::invalid("an argument is the result of a refused call"))?;
                Argument::Node(self.newest(node))
            }
            (Type::List(t, _), Value::List(items)) => {
                let mut lowered = Vec::with_capacity(items.len());
                for item in items {
                    lowered.push(self.lower(tracer, item, t, origin)?);
                }
                Argument::List(lowered)
            }
            (Type::List(t, Some(n)), single) => {
                Argument::List(vec![self.lower(tracer, single, t, origin)?; *n as usize])
            }
            // A schema's `int` is known when traced: PyTorch specializes a symbolic one.
            (Type::Int, Value::Int(n)) => Argument::Int(self.specialize(n.expr())?),
            (Type::Float, Value::Int(n)) => match n.known() {
                Some(n) => Argument::Float(n as f64),
                None => self.number(&Val::Float(n.expr().to_float()), origin)?,
            },
            (Type::Float, Value::Bool(b)) => Argument::Float(if self.decide(b.expr())? { 1.0 } else { 0.0 }),
            (Type::Bool, Value::Bool(b)) => Argument::Bool(self.decide(b.expr())?),
            (Type::Device, Value::Str(s)) => Argument::Device(device(s)?),
            (_, Value::None) => Argument::None,
            (_, Value::Complex(c)) => Argument::Complex(*c),
            (_, Value::Str(s)) => Argument::Str(s.clone()),
            (_, Value::DType(d)) => Argument::DType(*d),
            (_, Value::Layout(l)) => Argument::Layout(*l),
            (_, Value::MemoryFormat(m)) => Argument::MemoryFormat(*m),
            (_, Value::Device(d)) => Argument::Device(d.clone()),
            (_, Value::List(items)) => {
                let item = |v: &Value, state: &mut State| state.lower(tracer, v, &Type::Scalar, origin);
                Argument::List(items.iter().map(|v| item(v, self)).collect::<Result<_>>()?)
            }
            (_, Value::Int(_) | Value::Float(_) | Value::Bool(_)) => self.number_value(value, origin)?,
        })
    }

    /// Adds a call, and takes in what its meta function had to assume of sizes.
    pub(crate) fn add_call(
        &mut self,
        op: &Op,
        args: Vec<Argument>,
        kwargs: Kwargs,
        origin: &NodeMeta,
    ) -> Result<NodeId> {
        self.add_named_call(op.stem(), op, args, kwargs, origin)
    }

    /// As [`State::add_call`], with a name that begins so.
    pub(crate) fn add_named_call(
        &mut self,
        stem: &str,
        op: &Op,
        args: Vec<Argument>,
        kwargs: Kwargs,
        origin: &NodeMeta,
    ) -> Result<NodeId> {
        let lift = |a: Argument, state: &mut State| -> Result<Argument> {
            let mut refused = Ok(());
            let mapped = a.map_nodes(&mut |node| match state.lifted(node) {
                Ok(node) => Argument::Node(node),
                Err(error) => {
                    refused = Err(error);
                    Argument::None
                }
            });
            refused.map(|()| mapped)
        };
        let args = args.into_iter().map(|a| lift(a, self)).collect::<Result<Vec<_>>>()?;
        let kwargs = kwargs.into_iter().map(|(k, a)| Ok((k, lift(a, self)?))).collect::<Result<Kwargs>>()?;
        let name = self.names.create(stem);
        if let Some(Inferred { val, guessed, .. }) = self.infer_cast(op, &args, &kwargs)? {
            let builder = Builder::new(&mut self.program.graph, &mut self.program.env, &self.registry);
            let node = builder.with_origin(origin).named(&name).add(op, args, kwargs, Some(val))?;
            guessed.iter().for_each(|(relation, truth)| self.guard(relation, *truth));
            return Ok(node);
        }
        // Within a closure, tensors are others at every call.
        let read = read_by(&self.program.graph, op, &args).filter(|_| self.outer.is_empty());
        let known = read.as_ref().map(|(memo, read)| self.memos.recall(*memo, read));
        self.memos.forget(&self.program.graph, op, &args);
        let mut builder =
            Builder::new(&mut self.program.graph, &mut self.program.env, &self.registry).with_origin(origin);
        builder.recall(known.unwrap_or_default());
        let node = builder.named(&name).call_op(op, args, kwargs).map_err(|e| message_of(e, op))?;
        if let Some((memo, read)) = read {
            self.memos.remember(memo, &read, builder.fresh());
        }
        for (relation, truth) in builder.guessed() {
            self.guard(&relation, truth);
        }
        Ok(node)
    }

    /// What a call gives in the autocast region that is being traced; `None` where that is what it gives elsewhere.
    fn infer_cast(&self, op: &Op, args: &[Argument], kwargs: &Kwargs) -> Result<Option<Inferred>> {
        let casts = op.autocast() != Autocast::Unchanged || op.is_composite();
        let Some(low) = self.autocast().filter(|_| casts) else { return Ok(None) };
        let scope = Scope { env: &self.program.env, registry: &self.registry, low };
        Ok(Some(scope.infer(&self.program.graph, op, args, kwargs)?).filter(|inferred| !inferred.is_fresh))
    }

    /// Adds a call of an operator that has no meta function since its result is its argument, `detach_`.
    pub(crate) fn add_identity(&mut self, op: &str, of: NodeId, origin: &NodeMeta) -> Result<NodeId> {
        let op = self.registry.op(op);
        let name = self.names.create(op.stem());
        let val = self.program.graph.node(of).val().cloned();
        let builder = Builder::new(&mut self.program.graph, &mut self.program.env, &self.registry);
        Ok(builder.with_origin(origin).named(&name).add(&op, vec![of.into()], Kwargs::new(), val)?)
    }

    /// The number that a node gives, which it computes from now on; `None` for what is no number.
    pub(crate) fn number_of(&mut self, tracer: &Tracer, node: NodeId, val: Val) -> Value {
        if let Val::Int(e) | Val::Float(e) | Val::Bool(e) = &val {
            self.numbers.define(e, node);
        }
        match val {
            Val::Int(e) => Value::Int(SymInt::new(e, tracer)),
            Val::Float(e) => Value::Float(SymFloat::new(e, tracer)),
            Val::Bool(e) => Value::Bool(SymBool::new(e, tracer)),
            _ => Value::None,
        }
    }

    /// What a node gives: several results are taken apart at once, as PyTorch's tracer does.
    pub(crate) fn value_of(&mut self, tracer: &Tracer, node: NodeId, origin: &NodeMeta) -> Result<Value> {
        let Some(val) = self.program.graph.node(node).val().cloned() else { return Ok(Value::None) };
        Ok(match val {
            Val::Tensor(fake) => {
                self.bind_sizes(node, &fake.sizes, origin)?;
                Value::Tensor(tracer.tensor(node))
            }
            Val::Int(_) | Val::Float(_) | Val::Bool(_) => self.number_of(tracer, node, val),
            Val::List(items) => {
                let getitem = self.registry.op("_operator::getitem");
                let mut values = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    values.push(match item {
                        Val::None => Value::None,
                        _ => {
                            let args = vec![Argument::Node(node), Argument::Int(i as i64)];
                            let item = self.add_call(&getitem, args, Kwargs::new(), origin)?;
                            self.value_of(tracer, item, origin)?
                        }
                    });
                }
                Value::List(values)
            }
            Val::Str(s) => Value::Str((&*s).into()),
            Val::None | Val::Token | Val::Object(_) => Value::None,
        })
    }

    /// New unbacked symbols among sizes become numbers that later calls can use, as PyTorch binds them.
    fn bind_sizes(&mut self, node: NodeId, sizes: &[Expr], origin: &NodeMeta) -> Result<()> {
        for (dim, size) in sizes.iter().enumerate() {
            let is_new = size.as_symbol().is_some_and(Symbol::is_unbacked) && !self.numbers.has(size);
            if is_new {
                let op = self.registry.op("aten::sym_size.int");
                let args = vec![Argument::Node(node), Argument::Int(dim as i64)];
                let bound = self.add_named_call("sym_size_int", &op, args, Kwargs::new(), origin)?;
                self.numbers.define(size, bound);
                self.assert_number(&size.ge(&Expr::int(0)), None, origin)?;
                // As PyTorch does, which bounds by `sys.maxsize - 1` where it knows nothing.
                let most = self.program.env.range_of(size).max_int().filter(|most| *most < i64::MAX - 1);
                if let Some(most) = most {
                    self.assert_number(&size.le(&Expr::int(most)), None, origin)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether the functions of Python fill in the options of the tensor that the operator makes: those that take no
/// tensor, and those of names that PyTorch's generator tells by (`*_like`, `new_*`).
fn makes_tensors(op: &Op, schema: &FunctionSchema) -> bool {
    let has = |name: &&'static str| schema.arg(name).is_some_and(|(_, p)| p.kw_only);
    let takes_tensor = schema.args.iter().any(|p| p.ty.is_tensor_like());
    TENSOR_OPTIONS.iter().all(has) && (!takes_tensor || op.stem().ends_with("_like") || op.stem().starts_with("new_"))
}

/// `cuda:0`
fn device(text: &str) -> Result<Device> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index)),
        None => (text, None),
    };
    let parsed =
        index.map(|i| i.parse::<i64>().map_err(|_| Error::invalid(format!("Invalid device string: '{text}'"))));
    Ok(Device { kind: kind.into(), index: parsed.transpose()? })
}

/// A refusal without the operator's name before it, where the message is a sentence of PyTorch's.
fn message_of(error: oxport_ir::Error, op: &Op) -> Error {
    let message = error.message();
    match message.strip_prefix(op.name()).and_then(|rest| rest.strip_prefix(": ")) {
        Some(sentence) => {
            let sentence = sentence.to_string();
            error.with_message(sentence).into()
        }
        None => error.into(),
    }
}
