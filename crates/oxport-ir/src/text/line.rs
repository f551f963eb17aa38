//! One statement of the readable form: its tokens, read as Python reads them.

use super::lex::Token;
use super::names::global_target;
use super::print::{INFIX, PREFIX};
use crate::{Argument, Complex, Device, Kwargs, MemoryFormat, MemoryLayout, NodeId, NodeKind, Registry};
use oxport_tensor::DType;
use std::sync::Arc;

/// The tokens of a statement, and what names in it mean.
pub(super) struct Line<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    /// The values that are open around the next token.
    depth: usize,
    nodes: &'a dyn Fn(&str) -> Option<NodeId>,
    registry: &'a Registry,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        tokens: &'a [Token],
        nodes: &'a dyn Fn(&str) -> Option<NodeId>,
        registry: &'a Registry,
    ) -> Line<'a> {
        Line { tokens, at: 0, depth: 0, nodes, registry }
    }
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    pub(super) fn is_at(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol)
    }
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let hit = self.is_at(symbol);
        self.at += usize::from(hit);
        hit
    }
    pub(super) fn eat_name(&mut self, name: &str) -> bool {
        let hit = matches!(self.peek(), Some(Token::Name(n)) if n == name);
        self.at += usize::from(hit);
        hit
    }
    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.eat(symbol) { Ok(()) } else { Err(format!("expected `{symbol}`")) }
    }
    pub(super) fn name(&mut self) -> Result<String, String> {
        let Some(Token::Name(n)) = self.peek() else { return Err("expected a name".into()) };
        let n = n.clone();
        self.at += 1;
        Ok(n)
    }
    /// An annotation: quoted, or, as before PyTorch 2.2, bare.
    pub(super) fn annotation(&mut self) -> Result<String, String> {
        match self.peek() {
            Some(Token::Str(_)) => self.string(),
            Some(Token::Name(_)) => {
                let (mut text, mut open) = (self.name()?, 0usize);
                while let Some(token) = self.peek() {
                    match token {
                        Token::Symbol("[" | "(") => open += 1,
                        Token::Symbol("]" | ")") if open > 0 => open -= 1,
                        _ if open == 0 => break,
                        _ => {}
                    }
                    text.push_str(&token.to_string());
                    self.at += 1;
                }
                Ok(text)
            }
            _ => Err("expected an annotation".into()),
        }
    }
    fn string(&mut self) -> Result<String, String> {
        let Some(Token::Str(s)) = self.peek() else { return Err("expected a string".into()) };
        let s = s.clone();
        self.at += 1;
        Ok(s)
    }
    /// What stands to the right of `name =`.
    pub(super) fn right_hand_side(&mut self) -> Result<(NodeKind, Vec<Argument>, Kwargs), String> {
        let registry = self.registry;
        let call = |name: &str| NodeKind::CallFunction(registry.op(name));
        if let Some(Token::Name(n)) = self.peek()
            && (self.nodes)(n).is_none()
        {
            if let Some(attr) = n.strip_prefix("self.") {
                let kind = NodeKind::GetAttr(attr.into());
                self.at += 1;
                return Ok((kind, Vec::new(), Kwargs::new()));
            }
            if matches!(self.tokens.get(self.at + 1), Some(Token::Symbol("("))) {
                let kind = if n.contains('.') { call(n) } else { call(&global_target(n)) };
                self.at += 2;
                let (args, kwargs) = self.arguments()?;
                return Ok((kind, args, kwargs));
            }
        }
        for (function, symbol) in PREFIX {
            if self.is_at(symbol) && matches!(self.tokens.get(self.at + 1), Some(Token::Name(_))) {
                self.at += 1;
                let operand = self.value()?;
                return Ok((call(&format!("_operator::{function}")), vec![operand], Kwargs::new()));
            }
        }
        let left = self.value()?;
        if self.eat("[") {
            let index = self.value()?;
            self.expect("]")?;
            return Ok((call("_operator::getitem"), vec![left, index], Kwargs::new()));
        }
        let Some(Token::Symbol(symbol)) = self.peek() else { return Err("expected a call".into()) };
        let (function, _) = INFIX.iter().find(|(_, s)| s == symbol).ok_or(format!("unexpected `{symbol}`"))?;
        self.at += 1;
        let right = self.value()?;
        Ok((call(&format!("_operator::{function}")), vec![left, right], Kwargs::new()))
    }
    /// Arguments up to `)`: by position, and by name.
    pub(super) fn arguments(&mut self) -> Result<(Vec<Argument>, Kwargs), String> {
        let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
        while !self.eat(")") {
            if let (Some(Token::Name(key)), Some(Token::Symbol("="))) = (self.peek(), self.tokens.get(self.at + 1)) {
                let key: Arc<str> = key.as_str().into();
                self.at += 2;
                kwargs.insert(key, self.value()?);
            } else {
                args.push(self.value()?);
            }
            if !self.eat(",") && !self.is_at(")") {
                return Err("expected `,` or `)`".into());
            }
        }
        Ok((args, kwargs))
    }
    fn items(&mut self, close: &str) -> Result<Vec<Argument>, String> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.value()?);
            if !self.eat(",") && !self.is_at(close) {
                return Err(format!("expected `,` or `{close}`"));
            }
        }
        Ok(items)
    }
    /// One value.
    pub(super) fn value(&mut self) -> Result<Argument, String> {
        if self.depth == MOST_DEEP {
            return Err(format!("values nest deeper than {MOST_DEEP} levels"));
        }
        self.depth += 1;
        let value = self.open_value();
        self.depth -= 1;
        value
    }
    fn open_value(&mut self) -> Result<Argument, String> {
        let token = self.peek().cloned().ok_or("the line ends too early")?;
        self.at += 1;
        Ok(match token {
            Token::Int(n) => Argument::Int(i64::try_from(n).map_err(|_| format!("`{n}` is no number in range"))?),
            Token::Float(x) => Argument::Float(x),
            Token::Imaginary(x) => Argument::Complex(Complex::new(0.0, x)),
            Token::Str(s) => Argument::Str(s.into()),
            Token::Symbol("[") => Argument::List(self.items("]")?),
            Token::Symbol("(") => match self.complex() {
                Some(c) => Argument::Complex(c),
                None => Argument::List(self.items(")")?),
            },
            Token::Symbol("{") => {
                let mut dict = Kwargs::new();
                while !self.eat("}") {
                    let key = self.string()?;
                    self.expect(":")?;
                    dict.insert(key.into(), self.value()?);
                    if !self.eat(",") && !self.is_at("}") {
                        return Err("expected `,` or `}`".into());
                    }
                }
                Argument::Dict(dict)
            }
            Token::Symbol("-") => match self.peek() {
                Some(Token::Int(n)) => {
                    let n = i64::try_from(-n).map_err(|_| format!("`-{n}` is no number in range"))?;
                    self.at += 1;
                    Argument::Int(n)
                }
                _ => match self.value()? {
                    Argument::Float(x) => Argument::Float(-x),
                    Argument::Complex(c) => Argument::Complex(-c),
                    _ => return Err("`-`: expected a number".into()),
                },
            },
            Token::Symbol(s) => return Err(format!("unexpected `{s}`")),
            Token::Name(n) => self.named(&n)?,
        })
    }
    /// `1+2j)`, the parenthesis before it being read.
    fn complex(&mut self) -> Option<Complex> {
        let sign = |token: Option<&Token>| match token {
            Some(Token::Symbol("-")) => Some(-1.0),
            Some(Token::Symbol("+")) => Some(1.0),
            _ => None,
        };
        let mut at = self.at;
        let leading = sign(self.tokens.get(at)).filter(|s| *s < 0.0);
        at += usize::from(leading.is_some());
        let real = match self.tokens.get(at)? {
            Token::Int(n) => *n as f64,
            Token::Float(x) => *x,
            _ => return None,
        };
        let between = sign(self.tokens.get(at + 1))?;
        let (Token::Imaginary(imaginary), Token::Symbol(")")) = (self.tokens.get(at + 2)?, self.tokens.get(at + 3)?)
        else {
            return None;
        };
        self.at = at + 4;
        Some(Complex::new(leading.unwrap_or(1.0) * real, between * imaginary))
    }
    fn named(&mut self, name: &str) -> Result<Argument, String> {
        if let Some(id) = (self.nodes)(name) {
            return Ok(Argument::Node(id));
        }
        Ok(match name {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            "inf" => Argument::Float(f64::INFINITY),
            "nan" => Argument::Float(f64::NAN),
            "device" => {
                self.expect("(")?;
                let (_, kwargs) = self.arguments()?;
                let Some(Argument::Str(kind)) = kwargs.get("type") else {
                    return Err("device: expected a type".into());
                };
                let index = kwargs.get("index").and_then(Argument::as_int);
                Argument::Device(Device { kind: kind.clone(), index })
            }
            "complex" => {
                self.expect("(")?;
                let (args, _) = self.arguments()?;
                let part = |a: Option<&Argument>| match a {
                    Some(Argument::Float(x)) => Ok(*x),
                    Some(Argument::Int(n)) => Ok(*n as f64),
                    _ => Err("complex: expected two numbers".to_string()),
                };
                Argument::Complex(Complex::new(part(args.first())?, part(args.get(1))?))
            }
            n if n.starts_with("torch.ops.") => Argument::Op(self.registry.op(n)),
            n => match n.strip_prefix("torch.") {
                Some(t) => torch_constant(t).ok_or_else(|| format!("unknown name `{n}`"))?,
                None => return Err(format!("`{n}` is not defined before this line")),
            },
        })
    }
}

/// Programs nest lists two deep.
pub(super) const MOST_DEEP: usize = 64;

/// `float32`, `contiguous_format`, `strided`
pub(super) fn torch_constant(name: &str) -> Option<Argument> {
    let format = || MemoryFormat::ALL.into_iter().find(|m| m.name() == name).map(Argument::MemoryFormat);
    let layout = || MemoryLayout::ALL.into_iter().find(|l| l.name() == name).map(Argument::Layout);
    DType::from_name(name).map(Argument::DType).or_else(format).or_else(layout)
}
