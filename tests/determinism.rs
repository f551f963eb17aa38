//! The same program gives the same bytes, whatever ran before in the process, and in however many threads.

use crate::{programs, root};
use oxport::{ExportedProgram, Limits, Model, Opt, Target, Toolchain};
use std::path::Path;

/// How often each program is optimized.
const ROUNDS: usize = 20;

/// How the programs are optimized, in turn.
const MODES: [(Opt, bool, Target); 4] = [
    (Opt::Fast, true, Target::Cpu),
    (Opt::Exact, false, Target::Aten),
    (Opt::Fast, true, Target::Aten),
    (Opt::Exact, true, Target::Cpu),
];

/// The bytes of a program, optimized.
fn optimized(program: &ExportedProgram, (opt, frozen, target): (Opt, bool, Target), file: &Path) -> Vec<u8> {
    let toolchain = Toolchain::standard();
    let limits = Limits { model: Model { frozen, target, ..Model::default() }, ..Limits::default() };
    let start = toolchain.functional_for(program, target).expect("a functional program");
    let (result, _) = toolchain.optimize(&start, opt, &limits).expect("an optimized program");
    oxport::write(&result, file).expect("it is written");
    std::fs::read(file).expect("it is read")
}

#[test]
fn results_are_the_same_bytes() {
    let (folder, dirs) = (tempfile::tempdir().expect("a folder"), programs());
    // A dozen of which none takes long, and those with repeated blocks and merged products.
    let read = |dir: &Path| oxport::read(dir.join("program.pt2")).expect("a program");
    let small = |dir: &&std::path::PathBuf| read(dir).graph.len() < 60;
    let large = ["bert_encoder", "vit_small"].map(|name| root().join("fixtures/programs").join(name));
    let dirs: Vec<_> = dirs.iter().filter(small).step_by(2).take(10).chain(&large).collect();
    let programs: Vec<ExportedProgram> = dirs.iter().map(|dir| read(dir)).collect();
    assert_eq!(programs.len(), 12);
    let pools = [1, 2, 4].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of threads")
    });
    let mut first: Vec<Option<Vec<u8>>> = vec![None; programs.len()];
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..programs.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let file = folder.path().join("result.pt2");
            let bytes = pools[round % 3].install(|| optimized(&programs[at], MODES[at % 4], &file));
            let known = first[at].get_or_insert_with(|| bytes.clone());
            assert!(*known == bytes, "round {round}: another result for {}", dirs[at].display());
        }
    }
}

/// The passes in front of the search, with the names that they give.
#[test]
fn functional_forms_are_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    for dir in programs() {
        let program = oxport::read(dir.join("program.pt2")).expect("a program");
        let form = || {
            let form = Toolchain::standard().functional_for(&program, Target::Cpu).expect("a functional program");
            let file = folder.path().join("form.pt2");
            oxport::write(&form, &file).expect("it is written");
            std::fs::read(file).expect("it is read")
        };
        let first = form();
        assert!((0..8).all(|_| form() == first), "another form of {}", dir.display());
    }
}
