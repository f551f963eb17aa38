//! FX text read back: what [`crate::print`] prints, and the spellings of older PyTorch.
//!
//! Accepted are whole prints (`ExportedProgram:` … `Range constraints:`), bare `def forward(self, …):` blocks, and
//! graphs (`graph():` with a line a node), in which all inputs and outputs are the user's. Comments, blank lines and
//! the `;  x = None` deletions are skipped. An annotation gives dtype and sizes; strides are inferred where the
//! operator has a meta function, else contiguous. In the graph form nothing is annotated: its inputs have no meta,
//! which the verifier reports.
//!
//! Laws: nothing is executed; every complaint has a line; the parser goes on after one; time grows with the text, and
//! what nests too deeply is refused.

use super::lex::tokens;
use super::line::Line;
use super::sections::{Side, Specs, read_ranges};
use super::vals::read_val;
use super::whole::{self, Facts};
use super::{lines, metas};
use crate::diagnostic::{Diagnostic, Loc};
use crate::{
    Argument, Dialect, ExportedProgram, Graph, Node, NodeId, NodeKind, NodeMeta, Op, RangeConstraint, Registry,
    Signature, Val,
};
use indexmap::IndexMap;
use oxport_sym::{Expr, Range, ShapeEnv};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads a program's text.
///
/// # Errors
/// Everything that is wrong with it, by line.
pub fn parse(text: &str, registry: &Registry) -> Result<ExportedProgram, Vec<Diagnostic>> {
    let (env, ranges) = (ShapeEnv::new(), IndexMap::new());
    let mut p = Parser { registry, env, ranges, facts: Facts::default(), errors: Vec::new() };
    p.knowledge(text);
    let (graph, specs) = if lines::is_graph(text) { (p.graph(text), None) } else { p.readable(text) };
    let Some(mut graph) = graph else {
        p.fail(0, "there is no `def forward` and no `graph():` in this text".into());
        return Err(p.errors);
    };
    if !p.facts.is_whole {
        if let Some(specs) = &specs {
            specs.rename_outputs(&mut graph);
        }
        metas::complete(&mut graph, &p.env);
    }
    let given = specs.is_some();
    let signature = specs.unwrap_or_default().signature(&graph, given).unwrap_or_else(|e| {
        p.fail(text.lines().position(|l| l.trim() == SIGNATURE).unwrap_or(0), e);
        Signature::default()
    });
    if !p.errors.is_empty() {
        return Err(p.errors);
    }
    let mut program = ExportedProgram::new(graph, signature, p.env);
    program.ranges = p.ranges;
    let mutates = |g: &Graph| g.nodes().any(|(_, n)| n.op().and_then(Op::schema).is_some_and(|s| s.is_mutable()));
    if mutates(&program.graph) {
        program.dialect = Dialect::Training;
    }
    match p.facts.complete(&mut program) {
        Ok(()) => Ok(program),
        Err((line, message)) => Err(vec![Diagnostic::error("syntax", Loc::Line(line + 1), message)]),
    }
}

const SIGNATURE: &str = "Graph signature:";
const RANGES: &str = "Range constraints:";

/// A `class` (or bare `def`) that is being read.
struct Block {
    name: Arc<str>,
    indent: usize,
    graph: Graph,
    /// What names mean in the code.
    scope: HashMap<String, NodeId>,
    /// Names that nodes have elsewhere than in the code.
    renamed: Vec<(usize, NodeId, Arc<str>)>,
    /// Nodes that only PyTorch has.
    absent: Vec<NodeId>,
    /// What the last comment says of the origin of the nodes below.
    origin: NodeMeta,
}

impl Block {
    fn new(name: &str, indent: usize) -> Block {
        let (graph, scope) = (Graph::new(), HashMap::new());
        Block {
            name: name.into(),
            indent,
            graph,
            scope,
            renamed: Vec::new(),
            absent: Vec::new(),
            origin: NodeMeta::default(),
        }
    }
    fn append(&mut self, mut node: Node) -> Result<NodeId, String> {
        let name = node.name.to_string();
        if matches!(node.kind, NodeKind::CallFunction(_) | NodeKind::GetAttr(_)) {
            node.meta = self.origin.derived(node.meta.val.take());
        }
        if self.scope.contains_key(&name) {
            return Err(format!("the name `{name}` is taken"));
        }
        // Nodes are renamed at the end; until then a name of the code may be that of another node.
        let id = self.graph.append(node).map_err(|e| e.to_string())?;
        self.scope.insert(name, id);
        Ok(id)
    }
    /// The graph, its nodes under their own names.
    fn finish(mut self, p: &mut Parser<'_>) -> Graph {
        for id in std::mem::take(&mut self.absent) {
            let _ = self.graph.erase(id);
        }
        for (_, id, _) in &self.renamed {
            let free = self.graph.unique_name("__renamed");
            let _ = self.graph.rename(*id, &free);
        }
        for (line, id, name) in self.renamed {
            if let Err(e) = self.graph.rename(id, &name) {
                p.fail(line, e.to_string());
            }
        }
        self.graph
    }
}

struct Parser<'r> {
    registry: &'r Registry,
    env: ShapeEnv,
    ranges: IndexMap<Expr, RangeConstraint>,
    facts: Facts,
    errors: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn fail(&mut self, line: usize, message: String) {
        self.errors.push(Diagnostic::error("syntax", Loc::Line(line + 1), message));
    }

    /// Ranges and symbols stand last but are needed first: they decide inference.
    fn knowledge(&mut self, text: &str) {
        for (i, line) in text.lines().enumerate() {
            // Facts of the program stand at the margin, those of nodes within its code.
            if let Some(fact) = line.strip_prefix(whole::MARK)
                && let Err(e) = self.facts.read(i, fact, self.registry, &mut self.env)
            {
                self.fail(i, e);
            }
        }
        for (i, line) in text.lines().enumerate() {
            let Some(rest) = line.trim().strip_prefix(RANGES) else { continue };
            match read_ranges(rest, &|text| self.facts.expr(text)) {
                Ok(ranges) => {
                    for (expr, range) in ranges {
                        if let Some(symbol) = expr.as_symbol() {
                            self.env.set_range(symbol, Range::declared(symbol, range.min, range.max));
                        }
                        self.ranges.insert(expr, range);
                    }
                }
                Err(e) => self.fail(i, e),
            }
        }
    }

    fn graph(&mut self, text: &str) -> Option<Graph> {
        let (env, registry) = (&self.env, self.registry);
        let annotation = |text: &str| self.facts.annotation(text, env);
        match lines::parse(text, registry, env, &annotation) {
            Ok(graph) => Some(graph),
            Err(errors) => {
                errors.into_iter().for_each(|(line, message)| self.fail(line, message));
                Some(Graph::new())
            }
        }
    }

    fn readable(&mut self, text: &str) -> (Option<Graph>, Option<Specs>) {
        let mut open: Vec<Block> = Vec::new();
        let mut specs = None;
        let mut side = None;
        for (i, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            let indent = line.len() - line.trim_start().len();
            let said = match trimmed {
                "" | "ExportedProgram:" => Ok(()),
                SIGNATURE => {
                    (specs, side) = (Some(Specs::default()), Some(Side::Inputs));
                    Ok(())
                }
                "# inputs" if side.is_some() => {
                    side = Some(Side::Inputs);
                    Ok(())
                }
                "# outputs" if side.is_some() => {
                    side = Some(Side::Outputs);
                    Ok(())
                }
                t if t.starts_with(RANGES) => {
                    side = None;
                    Ok(())
                }
                t if t.starts_with(whole::MARK) && indent > 0 => match open.last_mut() {
                    Some(block) => self.fact(i, &t[whole::MARK.len()..], block),
                    None => Err("a fact outside of `def forward`".to_string()),
                },
                t if t.starts_with('#') => {
                    if let (Some(block), Some(origin)) = (open.last_mut(), self.origin(t)) {
                        block.origin = origin;
                    }
                    Ok(())
                }
                t => match (side, &mut specs) {
                    (Some(side), Some(specs)) => specs.line(t, side),
                    _ => {
                        while open.len() > 1 && (t.starts_with("class ") && indent <= open[open.len() - 1].indent) {
                            self.close(&mut open);
                        }
                        self.code(t, indent, &mut open)
                    }
                },
            };
            if let Err(e) = said {
                self.fail(i, e);
            }
        }
        while open.len() > 1 {
            self.close(&mut open);
        }
        (open.pop().map(|top| top.finish(self)), specs)
    }

    fn close(&mut self, open: &mut Vec<Block>) {
        if let (Some(done), Some(parent)) = (open.pop(), open.last_mut()) {
            let name = done.name.clone();
            parent.graph.subgraphs.insert(name, done.finish(self));
        }
    }

    fn code(&mut self, line: &str, indent: usize, open: &mut Vec<Block>) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("class ") {
            if open.len() >= MOST_OPEN {
                return Err(format!("classes nest deeper than {MOST_OPEN} levels"));
            }
            open.push(Block::new(rest.split('(').next().unwrap_or(""), indent));
            return Ok(());
        }
        let parameters = line.strip_prefix("def forward(");
        if parameters.is_some() && open.is_empty() {
            open.push(Block::new("GraphModule", indent));
        }
        let block = open.last_mut().ok_or("a statement outside of `def forward`")?;
        let tokens = tokens(parameters.unwrap_or(line))?;
        let scope = std::mem::take(&mut block.scope);
        let nodes = |name: &str| scope.get(name).copied();
        let mut line = Line::new(&tokens, &nodes, self.registry);
        let read = match parameters {
            Some(_) => self.parameters(&mut line),
            None if line.eat_name("return") => output(&mut line).map(|(node, is_bare)| {
                block.graph.is_single_return = is_bare;
                Read::Nodes(vec![node])
            }),
            None => self.statement(&mut line, &block.graph),
        };
        // Behind a statement stand deletions, behind the inputs what is returned.
        let follows =
            line.at >= tokens.len() || line.is_at(if parameters.is_some() { ":" } else { ";" }) || line.is_at("->");
        let rest = line.peek().map_or(String::new(), ToString::to_string);
        block.scope = scope;
        let read = read?;
        if !follows {
            return Err(format!("unexpected `{rest}`"));
        }
        match read {
            Read::Nodes(nodes) => nodes.into_iter().try_for_each(|node| block.append(node).map(drop)),
            Read::Alias(name, id) => match block.scope.insert(name, id) {
                Some(other) if other != id => Err("the name is taken".to_string()),
                _ => Ok(()),
            },
        }
    }

    fn parameters(&mut self, line: &mut Line<'_>) -> Result<Read, String> {
        let mut nodes = Vec::new();
        while !line.eat(")") {
            let name = line.name()?;
            let val = if line.eat(":") { self.annotation(&line.annotation()?)? } else { None };
            let default = if line.eat("=") { vec![line.value()?] } else { Vec::new() };
            if name != "self" {
                let mut node = Node::new(name, NodeKind::Placeholder, default);
                node.meta.val = val;
                nodes.push(node);
            }
            if !line.eat(",") && !line.is_at(")") {
                return Err("expected `,` or `)`".into());
            }
        }
        Ok(Read::Nodes(nodes))
    }

    fn statement(&mut self, line: &mut Line<'_>, graph: &Graph) -> Result<Read, String> {
        let name = line.name()?;
        let given = if line.eat(":") { self.annotation(&line.annotation()?)? } else { None };
        line.expect("=")?;
        let start = line.at;
        if let Ok(Argument::Node(id)) = line.value()
            && line.at >= line.tokens.len()
        {
            return Ok(Read::Alias(name, id));
        }
        line.at = start;
        let (kind, args, kwargs) = line.right_hand_side()?;
        let mut node = Node { kwargs, ..Node::new(name, kind, args) };
        node.meta.val = match self.facts.is_whole {
            true => given,
            false => metas::refined(given, metas::inferred(graph, &node, &self.env), &self.env),
        };
        Ok(Read::Nodes(vec![node]))
    }

    /// The value of an annotation; none where it only says that there is a tensor.
    fn annotation(&self, text: &str) -> Result<Option<Val>, String> {
        self.facts.annotation(text, &self.env)
    }

    /// What a comment says of the origin of the nodes below it, if it is one of PyTorch's: the last frame of a stack
    /// trace, and the user's annotation. The whole text says it otherwise.
    fn origin(&self, comment: &str) -> Option<NodeMeta> {
        let comment = comment.strip_prefix("# ")?;
        let (annotation, comment) = match comment.strip_prefix("Annotation: ") {
            Some(rest) => {
                let end = rest.find("} File: ").or_else(|| rest.find("} No stacktrace"))?;
                (Some(&rest[..=end]), &rest[end + 2..])
            }
            None => (None, comment),
        };
        let mut meta = NodeMeta::default();
        if let Some(frame) = comment.strip_prefix("File: ") {
            let (place, code) =
                frame.split_once(", code: ").or_else(|| frame.strip_suffix(", code:").map(|p| (p, "")))?;
            let (place, function) = place.rsplit_once(" in ")?;
            let (file, line) = place.rsplit_once(':')?;
            meta.stack_trace = Some(format!("  File \"{file}\", line {line}, in {function}\n    {code}").into());
        } else if !comment.starts_with("No stacktrace found") {
            return None;
        }
        if self.facts.is_whole {
            return Some(NodeMeta::default());
        }
        if let Some(annotation) = annotation {
            let tokens = tokens(annotation).ok()?;
            let value = Line::new(&tokens, &|_| None, self.registry).value().ok()?;
            meta.extra.push(("custom".into(), json(&value).to_string().into()));
        }
        Some(meta)
    }

    /// What a line says of a node beside PyTorch's text.
    fn fact(&mut self, at: usize, text: &str, block: &mut Block) -> Result<(), String> {
        let tokens = tokens(text)?;
        let nothing = |_: &str| None;
        let mut line = Line::new(&tokens, &nothing, self.registry);
        let subject = line.name()?;
        let (node, what) = subject.rsplit_once('.').ok_or("expected `node.fact(…)`")?;
        line.expect("(")?;
        let (args, _) = line.arguments()?;
        let id = if node == "return" { block.graph.output() } else { block.scope.get(node).copied() };
        let id = id.ok_or_else(|| format!("`{node}` is not defined before this line"))?;
        let text = |i: usize| match args.get(i) {
            Some(Argument::Str(text)) => Ok(text.clone()),
            _ => Err(format!("`{what}`: expected a string")),
        };
        match what {
            "name" => block.renamed.push((at, id, text(0)?)),
            "absent" => block.absent.push(id),
            "val" => {
                let val = match args.first() {
                    None => None,
                    Some(_) => Some(read_val(&text(0)?, &|text| self.facts.expr(text))?),
                };
                block.graph.meta_mut(id).val = val;
            }
            "stack_trace" => block.graph.meta_mut(id).stack_trace = Some(text(0)?),
            "nn_module_stack" => block.graph.meta_mut(id).nn_module_stack = Some(text(0)?),
            "torch_fn" => block.graph.meta_mut(id).torch_fn = Some(text(0)?),
            "meta" => block.graph.meta_mut(id).extra.push((text(0)?, text(1)?)),
            other => return Err(format!("unknown fact `{other}`")),
        }
        Ok(())
    }
}

/// A Python literal as JSON.
fn json(value: &Argument) -> serde_json::Value {
    match value {
        Argument::Bool(b) => (*b).into(),
        Argument::Int(n) => (*n).into(),
        Argument::Float(x) => (*x).into(),
        Argument::Str(s) => (**s).into(),
        Argument::List(items) => items.iter().map(json).collect(),
        Argument::Dict(entries) => entries.iter().map(|(key, value)| (key.to_string(), json(value))).collect(),
        _ => serde_json::Value::Null,
    }
}

/// What a statement says.
enum Read {
    /// Nodes to be added.
    Nodes(Vec<Node>),
    /// Another name for a node: `input_1 = input`.
    Alias(String, NodeId),
}

/// The output node, and whether it returns its value bare.
fn output(line: &mut Line<'_>) -> Result<(Node, bool), String> {
    let is_bare = !line.is_at("(");
    let args = match line.value()? {
        Argument::List(items) if !is_bare => items,
        one => vec![one],
    };
    Ok((Node::new("output", NodeKind::Output, args), is_bare))
}

/// Subgraphs nest two or three deep.
const MOST_OPEN: usize = 64;
