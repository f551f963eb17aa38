# What is known of a module before it runs.


class ModuleSpec:
    def __init__(self, name, loader, *, origin=None, is_package=None):
        self.name, self.loader, self.origin = name, loader, origin
        self.submodule_search_locations = [name] if is_package else None
        self.parent = name if is_package else name.rpartition(".")[0]
        self.cached, self.has_location = None, origin is not None
