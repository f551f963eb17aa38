# The modules in packages. `__path__` of a package is its name.
from collections import namedtuple
from importlib import _submodules, import_module

ModuleInfo = namedtuple("ModuleInfo", "module_finder name ispkg")


class _Finder:
    def find_spec(self, name, path=None):
        return None


def iter_modules(path=None, prefix=""):
    for package in path or ():
        for name in _submodules(package):
            yield ModuleInfo(_Finder(), prefix + name, bool(_submodules(f"{package}.{name}")))


def walk_packages(path=None, prefix="", onerror=None):
    for info in iter_modules(path, prefix):
        yield info
        if info.ispkg:
            try:
                package = import_module(info.name)
            except ImportError:
                if onerror is not None:
                    onerror(info.name)
            else:
                yield from walk_packages(package.__path__, info.name + ".", onerror)
