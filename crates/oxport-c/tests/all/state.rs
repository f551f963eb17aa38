//! Memory of callers and of the library: results, buffers of modules, buffers of callers.

use crate::handles::{call, elements, floats, load_with, made, status, step, text};
use oxport::Tensor;
use oxport_c::*;
use std::ffi::CStr;
use std::path::Path;
use std::ptr::{null, null_mut};

/// A program that keeps its input in a buffer, and returns it.
const KEEPS: &str = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_n: "f32[2, 3]", x: "f32[2, 3]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(b_n, x)
            return (x, add, x)

Graph signature:
    # inputs
    b_n: BUFFER target='n' persistent=True
    x: USER_INPUT
    # outputs
    x: BUFFER_MUTATION target='n'
    add: USER_OUTPUT
    x: USER_OUTPUT

Range constraints: {}
"#;

fn written(folder: &Path, program: &str, tensors: &[(&str, Tensor)]) -> std::path::PathBuf {
    let path = folder.join("program.fx");
    std::fs::write(&path, program).expect("a file can be written");
    if !tensors.is_empty() {
        let all = tensors.iter().map(|(name, tensor)| (*name, tensor));
        oxport::pt2::write_tensors(&path.with_extension("safetensors"), all).expect("a file can be written");
    }
    path
}

#[test]
fn results_and_buffers_do_not_lead_to_memory_of_the_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = Tensor::from([[0.0f32; 3]; 2]);
    let program = load_with(&written(folder.path(), KEEPS, &[("n", zeros)]), &[]).expect("it can be loaded");
    let module = made(|module, error| oxport_module_new(Some(&program), module, error)).expect("a module");
    let sizes = [2i64, 3];
    let mut x = vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let first = step(&module, &[floats(&x, &sizes)]).unwrap();
    let pure = call(&program, &[floats(&x, &sizes)]).unwrap();
    x.fill(f32::NAN);
    drop(x);
    let kept = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for results in [&first, &pure] {
        for key in ["out.0", "out.1", "mut.n"] {
            assert_eq!(elements(results, key), kept, "{key}");
        }
    }
    // The buffer is what it was made of; the program's is not.
    let second = step(&module, &[floats(&[10.0; 6], &sizes)]).unwrap();
    assert_eq!(elements(&second, "out.0"), kept.map(|x| x + 10.0));
    assert_eq!(elements(&call(&program, &[floats(&[10.0; 6], &sizes)]).unwrap(), "out.0"), [10.0; 6]);
    // Handles are freed in any order.
    oxport_program_free(Some(program));
    let copy = made(|copy, error| oxport_module_clone(Some(&module), copy, error)).expect("a module");
    oxport_module_free(Some(module));
    assert_eq!(elements(&step(&copy, &[floats(&[1.0; 6], &sizes)]).unwrap(), "out.0"), [11.0; 6]);
    // A result is an input of the next call, without a copy.
    let output = *oxport_results_get(Some(&second), 0).expect("a result");
    assert_eq!(elements(&step(&copy, &[output]).unwrap(), "out.0"), kept.map(|x| x + 11.0));
    oxport_module_free(Some(copy));
    assert_eq!(elements(&second, "out.1"), [10.0; 6]);
}

fn buffer(x: &mut [f32], sizes: &[i64]) -> OxportBuffer {
    let bytes = size_of_val(x);
    let dtype = OxportDtype::Float32 as i32;
    OxportBuffer { data: x.as_mut_ptr().cast(), bytes, dtype, rank: sizes.len(), sizes: sizes.as_ptr() }
}

#[test]
fn results_are_written_to_buffers_that_fit_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = Tensor::from([[0.0f32; 3]; 2]);
    let program = load_with(&written(folder.path(), KEEPS, &[("n", zeros)]), &[]).expect("it can be loaded");
    let module = made(|module, error| oxport_module_new(Some(&program), module, error)).expect("a module");
    let (sizes, other) = ([2i64, 3], [3i64, 2]);
    let into = |inputs: &[OxportValue], outputs: &[OxportBuffer]| {
        let (inputs, count) = (inputs.as_ptr(), inputs.len());
        // SAFETY: callers pass memory of their own.
        status(|error| unsafe {
            oxport_module_run_into(Some(&module), inputs, count, outputs.as_ptr(), outputs.len(), error)
        })
    };
    let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (mut a, mut b) = ([7.0f32; 6], [8.0f32; 6]);
    let fits = buffer(&mut a, &sizes);
    for (wrong, message) in [
        (buffer(&mut b, &other), "result `out.1`: expected a buffer of f32[2, 3], got f32[3, 2]"),
        (buffer(&mut b, &sizes[..1]), "got f32[2]"),
        (OxportBuffer { dtype: 5, ..buffer(&mut b, &sizes) }, "expected a buffer of f32[2, 3], got i64[2, 3]"),
        (OxportBuffer { bytes: 23, ..buffer(&mut b, &sizes) }, "expected a buffer of 24 bytes, got 23"),
        (OxportBuffer { dtype: -1, ..buffer(&mut b, &sizes) }, "expected an OxportDtype, got -1"),
        (OxportBuffer { rank: usize::MAX, ..buffer(&mut b, &sizes) }, "expected at most 64 dimensions"),
    ] {
        let (ended, said) = into(&[floats(&x, &sizes)], &[fits, wrong]);
        assert!(ended == OxportStatus::Usage && said.contains(message), "{said}\nexpected: {message}");
    }
    let (_, said) = into(&[floats(&x, &sizes)], &[fits; 4]);
    assert_eq!(said, "expected at most 3 buffers, got 4");
    assert_eq!((a, b), ([7.0; 6], [8.0; 6]));
    // No call has changed the buffer of the module; a buffer of NULL is skipped.
    let skipped = OxportBuffer { data: null_mut(), bytes: 0, dtype: 0, rank: 9, sizes: null() };
    assert_eq!(into(&[floats(&x, &sizes)], &[skipped, buffer(&mut b, &sizes)]).0, OxportStatus::Ok);
    assert_eq!((a, b), ([7.0; 6], x));
    // In place: out.0 is the sum of the buffer, which is x now, and the input, which is where it is written to.
    let input = OxportValue {
        tensor: OxportTensor { data: a.as_ptr().cast(), ..floats(&x, &sizes).tensor },
        ..floats(&x, &sizes)
    };
    assert_eq!(into(&[input], &[buffer(&mut a, &sizes)]).0, OxportStatus::Ok);
    assert_eq!(a, x.map(|x| x + 7.0));
}

#[test]
fn buffers_are_read_replaced_and_reset() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Tensor::from([[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    let program = load_with(&written(folder.path(), KEEPS, &[("n", start)]), &[]).expect("it can be loaded");
    let port = oxport_program_buffer(Some(&program), 0).expect("a buffer");
    assert_eq!((oxport_program_buffer_count(Some(&program)), text(port.path), port.role), (1, "n".into(), 2));
    let module = made(|module, error| oxport_module_new(Some(&program), module, error)).expect("a module");
    let get = |module: &OxportModule, name: &CStr| {
        // SAFETY: the name is a text.
        made(|results, error| unsafe { oxport_module_get_buffer(Some(module), name.as_ptr(), results, error) })
    };
    let set = |value: &OxportValue, name: &CStr| {
        // SAFETY: the name is a text, and the value that of a caller below.
        status(|error| unsafe { oxport_module_set_buffer(Some(&module), name.as_ptr(), Some(value), error) })
    };
    let (sizes, other) = ([2i64, 3], [6i64]);
    let begin = get(&module, c"n").unwrap();
    assert_eq!(elements(&begin, "mut.n"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let copy = made(|copy, error| oxport_module_clone(Some(&module), copy, error)).expect("a module");
    let mut nines = vec![9.0f32; 6];
    assert_eq!(set(&floats(&nines, &sizes), c"n").0, OxportStatus::Ok);
    nines.fill(0.0);
    assert_eq!(elements(&get(&module, c"n").unwrap(), "mut.n"), [9.0; 6]);
    assert_eq!(elements(&get(&copy, c"n").unwrap(), "mut.n"), elements(&begin, "mut.n"));
    for (ended, message) in [
        (set(&floats(&nines, &other), c"n"), "buffer `n`: expected f32[2, 3], got f32[6]"),
        (set(&floats(&nines, &sizes), c"m"), "expected the name of a buffer that calls change (`n`), got \"m\""),
        (set(&oxport_int(1), c"n"), "buffer `n`: expected a tensor, got a int"),
        (get(&module, c"x").err().expect("no such buffer"), "(`n`), got \"x\""),
        (get(&module, c"\xff").err().expect("no text"), "name: expected UTF-8"),
    ] {
        assert!(ended.0 == OxportStatus::Usage && ended.1.contains(message), "{ended:?}\nexpected: {message}");
    }
    assert_eq!(status(|error| oxport_module_reset(Some(&module), error)).0, OxportStatus::Ok);
    assert_eq!(elements(&get(&module, c"n").unwrap(), "mut.n"), elements(&begin, "mut.n"));
}
