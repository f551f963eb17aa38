# nn.Module and the containers.

from collections import OrderedDict, namedtuple

import torch
import torch._C as _C
from torch._C import Parameter, Tensor

__all__ = ["Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Identity"]

_IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class RemovableHandle:
    def __init__(self, hooks, key):
        self._hooks, self.id = hooks, key

    def remove(self):
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def _add_hook(hooks, hook, prepend, with_kwargs):
    handle = RemovableHandle(hooks, object())
    hooks[handle.id] = (hook, with_kwargs)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Module:
    dump_patches = False
    training: bool
    # What the code of a graph module has of its own.
    _in_spec = _out_spec = None

    def _guards_fn(self, *args):
        return None

    def __init__(self, *args, **kwargs):
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = OrderedDict()
        fields["_buffers"] = OrderedDict()
        fields["_modules"] = OrderedDict()
        fields["_non_persistent_buffers_set"] = set()
        fields["_forward_pre_hooks"] = OrderedDict()
        fields["_forward_hooks"] = OrderedDict()
        fields["_path"] = ""

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        kind = type(self)
        forward = self._with_hooks if self._forward_pre_hooks or self._forward_hooks else self.forward
        return _C.in_module(self._path, f"{kind.__module__}.{kind.__qualname__}", forward, *args, **kwargs)

    _call_impl = __call__

    def _with_hooks(self, *args, **kwargs):
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            given = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if given is not None and with_kwargs:
                args, kwargs = given
            elif given is not None:
                args = given if isinstance(given, tuple) else (given,)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs in list(self._forward_hooks.values()):
            given = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if given is not None:
                result = given
        return result

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _add_hook(self._forward_pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return _add_hook(self._forward_hooks, hook, prepend, with_kwargs)

    def __getattr__(self, name):
        fields = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in fields and name in fields[kind]:
                return fields[kind][name]
        if "parametrizations" in fields.get("_modules", ()) and name in fields["_modules"]["parametrizations"]:
            return fields["_modules"]["parametrizations"][name]()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        fields = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in fields:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name)
            fields["_parameters"][name] = value
        elif isinstance(value, Module):
            if "_modules" not in fields:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name)
            fields["_modules"][name] = value
        elif isinstance(value, Tensor) and getattr(value, "_is_buffer", False) and not _C.is_tracing():
            if "_parameters" not in fields:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif "_parameters" in fields and name in fields["_parameters"]:
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            fields["_parameters"][name] = value
        elif "_modules" in fields and name in fields["_modules"]:
            if value is None:
                fields["_modules"][name] = None
            else:
                del fields["_modules"][name]
                object.__setattr__(self, name, value)
        elif "_buffers" in fields and name in fields["_buffers"]:
            if isinstance(value, Tensor) and fields["_buffers"][name] is not None and _C.is_tracing():
                if value is not fields["_buffers"][name]:
                    fields["_buffers"][name].copy_(value)
            else:
                fields["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name):
        fields = self.__dict__
        fields.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            fields[kind].pop(name, None)

    def __delattr__(self, name):
        fields = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in fields[kind]:
                del fields[kind][name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name, param):
        self._forget(name)
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        self._modules[name] = module

    register_module = add_module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        if memo is None:
            memo = set()
        if id(self) not in memo:
            if remove_duplicate:
                memo.add(id(self))
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def _named(self, kind, prefix, recurse, unique=True):
        seen = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=unique) if recurse else [(prefix, self)]:
            for name, value in getattr(module, kind).items():
                if value is None or (unique and id(value) in seen):
                    continue
                seen.add(id(value))
                yield path + ("." if path else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        result = OrderedDict()
        for path, value in self.named_parameters(prefix=prefix.rstrip("."), remove_duplicate=False):
            result[path] = value
        for path, module in self.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
            for name, value in module._buffers.items():
                if value is not None and name not in module._non_persistent_buffers_set:
                    result[path + ("." if path else "") + name] = value
        return result

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = self.state_dict()
        for name, value in state_dict.items():
            if name in own:
                _C.assign(own[name], value)
        return _IncompatibleKeys([name for name in own if name not in state_dict], [name for name in state_dict if name not in own])

    def get_submodule(self, target):
        module = self
        for part in target.split(".") if target else []:
            module = getattr(module, part)
        return module

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    get_buffer = get_parameter

    def train(self, mode=True):
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for value in self.parameters():
            value.requires_grad = requires_grad
        return self

    def apply(self, function):
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def _same(self, *args, **kwargs):
        return self

    cuda = cpu = share_memory = compile = to_empty = _same

    def _apply(self, function):
        for module in self.modules():
            for value in module._parameters.values():
                if value is not None:
                    value.data = function(value)
            for name, value in module._buffers.items():
                if value is not None:
                    module._buffers[name] = function(value)
        return self

    def _cast(self, dtype):
        return self._apply(lambda value: value.to(dtype) if value.is_floating_point() or value.is_complex() else value)

    def to(self, *args, **kwargs):
        given = [*args, *kwargs.values()]
        dtypes = [value.dtype if isinstance(value, Tensor) else value for value in given if isinstance(value, (torch.dtype, Tensor))]
        return self._cast(dtypes[0]) if dtypes else self

    def type(self, dst_type):
        return self._apply(lambda value: value.to(dst_type))

    def float(self):
        return self._cast(torch.float32)

    def double(self):
        return self._cast(torch.float64)

    def half(self):
        return self._cast(torch.float16)

    def bfloat16(self):
        return self._cast(torch.bfloat16)

    def zero_grad(self, set_to_none=True):
        return None

    def extra_repr(self):
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        inner = [f"  ({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not inner:
            return f"{type(self).__name__}({self.extra_repr()})"
        return type(self).__name__ + "(\n" + "\n".join(inner) + "\n)"

    def register_full_backward_hook(self, hook, prepend=False):
        return RemovableHandle({}, None)

    register_backward_hook = register_full_backward_pre_hook = register_full_backward_hook

    def register_load_state_dict_post_hook(self, hook):
        return None

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return None

    register_load_state_dict_pre_hook = _register_state_dict_hook = register_state_dict_post_hook = _register_load_state_dict_pre_hook


class Identity(Module):
    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def __iter__(self):
        return iter(self._modules.values())

    def __len__(self):
        return len(self._modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[index]

    def __setitem__(self, index, module):
        name = list(self._modules)[index]
        self._modules[name] = module

    def __delitem__(self, index):
        names = list(self._modules)[index]
        for name in names if isinstance(names, list) else [names]:
            del self._modules[name]
        kept = list(self._modules.values())
        self._modules.clear()
        for at, module in enumerate(kept):
            self._modules[str(at)] = module

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        for at, item in enumerate(kept):
            self._modules[str(at)] = item
        return self


class ModuleList(Sequential):
    def __init__(self, modules=None):
        Module.__init__(self)
        self.extend(modules or [])

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return list(self._modules.values())[index]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def forward(self, *args):
        raise NotImplementedError("ModuleList has no forward")


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()

    def pop(self, key):
        return self._modules.pop(key)

    def clear(self):
        self._modules.clear()

    def update(self, modules):
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(values or [])

    def append(self, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(self._size), value)
        self._size += 1
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

    def __len__(self):
        return self._size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [getattr(self, str(at)) for at in range(self._size)[index]]
        return getattr(self, str(index % self._size))

    def __iter__(self):
        return iter([getattr(self, str(at)) for at in range(self._size)])


class ParameterDict(Module):
    def __init__(self, values=None):
        super().__init__()
        for key, value in (values or {}).items():
            self[key] = value

    def __getitem__(self, key):
        return getattr(self, key)

    def __setitem__(self, key, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()

    def __contains__(self, key):
        return key in self._parameters

    def __iter__(self):
        return iter(self._parameters)

    def __len__(self):
        return len(self._parameters)


def _of_each_rank(base, stem):
    """The modules over one, two and three dimensions: `Conv1d`, `Conv2d`, `Conv3d`."""
    return tuple(type(f"{stem}{n}d", (base,), {"_rank": n, "__module__": base.__module__}) for n in (1, 2, 3))
