# Warnings, which are not shown.


def warn(message, category=None, stacklevel=1, source=None, **kwargs):
    return None


def warn_explicit(*args, **kwargs):
    return None


def simplefilter(*args, **kwargs):
    return None


def filterwarnings(*args, **kwargs):
    return None


def resetwarnings():
    return None


class catch_warnings:
    def __init__(self, *, record=False, **kwargs):
        self._record = record

    def __enter__(self):
        return [] if self._record else None

    def __exit__(self, *exc):
        return None


def deprecated(*args, **kwargs):
    return lambda value: value
