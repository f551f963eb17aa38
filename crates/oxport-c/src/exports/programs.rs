//! Functions of programs: loading, description, calls without state.

#![allow(unsafe_code)]

use super::memory::{Copies, borrow};
use crate::border::{answered, array, freed, given, guarded, made, path};
use crate::loan::Loan;
use crate::ports::Ports;
use crate::status::Result;
use crate::value::OxportPort;
use crate::{OxportBuffer, OxportError, OxportOptions, OxportProgram, OxportResults, OxportStatus, OxportValue};
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// Loads a program from a file: a .pt2 archive, a .json program with a .safetensors file next to it, or a text (.py,
/// .fx). It is verified, optimized and planned: this takes from milliseconds to seconds. The weights of an archive are
/// mapped, not read, so that the file must not be changed while the program, or anything that comes from it, lives.
///
/// `options` may be NULL for the defaults.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_program_load(
    file: *const c_char,
    options: Option<&OxportOptions>,
    program: Option<&mut MaybeUninit<Option<Box<OxportProgram>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(program, error, || {
        // SAFETY: the caller passes a path, by the contract of the header.
        let file = unsafe { path(file) }?;
        OxportProgram::load(&file, &options.cloned().unwrap_or_default())
    })
}

/// Loads a program from the bytes of a .pt2 archive. They are copied, so that they may be freed at once.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_program_from_bytes(
    bytes: *const u8,
    count: usize,
    options: Option<&OxportOptions>,
    program: Option<&mut MaybeUninit<Option<Box<OxportProgram>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(program, error, || {
        // SAFETY: the caller passes as many bytes, by the contract of the header.
        let bytes = unsafe { array("bytes", bytes, count) }?;
        OxportProgram::from_bytes(bytes, &options.cloned().unwrap_or_default())
    })
}

/// Frees a program. NULL does nothing. Modules and results that came from it stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_free(program: Option<Box<OxportProgram>>) {
    freed(program);
}

fn count(program: Option<&OxportProgram>, ports: fn(&OxportProgram) -> &Ports) -> usize {
    answered(0, || program.map_or(0, |program| ports(program).len()))
}

fn port(program: Option<&OxportProgram>, index: usize, ports: fn(&OxportProgram) -> &Ports) -> Option<&OxportPort> {
    answered(None, || ports(program?).get(index))
}

/// The number of inputs that a call takes, flat: the leaves of Python's arguments, in order; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_input_count(program: Option<&OxportProgram>) -> usize {
    count(program, |program| &program.0.inputs)
}

/// The description of an input; NULL if there is none. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_input(program: Option<&OxportProgram>, index: usize) -> Option<&OxportPort> {
    port(program, index, |program| &program.0.inputs)
}

/// The number of results of a call: the outputs of the model, then new values of buffers and inputs; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_output_count(program: Option<&OxportProgram>) -> usize {
    count(program, |program| &program.0.outputs)
}

/// How many of the results, from the first on, the model returns; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_returned_count(program: Option<&OxportProgram>) -> usize {
    answered(0, || program.map_or(0, |program| program.0.returned()))
}

/// The description of a result; NULL if there is none. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_output(program: Option<&OxportProgram>, index: usize) -> Option<&OxportPort> {
    port(program, index, |program| &program.0.outputs)
}

/// The number of buffers: first those that calls change, then the others; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_buffer_count(program: Option<&OxportProgram>) -> usize {
    count(program, |program| &program.0.buffers)
}

/// The description of a buffer; NULL if there is none. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_buffer(program: Option<&OxportProgram>, index: usize) -> Option<&OxportPort> {
    port(program, index, |program| &program.0.buffers)
}

/// The whole description as JSON: {inputs, outputs, buffers, symbols, weights_bytes, threads}, with the ports as
/// `oxport info --json` prints them; "{}" for NULL. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_program_json(program: Option<&OxportProgram>) -> *const c_char {
    answered(c"{}".as_ptr(), || program.map_or(c"{}", |program| &program.0.json).as_ptr())
}

/// Calls the program on `input_count` inputs; trailing ones with a default may be left out. Buffers of the program have
/// the values of the file: their new values are results only. Any number of threads may call one program at once.
///
/// Tensors are read in place, and not after the call.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_program_run(
    program: Option<&OxportProgram>,
    inputs: *const OxportValue,
    input_count: usize,
    results: Option<&mut MaybeUninit<Option<Box<OxportResults>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(results, error, || {
        // SAFETY: the caller passes as many inputs, by the contract of the header.
        OxportResults::new(unsafe { run(program, inputs, input_count) }?)
    })
}

/// As `oxport_program_run`, with the first `output_count` results written to buffers of the caller, in row-major order.
/// If the call fails, or one result does not fit its buffer, nothing is written. A buffer may be memory of an input.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_program_run_into(
    program: Option<&OxportProgram>,
    inputs: *const OxportValue,
    input_count: usize,
    outputs: *const OxportBuffer,
    output_count: usize,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    guarded(error, || {
        // SAFETY: the caller passes as many inputs and buffers, by the contract of the header.
        unsafe {
            let outputs = array("outputs", outputs, output_count)?;
            let results = run(program, inputs, input_count)?;
            Copies::check(&results, outputs)?.write();
        }
        Ok(())
    })
}

/// The results of a call.
///
/// # Safety
/// `inputs` are `count` values, whose pointers are as the header says.
unsafe fn run(
    program: Option<&OxportProgram>,
    inputs: *const OxportValue,
    count: usize,
) -> Result<Vec<(String, oxport::Value)>> {
    let program = &given("a program", program)?.0;
    program.admit(count)?;
    let loan = Loan::default();
    // SAFETY: by the caller's promise; the loan ends within `call`.
    let inputs = unsafe { borrow(array("inputs", inputs, count)?, &loan) }?;
    program.call(inputs, loan, |inputs| Ok(program.plan.run(inputs)?))
}
