//! The malicious set: every archive of `fixtures/malicious` is rejected or handled, within limits of time and memory.
//!
//! Each case runs in a separate process, which is killed beyond 256 MB of data or a second of processor time.
#![cfg(unix)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A row of the table, with its archive.
struct Case {
    name: String,
    exit: i32,
    code: String,
    scan: Vec<String>,
    archive: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/malicious");
    let table = std::fs::read_to_string(folder.join("cases.tsv")).expect("law: the set is checked in");
    let packed = std::fs::File::open(folder.join("archives.z")).expect("law: the set is checked in");
    let mut archives = flate2::read::ZlibDecoder::new(packed);
    let mut next = || {
        let mut len = [0; 4];
        archives.read_exact(&mut len).expect("law: an archive a row");
        let mut archive = vec![0; u32::from_le_bytes(len) as usize];
        archives.read_exact(&mut archive).expect("law: an archive a row");
        archive
    };
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut cells = row.split('\t').map(|cell| if cell == "-" { "" } else { cell });
        let mut cell = || cells.next().expect("law: a row has five cells");
        Case {
            name: cell().to_string(),
            exit: cell().parse().expect("law: an exit code"),
            code: cell().to_string(),
            scan: cell().split_whitespace().map(str::to_string).collect(),
            archive: next(),
        }
    })
    .collect()
}

/// Runs the command line within the bounds. Debug builds get more time.
fn oxport(arguments: &[&str]) -> Output {
    let seconds = if cfg!(debug_assertions) { 30 } else { 1 };
    let bounds = format!("ulimit -d 262144; ulimit -t {seconds}; ulimit -c 0; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &bounds, env!("CARGO_BIN_EXE_oxport")]).args(arguments).env("RAYON_NUM_THREADS", "2");
    command.output().expect("law: there is a shell")
}

/// Checks the outcome of any command.
fn ended_well(output: &Output, allowed: &[i32]) -> Result<(), String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let head: String = text.chars().take(300).collect();
    match output.status.code() {
        None => Err(format!("killed: {}; {head}", output.status)),
        Some(_) if text.contains("panicked") || text.contains("memory allocation") => Err(head),
        Some(code) if !allowed.contains(&code) => Err(format!("exit code {code}: {head}")),
        Some(0) => Ok(()),
        Some(_) if text.trim().is_empty() && output.stdout.is_empty() => Err("no output".to_string()),
        Some(_) => Ok(()),
    }
}

fn check(case: &Case, folder: &Path) -> Vec<String> {
    let path: PathBuf = folder.join(format!("{}.pt2", case.name));
    std::fs::write(&path, &case.archive).expect("law: the folder is writable");
    let file = path.to_str().expect("law: names are UTF-8");
    let out = path.with_extension("out.json").to_str().expect("law: names are UTF-8").to_string();
    let better = path.with_extension("out.pt2").to_str().expect("law: names are UTF-8").to_string();
    let mut wrong = Vec::new();
    let mut note = |what: &str, outcome: Result<(), String>| {
        if let Err(e) = outcome {
            wrong.push(format!("{}: {what}: {e}", case.name));
        }
    };

    let verified = oxport(&["verify", file]);
    note("verify", ended_well(&verified, &[case.exit]));
    let text = String::from_utf8_lossy(&verified.stderr) + String::from_utf8_lossy(&verified.stdout);
    if !text.contains(&format!("[{}]", case.code)) && !case.code.is_empty() {
        note("verify", Err(format!("no [{}] in: {}", case.code, text.chars().take(300).collect::<String>())));
    }

    let scanned = oxport(&["verify", "--scan", "--format", "json", file]);
    // A file that oxport rejects may be a program to PyTorch.
    let is_unread = case.exit == 3 && oxport(&["show", file]).status.code() == Some(3);
    note("scan", ended_well(&scanned, if is_unread { &[3] } else { &[0, 3] }));
    let text = String::from_utf8_lossy(&scanned.stdout);
    for code in &case.scan {
        if let Some(exit) = code.strip_prefix("exit=") {
            let found = scanned.status.code().map(|code| code.to_string());
            note("scan", if found.as_deref() == Some(exit) { Ok(()) } else { Err(format!("exit code {found:?}")) });
            continue;
        }
        let found = text.contains(&format!("\"code\": \"{code}\""));
        note("scan", if found { Ok(()) } else { Err(format!("no {code} in: {text}")) });
    }

    // 5: the program needs more memory than there is.
    let any = [0, 3, 4, 5, 6];
    note("run", ended_well(&oxport(&["run", file]), &any));
    // A program that can be read must also be shown and rewritten.
    if case.exit == 0 || case.name.starts_with("run_") {
        for arguments in [
            vec!["show", file],
            vec!["convert", file, &out],
            vec!["optimize", file, "-o", &better, "--time-limit", "0.2"],
        ] {
            note(arguments[0], ended_well(&oxport(&arguments), &any));
        }
    }
    wrong
}

#[test]
fn malicious_archives_are_rejected_or_handled() {
    let cases = cases();
    assert!(cases.len() >= 200, "only {} cases", cases.len());
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut wrong = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                wrong.extend(check(case, folder.path()));
            }
            wrong
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("law: workers do not panic")).collect()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!folder.path().join("pwned").exists() && !Path::new("pwned").exists(), "something was executed");
}

/// Names of files in a program JSON become names of entries: they are checked on reading, and errors have their
/// location.
#[test]
fn names_in_a_program_json_are_refused() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: names are UTF-8").to_string();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/archives/flat_7_3.pt2");
    let (pair, tensors) = (at("p.json"), at("p.safetensors"));
    assert_eq!(oxport(&["convert", archive, &pair]).status.code(), Some(0));
    let plain = [&pair, &tensors].map(|path| std::fs::read(path).expect("law: both files were written"));
    // All of the same length as the plain name, so that the length of the header stays correct.
    let name = b"extra/note.txt".as_slice();
    let evil: [&[u8]; 6] = [
        b"../../evil.txt",
        b"/etc/cron.d/ev",
        b"extra/../evil1",
        b"C:/evil/ev.txt",
        b"extra/note.tx/",
        b"data/aotinduct",
    ];
    for evil in evil {
        for (path, bytes) in [&pair, &tensors].into_iter().zip(&plain) {
            let mut bytes = bytes.clone();
            let mut count = 0;
            for at in 0..=bytes.len() - name.len() {
                if bytes[at..].starts_with(name) {
                    bytes[at..at + name.len()].copy_from_slice(evil);
                    count += 1;
                }
            }
            assert!(count > 0, "{path} names the file");
            std::fs::write(path, bytes).expect("law: the folder is writable");
        }
        let out = at("out.pt2");
        for arguments in [
            vec!["verify", &pair],
            vec!["convert", &pair, &out],
            vec!["optimize", &pair, "-o", &out],
            vec!["decompose", &pair, "-o", &out],
        ] {
            let output = oxport(&arguments);
            let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(3), "{}: {text}", arguments[0]);
            assert!(text.contains("[name]") && text.contains("oxport.files["), "{}: {text}", arguments[0]);
            assert!(!Path::new(&out).exists());
        }
    }
}
