# Abstract base classes.


def abstractmethod(function):
    function.__isabstractmethod__ = True
    return function


abstractproperty = property
abstractclassmethod = classmethod
abstractstaticmethod = staticmethod


def _abstract_names(cls):
    names = set()
    for base in cls.__mro__[1:]:
        for name in getattr(base, "__abstractmethods__", ()):
            if getattr(getattr(cls, name, None), "__isabstractmethod__", False):
                names.add(name)
    for name, value in cls.__dict__.items():
        value = value.fget if isinstance(value, property) else value
        if getattr(value, "__isabstractmethod__", False):
            names.add(name)
    return frozenset(sorted(names))


class ABCMeta(type):
    def __new__(mcls, name, bases, namespace, **kwargs):
        cls = super().__new__(mcls, name, bases, namespace, **kwargs)
        cls.__abstractmethods__ = _abstract_names(cls)
        return cls

    def register(cls, subclass):
        cls.__registered__ = getattr(cls, "__registered__", ()) + (subclass,)
        return subclass

    def __instancecheck__(cls, instance):
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass):
        if cls in subclass.__mro__:
            return True
        for registered in cls.__dict__.get("__registered__", ()):
            if issubclass(subclass, registered):
                return True
        hook = getattr(cls, "__subclasshook__", None)
        return hook is not None and hook(subclass) is True


class ABC(metaclass=ABCMeta):
    pass
