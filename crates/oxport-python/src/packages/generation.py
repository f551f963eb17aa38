# transformers.generation: generating texts calls a model again and again, and is not a part of it.


class GenerationConfig:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)

    @classmethod
    def from_model_config(cls, config):
        return cls()

    @staticmethod
    def _get_default_generation_params():
        return {}


class CompileConfig:
    pass


class GenerationMixin:
    pass
