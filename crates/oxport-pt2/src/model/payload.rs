//! Where in the archive the tensors of a program are.

use super::{Dict, TensorMeta, records};

records! {
    /// The weights or the constants of a program.
    PayloadConfig {
        /// By name, in state-dict order.
        config: Dict<PayloadMeta>,
    }

    /// One tensor or object.
    PayloadMeta {
        /// Its file within `data/weights/` or `data/constants/`.
        path_name: String,
        /// True for parameters.
        is_param: bool,
        /// True if the file is a pickle.
        use_pickle: bool,
        /// The tensor's layout over the file; `null` for objects.
        tensor_meta: Option<TensorMeta>,
    }
}
