# One platform, whatever it is captured on.

import sys


def system():
    return "Linux"


def python_version():
    return sys.version


def python_implementation():
    return "CPython"


def machine():
    return "x86_64"


def release():
    return ""


node = processor = version = platform = release
