//! The signature of the top graph's inputs and outputs.

use super::{Argument, CustomObjArgument, Flag, Real, TensorArgument, TokenArgument, records, unions};

records! {
    /// One spec for every input and output of the top graph, in their order.
    GraphSignature {
        /// The inputs.
        input_specs: Vec<InputSpec>,
        /// The outputs.
        output_specs: Vec<OutputSpec>,
    }

    /// A user input.
    UserInputSpec {
        /// The value, or the literal it was specialized to.
        arg: Argument,
    }

    /// An input that must be this constant.
    ConstantInputSpec {
        /// The name of the placeholder.
        name: String,
        /// The constant.
        value: ConstantValue,
    }

    /// An input filled from a parameter.
    ParameterSpec {
        /// The value.
        arg: TensorArgument,
        /// The parameter's name.
        parameter_name: String,
    }

    /// An input filled from a buffer.
    BufferSpec {
        /// The value.
        arg: TensorArgument,
        /// The buffer's name.
        buffer_name: String,
        /// Whether the buffer is part of the state dict.
        persistent: bool,
    }

    /// An input filled from a lifted tensor constant.
    TensorConstantSpec {
        /// The value.
        arg: TensorArgument,
        /// The constant's name.
        tensor_constant_name: String,
    }

    /// An input filled from a custom object.
    CustomObjSpec {
        /// The value.
        arg: CustomObjArgument,
        /// The object's name.
        custom_obj_name: String,
    }

    /// An effect token, as input or output.
    TokenSpec {
        /// The value.
        arg: TokenArgument,
    }

    /// A user output.
    UserOutputSpec {
        /// The value, or a constant.
        arg: Argument,
    }

    /// An output that is the loss.
    LossOutputSpec {
        /// The value.
        arg: TensorArgument,
    }

    /// An output that is the new value of a buffer.
    BufferMutationSpec {
        /// The value.
        arg: TensorArgument,
        /// The buffer's name.
        buffer_name: String,
    }

    /// An output that is the new value of a parameter, or its gradient.
    ParameterOutputSpec {
        /// The value.
        arg: TensorArgument,
        /// The parameter's name.
        parameter_name: String,
    }

    /// An output that is the new value of a user input, or its gradient.
    UserInputOutputSpec {
        /// The value.
        arg: TensorArgument,
        /// The placeholder's name.
        user_input_name: String,
    }
}

unions! {
    /// The meaning of an input.
    InputSpec {
        /// A user input.
        UserInput(UserInputSpec),
        /// A parameter.
        Parameter(ParameterSpec),
        /// A buffer.
        Buffer(BufferSpec),
        /// A lifted tensor constant.
        TensorConstant(TensorConstantSpec),
        /// A custom object.
        CustomObj(CustomObjSpec),
        /// An effect token.
        Token(TokenSpec),
        /// A constant.
        ConstantInput(ConstantInputSpec),
    }

    /// The meaning of an output.
    OutputSpec {
        /// A user output.
        UserOutput(UserOutputSpec),
        /// The loss.
        LossOutput(LossOutputSpec),
        /// The new value of a buffer.
        BufferMutation(BufferMutationSpec),
        /// The gradient of a parameter.
        GradientToParameter(ParameterOutputSpec),
        /// The gradient of a user input.
        GradientToUserInput(UserInputOutputSpec),
        /// The new value of a user input.
        UserInputMutation(UserInputOutputSpec),
        /// An effect token.
        Token(TokenSpec),
        /// The new value of a parameter.
        ParameterMutation(ParameterOutputSpec),
    }

    /// A constant.
    ConstantValue {
        /// `None`.
        AsNone(Flag),
        /// An int.
        AsInt(i64),
        /// A float.
        AsFloat(Real),
        /// A string.
        AsString(String),
        /// A bool.
        AsBool(bool),
    }
}
