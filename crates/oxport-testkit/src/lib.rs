//! Shared test tools: the conformance runner, the file-test driver, samples and random tensors.
//!
//! | module | holds |
//! |---|---|
//! | [`calls`] | operator fuzzing, in child processes |
//! | [`corpus`] | reading operator cases in the format of `fixtures/ops` |
//! | [`operators`] | one operator case: build, prepare, plan, run, compare |
//! | [`programs`] | one program directory: every `io*.safetensors` against the outputs of the program |
//! | [`mutate`] | mutated programs, and which of them the verifier catches |
//! | [`filetest`] | the driver of `tests/**/*.fx` |

pub mod calls;
pub mod corpus;
pub mod filetest;
pub mod mutate;
pub mod operators;
pub mod programs;
pub mod roundtrip;
pub use oxport::samples;

/// How a conformance case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As expected.
    Pass,
    /// It ran with different results.
    Mismatch,
    /// oxport lacks an operator, a dtype or a case.
    Unsupported,
    /// The program could not be read, or is not valid.
    Invalid,
    /// It failed while running.
    Error,
    /// It panicked, or ran out of time.
    Crash,
}

impl Status {
    /// The name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Mismatch => "mismatch",
            Status::Unsupported => "unsupported",
            Status::Invalid => "invalid",
            Status::Error => "error",
            Status::Crash => "crash",
        }
    }
}

/// One line of a conformance report.
#[derive(Clone, Debug)]
pub struct Record {
    /// The case.
    pub id: String,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub detail: String,
}
