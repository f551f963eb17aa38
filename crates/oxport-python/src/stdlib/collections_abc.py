# Abstract containers: classes that `isinstance` asks for methods.


def _abstract(name, methods, mixin=None):
    class Meta(type):
        def __instancecheck__(cls, instance):
            return cls.__subclasscheck__(type(instance))

        def __subclasscheck__(cls, subclass):
            if cls in subclass.__mro__:
                return True
            if cls.__methods__ is None:
                return False
            if cls.__kinds__ and not issubclass(subclass, cls.__kinds__):
                return False
            return all(hasattr(subclass, method) for method in cls.__methods__)

        def __getitem__(cls, parameters):
            return cls

        def register(cls, subclass):
            return subclass

    return Meta(name, (), {"__methods__": methods, "__kinds__": mixin or ()})


Hashable = _abstract("Hashable", ("__hash__",))
Iterable = _abstract("Iterable", ("__iter__",))
Iterator = _abstract("Iterator", ("__iter__", "__next__"))
Generator = _abstract("Generator", ("__iter__", "__next__", "send"))
Sized = _abstract("Sized", ("__len__",))
Container = _abstract("Container", ("__contains__",))
Collection = _abstract("Collection", ("__len__", "__iter__", "__contains__"))

class _CallableMeta(type):
    def __instancecheck__(cls, instance):
        return callable(instance)

    def __subclasscheck__(cls, subclass):
        return any("__call__" in base.__dict__ for base in subclass.__mro__)

    def __getitem__(cls, parameters):
        return cls


class Callable(metaclass=_CallableMeta):
    pass


Sequence = _abstract("Sequence", (), (tuple, list, str, range, bytes))
MutableSequence = _abstract("MutableSequence", (), (list,))
Set = _abstract("Set", (), (set, frozenset))
MutableSet = _abstract("MutableSet", (), (set,))
KeysView = ValuesView = ItemsView = Iterable
Awaitable = Coroutine = AsyncIterator = AsyncIterable = AsyncGenerator = _abstract("Awaitable", ("__await__",))
Reversible = _abstract("Reversible", ("__reversed__",))
ByteString = _abstract("ByteString", (), (bytes,))


class _MappingMeta(type):
    def __instancecheck__(cls, instance):
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass):
        return cls in subclass.__mro__ or (cls in (Mapping, MutableMapping) and issubclass(subclass, dict))

    def register(cls, subclass):
        return subclass

    def __getitem__(cls, parameters):
        return cls


class Mapping(metaclass=_MappingMeta):
    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def keys(self):
        return list(self)

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]

    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    def __eq__(self, other):
        return dict(self.items()) == dict(other.items())


class MutableMapping(Mapping):
    def pop(self, key, *default):
        try:
            value = self[key]
        except KeyError:
            if default:
                return default[0]
            raise
        del self[key]
        return value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other=(), **kwargs):
        items = other.items() if hasattr(other, "items") else other
        for key, value in items:
            self[key] = value
        for key, value in kwargs.items():
            self[key] = value

    def clear(self):
        for key in list(self):
            del self[key]
