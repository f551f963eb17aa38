# Iterators.


class count:
    def __init__(self, start=0, step=1):
        self.n, self.step = start, step

    def __iter__(self):
        return self

    def __next__(self):
        value = self.n
        self.n += self.step
        return value


class chain:
    def __init__(self, *iterables):
        self._values = _chain(iterables)

    @classmethod
    def from_iterable(cls, iterables):
        made = cls()
        made._values = _chain(iterables)
        return made

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._values)


def _chain(iterables):
    for iterable in iterables:
        yield from iterable


def cycle(iterable):
    kept = []
    for item in iterable:
        kept.append(item)
        yield item
    while kept:
        yield from kept


def repeat(value, times=None):
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def islice(iterable, *args):
    bounds = slice(*args)
    start, stop, step = bounds.start or 0, bounds.stop, bounds.step or 1
    if stop is not None and stop <= 0:
        return
    wanted = start
    for index, item in enumerate(iterable):
        if stop is not None and index >= stop:
            return
        if index == wanted:
            yield item
            wanted += step
        if stop is not None and index + 1 >= stop:
            return


def accumulate(iterable, func=None, *, initial=None):
    iterator = iter(iterable)
    total = initial
    if initial is None:
        try:
            total = next(iterator)
        except StopIteration:
            return
    yield total
    for item in iterator:
        total = total + item if func is None else func(total, item)
        yield total


def takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            return
        yield item


def dropwhile(predicate, iterable):
    iterator = iter(iterable)
    for item in iterator:
        if not predicate(item):
            yield item
            break
    yield from iterator


def filterfalse(predicate, iterable):
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data, selectors):
    for item, selected in zip(data, selectors):
        if selected:
            yield item


def starmap(function, iterable):
    for args in iterable:
        yield function(*args)


def zip_longest(*iterables, fillvalue=None):
    iterators = [iter(iterable) for iterable in iterables]
    active = len(iterators)
    missing = object()
    while active:
        row = []
        for index, iterator in enumerate(iterators):
            value = missing if iterator is None else next(iterator, missing)
            if value is missing:
                if iterator is not None:
                    active -= 1
                    iterators[index] = None
                value = fillvalue
            row.append(value)
        if active:
            yield tuple(row)


def product(*iterables, repeat=1):
    pools = [tuple(iterable) for iterable in iterables] * repeat
    if not pools:
        yield ()
        return
    for index in range(_count(pools)):
        row = []
        for pool in reversed(pools):
            index, at = divmod(index, len(pool))
            row.append(pool[at])
        yield tuple(reversed(row))


def _count(pools):
    total = 1
    for pool in pools:
        total *= len(pool)
    return total


def permutations(iterable, r=None):
    pool = tuple(iterable)
    r = len(pool) if r is None else r
    for indices in product(range(len(pool)), repeat=r):
        if len(set(indices)) == r:
            yield tuple(pool[index] for index in indices)


def combinations(iterable, r):
    pool = tuple(iterable)
    for indices in product(range(len(pool)), repeat=r):
        if all(indices[at] < indices[at + 1] for at in range(r - 1)):
            yield tuple(pool[index] for index in indices)


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    for indices in product(range(len(pool)), repeat=r):
        if all(indices[at] <= indices[at + 1] for at in range(r - 1)):
            yield tuple(pool[index] for index in indices)


def pairwise(iterable):
    iterator = iter(iterable)
    previous = next(iterator, iterator)
    if previous is iterator:
        return
    for item in iterator:
        yield previous, item
        previous = item


def groupby(iterable, key=None):
    group, known = [], None
    for item in iterable:
        k = item if key is None else key(item)
        if group and k != known:
            yield known, iter(group)
            group = []
        known = k
        group.append(item)
    if group:
        yield known, iter(group)


def tee(iterable, n=2):
    items = list(iterable)
    return tuple(iter(items) for _ in range(n))


def batched(iterable, n):
    batch = []
    for item in iterable:
        batch.append(item)
        if len(batch) == n:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)
