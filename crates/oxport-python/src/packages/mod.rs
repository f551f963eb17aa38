//! Stand-ins for the parts of packages that models import and do not compute with: downloads, tokenizers, training,
//! quantization, other frameworks, and package roots that import all of these. Two more compute: `numpy`, whose source
//! is not Python, for constants, and the elementwise functions of `einx`, whose source compiles text.
//!
//! Law: a name that a stand-in lacks is absent, and raises when it is used. What else a model computes is always read
//! from the package's own source.

use crate::interp::{Bundled, Interp};

/// Whether the package's own modules are found below the name.
#[derive(Clone, Copy, PartialEq)]
enum Below {
    Open,
    Closed,
}
use Below::{Closed, Open};

/// Name, what is below it, source.
const MODULES: &[(&str, Below, &str)] = &[
    (
        "huggingface_hub",
        Closed,
        "__version__ = '2.0.0'\n\
        def is_offline_mode():\n    return True\n",
    ),
    (
        "huggingface_hub.constants",
        Closed,
        "def __getattr__(name):\n    if not name.isupper():\n        raise AttributeError(name)\n    return ''\n",
    ),
    ("huggingface_hub.dataclasses", Closed, include_str!("strict.py")),
    ("huggingface_hub.utils", Closed, "def validate_hf_hub_args(function):\n    return function\n"),
    ("einx", Closed, include_str!("einx.py")),
    ("beartype", Closed, include_str!("beartype.py")),
    ("beartype.door", Closed, "from beartype import is_bearable\n"),
    ("beartype.typing", Closed, "from typing import *\nfrom typing import __getattr__\n"),
    ("diffusers.hooks", Open, ""),
    ("diffusers.utils.hub_utils", Closed, "class PushToHubMixin:\n    pass\n"),
    ("diffusers.utils.import_utils", Closed, include_str!("diffusers_imports.py")),
    ("lightning", Closed, include_str!("lightning.py")),
    ("lightning.pytorch", Closed, "from lightning import *\nfrom lightning import __getattr__\n"),
    ("lightning_utilities", Closed, ""),
    ("lightning_utilities.core", Closed, ""),
    ("lightning_utilities.core.imports", Closed, include_str!("lightning_imports.py")),
    ("loguru", Closed, "from logging import getLogger\nlogger = getLogger()\n"),
    ("monai", Open, "__version__ = '1.6.1'\n"),
    ("numpy", Closed, include_str!("numpy.py")),
    ("packaging", Closed, "from packaging import version\n"),
    ("packaging.version", Closed, include_str!("packaging.py")),
    ("pytorch_lightning", Closed, "from lightning import *\nfrom lightning import __getattr__\n"),
    ("timm.data", Open, "from .constants import *\n"),
    (
        "torchvision",
        Open,
        "__version__ = '0.29.2'\ndef get_image_backend():\n    return 'PIL'\n\
        def disable_beta_transforms_warning():\n    pass\ndef _is_tracing():\n    return False\n",
    ),
    ("torchvision.extension", Closed, "def _has_ops():\n    return True\ndef _assert_has_ops():\n    return None\n"),
    ("torchvision.ops._register_onnx_ops", Closed, "def _register_custom_op():\n    return None\n"),
    ("tqdm", Closed, "from tqdm.auto import tqdm\n"),
    ("tqdm.auto", Closed, "class tqdm:\n    def __new__(cls, values=None, *args, **kwargs):\n        return values\n"),
    ("transformers", Open, include_str!("transformers.py")),
    ("transformers.models", Open, ""),
    (
        "transformers.distributed.mixin",
        Closed,
        "class DistributedMixin:\n    def init_parallel_plans(self):\n        pass\n",
    ),
    ("transformers.generation", Closed, include_str!("generation.py")),
    ("transformers.generation.configuration_utils", Closed, "from transformers.generation import GenerationConfig\n"),
    ("transformers.integrations", Open, include_str!("integrations.py")),
    (
        "transformers.integrations.accelerate",
        Closed,
        "def force_accelerate_hooks(*names):\n    return lambda cls: cls\n",
    ),
    ("transformers.integrations.deepspeed", Closed, "def is_deepspeed_zero3_enabled():\n    return False\n"),
    ("transformers.integrations.finegrained_fp8", Closed, "ALL_FP8_EXPERTS_FUNCTIONS = {}\n"),
    (
        "transformers.integrations.fsdp",
        Closed,
        "from transformers.integrations import is_fsdp_enabled, is_fsdp_managed_module\n",
    ),
    ("transformers.integrations.heterogeneity", Closed, include_str!("heterogeneity.py")),
    ("transformers.integrations.hub_kernels", Closed, include_str!("hub_kernels.py")),
    ("transformers.integrations.peft", Closed, "class PeftAdapterMixin:\n    pass\n"),
    ("transformers.loss.loss_utils", Closed, "LOSS_MAPPING = {}\n"),
    ("transformers.processing_utils", Closed, "from typing import Unpack\n"),
    ("transformers.utils.auto_docstring", Closed, include_str!("docstrings.py")),
    ("transformers.utils.doc", Closed, include_str!("doc.py")),
    ("transformers.utils.hub", Closed, "class PushToHubMixin:\n    def push_to_hub(self):\n        pass\n"),
    ("transformers.utils.import_utils", Closed, include_str!("import_utils.py")),
    ("transformers.utils.logging", Closed, include_str!("logging.py")),
];

/// Packages and modules that have no names, and nothing below.
const EMPTY: &[&str] = &[
    "ftfy",
    "monai.apps",
    "monai.data",
    "monai.transforms",
    "transformers.conversion_mapping",
    "transformers.core_model_loading",
    "transformers.distributed",
    "transformers.dynamic_module_utils",
    "transformers.generation.continuous_batching",
    "transformers.tokenization_utils_base",
    "transformers.tokenization_python",
    "transformers.tokenization_utils_sentencepiece",
    "transformers.tokenization_utils_tokenizers",
    "transformers.image_utils",
    "transformers.image_transforms",
    "transformers.image_processing_utils",
    "transformers.image_processing_base",
    "transformers.feature_extraction_utils",
    "transformers.video_utils",
    "transformers.video_processing_utils",
    "transformers.utils.chat_parsing",
    "transformers.trainer_utils",
    "diffusers.quantizers",
    "diffusers.loaders",
    "diffusers.utils.dynamic_modules_utils",
    "diffusers.utils.export_utils",
    "diffusers.utils.loading_utils",
    "diffusers.image_processor",
    "diffusers.utils.doc_utils",
    "diffusers.models.model_loading_utils",
    "diffusers.dependency_versions_check",
    "diffusers.utils.pil_utils",
    "transformers.integrations.aqlm",
    "transformers.integrations.awq",
    "transformers.integrations.bitnet",
    "transformers.integrations.bitsandbytes",
    "transformers.integrations.compressed_tensors",
    "transformers.integrations.deepgemm",
    "transformers.integrations.eager_paged",
    "transformers.integrations.executorch",
    "transformers.integrations.flash_attention",
    "transformers.integrations.flash_paged",
    "transformers.integrations.flex_attention",
    "transformers.integrations.ggml",
    "transformers.integrations.gguf",
    "transformers.integrations.integration_utils",
    "transformers.integrations.msa_attention",
    "transformers.integrations.mxfp4",
    "transformers.integrations.neftune",
    "transformers.integrations.npu_flash_attention",
    "transformers.integrations.sdpa_paged",
    "transformers.integrations.sonicmoe",
    "transformers.integrations.tensor_parallel",
    "transformers.integrations.tpu",
    "transformers.monkey_patching",
    "transformers.quantizers",
    "transformers.safetensors_conversion",
    "transformers.utils.chat_template_utils",
    "transformers.utils.kernel_config",
    "transformers.utils.loading_report",
    "transformers.utils.peft_utils",
    "transformers.utils.quantization_config",
];

/// Makes the stand-ins known to an interpreter.
pub(crate) fn install(interp: &mut Interp) {
    for &(name, below, source) in MODULES {
        interp.bundle(name, Bundled { native: None, source: Some(source), is_open: below == Open });
    }
    for name in EMPTY {
        interp.bundle(name, Bundled { native: None, source: Some(""), is_open: false });
    }
}
