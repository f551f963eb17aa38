# transformers.integrations.heterogeneity: all layers have the same configuration.


class _PerLayer:
    def __init__(self, config):
        self._config = config

    def __len__(self):
        return self._config.num_hidden_layers

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self._config] * len(range(*index.indices(len(self))))
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise IndexError("list index out of range")
        return self._config


class HeterogeneousConfigMixin:
    is_heterogeneous = False
    per_layer_attributes = None

    @property
    def per_layer_config(self):
        return _PerLayer(self)

    @per_layer_config.setter
    def per_layer_config(self, value):
        if value is not None:
            raise NotImplementedError("layers of several configurations are not supported")

    def _update_heterogeneous_to_dict_output(self, output):
        return None

    def _iter_config_keys_with_heterogeneous_adjustment(self, keys):
        return keys

    def _getattr_without_heterogeneous_validation(self, key, *default):
        return getattr(self, key, *default)

    def _hasattr_without_heterogeneous_validation(self, key):
        return hasattr(self, key)
