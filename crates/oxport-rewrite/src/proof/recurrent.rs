//! Whether steps that are written out are those of a recurrent layer.
//!
//! ```text
//! cat([h_1, …, h_n])  =  rnn(x, h_0, weights, …)[0],  h_n  =  …[1]
//! ```

use super::Refusal;
use super::closure::TermId;
use super::step::is_sound;
use super::store::{Head, Store};
use crate::constant::Constant;
use crate::rules::recurrent::{Layer, Operands, has_biases, rolled, shape, written_out};

/// Checks that each first term is the result of steps that the second one is of their call.
///
/// # Errors
/// A second term is no such call, or a first one is not what its steps give.
pub(crate) fn check(store: &mut Store<'_>, layer: &Layer, pairs: &[(TermId, TermId)]) -> Result<(), Refusal> {
    for &(before, after) in pairs {
        let Some((result, number)) = result(store, after) else {
            return Err(format!("a term after is no result of {}", layer.op));
        };
        // The rows of the last states are not turned around, so that nothing but the input of their call shows it.
        let is_reversed = result != after;
        let read = check_as(store, layer, (before, after), (result, number), is_reversed);
        match number {
            0 => read?,
            _ => read.or_else(|_| check_as(store, layer, (before, after), (result, number), true))?,
        }
        is_sound(store, before, after)?;
    }
    Ok(())
}

/// Checks it of a layer whose rows are read in this order.
fn check_as(
    store: &mut Store<'_>,
    layer: &Layer,
    (before, after): (TermId, TermId),
    (result, number): (TermId, usize),
    is_reversed: bool,
) -> Result<(), Refusal> {
    let (operands, biased) = operands(store, layer, result, is_reversed)
        .ok_or_else(|| format!("a term after is no result of a layer of {} of one direction", layer.op))?;
    let rolled = rolled(store, layer, &operands, biased, is_reversed);
    if !rolled.is_some_and(|all| all.get(number).is_some_and(|&result| store.closure.equal(result, after))) {
        return Err("the call has other arguments than a layer of one direction".to_string());
    }
    let shape = shape(store, layer, &operands, is_reversed).ok_or("the number of steps is not known")?;
    let written = written_out(store, layer, &operands, shape, &mut |_, _, _| true).ok_or("the steps are ill-typed")?;
    match written.get(number).is_some_and(|&written| store.closure.equal(before, written)) {
        true => Ok(()),
        false => Err("the term before is not what the steps give".to_string()),
    }
}

fn call(store: &Store<'_>, term: TermId, op: &str) -> Option<Vec<TermId>> {
    match store.closure.term(term) {
        (Head::Call(name), args) if **name == *op => Some(args.to_vec()),
        _ => None,
    }
}

/// The result of a call that a term is, its rows turned around or not, and its number.
fn result(store: &Store<'_>, term: TermId) -> Option<(TermId, usize)> {
    let result = call(store, term, "aten::flip").map_or(term, |args| args[0]);
    match store.closure.term(call(store, result, "_operator::getitem")?[1]) {
        (Head::Const(Constant::Int(number)), _) => Some((result, usize::try_from(*number).ok()?)),
        _ => None,
    }
}

/// The operands of the layer whose result a term is, and whether it has biases.
fn operands(
    store: &mut Store<'_>,
    layer: &Layer,
    result: TermId,
    is_reversed: bool,
) -> Option<(Operands<TermId>, bool)> {
    let args = call(store, call(store, result, "_operator::getitem")?[0], layer.op)?;
    let items = |list: TermId| match store.closure.term(list) {
        (Head::List, items) => Some(items.to_vec()),
        _ => None,
    };
    let weights = items(args[2])?;
    let states = if layer.states() == 1 { vec![args[1]] } else { items(args[1])? };
    let input = if is_reversed { call(store, args[0], "aten::flip")?[0] } else { args[0] };
    let none = store.constant(Constant::None);
    let (weights, biases) = match weights[..] {
        [a, b] => ([a, b], [none, none]),
        [a, b, c, d] => ([a, b], [c, d]),
        _ => return None,
    };
    let operands = Operands { input, states, weights, biases };
    let biased = has_biases(store, &operands)?;
    (operands.states.len() == layer.states()).then_some((operands, biased))
}
