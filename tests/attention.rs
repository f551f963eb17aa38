//! Attention of one query and of many is computed in two ways, which give the same bits.

use crate::all;
use crate::ops::{execute, named};
use oxport::compare::{Tolerance, compare};
use oxport::{Tensor, Value};
use oxport_testkit::samples::{Sample, parse};

/// Some keys are hidden from each query, and all from the third one.
fn mask(queries: i64, keys: i64) -> Tensor {
    let is_hidden = |i: i64, j: i64| queries > 1 && i == 2 || (i * 31 + j * 17) % 5 == 3;
    let cell = |n: i64| if is_hidden(n / keys, n % keys) { f32::NEG_INFINITY } else { n as f32 / 97.0 };
    Tensor::from_vec(&[1, queries, keys], (0..queries * keys).map(cell).collect()).expect("a mask")
}

fn part(x: &Tensor, end: i64, first: i64) -> Tensor {
    x.view(|l| l.slice(-2, Some(first), Some(end), 1)).expect("rows")
}

#[test]
fn a_query_does_not_depend_on_the_others() {
    let def = named("aten::scaled_dot_product_attention");
    let run = |sample: &Sample| execute(def, sample, false).map_err(|e| e.1).map(|mut out| out.remove(0));
    // Blocks of keys; all heads at once, with more keys than queries and fewer; one block.
    let sizes = [[70, 600, 16, 20], [5, 3, 1, 1], [12, 16, 24, 40], [64, 30, 4, 4], [17, 256, 8, 3]];
    // No mask, keys up to the query, a row of a mask for all queries, one for each.
    let cases = sizes.iter().flat_map(|sizes| (0..4).map(move |kind| (*sizes, kind)));
    all(cases.collect::<Vec<_>>(), |&([l, s, e, w], kind)| {
        let operands = format!("f32[2, 3, {l}, {e}], f32[2, 3, {s}, {e}], f32[2, 3, {s}, {w}]");
        let text = match kind {
            0 => operands.clone(),
            1 => format!("{operands}, is_causal=True"),
            2 => format!("{operands}, f32[1, 1, {s}]"),
            _ => format!("{operands}, f32[1, {l}, {s}]"),
        };
        let mut sample = parse(&text)?;
        if let Some(given) = sample.tensors.get_mut(3) {
            *given = mask(given.sizes()[1], s);
        }
        let Value::Tensor(whole) = run(&sample)? else { return Err("expected a tensor".to_string()) };
        for i in 0..l {
            let mut one = parse(if kind == 1 { &operands } else { &text })?;
            one.tensors = sample.tensors.clone();
            one.tensors[0] = part(&sample.tensors[0], i + 1, i);
            match kind {
                1 => (1..3).for_each(|k| one.tensors[k] = part(&sample.tensors[k], s.min(i + 1), 0)),
                3 => one.tensors[3] = part(&sample.tensors[3], i + 1, i),
                _ => {}
            }
            let expected = Value::Tensor(part(&whole, i + 1, i));
            let found = compare(&run(&one)?, &expected, Tolerance::Exact);
            if !found.agree {
                return Err(format!("query {i}: {}", found.detail));
            }
        }
        Ok(())
    });
}
