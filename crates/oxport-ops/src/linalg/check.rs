//! What factorizations report: `info` numbers, and the errors that they become.
//!
//! Law: 0 is success; a positive number says where it failed, counted from 1.

use crate::support::meta::MetaArgs;
use oxport_ir::{Args, Class, Effect, Error, OpDef, Real, Result};
use oxport_tensor::Tensor;

/// The table.
pub static OPS: &[OpDef] = &[OpDef::new(
    "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
    |_: &MetaArgs<'_>| Ok(Vec::new()),
)
.eval(run)
.work(Class::Call)
.effect(Effect::Assert)
.doc("Fails if a factorization has reported a failure.")
.samples(&[
    "i32[]<0..1>, \"linalg.solve\", is_matrix=True",
    "i32[2]<0..1>, \"linalg.inv\", is_matrix=False",
    "!i32[2]<1..2>, \"linalg.inv\", is_matrix=False",
])];

fn run(args: &Args<'_, Real>) -> Result<Vec<oxport_ir::Value>> {
    let (info, api, is_matrix): (&Tensor, &str, bool) = args.unpack()?;
    let info: Vec<i64> = info.to_dtype(oxport_tensor::DType::I64)?.to_vec()?;
    check(info, is_matrix, api)?;
    Ok(Vec::new())
}

/// Fails with PyTorch's words for the first report that is not 0.
///
/// # Errors
/// There is one.
pub fn check(info: impl IntoIterator<Item = i64>, is_matrix: bool, api: &str) -> Result<()> {
    let Some((i, code)) = info.into_iter().enumerate().find(|(_, code)| *code != 0) else { return Ok(()) };
    let place = if is_matrix { String::new() } else { format!("(Batch element {i}): ") };
    let unlucky = "The algorithm failed to converge because the input matrix";
    let why = match api {
        _ if code < 0 => format!("argument {} has an illegal value", code.unsigned_abs()),
        a if a.contains("inv") => format!(
            "The diagonal element {code} is zero, the inversion could not be completed because the input \
            matrix is singular."
        ),
        a if a.contains("solve") => "The solver failed because the input matrix is singular.".to_string(),
        a if a.contains("cholesky") => format!(
            "The factorization could not be completed because the input is not positive-definite (the \
            leading minor of order {code} is not positive-definite)."
        ),
        a if a.contains("svd") => {
            format!("{unlucky} is ill-conditioned or has too many repeated singular values (error code: {code}).")
        }
        a if a.contains("eig") => {
            format!("{unlucky} is ill-conditioned or has too many repeated eigenvalues (error code: {code}).")
        }
        a if a.contains("lstsq") => format!(
            "The least squares solution could not be computed because the input matrix does not have full \
            rank (error code: {code})."
        ),
        a if a.contains("lu_factor") => format!(
            "U[{code},{code}] is zero, and a solver that used it would divide by zero; `linalg_lu` and \
            `linalg_lu_factor_ex` factorize all the same"
        ),
        _ => format!("failed with code {code}"),
    };
    Err(Error::assertion(format!("{api}: {place}{why}")))
}
