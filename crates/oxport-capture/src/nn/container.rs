//! Containers of modules.

use crate::{Forward, Module, Tensor, Visitor};

/// A module from one tensor to one tensor.
pub trait Layer: Module {
    /// [`Forward::call`] of a layer whose type is not known.
    #[track_caller]
    fn call_layer(&self, x: &Tensor) -> Tensor;
}

impl<M: for<'a> Forward<&'a Tensor, Output = Tensor>> Layer for M {
    #[track_caller]
    fn call_layer(&self, x: &Tensor) -> Tensor {
        self.call(x)
    }
}

/// `torch.nn.Sequential`: one layer after the other, named `0`, `1`, ….
#[derive(Default)]
pub struct Sequential {
    layers: Vec<(String, Box<dyn Layer>)>,
}

impl Sequential {
    /// No layer.
    pub fn new() -> Sequential {
        Sequential::default()
    }
    /// And then this layer, named by its number.
    pub fn then(self, layer: impl Layer + 'static) -> Sequential {
        let name = self.layers.len().to_string();
        self.named(&name, layer)
    }
    /// And then this layer, of that name.
    pub fn named(mut self, name: &str, layer: impl Layer + 'static) -> Sequential {
        self.layers.push((name.to_string(), Box::new(layer)));
        self
    }
    /// How many layers there are.
    pub fn len(&self) -> usize {
        self.layers.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl Module for Sequential {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.layers.iter().for_each(|(name, layer)| visitor.module(name, &**layer as &dyn Module));
    }
    fn class(&self) -> String {
        "torch.nn.modules.container.Sequential".into()
    }
}

impl Forward<&Tensor> for Sequential {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layers.iter().fold(x.clone(), |x, (_, layer)| layer.call_layer(&x))
    }
}

/// `torch.nn.ModuleList`: modules by number.
#[derive(Clone, Debug)]
pub struct ModuleList<M>(Vec<M>);

impl<M> FromIterator<M> for ModuleList<M> {
    fn from_iter<I: IntoIterator<Item = M>>(modules: I) -> ModuleList<M> {
        ModuleList(modules.into_iter().collect())
    }
}
impl<M> std::ops::Deref for ModuleList<M> {
    type Target = [M];
    fn deref(&self) -> &[M] {
        &self.0
    }
}
impl<M: Module> Module for ModuleList<M> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.0.iter().enumerate().for_each(|(i, m)| visitor.module(&i.to_string(), m));
    }
    fn class(&self) -> String {
        "torch.nn.modules.container.ModuleList".into()
    }
}

/// `torch.nn.ModuleDict`: modules by name, in order.
#[derive(Clone, Debug)]
pub struct ModuleDict<M>(Vec<(String, M)>);

impl<M> FromIterator<(String, M)> for ModuleDict<M> {
    fn from_iter<I: IntoIterator<Item = (String, M)>>(modules: I) -> ModuleDict<M> {
        ModuleDict(modules.into_iter().collect())
    }
}
impl<M> ModuleDict<M> {
    /// The module of that name.
    pub fn get(&self, name: &str) -> Option<&M> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, m)| m)
    }
}
impl<M: Module> Module for ModuleDict<M> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.0.iter().for_each(|(name, m)| visitor.module(name, m));
    }
    fn class(&self) -> String {
        "torch.nn.modules.container.ModuleDict".into()
    }
}
