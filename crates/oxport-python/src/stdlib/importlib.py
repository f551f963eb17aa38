# Finding modules: `_find`, `_is_found` and `_version` are native, and see what `import` sees.


def import_module(name, package=None):
    if name.startswith("."):
        level = len(name) - len(name.lstrip("."))
        parts = package.split(".")
        name = ".".join(parts[: len(parts) + 1 - level] + [name[level:]])
    return _find(name)


def reload(module):
    return module


def invalidate_caches():
    return None
