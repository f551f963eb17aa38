# Copies of objects.

_ATOMIC = (type(None), bool, int, float, complex, str, bytes, type, range, type(lambda: None), type(len), property)


def copy(value):
    method = getattr(type(value), "__copy__", None)
    if method is not None:
        return method(value)
    if isinstance(value, _ATOMIC):
        return value
    kind = type(value)
    if kind in (list, dict, set):
        return value.copy()
    if kind in (tuple, frozenset, slice):
        return value
    if kind.__module__ == "torch":
        return value
    return _rebuild(value, lambda part: part)


def _rebuild(value, convert):
    kind = type(value)
    if isinstance(value, dict):
        result = dict.__new__(kind)
        for key, item in dict.items(value):
            dict.__setitem__(result, convert(key), convert(item))
    elif isinstance(value, list):
        result = list.__new__(kind)
        list.extend(result, [convert(item) for item in value])
    elif isinstance(value, tuple):
        result = tuple.__new__(kind, [convert(item) for item in value])
    elif isinstance(value, set):
        result = set.__new__(kind)
        set.update(result, [convert(item) for item in value])
    else:
        result = object.__new__(kind)
    if hasattr(value, "__dict__"):
        for name, item in value.__dict__.items():
            result.__dict__[name] = convert(item)
    return result


def deepcopy(value, memo=None):
    if memo is None:
        memo = {}
    key = id(value)
    if key in memo:
        return memo[key][0]
    if isinstance(value, _ATOMIC) or isinstance(value, type):
        return value
    method = getattr(type(value), "__deepcopy__", None)
    if method is not None:
        result = method(value, memo)
    elif type(value) is list:
        result = []
        memo[key] = (result, value)
        for item in value:
            result.append(deepcopy(item, memo))
    elif type(value) is dict:
        result = {}
        memo[key] = (result, value)
        for name, item in value.items():
            result[deepcopy(name, memo)] = deepcopy(item, memo)
    elif type(value) is tuple:
        result = tuple([deepcopy(item, memo) for item in value])
    elif type(value) is set:
        result = {deepcopy(item, memo) for item in value}
    elif type(value).__module__ in ("builtins", "torch"):
        result = value
    else:
        kind = type(value)
        if isinstance(value, (dict, list, tuple, set)):
            result = _rebuild(value, lambda part: deepcopy(part, memo))
        else:
            result = object.__new__(kind)
            memo[key] = (result, value)
            for name, item in value.__dict__.items():
                result.__dict__[name] = deepcopy(item, memo)
    memo[key] = (result, value)
    return result


replace = None
