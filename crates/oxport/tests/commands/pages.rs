//! The snippets of the documentation are true: every command in a page runs, in a folder with the files that the page
//! names, and prints what the page shows.
//!
//! | in a page | means |
//! |---|---|
//! | a block `sh` | each line is a command, run in the page's folder; it succeeds, or ends in `# exit code N` |
//! | a block `text` behind it | what the commands print; `…` stands for anything. `UPDATE_EXPECT=1` writes it anew |
//! | `<!-- files: NAME=PATH … -->` | files of the workspace that the page's folder has |
//! | `<!-- file: NAME -->` | the next block is the content of that file |
//! | `<!-- python: NAME=PATH … -->` | the next block is run by `python/tests/test_docs.py`, with these files |
//! | `<!-- not run: REASON -->` | the next block is not run; without a reason that is an error |
//!
//! Blocks `rust` are doc tests: their page is included in a crate's documentation ([`DOC_TESTS`]). A block `text` that
//! does not follow commands is a picture.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose Rust code is run as doc tests, and where they are included.
const DOC_TESTS: &[(&str, &str)] = &[
    ("docs/capture.md", "crates/oxport-capture/src/lib.rs"),
    ("docs/embedding.md", "crates/oxport/src/lib.rs"),
    ("docs/cookbook.md", "crates/oxport/src/lib.rs"),
];

/// Pages whose Python code is run by the tests of the Python package.
const PYTHON_TESTS: &[&str] = &["docs/python.md", "docs/python-graphs.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md")];
    for folder in ["docs", "docs/decisions"] {
        let files = std::fs::read_dir(root().join(folder)).expect("law: the docs are checked in").flatten();
        let names = files.map(|f| Path::new(folder).join(f.file_name()));
        found.extend(names.filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    found.sort();
    found
}

/// A fenced block of a page: its language, its lines, and what the comment before it says.
struct Block {
    language: String,
    first: usize,
    lines: Vec<String>,
    remark: Option<(String, String)>,
    follows_block: bool,
}

/// `<!-- KEY: VALUE -->`
fn remark(line: &str) -> Option<(String, String)> {
    let (key, value) = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(':')?;
    ["files", "file", "python", "not run"].contains(&key).then(|| (key.to_string(), value.trim().to_string()))
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    let (mut said, mut is_behind) = (None, false);
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => {
                found.extend(open.take());
                is_behind = true;
            }
            (Some(block), _) => block.lines.push(line.to_string()),
            (None, Some(language)) => {
                let language = language.split([',', ' ']).next().unwrap_or("").to_string();
                let (remark, follows_block) = (said.take(), is_behind);
                open = Some(Block { language, first: i + 1, lines: Vec::new(), remark, follows_block });
            }
            (None, None) => {
                said = remark(line).or_else(|| said.take().filter(|_| line.is_empty()));
                is_behind = is_behind && line.is_empty();
            }
        }
    }
    found
}

/// Whether a text is like a pattern, in which `…` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('…').collect();
    let [first, middle @ .., last] = &parts[..] else { return text == pattern };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The commands of a block: a line that ends with a backslash goes on.
fn commands(lines: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        match found.last_mut().filter(|_| goes_on) {
            Some(last) => *last = format!("{}{}", last.trim_end_matches('\\'), line.trim_start()),
            None => found.push(line.clone()),
        }
        goes_on = line.ends_with('\\');
    }
    found
}

/// Runs a command in a folder; what it prints, or why it is wrong.
fn run(command: &str, folder: &Path) -> Result<String, String> {
    let wanted = command.split_once("# exit code ").map_or(Some(0), |(_, code)| code.trim().parse().ok());
    let binary = Path::new(env!("CARGO_BIN_EXE_oxport")).parent().expect("law: a file lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binary.display()))
        .output()
        .map_err(|e| e.to_string())?;
    let printed =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_string() + "\n").collect();
    match output.status.code() == wanted {
        true => Ok(printed),
        false => Err(format!("`{command}` ended with {:?}:\n{printed}", output.status.code())),
    }
}

/// Runs a page; `text` is replaced by what it should be.
fn check(page: &str, text: &mut String) -> Result<usize, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    for (key, value) in text.lines().filter_map(remark).filter(|(key, _)| key == "files") {
        for pair in value.split_whitespace() {
            let (name, from) = pair.split_once('=').ok_or_else(|| format!("{key}: expected NAME=PATH, got {pair}"))?;
            std::fs::copy(root().join(from), folder.path().join(name)).map_err(|e| format!("{from}: {e}"))?;
        }
    }
    let (mut printed, mut count, mut updates) = (None, 0, Vec::new());
    for block in blocks(text) {
        let place = format!("{page}:{}", block.first);
        let said = block.remark.as_ref().map(|(key, value)| (key.as_str(), value.as_str()));
        let shown = printed.take().filter(|_| block.follows_block);
        match (block.language.as_str(), said) {
            (_, Some(("not run", ""))) => return Err(format!("{place}: not run, but why?")),
            (_, Some(("not run", _))) => {}
            (_, Some(("file", name))) => {
                let content = block.lines.join("\n") + "\n";
                std::fs::write(folder.path().join(name), content).map_err(|e| format!("{place}: {e}"))?;
            }
            ("sh", _) => {
                let mut all = String::new();
                for command in commands(&block.lines) {
                    all += &run(&command, folder.path()).map_err(|e| format!("{place}: {e}"))?;
                    count += 1;
                }
                printed = Some(all);
            }
            ("python", Some(("python", _))) if PYTHON_TESTS.contains(&page) => {}
            ("rust", _) if DOC_TESTS.iter().any(|(included, _)| *included == page) => {}
            ("text", _) => match shown {
                Some(shown) if !is_like(shown.trim_end(), block.lines.join("\n").trim_end()) => {
                    updates.push((block.first, block.lines.len(), shown));
                }
                _ => {}
            },
            (language, _) => {
                return Err(format!("{place}: a block of {language:?} is neither run nor marked `not run: REASON`"));
            }
        }
    }
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for (first, len, shown) in updates.iter().rev() {
        let shown = shown.trim_end().lines().map(|line| line.trim_end().to_string());
        lines.splice(first..&(first + len), shown);
    }
    *text = lines.join("\n") + "\n";
    Ok(count)
}

#[test]
#[cfg(unix)]
fn every_snippet_of_the_docs_is_true() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let (file, name) = (root().join(&page), page.display().to_string());
        let before = std::fs::read_to_string(&file).expect("law: a page can be read");
        let mut after = before.clone();
        match check(&name, &mut after) {
            Ok(commands) => count += commands,
            Err(e) => wrong.push(e),
        }
        if before != after && std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, after).expect("a page can be written");
        } else if before != after {
            let differing = before.lines().zip(after.lines()).find(|(a, b)| a != b);
            wrong.push(format!("{name} shows something else than is printed: {differing:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 50, "only {count} commands were run");
}

/// A page that is said to be a doc test is one.
#[test]
fn rust_snippets_are_doc_tests() {
    for (page, library) in DOC_TESTS {
        let text = std::fs::read_to_string(root().join(library)).expect("law: the library is there");
        assert!(text.contains(&format!("include_str!(\"../../../{page}\")")), "{library} does not include {page}");
    }
}

#[test]
fn patterns_match_any_text_between() {
    for (text, pattern, expected) in [
        ("load 3.1 ms", "load … ms", true),
        ("load 3.1 s", "load … ms", false),
        ("a\nb\nc", "a\n…c", true),
        ("a", "a", true),
        ("a", "b", false),
        ("x, …", "x, …", true),
    ] {
        assert_eq!(is_like(text, pattern), expected, "{text:?} {pattern:?}");
    }
}
