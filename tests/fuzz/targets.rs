//! The fuzz targets: one function a parser, each with seeds and words that its language is made of.
//!
//! A target panics if a law is broken: what is read and written again reads as the same, and nothing else ever panics.

use oxport_ir::Registry;
use oxport_ir::schema::FunctionSchema;
use oxport_pt2::pickle::{Pickled, TorchFile};
use oxport_pt2::zip::{Directory, ZipWriter};
use oxport_pt2::{Limits, ReadOptions, model};
use oxport_pytree::{NamedTupleFields, TreeSpec};
use oxport_sym::Expr;
use oxport_tensor::Storage;
use std::sync::OnceLock;

/// A parser to be fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads these bytes.
    pub run: fn(&[u8]),
    /// Where mutation begins.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// What a mutation may insert.
    pub words: &'static [&'static str],
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "zip",
        run: zip,
        seeds: zips,
        words: &[
            "PK\x01\x02",
            "PK\x03\x04",
            "PK\x05\x06",
            "PK\x06\x06",
            "PK\x06\x07",
            "../",
            "/",
            "\0",
            "\x01\0\x08\0",
        ],
    },
    Target { name: "json", run: json, seeds: documents, words: JSON_WORDS },
    Target { name: "program", run: program, seeds: documents, words: JSON_WORDS },
    Target {
        name: "expressions",
        run: expressions,
        seeds: expression_texts,
        words: &[
            "(",
            ")",
            "**",
            "//",
            "Add(",
            "Mul(",
            "Pow(",
            "Max(",
            "Mod(",
            "FloorDiv(",
            "Piecewise(",
            "Symbol('s0', integer=True)",
            "Integer(",
            "Rational(1, 2)",
            "Float('1e300')",
            "int_oo",
            "-",
            "not ",
            " and ",
            "9999999999999999999",
            "L['x'].size()[0]",
            "ModularIndexing(",
            "<<",
            "%",
            ",",
            "s0",
            "nan",
            "zoo",
        ],
    },
    Target {
        name: "treespecs",
        run: treespecs,
        seeds: trees,
        words: &[
            "{\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": [",
            "]}",
            "\"builtins.dict\"",
            "\"collections.deque\"",
            "\"[1, 2]\"",
            "null",
            ",",
            "\\\"",
            "__enum__",
            "[",
            "]",
        ],
    },
    Target {
        name: "pickles",
        run: pickles,
        seeds: pickle_bytes,
        words: &[
            "(",
            "]",
            "}",
            ")",
            "t",
            "R",
            "b",
            "e",
            "u",
            "q\x01",
            "h\x01",
            "0",
            "K\x05",
            "ctorch\nSize\n",
            "ccollections\nOrderedDict\n",
            "ctorch._utils\n_rebuild_tensor_v2\n",
            "X\x03\0\0\0abc",
            "Q",
            "\u{93}",
            "N",
            ".",
            "2",
        ],
    },
    Target {
        name: "fx",
        run: fx,
        seeds: fx_texts,
        words: &[
            "(",
            ")",
            "[",
            "]",
            ":",
            "=",
            "torch.ops.aten.add.Tensor(",
            "f32[2, 3]",
            "%x",
            "s0",
            "def forward(",
            "return ",
            ",",
            "\n        ",
            "\"",
            "None",
            "1e999",
            "graph(",
            " : [num_users=1] = ",
            "call_function[target=",
            "](args = (",
            "), kwargs = {",
            "placeholder[target=",
            "(default=",
            "#: x.val('f32[2] strides [1]')",
            "\n#: whole(1)\n",
            "#: symbol('Symbol(\\'s0\\', integer=True)', hint = 3)",
            "(1+2j)",
            " = 3",
        ],
    },
    Target {
        name: "schemas",
        run: schemas,
        seeds: schema_texts,
        words: &[
            "(", ")", "[", "]", "?", "Tensor", "(a!)", "(a -> *)", "->", "*", ",", "=", "int[2]", "Dict(", "Future(",
            "\"", "None", "1e-5",
        ],
    },
    Target {
        name: "safetensors",
        run: safetensors,
        seeds: safetensors_files,
        words: &[
            "\"dtype\":\"F32\"",
            "\"shape\":[",
            "\"data_offsets\":[",
            "18446744073709551615",
            "{",
            "}",
            "]",
            "\0\0\0\0",
            "__metadata__",
            "BF16",
        ],
    },
];

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "1e999",
    "9223372036854775807",
    "-1",
    "\"as_int\"",
    "\"as_tensor\"",
    "\"as_none\"",
    "\"as_graph\"",
    "\"as_expr\"",
    "\"expr_str\"",
    "\"name\"",
    "\"target\"",
    "\"torch.ops.higher_order.cond\"",
    "\\u0000",
    "\"s0*s1\"",
];

/// Small enough that an input cannot be slow for its size alone.
fn limits() -> Limits {
    Limits { inflated: 1 << 20, inflated_total: 1 << 22, synthesized_bytes: 1 << 20, ..Limits::DEFAULT }
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(&[], include_str!("../../schemas/aten_schemas.txt")))
}

fn fixture(path: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/");
    std::fs::read(format!("{root}{path}")).expect("law: the fixtures are checked in")
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Vec::new());
    for (name, data) in entries {
        zip.add(name, data).expect("law: memory takes every byte");
    }
    zip.finish().expect("law: memory takes every byte")
}

fn zip(data: &[u8]) {
    if let Ok(directory) = Directory::read(data, &limits()) {
        for (name, entry) in &directory.entries {
            let _ = entry.read(name, data);
        }
    }
    let _ = oxport_pt2::scan::scan_bytes(data, &limits());
    let _ = oxport_pt2::read_pt2_bytes(data, registry(), &options());
}

fn options() -> ReadOptions {
    ReadOptions { limits: limits(), ..ReadOptions::default() }
}

fn zips() -> Vec<Vec<u8>> {
    vec![
        fixture("programs/mlp/program.pt2"),
        fixture("archives/flat_7_3.pt2"),
        fixture("archives/pickled_8_8.pt2"),
        archive(&[("x/a", b"data"), ("x/b", b"")]),
    ]
}

fn json(data: &[u8]) {
    let Ok(document) = oxport_pt2::json::from_slice::<model::ExportedProgram>("x", data, &limits()) else { return };
    let text = oxport_pt2::json::to_string(&document);
    let again = oxport_pt2::json::from_slice::<model::ExportedProgram>("x", text.as_bytes(), &limits());
    // What is not a number is not equal to itself, but its text is.
    let again = again.map(|document| oxport_pt2::json::to_string(&document));
    assert_eq!(again.ok().as_deref(), Some(text.as_str()), "what was written reads as the same");
}

fn program(data: &[u8]) {
    let file = archive(&[
        ("x/archive_format", b"pt2"),
        ("x/archive_version", b"0"),
        ("x/.data/version", b"6\n"),
        ("x/models/model.json", data),
        ("x/data/weights/model_weights_config.json", b"{\"config\": {}}"),
        ("x/data/constants/model_constants_config.json", b"{\"config\": {}}"),
    ]);
    let _ = oxport_pt2::scan::scan_bytes(&file, &limits());
    if let Ok(program) = oxport_pt2::read_pt2_bytes(&file, registry(), &options()) {
        oxport_ir::verify(&program, registry());
        let _ = oxport_ir::print::readable(&program);
        let _ = oxport_pt2::write_pt2_bytes(&program);
    }
}

fn documents() -> Vec<Vec<u8>> {
    let of = |name: &str| {
        let bytes = fixture(&format!("programs/{name}/program.pt2"));
        let archive = oxport_pt2::Archive::from_bytes(&bytes, &Limits::DEFAULT).expect("law: a fixture is an archive");
        archive.read("models/model.json").expect("law: a fixture has a program").into_owned()
    };
    ["mlp", "cond", "shape_arith", "pytree_inputs", "input_mutation"].map(of).to_vec()
}

fn expressions(data: &[u8]) {
    let Some(text) = text(data).filter(|text| text.len() < 4096) else { return };
    let Ok(expr) = Expr::parse(text) else { return };
    let srepr = expr.srepr();
    if let Ok(again) = Expr::parse(&srepr) {
        assert_eq!(again.srepr(), srepr, "srepr of {text:?}");
    }
    let _ = expr.to_string();
    let _ = expr.eval_int(&|_| Some(7));
}

fn expression_texts() -> Vec<Vec<u8>> {
    let texts = [
        "Symbol('s77', positive=True, integer=True)",
        "Add(Mul(Integer(-1), Symbol('s0', integer=True)), Integer(1))",
        "s0 + 2*s1 - (s2//3) % 5",
        "Max(1, s0, s1*s2) <= Min(4, u0) and not s0 == 3",
        "Piecewise((s0, s0 > 1), (0, True))",
        "FloorDiv(Symbol('s0', positive=True, integer=True), Integer(2))",
        "ModularIndexing(s0, 4, 7) + PythonMod(u0, -3) ** 2",
        "Where(s0 < 4, Rational(1, 3), Float('2.5', precision=53))",
        "2**62 - int_oo + CeilDiv(s0, 4) << 3",
    ];
    texts.map(|t| t.as_bytes().to_vec()).to_vec()
}

fn treespecs(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(tree) = TreeSpec::from_json(text, &NamedTupleFields::new()) else { return };
    let written = tree.to_json();
    let again = TreeSpec::from_json(&written, &NamedTupleFields::new()).map(|tree| tree.to_json());
    assert_eq!(again.as_ref().ok(), Some(&written), "what was written reads as the same");
}

fn trees() -> Vec<Vec<u8>> {
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    let node = |kind: &str, context: &str, children: &str| {
        format!(r#"[1, {{"type": "{kind}", "context": {context}, "children_spec": [{children}]}}]"#).into_bytes()
    };
    vec![
        node("builtins.tuple", "\"null\"", leaf),
        node("builtins.dict", r#""[\"a\", 2, 1.5, null]""#, &[leaf; 4].join(", ")),
        node("collections.deque", "\"5\"", leaf),
        node("collections.namedtuple", "\"my.NT\"", leaf),
        node("my.Data", r#""[[\"a\"], [\"b\"]]""#, leaf),
        node(
            "collections.defaultdict",
            r#"{"default_factory_module": "builtins", "default_factory_name": "int", "dict_context": ["k"]}"#,
            leaf,
        ),
    ]
}

fn pickles(data: &[u8]) {
    let marks: [(&str, &[u8]); 2] = [("archive/byteorder", b"little"), ("archive/version", b"3\n")];
    let file = archive(&[("archive/data.pkl", data), ("archive/data/0", &[0; 64]), marks[0], marks[1]]);
    let _ = oxport_pt2::scan::scan_bytes(&file, &limits());
    let Ok(file) = Storage::copy_of(&file) else { return };
    let tight = Limits { pickle_values: 20_000, ..limits() };
    if let Ok(file) = TorchFile::read("x", &file, &tight) {
        each_tensor(&file.value, &file);
    }
}

fn each_tensor(value: &Pickled, file: &TorchFile) {
    match value {
        Pickled::Tensor(tensor) => drop(file.tensor(tensor)),
        Pickled::Dict(entries) => entries.iter().for_each(|(_, v)| each_tensor(v, file)),
        value => value.items().unwrap_or(&[]).iter().for_each(|v| each_tensor(v, file)),
    }
}

fn pickle_bytes() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = vec![
        b"\x80\x02}q\0(X\x01\0\0\0aK\x01X\x01\0\0\0b]q\x01(K\x02G?\xf0\0\0\0\0\0\0\x88Neu.".to_vec(),
        b"\x80\x02cos\nsystem\nX\x01\0\0\0a\x85R.".to_vec(),
        b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c\x01a\x94\x8c\x01b\x93)\x81}b.".to_vec(),
    ];
    for name in ["mlp", "pytree_inputs"] {
        let bytes = fixture(&format!("programs/{name}/program.pt2"));
        let outer = oxport_pt2::Archive::from_bytes(&bytes, &Limits::DEFAULT).expect("law: a fixture is an archive");
        let Ok(samples) = outer.read("data/sample_inputs/model.pt") else { continue };
        if let Ok(directory) = Directory::read(&samples, &Limits::DEFAULT) {
            let pickle = directory.entries.iter().find(|(name, _)| name.ends_with("data.pkl"));
            seeds.extend(pickle.and_then(|(name, entry)| entry.read(name, &samples).ok()).map(|p| p.into_owned()));
        }
    }
    seeds
}

fn fx(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(program) = oxport_ir::parse::parse(text, registry()) {
        oxport_ir::verify(&program, registry());
        let _ = oxport_ir::print::readable(&program);
        let _ = oxport_ir::print::fx(&program.graph);
        // A name may be no Python identifier, which the verifier says; then the text is none.
        let whole = oxport_ir::print::whole(&program);
        if let Ok(again) = oxport_ir::parse::parse(&whole, registry()) {
            assert_eq!(oxport_ir::print::whole(&again), whole, "what was written reads as the same");
        }
    }
}

fn fx_texts() -> Vec<Vec<u8>> {
    use oxport_ir::print;
    let mut seeds = Vec::new();
    let older = "graph(%x):\n    %add : [#users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})\n";
    seeds.push(format!("{older}    return %add\n").into_bytes());
    for name in ["programs/mlp/program", "programs/cond/program", "programs/shape_arith/program"] {
        let program = oxport_pt2::read_pt2_bytes(&fixture(&format!("{name}.pt2")), registry(), &ReadOptions::default());
        seeds.extend(program.map(|p| print::readable(&p).into_bytes()));
    }
    for name in ["text/quotes", "text/custom_operators_functional", "text/formats", "text/trees"] {
        let program = oxport_pt2::read_pt2_bytes(&fixture(&format!("{name}.pt2")), registry(), &ReadOptions::default());
        let texts = |p: oxport_ir::ExportedProgram| [print::fx(&p.graph), print::whole(&p)];
        seeds.extend(program.map(texts).into_iter().flatten().map(String::into_bytes));
    }
    seeds
}

fn schemas(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(schema) = FunctionSchema::parse(text) {
        let written = schema.to_string();
        let again = FunctionSchema::parse(&written).map(|s| s.to_string());
        assert_eq!(again.as_ref().ok(), Some(&written), "what was written reads as the same");
    }
}

fn schema_texts() -> Vec<Vec<u8>> {
    let pinned = include_str!("../../schemas/aten_schemas.txt").lines().step_by(97);
    pinned.map(|line| line.split('\t').next().unwrap_or("").as_bytes().to_vec()).collect()
}

fn safetensors(data: &[u8]) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if std::io::Write::write_all(&mut file, data).is_ok()
        && let Ok(tensors) = oxport_pt2::read_tensors(file.path(), &limits())
    {
        tensors.values().for_each(|tensor| drop(tensor.contiguous()));
    }
}

fn safetensors_files() -> Vec<Vec<u8>> {
    vec![fixture("programs/mlp/io.safetensors"), fixture("programs/mlp/io_1.safetensors")]
}
