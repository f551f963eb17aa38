//! Real documents survive reading and writing to the byte.

use super::*;
use crate::zip::Directory;
use crate::{Limits, json};

/// The JSON documents of an archive, by name.
fn documents(archive: &[u8]) -> Vec<(String, String)> {
    let directory = Directory::read(archive, &Limits::default()).unwrap();
    let json = directory.entries.iter().filter(|(name, _)| name.ends_with(".json"));
    json.map(|(name, entry)| {
        (name.clone(), String::from_utf8(entry.read(name, archive).unwrap().into_owned()).unwrap())
    })
    .collect()
}

#[test]
fn documents_of_torch_are_written_back_byte_for_byte() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
    let mut count = 0;
    for folder in std::fs::read_dir(programs).unwrap() {
        let path = folder.unwrap().path().join("program.pt2");
        for (name, text) in documents(&std::fs::read(&path).unwrap()) {
            let limits = Limits::default();
            let written = if name.ends_with("_config.json") {
                json::to_string(&json::from_slice::<PayloadConfig>(&name, text.as_bytes(), &limits).unwrap())
            } else {
                json::to_string(&json::from_slice::<ExportedProgram>(&name, text.as_bytes(), &limits).unwrap())
            };
            assert!(written == text, "{}: {name} changed", path.display());
            count += 1;
        }
    }
    assert!(count >= 90, "only {count} documents found");
}

#[test]
fn numbers_are_spelled_as_torch_does() {
    let table = [
        (r#"{"as_float": "Infinity"}"#, r#"{"as_float": "Infinity"}"#),
        (r#"{"as_floats": [-Infinity, NaN, "2.5", 3]}"#, r#"{"as_floats": ["-Infinity", "NaN", 2.5, 3.0]}"#),
        (r#"{"as_none": []}"#, r#"{"as_none": true}"#),
        (r#"{"as_device": {"type": "cpu"}}"#, r#"{"as_device": {"type": "cpu", "index": null}}"#),
        (r#"{"as_int": 9223372036854775807}"#, r#"{"as_int": 9223372036854775807}"#),
        (r#"{"as_tensor": {"name": "x", "new": [1]}}"#, r#"{"as_tensor": {"name": "x", "new": [1]}}"#),
    ];
    for (text, written) in table {
        let argument: Argument = json::from_slice("t", text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(json::to_string(&argument), written);
    }
    let range: RangeConstraint =
        json::from_slice("t", br#"{"min_val": 2, "max_val": Infinity}"#, &Limits::default()).unwrap();
    assert_eq!((range.min_val, range.max_val), (Bound(Some(2)), Bound(None)));
}

#[test]
fn wrong_types_give_located_errors() {
    let table = [
        (r#"{"as_int": 9223372036854775808}"#, "t: as_int: invalid value: integer `9223372036854775808`"),
        (r#"{"as_int": 1.5}"#, "t: as_int: invalid type: floating point"),
        (r#"{"as_int": true}"#, "t: as_int: invalid type: boolean"),
        (r#"{"as_int": 1, "as_none": true}"#, "t"),
        (r#"{}"#, "expected value"),
        (r#"{"as_new": 1}"#, "unknown variant `as_new`"),
        (r#"{"as_tensors": [{"name": "a"}, {}]}"#, "t: as_tensors[1]: missing field `name`"),
        (r#"{"as_tensor": {"name": "a", "name": "b"}}"#, "t: as_tensor.name: duplicate field `name`"),
        (r#"{"as_tensor": ["a"]}"#, "expected an object (TensorArgument)"),
    ];
    for (text, message) in table {
        let error = json::from_slice::<Argument>("t", text.as_bytes(), &Limits::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
}
