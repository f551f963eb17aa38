//! A function over the elements of a first dimension: `map`, `scan`, `associative_scan`.
//!
//! Law: the function is run once, in a branch of its own, and changes nothing outside of it.

use crate::error::R;
use crate::interp::Interp;
use crate::journal;
use crate::torch::session::Session;
use crate::value::{Args, Value};
use oxport_capture::branch::Over;
use oxport_capture::{Tensor, Value as Traced};
use std::rc::Rc;

/// `loop_over(operator, function, init or operands, xs)`: the function is given tensors, and gives a list of them with
/// anything else; so does the loop.
pub(in crate::torch) fn loop_over(interp: &mut Interp, session: &Rc<Session>, args: &Args) -> R<Value> {
    const NAME: &str = "loop_over";
    let op = interp.text(&args.at(interp, NAME, 0)?)?;
    let function = args.at(interp, NAME, 1)?;
    let mut tensors = |at: usize| -> R<Vec<Tensor>> {
        let value = args.at(interp, NAME, at)?;
        match session.lower(interp, &value)? {
            Traced::List(items) => Ok(items.iter().filter_map(|v| v.as_tensor().cloned()).collect()),
            _ => interp.type_error("expected a list of tensors"),
        }
    };
    let (first, xs) = (tensors(2)?, tensors(3)?);
    let how = match &*op {
        "map" => Over::Map(&first),
        "scan" => Over::Scan(&first),
        _ => Over::AssociativeScan,
    };
    let tracer = session.tracer();
    session.note_trace(interp);
    let given = match tracer.enter_loop_over(how, &xs) {
        Ok(given) => given,
        Err(error) => return interp.raise("RuntimeError", error.message()),
    };
    journal::begin();
    let run = interp.deeper(|i| {
        let given = given.into_iter().map(|t| session.raise_value(i, t.into())).collect::<R<Vec<Value>>>()?;
        let gives = i.call(&function, Args { pos: given, kw: Vec::new() })?;
        let [results, rest] = &i.collect(&gives)?[..] else { return i.type_error("expected results and their form") };
        Ok((session.lower(i, results)?, rest.clone()))
    });
    let branch = tracer.leave_branch();
    let changes = journal::end();
    let (results, rest) = run?;
    if !changes.is_empty() {
        return interp.raise(
            "RuntimeError",
            format!("the function of {op} changes what is outside of it; give it as a result instead"),
        );
    }
    let results = results.as_list().unwrap_or_default().to_vec();
    session.note_trace(interp);
    let joined = branch.and_then(|branch| tracer.loop_over(how, &xs, (branch, &results)));
    match joined {
        Ok(values) => {
            let values = session.raise_value(interp, Traced::List(values))?;
            Ok(Value::tuple(vec![values, rest]))
        }
        Err(error) => interp.raise("RuntimeError", error.message()),
    }
}
