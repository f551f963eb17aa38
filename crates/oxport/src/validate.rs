//! Validates that two programs compute the same, by running both.
//!
//! Invariants: the result says what was compared; if nothing was compared, the programs do not agree. Inputs are the
//! sample inputs and generated ones of several sizes; for bitwise equality, also special values.

use crate::compare::{Tolerance, compare, factor};
use crate::random_inputs::{Fill, InputGenerator};
use crate::{ExportedProgram, Opt, PlanOptions, ReadLimits, Result, Toolchain, Value, io};
use oxport_ir::{Argument, Exact, Node, NodeId, OutputKind, Val};
use oxport_tensor::DType;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// The result of a validation.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// The inputs on which both programs ran and agreed.
    pub compared: Vec<InputSet>,
    /// Inputs that the first program rejects, with its error.
    pub refused: Vec<(InputSet, String)>,
    /// The first difference.
    pub difference: Option<String>,
    /// The largest error of all comparisons so far, and where: `out.0 on ordinary values`.
    pub worst: Option<(f64, String)>,
    /// True if the time limit was reached before all inputs were tried.
    pub cut_short: bool,
}

/// A description of a set of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSet {
    /// The values: `ordinary values`.
    pub what: &'static str,
    /// The symbols of their sizes: `s0=2 s1=3`.
    pub sizes: String,
}

impl std::fmt::Display for InputSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)?;
        if self.sizes.is_empty() { Ok(()) } else { write!(f, " at {}", self.sizes) }
    }
}

impl Validation {
    /// The compared inputs: the number of each kind, and the sizes.
    fn summary(&self) -> String {
        let (mut kinds, mut sizes) = (Vec::<(&str, usize)>::new(), Vec::new());
        for tried in &self.compared {
            match kinds.iter_mut().find(|(what, _)| *what == tried.what) {
                Some((_, count)) => *count += 1,
                None => kinds.push((tried.what, 1)),
            }
            if !tried.sizes.is_empty() && !sizes.contains(&tried.sizes) {
                sizes.push(tried.sizes.clone());
            }
        }
        let kinds: Vec<String> = kinds.iter().map(|(what, count)| format!("{count} of {what}")).collect();
        let at = if sizes.is_empty() { String::new() } else { format!("; sizes {}", sizes.join(", ")) };
        kinds.join(", ") + &at
    }

    /// True if something was compared and nothing differs.
    pub fn is_agreement(&self) -> bool {
        self.difference.is_none() && !self.compared.is_empty()
    }
}

impl std::fmt::Display for Validation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (compared, refused) = (self.compared.len(), self.refused.len());
        match (&self.difference, self.refused.first()) {
            (Some(difference), _) => write!(f, "the programs differ: {difference}")?,
            (None, Some((inputs, why))) if compared == 0 => {
                let why = why.replace('\n', " ");
                write!(f, "nothing could be compared: the program rejects all {refused} inputs; {inputs}: {why}")?;
            }
            (None, None) if compared == 0 => write!(f, "nothing could be compared: no inputs could be generated")?,
            _ => write!(f, "both programs agree on {compared} inputs: {}", self.summary())?,
        }
        if compared > 0 && refused > 0 {
            write!(f, "; the program rejects {refused} more")?;
        }
        if let Some((error, at)) = &self.worst {
            write!(f, "; largest error {error:.3e}")?;
            if *error > 0.0 {
                write!(f, " ({at})")?;
            }
        }
        if self.cut_short { f.write_str("; the time limit was reached before all were tried") } else { Ok(()) }
    }
}

/// Runs a program and its transformed version on the same inputs. With [`Opt::Fast`] values may differ by the tolerance
/// of their dtype, or of a less precise one that they are computed through; else they must be bitwise equal, all NaNs
/// being equal.
///
/// # Errors
/// One of the programs cannot be prepared.
pub fn validate(
    toolchain: &Toolchain,
    [before, after]: [&ExportedProgram; 2],
    opt: Opt,
    limits: &ReadLimits,
    time: Duration,
) -> Result<Validation> {
    let tolerance = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
    validate_within(toolchain, [before, after], tolerance, limits, time)
}

/// As [`validate`], with a tolerance. With [`Tolerance::Exact`], special values are tried, too.
///
/// # Errors
/// As [`validate`].
pub fn validate_within(
    toolchain: &Toolchain,
    [before, after]: [&ExportedProgram; 2],
    tolerance: Tolerance,
    limits: &ReadLimits,
    time: Duration,
) -> Result<Validation> {
    let start = Instant::now();
    let options = PlanOptions { max_buffer_bytes: limits.buffer_bytes(), prepare: false, ..PlanOptions::default() };
    let prepared = toolchain.prepare(before, Opt::None)?;
    let first = toolchain.plan(&prepared, &options)?;
    let second = toolchain.plan(&toolchain.prepare(after, Opt::None)?, &options)?;
    let through =
        if matches!(tolerance, Tolerance::ByDtype { .. }) { least_precise(&prepared) } else { HashMap::new() };
    let tolerances = |name: &str| through.get(name).map_or(tolerance, |&dtype| Tolerance::Through(dtype));
    let is_exact = matches!(tolerance, Tolerance::Exact);
    let mut found = Validation::default();
    // One set of inputs; false if the first program rejects it.
    let run = |found: &mut Validation, name: InputSet, inputs: Result<Vec<Value>>| -> bool {
        let run = |plan: &crate::Plan, inputs: &[Value]| Ok(io::named_outputs(&plan.run(inputs.to_vec())?));
        let outcome: Result<_> = inputs.and_then(|inputs| Ok((run(&first, &inputs)?, inputs)));
        let (want, inputs) = match outcome {
            Ok(outcome) => outcome,
            Err(e) => {
                found.refused.push((name, e.to_string()));
                return false;
            }
        };
        let different = match run(&second, &inputs) {
            Err(e) => Some(format!("the result rejects them: {}", crate::Error::to_string(&e))),
            Ok(got) => difference(&got, &want, &tolerances, &name, &mut found.worst),
        };
        match different {
            Some(different) => found.difference = Some(format!("on {name}, {different}")),
            None => found.compared.push(name),
        }
        true
    };
    if let Some(samples) = io::sample_inputs(before, limits) {
        run(&mut found, InputSet { what: "sample inputs", sizes: String::new() }, Ok(samples));
    }
    let generator = InputGenerator::of(before);
    let special: &[Fill] = if is_exact { &[Fill::SpecialFloats, Fill::Special] } else { &[] };
    for (seed, assignment) in (0..).zip(generator.assignments()) {
        let mut sizes: Vec<String> = assignment.iter().map(|(s, n)| format!("{}={n}", s.name())).collect();
        sizes.sort();
        let tried = |what| InputSet { what, sizes: sizes.join(" ") };
        for (round, fill) in [Fill::Ordinary].iter().chain([special; 3].into_iter().flatten()).enumerate() {
            if found.difference.is_some() {
                return Ok(found);
            }
            if start.elapsed() > time && !found.compared.is_empty() {
                found.cut_short = true;
                return Ok(found);
            }
            let seed = seed * 10 + round as u64;
            let what = match fill {
                Fill::Ordinary | Fill::Zeros => "ordinary values",
                Fill::SpecialFloats => "special floats",
                Fill::Special => "special values",
            };
            let is_run = run(&mut found, tried(what), generator.generate(assignment, *fill, seed, limits));
            if !is_run && *fill == Fill::Ordinary {
                run(&mut found, tried("zeros for integers"), generator.generate(assignment, Fill::Zeros, seed, limits));
            }
        }
    }
    Ok(found)
}

fn difference(
    got: &io::Values,
    want: &io::Values,
    tolerances: &dyn Fn(&str) -> Tolerance,
    inputs: &InputSet,
    worst: &mut Option<(f64, String)>,
) -> Option<String> {
    if let Some(name) = got.keys().find(|name| !want.contains_key(*name)) {
        return Some(format!("the result has an unexpected output {name}"));
    }
    want.iter().find_map(|(name, want)| match got.get(name) {
        None => Some(format!("the result has no output {name}")),
        Some(got) => {
            let c = compare(got, want, tolerances(name));
            if let Some(error) = c.error
                && worst.as_ref().is_none_or(|(known, _)| error > *known)
            {
                *worst = Some((error, format!("{name} on {inputs}")));
            }
            (!c.agree).then(|| format!("{name}: {}", c.detail))
        }
    })
}

/// The least precise dtype of floats that each output is computed through, by the output's name. What is only moved
/// lost its digits before the call: an input of bfloat16 that is computed with in float32 makes nothing less precise.
fn least_precise(program: &ExportedProgram) -> HashMap<String, DType> {
    let graph = &program.graph;
    let less = |a: Option<DType>, b: Option<DType>| match (a, b) {
        (Some(a), Some(b)) => Some(if factor(b) > factor(a) { b } else { a }),
        (a, b) => a.or(b),
    };
    let mut through: BTreeMap<NodeId, Option<DType>> = BTreeMap::new();
    for (id, node) in graph.nodes() {
        let rounds = node.op().is_some() && !is_moved(program, node);
        let own = floats(node.val()).filter(|_| rounds).map(Some).fold(None, less);
        let of_inputs = node.inputs().iter().map(|input| through.get(input).copied().flatten()).fold(None, less);
        through.insert(id, less(own, of_inputs));
    }
    let names: Vec<&str> = graph.placeholders().map(|(_, node)| &*node.name).collect();
    let users: Vec<&str> = program.signature.user_inputs().filter_map(|i| names.get(i).copied()).collect();
    let mut user = 0..;
    let named = graph.outputs().iter().zip(&program.signature.outputs).filter_map(|(output, spec)| {
        let name = match &spec.kind {
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => format!("mut.{name}"),
            OutputKind::UserInputMutation(name) => format!("inmut.{}", users.iter().position(|user| *user == &**name)?),
            OutputKind::Token => return None,
            _ => format!("out.{}", user.next()?),
        };
        let Argument::Node(id) = output else { return None };
        Some((name, through.get(id).copied().flatten()?))
    });
    named.collect()
}

/// True if a call gives elements of its operands, in their dtype.
fn is_moved(program: &ExportedProgram, node: &Node) -> bool {
    let is_exact = |op: &oxport_ir::Op| op.is_getitem() || op.def().is_some_and(|def| def.exact == Exact::Bits);
    let given = |id: NodeId| floats(program.graph.node(id).val()).next();
    node.op().is_some_and(is_exact)
        && floats(node.val()).all(|dtype| node.inputs().into_iter().filter_map(given).all(|other| other == dtype))
}

/// The dtypes of floats in a value.
fn floats(val: Option<&Val>) -> impl Iterator<Item = DType> {
    let of = |val: &Val| val.as_tensor().map(|t| t.dtype).filter(|d| d.is_float() || d.is_complex());
    let found: Vec<DType> = match val {
        Some(Val::List(items)) => items.iter().filter_map(of).collect(),
        Some(val) => of(val).into_iter().collect(),
        None => Vec::new(),
    };
    found.into_iter()
}
