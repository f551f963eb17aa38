//! Symbolic numbers: their arithmetic, what code decides on them, and the nodes that they become.
//!
//! A number is an expression until a call takes it; then it becomes a node, once for each expression, as PyTorch's
//! export merges them (`insert_deferred_runtime_asserts`). Sizes of inputs are read behind the placeholders.
//!
//! Laws: what an operator of Python makes of symbols, its row says (its meta function); a decision on symbols is
//! known, or is a [`Guard`], or is refused.

use crate::guard_text::spelled;
use crate::tracer::State;
use crate::value::Made;
use crate::{Error, Result, SymBool, SymFloat, SymInt, Tracer, Value};
use indexmap::IndexMap;
use oxport_ir::infer::{MetaCx, arg_of, infer_bound};
use oxport_ir::{Argument, ExportedProgram, Kwargs, NodeId, NodeKind, NodeMeta, RangeConstraint, Val};
use oxport_sym::{Expr, Func, Range, ShapeEnv, Symbol};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of the numbers of a program.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    nodes: HashMap<Expr, NodeId>,
    /// How an expression was computed: the operator of Python, and its operands.
    recipes: HashMap<Expr, (&'static str, Vec<Val>)>,
    /// Symbols of inputs with the text that names them in guards, in the order in which they were made.
    sources: IndexMap<Symbol, Arc<str>>,
    /// The first place where a symbol stands alone as a size of an input.
    sites: IndexMap<Symbol, (NodeId, i64)>,
    /// Where else a size can be read: derived sizes of inputs, sizes of results that depend on data.
    pub(crate) readable: HashMap<Expr, (NodeId, i64)>,
    /// How many sizes of inputs are symbolic.
    dims: usize,
    guards: Vec<Guard>,
}

/// A relation of sizes that the code's path relies on.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// What holds.
    pub relation: Expr,
    /// The line that decided, as in `stack_trace`.
    pub trace: Option<Arc<str>>,
}

impl Numbers {
    pub(crate) fn define(&mut self, e: &Expr, node: NodeId) {
        if !e.is_const() {
            self.nodes.entry(e.clone()).or_insert(node);
        }
    }
    pub(crate) fn has(&self, e: &Expr) -> bool {
        self.nodes.contains_key(e)
    }
    /// Takes other nodes for the numbers, and gives those so far.
    pub(crate) fn replace_nodes(&mut self, nodes: HashMap<Expr, NodeId>) -> HashMap<Expr, NodeId> {
        std::mem::replace(&mut self.nodes, nodes)
    }
    /// The nodes of numbers that depend on data.
    pub(crate) fn unbacked(&self) -> HashMap<Expr, NodeId> {
        let is_unbacked = |e: &Expr| e.free_symbols().iter().any(Symbol::is_unbacked);
        self.nodes.iter().filter(|(e, _)| is_unbacked(e)).map(|(e, n)| (e.clone(), *n)).collect()
    }
    pub(crate) fn guards(&self) -> &[Guard] {
        &self.guards
    }
    pub(crate) fn sources(&self) -> &IndexMap<Symbol, Arc<str>> {
        &self.sources
    }
    pub(crate) fn add_source(&mut self, symbol: &Symbol, source: &str) {
        self.sources.insert(symbol.clone(), source.into());
    }
}

impl State {
    /// Notes which sizes of an input are symbols.
    pub(crate) fn note_sizes(&mut self, node: NodeId) {
        let Some(Val::Tensor(fake)) = self.program.graph.node(node).val().cloned() else { return };
        for (dim, size) in fake.sizes.iter().enumerate().filter(|(_, size)| !size.is_const()) {
            self.numbers.dims += 1;
            match size.as_symbol() {
                Some(symbol) => drop(self.numbers.sites.entry(symbol.clone()).or_insert((node, dim as i64))),
                None => drop(self.numbers.readable.entry(size.clone()).or_insert((node, dim as i64))),
            }
        }
    }

    /// A number of the code as an argument: the node by which it came about, where that counts, else as by
    /// [`State::number`].
    pub(crate) fn number_value(&mut self, value: &Value, origin: &NodeMeta) -> Result<Argument> {
        let (symbolic, counts) = match value {
            Value::Int(n) => (&n.0, n.0.is_given()),
            Value::Float(x) => (&x.0, x.0.is_given()),
            // PyTorch's `SymBool` may be true for all sizes, and is the node that compares them still.
            Value::Bool(b) => (&b.0, true),
            _ => return Err(Error::invalid("expected a number")),
        };
        let is_here = |state: &State, node: NodeId| state.program.graph.get(node).is_some();
        match symbolic.made.as_deref().filter(|_| counts) {
            Some(Made::Given(node)) if is_here(self, *node) => return Ok(Argument::Node(*node)),
            Some(Made::Computed { op, operands, node, .. }) => {
                if let Some(node) = node.get().filter(|node| is_here(self, *node)) {
                    return Ok(Argument::Node(node));
                }
                let args = operands.iter().map(|o| self.number_value(o, origin)).collect::<Result<_>>()?;
                let made = self.add_call(&self.registry.op(op), args, Kwargs::new(), origin)?;
                node.set(Some(made));
                self.numbers.define(&symbolic.expr, made);
                return Ok(Argument::Node(made));
            }
            _ => {}
        }
        let val = value.as_val().ok_or_else(|| Error::invalid("expected a number"))?;
        self.number(&val, origin)
    }

    /// A number as an argument: a constant, or the node that computes it, which is added where there is none yet.
    pub(crate) fn number(&mut self, val: &Val, origin: &NodeMeta) -> Result<Argument> {
        let (Val::Int(e) | Val::Float(e) | Val::Bool(e)) = val else { return Err(Error::invalid("expected a number")) };
        let e = &replaced(&self.program.env, e);
        let constant = match val {
            Val::Int(_) => e.as_int().map(Argument::Int),
            Val::Float(_) => e.as_float().or_else(|| e.as_int().map(|n| n as f64)).map(Argument::Float),
            _ => e.as_bool().map(Argument::Bool),
        };
        if let Some(constant) = constant {
            return Ok(constant);
        }
        if let Some(node) = self.numbers.nodes.get(e) {
            return Ok(Argument::Node(*node));
        }
        // A symbol that is no size of an input by itself, of `4*s0`, was computed.
        let is_size = |s: &&Symbol| self.numbers.sites.contains_key(*s);
        if let Some(&(of, dim)) = self.numbers.readable.get(e).filter(|_| e.as_symbol().filter(is_size).is_none()) {
            let op = self.registry.op("aten::sym_size.int");
            let args = vec![Argument::Node(self.lifted(of)?), dim.into()];
            let node = self.add_named_call("sym_size_int", &op, args, Kwargs::new(), &NodeMeta::default())?;
            self.numbers.nodes.insert(e.clone(), node);
            return Ok(Argument::Node(node));
        }
        // A recipe may name its own result (`max(n, 0)` is `n` where that is a size): it is out of reach meanwhile.
        let recipe = self.numbers.recipes.remove(e);
        let made = match (e.as_symbol().filter(is_size), &recipe) {
            (Some(symbol), _) => self.read_size(symbol).map(Argument::Node),
            (None, Some((op, operands))) => self.compute(op, operands, origin).map(Argument::Node),
            (None, None) if let Some(symbol) = e.as_symbol() => self.read_size(symbol).map(Argument::Node),
            (None, None) => self.lower_expr(e, origin),
        };
        if let Some(recipe) = recipe {
            self.numbers.recipes.insert(e.clone(), recipe);
        }
        let made = made?;
        if let Argument::Node(node) = &made {
            self.numbers.nodes.insert(e.clone(), *node);
        }
        Ok(made)
    }

    /// The node that reads a symbol from the input in which it stands, behind the placeholders.
    fn read_size(&mut self, symbol: &Symbol) -> Result<NodeId> {
        let unknown = || Error::invalid(format!("no input has the size {symbol}"));
        let (at, _, site) = self.numbers.sites.get_full(symbol).ok_or_else(unknown)?;
        let (input, dim) = *site;
        let op = self.registry.op("aten::sym_size.int");
        if !self.outer.is_empty() {
            // Within a closure, of the tensor that is lifted: a list of operands has no place for numbers.
            let input = self.lifted(input)?;
            let args = vec![input.into(), dim.into()];
            return self.add_named_call("sym_size_int", &op, args, Kwargs::new(), &NodeMeta::default());
        }
        let graph = &self.program.graph;
        // Those of earlier symbols stand before it.
        let earlier: Vec<NodeId> = self
            .numbers
            .sites
            .keys()
            .take(at)
            .filter_map(|s| self.numbers.nodes.get(&Expr::symbol(s)).copied())
            .collect();
        let is_lead = |id: &NodeId| graph.node(*id).kind == NodeKind::Placeholder || earlier.contains(id);
        let follower = graph.ids().find(|id| !is_lead(id));
        // PyTorch reads each symbolic size of the inputs once before, and drops those reads again.
        let name = format!("sym_size_int_{}", self.numbers.dims + at);
        let name = self.names.create(&name);
        let builder = oxport_ir::Builder::new(&mut self.program.graph, &mut self.program.env, &self.registry);
        let mut builder = match follower {
            Some(follower) => builder.before(follower).with_origin(&NodeMeta::default()),
            None => builder,
        };
        Ok(builder.named(&name).call_op(&op, vec![input.into(), dim.into()], Kwargs::new())?)
    }

    fn compute(&mut self, op: &str, operands: &[Val], origin: &NodeMeta) -> Result<NodeId> {
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            args.push(self.number(operand, origin)?);
        }
        let op = self.registry.op(op);
        self.add_call(&op, args, Kwargs::new(), origin)
    }

    /// An expression of which no code told how it is computed: the size of an intermediate tensor.
    fn lower_expr(&mut self, e: &Expr, origin: &NodeMeta) -> Result<Argument> {
        let unsupported = || Error::unsupported(format!("a node for the number {e}"));
        let (func, args) = e.as_call().ok_or_else(unsupported)?;
        let op = match func {
            Func::Add => "_operator::add",
            Func::Mul => "_operator::mul",
            Func::Pow => "_operator::pow",
            Func::FloorDiv | Func::CleanDiv => "_operator::floordiv",
            Func::Mod | Func::PythonMod => "_operator::mod",
            Func::Max => "torch::sym_max",
            Func::Min => "torch::sym_min",
            Func::Eq => "_operator::eq",
            Func::Ne => "_operator::ne",
            Func::Lt => "_operator::lt",
            Func::Le => "_operator::le",
            Func::Gt => "_operator::gt",
            Func::Ge => "_operator::ge",
            Func::And => "_operator::and_",
            Func::Or => "_operator::or_",
            _ => return Err(unsupported()),
        };
        let args = args.to_vec();
        let value =
            |e: &Expr| if e.as_bool().is_some() || is_relation(e) { Val::Bool(e.clone()) } else { Val::Int(e.clone()) };
        let mut left = args.first().ok_or_else(unsupported)?.clone();
        let mut result = self.number(&value(&left), origin)?;
        for right in &args[1..] {
            let both = Expr::call(func, vec![left.clone(), right.clone()]);
            result = match self.numbers.nodes.get(&both) {
                Some(node) => Argument::Node(*node),
                None => {
                    let right = self.number(&value(right), origin)?;
                    let op = self.registry.op(op);
                    let node = self.add_call(&op, vec![result, right], Kwargs::new(), origin)?;
                    self.numbers.define(&both, node);
                    Argument::Node(node)
                }
            };
            left = both;
        }
        Ok(result)
    }

    /// Asserts a relation when the program runs, as PyTorch writes it beside numbers that were read from data.
    pub(crate) fn assert_number(&mut self, relation: &Expr, message: Option<&str>, origin: &NodeMeta) -> Result<()> {
        let condition = self.number(&Val::Bool(relation.clone()), origin)?;
        let Argument::Node(node) = condition else { return Ok(()) };
        let name = self.program.graph.get(node).map_or("", |n| &n.name);
        let own = || format!("Runtime assertion failed for expression {relation} on node '{name}'");
        let message = message.map_or_else(own, String::from);
        let op = self.registry.op("aten::_assert_scalar");
        let args = vec![condition, message.as_str().into()];
        self.add_named_call("_assert_scalar_default", &op, args, Kwargs::new(), origin)?;
        self.program.env.add_fact(relation);
        Ok(())
    }

    /// The value of an int where PyTorch needs it: known, or guarded to be as in the example.
    pub(crate) fn specialize(&mut self, e: &Expr) -> Result<i64> {
        let e = replaced(&self.program.env, e);
        if let Some(n) = e.as_int() {
            return Ok(n);
        }
        let Some(n) = self.program.env.hint_of(&e).and_then(|n| n.as_i64()) else {
            return Err(data_dependent(&format!("Eq({e}, 0)")));
        };
        self.guard(&e.eq_(&Expr::int(n)), true);
        Ok(n)
    }

    /// The value of a float where a number is needed: known, or that of the example, to whose sizes it is guarded.
    pub(crate) fn specialize_float(&mut self, e: &Expr) -> Result<f64> {
        let e = replaced(&self.program.env, e);
        let value = self.program.env.hint_of(&e).ok_or_else(|| data_dependent(&e.to_string()))?;
        for symbol in e.free_symbols() {
            self.specialize(&Expr::symbol(&symbol))?;
        }
        Ok(value.to_f64())
    }

    /// The truth of a relation: known, or guarded to be as in the example.
    pub(crate) fn decide(&mut self, e: &Expr) -> Result<bool> {
        let e = replaced(&self.program.env, e);
        if let Some(known) = self.program.env.known(&e) {
            return Ok(known);
        }
        let hint = self.program.env.hint_of(&e).and_then(|n| n.as_bool());
        let truth = hint.ok_or_else(|| data_dependent(&e.to_string()))?;
        self.guard(&e, truth);
        Ok(truth)
    }

    /// Takes a relation as true, or as false.
    pub(crate) fn guard(&mut self, relation: &Expr, truth: bool) {
        let relation = replaced(&self.program.env, relation);
        let holds = if truth { relation } else { relation.not() };
        if holds.as_bool().is_some() || self.program.env.known(&holds) == Some(true) {
            return;
        }
        self.program.env.add_fact(&holds);
        self.numbers.guards.push(Guard { relation: holds, trace: None });
    }

    /// Writes what was learned of symbols into a finished program: metas in terms of what is left, ranges, and the
    /// guards as
    /// PyTorch spells them.
    pub(crate) fn settle(&self, program: &mut ExportedProgram) {
        let env = &self.program.env;
        settle_graph(&mut program.graph, env);
        let mut settled = ShapeEnv::new();
        settled.reserve_before(env.next_unbacked());
        let declared = std::mem::take(&mut program.ranges);
        for (e, range) in declared {
            if e.free_symbols().iter().any(|s| env.replacement(s).is_some()) {
                continue;
            }
            let Some(symbol) = e.as_symbol() else {
                program.ranges.insert(e, range);
                continue;
            };
            let known = env.range(symbol);
            let tightened = self.tightened(symbol, &range, &known);
            settled.set_range(symbol, Range::from_bounds(tightened.min, tightened.max));
            if let Some(hint) = env.hint(symbol) {
                settled.set_hint(symbol, hint.clone());
            }
            program.ranges.insert(e, tightened);
        }
        for (symbol, range) in env.ranges().filter(|(s, _)| s.is_unbacked()) {
            let range = match env.replacement(symbol) {
                None => range.clone(),
                Some(is) if let Some(n) = is.as_int() => Range::point(n),
                Some(_) => continue,
            };
            let constraint = RangeConstraint { min: range.min_int(), max: range.max_int() };
            settled.set_range(symbol, range);
            program.ranges.insert(Expr::symbol(symbol), constraint);
        }
        program.env = settled;
        let mut texts: Vec<Arc<str>> =
            self.numbers.guards.iter().map(|g| spelled(&self.numbers.sources, &g.relation)).collect();
        texts.dedup();
        program.guards = texts;
    }

    /// A declared range with the bounds that guards added; the least of 2, which is taken while tracing, is none.
    fn tightened(&self, symbol: &Symbol, declared: &RangeConstraint, known: &Range) -> RangeConstraint {
        let is_guarded = |g: &Guard| g.relation.free_symbols().contains(symbol);
        let is_any = self.numbers.guards.iter().any(is_guarded);
        let min = known.min_int().filter(|min| *min > 2 && is_any).or(declared.min);
        let max = known.max_int().filter(|_| is_any).or(declared.max);
        RangeConstraint { min, max }
    }
}

/// Every meta in terms of the symbols that are left, within subgraphs too.
fn settle_graph(graph: &mut oxport_ir::Graph, env: &ShapeEnv) {
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let meta = graph.meta_mut(id);
        meta.val = meta.val.take().map(|val| val.map_exprs(&mut |e| settled(env, e)));
    }
    graph.subgraphs.values_mut().for_each(|sub| settle_graph(sub, env));
}

fn is_relation(e: &Expr) -> bool {
    e.as_call().is_some_and(|(f, _)| f.is_relation() || matches!(f, Func::And | Func::Or | Func::Not))
}

/// An expression in terms of the symbols that are left.
pub(crate) fn replaced(env: &ShapeEnv, e: &Expr) -> Expr {
    if e.is_const() { e.clone() } else { e.subs(&|s| env.replacement(s).cloned()) }
}

/// An expression in terms of the symbols that are left; what is read from data and can be one number only is that
/// number.
fn settled(env: &ShapeEnv, e: &Expr) -> Expr {
    let point = |s: &Symbol| env.range(s).singleton().filter(|_| s.is_unbacked()).cloned().map(Expr::number);
    replaced(env, e).subs(&point)
}

fn data_dependent(what: &str) -> Error {
    Error::invalid(format!(
        "Could not guard on data-dependent expression {what} (unhinted: {what}).  (Size-like symbols: \
         none)\n\nconsider using \
         data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true."
    ))
}

macro_rules! numbers {
    ($($t:ident)*) => {$(
        impl $t {
            /// Whether it depends on data, and not only on the sizes of inputs.
            pub fn is_data_dependent(&self) -> bool {
                let Some(tracer) = &self.0.tracer else { return false };
                let state = tracer.state();
                let n = replaced(&state.program.env, self.expr());
                !n.is_const() && state.program.env.hint_of(&n).is_none()
            }
        }
    )*};
}
numbers! { SymInt SymFloat }

impl Tracer {
    /// Applies an operator of Python to numbers: `_operator::floordiv`, `math::ceil`, `torch::sym_max`. Nothing is
    /// added to
    /// the graph until a call takes the result.
    pub(crate) fn apply(&self, op: &'static str, operands: &[Val]) -> Result<Val> {
        let mut state = self.state_mut();
        let registry = state.registry.clone();
        let args: Vec<_> = operands.iter().map(arg_of).collect();
        let cx = MetaCx::new(&state.program.env);
        let val = infer_bound(&registry.op(op), &args, &cx)?;
        let (Val::Int(e) | Val::Float(e) | Val::Bool(e)) = &val else {
            return Err(Error::invalid("expected a number"));
        };
        if !e.is_const() {
            let recipe = || (op, operands.to_vec());
            state.numbers.recipes.entry(e.clone()).or_insert_with(recipe);
        }
        Ok(val)
    }
    /// The truth of a condition on sizes, for code that goes one way or the other: where it is not the same for all
    /// sizes, that
    /// of the example, and the program gets a guard.
    ///
    /// # Errors
    /// It depends on data.
    pub fn decide(&self, condition: &SymBool) -> Result<bool> {
        self.state_mut().decide(condition.expr())
    }
    /// The truth of a condition if no data are needed for it: see [`Tracer::decide`]. None if it depends on data.
    pub fn decide_now(&self, condition: &SymBool) -> Option<bool> {
        let mut state = self.state_mut();
        let relation = replaced(&state.program.env, condition.expr());
        let known = state.program.env.known(&relation);
        known.or_else(|| state.program.env.hint_of(&relation).and_then(|_| state.decide(&relation).ok()))
    }
    /// The value of an int for code that needs a number: that of the example, to which the program is specialized.
    ///
    /// # Errors
    /// It depends on data.
    pub fn specialize(&self, n: &SymInt) -> Result<i64> {
        self.state_mut().specialize(n.expr())
    }
    /// The value of a float for code that needs a number: see [`Tracer::specialize`].
    ///
    /// # Errors
    /// It depends on data.
    pub fn specialize_float(&self, x: &SymFloat) -> Result<f64> {
        self.state_mut().specialize_float(x.expr())
    }
    /// `torch._check`: what holds of sizes from here on. Where it depends on data, the program asserts it; else it is
    /// a guard.
    ///
    /// # Errors
    /// It is false.
    #[track_caller]
    pub fn check(&self, condition: &SymBool, message: Option<&str>) -> Result<()> {
        let trace = self.trace(std::panic::Location::caller(), "torch._check");
        let mut state = self.state_mut();
        let relation = replaced(&state.program.env, condition.expr());
        let holds = match state.program.env.known(&relation) {
            Some(known) => known,
            None if state.program.env.hint_of(&relation).is_some() => state.decide(&relation)?,
            None => {
                let origin = state.origin(&trace);
                return state.assert_number(&relation, message, &origin).map_err(|e| e.traced(Some(&trace)));
            }
        };
        let failed = || Error::invalid(message.unwrap_or("Expected cond to be True, but got False").to_string());
        if holds { Ok(()) } else { Err(failed().traced(Some(&trace))) }
    }
    /// The guards so far.
    pub fn guards(&self) -> Vec<Guard> {
        self.state().numbers.guards.clone()
    }
}
