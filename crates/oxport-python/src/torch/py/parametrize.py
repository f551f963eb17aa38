# torch.nn.utils.parametrize: tensors of modules that are computed from others. They are computed where they are read.

from contextlib import contextmanager

from torch._C import Parameter
from torch.nn.module import Module, ModuleDict, ModuleList


class ParametrizationList(ModuleList):
    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        value = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                value = module.right_inverse(value)
        self.is_tensor = not isinstance(value, (tuple, list))
        for name, part in [("original", value)] if self.is_tensor else [(f"original{i}", part) for i, part in enumerate(value)]:
            if isinstance(original, Parameter):
                self.register_parameter(name, part if isinstance(part, Parameter) else Parameter(part))
            else:
                self.register_buffer(name, part)
        self.ntensors = 1 if self.is_tensor else len(value)

    def forward(self):
        first, *rest = self
        value = first(self.original) if self.is_tensor else first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in rest:
            value = module(value)
        return value


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = getattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    made = ParametrizationList([parametrization], original, unsafe)
    module._forget(tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module, tensor_name=None):
    if "parametrizations" not in module._modules:
        return False
    return tensor_name is None or tensor_name in module.parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    value = module.parametrizations[tensor_name]()
    del module.parametrizations[tensor_name]
    if len(module.parametrizations) == 0:
        del module.parametrizations
    module.register_parameter(tensor_name, Parameter(value))
    return module


@contextmanager
def cached():
    yield
