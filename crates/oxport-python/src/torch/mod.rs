//! `torch` for interpreted programs: tensors are the values of a [`Tracer`](oxport_capture::Tracer), modules are Python
//! source of our own.
//!
//! | module | holds |
//! |---|---|
//! | `session` | what a capture shares; operator calls |
//! | `tensor`, `number`, `convert` | tensors, symbolic numbers, dtypes and devices as objects |
//! | `indexing`, `data` | `x[…]`, `torch.tensor` |
//! | [`capture()`] | from a source file to an exported program |
//! | `py/` | `torch`, `torch.nn`, `torch.nn.functional`, … |
//!
//! Laws: an attribute of `torch`, `torch.nn.functional` or a tensor that is not defined here is the operator `aten::`
//! of that name, if there is one; overloads are resolved as PyTorch resolves them.

pub(crate) mod branch;
pub mod capture;
mod convert;
mod data;
mod examples;
mod given;
mod indexing;
mod inputs;
mod native;
mod number;
mod session;
pub(crate) mod tensor;

pub use capture::{Options, capture};
pub use inputs::{Dim, Input};
pub use session::Evaluator;

use crate::interp::{Bundled, Interp};
use session::Session;

/// The modules as source.
const MODULES: &[(&str, &str)] = &[
    ("torch", include_str!("py/torch.py")),
    ("torch._tensor_methods", include_str!("py/tensor.py")),
    ("torch.nn", include_str!("py/nn.py")),
    (
        "torch.nn.modules",
        "import importlib\nimport torch.nn\n\
        def __getattr__(name):\n    if hasattr(torch.nn, name):\n        return getattr(torch.nn, name)\n    \
        try:\n        return importlib.import_module('torch.nn.modules.' + name)\n    \
        except ImportError:\n        raise AttributeError(f\"module 'torch.nn.modules' has no attribute '{name}'\")\n",
    ),
    (
        "torch.nn.modules.module",
        "from torch.nn.module import *\nfrom torch.nn.module import Module, _IncompatibleKeys\n",
    ),
    ("torch.nn.module", include_str!("py/module.py")),
    ("torch.nn.layers", include_str!("py/layers.py")),
    ("torch.nn.convolution", include_str!("py/convolution.py")),
    ("torch.nn.losses", include_str!("py/losses.py")),
    ("torch.nn._loss_functions", include_str!("py/loss_functions.py")),
    ("torch.nn.modules.loss", "from torch.nn.losses import *\nfrom torch.nn.losses import _Loss, _WeightedLoss\n"),
    ("torch.nn.pooling", include_str!("py/pooling.py")),
    ("torch.nn.recurrent", include_str!("py/recurrent.py")),
    ("torch.nn._multi_head_attention", include_str!("py/multi_head_attention.py")),
    ("torch.nn.attention_layers", include_str!("py/attention.py")),
    ("torch.nn.modules.utils", include_str!("py/utils.py")),
    (
        "torch.nn.modules.batchnorm",
        "from torch.nn.layers import *\nfrom torch.nn.layers import _BatchNorm, _NormBase\n",
    ),
    ("torch.nn.modules.instancenorm", "from torch.nn.layers import *\nfrom torch.nn.layers import _InstanceNorm\n"),
    ("torch.nn.modules.conv", "from torch.nn.convolution import *\nfrom torch.nn.convolution import _ConvNd\n"),
    ("torch.nn.modules.linear", "from torch.nn.layers import *\n"),
    ("torch.nn.modules.normalization", "from torch.nn.layers import *\n"),
    ("torch.nn.modules.activation", "from torch.nn.layers import *\nfrom torch.nn.attention_layers import *\n"),
    ("torch.nn.modules.container", "from torch.nn.module import *\n"),
    ("torch.nn.modules.padding", "from torch.nn import *\n"),
    ("torch.nn.modules.pooling", "from torch.nn import *\n"),
    ("torch.nn.modules.upsampling", "from torch.nn import *\n"),
    ("torch.nn.modules.pixelshuffle", "from torch.nn import *\n"),
    ("torch.nn.modules.distance", "from torch.nn import *\n"),
    ("torch.nn.modules.flatten", "from torch.nn import *\n"),
    ("torch.nn.modules.fold", "from torch.nn import *\n"),
    ("torch.nn.modules.rnn", "from torch.nn import *\n"),
    ("torch.nn.modules.sparse", "from torch.nn import *\n"),
    ("torch.nn.modules.transformer", "from torch.nn import *\n"),
    ("torch.nn.modules.channelshuffle", "from torch.nn import *\n"),
    ("torch.nn.modules.dropout", "from torch.nn.layers import *\n"),
    ("torch.nn.functional", include_str!("py/functional.py")),
    ("torch.nn.init", include_str!("py/init.py")),
    ("torch.nn.parameter", include_str!("py/parameter.py")),
    ("torch.nn.utils", include_str!("py/nn_utils.py")),
    ("torch.nn.utils.parametrizations", include_str!("py/parametrizations.py")),
    ("torch.nn.utils.parametrize", include_str!("py/parametrize.py")),
    ("torch.nn.utils.weight_norm", "from torch.nn.utils import remove_weight_norm, weight_norm\n"),
    ("torch.nn.utils.rnn", include_str!("py/rnn.py")),
    (
        "torch.nn.attention",
        "from contextlib import nullcontext\n\
        class SDPBackend:\n    MATH = EFFICIENT_ATTENTION = FLASH_ATTENTION = CUDNN_ATTENTION = 0\n\
        def sdpa_kernel(*args, **kwargs):\n    return nullcontext()\n",
    ),
    ("torch.types", "Number = (int, float, bool)\nDevice = Size = object\n_int = int\n"),
    ("torch.linalg", include_str!("py/linalg.py")),
    ("torch.fft", "from torch import _namespace\n__getattr__ = _namespace('fft_')\n"),
    ("torch.special", "from torch import _namespace\n__getattr__ = _namespace('special_')\n"),
    ("torch._promotion", include_str!("py/promotion.py")),
    ("torch._loops", include_str!("py/loops.py")),
    // The functions hide the modules of the same names, as in PyTorch.
    (
        "torch._higher_order_ops",
        "from torch._higher_order_ops.associative_scan import associative_scan\n\
        from torch._higher_order_ops.cond import cond\nfrom torch._higher_order_ops.map import map\n\
        from torch._higher_order_ops.scan import scan\nfrom torch._higher_order_ops.while_loop import while_loop\n",
    ),
    ("torch._higher_order_ops.associative_scan", "from torch._loops import associative_scan\n"),
    ("torch._higher_order_ops.cond", "from torch import cond\n"),
    ("torch._higher_order_ops.map", "from torch._loops import map\n"),
    ("torch._higher_order_ops.scan", "from torch._loops import scan\n"),
    ("torch._higher_order_ops.while_loop", "from torch import while_loop\n"),
    ("functorch", ""),
    ("functorch.experimental", ""),
    ("functorch.experimental.control_flow", "from torch._higher_order_ops import cond, map\n"),
    ("torch.jit", include_str!("py/jit.py")),
    ("torch.fx", include_str!("py/fx.py")),
    (
        "torch.hub",
        "def load_state_dict_from_url(*args, **kwargs):\n    raise RuntimeError('weights are given by --weights, \
        there is no network')\n\
        def download_url_to_file(*args, **kwargs):\n    raise RuntimeError('there is no network')\n\
        HASH_REGEX = None\ndef _get_torch_home():\n    return ''\ndef get_dir():\n    return ''\n",
    ),
    ("torch.utils", "from . import _pytree, checkpoint, data\n"),
    ("torch.utils._pytree", include_str!("py/pytree.py")),
    ("torch.fx._globals", include_str!("py/fx_globals.py")),
    ("torch.fx._pytree", "from torch.utils._pytree import tree_flatten_spec\n"),
    (
        "torch.utils.checkpoint",
        "def checkpoint(function, *args, use_reentrant=None, **kwargs):\n    return function(*args)\n\
        def checkpoint_sequential(functions, segments, value, **kwargs):\n    for function in functions:\n        \
        value = function(value)\n    return value\n",
    ),
    ("torch.autograd", include_str!("py/autograd.py")),
    ("torch.autograd.function", "from torch.autograd import Function\nFunctionCtx = object\n"),
    ("torch.serialization", "def add_safe_globals(safe_globals):\n    pass\n"),
    (
        "torch.overrides",
        "def has_torch_function(*a):\n    return False\nhas_torch_function_unary = has_torch_function_variadic = \
        has_torch_function\ndef handle_torch_function(*a, **k):\n    raise NotImplementedError('torch functions')\n",
    ),
    (
        "torch.distributed",
        "def is_available():\n    return False\ndef is_initialized():\n    return False\n\
        def get_rank(group=None):\n    return 0\ndef get_world_size(group=None):\n    return 1\n",
    ),
    (
        "torch.accelerator",
        "from torch.cuda import device_count, is_available\ndef current_accelerator():\n    return None\n",
    ),
    (
        "torch.cuda",
        "def is_available():\n    return False\ndef device_count():\n    return 0\n\
        def is_bf16_supported():\n    return False\n",
    ),
    (
        "torch.cuda.amp",
        "import torch\nclass autocast(torch.autocast):\n    \
        def __init__(self, enabled=True, dtype=None, cache_enabled=True):\n        \
        super().__init__('cuda', dtype, enabled, cache_enabled)\n\
        def custom_fwd(f=None, **k):\n    return f if f else lambda g: g\n\
        custom_bwd = custom_fwd\n",
    ),
    ("torch.amp", "from torch import autocast\nfrom . import autocast_mode\n"),
    (
        "torch.amp.autocast_mode",
        "from torch import _python_function, autocast\n\
        _enter_autocast = _python_function('torch.amp.autocast_mode._enter_autocast')\n\
        _exit_autocast = _python_function('torch.amp.autocast_mode._exit_autocast')\n",
    ),
    (
        "torch._functorch.predispatch",
        "from torch import _python_function\n\
        def __getattr__(name):\n    return _python_function('torch._functorch.predispatch.' + name)\n",
    ),
    ("torch._functorch", "from . import predispatch\n"),
    ("torch._vmap", include_str!("py/vmap.py")),
    ("torch.func", "from torch._vmap import vmap\n"),
    ("torch.export", include_str!("py/export.py")),
    ("torch.distributions", include_str!("py/distributions.py")),
    ("torch.distributions.bernoulli", "from torch.distributions import Bernoulli\n"),
    ("torch.distributions.categorical", "from torch.distributions import Categorical\n"),
    ("torch.distributions.independent", "from torch.distributions import Independent\n"),
    ("torch.distributions.kl", "from torch.distributions import kl_divergence\n"),
    ("torch.distributions.normal", "from torch.distributions import Normal\n"),
    ("torch.return_types", include_str!("py/return_types.py")),
    // Functions of `torch` that PyTorch defines there.
    ("torch.functional", "import torch\ndef __getattr__(name):\n    return getattr(torch, name)\n"),
    ("torch.version", "from torch import __version__\ncuda = hip = xpu = None\ndebug = False\n"),
    ("torch.backends", "from . import cuda, cudnn, mkldnn, mps\n"),
    ("torch.backends.cuda", "def flash_sdp_enabled():\n    return True\n"),
    ("torch.backends.cudnn", "enabled = benchmark = deterministic = False\ndef is_available():\n    return False\n"),
    ("torch.mps", "from torch.cuda import device_count, is_available\n"),
    ("torch.xpu", "from torch.cuda import device_count, is_available\n"),
    ("torch.backends.mkldnn", "enabled = True\ndef is_available():\n    return True\n"),
    ("torch.backends.mps", "def is_available():\n    return False\n"),
    ("torch.library", include_str!("py/library.py")),
    (
        "torch.compiler",
        "def is_compiling():\n    return True\ndef is_exporting():\n    return True\n\
        def is_dynamo_compiling():\n    return True\n\
        def disable(f=None, *a, **k):\n    return f if callable(f) else lambda g: g\n\
        allow_in_graph = assume_constant_result = disable\n",
    ),
    (
        "torch._dynamo",
        "from torch.compiler import *\nfrom torch.compiler import is_compiling\n\
        assume_constant_result = allow_in_graph\n",
    ),
    ("torch.onnx", "def is_in_onnx_export():\n    return False\n"),
];

/// Modules for what a model does not compute with, which have no names: one that is used is absent.
const EMPTY: &[&str] = &[
    "torch.ao",
    "torch.ao.quantization",
    "torch.multiprocessing",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.profiler",
    "torch.quantization",
    "torch.testing",
    "torch.utils.data",
    "torch.utils.hooks",
    "torch.utils.model_zoo",
    "torch.utils.tensorboard",
];

/// Makes `torch` known to an interpreter.
pub(crate) fn install(interp: &mut Interp, evaluator: Evaluator) {
    let session = Session::new(interp, evaluator);
    interp.host = Some(session);
    interp.bundle("torch._C", Bundled { native: Some(native::install), source: None, is_open: false });
    for &(name, source) in MODULES {
        interp.bundle(name, Bundled { native: None, source: Some(source), is_open: false });
    }
    for name in EMPTY {
        interp.bundle(name, Bundled { native: None, source: Some(""), is_open: false });
    }
}
