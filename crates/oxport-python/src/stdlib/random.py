# Random numbers of Python, for a module that is made: the Mersenne Twister as CPython seeds and reads it. Where nothing gives a seed,
# it is 0. In a captured program a drawn number would be a constant, and is refused.

import math as _math


def _twist(state):
    for i in range(624):
        y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7FFFFFFF)
        state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)


def _states(n):
    # The state of a number: its words of 32 bits are mixed into a state that is always the same.
    key = []
    while True:
        key.append(n & 0xFFFFFFFF)
        n >>= 32
        if n == 0:
            break
    state = [19650218]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    i, j = 1, 0
    for _ in range(max(624, len(key))):
        state[i] = ((state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525)) + key[j] + j) & 0xFFFFFFFF
        i, j = i + 1, (j + 1) % len(key)
        if i == 624:
            state[0], i = state[623], 1
    for _ in range(623):
        state[i] = ((state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941)) - i) & 0xFFFFFFFF
        i += 1
        if i == 624:
            state[0], i = state[623], 1
    state[0] = 0x80000000
    return state


def _is_tracing():
    try:
        import torch._C as _C
    except ImportError:
        return False
    return _C.is_tracing()


class Random:
    def __init__(self, x=None):
        self._seed, self._state = x, None

    def seed(self, a=None, version=2):
        self._seed, self._state = a, None

    def _start(self, seed):
        return _states(abs(seed))

    def _word(self):
        if _is_tracing():
            raise NotImplementedError("random numbers of Python in a captured program are not supported: draw them with torch")
        if self._state is None:
            seed = 0 if self._seed is None else self._seed
            if not isinstance(seed, int):
                raise NotImplementedError("random.seed is supported for ints")
            self._state, self._at, self._next = self._start(seed), 624, None
        if self._at == 624:
            _twist(self._state)
            self._at = 0
        y = self._state[self._at]
        self._at += 1
        y ^= y >> 11
        y ^= (y << 7) & 0x9D2C5680
        y ^= (y << 15) & 0xEFC60000
        return y ^ (y >> 18)

    def random(self):
        a, b = self._word() >> 5, self._word() >> 6
        return (a * 67108864.0 + b) / 9007199254740992.0

    def getrandbits(self, k):
        bits, at = 0, 0
        while k > 0:
            word = self._word()
            bits |= (word >> (32 - k) if k < 32 else word) << at
            k, at = k - 32, at + 32
        return bits

    def _below(self, n):
        k = n.bit_length()
        r = self.getrandbits(k)
        while r >= n:
            r = self.getrandbits(k)
        return r

    def randrange(self, start, stop=None, step=1):
        choices = range(start) if stop is None else range(start, stop, step)
        if len(choices) == 0:
            raise ValueError("empty range for randrange()")
        return choices[0] if len(choices) == 1 else choices[self._below(len(choices))]

    def randint(self, a, b):
        return self.randrange(a, b + 1)

    def choice(self, seq):
        if len(seq) == 0:
            raise IndexError("Cannot choose from an empty sequence")
        # What there is no choice of is drawn without a number, also in a captured program.
        return seq[0] if len(seq) == 1 else seq[self._below(len(seq))]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        n = len(population)
        if weights is None and cum_weights is None:
            return [population[_math.floor(self.random() * n)] for _ in range(k)]
        if cum_weights is None:
            cum_weights, total = [], 0
            for weight in weights:
                total += weight
                cum_weights.append(total)
        total = cum_weights[-1] + 0.0
        drawn = []
        for _ in range(k):
            point = self.random() * total
            drawn.append(population[next((i for i in range(n - 1) if point < cum_weights[i]), n - 1)])
        return drawn

    def shuffle(self, x):
        for i in reversed(range(1, len(x))):
            j = self._below(i + 1)
            x[i], x[j] = x[j], x[i]

    def sample(self, population, k, *, counts=None):
        if counts is not None:
            population = [item for item, count in zip(population, counts) for _ in range(count)]
        n = len(population)
        if not 0 <= k <= n:
            raise ValueError("Sample larger than population or is negative")
        size = 21
        if k > 5:
            size += 4 ** _math.ceil(_math.log(k * 3, 4))
        drawn = []
        if n <= size:
            pool = list(population)
            for i in range(k):
                j = self._below(n - i)
                drawn.append(pool[j])
                pool[j] = pool[n - i - 1]
        else:
            taken = set()
            for _ in range(k):
                j = self._below(n)
                while j in taken:
                    j = self._below(n)
                taken.add(j)
                drawn.append(population[j])
        return drawn

    def uniform(self, a, b):
        return a + (b - a) * self.random()

    def gauss(self, mu=0.0, sigma=1.0):
        z = None if self._state is None else self._next
        if z is None:
            angle = self.random() * 2.0 * _math.pi
            radius = _math.sqrt(-2.0 * _math.log(1.0 - self.random()))
            z, self._next = _math.cos(angle) * radius, _math.sin(angle) * radius
        else:
            self._next = None
        return mu + z * sigma

    def normalvariate(self, mu=0.0, sigma=1.0):
        constant = 4 * _math.exp(-0.5) / _math.sqrt(2.0)
        while True:
            u1 = self.random()
            u2 = 1.0 - self.random()
            z = constant * (u1 - 0.5) / u2
            if z * z / 4.0 <= -_math.log(u2):
                return mu + z * sigma

    def expovariate(self, lambd=1.0):
        return -_math.log(1.0 - self.random()) / lambd

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(f"random.{name} is not supported")


_shared = Random()
seed, random, getrandbits, randrange, randint = _shared.seed, _shared.random, _shared.getrandbits, _shared.randrange, _shared.randint
choice, choices, shuffle, sample, uniform = _shared.choice, _shared.choices, _shared.shuffle, _shared.sample, _shared.uniform
gauss, normalvariate, expovariate = _shared.gauss, _shared.normalvariate, _shared.expovariate


def __getattr__(name):
    return getattr(_shared, name)
