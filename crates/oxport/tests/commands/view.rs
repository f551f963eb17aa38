//! `oxport view`: the page that is written, and the server.

use crate::info::fixture;
use crate::{oxport, text};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// The data of a page, read as a browser reads it: up to the first end of a script.
fn data(document: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let at = document.find(begin).expect("the document has data") + begin.len();
    let end = document[at..].find("</script").expect("the element ends");
    serde_json::from_str(&document[at..at + end]).expect("it is JSON")
}

/// Writes a page of a program; its data.
fn page(program: &str, options: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let out = folder.path().join("page.html");
    let out = out.to_str().expect("law: paths are UTF-8");
    let output = oxport(&[&["view", program, "--html", out], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text(&output), "");
    let files = std::fs::read_dir(folder.path()).expect("law: it is there").count();
    assert_eq!(files, 1, "nothing temporary is left");
    data(&std::fs::read_to_string(out).expect("it was written"))
}

fn nodes(page: &Value, view: usize) -> Vec<&Value> {
    let graphs = page["views"][view]["graphs"].as_array().expect("graphs");
    graphs.iter().flat_map(|graph| graph["nodes"].as_array().expect("nodes")).collect()
}

/// Every index into the table of strings, the clusters, the nodes and the graphs.
fn check(page: &Value, program: &str) {
    let strings = page["strings"].as_array().expect("a table").len() as u64;
    for view in page["views"].as_array().expect("views") {
        let graphs = view["graphs"].as_array().expect("graphs");
        for (at, graph) in graphs.iter().enumerate() {
            let clusters = graph["clusters"].as_array().expect("clusters");
            let nodes = graph["nodes"].as_array().expect("nodes");
            for (i, cluster) in clusters.iter().enumerate().skip(1) {
                assert!(cluster["parent"].as_u64().is_some_and(|parent| parent < i as u64), "{program}: {cluster}");
            }
            for (i, node) in nodes.iter().enumerate() {
                let below = |key: &str, end: u64| node[key].as_u64().unwrap_or(0) < end;
                assert!(below("cluster", clusters.len() as u64), "{program}: {node}");
                for key in ["op", "value", "layout", "ranges", "trace", "modules"] {
                    assert!(below(key, strings), "{program}: {key} of {node}");
                }
                let list = |key: &str| node[key].as_array().cloned().unwrap_or_default();
                assert!(list("inputs").iter().all(|n| n.as_u64().is_some_and(|n| n < i as u64)), "{program}: {node}");
                for graph in list("graphs") {
                    let graph = graph.as_u64().expect("an index") as usize;
                    assert!(graph > at && graph < graphs.len(), "{program}: {node}");
                }
            }
        }
    }
}

#[test]
fn every_program_has_a_page() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs");
    let mut names: Vec<String> = std::fs::read_dir(root)
        .expect("the programs are checked in")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let page = page(&fixture(&name), &[]);
        check(&page, &name);
        let printed = text(&oxport(&["show", &fixture(&name), "--format", "fx"]));
        let top = page["views"][0]["graphs"][0]["nodes"].as_array().map_or(0, Vec::len);
        // A line for each node, and that of the graph; loading may add nodes, so that there are not fewer lines.
        assert!(top > 2 && top < printed.lines().count() + 1, "{name}: {top} nodes, {printed}");
        assert!(nodes(&page, 0).iter().any(|node| node["cost"][0].as_f64().is_some_and(|cost| cost > 0.0)), "{name}");
    }
}

#[test]
fn subgraphs_belong_to_the_nodes_that_call_them() {
    let page = page(&fixture("cond"), &[]);
    let graphs = page["views"][0]["graphs"].as_array().expect("graphs");
    let names: Vec<&str> = graphs.iter().filter_map(|graph| graph["name"].as_str()).collect();
    assert_eq!(names, ["", "true_graph_0", "false_graph_0", "true_graph_1", "false_graph_1"]);
    let callers: Vec<&str> = graphs[1..]
        .iter()
        .filter_map(|graph| {
            let at = graph["parent"][1].as_u64()? as usize;
            graphs[0]["nodes"][at]["name"].as_str()
        })
        .collect();
    assert_eq!(callers, ["cond", "cond", "cond_1", "cond_1"]);
    assert_eq!(page["views"][0]["symbols"], serde_json::json!([{"name": "s77", "range": "2 … ∞", "captured": "5"}]));
}

/// The rules of the report are in the page, and every node that differs says why.
#[test]
fn optimization_is_explained_node_by_node() {
    let page = page(&fixture("llama_block"), &["--optimize", "fast"]);
    check(&page, "llama_block");
    let strings = page["strings"].as_array().expect("a table");
    let labels: Vec<&Value> = page["views"].as_array().expect("views").iter().map(|view| &view["label"]).collect();
    assert_eq!(labels, ["program", "optimized"]);
    let calls = |view: usize| -> HashSet<String> {
        nodes(&page, view).iter().map(|node| format!("{} {} {}", node["name"], node["op"], node["args"])).collect()
    };
    let (before, after) = (calls(0), calls(1));
    let mut of_rules = HashSet::new();
    for (view, mine, others) in [(0, &before, &after), (1, &after, &before)] {
        for node in nodes(&page, view).iter().filter(|node| node["kind"] == "call") {
            let is_same = others.contains(&format!("{} {} {}", node["name"], node["op"], node["args"]));
            assert_eq!(node["change"].is_null(), is_same, "{node}");
            for reason in node["change"]["reasons"].as_array().into_iter().flatten() {
                of_rules.extend(strings[reason.as_u64().expect("an index") as usize].as_str());
            }
            assert!(is_same || node["change"]["reasons"].as_array().is_some_and(|list| !list.is_empty()), "{node}");
        }
        assert!(mine.difference(others).count() > 10);
    }
    let fired: HashSet<&str> =
        page["views"][1]["rules"].as_array().expect("rules").iter().filter_map(|r| r[0].as_str()).collect();
    for rule in ["rms-norm", "attention-repeated-heads"] {
        assert!(fired.contains(rule) && of_rules.contains(rule), "{rule}: {fired:?}, {of_rules:?}");
    }
    // The node that a rule made is that rule's.
    let made = nodes(&page, 1)
        .into_iter()
        .find(|node| node["op"].as_u64().is_some_and(|op| strings[op as usize] == "aten::rms_norm"));
    let reasons = &made.expect("there is one")["change"]["reasons"];
    let is_rms = |reason: &Value| {
        reason
            .as_u64()
            .is_some_and(|at| strings[at as usize] == "rms-norm" || strings[at as usize] == "rms-norm-weight")
    };
    assert!(reasons.as_array().is_some_and(|list| list.iter().any(is_rms)), "{reasons}");
}

#[test]
fn measured_times_are_at_the_nodes() {
    let page = page(&fixture("mlp"), &["--measure", "--runs", "2", "--threads", "1"]);
    assert_eq!(page["views"][0]["is_measured"], true);
    let timed = nodes(&page, 0).into_iter().filter(|node| node["time"].as_f64().is_some_and(|time| time > 0.0)).count();
    assert!(timed > 2, "{timed} nodes");
    let notes = page["views"][0]["notes"].to_string();
    assert!(notes.contains("ms a call, 2 runs, 1 threads"), "{notes}");
}

#[test]
fn a_program_that_is_not_valid_is_shown_with_its_diagnostics() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let path = folder.path().join("wrong.py");
    let source = "def forward(self, x: \"f32[2, 3]\"):\n    y: \"f32[2, 4]\" = torch.ops.aten.relu.default(x)\n    return (y,)\n";
    std::fs::write(&path, source).expect("law: the folder is writable");
    let path = path.to_str().expect("law: paths are UTF-8");
    let page = page(path, &[]);
    let found = &page["views"][0]["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["severity"], &found["node"]),
        (&"meta".into(), &"error".into(), &serde_json::json!([0, 1]))
    );
    // What would rely on it is refused.
    let out = folder.path().join("page.html");
    let refused = oxport(&["view", path, "--html", out.to_str().expect("law: paths are UTF-8"), "--optimize"]);
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(!out.exists());
}

#[test]
fn wrong_requests_are_refused() {
    let mlp = fixture("mlp");
    for (arguments, code, message) in [
        (vec!["view", &mlp, "--html", &mlp], 2, "is the suffix of programs or tensors"),
        (vec!["view", &mlp, "--html", "a.html", "--port", "1"], 2, "cannot be used with"),
        (vec!["view", &mlp, "--html", "a.html", "--random"], 2, "inputs are for --measure, which is not given"),
        (vec!["view", &mlp, "--runs", "3"], 2, "--measure"),
        (vec!["view", "none.pt2"], 6, "cannot open"),
        (vec!["view", &mlp, "--html", "no/such/folder/a.html"], 6, "folder"),
    ] {
        let output = oxport(&arguments);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.contains(message), "{message} in {printed}");
    }
}

#[test]
fn the_server_prints_its_address_and_serves_the_page() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_oxport"))
        .args(["view", &fixture("mlp")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("law: the command line is built");
    let mut line = String::new();
    let read = server.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    assert!(matches!(read, Some(Ok(_))), "{line}");
    let address = line.trim().strip_prefix("http://").expect("an address").to_string();
    let (host, path) = address.split_once('/').expect("a path");
    let ask = |path: &str, host_header: &str| -> String {
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host_header}\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let (page, other, rebound) =
        (ask(&format!("/{path}"), host), ask("/", host), ask(&format!("/{path}"), "evil.example"));
    let _ = server.kill();
    let _ = server.wait();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert_eq!(data(&page)["title"], "program.pt2");
    assert!(other.starts_with("HTTP/1.1 403 ") && rebound.starts_with("HTTP/1.1 403 "), "{other}{rebound}");
}

#[test]
fn the_page_is_the_same_for_the_same_program() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let write = |name: &str| {
        let out = folder.path().join(name);
        assert!(
            oxport(&["view", &fixture("mlp"), "--html", out.to_str().expect("law: paths are UTF-8")]).status.success()
        );
        std::fs::read(out).expect("it was written")
    };
    assert_eq!(write("a.html"), write("b.html"));
}
