//! Output of the command line, to files and to the terminal. On any failure the old files stay, or the new ones are
//! complete; no file is overwritten that was not named; text from files cannot contain control sequences.
//!
//! The disk is made full by the system's bound on the size of files, which either makes a write fail or kills the
//! process in the middle of it. `fixtures/writing/kill_sweep.py` kills it at every system call, by hand.
#![cfg(unix)]

#[path = "writing/unnamed.rs"]
mod unnamed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn program() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp/program.pt2");
    path.to_str().expect("law: paths are UTF-8").to_string()
}

/// Every command that writes: its arguments, where `@` is the folder to write to, and the files that it makes there.
const WRITERS: [(&[&str], &[&str]); 6] = [
    (&["convert", "IN", "@/out.pt2"], &["out.pt2"]),
    (&["convert", "IN", "@/out.json"], &["out.json", "out.safetensors"]),
    (&["decompose", "IN", "-o", "@/out.pt2"], &["out.pt2"]),
    (&["optimize", "IN", "-o", "@/out.pt2", "--time-limit", "1"], &["out.pt2"]),
    (&["optimize", "IN", "-o", "@/out.json", "--time-limit", "1"], &["out.json", "out.safetensors"]),
    (&["run", "IN", "--outputs", "@/out.safetensors"], &["out.safetensors"]),
];

fn arguments(template: &[&str], folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("law: paths are UTF-8");
    template.iter().map(|a| if *a == "IN" { program() } else { a.replace('@', folder) }).collect()
}

/// Runs the command line after a line of shell.
fn after(line: &str, arguments: &[String]) -> Option<i32> {
    let script = format!("{line}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_oxport")]).args(arguments);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("law: there is a shell").code()
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("law: the folder exists").flatten();
    entries.map(|e| (e.file_name().into(), std::fs::read(e.path()).expect("law: it is a file"))).collect()
}

fn with_old_files(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    for file in files {
        // The tensors next to the document of a program are its own.
        let old =
            if file.ends_with(".json") { "{\"graph_module\": \"old\"}".to_string() } else { format!("old {file}") };
        std::fs::write(folder.path().join(file), old).expect("law: the folder is writable");
    }
    folder
}

#[test]
fn a_full_disk_leaves_the_old_files() {
    for (template, files) in WRITERS {
        let mut wrote = false;
        // In blocks of 512 bytes: nothing, a header, some entries, nearly all; at last, enough.
        for blocks in [0, 1, 3, 17, 33, 1 << 16] {
            let folder = with_old_files(files);
            let before = contents(folder.path());
            let code = after(&format!("trap '' XFSZ; ulimit -f {blocks}"), &arguments(template, folder.path()));
            if code == Some(0) {
                assert!(contents(folder.path()).keys().eq(before.keys()), "{template:?}: no other files");
                wrote = true;
                break;
            }
            assert_eq!(code, Some(6), "{template:?} with {blocks} blocks");
            assert!(contents(folder.path()) == before, "{template:?} with {blocks} blocks: the old files stay");
        }
        assert!(wrote, "{template:?}: with enough space it writes");
    }
}

#[test]
fn a_killed_process_leaves_the_old_files() {
    for (template, files) in WRITERS {
        for blocks in [0, 1, 17] {
            let folder = with_old_files(files);
            let before = contents(folder.path());
            // The system kills a process that writes beyond the bound.
            let code = after(&format!("ulimit -c 0; ulimit -f {blocks}"), &arguments(template, folder.path()));
            if code == Some(0) {
                continue;
            }
            assert_eq!(code, None, "{template:?} with {blocks} blocks");
            let left = contents(folder.path());
            assert!(before.iter().all(|(name, old)| left.get(name) == Some(old)), "{template:?}: the old files stay");
        }
    }
}

#[test]
fn a_process_killed_at_any_time_leaves_old_or_new() {
    let whole = with_old_files(&["out.pt2"]);
    let to = |folder: &Path| arguments(&["convert", "IN", "@/out.pt2"], folder);
    assert_eq!(after("true", &to(whole.path())), Some(0));
    let new = contents(whole.path()).remove(Path::new("out.pt2")).expect("law: it was written");
    for step in 0..20 {
        let folder = with_old_files(&["out.pt2"]);
        let mut child = Command::new(env!("CARGO_BIN_EXE_oxport"))
            .args(to(folder.path()))
            .stdout(Stdio::null())
            .spawn()
            .expect("law: the binary was built");
        std::thread::sleep(Duration::from_millis(step * 3));
        let _ = child.kill();
        let _ = child.wait();
        let found = contents(folder.path()).remove(Path::new("out.pt2")).expect("the file is never gone");
        assert!(found == b"old out.pt2" || found == new, "step {step}: a half file of {} bytes", found.len());
    }
}

#[test]
fn folders_that_take_no_file_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    for (template, files) in WRITERS {
        let folder = tempfile::tempdir().expect("law: there is a temporary folder");
        assert_eq!(after("true", &arguments(template, &folder.path().join("none"))), Some(6), "{template:?}");

        let folder = with_old_files(files);
        let before = contents(folder.path());
        let mode = |bits| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(bits));
        mode(0o555).expect("law: the folder is ours");
        // Whoever may do anything may also write there.
        let may_write = std::fs::write(folder.path().join("probe"), "").is_ok();
        if !may_write {
            assert_eq!(after("true", &arguments(template, folder.path())), Some(6), "{template:?}");
            assert!(contents(folder.path()) == before, "{template:?}: the old files stay");
        }
        mode(0o755).expect("law: the folder is ours");
    }
}

#[test]
fn a_closed_pipe_ends_the_process_silently() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oxport"))
        .arg("ops")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("law: the binary was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("law: it ends");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(141), ""));
}

/// The command line in a folder: its exit code and what it prints.
fn oxport(folder: &Path, line: &str) -> (Option<i32>, String, String) {
    let arguments = line.split(' ').map(|a| if a == "IN" { program() } else { a.to_string() });
    let output = Command::new(env!("CARGO_BIN_EXE_oxport")).current_dir(folder).args(arguments).output();
    let output = output.expect("law: the binary was built");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn done(folder: &Path, line: &str) -> String {
    let (code, out, err) = oxport(folder, line);
    assert_eq!(code, Some(0), "{line}: {err}");
    out
}

/// The pair of the program with every weight made another one.
fn other_pair(folder: &Path) {
    done(folder, "convert IN other.json");
    let path = folder.join("other.safetensors");
    let mut bytes = std::fs::read(&path).expect("law: it was written");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("law: eight bytes")) as usize;
    let read: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).expect("law: it is JSON");
    for (_, tensor) in read.as_object().expect("law: an object").iter().filter(|(_, t)| t["dtype"] == "F32") {
        let at = |i: usize| 8 + header + tensor["data_offsets"][i].as_u64().expect("law: a number") as usize;
        (at(0)..at(1)).step_by(4).for_each(|i| bytes[i + 2] ^= 0x40);
    }
    std::fs::write(&path, bytes).expect("law: the folder is writable");
    done(folder, "convert other.json other.pt2");
}

#[test]
fn a_pair_is_never_a_mix() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let folder = folder.path();
    other_pair(folder);
    let answer = |program: &str| {
        let (code, _, err) = oxport(folder, &format!("run {program} --outputs answer.safetensors"));
        assert_eq!(code, Some(0), "{program}: {err}");
        std::fs::read(folder.join("answer.safetensors")).expect("law: it was written")
    };
    let known = [answer("other.pt2"), answer("IN")];
    assert!(known[0] != known[1]);
    for (step, shards) in (0..40).zip(["", " --shard-size 4KB"].into_iter().cycle()) {
        done(folder, &format!("convert other.pt2 p.json{shards}"));
        let line = format!("convert IN p.json{shards}").replace("IN", &program());
        let child = Command::new(env!("CARGO_BIN_EXE_oxport")).current_dir(folder).args(line.split(' ')).spawn();
        let mut child = child.expect("law: the binary was built");
        std::thread::sleep(Duration::from_micros(step * 600));
        let _ = child.kill();
        let _ = child.wait();
        assert!(known.contains(&answer("p.json")), "step {step}");
    }
    // Between the two moves: the new document is there, its tensors wait under their other name.
    done(folder, "convert other.pt2 p.json");
    let old = std::fs::read(folder.join("p.safetensors")).expect("law: it was written");
    done(folder, "convert IN p.json");
    let text = std::fs::read_to_string(folder.join("p.json")).expect("law: it was written");
    let document: serde_json::Value = serde_json::from_str(&text).expect("law: it is JSON");
    let waiting = format!(".oxport-{}-p.safetensors", document["oxport"]["stamp"].as_str().expect("it has a stamp"));
    let rename = |from: &str, to: &str| std::fs::rename(folder.join(from), folder.join(to)).expect("law: it is there");
    rename("p.safetensors", &waiting);
    std::fs::write(folder.join("p.safetensors"), &old).expect("law: the folder is writable");
    assert!(answer("p.json") == known[1]);
    // Without them the stamps differ, which is an error; a file without stamp is accepted.
    rename(&waiting, "kept");
    let (code, _, err) = oxport(folder, "run p.json");
    assert_eq!(code, Some(3));
    assert!(
        err.contains("error[stamp] at entry p.safetensors: the file belongs to another program than p.json"),
        "{err}"
    );
    // The next writer leaves nothing lying about.
    rename("kept", &waiting);
    std::fs::write(folder.join(".oxport-0123456789abcdef-p-00001-of-00003.safetensors"), "").expect("law: writable");
    done(folder, "convert IN p.json");
    let names: Vec<PathBuf> =
        contents(folder).into_keys().filter(|n| n.to_string_lossy().contains("oxport-")).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_concurrent_reader_never_fails() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let folder = folder.path();
    other_pair(folder);
    done(folder, "convert IN p.json");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let writes = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writes = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                done(folder, if writes % 2 == 0 { "convert other.pt2 p.json" } else { "convert IN p.json" });
                writes += 1;
            }
            writes
        });
        for _ in 0..60 {
            let (code, _, err) = oxport(folder, "verify p.json");
            assert_eq!((code, &*err), (Some(0), ""));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().expect("law: the writer writes")
    });
    assert!(writes > 5, "{writes} writes");
}

#[test]
fn a_signal_leaves_no_temporary_files() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let folder = tempfile::tempdir().expect("law: there is a temporary folder");
        let pipe = folder.path().join("pipe.json");
        assert_eq!(after(&format!("mkfifo {}", pipe.display()), &arguments(&["ops", "none"], folder.path())), Some(0));
        // The document goes to a pipe without reader: the process blocks while the tensors are written but not yet
        // renamed.
        let line = format!("convert {} @/pipe.json", program());
        let line: Vec<&str> = line.split(' ').collect();
        let child = Command::new(env!("CARGO_BIN_EXE_oxport")).args(arguments(&line, folder.path())).spawn();
        let mut child = child.expect("law: the binary was built");
        let files = || std::fs::read_dir(folder.path()).expect("law: it is there").count();
        let waiting = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            files() == 2
        });
        assert!(waiting, "the tensors are written");
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("law: there is kill").success());
        if is_ignored(child.id(), number) {
            // As when the tests run under `nohup`, or in a shell's background: it stays ignored.
            std::thread::sleep(Duration::from_millis(100));
            assert!(child.try_wait().expect("law: it is a child").is_none(), "{signal} is ignored");
            child.kill().and_then(|()| child.wait()).expect("law: it ends");
            continue;
        }
        let status = child.wait().expect("law: it ends");
        assert_eq!(status.code(), None, "{signal} ends it");
        assert_eq!(files(), 1, "after {signal} only the pipe is there");
    }
}

/// Whether a process ignores a signal, on systems that report it.
fn is_ignored(process: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[test]
fn files_of_dead_processes_are_removed() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    // No process has this number.
    std::fs::write(folder.path().join(".oxport-tmp-4194999-abc"), "left").expect("law: the folder is writable");
    done(folder.path(), "convert IN p.pt2");
    assert_eq!(contents(folder.path()).into_keys().collect::<Vec<_>>(), [PathBuf::from("p.pt2")]);
}

#[test]
fn streams_are_written_to_and_the_bytes_are_the_same() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let folder = folder.path();
    let shell = |script: &str| {
        let mut run = Command::new("sh");
        run.current_dir(folder).args(["-c", script, env!("CARGO_BIN_EXE_oxport"), &program()]);
        run.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("law: there is a shell").code()
    };
    for (script, code) in [
        ("$0 convert $1 a.pt2 && $0 convert $1 another.name.pt2 && cmp a.pt2 another.name.pt2", 0),
        ("$0 convert $1 - > b && cmp a.pt2 b && $0 convert $1 /dev/stdout > c && cmp a.pt2 c", 0),
        ("$0 convert $1 - | $0 verify -", 0),
        ("$0 convert $1 - | $0 optimize - -o - --time-limit 1 | $0 verify /dev/stdin", 0),
        ("$0 run $1 --outputs o.safetensors && $0 run $1 --outputs - > p && cmp o.safetensors p", 0),
        ("$0 run $1 --outputs - | $0 run $1 --expect /dev/stdin", 0),
        ("mkfifo pipe && (cat pipe > d &) && $0 convert $1 pipe && test -p pipe && sleep 0.2 && cmp a.pt2 d", 0),
        ("$0 convert $1 /dev/null && test -c /dev/null", 0),
        // A full disk.
        ("$0 convert $1 /dev/full", 6),
        ("$0 convert $1 - > /dev/full", 6),
        ("$0 ops > /dev/full", 6),
        ("$0 ops --json > /dev/full", 6),
        ("$0 --help > /dev/full", 6),
        ("$0 --version > /dev/full", 6),
        ("$0 run --help > /dev/full", 6),
        ("$0 show $1 > /dev/full", 6),
        ("$0 run $1 > /dev/full", 6),
        ("$0 verify none.pt2 2> /dev/full", 6),
        ("$0 nonsense 2> /dev/full", 2),
        ("$0 run $1 --expect none.safetensors > /dev/full 2>&1", 6),
        // Not a regular file: an immediate error.
        ("mkfifo x.safetensors && $0 convert $1 y.json && cp y.json x.json && $0 verify x.json", 6),
        ("$0 verify pipe", 6),
        ("mkfifo i.json && cp o.safetensors i.safetensors && $0 run $1 --expect i.safetensors", 0),
        ("mkdir z.safetensors && cp y.json z.json && $0 verify z.json", 6),
        ("$0 run $1 --inputs /dev/zero", 6),
        // Links stay links, permissions stay.
        ("mkdir real && ln -s real/l.pt2 l.pt2 && $0 convert $1 l.pt2 && test -L l.pt2 && cmp a.pt2 real/l.pt2", 0),
        ("chmod 640 real/l.pt2 && $0 convert $1 l.pt2 && test \"$(stat -c %a real/l.pt2)\" = 640 && test -L l.pt2", 0),
        ("test \"$(ls -A real)\" = l.pt2", 0),
    ] {
        assert_eq!(shell(script), Some(code), "{script}");
    }
}

#[test]
fn text_from_files_has_no_control_sequences() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let folder = folder.path();
    done(folder, "convert IN p.json");
    let text = std::fs::read_to_string(folder.join("p.json")).expect("law: it was written");
    let evil = "\\u001b]0;x\\u0007\\u009b2J\\u202e\\u2066\\u200b\\u007f\\r\\nvalid: 7 nodes, no diagnostics";
    for (place, from) in [
        ("a name", "\"gelu\""),
        ("a weight", "2.weight\""),
        ("a symbol's range", "\"s31\": {\"min_val"),
        ("a stack trace", "in forward"),
        ("a target", "torch.ops.aten.gelu.default"),
        ("a module", "L__self__1,1,"),
        ("a version", "2.15.0"),
    ] {
        let to = from.replacen(
            char::is_alphanumeric,
            &format!("{}{evil}", &from[from.find(char::is_alphanumeric).unwrap_or(0)..][..1]),
            1,
        );
        assert!(text.contains(from), "{place}");
        std::fs::write(folder.join("evil.json"), text.replace(from, &to)).expect("law: the folder is writable");
        std::fs::copy(folder.join("p.safetensors"), folder.join("evil.safetensors")).expect("law: it is there");
        for line in [
            "show evil.json",
            "show evil.json --format fx",
            "show evil.json --format table",
            "show evil.json --format dot",
            "show evil.json --format json",
            "verify evil.json",
            "verify evil.json --json",
            "verify evil.json --scan",
            "verify evil.json --scan --json",
            "verify evil.json --fix -o fixed.json",
            "run evil.json --profile",
            "diff evil.json p.json",
            "optimize evil.json -o o.pt2 --time-limit 0.1 --json",
            "optimize evil.json -o o.pt2 --time-limit 0.1 --explain -",
        ] {
            let (code, out, err) = oxport(folder, line);
            assert!(code.is_some_and(|code| code < 10), "{line}, {place}: {err}");
            let hidden = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200b}".contains(c);
            let found = out.chars().chain(err.chars()).find(|c| hidden(*c));
            assert_eq!(found, None, "{line}, {place}");
            // No line is a file's own.
            let printed = out.lines().chain(err.lines()).find(|line| line.starts_with("valid: 7"));
            assert_eq!(printed, None, "{line}, {place}");
            if line.contains("json ") && line.ends_with("json") && !line.contains("-o") && code == Some(0) {
                assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok() || line.contains("diff"), "{line}");
            }
        }
    }
    // Nor does what the user types, or how files are called.
    for line in ["verify no\u{1b}[31mne.pt2", "convert IN x\u{9b}.onnx", "\u{202e}run"] {
        let (code, out, err) = oxport(folder, line);
        assert!(code.is_some_and(|c| c == 2 || c == 6), "{err}");
        assert!(!(out + &err).chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{line:?}");
    }
}
