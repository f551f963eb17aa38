//! Names close to a wrong one.

use oxport_ir::Registry;
use oxport_ir::op::name_of;

/// The operators whose name is close to a wrong one, the closest first; at most three. PyTorch's spellings are names,
/// too.
pub fn operators<'r>(registry: &'r Registry, wrong: &str) -> Vec<&'r str> {
    let wrong = name_of(wrong);
    // An operator without its overload, or of another namespace.
    let bare = |name: &str| {
        let (_, rest) = name.split_once("::").unwrap_or(("", name));
        rest.split('.').next().unwrap_or(rest).to_string()
    };
    let (word, whole) = (bare(&wrong), wrong.as_str());
    let distance = |name: &str| strsim::osa_distance(&bare(name), &word) * 4 + usize::from(!name.starts_with(whole));
    let most = (word.chars().count() / 3).clamp(1, 3) * 4 + 1;
    let mut near: Vec<(usize, &str)> =
        registry.names().into_iter().map(|name| (distance(name), name)).filter(|(d, _)| *d <= most).collect();
    near.sort_by_key(|(d, name)| (*d, name.len(), *name));
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The name that is at most two edits from a wrong one; of several, the closest.
pub fn name<'a>(names: impl IntoIterator<Item = &'a str>, wrong: &str) -> Option<&'a str> {
    let near = names.into_iter().map(|name| (strsim::osa_distance(name, wrong), name)).filter(|(d, _)| *d <= 2);
    near.min_by_key(|(d, _)| *d).map(|(_, name)| name)
}

/// What a message says of a name that is close to a wrong one.
pub fn similar(names: &[String], wrong: &str) -> String {
    let near = name(names.iter().map(String::as_str), wrong);
    near.map_or(String::new(), |name| format!("; similar: {name}"))
}
