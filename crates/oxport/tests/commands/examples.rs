//! The examples run: each is a module here, so that one binary has them all.

#[path = "../../examples/build.rs"]
mod build;
#[path = "../../examples/custom_op.rs"]
mod custom_op;
#[path = "../../examples/inspect.rs"]
mod inspect;
#[path = "../../examples/optimize.rs"]
mod optimize;
#[path = "../../examples/run.rs"]
mod run;
#[path = "../../examples/state.rs"]
mod state;
#[path = "../../examples/threads.rs"]
mod threads;
#[path = "../../examples/verify.rs"]
mod verify;
#[path = "../../examples/weights.rs"]
mod weights;

#[cfg(feature = "ndarray")]
#[path = "../../examples/arrays.rs"]
mod arrays;
#[cfg(feature = "capture")]
#[path = "../../examples/capture.rs"]
mod capture;

use std::collections::BTreeSet;
use std::error::Error;

type Example = (&'static str, fn() -> Result<(), Box<dyn Error>>);

#[test]
fn every_example_runs() {
    /// Pairs of a name and its `main`.
    macro_rules! all {
        ($($(#[$feature:meta])* $name:ident),*) => {
            [$($(#[$feature])* (stringify!($name), (|| Ok($name::main()?)) as fn() -> _)),*]
        };
    }
    let examples: Vec<Example> = Vec::from(all![
        build,
        custom_op,
        inspect,
        optimize,
        run,
        state,
        threads,
        verify,
        weights,
        #[cfg(feature = "ndarray")]
        arrays,
        #[cfg(feature = "capture")]
        capture
    ]);
    for (name, main) in &examples {
        main().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).expect("law: it is checked in").flatten();
    let files: BTreeSet<String> =
        files.map(|f| f.file_name().to_string_lossy().trim_end_matches(".rs").to_string()).collect();
    let unrun: Vec<_> = files.iter().filter(|file| !examples.iter().any(|(name, _)| name == *file)).collect();
    assert!(unrun.iter().all(|name| ["arrays", "capture"].contains(&name.as_str())), "not run: {unrun:?}");
}
