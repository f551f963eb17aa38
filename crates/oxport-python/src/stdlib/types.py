# Types without names; the built-in ones are native.


class SimpleNamespace:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)

    def __repr__(self):
        return "namespace(" + ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items()) + ")"

    def __eq__(self, other):
        return isinstance(other, SimpleNamespace) and dict(self.__dict__) == dict(other.__dict__)


class DynamicClassAttribute(property):
    pass


class GenericAlias:
    def __new__(cls, origin, args):
        return origin


UnionType = tuple


def new_class(name, bases=(), kwds=None, exec_body=None):
    members = {}
    if exec_body is not None:
        exec_body(members)
    return type(name, bases, members)
