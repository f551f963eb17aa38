//! Sites of rules, and what keeps those that are left.

use crate::all;
use oxport::coverage::{left, sites};
use oxport::{DType, ExportedProgram, Fake, Limits, Model, Opt, ProgramBuilder, Tensor, registry};
use oxport_ir::{NodeId, Result};
use std::collections::BTreeMap;

fn program(build: impl Fn(&mut ProgramBuilder<'_>) -> Result<Vec<NodeId>>) -> ExportedProgram {
    let mut b = ProgramBuilder::new(registry());
    let outputs = build(&mut b).expect("calls");
    b.finish(&outputs).expect("a program")
}

/// Attention of 128 queries, keys and values; its probabilities are returned, too, if that is asked for.
fn attention(b: &mut ProgramBuilder<'_>, returns_probabilities: bool) -> Result<Vec<NodeId>> {
    let of = |b: &mut ProgramBuilder<'_>, name: &str| {
        b.input(name, Fake::new(DType::F32, [2i64, 4, 128, 32].map(Into::into)))
    };
    let (q, k, v) = (of(b, "q")?, of(b, "k")?, of(b, "v")?);
    let k = b.call("aten::transpose.int", (k, -2i64, -1i64))?;
    let scores = b.call("aten::matmul", (q, k))?;
    let scores = b.call("aten::mul.Tensor", (scores, 0.25))?;
    let probabilities = b.call("aten::softmax.int", (scores, -1i64))?;
    let whole = b.call("aten::matmul", (probabilities, v))?;
    Ok(if returns_probabilities { vec![whole, probabilities] } else { vec![whole] })
}

fn batch_norm(b: &mut ProgramBuilder<'_>) -> Result<Vec<NodeId>> {
    let x = b.input("x", Fake::new(DType::F32, [1i64, 3, 16, 16].map(Into::into)))?;
    let ones = |sizes: &[i64]| Tensor::from_vec(sizes, vec![1f32; sizes.iter().product::<i64>() as usize]);
    let w = b.parameter("w", ones(&[8, 3, 3, 3])?)?;
    let norms = ["g", "b", "m", "v"].map(|name| b.parameter(name, ones(&[8]).expect("law: as many as the sizes say")));
    let [g, c, m, v] = norms;
    let y = b.call("aten::conv2d", (x, w))?;
    let y = b.call("aten::batch_norm", (y, g?, c?, m?, v?, false, 0.1, 1e-5, false))?;
    Ok(vec![b.call("aten::relu", (y,))?])
}

/// Products of one value by constant matrices, by their numbers of outputs, the last with a bias, if so wished.
fn products(rows: i64, widths: &[i64], last_has_bias: bool) -> ExportedProgram {
    program(|b| {
        let zeros = |sizes: &[i64]| Tensor::from_vec(sizes, vec![0f32; sizes.iter().product::<i64>() as usize]);
        let x = b.input("x", Fake::new(DType::F32, [1, rows, 16].map(Into::into)))?;
        let mut outputs = Vec::new();
        for (i, &n) in widths.iter().enumerate() {
            let weight = b.parameter(&format!("w{i}"), zeros(&[n, 16])?)?;
            let view = b.call("aten::view", (x, vec![rows, 16]))?;
            let product = if i + 1 == widths.len() && last_has_bias {
                let bias = b.parameter("bias", zeros(&[n])?)?;
                b.call("aten::linear", (view, weight, bias))?
            } else {
                let weight = b.call("aten::t", (weight,))?;
                b.call("aten::mm", (view, weight))?
            };
            outputs.push(b.call("aten::relu", (product,))?);
        }
        Ok(outputs)
    })
}

/// A program, whether weights are constants, a family, its sites, and what keeps those that are left.
type Row = (&'static str, ExportedProgram, bool, &'static str, usize, &'static [(&'static str, usize)]);

#[test]
fn what_is_left_has_a_reason() {
    const ATTENTION: &str = "attention of products and softmax";
    const BATCH_NORM: &str = "batch norm after a convolution";
    const SHARED: &str = "linear layers that share an input";
    let rows: [Row; 10] = [
        ("attention", program(|b| attention(b, false)), false, ATTENTION, 1, &[]),
        (
            "probabilities",
            program(|b| attention(b, true)),
            false,
            ATTENTION,
            1,
            &[("probabilities are used elsewhere", 1)],
        ),
        ("batch norm", program(batch_norm), false, BATCH_NORM, 1, &[("weights are not frozen", 1)]),
        ("frozen batch norm", program(batch_norm), true, BATCH_NORM, 1, &[]),
        ("one product", products(1, &[8], false), true, SHARED, 0, &[]),
        ("products", products(1, &[8, 8, 4], false), false, SHARED, 1, &[("weights are not frozen", 1)]),
        ("frozen products", products(1, &[8, 8, 4], false), true, SHARED, 1, &[]),
        (
            "products of several rows",
            products(32, &[64, 64], false),
            true,
            SHARED,
            1,
            &[("merged is dearer, by the model, since parts must be copied", 1)],
        ),
        ("large products", products(4096, &[64, 64], false), true, SHARED, 1, &[("merged is dearer, by the model", 1)]),
        ("one bias", products(1, &[8, 4], true), true, SHARED, 1, &[("some have a bias, others have none", 1)]),
    ];
    all(rows, |(_, program, frozen, family, count, reasons)| {
        let limits =
            Limits { model: Model { frozen: *frozen, ..Model::default() }, grow: f64::INFINITY, ..Limits::default() };
        let program = oxport::functionalize(program).map_err(|e| e.to_string())?;
        let (result, _) = oxport::optimize(&program, Opt::Fast, &limits).map_err(|e| e.to_string())?;
        let mut found = BTreeMap::new();
        let kept = left(&result, *frozen).into_iter().filter(|kept| kept.family == *family);
        kept.for_each(|kept| *found.entry(kept.why).or_insert(0) += 1);
        let found: Vec<(&str, usize)> = found.into_iter().collect();
        match (sites(&program)[family] == *count, found == *reasons) {
            (true, true) => Ok(()),
            _ => Err(format!("{} sites, left {found:?}", sites(&program)[family])),
        }
    });
}
