# Context managers.


class ContextDecorator:
    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def inner(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inner


class AbstractContextManager:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


class _GeneratorContextManager(ContextDecorator):
    def __init__(self, function, args, kwargs):
        self._make = lambda: function(*args, **kwargs)

    def __enter__(self):
        self._generator = self._make()
        try:
            return next(self._generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind, value, trace):
        if kind is None:
            try:
                next(self._generator)
            except StopIteration:
                return False
            raise RuntimeError("generator didn't stop")
        try:
            self._generator.throw(value)
        except StopIteration as stop:
            return stop is not value
        except BaseException as raised:
            if raised is not value:
                raise
            return False
        raise RuntimeError("generator didn't stop after throw()")


def contextmanager(function):
    from functools import wraps

    @wraps(function)
    def helper(*args, **kwargs):
        return _GeneratorContextManager(function, args, kwargs)

    return helper


class nullcontext(AbstractContextManager):
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result


class suppress(AbstractContextManager):
    def __init__(self, *exceptions):
        self._exceptions = exceptions

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self._exceptions)


class closing(AbstractContextManager):
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, *exc):
        self.thing.close()


class ExitStack(AbstractContextManager):
    def __init__(self):
        self._exits = []

    def enter_context(self, manager):
        value = manager.__enter__()
        self._exits.append(manager.__exit__)
        return value

    def callback(self, function, *args, **kwargs):
        self._exits.append(lambda *exc: function(*args, **kwargs) and None)
        return function

    def __exit__(self, *exc):
        suppressed = False
        while self._exits:
            if self._exits.pop()(*exc):
                suppressed, exc = True, (None, None, None)
        return suppressed
