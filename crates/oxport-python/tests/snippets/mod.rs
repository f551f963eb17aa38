//! Programs with the output that CPython 3.11 printed for them, and hostile ones with the error that they get.

use oxport_python::syntax::tree::Source;
use oxport_python::value::Module;
use oxport_python::{Interp, Limits, NoModules, STACK};
use std::path::PathBuf;
use std::rc::Rc;

/// What a program prints, then its error if it has one.
fn run(name: &str, text: &str, limits: Limits) -> String {
    let (name, text) = (name.to_string(), text.to_string());
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let mut interp = Interp::new(limits, Rc::new(NoModules));
        let module = Module::new("__main__");
        let result = interp.run_module(&module, Source { name, text });
        let mut output = std::mem::take(&mut interp.output);
        if let Err(unwind) = result {
            output.push_str(&interp.describe(unwind).to_string());
            output.push('\n');
        }
        output
    });
    thread.expect("law: a thread starts").join().expect("no source makes the interpreter panic")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snippets")
}

#[test]
fn programs_print_what_cpython_prints() {
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).expect("law: the folder exists").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "py") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).expect("law: the file is text");
        let expected = std::fs::read_to_string(path.with_extension("out")).expect("law: CPython's output is kept");
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("?");
        let got = run(name, &text, Limits::DEFAULT);
        let lines = expected.lines().zip(got.lines()).enumerate().find(|(_, (a, b))| a != b);
        if let Some((at, (a, b))) = lines {
            failures.push(format!("{name}, output line {}:\n  expected {a}\n  got      {b}\n", at + 1));
        }
        if expected != got {
            let tail: Vec<&str> = got.lines().rev().take(6).collect();
            failures.push(format!("{name} ended with\n{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= 4, "{count} programs");
}

/// Programs that must be stopped, and a part of the error.
const HOSTILE: &[(&str, &str)] = &[
    ("while True:\n    pass\n", "limit: more than 300000 steps"),
    ("for i in iter(int, 1):\n    pass\n", "limit: more than 300000 steps"),
    ("try:\n    while True:\n        pass\nexcept BaseException:\n    print('no')\n", "limit: more than 300000 steps"),
    ("list(iter(int, 1))\n", "limit: more than"),
    ("def f(x):\n    return f(x + 1)\nf(0)\n", "RecursionError: maximum recursion depth exceeded"),
    ("x = 'a'\nwhile True:\n    x = x + x\n", "limit: more than 67108864 bytes allocated (`memory`)"),
    ("x = [0] * (1 << 60)\n", "limit: more than 67108864 bytes allocated (`memory`)"),
    ("x = 'a' * (1 << 60)\n", "limit: more than 67108864 bytes allocated (`memory`)"),
    ("x = 1 << (1 << 60)\n", "limit: more than 67108864 bytes allocated (`memory`)"),
    ("x = 10 ** 10 ** 10\n", "limit: "),
    ("x = 9 ** 9 ** 9 ** 9\n", "limit: "),
    ("x = '%1000000000d' % 1\n", "ValueError"),
    ("x = f'{1:1000000000}'\n", "ValueError"),
    ("x = []\nx.append(x)\nprint(x)\nx == x\nhash(tuple(x))\n", "TypeError: unhashable type: 'list'"),
    ("a = []\nb = []\na.append(b)\nb.append(a)\na == b\n", "RecursionError"),
    ("class A:\n    def __getattr__(self, n):\n        return getattr(self, n + 'a')\nA().x\n", "RecursionError"),
    ("class A:\n    def __repr__(self):\n        return repr(A())\nrepr(A())\n", "RecursionError"),
    ("class A:\n    def __eq__(self, o):\n        return self == o\nA() == A()\n", "RecursionError"),
    ("open('/etc/passwd')\n", "refused: `open` is not available to captured programs"),
    ("eval('1')\n", "refused: `eval`"),
    ("exec('1')\n", "refused: `exec`"),
    ("__import__('os').system('true')\n", "refused: `os.system`"),
    ("__import__('../secret')\n", "ModuleNotFoundError: No module named '../secret'"),
    ("import os\nos.system('true')\n", "refused: `os.system`"),
    ("import os\nos.remove('x')\n", "refused: `os.remove`"),
    ("import subprocess\nsubprocess.run(['true'])\n", "refused: `subprocess.run`"),
    ("from socket import socket\nsocket()\n", "refused: `socket.socket`"),
    ("try:\n    open('x')\nexcept BaseException:\n    pass\n", "refused: `open`"),
    (
        "import scipy\nprint(scipy.zeros(3))\n",
        "ModuleNotFoundError: `scipy.zeros` is used, but no module named 'scipy'",
    ),
    ("x = (\n", "SyntaxError: '(' was never closed"),
    ("if True:\nprint(1)\n", "SyntaxError: expected an indented block"),
    ("x = 1 +\n", "SyntaxError: invalid syntax"),
    ("def f(a, a): pass\n", "SyntaxError: duplicate argument 'a' in function definition"),
    ("f(1) = 2\n", "SyntaxError: cannot assign to function call"),
    ("async def f(): pass\nf()\n", "NotImplementedError: f() is a coroutine, which is not supported"),
    (
        "async def f():\n    async with g() as a, b:\n        return [await c async for c in a]\nf()\n",
        "NotImplementedError",
    ),
    ("def f():\n    return await g()\n", "SyntaxError: 'await' outside async function"),
    ("bytearray(3)\n", "NotImplementedError: bytes that change are not supported"),
    ("x = 'abc\n", "SyntaxError: unterminated string literal"),
    ("\u{0}", "SyntaxError: invalid character"),
    ("x = $\n", "SyntaxError: invalid character '$' (U+0024)"),
    ("def f():\n    yield 1\n    raise StopIteration\nlist(f())\n", "RuntimeError: generator raised StopIteration"),
    ("import itertools\nx = max(itertools.count())\n", "limit: more than"),
    ("x = {}\nfor i in range(10**9):\n    x[i] = i\n", "limit: more than"),
    ("import re\nre.match('(a*)*b', 'a' * 100)\nre.match('(?=a)', 'a')\n", "NotImplementedError: regular expression"),
];

#[test]
fn hostile_programs_are_stopped() {
    let limits = Limits { steps: 300_000, memory: 64 << 20, recursion: 300 };
    let nested = [
        format!("x = {}1{}\n", "(".repeat(5000), ")".repeat(5000)),
        format!("x = {}1\n", "-".repeat(100_000)),
        format!("x = {}1\n", "not ".repeat(100_000)),
        format!("x = 1{}\n", " + 1".repeat(100_000)),
        format!("x = y{}\n", ".a".repeat(100_000)),
        format!("x = {}1\n", "lambda: ".repeat(100_000)),
        format!("x = 1{}\n", " if 1 else 1".repeat(100_000)),
        format!("x = 2{}\n", " ** 2".repeat(100_000)),
        (0..2000).map(|n| format!("{}if 1:\n", " ".repeat(n))).collect::<String>(),
        format!("if 1:\n  pass\n{}", "elif 1:\n  pass\n".repeat(5000)),
    ];
    for text in &nested {
        let got = run("nested.py", text, limits);
        let is_refused = got.contains("SyntaxError") || got.contains("RecursionError") || got.contains("limit");
        assert!(is_refused, "{}…: {got}", &text[..40.min(text.len())]);
    }
    let mut failures = Vec::new();
    for (text, expected) in HOSTILE {
        let got = run("hostile.py", text, limits);
        if !got.contains(expected) {
            failures.push(format!("{text}expected {expected}\ngot {got}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn errors_point_into_the_source() {
    let text = "def inner(x):\n    y = x + 1\n    return y.missing\n\n\n\
        def outer():\n    return [inner(v) for v in (1, 2)]\n\n\nouter()\n";
    let expected = "Traceback (most recent call last):
  File \"model.py\", line 10, column 1, in <module>
    outer()
  File \"model.py\", line 7, column 12, in outer
    return [inner(v) for v in (1, 2)]
  File \"model.py\", line 7, column 13, in <listcomp>
    return [inner(v) for v in (1, 2)]
  File \"model.py\", line 3, column 12, in inner
    return y.missing
AttributeError: 'int' object has no attribute 'missing'
";
    assert_eq!(run("model.py", text, Limits::DEFAULT), expected);
}
