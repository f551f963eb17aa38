//! Whether products over a shared input are parts of a merged one.
//!
//! ```text
//! linear(x, a, b), linear(x, c, d)  =  the parts of linear(x, cat([a, c]), cat([b, d])), split
//! ```

use super::Refusal;
use super::closure::TermId;
use super::step::is_sound;
use super::store::{Head, Store};
use crate::constant::Constant;
use crate::kind::Kind;
use crate::rules::mergeable::{FORMS, Form};
use oxport_ir::MemoryFormat;

/// Checks that each product is the part that it is said to be.
///
/// # Errors
/// There is no such rule, the products differ in more than weight and bias, or a part is another one.
pub(crate) fn check(store: &mut Store<'_>, name: &str, pairs: &[(TermId, TermId)]) -> Result<(), Refusal> {
    let form = FORMS.iter().find(|f| f.rule() == name).ok_or_else(|| format!("there is no rule {name}"))?;
    let products: Vec<Vec<TermId>> = pairs
        .iter()
        .map(|&(before, _)| match store.closure.term(before) {
            (Head::Call(op), args) if **op == *form.op => Ok(args.to_vec()),
            _ => Err(format!("a term before is no {}", form.op)),
        })
        .collect::<Result<_, _>>()?;
    let first = products.first().ok_or("nothing is merged")?;
    let has_bias = form.bias.filter(|&b| store.kind(first[b]).tensor().is_some());
    let is_own = |i: usize| i == form.weight.0 || has_bias == Some(i);
    let are_shared = |args: &Vec<TermId>| {
        args.len() == first.len()
            && args.iter().zip(first).enumerate().all(|(i, (&a, &b))| is_own(i) || store.closure.equal(a, b))
    };
    if !products.iter().all(are_shared) {
        return Err("the products share less than all but weight and bias".to_string());
    }
    let widths = widths(store, form, has_bias, &products).ok_or("the weights cannot be concatenated")?;
    let mut args = first.clone();
    args[form.weight.0] = join(store, &products, form.weight.0, form.weight.1)?;
    if let Some(bias) = has_bias {
        args[bias] = join(store, &products, bias, 0)?;
    }
    let merged = store.call(form.op, &args)?;
    let widths: Vec<TermId> = widths.iter().map(|&n| store.constant(Constant::Int(n))).collect();
    let (widths, along) = (store.list(&widths)?, store.constant(Constant::Int(form.outputs)));
    let split = store.call("aten::split_with_sizes", &[merged, widths, along])?;
    for (i, &(before, after)) in (0i64..).zip(pairs) {
        if before == after {
            // It is concatenated with the others, and stays as it is.
            continue;
        }
        let i = store.constant(Constant::Int(i));
        let piece = store.call("_operator::getitem", &[split, i])?;
        let is_part = store.closure.equal(after, piece) || is_laid(store, before, after, piece)?;
        if !is_part {
            return Err("a term after is no part of the merged product".to_string());
        }
        is_sound(store, before, after)?;
    }
    Ok(())
}

/// True if a term is a view of a piece in the sizes of a product, or a copy of the piece.
fn is_laid(store: &mut Store<'_>, before: TermId, after: TermId, piece: TermId) -> Result<bool, Refusal> {
    let format = store.constant(Constant::MemoryFormat(MemoryFormat::Contiguous));
    let copy = store.call("aten::clone", &[piece, format])?;
    if store.closure.equal(after, copy) {
        return Ok(true);
    }
    let Some(sizes) = store.kind(before).tensor().and_then(|t| t.concrete_sizes()) else { return Ok(false) };
    let sizes: Vec<TermId> = sizes.iter().map(|&n| store.constant(Constant::Int(n))).collect();
    let sizes = store.list(&sizes)?;
    let view = store.call("aten::view", &[piece, sizes])?;
    let same =
        |a: TermId, b: TermId| store.kind(a).tensor().map(|t| &t.sizes) == store.kind(b).tensor().map(|t| &t.sizes);
    Ok(store.closure.equal(after, view) && same(view, piece))
}

/// The sizes of the weights along the outputs, if weights and biases can be concatenated.
fn widths(store: &Store<'_>, form: &Form, bias: Option<usize>, products: &[Vec<TermId>]) -> Option<Vec<i64>> {
    let (at, along) = (form.weight.0, form.weight.1 as usize);
    let sizes = |id: TermId| store.kind(id).tensor()?.concrete_sizes();
    let first = sizes(products[0][at])?;
    let is_one = |i: usize| matches!(store.kind(products[0][i]), Kind::Const(Constant::Int(1)));
    if !form.groups.is_none_or(is_one) || form.groups.is_none() && first.len() != 2 {
        return None;
    }
    let width = |args: &Vec<TermId>| {
        let own = sizes(args[at])?;
        let mut pairs = own.iter().zip(&first).enumerate();
        let is_alike = own.len() == first.len() && pairs.all(|(d, (a, b))| d == along || a == b);
        let width = own.get(along).copied().filter(|_| is_alike)?;
        let fits = match bias {
            Some(bias) => sizes(args[bias])?[..] == [width],
            None => true,
        };
        fits.then_some(width)
    };
    products.iter().map(width).collect()
}

fn join(store: &mut Store<'_>, products: &[Vec<TermId>], argument: usize, dim: i64) -> Result<TermId, Refusal> {
    let parts: Vec<TermId> = products.iter().map(|args| args[argument]).collect();
    let (list, dim) = (store.list(&parts)?, store.constant(Constant::Int(dim)));
    store.call("aten::cat", &[list, dim])
}
