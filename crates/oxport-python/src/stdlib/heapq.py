# Heaps in lists: the least item is the first.


def _up(heap, at, root=0):
    item = heap[at]
    while at > root:
        above = (at - 1) // 2
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def _down(heap, at):
    # The smaller child moves up to the end, as CPython does it; then the item finds its place from there.
    item, root, end = heap[at], at, len(heap)
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = item
    _up(heap, at, root)


def heappush(heap, item):
    heap.append(item)
    _up(heap, len(heap) - 1)


def heappop(heap):
    last = heap.pop()
    return heapreplace(heap, last) if heap else last


def heapreplace(heap, item):
    first, heap[0] = heap[0], item
    _down(heap, 0)
    return first


def heappushpop(heap, item):
    return heapreplace(heap, item) if heap and heap[0] < item else item


def heapify(x):
    for at in reversed(range(len(x) // 2)):
        _down(x, at)


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


def merge(*iterables, key=None, reverse=False):
    return iter(sorted((item for items in iterables for item in items), key=key, reverse=reverse))
