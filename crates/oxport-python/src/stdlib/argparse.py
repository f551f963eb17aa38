# Options of a script. A captured one has no command line: they have their defaults.

SUPPRESS = "==SUPPRESS=="
OPTIONAL, ZERO_OR_MORE, ONE_OR_MORE, REMAINDER = "?", "*", "+", "..."


class ArgumentError(Exception):
    pass


class ArgumentTypeError(Exception):
    pass


class HelpFormatter:
    pass


class RawTextHelpFormatter(HelpFormatter):
    pass


class RawDescriptionHelpFormatter(HelpFormatter):
    pass


class ArgumentDefaultsHelpFormatter(HelpFormatter):
    pass


class MetavarTypeHelpFormatter(HelpFormatter):
    pass


class Namespace:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)

    def __eq__(self, other):
        return isinstance(other, Namespace) and vars(self) == vars(other)

    def __contains__(self, key):
        return key in self.__dict__

    def __repr__(self):
        return f"Namespace({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"


class Action:
    def __init__(self, option_strings, dest, nargs=None, const=None, default=None, type=None, choices=None, required=False,
                 help=None, metavar=None):
        self.option_strings, self.dest, self.nargs, self.const, self.default = option_strings, dest, nargs, const, default
        self.type, self.choices, self.required, self.help, self.metavar = type, choices, required, help, metavar

    def __call__(self, parser, namespace, values, option_string=None):
        raise NotImplementedError(".__call__() not defined")

    def _initial(self, parser):
        # Of a text, the default is what the text of an option would be.
        return parser._converted(self, self.default) if isinstance(self.default, str) else self.default


class BooleanOptionalAction(Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, not option_string.startswith("--no-"))


_FLAGS = {"store_true": (True, False), "store_false": (False, True)}


def _is_option(text):
    # Negative numbers are none.
    return text.startswith("-") and len(text) > 1 and not text[1].isdigit() and text[1] != "."


class _Container:
    def __init__(self, parser):
        self._parser = parser

    def add_argument(self, *names, **kwargs):
        return self._parser._add(names, kwargs)

    def add_argument_group(self, *args, **kwargs):
        return _Container(self._parser)

    def add_mutually_exclusive_group(self, **kwargs):
        return _Container(self._parser)

    def set_defaults(self, **kwargs):
        self._parser._defaults.update(kwargs)


class ArgumentParser(_Container):
    def __init__(self, prog=None, usage=None, description=None, epilog=None, parents=(), **kwargs):
        super().__init__(self)
        self.prog, self.usage, self.description, self.epilog = prog, usage, description, epilog
        self._actions, self._defaults = [], {}
        for parent in parents:
            self._actions.extend(parent._actions)
            self._defaults.update(parent._defaults)

    def _add(self, names, kwargs):
        kind = kwargs.pop("action", "store")
        options = [name for name in names if name.startswith("-")]
        dest = kwargs.pop("dest", None)
        if dest is None:
            longs = [name for name in options if name.startswith("--")]
            dest = (longs or list(names))[0].lstrip("-").replace("-", "_")
        if isinstance(kind, type):
            action = kind(options, dest, **kwargs)
            action.kind = "custom"
        else:
            if kind in _FLAGS:
                kwargs["const"], default = _FLAGS[kind]
                kwargs.setdefault("default", default)
            action = Action(options, dest, **{key: value for key, value in kwargs.items() if key != "version"})
            action.kind = kind
        self._actions.append(action)
        return action

    def get_default(self, dest):
        return self._defaults.get(dest, next((a.default for a in self._actions if a.dest == dest), None))

    def add_subparsers(self, **kwargs):
        raise NotImplementedError("argparse: commands within commands are not supported")

    def print_help(self, file=None):
        return None

    print_usage = print_help

    def error(self, message):
        raise SystemExit(f"error: {message}")

    def _converted(self, action, text):
        value = text if action.type is None else action.type(text)
        if action.choices is not None and value not in action.choices:
            self.error(f"argument {'/'.join(action.option_strings) or action.dest}: invalid choice: {value!r}")
        return value

    def _take(self, action, given, namespace, option):
        texts = []
        if action.kind in ("store", "append", "extend", "custom") and not isinstance(action, BooleanOptionalAction):
            count = 1 if action.nargs in (None, "?") else action.nargs if isinstance(action.nargs, int) else len(given)
            while given and len(texts) < count and not _is_option(given[0]):
                texts.append(given.pop(0))
            if len(texts) < count and (action.nargs is None or isinstance(action.nargs, int)) or action.nargs == "+" and not texts:
                self.error(f"argument {option or action.dest}: expected {action.nargs or 'one argument'}")
        values = [self._converted(action, text) for text in texts]
        if action.nargs in (None, "?"):
            values = values[0] if values else action.const
        old = getattr(namespace, action.dest, None)
        if action.kind == "custom":
            action(self, namespace, values, option)
        elif action.kind == "append":
            setattr(namespace, action.dest, [*(old or []), values])
        elif action.kind == "append_const":
            setattr(namespace, action.dest, [*(old or []), action.const])
        elif action.kind == "extend":
            setattr(namespace, action.dest, [*(old or []), *values])
        elif action.kind == "count":
            setattr(namespace, action.dest, (old or 0) + 1)
        elif action.kind in ("help", "version"):
            raise SystemExit(0)
        else:
            setattr(namespace, action.dest, action.const if action.kind in (*_FLAGS, "store_const") else values)

    def parse_known_args(self, args=None, namespace=None):
        given, rest = list(args or []), []
        namespace = Namespace() if namespace is None else namespace
        for action in self._actions:
            if action.default != SUPPRESS and action.kind not in ("help", "version") and not hasattr(namespace, action.dest):
                setattr(namespace, action.dest, self._defaults.get(action.dest, action._initial(self)))
        for key, value in self._defaults.items():
            if not hasattr(namespace, key):
                setattr(namespace, key, value)
        options, seen = {}, []
        for action in self._actions:
            for name in action.option_strings:
                options[name] = action
                if isinstance(action, BooleanOptionalAction) and name.startswith("--"):
                    options["--no-" + name[2:]] = action
        positional = [action for action in self._actions if not action.option_strings]
        while given:
            text = given.pop(0)
            name, sign, value = text.partition("=")
            if name in options:
                if sign:
                    given.insert(0, value)
                seen.append(options[name])
                self._take(options[name], given, namespace, name)
            elif positional and not _is_option(text):
                given.insert(0, text)
                seen.append(positional[0])
                self._take(positional.pop(0), given, namespace, None)
            else:
                rest.append(text)
        missing = [
            "/".join(action.option_strings) or action.dest for action in self._actions
            if action not in seen and (action.required or not action.option_strings and action.nargs not in ("?", "*", "..."))
        ]
        if missing:
            self.error(f"the following arguments are required: {', '.join(missing)}")
        return namespace, rest

    def parse_args(self, args=None, namespace=None):
        namespace, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return namespace
