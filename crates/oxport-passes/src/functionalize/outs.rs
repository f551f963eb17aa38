//! Calls that write what they are given as `out=`.
//!
//! Law: who takes a dtype computes in that of `out`, as PyTorch does; the result of others is converted.

use super::Functional;
use oxport_ir::variants::out_variant;
use oxport_ir::{Argument, Error, Graph, NodeId, Op, Result};

impl Functional<'_> {
    /// A call with `out=` arguments becomes one without, whose results they then hold.
    pub(super) fn write_out(&mut self, id: NodeId, op: &Op, written: &[usize]) -> Result<()> {
        let schema = op.schema().expect("law: a mutable operator has a schema");
        let functional = out_variant(self.registry, op)?;
        let node = self.graph.node(id);
        let (args, mut kwargs) = (node.args.clone(), node.kwargs.clone());
        let mut targets = Vec::with_capacity(written.len());
        for &i in written {
            let out = kwargs.shift_remove(&*schema.args[i].name).and_then(|a| a.as_node());
            let out = out.and_then(|n| self.values.get(&n).cloned());
            targets.push(out.ok_or_else(|| Error::invalid(format!("{} writes to no tensor", op.name())))?);
        }
        self.graph.set_call(id, functional.clone(), args, kwargs);
        let sizes = |g: &Graph, n: NodeId| g.node(n).val().and_then(|v| v.as_tensor()).map(|t| t.sizes.clone());
        if let [target] = &targets[..] {
            let value = self.cast_like(id, target.node, &functional)?;
            if sizes(self.graph, value) != sizes(self.graph, target.node) {
                return Err(Error::unsupported(format!("{} into a tensor of another size", op.name())));
            }
            return self.assign(target, value, id);
        }
        let node = self.graph.node(id);
        let cx = oxport_ir::MetaCx::new(self.env);
        let val = oxport_ir::infer::infer_call(self.graph, &functional, &node.args, &node.kwargs, &cx)?;
        self.graph.meta_mut(id).val = Some(val);
        let read: Vec<NodeId> = self.graph.users(id).keys().copied().collect();
        for (i, target) in (0i64..).zip(&targets) {
            let dtype = |g: &Graph, n: NodeId| g.node(n).val().and_then(|v| v.as_tensor()).map(|t| t.dtype);
            let wanted = dtype(self.graph, target.node);
            let mut b = self.after(id);
            let mut value = b.getitem(id, i)?;
            if let (Some(have), Some(wanted)) = (dtype(b.graph, value), wanted)
                && have != wanted
            {
                value = b.call_kw("aten::_to_copy", (value,), &[("dtype", wanted.into())])?;
            }
            // What the call returned are the tensors that it wrote.
            for &result in &read {
                if self.graph.node(result).getitem() == Some((id, i)) {
                    self.graph.replace_all_uses(result, value);
                }
            }
            self.assign(target, value, value)?;
        }
        Ok(())
    }

    /// The result of a rewritten call in the dtype of what it is written to.
    pub(super) fn cast_like(&mut self, id: NodeId, target: NodeId, op: &Op) -> Result<NodeId> {
        let tensor = |g: &Graph, n: NodeId| g.node(n).val().and_then(|v| v.as_tensor()).cloned();
        let Some(target) = tensor(self.graph, target) else { return Ok(id) };
        let node = self.graph.node(id);
        let cx = oxport_ir::MetaCx::new(self.env);
        match oxport_ir::infer::infer_call(self.graph, op, &node.args, &node.kwargs, &cx) {
            Ok(val) => self.graph.meta_mut(id).val = Some(val),
            Err(e) if e.is_unsupported() => return Ok(id),
            Err(e) => return Err(e),
        }
        if tensor(self.graph, id).is_none_or(|t| t.dtype == target.dtype) {
            return Ok(id);
        }
        let takes_dtype = op.schema().and_then(|s| s.arg("dtype")).is_some_and(|(_, arg)| arg.kw_only);
        let node = self.graph.node(id);
        if takes_dtype && node.kwargs.get("dtype").is_none_or(|dtype| matches!(dtype, Argument::None)) {
            let (args, mut kwargs) = (node.args.clone(), node.kwargs.clone());
            kwargs.insert("dtype".into(), target.dtype.into());
            let val = oxport_ir::infer::infer_call(self.graph, op, &args, &kwargs, &cx)?;
            self.graph.set_call(id, op.clone(), args, kwargs);
            self.graph.meta_mut(id).val = Some(val);
            return Ok(id);
        }
        let mut b = self.after(id);
        b.call_kw("aten::_to_copy", (id,), &[("dtype", target.dtype.into())])
    }
}
