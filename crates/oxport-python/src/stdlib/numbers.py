# The tower of numbers, for `isinstance`.


def _tower(name, kinds):
    class Meta(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, kinds)

        def __subclasscheck__(cls, subclass):
            return issubclass(subclass, kinds)

    return Meta(name, (), {})


Number = _tower("Number", (int, float, complex))
Complex = _tower("Complex", (int, float, complex))
Real = _tower("Real", (int, float))
Rational = _tower("Rational", (int,))
Integral = _tower("Integral", (int,))
