//! Calls of elementwise operators with the values that PyTorch's CPU kernels give, as text.
//!
//! ```text
//! operator | argument | … => result ; …          argument := f32[2, 3]: values | number | name=argument | "text"
//! ```
//!
//! A result is `dtype[sizes]: values`, floats to five digits; `refused` if the call is.

use oxport_ir::infer::bind_with;
use oxport_ir::*;
use oxport_sym::ShapeEnv;
use oxport_tensor::{DType, Layout, Tensor, TensorMut};

const TABLE: &str = include_str!("elementwise.txt");

#[test]
fn values_by_torch() {
    let mut wrong = Vec::new();
    for line in TABLE.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (call, want) = line.split_once(" => ").expect("a row has ` => `");
        let got = run(call).unwrap_or_else(|e| format!("refused: {e}"));
        let same = got == want || want == "refused" && got.starts_with("refused");
        if !same {
            wrong.push(format!("{line}\n  got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn run(call: &str) -> Result<String> {
    let mut parts = call.split(" | ");
    let op = oxport_ops::registry().implemented(parts.next().unwrap_or_default())?;
    let (mut tensors, mut args, mut kwargs) = (Vec::new(), Vec::new(), Kwargs::new());
    let mut graph = Graph::new();
    for part in parts {
        match part.split_once('=').filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')) {
            Some((name, value)) => {
                kwargs.insert(name.into(), argument(value, &mut graph, &mut tensors)?);
            }
            None => args.push(argument(part, &mut graph, &mut tensors)?),
        }
    }
    let env = ShapeEnv::new();
    let cx = MetaCx::new(&env);
    let metas = bind_with::<Meta>(&op, &args, &kwargs, &mut |id| Ok(Arg::Tensor(Fake::of(&tensors[id.index()]))))?;
    let outs = (op.def().expect("implemented").meta)(&Args::new(&metas, &op, &cx))?;
    let real = bind_with::<Real>(&op, &args, &kwargs, &mut |id| Ok(Arg::Tensor(tensors[id.index()].clone())))?;
    let cx = RunCx::new(0);
    let values = match op.def().expect("implemented").kernel {
        Kernel::Fill(f) => {
            let fakes = outs.iter().flat_map(Val::tensors);
            let empty = |t: &Fake| TensorMut::empty(t.dtype, t.concrete_layout().expect("sizes are known"));
            let mut filled = fakes.map(empty).collect::<Result<Vec<_>, _>>()?;
            f(&Args::new(&real, &op, &cx), &mut filled)?;
            filled.into_iter().map(|t| Value::Tensor(t.freeze())).collect()
        }
        Kernel::Eval(f) => f(&Args::new(&real, &op, &cx))?,
        _ => return Err(Error::unsupported("this test runs kernels that fill or evaluate")),
    };
    Ok(values.iter().map(show).collect::<Vec<_>>().join(" ; "))
}

fn argument(text: &str, graph: &mut Graph, tensors: &mut Vec<Tensor>) -> Result<Argument> {
    if let Some((head, values)) = text.split_once("]:") {
        let (dtype, sizes) = head.split_once('[').expect("dtype[sizes]");
        let sizes: Vec<i64> =
            sizes.split(',').filter(|s| !s.trim().is_empty()).map(|s| s.trim().parse().unwrap()).collect();
        let number = |v: &str| v.parse::<f64>().unwrap_or_else(|_| panic!("a number, not {v}"));
        let values: Vec<f64> = values.split_whitespace().map(number).collect();
        let dtype = DType::from_short(dtype).expect("a dtype");
        tensors.push(Tensor::from_vec(&sizes, values)?.to_dtype(dtype).unwrap());
        return Ok(graph.append(Node::new(format!("t{}", tensors.len()), NodeKind::Placeholder, Vec::new()))?.into());
    }
    Ok(match text {
        "None" => Argument::None,
        "True" => Argument::Bool(true),
        "False" => Argument::Bool(false),
        t if t.starts_with('"') => Argument::Str(t.trim_matches('"').into()),
        t if DType::from_name(t).is_some() => Argument::DType(DType::from_name(t).expect("just seen")),
        t if t.starts_with('[') => {
            let items = t.trim_matches(['[', ']']).split(',').map(|i| Argument::Int(i.trim().parse().expect("an int")));
            Argument::List(items.collect())
        }
        t => t.parse().map(Argument::Int).unwrap_or_else(|_| Argument::Float(t.parse().expect("a number"))),
    })
}

fn show(value: &Value) -> String {
    let float = |x: f64| {
        if x.is_finite() {
            format!("{:.5}", x).trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            x.to_string()
        }
    };
    match value {
        Value::Tensor(t) => {
            let values: Vec<String> = match t.dtype().is_float() {
                true => t.to_vec::<f64>().unwrap().into_iter().map(float).collect(),
                false => t.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect(),
            };
            format!("{}{:?}: {}", t.dtype().short(), t.sizes(), values.join(" "))
        }
        Value::Int(n) => n.to_string(),
        Value::Float(x) => float(*x),
        Value::Bool(b) => b.to_string(),
        other => other.kind().to_string(),
    }
}

#[test]
fn results_keep_the_strides_of_torch() {
    // Sizes and strides of the operands, and strides of their sum: by PyTorch.
    let table: &[(&[(&[i64], &[i64])], &[i64])] = &[
        (&[(&[2, 3], &[1, 2])], &[1, 2]),
        (&[(&[2, 3], &[3, 1]), (&[2, 3], &[1, 2])], &[3, 1]),
        (&[(&[2, 3], &[1, 2]), (&[2, 3], &[3, 1])], &[1, 2]),
        (&[(&[2, 3], &[0, 1])], &[3, 1]),
        (&[(&[2, 3, 4, 5], &[60, 1, 15, 3]), (&[3, 1, 1], &[1, 1, 1])], &[60, 1, 15, 3]),
    ];
    let env = ShapeEnv::new();
    let cx = MetaCx::new(&env);
    let op = oxport_ops::registry().op("aten::add.Tensor");
    for (operands, want) in table {
        let fake = |(sizes, strides): &(&[i64], &[i64])| {
            let fake = Fake::new(DType::F32, sizes.iter().map(|&n| n.into()));
            Arg::Tensor(Fake { strides: strides.iter().map(|&n| n.into()).collect(), ..fake })
        };
        let second = operands.get(1).map_or(Arg::Int(2i64.into()), fake);
        let values = [fake(&operands[0]), second, Arg::Int(1i64.into())];
        let out = (op.def().unwrap().meta)(&Args::new(&values, &op, &cx)).unwrap();
        let layout: Layout = out[0].as_tensor().unwrap().concrete_layout().unwrap();
        assert_eq!(layout.strides.as_slice(), *want, "{operands:?}");
    }
}
