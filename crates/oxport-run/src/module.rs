//! [`Module`]: a shared plan with its own buffers.
//!
//! As in PyTorch, a call takes the pytree that the program was exported with: the same container types, dictionary keys
//! in any order.

use crate::error::{Error, Result};
use crate::inputs::Checks;
use crate::outputs::Outputs;
use crate::plan::Plan;
use crate::profile::Profile;
use indexmap::IndexMap;
use oxport_ir::{ModuleCallSignature, Value};
use oxport_pytree::{Tree, TreeSpec};
use oxport_tensor::Tensor;
use std::sync::Arc;

/// A plan with the buffers that its calls mutate.
#[derive(Clone, Debug)]
pub struct Module {
    plan: Arc<Plan>,
    state: Vec<Tensor>,
}

/// The flat inputs of a call, with defaults for omitted trailing positional arguments.
pub(crate) fn flatten(
    signature: Option<&ModuleCallSignature>,
    checks: &Checks,
    mut args: Vec<Tree<Value>>,
    kwargs: IndexMap<String, Tree<Value>>,
) -> Result<Vec<Value>> {
    let signature = signature.ok_or_else(|| Error::input("the program has no call signature (module_call_graph)"))?;
    if let Tree::Node(_, call) = &signature.in_spec
        && let Some(Tree::Node(_, positional)) = call.first()
    {
        let given = positional.iter().take(args.len()).map(TreeSpec::num_leaves).sum::<usize>();
        let left_out = positional.iter().skip(args.len()).take_while(|place| matches!(place, Tree::Leaf(())));
        let defaults: Vec<Tree<Value>> =
            left_out.zip(checks.defaults(given)).map(|(_, default)| Tree::Leaf(default)).collect();
        args.extend(defaults);
    }
    let call = Tree::call(args, kwargs);
    let leaves = signature.in_spec.flatten_like(&call);
    let leaves = leaves.map_err(|e| Error::input(format!("the arguments do not match the program's in_spec: {e}")))?;
    Ok(leaves.into_iter().cloned().collect())
}

impl Module {
    /// A module with the program's buffers.
    pub fn new(plan: Arc<Plan>) -> Module {
        let state = plan.initial_state();
        Module { plan, state }
    }
    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
    /// Calls the program with positional and keyword arguments, and updates the buffers.
    ///
    /// # Errors
    /// The arguments do not match the program's pytree, or as [`Plan::call`]. The buffers are then unchanged.
    pub fn call(&mut self, args: Vec<Tree<Value>>, kwargs: IndexMap<String, Tree<Value>>) -> Result<Tree<Value>> {
        let inputs = self.flatten(args, kwargs)?;
        let user = self.call_flat(inputs)?.user;
        let signature = self.plan.signature().expect("law: `flatten` has seen the signature");
        signature
            .out_spec
            .unflatten(user)
            .map_err(|e| Error::input(format!("the outputs do not match the program's out_spec: {e}")))
    }
    /// The flat inputs of a call with positional and keyword arguments.
    ///
    /// # Errors
    /// The arguments do not match the program's pytree; the message has the path.
    pub fn flatten(&self, args: Vec<Tree<Value>>, kwargs: IndexMap<String, Tree<Value>>) -> Result<Vec<Value>> {
        flatten(self.plan.signature(), self.plan.checks(), args, kwargs)
    }
    /// Calls the program on flat inputs, and updates the buffers.
    ///
    /// # Errors
    /// As [`Plan::call`]. The buffers are then unchanged.
    pub fn call_flat(&mut self, inputs: Vec<Value>) -> Result<Outputs> {
        self.call_profiled(inputs, None)
    }
    /// As [`Module::call_flat`]; adds to a profile.
    ///
    /// # Errors
    /// As [`Module::call_flat`].
    pub fn call_profiled(&mut self, inputs: Vec<Value>, profile: Option<&mut Profile>) -> Result<Outputs> {
        let outputs = self.plan.call(inputs, self.state.clone(), profile)?;
        self.state.clone_from(&outputs.state);
        Ok(outputs)
    }
    /// The current values of mutated buffers and parameters, by name.
    pub fn buffers(&self) -> impl Iterator<Item = (&Arc<str>, &Tensor)> {
        self.plan.state().iter().map(|s| &s.name).zip(&self.state)
    }
    /// Replaces a buffer.
    ///
    /// # Errors
    /// No mutated buffer has that name, or its dtype or sizes differ.
    pub fn set_buffer(&mut self, name: &str, value: Tensor) -> Result<()> {
        let at = self.plan.state().iter().position(|s| &*s.name == name);
        let old = &mut self.state[at.ok_or_else(|| Error::input(format!("the program mutates no buffer `{name}`")))?];
        if old.dtype() != value.dtype() || old.sizes() != value.sizes() {
            let show = |t: &Tensor| format!("{}{:?}", t.dtype().short(), t.sizes());
            return Err(Error::input(format!("buffer `{name}`: expected {}, got {}", show(old), show(&value))));
        }
        *old = value;
        Ok(())
    }
    /// Resets the buffers to the program's values.
    pub fn reset(&mut self) {
        self.state = self.plan.initial_state();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanOptions;
    use crate::test_ops::{f32s, program, registry, show};
    use oxport_ir::{ExportedProgram, Kwargs, ModuleCall, ModuleCallSignature, StateTensor};
    use oxport_tensor::DType;

    const COUNTER: &str = r#"
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[2]", b_n: "f32[2]", x: "f32[2]", y: "f32[2]"):
            add: "f32[2]" = torch.ops.aten.add.Tensor(b_n, x)
            add_1: "f32[2]" = torch.ops.aten.add.Tensor(add, p_w)
            relu: "f32[2]" = torch.ops.aten.relu.default(y)
            return (add, relu, add_1, add, y)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    b_n: BUFFER target='n' persistent=True
    x: USER_INPUT
    y: USER_INPUT
    # outputs
    add: BUFFER_MUTATION target='n'
    relu: USER_INPUT_MUTATION target='y'
    add_1: USER_OUTPUT
    add: USER_OUTPUT
    y: USER_OUTPUT

Range constraints: {}
"#;

    fn counter() -> ExportedProgram {
        let mut p = program(COUNTER);
        let of = |x: [f32; 2]| Tensor::from_vec(&[2], x.to_vec()).unwrap();
        p.state.insert("w".into(), StateTensor::new(of([10.0, 20.0]), true));
        p.state.insert("n".into(), StateTensor::new(of([0.0, 0.0]), false));
        p
    }

    fn module(p: &ExportedProgram) -> Module {
        Module::new(Arc::new(Plan::new(p, &registry(), &PlanOptions::default()).unwrap()))
    }

    fn texts(values: &[Value]) -> String {
        values.iter().map(show).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn buffers_live_from_call_to_call() {
        let mut m = module(&counter());
        assert_eq!((m.plan().weights_bytes(), m.plan().num_inputs()), (16, 2));
        let call = |m: &mut Module| m.call_flat(vec![f32s(&[2], [1.0, 2.0]), f32s(&[2], [-1.0, 3.0])]).unwrap();
        let first = call(&mut m);
        assert_eq!(texts(&first.user), "f32[2]: 11 22; f32[2]: 1 2; f32[2]: -1 3");
        let (n, y) = &first.mutated_inputs[0];
        assert_eq!((*n, show(&Value::Tensor(y.clone()))), (1, "f32[2]: 0 3".into()));
        let kept = first.user[1].clone();
        let second = call(&mut m);
        assert_eq!(texts(&second.user), "f32[2]: 12 24; f32[2]: 2 4; f32[2]: -1 3");
        let (name, n) = &second.mutated_buffers[0];
        assert_eq!((&**name, show(&Value::Tensor(n.clone()))), ("n", "f32[2]: 2 4".into()));
        assert_eq!(show(&kept), "f32[2]: 1 2");
        // Another module starts from the program's values; the plan is unchanged.
        assert_eq!(texts(&call(&mut Module::new(m.plan().clone())).user[..1]), "f32[2]: 11 22");
        let copy = m.clone();
        m.reset();
        assert_eq!(texts(&call(&mut m).user[..1]), "f32[2]: 11 22");
        let now: Vec<_> = copy.buffers().map(|(n, t)| format!("{n} {}", show(&t.clone().into()))).collect();
        assert_eq!(now, ["n f32[2]: 2 4"]);
    }

    #[test]
    fn a_mutation_keeps_the_buffers_dtype_and_sizes() {
        let mut p = counter();
        let half = Tensor::from_vec(&[3, 2], vec![0f32; 6]).unwrap().to_dtype(DType::F16).unwrap();
        p.state["n"].tensor = half.clone();
        let graph = &mut p.graph;
        let (add, x) = (graph.find("add").unwrap(), graph.find("x").unwrap());
        graph.set_args(add, vec![x.into(), x.into()], Kwargs::new());
        let mut m = module(&p);
        let out = m.call_flat(vec![f32s(&[2], [0.5, 1.0]), f32s(&[2], [0.0; 2])]).unwrap();
        let want = "f16[3, 2]: 1 2 1 2 1 2";
        assert_eq!(show(&out.mutated_buffers[0].1.clone().into()), want);
        // A user output that is the same value as the mutation is the buffer itself.
        assert_eq!(show(&out.user[1]), want);
        assert!(m.set_buffer("n", half).is_ok());
        assert!(m.set_buffer("w", Tensor::scalar(1f32)).unwrap_err().to_string().contains("mutates no buffer `w`"));
        let e = m.set_buffer("n", Tensor::scalar(1f32)).unwrap_err().to_string();
        assert_eq!(e, "buffer `n`: expected f16[3, 2], got f32[]");
        for (dtype, sizes) in [(DType::F16, &[2, 3][..]), (DType::F32, &[3, 2])] {
            assert!(m.set_buffer("n", Tensor::zeros(dtype, sizes).unwrap()).unwrap_err().is_input());
        }
    }

    #[test]
    fn trees_go_in_and_out() {
        let mut p = counter();
        let leaf = || Tree::Leaf(());
        let in_spec = Tree::call([Tree::dict([("a", leaf())])], [("y", leaf())]);
        let out_spec = Tree::tuple([leaf(), Tree::list([leaf(), leaf()])]);
        let (inputs, outputs) = (Vec::new(), Vec::new());
        let signature = ModuleCallSignature { inputs, outputs, in_spec, out_spec, forward_arg_names: None };
        p.module_calls.push(ModuleCall { fqn: "".into(), signature: Some(signature) });
        let mut m = module(&p);
        let x = || Tree::Leaf(f32s(&[2], [1.0, 2.0]));
        let kwargs = || IndexMap::from([("y".to_string(), x())]);
        let out = m.call(vec![Tree::dict([("a", x())])], kwargs()).unwrap();
        assert_eq!(out.children().len(), 2);
        assert_eq!(texts(&out.leaves().into_iter().cloned().collect::<Vec<_>>()).split("; ").count(), 3);
        let e = m.call(vec![Tree::list([x()])], kwargs()).unwrap_err();
        assert!(e.is_input(), "{e}");
        let wrong = Tree::Leaf(f32s(&[3], [0.0; 3]));
        let e = m.call(vec![Tree::dict([("a", wrong)])], kwargs()).unwrap_err().to_string();
        assert_eq!(
            e,
            "expected input `x` at *args[0]['a'].shape[0] to be equal to 2, but got 3: it is static; \
                       pass size 2, or export with this dimension dynamic"
        );
        // A rejected call leaves the buffers unchanged.
        assert_eq!(m.buffers().map(|(_, t)| t.to_vec::<f32>().unwrap()).collect::<Vec<_>>(), [vec![1.0, 2.0]]);
    }
}
