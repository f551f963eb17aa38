//! [`Export`]: from a module, or any code, and example inputs to an exported program. `torch.export.export`.

use crate::dim::{Dim, Named};
use crate::module::{Module, within};
use crate::{Error, Pytree, Result, SymInt, Tensor, Tracer, Value};
use indexmap::IndexMap;
use oxport_ir::{ExportedProgram, Fake, RangeConstraint, Value as Example};
use oxport_pytree::{Key, Kind, PathEntry, Tree, TreeSpec};
use oxport_sym::Expr;
use oxport_tensor::Tensor as Data;
use std::collections::HashMap;
use std::sync::Arc;

/// Example inputs, and what of their sizes is dynamic.
#[derive(Clone, Debug, Default)]
pub struct Export {
    args: Vec<(Arc<str>, Tree<Example>)>,
    kwargs: Vec<(Arc<str>, Tree<Example>)>,
    dims: IndexMap<String, Vec<(usize, Dim)>>,
    registry: Option<Arc<oxport_ir::Registry>>,
    trusted: bool,
}

/// The traced inputs of an export, by name.
#[derive(Clone, Debug)]
pub struct Inputs {
    tracer: Tracer,
    values: IndexMap<Arc<str>, Tree<Value>>,
}

impl Inputs {
    /// The tensor of that name; void, if there is none, which refuses the capture.
    pub fn tensor(&self, name: &str) -> Tensor {
        match self.values.get(name) {
            Some(Tree::Leaf(Value::Tensor(t))) => t.clone(),
            _ => {
                self.tracer.refuse(Error::invalid(format!("there is no tensor input `{name}`")));
                self.tracer.void()
            }
        }
    }
    /// The tree of that name.
    pub fn tree(&self, name: &str) -> Option<&Tree<Value>> {
        self.values.get(name)
    }
    /// The tracer, to make tensors from nothing.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }
}

impl Export {
    /// No inputs.
    pub fn new() -> Export {
        Export::default()
    }
    /// Over these operators, those of a user's own among them.
    pub fn with_registry(self, registry: Arc<oxport_ir::Registry>) -> Export {
        Export { registry: Some(registry), ..self }
    }
    /// What is said of sizes is taken as it is: that not every size of a range fits the code is no error.
    pub fn trusted(self) -> Export {
        Export { trusted: true, ..self }
    }
    /// A positional argument that is a tensor.
    pub fn arg(self, name: &str, example: Data) -> Export {
        self.arg_tree(name, Tree::Leaf(Example::Tensor(example)))
    }
    /// A positional argument of any structure.
    pub fn arg_tree(mut self, name: &str, example: Tree<Example>) -> Export {
        self.args.push((name.into(), example));
        self
    }
    /// A keyword argument that is a tensor.
    pub fn kwarg(self, name: &str, example: Data) -> Export {
        self.kwarg_tree(name, Tree::Leaf(Example::Tensor(example)))
    }
    /// A keyword argument of any structure.
    pub fn kwarg_tree(mut self, name: &str, example: Tree<Example>) -> Export {
        self.kwargs.push((name.into(), example));
        self
    }
    /// Says what a size of an input stands for. Inputs within a tree are named by path: `batch['ids']`, `pair[0]`.
    pub fn dim(mut self, input: &str, dim: usize, is: Dim) -> Export {
        self.dims.entry(input.to_string()).or_default().push((dim, is));
        self
    }

    /// The program that this code traces over the module's state.
    ///
    /// # Errors
    /// The code is refused, with the first refusal; or sizes that were said to be dynamic are not, with PyTorch's
    /// suggested
    /// fixes.
    pub fn run<M: Module, O: Pytree>(
        &self,
        module: &M,
        code: impl FnOnce(&M, &Inputs) -> O,
    ) -> Result<ExportedProgram> {
        let tracer = match &self.registry {
            Some(registry) => Tracer::with_registry(registry.clone()),
            None => Tracer::new(),
        };
        within(&tracer, module, || {
            let inputs = self.trace_inputs(&tracer)?;
            let output = tracer.in_module("", &module.class(), || code(module, &inputs)).tree();
            let (call, names) = self.call();
            tracer.finish_as(call, names, output)
        })?
    }

    /// How the program is called: the tree of `(args, kwargs)`, and the names of the arguments.
    pub fn call(&self) -> (TreeSpec, Vec<Arc<str>>) {
        let spec = |all: &[(Arc<str>, Tree<Example>)]| all.iter().map(|(_, t)| t.spec()).collect::<Vec<_>>();
        let keys = self.kwargs.iter().map(|(name, _)| Key::Str(name.to_string())).collect();
        let kwargs = Tree::node(Kind::Dict(keys), spec(&self.kwargs));
        let call = Tree::tuple([Tree::tuple(spec(&self.args)), kwargs]);
        (call, self.args.iter().chain(&self.kwargs).map(|(name, _)| name.clone()).collect())
    }

    /// Adds the inputs to a program that is traced by other means than [`Export::run`].
    ///
    /// # Errors
    /// What was said of sizes does not fit the examples.
    pub fn trace_inputs(&self, tracer: &Tracer) -> Result<Inputs> {
        let all = || self.args.iter().chain(&self.kwargs);
        let mut leaves = Vec::new();
        for (name, tree) in all() {
            for (path, leaf) in tree.spec().paths().iter().zip(tree.leaves()) {
                leaves.push(Leaf::new(name, &path.0, leaf));
            }
        }
        for input in self.dims.keys() {
            if !leaves.iter().any(|leaf| leaf.path == *input && matches!(leaf.example, Example::Tensor(_))) {
                let names: Vec<&str> = leaves.iter().map(|leaf| &*leaf.path).collect();
                return Err(Error::invalid(format!(
                    "no tensor input is called `{input}`; inputs are {}",
                    names.join(", ")
                )));
            }
        }
        let mut sizes = self.symbols(tracer, &leaves)?;
        let mut values = Vec::new();
        for (leaf, sizes) in leaves.iter().zip(sizes.drain(..)) {
            values.push(match leaf.example {
                Example::Tensor(data) => {
                    let fake = Fake::of(data);
                    let is_symbolic = sizes.iter().any(|s| s.known().is_none());
                    tracer.input(&leaf.name, if is_symbolic { with_sizes(&fake, data, &sizes) } else { fake })?.into()
                }
                Example::Int(n) => leaf.constant(tracer, (*n).into())?,
                Example::Float(x) => leaf.constant(tracer, (*x).into())?,
                Example::Bool(b) => leaf.constant(tracer, (*b).into())?,
                Example::Str(s) => leaf.constant(tracer, (&**s).into())?,
                Example::None => leaf.constant(tracer, Value::None)?,
                other => return Err(Error::unsupported(format!("an input that is a {}", other.kind()))),
            });
        }
        let mut values = values.into_iter();
        let mut trees = IndexMap::new();
        for (name, tree) in all() {
            let tree = tree.map_ref(&mut |_| values.next().unwrap_or(Value::None));
            trees.insert(name.clone(), tree);
        }
        Ok(Inputs { tracer: tracer.clone(), values: trees })
    }

    /// The sizes of every input: numbers, and symbols where they are dynamic.
    fn symbols(&self, tracer: &Tracer, leaves: &[Leaf<'_>]) -> Result<Vec<Vec<SymInt>>> {
        let mut roots: IndexMap<Arc<str>, SymInt> = IndexMap::new();
        let mut all: Vec<Vec<SymInt>> = Vec::new();
        let mut derived = Vec::new();
        for (i, leaf) in leaves.iter().enumerate() {
            let Example::Tensor(data) = leaf.example else {
                all.push(Vec::new());
                continue;
            };
            let mut sizes: Vec<SymInt> = data.sizes().iter().map(|&n| n.into()).collect();
            let mut dims: Vec<&(usize, Dim)> = self.dims.get(&leaf.path).into_iter().flatten().collect();
            dims.sort_by_key(|(dim, _)| *dim);
            for (dim, is) in dims {
                let Some(&size) = data.sizes().get(*dim) else {
                    return Err(Error::invalid(format!("`{}` has no dimension {dim}", leaf.path)));
                };
                let source = format!("{}.size()[{dim}]", leaf.source);
                let any = RangeConstraint { min: Some(2), max: None };
                match is {
                    Dim::Static => {}
                    Dim::Auto | Dim::Within { .. } | Dim::Dynamic if size < 2 => {}
                    Dim::Auto => sizes[*dim] = tracer.size(&source, size, 2, any),
                    Dim::Within { min, max } => {
                        let least = min.unwrap_or(2);
                        let declared = RangeConstraint { min: Some(least), max: *max };
                        sizes[*dim] = tracer.size(&source, size, least.max(2), declared);
                    }
                    Dim::Dynamic => {
                        sizes[*dim] = tracer.size(&source, size, 2, any);
                        tracer.state_mut().declare(&sizes[*dim], None, &source);
                    }
                    Dim::Named(named) if self.trusted && roots.contains_key(&named.name) => {
                        sizes[*dim] = roots[&named.name].clone();
                    }
                    Dim::Named(named) => {
                        let new = self.named_size(tracer, named, &source, size)?;
                        if let Some(root) = roots.get(&named.name) {
                            tracer.state_mut().unify(&new, root);
                        }
                        roots.entry(named.name.clone()).or_insert_with(|| new.clone());
                        sizes[*dim] = new;
                    }
                    Dim::Derived { root, times, plus } => derived.push((i, *dim, root, *times, *plus, source, size)),
                }
            }
            all.push(sizes);
        }
        for (i, dim, root, times, plus, source, size) in derived {
            let base = size - plus;
            if times == 0 || base % times != 0 {
                return Err(Error::invalid(format!("{source} is {size}, which is not {times}*{} + {plus}", root.name)));
            }
            let symbol = match roots.get(&root.name) {
                Some(symbol) => symbol.clone(),
                None => {
                    let symbol = self.named_size(tracer, root, &source, base / times)?;
                    // PyTorch records the range in which a size was traced that no input has by itself.
                    let traced = RangeConstraint { min: Some(root.min.unwrap_or(0).max(2)), max: root.max };
                    tracer.state_mut().program.ranges.insert(symbol.expr().clone(), traced);
                    roots.insert(root.name.clone(), symbol.clone());
                    symbol
                }
            };
            let is = symbol * times + plus;
            tracer.state_mut().declare_derived(&is, root, (times, plus));
            all[i][dim] = is;
        }
        Ok(all)
    }

    /// The symbol of a named size, which is in its range.
    fn named_size(&self, tracer: &Tracer, named: &Named, source: &str, size: i64) -> Result<SymInt> {
        let new = named_size(tracer, named, source, size)?;
        if !self.trusted {
            tracer.state_mut().declare(&new, Some(named), source);
        }
        Ok(new)
    }
}

/// What is known of an input whose sizes are symbols. Its strides are products of sizes where they are so in the
/// example, as in PyTorch (`ShapeEnv._compute_symbolic_stride`), and else those of the example.
fn with_sizes(fake: &Fake, example: &Data, sizes: &[SymInt]) -> Fake {
    let sizes: Vec<Expr> = sizes.iter().map(|size| size.expr().clone()).collect();
    let contiguous = Fake::new(fake.dtype, sizes.iter().cloned());
    if example.is_contiguous() {
        return contiguous;
    }
    let (counts, steps) = (example.sizes(), example.strides());
    let mut strides: Vec<Option<Expr>> =
        steps.iter().map(|&step| (step == 0 || step == 1).then(|| Expr::int(step))).collect();
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|&dim| (steps[dim], dim));
    // The extents of dimensions whose strides are known: what the next larger stride may be.
    let mut extents: HashMap<i64, Expr> = HashMap::new();
    for (dim, stride) in strides.iter().enumerate() {
        if let Some(stride) = stride {
            extents.insert(counts[dim].saturating_mul(steps[dim]), &sizes[dim] * stride);
        }
    }
    for dim in order {
        if strides[dim].is_none() {
            let stride = extents.get(&steps[dim]).cloned().unwrap_or_else(|| Expr::int(steps[dim]));
            extents.insert(counts[dim].saturating_mul(steps[dim]), &sizes[dim] * &stride);
            strides[dim] = Some(stride);
        }
    }
    Fake { strides: strides.into_iter().flatten().collect(), ..contiguous }
}

/// The symbol of a named size, which is in its range.
fn named_size(tracer: &Tracer, named: &Named, source: &str, size: i64) -> Result<SymInt> {
    let (min, max) = (named.min.unwrap_or(0), named.max);
    if size < min || max.is_some_and(|max| size > max) {
        let max = max.map_or("int_oo".to_string(), |m| m.to_string());
        return Err(Error::invalid(format!("{size} not in range [{min}, {max}]")));
    }
    let declared = RangeConstraint { min: Some(min), max };
    if size < 2 {
        let name = &named.name;
        return Err(Error::invalid(format!(
            "Constraints violated ({name})! For more information, run with TORCH_LOGS=\"+dynamic\".\n  - You \
             marked {name} as \
             dynamic but your code specialized it to be a constant ({size}). If you're using mark_dynamic, \
             either remove it or \
             use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.\n\n\
             Suggested fixes:\n  {name} = {size}"
        )));
    }
    Ok(tracer.size(source, size, min.max(2), declared))
}

/// A step of the path by which an input within a tree is named.
pub fn step(entry: &PathEntry) -> String {
    match entry {
        PathEntry::Index(i) => format!("[{i}]"),
        PathEntry::Key(Key::Str(key)) => format!("['{key}']"),
        PathEntry::Key(Key::Int(n)) => format!("[{n}]"),
        PathEntry::Key(key) => format!("[{key:?}]"),
        PathEntry::Attr(field) => format!(".{field}"),
    }
}

/// One leaf of the inputs.
struct Leaf<'a> {
    /// The placeholder's name: `batch_ids`.
    name: String,
    /// As users name it: `batch['ids']`.
    path: String,
    /// As guards name it: `L['batch']['ids']`.
    source: String,
    example: &'a Example,
}

impl<'a> Leaf<'a> {
    fn new(argument: &str, path: &[PathEntry], example: &'a Example) -> Leaf<'a> {
        let (mut name, mut within) = (argument.to_lowercase(), String::new());
        for entry in path {
            let word = match entry {
                PathEntry::Index(i) => i.to_string(),
                PathEntry::Key(Key::Str(key)) => key.clone(),
                PathEntry::Key(Key::Int(n)) => n.to_string(),
                PathEntry::Key(key) => format!("{key:?}"),
                PathEntry::Attr(field) => field.clone(),
            };
            name += &format!("_{}", word.to_lowercase());
            within += &step(entry);
        }
        Leaf { name, path: format!("{argument}{within}"), source: format!("L['{argument}']{within}"), example }
    }
    fn constant(&self, tracer: &Tracer, value: Value) -> Result<Value> {
        tracer.constant_input(&self.name, &value)?;
        Ok(value)
    }
}
