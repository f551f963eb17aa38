//! Specs, key paths and broadcasts against tables that PyTorch made: `fixtures/pytree/make.py`.

use oxport_pytree::{NamedTupleFields, TreeSpec};
use serde_json::Value;

const TABLE: &str = include_str!("../../../fixtures/pytree/trees.jsonl");

#[test]
fn specs_paths_and_broadcasts_are_those_of_torch() {
    let fields = NamedTupleFields::from([("made.Point".to_string(), vec!["x".to_string(), "y".to_string()])]);
    let (mut specs, mut spreads) = (0, 0);
    for line in TABLE.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["spec"].as_str().unwrap();
        let spec = TreeSpec::from_json(text, &fields).unwrap();
        assert_eq!(spec.to_json(), text);
        if let Some(prefix) = row["prefix"].as_str() {
            let prefix = TreeSpec::from_json(prefix, &fields).unwrap();
            let numbered = prefix.unflatten(0..prefix.num_leaves() as i64).unwrap();
            let got =
                spec.broadcast(&numbered).ok().map(|l| l.into_iter().copied().map(Value::from).collect::<Value>());
            assert_eq!(got.unwrap_or(Value::Null), row["spread"], "{line}");
            spreads += 1;
        } else {
            let paths: Vec<String> = spec.paths().iter().map(ToString::to_string).collect();
            assert_eq!(Value::from(paths), row["paths"], "{text}");
            specs += 1;
        }
    }
    assert!(specs >= 100 && spreads >= 100, "{specs} specs, {spreads} broadcasts");
}
