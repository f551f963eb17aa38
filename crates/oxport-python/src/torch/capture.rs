//! From a source file to an exported program.

use super::convert::Constant;
use super::examples::{self, Inputs};
use super::inputs::{self, Dim, Input};
use super::session::{Evaluator, Session};
use super::tensor::{Kind, tensor_of};
use crate::error::{ENTRY, Error, R};
use crate::interp::{Interp, Limits, Loader};
use crate::syntax::tree::Source;
use crate::value::{Args, Module, Name, Value};
use indexmap::IndexMap;
use oxport_capture::{Tracer, Value as Traced};
use oxport_ir::ExportedProgram;
use oxport_pytree::{Key, Kind as TreeKind, Tree};
use oxport_tensor::Tensor as Data;
use std::rc::Rc;
use std::sync::Arc;

/// What is captured.
pub struct Options<'a> {
    /// The file's name, for errors.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The dotted name of a file that lies in a package: it is then imported by that name, so that its relative imports
    /// are found, and the text is not used.
    pub module: Option<String>,
    /// A class with its arguments, `Net(3, bias=False)`, or a function's name.
    pub entry: String,
    /// The arguments of the call.
    pub inputs: Vec<Input>,
    /// The ranges of named sizes.
    pub dims: Vec<Dim>,
    /// The state dict; without it, parameters have the values that the code gives them.
    pub weights: Option<&'a IndexMap<String, Data>>,
    /// Whether the module is left in training mode.
    pub train: bool,
    /// The bounds.
    pub limits: Limits,
}

/// Captures a program: runs the source, makes the module, and traces a call.
///
/// The interpreter needs a stack of [`STACK`](crate::STACK) bytes at its recursion limit.
///
/// # Errors
/// An exception of the program with its traceback; a reached limit; weights that do not fit.
pub fn capture(options: &Options<'_>, loader: Rc<dyn Loader>, evaluator: Evaluator) -> Result<ExportedProgram, Error> {
    let mut interp = Interp::new(options.limits, loader);
    super::install(&mut interp, evaluator);
    run(&mut interp, options).map_err(|unwind| interp.describe(unwind))
}

fn run(interp: &mut Interp, options: &Options<'_>) -> R<ExportedProgram> {
    let session = Session::of(interp)?;
    // Tensors have their methods from the start, whether the source imports `torch` or not.
    interp.find_module("torch")?;
    let module = source_module(interp, options)?;
    let entry = format!("_captured_entry = {}\n", options.entry);
    interp.run_module(&module, Source { name: ENTRY.into(), text: entry })?;
    let mut model = module.dict.borrow().get("_captured_entry").cloned().unwrap_or(Value::None);
    if let Value::Class(_) = model {
        model = interp.call(&model, Args::default())?;
    }
    if is_generated(&options.text) {
        model = generated(interp, &session, model, options)?;
    }
    let is_module = interp.find_attr(&model, &Name::from("named_modules"))?.is_some();
    if is_module && !options.train {
        interp.call_method(&model, "eval", Args::default())?;
    }
    let tracer = Tracer::new();
    if is_module {
        add_state(interp, &session, &tracer, &model, options)?;
    }
    let own = match options.inputs.is_empty() {
        true => examples::add(interp, &session, &tracer, &module, &model)?,
        false => None,
    };
    let Inputs { args, spec, names } = match own {
        Some(inputs) => inputs,
        None => described(interp, &session, &tracer, options)?,
    };
    session.set_tracer(&tracer);
    let output = interp.call(&model, args)?;
    let output = tree(interp, &session, &output)?;
    // A printed source says that its writes at the end were outputs of the program.
    let is_functional =
        matches!(module.dict.borrow().get("dialect"), Some(Value::Str(dialect)) if &**dialect == "ATEN");
    let finished = match is_functional {
        true => tracer.finish_functional(spec, names, output),
        false => tracer.finish_as(spec, names, output),
    };
    match finished {
        Ok(program) => Ok(program),
        Err(error) => interp.raise("RuntimeError", error.message()),
    }
}

/// The inputs that the options describe.
fn described(interp: &mut Interp, session: &Rc<Session>, tracer: &Tracer, options: &Options<'_>) -> R<Inputs> {
    let mut args = Args::default();
    for value in inputs::add(interp, tracer, &options.inputs, &options.dims)? {
        args.pos.push(session.raise_value(interp, value)?);
    }
    let leaves = options.inputs.iter().map(|_| Tree::Leaf(()));
    let spec = Tree::tuple([Tree::tuple(leaves), Tree::node(TreeKind::Dict(Vec::new()), Vec::new())]);
    let names = options.inputs.iter().map(|i| Arc::from(i.name.as_str())).collect();
    Ok(Inputs { args, spec, names })
}

/// The module of the source, after its body has run.
fn source_module(interp: &mut Interp, options: &Options<'_>) -> R<Rc<Module>> {
    if let Some(name) = &options.module {
        return match interp.find_module(name)? {
            Some(module) => Ok(module),
            None => interp.raise("ModuleNotFoundError", format!("no module named '{name}' is in the search path")),
        };
    }
    let name = options.file.rsplit('/').next().unwrap_or("").trim_end_matches(".py");
    let module = Module::new(name);
    interp.modules.insert(name.to_string(), module.clone());
    if is_generated(&options.text) {
        let text = "from torch.fx._globals import *\nfrom torch.fx._globals import _operator\n";
        interp.run_module(&module, Source { name: "<torch>".into(), text: text.into() })?;
    }
    interp.run_module(&module, Source { name: options.file.clone(), text: options.text.clone() })?;
    Ok(module)
}

/// Whether a text is the code of a graph module, as PyTorch generates it (`GraphModule.code`, `print_readable()`): it
/// imports nothing, and relies on the globals that PyTorch gives it.
fn is_generated(text: &str) -> bool {
    let starts = |line: &str| line.starts_with("import ") || line.starts_with("from ");
    text.contains("def forward(self") && !text.lines().any(starts)
}

/// The module of generated code: a bare `forward` gets one, and the weights become the attributes that it reads.
fn generated(interp: &mut Interp, session: &Rc<Session>, model: Value, options: &Options<'_>) -> R<Value> {
    let Some(globals) = interp.find_module("torch.fx._globals")? else { return Ok(model) };
    let named = |name: &str| globals.dict.borrow().get(name).cloned().unwrap_or(Value::None);
    let takes_self = match &model {
        Value::Function(f) => f.code.params.first().is_some_and(|p| &*p.name == "self"),
        _ => false,
    };
    let model = if takes_self { interp.call(&named("_module_of"), Args::of([model]))? } else { model };
    if let (Some(weights), Value::Instance(_)) = (options.weights, &model) {
        let mut tensors = Vec::new();
        for (name, data) in weights.iter().filter(|(name, _)| !name.starts_with("data/")) {
            let tensor = session.value(Kind::Data(data.clone()));
            tensors.push(interp.new_tuple(vec![Value::str(name), tensor])?);
        }
        let tensors = interp.new_list(tensors)?;
        interp.call(&named("_adopt"), Args::of([model.clone(), tensors]))?;
    }
    Ok(model)
}

/// How a module holds a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Parameter,
    Buffer {
        persistent: bool,
    },
    /// An attribute that is neither.
    Constant,
}

/// A named tensor of a module.
struct State {
    name: String,
    tensor: Value,
    role: Role,
}

fn state_of(interp: &mut Interp, tracer: &Tracer, model: &Value) -> R<Vec<State>> {
    let mut states = Vec::new();
    // Those that share their tensor have a placeholder each, as in PyTorch.
    let all = Args { pos: Vec::new(), kw: vec![("remove_duplicate".into(), Value::Bool(false))] };
    let parameters = interp.call_method(model, "named_parameters", all)?;
    for pair in interp.collect(&parameters)? {
        let pair = interp.collect(&pair)?;
        let name = interp.text(&pair[0])?.to_string();
        states.push(State { name, tensor: pair[1].clone(), role: Role::Parameter });
    }
    let mut constants = Vec::new();
    let modules = interp.call_method(model, "named_modules", Args::default())?;
    for pair in interp.collect(&modules)? {
        let pair = interp.collect(&pair)?;
        let path = interp.text(&pair[0])?;
        if !path.is_empty() {
            tracer.add_module(&path);
        }
        interp.set_attr(&pair[1], &Name::from("_path"), Value::Str(path.clone()))?;
        let hidden = interp.get_attr(&pair[1], &Name::from("_non_persistent_buffers_set"))?;
        let buffers = interp.get_attr(&pair[1], &Name::from("_buffers"))?;
        for (key, tensor) in interp.mapping_items(&buffers)? {
            let persistent = !interp.contains(&hidden, &key)?;
            let key = interp.text(&key)?;
            if tensor_of(&tensor).is_some() {
                states.push(State { name: within(&path, &key), tensor, role: Role::Buffer { persistent } });
            }
        }
        let fields = interp.get_attr(&pair[1], &Name::from("__dict__"))?;
        for (key, tensor) in interp.mapping_items(&fields)? {
            let key = interp.text(&key)?;
            if tensor_of(&tensor).is_some() {
                constants.push(State { name: within(&path, &key), tensor, role: Role::Constant });
            }
        }
    }
    states.append(&mut constants);
    Ok(states)
}

fn within(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

fn sizes_of(tensor: &Value) -> Vec<Option<i64>> {
    tensor_of(tensor).map(|t| t.sizes().iter().map(|n| n.known()).collect()).unwrap_or_default()
}

/// Adds parameters and buffers to the program, with the given weights or the values that the code computed.
fn add_state(
    interp: &mut Interp,
    session: &Rc<Session>,
    tracer: &Tracer,
    model: &Value,
    options: &Options<'_>,
) -> R<()> {
    let states = state_of(interp, tracer, model)?;
    let mut values: Vec<Option<Data>> = vec![None; states.len()];
    if let Some(weights) = options.weights {
        check_weights(interp, model, &states, weights)?;
        for (value, state) in values.iter_mut().zip(&states) {
            let (Some(weight), Some(tensor)) = (weights.get(&state.name), tensor_of(&state.tensor)) else { continue };
            // As `load_state_dict` copies them: in the dtype of the module.
            match weight.to_dtype(tensor.fake().dtype) {
                Ok(weight) => *value = Some(weight),
                Err(error) => return interp.raise("RuntimeError", error.to_string()),
            }
        }
    }
    // What is not given is computed at once.
    let mut missing = Vec::new();
    let is_needed = |(at, state): &(usize, &State)| values[*at].is_none() && state.role != Role::Constant;
    for (at, state) in states.iter().enumerate().filter(is_needed) {
        match tensor_of(&state.tensor).map(|t| t.kind.borrow().clone()) {
            Some(Kind::Data(_)) | None => {}
            Some(Kind::Traced(t)) => missing.push((at, t)),
        }
    }
    if !missing.is_empty() {
        let tensors: Vec<_> = missing.iter().map(|(_, t)| t.clone()).collect();
        for ((at, _), data) in missing.iter().zip(session.evaluate(interp, &tensors)?) {
            values[*at] = Some(data);
        }
    }
    for (state, value) in states.iter().zip(values) {
        let Some(tensor) = tensor_of(&state.tensor) else { continue };
        let known = match &*tensor.kind.borrow() {
            Kind::Traced(t) if t.tracer().is_same(tracer) => Some(t.clone()),
            _ => None,
        };
        if state.role == Role::Constant {
            // It becomes an input of the program when it is used.
            *tensor.lifted.borrow_mut() = Some(state.name.as_str().into());
            if let (Some(data), None) = (value, known) {
                *tensor.kind.borrow_mut() = Kind::Data(data);
            }
            continue;
        }
        let data = match (value, &known) {
            // A tensor under several names is one.
            (_, Some(twin)) => tracer.state_of(twin).map_or_else(|| tensor.data(interp), Ok)?,
            (Some(data), None) => data,
            (None, None) => tensor.data(interp)?,
        };
        let added = match state.role {
            Role::Parameter => tracer.parameter_as(&state.name, data, tensor.requires_grad.get()),
            Role::Buffer { persistent } => tracer.buffer(&state.name, data, persistent),
            Role::Constant => continue,
        };
        match added {
            Ok(traced) => *tensor.kind.borrow_mut() = Kind::Traced(traced),
            Err(error) => return interp.raise("RuntimeError", error.message()),
        }
    }
    Ok(())
}

fn check_weights(interp: &mut Interp, model: &Value, states: &[State], weights: &IndexMap<String, Data>) -> R<()> {
    let dict = interp.call_method(model, "state_dict", Args::default())?;
    let mut names = Vec::new();
    for (name, _) in interp.mapping_items(&dict)? {
        names.push(interp.text(&name)?.to_string());
    }
    let mut problems = Vec::new();
    // A name that shares its tensor with another one may be absent, as safetensors files leave it out.
    let is_saved = |s: &&State| matches!(s.role, Role::Parameter | Role::Buffer { persistent: true });
    for state in states.iter().filter(is_saved) {
        let is_twin = |other: &&State| other.name != state.name && other.tensor.address() == state.tensor.address();
        if states.iter().any(|other| is_twin(&other) && weights.contains_key(&other.name)) {
            continue;
        }
        match weights.get(&state.name) {
            None => problems.push(format!("missing `{}`", state.name)),
            Some(data) => {
                let (got, expected) = (data.sizes(), sizes_of(&state.tensor));
                let same = got.len() == expected.len() && got.iter().zip(&expected).all(|(a, b)| Some(*a) == *b);
                if !same {
                    let sizes: Vec<i64> = expected.into_iter().map(|n| n.unwrap_or(-1)).collect();
                    problems.push(format!("`{}`: expected sizes {sizes:?}, got {got:?}", state.name));
                }
            }
        }
    }
    // Files that oxport writes of programs have constants too, and example inputs.
    names.extend(states.iter().map(|s| s.name.clone()));
    for name in weights.keys().filter(|name| !names.contains(name) && !name.starts_with("data/")) {
        problems.push(format!("unexpected `{name}`"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let n = problems.len();
    problems.truncate(20);
    interp.raise("RuntimeError", format!("{n} weights do not fit the module: {}", problems.join("; ")))
}

/// An output as a tree.
fn tree(interp: &mut Interp, session: &Rc<Session>, value: &Value) -> R<Tree<Traced>> {
    Ok(match value.plain() {
        Value::Tuple(items) => {
            let items = items.iter().map(|v| tree(interp, session, v)).collect::<R<Vec<_>>>()?;
            match examples::fields(interp, value)? {
                None if let Some(name) = interp.find_attr(value, &Name::from("__return_type__"))? => {
                    Tree::node(TreeKind::ReturnType(interp.text(&name)?.to_string()), items)
                }
                Some(fields) => {
                    let name = examples::registered(interp, value)?;
                    Tree::node(TreeKind::NamedTuple { name, fields: Some(fields) }, items)
                }
                None if super::convert::is_size(interp, value) => Tree::node(TreeKind::Size, items),
                None => Tree::tuple(items),
            }
        }
        Value::List(list) => {
            let items = list.borrow().clone();
            let items = items.iter().map(|v| tree(interp, session, v)).collect::<R<Vec<_>>>()?;
            Tree::list(items)
        }
        Value::Dict(_) => {
            let is_ordered = &*interp.type_name(value) == "OrderedDict";
            let (mut keys, mut items) = (Vec::new(), Vec::new());
            for (key, item) in interp.mapping_items(value)? {
                keys.push(match key.plain() {
                    Value::Str(text) => Key::from(&*text),
                    Value::Int(n) => Key::from(n),
                    _ => return interp.type_error("the keys of an output dict must be strings or ints"),
                });
                items.push(tree(interp, session, &item)?);
            }
            Tree::node(if is_ordered { TreeKind::OrderedDict(keys) } else { TreeKind::Dict(keys) }, items)
        }
        Value::Host(host) if host.as_any().is::<Constant>() => {
            return interp.type_error("a program cannot return a dtype or device");
        }
        _ if let Some((name, context, children)) = examples::stand_in(interp, value)? => {
            let items = children.iter().map(|v| tree(interp, session, v)).collect::<R<Vec<_>>>()?;
            Tree::node(TreeKind::Custom { name, context, fields: None }, items)
        }
        _ => match (super::given::items(interp, value)?, examples::members(interp, value)?) {
            (Some(items), _) => {
                let items = items.iter().map(|v| tree(interp, session, v)).collect::<R<Vec<_>>>()?;
                Tree::tuple(items)
            }
            (_, Some(members)) => {
                let (none, given): (Vec<_>, Vec<_>) = members.into_iter().partition(|(_, v)| matches!(v, Value::None));
                let name = examples::registered(interp, value)?;
                let names = |all: &[(Name, Value)]| all.iter().map(|(n, _)| n.to_string()).collect();
                let kind = TreeKind::Dataclass { name, fields: names(&given), none: names(&none) };
                let items = given.iter().map(|(_, v)| tree(interp, session, v)).collect::<R<Vec<_>>>()?;
                Tree::node(kind, items)
            }
            _ => Tree::Leaf(session.lower(interp, value)?),
        },
    })
}
