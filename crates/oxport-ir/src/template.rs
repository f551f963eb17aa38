//! Call texts: `mul.Tensor(self, sigmoid(self))`, how simple decompositions are written.
//!
//! ```text
//! expr := call | name | number | True | False | None | "[" expr, … "]"
//! call := op "(" (expr | name "=" expr), … ")" ("[" index "]")?
//! ```
//!
//! Operators are in `aten::` unless they say otherwise; names are the schema's arguments.

use crate::{Argument, Builder, Error, Kwargs, Result};

/// Builds the calls of a text; names are looked up by `names`.
///
/// # Errors
/// The text is wrong, a name is unknown, or a call is refused.
pub fn build(b: &mut Builder<'_>, text: &str, names: &dyn Fn(&str) -> Option<Argument>) -> Result<Argument> {
    let mut t = Template { b, names, text, at: 0 };
    let value = t.expr()?;
    if t.rest().is_empty() { Ok(value) } else { Err(t.wrong("trailing text")) }
}

struct Template<'b, 'a, 't> {
    b: &'b mut Builder<'a>,
    names: &'b dyn Fn(&str) -> Option<Argument>,
    text: &'t str,
    at: usize,
}

impl<'t> Template<'_, '_, 't> {
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }
    fn eat(&mut self, token: char) -> bool {
        let hit = self.rest().starts_with(token);
        self.at += if hit { token.len_utf8() } else { 0 };
        hit
    }
    fn wrong(&self, what: &str) -> Error {
        Error::invalid(format!("call text `{}` column {}: {what}", self.text, self.at + 1))
    }
    fn word(&mut self) -> Result<&'t str> {
        let rest = self.rest();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '+');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.wrong("expected a name or a number"));
        }
        self.at += end;
        Ok(&rest[..end])
    }
    fn list(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let mut first = true;
        while !self.eat(close) {
            if !first && !self.eat(',') {
                return Err(self.wrong("expected `,`"));
            }
            first = false;
            item(self)?;
        }
        Ok(())
    }
    fn expr(&mut self) -> Result<Argument> {
        if self.eat('[') {
            let mut items = Vec::new();
            self.list(']', |t| {
                items.push(t.expr()?);
                Ok(())
            })?;
            return Ok(Argument::List(items));
        }
        let word = self.word()?;
        if self.eat('(') {
            return self.call(word);
        }
        Ok(match word {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            w => {
                let number = w.parse().map(Argument::Int).or_else(|_| w.parse().map(Argument::Float));
                match (self.names)(w) {
                    Some(value) => value,
                    None => number.map_err(|_| self.wrong(&format!("unknown name `{w}`")))?,
                }
            }
        })
    }
    fn call(&mut self, op: &str) -> Result<Argument> {
        let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
        self.list(')', |t| {
            let start = t.at;
            if let Ok(key) = t.word()
                && t.eat('=')
            {
                let value = t.expr()?;
                kwargs.insert(key.into(), value);
                return Ok(());
            }
            t.at = start;
            args.push(t.expr()?);
            Ok(())
        })?;
        let name = if op.contains("::") { op.to_string() } else { format!("aten::{op}") };
        let op = self.b.registry().op(&name);
        // As in PyTorch's graphs: what is the default anyway is left out at the end.
        let default = |i: usize| op.schema()?.args.get(i)?.default.as_ref();
        while args.last().is_some_and(|last| default(args.len() - 1) == Some(last)) {
            args.pop();
        }
        let node = self.b.call_op(&op, args, kwargs)?;
        if self.eat('[') {
            let index = self.word()?.parse().map_err(|_| self.wrong("expected an index"))?;
            if !self.eat(']') {
                return Err(self.wrong("expected `]`"));
            }
            return Ok(self.b.getitem(node, index)?.into());
        }
        Ok(node.into())
    }
}
