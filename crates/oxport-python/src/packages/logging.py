# transformers.utils.logging, which is silent.

from logging import CRITICAL, DEBUG, ERROR, FATAL, INFO, NOTSET, WARN, WARNING, getLogger


class _Logger:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


_logger = _Logger()


def get_logger(name=None):
    return _logger


def get_verbosity():
    return ERROR


def is_progress_bar_enabled():
    return False


def __getattr__(name):
    if name.startswith(("set_", "enable_", "disable_", "add_", "remove_", "reset_", "capture")):
        return lambda *args, **kwargs: None
    raise AttributeError(name)


def tqdm(values=None, *args, **kwargs):
    return values
