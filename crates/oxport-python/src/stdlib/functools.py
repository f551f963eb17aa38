# Higher-order functions.

WRAPPER_ASSIGNMENTS = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")
WRAPPER_UPDATES = ("__dict__",)


def update_wrapper(wrapper, wrapped, assigned=WRAPPER_ASSIGNMENTS, updated=WRAPPER_UPDATES):
    for name in assigned:
        value = getattr(wrapped, name, None)
        if value is not None:
            setattr(wrapper, name, value)
    for name, value in getattr(wrapped, "__dict__", {}).items():
        setattr(wrapper, name, value)
    wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(wrapped, assigned=WRAPPER_ASSIGNMENTS, updated=WRAPPER_UPDATES):
    return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)


class partial:
    def __init__(self, func, /, *args, **kwargs):
        if isinstance(func, partial):
            args = func.args + args
            kwargs = {**func.keywords, **kwargs}
            func = func.func
        self.func = func
        self.args = args
        self.keywords = kwargs

    def __call__(self, /, *args, **kwargs):
        return self.func(*self.args, *args, **{**self.keywords, **kwargs})

    def __repr__(self):
        parts = [repr(self.func)]
        parts.extend(repr(value) for value in self.args)
        parts.extend(f"{name}={value!r}" for name, value in self.keywords.items())
        return "functools.partial(" + ", ".join(parts) + ")"


class partialmethod:
    def __init__(self, func, *args, **kwargs):
        self.func, self.args, self.keywords = func, args, kwargs

    def __get__(self, instance, owner=None):
        func = self.func.__get__(instance, owner) if hasattr(self.func, "__get__") else self.func
        return partial(func, *self.args, **self.keywords)


_NONE = object()


def reduce(function, iterable, initial=_NONE):
    iterator = iter(iterable)
    if initial is _NONE:
        try:
            value = next(iterator)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value") from None
    else:
        value = initial
    for item in iterator:
        value = function(value, item)
    return value


def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return lru_cache()(maxsize)

    def decorate(function):
        known = {}

        @wraps(function)
        def wrapper(*args, **kwargs):
            key = (args, tuple(kwargs.items()))
            if key not in known:
                known[key] = function(*args, **kwargs)
            return known[key]

        wrapper.cache_clear = known.clear
        return wrapper

    return decorate


def cache(function):
    return lru_cache(None)(function)


class cached_property:
    def __init__(self, func):
        self.func = func
        self.name = func.__name__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if self.name not in instance.__dict__:
            instance.__dict__[self.name] = self.func(instance)
        return instance.__dict__[self.name]


def cmp_to_key(compare):
    class Key:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            return compare(self.value, other.value) < 0

        def __eq__(self, other):
            return compare(self.value, other.value) == 0

    return Key


def total_ordering(cls):
    own = [name for name in ("__lt__", "__le__", "__gt__", "__ge__") if name in cls.__dict__]
    if not own:
        raise ValueError("must define at least one ordering operation: < > <= >=")
    root = own[0]
    definitions = {
        "__lt__": lambda self, other: not (getattr(self, "__ge__")(other)) if root == "__ge__" else (
            self.__le__(other) and self != other if root == "__le__" else not self.__gt__(other) and self != other),
        "__le__": lambda self, other: self.__lt__(other) or self == other if root == "__lt__" else not self.__gt__(other) if root == "__gt__" else not self.__ge__(other) or self == other,
        "__gt__": lambda self, other: not (self.__lt__(other) or self == other) if root == "__lt__" else not self.__le__(other) if root == "__le__" else self.__ge__(other) and self != other,
        "__ge__": lambda self, other: not self.__lt__(other) if root == "__lt__" else not self.__le__(other) or self == other if root == "__le__" else self.__gt__(other) or self == other,
    }
    for name, function in definitions.items():
        if name not in cls.__dict__:
            setattr(cls, name, function)
    return cls


def singledispatch(function):
    registry = {object: function}

    def dispatch(kind):
        for base in kind.__mro__:
            if base in registry:
                return registry[base]
        return function

    def register(kind, implementation=None):
        if implementation is None:
            return lambda f: register(kind, f)
        registry[kind] = implementation
        return implementation

    @wraps(function)
    def wrapper(*args, **kwargs):
        return dispatch(type(args[0]))(*args, **kwargs)

    wrapper.register = register
    wrapper.dispatch = dispatch
    return wrapper
