# Enumerations.


class auto:
    def __init__(self):
        self.value = None


class _EnumDict:
    pass


def _is_descriptor(value):
    return isinstance(value, (property, staticmethod, classmethod)) or callable(value) and not isinstance(value, type)


class EnumMeta(type):
    def __new__(metacls, name, bases, namespace, **kwargs):
        ignored = {"__module__", "__qualname__", "__doc__", "__annotations__", "_ignore_", "_order_"}
        members = {}
        plain = {}
        for key, value in namespace.items():
            hidden = key.startswith("__") or (key.startswith("_") and key.endswith("_"))
            if key in ignored or hidden or _is_descriptor(value):
                plain[key] = value
            else:
                members[key] = value
        cls = super().__new__(metacls, name, bases, plain)
        cls._member_map_ = {}
        cls._value2member_map_ = {}
        kinds = [base for base in cls.__mro__ if base in (int, str, float, tuple)]
        last = []
        for key, value in members.items():
            if isinstance(value, auto):
                value = cls._generate_next_value_(key, 1, len(last), last)
            last.append(value)
            known = None
            for member in cls._member_map_.values():
                if member._value_ == value and type(member._value_) is type(value):
                    known = member
            if known is not None:
                cls._member_map_[key] = known
                type.__setattr__(cls, key, known)
                continue
            args = value if isinstance(value, tuple) else (value,)
            new = cls.__dict__.get("__new__")
            if new is not None:
                member = cls.__new__(cls, *args)
                if not hasattr(member, "_value_"):
                    member._value_ = value
            elif kinds:
                member = kinds[0].__new__(cls, *args)
                member._value_ = value if not isinstance(value, tuple) or kinds[0] is tuple else kinds[0](*args)
            else:
                member = object.__new__(cls)
                member._value_ = value
            member._name_ = key
            if "__init__" in cls.__dict__ or any("__init__" in base.__dict__ for base in cls.__mro__[1:-1] if base not in kinds and base is not Enum):
                member.__init__(*args)
            cls._member_map_[key] = member
            type.__setattr__(cls, key, member)
            try:
                cls._value2member_map_[member._value_] = member
            except TypeError:
                pass
        return cls

    def __call__(cls, value, *args, **kwargs):
        if not cls._member_map_ and (args or kwargs or isinstance(value, str)) and args:
            names = args[0]
            if isinstance(names, str):
                names = names.replace(",", " ").split()
            if isinstance(names, dict):
                pairs = list(names.items())
            else:
                pairs = [item if isinstance(item, tuple) else (item, index + 1) for index, item in enumerate(names)]
            return EnumMeta.__new__(EnumMeta, value, (cls,), dict(pairs))
        if isinstance(value, cls):
            return value
        for member in cls._member_map_.values():
            if member._value_ == value:
                return member
        missing = cls._missing_(value)
        if missing is not None:
            return missing
        raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")

    def __iter__(cls):
        seen = []
        for name, member in cls._member_map_.items():
            if member._name_ == name:
                seen.append(member)
        return iter(seen)

    def __len__(cls):
        return len([name for name, member in cls._member_map_.items() if member._name_ == name])

    def __getitem__(cls, name):
        return cls._member_map_[name]

    def __contains__(cls, value):
        return any(member is value or member._value_ == value for member in cls._member_map_.values())

    def __bool__(cls):
        return True

    def __repr__(cls):
        return f"<enum {cls.__name__!r}>"

    @property
    def __members__(cls):
        return dict(cls._member_map_)


EnumType = EnumMeta


class Enum(metaclass=EnumMeta):
    def _generate_next_value_(name, start, count, last_values):
        return (max(last_values) if last_values else start - 1) + 1

    @classmethod
    def _missing_(cls, value):
        return None

    @property
    def name(self):
        return self._name_

    @property
    def value(self):
        return self._value_

    def __repr__(self):
        return f"<{type(self).__name__}.{self._name_}: {self._value_!r}>"

    def __str__(self):
        return f"{type(self).__name__}.{self._name_}"

    def __format__(self, spec):
        return format(str(self), spec)

    def __hash__(self):
        return hash(self._name_)

    def __eq__(self, other):
        return self is other

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class ReprEnum(Enum):
    pass


class IntEnum(int, ReprEnum):
    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)

    def __eq__(self, other):
        return int(self) == other

    def __hash__(self):
        return hash(self._value_)


class StrEnum(str, ReprEnum):
    def _generate_next_value_(name, start, count, last_values):
        return name.lower()

    def __str__(self):
        return self._value_

    def __format__(self, spec):
        return format(self._value_, spec)

    def __eq__(self, other):
        return self._value_ == (other._value_ if isinstance(other, Enum) else other)

    def __hash__(self):
        return hash(self._value_)


class Flag(Enum):
    def _generate_next_value_(name, start, count, last_values):
        return 1 << count

    @classmethod
    def _missing_(cls, value):
        member = object.__new__(cls)
        member._value_ = value
        member._name_ = "|".join(m._name_ for m in cls._member_map_.values() if m._value_ & value)
        return member

    def __or__(self, other):
        return type(self)(self._value_ | other._value_)

    def __and__(self, other):
        return type(self)(self._value_ & other._value_)

    def __xor__(self, other):
        return type(self)(self._value_ ^ other._value_)

    def __contains__(self, other):
        return self._value_ & other._value_ == other._value_

    def __bool__(self):
        return bool(self._value_)

    def __eq__(self, other):
        return isinstance(other, Flag) and self._value_ == other._value_

    def __hash__(self):
        return hash(self._value_)


IntFlag = Flag


def unique(enumeration):
    for name, member in enumeration._member_map_.items():
        if member._name_ != name:
            raise ValueError(f"duplicate values found in {enumeration!r}: {name} -> {member._name_}")
    return enumeration


def member(value):
    return value


nonmember = member
global_enum = unique
