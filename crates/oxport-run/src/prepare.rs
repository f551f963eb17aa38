//! Prepares the steps of a plan: what operators make once of the constants among their arguments ([`OpDef::prepare`]).
//!
//! Laws: a run gives the same bits without it, but for what [`PlanOptions::fast`] allows; a step that cannot be
//! prepared runs as if there were nothing to prepare, and says itself what is wrong with its arguments.
//!
//! [`OpDef::prepare`]: oxport_ir::OpDef::prepare
//! [`PlanOptions::fast`]: crate::PlanOptions::fast

use crate::executor::Body;
use crate::operand_binding::for_each_tensor;
use oxport_ir::{Args, RunCx};

/// Prepares all steps of a body, on the threads that run it. Mapped pages of what was made into something else are
/// given back: whoever reads them nevertheless loads them again.
pub(crate) fn prepare(body: &mut Body, may_round: bool) {
    let mut cx = RunCx::default();
    cx.may_round = may_round;
    let mut known = 0;
    let mut steps: Vec<_> = body.steps.iter_mut().zip(&body.templates).collect();
    // The largest constants first, while little is packed: one of them is resident twice for a moment.
    steps.sort_by_cached_key(|(_, template)| {
        let mut most = 0;
        template.iter().for_each(|arg| for_each_tensor(arg, &mut |t| most = most.max(t.numel())));
        std::cmp::Reverse(most)
    });
    for (step, template) in steps {
        let Some(prepare) = step.op.def().and_then(|def| def.prepare) else { continue };
        let args = Args::new(template, &step.op, &cx);
        step.prepared = prepare(&args, step.result.as_ref()).ok().flatten();
        // At once, so that weights are never resident twice, save the one that is being prepared.
        for tensor in cx.makings().tensors(known) {
            tensor.storage().forget(0, usize::MAX);
            known += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, PlanOptions};
    use crate::test_ops::{OPS, TAGS, f32s, fill, like_first, run_three_times};
    use oxport_ir::{Args, OpDef, Prepared, Real, Registry, Result, StateTensor, Val, parse};
    use oxport_tensor::Tensor;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static MADE: AtomicUsize = AtomicUsize::new(0);
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    static MINE: &[OpDef] = &[OpDef::new("my::times_total(Tensor x, Tensor w) -> Tensor", like_first)
        .fill(|args, outs| {
            let (x, w): (&Tensor, &Tensor) = args.unpack()?;
            let total = match args.prepared::<f64>() {
                Some(&total) => {
                    FOUND.fetch_add(1, Relaxed);
                    total
                }
                None => total(w)?,
            };
            fill(x, &mut outs[0], |_, x| x * total)
        })
        .prepare(prepare_total)];

    fn total(w: &Tensor) -> Result<f64> {
        Ok(w.to_vec::<f64>()?.iter().sum())
    }

    fn prepare_total(args: &Args<'_, Real>, _: Option<&Val>) -> Result<Option<Prepared>> {
        let Some(w) = args.at::<Option<&Tensor>>(1)? else { return Ok(None) };
        let made = args.cx.makings().once(w, |w| {
            MADE.fetch_add(1, Relaxed);
            total(w).map(Some)
        })?;
        Ok(made.map(Prepared::new))
    }

    const TEXT: &str = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[2, 2]", b_n: "f32[2, 2]", x: "f32[2, 2]"):
            a: "f32[2, 2]" = torch.ops.my.times_total.default(x, p_w)
            t: "f32[2, 2]" = torch.ops.aten.t.default(p_w)
            b: "f32[2, 2]" = torch.ops.my.times_total.default(a, t)
            t_1: "f32[2, 2]" = torch.ops.aten.t.default(p_w)
            c: "f32[2, 2]" = torch.ops.my.times_total.default(b, t_1)
            d: "f32[2, 2]" = torch.ops.my.times_total.default(c, x)
            relu: "f32[2, 2]" = torch.ops.aten.relu.default(b_n)
            e: "f32[2, 2]" = torch.ops.my.times_total.default(d, b_n)
            return (relu, e)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    b_n: BUFFER target='n' persistent=True
    x: USER_INPUT
    # outputs
    relu: BUFFER_MUTATION target='n'
    e: USER_OUTPUT

Range constraints: {}
"#;

    /// Weights and views of them are prepared, each once; values of a call and buffers that calls write are not.
    #[test]
    fn constants_are_prepared_once() {
        let registry = Registry::new(&[OPS, MINE], TAGS);
        let mut p = parse::parse(TEXT, &registry).unwrap();
        let of = |x: [f32; 4]| StateTensor::new(Tensor::from_vec(&[2, 2], x.to_vec()).unwrap(), true);
        p.state.insert("w".into(), of([1.0, 2.0, 3.0, -4.0]));
        p.state.insert("n".into(), of([1.0, 0.0, 0.0, 1.0]));
        let counts = || (MADE.load(Relaxed), FOUND.load(Relaxed));
        let mut results = Vec::new();
        for (prepare, made, found) in [(false, 0, 0), (true, 2, 9)] {
            let options = PlanOptions { prepare, threads: 2, ..PlanOptions::default() };
            let plan = Plan::new(&p, &registry, &options).unwrap();
            assert_eq!((plan.num_steps(), counts()), (6, (made, 0)), "views of weights take no step");
            results.push(run_three_times(&plan, &[f32s(&[2, 2], [1.0, 0.5, 2.0, -1.0])]));
            assert_eq!(counts(), (made, found));
        }
        assert_eq!(results[0], ["f32[2, 2]: 40 20 80 -40"]);
        assert_eq!(results[0], results[1]);
    }
}
