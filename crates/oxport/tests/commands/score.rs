//! `oxport score`: what PyTorch computes, by column; what it refuses, with the exit code; and a process that is killed.

use crate::oxport;
use oxport_score::arrow_array::{Array, BooleanArray, FixedSizeListArray, Float32Array, RecordBatch};
use oxport_score::find;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A file of `oxport-score`'s tests.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oxport-score/tests/data").join(name);
    path.to_str().expect("law: paths are UTF-8").to_string()
}

/// `x=f0,f1,…`
fn features() -> String {
    let all: Vec<String> = (0..16).map(|i| format!("f{i}")).collect();
    format!("x={}", all.join(","))
}

/// What PyTorch gives for the tables: `export.py` wrote it.
fn expected() -> Value {
    let text = std::fs::read_to_string(data("expected.json")).expect("it is checked in");
    serde_json::from_str(&text).expect("it is JSON")
}

fn floats(value: &Value) -> Vec<f32> {
    match value {
        Value::Array(all) => all.iter().flat_map(floats).collect(),
        number => vec![number.as_f64().expect("a number") as f32],
    }
}

fn score(arguments: &[&str]) -> (i32, String, String) {
    let output = oxport(&[&["score"], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn read(path: &Path) -> RecordBatch {
    let sources = find(&[path.to_path_buf()]).expect("the file was written");
    let names: Vec<String> = sources[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    let mut batches = sources[0].batches(&names, 0, 1 << 20).expect("the file can be read");
    batches.next().expect("it has rows").expect("the rows can be read")
}

fn column<'a, T: 'static>(batch: &'a RecordBatch, name: &str) -> &'a T {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("{name} in {:?}", batch.schema()));
    column.as_any().downcast_ref().unwrap_or_else(|| panic!("{name} is {}", column.data_type()))
}

fn assert_close(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max);
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn columns_are_what_pytorch_computes() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let path = |name: &str| at(name).to_str().expect("law: paths are UTF-8").to_string();
    let (want, rows) = (expected(), data("rows.parquet"));
    let tabular = floats(&want["tabular"]);
    // A program of any batch size, and one of a batch of four; a batch that does not divide the rows.
    for (program, out) in [("tabular.pt2", "a.parquet"), ("tabular.pt2", "a.arrow"), ("tabular_of_4.pt2", "a.arrows")] {
        let bind = features();
        let options = ["--bind", &bind, "--out", "score=out.0", "--squeeze", "--keep", "id", "--batch", "99", "--json"];
        let (code, out_text, err) = score(&[&[&data(program), &rows, "-o", &path(out)], &options[..]].concat());
        assert_eq!(code, 0, "{err}");
        let summary: Value = serde_json::from_str(&out_text).expect("it is one JSON document");
        for (key, count) in [("rows", 256), ("written", 256), ("batches", 3), ("errors", 0), ("parts", 1)] {
            assert_eq!(summary[key], count, "{key}");
        }
        assert!(summary["rows_per_s"].as_f64() > Some(0.0));
        let done = read(&at(out));
        assert_close(column::<Float32Array>(&done, "score").values(), &tabular);
        let names: Vec<_> = done.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["id", "score"]);
    }

    let (program, table) = (data("several.pt2"), data("several.parquet"));
    let options = ["--input", "scale=[1,2,3,4]", "--out", "logits", "--out", "sure=likely", "--keep", "*"];
    let (code, _, err) = score(&[&[&program, &table, "-o", &path("b.parquet")], &options[..]].concat());
    assert_eq!(code, 0, "{err}");
    let done = read(&at("b.parquet"));
    let logits: &FixedSizeListArray = column(&done, "logits");
    let values = logits.values().as_any().downcast_ref::<Float32Array>().expect("float32");
    assert_close(values.values(), &floats(&want["logits"]));
    let sure: Vec<Value> = column::<BooleanArray>(&done, "sure").values().iter().map(Value::from).collect();
    assert_eq!(Value::from(sure), want["likely"]);
    assert_eq!(done.num_columns(), 5);
}

#[test]
fn what_does_not_fit_is_refused_before_any_work() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let (several, tabular) = (data("several.pt2"), data("tabular.pt2"));
    let (table, rows) = (data("several.parquet"), data("rows.parquet"));
    let out = path("out.parquet");
    let (arrow, csv, nothing) = (path("out.arrow"), path("out.csv"), path("nothing.parquet"));
    let (zstd, text, precious) = (data("zstd.parquet"), path("text.parquet"), path("precious"));
    std::fs::write(&text, "no table").expect("law: the folder is writable");
    std::fs::create_dir(&precious).expect("law: the folder is writable");
    std::fs::write(Path::new(&precious).join("file"), "text").expect("law: the folder is writable");
    let given = ["--input", "scale=[1,2,3,4]", "--out", "logits"];
    let cases: Vec<(&str, &str, &str, Vec<&str>, i32, &str)> = vec![
        (&several, &table, &out, vec![], 2, "(--input NAME=VALUE gives one)"),
        (&several, &table, &out, vec!["--input", "scale=[1,2,3,4]"], 2, "output `mean`: expected the batch size"),
        (&several, &table, &out, vec!["--input", "scal=1"], 2, "there is no input `scal`"),
        (&several, &table, &out, vec!["--bind", "age"], 2, "expected INPUT=COLUMN, got \"age\""),
        (
            &several,
            &table,
            &out,
            [&given[..], &["--bind", "age=name"]].concat(),
            2,
            "expected numbers for float32, got Utf8",
        ),
        (
            &several,
            &table,
            &out,
            [&given[..], &["--keep", "nam"]].concat(),
            2,
            "expected a column `nam`, got the columns",
        ),
        (&several, &zstd, &out, given.to_vec(), 4, "the codec zstd is not supported; expected none, snappy"),
        (&several, &table, &out, [&given[..], &["--codec", "zstd"]].concat(), 4, "the codec zstd is not supported"),
        (&several, &table, &arrow, vec!["--codec", "gzip"], 2, "expected none or lz4 as codec of Arrow files"),
        (&several, &table, &csv, vec![], 2, "expected a folder or a name that ends in .parquet"),
        (&several, &text, &out, given.to_vec(), 6, "text.parquet: "),
        (&several, &nothing, &out, vec![], 6, "cannot open"),
        (&several, &table, &precious, given.to_vec(), 2, "exists, and is not empty"),
        (&tabular, &rows, &rows, vec![], 2, "is an input and would be overwritten"),
        (&tabular, &rows, &out, vec![], 2, "input `x`: expected a column of this name, got the columns `id`, `f0`"),
        (&tabular, &rows, &out, vec!["--bind", "f0,f1"], 2, "input `x`: expected 16 columns, got 2"),
        (&tabular, &rows, &out, vec!["--batch", "0"], 2, "expected a positive number"),
        (&tabular, &rows, &out, vec!["--null", "none"], 2, "expected a number, got \"none\""),
    ];
    for (program, table, out, options, want, part) in cases {
        let (code, _, err) = score(&[&[program, table, "-o", out], &options[..]].concat());
        assert!(code == want && err.contains(part), "{options:?}: {code}, {err}");
        let is_kept = out == rows || out == precious;
        assert!(is_kept || !Path::new(out).exists() && !Path::new(&format!("{out}.parts")).exists(), "{out}");
    }
    // A cell: while it runs.
    let bad = ["--bind", "batch.ids=ids", "--bind", "age=age", "--input", "scale=[1,2,3]", "--out", "logits"];
    let (code, _, err) = score(&[&[&several, &table, "-o", &out], &bad[..]].concat());
    assert!(code == 5 && err.contains("several.parquet, rows 0 to 99\n  "), "{code}, {err}");
}

/// The files of a process that is killed, twice, at whatever it does; another goes on, and writes what one that was not
/// killed does.
#[test]
#[cfg(unix)]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let (program, rows, bind) = (data("tabular.pt2"), data("rows.parquet"), features());
    let arguments = |out: &str| -> Vec<String> {
        let tables = std::iter::repeat_n(rows.as_str(), 300);
        let options = ["-o", out, "--bind", &bind, "--keep", "*", "--batch", "16", "--part-rows", "2560", "--resume"];
        ["score", &program].into_iter().chain(tables).chain(options).map(str::to_string).collect()
    };
    for name in ["whole.parquet", "whole"] {
        let run = |out: &str| Command::new(env!("CARGO_BIN_EXE_oxport")).args(arguments(out)).output();
        let whole = at(name);
        assert!(run(&whole).expect("law: the command line is built").status.success());
        let out = at(&format!("killed-{name}"));
        let state = PathBuf::from(if name == "whole" { out.clone() } else { format!("{out}.parts") });
        let listed = || std::fs::read_to_string(state.join("_manifest.json")).map_or(0, |t| t.matches("part-").count());
        let mut killed = 0;
        for wanted in [2, 5] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_oxport"))
                .args(arguments(&out))
                .stderr(Stdio::null())
                .spawn()
                .expect("law: the command line is built");
            while listed() < wanted && child.try_wait().expect("law: it is a child").is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SIGKILL: nothing is cleaned up.
            child.kill().expect("law: it is a child");
            killed += usize::from(!child.wait().expect("law: it is a child").success());
            assert!(listed() >= wanted, "{} parts", listed());
        }
        assert_eq!(killed, 2, "{name}");
        let last = run(&out).expect("law: the command line is built");
        assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
        let said = String::from_utf8_lossy(&last.stderr).into_owned();
        assert!(said.contains("76800 rows in") && said.contains(" of them before"), "{said}");
        assert_eq!(contents(&out), contents(&whole), "{name}");
        assert!(name == "whole" || !state.exists());
    }
}

/// The bytes of a file, or of the files of a folder.
fn contents(path: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let path = Path::new(path);
    if path.is_file() {
        return vec![(PathBuf::new(), std::fs::read(path).expect("it is there"))];
    }
    let entries = std::fs::read_dir(path).expect("it is there").flatten();
    let mut all: Vec<_> =
        entries.map(|e| (PathBuf::from(e.file_name()), std::fs::read(e.path()).expect("it is there"))).collect();
    all.sort();
    all
}
