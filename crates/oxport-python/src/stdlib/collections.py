# Containers over the built-in ones.


class OrderedDict(dict):
    def move_to_end(self, key, last=True):
        value = self.pop(key)
        if last:
            self[key] = value
        else:
            rest = list(self.items())
            self.clear()
            self[key] = value
            self.update(rest)

    def popitem(self, last=True):
        if not self:
            raise KeyError("dictionary is empty")
        return dict.popitem(self, last=last)

    def copy(self):
        return self.__class__(self)

    def __repr__(self):
        if not self:
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}({dict.__repr__(self)})" if False else f"{type(self).__name__}({list(self.items())!r})"


class defaultdict(dict):
    def __init__(self, default_factory=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def copy(self):
        return type(self)(self.default_factory, self)

    def __repr__(self):
        return f"defaultdict({self.default_factory!r}, {dict(self)!r})"


class Counter(dict):
    def __init__(self, iterable=None, **kwargs):
        super().__init__()
        self.update(iterable, **kwargs)

    def __missing__(self, key):
        return 0

    def update(self, iterable=None, **kwargs):
        if isinstance(iterable, dict):
            for key, count in iterable.items():
                self[key] = self.get(key, 0) + count
        elif iterable is not None:
            for key in iterable:
                self[key] = self.get(key, 0) + 1
        for key, count in kwargs.items():
            self[key] = self.get(key, 0) + count

    def subtract(self, iterable=None):
        if isinstance(iterable, dict):
            for key, count in iterable.items():
                self[key] = self.get(key, 0) - count
        else:
            for key in iterable:
                self[key] = self.get(key, 0) - 1

    def most_common(self, n=None):
        items = sorted(self.items(), key=lambda item: item[1], reverse=True)
        return items if n is None else items[:n]

    def elements(self):
        for key, count in self.items():
            for _ in range(count):
                yield key

    def total(self):
        return sum(self.values())

    def __add__(self, other):
        result = Counter(self)
        result.update(other)
        return Counter({key: count for key, count in result.items() if count > 0})

    def __sub__(self, other):
        result = Counter(self)
        result.subtract(other)
        return Counter({key: count for key, count in result.items() if count > 0})

    def __repr__(self):
        if not self:
            return "Counter()"
        return f"Counter({dict(self.most_common())!r})"


class deque:
    def __init__(self, iterable=(), maxlen=None):
        self._items = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, item):
        self._items.append(item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, item):
        self._items.insert(0, item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, iterable):
        for item in iterable:
            self.append(item)

    def extendleft(self, iterable):
        for item in iterable:
            self.appendleft(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop(0)

    def rotate(self, n=1):
        if self._items:
            n = n % len(self._items)
            self._items = self._items[-n:] + self._items[:-n] if n else self._items

    def clear(self):
        self._items.clear()

    def count(self, item):
        return self._items.count(item)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __reversed__(self):
        return reversed(self._items)

    def __getitem__(self, index):
        return self._items[index]

    def __setitem__(self, index, value):
        self._items[index] = value

    def __contains__(self, item):
        return item in self._items

    def __eq__(self, other):
        return isinstance(other, deque) and self._items == other._items

    def __repr__(self):
        limit = "" if self.maxlen is None else f", maxlen={self.maxlen}"
        return f"deque({self._items!r}{limit})"


class ChainMap:
    def __init__(self, *maps):
        self.maps = list(maps) or [{}]

    def __getitem__(self, key):
        for mapping in self.maps:
            if key in mapping:
                return mapping[key]
        raise KeyError(key)

    def __setitem__(self, key, value):
        self.maps[0][key] = value

    def __contains__(self, key):
        return any(key in mapping for mapping in self.maps)

    def keys(self):
        merged = {}
        for mapping in reversed(self.maps):
            merged.update(mapping)
        return merged.keys()

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def get(self, key, default=None):
        return self[key] if key in self else default

    def items(self):
        return [(key, self[key]) for key in self]


class UserDict(dict):
    @property
    def data(self):
        return self


UserList = list


def namedtuple(typename, field_names, *, rename=False, defaults=None, module=None):
    if isinstance(field_names, str):
        field_names = field_names.replace(",", " ").split()
    fields = tuple(field_names)
    defaults = tuple(defaults or ())
    return _named_tuple_class(typename, fields, dict(zip(fields[len(fields) - len(defaults):], defaults)), {})


def _field_property(index):
    return property(lambda self: tuple.__getitem__(self, index))


def _named_tuple_class(typename, fields, defaults, namespace):
    def __new__(cls, *args, **kwargs):
        if len(args) > len(fields):
            raise TypeError(f"{typename}.__new__() takes {len(fields) + 1} positional arguments but {len(args) + 1} were given")
        values = list(args)
        for name in fields[len(args):]:
            if name in kwargs:
                values.append(kwargs.pop(name))
            elif name in defaults:
                values.append(defaults[name])
            else:
                raise TypeError(f"{typename}.__new__() missing 1 required positional argument: '{name}'")
        for name in kwargs:
            raise TypeError(f"{typename}.__new__() got an unexpected keyword argument '{name}'")
        return tuple.__new__(cls, values)

    def __repr__(self):
        return type(self).__name__ + "(" + ", ".join(f"{name}={value!r}" for name, value in zip(fields, self)) + ")"

    def _replace(self, **kwargs):
        return type(self)(*(kwargs.pop(name, value) for name, value in zip(fields, self)))

    def _asdict(self):
        return dict(zip(fields, self))

    def _make(cls, iterable):
        return cls(*iterable)

    def __getnewargs__(self):
        return tuple(self)

    members = {
        "__new__": __new__,
        "__repr__": __repr__,
        "_replace": _replace,
        "_asdict": _asdict,
        "_make": classmethod(_make),
        "_fields": fields,
        "_field_defaults": defaults,
        "__match_args__": fields,
        "__slots__": (),
    }
    for index, name in enumerate(fields):
        members[name] = _field_property(index)
    members.update(namespace)
    return type(typename, (tuple,), members)


from . import abc  # noqa: E402
