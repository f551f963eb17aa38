# What a module binds with the help of modules that are not there is not there either; the rest of it is.
import atexit
import decimal
from fractions import Fraction

HALF = Fraction(1, 2)
THIRD, (FOURTH, FIFTH) = decimal.Decimal(3), (1, 2)


class Money(decimal.Context.__class__):
    pass


class Wallet:
    unit: Money = None

    def pay(self, amount=3):
        return amount * 2


@atexit.register
def farewell():
    return HALF


def half():
    return HALF


print(Wallet().pay(), half.__name__)
