//! Patterns as trees of words, and where their parts stand.

use oxport::registry;
use oxport_ir::schema::Type;
use std::collections::BTreeMap;
use std::fmt;

/// A pattern: a variable or constant, or a call of an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tree {
    Leaf(String),
    Call(String, Vec<Tree>),
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf(word) => f.write_str(word),
            Tree::Call(name, kids) => {
                write!(f, "({name}")?;
                kids.iter().try_for_each(|kid| write!(f, " {kid}"))?;
                f.write_str(")")
            }
        }
    }
}

/// The argument that a part of a pattern is.
#[derive(Clone, Debug)]
pub struct Slot {
    /// `add.Tensor.alpha`
    pub name: String,
    /// What operators say of it; functions say nothing.
    pub ty: Option<Type>,
}

impl Tree {
    pub fn read(text: &str) -> Tree {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut open: Vec<Vec<Tree>> = vec![Vec::new()];
        for word in spaced.split_whitespace() {
            let done = match word {
                "(" => {
                    open.push(Vec::new());
                    continue;
                }
                ")" => {
                    let kids = open.pop().expect("law: parentheses match");
                    Tree::Call(kids[0].to_string(), kids[1..].to_vec())
                }
                word => Tree::Leaf(word.to_string()),
            };
            open.last_mut().expect("law: parentheses match").push(done);
        }
        open.remove(0).remove(0)
    }

    pub fn kids(&self) -> &[Tree] {
        if let Tree::Call(_, kids) = self { kids } else { &[] }
    }

    /// The name, if it is a variable.
    pub fn variable(&self) -> Option<&str> {
        if let Tree::Leaf(word) = self { word.strip_prefix('?') } else { None }
    }

    /// All parts, each with the way to it and the argument that it is.
    pub fn parts(&self) -> Vec<(Vec<usize>, Slot, &Tree)> {
        let mut parts = vec![(Vec::new(), Slot { name: "the whole".to_string(), ty: Some(Type::Tensor) }, self)];
        let mut at = 0;
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        while let Some((way, own, part)) = parts.get(at).cloned() {
            at += 1;
            let Tree::Call(name, kids) = part else { continue };
            let count = seen.entry(name).or_insert(0);
            *count += 1;
            for (i, kid) in kids.iter().enumerate() {
                let mut slot = part.slot(i, &own);
                if *count > 1 && name != "list" {
                    slot.name += &format!(" of {count}");
                }
                parts.push((way.iter().copied().chain([i]).collect(), slot, kid));
            }
        }
        parts
    }

    /// The argument that a child is; `own` is the one of this part.
    fn slot(&self, at: usize, own: &Slot) -> Slot {
        let Tree::Call(name, _) = self else { return own.clone() };
        if name == "list" {
            let item =
                |ty: &Type| if let Type::List(item, _) = ty.strip_optional() { Some((**item).clone()) } else { None };
            return Slot { name: format!("{}[{at}]", own.name), ty: own.ty.as_ref().and_then(item) };
        }
        let first = name.split('|').next().unwrap_or_default();
        let full = if first.contains("::") { first.to_string() } else { format!("aten::{first}") };
        let op = registry().op(&full);
        match op.schema().and_then(|schema| schema.args.get(at)) {
            Some(arg) => Slot { name: format!("{first}.{}", arg.name), ty: Some(arg.ty.clone()) },
            None => Slot { name: format!("{first}.{at}"), ty: (first == "~unary").then_some(Type::Tensor) },
        }
    }

    /// The tree with another part at a place.
    pub fn with(&self, way: &[usize], part: Tree) -> Tree {
        match (way, self) {
            ([at, rest @ ..], Tree::Call(name, kids)) => {
                let mut kids = kids.clone();
                kids[*at] = kids[*at].with(rest, part);
                Tree::Call(name.clone(), kids)
            }
            _ => part,
        }
    }

    /// The tree with operands that commute in one order, where `commuting` has patterns of calls whose first two
    /// operands commute.
    pub fn ordered(&self, commuting: &[Tree]) -> Tree {
        let Tree::Call(name, kids) = self else { return self.clone() };
        let mut kids: Vec<Tree> = kids.iter().map(|kid| kid.ordered(commuting)).collect();
        let is_of =
            |pattern: &Tree| matches!(pattern, Tree::Call(own, _) if own == name) && pattern.kids()[2..] == kids[2..];
        if kids.len() >= 2 && commuting.iter().any(is_of) {
            kids[..2].sort();
        }
        Tree::Call(name.clone(), kids)
    }
}
