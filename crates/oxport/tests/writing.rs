//! Whatever happens while the command line writes, the old files stay, or the new ones are whole.
//!
//! The disk is made full by the system's bound on the size of files, which either makes a write fail or kills the process
//! in the middle of it.
#![cfg(unix)]

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
    (&["run", "IN", "--outputs", "@/out.safetensors"], &["out.json", "out.safetensors"]),
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
        std::fs::write(folder.path().join(file), format!("old {file}")).expect("law: the folder is writable");
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
                assert!(contents(folder.path()).keys().eq(before.keys()), "{template:?}: nothing else lies about");
                wrote = true;
                break;
            }
            assert_eq!(code, Some(6), "{template:?} with {blocks} blocks");
            assert!(contents(folder.path()) == before, "{template:?} with {blocks} blocks: the old files stay");
        }
        assert!(wrote, "{template:?}: with enough room it writes");
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
fn a_reader_that_goes_ends_the_process_without_a_word() {
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
