# Data classes.

import sys


class _Missing:
    def __repr__(self):
        return "<dataclasses._MISSING_TYPE object>"


MISSING = _Missing()


class KW_ONLY:
    pass


class FrozenInstanceError(AttributeError):
    pass


class Field:
    def __init__(self, default, default_factory, init, repr, hash, compare, metadata, kw_only):
        self.name = None
        self.type = None
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.metadata = metadata or {}
        self.kw_only = kw_only


def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None, kw_only=MISSING):
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError("cannot specify both default and default_factory")
    return Field(default, default_factory, init, repr, hash, compare, metadata, kw_only)


class InitVar:
    def __class_getitem__(cls, kind):
        return cls


def dataclass(cls=None, /, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, match_args=True, kw_only=False, slots=False, weakref_slot=False):
    def wrap(cls):
        return _process(cls, init, repr, eq, order, frozen, kw_only)

    return wrap if cls is None else wrap(cls)


def _process(cls, init, repr, eq, order, frozen, kw_only):
    fields = {}
    for base in reversed(cls.__mro__[1:]):
        for name, item in base.__dict__.get("__dataclass_fields__", {}).items():
            fields[name] = item
    annotations = cls.__dict__.get("__annotations__", {})
    after_marker = kw_only
    for name, kind in annotations.items():
        text = kind if isinstance(kind, str) else "InitVar" if kind is InitVar else getattr(kind, "__name__", str(kind))
        if "KW_ONLY" in text:
            after_marker = True
            continue
        if text.startswith(("ClassVar", "typing.ClassVar", "'ClassVar")):
            continue
        default = cls.__dict__.get(name, MISSING)
        if isinstance(default, Field):
            item = default
            if item.default is MISSING:
                if name in cls.__dict__:
                    delattr(cls, name)
            else:
                setattr(cls, name, item.default)
        else:
            if isinstance(default, (list, dict, set)):
                raise ValueError(f"mutable default {type(default)} for field {name} is not allowed: use default_factory")
            item = field(default=default)
        item.name = name
        item.type = kind
        item.is_init_var = text.startswith(("InitVar", "dataclasses.InitVar"))
        if item.kw_only is MISSING:
            item.kw_only = after_marker
        fields[name] = item
    cls.__dataclass_fields__ = fields
    given = [item for item in fields.values() if item.init]
    positional = [item for item in given if not item.kw_only]
    cls.__match_args__ = tuple(item.name for item in positional)
    seen_default = None
    for item in positional:
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        if seen_default is not None and not has_default and init:
            raise TypeError(f"non-default argument {item.name!r} follows default argument")
        if has_default:
            seen_default = item.name

    shown = [item for item in fields.values() if not getattr(item, "is_init_var", False)]

    def __init__(self, *args, **kwargs):
        if len(args) > len(positional):
            few = "" if len(positional) == 0 else "s"
            raise TypeError(f"{cls.__name__}.__init__() takes {len(positional) + 1} positional argument{few} but {len(args) + 1} were given")
        init_vars = []
        for index, item in enumerate(positional):
            if index < len(args) and item.name in kwargs:
                raise TypeError(f"{cls.__name__}.__init__() got multiple values for argument '{item.name}'")
        values = dict(zip([item.name for item in positional], args))
        values.update(kwargs)
        missing = []
        for item in fields.values():
            name = item.name
            if item.init and name in values:
                value = values.pop(name)
            elif item.default_factory is not MISSING:
                value = item.default_factory()
            elif item.default is not MISSING:
                value = item.default
            elif item.init:
                missing.append(repr_of(name))
                continue
            else:
                continue
            if getattr(item, "is_init_var", False):
                init_vars.append(value)
            else:
                object.__setattr__(self, name, value)
        for name in values:
            raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument '{name}'")
        if missing:
            s = "" if len(missing) == 1 else "s"
            names = missing[0] if len(missing) == 1 else ", ".join(missing[:-1]) + ("," if len(missing) > 2 else "") + " and " + missing[-1]
            raise TypeError(f"{cls.__name__}.__init__() missing {len(missing)} required positional argument{s}: {names}")
        if hasattr(self, "__post_init__"):
            self.__post_init__(*init_vars)

    def __repr__(self):
        parts = [f"{item.name}={getattr(self, item.name)!r}" for item in shown if item.repr]
        return type(self).__qualname__ + "(" + ", ".join(parts) + ")"

    def key(self):
        return tuple(getattr(self, item.name) for item in shown if item.compare)

    def __eq__(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    def __hash__(self):
        return hash(key(self))

    def compare(name):
        def method(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return getattr(_Order, name)(key(self), key(other))

        return method

    def __setattr__(self, name, value):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    own = cls.__dict__
    if init and "__init__" not in own:
        cls.__init__ = __init__
    if repr and "__repr__" not in own:
        cls.__repr__ = __repr__
    if eq and "__eq__" not in own:
        cls.__eq__ = __eq__
        if "__hash__" not in own:
            cls.__hash__ = __hash__ if frozen else None
    if order:
        for name in ("__lt__", "__le__", "__gt__", "__ge__"):
            setattr(cls, name, compare(name))
    if frozen:
        cls.__setattr__ = __setattr__
        cls.__delattr__ = __delattr__
    return cls


class _Order:
    def __lt__(a, b):
        return a < b

    def __le__(a, b):
        return a <= b

    def __gt__(a, b):
        return a > b

    def __ge__(a, b):
        return a >= b


repr_of = repr


def fields(class_or_instance):
    known = getattr(class_or_instance, "__dataclass_fields__", None)
    if known is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(item for item in known.values() if not getattr(item, "is_init_var", False))


def is_dataclass(obj):
    return hasattr(obj, "__dataclass_fields__")


def asdict(obj, *, dict_factory=dict):
    return dict_factory([(item.name, _plain(getattr(obj, item.name), dict_factory)) for item in fields(obj)])


def _plain(value, dict_factory):
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value, dict_factory=dict_factory)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item, dict_factory) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, dict_factory) for key, item in value.items()}
    return value


def astuple(obj):
    return tuple(getattr(obj, item.name) for item in fields(obj))


def replace(obj, /, **changes):
    values = {item.name: getattr(obj, item.name) for item in fields(obj) if item.init}
    values.update(changes)
    return type(obj)(**values)


def make_dataclass(cls_name, fields, *, bases=(), namespace=None, **kwargs):
    members = dict(namespace or {})
    annotations = {}
    for item in fields:
        name, kind, *default = (item, "typing.Any") if isinstance(item, str) else item
        annotations[name] = str(kind)
        if default:
            members[name] = default[0]
    members["__annotations__"] = annotations
    return dataclass(type(cls_name, bases, members), **kwargs)
