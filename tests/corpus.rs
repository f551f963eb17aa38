//! PyTorch's own operator cases (`fixtures/ops`): all pass but those that a kept list names with a reason.

use crate::root;
use oxport_testkit::corpus::Corpus;
use oxport_testkit::{Status, operators};
use std::collections::BTreeMap;

#[test]
fn operators_do_as_pytorch_does() {
    let corpus = Corpus::read(&root().join("fixtures/ops")).expect("law: the corpus is checked in");
    let text = std::fs::read_to_string(root().join("fixtures/ops/known_failures.txt")).expect("law: it is checked in");
    let known: BTreeMap<&str, &str> =
        text.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' ')).collect();
    let (mut failures, mut passing, mut strides, mut compared) = (Vec::new(), Vec::new(), 0, 0);
    let mut refusals = String::from(
        "# PyTorch's refusals of operator cases, and ours. Made by tests/corpus.rs; `just bless` rewrites it.\n",
    );
    for case in &corpus.cases {
        let judged = operators::judge(&corpus, case);
        if case.get("error").is_some() {
            let theirs = case["error"]["message"].as_str().unwrap_or("").replace('\n', " ");
            let ours = judged.record.detail.lines().next().unwrap_or("");
            let op = case["op"].as_str().unwrap_or("?");
            refusals += &format!("\n{op}\n  PyTorch  {theirs}\n  oxport   {ours}\n");
        }
        let id = case["id"].as_str().unwrap_or("?");
        match (judged.record.status, known.contains_key(id)) {
            (Status::Pass, true) => passing.push(id.to_string()),
            (Status::Pass, false) | (_, true) => {}
            (status, false) => {
                failures.push(format!("{} {}: {}", status.word(), judged.record.id, judged.record.detail));
            }
        }
        if let Some(right) = judged.strides {
            compared += 1;
            strides += usize::from(right);
        }
    }
    assert!(corpus.cases.len() > 20_000, "the corpus holds {} cases", corpus.cases.len());
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(passing.is_empty(), "these pass now, take them off the list: {passing:?}");
    // A call is refused for its own reason: other words are read before they are taken.
    expect_test::expect_file!["refusals.txt"].assert_eq(&refusals);
    assert!(strides * 1000 >= compared * 995, "strides: {strides} of {compared} as PyTorch's");
}
