# A clock that stands at 0 while a module is made; a captured program is refused any.

import sys as _sys
from random import _is_tracing


def _stands(name, value):
    def read(*args):
        if _is_tracing():
            _sys._refuse("time." + name)
        return value

    return read


time, perf_counter, monotonic, process_time = (_stands(name, 0.0) for name in ("time", "perf_counter", "monotonic", "process_time"))
time_ns, perf_counter_ns, monotonic_ns, process_time_ns = (
    _stands(name, 0) for name in ("time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns"))
sleep = _stands("sleep", None)
