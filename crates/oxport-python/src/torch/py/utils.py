# Sizes of windows.


def _ntuple(n, name="parse"):
    def parse(value):
        if isinstance(value, (tuple, list)):
            return tuple(value)
        return (value,) * n

    return parse


_single, _pair, _triple, _quadruple = _ntuple(1), _ntuple(2), _ntuple(3), _ntuple(4)


def _reverse_repeat_tuple(value, n):
    return tuple(item for item in reversed(value) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    return None
