//! Pickles: what is understood, what is kept closed, what is refused.

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
        // A list that is remembered, then filled, then used again.
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

#[test]
fn foreign_calls_are_kept_closed() {
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
        (b"", "cut off"),
        (b"N", "cut off"),
        (b".", "the stack is empty"),
        (b"h\x05.", "nothing was remembered as 5"),
        (b"t.", "there is no mark"),
        (b"(R.", "the stack is empty"),
        (b"NNa.", "what is no list"),
        (b"]q\0h\0a.", "nest too deep, or hold themselves"),
        (b"\x8a\x09\0\0\0\0\0\0\0\0\x01.", "does not fit into 64 bits"),
        (b"X\xff\xff\xff\xffs.", "cut off"),
        (b"\x80\x02i.", "the opcode 0x69 is not known"),
    ];
    for (bytes, message) in table {
        let error = read(bytes).unwrap_err();
        assert!(error.contains(message), "{error}\nshould say: {message}");
    }
    assert!(read(&doubling(10)).is_ok());
    assert!(read(&doubling(60)).unwrap_err().contains("too many"));
    let deep = [&[b']'; 100_000][..], &[b'a'; 99_999], b"."].concat();
    assert!(read(&deep).unwrap_err().contains("nest too deep"));
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
