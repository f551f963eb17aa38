# lightning_utilities.core.imports: nothing that is optional is there.


def package_available(package_name):
    return False


module_available = package_available


def compare_version(package, op, version, use_base_version=False):
    return False


class RequirementCache:
    def __init__(self, requirement=None, module=None):
        self.requirement = requirement

    def __bool__(self):
        return False

    def __str__(self):
        return f"{self.requirement} is not available"


class ModuleAvailableCache(RequirementCache):
    pass
