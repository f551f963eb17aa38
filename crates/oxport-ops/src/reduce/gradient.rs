//! `gradient`: central differences of samples, one-sided at the borders, at equal distances or given places.
//!
//! ```text
//! equal distances h:  (x[i+1] − x[i−1]) / 2h        places: the derivative of the parabola through three samples
//! ```

use crate::support::composite::composed;
use crate::support::meta::wrap_dims;
use oxport_ir::{Args, Argument, Build, Builder, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[
    form(
        "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) \
        -> Tensor[]",
    )
    .samples(&[
        "f32[5]",
        "f32[4, 3], spacing=0.5",
        "i64[4, 3], dim=0, edge_order=2",
        "!u8[5]",
        "!f32[1]",
        "!f32[4], edge_order=3",
    ]),
    form(
        "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> \
        Tensor[]",
    )
    .samples(&["f32[4, 3], spacing=2, dim=[1]", "!f32[4, 3], spacing=2, dim=[1, 1]"]),
    form("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]")
        .samples(&["f32[4, 3], dim=[1, 0]"]),
    form(
        "aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) \
        -> Tensor[]",
    )
    .samples(&["f32[4, 3], spacing=[2.0, 0.5]", "!f32[4, 3], spacing=[2.0]"]),
    form(
        "aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> \
        Tensor[]",
    )
    .samples(&["f32[4, 3], spacing=[2.0], dim=[1]"]),
    form(
        "aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int \
        edge_order=1) -> Tensor[]",
    )
    .samples(&["f32[4], spacing=[f32[4]]"]),
    form(
        "aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> \
        Tensor[]",
    )
    .samples(&["f32[4, 3], spacing=[f32[3]], dim=[1], edge_order=2"]),
];

const fn form(schema: &'static str) -> OpDef {
    composed(schema, gradient)
        .doc("Differences of neighbors along some dimensions: the derivative of what was sampled.")
}

fn gradient(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, edge): (NodeId, i64) = (a.at(0)?, a.named("edge_order")?);
    let (rank, dtype) = (b.fake(x)?.dim(), b.fake(x)?.dtype);
    ensure!(dtype != oxport_tensor::DType::U8, "gradient of uint8");
    ensure!(edge == 1 || edge == 2, "gradient: edge_order {edge} is neither 1 nor 2");
    let schema = a.op.schema().expect("law: it is in the table");
    let listed = schema.arg("dim").is_some_and(|(_, d)| d.ty.to_string().contains('['));
    let dims: Option<Vec<i64>> =
        if listed { Some(a.named("dim")?) } else { a.named::<Option<i64>>("dim")?.map(|d| vec![d]) };
    let dims = wrap_dims(&dims.unwrap_or_else(|| (0..rank as i64).collect()), rank)?;
    let spacing: Argument = if schema.arg("spacing").is_some() { a.named("spacing")? } else { Argument::None };
    let spacing = match spacing {
        Argument::None => vec![Argument::Int(1); dims.len()],
        Argument::List(l) => l,
        one => vec![one; dims.len()],
    };
    ensure!(spacing.len() == dims.len(), "gradient: {} spacings for {} dimensions", spacing.len(), dims.len());
    let mut out: Vec<Argument> = Vec::with_capacity(dims.len());
    for (d, spacing) in dims.into_iter().zip(spacing) {
        let n = b.fake(x)?.sizes.get(d).and_then(|s| s.as_int());
        ensure!(rank > 0 && n.is_none_or(|n| n > edge), "gradient: dimension {d} of size {n:?} is too small");
        let line = Line { x, d: d as i64, edge };
        out.push(match spacing {
            Argument::Node(places) => line.by_places(b, places)?.into(),
            step => line.by_step(b, step)?.into(),
        });
    }
    Ok(vec![Argument::List(out)])
}

/// A dimension of samples.
struct Line {
    x: NodeId,
    d: i64,
    edge: i64,
}

impl Line {
    /// Samples `from` to `to`; 0 is the end.
    fn part(&self, b: &mut Builder<'_>, x: NodeId, from: i64, to: i64) -> Result<NodeId> {
        b.call("slice.Tensor", (x, self.d, from, if to == 0 { i64::MAX } else { to }))
    }

    /// The sum of some single samples (or slices of them) times factors.
    fn sum(&self, b: &mut Builder<'_>, terms: &[(Argument, i64, i64)]) -> Result<NodeId> {
        let mut sum = None;
        for (factor, from, to) in terms {
            let part = self.part(b, self.x, *from, *to)?;
            let term = b.call("mul.Tensor", (part, factor.clone()))?;
            sum = Some(match sum {
                Some(sum) => b.call("add.Tensor", (sum, term))?,
                None => term,
            });
        }
        Ok(sum.expect("law: a difference has terms"))
    }

    fn difference(&self, b: &mut Builder<'_>, upper: (i64, i64), lower: (i64, i64)) -> Result<NodeId> {
        let (high, low) = (self.part(b, self.x, upper.0, upper.1)?, self.part(b, self.x, lower.0, lower.1)?);
        b.call("sub.Tensor", (high, low))
    }

    fn joined(&self, b: &mut Builder<'_>, parts: [NodeId; 3]) -> Result<NodeId> {
        b.call("cat", (Argument::List(parts.into_iter().map(Into::into).collect()), self.d))
    }

    fn by_step(&self, b: &mut Builder<'_>, step: Argument) -> Result<NodeId> {
        let middle = self.difference(b, (2, 0), (0, -2))?;
        let middle = b.call("div.Tensor", (middle, step.clone()))?;
        let middle = b.call("div.Tensor", (middle, 2i64))?;
        let term = |factor: f64, from: i64, to: i64| (Argument::Float(factor), from, to);
        let (first, last) = match self.edge {
            1 => (self.difference(b, (1, 2), (0, 1))?, self.difference(b, (-1, 0), (-2, -1))?),
            _ => (
                self.sum(b, &[term(-1.5, 0, 1), term(2.0, 1, 2), term(-0.5, 2, 3)])?,
                self.sum(b, &[term(0.5, -3, -2), term(-2.0, -2, -1), term(1.5, -1, 0)])?,
            ),
        };
        let first = b.call("div.Tensor", (first, step.clone()))?;
        let last = b.call("div.Tensor", (last, step))?;
        self.joined(b, [first, middle, last])
    }

    fn by_places(&self, b: &mut Builder<'_>, places: NodeId) -> Result<NodeId> {
        ensure!(b.fake(places)?.dim() == 1, "gradient: places are a vector, not {}", b.fake(places)?);
        let (n, m) = (b.fake(self.x)?.sizes[self.d as usize].clone(), b.fake(places)?.sizes[0].clone());
        ensure!(n.as_int().zip(m.as_int()).is_none_or(|(n, m)| n == m), "gradient: {m} places for {n} samples");
        let steps = b.call("diff", (places,))?;
        let rank = b.fake(self.x)?.dim() as i64;
        let mut shape = vec![1i64; rank as usize];
        shape[self.d as usize] = -1;
        let steps = b.call("reshape", (steps, shape))?;
        let (before, after) = (self.part(b, steps, 0, -1)?, self.part(b, steps, 1, 0)?);
        let [_, center, _] = weights(b, before, after)?;
        let [p, q, r] = center;
        let middle = self.sum(b, &[(p.into(), 0, -2), (q.into(), 1, -1), (r.into(), 2, 0)])?;
        let (first, last) = match self.edge {
            1 => {
                let (h0, h1) = (self.part(b, steps, 0, 1)?, self.part(b, steps, -1, 0)?);
                let (first, last) = (self.difference(b, (1, 2), (0, 1))?, self.difference(b, (-1, 0), (-2, -1))?);
                (b.call("div.Tensor", (first, h0))?, b.call("div.Tensor", (last, h1))?)
            }
            _ => {
                let (h0, h1) = (self.part(b, steps, 0, 1)?, self.part(b, steps, 1, 2)?);
                let [[p, q, r], ..] = weights(b, h0, h1)?;
                let first = self.sum(b, &[(p.into(), 0, 1), (q.into(), 1, 2), (r.into(), 2, 3)])?;
                let (h0, h1) = (self.part(b, steps, -2, -1)?, self.part(b, steps, -1, 0)?);
                let [.., [p, q, r]] = weights(b, h0, h1)?;
                (first, self.sum(b, &[(p.into(), -3, -2), (q.into(), -2, -1), (r.into(), -1, 0)])?)
            }
        };
        self.joined(b, [first, middle, last])
    }
}

/// The factors of three samples, `g` and `h` apart, in the derivative of their parabola at the first, the middle and
/// the last one.
fn weights(b: &mut Builder<'_>, g: NodeId, h: NodeId) -> Result<[[NodeId; 3]; 3]> {
    let mut of = |text: &str| -> Result<NodeId> {
        let names = |name: &str| match name {
            "g" => Some(g.into()),
            "h" => Some(h.into()),
            _ => None,
        };
        let value = b.expr(text, &names)?;
        Ok(value.as_node().expect("law: a call is a node"))
    };
    Ok([
        [
            of("div.Tensor(div.Tensor(neg(add.Tensor(mul.Tensor(g, 2.0), h)), g), add.Tensor(g, h))")?,
            of("div.Tensor(div.Tensor(add.Tensor(g, h), g), h)")?,
            of("div.Tensor(div.Tensor(neg(g), h), add.Tensor(g, h))")?,
        ],
        [
            of("div.Tensor(neg(h), mul.Tensor(g, add.Tensor(g, h)))")?,
            of("div.Tensor(sub.Tensor(h, g), mul.Tensor(g, h))")?,
            of("div.Tensor(g, mul.Tensor(h, add.Tensor(g, h)))")?,
        ],
        [
            of("div.Tensor(div.Tensor(h, g), add.Tensor(g, h))")?,
            of("div.Tensor(div.Tensor(neg(add.Tensor(g, h)), g), h)")?,
            of("div.Tensor(div.Tensor(add.Tensor(mul.Tensor(h, 2.0), g), h), add.Tensor(g, h))")?,
        ],
    ])
}
