//! Functions of modules: calls with state.

#![allow(unsafe_code)]

use super::memory::{Copies, borrow, value};
use crate::border::{array, freed, given, guarded, made, text};
use crate::loan::Loan;
use crate::status::Result;
use crate::{OxportBuffer, OxportError, OxportModule, OxportProgram, OxportResults, OxportStatus, OxportValue};
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// A new module: the program with buffers of its own, which have the values of the file. It shares the plan and the
/// weights, so that many modules of one program are cheap, and the program may be freed before it.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_module_new(
    program: Option<&OxportProgram>,
    module: Option<&mut MaybeUninit<Option<Box<OxportModule>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(module, error, || Ok(OxportModule::new(given("a program", program)?)))
}

/// Another module with the current buffers of this one. From then on they are independent.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_module_clone(
    module: Option<&OxportModule>,
    clone: Option<&mut MaybeUninit<Option<Box<OxportModule>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(clone, error, || Ok(given("a module", module)?.copied()))
}

/// Frees a module. NULL does nothing. Results that came from it stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_module_free(module: Option<Box<OxportModule>>) {
    freed(module);
}

/// As `oxport_program_run`, with the buffers of the module, which the call changes. If it fails they stay as they were.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_module_run(
    module: Option<&OxportModule>,
    inputs: *const OxportValue,
    input_count: usize,
    results: Option<&mut MaybeUninit<Option<Box<OxportResults>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(results, error, || {
        // SAFETY: the caller passes as many inputs, by the contract of the header.
        unsafe { run(module, inputs, input_count, OxportResults::new) }
    })
}

/// As `oxport_program_run_into`, with the buffers of the module, which the call changes. If it fails, or one result
/// does not fit, they stay as they were.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_module_run_into(
    module: Option<&OxportModule>,
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
            run(module, inputs, input_count, |results| {
                Copies::check(&results, outputs)?.write();
                Ok(())
            })
        }
    })
}

/// Gives the buffers the values of the file again.
#[unsafe(no_mangle)]
pub extern "C" fn oxport_module_reset(
    module: Option<&OxportModule>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    guarded(error, || {
        given("a module", module)?.reset();
        Ok(())
    })
}

/// The current value of a buffer that calls change, by its name (the `path` of `oxport_program_buffer`), as the only
/// one of `*results`. Later calls do not change it.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_module_get_buffer(
    module: Option<&OxportModule>,
    name: *const c_char,
    results: Option<&mut MaybeUninit<Option<Box<OxportResults>>>>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    made(results, error, || {
        // SAFETY: the caller passes a text, by the contract of the header.
        let name = unsafe { text("name", name) }?;
        let tensor = given("a module", module)?.buffer(name)?;
        OxportResults::new(vec![(format!("mut.{name}"), tensor.into())])
    })
}

/// Replaces the value of a buffer that calls change by a copy of `tensor`, which has the same dtype and sizes.
///
/// # Safety
/// Pointers are as this header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxport_module_set_buffer(
    module: Option<&OxportModule>,
    name: *const c_char,
    tensor: Option<&OxportValue>,
    error: Option<&mut MaybeUninit<Option<Box<OxportError>>>>,
) -> OxportStatus {
    guarded(error, || {
        let (module, tensor) = (given("a module", module)?, given("a tensor", tensor)?);
        let loan = Loan::default();
        // SAFETY: the caller passes a text and a value, by the contract of the header; the loan ends below.
        let (name, value) = unsafe { (text("name", name)?, value(tensor, &loan)?) };
        module.set_buffer(name, &value)?;
        drop(value);
        loan.end();
        Ok(())
    })
}

/// What `take` makes of the results of a call.
///
/// # Safety
/// `inputs` are `count` values, whose pointers are as the header says.
unsafe fn run<T>(
    module: Option<&OxportModule>,
    inputs: *const OxportValue,
    count: usize,
    take: impl FnOnce(Vec<(String, oxport::Value)>) -> Result<T>,
) -> Result<T> {
    let module = given("a module", module)?;
    module.program().admit(count)?;
    let loan = Loan::default();
    // SAFETY: by the caller's promise; the loan ends within `call`.
    let inputs = unsafe { borrow(array("inputs", inputs, count)?, &loan) }?;
    module.call(inputs, loan, take)
}

// What the header says of threads: the compiler refuses this if it is not so.
const _: () = {
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<OxportProgram>();
    shared_by_threads::<OxportModule>();
    shared_by_threads::<OxportResults>();
    shared_by_threads::<OxportError>();
    shared_by_threads::<crate::OxportOptions>();
};
