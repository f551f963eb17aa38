//! Resource limits: one value, passed to every reader.
//!
//! Each limit has a name, which errors give and [`Limits::set`] takes. Limits are checked before anything of that size
//! is allocated, so that the cost of reading stays in proportion to the size of the file. The limits of running are
//! here as well, so that there is one table.

use oxport_tensor::memory::DEFAULT_MAX_BUFFER_BYTES;
use std::fmt;

/// Declares the limits: description, name on the command line, default.
macro_rules! limits {
    ($($(#[doc = $doc:literal])* $field:ident = $default:expr,)*) => {
        /// Limits of reading a file. The defaults admit every real program; lower them for untrusted files.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $doc])* pub $field: u64,)*
        }

        impl Limits {
            /// The default limits.
            pub const DEFAULT: Limits = Limits { $($field: $default,)* };

            /// Every limit: name and description.
            pub const TABLE: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), concat!($($doc,)*)),)*];

            /// The value of a limit.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($field) => Some(self.$field),)*
                    _ => None,
                }
            }

            fn field(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// Entries of an archive, tensors of a safetensors file.
    entries = 1 << 18,
    /// Bytes of an entry's name; PyTorch truncates longer ones.
    name = 511,
    /// Bytes of one compressed entry once inflated.
    inflated = 32 << 30,
    /// Bytes of all compressed entries once inflated.
    inflated_total = 128 << 30,
    /// How many times their compressed size the entries may inflate to, beyond `free_inflation`.
    ratio = 100,
    /// Bytes that the compressed entries of an archive may inflate to at any ratio, all together.
    free_inflation = 64 << 20,
    /// Bytes of a program's text.
    text = 256 << 20,
    /// Bytes of a JSON text.
    json = 2 << 30,
    /// Levels of nesting of a JSON text, at most 127.
    json_depth = 120,
    /// JSON values in a text of less than six bytes per value.
    dense_values = 1 << 20,
    /// Calls of a program, subgraphs included.
    nodes = 250_000,
    /// Metas of tensors.
    tensors = 300_000,
    /// Tensors of the state dict, or of the constants.
    payloads = 1 << 16,
    /// Declared ranges of symbols.
    ranges = 10_000,
    /// Different expressions of a program.
    expressions = 20_000,
    /// Bytes of one expression or guard.
    expression = 16 << 10,
    /// Bytes of the text of one tree spec.
    tree = 1 << 20,
    /// Dimensions of a tensor.
    rank = 64,
    /// Bytes of weights that are not in the file, in total: zeros for empty files, and elements repeated by strides of
    /// zero.
    synthesized_bytes = 64 << 20,
    /// Values of a pickle; a long string counts as several.
    pickle_values = 500_000,
    /// Bytes of one buffer while a program runs: a result, a copy of an operand, a table of a kernel.
    buffer = DEFAULT_MAX_BUFFER_BYTES as u64,
    /// Elements of generated inputs, in total.
    random_input_elems = 1 << 27,
}

impl Default for Limits {
    /// [`Limits::DEFAULT`].
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

impl Limits {
    /// The limit of one buffer of a run, as plans take it.
    pub fn buffer_bytes(&self) -> usize {
        usize::try_from(self.buffer).unwrap_or(usize::MAX)
    }
    /// Sets a limit by text: `nodes=500000`, `json=4G`; the suffixes K, M, G, T are powers of 1024.
    ///
    /// # Errors
    /// The name is not that of a limit, or the value is not a number.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("expected NAME=NUMBER, got {text:?}"))?;
        let shift = match value.trim_end_matches(['B', 'b']).bytes().last().map(|b| b.to_ascii_uppercase()) {
            Some(b'K') => 10,
            Some(b'M') => 20,
            Some(b'G') => 30,
            Some(b'T') => 40,
            _ => 0,
        };
        let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        let number = number.ok_or_else(|| format!("expected a number, got {value:?}"))?;
        let field = self.field(name.trim()).ok_or_else(|| {
            let names: Vec<&str> = Limits::TABLE.iter().map(|(name, _)| *name).collect();
            format!("expected the name of a limit, got {name:?}; the limits are {}", names.join(", "))
        })?;
        *field = number;
        Ok(())
    }

    /// The message of an exceeded limit.
    pub(crate) fn exceeded(name: &str, found: impl fmt::Display, limit: u64) -> String {
        format!("{found} are more than the limit of {limit} (`{name}`)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_by_text() {
        let mut limits = Limits::default();
        for (text, value) in [("json=4G", 4 << 30), ("json=17", 17), ("json=3kb", 3 << 10), ("json=1T", 1 << 40)] {
            limits.set(text).unwrap();
            assert_eq!(limits.json, value, "{text}");
        }
        for (text, message) in [
            ("json", "expected NAME=NUMBER, got \"json\""),
            ("jsn=1", "expected the name of a limit, got \"jsn\"; the limits are entries, name"),
            ("json=-1", "expected a number, got \"-1\""),
            ("json=99999999999999T", "expected a number, got"),
            ("json=", "expected a number, got \"\""),
        ] {
            let error = limits.set(text).unwrap_err();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
        assert!(
            Limits::TABLE
                .iter()
                .all(|(name, doc)| doc.trim().ends_with('.') && limits.set(&format!("{name}=1")).is_ok())
        );
    }
}
