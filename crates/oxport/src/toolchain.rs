//! [`Toolchain`]: the operators that programs may use, and the whole road over them.

use crate::{Diagnostic, Error, ExportedProgram, OpDef, Plan, PlanOptions, ReadOptions, Registry, Result, Severity};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The operators that programs may use, and what can be done with programs over them. The functions at the top of this
/// crate use the [standard](Toolchain::standard) one; a user's own operators make another:
///
/// ```
/// use oxport::{OpDef, Toolchain};
/// # fn meta(a: &oxport::custom::Args<'_, oxport::custom::Meta>) -> oxport::custom::Result<Vec<oxport::Val>> { unreachable!() }
/// static MINE: &[OpDef] = &[OpDef::new("mylib::twice(Tensor x) -> Tensor", meta).expr("mul.Scalar(x, 2)")];
/// let toolchain = Toolchain::new(&[MINE]);
/// assert!(toolchain.registry().op("torch.ops.mylib.twice.default").def().is_some());
/// ```
///
/// `examples/custom_op.rs` runs a program of PyTorch's with an operator that PyTorch does not have.
///
/// A program that [`Toolchain::verify`] finds errors in is refused by all that prepares or changes programs: metas that do not
/// hold would be taken for facts, and what comes out could be valid and mean something else. [`Toolchain::unverified`] takes it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub(crate) registry: Arc<Registry>,
    verifies: bool,
}

impl Toolchain {
    /// oxport's operators and these; of two with one name the last counts.
    pub fn new(tables: &[&'static [OpDef]]) -> Toolchain {
        let all: Vec<&'static [OpDef]> = oxport_ops::TABLES.iter().chain(tables).copied().collect();
        Toolchain { registry: Arc::new(Registry::new(&all, oxport_ops::SCHEMAS)), verifies: true }
    }
    /// oxport's own operators.
    pub fn standard() -> &'static Toolchain {
        static STANDARD: OnceLock<Toolchain> = OnceLock::new();
        STANDARD.get_or_init(|| Toolchain::new(&[]))
    }
    /// The same, without looking whether programs are valid before it takes them.
    pub fn unverified(&self) -> Toolchain {
        Toolchain { verifies: false, ..self.clone() }
    }
    /// Refuses a program that is not valid. What only its file could not hold (`document`) does no harm here.
    pub(crate) fn admit(&self, program: &ExportedProgram) -> Result<()> {
        let mut found = if self.verifies { self.verify(program) } else { Vec::new() };
        found.retain(|d| d.severity == Severity::Error && d.code != "document");
        if found.is_empty() { Ok(()) } else { Err(Error::not_valid(found)) }
    }
    /// The operators.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads a program: a `.pt2` archive, or a `.json` program with its `.safetensors` beside it; the options say which
    /// model of several, bounds, and whether all bytes of the weights are checked.
    ///
    /// # Errors
    /// The file cannot be read, or holds no valid program: [`crate::Error::diagnostics`] says all that is wrong.
    pub fn read(&self, path: impl AsRef<Path>, options: &ReadOptions) -> Result<ExportedProgram> {
        Ok(oxport_pt2::read(path.as_ref(), &self.registry, options)?)
    }
    /// Everything that is wrong with a program.
    pub fn verify(&self, program: &ExportedProgram) -> Vec<Diagnostic> {
        oxport_ir::verify(program, &self.registry)
    }
    /// A plan of a prepared program.
    ///
    /// # Errors
    /// The program is not functional, or needs operators without kernels: the whole list is in the error.
    pub fn plan(&self, program: &ExportedProgram, options: &PlanOptions) -> Result<Plan> {
        Ok(Plan::new(program, &self.registry, options)?)
    }
}

/// The operators of [`Toolchain::standard`].
pub fn registry() -> &'static Registry {
    &Toolchain::standard().registry
}
