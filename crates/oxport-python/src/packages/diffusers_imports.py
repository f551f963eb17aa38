# diffusers.utils.import_utils: of the optional packages there is PyTorch only.

import operator

import torch
from importlib import _find
from packaging import version

ENV_VARS_TRUE_VALUES = {"1", "ON", "YES", "TRUE"}
ENV_VARS_TRUE_AND_AUTO_VALUES = ENV_VARS_TRUE_VALUES | {"AUTO"}
USE_TF, USE_TORCH, DIFFUSERS_SLOW_IMPORT = "0", "1", False
BACKENDS_MAPPING = {}
_COMPARE = {">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt}


class OptionalDependencyNotAvailable(BaseException):
    pass


class DummyObject(type):
    pass


def is_torch_available():
    return True


def is_torch_version(operation, wanted):
    return _COMPARE[operation](version.parse(torch.__version__), version.parse(wanted))


def requires_backends(value, backends):
    return None


def get_objects_from_module(module):
    return {}


class _LazyModule:
    def __init__(self, name, file, structure, module_spec=None, extra_objects=None):
        self.__name__, self._structure = name, structure
        self.__dict__.update(extra_objects or {})

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        for module, names in self._structure.items():
            if name in names:
                return getattr(_find(self.__name__ + "." + module), name)
        try:
            return _find(self.__name__ + "." + name)
        except ModuleNotFoundError:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


def __getattr__(name):
    if name.startswith(("is_", "_is_")):
        return lambda *args, **kwargs: False
    raise AttributeError(name)
