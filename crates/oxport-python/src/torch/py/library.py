# torch.library: operators of the program's own are called as the functions that they are.


def custom_op(name, function=None, **kwargs):
    def decorate(function):
        function.register_fake = lambda f=None, *a, **k: f if f is not None else lambda g: g
        function.register_kernel = lambda *a, **k: lambda g: g
        function.register_autograd = lambda *a, **k: None
        return function

    return decorate if function is None else decorate(function)


def _register(*args, **kwargs):
    return lambda function: function


register_fake = impl = register_kernel = impl_abstract = register_autograd = _register


class Library:
    def __init__(self, *args, **kwargs):
        pass

    def define(self, *args, **kwargs):
        return None

    def impl(self, *args, **kwargs):
        return None


def define(*args, **kwargs):
    return None
