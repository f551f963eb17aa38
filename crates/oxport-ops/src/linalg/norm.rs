//! Norms and condition numbers of matrices.
//!
//! Laws: a matrix norm of order ±1 and ±∞ is the extreme of the absolute sums of columns and of rows, of order ±2 the
//! extreme singular value, `nuc` their sum, `fro` the norm of all elements; the largest of none is 0, the least an
//! error.

use crate::linalg::matrices::matrix;
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use oxport_ir::{Arg, Args, Argument, Build, Builder, Error, Fake, NodeId, Numeral, OpDef, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// A norm.
macro_rules! norm {
    ($schema:literal, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, norm_meta).decomp(norm).doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    norm!(
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
        "The norm of vectors along one dimension, of matrices along two, or of all elements.",
        [
            "f32[2, 3]",
            "f32[2, 3], 1",
            "f32[2, 3], 3, [1], True",
            "f16[2, 3], None, [0, 1], dtype=float32",
            "!f32[2, 3, 4], 1",
            "!f32[2, 3], 3",
            "!i64[3]"
        ]
    ),
    norm!(
        "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
        "The norm of matrices along two dimensions.",
        ["f32[2, 3], \"nuc\"", "f32[2, 3, 4], \"fro\", [0, 2], True", "!f32[3], \"fro\"", "!f32[2, 3], \"max\""]
    ),
    norm!(
        "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
        "The norm of matrices along two dimensions.",
        [
            "f32[2, 3], 1",
            "f32[2, 3, 4], -2, [0, -1], True",
            "c64[0, 3], 1",
            "!f32[3], 1",
            "!f16[2, 2], 2",
            "!f32[2, 2], 1, [0, 0]"
        ]
    ),
    norm!(
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool \
        keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "The norm of matrices along two dimensions.",
        ["f32[2, 3]", "c64[2, 3, 4], \"nuc\", [2, 0], True"]
    ),
    norm!(
        "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
        "The sum of the singular values.",
        ["f32[2, 3]", "f32[2, 3, 4], True", "!f32[3]"]
    ),
    norm!(
        "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
        "The sum of the singular values along two dimensions.",
        ["f32[2, 3, 4], [0, 1], True", "!f32[2, 3], [0]"]
    ),
    OpDef::new("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond_meta)
        .decomp(cond)
        .doc("The norm times that of the inverse.")
        .samples(&["f32[3, 2]", "f32[1, 1]<1..2>, 1", "!f32[3, 2], 1", "!f32[3, 3], 3"]),
    OpDef::new("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_meta)
        .decomp(cond)
        .doc("The norm times that of the inverse.")
        .samples(&["f32[1, 1]<1..2>, \"fro\"", "f32[3, 3], \"nuc\"", "!f32[3, 2], \"fro\""]),
];

/// The order of a matrix norm.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Frobenius,
    Nuclear,
    /// The largest or the least sum of a column (1), of a row (∞), or singular value (2).
    Columns(Extreme),
    Rows(Extreme),
    Singular(Extreme),
}
#[derive(Clone, Copy, PartialEq)]
enum Extreme {
    Most,
    Least,
}

/// What a call asks for.
enum Wish {
    /// The norm of vectors along some dimensions, or of all elements.
    Vectors(Option<usize>),
    /// The norm of matrices: rows along the first dimension, columns along the second.
    Matrices(Order, [usize; 2]),
}

fn order<W: World>(name: &str, given: &Arg<W>) -> Result<Order> {
    let unknown = |what: &dyn std::fmt::Display| Err(Error::invalid(format!("{name}: order {what} is not supported")));
    let number = match given {
        Arg::Str(s) if &**s == "fro" => return Ok(Order::Frobenius),
        Arg::Str(s) if &**s == "nuc" => return Ok(Order::Nuclear),
        Arg::Str(s) => return unknown(s),
        Arg::Int(n) => n.known().map(|n| n as f64),
        Arg::Float(x) => x.known(),
        _ => None,
    };
    let Some(number) = number else { return unknown(&"of another kind") };
    let extreme = if number > 0.0 { Extreme::Most } else { Extreme::Least };
    match number.abs() {
        1.0 => Ok(Order::Columns(extreme)),
        2.0 => Ok(Order::Singular(extreme)),
        f64::INFINITY => Ok(Order::Rows(extreme)),
        _ => unknown(&number),
    }
}

/// An argument, if the schema has it and the call gives it.
fn given<'a, W: World>(args: &Args<'a, W>, name: &str) -> Option<&'a Arg<W>> {
    let (i, _) = args.op.schema()?.arg(name)?;
    Some(&args.values[i]).filter(|a| !matches!(a, Arg::None))
}

fn wish<W: World>(args: &Args<'_, W>, rank: usize) -> Result<Wish> {
    let (name, ord) = (args.op.short_name(), given(args, "ord"));
    let dims: Option<Vec<i64>> = match given(args, "dim") {
        Some(_) => Some(args.named("dim")?),
        None => None,
    };
    let pair = |dims: &[i64]| -> Result<[usize; 2]> {
        ensure!(dims.len() == 2, "{name}: a matrix has two dimensions, not {}", dims.len());
        ensure!(rank >= 2, "{name}: the input tensor must have at least 2 dimensions, got {rank}");
        let dims = wrap_dims(dims, rank)?;
        Ok([dims[0], dims[1]])
    };
    if name.starts_with("nuclear_norm") {
        return Ok(Wish::Matrices(Order::Nuclear, pair(dims.as_deref().unwrap_or(&[-2, -1]))?));
    }
    let Some(ord) = ord else {
        ensure!(dims.as_ref().is_none_or(|d| matches!(d.len(), 1 | 2)), "{name}: `dim` must have length 1 or 2");
        return match dims {
            Some(d) if d.len() == 1 => Ok(Wish::Vectors(Some(wrap_dim(d[0], rank)?))),
            Some(d) => Ok(Wish::Matrices(Order::Frobenius, pair(&d)?)),
            None => Ok(Wish::Vectors(None)),
        };
    };
    let of_matrices = name.starts_with("linalg_matrix_norm") || matches!(ord, Arg::Str(_));
    match dims {
        Some(d) if d.len() == 1 && !of_matrices => Ok(Wish::Vectors(Some(wrap_dim(d[0], rank)?))),
        Some(d) => Ok(Wish::Matrices(order(name, ord)?, pair(&d)?)),
        None if of_matrices || rank == 2 => {
            ensure!(rank == 2, "{name}: without `dim`, a matrix norm is of a matrix, not of {rank} dimensions");
            Ok(Wish::Matrices(order(name, ord)?, [0, 1]))
        }
        None => {
            ensure!(rank == 1, "{name}: without `dim`, the input must be 1D or 2D, got {rank}D");
            Ok(Wish::Vectors(None))
        }
    }
}

/// The dtype that a norm is computed in: the argument's, or the input's.
fn dtype<W: World>(args: &Args<'_, W>, x: DType) -> Result<DType> {
    let name = args.op.name();
    ensure!(x.is_float() || x.is_complex(), "{name}: expected a floating point or complex tensor, got {}", x.name());
    let Some(Arg::DType(wanted)) = given(args, "dtype") else { return Ok(x) };
    let fits = wanted.is_complex() == x.is_complex() && DType::promote(*wanted, x) == Some(*wanted);
    ensure!(fits, "{name}: {} does not become {} without loss", x.name(), wanted.name());
    Ok(*wanted)
}

fn keepdim<W: World>(args: &Args<'_, W>) -> Result<bool> {
    given(args, "keepdim").map_or(Ok(false), |_| args.named("keepdim"))
}

fn norm_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let dtype = dtype(args, x.dtype)?;
    let dims: Vec<usize> = match wish(args, x.dim())? {
        Wish::Vectors(Some(d)) => vec![d],
        Wish::Vectors(None) => (0..x.dim()).collect(),
        Wish::Matrices(order, [a, b]) => {
            let low = matches!(dtype, DType::F16 | DType::BF16 | DType::C32);
            let by_values = matches!(order, Order::Nuclear | Order::Singular(_));
            ensure!(
                !(low && by_values),
                "{}: low precision dtypes are not supported, got {}",
                args.op.name(),
                dtype.name()
            );
            for d in emptied(order, [a, b]) {
                ensure!(!args.cx.is(&x.sizes[d], 0), "{}: the least of no elements", args.op.name());
            }
            vec![a, b]
        }
    };
    let keep = keepdim(args)?;
    let kept = |(d, s): (usize, &Expr)| match dims.contains(&d) {
        true => keep.then(|| Expr::from(1i64)),
        false => Some(s.clone()),
    };
    let sizes: Vec<Expr> = x.sizes.iter().enumerate().filter_map(kept).collect();
    one(fresh(x, dtype.to_real(), sizes))
}

/// The dimensions that must have elements, since the least of them is asked for.
fn emptied(order: Order, [a, b]: [usize; 2]) -> Vec<usize> {
    match order {
        Order::Columns(Extreme::Least) => vec![b],
        Order::Rows(Extreme::Least) => vec![a],
        Order::Singular(Extreme::Least) => vec![a, b],
        _ => Vec::new(),
    }
}

fn ints(dims: &[usize]) -> Argument {
    Argument::List(dims.iter().map(|&d| (d as i64).into()).collect())
}

/// The largest or the least along a dimension; the largest of none is 0.
fn extreme(b: &mut Builder<'_>, x: NodeId, dim: usize, keep: bool, which: Extreme) -> Result<NodeId> {
    let op = match which {
        Extreme::Least => "amin",
        Extreme::Most if b.fake(x)?.sizes[dim].as_int() == Some(0) => "sum.dim_IntList",
        Extreme::Most => "amax",
    };
    b.call(op, (x, ints(&[dim]), keep))
}

fn norm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = args.at(0)?;
    let (rank, keep, given_dtype) = (b.fake(x)?.dim(), keepdim(args)?, given(args, "dtype").is_some());
    let dtype = dtype(args, b.fake(x)?.dtype)?;
    let cast = if given_dtype { Argument::DType(dtype) } else { Argument::None };
    let vectors = |b: &mut Builder<'_>, ord: Argument, dims: Argument, keep: bool| {
        b.call_kw("linalg_vector_norm", (x, ord, dims, keep), &[("dtype", cast.clone())])
    };
    let result = match wish(args, rank)? {
        Wish::Vectors(dim) => {
            let ord = if given(args, "ord").is_some() { args.named("ord")? } else { Argument::Int(2) };
            vectors(b, ord, dim.map_or(Argument::None, |d| ints(&[d])), keep)?
        }
        Wish::Matrices(Order::Frobenius, dims) => vectors(b, Argument::Int(2), ints(&dims), keep)?,
        Wish::Matrices(Order::Columns(which), [rows, columns]) => sums(b, &vectors, [rows, columns], keep, which)?,
        Wish::Matrices(Order::Rows(which), [rows, columns]) => sums(b, &vectors, [columns, rows], keep, which)?,
        Wish::Matrices(order, dims) => {
            let x = if given_dtype { b.call_kw("_to_copy", (x,), &[("dtype", cast.clone())])? } else { x };
            let others: Vec<usize> = (0..rank).filter(|d| !dims.contains(d)).collect();
            let last = others.len();
            let turned = b.call("permute", (x, ints(&[&others[..], &dims].concat())))?;
            let values = b.call("linalg_svdvals", (turned,))?;
            let mut norm = match order {
                Order::Singular(which) => extreme(b, values, last, false, which)?,
                _ => b.call("sum.dim_IntList", (values, ints(&[last]), false))?,
            };
            if keep {
                let [low, high] = [dims[0].min(dims[1]), dims[0].max(dims[1])];
                norm = b.call("unsqueeze", (norm, low as i64))?;
                norm = b.call("unsqueeze", (norm, high as i64))?;
            }
            norm
        }
    };
    Ok(vec![result.into()])
}

/// The extreme along the second dimension of the absolute sums along the first.
fn sums(
    b: &mut Builder<'_>,
    vectors: &dyn Fn(&mut Builder<'_>, Argument, Argument, bool) -> Result<NodeId>,
    [along, across]: [usize; 2],
    keep: bool,
    which: Extreme,
) -> Result<NodeId> {
    let sums = vectors(b, Argument::Int(1), ints(&[along]), keep)?;
    extreme(b, sums, if keep || across < along { across } else { across - 1 }, keep, which)
}

/// The order of a condition number; by singular values if there is none.
fn cond_order<W: World>(args: &Args<'_, W>) -> Result<Order> {
    match &args.values[1] {
        Arg::None => Ok(Order::Singular(Extreme::Most)),
        given => order(args.op.name(), given),
    }
}

fn cond_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let square = matches!(cond_order(args)?, Order::Singular(_)) || args.cx.may_be_same(&m, &n);
    ensure!(square, "linalg_cond: {x} is not square");
    one(fresh(x, x.dtype.to_real(), batch.to_vec()))
}

fn cond(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, order): (NodeId, Order) = (args.at(0)?, cond_order(args)?);
    let fake = b.fake(x)?;
    let empty = fake.sizes[fake.dim() - 2..].iter().any(|s| s.as_int() == Some(0));
    let infinity = Argument::Float(f64::INFINITY);
    let names = |node: NodeId| {
        let infinity = infinity.clone();
        move |name: &str| match name {
            "x" => Some(Argument::from(node)),
            "infinity" => Some(infinity.clone()),
            _ => None,
        }
    };
    let values = |b: &mut Builder<'_>, text: &str| -> Result<Argument> {
        let values = b.call("linalg_svdvals", (x,))?;
        b.expr(text, &names(values))
    };
    let result = match order {
        _ if empty => values(b, "sum.dim_IntList(x, [-1])")?,
        Order::Singular(Extreme::Most) => values(b, "div.Tensor(amax(x, [-1]), amin(x, [-1]))")?,
        Order::Singular(Extreme::Least) => values(b, "div.Tensor(amin(x, [-1]), amax(x, [-1]))")?,
        Order::Nuclear => values(b, "mul.Tensor(sum.dim_IntList(x, [-1]), sum.dim_IntList(reciprocal(x), [-1]))")?,
        _ => {
            let p = args.at::<Argument>(1)?;
            let norm = if matches!(p, Argument::Str(_)) { "linalg_matrix_norm.str_ord" } else { "linalg_matrix_norm" };
            let inverse = b.call("linalg_inv_ex", (x,))?;
            let (inverse, info) = (b.getitem(inverse, 0)?, b.getitem(inverse, 1)?);
            let here = b.call(norm, (x, p.clone()))?;
            let there = b.call(norm, (inverse, p))?;
            let product = b.call("mul.Tensor", (here, there))?;
            let singular = b.call("gt.Scalar", (info, 0i64))?;
            b.call("masked_fill.Scalar", (product, singular, infinity.clone()))?.into()
        }
    };
    Ok(vec![result])
}
