# transformers: a name is found in the module that defines it, which is read when the name is asked for.

from importlib import _find, _submodules, _version

__version__ = _version("transformers") or "5.0.0"

_SHARED = {
    "PreTrainedConfig": "configuration_utils",
    "PretrainedConfig": "configuration_utils",
    "PreTrainedModel": "modeling_utils",
    "Cache": "cache_utils",
    "DynamicCache": "cache_utils",
    "StaticCache": "cache_utils",
    "EncoderDecoderCache": "cache_utils",
    "GenerationConfig": "generation",
    "GenerationMixin": "generation",
}


def _folder(name):
    # The folder of the models whose name begins as this one does: `gpt_neox` for `GPTNeoXModel`.
    plain = name.lower()
    found = [folder for folder in _submodules("transformers.models") if plain.startswith(folder.replace("_", ""))]
    return max(found, key=lambda folder: len(folder.replace("_", "")), default=None)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _SHARED:
        return getattr(_find("transformers." + _SHARED[name]), name)
    if name in _submodules("transformers"):
        return _find("transformers." + name)
    folder = _folder(name)
    if folder is not None:
        return getattr(_find("transformers.models." + folder), name)
    raise AttributeError(f"module 'transformers' has no attribute '{name}'")
