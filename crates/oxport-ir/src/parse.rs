//! FX text read back: the parser of what [`crate::print::readable`] prints.
//!
//! Accepted are whole prints (`ExportedProgram:` … `Range constraints:`) and bare `def forward(self, …):` blocks, in
//! which all inputs and outputs are the user's. Comments, blank lines and the `;  x = None` deletions are skipped.
//! An annotation gives dtype and sizes; strides are inferred where the operator has a meta function, else contiguous.
//!
//! Law: nothing is executed; every complaint has a line; the parser goes on after one.

use crate::diagnostic::{Diagnostic, Loc};
use crate::infer::{MetaCx, infer_call};
use crate::lex::{Token, tokens};
use crate::print::{INFIX, PREFIX};
use crate::{
    Argument, Device, ExportedProgram, Fake, Graph, InputKind, Kwargs, MemoryFormat, MemoryLayout, Node, NodeKind,
    OutputKind, RangeConstraint, Registry, Signature, Val,
};
use indexmap::IndexMap;
use oxport_sym::{Expr, Range, ShapeEnv};
use oxport_tensor::DType;
use std::sync::Arc;

/// Reads a program's text.
///
/// # Errors
/// Everything that is wrong with it, by line.
pub fn parse(text: &str, registry: &Registry) -> Result<ExportedProgram, Vec<Diagnostic>> {
    let mut p = Parser { registry, env: ShapeEnv::new(), ranges: IndexMap::new(), errors: Vec::new() };
    // Ranges stand last but are needed first: they decide inference.
    for (i, line) in text.lines().enumerate() {
        if let Some(rest) = line.trim().strip_prefix("Range constraints:")
            && let Err(e) = p.range_constraints(rest)
        {
            p.fail(i, e);
        }
    }
    let mut open: Vec<Block> = Vec::new();
    let mut specs = Specs::default();
    let mut section = Section::Code;
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        match trimmed {
            "" | "ExportedProgram:" => continue,
            "Graph signature:" => section = Section::Inputs,
            "# inputs" if section != Section::Code => section = Section::Inputs,
            "# outputs" if section != Section::Code => section = Section::Outputs,
            t if t.starts_with("Range constraints:") => section = Section::Code,
            t if t.starts_with('#') => continue,
            t if section != Section::Code => {
                if let Err(e) = specs.line(t, section) {
                    p.fail(i, e);
                }
            }
            t => {
                while open.len() > 1 && (t.starts_with("class ") && indent <= open[open.len() - 1].indent) {
                    close(&mut open);
                }
                if let Err(e) = p.code(t, indent, &mut open) {
                    p.fail(i, e);
                }
            }
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    let Some(top) = open.pop() else {
        p.fail(0, "there is no `def forward` in this text".into());
        return Err(p.errors);
    };
    let signature = specs.signature(&top.graph, text.contains("Graph signature:")).unwrap_or_else(|e| {
        p.fail(text.lines().position(|l| l.trim() == "Graph signature:").unwrap_or(0), e);
        Signature::default()
    });
    if !p.errors.is_empty() {
        return Err(p.errors);
    }
    let mut program = ExportedProgram::new(top.graph, signature, p.env);
    program.ranges = p.ranges;
    let mutates =
        |g: &Graph| g.nodes().any(|(_, n)| n.op().is_some_and(|op| op.schema().is_some_and(|s| s.is_mutable())));
    if mutates(&program.graph) {
        program.dialect = crate::Dialect::Training;
    }
    Ok(program)
}

/// A `class` (or bare `def`) that is being read.
struct Block {
    name: Arc<str>,
    indent: usize,
    graph: Graph,
}

fn close(open: &mut Vec<Block>) {
    if let (Some(done), Some(parent)) = (open.pop(), open.last_mut()) {
        parent.graph.subgraphs.insert(done.name, done.graph);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Code,
    Inputs,
    Outputs,
}

/// The lines of `Graph signature:`.
#[derive(Default)]
struct Specs {
    inputs: Vec<(String, InputKind)>,
    outputs: Vec<OutputKind>,
}

impl Specs {
    fn line(&mut self, line: &str, section: Section) -> Result<(), String> {
        let (name, rest) = line.split_once(": ").ok_or("expected `name: KIND`")?;
        let kind = rest.split(' ').next().unwrap_or("");
        let target =
            rest.split_once("target='").and_then(|(_, t)| t.split_once('\'')).map(|(t, _)| Arc::<str>::from(t));
        let target = || target.clone().ok_or(format!("{kind} wants a target"));
        if section == Section::Inputs {
            let kind = match kind {
                "USER_INPUT" => InputKind::UserInput,
                "PARAMETER" => InputKind::Parameter(target()?),
                "BUFFER" => InputKind::Buffer { name: target()?, persistent: !rest.contains("persistent=False") },
                "CONSTANT_TENSOR" => InputKind::TensorConstant(target()?),
                "CUSTOM_OBJ" => InputKind::CustomObj { name: target()?, class: "".into() },
                "TOKEN" => InputKind::Token,
                other => return Err(format!("unknown input kind `{other}`")),
            };
            self.inputs.push((name.to_string(), kind));
        } else {
            self.outputs.push(match kind {
                "USER_OUTPUT" => OutputKind::UserOutput,
                "BUFFER_MUTATION" => OutputKind::BufferMutation(target()?),
                "PARAMETER_MUTATION" => OutputKind::ParameterMutation(target()?),
                "USER_INPUT_MUTATION" => OutputKind::UserInputMutation(target()?),
                "TOKEN" => OutputKind::Token,
                "LOSS_OUTPUT" => OutputKind::LossOutput,
                "GRADIENT_TO_PARAMETER" => OutputKind::GradientToParameter(target()?),
                "GRADIENT_TO_USER_INPUT" => OutputKind::GradientToUserInput(target()?),
                other => return Err(format!("unknown output kind `{other}`")),
            });
        }
        Ok(())
    }
    fn signature(self, graph: &Graph, given: bool) -> Result<Signature, String> {
        if !given {
            let inputs = graph.placeholders().map(|_| InputKind::UserInput.into()).collect();
            let outputs = graph.outputs().iter().map(|_| OutputKind::UserOutput.into()).collect();
            return Ok(Signature { inputs, outputs });
        }
        let names: Vec<&str> = graph.placeholders().map(|(_, n)| &*n.name).collect();
        if names.len() != self.inputs.len() || names.iter().zip(&self.inputs).any(|(a, (b, _))| a != b) {
            return Err("the signature's inputs are not the placeholders in order".into());
        }
        let inputs = self.inputs.into_iter().map(|(_, kind)| kind.into()).collect();
        Ok(Signature { inputs, outputs: self.outputs.into_iter().map(Into::into).collect() })
    }
}

struct Parser<'r> {
    registry: &'r Registry,
    env: ShapeEnv,
    ranges: IndexMap<Expr, RangeConstraint>,
    errors: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn fail(&mut self, line: usize, message: String) {
        self.errors.push(Diagnostic::error("syntax", Loc::Line(line + 1), message));
    }
    /// `{s0: VR[2, int_oo], 2*s0 + 1: VR[5, 201]}`
    fn range_constraints(&mut self, text: &str) -> Result<(), String> {
        let body = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or("expected `{…}`")?;
        for item in body.split("],").map(str::trim).filter(|t| !t.is_empty()) {
            let (expr, range) = item.split_once(": VR[").ok_or("expected `expr: VR[min, max]`")?;
            let (min, max) = range.trim_end_matches(']').split_once(", ").ok_or("expected `VR[min, max]`")?;
            let bound = |t: &str| match t {
                "int_oo" | "-int_oo" => Ok(None),
                t => t.parse().map(Some).map_err(|_| format!("`{t}` is no bound")),
            };
            let (min, max) = (bound(min)?, bound(max)?);
            let expr = Expr::parse(expr).map_err(|e| e.to_string())?;
            if let Some(symbol) = expr.as_symbol() {
                self.env.set_range(symbol, Range::from_bounds(min, max));
            }
            self.ranges.insert(expr, RangeConstraint { min, max });
        }
        Ok(())
    }
    fn code(&mut self, line: &str, indent: usize, open: &mut Vec<Block>) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("class ") {
            let name = rest.split('(').next().unwrap_or("").into();
            open.push(Block { name, indent, graph: Graph::new() });
            return Ok(());
        }
        if let Some(params) = line.strip_prefix("def forward(") {
            if open.is_empty() {
                open.push(Block { name: "GraphModule".into(), indent, graph: Graph::new() });
            }
            let graph = &mut open.last_mut().expect("law: just pushed").graph;
            let tokens = tokens(params)?;
            return self.parameters(&mut Line { tokens: &tokens, at: 0, depth: 0, graph }, params);
        }
        let graph = &mut open.last_mut().ok_or("a statement outside of `def forward`")?.graph;
        let tokens = tokens(line)?;
        let mut line = Line { tokens: &tokens, at: 0, depth: 0, graph };
        if line.eat_name("return") { self.output(&mut line) } else { self.statement(&mut line) }
    }
    fn parameters(&mut self, line: &mut Line<'_>, _text: &str) -> Result<(), String> {
        while !line.eat(")") {
            let name = line.name()?;
            let val = if line.eat(":") { Some(self.annotation(&line.string()?)?) } else { None };
            if name != "self" {
                let mut node = Node::new(name, NodeKind::Placeholder, Vec::new());
                node.meta.val = Some(val.unwrap_or(Val::None));
                line.graph.append(node).map_err(|e| e.to_string())?;
            }
            if !line.eat(",") && line.peek() != Some(&Token::Symbol(")")) {
                return Err("expected `,` or `)`".into());
            }
        }
        Ok(())
    }
    fn output(&mut self, line: &mut Line<'_>) -> Result<(), String> {
        let bare = line.peek() != Some(&Token::Symbol("("));
        let value = line.value(self.registry)?;
        let args = match value {
            Argument::List(l) if !bare => l,
            one => vec![one],
        };
        line.graph.is_single_return = bare;
        line.graph.append(Node::new("output", NodeKind::Output, args)).map(drop).map_err(|e| e.to_string())
    }
    fn statement(&mut self, line: &mut Line<'_>) -> Result<(), String> {
        let name = line.name()?;
        let given = if line.eat(":") { Some(self.annotation(&line.string()?)?) } else { None };
        line.expect("=")?;
        let (kind, args, kwargs) = line.right_hand_side(self.registry)?;
        let inferred = match &kind {
            NodeKind::CallFunction(op) if op.is_getitem() => element(line.graph, &args),
            NodeKind::CallFunction(op) => infer_call(line.graph, op, &args, &kwargs, &MetaCx::new(&self.env)).ok(),
            _ => None,
        };
        let val = match (given, inferred) {
            (Some(Val::Tensor(given)), Some(Val::Tensor(inferred))) if given.sizes == inferred.sizes => {
                Some(Val::Tensor(Fake { dtype: given.dtype, ..inferred }))
            }
            (Some(Val::Int(e)), Some(Val::Float(_))) => Some(Val::Float(e)),
            (Some(Val::Int(e)), Some(Val::Bool(_))) => Some(Val::Bool(e)),
            (Some(given), _) => Some(given),
            (None, inferred) => inferred,
        };
        let mut node = Node::new(name, kind, args);
        node.kwargs = kwargs;
        node.meta.val = val;
        line.graph.append(node).map(drop).map_err(|e| e.to_string())
    }
    /// `f32[s0, 4]` or `Sym(s0 + 1)`
    fn annotation(&mut self, text: &str) -> Result<Val, String> {
        let expr = |t: &str| Expr::parse(t).map_err(|e| format!("in `{text}`: {e}"));
        if let Some(inner) = text.strip_prefix("Sym(").and_then(|t| t.strip_suffix(')')) {
            let e = expr(inner)?;
            return Ok(if self.env.range_of(&e).is_bool() { Val::Bool(e) } else { Val::Int(e) });
        }
        let (dtype, sizes) = text.split_once('[').ok_or_else(|| format!("`{text}` is no annotation"))?;
        let dtype = DType::from_short(dtype).ok_or_else(|| format!("unknown dtype `{dtype}`"))?;
        let sizes = sizes.strip_suffix(']').ok_or_else(|| format!("`{text}` is no annotation"))?;
        let sizes = split_top(sizes).into_iter().map(expr).collect::<Result<Vec<_>, _>>()?;
        Ok(Val::Tensor(Fake::new(dtype, sizes)))
    }
}

/// Splits at commas outside of parentheses.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}

fn element(graph: &Graph, args: &[Argument]) -> Option<Val> {
    match (args.first()?, args.get(1)?) {
        (Argument::Node(of), Argument::Int(i)) => match graph.node(*of).val()? {
            Val::List(l) => l.get(usize::try_from(*i).ok()?).cloned(),
            _ => None,
        },
        _ => None,
    }
}

/// One statement's tokens, and the graph whose names they mean.
struct Line<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The values that are open around the next token.
    depth: usize,
    graph: &'a mut Graph,
}

impl Line<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    fn eat(&mut self, symbol: &str) -> bool {
        let hit = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(hit);
        hit
    }
    fn eat_name(&mut self, name: &str) -> bool {
        let hit = matches!(self.peek(), Some(Token::Name(n)) if n == name);
        self.at += usize::from(hit);
        hit
    }
    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.eat(symbol) { Ok(()) } else { Err(format!("expected `{symbol}`")) }
    }
    fn name(&mut self) -> Result<String, String> {
        let Some(Token::Name(n)) = self.peek() else { return Err("expected a name".into()) };
        let n = n.clone();
        self.at += 1;
        Ok(n)
    }
    fn string(&mut self) -> Result<String, String> {
        let Some(Token::Str(s)) = self.peek() else { return Err("expected a quoted annotation".into()) };
        let s = s.clone();
        self.at += 1;
        Ok(s)
    }
    fn right_hand_side(&mut self, registry: &Registry) -> Result<(NodeKind, Vec<Argument>, Kwargs), String> {
        let call = |name: &str| NodeKind::CallFunction(registry.op(name));
        if let Some(Token::Name(n)) = self.peek()
            && self.graph.find(n).is_none()
        {
            if let Some(attr) = n.strip_prefix("self.") {
                let kind = NodeKind::GetAttr(attr.into());
                self.at += 1;
                return Ok((kind, Vec::new(), Kwargs::new()));
            }
            if matches!(self.tokens.get(self.at + 1), Some(Token::Symbol("("))) {
                let kind = call(n);
                self.at += 2;
                let (args, kwargs) = self.arguments(registry)?;
                return Ok((kind, args, kwargs));
            }
        }
        for (function, symbol) in PREFIX {
            if matches!(self.peek(), Some(Token::Symbol(s)) if s == symbol)
                && matches!(self.tokens.get(self.at + 1), Some(Token::Name(_)))
            {
                self.at += 1;
                let operand = self.value(registry)?;
                return Ok((call(&format!("_operator::{function}")), vec![operand], Kwargs::new()));
            }
        }
        let left = self.value(registry)?;
        if self.eat("[") {
            let index = self.value(registry)?;
            self.expect("]")?;
            return Ok((call("_operator::getitem"), vec![left, index], Kwargs::new()));
        }
        let Some(Token::Symbol(symbol)) = self.peek() else { return Err("expected a call".into()) };
        let (function, _) = INFIX.iter().find(|(_, s)| s == symbol).ok_or(format!("unexpected `{symbol}`"))?;
        self.at += 1;
        let right = self.value(registry)?;
        Ok((call(&format!("_operator::{function}")), vec![left, right], Kwargs::new()))
    }
    fn arguments(&mut self, registry: &Registry) -> Result<(Vec<Argument>, Kwargs), String> {
        let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
        while !self.eat(")") {
            if let (Some(Token::Name(key)), Some(Token::Symbol("="))) = (self.peek(), self.tokens.get(self.at + 1)) {
                let key: Arc<str> = key.as_str().into();
                self.at += 2;
                kwargs.insert(key, self.value(registry)?);
            } else {
                args.push(self.value(registry)?);
            }
            if !self.eat(",") && self.peek() != Some(&Token::Symbol(")")) {
                return Err("expected `,` or `)`".into());
            }
        }
        Ok((args, kwargs))
    }
    fn items(&mut self, close: &str, registry: &Registry) -> Result<Vec<Argument>, String> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.value(registry)?);
            if !self.eat(",") && !matches!(self.peek(), Some(Token::Symbol(s)) if *s == close) {
                return Err(format!("expected `,` or `{close}`"));
            }
        }
        Ok(items)
    }
    fn value(&mut self, registry: &Registry) -> Result<Argument, String> {
        /// Programs nest lists two deep.
        const MOST: usize = 64;
        if self.depth == MOST {
            return Err(format!("values nest deeper than {MOST} levels"));
        }
        self.depth += 1;
        let value = self.open_value(registry);
        self.depth -= 1;
        value
    }
    fn open_value(&mut self, registry: &Registry) -> Result<Argument, String> {
        let token = self.peek().cloned().ok_or("the line ends too early")?;
        self.at += 1;
        Ok(match token {
            Token::Int(n) => Argument::Int(n),
            Token::Float(x) => Argument::Float(x),
            Token::Str(s) => Argument::Str(s.into()),
            Token::Symbol("[") => Argument::List(self.items("]", registry)?),
            Token::Symbol("(") => Argument::List(self.items(")", registry)?),
            Token::Symbol("{") => {
                let mut dict = Kwargs::new();
                while !self.eat("}") {
                    let key = self.string()?;
                    self.expect(":")?;
                    dict.insert(key.into(), self.value(registry)?);
                    self.eat(",");
                }
                Argument::Dict(dict)
            }
            Token::Symbol("-") => match self.value(registry)? {
                Argument::Int(n) => Argument::Int(-n),
                Argument::Float(x) => Argument::Float(-x),
                _ => return Err("`-` wants a number here".into()),
            },
            Token::Symbol(s) => return Err(format!("unexpected `{s}`")),
            Token::Name(n) => self.named(&n, registry)?,
        })
    }
    fn named(&mut self, name: &str, registry: &Registry) -> Result<Argument, String> {
        if let Some(id) = self.graph.find(name) {
            return Ok(Argument::Node(id));
        }
        Ok(match name {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            "inf" => Argument::Float(f64::INFINITY),
            "nan" => Argument::Float(f64::NAN),
            "device" => {
                self.expect("(")?;
                let (_, kwargs) = self.arguments(registry)?;
                let Some(Argument::Str(kind)) = kwargs.get("type") else { return Err("device wants a type".into()) };
                let index = kwargs.get("index").and_then(Argument::as_int);
                Argument::Device(Device { kind: kind.clone(), index })
            }
            "complex" => {
                self.expect("(")?;
                let (args, _) = self.arguments(registry)?;
                let part = |a: Option<&Argument>| match a {
                    Some(Argument::Float(x)) => Ok(*x),
                    Some(Argument::Int(n)) => Ok(*n as f64),
                    _ => Err("complex wants two numbers".to_string()),
                };
                Argument::Complex(crate::Complex::new(part(args.first())?, part(args.get(1))?))
            }
            n if n.starts_with("torch.ops.") => Argument::Op(registry.op(n)),
            n => match n.strip_prefix("torch.") {
                Some(t) => torch_constant(t).ok_or_else(|| format!("unknown name `{n}`"))?,
                None => return Err(format!("`{n}` is not defined before this line")),
            },
        })
    }
}

/// `float32`, `contiguous_format`, `strided`
fn torch_constant(name: &str) -> Option<Argument> {
    let format = || MemoryFormat::ALL.into_iter().find(|m| m.name() == name).map(Argument::MemoryFormat);
    let layout = || MemoryLayout::ALL.into_iter().find(|l| l.name() == name).map(Argument::Layout);
    DType::from_name(name).map(Argument::DType).or_else(format).or_else(layout)
}
