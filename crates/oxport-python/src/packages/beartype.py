# beartype: checks of types at calls, which a captured program does not have.


def beartype(function=None, **options):
    return function if function is not None else lambda function: function


class BeartypeConf:
    def __init__(self, **options):
        pass


def is_bearable(value, hint, **options):
    if isinstance(hint, type):
        return isinstance(value, hint)
    raise NotImplementedError(f"is_bearable of {hint} is not supported")
