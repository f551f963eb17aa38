# torch.export: what a source says of its own sizes.


class _Hint:
    def __init__(self, kind, min=None, max=None):
        self._kind = kind
        self._parts = (kind, "", min, max, 1, 0)

    def __call__(self, min=None, max=None):
        return _Hint(self._kind, min, max)


class Dim:
    AUTO = _Hint("AUTO")
    DYNAMIC = _Hint("DYNAMIC")
    STATIC = _Hint("STATIC")

    def __init__(self, name, *, min=None, max=None):
        self.__name__ = name
        self.min = min
        self.max = max
        self._parts = ("NAMED", name, min, max, 1, 0)

    def _derived(self, times, plus):
        result = Dim(self.__name__, min=self.min, max=self.max)
        _, name, low, high, own_times, own_plus = self._parts
        result._parts = ("NAMED", name, low, high, own_times * times, own_plus * times + plus)
        return result

    def __mul__(self, other):
        return self._derived(other, 0)

    __rmul__ = __mul__

    def __add__(self, other):
        return self._derived(1, other)

    __radd__ = __add__

    def __sub__(self, other):
        return self._derived(1, -other)


def dims(*names, min=None, max=None):
    return tuple(Dim(name, min=min, max=max) for name in names)


def register_dataclass(kind, *, serialized_type_name=None):
    if serialized_type_name is not None:
        kind.__serialized_type_name__ = serialized_type_name


def export(*args, **kwargs):
    raise NotImplementedError("torch.export.export cannot be captured")
