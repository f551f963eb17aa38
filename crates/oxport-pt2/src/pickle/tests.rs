//! Pickles: supported calls, calls kept as objects, and errors.

use super::machine::unpickle;
use super::*;
use crate::Limits;

fn read(bytes: &[u8]) -> Result<Pickled, String> {
    unpickle(bytes, &Limits::default())
}

#[test]
fn values_are_read() {
    let table: [(&[u8], Pickled); 9] = [
        (b"\x80\x02N.", Pickled::None),
        (b"\x80\x02J\xfb\xff\xff\xff.", Pickled::Int(-5)),
        (b"\x80\x02\x8a\x06\x00\x10\xa5\xd4\xe8\x00.", Pickled::Int(1_000_000_000_000)),
        (b"\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff.", Pickled::Int(-1)),
        (b"\x80\x02G@\x04\0\0\0\0\0\0.", Pickled::Float(2.5)),
        (b"\x80\x02X\x01\0\0\0s\x85.", Pickled::Tuple(vec![Pickled::Str("s".into())])),
        // A list that is memoized, then filled, then used again.
        (
            b"]q\0K\x01ah\0\x86.",
            Pickled::Tuple(vec![Pickled::List(vec![Pickled::Int(1)]), Pickled::List(vec![Pickled::Int(1)])]),
        ),
        (
            b"ccollections\nOrderedDict\n)RX\x01\0\0\0aNs.",
            Pickled::Dict(vec![(Pickled::Str("a".into()), Pickled::None)]),
        ),
        (b"ctorch\nSize\n(K\x02K\x03t\x85R.", Pickled::Size(vec![2, 3])),
    ];
    for (bytes, value) in table {
        assert_eq!(read(bytes), Ok(value));
    }
}

/// As `torch.save` writes a tensor of uint16, whose storages have no class of their own.
#[test]
fn tensors_of_untyped_storages() {
    let bytes = b"\x80\x02ctorch._utils\n_rebuild_tensor_v3\n((X\x07\0\0\0storagectorch.storage\nUntypedStorage\n\
        X\x01\0\0\x000X\x03\0\0\0cpuK\x04tQK\0K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)Rctorch\nuint16\ntR.";
    let Ok(Pickled::Tensor(tensor)) = read(bytes) else { panic!("{:?}", read(bytes)) };
    assert_eq!((tensor.dtype, tensor.storage_len, tensor.sizes), (DType::U16, 4, vec![2]));
}

#[test]
fn unknown_calls_become_objects() {
    let value = read(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.").unwrap();
    let Pickled::Object { class, args, .. } = value else { panic!("{value:?}") };
    assert_eq!((class.as_str(), args), ("os.system", vec![Pickled::Str("ls".into())]));
    let value = read(b"\x80\x02cmy\nPoint\n)\x81}X\x01\0\0\0xK\x07sb.").unwrap();
    let Pickled::Object { class, state, .. } = value else { panic!("{value:?}") };
    assert_eq!((class.as_str(), state.unwrap().get("x")), ("my.Point", Some(&Pickled::Int(7))));
}

#[test]
fn hostile_pickles_are_refused() {
    let doubling = |n: u8| {
        let mut bytes = b"]q\0".to_vec();
        for i in 0..n {
            bytes.extend([b'h', i, b'h', i, 0x86, b'q', i + 1]);
        }
        bytes.push(b'.');
        bytes
    };
    let table: [(&[u8], &str); 11] = [
        (b"", "unexpected end"),
        (b"N", "unexpected end"),
        (b".", "the stack is empty"),
        (b"h\x05.", "the memo has no entry 5"),
        (b"t.", "no mark on the stack"),
        (b"(R.", "the stack is empty"),
        (b"NNa.", "expected a list"),
        (b"]q\0h\0a.", "nested too deeply, or contain themselves"),
        (b"\x8a\x09\0\0\0\0\0\0\0\0\x01.", "does not fit into 64 bits"),
        (b"X\xff\xff\xff\xffs.", "unexpected end"),
        (b"\x80\x02i.", "unsupported opcode 0x69"),
    ];
    for (bytes, message) in table {
        let error = read(bytes).unwrap_err();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    assert!(read(&doubling(10)).is_ok());
    assert!(read(&doubling(60)).unwrap_err().contains("too many"));
    let deep = [&[b']'; 100_000][..], &[b'a'; 99_999], b"."].concat();
    assert!(read(&deep).unwrap_err().contains("nested too deeply"));
}

/// Opcodes that refer to a value do not copy it: memory is in proportion to the bytes of the pickle.
#[test]
fn shared_values_are_not_copied() {
    let numbers = [b"(".as_slice(), &b"K\0".repeat(4000), b"tq\0"].concat();
    let name = [b"X\x40\x9c\0\0".as_slice(), &b"n".repeat(40_000), b"q\0"].concat();
    let storage = [b"(X\x07\0\0\0storageNNN(".as_slice(), &b"K\0".repeat(4000), b"ttq\0"].concat();
    // As storages, names of globals, parts of tuples, lists and states: all dropped again.
    let table: [(&[u8], &[u8]); 5] = [
        (&storage, b"h\0Q0"),
        (&name, b"h\0h\0\x930"),
        (&numbers, b"h\0h\0\x860"),
        (&numbers, b"]h\0a0"),
        (&numbers, b"h\0h\0Rh\0b0"),
    ];
    for (value, once) in table {
        let pickle = [value, b"0", &once.repeat(100_000), b"N."].concat();
        assert_eq!(read(&pickle), Ok(Pickled::None));
    }
    // What is in the result is counted.
    let many = [&storage, b"0(".as_slice(), &b"h\0Q".repeat(200), b"t."].concat();
    assert!(read(&many).unwrap_err().contains("too many"));
    let limits = Limits { pickle_values: 1000, ..Limits::default() };
    for flood in [b"(".as_slice(), b"N0", b"Nq\0\x85"] {
        let pickle = [&flood.repeat(2000), b"N.".as_slice()].concat();
        assert!(unpickle(&pickle, &limits).unwrap_err().contains("more than 1000 values"), "{}", flood.escape_ascii());
    }
}

/// Modifications of a value after its construction are not ignored.
#[test]
fn values_that_are_changed_afterwards_are_refused() {
    let size = b"ctorch\nSize\n)\x85R".as_slice();
    let dict = b"ccollections\nOrderedDict\n)R".as_slice();
    let table: [(&[u8], &[u8], &str); 9] = [
        (size, b")b.", "the result of torch.Size is modified after the call"),
        (size, b"Na.", "the result of torch.Size is modified after the call"),
        (size, b"NNs.", "the result of torch.Size is modified after the call"),
        (dict, b"Na.", "the result of collections.OrderedDict is modified after the call"),
        (dict, b"}X\x05\0\0\0itemsNsb.", "the result of collections.OrderedDict is modified after the call"),
        (dict, b"}b}b.", "has state already"),
        (b"}", b"K\x01NsK\x01Ns.", "duplicate key in a dictionary"),
        (b"}", b"K\x01Ns\x88Ns.", "duplicate key in a dictionary"),
        (b"}", b"K\x01\x85NsG?\xf0\0\0\0\0\0\0\x85Ns.", "duplicate key in a dictionary"),
    ];
    for (made, change, message) in table {
        let error = read(&[made, change].concat()).expect_err(message);
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    let state = b"}X\x09\0\0\0_metadata}sb.".as_slice();
    assert_eq!(read(&[dict, state].concat()), Ok(Pickled::Dict(Vec::new())));
}

#[test]
fn random_bytes_are_survived() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let opcodes = b"NKq\0h\0(t])}ase\x85\x86Rb\x81cQ.X\x88u";
    for _ in 0..20_000 {
        let mut bytes = Vec::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bytes.push(opcodes[(state >> 33) as usize % opcodes.len()]);
        }
        let _ = read(&bytes);
    }
}
