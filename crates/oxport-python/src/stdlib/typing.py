# Types have no meaning at run time here: every form takes parameters and gives something harmless.

from collections import _named_tuple_class
from collections.abc import (  # noqa: F401
    Callable, Collection, Container, Generator, Hashable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence,
    MutableSet, Sequence, Sized,
)

TYPE_CHECKING = False


class _Form:
    def __init__(self, name, origin=None, args=()):
        self._name, self.__origin__, self.__args__ = name, origin, args

    def __getitem__(self, parameters):
        args = parameters if isinstance(parameters, tuple) else (parameters,)
        return _Form(self._name, self.__origin__ or self, args)

    def __call__(self, *args, **kwargs):
        return None

    def __or__(self, other):
        return _Form("Union", None, (self, other))

    def __ror__(self, other):
        return _Form("Union", None, (other, self))

    def __mro_entries__(self, bases):
        return ()

    def __instancecheck__(self, instance):
        kinds = tuple(arg for arg in self.__args__ if isinstance(arg, type))
        return isinstance(instance, kinds) or (instance is None and (None in self.__args__ or self._name == "Optional"))

    def __subclasscheck__(self, cls):
        return False

    def __repr__(self):
        return "typing." + self._name

    def __eq__(self, other):
        return isinstance(other, _Form) and self._name == other._name and self.__args__ == other.__args__

    def __hash__(self):
        return hash(self._name)


Any = _Form("Any")
Union = _Form("Union")
Optional = _Form("Optional")
ClassVar = _Form("ClassVar")
Final = _Form("Final")
Literal = _Form("Literal")
Annotated = _Form("Annotated")
NoReturn = Never = _Form("NoReturn")
Self = LiteralString = _Form("Self")
TypeAlias = _Form("TypeAlias")
Concatenate = Unpack = Required = NotRequired = TypeGuard = ReadOnly = _Form("Unpack")
AnyStr = Text = str
List = list
Dict = dict
Set = set
FrozenSet = frozenset
Tuple = tuple
Type = type
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque  # noqa: E402,F401

DefaultDict = defaultdict
Deque = deque
AsyncIterator = AsyncIterable = Awaitable = Coroutine = AsyncGenerator = _Form("Awaitable")
ContextManager = AbstractSet = IO = TextIO = BinaryIO = Pattern = Match = _Form("IO")
Reversible = SupportsIndex = SupportsInt = SupportsFloat = SupportsAbs = KeysView = ValuesView = ItemsView = _Form("View")
ByteString = bytes


class Generic:
    def __class_getitem__(cls, parameters):
        return cls


class Protocol:
    def __class_getitem__(cls, parameters):
        return cls


class TypeVar:
    def __init__(self, name, *constraints, **kwargs):
        self.__name__ = name

    def __or__(self, other):
        return Any

    def __ror__(self, other):
        return Any

    def __repr__(self):
        return "~" + self.__name__


TypeVarTuple = TypeVar


class ParamSpec(TypeVar):
    args = kwargs = None


def NewType(name, kind):
    return lambda value: value


class _NamedTupleMeta(type):
    def __new__(mcs, name, bases, namespace):
        if not bases:
            return super().__new__(mcs, name, bases, namespace)
        fields = tuple(namespace.get("__annotations__", {}))
        defaults = {field: namespace[field] for field in fields if field in namespace}
        rest = {key: value for key, value in namespace.items() if key not in defaults}
        return _named_tuple_class(name, fields, defaults, rest)

    def __call__(cls, typename, fields=(), **kwargs):
        names = [field[0] for field in fields] + list(kwargs)
        return _named_tuple_class(typename, tuple(names), {}, {})


class NamedTuple(metaclass=_NamedTupleMeta):
    pass


class _TypedDictMeta(type):
    def __new__(mcs, name, bases, namespace, total=True):
        if not bases:
            return super().__new__(mcs, name, bases, namespace)
        return type(name, (dict,), dict(namespace))

    def __call__(cls, name, fields=(), total=True):
        return type(name, (dict,), {})


class TypedDict(metaclass=_TypedDictMeta):
    pass


def cast(kind, value):
    return value


def overload(function):
    return function


def final(function):
    return function


def runtime_checkable(cls):
    return cls


def no_type_check(function):
    return function


def override(function):
    return function


def dataclass_transform(*args, **kwargs):
    return lambda cls: cls


deprecated = dataclass_transform


def get_type_hints(value, *args, **kwargs):
    return dict(getattr(value, "__annotations__", {}))


def get_origin(kind):
    return getattr(kind, "__origin__", None)


def get_args(kind):
    return getattr(kind, "__args__", ())


def assert_never(value):
    raise AssertionError(f"Expected code to be unreachable, but got: {value!r}")


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'typing' has no attribute '{name}'")
    return _Form(name)
