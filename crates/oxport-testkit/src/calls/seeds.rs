//! Seed calls: samples of the operator table, and PyTorch's operator cases.

use super::{Call, Item, Mode, Spec};
use crate::corpus::{Corpus, argument, ints};
use oxport::{DType, OpDef};
use oxport_ir::Argument;
use oxport_tensor::Complex;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

/// Operators with seed calls: accepted ones, and rejected ones with a known reason.
pub struct SeedCalls {
    /// The rows of the table in order, with their calls.
    pub rows: Vec<(&'static OpDef, Vec<Call>)>,
}

/// The maximum number of seed calls of a row.
const MAX_SEEDS: usize = 80;

impl SeedCalls {
    /// Every row of the operator table with its samples, and the cases of that folder.
    ///
    /// # Errors
    /// The cases cannot be read.
    pub fn read(cases: &Path) -> Result<SeedCalls, String> {
        let corpus = Corpus::read(cases)?;
        let mut by_name = by_name(corpus.cases.iter().filter_map(|case| of_case(&corpus, case)));
        let rows = rows().map(|def| {
            let mut calls: Vec<Call> = def.samples.iter().filter_map(|s| of_sample(def.name(), s)).collect();
            let cases = by_name.remove(def.name()).unwrap_or_default();
            let every = cases.len().div_ceil(MAX_SEEDS).max(1);
            calls.extend(cases.into_iter().step_by(every));
            // Round-tripped through text, so that child processes have the same seed calls.
            calls.retain(|c| Call::parse(&c.to_string()).as_ref() == Ok(c));
            (def, calls)
        });
        Ok(SeedCalls { rows: rows.collect() })
    }
    /// Parses the output of [`SeedCalls::write`].
    ///
    /// # Errors
    /// A line is not a call.
    pub fn parse(text: &str) -> Result<SeedCalls, String> {
        let calls = text.lines().map(Call::parse).collect::<Result<Vec<_>, _>>()?;
        let mut by_name = by_name(calls);
        Ok(SeedCalls { rows: rows().map(|def| (def, by_name.remove(def.name()).unwrap_or_default())).collect() })
    }
    /// All calls as lines of text, for child processes.
    pub fn write(&self) -> String {
        self.rows.iter().flat_map(|(_, calls)| calls).map(|c| format!("{c}\n")).collect()
    }
}

/// The rows of the table without higher-order operators, which take subgraphs.
fn rows() -> impl Iterator<Item = &'static OpDef> {
    oxport::registry().defs().into_iter().filter(|def| !def.name().starts_with("higher_order::"))
}

fn by_name(calls: impl IntoIterator<Item = Call>) -> HashMap<String, Vec<Call>> {
    let mut by_name: HashMap<String, Vec<Call>> = HashMap::new();
    calls.into_iter().for_each(|call| by_name.entry(call.op.clone()).or_default().push(call));
    by_name
}

fn of_sample(op: &str, text: &str) -> Option<Call> {
    let mut call = Call { op: op.to_string(), args: Vec::new(), kwargs: Vec::new(), mode: Mode::Plain };
    call.read_arguments(text.strip_prefix('!').unwrap_or(text)).ok()?;
    Some(call)
}

/// A case as a call: tensors keep dtype, sizes and strides, and the range of their elements.
fn of_case(corpus: &Corpus, case: &Json) -> Option<Call> {
    let name = oxport_ir::op::name_of(&format!("torch.ops.{}", case["op"].as_str()?));
    let specs = RefCell::new(Vec::new());
    // Tensors are numbered by an unused device.
    let mut tensor = |json: &Json| -> Result<Argument, String> {
        let spec = of_tensor(corpus, json).ok_or("no tensor")?;
        specs.borrow_mut().push(spec);
        let index = specs.borrow().len() as i64 - 1;
        Ok(Argument::Device(oxport_ir::Device { kind: "tensor".into(), index: Some(index) }))
    };
    let mut read = |json: &Json| -> Option<Item> { Some(item(argument(json, &mut tensor).ok()?, &specs.borrow())) };
    let args = case["args"].as_array().into_iter().flatten().map(&mut read).collect::<Option<_>>()?;
    let named = case["kwargs"].as_object().into_iter().flatten();
    let kwargs = named.map(|(k, v)| Some((k.clone(), read(v)?))).collect::<Option<_>>()?;
    Some(Call { op: name, args, kwargs, mode: Mode::Plain })
}

fn item(a: Argument, specs: &[Spec]) -> Item {
    match a {
        Argument::List(l) => Item::List(l.into_iter().map(|a| item(a, specs)).collect()),
        Argument::Device(d) if &*d.kind == "tensor" => {
            let spec = d.index.and_then(|i| specs.get(i as usize));
            spec.cloned().map_or(Item::Const(Argument::None), Item::Tensor)
        }
        other => Item::Const(other),
    }
}

fn of_tensor(corpus: &Corpus, json: &Json) -> Option<Spec> {
    let (sizes, strides) = (ints(&json["sizes"]).ok()?, ints(&json["strides"]).ok()?);
    let dtype = DType::from_code(json["dtype"].as_u64()? as u8)?;
    let mut spec = Spec { strides: Some(strides), ..Spec::new(dtype, &sizes) };
    let layout = spec.layout().ok()?;
    if layout.is_contiguous() {
        spec.strides = None;
    }
    // The ends of what the case has, so that indices stay indices and probabilities stay probabilities.
    let t = corpus.tensor(json).ok()??;
    if t.numel() > 1 << 16 {
        return None;
    }
    let values = t.to_vec::<Complex<f64>>().ok()?;
    let finite = || values.iter().map(|c| c.re).filter(|x| x.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let whole = !(dtype.is_float() || dtype.is_complex());
    if low <= high && !dtype.is_bool() {
        let short = |x: f64| if x.abs() < 1e3 { (x * 1e3).trunc() / 1e3 } else { x };
        spec.range = Some(if whole { (low, high + 1.0) } else { (short(low), short(high)) });
    }
    Some(spec)
}
