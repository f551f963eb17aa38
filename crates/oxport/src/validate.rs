//! Whether two programs compute the same, by running both.
//!
//! Laws: what was compared is counted and said; a comparison of nothing is no agreement. Inputs are those that the program
//! brings, and drawn ones at several sizes; where all bits must agree, also awkward ones.

use crate::compare::{Tolerance, compare};
use crate::draw::{Drawing, Fill};
use crate::{ExportedProgram, Opt, PlanOptions, ReadLimits, Result, Toolchain, Value, io};
use std::time::{Duration, Instant};

/// What a validation found.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// The inputs on which both programs ran and agreed.
    pub compared: Vec<Tried>,
    /// Inputs that the first program refuses, and what it says.
    pub refused: Vec<(Tried, String)>,
    /// Where the programs differ first.
    pub difference: Option<String>,
    /// True if time was up before all inputs were tried.
    pub cut_short: bool,
}

/// Inputs, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What they hold: `ordinary values`.
    pub what: &'static str,
    /// The symbols of their sizes: `s0=2 s1=3`.
    pub sizes: String,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)?;
        if self.sizes.is_empty() { Ok(()) } else { write!(f, " at {}", self.sizes) }
    }
}

impl Validation {
    /// The inputs that were compared: how many of each kind, and the sizes.
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
                write!(f, "nothing could be compared: the program refuses all {refused} inputs; {inputs}: {why}")?;
            }
            (None, None) if compared == 0 => write!(f, "nothing could be compared: no inputs could be drawn")?,
            _ => write!(f, "both programs give the same on {compared} inputs: {}", self.summary())?,
        }
        if compared > 0 && refused > 0 {
            write!(f, "; {refused} more are refused by the program")?;
        }
        if self.cut_short { f.write_str("; time was up before all were tried") } else { Ok(()) }
    }
}

/// Runs a program and what was made of it on the same inputs. Under [`Opt::Fast`] values may differ by the tolerance of their
/// dtype; else all bits agree, NaNs being equal to each other.
///
/// # Errors
/// One of the programs cannot be made ready to run.
pub fn validate(
    toolchain: &Toolchain,
    [before, after]: [&ExportedProgram; 2],
    opt: Opt,
    limits: &ReadLimits,
    time: Duration,
) -> Result<Validation> {
    let start = Instant::now();
    let max_buffer_bytes = usize::try_from(limits.buffer).unwrap_or(usize::MAX);
    let options = PlanOptions { max_buffer_bytes, ..PlanOptions::default() };
    let plan = |p: &ExportedProgram| toolchain.plan(&toolchain.prepare(p, Opt::None)?, &options);
    let (first, second) = (plan(before)?, plan(after)?);
    let tolerance = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
    let mut found = Validation::default();
    // One set of inputs; false if the first program refuses it.
    let run = |found: &mut Validation, name: Tried, inputs: Result<Vec<Value>>| -> bool {
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
            Err(e) => Some(format!("the result refuses them: {}", crate::Error::to_string(&e))),
            Ok(got) => difference(&got, &want, tolerance),
        };
        match different {
            Some(different) => found.difference = Some(format!("on {name}, {different}")),
            None => found.compared.push(name),
        }
        true
    };
    if let Some(samples) = io::sample_inputs(before, limits) {
        run(&mut found, Tried { what: "its own inputs", sizes: String::new() }, Ok(samples));
    }
    let drawing = Drawing::of(before);
    let awkward: &[Fill] = if opt == Opt::Fast { &[] } else { &[Fill::AwkwardFloats, Fill::Awkward] };
    for (seed, assignment) in (0..).zip(drawing.assignments()) {
        let mut sizes: Vec<String> = assignment.iter().map(|(s, n)| format!("{}={n}", s.name())).collect();
        sizes.sort();
        let tried = |what| Tried { what, sizes: sizes.join(" ") };
        for (round, fill) in [Fill::Ordinary].iter().chain([awkward; 3].into_iter().flatten()).enumerate() {
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
                Fill::AwkwardFloats => "awkward floats",
                Fill::Awkward => "awkward values",
            };
            let is_run = run(&mut found, tried(what), drawing.draw(assignment, *fill, seed, limits));
            if !is_run && *fill == Fill::Ordinary {
                run(&mut found, tried("zeros for integers"), drawing.draw(assignment, Fill::Zeros, seed, limits));
            }
        }
    }
    Ok(found)
}

fn difference(got: &io::Values, want: &io::Values, tolerance: Tolerance) -> Option<String> {
    if let Some(name) = got.keys().find(|name| !want.contains_key(*name)) {
        return Some(format!("the result has an output {name} too many"));
    }
    want.iter().find_map(|(name, want)| match got.get(name) {
        None => Some(format!("the result has no output {name}")),
        Some(got) => {
            let c = compare(got, want, tolerance);
            (!c.agree).then(|| format!("{name}: {}", c.detail))
        }
    })
}
