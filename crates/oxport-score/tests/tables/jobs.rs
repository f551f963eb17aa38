//! Files to files: formats, codecs, order, errors, and runs that stop and go on.

use crate::{bound, model, twice};
use arrow_array::{Array, ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use oxport_score::{Codec, Fill, Format, Job, Keep, OnError, Options, Scorer, Source, Summary, find};
use oxport_tensor::{DType, Scalar};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows `from..to` of a table: an id, a text, and a number, which is null where the id is in `nulls`.
fn rows(from: i64, to: i64, nulls: &[i64]) -> RecordBatch {
    let ids: Vec<i64> = (from..to).collect();
    let x = ids.iter().map(|id| (!nulls.contains(id)).then_some(*id as f32 / 4.0));
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("id", Arc::new(Int64Array::from(ids.clone())), false),
        ("name", Arc::new(StringArray::from_iter_values(ids.iter().map(|id| format!("n{id}")))), false),
        ("x", Arc::new(Float32Array::from_iter(x)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Writes batches as a file of that name; what writes it is what writes results.
fn write(folder: &Path, name: &str, batches: &[RecordBatch], codec: Codec) -> PathBuf {
    let path = folder.join(name);
    match Format::of(&path).unwrap() {
        Format::Parquet => {
            let codec = if codec == Codec::None { "UNCOMPRESSED" } else { "SNAPPY" }.parse().unwrap();
            let properties = parquet::file::properties::WriterProperties::builder().set_compression(codec);
            let file = std::fs::File::create(&path).unwrap();
            let schema = batches[0].schema();
            let mut writer = parquet::arrow::ArrowWriter::try_new(file, schema, Some(properties.build())).unwrap();
            batches.iter().for_each(|batch| {
                writer.write(batch).unwrap();
                writer.flush().unwrap();
            });
            writer.close().unwrap();
        }
        Format::Arrow => {
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = arrow_ipc::writer::FileWriter::try_new(file, batches[0].schema_ref()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        Format::Stream => {
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, batches[0].schema_ref()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
    path
}

fn scorer(sources: &[Source], fill: Fill, is_nullable: bool) -> Scorer {
    let keep = Keep::These(vec!["name".into(), "id".into()]);
    let outputs = vec![(Some("y".to_string()), "out.0".to_string())];
    let options = Options { keep, outputs, fill, is_nullable, ..Options::default() };
    model(&twice(DType::F32, None, &[]), options).unwrap().bind(&Job::table(sources).unwrap()).unwrap()
}

fn job<'a>(scorer: &'a Scorer, sources: &'a [Source], out: PathBuf) -> Job<'a> {
    let format = Format::of(&out).unwrap_or(Format::Parquet);
    Job {
        scorer,
        sources,
        out,
        format,
        codec: Codec::of(format),
        batch: 7,
        part: 20,
        workers: 3,
        on_error: OnError::Stop,
        resume: false,
        of: Default::default(),
    }
}

fn run(job: &Job<'_>) -> Result<Summary, String> {
    job.run(&mut |_| {}).map_err(|e| e.to_string())
}

/// All rows of a file or folder: id, name, y.
fn read(path: &Path) -> Vec<(i64, String, Option<f32>)> {
    let mut found = Vec::new();
    for source in find(&[path.to_path_buf()]).unwrap() {
        let columns = ["name", "id", "y"].map(str::to_string);
        for batch in source.batches(&columns, 0, 1000).unwrap() {
            let batch = batch.unwrap();
            let column = |name: &str| batch.column_by_name(name).unwrap().clone();
            let (name, id, y) = (column("name"), column("id"), column("y"));
            let name = name.as_any().downcast_ref::<StringArray>().unwrap().clone();
            let id = id.as_any().downcast_ref::<Int64Array>().unwrap().clone();
            let y = y.as_any().downcast_ref::<Float32Array>().unwrap().clone();
            found.extend(
                (0..batch.num_rows())
                    .map(|i| (id.value(i), name.value(i).to_string(), (!y.is_null(i)).then(|| y.value(i)))),
            );
        }
    }
    found
}

fn expected(ids: impl Iterator<Item = i64>) -> Vec<(i64, String, Option<f32>)> {
    ids.map(|id| (id, format!("n{id}"), Some(id as f32 / 2.0))).collect()
}

#[test]
fn every_format_is_read_and_written_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let batches = [rows(0, 13, &[]), rows(13, 14, &[]), rows(14, 50, &[])];
    let tables = ["a.parquet", "a.pq", "a.arrow", "a.feather", "a.ipc", "a.arrows"];
    let tables = tables.map(|name| write(at, name, &batches, Codec::Snappy));
    for (i, table) in tables.iter().enumerate() {
        let sources = find(std::slice::from_ref(table)).unwrap();
        let scorer = scorer(&sources, Fill::default(), false);
        for out in ["out.parquet", "out.arrow", "out.arrows", "folder"] {
            let path = at.join(format!("{i}{out}"));
            let done = run(&job(&scorer, &sources, path.clone())).unwrap();
            assert_eq!((done.rows, done.written, done.batches, done.parts), (50, 50, 8, 3), "{out}");
            assert_eq!(read(&path), expected(0..50), "{out}");
        }
    }
    // One file after the other, and what begins with an underscore or is something else is left out.
    let many = at.join("many");
    std::fs::create_dir_all(many.join("day=2")).unwrap();
    write(&many, "b.arrow", &[rows(5, 9, &[])], Codec::None);
    write(&many, "a.parquet", &[rows(0, 5, &[])], Codec::None);
    write(&many.join("day=2"), "0.parquet", &[rows(9, 30, &[])], Codec::None);
    write(&many, "_c.parquet", &[rows(50, 60, &[])], Codec::None);
    std::fs::write(many.join("notes.txt"), "not a table").unwrap();
    let sources = find(&[many]).unwrap();
    let scorer = scorer(&sources, Fill::default(), false);
    let out = at.join("many.parquet");
    assert_eq!(run(&job(&scorer, &sources, out.clone())).unwrap().batches, 5);
    assert_eq!(read(&out), expected(0..30));
}

#[test]
fn results_do_not_depend_on_workers_or_codecs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = write(at, "a.parquet", &[rows(0, 100, &[])], Codec::Snappy);
    let sources = find(&[table]).unwrap();
    let scorer = scorer(&sources, Fill::default(), false);
    for format in ["parquet", "arrow", "arrows"] {
        let mut seen = BTreeMap::new();
        for workers in [1, 2, 8] {
            let out = at.join(format!("{workers}.{format}"));
            run(&Job { workers, ..job(&scorer, &sources, out.clone()) }).unwrap();
            seen.insert(std::fs::read(&out).unwrap(), workers);
        }
        assert_eq!(seen.len(), 1, "{format}");
    }
    for codec in ["none", "snappy", "gzip", "brotli", "lz4"] {
        let out = at.join(format!("{codec}.parquet"));
        let codec = Codec::from_name(codec).unwrap();
        run(&Job { codec, ..job(&scorer, &sources, out.clone()) }).unwrap();
        assert_eq!(read(&out), expected(0..100), "{codec:?}");
    }
    let out = at.join("lz4.arrow");
    run(&Job { codec: Codec::Lz4, ..job(&scorer, &sources, out.clone()) }).unwrap();
    assert_eq!(read(&out), expected(0..100));
    let refused = Codec::Snappy.check(Format::Arrow).unwrap_err().to_string();
    assert_eq!(refused, "expected none or lz4 as codec of Arrow files, got snappy");
    assert_eq!(Codec::from_name("zstd").unwrap_err().to_string(), "the codec zstd is not supported");
}

#[test]
fn failing_batches_stop_are_left_out_or_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = write(at, "a.parquet", &[rows(0, 50, &[30])], Codec::Snappy);
    let sources = find(std::slice::from_ref(&table)).unwrap();
    let place = table.display();
    let out = |name: &str| at.join(name);

    // What is complete stays, and the run can go on.
    let plain = scorer(&sources, Fill::default(), false);
    let stopped = job(&plain, &sources, out("stop.parquet"));
    let message = format!("{place}: column `x`, row 30: expected a value, got null");
    assert_eq!(run(&stopped).unwrap_err(), message);
    assert!(!stopped.out.exists());
    let again = run(&stopped).unwrap_err();
    assert!(again.ends_with("stop.parquet.parts holds the parts of a run that was interrupted"), "{again}");
    let going_on = Job { resume: true, ..stopped.clone() };
    assert_eq!(run(&going_on).unwrap_err(), message);
    let skipping = Job { on_error: OnError::Skip, ..going_on };
    let done = run(&skipping).unwrap();
    assert_eq!((done.rows, done.written, done.errors, done.resumed), (50, 43, 1, 21));
    assert!(!out("stop.parquet.parts").exists());

    // The same as if it had left rows out from the beginning.
    let fresh = Job { on_error: OnError::Skip, ..job(&plain, &sources, out("skip.parquet")) };
    run(&fresh).unwrap();
    let bytes = |name: &str| std::fs::read(out(name)).unwrap();
    assert_eq!(bytes("skip.parquet"), bytes("stop.parquet"));
    assert_eq!(bytes("skip.parquet.errors.jsonl"), bytes("stop.parquet.errors.jsonl"));
    assert_eq!(read(&fresh.out), expected((0..28).chain(35..50)));
    let list: serde_json::Value = serde_json::from_slice(&bytes("skip.parquet.errors.jsonl")).unwrap();
    assert_eq!((&list["first_row"], &list["rows"]), (&28.into(), &7.into()));
    assert_eq!(list["message"], "column `x`, row 30: expected a value, got null");

    let nullable = scorer(&sources, Fill::default(), true);
    let nulls = Job { on_error: OnError::Null, ..job(&nullable, &sources, out("null.parquet")) };
    assert_eq!(run(&nulls).unwrap().written, 50);
    let mut want = expected(0..50);
    want[28..35].iter_mut().for_each(|row| row.2 = None);
    assert_eq!(read(&nulls.out), want);

    // The list of an earlier run does not stay beside new results.
    let fill = Fill { null: Some(Scalar::Int(0)), ..Fill::default() };
    let filled = scorer(&sources, fill, false);
    run(&job(&filled, &sources, out("skip.parquet"))).unwrap();
    assert_eq!(read(&out("skip.parquet"))[30], (30, "n30".to_string(), Some(0.0)));
    assert!(!out("skip.parquet.errors.jsonl").exists());

    // If the first batch fails, nothing stays.
    let table = write(at, "b.arrow", &[rows(0, 5, &[0])], Codec::None);
    let sources = find(&[table]).unwrap();
    for name in ["first.arrow", "first"] {
        let first = job(&plain, &sources, out(name));
        assert!(run(&first).is_err() && !out(name).exists() && !out("first.arrow.parts").exists(), "{name}");
    }
}

/// A run that ends at any part, and goes on, gives the same bytes.
#[test]
fn what_goes_on_is_what_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Parts of 20 or more rows in batches of 7: the second one ends where the first file does.
    let first = write(at, "a.parquet", &[rows(0, 42, &[])], Codec::Snappy);
    let second = write(at, "b.arrows", &[rows(42, 50, &[]), rows(50, 101, &[])], Codec::None);
    for out in ["whole.parquet", "whole.arrow", "whole.arrows", "whole"] {
        let sources = find(&[first.clone(), second.clone()]).unwrap();
        let plain = scorer(&sources, Fill::default(), false);
        let whole = job(&plain, &sources, at.join(out));
        let done = run(&whole).unwrap();
        assert_eq!((done.rows, done.parts, done.resumed), (101, 5, 0), "{out}");
        assert_eq!(read(&whole.out), expected(0..101));
        for kept in 0..=5 {
            let path = at.join(format!("{kept}-{out}"));
            let parts = interrupted(&whole, &path, kept);
            let resumed = Job { resume: true, out: path.clone(), ..whole.clone() };
            let done = run(&resumed).unwrap();
            assert_eq!((done.rows, done.parts), (101, 5));
            assert_eq!(done.resumed > 0, kept > 0, "{out} {kept}");
            assert_eq!(contents(&path), contents(&whole.out), "{out} {kept}");
            assert!(parts == path || !parts.exists());
        }
    }
}

/// The state after that many parts: that of a whole run, with the rest taken away, and what a killed process leaves.
fn interrupted(whole: &Job<'_>, path: &Path, kept: usize) -> PathBuf {
    let is_folder = Format::of(path).is_none();
    let parts = if is_folder { path.to_path_buf() } else { PathBuf::from(format!("{}.parts", path.display())) };
    // A file's parts are gone when it is written, so that they are made as a folder.
    let made = Job { out: path.with_extension("made"), ..whole.clone() };
    let made = Job { out: PathBuf::from(made.out.display().to_string().replace(".made", "_made")), ..made };
    run(&made).unwrap();
    std::fs::rename(&made.out, &parts).unwrap();
    let manifest = parts.join("_manifest.json");
    let mut state: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let list = state["parts"].as_array_mut().unwrap();
    let rest = list.split_off(kept);
    state["complete"] = false.into();
    std::fs::write(&manifest, serde_json::to_vec(&state).unwrap()).unwrap();
    // The next part was written but not listed, or half written.
    for part in rest.iter().skip(1) {
        std::fs::remove_file(parts.join(part["name"].as_str().unwrap())).unwrap();
    }
    std::fs::write(parts.join(".oxport-part-00009.parquet"), "half").unwrap();
    std::fs::write(parts.join(".errors.jsonl"), "{\"file\":\"of a part that was not listed\"}\n").unwrap();
    parts
}

/// The bytes of a file, or of a folder's files by name.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    if path.is_file() {
        return BTreeMap::from([(String::new(), std::fs::read(path).unwrap())]);
    }
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|p| (p.file_name().unwrap().to_str().unwrap().to_string(), std::fs::read(p).unwrap())).collect()
}

#[test]
fn a_run_goes_on_only_as_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = write(at, "a.parquet", &[rows(0, 60, &[50])], Codec::Snappy);
    let sources = find(std::slice::from_ref(&table)).unwrap();
    let plain = scorer(&sources, Fill::default(), false);
    let begun = Job { of: of("program", "a"), ..job(&plain, &sources, at.join("out.parquet")) };
    run(&begun).unwrap_err();
    let begun = Job { resume: true, ..begun };
    let refused = |changed: Job<'_>| run(&changed).unwrap_err();
    let another = |key: &str| format!("the run that was interrupted had another `{key}`: expected ");
    let table_of = [
        ("program", Job { of: of("program", "b"), ..begun.clone() }),
        ("batch", Job { batch: 8, ..begun.clone() }),
        ("part", Job { part: 21, ..begun.clone() }),
        ("codec", Job { codec: Codec::None, ..begun.clone() }),
        ("seed", Job { of: [of("program", "a"), of("seed", "2")].into_iter().flatten().collect(), ..begun.clone() }),
    ];
    for (key, changed) in table_of {
        let message = refused(changed);
        assert!(message.starts_with(&another(key)), "{key}: {message}");
    }
    // A part that is not whole.
    let part = at.join("out.parquet.parts/part-00001.parquet");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refused(begun.clone()).ends_with(&format!("expected {} bytes, got {}", bytes.len(), bytes.len() - 1)));
    std::fs::write(&part, &bytes).unwrap();
    // The table has changed.
    write(at, "a.parquet", &[rows(0, 61, &[])], Codec::Snappy);
    assert!(refused(begun).starts_with(&another("files")));
    // A folder that is something else.
    let other = at.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("precious.txt"), "text").unwrap();
    let message = run(&Job { resume: true, ..job(&plain, &sources, other.clone()) }).unwrap_err();
    assert!(message.ends_with("exists, and is not empty"), "{message}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}

fn of(key: &str, value: &str) -> serde_json::Map<String, serde_json::Value> {
    [(key.to_string(), value.into())].into_iter().collect()
}

#[test]
fn files_that_are_no_tables_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let good = write(at, "good.parquet", &[rows(0, 30, &[])], Codec::None);
    let bytes = std::fs::read(&good).unwrap();
    // Damage anywhere gives an error or other rows, but never ends the process.
    let mut errors = 0;
    for i in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x5a;
        let path = at.join("damaged.parquet");
        std::fs::write(&path, damaged).unwrap();
        let read = find(&[path]).and_then(|sources| {
            let batches = sources[0].batches(&["x".to_string()], 3, 10)?;
            batches.collect::<Result<Vec<_>, _>>()
        });
        errors += usize::from(read.is_err());
    }
    assert!(errors > 10, "{errors}");
    for (name, text, part) in [
        ("text.parquet", "text", "Parquet"),
        ("text.arrow", "text", "damaged"),
        ("empty.arrows", "", ""),
        ("text.csv", "a,b", "expected a file name that ends in"),
    ] {
        let path = at.join(name);
        std::fs::write(&path, text).unwrap();
        let message = find(&[path]).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
    let empty = at.join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(find(&[empty]).unwrap_err().to_string().ends_with(".arrows, got none"));
    // A second file with another type.
    let other = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec!["a"]))),
        ("x", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let other = write(at, "other.parquet", &[other.unwrap()], Codec::None);
    let sources = find(&[good, other]).unwrap();
    let plain = scorer(&sources, Fill::default(), false);
    let message = run(&job(&plain, &sources, at.join("out.parquet"))).unwrap_err();
    assert!(message.ends_with("column `x`: expected Float32 as in the first file, got Int64"), "{message}");
    // A table without rows gives a table without rows.
    let none = write(at, "none.parquet", &[rows(0, 0, &[])], Codec::None);
    let sources = find(&[none]).unwrap();
    let plain = scorer(&sources, Fill::default(), false);
    let out = at.join("none_out.parquet");
    let done = run(&job(&plain, &sources, out.clone())).unwrap();
    assert_eq!((done.rows, done.batches, done.parts, read(&out)), (0, 0, 1, vec![]));
}

#[test]
fn schemas_are_known_before_any_row() {
    let batch = rows(0, 2, &[]);
    let scorer =
        bound(&twice(DType::F32, None, &[]), Options { keep: Keep::All, ..Options::default() }, &batch).unwrap();
    let fields: Vec<String> =
        scorer.schema().fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(fields, ["id Int64", "name Utf8", "x Float32", "out.0 Float32"]);
    let twin = Options { keep: Keep::All, outputs: vec![(Some("x".into()), "out.0".into())], ..Options::default() };
    let message = bound(&twice(DType::F32, None, &[]), twin, &batch).unwrap_err();
    assert_eq!(message, "two columns would be called `x`");
}
