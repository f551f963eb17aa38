# torch.autograd: functions with a derivative of their own are their forward parts.


class _Context:
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        pass

    mark_dirty = set_materialize_grads = mark_non_differentiable


class Function:
    @classmethod
    def apply(cls, *args):
        context = _Context()
        if not hasattr(cls, "setup_context"):
            return cls.forward(context, *args)
        output = cls.forward(*args)
        cls.setup_context(context, args, output)
        return output


class Variable:
    # Tensors themselves, since PyTorch 0.4.
    def __new__(cls, data, requires_grad=False, volatile=False):
        return data
