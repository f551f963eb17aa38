//! Every exported program runs through the C interface, on inputs that stay where they are.

use crate::compiled::fixture;
use crate::handles::{call, load_with, made, step, text};
use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, read_values};
use oxport::{DType, Layout, Storage, Tensor, Value};
use oxport_c::*;
use std::ffi::CString;

/// A value as C passes it; texts are kept in the list.
fn passed(value: &Value, texts: &mut Vec<CString>) -> OxportValue {
    match value {
        Value::Tensor(tensor) => {
            let (bytes, dtype) = (tensor.storage().bytes(), i32::from(tensor.dtype().code()));
            let (start, count) = (bytes.as_ptr().cast(), bytes.len());
            let mut value = oxport_tensor(start, count, dtype, tensor.rank(), tensor.sizes().as_ptr());
            (value.tensor.strides, value.tensor.offset) = (tensor.strides().as_ptr(), tensor.layout().offset);
            value
        }
        Value::Int(n) => oxport_int(*n),
        Value::Float(x) => oxport_float(*x),
        Value::Bool(b) => oxport_bool(i32::from(*b)),
        Value::Str(s) => {
            texts.push(CString::new(&**s).expect("a text without NUL"));
            oxport_str(texts.last().expect("it was pushed").as_ptr())
        }
        Value::None => oxport_none(),
        other => panic!("no fixture has a {} as an input", other.kind()),
    }
}

/// A result as C sees it, copied.
fn seen(value: &OxportValue) -> Value {
    let is = |kind: OxportKind| value.kind == kind as i32;
    match () {
        () if is(OxportKind::Tensor) => {
            let tensor = &value.tensor;
            let dtype = u8::try_from(tensor.dtype).ok().and_then(DType::from_code).expect("a dtype");
            // SAFETY: the library says how many there are.
            let (bytes, sizes, strides) = unsafe {
                (
                    std::slice::from_raw_parts(tensor.data.cast::<u8>(), tensor.bytes),
                    std::slice::from_raw_parts(tensor.sizes, tensor.rank),
                    std::slice::from_raw_parts(tensor.strides, tensor.rank),
                )
            };
            let storage = Storage::copy_of(bytes).expect("memory");
            let layout = Layout::new(sizes, strides, tensor.offset).expect("a layout");
            Tensor::from_storage(storage, dtype, layout).expect("what C sees is a tensor").into()
        }
        () if is(OxportKind::Int) => Value::Int(value.integer),
        () if is(OxportKind::Float) => Value::Float(value.real),
        () if is(OxportKind::Bool) => Value::Bool(value.integer == 1),
        () if is(OxportKind::Str) => Value::Str(text(value.text).into()),
        () if is(OxportKind::None) => Value::None,
        () => panic!("no fixture has a result of kind {}", value.kind),
    }
}

#[test]
fn every_program_gives_the_outputs_of_pytorch() {
    let folder = fixture(".");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the fixtures are there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut compared = 0;
    for name in &names {
        let path = fixture(name).join("program.pt2");
        let program =
            load_with(&path, &[("opt", "none"), ("threads", "2")]).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let read = oxport::read(&path).expect("a fixture can be read");
        let values = read_values(&fixture(name).join("io.safetensors"), &Default::default()).expect("values");
        let mut texts = Vec::new();
        let inputs = inputs_from(&read, &values).expect("inputs");
        let inputs: Vec<OxportValue> = inputs.iter().map(|value| passed(value, &mut texts)).collect();
        let module = made(|module, error| oxport_module_new(Some(&program), module, error)).expect("a module");
        for results in [call(&program, &inputs), step(&module, &inputs)] {
            let results = results.unwrap_or_else(|e| panic!("{name}: {e:?}"));
            for i in 0..oxport_results_count(Some(&results)) {
                let key = text(oxport_results_key(Some(&results), i));
                let Some(want) = values.get(&key) else { continue };
                let got = seen(oxport_results_get(Some(&results), i).expect("a result"));
                let found = compare(&got, want, Tolerance::default());
                assert!(found.agree, "{name} {key}: {}", found.detail);
                compared += 1;
            }
        }
    }
    assert!(names.len() > 40 && compared > 2 * names.len(), "{compared} results of {} programs", names.len());
}
