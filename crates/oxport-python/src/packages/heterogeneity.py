# transformers.integrations.heterogeneity: all layers have the same configuration.


class HeterogeneousConfigMixin:
    is_heterogeneous = False
    per_layer_attributes = None

    def _update_heterogeneous_to_dict_output(self, output):
        return None

    def _iter_config_keys_with_heterogeneous_adjustment(self, keys):
        return keys

    def _getattr_without_heterogeneous_validation(self, key, *default):
        return getattr(self, key, *default)

    def _hasattr_without_heterogeneous_validation(self, key):
        return hasattr(self, key)
