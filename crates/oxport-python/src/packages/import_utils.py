# transformers.utils.import_utils: of the optional packages there is PyTorch only.

import torch
from importlib import _find, _submodules
from packaging import version

ENV_VARS_TRUE_VALUES = {"1", "ON", "YES", "TRUE"}
ENV_VARS_TRUE_AND_AUTO_VALUES = ENV_VARS_TRUE_VALUES | {"AUTO"}
BACKENDS_MAPPING = {}
ACCELERATE_MIN_VERSION = GGUF_MIN_VERSION = XLA_FSDPV2_MIN_VERSION = "0"


class OptionalDependencyNotAvailable(BaseException):
    pass


class DummyObject(type):
    pass


def is_torch_available():
    return True


def is_torch_greater_or_equal(wanted, accept_dev=False):
    return version.parse(torch.__version__) >= version.parse(wanted)


def is_torch_less_or_equal(wanted, accept_dev=False):
    return version.parse(torch.__version__) <= version.parse(wanted)


def get_torch_version():
    return torch.__version__


def is_torchdynamo_compiling():
    return torch.compiler.is_compiling()


def is_torchdynamo_exporting():
    return torch.compiler.is_exporting()


def is_tracing(tensor=None):
    return True


def is_jit_tracing():
    return False


def requires(*, backends=()):
    return lambda value: value


def requires_backends(value, backends):
    return None


def define_import_structure(file, prefix=None):
    return {}


class _LazyModule:
    def __init__(self, name, *args, **kwargs):
        self.__name__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        modules = _submodules(self.__name__)
        if name in modules:
            return _find(self.__name__ + "." + name)
        configuration = name.endswith("Config") or name.isupper()
        for kind in ("configuration_", "modeling_") if configuration else ("modeling_", "configuration_"):
            for module in modules:
                if module.startswith(kind) and not module.startswith(("modeling_tf_", "modeling_flax_")):
                    found = _find(self.__name__ + "." + module)
                    if hasattr(found, name):
                        return getattr(found, name)
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


def __getattr__(name):
    if name.startswith(("is_", "_is_")):
        return lambda *args, **kwargs: False
    raise AttributeError(name)
