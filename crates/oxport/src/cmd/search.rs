//! Arguments of commands that search for a better program: the rules, and how far to go.

use super::args::matches;
use super::report::with_spinner;
use clap::ValueEnum;
use oxport::rewrite::rule::{Rule, Soundness};
use oxport::rewrite::rules;
use oxport::rule_file::{read_rules, require_sound};
use oxport::{Error, Limits, Model, Opt, Result, Toolchain};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Which search is done.
#[derive(clap::Args)]
pub struct SearchArgs {
    /// The rules to use
    #[arg(long, value_enum, default_value_t = Rules::Exact)]
    rules: Rules,
    /// Of these rules only those of these names, in which `*` stands for anything
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    rules_on: Vec<String>,
    /// None of these rules
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    rules_off: Vec<String>,
    #[command(flatten)]
    more: RuleFileArgs,
    /// The operators of the result, and the engine whose cost model is used
    #[arg(long, value_enum, default_value_t = Target::Aten)]
    target: Target,
    /// Treat weights as constants: what depends on them only is computed, products of one input are merged (`--rules
    /// fast`), and weights that nothing reads any more are dropped
    #[arg(long)]
    freeze: bool,
    /// With --freeze: how much larger the tensors of the program may become, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    grow: f64,
    /// The maximum number of e-graph nodes
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    node_limit: usize,
}

/// Rules of the user's own.
#[derive(clap::Args)]
pub struct RuleFileArgs {
    /// Use the rules of this text, too; each is tested first
    #[arg(long, value_name = "FILE")]
    rules_from: Option<PathBuf>,
    /// Use them without a test; results may be wrong
    #[arg(long, requires = "rules_from")]
    unverified_rules: bool,
}

impl RuleFileArgs {
    /// The toolchain with these rules.
    ///
    /// # Errors
    /// The file cannot be read, or a rule is unsound.
    pub fn with_rules(&self, toolchain: Toolchain) -> Result<Toolchain> {
        let Some(path) = &self.rules_from else { return Ok(toolchain) };
        let rules = read_rules(&toolchain, path)?;
        if !self.unverified_rules {
            let tested = with_spinner("testing rules", || require_sound(&rules));
            tested.map_err(|e| e.because(Some("--unverified-rules uses rules without a test".to_string())))?;
        }
        toolchain.with_rules(&rules)
    }
}

/// The rules that may be used.
#[derive(Clone, Copy, ValueEnum)]
pub enum Rules {
    /// Rules with bitwise equal results
    Exact,
    /// Rules that may round differently, too
    Fast,
}

/// What the result is for.
#[derive(Clone, Copy, ValueEnum)]
pub enum Target {
    /// ATen operators, which PyTorch loads and runs
    Aten,
    /// Operators with oxport kernels, which oxport runs
    Cpu,
}

impl From<Rules> for Opt {
    fn from(rules: Rules) -> Opt {
        match rules {
            Rules::Exact => Opt::Exact,
            Rules::Fast => Opt::Fast,
        }
    }
}

impl From<Target> for oxport::Target {
    fn from(target: Target) -> oxport::Target {
        match target {
            Target::Aten => oxport::Target::Aten,
            Target::Cpu => oxport::Target::Cpu,
        }
    }
}

impl SearchArgs {
    /// The toolchain with the user's rules.
    ///
    /// # Errors
    /// As [`RuleFileArgs::with_rules`].
    pub fn with_rules(&self, toolchain: Toolchain) -> Result<Toolchain> {
        self.more.with_rules(toolchain)
    }

    /// The level of the rules.
    pub fn opt(&self) -> Opt {
        self.rules.into()
    }

    /// The limits of the search.
    ///
    /// # Errors
    /// Usage: no rule of the toolchain has that name, or a number is out of range.
    pub fn limits(&self, toolchain: &Toolchain) -> Result<Limits> {
        if !(0.0..=1e6).contains(&self.grow) {
            return Err(Error::usage("--grow: expected a percentage from 0 on"));
        }
        let model = Model { target: self.target.into(), frozen: self.freeze, ..Model::default() };
        let (grow, without) = (self.grow / 100.0, self.without(toolchain)?);
        Ok(Limits { model, grow, without, nodes: self.node_limit, ..Limits::default() })
    }

    /// The rules that are not used.
    fn without(&self, toolchain: &Toolchain) -> Result<BTreeSet<String>> {
        let names: Vec<String> = rules::names().chain(toolchain.rules().iter().map(|r| r.name.to_string())).collect();
        for (option, patterns) in [("--rules-on", &self.rules_on), ("--rules-off", &self.rules_off)] {
            for pattern in patterns {
                let Some(found) = names.iter().find(|name| matches(pattern, name)) else {
                    let near = oxport::suggest::similar(&names, pattern);
                    return Err(Error::usage(format!("{option}: `{pattern}` is the name of no rule{near}")));
                };
                if option == "--rules-on" && !names.iter().any(|n| matches(pattern, n) && self.may_use(n, toolchain)) {
                    let message = format!("{option}: `{found}` is a rule that rounds, which needs --rules fast");
                    return Err(Error::usage(message));
                }
            }
        }
        let any = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches(pattern, name));
        let is_on =
            |name: &String| (self.rules_on.is_empty() || any(&self.rules_on, name)) && !any(&self.rules_off, name);
        Ok(names.into_iter().filter(|name| !is_on(name)).collect())
    }

    /// Whether a rule is of the level asked for. Rules over several terms round.
    fn may_use(&self, name: &str, toolchain: &Toolchain) -> bool {
        let is_exact = |r: &Rule| r.name == name && r.soundness == Soundness::Bitwise;
        matches!(self.rules, Rules::Fast) || rules::all().any(is_exact) || toolchain.rules().iter().any(is_exact)
    }
}
