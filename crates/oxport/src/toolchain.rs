//! [`Toolchain`]: an operator registry with all operations on programs.

use crate::{
    Diagnostic, Error, ExportedProgram, OpDef, Operator, Plan, PlanOptions, ReadOptions, Registry, Result, Severity,
};
use oxport_ir::{Loc, Node};
#[cfg(feature = "rewrite")]
use oxport_rewrite::rule::Rule;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An operator registry with all operations on programs. The functions of this crate use the
/// [standard](Toolchain::standard) one; with custom operators:
///
/// ```
/// use oxport::{OpDef, Toolchain};
/// # use oxport::custom::{Args, Meta, Result};
/// # fn meta(a: &Args<'_, Meta>) -> Result<Vec<oxport::Val>> { unreachable!() }
/// static MINE: &[OpDef] = &[OpDef::new("mylib::twice(Tensor x) -> Tensor", meta).expr("mul.Scalar(x, 2)")];
/// let toolchain = Toolchain::new(&[MINE]);
/// assert!(toolchain.registry().op("torch.ops.mylib.twice.default").def().is_some());
/// ```
///
/// `examples/custom_op.rs` runs an exported program with a custom operator.
///
/// Operations that transform a program fail if [`Toolchain::verify`] finds errors: they rely on metas, and wrong metas
/// could give a valid but wrong program. [`Toolchain::unverified`] does not check.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub(crate) registry: Arc<Registry>,
    /// Rules beside the standard ones.
    #[cfg(feature = "rewrite")]
    pub(crate) rules: Arc<[Rule]>,
    verifies: bool,
}

impl Toolchain {
    /// The standard operators and these; of two with the same name the last counts.
    pub fn new(tables: &[&'static [OpDef]]) -> Toolchain {
        let all: Vec<&'static [OpDef]> = oxport_ops::TABLES.iter().chain(tables).copied().collect();
        Toolchain {
            registry: Arc::new(Registry::new(&all, oxport_ops::SCHEMAS)),
            #[cfg(feature = "rewrite")]
            rules: Arc::new([]),
            verifies: true,
        }
    }
    /// The same with these operators, which are made at run time: their functions may be closures. Of two with the
    /// same name the last counts.
    ///
    /// ```
    /// use oxport::custom::{Args, Meta, Real};
    /// use oxport::{Fake, Operator, Tensor, Toolchain, Val, Value};
    ///
    /// let table = vec![0.5f32, 1.5, 2.5];
    /// let same = |args: &Args<'_, Meta>| Ok(vec![Val::Tensor(args.at::<&Fake>(0)?.clone())]);
    /// let shift = Operator::new("mylib::shift(Tensor x) -> Tensor", same).eval(move |args: &Args<'_, Real>| {
    ///     let x: &Tensor = args.at(0)?;
    ///     let y = x.to_vec::<f32>()?.iter().zip(table.iter().cycle()).map(|(x, t)| x + t).collect();
    ///     Ok(vec![Value::Tensor(Tensor::from_vec(x.sizes(), y)?)])
    /// });
    /// let toolchain = Toolchain::standard().with_operators([shift])?;
    /// assert!(toolchain.registry().op("mylib::shift").def().is_some());
    /// # Ok::<(), oxport::Error>(())
    /// ```
    ///
    /// # Errors
    /// A schema cannot be read.
    pub fn with_operators(&self, operators: impl IntoIterator<Item = Operator>) -> Result<Toolchain> {
        Ok(Toolchain { registry: Arc::new(self.registry.with(operators)?), ..self.clone() })
    }
    /// The standard operators.
    pub fn standard() -> &'static Toolchain {
        static STANDARD: OnceLock<Toolchain> = OnceLock::new();
        STANDARD.get_or_init(|| Toolchain::new(&[]))
    }
    /// The same, without verifying programs first.
    pub fn unverified(&self) -> Toolchain {
        Toolchain { verifies: false, ..self.clone() }
    }
    /// The same with these rules beside the standard ones. `docs/add-a-rule.md` says how a rule is written; whether its
    /// sides are equal, to the bit where it is not [`rounding`](Rule::rounding), is for its author to see to. A rule
    /// whose sides differ in dtype, sizes, strides or device never fires.
    ///
    /// ```
    /// use oxport::rewrite::rule::rule;
    /// use oxport::{OpDef, Toolchain};
    /// # use oxport::custom::{Args, Meta, Result};
    /// # fn meta(a: &Args<'_, Meta>) -> Result<Vec<oxport::Val>> { unreachable!() }
    /// static OPS: &[OpDef] = &[OpDef::new("mylib::twice(Tensor x) -> Tensor", meta).expr("mul.Scalar(x, 2)")];
    /// let twice = rule("twice", "(add.Tensor ?x ?x 1)", "(mylib::twice ?x)");
    /// let toolchain = Toolchain::new(&[OPS]).with_rules(&[twice])?;
    /// # Ok::<(), oxport::Error>(())
    /// ```
    ///
    /// # Errors
    /// A pattern is no term of known operators: see [`Rule::check`].
    #[cfg(feature = "rewrite")]
    pub fn with_rules(&self, rules: &[Rule]) -> Result<Toolchain> {
        for rule in rules {
            rule.check(&self.registry).map_err(|e| oxport_ir::Error::invalid(format!("rule {}: {e}", rule.name)))?;
        }
        Ok(Toolchain { rules: rules.into(), ..self.clone() })
    }
    /// The rules beside the standard ones.
    #[cfg(feature = "rewrite")]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
    /// An error if the program is not valid. Diagnostics about the file format only (`document`) do not count.
    pub(crate) fn require_valid(&self, program: &ExportedProgram) -> Result<()> {
        let mut found = if self.verifies { self.verify(program) } else { Vec::new() };
        found.retain(|d| d.severity == Severity::Error && d.code != "document");
        if found.is_empty() { Ok(()) } else { Err(Error::not_valid(found)) }
    }
    /// The operators.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads a program: a `.pt2` archive, or a `.json` program with a `.safetensors` file next to it; options as in
    /// [`crate::read_with`].
    ///
    /// # Errors
    /// The file cannot be read, or is not a valid program: see [`crate::Error::diagnostics`].
    pub fn read(&self, path: impl AsRef<Path>, options: &ReadOptions) -> Result<ExportedProgram> {
        Ok(oxport_pt2::read(path.as_ref(), &self.registry, options)?)
    }
    /// All diagnostics of a program. Those of an unknown operator have a note with operators of similar names.
    pub fn verify(&self, program: &ExportedProgram) -> Vec<Diagnostic> {
        let mut found = oxport_ir::verify(program, &self.registry);
        for diagnostic in found.iter_mut().filter(|d| matches!(d.code, "target" | "unknown-op")) {
            let near = node_at(program, &diagnostic.at).and_then(|node| node.op()).map(|op| op.name());
            let near = near.map_or(Vec::new(), |name| crate::suggest::operators(&self.registry, name));
            diagnostic.notes.extend((!near.is_empty()).then(|| format!("similar: {}", near.join(", "))));
        }
        found
    }
    /// A plan of a prepared program.
    ///
    /// # Errors
    /// The program is not functional, or operators have no kernel: the error lists all of them.
    pub fn plan(&self, program: &ExportedProgram, options: &PlanOptions) -> Result<Plan> {
        Ok(Plan::new(program, &self.registry, options)?)
    }
}

/// The node that a diagnostic is about.
fn node_at<'p>(program: &'p ExportedProgram, at: &Loc) -> Option<&'p Node> {
    let Loc::Node { graph: path, node } = at else { return None };
    let names = path.split('.').filter(|name| !name.is_empty());
    let graph = names.into_iter().try_fold(&program.graph, |graph, name| graph.subgraphs.get(name))?;
    Some(graph.node(graph.find(node)?))
}

/// The operators of [`Toolchain::standard`].
pub fn registry() -> &'static Registry {
    &Toolchain::standard().registry
}
