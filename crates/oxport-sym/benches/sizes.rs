//! Times parsing, simplifying and bounding the size expressions of real programs: `cargo bench -p oxport-sym`.
//!
//! `fixtures/sym/sizes.tsv.gz` holds the expressions with the ranges of their symbols; `fixtures/sym/time_sympy.py`
//! made it and times sympy and PyTorch on the same work.

use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use oxport_sym::{Expr, Number, Range, ShapeEnv, Symbol};

fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sym/sizes.tsv.gz");
    let packed = std::fs::read(path).expect("law: the sizes are checked in");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("law: the sizes are gzip");
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|l| l.split_once('\t')).collect();
    let best = |work: &dyn Fn()| -> Duration {
        const ROUNDS: usize = 7;
        let once = || {
            let start = Instant::now();
            work();
            start.elapsed()
        };
        (0..ROUNDS).map(|_| once()).min().unwrap_or_default()
    };
    let parsed: Vec<(ShapeEnv, Expr)> = rows.iter().map(|(ranges, e)| (env(ranges), parse(e))).collect();
    let parse = best(&|| rows.iter().for_each(|(_, e)| drop(black_box(parse(e)))));
    let simplify = best(&|| parsed.iter().for_each(|(env, e)| drop(black_box(env.simplify(e)))));
    let range = best(&|| parsed.iter().for_each(|(env, e)| drop(black_box(env.range_of(e)))));
    println!("{} expressions: parse {parse:?}, simplify {simplify:?}, range {range:?}", rows.len());
}

fn parse(text: &str) -> Expr {
    Expr::parse(text).expect("law: the sizes are expressions")
}

fn env(ranges: &str) -> ShapeEnv {
    let mut env = ShapeEnv::new();
    let number = |t: &str| parse(t).as_number().unwrap_or(Number::INT_OO);
    for part in ranges.split(',') {
        if let [name, low, high] = part.split(':').collect::<Vec<_>>()[..] {
            env.set_range(&Symbol::by_convention(name), Range { min: number(low), max: number(high) });
        }
    }
    env
}
