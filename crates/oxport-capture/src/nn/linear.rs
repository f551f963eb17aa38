//! Linear layers.

use super::init;
use crate::{Forward, Module, Parameter, Tensor, Visitor};

/// `torch.nn.Linear`: `x @ weight.T + bias`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[out, in]`
    pub weight: Parameter,
    /// `[out]`
    pub bias: Option<Parameter>,
}

impl Linear {
    /// With a bias.
    pub fn new(inputs: i64, outputs: i64) -> Linear {
        let sizes = [outputs, inputs];
        Linear { weight: init::weight(&sizes), bias: Some(init::bias(&sizes, outputs)) }
    }
    /// Without one.
    pub fn without_bias(inputs: i64, outputs: i64) -> Linear {
        Linear { weight: init::weight(&[outputs, inputs]), bias: None }
    }
}

impl Module for Linear {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
        self.bias.iter().for_each(|bias| visitor.parameter("bias", bias));
    }
    fn class(&self) -> String {
        "torch.nn.modules.linear.Linear".into()
    }
}

impl Forward<&Tensor> for Linear {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(self.weight.get(), self.bias.as_ref().map(Parameter::get))
    }
}

/// `torch.nn.Bilinear`: `x1 @ weight @ x2 + bias`.
#[derive(Clone, Debug)]
pub struct Bilinear {
    /// `[out, in1, in2]`
    pub weight: Parameter,
    /// `[out]`
    pub bias: Option<Parameter>,
}

impl Bilinear {
    /// With a bias.
    pub fn new(first: i64, second: i64, outputs: i64) -> Bilinear {
        let bound = 1.0 / (first as f64).sqrt();
        let weight = Parameter::new(init::uniform(&[outputs, first, second], -bound, bound));
        Bilinear { weight, bias: Some(Parameter::new(init::uniform(&[outputs], -bound, bound))) }
    }
}

impl Module for Bilinear {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
        self.bias.iter().for_each(|bias| visitor.parameter("bias", bias));
    }
    fn class(&self) -> String {
        "torch.nn.modules.linear.Bilinear".into()
    }
}

impl Forward<(&Tensor, &Tensor)> for Bilinear {
    type Output = Tensor;
    fn forward(&self, (a, b): (&Tensor, &Tensor)) -> Tensor {
        a.bilinear(b, self.weight.get(), self.bias.as_ref().map(Parameter::get))
    }
}
