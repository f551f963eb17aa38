//! Operator cases: single calls of PyTorch operators with PyTorch's outputs. `fixtures/ops/README.md` describes the
//! format.

use indexmap::IndexMap;
use oxport::{DType, Tensor, Value};
use oxport_ir::{Argument, Device, MemoryFormat, MemoryLayout};
use oxport_tensor::{Layout, Storage};
use serde_json::Value as Json;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The tensors and the cases of a corpus.
pub struct Corpus {
    /// The storages by key.
    storages: IndexMap<String, Vec<u8>>,
    /// The cases, one JSON document each.
    pub cases: Vec<Json>,
}

/// The error of a corpus or a case.
pub type Message = String;

impl Corpus {
    /// Reads `cases.jsonl.zst` and `tensors.safetensors.zst` of a folder (without `.zst` too).
    ///
    /// # Errors
    /// A file is missing or malformed.
    pub fn read(dir: &Path) -> Result<Corpus, Message> {
        let text = String::from_utf8(unpacked(dir, "cases.jsonl")?).map_err(|e| e.to_string())?;
        let cases = text.lines().map(|l| serde_json::from_str(l).map_err(|e| e.to_string()));
        let bytes = unpacked(dir, "tensors.safetensors")?;
        let file = safetensors::SafeTensors::deserialize(&bytes).map_err(|e| e.to_string())?;
        let storages = file.tensors().into_iter().map(|(key, view)| (key, view.data().to_vec())).collect();
        Ok(Corpus { storages, cases: cases.collect::<Result<_, _>>()? })
    }

    /// A tensor object; `None` where its values are not defined.
    ///
    /// # Errors
    /// Its storage is missing, or it is out of bounds of its storage.
    pub fn tensor(&self, json: &Json) -> Result<Option<Tensor>, Message> {
        let Some(key) = json["data"].as_str() else { return Ok(None) };
        let stored = self.storages.get(key).ok_or_else(|| format!("no storage {key}"))?;
        let code = json["dtype"].as_u64().ok_or("no dtype")?;
        let dtype = DType::from_code(code as u8).ok_or("unknown dtype")?;
        let layout = Layout::new(&ints(&json["sizes"])?, &ints(&json["strides"])?, 0).map_err(|e| e.to_string())?;
        let offset = json["storage_offset"].as_u64().unwrap_or(0) as usize;
        // Every tensor gets a separate storage, even if two have the same key.
        // Bytes outside of a bool view are arbitrary; inside they are 0 or 1.
        let bools: Vec<u8>;
        let bytes = if dtype.is_bool() {
            bools = stored.iter().map(|&b| u8::from(b != 0)).collect();
            &bools
        } else {
            stored
        };
        let storage = Storage::copy_of(bytes).map_err(|e| e.to_string())?;
        Tensor::from_storage(storage, dtype, Layout { offset, ..layout }).map(Some).map_err(|e| e.to_string())
    }
}

fn unpacked(dir: &Path, name: &str) -> Result<Vec<u8>, Message> {
    let plain = dir.join(name);
    if plain.exists() {
        return std::fs::read(&plain).map_err(|e| format!("{}: {e}", plain.display()));
    }
    let packed = dir.join(format!("{name}.zst"));
    let bytes = std::fs::read(&packed).map_err(|e| format!("{}: {e}", packed.display()))?;
    let mut out = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]).map_err(|e| e.to_string())?;
    decoder.read_to_end(&mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

/// A list of integers.
///
/// # Errors
/// It does not parse.
pub fn ints(json: &Json) -> Result<Vec<i64>, Message> {
    let list = json.as_array().ok_or("expected a list of ints")?;
    list.iter().map(|n| n.as_i64().ok_or_else(|| "expected an int".to_string())).collect()
}

/// A float, or the string of a non-finite one.
pub fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some("NaN") => Some(f64::NAN),
        _ => json.as_f64(),
    }
}

/// An argument: the union of `torch.export`'s programs. `tensor` gives the tensors, in order.
///
/// # Errors
/// The key is unknown or its value malformed.
pub fn argument(json: &Json, tensor: &mut dyn FnMut(&Json) -> Result<Argument, Message>) -> Result<Argument, Message> {
    let (key, value) = json.as_object().and_then(|o| o.iter().next()).ok_or("an argument without a key")?;
    let list = || value.as_array().ok_or_else(|| format!("{key}: expected a list"));
    let wrong = || format!("{key}: {value}");
    let each = |f: &dyn Fn(&Json) -> Option<Argument>| -> Result<Argument, Message> {
        Ok(Argument::List(list()?.iter().map(|v| f(v).ok_or_else(wrong)).collect::<Result<_, _>>()?))
    };
    let code = || value.as_i64().ok_or_else(wrong);
    Ok(match key.as_str() {
        "as_none" => Argument::None,
        "as_tensor" => tensor(value)?,
        "as_tensors" => Argument::List(list()?.iter().map(tensor).collect::<Result<_, _>>()?),
        "as_optional_tensors" => {
            let items = list()?.iter().map(|v| argument(v, tensor)).collect::<Result<_, _>>()?;
            Argument::List(items)
        }
        "as_int" => Argument::Int(code()?),
        "as_ints" => each(&|v| v.as_i64().map(Argument::Int))?,
        "as_float" => Argument::Float(float(value).ok_or_else(wrong)?),
        "as_floats" => each(&|v| float(v).map(Argument::Float))?,
        "as_bool" => Argument::Bool(value.as_bool().ok_or_else(wrong)?),
        "as_bools" => each(&|v| v.as_bool().map(Argument::Bool))?,
        "as_string" => Argument::Str(value.as_str().ok_or_else(wrong)?.into()),
        "as_strings" => each(&|v| v.as_str().map(Argument::from))?,
        "as_complex" => {
            let part = |name: &str| float(&value[name]).ok_or_else(wrong);
            Argument::Complex(oxport_ir::Complex::new(part("real")?, part("imag")?))
        }
        "as_scalar_type" => Argument::DType(DType::from_code(code()? as u8).ok_or_else(wrong)?),
        "as_memory_format" => Argument::MemoryFormat(MemoryFormat::from_code(code()?).ok_or_else(wrong)?),
        "as_layout" => Argument::Layout(MemoryLayout::from_code(code()?).ok_or_else(wrong)?),
        "as_device" => Argument::Device(Device {
            kind: value["type"].as_str().ok_or_else(wrong)?.into(),
            index: value["index"].as_i64(),
        }),
        other => return Err(format!("unknown argument kind {other}")),
    })
}

/// A constant argument as a run-time value.
pub fn value(a: &Argument) -> Value {
    match a {
        Argument::Int(n) => Value::Int(*n),
        Argument::Float(x) => Value::Float(*x),
        Argument::Bool(b) => Value::Bool(*b),
        Argument::Complex(c) => Value::Complex(*c),
        Argument::Str(s) => Value::Str(Arc::clone(s)),
        Argument::List(l) => Value::List(l.iter().map(value).collect()),
        _ => Value::None,
    }
}
