//! Modules: what holds parameters, buffers and other modules by name, as `torch.nn.Module` does.
//!
//! Laws: names are those of the state dict; parameters that share one [`Parameter`] are tied; within an export, `get`
//! of a
//! parameter is its traced tensor, and `call` of a module is its `forward` with the module on the stack.

use crate::{Error, Result, Tensor, Tracer};
use indexmap::IndexMap;
use oxport_tensor::Tensor as Data;
use oxport_tensor::rng::Generator;
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A tensor that training changes. Its clones are tied to it.
#[derive(Clone, Debug)]
pub struct Parameter(Rc<RefCell<Data>>);

/// A tensor that belongs to a module's state, and that training does not change.
#[derive(Clone, Debug)]
pub struct Buffer {
    data: Rc<RefCell<Data>>,
    is_persistent: bool,
}

/// Whether a module trains or evaluates; a field of modules that differ in that.
#[derive(Clone, Debug)]
pub struct Mode(Cell<bool>);

impl Default for Mode {
    fn default() -> Mode {
        Mode(Cell::new(true))
    }
}

impl Mode {
    /// True while training, as a new module is.
    pub fn is_training(&self) -> bool {
        self.0.get()
    }
}

impl Parameter {
    /// A parameter with these values.
    pub fn new(data: Data) -> Parameter {
        Parameter(Rc::new(RefCell::new(data)))
    }
    /// The values.
    pub fn data(&self) -> Ref<'_, Data> {
        self.0.borrow()
    }
    /// Sets the values.
    pub fn set(&self, data: Data) {
        *self.0.borrow_mut() = data;
    }
    /// The traced tensor; void outside of an export of a module that holds it.
    pub fn get(&self) -> Tensor {
        current(|capture| capture.state.get(&(Rc::as_ptr(&self.0) as usize)).cloned())
    }
}

impl Buffer {
    /// A buffer of the state dict with these values.
    pub fn new(data: Data) -> Buffer {
        Buffer { data: Rc::new(RefCell::new(data)), is_persistent: true }
    }
    /// A buffer that is not in the state dict.
    pub fn transient(data: Data) -> Buffer {
        Buffer { is_persistent: false, ..Buffer::new(data) }
    }
    /// The values.
    pub fn data(&self) -> Ref<'_, Data> {
        self.data.borrow()
    }
    /// Sets the values.
    pub fn set(&self, data: Data) {
        *self.data.borrow_mut() = data;
    }
    /// The traced tensor; void outside of an export of a module that holds it.
    pub fn get(&self) -> Tensor {
        current(|capture| capture.state.get(&(Rc::as_ptr(&self.data) as usize)).cloned())
    }
}

/// What is told of a module's parts.
pub trait Visitor {
    /// There is a parameter.
    fn parameter(&mut self, name: &str, parameter: &Parameter);
    /// There is a buffer.
    fn buffer(&mut self, name: &str, buffer: &Buffer);
    /// There is a module.
    fn module(&mut self, name: &str, module: &dyn Module);
    /// The module trains or evaluates.
    fn mode(&mut self, mode: &Mode) {
        let _ = mode;
    }
}

/// What holds parameters, buffers and other modules.
pub trait Module {
    /// Tells the parts in the order in which PyTorch registers them: own parameters and buffers, then modules.
    fn visit(&self, visitor: &mut dyn Visitor);
    /// The class, as `nn_module_stack` says it.
    fn class(&self) -> String {
        std::any::type_name::<Self>().replace("::", ".")
    }
}

/// What a field of a module may be: a parameter, a buffer, a module, a mode, or one of these that may be missing.
pub trait Part {
    /// Tells of it under this name.
    fn visit_as(&self, name: &str, visitor: &mut dyn Visitor);
}

impl Part for Parameter {
    fn visit_as(&self, name: &str, visitor: &mut dyn Visitor) {
        visitor.parameter(name, self);
    }
}
impl Part for Buffer {
    fn visit_as(&self, name: &str, visitor: &mut dyn Visitor) {
        visitor.buffer(name, self);
    }
}
impl Part for Mode {
    fn visit_as(&self, _: &str, visitor: &mut dyn Visitor) {
        visitor.mode(self);
    }
}
impl<T: Part> Part for Option<T> {
    fn visit_as(&self, name: &str, visitor: &mut dyn Visitor) {
        self.iter().for_each(|part| part.visit_as(name, visitor));
    }
}
impl<M: Module> Part for M {
    fn visit_as(&self, name: &str, visitor: &mut dyn Visitor) {
        visitor.module(name, self);
    }
}

/// A module that computes an output from an input; several inputs are a tuple.
pub trait Forward<I>: Module {
    /// What it gives.
    type Output;
    /// What it computes. Code calls [`Forward::call`], as Python code calls the module.
    fn forward(&self, input: I) -> Self::Output;
    /// Runs `forward` with the module on the stack.
    #[track_caller]
    fn call(&self, input: I) -> Self::Output
    where
        Self: Sized,
    {
        let place = CURRENT.with_borrow(|all| {
            let capture = all.last()?;
            let (path, class) = capture.modules.get(&(self as *const Self as *const () as usize, self.class()))?;
            Some((capture.tracer.clone(), path.clone(), class.clone()))
        });
        match place {
            Some((tracer, path, class)) => tracer.in_module(&path, &class, || self.forward(input)),
            None => self.forward(input),
        }
    }
}

/// An export under way: the traced state by the cells that hold it, and where modules are.
struct Capture {
    tracer: Tracer,
    state: HashMap<usize, Tensor>,
    modules: HashMap<(usize, String), (String, String)>,
}

thread_local! {
    static CURRENT: RefCell<Vec<Capture>> = const { RefCell::new(Vec::new()) };
}

fn current(f: impl Fn(&Capture) -> Option<Tensor>) -> Tensor {
    let found = CURRENT.with_borrow(|all| all.iter().rev().find_map(&f));
    found.unwrap_or_else(|| {
        let tracer = CURRENT.with_borrow(|all| all.last().map(|c| c.tracer.clone())).unwrap_or_default();
        tracer.refuse(Error::invalid("a parameter or buffer that is not of the exported module"));
        tracer.void()
    })
}

/// Lifts the state of a module into a program, and runs code in which it can be used.
///
/// # Errors
/// Two parts have one name.
pub(crate) fn within<T>(tracer: &Tracer, module: &dyn Module, code: impl FnOnce() -> T) -> Result<T> {
    let mut lift = Lift {
        capture: Capture { tracer: tracer.clone(), state: HashMap::new(), modules: HashMap::new() },
        path: String::new(),
        error: None,
    };
    lift.enter("", module);
    if let Some(error) = lift.error {
        return Err(error);
    }
    CURRENT.with_borrow_mut(|all| all.push(lift.capture));
    let result = code();
    CURRENT.with_borrow_mut(|all| all.pop());
    Ok(result)
}

struct Lift {
    capture: Capture,
    path: String,
    error: Option<Error>,
}

impl Lift {
    fn enter(&mut self, name: &str, module: &dyn Module) {
        let outer = self.path.clone();
        self.path = joined(&outer, name);
        let key = (module as *const dyn Module as *const () as usize, module.class());
        self.capture.modules.entry(key).or_insert((self.path.clone(), module.class()));
        if !self.path.is_empty() {
            self.capture.tracer.add_module(&self.path);
        }
        module.visit(self);
        self.path = outer;
    }
    fn keep(&mut self, cell: usize, traced: Result<Tensor>) {
        match traced {
            // Of tied ones, the last name is what the code uses, as in PyTorch.
            Ok(tensor) => drop(self.capture.state.insert(cell, tensor)),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }
}

impl Visitor for Lift {
    fn parameter(&mut self, name: &str, parameter: &Parameter) {
        let traced = self.capture.tracer.parameter(&joined(&self.path, name), parameter.data().clone());
        self.keep(Rc::as_ptr(&parameter.0) as usize, traced);
    }
    fn buffer(&mut self, name: &str, buffer: &Buffer) {
        let name = joined(&self.path, name);
        let traced = self.capture.tracer.buffer(&name, buffer.data().clone(), buffer.is_persistent);
        self.keep(Rc::as_ptr(&buffer.data) as usize, traced);
    }
    fn module(&mut self, name: &str, module: &dyn Module) {
        self.enter(name, module);
    }
}

fn joined(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_string(),
        (path, "") => path.to_string(),
        (path, name) => format!("{path}.{name}"),
    }
}

/// A cell of a module's state.
enum Held {
    Parameter(Parameter),
    Buffer(Buffer),
}

/// Everything below a module, by name.
#[derive(Default)]
struct Everything {
    path: String,
    state: IndexMap<String, Held>,
    training: Option<bool>,
}

impl Visitor for Everything {
    fn parameter(&mut self, name: &str, parameter: &Parameter) {
        self.state.insert(joined(&self.path, name), Held::Parameter(parameter.clone()));
    }
    fn buffer(&mut self, name: &str, buffer: &Buffer) {
        self.state.insert(joined(&self.path, name), Held::Buffer(buffer.clone()));
    }
    fn module(&mut self, name: &str, module: &dyn Module) {
        let outer = std::mem::take(&mut self.path);
        self.path = joined(&outer, name);
        module.visit(self);
        self.path = outer;
    }
    fn mode(&mut self, mode: &Mode) {
        if let Some(training) = self.training {
            mode.0.set(training);
        }
    }
}

/// What every module has.
pub trait ModuleState: Module {
    /// Trains from now on, or evaluates: it and the modules below it.
    fn train(&self, training: bool) {
        self.visit(&mut Everything { training: Some(training), ..Everything::default() });
    }
    /// Evaluates from now on.
    fn eval(&self) {
        self.train(false);
    }
    /// Parameters and persistent buffers by name.
    fn state_dict(&self) -> IndexMap<String, Data> {
        let data = |cell: &Held| match cell {
            Held::Parameter(p) => Some(p.data().clone()),
            Held::Buffer(b) => b.is_persistent.then(|| b.data().clone()),
        };
        let all = everything(self);
        all.state.iter().filter_map(|(name, cell)| Some((name.clone(), data(cell)?))).collect()
    }
    /// Takes the values of a state dict.
    ///
    /// # Errors
    /// Entries are missing, unexpected, or of other sizes or dtypes: all of them, in PyTorch's words. Nothing is
    /// changed then.
    fn load_state_dict(&self, values: &IndexMap<String, Data>) -> Result<()> {
        let all = everything(self);
        let own = self.state_dict();
        let class = self.class();
        let class = class.rsplit('.').next().unwrap_or(&class);
        let quoted = |names: Vec<&String>| names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ");
        let missing: Vec<&String> = own.keys().filter(|name| !values.contains_key(*name)).collect();
        let unexpected: Vec<&String> = values.keys().filter(|name| !own.contains_key(*name)).collect();
        let mut problems = String::new();
        if !unexpected.is_empty() {
            problems += &format!("\n\tUnexpected key(s) in state_dict: {}. ", quoted(unexpected));
        }
        if !missing.is_empty() {
            problems += &format!("\n\tMissing key(s) in state_dict: {}. ", quoted(missing));
        }
        for (name, value) in values {
            let Some(is) = own.get(name) else { continue };
            if is.sizes() != value.sizes() {
                problems += &format!(
                    "\n\tsize mismatch for {name}: copying a param with shape torch.Size({:?}) from checkpoint, \
                     the shape in \
                     current model is torch.Size({:?}).",
                    value.sizes(),
                    is.sizes()
                );
            } else if is.dtype() != value.dtype() {
                let (got, is) = (value.dtype(), is.dtype());
                problems += &format!("\n\tdtype mismatch for {name}: expected {is}, got {got}.");
            }
        }
        if !problems.is_empty() {
            return Err(Error::invalid(format!("Error(s) in loading state_dict for {class}:{problems}")));
        }
        for (name, cell) in &all.state {
            match (cell, values.get(name)) {
                (Held::Parameter(p), Some(value)) => p.set(value.clone()),
                (Held::Buffer(b), Some(value)) if b.is_persistent => b.set(value.clone()),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<M: Module + ?Sized> ModuleState for M {}

fn everything<M: Module + ?Sized>(module: &M) -> Everything {
    let mut all = Everything::default();
    module.visit(&mut all);
    all
}

thread_local! {
    static GENERATOR: RefCell<Generator> = RefCell::new(Generator::new(2147483647));
}

/// Seeds the generator of initial weights, `torch.manual_seed`: the same seed gives the weights of PyTorch.
pub fn manual_seed(seed: u64) {
    GENERATOR.with_borrow_mut(|g| *g = Generator::new(seed));
}

/// Fills new float32 values from the generator.
pub(crate) fn draw(values: &mut [f32], fill: impl FnOnce(&mut Generator, &mut [f32])) {
    GENERATOR.with_borrow_mut(|g| fill(g, values));
}
