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
