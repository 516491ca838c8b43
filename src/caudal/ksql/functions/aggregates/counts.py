"""COUNT, and COUNT_DISTINCT, which is exact for a thousand values and an estimate beyond.

The state of COUNT_DISTINCT is bytes: after a 0, the sorted 8-byte hashes of the values, as long as there are few; after
a 1, the registers of a HyperLogLog (Flajolet et al. 2007), a byte each.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from caudal.ksql import types
from caudal.ksql.functions.registry import Udaf, aggregate
from caudal.ksql.types import SqlType


class CountRows(Udaf):
    state_type = result_type = types.BIGINT
    inline_add = "{s} + 1"

    def initial(self) -> int:
        return 0

    def add(self, state: int, *arguments: Any) -> int:
        return state + 1

    def undo(self, state: int, *arguments: Any) -> int:
        return state - 1

    def merge(self, left: int, right: int) -> int:
        return left + right


class CountValues(CountRows):
    inline_add = "{s} if {0} is None else {s} + 1"

    def add(self, state: int, *arguments: Any) -> int:
        return state if arguments[0] is None else state + 1

    def undo(self, state: int, *arguments: Any) -> int:
        return state if arguments[0] is None else state - 1


@aggregate(
    "COUNT",
    "() -> BIGINT",
    "(value T) -> BIGINT",
    description="How many rows there are; with an argument, how many where it is not null.",
)
def count(argument_types: Sequence[SqlType], literals: Sequence[Any]) -> Udaf:
    return CountValues() if argument_types else CountRows()


EXACT_VALUES = 1024  # 8 KiB of hashes
BITS = 14  # of the hash that choose a register: a standard error of 0.8 %
REGISTERS = 1 << BITS


@aggregate(
    "COUNT_DISTINCT",
    "(value T) -> BIGINT",
    description="How many different values there are, nulls not counted: exact for few, within about 1 % for many.",
)
class CountDistinct(Udaf):
    state_type = types.BYTES
    result_type = types.BIGINT

    def __init__(self, argument_types: Sequence[SqlType], literals: Sequence[Any]) -> None:
        pass

    def initial(self) -> bytes:
        return b"\0"

    def add(self, state: bytes, value: Any) -> bytes:
        if value is None:
            return state
        hashed = _hash(value)
        if state[0]:
            place, rank = _register(hashed)
            return state if state[place] >= rank else state[:place] + bytes((rank,)) + state[place + 1 :]
        hashes = _hashes(state)
        place = bisect_left(hashes, hashed)
        if place < len(hashes) and hashes[place] == hashed:
            return state
        if len(hashes) < EXACT_VALUES:
            at = 1 + place * 8
            return state[:at] + hashed.to_bytes(8, "little") + state[at:]
        return bytes(_registers([*hashes, hashed]))

    def merge(self, left: bytes, right: bytes) -> bytes:
        if not left[0] and not right[0]:
            hashes = sorted({*_hashes(left), *_hashes(right)})
            if len(hashes) <= EXACT_VALUES:
                return b"\0" + b"".join(one.to_bytes(8, "little") for one in hashes)
            return bytes(_registers(hashes))
        one = left if left[0] else _registers(_hashes(left))
        two = right if right[0] else _registers(_hashes(right))
        return bytes(map(max, one, two))

    def result(self, state: bytes) -> int:
        if not state[0]:
            return (len(state) - 1) // 8
        registers = state[1:]
        total = sum(registers.count(rank) * 2.0**-rank for rank in range(64 - BITS + 2))
        estimate = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS * REGISTERS / total
        empty = registers.count(0)
        if estimate <= 2.5 * REGISTERS and empty:
            estimate = REGISTERS * math.log(REGISTERS / empty)
        return round(estimate)


def _hash(value: Any) -> int:
    """The same in every process and for ever: states outlive both."""
    text = value if type(value) is str else repr(_ordered(value))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _ordered(value: Any) -> Any:
    if type(value) is dict:
        return sorted((repr(key), _ordered(one)) for key, one in value.items())
    return [_ordered(one) for one in value] if type(value) is list else value


def _hashes(state: bytes) -> array[int]:
    hashes = array("Q")
    hashes.frombytes(state[1:])
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes


def _register(hashed: int) -> tuple[int, int]:
    """Its place in the state, and how many zeros the rest of the hash begins with, plus one."""
    rest = hashed >> BITS
    return 1 + (hashed & (REGISTERS - 1)), 64 - BITS - rest.bit_length() + 1


def _registers(hashes: Sequence[int]) -> bytearray:
    registers = bytearray(1 + REGISTERS)
    registers[0] = 1
    for hashed in hashes:
        place, rank = _register(hashed)
        if rank > registers[place]:
            registers[place] = rank
    return registers
