# Context variables, of which there is one context.

_ABSENT = object()


class Token:
    MISSING = _ABSENT

    def __init__(self, var, old_value):
        self.var, self.old_value = var, old_value


class ContextVar:
    def __init__(self, name, *, default=_ABSENT):
        self.name, self._default, self._value = name, default, _ABSENT

    def get(self, default=_ABSENT):
        for value in (self._value, default, self._default):
            if value is not _ABSENT:
                return value
        raise LookupError(self.name)

    def set(self, value):
        token = Token(self, self._value)
        self._value = value
        return token

    def reset(self, token):
        self._value = token.old_value
