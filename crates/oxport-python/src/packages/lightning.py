# lightning: modules, whose `forward` is captured. What trains them is absent.

import functools
import inspect

import torch

__version__ = "2.6.0"


class _Parameters(dict):
    # Hyperparameters, as attributes too.
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(f'Missing attribute "{name}"')
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


class _HyperparametersMixin:
    # The arguments of the outermost `__init__` are what `save_hyperparameters` saves.
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" not in cls.__dict__:
            return
        init = cls.__dict__["__init__"]

        @functools.wraps(init)
        def wrapped(self, *args, **kwargs):
            if "_init_arguments" not in self.__dict__:
                bound = inspect.signature(init).bind(self, *args, **kwargs)
                bound.apply_defaults()
                given = dict(list(bound.arguments.items())[1:])
                given.update(given.pop("kwargs", {}) if isinstance(given.get("kwargs"), dict) else {})
                self.__dict__["_init_arguments"] = given
            init(self, *args, **kwargs)

        cls.__init__ = wrapped

    @property
    def hparams(self):
        if "_hparams" not in self.__dict__:
            self.__dict__["_hparams"] = _Parameters()
        return self.__dict__["_hparams"]

    def save_hyperparameters(self, *args, ignore=None, frame=None, logger=True):
        ignored = [ignore] if isinstance(ignore, str) else list(ignore or ())
        given = self.__dict__.get("_init_arguments", {})
        named = [name for name in args if isinstance(name, str)]
        for name, value in given.items():
            if name not in ignored and (not args or name in named or any(value is other for other in args)):
                self.hparams[name] = value


class LightningModule(_HyperparametersMixin, torch.nn.Module):
    current_epoch = global_step = global_rank = local_rank = 0
    on_gpu, trainer, logger = False, None, None
    device = torch.device("cpu")

    @property
    def dtype(self):
        floats = (tensor.dtype for tensor in self.parameters() if tensor.is_floating_point())
        return next(floats, torch.float32)

    def log(self, *args, **kwargs):
        return None

    log_dict = print = log

    def freeze(self):
        self.requires_grad_(False)
        self.eval()

    def unfreeze(self):
        self.requires_grad_(True)
        self.train()


class LightningDataModule(_HyperparametersMixin):
    pass


class Callback:
    pass


class _Absent:
    def __init__(self, name):
        self._name = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"lightning.{self._name} is not supported")


def seed_everything(seed=None, workers=False, verbose=True):
    torch.manual_seed(0 if seed is None else seed)
    return seed


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'lightning' has no attribute '{name}'")
    return _Absent(name)
