//! Programs in C and C++, compiled against this build of the library.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of this crate.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of a fixture.
pub fn fixture(name: &str) -> PathBuf {
    root().join("../../fixtures/programs").join(name)
}

/// The folder of the libraries that cargo has built with this test: the test's own.
pub fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let folder = test.parent().expect("a file lies in a folder").to_path_buf();
    let library = folder.join(SHARED);
    assert!(library.is_file(), "cargo builds {SHARED} with the tests: expected it in {}", folder.display());
    folder
}

/// The name of the shared library.
pub const SHARED: &str = if cfg!(target_os = "macos") { "liboxport_c.dylib" } else { "liboxport_c.so" };

/// What the static library needs of the system.
pub const SYSTEM: &[&str] = if cfg!(target_os = "macos") { &[] } else { &["-lpthread", "-ldl", "-lm"] };

/// How a program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// With the shared library.
    Shared,
    /// With the static library.
    Static,
    /// With none: it loads the library itself.
    Alone,
}

/// Compiles a program with all warnings as errors; the path of the binary.
pub fn compile(source: &Path, link: Link, folder: &Path) -> PathBuf {
    let is_cpp = source.extension() == Some(OsStr::new("cpp"));
    let (variable, usual) = if is_cpp { ("CXX", "c++") } else { ("CC", "cc") };
    let compiler = std::env::var(variable).unwrap_or_else(|_| usual.to_string());
    let stem = source.file_stem().expect("a source has a name").to_string_lossy();
    let kind = if link == Link::Static { "static" } else { "shared" };
    let out = folder.join(format!("{stem}-{kind}"));
    let libraries = libraries();
    let mut command = Command::new(&compiler);
    command.arg(if is_cpp { "-std=c++17" } else { "-std=c99" });
    command
        .args(["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic", "-g", "-O1", "-I"])
        .arg(root().join("include"));
    command.arg(source).arg("-o").arg(&out);
    match link {
        Link::Shared => {
            command.arg("-L").arg(&libraries).arg("-loxport_c");
            command.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        Link::Static => {
            command.arg(libraries.join("liboxport_c.a")).args(SYSTEM);
        }
        Link::Alone => {
            command.args(["-lpthread", "-ldl"]);
        }
    }
    let made = command.output().unwrap_or_else(|e| {
        panic!("the tests of oxport-c need a compiler: cannot run `{compiler}` (set {variable} for another one): {e}")
    });
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{compiler} refuses {}:\n{said}", source.display());
    out
}

/// What a program prints on standard output; it must succeed.
pub fn run(program: &Path, arguments: &[String]) -> String {
    let (code, out, err) = outcome(program, arguments);
    assert!(code == Some(0), "{} {arguments:?} ended with {code:?}:\n{out}{err}", program.display());
    out
}

/// The exit code of a program, and what it prints on both streams.
pub fn outcome(program: &Path, arguments: &[String]) -> (Option<i32>, String, String) {
    let done = Command::new(program).args(arguments).output().expect("a compiled program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}
