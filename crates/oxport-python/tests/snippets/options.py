import argparse

parser = argparse.ArgumentParser(description="train", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--lr", type=float, default=1e-3, help="learning rate")
parser.add_argument("-b", "--batch-size", type=int, default="16")
parser.add_argument("--name", choices=["a", "b"], default="a")
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--no-aug", dest="aug", action="store_false")
parser.add_argument("--sizes", nargs="+", type=int, default=[1, 2])
parser.add_argument("-v", action="count", default=0)
parser.add_argument("--tag", action="append")
parser.add_argument("--flag", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("data", nargs="?", default="here")
parser.set_defaults(extra=3)
args = parser.parse_args([])
print(args)
args = parser.parse_args("--lr 0.5 -b 4 --name=b --cuda --no-aug --sizes 3 4 5 -v -v --tag x --tag y --no-flag".split())
print(args, vars(args)["sizes"], "lr" in args, args.extra)
print(parser.parse_known_args(["there", "--unknown", "1"]))
for wrong in (["--name", "c"], ["--lr"], ["--what"]):
    try:
        parser.parse_args(wrong)
    except SystemExit:
        print("refused", wrong)

import bisect
import heapq

numbers = [5, 3, 8, 1, 9, 2, 7, 3]
heap = []
for n in numbers:
    heapq.heappush(heap, n)
print(heap, [heapq.heappop(heap) for _ in range(3)], heap)
heapq.heapify(numbers)
print(numbers, heapq.heappushpop(numbers, 0), heapq.heapreplace(numbers, 6), numbers)
print(heapq.nsmallest(2, numbers), heapq.nlargest(3, numbers, key=lambda n: -n), list(heapq.merge([1, 4], [2, 3])))
places = [1, 3, 3, 5]
print(bisect.bisect_left(places, 3), bisect.bisect(places, 3), bisect.bisect_right(places, 9), bisect.bisect_left(places, 0))
bisect.insort(places, 4)
print(places, bisect.bisect_left(["a", "bb", "ccc"], 2, key=len))
