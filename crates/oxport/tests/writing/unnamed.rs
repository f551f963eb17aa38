//! Files that were not named stay what they are: inputs, neighbors, links, models of other tools.

use super::{done, oxport};
use std::path::Path;

#[test]
fn unnamed_files_are_not_overwritten() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let folder = folder.path();
    let script = "convert IN p.json;run p.json --outputs in.safetensors;run p.json --outputs want.safetensors";
    script.split(';').for_each(|line| drop(done(folder, line)));
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("law: the folder is writable");
    write("config.json", "{\"model\": 1}");
    write("p1.json", "{}");
    write("f.py", "def f(x): return x + 1");
    std::fs::copy(folder.join("want.safetensors"), folder.join("weights.safetensors")).expect("law: it is there");
    std::os::unix::fs::symlink("p.safetensors", folder.join("link.safetensors")).expect("law: links can be made");
    std::fs::hard_link(folder.join("p.safetensors"), folder.join("hard.safetensors")).expect("law: links can be made");
    std::os::unix::fs::symlink("f.py", folder.join("f.json")).expect("law: links can be made");
    std::fs::create_dir(folder.join("d.pt2")).expect("law: the folder is writable");
    let constants = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/shape_arith/program.pt2");
    let before = |name: &str| std::fs::read(folder.join(name)).ok();
    // A pointer of Git LFS, and somebody's shards.
    write("lfs.safetensors", "version https://git-lfs.github.com/spec/v1\n");
    write("s.safetensors.index.json", "{\"weight_map\": {\"a\": \"s-00001-of-00002.safetensors\"}}");
    std::fs::copy(folder.join("want.safetensors"), folder.join("t-00002-of-00005.safetensors"))
        .expect("law: it is there");
    let spared = [
        "config.json",
        "weights.safetensors",
        "want.safetensors",
        "f.py",
        "lfs.safetensors",
        "s.safetensors.index.json",
        "t-00002-of-00005.safetensors",
    ];
    for (line, code, message) in [
        // Another suffix; checked before the program is read.
        ("convert none.pt2 model.onnx", 2, "expected a file name that ends in .pt2 or .json, got model.onnx"),
        ("convert none.pt2 model", 2, "got model"),
        ("decompose none.pt2 -o out.safetensors", 2, "got out.safetensors"),
        ("optimize none.pt2 -o out.PT2", 2, "got out.PT2"),
        ("verify --fix none.onnx", 2, "got none.onnx"),
        ("verify --fix none.pt2 -o out.zip", 2, "got out.zip"),
        ("run p.json --outputs out.pt2", 2, "expected a file name that ends in .safetensors, got out.pt2"),
        ("optimize p.json -o out.pt2 --explain model.json", 2, "expected the file name of a text, got model.json"),
        ("show p.json -o model.onnx", 2, "expected the file name of a text, got model.onnx"),
        ("capture f.py --entry f --input x:f32[3] -o f.py", 2, "expected a file name that ends in .pt2 or .json"),
        // What is read.
        ("capture f.py --entry f --input x:f32[3] -o f.json", 2, "f.json is the file f.py, which is an input"),
        ("capture f.py --entry f --weights p.safetensors -o p.json", 2, "p.json is an input"),
        ("run p.json --outputs p.safetensors", 2, "p.safetensors is an input and would be overwritten"),
        ("run p.json --outputs link.safetensors", 2, "link.safetensors is the file p.safetensors"),
        ("run p.json --outputs hard.safetensors", 2, "hard.safetensors is the file p.safetensors"),
        ("run p.json --outputs ./p.safetensors", 2, "is the file p.safetensors"),
        ("run p.json --expect want.safetensors --outputs want.safetensors", 2, "want.safetensors is an input"),
        ("optimize p.json -o link.json", 2, "link.safetensors is the file p.safetensors"),
        ("optimize p.json -o q.json --explain q", 0, ""),
        ("optimize p.json -o p.json", 0, ""),
        // Files that oxport did not write.
        ("run p.json --outputs config.safetensors", 0, ""),
        ("run q.pt2 --outputs p.safetensors", 6, "cannot write p.safetensors: it holds the tensors of a program"),
        (
            "convert p.json weights.json",
            6,
            "cannot write weights.safetensors: the tensors would overwrite a file that does not belong to a program",
        ),
        ("convert p.json lfs.json", 6, "cannot write lfs.safetensors: the tensors would overwrite a file"),
        (
            "convert p.json s.json --shard-size 1KB",
            6,
            "cannot write s.safetensors.index.json: the tensors would overwrite",
        ),
        ("convert p.json t.json --shard-size 1KB", 6, "cannot write t-00002-of-00005.safetensors: the tensors would"),
        ("convert p.json d.pt2", 6, "cannot write d.pt2: is a directory"),
        ("convert - out.pt2", 3, ""),
        ("run - --inputs -", 2, "standard input can be read only once"),
        ("convert p.json - --shard-size 1KB", 0, ""),
        ("capture f.py --entry f --input x:f32[3] -o -", 0, ""),
        ("capture f.py --entry f --input x:f32[3] -o - --json", 2, "standard output can take only one output"),
        ("optimize p.json -o - --json", 2, "standard output can take only one output"),
        ("optimize p.json -o - --explain -", 2, "standard output can take only one output"),
    ] {
        if line.contains("q.pt2") {
            done(folder, "convert p.json q.pt2");
        }
        let kept = spared.map(before);
        let tensors = before("p.safetensors");
        let (got, _, err) = oxport(folder, line);
        assert_eq!(got, Some(code), "{line}: {err}");
        assert!(err.contains(message), "{line}: {err}");
        assert!(kept == spared.map(before), "{line}");
        assert!(tensors == before("p.safetensors"), "{line}: the weights stay what they are");
    }
    // A needed JSON file with other contents: an error before anything is computed. oxport's own is updated.
    let constants = constants.to_str().expect("law: paths are UTF-8");
    std::fs::remove_file(folder.join("config.safetensors")).expect("law: it was written");
    let (code, _, err) = oxport(folder, &format!("run {constants} --outputs config.safetensors"));
    assert!(
        code == Some(6) && err.contains("cannot write config.json: the file exists and does not describe these values"),
        "{err}"
    );
    assert!(!folder.join("config.safetensors").exists());
    for _ in 0..2 {
        done(folder, &format!("run {constants} --outputs numbers.safetensors"));
        let json =
            std::fs::read_to_string(folder.join("numbers.json")).expect("it has what safetensors cannot represent");
        assert!(json.contains("\"type\": \"int\", \"value\": 121"), "{json}");
        let compared = done(folder, &format!("run {constants} --expect numbers.safetensors"));
        assert!(compared.contains("6 compared, 0 different"), "{compared}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("config.json")).expect("it stays"), "{\"model\": 1}");
}
