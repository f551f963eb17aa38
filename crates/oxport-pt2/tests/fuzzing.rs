//! The fuzz targets without a fuzzer: a deterministic loop that mutates seeds, on every toolchain, within seconds.
//!
//! | variable | means |
//! |---|---|
//! | `OXPORT_FUZZ_SECONDS` | the time of each target; by default a fixed number of rounds |
//! | `OXPORT_FUZZ_TARGET` | only this target |
//! | `OXPORT_FUZZ_SEED` | the random seed |
//! | `OXPORT_FUZZ_KEEP` | a folder for the current input, which remains if it kills the process |
//!
//! Earlier findings are in `tests/fuzz/findings/TARGET` and are tried first.

#[path = "../../../tests/fuzz/targets.rs"]
mod targets;

use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Rounds of a target where no time is given.
const ROUNDS: usize = if cfg!(debug_assertions) { 150 } else { 1500 };
/// An input that takes longer than this is a finding, too: inputs are small.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });

#[test]
fn mutated_inputs_break_no_parser() {
    let variable = |name: &str| std::env::var(format!("OXPORT_FUZZ_{name}")).ok();
    let seconds = variable("SECONDS").and_then(|s| s.parse().ok()).map(Duration::from_secs);
    let seed = variable("SEED").and_then(|s| s.parse().ok()).unwrap_or(1);
    let only = variable("TARGET");
    for target in TARGETS.iter().filter(|t| only.as_ref().is_none_or(|name| name == t.name)) {
        fuzz(target, seconds, seed, variable("KEEP").map(PathBuf::from));
    }
}

#[test]
fn findings_stay_fixed() {
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/findings").join(target.name);
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let input = std::fs::read(file.path()).expect("law: the findings are files");
            attempt(target, &input, &file.path().display().to_string());
        }
    }
}

fn fuzz(target: &Target, time: Option<Duration>, seed: u64, keep: Option<PathBuf>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut corpus = (target.seeds)();
    assert!(!corpus.is_empty(), "{}: there are seeds", target.name);
    corpus.iter().enumerate().for_each(|(i, input)| attempt(target, input, &format!("seed {i}")));
    let (start, seeds) = (Instant::now(), corpus.len());
    let mut rounds = 0;
    while time.map_or(rounds < ROUNDS, |time| start.elapsed() < time) {
        let mut input = corpus[random.below(corpus.len())].clone();
        for _ in 0..random.below(4) {
            mutate_tree(&mut input, &mut random);
        }
        for _ in 0..random.below(6) {
            mutate(&mut input, &corpus, target.words, &mut random);
        }
        input.truncate(1 << 17);
        if let Some(folder) = &keep {
            std::fs::write(folder.join(target.name), &input).expect("law: the folder is writable");
        }
        attempt(target, &input, &format!("round {rounds} of seed {seed}"));
        rounds += 1;
        // Mutants of mutants reach further; the original seeds stay in the corpus.
        if random.below(8) == 0 && input.len() < 1 << 15 {
            if corpus.len() < seeds + 200 {
                corpus.push(input);
            } else {
                let at = seeds + random.below(200);
                corpus[at] = input;
            }
        }
    }
    println!("{}: {rounds} rounds in {:.1} s", target.name, start.elapsed().as_secs_f64());
}

fn attempt(target: &Target, input: &[u8], what: &str) {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let mut took = start.elapsed();
    if outcome.is_ok() && took > TIME_LIMIT {
        // On a busy machine any input may be delayed: a slow one is slow twice.
        let start = Instant::now();
        (target.run)(input);
        took = start.elapsed();
    }
    if outcome.is_err() || took > TIME_LIMIT {
        let path = std::env::temp_dir().join(format!("oxport-finding-{}", target.name));
        let _ = std::fs::write(&path, input);
        let verb = if outcome.is_err() { "panicked" } else { "was slow" };
        panic!("{}: {what} {verb} ({took:?}); the input is in {}", target.name, path.display());
    }
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }
}

/// Mutates a JSON document into another: replaces a part by another part, or by an unusual value.
fn mutate_tree(input: &mut Vec<u8>, random: &mut Random) {
    if input.first() != Some(&b'{') {
        return;
    }
    let Ok(mut document) = serde_json::from_slice::<Value>(input) else { return };
    let part = match random.below(4) {
        0 => [json!(null), json!({}), json!([]), json!(-1), json!(i64::MAX), json!(1e300), json!("s0"), json!(true)]
            [random.below(8)]
        .clone(),
        _ => pick(&mut document, random).clone(),
    };
    let place = pick(&mut document, random);
    match place {
        Value::Array(list) if random.below(3) == 0 => list.push(part),
        Value::Array(list) if random.below(3) == 0 => drop(list.pop()),
        Value::Object(map) if random.below(3) == 0 => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            map.remove(&key);
        }
        place => *place = part,
    }
    *input = document.to_string().into_bytes();
}

/// A random part of a document.
fn pick<'v>(value: &'v mut Value, random: &mut Random) -> &'v mut Value {
    let len = match &*value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    };
    if len == 0 || random.below(10) == 0 {
        return value;
    }
    let child = match value {
        Value::Array(list) => list.get_mut(random.below(len)),
        Value::Object(map) => map.values_mut().nth(random.below(len)),
        _ => None,
    };
    pick(child.expect("law: there are that many"), random)
}

/// Mutates an input: bits, bytes, keywords, parts of other inputs, repetition.
fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], random: &mut Random) {
    const NUMBERS: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'-'];
    let at = random.below(input.len() + 1);
    let end = (at + random.below(40)).min(input.len());
    match random.below(10) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = NUMBERS[random.below(NUMBERS.len())],
        2 => drop(input.drain(at..end)),
        3 | 4 => {
            let word = words[random.below(words.len())].as_bytes();
            input.splice(at..at, word.iter().copied());
        }
        5 => {
            let word = words[random.below(words.len())].as_bytes();
            input.splice(at..end, word.iter().copied());
        }
        6 => {
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, piece);
        }
        7 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(200)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        8 => {
            // Repetition: depth, length, counts.
            let piece = match random.below(2) {
                0 => words[random.below(words.len())].as_bytes().to_vec(),
                _ => input[at..end].to_vec(),
            };
            let times = 1 << random.below(11);
            let many: Vec<u8> = piece.iter().copied().cycle().take((piece.len() * times).min(1 << 14)).collect();
            input.splice(at..at, many);
        }
        _ => {
            // An extreme number where one of the file's formats may have a field.
            let bytes = [u64::MAX, 1 << 63, 1 << 31, 0xffff, 0x7fff_ffff][random.below(5)].to_le_bytes();
            let width = [2, 4, 8][random.below(3)].min(input.len() - at);
            input[at..at + width].copy_from_slice(&bytes[..width]);
        }
    }
}
