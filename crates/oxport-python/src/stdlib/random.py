# Random numbers of Python are not those of the traced program: what is drawn while a module is made would be a constant.


class Random:
    def __init__(self, seed=None):
        pass

    def __getattr__(self, name):
        return _refused(name)


def seed(value=None):
    return None


def randrange(start, stop=None, step=1):
    choices = range(start) if stop is None else range(start, stop, step)
    return choice(choices)


def randint(a, b):
    return choice(range(a, b + 1))


def choice(seq):
    # What there is no choice of is drawn without a number.
    return seq[0] if len(seq) == 1 else _refused("choice")()


def _refused(name):
    def draw(*args, **kwargs):
        raise NotImplementedError(f"random.{name} is not supported: a captured program cannot draw Python's random numbers")

    return draw


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _refused(name)
