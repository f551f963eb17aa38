//! The page, its server and the picture: on programs that are written as text, without any operator table.

use oxport_ir::{Diagnostic, ExportedProgram, Loc, Registry};
use oxport_view::clusters::Clusters;
use oxport_view::{Change, ChangeKind, Page, Server, Source, dot, html};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

fn program(text: &str) -> ExportedProgram {
    oxport_ir::parse::parse(text, &Registry::new(&[], "")).unwrap_or_else(|found| panic!("{found:?}"))
}

/// Two layers, of which the first is called twice, and one with a name that is used on its own.
const LAYERS: &str = r#"
def forward(self, x: "f32[s0, 4]"):
    a: "f32[s0, 4]" = torch.ops.mine.first.default(x)
    #: a.nn_module_stack('L__self__,,net.Net;L__self___layers_0,layers.0,net.Layer;i,layers.0.inner,net.Inner')
    #: a.stack_trace('File "net.py", line 3, in forward\n    y = self.inner(x)')
    b: "f32[s0, 4]" = torch.ops.mine.second.default(a, 2)
    #: b.nn_module_stack('L__self__,,net.Net;L__self___layers_0,layers.0,net.Layer')
    c: "f32[s0, 4]" = torch.ops.mine.first.default(b)
    #: c.nn_module_stack('L__self__,,net.Net;L__self___layers_0@1,layers.0,net.Layer;i@1,layers.0.inner,net.Inner')
    d: "f32[s0, 4]" = torch.ops.mine.first.default(c)
    #: d.nn_module_stack('L__self__,,net.Net;h,head,net.Head')
    e: "f32[s0, 4]" = torch.ops.mine.second.default(d, a)
    return (e,)
"#;

fn source<'a>(program: &'a ExportedProgram, diagnostics: &'a [Diagnostic]) -> Source<'a> {
    Source {
        label: "program",
        notes: Vec::new(),
        program,
        diagnostics,
        model: &|cost| cost.bytes,
        measured: Default::default(),
        changes: Default::default(),
        rules: Vec::new(),
    }
}

/// The data of a document, read as a browser reads it: the text of the element, up to the first end of a script.
fn data(document: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let at = document.find(begin).expect("the document has data") + begin.len();
    let end = document[at..].to_ascii_lowercase().find("</script").expect("the element ends");
    serde_json::from_str(&document[at..at + end]).expect("it is JSON")
}

#[test]
fn modules_are_clusters() {
    let clusters = Clusters::of_program(&program(LAYERS));
    let path = |at: usize| {
        let (mut at, mut names) = (at, Vec::new());
        while at > 0 {
            names.insert(0, clusters.list[at].name.clone());
            at = clusters.list[at].parent;
        }
        names.join("/")
    };
    let of: Vec<String> = clusters.of.iter().map(|at| path(*at)).collect();
    assert_eq!(of, ["", "layers/0/inner", "layers/0", "layers/0@1.inner@1", "head", "", ""]);
    let classes: Vec<&str> = clusters.list.iter().map(|c| &*c.class).collect();
    assert_eq!(classes, ["", "", "net.Layer", "net.Inner", "net.Inner", "net.Head"]);
}

#[test]
fn every_index_of_a_page_is_in_range() {
    let program = program(LAYERS);
    let at = Loc::Argument { graph: String::new(), node: "d".into(), argument: "0".into() };
    let found = [Diagnostic::error("broadcast", at, "wrong"), Diagnostic::warning("range", Loc::Program, "odd")];
    let change = Change { kind: ChangeKind::Added, other: String::new(), reasons: vec!["a-rule".into()] };
    let mut source = source(&program, &found);
    source.changes.insert("c".into(), change);
    source.measured.insert("b".into(), 1234.56);
    let page = data(&html(&Page::new("net").with(&source)));
    let strings = page["strings"].as_array().expect("a table");
    let string = |at: &Value| strings[at.as_u64().unwrap_or(0) as usize].as_str().expect("a string");
    let view = &page["views"][0];
    let nodes = view["graphs"][0]["nodes"].as_array().expect("nodes");
    let shown: Vec<String> = nodes
        .iter()
        .map(|node| {
            let inputs: Vec<&str> = node["inputs"].as_array().map_or_else(Vec::new, |list| {
                list.iter().map(|i| nodes[i.as_u64().unwrap_or(99) as usize]["name"].as_str().unwrap_or("")).collect()
            });
            format!("{} {} {} [{}]", node["name"], string(&node["op"]), string(&node["value"]), inputs.join(" "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "\"x\" input f32[s0, 4] []",
            "\"a\" mine::first f32[s0, 4] [x]",
            "\"b\" mine::second f32[s0, 4] [a]",
            "\"c\" mine::first f32[s0, 4] [b]",
            "\"d\" mine::first f32[s0, 4] [c]",
            "\"e\" mine::second f32[s0, 4] [d a]",
            "\"output\" output  [e]",
        ]
    );
    assert_eq!(string(&nodes[1]["trace"]), "File \"net.py\", line 3, in forward\n    y = self.inner(x)");
    assert_eq!(nodes[2]["args"][1][1], "2");
    assert_eq!(nodes[2]["time"], 1234.6);
    assert_eq!((&nodes[3]["change"]["kind"], string(&nodes[3]["change"]["reasons"][0])), (&"added".into(), "a-rule"));
    assert_eq!(view["diagnostics"][0]["node"], serde_json::json!([0, 4]));
    assert_eq!(view["diagnostics"][1]["node"], Value::Null);
    assert_eq!(view["symbols"][0]["name"], "s0");
}

/// A program in which every text of a stranger tries to be markup, code, or to command the reader.
fn hostile() -> (ExportedProgram, &'static str) {
    const EVIL: &str = "</script><img src=x onerror=\"alert(1)\"><!--<script>\u{2028}\u{202e}\u{0}&lt;'`${1}{{script}}";
    let mut program = program(LAYERS);
    let ids: Vec<_> = program.graph.ids().collect();
    for (i, id) in ids.iter().enumerate() {
        program.graph.rename(*id, &format!("{EVIL}{i}")).expect("the name is free");
        let meta = program.graph.meta_mut(*id);
        meta.stack_trace = Some(EVIL.into());
        meta.nn_module_stack = Some(format!("{EVIL},{EVIL},{EVIL}").replace(';', "").into());
        meta.torch_fn = Some(EVIL.into());
        meta.extra.push((EVIL.into(), EVIL.into()));
    }
    (program, EVIL)
}

#[test]
fn no_text_of_a_program_is_markup() {
    let (program, evil) = hostile();
    let found = [Diagnostic::error("broadcast", Loc::node(format!("{evil}2")), evil).note(evil)];
    let change = Change { kind: ChangeKind::Changed, other: evil.into(), reasons: vec![evil.into()] };
    let mut source = source(&program, &found);
    source.label = evil;
    source.notes.push(evil.into());
    source.rules.push((evil.into(), 1));
    source.changes.insert(format!("{evil}2"), change);
    let document = html(&Page::new(evil).with(&source));
    let calm = html(&Page::new("calm"));
    // The same tags as without a program.
    let tags = |text: &str| {
        ["<script", "</script", "<img", "<!--", "<svg", "<title", "</title"].map(|tag| text.matches(tag).count())
    };
    assert_eq!(tags(&document), tags(&calm));
    for c in ['\u{2028}', '\u{202e}', '\0'] {
        assert!(!document.contains(c), "{c:?}");
    }
    let page = data(&document);
    let title = page["title"].as_str().expect("a title");
    assert!(title.starts_with("</script><img src=x onerror=\"alert(1)\"><!--<script>\\u{2028}"), "{title}");
    assert!(title.ends_with("{{script}}"), "{title}");
    assert_eq!(page["views"][0]["diagnostics"][0]["node"], serde_json::json!([0, 2]));
}

#[test]
fn the_same_program_gives_the_same_document() {
    let program = program(LAYERS);
    let make = || html(&Page::new("net").with(&source(&program, &[])));
    assert_eq!(make(), make());
}

#[test]
fn the_picture_is_valid_whatever_names_are() {
    let (hostile, _) = hostile();
    let mut quotes = program(LAYERS);
    let id = quotes.graph.find("a").expect("it is there");
    quotes.graph.rename(id, "\"; \\\" -> \\").expect("the name is free");
    for program in [program(LAYERS), hostile, quotes] {
        let text = dot(&program);
        let (mut depth, mut nodes, mut edges) = (0i64, 0, 0);
        for line in text.lines() {
            // What is left without strings is a small grammar.
            let (mut bare, mut chars, mut is_string) = (String::new(), line.trim().chars(), false);
            while let Some(c) = chars.next() {
                match c {
                    '\\' if is_string => drop(chars.next()),
                    '"' => {
                        is_string = !is_string;
                        bare.push('"');
                    }
                    c if !is_string => bare.push(c),
                    _ => {}
                }
            }
            assert!(!is_string, "{line}");
            match &*bare {
                "digraph program {" => depth += 1,
                "}" => depth -= 1,
                "\"\" [label=\"\"];" => nodes += 1,
                "\"\" -> \"\" [label=\"\"];" => edges += 1,
                other if other.starts_with("subgraph cluster_") && other.ends_with(" { label=\"\";") => depth += 1,
                other if ["graph [", "node [", "edge ["].iter().any(|kind| other.starts_with(kind)) => {}
                other => panic!("{other}: {line}"),
            }
        }
        assert_eq!((depth, nodes, edges), (0, 7, 7), "{text}");
    }
}

/// What the server answers: the status line, the headers, and the body.
fn ask(port: &str, request: &str) -> (String, String, String) {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("law: it is a socket");
    // A refusal may come before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let (status, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    (status.to_string(), headers.to_string(), body.to_string())
}

#[test]
fn the_server_answers_its_own_address_only() {
    let document = html(&Page::new("net"));
    let server = Server::bind(0, document.clone()).expect("a port is free");
    let address = server.address();
    let other = Server::bind(0, String::new()).expect("a port is free").address();
    std::thread::spawn(move || server.serve());
    let rest = address.strip_prefix("http://127.0.0.1:").expect("it is the loopback interface");
    let (port, path) = rest.split_once('/').expect("there is a path");
    let (path, host) = (format!("/{path}"), format!("127.0.0.1:{port}"));
    assert!(path.len() == 34 && path.ends_with('/'), "{path}");
    assert_ne!(
        other.rsplit_once(':').map(|(_, rest)| &rest[6..]),
        address.rsplit_once(':').map(|(_, rest)| &rest[6..])
    );

    let request = |method: &str, path: &str, host: &str| format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let wrong = format!("/{}/", "0".repeat(32));
    let long = format!("{path}{}", "x".repeat(9000));
    let many: String = (0..100).map(|i| format!("X-{i}: 1\r\n")).collect();
    let rebound = format!("evil.example:{port}");
    let cases = [
        (request("GET", &path, &host), 200),
        (request("GET", &path, &format!("localhost:{port}")), 200),
        (request("HEAD", &path, &host), 200),
        (request("GET", "/", &host), 403),
        (request("GET", &wrong, &host), 403),
        (request("GET", &path[..path.len() - 1], &host), 403),
        (request("GET", &format!("{path}?x"), &host), 403),
        (request("GET", &path, &rebound), 403),
        (request("GET", &path, "127.0.0.1"), 403),
        (format!("GET {path} HTTP/1.1\r\n\r\n"), 403),
        (format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: {rebound}\r\n\r\n"), 403),
        (request("POST", &path, &host), 405),
        (request("GET", &long, &host), 431),
        (format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"), 431),
        ("\u{16}\u{3}\u{1}\r\n\r\n".to_string(), 400),
        (format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n"), 400),
        (String::new(), 400),
    ];
    for (request, code) in &cases {
        let (status, headers, body) = ask(port, request);
        let shown: String = request.chars().take(120).collect();
        assert!(status.starts_with(&format!("HTTP/1.1 {code} ")), "{status} for {shown}");
        let is_head = request.starts_with("HEAD");
        assert_eq!(body == document, *code == 200 && !is_head, "{shown}");
        assert!(!body.contains("evil") && !headers.contains("evil"), "{shown}");
        for header in ["default-src 'none'", "frame-ancestors 'none'", "no-store", "nosniff", "no-referrer"] {
            assert!(headers.contains(header), "{header} for {shown}");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let first = Server::bind(0, String::new()).expect("a port is free");
    let address = first.address();
    let port: u16 = address.split([':', '/']).nth(4).and_then(|port| port.parse().ok()).expect("a port");
    let error = Server::bind(port, String::new()).expect_err("it is taken");
    assert_eq!(error.to_string(), format!("cannot listen on 127.0.0.1:{port}"));
}
