//! Findings, as text.

use super::*;
use crate::zip::ZipWriter;

/// The findings in an archive of these entries: `danger code at: what`, one per line.
fn found(entries: &[(&str, &[u8])]) -> String {
    let mut zip = ZipWriter::new(Vec::new());
    for (name, data) in entries {
        zip.add(&format!("x/{name}"), data).unwrap();
    }
    let findings = scan_bytes(&zip.finish().unwrap(), &Limits::default()).unwrap();
    findings.iter().map(|f| format!("{} {} {}: {}\n", f.danger, f.code, f.at, f.what)).collect()
}

const SAMPLES: &str = "data/sample_inputs/model.pt";

#[test]
fn pickles_name_what_they_import() {
    let table: [(&[u8], &str); 12] = [
        (b"\x80\x02cos\nsystem\nX\x01\0\0\0a\x85R.", "dangerous pickle-global {}: the global os.system\n"),
        (
            b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x01a\x85R.",
            "dangerous pickle-global {}: the global posix.system\n",
        ),
        (
            b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x9400h\0h\x01\x93.",
            "dangerous pickle-global {}: the global posix.system\n",
        ),
        (b"Vos\np0\n0Vsystem\np1\n0g0\ng1\n\x93.", "dangerous pickle-global {}: the global os.system\n"),
        (b"(S'a'\nios\nsystem\n.", "dangerous pickle-global {}: the global os.system\n"),
        (b"\x80\x02\x82\x01.", "dangerous pickle-global {}: a global whose name is computed or registered elsewhere\n"),
        (
            b"\x80\x02K\x01K\x02\x93.",
            "dangerous pickle-global {}: a global whose name is computed or registered elsewhere\n",
        ),
        (
            b"\x80\x02cmy.models\nConfig\n)R.",
            "suspicious pickle-global {}: the global my.models.Config, which PyTorch's own files do not use\n",
        ),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", ""),
        (b"\x80\x02ctorch\nload\n.", "dangerous pickle-global {}: the global torch.load\n"),
        (
            b"\x80\x02cos\nsystem\n\xff",
            "dangerous pickle-global {}: the global os.system\nnote pickle-damaged {}: a pickle that is \
            damaged at byte 13\n",
        ),
        (b"\x80\x02B\xff\xff\xff\x7fa", "note pickle-damaged {}: a pickle that is damaged at byte 2\n"),
    ];
    for (pickle, expected) in table {
        assert_eq!(found(&[(SAMPLES, pickle)]), expected.replace("{}", SAMPLES), "{}", pickle.escape_ascii());
    }
}

#[test]
fn pickles_hide_nowhere() {
    let pickle: &[u8] = b"\x80\x02cos\nsystem\n.";
    for name in ["data/weights/weight_0", "notes", "data/constants/opaque_obj_3", "anything"] {
        assert_eq!(found(&[(name, pickle)]), format!("dangerous pickle-global {name}: the global os.system\n"));
    }
    let mut inner = ZipWriter::new(Vec::new());
    inner.add("archive/data.pkl", pickle).unwrap();
    let inner = inner.finish().unwrap();
    assert_eq!(
        found(&[("data/weights/weight_0", &inner)]),
        "dangerous pickle-global data/weights/weight_0: data.pkl: the global os.system\n"
    );
    // Weights are arbitrary bytes, also those of half a pickle.
    assert_eq!(found(&[("data/weights/weight_0", b"\x80\x02cos\nsystem\n.\0\0\0")]), "");
}

#[test]
fn all_pickles_that_pytorch_loads_are_scanned() {
    let evil: &[u8] = b"\x80\x02cos\nsystem\n.";
    let config = |pickled: &str| {
        format!(
            r#"{{"config": {{"w": {{"path_name": "WEIGHT_0", "is_param": true,
                "use_pickle": {pickled}, "tensor_meta": null}}}}}}"#
        )
    };
    let name = "data/weights/model_weights_config.json";
    // Five consecutive pickles, as PyTorch 1.5 wrote them, followed by other bytes.
    let sequence = [b"\x80\x02K\x01.".as_slice(), b"\x80\x02N.", b"\x80\x02N.", evil, b"\x80\x02N.", b"tail"].concat();
    let in_config = found(&[(name, config("true").as_bytes()), ("data/weights/weight_0", &sequence)]);
    assert_eq!(in_config, "dangerous pickle-global data/weights/weight_0: the global os.system\n");
    let unread = found(&[(name, config("NaN").as_bytes()), ("data/weights/weight_0", &sequence)]);
    assert_eq!(unread, "dangerous pickle-global data/weights/weight_0: the global os.system\n");
    assert_eq!(found(&[(name, config("false").as_bytes()), ("data/weights/weight_0", &sequence)]), "");
    for name in ["data/sample_inputs/MODEL.PT", "data/constants/OPAQUE_obj_0", "data/constants/custom_obj_1/a"] {
        assert_eq!(found(&[(name, &sequence)]), format!("dangerous pickle-global {name}: the global os.system\n"));
    }
    let mut tar = vec![0; 1024];
    tar[..4].copy_from_slice(b"\x80\x02N.");
    let sum = 8 * 32 + tar.iter().map(|b| u32::from(*b)).sum::<u32>();
    tar[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(found(&[(SAMPLES, &tar)]).starts_with(&format!("dangerous legacy-file {SAMPLES}: ")));
    let mut inner = ZipWriter::new(Vec::new());
    inner.add("archive/DATA.pkl", &sequence).unwrap();
    inner.add("archive/constants.pkl", b"").unwrap();
    let inner = inner.finish().unwrap();
    let expected = format!(
        "dangerous torchscript {SAMPLES}: a TorchScript program\n\
         dangerous pickle-global {SAMPLES}: DATA.pkl: the global os.system\n"
    );
    assert_eq!(found(&[(SAMPLES, &inner)]), expected);
}

#[test]
fn globals_of_python_and_pytorch_are_dangerous() {
    for (global, danger) in [
        ("profile\nrun", Some("dangerous")),
        ("torch\nos.system", Some("dangerous")),
        ("torch.storage\n_load_from_bytes", Some("dangerous")),
        ("torch.utils.collect_env\nrun", Some("dangerous")),
        ("torch.nn.modules.linear\nLinear", Some("suspicious")),
        ("datetime\ndate", Some("suspicious")),
        ("torchao.dtypes\nAffineQuantizedTensor", Some("suspicious")),
        ("torch._utils\n_rebuild_wrapper_subclass", None),
        ("collections\nOrderedDict", None),
    ] {
        let found = found(&[(SAMPLES, format!("c{global}\n.").as_bytes())]);
        let found =
            found.lines().find(|line| line.contains("pickle-global")).map(|line| line.split(' ').next().unwrap());
        assert_eq!(found, danger, "{global}");
    }
}

#[test]
fn documents_are_searched_for_code() {
    let table = [
        (r#"{"expr_str": "Symbol('s0', positive=True, integer=True)"}"#, ""),
        (r#"{"expr_str": "__import__('os')"}"#, "dangerous expression-code"),
        (r#"{"\u0065xpr_str": "__import__('os')"}"#, "dangerous expression-code"),
        (r#"{"expr_str": "9**9**9"}"#, "dangerous expression-cost"),
        (r#"{"range_constraints": {"exit()": {"min_val": 1}}}"#, "dangerous expression-code"),
        (r#"{"guards_code": ["L['x'].size()[0] > 2"]}"#, ""),
        (r#"{"guards_code": ["L['x'].size()[0] > 2", "exit()"]}"#, "dangerous guard-code"),
        (r#"{"in_spec": "{\"default_factory_module\": \"builtins\", \"default_factory_name\": \"int\"}"}"#, ""),
        (
            r#"{"in_spec": "{\"default_factory_module\": \"os\", \"default_factory_name\": \"abort\"}"}"#,
            "dangerous tree-import",
        ),
        (r#"{"class_fqn": "a.B"}"#, "suspicious custom-class"),
        (r#"{"target": "torch.ops.aten.add.Tensor"}"#, ""),
        (r#"{"target": "_operator.add"}"#, ""),
        (r#"{"target": "torch.load"}"#, "suspicious target-code"),
        (r#"{"target": "os.system"}"#, "dangerous target-code"),
        (r#"{"target": "torch.os.system"}"#, "dangerous target-code"),
        (r#"{"as_operator": "torch.os.system"}"#, "dangerous target-code"),
    ];
    for (text, expected) in table {
        let found = found(&[("models/model.json", text.as_bytes())]);
        let found: Vec<&str> = found.split(" models/").next().map(|head| head.trim()).into_iter().collect();
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn native_code_is_found_by_name_and_by_content() {
    let elf: &[u8] = b"\x7fELF\x02";
    for (name, data, code) in [
        ("data/aotinductor/model/m.so", b"any".as_slice(), "native-library"),
        ("data/aotinductor/model/m.cpp", b"any", "native-library"),
        ("data/weights/weight_0", elf, "native-library"),
        ("extra/tool", elf, "extra-executable"),
        ("extra/run", b"#!/bin/sh\n", "extra-executable"),
    ] {
        assert!(found(&[(name, data)]).starts_with(&format!("dangerous {code} {name}: ")), "{name}");
    }
    assert_eq!(found(&[("extra/note", b"hello"), ("data/weights/weight_0", b"\x80\x02\0\0")]), "");
}

#[test]
fn fixtures_hold_nothing_dangerous() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
    for folder in std::fs::read_dir(programs).unwrap() {
        let path = folder.unwrap().path().join("program.pt2");
        let findings = scan(&path, &Limits::default()).unwrap();
        let bad: Vec<_> = findings.iter().filter(|f| f.danger == Danger::Dangerous).collect();
        assert!(bad.is_empty(), "{}: {bad:#?}", path.display());
    }
}
