//! Layouts against a table that PyTorch made.

use super::*;

fn numbers(text: &str) -> Vec<i64> {
    text.trim_matches(['[', ']']).split(',').filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect()
}

fn layout(text: &str) -> Layout {
    let (sizes, strides) = text.split_once('@').unwrap();
    Layout::new(&numbers(sizes), &numbers(strides), 0).unwrap()
}

#[test]
fn strides_by_torch() {
    for line in include_str!("by_torch.txt").lines().filter(|l| !l.starts_with('#')) {
        let (question, want) = line.split_once(" = ").unwrap();
        let words: Vec<&str> = question.split(' ').collect();
        let got = match words[..] {
            ["preserve", x] => Some(layout(x).preserve()),
            ["view", x, "as", sizes] => layout(x).reshape(&numbers(sizes)),
            ["elementwise", ref operands @ ..] => {
                let operands: Vec<Layout> = operands.iter().map(|x| layout(x)).collect();
                Some(Layout::elementwise(&operands.iter().collect::<Vec<_>>()).unwrap())
            }
            _ => panic!("law: the table has three kinds of lines, not {line}"),
        };
        let got = got.map_or("none".to_string(), |l| format!("{:?}", &l.strides[..]).replace(' ', ""));
        assert_eq!(got, want, "{question}");
    }
}
