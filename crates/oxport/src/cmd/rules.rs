//! `oxport rules`: the table of rewrite rules, and what they do to programs.

use super::DIFFERENT;
use super::report::{json, note, with_spinner};
use super::search::Rules as Level;
use clap::{Subcommand, ValueEnum};
use oxport::coverage::{Kept, Sites, families, left, sites};
use oxport::rule_file::read_rules;
use oxport::rule_test::{Failure, check};
use oxport::{Limits, ReadLimits, Result, Toolchain};
use oxport_rewrite::cost::Model;
use oxport_rewrite::rule::{Rule, Soundness};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Lists rewrite rules, tests those of a file, or counts what they find.
#[derive(clap::Args)]
pub struct Rules {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the rules: name, class, patterns, conditions
    List(List),
    /// Test the rules of a file, as those of the table are; exit code 1 if one is unsound or cannot be tested
    Test(Test),
    /// Count, by family, the sites of programs that rules are for, and how many are rewritten
    Coverage(Coverage),
}

#[derive(clap::Args)]
struct List {
    /// Only those whose name contains this
    pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Coverage {
    /// The programs
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    /// The rules to use
    #[arg(long, value_enum, default_value_t = Level::Fast)]
    rules: Level,
    /// Decompose to Core ATen first
    #[arg(long)]
    core: bool,
    /// Treat weights as constants, whatever that makes of the program's size
    #[arg(long)]
    freeze: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Test {
    /// The file
    file: PathBuf,
    /// Try rules that round on other numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Print JSON: a list of `{name, sound, instances, reason}`
    #[arg(long)]
    json: bool,
}

impl Rules {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        match &self.action {
            Action::List(list) => list.execute(),
            Action::Coverage(coverage) => coverage.execute(limits),
            Action::Test(test) => return test.execute(),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn class(rule: &Rule) -> &'static str {
    match rule.soundness {
        Soundness::Bitwise => "exact",
        Soundness::Rounding => "rounding",
    }
}

impl List {
    fn execute(&self) {
        let matches = |r: &&Rule| self.pattern.as_ref().is_none_or(|p| r.name.contains(p.as_str()));
        let rules: Vec<&Rule> = oxport_rewrite::rules::all().filter(matches).collect();
        if let (Some(pattern), true) = (&self.pattern, rules.is_empty()) {
            note(format_args!("no rule has `{pattern}` in its name"));
        }
        if self.json {
            json(&rules.iter().map(|r| record(r)).collect());
            return;
        }
        for rule in &rules {
            outln!("{} ({})", rule.name, class(rule));
            outln!("    {}", rule.left);
            outln!("  = {}", rule.right);
            if !rule.when.is_empty() {
                outln!("    if {}", conditions(rule).join(", "));
            }
            if !rule.stands_for.is_empty() {
                outln!("    for {}", rule.stands_for);
            }
        }
        let exact = rules.iter().filter(|r| r.soundness == Soundness::Bitwise).count();
        outln!("{} rules: {exact} exact, {} rounding", rules.len(), rules.len() - exact);
    }
}

fn conditions(rule: &Rule) -> Vec<String> {
    rule.when.iter().map(ToString::to_string).collect()
}

fn record(rule: &Rule) -> Value {
    json!({
        "name": rule.name,
        "class": class(rule),
        "left": rule.left,
        "right": rule.right,
        "conditions": conditions(rule),
        "example": rule.given,
        "stands_for": rule.stands_for,
    })
}

impl Test {
    fn execute(&self) -> Result<ExitCode> {
        let rules = read_rules(Toolchain::standard(), &self.file)?;
        let tested: Vec<(&str, std::result::Result<usize, Failure>)> =
            with_spinner("testing", || rules.iter().map(|rule| (rule.name, check(rule, self.seed))).collect());
        if self.json {
            let one = |(name, found): &(&str, std::result::Result<usize, Failure>)| {
                let (instances, reason) = (found.as_ref().ok(), found.as_ref().err().map(ToString::to_string));
                json!({"name": name, "sound": reason.is_none(), "instances": instances, "reason": reason})
            };
            json(&tested.iter().map(one).collect());
        } else {
            for (name, found) in &tested {
                match found {
                    Ok(instances) => outln!("{name}: sound on {instances} instances"),
                    Err(Failure::Untested(why)) => outln!("{name}: cannot be tested: {why}"),
                    Err(unsound) => outln!("{name}: unsound: {unsound}"),
                }
            }
        }
        let all_sound = tested.iter().all(|(_, found)| found.is_ok());
        Ok(if all_sound { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

/// What was found in some programs.
#[derive(Default)]
struct Found {
    programs: usize,
    fired: usize,
    nodes: (usize, usize),
    rules: BTreeMap<String, usize>,
    before: Sites,
    left: Vec<(PathBuf, Kept)>,
    with: Sites,
}

impl Coverage {
    fn execute(&self, limits: &ReadLimits) {
        let mut found = Found::default();
        for path in &self.programs {
            if let Err(e) = with_spinner("counting", || self.count(path, limits, &mut found)) {
                note(format_args!("{} skipped: {e}", path.display()));
            }
        }
        match self.json {
            true => found.json(self),
            false => found.print(self),
        }
    }

    /// `fast, frozen weights, Core ATen`
    fn options(&self) -> String {
        let rules = self.rules.to_possible_value().map(|v| v.get_name().to_string());
        let frozen = self.freeze.then(|| "frozen weights".to_string());
        let core = self.core.then(|| "Core ATen".to_string());
        rules.into_iter().chain(frozen).chain(core).collect::<Vec<_>>().join(", ")
    }

    fn count(&self, path: &Path, limits: &ReadLimits, found: &mut Found) -> Result<()> {
        let toolchain: Toolchain = self.verify.toolchain();
        let program = self.read.read(path, limits)?;
        let program = if self.core { toolchain.decompose(&program)? } else { toolchain.functionalize(&program)? };
        let model = Model { frozen: self.freeze, ..Model::default() };
        let limits = Limits { model, grow: f64::INFINITY, ..Limits::default() };
        let (result, report) = toolchain.optimize(&program, self.rules.into(), &limits)?;
        found.programs += 1;
        found.fired += usize::from(!report.rules.is_empty());
        found.nodes.0 += program.graph.len();
        found.nodes.1 += result.graph.len();
        report.rules.into_iter().for_each(|(rule, n)| *found.rules.entry(rule).or_default() += n);
        for (family, n) in sites(&program) {
            *found.before.entry(family).or_default() += n;
            *found.with.entry(family).or_default() += usize::from(n > 0);
        }
        found.left.extend(left(&result, self.freeze).into_iter().map(|kept| (path.to_path_buf(), kept)));
        Ok(())
    }
}

impl Found {
    /// Family, programs that have it, sites, and those that are left, by reason.
    fn families(&self) -> impl Iterator<Item = (&'static str, usize, usize, Vec<(&'static str, usize)>)> {
        let of = |sites: &Sites, family| sites.get(family).copied().unwrap_or(0);
        families().map(move |family| {
            let mut reasons = BTreeMap::new();
            let of_family = self.left.iter().filter(|(_, kept)| kept.family == family);
            of_family.for_each(|(_, kept)| *reasons.entry(kept.why).or_insert(0) += 1);
            let mut left: Vec<_> = reasons.into_iter().collect();
            left.sort_by_key(|(why, n)| (std::cmp::Reverse(*n), *why));
            (family, of(&self.with, family), of(&self.before, family), left)
        })
    }
    fn print(&self, how: &Coverage) {
        outln!("options    {}", how.options());
        outln!("programs   {}, rules fire on {}", self.programs, self.fired);
        outln!("nodes      {} -> {}", self.nodes.0, self.nodes.1);
        outln!("{:46} {:>8} {:>8} {:>8} {:>10}", "family", "programs", "sites", "left", "rewritten");
        for (family, programs, before, left) in self.families() {
            let after: usize = left.iter().map(|(_, n)| n).sum();
            let rewritten = 100.0 * before.saturating_sub(after) as f64 / before.max(1) as f64;
            outln!("{family:46} {programs:>8} {before:>8} {after:>8} {rewritten:>8.0} %");
            left.iter().for_each(|(why, n)| outln!("    {why:59} {n:>8}"));
        }
        outln!("rules");
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
        rules.iter().for_each(|(name, n)| outln!("    {name:28} {n}"));
        let idle: Vec<&str> =
            oxport_rewrite::rules::all().map(|r| r.name).filter(|n| !self.rules.contains_key(*n)).collect();
        if !idle.is_empty() {
            outln!("fire nowhere: {}", idle.join(", "));
        }
    }
    fn json(&self, how: &Coverage) {
        let families = self.families().map(|(family, programs, before, left)| {
            let reasons: BTreeMap<&str, usize> = left.iter().copied().collect();
            let after: usize = reasons.values().sum();
            json!({ "family": family, "programs": programs, "sites": before, "left": after, "reasons": reasons })
        });
        let kept = self.left.iter().map(|(program, kept)| {
            let Kept { family, node, why, behind } = kept;
            json!({ "program": program, "node": node, "family": family, "reason": why, "behind": behind })
        });
        json(&json!({
            "options": how.options(),
            "programs": self.programs,
            "fired": self.fired,
            "nodes_before": self.nodes.0,
            "nodes_after": self.nodes.1,
            "families": families.collect::<Vec<_>>(),
            "left": kept.collect::<Vec<_>>(),
            "rules": self.rules,
        }));
    }
}
