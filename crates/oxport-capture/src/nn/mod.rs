//! The modules of `torch.nn`: same names of state, same calls, same initial weights for the same seed.
//!
//! Laws: a module traces what PyTorch's own traces in the same mode; state is registered in PyTorch's order.

mod activation;
mod attention;
mod container;
mod conv;
mod embedding;
mod init;
mod linear;
mod loss;
mod norm;
mod pad;
mod pool;
mod recurrent;
mod response;
mod transformer;

pub use activation::*;
pub use attention::{Attention, MultiheadAttention};
pub use container::{Layer, ModuleDict, ModuleList, Sequential};
pub use conv::{
    Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, PaddingMode,
};
pub use embedding::{BagMode, Embedding, EmbeddingBag};
pub use init::*;
pub use linear::{Bilinear, Linear};
pub use loss::*;
pub use norm::*;
pub use pad::*;
pub use pool::*;
pub use recurrent::{GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell, Recurrent, ReluRNN, ReluRNNCell};
pub use response::LocalResponseNorm;
pub use transformer::*;

/// A module without state: what it holds, and what it traces of one input.
macro_rules! stateless {
    ($($(#[$doc:meta])* $place:literal $name:ident($($field:ident: $t:ty = $default:expr),*) |$s:ident,
        $x:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $(#[doc = concat!("`", stringify!($field), "` of PyTorch's module.")] pub $field: $t,)*
            mode: $crate::Mode,
        }
        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* mode: $crate::Mode::default() }
            }
        }
        impl $name {$(
            #[doc = concat!("The same with this `", stringify!($field), "`.")]
            pub fn $field(self, $field: $t) -> $name {
                $name { $field, ..self }
            }
        )*}
        impl $crate::Module for $name {
            fn visit(&self, visitor: &mut dyn $crate::Visitor) {
                visitor.mode(&self.mode);
            }
            fn class(&self) -> String {
                concat!("torch.nn.modules.", $place, ".", stringify!($name)).to_string()
            }
        }
        impl $crate::Forward<&$crate::Tensor> for $name {
            type Output = $crate::Tensor;
            fn forward(&self, $x: &$crate::Tensor) -> $crate::Tensor {
                let $s = self;
                $body
            }
        }
    )*};
}
pub(crate) use stateless;
