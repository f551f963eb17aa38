# torch.nn.parameter: parameters are native, buffers are tensors that say so.

from torch._C import Parameter, Tensor

UninitializedParameter = Parameter


class _BufferMeta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and getattr(value, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    def __new__(cls, data, *, persistent=True):
        buffer = data.detach()
        buffer._is_buffer, buffer.persistent = True, persistent
        return buffer
