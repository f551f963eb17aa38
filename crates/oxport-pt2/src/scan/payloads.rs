//! The entries that PyTorch unpickles: some by name, others because a config says so.

use std::collections::HashSet;

use crate::model::PayloadConfig;
use crate::read::OBJECTS;
use crate::zip::Entry;
use crate::{Limits, json};

/// The entries that PyTorch unpickles, by their names in lower case, as its reader compares them.
#[derive(Default)]
pub(super) struct Pickled {
    names: HashSet<String>,
    /// Folders of payloads whose config this crate cannot read: PyTorch may, and unpickle any of them.
    folders: HashSet<String>,
}

/// True for the configs of payloads.
pub(super) fn is_config(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_config.json")
}

/// Reads the configs among these entries.
pub(super) fn pickled<'a>(entries: impl Iterator<Item = (String, &'a Entry)>, file: &[u8], limits: &Limits) -> Pickled {
    let mut pickled = Pickled::default();
    for (name, entry) in entries.filter(|(name, _)| is_config(name)) {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_ascii_lowercase();
        let Ok(data) = entry.unchecked(&name, file) else { continue };
        match json::from_slice::<PayloadConfig>(&name, &data, limits) {
            Ok(config) => {
                let payloads = config.config.iter().map(|(_, meta)| meta).filter(|meta| meta.use_pickle);
                let names = payloads.map(|meta| format!("{folder}/{}", meta.path_name.to_ascii_lowercase()));
                pickled.names.extend(names);
            }
            Err(_) => drop(pickled.folders.insert(folder)),
        }
    }
    pickled
}

impl Pickled {
    /// True if PyTorch unpickles the entry.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let is_object = name.split('/').any(|part| OBJECTS.iter().any(|prefix| part.starts_with(prefix)));
        let is_legacy = name.starts_with("serialized_") && !name.ends_with("program.json");
        let in_unread_folder = || self.folders.iter().any(|folder| name.starts_with(folder) && !is_config(&name));
        is_object
            || is_legacy
            || name.ends_with(".pt")
            || name.ends_with(".pkl")
            || self.names.contains(&name)
            || in_unread_folder()
    }
}
