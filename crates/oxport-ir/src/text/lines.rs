//! The graph form read: `graph():`, a line a node, `return …`.
//!
//! Its arguments are what `str` makes of them: a string has no quotes, a device is `cpu`, an operator
//! `aten.add.Tensor`. The operator's schema tells them apart; without one, what looks like a number, a constant of
//! `torch` or a known operator is one, and all else is a string. A string that looks like something else, or has an
//! unbalanced bracket before a comma, is not found again, nor, among keyword arguments, one with what looks like the
//! next of them.
//!
//! Older spellings: `[#users=1]`, placeholders within the header, `graph(%x, %y):`, a type before the users,
//! `%x : torch.Tensor [num_users=1] = …`, a result with its sigil, `return %add`.

use super::lex::tokens;
use super::line::{Line, MOST_DEEP, torch_constant};
use super::metas;
use super::vals::read_device;
use crate::schema::Type;
use crate::{Argument, Complex, Graph, Kwargs, Node, NodeId, NodeKind, Op, Registry, Val};
use oxport_sym::ShapeEnv;
use std::collections::HashMap;

/// True for texts of this form.
pub(super) fn is_graph(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| line.starts_with("graph("))
}

/// What a complaint is: its line, from 0, and what is wrong.
pub(super) type Complaints = Vec<(usize, String)>;

/// Reads a graph.
pub(super) fn parse(
    text: &str,
    registry: &Registry,
    env: &ShapeEnv,
    annotation: &dyn Fn(&str) -> Result<Option<Val>, String>,
) -> Result<Graph, Complaints> {
    let mut reader = Reader { graph: Graph::new(), aliases: HashMap::new(), registry, env, annotation };
    let mut complaints = Vec::new();
    for (i, line) in statements(text) {
        if let Err(message) = reader.line(&line) {
            complaints.push((i, message));
        }
    }
    if complaints.is_empty() { Ok(reader.graph) } else { Err(complaints) }
}

/// The statements with their first lines: a line that begins none is of the string in the one before.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let begins = ["graph(", "%", "return"].iter().any(|start| trimmed.starts_with(start));
        match all.last_mut() {
            _ if begins => all.push((i, trimmed.to_string())),
            _ if trimmed.is_empty() || trimmed.starts_with('#') => {}
            Some((_, open)) => {
                open.push('\n');
                open.push_str(line);
            }
            None => all.push((i, trimmed.to_string())),
        }
    }
    all
}

struct Reader<'r> {
    graph: Graph,
    /// What names mean, where they are not the nodes' own.
    aliases: HashMap<String, NodeId>,
    registry: &'r Registry,
    env: &'r ShapeEnv,
    annotation: &'r dyn Fn(&str) -> Result<Option<Val>, String>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(header) = line.strip_prefix("graph(") {
            return self.header(header);
        }
        if let Some(value) = line.strip_prefix("return") {
            return self.output(value.trim());
        }
        let rest = line.strip_prefix('%').ok_or("expected `%name : … = …`, `return …` or `graph(…):`")?;
        let (name, rest) = rest.split_once(" : ").ok_or("expected ` : ` behind the name")?;
        let (left, right) = rest.split_once(" = ").ok_or("expected ` = `")?;
        let users = left.rfind('[').ok_or("expected `[num_users=N]`")?;
        let counted = ["[num_users=", "[#users="].iter().any(|start| left[users..].starts_with(start));
        let val = match left[..users].trim() {
            _ if !counted => return Err("expected `[num_users=N]`".into()),
            "" => None,
            ty => (self.annotation)(ty.trim_start_matches("Tensor ").trim_matches('"')).unwrap_or(None),
        };
        let (kind, target) = right.split_once("[target=").ok_or("expected `kind[target=…]`")?;
        let close = match kind {
            "call_function" => target.find("](args = ").ok_or("expected `(args = (…), kwargs = {…})`")?,
            _ => target.find(']').ok_or("expected `]` behind the target")?,
        };
        let (target, rest) = (&target[..close], target[close + 1..].trim());
        let node = match kind {
            "placeholder" => {
                let default = rest.strip_prefix("(default=").and_then(|rest| rest.strip_suffix(')'));
                let default = default.map(|text| self.value(text, None)).transpose()?;
                if self.graph.find(target).is_some() && default.is_none() && name == target {
                    // The header has said it already.
                    return Ok(());
                }
                self.append(Node::new(target, NodeKind::Placeholder, default.into_iter().collect()), val)?;
                if let Some(id) = self.graph.find(target).filter(|_| name != target) {
                    self.aliases.insert(name.to_string(), id);
                }
                return Ok(());
            }
            "get_attr" => Node::new(name, NodeKind::GetAttr(target.into()), Vec::new()),
            "call_function" => self.call(name, target, rest)?,
            other => return Err(format!("`{other}` is no node of an exported program")),
        };
        self.append(node, val)
    }

    fn find(&self, name: &str) -> Option<NodeId> {
        self.aliases.get(name).copied().or_else(|| self.graph.find(name))
    }

    fn append(&mut self, mut node: Node, val: Option<Val>) -> Result<(), String> {
        node.meta.val = metas::refined(val, metas::inferred(&self.graph, &node, self.env), self.env);
        self.graph.append(node).map(drop).map_err(|e| e.to_string())
    }

    /// `graph():`, or with the placeholders as before PyTorch 1.12.
    fn header(&mut self, header: &str) -> Result<(), String> {
        if !self.graph.is_empty() {
            return Err("a second graph: a text holds one program".into());
        }
        let names = header.rsplit_once(')').ok_or("expected `graph(…):`")?.0;
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.split(':').next().unwrap_or("").trim().trim_start_matches('%');
            self.append(Node::new(name, NodeKind::Placeholder, Vec::new()), None)?;
        }
        Ok(())
    }

    /// The result is as `repr` has it: Python source but for sigils of old texts.
    fn output(&mut self, text: &str) -> Result<(), String> {
        let sigils = if text.contains(['"', '\'']) { text.to_string() } else { text.replace('%', "") };
        let tokens = tokens(&sigils)?;
        let nodes = |name: &str| self.find(name);
        let mut line = Line::new(&tokens, &nodes, self.registry);
        let is_bare = !line.is_at("(") && !line.is_at("[");
        let args = match line.value()? {
            Argument::List(items) if !is_bare => items,
            one => vec![one],
        };
        self.graph.is_single_return = is_bare;
        self.append(Node::new("output", NodeKind::Output, args), None)
    }

    fn call(&mut self, name: &str, target: &str, rest: &str) -> Result<Node, String> {
        let wrong = "expected `(args = (…), kwargs = {…})`";
        let body = rest.strip_prefix("(args = (").and_then(|rest| rest.strip_suffix("})")).ok_or(wrong)?;
        let (args, kwargs) = body.rsplit_once("), kwargs = {").ok_or(wrong)?;
        let op = self.registry.op(&function(target)?);
        let args = self.positional(&op, args)?;
        let mut named = Kwargs::new();
        let mut at = Cursor { named: true, ..Cursor::new(kwargs) };
        while !at.is_done() {
            let (key, _) = at.rest().split_once(": ").ok_or("expected `name: value`")?;
            at.skip(key.len() + 2);
            let ty = op.schema().and_then(|schema| Some(&schema.arg(key)?.1.ty));
            let value = at.value(self, ty)?;
            named.insert(key.into(), value);
            at.comma()?;
        }
        Ok(Node { kwargs: named, ..Node::new(name, NodeKind::CallFunction(op), args) })
    }

    fn positional(&self, op: &Op, text: &str) -> Result<Vec<Argument>, String> {
        let params = op.schema().filter(|_| !op.is_higher_order()).map(|schema| (schema, schema.positional()));
        let mut at = Cursor::new(text);
        let mut args = Vec::new();
        // The comma of a tuple of one element goes with the brackets.
        while !at.is_done() {
            let ty = params.and_then(|(schema, count)| schema.args.get(args.len()).filter(|_| args.len() < count));
            let is_last = params.is_some_and(|(_, count)| args.len() + 1 == count);
            if let (Some(param), true) = (ty, is_last)
                && matches!(param.ty.strip_optional(), Type::Str)
            {
                // Nothing follows: the text is this string, whatever is in it.
                let rest = at.rest();
                let rest = if args.is_empty() { rest.strip_suffix(',').unwrap_or(rest) } else { rest };
                args.push(self.bare(rest, Some(&param.ty)));
                break;
            }
            args.push(at.value(self, ty.map(|param| &param.ty))?);
            at.comma()?;
        }
        Ok(args)
    }

    /// One value that is the whole text.
    fn value(&self, text: &str, ty: Option<&Type>) -> Result<Argument, String> {
        let mut at = Cursor::new(text);
        let value = at.value(self, ty)?;
        if at.is_done() { Ok(value) } else { Err(format!("unexpected `{}`", at.rest())) }
    }

    /// A word.
    fn bare(&self, word: &str, ty: Option<&Type>) -> Argument {
        let ty = ty.map(|ty| (ty.strip_optional(), matches!(ty, Type::Optional(_))));
        match ty {
            Some((Type::Str, is_optional)) if !(is_optional && word == "None") => return Argument::Str(word.into()),
            Some((Type::Device, _)) if word != "None" => {
                if let Some(device) = read_device(word) {
                    return Argument::Device(device);
                }
            }
            _ => {}
        }
        let float = || match word {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "nan" => Some(f64::NAN),
            _ if word.ends_with(|c: char| c.is_ascii_digit()) => word.parse().ok(),
            _ => None,
        };
        match word {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            _ => (word.parse().ok().map(Argument::Int))
                .or_else(|| float().map(Argument::Float))
                .or_else(|| complex(word).map(Argument::Complex))
                .or_else(|| torch_constant(word.strip_prefix("torch.")?))
                .or_else(|| self.operator(word).map(Argument::Op))
                .unwrap_or_else(|| Argument::Str(word.into())),
        }
    }

    /// `aten.add.Tensor`, if it is known.
    fn operator(&self, word: &str) -> Option<Op> {
        let is_name =
            word.split('.').count() == 3 && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let op = is_name.then(|| self.registry.op(&format!("torch.ops.{word}")))?;
        (op.schema().is_some() || word.ends_with(".default")).then_some(op)
    }
}

/// The function of a target: `operator.add`, `<built-in function add>`, `torch.ops.aten.add.Tensor`.
fn function(target: &str) -> Result<String, String> {
    if let Some(name) = target.strip_prefix("<built-in function ").and_then(|rest| rest.strip_suffix('>')) {
        return Ok(format!("_operator.{name}"));
    }
    if target.starts_with('<') {
        return Err(format!("{target:?} is no name of a function"));
    }
    match target.strip_prefix("operator.") {
        Some(name) => Ok(format!("_operator.{name}")),
        None => Ok(target.to_string()),
    }
}

/// `(1+2j)`, `1.5j`
fn complex(word: &str) -> Option<Complex> {
    let inner = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')).unwrap_or(word).strip_suffix('j')?;
    let number = |text: &str| match text.trim_start_matches('+') {
        text if text.is_empty() || !text.ends_with(|c: char| c.is_ascii_digit() || c == 'f' || c == 'n') => None,
        text => text.parse::<f64>().ok(),
    };
    let is_sign = |i: &usize| !matches!(inner.as_bytes()[i - 1], b'e' | b'E');
    match inner.char_indices().rev().find(|(i, c)| matches!(c, '+' | '-') && *i > 0 && is_sign(i)) {
        Some((sign, _)) => Some(Complex::new(number(&inner[..sign])?, number(&inner[sign..])?)),
        None => Some(Complex::new(0.0, number(inner)?)),
    }
}

/// A place in a text of values.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Whether these are `name: value` pairs.
    named: bool,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0, depth: 0, named: false }
    }
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
    fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }
    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }
    fn eat(&mut self, start: &str) -> bool {
        let hit = self.rest().starts_with(start);
        self.at += if hit { start.len() } else { 0 };
        hit
    }
    /// What stands between values, or the end.
    fn comma(&mut self) -> Result<(), String> {
        if self.eat(", ") || self.eat(",") || self.is_done() {
            return Ok(());
        }
        Err(format!("expected `, `, got `{}`", self.rest().chars().take(20).collect::<String>()))
    }
    fn items(&mut self, reader: &Reader<'_>, close: &str, ty: Option<&Type>) -> Result<Vec<Argument>, String> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if self.is_done() {
                return Err(format!("expected `{close}`"));
            }
            items.push(self.value(reader, ty)?);
            if !self.rest().starts_with(close) {
                self.comma()?;
            }
        }
        Ok(items)
    }
    fn value(&mut self, reader: &Reader<'_>, ty: Option<&Type>) -> Result<Argument, String> {
        if self.depth == MOST_DEEP {
            return Err(format!("values nest deeper than {MOST_DEEP} levels"));
        }
        self.depth += 1;
        let value = self.open_value(reader, ty);
        self.depth -= 1;
        value
    }
    fn open_value(&mut self, reader: &Reader<'_>, ty: Option<&Type>) -> Result<Argument, String> {
        let plain = ty.map(Type::strip_optional);
        if matches!(plain, Some(Type::Str)) {
            let word = self.word();
            return Ok(reader.bare(word, ty));
        }
        let element = match plain {
            Some(Type::List(element, _)) => Some(&**element),
            _ => None,
        };
        match self.rest().chars().next() {
            Some('[') => {
                self.skip(1);
                Ok(Argument::List(self.items(reader, "]", element)?))
            }
            Some('(') => {
                let close = self.rest().find(')').map(|end| &self.rest()[..=end]);
                if let Some((word, c)) = close.and_then(|word| Some((word, complex(word)?))) {
                    self.skip(word.len());
                    return Ok(Argument::Complex(c));
                }
                self.skip(1);
                Ok(Argument::List(self.items(reader, ")", element)?))
            }
            Some('{') => {
                self.skip(1);
                let mut dict = Kwargs::new();
                while !self.eat("}") {
                    let (key, _) = self.rest().split_once(": ").ok_or("expected `name: value`")?;
                    self.skip(key.len() + 2);
                    dict.insert(key.into(), self.value(reader, None)?);
                    if !self.rest().starts_with('}') {
                        self.comma()?;
                    }
                }
                Ok(Argument::Dict(dict))
            }
            Some('%') => {
                let name = self.word().trim_start_matches('%');
                let node = reader.find(name);
                node.map(Argument::Node).ok_or_else(|| format!("`{name}` is not defined before this line"))
            }
            _ => {
                let word = self.word();
                Ok(reader.bare(word, ty))
            }
        }
    }
    /// Up to a comma or a bracket that closes what the word has not opened.
    fn word(&mut self) -> &'t str {
        let (rest, mut open) = (self.rest(), 0usize);
        if self.named && self.depth == 1 {
            // The next name says where this value ends, whatever is in it.
            let is_name = |text: &str| {
                let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                end.is_some_and(|end| end > 0 && text[end..].starts_with(": "))
            };
            let end = rest.match_indices(", ").find(|(i, _)| is_name(&rest[i + 2..])).map_or(rest.len(), |(i, _)| i);
            let word = &rest[..end];
            self.skip(end);
            return word;
        }
        // Between values, a blank follows the comma; the one of a tuple of one element is the last character.
        let ends = |i: usize| matches!(rest.as_bytes().get(i + 1), None | Some(b' ' | b')' | b']' | b'}'));
        let end = rest.char_indices().find(|(i, c)| match c {
            '(' | '[' | '{' => {
                open += 1;
                false
            }
            ')' | ']' | '}' if open > 0 => {
                open -= 1;
                false
            }
            ')' | ']' | '}' => true,
            ',' => open == 0 && ends(*i),
            _ => false,
        });
        let word = &rest[..end.map_or(rest.len(), |(i, _)| i)];
        self.skip(word.len());
        word
    }
}
