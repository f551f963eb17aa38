//! Metas: symbolic numbers, devices, tensors without data.

use super::{Real, records, unions};

records! {
    /// A device.
    Device {
        /// `cpu`, `cuda`, ….
        kind as "type": String,
        /// The index, if the program has one.
        index: Option<i64> = None,
    }

    /// A symbolic expression.
    SymExpr {
        /// The expression: sympy's `srepr` since PyTorch 2.6, infix before.
        expr_str: String,
        /// Its value when captured; `null` for unbacked ones.
        hint: Option<Hint> = None,
    }

    /// A tensor without its data.
    TensorMeta {
        /// A `ScalarType` number.
        dtype: i64,
        /// The sizes, outermost first.
        sizes: Vec<SymInt>,
        /// Whether autograd tracks it.
        requires_grad: bool,
        /// Where it was.
        device: Device,
        /// The strides, in elements.
        strides: Vec<SymInt>,
        /// The offset of the first element in its storage, in elements.
        storage_offset: SymInt,
        /// A `Layout` number; 7 is strided.
        layout: i64,
    }

    /// A custom object, by name and class.
    CustomObjArgument {
        /// The name of the value.
        name: String,
        /// The class of the object.
        class_fqn: String,
    }
}

unions! {
    /// The value of an expression when captured.
    Hint {
        /// Of an integer.
        AsInt(i64),
        /// Of a truth value.
        AsBool(bool),
        /// Of a float.
        AsFloat(Real),
    }

    /// An integer, symbolic or not.
    SymInt {
        /// Symbolic.
        AsExpr(SymExpr),
        /// Known.
        AsInt(i64),
    }

    /// A float, symbolic or not.
    SymFloat {
        /// Symbolic.
        AsExpr(SymExpr),
        /// Known.
        AsFloat(Real),
    }

    /// A truth value, symbolic or not.
    SymBool {
        /// Symbolic.
        AsExpr(SymExpr),
        /// Known.
        AsBool(bool),
    }
}
