//! Names for tensors that are made of others.
//!
//! ```text
//! h.0.attn.q.weight, h.0.attn.k.weight, h.0.attn.v.weight   h.0.attn.qkv_weight
//! layer1.0.conv1.weight, layer1.0.bn1.weight, …             layer1.0.conv1_weight_folded
//! ```

use std::sync::Arc;

/// The longest list of differing parts that is put together.
const LONGEST: usize = 24;

/// A name for what is made of tensors of these names; `None` without any.
pub fn made_of(sources: &[Arc<str>]) -> Option<String> {
    let first = sources.first()?;
    let parts: Vec<Vec<&str>> = sources.iter().map(|s| s.split('.').collect()).collect();
    let same_length = parts.iter().all(|p| p.len() == parts[0].len());
    // Names that differ in one part only are put together there.
    let differing: Vec<usize> =
        (0..parts[0].len()).filter(|&i| same_length && parts.iter().any(|p| p[i] != parts[0][i])).collect();
    if let ([at], true) = (&differing[..], same_length) {
        let words: Vec<&str> = parts.iter().map(|p| p[*at]).collect();
        let joined = joined(&words);
        if joined.len() <= LONGEST {
            let (before, after) = (&parts[0][..*at], &parts[0][at + 1..]);
            let last = std::iter::once(joined.as_str()).chain(after.iter().copied()).collect::<Vec<_>>().join("_");
            return Some(before.iter().copied().chain([last.as_str()]).collect::<Vec<_>>().join("."));
        }
    }
    let (module, leaf) = first.rsplit_once('.').unwrap_or(("", first));
    let name = if module.is_empty() { leaf.to_string() } else { format!("{module}_{leaf}") };
    Some(format!("{name}_folded"))
}

/// Words that share their ends, put together: `q_proj`, `k_proj`, `v_proj` are `qkv_proj`.
fn joined(words: &[&str]) -> String {
    let shared = |reverse: bool| {
        let at = |w: &str, i: usize| if reverse { w.chars().rev().nth(i) } else { w.chars().nth(i) };
        let shortest = words.iter().map(|w| w.chars().count()).min().unwrap_or(0);
        (0..shortest).take_while(|&i| words.iter().all(|w| at(w, i) == at(words[0], i))).count()
    };
    let head = shared(false);
    let shortest = words.iter().map(|w| w.chars().count()).min().unwrap_or(0);
    let tail = shared(true).min(shortest - head);
    let middle = |w: &&str| w.chars().skip(head).take(w.chars().count() - head - tail).collect::<String>();
    let ends = |skip: usize, take: usize| words[0].chars().skip(skip).take(take).collect::<String>();
    let middles: String = words.iter().map(middle).collect();
    ends(0, head) + &middles + &ends(words[0].chars().count() - tail, tail)
}
