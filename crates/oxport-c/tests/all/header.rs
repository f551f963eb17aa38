//! `include/oxport.h` is what cbindgen makes of the source, and the page of the book shows the examples.

use oxport::DType;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files with exported items, in the order of the header.
const SOURCES: &[&str] = &[
    "status.rs",
    "value.rs",
    "error.rs",
    "options.rs",
    "program.rs",
    "module.rs",
    "results.rs",
    "exports/errors.rs",
    "exports/values.rs",
    "exports/options.rs",
    "exports/programs.rs",
    "exports/modules.rs",
    "exports/results.rs",
];

fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml can be read");
    let builder = cbindgen::Builder::new().with_config(config);
    let add = |builder: cbindgen::Builder, name: &&str| builder.with_src(root().join("src").join(name));
    let bindings = SOURCES.iter().fold(builder, add).generate().expect("cbindgen reads the source");
    let mut header = Vec::new();
    bindings.write(&mut header);
    let text = String::from_utf8(header).expect("a header is text");
    // Rust's promise is C's contract, which the beginning of the header states once.
    let safety = "///\n/// # Safety\n/// Pointers are as this header says.\n";
    text.replace(safety, "")
}

#[test]
fn the_header_is_that_of_the_source() {
    let (file, made) = (root().join("include/oxport.h"), generated());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &made).expect("the header can be written");
    }
    let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = made.lines().zip(checked_in.lines().chain([""])).enumerate().find(|(_, (a, b))| a != b);
    assert!(
        made == checked_in,
        "include/oxport.h is not what the source says (UPDATE_EXPECT=1 writes it): {differs:?}"
    );
}

#[test]
fn every_exported_function_is_in_the_header() {
    let mut functions = 0;
    for name in std::fs::read_dir(root().join("src/exports")).expect("the folder is there").flatten() {
        let source = std::fs::read_to_string(name.path()).expect("source is text");
        let exported = source.split("extern \"C\" fn ").skip(1);
        for name in exported.map(|rest| rest.split('(').next().unwrap_or_default()) {
            assert!(generated().contains(&format!(" {name}(")) || generated().contains(&format!("*{name}(")), "{name}");
            functions += 1;
        }
    }
    assert!(functions > 40, "only {functions} functions were found");
}

#[test]
fn dtypes_are_those_of_oxport() {
    let header = generated();
    for dtype in DType::ALL {
        let line = format!("OXPORT_DTYPE_{} = {},", dtype.name().to_uppercase(), dtype.code());
        let plain = |text: &str| text.replace('_', "");
        assert!(header.lines().any(|l| plain(l.trim()) == plain(&line)), "the header does not have {line}");
        let code = i32::from(dtype.code());
        assert_eq!(oxport_c::oxport_dtype_size(code), dtype.size());
    }
    assert_eq!(header.matches("OXPORT_DTYPE_").count(), DType::ALL.len());
    assert_eq!(oxport_c::oxport_dtype_size(0), 0);
}

/// The blocks of a language of the book's page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_string).collect()
}

#[test]
fn the_page_shows_the_examples() {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file of the repository");
    let page = text(&root().join("../../docs/embedding-c.md"));
    for (language, example) in [("c", "first.c"), ("cpp", "state.cpp")] {
        let example = text(&root().join("examples").join(example));
        let shown = blocks(&page, language);
        assert!(!shown.is_empty(), "the page has no block of {language}");
        for block in shown {
            assert!(example.contains(&block), "the page shows what no example has:\n{block}");
        }
    }
}
