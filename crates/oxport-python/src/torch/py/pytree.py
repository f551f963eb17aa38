# torch.utils._pytree: nested containers, and the types that the program registers.

from collections import OrderedDict, defaultdict, deque

from torch.export import register_dataclass as _register_namedtuple


class TreeSpec:
    def __init__(self, build, children):
        self._build, self.children_specs = build, children
        self.num_leaves = 1 if build is None else sum(child.num_leaves for child in children)

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)


class LeafSpec(TreeSpec):
    def __init__(self):
        super().__init__(None, [])


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, **options):
    cls.__pytree__ = (flatten_fn, unflatten_fn)
    cls.__serialized_type_name__ = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"


_register_pytree_node = register_pytree_node


def _dict_flatten(value):
    return list(value.values()), list(value)


def _dict_unflatten(values, keys):
    return dict(zip(keys, values))


def _children(tree):
    # The children of a container and how to make one like it; nothing for a leaf.
    kind = type(tree)
    if "__pytree__" in kind.__dict__:
        flatten, unflatten = kind.__pytree__
        children, context = flatten(tree)
        return list(children), lambda children: unflatten(children, context)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), lambda children: kind(*children)
    if kind in (tuple, list, deque) or isinstance(tree, tuple):
        return list(tree), lambda children: kind(children)
    if kind in (dict, OrderedDict):
        keys = list(tree)
        return list(tree.values()), lambda children: kind(zip(keys, children))
    if kind is defaultdict:
        keys, factory = list(tree), tree.default_factory
        return list(tree.values()), lambda children: defaultdict(factory, zip(keys, children))
    return None


def tree_flatten(tree, is_leaf=None):
    parts = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if parts is None:
        return [tree], LeafSpec()
    leaves, specs = [], []
    for child in parts[0]:
        own, spec = tree_flatten(child, is_leaf)
        leaves.extend(own)
        specs.append(spec)
    return leaves, TreeSpec(parts[1], specs)


def tree_flatten_spec(tree, spec):
    return tree_leaves(tree)


def tree_unflatten(leaves, treespec):
    if not isinstance(treespec, TreeSpec):
        # The text of a graph module does not say the structure of its outputs.
        return tuple(leaves)
    leaves = iter(leaves)

    def build(spec):
        return next(leaves) if spec._build is None else spec._build([build(child) for child in spec.children_specs])

    return build(treespec)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(function, tree, *rests, is_leaf=None):
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([function(*parts) for parts in zip(leaves, *others)], spec)


def tree_map_only(kinds, function, tree, is_leaf=None):
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, kinds) else leaf, tree, is_leaf=is_leaf)


def tree_any(predicate, tree):
    return any(predicate(leaf) for leaf in tree_leaves(tree))


def tree_all(predicate, tree):
    return all(predicate(leaf) for leaf in tree_leaves(tree))
