//! Calls of kernels as text, for tests: `call("aten::cumsum", "f32[[1, 2], [3, nan]], 1")` is `f32[2, 2] 1 3 3 nan`.
//!
//! ```text
//! argument := dtype literal | number | True | False | None | "string" | [argument, …] | name=argument
//! ```

use oxport_ir::args::bind;
use oxport_ir::{
    Arg, Args, Argument, Fake, Graph, Kernel, MetaCx, Node, NodeId, NodeKind, Real, Result, RunCx, Val, Value,
};
use oxport_sym::ShapeEnv;
use oxport_tensor::{DType, Tensor, TensorMut};
use std::sync::Arc;

/// The results of a call, separated by `; `, or `error: …`.
pub fn call(op: &str, text: &str) -> String {
    match run(op, text) {
        Ok(values) => values.iter().map(show).collect::<Vec<_>>().join("; "),
        Err(e) => format!("error: {e}"),
    }
}

/// Checks rows of (operator, arguments, results); `error` stands for any error.
pub fn check(rows: &[(&str, &str, &str)]) {
    for (op, arguments, want) in rows {
        let got = call(&format!("aten::{op}"), arguments);
        let fits = got == *want || *want == "error" && got.starts_with("error: ");
        assert!(fits, "{op}({arguments})\n got {got}\nwant {want}");
    }
}

fn run(op: &str, text: &str) -> Result<Vec<Value>> {
    let op = oxport_ops::registry().implemented(op)?;
    let schema = op.schema().expect("law: implemented operators have schemas");
    let mut p = Parser { rest: text, graph: Graph::new(), tensors: Vec::new() };
    let (mut args, mut kwargs) = (Vec::new(), Vec::<(Arc<str>, Argument)>::new());
    while !p.rest.trim().is_empty() {
        match p.key() {
            Some(key) => kwargs.push((key.into(), p.argument())),
            None => args.push(p.argument()),
        }
        p.eat(",");
    }
    let tensor = |id| p.tensors.iter().find(|(t, _)| *t == id).expect("law: nodes are the tensors").1.clone();
    let values = bind::<Real>(schema, &args, &kwargs.into_iter().collect(), &mut |id| Ok(Arg::Tensor(tensor(id))))?;
    let def = op.def().expect("law: checked above");
    let (env, cx) = (ShapeEnv::new(), RunCx::default());
    let metas = oxport_ops::support::meta::fake_args(&values);
    let vals = (def.meta)(&Args::new(&metas, &op, &MetaCx::new(&env)))?;
    let args = Args::new(&values, &op, &cx);
    match def.kernel {
        Kernel::Eval(f) => f(&args),
        Kernel::Fill(f) => {
            let fakes = vals.iter().flat_map(Val::tensors);
            let mut outs = fakes
                .map(|t| Ok(TensorMut::empty(t.dtype, t.concrete_layout().expect("law: sizes are numbers"))?))
                .collect::<Result<Vec<_>>>()?;
            f(&args, &mut outs)?;
            Ok(outs.into_iter().map(|o| o.freeze().into()).collect())
        }
        _ => panic!("{} has no such kernel", op.name()),
    }
}

fn show(v: &Value) -> String {
    match v {
        Value::Tensor(t) => {
            let numbers: Vec<String> =
                Vec::<f64>::from(t).iter().map(|x| x.to_string().replace("NaN", "nan")).collect();
            let strides = if t.is_contiguous() {
                String::new()
            } else {
                format!("{:?}", t.strides()).replace('[', "{").replace(']', "}")
            };
            format!("{}{:?}{strides} {}", t.dtype().short(), t.sizes(), numbers.join(" ")).trim_end().to_string()
        }
        Value::List(l) => format!("[{}]", l.iter().map(show).collect::<Vec<_>>().join("; ")),
        other => format!("{other:?}"),
    }
}

struct Parser<'t> {
    rest: &'t str,
    /// A placeholder per tensor, since call trees name tensors by node.
    graph: Graph,
    tensors: Vec<(NodeId, Tensor)>,
}

impl<'t> Parser<'t> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let hit = self.rest.strip_prefix(token);
        self.rest = hit.unwrap_or(self.rest);
        hit.is_some()
    }
    fn word(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find([',', ']', '[', '=', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
    fn key(&mut self) -> Option<&'t str> {
        let before = self.rest;
        let word = self.word();
        if !word.is_empty() && self.eat("=") {
            return Some(word);
        }
        self.rest = before;
        None
    }
    fn argument(&mut self) -> Argument {
        if self.eat("[") {
            let mut items = Vec::new();
            while !self.eat("]") {
                items.push(self.argument());
                self.eat(",");
            }
            return Argument::List(items);
        }
        match self.word() {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            w if w.starts_with('"') => Argument::Str(w.trim_matches('"').into()),
            w if DType::from_short(w).is_some() => self.tensor(DType::from_short(w).unwrap()),
            w if DType::from_name(w).is_some() => Argument::DType(DType::from_name(w).unwrap()),
            w => w.parse().map(Argument::Int).unwrap_or_else(|_| Argument::Float(w.parse().expect(w))),
        }
    }
    fn tensor(&mut self, dtype: DType) -> Argument {
        let literal = self.argument();
        let (mut sizes, mut numbers) = (Vec::new(), Vec::new());
        fn walk(a: &Argument, depth: usize, sizes: &mut Vec<i64>, numbers: &mut Vec<f64>) {
            match a {
                Argument::List(l) => {
                    if sizes.len() == depth {
                        sizes.push(l.len() as i64);
                    }
                    l.iter().for_each(|a| walk(a, depth + 1, sizes, numbers));
                }
                Argument::Int(n) => numbers.push(*n as f64),
                Argument::Float(x) => numbers.push(*x),
                Argument::Bool(b) => numbers.push(f64::from(*b)),
                other => panic!("{other:?} in a tensor"),
            }
        }
        walk(&literal, 0, &mut sizes, &mut numbers);
        let tensor = Tensor::from_vec(&sizes, numbers).expect("a rectangular literal").to_dtype(dtype).unwrap();
        let mut node = Node::new(format!("t{}", self.tensors.len()), NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(Val::Tensor(Fake::of(&tensor)));
        let id = self.graph.append(node).expect("law: placeholders have no arguments");
        self.tensors.push((id, tensor));
        Argument::Node(id)
    }
}
