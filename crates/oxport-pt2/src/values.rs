//! Files of inputs and outputs: a safetensors file, and a JSON file next to it for everything that safetensors cannot
//! represent.
//!
//! For `io.safetensors`, `io_1.safetensors`, … it is `io.json`, else the JSON file of the same stem; without one, all
//! values are tensors. A file that this crate writes has the same description in its header, which takes precedence, so
//! that one file suffices. The JSON file is for other readers, and is written only if it has additional information:
//!
//! ```text
//! {"sets": [{"file": "io.safetensors", "values": {"in.0": VALUE, …}}, …], "in_spec": …, "out_spec": …}
//! VALUE = {"kind": "tensor", "dtype": "complex64", "shape": […], "stride": […]?, "stored": "view_as_real"?}
//!       | {"kind": "const", "type": "int"|"float"|"bool"|"str"|"NoneType", "value": …}
//! ```

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use oxport_ir::{Loc, Value};
use oxport_pytree::{NamedTupleFields, TreeSpec};
use oxport_tensor::{DType, Layout, Tensor, TensorMut, copy};
use serde::{Deserialize, Serialize};

use crate::model::{Dict, Real};
use crate::open::open;
use crate::replace::{Draft, draft};
use crate::tensors::{draft_tensors, read_file};
use crate::{Error, Limits, Result, json};

/// Named values, and the pytrees of the user's inputs and outputs.
#[derive(Clone, Debug, Default)]
pub struct ValueSet {
    /// The values, by `in.0`, `out.0`, `mut.<buffer>`, a placeholder's name, ….
    pub values: IndexMap<String, Value>,
    /// The tree of `(args, kwargs)`.
    pub in_spec: Option<TreeSpec>,
    /// The tree of the results.
    pub out_spec: Option<TreeSpec>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Document {
    sets: Vec<Set>,
    #[serde(default)]
    in_spec: Option<serde_json::Value>,
    #[serde(default)]
    out_spec: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Set {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file: String,
    values: Dict<Entry>,
}

impl Set {
    fn unnamed(&self) -> Set {
        Set { file: String::new(), values: self.values.clone() }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Entry {
    Tensor {
        dtype: String,
        shape: Vec<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<Vec<i64>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stored: Option<String>,
    },
    Const {
        #[serde(rename = "type")]
        ty: String,
        value: serde_json::Value,
    },
}

/// The key of the description in the header of a safetensors file.
const VALUES: &str = "oxport.values";

/// Reads the values of a safetensors file: as described by its header, or by the JSON file next to it.
pub fn read_values(path: &Path, limits: &Limits) -> Result<ValueSet> {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = match read_file(path, limits) {
        // A set of constants may have no tensors file.
        Err(e) if e.is_missing() => None,
        found => Some(found?),
    };
    let (tensors, text) = found.map_or((None, None), |mut f| (Some(f.tensors), f.texts.remove(VALUES)));
    let (name, document, set) = if let Some(text) = text {
        let name = format!("{}: {VALUES}", path.display());
        let mut document: Document = json::from_slice(&name, text.as_bytes(), limits)?;
        let set = document
            .sets
            .pop()
            .ok_or_else(|| Error::invalid("value", Loc::Json(name.clone()), "the file has no set"))?;
        (name, document, set)
    } else if let Some((sidecar, document, set)) = find_set(path, file, limits)? {
        (sidecar.display().to_string(), document, set)
    } else {
        let missing = || Error::io(format!("cannot open {}", path.display()), std::io::ErrorKind::NotFound.into());
        let tensors = tensors.ok_or_else(missing)?;
        let values = tensors.into_iter().map(|(name, tensor)| (name, Value::Tensor(tensor))).collect();
        return Ok(ValueSet { values, in_spec: None, out_spec: None });
    };
    let mut tensors = tensors.unwrap_or_default();
    let mut values = IndexMap::new();
    for (key, entry) in set.values {
        let fail = |message| Error::invalid("value", Loc::Json(format!("{name}: values[{key:?}]")), message);
        let value = match entry {
            Entry::Const { ty, value } => constant(&ty, &value).map_err(fail)?,
            Entry::Tensor { dtype, shape, stride, stored } => {
                let tensor = tensors.shift_remove(&key);
                let tensor = tensor.ok_or_else(|| fail("the safetensors file has no such tensor".into()))?;
                Value::Tensor(described(tensor, &dtype, &shape, stride.as_deref(), stored.as_deref()).map_err(fail)?)
            }
        };
        values.insert(key, value);
    }
    values.extend(tensors.into_iter().map(|(key, tensor)| (key, Value::Tensor(tensor))));
    let spec = |key: &str, value: Option<serde_json::Value>| match value {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let at = || Loc::Json(format!("{name}: {key}"));
            TreeSpec::from_json(&text, &NamedTupleFields::new())
                .map(Some)
                .map_err(|e| Error::invalid("tree", at(), e.to_string()))
        }
    };
    Ok(ValueSet { values, in_spec: spec("in_spec", document.in_spec)?, out_spec: spec("out_spec", document.out_spec)? })
}

/// Writes values: the tensors to `path`, with a description of all values in the header; and the description to the
/// JSON file of the same stem, if it has more than names and sizes, or exists already. A JSON file that does not
/// describe `path` is not overwritten: see `DescribedBy`. Streams have no JSON file.
///
/// Errors if a value is a list, an object or a token; or if constants need a JSON file whose name is taken by another
/// file.
pub fn write_values(path: &Path, set: &ValueSet) -> Result<()> {
    let mut tensors = Vec::new();
    let mut entries = Dict::new();
    for (key, value) in &set.values {
        let entry = match value {
            Value::Tensor(tensor) => {
                tensors.push((key.as_str(), tensor));
                let pair = matches!(tensor.dtype(), DType::C32 | DType::C128);
                Entry::Tensor {
                    dtype: tensor.dtype().name().to_string(),
                    shape: tensor.sizes().to_vec(),
                    stride: (!tensor.is_contiguous()).then(|| tensor.strides().to_vec()),
                    stored: pair.then(|| "view_as_real".to_string()),
                }
            }
            Value::None => constant_entry("NoneType", serde_json::Value::Null),
            Value::Int(n) => constant_entry("int", (*n).into()),
            Value::Bool(b) => constant_entry("bool", (*b).into()),
            Value::Str(s) => constant_entry("str", (&**s).into()),
            Value::Float(x) => {
                constant_entry("float", serde_json::to_value(Real(*x)).expect("law: a float has a JSON spelling"))
            }
            Value::Complex(_) | Value::List(_) | Value::Token => {
                let message = format!("expected a tensor or constant, got a {}", value.kind());
                return Err(Error::unsupported("value", Loc::State(key.clone()), message));
            }
        };
        entries.insert(key.clone(), entry);
    }
    let spec = |spec: &Option<TreeSpec>| {
        spec.as_ref().map(|s| serde_json::from_str(&s.to_json()).expect("law: a spec's text is JSON"))
    };
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
    let needs = Need::of(entries.values());
    let mine = Set { file: file.clone(), values: entries };
    // The header has no file name, so that the same values give the same bytes.
    let alone = Document { sets: vec![mine.unnamed()], in_spec: spec(&set.in_spec), out_spec: spec(&set.out_spec) };
    let tensors = draft_tensors(path, tensors, Some((VALUES, &json::to_string(&alone))))?;
    if tensors.is_streamed() {
        return Ok(());
    }
    let written = match DescribedBy::of(path, &Limits::default())? {
        DescribedBy::None(sidecar) if needs != Need::Nothing => {
            Some((sidecar, Document { sets: vec![mine], in_spec: alone.in_spec, out_spec: alone.out_spec }))
        }
        DescribedBy::Ours(sidecar, mut document) => {
            document.sets.iter_mut().filter(|set| set.file == file).for_each(|set| set.values = mine.values.clone());
            document.in_spec = alone.in_spec.or(document.in_spec);
            document.out_spec = alone.out_spec.or(document.out_spec);
            Some((sidecar, document))
        }
        DescribedBy::Foreign(sidecar) if needs == Need::Constants => {
            let cause = "the file exists and does not describe these values; constants among the values need it";
            return Err(Error::io(format!("cannot write {}", sidecar.display()), std::io::Error::other(cause)));
        }
        _ => None,
    };
    let write = |(path, document): (PathBuf, Document)| {
        draft(&path, |out| out.write_all(json::to_string(&document).as_bytes()))
    };
    let json = written.map(write).transpose()?;
    // oxport needs only the first file; both drafts are complete.
    tensors.place()?;
    json.map_or(Ok(()), Draft::place)
}

/// What a description has that safetensors cannot represent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Nothing,
    Strides,
    Constants,
}

impl Need {
    fn of<'e>(entries: impl Iterator<Item = &'e Entry>) -> Need {
        let one = |entry: &Entry| match entry {
            Entry::Const { .. } | Entry::Tensor { stored: Some(_), .. } => Need::Constants,
            Entry::Tensor { stride: Some(_), .. } => Need::Strides,
            Entry::Tensor { .. } => Need::Nothing,
        };
        entries.map(one).max().unwrap_or(Need::Nothing)
    }
}

/// The JSON file that describes a safetensors file that is to be written.
pub(crate) enum DescribedBy {
    /// None exists; it would be this one.
    None(PathBuf),
    /// One that lists the file among its sets.
    Ours(PathBuf, Document),
    /// The name is taken by a file that does not describe it.
    Foreign(PathBuf),
}

impl DescribedBy {
    pub fn of(path: &Path, limits: &Limits) -> Result<DescribedBy> {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A file that does not parse as a description is another file.
        if let Ok(Some((sidecar, mut document, set))) = find_set(path, file, limits) {
            document.sets.push(set);
            return Ok(DescribedBy::Ours(sidecar, document));
        }
        let sidecar = path.with_extension("json");
        let is_free = std::fs::metadata(&sidecar).map_or_else(
            |e| e.kind() == std::io::ErrorKind::NotFound,
            |metadata| metadata.is_file() && metadata.len() == 0,
        );
        Ok(if is_free { DescribedBy::None(sidecar) } else { DescribedBy::Foreign(sidecar) })
    }
}

/// The JSON file that describes a safetensors file, if one does.
fn find_set(path: &Path, file: &str, limits: &Limits) -> Result<Option<(PathBuf, Document, Set)>> {
    for sidecar in descriptions(path) {
        let bytes = match open(&sidecar) {
            Err(e) if e.is_missing() => continue,
            bytes => bytes?,
        };
        let name = sidecar.display().to_string();
        // A file of another kind does not describe values.
        let is_description = |text: &[u8]| {
            json::from_slice::<serde_json::Value>(&name, text, limits).is_ok_and(|v| v.get("sets").is_some())
        };
        if !is_description(bytes.bytes()) {
            continue;
        }
        let mut document: Document = json::from_slice(&name, bytes.bytes(), limits)?;
        if let Some(at) = document.sets.iter().position(|set| set.file == file) {
            let set = document.sets.remove(at);
            return Ok(Some((sidecar, document, set)));
        }
    }
    Ok(None)
}

/// The JSON files that may describe a safetensors file, by precedence.
pub(crate) fn descriptions(path: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let shared = stem.rsplit_once('_').filter(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let stems = shared.map(|(stem, _)| stem).into_iter().chain([stem]);
    stems.map(|stem| path.with_file_name(format!("{stem}.json"))).collect()
}

fn constant_entry(ty: &str, value: serde_json::Value) -> Entry {
    Entry::Const { ty: ty.to_string(), value }
}

fn constant(ty: &str, value: &serde_json::Value) -> Result<Value, String> {
    let found = match ty {
        "NoneType" => Some(Value::None),
        "int" => value.as_i64().map(Value::Int),
        "bool" => value.as_bool().map(Value::Bool),
        "str" => value.as_str().map(|s| Value::Str(s.into())),
        "float" => serde_json::from_value::<Real>(value.clone()).ok().map(|x| Value::Float(x.0)),
        _ => return Err(format!("expected int, float, bool, str or NoneType, got {ty:?}")),
    };
    found.ok_or_else(|| format!("expected a value of type {ty}, got {value}"))
}

/// The tensor as the JSON describes it.
fn described(
    stored: Tensor,
    dtype: &str,
    shape: &[i64],
    stride: Option<&[i64]>,
    spelling: Option<&str>,
) -> Result<Tensor, String> {
    let dtype = DType::from_name(dtype).ok_or_else(|| format!("expected a dtype, got {dtype:?}"))?;
    let tensor = match spelling {
        None => stored,
        Some("view_as_real") => {
            let layout = Layout::contiguous(shape).map_err(|e| e.to_string())?;
            let stored = stored.contiguous().map_err(|e| e.to_string())?;
            Tensor::from_storage(stored.storage().clone(), dtype, layout).map_err(|e| e.to_string())?
        }
        Some(other) => return Err(format!("expected view_as_real as `stored`, got {other:?}")),
    };
    if tensor.dtype() != dtype || tensor.sizes() != shape {
        let (have, sizes) = (tensor.dtype().name(), tensor.sizes());
        return Err(format!("expected {} {shape:?} by the description, got {have} {sizes:?}", dtype.name()));
    }
    let Some(stride) = stride else { return Ok(tensor) };
    let layout = Layout::new(shape, stride, 0).map_err(|e| e.to_string())?;
    if layout == *tensor.layout() || layout.may_overlap() {
        return Ok(tensor);
    }
    let mut out = TensorMut::empty(dtype, layout).map_err(|e| e.to_string())?;
    copy(&tensor, &mut out).map_err(|e| e.to_string())?;
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("io.safetensors");
        let x = Tensor::from_vec(&[2, 3], (0..6).map(|n| n as f32).collect()).unwrap();
        let transposed = x.with_layout(Layout::new(&[3, 2], &[1, 3], 0).unwrap()).unwrap();
        let complex = Tensor::zeros(DType::C128, &[2]).unwrap();
        let values = [
            ("in.0", Value::Tensor(x)),
            ("in.1", Value::Tensor(transposed)),
            ("in.2", Value::Tensor(complex)),
            ("in.3", Value::Int(3)),
            ("in.4", Value::Float(f64::NEG_INFINITY)),
            ("in.5", Value::Bool(true)),
            ("in.6", Value::Str("reflect".into())),
            ("in.7", Value::None),
        ];
        let values = values.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        let set = ValueSet { values, in_spec: Some(TreeSpec::list([TreeSpec::Leaf(())])), out_spec: None };
        write_values(&path, &set).unwrap();
        let back = read_values(&path, &Limits::default()).unwrap();
        assert_eq!(format!("{:?}", back.in_spec), format!("{:?}", set.in_spec));
        for (key, value) in &set.values {
            match (value, &back.values[key]) {
                (Value::Tensor(a), Value::Tensor(b)) => {
                    assert_eq!((a.dtype(), a.sizes(), a.strides()), (b.dtype(), b.sizes(), b.strides()));
                    assert_eq!(a.contiguous().unwrap().bytes(), b.contiguous().unwrap().bytes());
                }
                (a, b) => assert_eq!(format!("{a:?}"), format!("{b:?}")),
            }
        }
    }

    #[test]
    fn fixtures_are_read() {
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
        let mut count = 0;
        for folder in std::fs::read_dir(programs).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|e| e == "safetensors") {
                    let set =
                        read_values(&path, &Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                    assert!(set.in_spec.is_some() && set.values.keys().any(|key| key.starts_with("out.")));
                    count += 1;
                }
            }
        }
        assert!(count >= 35, "only {count} files");
    }
}
