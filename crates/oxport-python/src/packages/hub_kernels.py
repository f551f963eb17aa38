# transformers.integrations.hub_kernels: no kernel is downloaded, layers keep their own forward.

ALLOW_ALL_KERNELS = False


def use_kernel_forward_from_hub(name):
    return lambda cls: cls


def use_kernel_func_from_hub(*args, **kwargs):
    return lambda value: value


use_kernelized_func = use_kernel_func_from_hub_with_fallback = use_kernel_func_from_hub


def lazy_load_kernel(name, mapping=None):
    return None


def is_kernel(name):
    return False


def allow_all_hub_kernels():
    from contextlib import nullcontext

    return nullcontext()


class LayerRepository:
    pass


FuncRepository = LayerRepository
