//! Random inputs that satisfy the metas, ranges and guards of a program.
//!
//! ```text
//! metas, ranges, guards, assertions ─> several assignments of symbols ─> tensors of these sizes
//! ```
//!
//! The sizes satisfy every range, guard and assertion about sizes, if a bounded search finds a solution. A number that
//! the program reads from an input (`x.item()`) is solved for like a size. The same seed gives the same inputs.

use crate::io::constant;
use crate::{Error, Result};
use oxport_ir::infer::assertion;
use oxport_ir::{Argument, Assertion, ExportedProgram, IndexedDim, InputKind, Kernel, Node, NodeId, Op, Val, Value};
use oxport_pt2::Limits;
use oxport_sym::{Expr, Number, Symbol};
use oxport_tensor::{Complex, DType, Tensor};
use std::collections::{HashMap, HashSet};

/// The values of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Normal-like floats, bools and integers 0 and 1; integers that index something are valid indices.
    Ordinary,
    /// Normal-like floats, integers 0, which is a valid index of every non-empty dimension.
    Zeros,
    /// Floats including ±∞, NaN, −0, subnormals and the largest; integers 0 and 1.
    SpecialFloats,
    /// As before, and integers including the smallest and the largest.
    Special,
}

/// Values of symbols.
pub type Assignment = HashMap<Symbol, i64>;

/// What generated inputs must agree with.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Values of symbols.
    pub sizes: &'a Assignment,
    /// Inputs that are given; those that follow are not.
    pub values: &'a [Option<&'a Value>],
}

/// Generates inputs of one program.
pub struct InputGenerator<'p> {
    program: &'p ExportedProgram,
    /// Symbols that are numbers read from an input, by the input's placeholder.
    items: HashMap<NodeId, Symbol>,
    /// The sizes that the numbers of an input index, by its placeholder.
    bounds: HashMap<NodeId, Vec<Expr>>,
    /// Assignments of the symbols; the first has the hints, if they satisfy all conditions.
    assignments: Vec<Assignment>,
}

impl<'p> InputGenerator<'p> {
    /// Solves for the sizes.
    pub fn of(program: &'p ExportedProgram) -> InputGenerator<'p> {
        InputGenerator::with(program, &Known { sizes: &Assignment::new(), values: &[] })
    }

    /// Solves for the sizes that agree with what is known.
    pub fn with(program: &'p ExportedProgram, known: &Known<'_>) -> InputGenerator<'p> {
        let items = items(program);
        let assignments = Search::of(program, &items, known).assignments();
        InputGenerator { program, items, bounds: bounds(program), assignments }
    }

    /// The distinct assignments that satisfy the program: the hints, the smallest values, and others.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// Flat user inputs.
    ///
    /// # Errors
    /// The meta of an input does not determine its sizes, or all inputs have more than `limits.random_input_elems`
    /// elements.
    pub fn generate(&self, assignment: &Assignment, fill: Fill, seed: u64, limits: &Limits) -> Result<Vec<Value>> {
        let mut random = Random::of(seed);
        let mut elements = 0u64;
        let number = |e: &Expr| e.eval_int(&|s: &Symbol| assignment.get(s).copied());
        let one = |(id, node, kind): (NodeId, &Node, &InputKind)| {
            if let InputKind::ConstantInput(c) = kind {
                return Ok(constant(c));
            }
            let unknown =
                || Error::data(format!("cannot generate input `{}`: expected a meta with known sizes", node.name));
            match node.val() {
                Some(Val::Tensor(t)) => {
                    let sizes: Vec<i64> = t.sizes.iter().map(number).collect::<Option<_>>().ok_or_else(unknown)?;
                    let count = oxport_tensor::layout::checked_numel(&sizes)?;
                    elements = elements.saturating_add(count as u64);
                    if elements > limits.random_input_elems {
                        let message = format!("cannot generate input `{}` of sizes {sizes:?}", node.name);
                        let limit = format!(
                            "{elements} elements of inputs are more than the limit of {}",
                            limits.random_input_elems
                        );
                        return Err(Error::data(format!("{message}: {limit} (`random_input_elems`)")));
                    }
                    let item = self.items.get(&id).and_then(|s| assignment.get(s));
                    let bounds = self.bounds.get(&id).map(|all| all.iter().filter_map(number).min());
                    let values = Integers { item: item.copied(), bound: bounds.flatten() };
                    Ok(Value::Tensor(tensor(t.dtype, &sizes, count, fill, values, &mut random)?))
                }
                Some(Val::Int(e)) => number(e).map(Value::Int).ok_or_else(unknown),
                Some(Val::Float(e)) => Ok(Value::Float(e.as_float().unwrap_or_else(|| random.normal()))),
                Some(Val::Bool(e)) => Ok(Value::Bool(e.as_bool().unwrap_or(true))),
                Some(Val::None) => Ok(Value::None),
                _ => Err(unknown()),
            }
        };
        user_inputs(self.program).map(one).collect()
    }
}

/// Random inputs by the input metas: ordinary values, and symbols equal to their hints if those satisfy the program.
/// The same seed gives the same inputs.
///
/// # Errors
/// The meta of an input does not determine its sizes, or no assignment was found that satisfies the program.
pub fn generate_inputs(program: &ExportedProgram, seed: u64, limits: &Limits) -> Result<Vec<Value>> {
    let generator = InputGenerator::of(program);
    let none = || Error::data("no sizes were found that satisfy the program's ranges and guards");
    generator.generate(generator.assignments().first().ok_or_else(none)?, Fill::Ordinary, seed, limits)
}

fn user_inputs(program: &ExportedProgram) -> impl Iterator<Item = (NodeId, &Node, &InputKind)> {
    let all = program.graph.placeholders().zip(&program.signature.inputs);
    all.filter(|(_, spec)| spec.kind.is_user()).map(|((id, node), spec)| (id, node, &spec.kind))
}

/// The symbols that are numbers read from inputs.
fn items(program: &ExportedProgram) -> HashMap<NodeId, Symbol> {
    let taken = |(_, node): (NodeId, &Node)| {
        let is_item = node.op().is_some_and(Op::reads_number);
        let (Some(Val::Int(e)), Some(from), true) = (node.val(), node.first_input(), is_item) else {
            return None;
        };
        Some((from, e.as_symbol()?.clone()))
    };
    let inputs: HashSet<NodeId> = user_inputs(program).map(|(id, ..)| id).collect();
    program.graph.nodes().filter_map(taken).filter(|(from, _)| inputs.contains(from)).collect()
}

/// The sizes that the numbers of inputs index, by the rows of the operators that take them as indices, themselves or as
/// views.
fn bounds(program: &ExportedProgram) -> HashMap<NodeId, Vec<Expr>> {
    let graph = &program.graph;
    let inputs: HashSet<NodeId> = user_inputs(program).map(|(id, ..)| id).collect();
    // The input that a value is, or is a view of.
    let source = |mut id: NodeId| loop {
        let node = graph.node(id);
        let Some(op) = node.op() else { return inputs.contains(&id).then_some(id) };
        let is_view = op.def().is_some_and(|def| matches!(def.kernel, Kernel::View(_))) || op.is_alias_at_times();
        match node.first_input() {
            Some(from) if is_view => id = from,
            _ => return None,
        }
    };
    let mut found: HashMap<NodeId, Vec<Expr>> = HashMap::new();
    for (_, node) in graph.nodes() {
        let Some(indexes) = node.op().and_then(|op| op.def()?.indexes) else { continue };
        let (Some(taken), Some(Argument::Node(of))) = (node.argument(indexes.argument), node.argument(indexes.of))
        else {
            continue;
        };
        let Some(Val::Tensor(of)) = graph.node(*of).val() else { continue };
        let size = |dim: i64| of.sizes.get(oxport_tensor::layout::wrap_dim(dim, of.dim()).ok()?).cloned();
        let taken = match taken {
            Argument::List(list) => &list[..],
            one => std::slice::from_ref(one),
        };
        for (i, index) in taken.iter().enumerate() {
            let dim = match indexes.dim {
                IndexedDim::Fixed(dim) => Some(dim),
                IndexedDim::Named(name) => node.argument(name).and_then(Argument::as_int),
                IndexedDim::Each => Some(i as i64),
            };
            if let (Some(id), Some(size)) = (index.as_node().and_then(source), dim.and_then(size)) {
                found.entry(id).or_default().push(size);
            }
        }
    }
    found
}

/// The search for values of the symbols.
struct Search<'p> {
    program: &'p ExportedProgram,
    symbols: Vec<Symbol>,
    /// Per symbol, the conditions that can be checked once it and those before it have values.
    conditions: Vec<Vec<Condition>>,
    /// The constants in the conditions.
    mentioned: Vec<i64>,
    /// The symbols whose value is known.
    fixed: Assignment,
}

enum Condition {
    /// It is true, or cannot be evaluated.
    Holds(Expr),
    /// It is in the range, or cannot be evaluated.
    Between(Expr, i64, i64),
}

impl Condition {
    fn expr(&self) -> &Expr {
        match self {
            Condition::Holds(e) | Condition::Between(e, ..) => e,
        }
    }
    fn is_met(&self, of: &dyn Fn(&Symbol) -> Option<Number>) -> bool {
        match self {
            Condition::Holds(e) => e.eval(of).ok().and_then(|n| n.as_bool()) != Some(false),
            Condition::Between(e, min, max) => {
                e.eval(of).ok().and_then(|n| n.as_i64()).is_none_or(|n| (min..=max).contains(&&n))
            }
        }
    }
}

/// The values to try first.
#[derive(Clone, Copy)]
enum Preference {
    Captured,
    Least,
    Next,
    Large,
}

impl<'p> Search<'p> {
    fn of(program: &'p ExportedProgram, items: &HashMap<NodeId, Symbol>, known: &Known<'_>) -> Search<'p> {
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut conditions = Vec::new();
        let mut note = |e: &Expr| {
            for s in e.free_symbols() {
                if !symbols.contains(&s) {
                    symbols.push(s);
                }
            }
        };
        for (_, node, _) in user_inputs(program) {
            match node.val() {
                Some(Val::Tensor(t)) => t.sizes.iter().for_each(|size| {
                    note(size);
                    conditions.push(Condition::Between(size.clone(), 0, i64::MAX));
                }),
                Some(Val::Int(e)) => note(e),
                _ => {}
            }
        }
        items.values().for_each(|s| note(&Expr::symbol(s)));
        conditions.extend(oxport_run::guard_conditions(program).into_iter().map(Condition::Holds));
        for (e, range) in &program.ranges {
            conditions.push(Condition::Between(
                e.clone(),
                range.min.unwrap_or(i64::MIN),
                range.max.unwrap_or(i64::MAX),
            ));
        }
        for (_, node) in program.graph.nodes() {
            match assertion(&program.graph, node, &program.env) {
                Assertion::Holds(e) => conditions.push(Condition::Holds(e)),
                Assertion::InRange(e, range) => {
                    let (min, max) = (range.min_int().unwrap_or(i64::MIN), range.max_int().unwrap_or(i64::MAX));
                    conditions.push(Condition::Between(e, min, max));
                }
                Assertion::Nothing => {}
            }
        }
        let (mut mentioned, mut fixed) = (Vec::new(), known.sizes.clone());
        for (e, n) in sizes_of(program, known.values) {
            match e.as_symbol() {
                Some(symbol) if fixed.get(symbol).is_none_or(|m| *m == n) => drop(fixed.insert(symbol.clone(), n)),
                _ => {
                    mentioned.extend((1..=4).flat_map(|factor| [n / factor, (n - 1) / factor]));
                    conditions.push(Condition::Between(e, n, n));
                }
            }
        }
        let mut by_last: Vec<Vec<Condition>> = symbols.iter().map(|_| Vec::new()).collect();
        for condition in conditions {
            condition.expr().visit(&mut |e| mentioned.extend(e.as_int().filter(|n| n.unsigned_abs() < 1 << 20)));
            let places = condition.expr().free_symbols();
            let last = places.iter().map(|s| symbols.iter().position(|t| t == s)).collect::<Option<Vec<_>>>();
            if let Some(last) = last.and_then(|places| places.into_iter().max()) {
                by_last[last].push(condition);
            }
        }
        mentioned.sort_unstable();
        mentioned.dedup();
        Search { program, symbols, conditions: by_last, mentioned, fixed }
    }

    /// Distinct assignments, at most one for each preference.
    fn assignments(&self) -> Vec<Assignment> {
        let mut found: Vec<Vec<i64>> = Vec::new();
        for preference in [Preference::Captured, Preference::Least, Preference::Next, Preference::Large] {
            let candidates: Vec<Vec<i64>> = self.symbols.iter().map(|s| self.candidates(s, preference)).collect();
            let (mut values, mut tries) = (Vec::new(), MAX_TRIES);
            if self.extend(&candidates, &found, &mut values, &mut tries) {
                found.push(values);
            }
        }
        found.into_iter().map(|values| self.symbols.iter().cloned().zip(values).collect()).collect()
    }

    /// Extends a partial assignment to one that is not in `found`.
    fn extend(&self, from: &[Vec<i64>], found: &[Vec<i64>], values: &mut Vec<i64>, tries: &mut usize) -> bool {
        let Some(list) = from.get(values.len()) else { return !found.contains(values) };
        for &value in list {
            if *tries == 0 {
                return false;
            }
            *tries -= 1;
            values.push(value);
            if self.is_met(values) && self.extend(from, found, values, tries) {
                return true;
            }
            values.pop();
        }
        false
    }

    fn is_met(&self, values: &[i64]) -> bool {
        let of = |s: &Symbol| Some(Number::from(*values.get(self.symbols.iter().position(|t| t == s)?)?));
        self.conditions[values.len() - 1].iter().all(|c| c.is_met(&of))
    }

    /// Values within the symbol's range, preferred ones first.
    fn candidates(&self, symbol: &Symbol, preference: Preference) -> Vec<i64> {
        if let Some(n) = self.fixed.get(symbol) {
            return vec![*n];
        }
        let range = self.program.env.range(symbol);
        let declared = self.program.ranges.get(&Expr::symbol(symbol));
        let min = range.min_int().unwrap_or(i64::MIN).max(declared.and_then(|r| r.min).unwrap_or(i64::MIN));
        let max = range.max_int().unwrap_or(i64::MAX).min(declared.and_then(|r| r.max).unwrap_or(i64::MAX));
        let usual = min.max(2);
        let hint = self.program.env.hint(symbol).and_then(Number::as_i64);
        let captured = hint.unwrap_or(usual);
        let least = if min < 0 { 0 } else { min };
        let around = |n: i64| [n, n.saturating_add(1), n.saturating_sub(1)];
        let mut list = match preference {
            Preference::Captured => vec![captured, usual],
            Preference::Least => vec![least, usual],
            Preference::Next => vec![captured.saturating_add(1), captured.saturating_add(2), least.saturating_add(1)],
            Preference::Large => vec![captured.saturating_mul(2), captured.saturating_mul(3), max],
        };
        list.extend((0..=16).map(|n| least.saturating_add(n)));
        list.extend(0..=16);
        list.extend([captured, min, 20, 24, 32, 48, 64, 100, 128, 256, -1, -2]);
        list.extend(self.mentioned.iter().flat_map(|n| around(*n).into_iter().chain([n.saturating_mul(2)])));
        list.extend([max]);
        let mut seen = HashSet::new();
        list.retain(|n| (min..=max).contains(n) && seen.insert(*n));
        list
    }
}

/// The sizes and numbers of given inputs, by their expressions.
fn sizes_of(program: &ExportedProgram, given: &[Option<&Value>]) -> Vec<(Expr, i64)> {
    let mut found = Vec::new();
    for ((_, node, _), value) in user_inputs(program).zip(given) {
        match (node.val(), value) {
            (Some(Val::Tensor(fake)), Some(Value::Tensor(t))) if fake.dim() == t.rank() => {
                found.extend(fake.sizes.iter().cloned().zip(t.sizes().iter().copied()));
            }
            (Some(Val::Int(e)), Some(Value::Int(n))) => found.push((e.clone(), *n)),
            _ => {}
        }
    }
    found.retain(|(e, _)| e.as_int().is_none());
    found
}

/// The maximum number of values that a search tries.
const MAX_TRIES: usize = 20_000;

/// A seeded random number generator.
struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    fn of(seed: u64) -> Random {
        Random { seed, state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
    fn normal(&mut self) -> f64 {
        (0..4).map(|_| (self.next() >> 40) as f64 / (1u64 << 24) as f64).sum::<f64>() - 2.0
    }
    /// One of the list, or `None`, with equal probability; for even seeds, all in turn.
    fn of_these<T: Copy>(&mut self, list: &[T], i: usize) -> Option<T> {
        if self.seed % 2 == 0 {
            return Some(list[(i + self.seed as usize * 3) % list.len()]);
        }
        let n = self.next() >> 32;
        (n % 2 == 1).then(|| list[(n / 2) as usize % list.len()])
    }
}

/// What the integers of a tensor are.
#[derive(Clone, Copy)]
struct Integers {
    /// The number that all are.
    item: Option<i64>,
    /// The size that they index.
    bound: Option<i64>,
}

fn tensor(d: DType, sizes: &[i64], count: usize, fill: Fill, values: Integers, random: &mut Random) -> Result<Tensor> {
    if d.is_float() || d.is_complex() {
        let pool = special_floats(d);
        let pool_len = pool.len();
        let mut one = |i: usize| match fill {
            Fill::Ordinary | Fill::Zeros => random.normal(),
            Fill::SpecialFloats | Fill::Special => random.of_these(&pool, i).unwrap_or_else(|| random.normal()),
        };
        if d.is_complex() && matches!(fill, Fill::SpecialFloats | Fill::Special) {
            let numbers = (0..count).map(|i| Complex::new(one(i), one(i / pool_len))).collect();
            return Ok(Tensor::from_vec(sizes, numbers)?.to_dtype(d)?);
        }
        if d == DType::F64 {
            return Ok(Tensor::from_vec(sizes, (0..count).map(one).collect::<Vec<f64>>())?);
        }
        return Ok(Tensor::from_vec(sizes, (0..count).map(|i| one(i) as f32).collect::<Vec<f32>>())?.to_dtype(d)?);
    }
    let pool = extreme_integers(d);
    let one = |i: usize| match (values.item, fill) {
        (Some(n), _) => n,
        (None, Fill::Zeros) => 0,
        (None, Fill::Ordinary) if let Some(bound) = values.bound.filter(|n| *n > 0 && d != DType::Bool) => {
            (random.next() >> 33) as i64 % bound
        }
        (None, Fill::Special) => random.of_these(&pool, i).unwrap_or((i % 2) as i64),
        (None, _) => (i % 2) as i64,
    };
    Ok(Tensor::from_vec(sizes, (0..count).map(one).collect::<Vec<i64>>())?.to_dtype(d)?)
}

fn special_floats(d: DType) -> Vec<f64> {
    let (largest, least, subnormal) = match d {
        DType::F64 | DType::C128 => (f64::MAX, f64::MIN_POSITIVE, 5e-324),
        DType::F16 | DType::C32 => (65504.0, 6.103_515_625e-5, 5.960_464_477_539_063e-8),
        _ => (f32::MAX.into(), f32::MIN_POSITIVE.into(), f32::from_bits(1).into()),
    };
    vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 0.0, largest, -largest, least, -subnormal, 1.0, -1.0]
}

fn extreme_integers(d: DType) -> Vec<i64> {
    let (least, largest) = match d {
        DType::Bool => (0, 1),
        DType::U8 => (0, u8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    vec![least, largest, least.max(-1), 0, 1, 2.min(largest)]
}
