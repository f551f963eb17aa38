//! [`OxportProgram`]: a program that is ready to run, and its description.

#![forbid(unsafe_code)]

use crate::error::text;
use crate::loan::{self, Loan};
use crate::options::OxportOptions;
use crate::ports::Ports;
use crate::status::{Failure, Result};
use crate::value::OxportRole;
use oxport::io::named_outputs;
use oxport::kind::explained;
use oxport::serde_json::json;
use oxport::{ExportedProgram, Outputs, Plan, Value};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

/// A program that is ready to run. Immutable, so that any number of threads may call it at once; modules share it.
#[derive(Clone)]
pub struct OxportProgram(pub(crate) Arc<Loaded>);

/// A plan with its description.
pub(crate) struct Loaded {
    pub(crate) plan: Arc<Plan>,
    pub(crate) inputs: Ports,
    pub(crate) outputs: Ports,
    pub(crate) buffers: Ports,
    pub(crate) json: CString,
}

impl OxportProgram {
    /// Loads a file.
    pub(crate) fn load(path: &Path, options: &OxportOptions) -> Result<OxportProgram> {
        if oxport::pt2::is_standard_input(path) {
            let path = path.display();
            return Err(Failure::usage(format!("expected the path of a file, got {path:?}, which is standard input")));
        }
        let read = explained(path, &options.read.limits, oxport::read_with(path, &options.read));
        OxportProgram::new(&read?, options)
    }

    /// Reads an archive in memory.
    pub(crate) fn from_bytes(bytes: &[u8], options: &OxportOptions) -> Result<OxportProgram> {
        let read = oxport::pt2::read_pt2_bytes(bytes, oxport::registry(), &options.read);
        OxportProgram::new(&read.map_err(oxport::Error::from)?, options)
    }

    fn new(program: &ExportedProgram, options: &OxportOptions) -> Result<OxportProgram> {
        let prepared = oxport::prepare(program, options.opt)?;
        let plan = Arc::new(oxport::plan(&prepared, &options.plan())?);
        let (inputs, outputs) = (Ports::inputs(program), Ports::outputs(&prepared));
        let buffers = Ports::buffers(program, &plan);
        let json = json!({
            "inputs": inputs.json(),
            "outputs": outputs.json(),
            "buffers": buffers.json(),
            "symbols": oxport::info::symbols(program).iter().map(oxport::json::symbol).collect::<Vec<_>>(),
            "weights_bytes": plan.weights_bytes(),
            "threads": plan.threads(),
        });
        let json = text(json.to_string());
        Ok(OxportProgram(Arc::new(Loaded { plan, inputs, outputs, buffers, json })))
    }
}

impl Loaded {
    /// The number of outputs that the user's model returns.
    pub(crate) fn returned(&self) -> usize {
        let is_returned = |i: &usize| self.outputs.get(*i).is_some_and(|port| port.role == OxportRole::Output as i32);
        (0..self.outputs.len()).take_while(is_returned).count()
    }

    /// The results of a call, in the order of their description. The loan has then ended.
    pub(crate) fn call(
        &self,
        inputs: Vec<Value>,
        loan: Loan,
        call: impl FnOnce(Vec<Value>) -> Result<Outputs>,
    ) -> Result<Vec<(String, Value)>> {
        let called = call(inputs).and_then(|mut outputs| {
            loan::own(&mut outputs.user)?;
            let mut named = named_outputs(&outputs);
            let taken = |key: &String| {
                let value = named.swap_remove(key);
                (key.clone(), value.expect("law: a call gives all results of the description"))
            };
            Ok(self.outputs.keys().iter().map(taken).collect())
        });
        loan.end();
        called
    }

    /// An error if there are more inputs than the program takes.
    pub(crate) fn admit(&self, count: usize) -> Result<()> {
        let expected = self.plan.num_inputs();
        match count <= expected {
            true => Ok(()),
            false => Err(Failure::usage(format!("expected {expected} inputs, got {count}"))),
        }
    }
}
