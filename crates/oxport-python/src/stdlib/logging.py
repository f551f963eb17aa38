# Logging, which does nothing.

CRITICAL = FATAL = 50
ERROR = 40
WARNING = WARN = 30
INFO = 20
DEBUG = 10
NOTSET = 0


class Filter:
    def filter(self, record):
        return True


class Handler:
    name = None

    def __init__(self, *args, **kwargs):
        self.level = NOTSET

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return _ignore


StreamHandler = NullHandler = FileHandler = Handler


class Formatter:
    def __init__(self, *args, **kwargs):
        pass


class Logger:
    def __init__(self, name="root", level=WARNING):
        self.name, self.level = name, level
        self.propagate = True
        self.handlers, self.filters = [], []
        self.parent = None

    def _ignore(self, *args, **kwargs):
        return None

    debug = info = warning = warn = error = critical = exception = log = _ignore
    addHandler = removeHandler = addFilter = removeFilter = setLevel = _ignore

    def hasHandlers(self):
        return False

    def isEnabledFor(self, level):
        return False

    def getEffectiveLevel(self):
        return self.level

    def getChild(self, suffix):
        return getLogger(self.name + "." + suffix)


_known = {}
root = Logger()


class _Manager:
    loggerDict = _known
    disable = 0


Logger.root = root
Logger.manager = _Manager()


def getLogger(name=None):
    if name is None:
        return root
    if name not in _known:
        _known[name] = Logger(name)
    return _known[name]


def _ignore(*args, **kwargs):
    return None


debug = info = warning = warn = error = critical = exception = log = _ignore
basicConfig = disable = captureWarnings = addLevelName = _ignore


def getLevelName(level):
    return str(level)
