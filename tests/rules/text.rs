//! Rules as text: the table reads back as itself, and no text makes the reader panic.

use super::every;
use oxport::registry;
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::rule_text::{Wrong, read};
use oxport_rewrite::rules;
use oxport_testkit::samples;

/// A rule as a user writes it, under another name.
fn written(rule: &Rule) -> String {
    let mut text = format!("my-{}:\n    {}\n    => {}\n    given {}\n", rule.name, rule.left, rule.right, rule.given);
    rule.against.iter().for_each(|against| text += &format!("    against {against}\n"));
    let conditions: Vec<String> = rule.when.iter().map(ToString::to_string).collect();
    if !conditions.is_empty() {
        text += &format!("    when {}\n", conditions.join(", "));
    }
    text + if rule.soundness == Soundness::Rounding { "    rounding\n" } else { "" }
}

fn wrong(text: &str) -> Vec<Wrong> {
    read(text.to_string().leak(), registry()).expect_err(text)
}

#[test]
fn the_table_reads_back() {
    let all: Vec<&Rule> = rules::all().collect();
    let text: String = all.iter().map(|rule| written(rule)).collect();
    let found = read(text.leak(), registry()).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(found.len(), all.len());
    for (found, rule) in found.iter().zip(all) {
        assert_eq!(found.name, format!("my-{}", rule.name));
        assert_eq!(
            format!("{:?}", Rule { name: rule.name, stands_for: rule.stands_for, ..*found }),
            format!("{rule:?}")
        );
    }
}

#[test]
fn errors_have_lines() {
    let given = "    given x: f32[4]\n";
    for (text, line, expected) in [
        ("  given x".to_string(), 1, "expected `NAME: LEFT => RIGHT`, got the indented line `given x`"),
        ("\n# no\n(abs ?x)".to_string(), 3, "expected `NAME: LEFT => RIGHT`, got `(abs ?x)`"),
        (format!("a: (abs ?x)\n{given}"), 1, "expected `LEFT => RIGHT`, got `(abs ?x)`"),
        (format!("view: (abs (abs ?x)) => (abs ?x)\n{given}"), 1, "expected a name that no other rule has, got `view`"),
        (format!("a: ?x => (abs ?x)\n{given}"), 1, "expected a call on the left side, got `?x`"),
        ("a: (abs ?x) => ?x".to_string(), 1, "expected `given` with typed variables, got none"),
        (format!("a: (abs ?x) => ?y\n{given}"), 1, "`?y`: the left side has no ?y"),
        (
            format!("a: (abs ?x) => ?x\n{given}    foo\n"),
            3,
            "expected `given`, `when`, `against` or `rounding`, got `foo`",
        ),
        (format!("a: (abs ?x) => ?x\n{given}{given}"), 3, "expected one `given`, got another"),
        (format!("a: (abs ?x) => ?x\n{given}    when Signd(x)"), 3, "expected a condition, got `Signd`"),
        (format!("a: (abs ?x) => ?x\n{given}    when Is(x)"), 3, "Is: expected a variable and a number, got `x`"),
        (format!("a: (abs ?x) => ?x\n{given}    when Full(x) Half(x)"), 3, "expected a comma, got `Half(x)`"),
        (format!("a: (abs ?x) => ?x\n{given}    when Full(y)"), 3, "Full(y): the left side has no ?y"),
    ] {
        let found = wrong(&text);
        assert_eq!((found[0].line, found[0].message.as_str()), (line, expected), "{text}");
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
    // All of them at once.
    let lines: Vec<usize> =
        wrong("a: (abs ?x)\nb\nc: (abs ?x) => ?y\n given x: f32[4]\n when X(x)").iter().map(|w| w.line).collect();
    assert_eq!(lines, [1, 2, 3, 5]);
    let deep = format!("a: {}?x{} => ?x\n{given}", "(abs ".repeat(100_000), ")".repeat(100_000));
    assert_eq!(wrong(&deep)[0].message, "expected at most 64 nested calls, got 100000");
    let sum = (0..40).fold("?x".to_string(), |sum, i| format!("(add.Tensor {sum} ?y{i} 1)"));
    assert!(wrong(&format!("a: {sum} => ?x\n{given}"))[0].message.contains("more than 256 orders"));
}

/// Texts of rules with some characters and words exchanged.
#[test]
fn no_text_is_a_panic() {
    let texts: Vec<String> = rules::all().map(written).collect();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
    let seeds: Vec<u64> = (0..2000).collect();
    every(&seeds, |&seed| {
        let mut drawn =
            samples::draw(oxport::DType::I64, 16, Some((0.0, 1e6)), seed * 77 + 1).into_iter().map(|x| x as usize);
        let mut draw = |below: usize| drawn.next().unwrap_or(0) % below.max(1);
        let mut text: Vec<char> = texts[draw(texts.len())].chars().collect();
        for _ in 0..3 {
            let (at, marks) = (draw(text.len()), ['(', ')', '?', '\n', ' ', ',', '"', '@', '~', '|', '[', '9', 'é']);
            match draw(3) {
                0 => text[at] = marks[draw(marks.len())],
                1 => drop(text.remove(at)),
                _ => drop(text.splice(at..at, words[draw(words.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(found) = read(text.leak(), registry()) {
            found.iter().filter(|_| seed % 8 == 0).for_each(|rule| drop(oxport::rule_test::check(rule, 0)));
        }
        Ok(())
    });
}
