//! Loops joined into one pass: elementwise calls compute all of their values for some elements before the next ones, so
//! that values between them stay in the first-level cache.
//!
//! ```text
//! call 0 ─ f0 ┐  a kernel is given values that are absent; where it would run its loop, it hands its row function over
//! call 1 ─ f1 ┤  instead, and the next kernel is called from there, so that all row functions are alive together
//! call 2 ─ f2 ┘  when the last one is reached: f0 │ f1 │ f2 over one run of elements, then over the next
//! ```
//!
//! Behind a product or convolution the pass is run over each finished part of its output, by the task that has made it.
//!
//! Laws: the values are those of the calls one by one, to the bit, since the same row functions compute them; a kernel
//! that does anything with an absent value but run one loop is refused, before anything is written that anybody sees.

use super::walk::{Access, Operand, Part, RowFn, Walk};
use crate::gemm::{Activation, After, Finished};
use crate::scratch::Scratch;
use crate::{DType, Error, Layout, Result, SharedLayout, Storage, Tensor, TensorMut, scoped};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

mod tail;

use tail::tail;

/// Elements that all calls compute before the next ones: the values between a few calls fill half a first-level cache.
const CHUNK: usize = 1024;

/// One elementwise call of a joined pass.
pub struct Call<'a> {
    /// The result as later calls are given it: [`Tensor::absent`], of the sizes that all calls have.
    pub value: &'a Tensor,
    /// Where the result goes if anybody but later calls reads it.
    pub out: Option<&'a mut TensorMut>,
    /// Calls the kernel, whose output is given; whether it succeeds. It may run one loop over whole tensors.
    pub kernel: &'a dyn Fn(&mut [TensorMut]) -> bool,
}

/// The product or convolution in front of a joined pass.
pub struct Producer<'a> {
    /// The result as the calls are given it: [`Tensor::absent`].
    pub value: &'a Tensor,
    /// Where the result goes: memory of its own, or that of the last call's result, which must have the same layout and
    /// dtype.
    pub out: Option<&'a mut TensorMut>,
    /// Calls the kernel, whose output is given and what it should call for finished parts.
    pub kernel: &'a dyn Fn(&mut TensorMut, Option<After<'_>>) -> Produced,
}

/// What has become of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Produced {
    /// The kernel fails.
    Nothing,
    /// All elements.
    Whole,
    /// A reader has had [rows](crate::conv::RowSource) of it, with what follows; the output is left as it was.
    Rows,
}

impl Tensor {
    /// A tensor without memory, which stands for a value between [joined](join) calls, or for one that has been written
    /// where it goes. Reading it by anything but a loop is a panic.
    ///
    /// # Errors
    /// The sizes overflow.
    pub fn absent(dtype: DType, layout: SharedLayout) -> Result<Tensor> {
        Ok(Tensor::from_parts(Storage::absent(layout.bytes_of(dtype)?), dtype, layout))
    }

    /// Whether the elements are not there.
    pub fn is_absent(&self) -> bool {
        self.storage().is_absent()
    }
}

/// Computes all calls in one pass; false where a kernel is none that can be joined, or fails. Then outputs may have any
/// values, and the calls are to be run one by one.
pub fn join(calls: &mut [Call<'_>], producer: Option<Producer<'_>>) -> bool {
    let kernels: SmallVec<[_; 8]> = calls.iter().map(|call| (call.value, call.kernel)).collect();
    let Some((value, _)) = kernels.first() else { return false };
    let sizes = value.sizes();
    let mut outs = SmallVec::<[Out; 4]>::new();
    for (i, call) in calls.iter_mut().enumerate() {
        if let Some(out) = &mut call.out {
            if out.sizes() != sizes || out.dtype() != call.value.dtype() {
                return false;
            }
            outs.push(Out { call: i, start: out.start(), layout: out.layout().clone() });
        }
    }
    if kernels.iter().any(|(value, _)| value.sizes() != sizes || !value.is_absent()) {
        return false;
    }
    let last = calls.last_mut().and_then(|call| call.out.as_deref_mut());
    let rest = Cell::new(Some((producer, last)));
    reach(&kernels, None, &|link| match rest.take() {
        Some((Some(producer), last)) => behind(producer, last, &kernels, link, &outs),
        Some((None, _)) => Program::new(&kernels, &in_order(link), &outs, None).is_some_and(Program::run),
        None => false,
    })
}

/// Where a value goes.
#[derive(Clone)]
struct Out {
    call: usize,
    start: *mut u8,
    layout: Layout,
}

type Kernels<'a> = [(&'a Tensor, &'a dyn Fn(&mut [TensorMut]) -> bool)];

/// A function that is known elsewhere: those of float32 numbers to the kernels of products, which compute them as well,
/// copies to the walk over the elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// The element itself.
    Copy,
    /// Of a number, a factor and a shift.
    ScaleShift,
    Sum,
    Activation(Activation<f32>),
}

/// The row function of a call, and its operands; the calls before it are the outer links.
#[derive(Clone, Copy)]
struct Link<'a> {
    row: RowFn<'a>,
    known: Option<Known>,
    inputs: &'a [&'a Tensor],
    outer: Option<&'a Link<'a>>,
}

/// The links from the first call on.
fn in_order<'a>(last: Option<&'a Link<'a>>) -> SmallVec<[&'a Link<'a>; 8]> {
    let mut links: SmallVec<[_; 8]> = std::iter::successors(last, |link| link.outer).collect();
    links.reverse();
    links
}

/// Calls the kernels until all have reached their loops, then `end`.
fn reach(kernels: &Kernels<'_>, outer: Option<&Link<'_>>, end: &dyn Fn(Option<&Link<'_>>) -> bool) -> bool {
    let Some(((value, kernel), rest)) = kernels.split_first() else { return end(outer) };
    let mut is_done = false;
    let mut then = |inputs: &[&Tensor], known: Option<Known>, row: RowFn<'_>| {
        is_done = reach(rest, Some(&Link { row, known, inputs, outer }), end);
        is_done
    };
    let request = Request { id: value.storage().id(), layout: value.layout(), then: Cell::new(Some(&mut then)) };
    let mut out = [TensorMut::from_parts(value.storage().clone(), value.dtype(), value.shared_layout().clone())];
    // SAFETY: only lifetimes are changed; the request is there until `with` ends, and is not reached afterwards.
    let request = unsafe { std::mem::transmute::<&Request<'_>, &'static Request<'static>>(&request) };
    scoped::with(&REQUEST, Some(request), || kernel(&mut out)) && is_done
}

/// The loop that is waited for.
struct Request<'a> {
    /// The storage of its output.
    id: usize,
    layout: &'a Layout,
    then: Cell<Option<Then<'a>>>,
}

type Then<'a> = &'a mut dyn FnMut(&[&Tensor], Option<Known>, RowFn<'_>) -> bool;

thread_local! {
    static REQUEST: Cell<Option<&'static Request<'static>>> = const { Cell::new(None) };
}

/// A loop over absent values: handed over if it is the one that is waited for.
///
/// # Errors
/// It is not, or the calls behind it fail.
pub(super) fn hand_over(
    inputs: &[&Tensor],
    outs: &[&mut TensorMut],
    access: Access,
    known: Option<Known>,
    row: RowFn<'_>,
) -> Result<()> {
    let refused = || Error::unsupported("an absent value in a loop that is not joined");
    let request = REQUEST.get().ok_or_else(refused)?;
    let is_it = |out: &TensorMut| out.storage_id() == request.id && out.layout() == request.layout;
    let ([out], Access::Write) = (outs, access) else { return Err(refused()) };
    let then = request.then.take().filter(|_| is_it(out)).ok_or_else(refused)?;
    // The loops of the calls that follow are other ones.
    match scoped::with(&REQUEST, None, || then(inputs, known, row)) {
        true => Ok(()),
        false => Err(refused()),
    }
}

/// Where a call finds an operand, or puts its result.
#[derive(Clone, Copy)]
enum Place {
    /// From this byte on in the scratch memory of a thread.
    Register(usize),
    /// An operand of the walk, with so many bytes an element.
    Operand(usize, usize),
    /// The result of a product: the second operand of the walk, or a copy of it in the first register where the last
    /// call writes to the same memory.
    Product(usize),
}

/// What one pass computes, and of which elements.
struct Program<'a> {
    walk: Walk,
    /// Row functions with their results and operands.
    calls: SmallVec<[(RowFn<'a>, SmallVec<[Place; 4]>); 8]>,
    registers: Registers,
}

/// Scratch memory for the values of [`CHUNK`] elements.
#[derive(Default)]
struct Registers {
    bytes: usize,
    /// Whether a call puts its result there.
    is_used: bool,
    /// Those of bools, whose bytes must be bools from the start.
    bools: SmallVec<[usize; 2]>,
}

impl Registers {
    fn add(&mut self, dtype: DType) -> usize {
        let at = self.bytes;
        self.bytes += CHUNK * dtype.size();
        self.is_used = true;
        if dtype == DType::Bool {
            self.bools.push(at);
        }
        at
    }
}

/// What a product leaves: its value, where it lies, and whether the last call writes there.
struct Product<'a> {
    value: &'a Tensor,
    start: *mut u8,
    is_shared: bool,
}

impl<'a> Program<'a> {
    /// `None` where a call reads what no loop can give it.
    fn new(
        kernels: &Kernels<'_>,
        links: &[&'a Link<'a>],
        outs: &[Out],
        product: Option<&Product<'_>>,
    ) -> Option<Program<'a>> {
        let sizes = kernels.first()?.0.sizes();
        let mut operands = SmallVec::<[Operand; 4]>::new();
        let mut operand = |start, dtype: DType, layout: &Layout, access| {
            operands.push(Operand::new(start, dtype.size(), layout, access));
            Place::Operand(operands.len() - 1, dtype.size())
        };
        let mut registers = Registers::default();
        let is_value = |x: &Tensor, of: &Tensor| x.storage().same_storage(of.storage());
        let reads = |link: &Link<'_>, value: &Tensor| link.inputs.iter().any(|x| is_value(x, value));
        // The output of a product is the first operand, which decides the order of elements.
        let produced = product.map(|p| {
            let (dtype, layout) = (p.value.dtype(), p.value.layout());
            if !p.is_shared {
                let place = operand(p.start, dtype, layout, Access::Read);
                return (place, place);
            }
            // The first one, which only a product in place needs.
            registers.add(dtype);
            registers.is_used = false;
            let place = operand(p.start, dtype, layout, Access::Write);
            operand(p.start, dtype, layout, Access::Read);
            (place, Place::Product(dtype.size()))
        });
        let mut places = SmallVec::<[Option<Place>; 8]>::from_elem(None, kernels.len());
        for out in outs {
            let shared = produced.filter(|_| product.is_some_and(|p| p.is_shared) && out.call + 1 == kernels.len());
            places[out.call] = Some(match shared {
                Some((place, _)) => place,
                None => operand(out.start, kernels[out.call].0.dtype(), &out.layout, Access::Write),
            });
        }
        let last_read = |value: &Tensor| links.iter().rposition(|link| reads(link, value));
        // Registers by the call that reads them last.
        let mut used = SmallVec::<[(usize, DType, Option<usize>); 8]>::new();
        let mut known = SmallVec::<[(&Tensor, Place); 8]>::new();
        let mut calls = SmallVec::new();
        for (i, link) in links.iter().enumerate() {
            let value = kernels.get(i)?.0;
            let result = places[i].unwrap_or_else(|| {
                let (dtype, until) = (value.dtype(), last_read(value));
                let free = used.iter_mut().find(|(_, d, last)| *d == dtype && last.is_none_or(|last| last < i));
                let at = match free {
                    Some((at, _, last)) => {
                        *last = until;
                        *at
                    }
                    None => {
                        let at = registers.add(dtype);
                        used.push((at, dtype, until));
                        at
                    }
                };
                Place::Register(at)
            });
            places[i] = Some(result);
            let mut of_call = SmallVec::<[Place; 4]>::from_elem(result, 1);
            for &x in link.inputs {
                let same = |of: &Tensor| x.layout() == of.layout() && x.dtype() == of.dtype();
                let place = if !x.is_absent() {
                    let alike = |k: &&(&Tensor, Place)| is_value(x, k.0) && same(k.0);
                    match known.iter().find(alike) {
                        Some((_, place)) => *place,
                        None => {
                            let spread = x.layout().expand(sizes).ok()?;
                            let place = operand(x.start::<u8>().cast_mut(), x.dtype(), &spread, Access::Read);
                            known.push((x, place));
                            place
                        }
                    }
                } else if let Some(j) = kernels[..i].iter().position(|(of, _)| is_value(x, of) && same(of)) {
                    places[j]?
                } else {
                    product.filter(|p| is_value(x, p.value) && same(p.value)).and(produced)?.1
                };
                of_call.push(place);
            }
            calls.push((link.row, of_call));
        }
        Some(Program { walk: Walk::ordered(sizes, operands), calls, registers })
    }

    /// Runs the pass over all elements.
    fn run(self) -> bool {
        let Program { walk, calls, registers } = self;
        let walk = walk.tiled();
        let row = |len: usize, pointers: &[*mut u8]| compute(&calls, &registers, true, len, pointers);
        // SAFETY: tensors keep all their elements inside valid memory; an output is held by us alone, so it overlaps no
        // other operand but the result of a product, which is copied before anything is written there; the row
        // functions touch only the given elements.
        unsafe { walk.rows(&row) };
        true
    }
}

/// Computes `len` elements; `is_in_place` says whether the result of a product lies where the last call writes.
fn compute(
    calls: &[(RowFn<'_>, SmallVec<[Place; 4]>)],
    registers: &Registers,
    is_in_place: bool,
    len: usize,
    pointers: &[*mut u8],
) {
    let product = calls.iter().flat_map(|(_, places)| places).find_map(|place| match place {
        Place::Product(size) if is_in_place => Some(*size),
        _ => None,
    });
    let mut scratch = (registers.is_used || product.is_some()).then(|| Scratch::take::<u8>(registers.bytes));
    let memory = scratch.as_mut().map_or(std::ptr::null_mut(), |scratch| {
        let memory = scratch.slice::<u8>(registers.bytes);
        registers.bools.iter().for_each(|&at| memory[at..at + CHUNK].fill(0));
        memory.as_mut_ptr()
    });
    let mut row = SmallVec::<[*mut u8; 4]>::new();
    for first in (0..len).step_by(CHUNK) {
        let n = CHUNK.min(len - first);
        if let Some(size) = product {
            // SAFETY: the operand has `len` elements of this size, the register room for `CHUNK` of them.
            unsafe { memory.copy_from_nonoverlapping(pointers[1].wrapping_add(first * size), n * size) };
        }
        for (f, places) in calls {
            row.clear();
            row.extend(places.iter().map(|place| match *place {
                Place::Register(at) => memory.wrapping_add(at),
                Place::Product(_) if is_in_place => memory,
                Place::Product(size) => pointers[1].wrapping_add(first * size),
                Place::Operand(k, size) => pointers[k].wrapping_add(first * size),
            }));
            f(n, &row);
        }
    }
}

/// Runs a product, and the calls over each finished part of its output, or over all of it in the end.
fn behind(
    producer: Producer<'_>,
    last: Option<&mut TensorMut>,
    kernels: &Kernels<'_>,
    link: Option<&Link<'_>>,
    outs: &[Out],
) -> bool {
    let (value, is_shared) = (producer.value, producer.out.is_none());
    let Some(out) = producer.out.or(last) else { return false };
    if value.sizes() != kernels[0].0.sizes() || out.layout() != value.layout() || out.dtype() != value.dtype() {
        return false;
    }
    let start: *mut u8 = out.start();
    let (product, start) = (Product { value, start, is_shared }, start.addr());
    let links = in_order(link);
    let Some(program) = Program::new(kernels, &links, outs, Some(&product)) else { return false };
    let pitch = program.walk.pitch();
    // What nobody else sees may be the product's own.
    let is_own = is_shared && outs.len() == 1;
    let (mut tail, count) = if is_own { tail(value, start, kernels, &links) } else { (None, 0) };
    // What is left then, of a product that is the last one of those values.
    let is_like = |x: &Tensor| x.layout() == value.layout() && x.dtype() == value.dtype();
    let rest = tail.filter(|tail| tail.is_part && is_like(kernels[count - 1].0)).and_then(|_| {
        let outs: SmallVec<[Out; 1]> = outs.iter().map(|out| Out { call: out.call - count, ..out.clone() }).collect();
        let product = Product { value: kernels[count - 1].0, ..product };
        let rest = Program::new(&kernels[count..], &links[count..], &outs, Some(&product))?;
        Some((rest.walk.pitch()?, rest))
    });
    tail = tail.filter(|tail| !tail.is_part || rest.is_some());
    let (finished, is_wrong) = (AtomicUsize::new(0), AtomicBool::new(false));
    let after = |done: Finished| {
        let Finished { start: own, at, rows, stride, cols, made, to, has_tail } = done;
        finished.fetch_add(rows * cols, Relaxed);
        if own.addr() != start {
            return is_wrong.store(true, Relaxed);
        }
        let (pitch, Program { walk, calls, registers }) = match &rest {
            Some((pitch, rest)) if has_tail => (Some(*pitch), rest),
            None if has_tail => return,
            _ => (pitch, &program),
        };
        let there = || (own.wrapping_add(at * value.dtype().size()), stride);
        let source = is_shared.then(|| made.unwrap_or_else(there));
        let is_in_place = made.is_none();
        let row = |len: usize, pointers: &[*mut u8]| compute(calls, registers, is_in_place, len, pointers);
        let part = Part { start: own, at, rows, stride, cols, places: [to, source] };
        let Some(part) = pitch.and_then(|pitch| walk.without_gaps(pitch, part)) else {
            return is_wrong.store(true, Relaxed);
        };
        walk.parts(part, &mut |walk| {
            // SAFETY: as in `run`; these elements of the product are finished, and given to nobody else.
            unsafe { walk.rows_here(&row) }
        });
    };
    let after = pitch.map(|_| After { f: &after, writes: is_shared, tail });
    let produced = (producer.kernel)(out, after);
    if produced == Produced::Nothing || is_wrong.into_inner() {
        return false;
    }
    match finished.into_inner() {
        _ if produced == Produced::Rows => true,
        0 => program.run(),
        n => n == value.numel(),
    }
}

#[cfg(test)]
mod tests;
