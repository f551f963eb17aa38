//! Whether steps that are written out are those of a recurrent layer, and calls of one layer those of several.
//!
//! ```text
//! cat([h_1, …, h_n])  =  rnn(x, h_0, weights, …)[0],  h_n  =  …[1]
//! ```

use super::Refusal;
use super::closure::TermId;
use super::step::is_sound;
use super::store::{Head, Store};
use crate::compute::sizes;
use crate::constant::Constant;
use crate::rules::recurrent::{
    FLIP, Layer, Operands, Stack, TURN, Way, has_biases, layer_by_layer, one_step, rolled, shape, stacked, written_out,
};

/// Checks by a rule of a layer that first terms are what the second ones, results of calls, stand for.
///
/// # Errors
/// A second term is no such call, or a first one is not what it stands for.
pub(crate) fn check(
    store: &mut Store<'_>,
    layer: &Layer,
    rule: &str,
    pairs: &[(TermId, TermId)],
) -> Result<(), Refusal> {
    match rule {
        _ if rule == layer.rule => check_steps(store, layer, pairs),
        _ if rule == layer.stack => check_stack(store, layer, pairs),
        _ => check_step(store, layer, pairs),
    }
}

/// Checks that each first term is the result of steps that the second one is of their call.
fn check_steps(store: &mut Store<'_>, layer: &Layer, pairs: &[(TermId, TermId)]) -> Result<(), Refusal> {
    for &(before, after) in pairs {
        let Some((result, number)) = result(store, after, FLIP) else {
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

/// Checks that each first term is the state after one step that the second one is of the call of a step.
fn check_step(store: &mut Store<'_>, layer: &Layer, pairs: &[(TermId, TermId)]) -> Result<(), Refusal> {
    let (op, _) = layer.step.ok_or("there is no operator of one step")?;
    for &(before, after) in pairs {
        let result = if layer.states() == 1 { Some((after, 0)) } else { element(store, after) };
        let read = result.and_then(|(called, number)| {
            let args = call(store, called, op)?;
            let states = if layer.states() == 1 { vec![args[1]] } else { items(store, args[1])? };
            let all = [&[args[0], *states.first()?], &args[2..], &states[1..]].concat();
            Some((Operands::in_order(&all), number))
        });
        let (operands, number) = read.ok_or_else(|| format!("a term after is no result of {op}"))?;
        let hidden = store.kind(operands.states[0]).tensor().and_then(|state| state.sizes.get(1)?.as_int());
        let hidden = hidden.filter(|n| *n > 0).ok_or("the size of the state is not known")?;
        has_biases(store, &operands).ok_or("expected both biases or none, got one")?;
        let written = one_step(store, layer, &operands, hidden).ok_or("the step is ill-typed")?;
        if !written.get(number).is_some_and(|&written| store.closure.equal(before, written)) {
            return Err("the term before is not what the step gives".to_string());
        }
        is_sound(store, before, after)?;
    }
    Ok(())
}

/// Checks that each first term is the result of calls of one layer and one direction that the second one is of a call
/// of several.
fn check_stack(store: &mut Store<'_>, layer: &Layer, pairs: &[(TermId, TermId)]) -> Result<(), Refusal> {
    for &(before, after) in pairs {
        let read = layers(store, layer, after);
        let (stack, way, number) = read.ok_or_else(|| format!("a term after is no result of {}", layer.op))?;
        let called = stacked(store, layer, &stack, way).ok_or("the call is ill-typed")?;
        if !called.get(number).is_some_and(|&result| store.closure.equal(result, after)) {
            return Err("the call has other arguments than layers outside of training".to_string());
        }
        let sizes = sizes(store, stack.states[0], called[1]).ok_or("the sizes of the states are not known")?;
        let written = layer_by_layer(store, layer, &stack, way, sizes).ok_or("the layers are ill-typed")?;
        if !written.get(number).is_some_and(|&written| store.closure.equal(before, written)) {
            return Err("the term before is not what the layers give".to_string());
        }
        is_sound(store, before, after)?;
    }
    Ok(())
}

/// The layers whose result a term is, and its number.
fn layers(store: &Store<'_>, layer: &Layer, term: TermId) -> Option<(Stack<TermId>, Way, usize)> {
    let (result, number) = result(store, term, TURN)?;
    let args = call(store, call(store, result, "_operator::getitem")?[0], layer.op)?;
    let constant = |at: usize| match store.closure.term(args[at]) {
        (Head::Const(constant), _) => Some(constant.clone()),
        _ => None,
    };
    let (Constant::Int(layers), Constant::Bool(has_biases)) = (constant(4)?, constant(3)?) else { return None };
    let (Constant::Bool(is_two_way), Constant::Bool(is_batch_first)) = (constant(7)?, constant(8)?) else {
        return None;
    };
    let way = Way { layers, is_two_way, is_batch_first, has_biases };
    let parameters = items(store, args[2])?;
    let parameters: Vec<Vec<TermId>> = parameters.chunks(if has_biases { 4 } else { 2 }).map(<[_]>::to_vec).collect();
    let states = if layer.states() == 1 { vec![args[1]] } else { items(store, args[1])? };
    let fits = i64::try_from(parameters.len()).ok()? == way.count() && states.len() == layer.states();
    fits.then_some((Stack { input: args[0], states, parameters }, way, number))
}

fn items(store: &Store<'_>, list: TermId) -> Option<Vec<TermId>> {
    match store.closure.term(list) {
        (Head::List, items) => Some(items.to_vec()),
        _ => None,
    }
}

fn call(store: &Store<'_>, term: TermId, op: &str) -> Option<Vec<TermId>> {
    match store.closure.term(term) {
        (Head::Call(name), args) if **name == *op => Some(args.to_vec()),
        _ => None,
    }
}

/// The result of a call that a term is, its rows moved by an operator or not, and its number.
fn result(store: &Store<'_>, term: TermId, moved: &str) -> Option<(TermId, usize)> {
    let result = call(store, term, moved).map_or(term, |args| args[0]);
    Some((result, element(store, result)?.1))
}

/// The call whose result a term is, and the number of the result.
fn element(store: &Store<'_>, term: TermId) -> Option<(TermId, usize)> {
    let args = call(store, term, "_operator::getitem")?;
    match store.closure.term(args[1]) {
        (Head::Const(Constant::Int(number)), _) => Some((args[0], usize::try_from(*number).ok()?)),
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
    let weights = items(store, args[2])?;
    let states = if layer.states() == 1 { vec![args[1]] } else { items(store, args[1])? };
    let input = if is_reversed { call(store, args[0], FLIP)?[0] } else { args[0] };
    let none = store.constant(Constant::None);
    let operands = Operands::of_parameters(input, states, &weights, none)?;
    let biased = has_biases(store, &operands)?;
    (operands.states.len() == layer.states()).then_some((operands, biased))
}
