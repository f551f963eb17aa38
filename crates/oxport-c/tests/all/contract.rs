//! What the functions do with wrong arguments, other strides, files and limits; descriptions.

use crate::compiled::fixture;
use crate::handles::{call, elements, floats, load, load_with, made, status, text};
use oxport::Value;
use oxport::io::{inputs_from, read_values};
use oxport_c::*;
use std::path::Path;
use std::ptr::{null, null_mut};

#[test]
fn null_is_an_error_or_does_nothing() {
    let expected = [
        // SAFETY: NULL is what every function must bear.
        made(|p, e| unsafe { oxport_program_load(null(), None, p, e) }).err(),
        // SAFETY: as above.
        made(|p, e| unsafe { oxport_program_from_bytes(null(), 3, None, p, e) }).err(),
        // SAFETY: as above.
        made(|r, e| unsafe { oxport_program_run(None, null(), 0, r, e) }).err(),
        // SAFETY: as above.
        made(|r, e| unsafe { oxport_module_run(None, null(), 0, r, e) }).err(),
        made(|m, e| oxport_module_new(None, m, e)).err(),
        made(|m, e| oxport_module_clone(None, m, e)).err(),
        Some(status(|e| oxport_module_reset(None, e))),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_options_set(None, c"opt".as_ptr(), c"none".as_ptr(), e) })),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_options_set(None, null(), c"none".as_ptr(), e) })),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_module_set_buffer(None, c"n".as_ptr(), None, e) })),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_results_copy(None, 0, None, e) })),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_program_run_into(None, null(), 0, null(), 1, e) })),
        // SAFETY: as above.
        Some(status(|e| unsafe { oxport_program_load(c"x".as_ptr(), None, None, e) })),
    ];
    for found in expected {
        let (status, message) = found.expect("NULL was accepted");
        assert!(status == OxportStatus::Usage && message.contains("got NULL"), "{status:?} {message}");
    }
    oxport_program_free(None);
    oxport_module_free(None);
    oxport_results_free(None);
    oxport_options_free(None);
    oxport_error_free(None);
    assert_eq!((oxport_program_input_count(None), oxport_results_count(None)), (0, 0));
    assert_eq!((oxport_program_output_count(None), oxport_program_returned_count(None)), (0, 0));
    assert!(oxport_program_input(None, 0).is_none() && oxport_results_get(None, 0).is_none());
    assert!(oxport_results_key(None, 0).is_null() && oxport_dtype_name(0).is_null());
    assert_eq!((text(oxport_program_json(None)), text(oxport_error_message(None))), ("{}".into(), "".into()));
    assert_eq!(text(oxport_version()), env!("CARGO_PKG_VERSION"));
    assert_eq!((oxport_abi_version(), text(oxport_status_text(99)).as_str()), (OXPORT_ABI_VERSION, "unknown"));
    assert_eq!(text(oxport_status_text(OxportStatus::Limit as i32)), "a limit was exceeded");
}

#[test]
fn wrong_inputs_are_refused_with_a_reason() {
    let program = load("mlp");
    let x = [0.5f32; 32];
    let sizes = [2i64, 16];
    let good = floats(&x, &sizes);
    assert!(call(&program, &[good]).is_ok());
    let with = |change: &dyn Fn(&mut OxportValue)| {
        let mut value = good;
        change(&mut value);
        value
    };
    let (negative, huge) = ([-2i64, 16], [i64::MAX, 16]);
    let strides = [16i64, 2];
    let cases: [(OxportValue, OxportStatus, &str); 14] = [
        (with(&|v| v.kind = 99), OxportStatus::Usage, "input 0: expected an OxportKind of an input, got 99"),
        (with(&|v| v.kind = OxportKind::Other as i32), OxportStatus::Usage, "expected an OxportKind"),
        (with(&|v| v.tensor.dtype = 0), OxportStatus::Usage, "input 0: expected an OxportDtype, got 0"),
        (with(&|v| v.tensor.dtype = 263), OxportStatus::Usage, "expected an OxportDtype, got 263"),
        (with(&|v| v.tensor.data = null()), OxportStatus::Usage, "input 0: expected 128 bytes of data, got NULL"),
        (
            with(&|v| v.tensor.bytes = 127),
            OxportStatus::Usage,
            "input 0: expected 128 bytes for float32, sizes [2, 16], strides [16, 1] and offset 0, got 127",
        ),
        (with(&|v| v.tensor.offset = 1), OxportStatus::Usage, "expected 132 bytes for float32"),
        (with(&|v| v.tensor.offset = usize::MAX), OxportStatus::Usage, "out of bounds"),
        (with(&|v| v.tensor.strides = strides.as_ptr()), OxportStatus::Usage, "expected 188 bytes for float32"),
        (with(&|v| v.tensor.rank = 65), OxportStatus::Usage, "expected at most 64 dimensions, got 65"),
        (with(&|v| v.tensor.sizes = null()), OxportStatus::Usage, "sizes: expected 2 elements, got NULL"),
        (with(&|v| v.tensor.sizes = negative.as_ptr()), OxportStatus::Usage, "-2"),
        (with(&|v| v.tensor.sizes = huge.as_ptr()), OxportStatus::Usage, "9223372036854775807"),
        (with(&|v| v.tensor.rank = 1), OxportStatus::Failed, "input"),
    ];
    for (value, status, message) in cases {
        let (got, said) = call(&program, &[value]).err().expect(message);
        assert!(got == status && said.contains(message), "{got:?} {said}\nexpected: {status:?} {message}");
    }
    let (status, message) = call(&program, &[good, good]).err().expect("one input too many");
    assert_eq!((status, message.as_str()), (OxportStatus::Usage, "expected 1 inputs, got 2"));
    assert_eq!(call(&program, &[]).err().expect("an input is missing").0, OxportStatus::Failed);
    let (status, message) = call(&program, &[oxport_str(null())]).err().expect("no text");
    assert_eq!((status, message.as_str()), (OxportStatus::Usage, "input 0: str: expected a text, got NULL"));
    let mut bool_value = oxport_bool(7);
    assert_eq!(bool_value.integer, 1);
    bool_value.integer = 7;
    let (_, message) = call(&program, &[bool_value]).err().expect("no bool");
    assert_eq!(message, "input 0: expected 0 or 1 for a bool, got 7");
    let bools = [0u8, 1, 2];
    let three = [3i64];
    let value = oxport_tensor(bools.as_ptr().cast(), 3, OxportDtype::Bool as i32, 1, three.as_ptr());
    assert_eq!(call(&program, &[value]).err().expect("no bools").0, OxportStatus::Usage);
}

#[test]
fn strides_and_misaligned_memory_give_the_same_bits() {
    let program = load("mlp");
    let sizes = [3i64, 16];
    let x: Vec<f32> = (0..48).map(|i| (i * 7 % 23) as f32 / 8.0).collect();
    let want = elements(&call(&program, &[floats(&x, &sizes)]).unwrap(), "out.0");
    let same = |data: &[u8], offset: usize, strides: [i64; 2]| {
        let float = OxportDtype::Float32 as i32;
        let mut value = oxport_tensor(data.as_ptr().cast(), data.len(), float, 2, sizes.as_ptr());
        (value.tensor.offset, value.tensor.strides) = (offset, strides.as_ptr());
        assert_eq!(elements(&call(&program, &[value]).unwrap(), "out.0"), want, "{strides:?}");
    };
    let bytes = |all: &[f32]| all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let at = |i: usize, j: usize| x[i * 16 + j];
    // Column-major.
    same(&bytes(&(0..48).map(|k| at(k % 3, k / 3)).collect::<Vec<_>>()), 0, [1, 3]);
    // Backwards.
    same(&bytes(&(0..48).map(|k| x[47 - k]).collect::<Vec<_>>()), 47, [-16, -1]);
    // Every other element of a larger array, from the fifth on.
    let mut wide = vec![f32::NAN; 5 + 2 * 48];
    (0..48).for_each(|k| wide[5 + 2 * k] = x[k]);
    same(&bytes(&wide), 5, [32, 2]);
    // Not aligned.
    let mut shifted = vec![0u8];
    shifted.extend(bytes(&x));
    let odd = shifted.as_ptr().addr() % 4;
    same(&shifted[1..], 0, [16, 1]);
    assert!((odd + 1) % 4 != 0, "an allocation is aligned");
}

#[test]
fn statuses_say_what_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file can be written");
        path
    };
    let mlp = fixture("mlp").join("program.pt2");
    let odd = "def forward(self, x: \"f32[3]\"):\n    b: \"f32[3]\" = torch.ops.my.odd.default(x)\n    return (b,)\n";
    let gguf = fixture("../inputs").join("model.gguf");
    let cases: [(&Path, &[(&str, &str)], OxportStatus, &str); 11] = [
        (Path::new("missing.pt2"), &[], OxportStatus::File, "cannot open missing.pt2"),
        (folder.path(), &[], OxportStatus::File, "directory"),
        (Path::new("-"), &[], OxportStatus::Usage, "expected the path of a file, got \"-\", which is standard input"),
        (&file("cut.pt2", &std::fs::read(&mlp).unwrap()[..5000]), &[], OxportStatus::Invalid, "cut.pt2"),
        (&gguf, &[], OxportStatus::Invalid, "expected an exported program, got a GGUF file"),
        (&file("odd.fx", odd.as_bytes()), &[], OxportStatus::Unsupported, "my::odd"),
        (&mlp, &[("limit", "json=100")], OxportStatus::Limit, "limit of 100 (`json`)"),
        (&mlp, &[("limit", "jsn=100")], OxportStatus::Usage, "option `limit`: expected the name of a limit"),
        (
            &mlp,
            &[("opt", "fastest")],
            OxportStatus::Usage,
            "option `opt`: expected none, exact or fast, got \"fastest\"",
        ),
        (&mlp, &[("treads", "2")], OxportStatus::Usage, "expected the name of an option (checks, limit, model, opt,"),
        (&mlp, &[("model", "other")], OxportStatus::Invalid, "the archive has no model \"other\""),
    ];
    for (path, options, status, message) in cases {
        let mut error = None;
        match load_with(path, options) {
            Ok(_) => {}
            Err(found) => error = Some(found),
        }
        let (got, said) = error.expect(message);
        assert!(got == status && said.contains(message), "{got:?} {said}\nexpected: {status:?} {message}");
    }
    let small = load_with(&mlp, &[("limit", "buffer=16"), ("threads", "1")]).expect("it can be loaded");
    let (status, message) = call(&small, &[floats(&[0.0; 32], &[2, 16])]).err().expect("a limit");
    assert!(status == OxportStatus::Limit && message.contains("the limit for one buffer is 16"), "{message}");
    // The rules that may round differently come with a feature.
    let fast = load_with(&mlp, &[("opt", "fast")]);
    assert_eq!(fast.is_ok(), cfg!(feature = "rewrite"));
    assert!(fast.err().is_none_or(|(status, _)| status == OxportStatus::Unsupported));
}

#[test]
fn bytes_in_memory_are_the_same_program() {
    let mut bytes = std::fs::read(fixture("mlp").join("program.pt2")).expect("a fixture can be read");
    // SAFETY: the bytes are there.
    let program = made(|p, e| unsafe { oxport_program_from_bytes(bytes.as_ptr(), bytes.len(), None, p, e) }).unwrap();
    bytes.fill(0);
    let x = [0.25f32; 16];
    let input = [floats(&x, &[1, 16])];
    let want = elements(&call(&load("mlp"), &input).unwrap(), "out.0");
    assert_eq!(elements(&call(&program, &input).unwrap(), "out.0"), want);
    // SAFETY: as above.
    let (status, message) = made(|p, e| unsafe { oxport_program_from_bytes(bytes.as_ptr(), 100, None, p, e) })
        .err()
        .expect("zeros are no archive");
    assert!(status == OxportStatus::Invalid && !message.is_empty());
}

#[test]
fn inputs_that_a_program_writes_to_stay_as_they_were() {
    let program = load("input_mutation");
    let file = fixture("input_mutation").join("io.safetensors");
    let values = read_values(&file, &Default::default()).expect("a fixture can be read");
    let read = oxport::read(fixture("input_mutation").join("program.pt2")).expect("a fixture can be read");
    let inputs = inputs_from(&read, &values).expect("inputs");
    let owned: Vec<(Vec<f32>, Vec<i64>)> = inputs
        .iter()
        .map(|value| {
            let Value::Tensor(tensor) = value else { panic!("expected a tensor") };
            (tensor.to_vec::<f32>().expect("floats"), tensor.sizes().to_vec())
        })
        .collect();
    let before = owned.clone();
    let views: Vec<OxportValue> = owned.iter().map(|(x, sizes)| floats(x, sizes)).collect();
    let results = call(&program, &views).unwrap();
    assert_eq!(owned, before);
    let role = |i| oxport_program_output(Some(&program), i).expect("a result").role;
    let count = oxport_program_output_count(Some(&program));
    let returned = oxport_program_returned_count(Some(&program));
    assert!((0..returned).all(|i| role(i) == OxportRole::Output as i32));
    assert!((returned..count).all(|i| role(i) == OxportRole::MutatedInput as i32) && count > returned);
    for i in 0..count {
        let key = text(oxport_results_key(Some(&results), i));
        let Value::Tensor(want) = &values[&*key] else { panic!("expected a tensor") };
        let got = elements(&results, &key);
        let want = want.to_vec::<f32>().expect("floats");
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0)), "{key}");
        assert_eq!(got.len(), want.len(), "{key}");
    }
    // Where the caller wants them in place, as in PyTorch, the new values are written to the inputs themselves.
    let mut owned = owned;
    let starts: Vec<*mut f32> = owned.iter_mut().map(|(x, _)| x.as_mut_ptr()).collect();
    let skipped = OxportBuffer { data: null_mut(), bytes: 0, dtype: 0, rank: 0, sizes: null() };
    let place = |i: usize| {
        let key = text(oxport_results_key(Some(&results), i));
        let input: Option<usize> = key.strip_prefix("inmut.").and_then(|n| n.parse().ok());
        let view = |n: usize| {
            let OxportTensor { bytes, dtype, rank, sizes, .. } = views[n].tensor;
            OxportBuffer { data: starts[n].cast(), bytes, dtype, rank, sizes }
        };
        input.map_or(skipped, view)
    };
    let buffers: Vec<OxportBuffer> = (0..count).map(place).collect();
    let inputs: Vec<OxportValue> = views
        .iter()
        .zip(&starts)
        .map(|(view, start)| OxportValue { tensor: OxportTensor { data: start.cast(), ..view.tensor }, ..*view })
        .collect();
    // SAFETY: the vectors live, and nobody else uses them.
    let done = status(|error| unsafe {
        let (inputs, buffers) = ((inputs.as_ptr(), inputs.len()), (buffers.as_ptr(), buffers.len()));
        oxport_program_run_into(Some(&program), inputs.0, inputs.1, buffers.0, buffers.1, error)
    });
    assert_eq!(done.0, OxportStatus::Ok, "{}", done.1);
    for (n, (x, _)) in owned.iter().enumerate() {
        let key = format!("inmut.{n}");
        let want = if values.contains_key(&key) { elements(&results, &key) } else { before[n].0.clone() };
        assert_eq!(*x, want, "{key}");
    }
}

#[test]
fn descriptions_agree_with_their_json() {
    for name in ["mlp", "pytree_inputs", "kv_cache", "input_mutation", "cnn_bn_train", "shape_arith"] {
        let program = load(name);
        let json: oxport::serde_json::Value =
            oxport::serde_json::from_str(&text(oxport_program_json(Some(&program)))).expect("JSON");
        let program = &*program;
        let lists: [(&str, usize, &dyn Fn(usize) -> Option<OxportPort>); 3] = [
            ("inputs", oxport_program_input_count(Some(program)), &|i| oxport_program_input(Some(program), i).copied()),
            ("outputs", oxport_program_output_count(Some(program)), &|i| {
                oxport_program_output(Some(program), i).copied()
            }),
            ("buffers", oxport_program_buffer_count(Some(program)), &|i| {
                oxport_program_buffer(Some(program), i).copied()
            }),
        ];
        for (list, count, port) in lists {
            let records = json[list].as_array().expect("a list");
            assert_eq!(records.len(), count, "{name} {list}");
            assert!(port(count).is_none());
            for (i, record) in records.iter().enumerate() {
                let port = port(i).expect("a port");
                assert_eq!(record["key"], text(port.key));
                assert_eq!(record["path"], text(port.path));
                assert_eq!(record["constant"], !port.constant.is_null());
                assert_eq!(record["kind"] == "tensor", port.kind == OxportKind::Tensor as i32);
                for d in 0..port.rank {
                    // SAFETY: the library says that there are so many.
                    let (size, size_text) = unsafe { (*port.sizes.add(d), text(*port.size_texts.add(d))) };
                    let shown = &record["shape"][d];
                    match shown.as_i64() {
                        Some(n) => assert_eq!((size, size_text), (n, n.to_string())),
                        None => assert_eq!((size, shown.as_str()), (-1, Some(size_text.as_str()))),
                    }
                }
                if port.rank > 0 {
                    assert_eq!(record["dtype"], text(oxport_dtype_name(port.dtype)));
                    assert_eq!(record["device"], text(port.device));
                }
            }
        }
    }
    let program = load("pytree_inputs");
    let constant = (0..oxport_program_input_count(Some(&program)))
        .filter_map(|i| oxport_program_input(Some(&program), i))
        .filter(|port| !port.constant.is_null())
        .map(|port| format!("{}={}", text(port.key), text(port.constant)))
        .collect::<Vec<_>>();
    assert_eq!(constant, ["in.8=3", "in.9=0.5", "in.10=reflect", "in.11=True", "in.12=None"]);
}
