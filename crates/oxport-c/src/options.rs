//! [`OxportOptions`]: how a program is read, optimized and planned, set by name.

#![forbid(unsafe_code)]

use crate::status::{Failure, Result};
use oxport::{InputChecks, Opt, PlanOptions, ReadOptions};

/// How a program is loaded. Not thread safe while it is being set; loading only reads it.
#[derive(Clone, Debug, Default)]
pub struct OxportOptions {
    pub(crate) opt: Opt,
    pub(crate) read: ReadOptions,
    plan: PlanOptions,
}

/// The names of all options.
const NAMES: &str = "checks, limit, model, opt, seed, threads, verify_weights";

impl OxportOptions {
    /// Sets one option.
    ///
    /// # Errors
    /// No option has this name, or it does not take this value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let expected = |what: &str| Failure::usage(format!("option `{name}`: expected {what}, got {value:?}"));
        match name {
            "opt" => match Opt::from_name(value) {
                Some(Opt::Fast) => self.opt = fast()?,
                Some(opt) => self.opt = opt,
                None => return Err(expected("none, exact or fast")),
            },
            "threads" => self.plan.threads = value.parse().map_err(|_| expected("a number; 0 stands for all cores"))?,
            "seed" => self.plan.seed = value.parse().map_err(|_| expected("a number"))?,
            "checks" => {
                self.plan.checks = InputChecks::from_name(value).ok_or_else(|| expected("torch or strict"))?;
            }
            "model" => self.read.model = Some(value.to_string()),
            "verify_weights" => self.read.verify_weights = value.parse().map_err(|_| expected("true or false"))?,
            "limit" => {
                let set = self.read.limits.set(value);
                set.map_err(|message| Failure::usage(format!("option `limit`: {message}")))?;
            }
            _ => return Err(Failure::usage(format!("expected the name of an option ({NAMES}), got {name:?}"))),
        }
        Ok(())
    }

    /// The options of the plan; the limit of one buffer is among those of reading.
    pub(crate) fn plan(&self) -> PlanOptions {
        let (fast, max_buffer_bytes) = (self.opt.plan_options().fast, self.read.limits.buffer_bytes());
        PlanOptions { fast, max_buffer_bytes, ..self.plan.clone() }
    }
}

#[cfg(feature = "rewrite")]
fn fast() -> Result<Opt> {
    Ok(Opt::Fast)
}

/// Without rules `Fast` would be `Exact`, in silence.
#[cfg(not(feature = "rewrite"))]
fn fast() -> Result<Opt> {
    let message = "option `opt`: `fast` needs the feature `rewrite`, which this library was built without";
    Err(Failure::new(crate::status::OxportStatus::Unsupported, message))
}
