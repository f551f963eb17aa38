//! Types of the user: what their context says of their children.
//!
//! PyTorch asks a registered type for flatten and unflatten functions, for a serialized name and for the text of its
//! context. A tree here is plain data, so a registration tells the rest: which names the children have, and thereby how
//! many there are and how their key paths read.

use std::collections::HashMap;

use serde_json::Value;

/// A registered type.
#[derive(Clone, Copy)]
pub struct UserType {
    /// The names of the children, from the context as the text has it; `None` if the context is not the type's.
    pub fields: fn(&Value) -> Option<Vec<String>>,
}

impl std::fmt::Debug for UserType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserType")
    }
}

/// The types of the user, by their serialized names.
#[derive(Clone, Debug, Default)]
pub struct Types(HashMap<String, UserType>);

impl Types {
    /// No types.
    pub fn new() -> Types {
        Types::default()
    }
    /// Registers a type under its serialized name; a second registration replaces the first.
    pub fn register(&mut self, name: &str, ty: UserType) -> &mut Types {
        self.0.insert(name.to_string(), ty);
        self
    }
    /// Registers a type without children: its whole value is its context.
    pub fn register_constant(&mut self, name: &str) -> &mut Types {
        self.register(name, UserType { fields: |_| Some(Vec::new()) })
    }
    /// The type of that name.
    pub fn get(&self, name: &str) -> Option<&UserType> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedTupleFields, TreeSpec};

    #[test]
    fn registered_types_name_their_children() {
        let mut types = Types::new();
        types.register("my.Pair", UserType { fields: |c| (*c == "pair").then(|| vec!["left".into(), "right".into()]) });
        types.register_constant("my.Config");
        let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
        let read = |node: &str| {
            let text = format!("[1, {}]", node.replace("{L}", leaf));
            TreeSpec::from_json_with(&text, &NamedTupleFields::new(), &types).map(|spec| (spec.to_json() == text, spec))
        };
        let (same, pair) = read(r#"{"type": "my.Pair", "context": "pair", "children_spec": [{L}, {L}]}"#).unwrap();
        let paths: Vec<_> = pair.paths().iter().map(|p| p.to_string()).collect();
        assert!(same && paths == [".left", ".right"], "{paths:?}");
        let (_, config) = read(r#"{"type": "my.Config", "context": "{\"n\": 1}", "children_spec": []}"#).unwrap();
        assert_eq!(config, TreeSpec::constant("my.Config", r#""{\"n\": 1}""#));
        for (bad, why) in [
            (r#"{"type": "my.Pair", "context": "pear", "children_spec": []}"#, "not that of the type"),
            (r#"{"type": "my.Pair", "context": "pair", "children_spec": [{L}]}"#, "2 names for 1 children"),
            (r#"{"type": "my.Config", "context": "x", "children_spec": [{L}]}"#, "0 names for 1 children"),
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
