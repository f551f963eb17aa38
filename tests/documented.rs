//! Pages that are made from tables: the committed page is what the table says; `UPDATE_EXPECT=1` writes them anew. The
//! pages are a book whose links lead somewhere. (Snippets are run by `crates/oxport/tests/commands/pages.rs`.)

use crate::root;
use expect_test::expect_file;
use oxport::registry;
use oxport_ir::verify::{RULES, page};
use oxport_ir::{Decomp, Kernel, OpDef};
use std::fmt::Write;
use std::path::PathBuf;

#[test]
fn codes_are_words_and_stand_once() {
    for (i, r) in RULES.iter().enumerate() {
        assert!(r.code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", r.code);
        assert!(RULES[..i].iter().all(|other| other.code != r.code), "{} stands twice", r.code);
        assert!([r.title, r.explanation, r.example, r.fix].iter().all(|t| !t.is_empty()), "{}", r.code);
    }
}

#[test]
fn diagnostics_are_listed() {
    expect_file![root().join("docs/diagnostics.md")].assert_eq(&page());
}

/// The line that installs the command line names a package of the checkout that has it.
#[test]
fn the_install_line_stands_where_users_look() {
    let line = "cargo install --path crates/oxport --locked";
    for page in ["README.md", "docs/install.md", "docs/first-ten-minutes.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("law: the page is checked in");
        assert!(text.lines().any(|l| l.starts_with(line)), "{page} has no `{line}`");
    }
    let manifest = std::fs::read_to_string(root().join("crates/oxport/Cargo.toml")).expect("law: it is checked in");
    assert!(manifest.contains("name = \"oxport\"") && root().join("crates/oxport/src/main.rs").exists());
    assert!(root().join("Cargo.lock").exists(), "--locked needs it");
}

#[test]
fn limits_are_listed() {
    use oxport::ReadLimits;
    let mut page = String::from(
        "# Limits\n\n<!-- Made from the table in crates/oxport-pt2/src/limits.rs by tests/documented.rs; \
        UPDATE_EXPECT=1 writes it anew. -->\n\n\
        Every command takes `--limit NAME=N`, repeatedly; K, M, G and T are powers of 1024. An error names the limit \
        that was exceeded.\nThe defaults admit every real program; lower them for files of strangers: see \
        [security](security.md).\n\n| limit | default | of |\n|---|---|---|\n",
    );
    for (name, what) in ReadLimits::TABLE {
        let value = ReadLimits::DEFAULT.get(name).expect("law: the table lists the limits");
        let shift =
            [(40, "T"), (30, "G"), (20, "M"), (10, "K")].into_iter().find(|(n, _)| value.is_multiple_of(1 << n));
        let text = shift.map_or(value.to_string(), |(n, unit)| format!("{}{unit}", value >> n));
        let _ = writeln!(page, "| `{name}` | {text} | {} |", what.trim());
    }
    expect_file![root().join("docs/limits.md")].assert_eq(&page);
}

/// The pages below `docs`, and the README.
fn pages() -> Vec<PathBuf> {
    let list = |folder: &str| {
        let files = std::fs::read_dir(root().join(folder)).expect("law: the docs are checked in").flatten();
        files.map(|f| f.path()).filter(|p| p.extension().is_some_and(|e| e == "md")).collect::<Vec<_>>()
    };
    [list("docs"), list("docs/decisions"), vec![root().join("README.md")]].concat()
}

/// The links of a page to other pages, outside of code: the path, and the heading behind `#`.
fn links(text: &str) -> Vec<(&str, &str)> {
    let prose = text.split("```").step_by(2).flat_map(|part| part.split('`').step_by(2));
    let targets = prose.flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()));
    let own = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    own.map(|target| target.split_once('#').unwrap_or((target, ""))).collect()
}

/// A heading as mdBook and GitHub name it in links.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter_map(|c| if c == ' ' { Some('-') } else { (c.is_alphanumeric() || "-_".contains(c)).then_some(c) })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    crate::all(pages(), |page| {
        let text = std::fs::read_to_string(page).map_err(|e| e.to_string())?;
        let folder = page.parent().ok_or("a page lies in a folder")?;
        for (path, heading) in links(&text) {
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            let there = std::fs::read_to_string(&target).map_err(|e| format!("{path}: {e}"))?;
            let mut headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
            if !heading.is_empty() && !headings.any(|found| found == heading) {
                return Err(format!("{path} has no heading #{heading}"));
            }
        }
        Ok(())
    });
}

#[test]
fn the_book_has_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("law: the book has a summary");
    let listed: Vec<PathBuf> = links(&summary).iter().map(|(path, _)| root().join("docs").join(path)).collect();
    let is_chapter = |page: &&PathBuf| !page.ends_with("SUMMARY.md") && !page.ends_with("README.md");
    let missing: Vec<_> = pages().into_iter().filter(|page| is_chapter(&page) && !listed.contains(page)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn operators_are_listed() {
    expect_file![root().join("docs/operators.md")].assert_eq(&operators());
}

/// Every file that a page names is there.
#[test]
fn files_that_pages_name_exist() {
    crate::all(pages(), |page| {
        let text = std::fs::read_to_string(page).map_err(|e| e.to_string())?;
        let named = text.split('`').skip(1).step_by(2);
        let starts = ["crates/", "tests/", "docs/", "fixtures/", "schemas/"];
        let is_path = |t: &&str| {
            starts.iter().any(|s| t.starts_with(s)) && !t.contains([' ', '*', '<', '…', '(']) && !t.contains(".N.")
        };
        let missing: Vec<&str> = named.filter(is_path).filter(|path| !root().join(path).exists()).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("there is no {missing:?}")) }
    });
}

/// The page of the text forms shows what is printed of a fixture, and what it says can be parsed can.
#[test]
fn texts_are_shown_as_they_are() {
    use oxport_ir::print;
    let page = std::fs::read_to_string(root().join("docs/text.md")).expect("a page");
    let program = oxport::read(root().join("fixtures/text/strided_input.pt2")).expect("a fixture");
    for text in [print::readable(&program), print::fx(&program.graph), print::whole(&program)] {
        let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert!(page.contains(&text), "docs/text.md does not have\n{text}");
    }
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.strip_prefix("python\n")).collect();
    assert!(texts.len() >= 5, "{} texts", texts.len());
    for text in texts {
        oxport_ir::parse::parse(text, registry()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    }
}

fn operators() -> String {
    let count = |f: &dyn Fn(&OpDef) -> bool| oxport_ops::TABLES.iter().flat_map(|t| t.iter()).filter(|d| f(d)).count();
    let core: Vec<&str> = registry().names().into_iter().filter(|n| registry().op(n).has_tag("core")).collect();
    let missing: Vec<&&str> = core.iter().filter(|n| registry().op(n).def().is_none()).collect();
    let mut page = String::from(
        "# Operators\n\n<!-- Made from the operator table by tests/documented.rs; UPDATE_EXPECT=1 writes \
        it anew. -->\n\n",
    );
    let _ = writeln!(
        page,
        "{} overloads in {} families: {} with a kernel (k), {} with a decomposition (d), \
        every one with a meta function.\n\
        Of the {} overloads that PyTorch tags as core, {} are here{}\n\
        In-place and `out=` forms need no entry of their own: functionalization writes them as the functional one.\n",
        count(&|_| true),
        oxport_ops::FAMILIES.len(),
        count(&|d| !matches!(d.kernel, Kernel::None)),
        count(&|d| !matches!(d.decomp, Decomp::None)),
        core.len(),
        core.len() - missing.len(),
        if missing.is_empty() { ".".to_string() } else { format!("; missing: {missing:?}.") },
    );
    for (family, table) in oxport_ops::FAMILIES {
        let _ = writeln!(page, "## {family}\n\n| operator | how | what |\n|---|---|---|");
        for def in *table {
            let kernel = if matches!(def.kernel, Kernel::None) { "" } else { "k" };
            let decomposition = if matches!(def.decomp, Decomp::None) { "" } else { "d" };
            let core = if registry().op(def.name()).has_tag("core") { " core" } else { "" };
            let doc = def.doc.replace('|', "\\|");
            let _ = writeln!(page, "| `{}` | {kernel}{decomposition}{core} | {doc} |", def.name());
        }
        page.push('\n');
    }
    page
}
