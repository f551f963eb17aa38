//! Half precision: what an operator computes in `float32` and rounds once, its decomposition does too, as in PyTorch.

use crate::all;
use crate::ops::{execute, named};
use oxport::compare::{Tolerance, compare};
use oxport_testkit::samples::parse;

#[test]
fn decompositions_round_once() {
    let cases = [("silu", "bf16[997]"), ("silu", "f16[997]"), ("glu", "bf16[500, 4]"), ("glu", "f16[4, 500], 0")];
    all(cases, |(name, sample)| {
        let (def, sample) = (named(&format!("aten::{name}")), parse(sample)?);
        let run = |apart: bool| execute(def, &sample, apart).map_err(|e| e.1);
        let compared = compare(&run(true)?[0], &run(false)?[0], Tolerance::Exact);
        if compared.agree { Ok(()) } else { Err(compared.detail) }
    });
}
