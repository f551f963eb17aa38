//! The calls that run a branch on every element of a first dimension: `map`, `scan` and `associative_scan`.

use super::Branch;
use super::join::{items, list, operands};
use crate::tracer::State;
use crate::{Error, Result, Tensor, Tracer, Value};
use oxport_ir::{Argument, Fake, Kwargs, NodeId, Val};
use oxport_sym::ShapeEnv;
use std::panic::Location;

/// What becomes of the elements of a first dimension.
#[derive(Clone, Copy, Debug)]
pub enum Over<'a> {
    /// The branch is given an element and these operands; its results are stacked.
    Map(&'a [Tensor]),
    /// The branch is given the state and an element, at first this state; it gives the next state, and results that
    /// are stacked.
    Scan(&'a [Tensor]),
    /// The branch combines two neighbors into one; the running combinations are stacked.
    AssociativeScan,
}

impl Over<'_> {
    /// The operator, and what its subgraph is called.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Over::Map(_) => ("map_impl", "body_graph"),
            Over::Scan(_) => ("scan", "scan_combine_graph"),
            Over::AssociativeScan => ("associative_scan", "associative_scan_combine_graph"),
        }
    }
}

impl Tracer {
    /// The values that the branch is given, in a branch that this begins: elements of `xs`, with the state or the
    /// neighbors beside.
    ///
    /// # Errors
    /// A tensor is the result of a refused call, or has no dimension.
    pub fn enter_loop_over(&self, how: Over<'_>, xs: &[Tensor]) -> Result<Vec<Tensor>> {
        let void = || Error::invalid("an operand is the result of a refused call");
        let fake = |tensor: &Tensor| Ok((tensor.name().ok_or_else(void)?, tensor.fake().ok_or_else(void)?));
        let elements = xs.iter().map(|x| {
            let (name, fake) = fake(x)?;
            Ok((name, element(&fake)?))
        });
        let mut given = elements.collect::<Result<Vec<_>>>()?;
        let first = match how {
            Over::Map(_) => Vec::new(),
            Over::Scan(init) => init.iter().map(fake).collect::<Result<_>>()?,
            Over::AssociativeScan => given.clone(),
        };
        given.splice(0..0, first);
        match how {
            Over::Map(_) => self.enter_branch(),
            _ => self.enter_loop(),
        }
        let operands = if let Over::Map(operands) = how { operands } else { &[] };
        let given = given.into_iter().map(|(name, fake)| self.carry_as(&name, fake));
        let inputs = given.chain(operands.iter().map(|operand| {
            let node = self.state_mut().lifted(operand.node.ok_or_else(void)?)?;
            Ok(self.tensor(node))
        }));
        let inputs: Result<Vec<Tensor>> = inputs.collect();
        if inputs.is_err() {
            self.leave_branch()?;
        }
        inputs
    }

    /// `map`, `scan` or `associative_scan` of a branch with its results: for `scan` the last state, then the stacked
    /// results.
    ///
    /// # Errors
    /// The branch writes to a tensor from around it or that it is given; it gives other than tensors (a step of a scan
    /// may give `None` beside the state), or a state unlike the first one.
    #[track_caller]
    pub fn loop_over(&self, how: Over<'_>, xs: &[Tensor], (round, results): (Branch, &[Value])) -> Result<Vec<Value>> {
        let (name, graph_name) = how.names();
        let origin = &self.here(Location::caller(), name);
        let mut state = self.state_mut();
        let written = round.written();
        if let Some(input) = round.graph.placeholders().find(|(id, _)| written.contains(id)) {
            return Err(Error::invalid(format!(
                "Higher order ops do not support input mutation. Found in {name}: `{}` is written; write to a clone() \
                 instead",
                input.1.name
            )));
        }
        let (init, explicit) = match how {
            Over::Map(operands) => (&[][..], operands),
            Over::Scan(init) => (init, &[][..]),
            Over::AssociativeScan => (&[][..], &[][..]),
        };
        // A step of a scan may give nothing beside the next state.
        let may_miss = |i: usize, v: &Value| matches!(how, Over::Scan(_)) && i >= init.len() && v.is_none();
        let wrong = results.iter().enumerate().find(|(i, v)| v.as_tensor().is_none() && !may_miss(*i, v));
        if let Some((_, other)) = wrong {
            let got = other.type_name();
            return Err(Error::invalid(format!(
                "Expected all leaves to be of torch.Tensor type. Found in {name}: {got}"
            )));
        }
        let explicit = state.around(self, explicit)?;
        let (init, xs) = (state.around(self, init)?, state.around(self, xs)?);
        let round = state.close(self, round, results, &[], origin)?;
        let order = operands(&state.program.graph, &[&round], &explicit);
        let round = state.arrange(round, &order)?;
        check_results(&state.program.env, how, &round)?;
        let [at] = state.add_graphs([(graph_name, round.graph)])?;
        let op = state.registry.op(&format!("higher_order::{name}"));
        let args = match how {
            Over::Scan(_) => vec![at, list(&init), list(&xs), list(&order)],
            _ => vec![at, list(&xs), list(&order)],
        };
        let node = state.add_call(&op, args, Kwargs::new(), origin)?;
        Ok(items(state.value_of(self, node, origin)?))
    }
}

impl State {
    /// Tensors as operands of a call that is traced now.
    fn around(&mut self, tracer: &Tracer, tensors: &[Tensor]) -> Result<Vec<NodeId>> {
        let nodes = tensors.iter().map(|tensor| match self.result(tracer, &tensor.into())? {
            Argument::Node(node) => Ok(node),
            _ => Err(Error::invalid("an operand is no tensor")),
        });
        nodes.collect()
    }
}

/// One element of the first dimension.
fn element(fake: &Fake) -> Result<Fake> {
    let Some((_, sizes)) = fake.sizes.split_first() else {
        return Err(Error::invalid("All xs leaves must have at least 'dim + 1' dimensions"));
    };
    Ok(Fake { device: fake.device.clone(), ..Fake::new(fake.dtype, sizes.iter().cloned()) })
}

/// What a round gives to the next one is like what it was given.
fn check_results(env: &ShapeEnv, how: Over<'_>, round: &Branch) -> Result<()> {
    let (given, gives, count) = match how {
        Over::Map(_) => return Ok(()),
        Over::Scan(init) => ("init", "carry", init.len()),
        Over::AssociativeScan => ("initial_xs", "combine_fn_output", round.carried.len() / 2),
    };
    let graph = &round.graph;
    let fake = |id: NodeId| graph.node(id).val().and_then(Val::as_tensor);
    let outputs: Vec<Option<&Fake>> =
        graph.outputs().iter().map(|a| if let Argument::Node(id) = a { fake(*id) } else { None }).collect();
    if outputs.len() < count || (outputs.len() > count && matches!(how, Over::AssociativeScan)) {
        let got = outputs.len();
        return Err(Error::invalid(format!(
            "Expected {given} and {gives} to have same number of outputs but got {count} and {got}"
        )));
    }
    let mut differences = String::new();
    for (i, (input, output)) in round.carried.iter().zip(outputs).take(count).enumerate() {
        let (Some(is), Some(gets)) = (fake(*input), output) else { continue };
        let same_sizes = is.dim() == gets.dim() && is.sizes.iter().zip(&gets.sizes).all(|(a, b)| env.equal(a, b));
        let what = [(is.dtype != gets.dtype, "dtype"), (!same_sizes, "shape"), (is.device != gets.device, "device")];
        let what: Vec<&str> = what.iter().filter(|(differs, _)| *differs).map(|(_, what)| *what).collect();
        if !what.is_empty() {
            let what = what.join(", ");
            differences += &format!("\npair[{i}] differ in {what}, where lhs is {is} and rhs is {gets}");
        }
    }
    match differences.is_empty() {
        true => Ok(()),
        false => {
            Err(Error::invalid(format!("Expected {given} and {gives} to have same metadata but found:{differences}")))
        }
    }
}
