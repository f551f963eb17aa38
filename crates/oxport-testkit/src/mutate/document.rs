//! A program as documents that can be mutated.

use oxport_pt2::zip::ZipWriter;
use oxport_pt2::{Archive, Limits};
use serde_json::{Value, json};
use std::path::Path;

/// The JSON documents of an archive, as one value: `/program`, `/weights`, `/constants`; and its other entries.
#[derive(Clone, Debug)]
pub struct Document {
    /// The documents.
    pub json: Value,
    names: Vec<(String, &'static str)>,
    rest: std::sync::Arc<Vec<(String, Vec<u8>)>>,
}

/// A graph of the program: its JSON pointer, and its path as diagnostics name it.
#[derive(Clone, Debug)]
pub struct Site {
    /// The JSON pointer.
    pub at: String,
    /// The path: subgraph names joined by dots; empty for the top graph.
    pub path: String,
}

/// A change of one JSON value.
#[derive(Clone, Debug)]
pub enum Change {
    /// Another value.
    Set(Value),
    /// No value.
    Remove,
    /// One more element of a list, before this position.
    Insert(Value),
    /// The values of two places, exchanged.
    Swap(String),
    /// Another key for the value.
    Rename(String),
}

/// One mutation of a document.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Words of which a diagnostic of the right place has one.
    pub words: Vec<String>,
    /// The changes, by JSON pointer.
    pub changes: Vec<(String, Change)>,
}

impl Edit {
    /// One change.
    pub fn one(word: impl Into<String>, at: impl Into<String>, change: Change) -> Edit {
        Edit { words: vec![word.into()], changes: vec![(at.into(), change)] }
    }
    /// The same with one more word.
    pub fn word(mut self, word: impl Into<String>) -> Edit {
        self.words.push(word.into());
        self
    }
    /// The same with one more change.
    pub fn and(mut self, at: impl Into<String>, change: Change) -> Edit {
        self.changes.push((at.into(), change));
        self
    }
}

impl Document {
    /// Opens an archive.
    ///
    /// # Errors
    /// It cannot be read, or has no program JSON; the text is for people.
    pub fn open(path: &Path) -> Result<Document, String> {
        let archive = Archive::open(path, &Limits::default()).map_err(|e| e.to_string())?;
        let mut json = json!({});
        let (mut names, mut rest) = (Vec::new(), Vec::new());
        let kinds =
            [("models/", "program"), ("_weights_config.json", "weights"), ("_constants_config.json", "constants")];
        for name in archive.names() {
            let bytes = archive.read(name).map_err(|e| e.to_string())?;
            match kinds.iter().find(|(part, _)| name.contains(part) && name.ends_with(".json")) {
                Some((_, kind)) => {
                    json[*kind] = serde_json::from_slice(&bytes).map_err(|e| format!("{name}: {e}"))?;
                    names.push((name.to_string(), *kind));
                }
                None => rest.push((name.to_string(), bytes.into_owned())),
            }
        }
        Ok(Document { json, names, rest: rest.into() })
    }

    /// The archive again.
    pub fn archive(&self) -> Vec<u8> {
        let law = "law: writing to memory succeeds";
        let mut zip = ZipWriter::new(Vec::new());
        for (name, kind) in &self.names {
            zip.add(&format!("program/{name}"), self.json[*kind].to_string().as_bytes()).expect(law);
        }
        for (name, bytes) in &*self.rest {
            zip.add(&format!("program/{name}"), bytes).expect(law);
        }
        zip.finish().expect(law)
    }

    /// The document after an edit; `None` if it changes nothing.
    pub fn edited(&self, edit: &Edit) -> Option<Document> {
        let mut new = self.clone();
        for (at, change) in &edit.changes {
            new.change(at, change)?;
        }
        (new.json != self.json).then_some(new)
    }

    fn change(&mut self, at: &str, change: &Change) -> Option<()> {
        let (parent, key) = at.rsplit_once('/')?;
        match change {
            Change::Set(value) => match self.json.pointer_mut(parent)? {
                Value::Object(map) => drop(map.insert(unescape(key), value.clone())),
                Value::Array(list) => *list.get_mut(key.parse::<usize>().ok()?)? = value.clone(),
                _ => return None,
            },
            Change::Remove => match self.json.pointer_mut(parent)? {
                Value::Object(map) => drop(map.remove(&unescape(key))?),
                Value::Array(list) => drop(list.remove(key.parse::<usize>().ok().filter(|i| *i < list.len())?)),
                _ => return None,
            },
            Change::Insert(value) => {
                let list = self.json.pointer_mut(parent)?.as_array_mut()?;
                list.insert(key.parse::<usize>().ok()?.min(list.len()), value.clone());
            }
            Change::Swap(other) => {
                let (a, b) = (self.json.pointer(at)?.clone(), self.json.pointer(other)?.clone());
                *self.json.pointer_mut(at)? = b;
                *self.json.pointer_mut(other)? = a;
            }
            Change::Rename(name) => {
                let map = self.json.pointer_mut(parent)?.as_object_mut()?;
                let value = map.remove(&unescape(key))?;
                map.insert(name.clone(), value);
            }
        }
        Some(())
    }

    /// The value at a pointer; null if there is none.
    pub fn get(&self, at: &str) -> &Value {
        self.json.pointer(at).unwrap_or(&Value::Null)
    }
    /// The length of the list at a pointer.
    pub fn len(&self, at: &str) -> usize {
        self.get(at).as_array().map_or(0, Vec::len)
    }
    /// The text at a pointer.
    pub fn text(&self, at: &str) -> &str {
        self.get(at).as_str().unwrap_or("")
    }
    /// The keys of the object at a pointer, with the pointers of their values.
    pub fn entries(&self, at: &str) -> Vec<(String, String)> {
        let map = self.get(at).as_object();
        map.into_iter().flatten().map(|(k, _)| (k.clone(), format!("{at}/{}", escape(k)))).collect()
    }
    /// True if the program is of this dialect.
    pub fn is_dialect(&self, name: &str) -> bool {
        self.text("/program/verifiers/0") == name
    }

    /// All graphs, the top one first.
    pub fn graphs(&self) -> Vec<Site> {
        let mut all = vec![Site { at: "/program/graph_module/graph".into(), path: String::new() }];
        let mut next = 0;
        while let Some(site) = all.get(next).cloned() {
            next += 1;
            for i in 0..self.len(&format!("{}/nodes", site.at)) {
                for k in 0..self.len(&format!("{}/nodes/{i}/inputs", site.at)) {
                    let at = format!("{}/nodes/{i}/inputs/{k}/arg/as_graph", site.at);
                    if self.get(&at).is_object() {
                        let name = self.text(&format!("{at}/name"));
                        let path =
                            if site.path.is_empty() { name.to_string() } else { format!("{}.{name}", site.path) };
                        all.push(Site { at: format!("{at}/graph"), path });
                    }
                }
            }
        }
        all
    }

    /// The pointers of all nodes, with their graphs.
    pub fn nodes(&self) -> Vec<(Site, String)> {
        let graphs = self.graphs();
        let nodes = graphs.into_iter().flat_map(|g| {
            (0..self.len(&format!("{}/nodes", g.at))).map(move |i| (g.clone(), format!("{}/nodes/{i}", g.at)))
        });
        nodes.collect()
    }

    /// The names of a node's results.
    pub fn results(&self, node: &str) -> Vec<String> {
        let mut names = Vec::new();
        collect_names(self.get(&format!("{node}/outputs")), &mut names);
        names
    }
    /// What diagnostics may call a node: its own name and its results'.
    pub fn words(&self, node: &str) -> Vec<String> {
        let own = self.text(&format!("{node}/name"));
        let mut words = self.results(node);
        if !own.is_empty() && !words.iter().any(|w| w == own) {
            words.push(own.to_string());
        }
        words
    }
}

/// All value names in arguments.
pub(super) fn collect_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(map) if map.contains_key("graph") => {}
        Value::Object(map) => {
            for (key, v) in map {
                match v {
                    Value::String(name) if key == "name" || key == "as_name" => names.push(name.clone()),
                    v => collect_names(v, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|v| collect_names(v, names)),
        _ => {}
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}
