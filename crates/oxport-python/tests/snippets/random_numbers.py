import random
from pathlib import Path, PurePath

random.seed(7)
print(random.random(), random.randint(0, 100), random.choice([1, 2, 3, 4]), random.uniform(2, 3))
print(random.gauss(0, 1), random.gauss(0, 1), random.normalvariate(1, 2), random.getrandbits(70), random.expovariate(2.0))
items = list(range(10))
random.shuffle(items)
print(items, random.sample(range(100), 5), random.sample(range(1000), 7), random.sample(items, 2, counts=[2] * 10))
print(random.choices([1, 2, 3], k=4), random.choices([1, 2, 3], weights=[1, 2, 7], k=4), random.randrange(3, 90, 7))
other = random.Random(2**70 + 5)
print(other.random(), other.randrange(5), random.Random(-3).random(), random.Random(0).sample([1, 2, 3], 3))
try:
    random.choice([])
except IndexError as error:
    print(error)

path = Path("/a/b") / "c.tar.gz"
print(path, path.name, path.stem, path.suffix, path.suffixes, path.parent, path.parents[1], path.parts, path.with_suffix(".zip"))
print(Path("a", "b", "../c"), "x" / Path("y"), Path(""), repr(PurePath("q")), [Path("z")], path == Path("/a/b/c.tar.gz"))
print(path.relative_to("/a"), path.is_absolute(), Path(".hidden").suffix == "", path.joinpath("d", "e"), Path("a/b") < Path("a/c"))
print(path.is_relative_to("/b"), path.with_name("d"), path.with_stem("e"), Path("a//b/./c").as_posix(), path.parent.parent.name)
try:
    path.relative_to("/b")
except ValueError as error:
    print(error)


async def fetch(source):
    async with source as (a, b):
        async for item in a:
            await item.read()
        return [await c async for c in b if await c.ok()]


values = globals()
values.update(added=3)
print(added, "fetch" in values, values["items"] is items)
