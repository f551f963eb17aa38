# Versions as `distutils` compared them: numbers and letters, from left to right.
import re


class LooseVersion:
    def __init__(self, vstring=None):
        self.vstring = vstring
        found = re.findall(r"\d+|[a-z]+|[^\da-z.]+", vstring or "")
        self.version = [int(part) if part.isdigit() else part for part in found]

    def __str__(self):
        return self.vstring

    def __repr__(self):
        return f"LooseVersion ('{self}')"

    def _other(self, other):
        return (LooseVersion(other) if isinstance(other, str) else other).version

    def __eq__(self, other):
        return self.version == self._other(other)

    def __lt__(self, other):
        return self.version < self._other(other)

    def __le__(self, other):
        return self.version <= self._other(other)

    def __gt__(self, other):
        return self.version > self._other(other)

    def __ge__(self, other):
        return self.version >= self._other(other)


StrictVersion = LooseVersion
