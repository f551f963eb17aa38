//! The text of a schema: what was parsed, to the letter.

use super::{Alias, Form, FunctionSchema, Type};
use std::fmt;

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false, None).map(drop)
    }
}

impl Type {
    /// Writes the type with its alias annotation, and gives the number of `?` and `[]` that were written.
    fn write(&self, f: &mut fmt::Formatter<'_>, is_symbolic: bool, alias: Option<&Alias>) -> Result<usize, fmt::Error> {
        let parts = match self {
            Type::Optional(t) => {
                let parts = t.write(f, is_symbolic, alias)?;
                f.write_str("?")?;
                parts + 1
            }
            Type::List(t, n) => {
                let parts = t.write(f, is_symbolic, alias)?;
                match n {
                    Some(n) => write!(f, "[{n}]")?,
                    None => f.write_str("[]")?,
                }
                parts + 1
            }
            named => {
                f.write_str(named.name(is_symbolic))?;
                0
            }
        };
        if let Some(Alias { before, after, is_write, .. }) = alias.filter(|a| a.behind == parts) {
            write!(f, "({before}{}", if *is_write { "!" } else { "" })?;
            match after {
                Some(a) => write!(f, " -> {a})")?,
                None => f.write_str(")")?,
            }
        }
        Ok(parts)
    }
    /// The name of a type that is no list and not optional.
    fn name(&self, is_symbolic: bool) -> &str {
        match self {
            Type::Optional(t) | Type::List(t, _) => t.name(is_symbolic),
            Type::Tensor => "Tensor",
            Type::Int => "int",
            Type::SymInt => "SymInt",
            Type::Float if is_symbolic => "SymFloat",
            Type::Float => "float",
            Type::Bool if is_symbolic => "SymBool",
            Type::Bool => "bool",
            Type::Scalar => "Scalar",
            Type::Str => "str",
            Type::DType => "ScalarType",
            Type::Layout => "Layout",
            Type::Device => "Device",
            Type::MemoryFormat => "MemoryFormat",
            Type::Generator => "Generator",
            Type::Other(name) => name,
        }
    }
}

impl fmt::Display for FunctionSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.form == Form::NameOnly {
            return Ok(());
        }
        f.write_str("(")?;
        let mut star = false;
        for (i, a) in self.args.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if a.kw_only && !star {
                star = true;
                f.write_str("*, ")?;
            }
            a.ty.write(f, a.is_symbolic, a.alias.as_ref())?;
            write!(f, " {}", a.name)?;
            if let Some(d) = &a.default_text {
                write!(f, "={d}")?;
            }
        }
        if self.is_vararg {
            f.write_str(if self.args.is_empty() { "..." } else { ", ..." })?;
        }
        f.write_str(") -> ")?;
        f.write_str(match self.form {
            Form::Tuple => "(",
            Form::Varying => "...",
            Form::One | Form::NameOnly => "",
        })?;
        for (i, r) in self.returns.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            r.ty.write(f, r.is_symbolic, r.alias.as_ref())?;
            if let Some(name) = &r.name {
                write!(f, " {name}")?;
            }
        }
        f.write_str(if self.form == Form::Tuple { ")" } else { "" })
    }
}
