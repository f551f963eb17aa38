//! [`OxportResults`]: what a call gives, in memory of the library.
//!
//! Law: values are never changed, so that what C sees of them stays where it is until they are freed.

#![forbid(unsafe_code)]

use crate::border::Frozen;
use crate::error::text;
use crate::status::Result;
use crate::value::{OxportValue, view};
use oxport::Value;
use std::ffi::CString;

/// The results of a call: outputs, then new values of buffers and inputs, as `oxport_program_output` describes them.
/// Immutable, so that any number of threads may read them.
pub struct OxportResults {
    views: Frozen<OxportValue>,
    pub(crate) values: Vec<(String, Value)>,
    pub(crate) keys: Vec<CString>,
    /// What the texts of `views` lead to.
    _texts: Vec<Option<CString>>,
}

impl OxportResults {
    /// Results by key.
    pub(crate) fn new(mut values: Vec<(String, Value)>) -> Result<OxportResults> {
        for (_, value) in &mut values {
            // C expects the first element at the lowest address.
            if let Value::Tensor(tensor) = value
                && tensor.strides().iter().any(|stride| *stride < 0)
            {
                *tensor = tensor.deep_copy()?;
            }
        }
        let as_text = |value: &Value| if let Value::Str(s) = value { Some(text(&**s)) } else { None };
        let texts: Vec<Option<CString>> = values.iter().map(|(_, value)| as_text(value)).collect();
        let one = |((key, value), text): (&(String, Value), &Option<CString>)| {
            view(value, text.as_deref()).map_err(|e| e.of(format_args!("result `{key}`")))
        };
        let views: Vec<OxportValue> = values.iter().zip(&texts).map(one).collect::<Result<_>>()?;
        let keys = values.iter().map(|(key, _)| text(key.as_str())).collect();
        Ok(OxportResults { views: Frozen::new(views), values, keys, _texts: texts })
    }
    pub(crate) fn len(&self) -> usize {
        self.views.get().len()
    }
    pub(crate) fn get(&self, index: usize) -> Option<&OxportValue> {
        self.views.get().get(index)
    }
    pub(crate) fn find(&self, key: &str) -> Option<&OxportValue> {
        self.get(self.values.iter().position(|(other, _)| other == key)?)
    }
}
