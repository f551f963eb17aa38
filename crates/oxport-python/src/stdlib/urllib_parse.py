# Texts of addresses; nothing is asked of the network.
from collections import namedtuple

_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"

SplitResult = namedtuple("SplitResult", "scheme netloc path query fragment")
ParseResult = namedtuple("ParseResult", "scheme netloc path params query fragment")


def quote(string, safe="/", encoding=None, errors=None):
    plain = _PLAIN + safe
    return "".join(chr(byte) if chr(byte) in plain else f"%{byte:02X}" for byte in string.encode("utf-8"))


def quote_plus(string, safe=""):
    return quote(string, safe + " ").replace(" ", "+")


def urlsplit(url, scheme="", allow_fragments=True):
    head, colon, rest = url.partition(":")
    if colon and head and all(c in _PLAIN[:62] + "+-." for c in head) and head[0].isalpha():
        scheme, url = head.lower(), rest
    netloc = query = fragment = ""
    if url.startswith("//"):
        end = min([at for at in (url.find(c, 2) for c in "/?#") if at >= 0], default=len(url))
        netloc, url = url[2:end], url[end:]
    if allow_fragments:
        url, _, fragment = url.partition("#")
    url, _, query = url.partition("?")
    return SplitResult(scheme, netloc, url, query, fragment)


def urlparse(url, scheme="", allow_fragments=True):
    scheme, netloc, path, query, fragment = urlsplit(url, scheme, allow_fragments)
    at = path.find(";", path.rfind("/") + 1)
    path, params = (path[:at], path[at + 1 :]) if at >= 0 else (path, "")
    return ParseResult(scheme, netloc, path, params, query, fragment)
