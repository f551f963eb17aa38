//! `FunctionSchema`: ATen's operator signatures.
//!
//! ```text
//! aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//! aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
//! aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
//! higher_order::cond
//! ```
//!
//! Laws: `parse` accepts every schema that PyTorch 2.15 registers, and `Display` gives the text back.

use crate::{Argument, Error, MemoryFormat, MemoryLayout, Result};

mod print;

/// The keyword arguments by which a call says what kind of tensor it makes: PyTorch's `TensorOptions`.
pub const TENSOR_OPTIONS: [&str; 4] = ["dtype", "layout", "device", "pin_memory"];

/// An operator's name, arguments and returns.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSchema {
    /// `aten::add.Tensor`; an operator without overload name has no dot: `aten::relu`.
    pub name: Box<str>,
    /// The arguments, positional ones first.
    pub args: Box<[Param]>,
    /// The returns.
    pub returns: Box<[Return]>,
    /// True if the schema ends its arguments with `...`, or says nothing of them.
    pub is_vararg: bool,
    /// How the returns are spelled.
    form: Form,
}

/// How the returns of a schema are spelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// One type.
    One,
    /// In parentheses: some single named ones are, some are not.
    Tuple,
    /// `...`
    Varying,
    /// The schema is a name alone, as PyTorch has it of higher-order operators.
    NameOnly,
}

/// One argument of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The argument's name.
    pub name: Box<str>,
    /// Its type.
    pub ty: Type,
    /// True where the schema spells it `SymFloat` or `SymBool`.
    is_symbolic: bool,
    /// The default, if the argument may be left out.
    pub default: Option<Argument>,
    /// The default as the schema spells it.
    default_text: Option<Box<str>>,
    /// True after the `*`: the argument is given by name.
    pub kw_only: bool,
    /// The alias annotation, `(a!)`.
    pub alias: Option<Alias>,
}

/// One return of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    /// The name, where the schema gives one (`values`, `indices`).
    pub name: Option<Box<str>>,
    /// Its type.
    pub ty: Type,
    /// True where the schema spells it `SymFloat` or `SymBool`.
    is_symbolic: bool,
    /// The alias annotation.
    pub alias: Option<Alias>,
}

/// An alias annotation: `(a)` shares memory, `(a!)` is also written to, `(a -> *)` may alias anything afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The alias sets before the call (`a`, or several: `a|b`).
    pub before: Box<str>,
    /// The alias sets after the call, where an arrow gives them.
    pub after: Option<Box<str>>,
    /// True for `!`: the call writes to this memory.
    pub is_write: bool,
    /// How many `?` and `[]` stand before it: `Tensor(a!)[]` is a list of such tensors, `t[](a!)` such a list.
    behind: usize,
}

/// A schema type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `Tensor`
    Tensor,
    /// `int`: a number known when the program was captured.
    Int,
    /// `SymInt`: possibly symbolic.
    SymInt,
    /// `float` (and `SymFloat`)
    Float,
    /// `bool` (and `SymBool`)
    Bool,
    /// `Scalar`: any number.
    Scalar,
    /// `str`
    Str,
    /// `ScalarType`
    DType,
    /// `Layout`
    Layout,
    /// `Device`
    Device,
    /// `MemoryFormat`
    MemoryFormat,
    /// `Generator`
    Generator,
    /// Anything else, by its name: `Any`, `Dimname`, `Storage`, `__torch__.…`, `(Tensor, t)`.
    Other(Box<str>),
    /// `T?`
    Optional(Box<Type>),
    /// `T[]` or `T[n]`: a single `T` may stand for a list of `n`.
    List(Box<Type>, Option<u32>),
}

impl Type {
    /// The type inside `?`, or the type itself.
    pub fn strip_optional(&self) -> &Type {
        if let Type::Optional(t) = self { t } else { self }
    }
    /// True for `Tensor`, and for optional and list types of it.
    pub fn is_tensor_like(&self) -> bool {
        match self {
            Type::Tensor => true,
            Type::Optional(t) | Type::List(t, _) => t.is_tensor_like(),
            _ => false,
        }
    }
}

impl FunctionSchema {
    /// Parses one schema.
    ///
    /// # Errors
    /// The text is not a schema; the message gives the column.
    pub fn parse(text: &str) -> Result<FunctionSchema> {
        let mut p = Parser { text, at: 0 };
        let schema = p.schema().and_then(|s| if p.rest().is_empty() { Ok(s) } else { Err("trailing text".into()) });
        schema.map_err(|e| Error::invalid(format!("schema column {}: {e} in `{text}`", p.at + 1)))
    }
    /// The number of arguments that may be given by position.
    pub fn positional(&self) -> usize {
        self.args.iter().take_while(|a| !a.kw_only).count()
    }
    /// The argument of this name and its index.
    pub fn arg(&self, name: &str) -> Option<(usize, &Param)> {
        self.args.iter().enumerate().find(|(_, a)| &*a.name == name)
    }
    /// True if a call writes to any of its arguments.
    pub fn is_mutable(&self) -> bool {
        self.args.iter().any(Param::is_written)
    }
    /// True if some return shares memory with an argument and nothing is written: a view.
    pub fn is_view(&self) -> bool {
        !self.is_mutable() && self.returns.iter().any(|r| r.alias.is_some())
    }
    /// True for operators that make one number of tensors: `item`.
    pub fn reads_number(&self) -> bool {
        let is_tensor = |p: &Param| *p.ty.strip_optional() == Type::Tensor;
        matches!(&self.returns[..], [Return { ty: Type::Scalar, .. }]) && self.args.iter().any(is_tensor)
    }
}

impl Param {
    /// True if the call writes to this argument.
    pub fn is_written(&self) -> bool {
        self.alias.as_ref().is_some_and(|a| a.is_write)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

type Parsed<T> = std::result::Result<T, String>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }
    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }
    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected `{token}`")) }
    }
    fn word(&mut self, extra: &str) -> Parsed<&'a str> {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || extra.contains(c))).unwrap_or(rest.len());
        self.at += end;
        if end == 0 { Err("expected a name".into()) } else { Ok(&rest[..end]) }
    }
    fn schema(&mut self) -> Parsed<FunctionSchema> {
        let name: Box<str> = self.word(":.")?.into();
        if self.rest().is_empty() && name.contains("::") {
            let (args, returns) = Default::default();
            return Ok(FunctionSchema { name, args, returns, is_vararg: true, form: Form::NameOnly });
        }
        self.expect("(")?;
        let (mut args, mut kw_only, mut is_vararg) = (Vec::new(), false, false);
        while !self.eat(")") {
            if !args.is_empty() || kw_only {
                self.expect(",")?;
            }
            if self.eat("...") {
                is_vararg = true;
            } else if self.eat("*") {
                kw_only = true;
            } else {
                args.push(self.param(kw_only)?);
            }
        }
        self.expect("->")?;
        let mut returns = Vec::new();
        let form = match self.eat("...") {
            true => Form::Varying,
            false if self.is_tuple() => {
                self.expect("(")?;
                while !self.eat(")") {
                    if !returns.is_empty() {
                        self.expect(",")?;
                    }
                    returns.push(self.ret()?);
                }
                Form::Tuple
            }
            false => {
                returns.push(self.ret()?);
                Form::One
            }
        };
        Ok(FunctionSchema { name, args: args.into(), returns: returns.into(), is_vararg, form })
    }
    /// Whether the rest is a list of returns in parentheses, not one whose type is a tuple: `(Tensor, t)[]`.
    fn is_tuple(&mut self) -> bool {
        self.skip();
        self.rest().starts_with('(') && self.rest().ends_with(')')
    }
    fn ret(&mut self) -> Parsed<Return> {
        let (ty, is_symbolic, alias) = self.ty()?;
        self.skip();
        let name = match self.rest().chars().next() {
            Some(c) if c.is_alphabetic() || c == '_' => Some(self.word("")?.into()),
            _ => None,
        };
        Ok(Return { name, ty, is_symbolic, alias })
    }
    fn param(&mut self, kw_only: bool) -> Parsed<Param> {
        let (ty, is_symbolic, alias) = self.ty()?;
        let name: Box<str> = self.word("")?.into();
        let (mut default, mut default_text) = (None, None);
        if self.eat("=") {
            let start = self.at;
            default = Some(self.literal(ty.strip_optional())?);
            default_text = Some(self.text[start..self.at].into());
        }
        Ok(Param { name, ty, is_symbolic, default, default_text, kw_only, alias })
    }
    /// A type, whether it is spelled as a symbolic float or bool, and its alias annotation.
    fn ty(&mut self) -> Parsed<(Type, bool, Option<Alias>)> {
        self.skip();
        let start = self.at;
        let word = if self.rest().starts_with('(') { "" } else { self.word(".")? };
        let mut ty = match word {
            "Tensor" => Type::Tensor,
            "int" => Type::Int,
            "SymInt" => Type::SymInt,
            "float" | "SymFloat" => Type::Float,
            "bool" | "SymBool" => Type::Bool,
            "Scalar" => Type::Scalar,
            "str" => Type::Str,
            "ScalarType" => Type::DType,
            "Layout" => Type::Layout,
            "Device" => Type::Device,
            "MemoryFormat" => Type::MemoryFormat,
            "Generator" => Type::Generator,
            other => {
                // `Dict(str, Tensor)`, `Future(t)`, `(Tensor, t)`: kept whole, by name.
                if self.rest().starts_with('(') && !other.starts_with(char::is_lowercase) {
                    self.at += self.rest().find(')').ok_or("unclosed type")? + 1;
                }
                Type::Other(self.text[start..self.at].into())
            }
        };
        let is_symbolic = matches!(word, "SymFloat" | "SymBool");
        let mut alias = None;
        /// PyTorch's own types have three parts at most: `Tensor?[]`.
        const MOST_PARTS: usize = 16;
        /// PyTorch's own lists have a length of 6 at most; one number stands for so many.
        const LONGEST: u32 = 64;
        for part in 0..MOST_PARTS {
            if self.rest().starts_with('(') && alias.is_none() {
                self.at += 1;
                let inside = &self.rest()[..self.rest().find(')').ok_or("unclosed alias set")?];
                self.at += inside.len() + 1;
                let (before, after) = match inside.split_once("->") {
                    Some((b, a)) => (b.trim(), Some(a.trim().into())),
                    None => (inside.trim(), None),
                };
                let is_set = |s: &str| {
                    let name = |s: &str| s == "*" || s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    s.split('|').map(str::trim).all(|s| !s.is_empty() && name(s.strip_suffix('!').unwrap_or(s)))
                };
                if !is_set(before) || !after.as_deref().is_none_or(is_set) {
                    return Err(format!("`({inside})` is no alias set"));
                }
                let is_write = before.contains('!');
                alias = Some(Alias { before: before.replace('!', "").into(), after, is_write, behind: part });
            } else if self.rest().starts_with('[') {
                self.at += 1;
                let count = match self.rest().starts_with(']') {
                    true => None,
                    false => {
                        let word = self.word("")?;
                        let count = word.parse().ok().filter(|n| *n <= LONGEST);
                        Some(count.ok_or_else(|| format!("`{word}` is no length of a list, or above {LONGEST}"))?)
                    }
                };
                self.expect("]")?;
                ty = Type::List(Box::new(ty), count);
            } else if self.rest().starts_with('?') {
                self.at += 1;
                ty = Type::Optional(Box::new(ty));
            } else {
                return Ok((ty, is_symbolic, alias));
            }
        }
        Err(format!("a type of more than {MOST_PARTS} parts"))
    }
    fn literal(&mut self, ty: &Type) -> Parsed<Argument> {
        self.skip();
        if self.eat("[") {
            let Type::List(element, _) = ty else { return Err("a list for what is none".into()) };
            let element = element.strip_optional();
            let mut items = Vec::new();
            while !self.eat("]") {
                if !items.is_empty() {
                    self.expect(",")?;
                }
                items.push(self.literal(element)?);
            }
            return Ok(Argument::List(items));
        }
        if let Some(quote @ ('"' | '\'')) = self.rest().chars().next() {
            let mut value = String::new();
            let mut chars = self.rest().char_indices().skip(1);
            while let Some((i, c)) = chars.next() {
                match c {
                    c if c == quote => {
                        self.at += i + 1;
                        return Ok(Argument::Str(value.into()));
                    }
                    '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
                    c => value.push(c),
                }
            }
            return Err("unclosed string".into());
        }
        let word = self.word("+-.")?;
        let number = |w: &str| -> Option<Argument> {
            w.parse().map(Argument::Int).or_else(|_| w.parse().map(Argument::Float)).ok()
        };
        Ok(match (word, ty) {
            ("None", _) => Argument::None,
            ("True", _) => Argument::Bool(true),
            ("False", _) => Argument::Bool(false),
            ("Mean", _) => Argument::Int(1),
            ("Sum", _) => Argument::Int(2),
            ("long", _) => Argument::DType(oxport_tensor::DType::I64),
            ("float", _) => Argument::DType(oxport_tensor::DType::F32),
            ("strided", _) => Argument::Layout(MemoryLayout::Strided),
            ("contiguous_format", _) => Argument::MemoryFormat(MemoryFormat::Contiguous),
            ("preserve_format", _) => Argument::MemoryFormat(MemoryFormat::Preserve),
            // PyTorch registers some defaults by the numbers of its C++ enums.
            ("4", Type::DType) => Argument::DType(oxport_tensor::DType::I64),
            ("6", Type::DType) => Argument::DType(oxport_tensor::DType::F32),
            ("24", Type::DType) => Argument::DType(oxport_tensor::DType::F8E4M3FN),
            ("0", Type::MemoryFormat) => Argument::MemoryFormat(MemoryFormat::Contiguous),
            (w, Type::Float) => Argument::Float(w.parse().map_err(|_| format!("`{w}` is no float"))?),
            (w, Type::List(_, Some(n))) => {
                let item = number(w).ok_or_else(|| format!("`{w}` is no default"))?;
                Argument::List(vec![item; *n as usize])
            }
            (w, _) => number(w).ok_or_else(|| format!("`{w}` is no default"))?,
        })
    }
}
