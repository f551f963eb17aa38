//! Outputs for people: a summary, the elements, the largest ones, and the same as JSON.

use super::report;
use oxport::display::{Summary, kind_of, nested, short, top};
use oxport::{Result, Value};
use serde_json::json;

/// How outputs are shown.
#[derive(clap::Args)]
pub struct ShowArgs {
    /// Print all elements; tensors of more than 1000 are summarized, as PyTorch does
    #[arg(long)]
    print: bool,
    /// Print the K largest elements of the last dimension, with their positions
    #[arg(long, value_name = "K")]
    top: Option<usize>,
}

/// How many rows `--top` shows.
const TOP_ROWS: usize = 16;

impl ShowArgs {
    /// Prints a value: its key and kind, its path, a summary, and the elements that are asked for.
    pub fn print(&self, key: &str, path: &str, value: &Value) -> Result<()> {
        let Value::Tensor(t) = value else {
            outln!("{key}: {}{}", kind_of(value), if path.is_empty() { String::new() } else { format!("  {path}") });
            return Ok(());
        };
        let found = Summary::of(t)?;
        let mut line = format!("{key}: {}", kind_of(value));
        if !path.is_empty() {
            line += &format!("  {path}");
        }
        for (what, x) in [("min", found.min), ("max", found.max), ("mean", found.mean)] {
            line += &x.map_or_else(String::new, |x| format!("  {what} {}", short(x)));
        }
        line += &format!("  nan {}", found.nan);
        if found.inf > 0 {
            line += &format!("  inf {}", found.inf);
        }
        outln!("{line}");
        if self.print {
            report::text(format_args!("{}\n", nested(t)?));
        } else if self.top.is_none() && t.numel() > 0 {
            let more = if t.numel() > found.first.len() { ", …" } else { "" };
            outln!("    {}{more}", found.first.join(", "));
        }
        if let Some(count) = self.top {
            let rows = top(t, count, TOP_ROWS)?;
            for (index, list) in &rows {
                let list: Vec<String> = list.iter().map(|(at, x)| format!("{at}: {}", short(*x))).collect();
                outln!(
                    "    {}{}",
                    if index.is_empty() { String::new() } else { format!("{index:?}  ") },
                    list.join("  ")
                );
            }
            let all = t.numel() / usize::try_from(*t.sizes().last().unwrap_or(&1)).unwrap_or(1).max(1);
            if all > rows.len() && !rows.is_empty() {
                outln!("    and {} more rows", all - rows.len());
            }
        }
        Ok(())
    }

    /// The record of a value: `{key, path, kind, shape, dtype, min, max, mean, nan, inf, first}`, with `top` if asked
    /// for.
    pub fn record(&self, key: &str, path: &str, value: &Value) -> Result<serde_json::Value> {
        let mut record = json!({"key": key, "path": path, "kind": value.kind()});
        match value {
            Value::Tensor(t) => {
                let found = Summary::of(t)?;
                record["dtype"] = json!(t.dtype().name());
                record["shape"] = json!(t.sizes());
                record["min"] = json!(found.min);
                record["max"] = json!(found.max);
                record["mean"] = json!(found.mean);
                record["nan"] = json!(found.nan);
                record["inf"] = json!(found.inf);
                record["first"] = json!(found.first);
                if let Some(count) = self.top {
                    let row = |(index, list): &(Vec<usize>, Vec<(usize, f64)>)| {
                        let list: Vec<_> = list.iter().map(|(at, x)| json!({"index": at, "value": x})).collect();
                        json!({"row": index, "largest": list})
                    };
                    record["top"] = top(t, count, usize::MAX)?.iter().map(row).collect();
                }
            }
            Value::Int(n) => record["value"] = json!(n),
            Value::Float(x) => record["value"] = json!(x),
            Value::Bool(b) => record["value"] = json!(b),
            Value::Str(s) => record["value"] = json!(&**s),
            _ => {}
        }
        Ok(record)
    }
}
