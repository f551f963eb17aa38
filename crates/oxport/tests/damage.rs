//! Damaged bytes: which command detects which.
//!
//! Invariant: everything that is read is checked, and no command that writes a program writes damaged weights. Only
//! commands that use stored weights in place do not check their CRC-32.

use std::path::Path;
use std::process::Command;

use oxport_pt2::zip::Directory;
use oxport_pt2::{Limits, zip::ZipWriter};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    std::fs::read(path).expect("law: the fixtures are checked in")
}

/// The archive with the last bit of an entry's data flipped.
fn damaged(archive: &[u8], entry: &str) -> Vec<u8> {
    let directory = Directory::read(archive, &Limits::default()).expect("law: a fixture is an archive");
    let entry = directory.entries.iter().find(|(name, _)| name.ends_with(entry)).expect("law: it has that entry").1;
    let mut bytes = archive.to_vec();
    bytes[entry.offset + entry.stored_len - 1] ^= 1;
    bytes
}

/// The archive within an archive, under a name.
fn replaced(archive: &[u8], entry: &str, data: &[u8]) -> Vec<u8> {
    let directory = Directory::read(archive, &Limits::default()).expect("law: a fixture is an archive");
    let mut zip = ZipWriter::new(Vec::new());
    for (name, at) in &directory.entries {
        let old = at.stored(archive);
        zip.add(name, if name.ends_with(entry) { data } else { old }).expect("law: memory takes every byte");
    }
    zip.finish().expect("law: memory takes every byte")
}

/// The exit code of a command, `@` being the folder.
fn exit_code(folder: &Path, command: &str) -> Option<i32> {
    let folder = folder.to_str().expect("law: paths are UTF-8");
    let arguments = command.split(' ').map(|a| a.replace('@', folder));
    let output = Command::new(env!("CARGO_BIN_EXE_oxport")).args(arguments).output().expect("law: it was built");
    output.status.code()
}

#[test]
fn damage_is_detected_by_commands_that_read_it() {
    let mlp = fixture("programs/mlp/program.pt2");
    let pickled = fixture("archives/pickled_8_8.pt2");
    let directory = Directory::read(&pickled, &Limits::default()).expect("law: a fixture is an archive");
    let (name, entry) = directory
        .entries
        .iter()
        .find(|(name, _)| name.ends_with("data/weights/model.pt"))
        .expect("law: it has weights");
    let inner = damaged(entry.stored(&pickled), "data/0");
    let cases = [
        ("a weight", damaged(&mlp, "weight_4"), true),
        ("a weight in a pickle", replaced(&pickled, name, &inner), true),
        ("a config", damaged(&mlp, "model_weights_config.json"), false),
        ("the program", damaged(&mlp, "models/model.json"), false),
        ("sample inputs", damaged(&mlp, "sample_inputs/model.pt"), false),
    ];
    let commands = [
        ("verify @/in.pt2", true),
        ("convert @/in.pt2 @/out.pt2", true),
        ("convert @/in.pt2 @/out.json", true),
        ("decompose @/in.pt2 -o @/out.pt2", true),
        ("optimize @/in.pt2 -o @/out.pt2 --time-limit 0.1", true),
        ("show @/in.pt2", false),
        ("run @/in.pt2", false),
    ];
    for (what, archive, is_weight) in cases {
        let folder = tempfile::tempdir().expect("law: there is a temporary folder");
        std::fs::write(folder.path().join("in.pt2"), archive).expect("law: the folder is writable");
        for (command, is_whole) in commands {
            let is_noticed = is_whole || !is_weight;
            let code = exit_code(folder.path(), command);
            assert_eq!(code, Some(if is_noticed { 3 } else { 0 }), "{command}, where {what} is damaged");
            assert_eq!(std::fs::read_dir(folder.path()).expect("law: it exists").count(), 1, "{command} wrote");
        }
    }
}
