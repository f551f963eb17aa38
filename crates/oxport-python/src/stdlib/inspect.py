# Signatures of functions.


class _Empty:
    pass


_empty = _Empty


class Parameter:
    empty = _Empty
    POSITIONAL_ONLY = 0
    POSITIONAL_OR_KEYWORD = 1
    VAR_POSITIONAL = 2
    KEYWORD_ONLY = 3
    VAR_KEYWORD = 4

    def __init__(self, name, kind, default=_Empty, annotation=_Empty):
        self.name, self.kind, self.default, self.annotation = name, kind, default, annotation


class Signature:
    empty = _Empty

    def __init__(self, parameters):
        self.parameters = {parameter.name: parameter for parameter in parameters}

    def bind(self, *args, **kwargs):
        return self._bind(args, kwargs, False)

    def bind_partial(self, *args, **kwargs):
        return self._bind(args, kwargs, True)

    def _bind(self, args, kwargs, is_partial):
        found, args = {}, list(args)
        for name, parameter in self.parameters.items():
            kind = parameter.kind
            if kind == Parameter.VAR_POSITIONAL:
                if args:
                    found[name], args = tuple(args), []
            elif kind == Parameter.VAR_KEYWORD:
                if kwargs:
                    found[name], kwargs = kwargs, {}
            elif args and kind != Parameter.KEYWORD_ONLY:
                if name in kwargs and kind != Parameter.POSITIONAL_ONLY:
                    raise TypeError(f"multiple values for argument '{name}'")
                found[name] = args.pop(0)
            elif name in kwargs and kind != Parameter.POSITIONAL_ONLY:
                found[name] = kwargs.pop(name)
            elif parameter.default is _Empty and not is_partial:
                raise TypeError(f"missing a required argument: '{name}'")
        if args:
            raise TypeError("too many positional arguments")
        if kwargs:
            raise TypeError(f"got an unexpected keyword argument '{next(iter(kwargs))}'")
        return BoundArguments(self, found)


class BoundArguments:
    def __init__(self, signature, arguments):
        self.signature, self.arguments = signature, arguments

    def _parts(self):
        args, kwargs = [], {}
        for name, parameter in self.signature.parameters.items():
            if name in self.arguments:
                value = self.arguments[name]
                if parameter.kind == Parameter.VAR_POSITIONAL:
                    args += value
                elif parameter.kind == Parameter.VAR_KEYWORD:
                    kwargs.update(value)
                elif parameter.kind == Parameter.KEYWORD_ONLY:
                    kwargs[name] = value
                else:
                    args.append(value)
        return tuple(args), kwargs

    @property
    def args(self):
        return self._parts()[0]

    @property
    def kwargs(self):
        return self._parts()[1]

    def apply_defaults(self):
        found = {}
        for name, parameter in self.signature.parameters.items():
            if name in self.arguments:
                found[name] = self.arguments[name]
            elif parameter.kind == Parameter.VAR_POSITIONAL:
                found[name] = ()
            elif parameter.kind == Parameter.VAR_KEYWORD:
                found[name] = {}
            elif parameter.default is not _Empty:
                found[name] = parameter.default
        self.arguments = found


def signature(function):
    if isinstance(function, type):
        function = function.__init__
        skip = 1
    else:
        skip = 0
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        if not isinstance(function, (type(signature), type(Parameter("", 0).__init__))) and hasattr(function, "__call__"):
            function = function.__call__
    known = _parameters(function)
    if known is None:
        return Signature([])
    made = []
    for name, kind, default, annotation in known[skip:]:
        made.append(Parameter(name, kind, _Empty if default is None else default[0], _Empty if annotation is None else annotation))
    return Signature(made)


def isclass(value):
    return isinstance(value, type)


def isfunction(value):
    return isinstance(value, type(isclass))


def ismethod(value):
    return hasattr(value, "__self__") and hasattr(value, "__func__")


def ismodule(value):
    return type(value).__name__ == "module"


def isgeneratorfunction(value):
    return False


def isabstract(value):
    return bool(getattr(value, "__abstractmethods__", ()))


def getmembers(value, predicate=None):
    found = [(name, getattr(value, name)) for name in dir(value) if hasattr(value, name)]
    return [pair for pair in found if predicate is None or predicate(pair[1])]


def getmodule(value):
    return None


def getdoc(value):
    return value.__doc__


def getfullargspec(function):
    class FullArgSpec:
        pass

    spec = FullArgSpec()
    known = _parameters(function) or []
    spec.args = [name for name, kind, _, _ in known if kind < 2]
    spec.varargs = next((name for name, kind, _, _ in known if kind == 2), None)
    spec.varkw = next((name for name, kind, _, _ in known if kind == 4), None)
    spec.defaults = tuple(default[0] for _, kind, default, _ in known if kind < 2 and default is not None) or None
    spec.kwonlyargs = [name for name, kind, _, _ in known if kind == 3]
    spec.kwonlydefaults = {name: default[0] for name, kind, default, _ in known if kind == 3 and default is not None} or None
    spec.annotations = {name: annotation[0] for name, _, _, annotation in known if annotation is not None}
    return spec


def currentframe():
    return None


def stack():
    return []


def get_annotations(value, **options):
    # Annotations are texts; those that are names of the module are looked up.
    import sys

    texts = value.__dict__.get("__annotations__", {})
    module = getattr(value, "__module__", None)
    known = sys.modules[module].__dict__ if module in sys.modules else {}
    return {name: known.get(text, text) for name, text in texts.items()}


def unwrap(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def getsource(value):
    from importlib import _source

    if not ismodule(value):
        raise OSError("could not get source code")
    return _source(value.__name__)
