//! Arrays of the crate `ndarray` as inputs and outputs. (Feature `ndarray`.)

use ndarray::{Array2, ArrayD};
use oxport::{Opt, Tensor};
use std::path::Path;

pub fn main() -> oxport::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp/program.pt2");
    let program = oxport::read(file)?;
    let plan = oxport::plan(&oxport::prepare(&program, Opt::Exact)?, &Default::default())?;

    let x = Array2::<f32>::from_shape_fn((7, 16), |(i, j)| (i * 16 + j) as f32 / 100.0);
    let outputs = plan.run(vec![Tensor::from(x).into()])?;
    let y = ArrayD::<f32>::try_from(&Tensor::try_from(outputs.user[0].clone())?)?;
    println!("{y:.3}");
    assert_eq!(y.shape(), [7, 5]);
    // The program ends with a softmax: rows are probabilities.
    assert!(y.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-5));
    Ok(())
}
