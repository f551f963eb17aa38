# transformers.integrations: its modules are found by name.

from transformers.integrations.hub_kernels import *
from transformers.integrations.peft import PeftAdapterMixin
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled


def deepspeed_config():
    return None


def is_fsdp_managed_module(module):
    return False


def is_fsdp_enabled():
    return False


def __getattr__(name):
    from importlib import _find

    for module in ("moe", "sdpa_attention", "accelerate"):
        found = _find("transformers.integrations." + module)
        if hasattr(found, name):
            return getattr(found, name)
    raise AttributeError(name)
