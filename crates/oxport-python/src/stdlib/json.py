# Texts of plain values. Files are refused.


class JSONDecodeError(ValueError):
    pass


class JSONEncoder:
    pass


def _text(value):
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    made = []
    for letter in value:
        code = ord(letter)
        if letter in plain:
            made.append(plain[letter])
        elif code < 32 or 127 <= code < 0x10000:
            made.append(f"\\u{code:04x}")
        elif code >= 0x10000:
            code -= 0x10000
            made.append(f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}")
        else:
            made.append(letter)
    return '"' + "".join(made) + '"'


def _number(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def dumps(value, *, indent=None, sort_keys=False, separators=None, default=None, ensure_ascii=True, cls=None):
    if isinstance(indent, int):
        indent = " " * indent
    comma, colon = separators or ("," if indent is not None else ", ", ": ")

    def write(value, level):
        if value is None or value is True or value is False:
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, int):
            return repr(int(value))
        if isinstance(value, float):
            return _number(value)
        if isinstance(value, dict):
            items = sorted(value.items()) if sort_keys else list(value.items())
            parts = [_key(key) + colon + write(item, level + 1) for key, item in items]
            return join("{", parts, "}", level)
        if isinstance(value, (list, tuple)):
            return join("[", [write(item, level + 1) for item in value], "]", level)
        if default is not None:
            return write(default(value), level)
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    def join(first, parts, last, level):
        if not parts or indent is None:
            return first + comma.join(parts) + last
        line = "\n" + indent * (level + 1)
        return first + line + (comma + line).join(parts) + "\n" + indent * level + last

    return write(value, 0)


def _key(key):
    if isinstance(key, str):
        return _text(key)
    if key is None or isinstance(key, (bool, int, float)):
        return '"' + dumps(key) + '"'
    raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


def loads(text, **options):
    raise NotImplementedError("json.loads is not supported")
