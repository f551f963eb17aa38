# torch.jit: scripts run as the Python that they are; tasks run in sequence.

import builtins

Final = object


def is_scripting():
    return False


def is_tracing():
    return False


def script(value=None, *args, **kwargs):
    return value


def script_method(function):
    return function


def ignore(function=None, **kwargs):
    return function if callable(function) else lambda f: f


unused = export = ignore
script_if_tracing = interface = script


def _overload_method(function):
    return function


_overload = _script_if_tracing = _overload_method
ScriptModule = ()


class TracerWarning(Warning):
    pass


class Future:
    def __init__(self, value):
        self.value = value


def fork(function, *args, **kwargs):
    return Future(function(*args, **kwargs))


_fork = fork


def wait(future):
    return future.value


_wait = wait


def isinstance(value, target_type):
    # The types of elements are not known here.
    return builtins.isinstance(value, target_type)


def annotate(kind, value):
    return value


class _Annotations:
    pass
