//! What the inputs and outputs of a graph mean: `ExportGraphSignature`.
//!
//! Law: spec `i` describes placeholder `i`, or output `i`; the lists are as long as those.

use crate::Argument;
use std::sync::Arc;

/// The meaning of all inputs and outputs, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// One per placeholder.
    pub inputs: Vec<InputSpec>,
    /// One per output.
    pub outputs: Vec<OutputSpec>,
}

/// The meaning of one placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    /// What it is.
    pub kind: InputKind,
}

/// What a placeholder stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum InputKind {
    /// A leaf of the user's arguments.
    UserInput,
    /// A leaf of the user's arguments that was a constant when captured, and must be that constant.
    ConstantInput(Argument),
    /// A parameter, by its name in the state dict.
    Parameter(Arc<str>),
    /// A buffer, by its name.
    Buffer {
        /// The name in the state dict, or in the constants if not persistent.
        name: Arc<str>,
        /// Whether it is part of the state dict.
        persistent: bool,
    },
    /// A lifted tensor constant, by its name in the constants.
    TensorConstant(Arc<str>),
    /// A TorchBind object, by its name in the constants, and its class.
    CustomObj {
        /// The name in the constants.
        name: Arc<str>,
        /// The class.
        class: Arc<str>,
    },
    /// An effect token.
    Token,
}

/// The meaning of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    /// What it is.
    pub kind: OutputKind,
}

/// What an output stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputKind {
    /// A leaf of what the user gets.
    UserOutput,
    /// The new value of a buffer, by its name.
    BufferMutation(Arc<str>),
    /// The new value of a parameter, by its name.
    ParameterMutation(Arc<str>),
    /// The new value of a user input, by its placeholder's name.
    UserInputMutation(Arc<str>),
    /// An effect token.
    Token,
    /// The loss of a joint graph.
    LossOutput,
    /// The gradient of a parameter, by its name.
    GradientToParameter(Arc<str>),
    /// The gradient of a user input, by its placeholder's name.
    GradientToUserInput(Arc<str>),
}

impl From<InputKind> for InputSpec {
    fn from(kind: InputKind) -> InputSpec {
        InputSpec { kind }
    }
}

impl From<OutputKind> for OutputSpec {
    fn from(kind: OutputKind) -> OutputSpec {
        OutputSpec { kind }
    }
}

impl InputKind {
    /// True for leaves of the user's arguments.
    pub fn is_user(&self) -> bool {
        matches!(self, InputKind::UserInput | InputKind::ConstantInput(_))
    }
    /// The name of the state tensor or constant that fills the placeholder, if one does.
    pub fn lifted(&self) -> Option<&Arc<str>> {
        match self {
            InputKind::Parameter(name)
            | InputKind::Buffer { name, .. }
            | InputKind::TensorConstant(name)
            | InputKind::CustomObj { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl OutputKind {
    /// True for new values of buffers, parameters and user inputs.
    pub fn is_mutation(&self) -> bool {
        matches!(
            self,
            OutputKind::BufferMutation(_) | OutputKind::ParameterMutation(_) | OutputKind::UserInputMutation(_)
        )
    }
}

impl Signature {
    /// The positions of the user's inputs among the placeholders.
    pub fn user_inputs(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().enumerate().filter(|(_, s)| s.kind.is_user()).map(|(i, _)| i)
    }
    /// The positions of what `forward` returns among the outputs. A joint graph gives the gradients beside that.
    pub fn user_outputs(&self) -> impl Iterator<Item = usize> {
        let user = |s: &OutputSpec| matches!(s.kind, OutputKind::UserOutput | OutputKind::LossOutput);
        self.outputs.iter().enumerate().filter(move |(_, s)| user(s)).map(|(i, _)| i)
    }
}
