# Threads do not start; locks hold nothing up.


class Lock:
    def __init__(self, *args):
        pass

    def acquire(self, *args, **kwargs):
        return True

    def release(self):
        pass

    def locked(self):
        return False

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


RLock = Condition = Semaphore = Lock


class local:
    pass


class Thread:
    name, ident, daemon = "MainThread", 1, False

    def __init__(self, *args, **kwargs):
        pass

    def start(self):
        raise NotImplementedError("threads are not supported")


_main = Thread()


def current_thread():
    return _main


def main_thread():
    return _main


def get_ident():
    return 1
