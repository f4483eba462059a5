"""Damage to stored files: one bit flipped, the end cut off, bytes zeroed, bytes added."""

from __future__ import annotations

import random
from collections.abc import Callable

KINDS = ("flip", "cut", "zero", "stretch")


def flip(data: bytes, position: int, chance: random.Random) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << chance.randrange(8)]) + data[position + 1 :]


def cut(data: bytes, position: int, _chance: random.Random) -> bytes:
    return data[:position]


def zero(data: bytes, position: int, chance: random.Random) -> bytes:
    """A few bytes, a block, or all up to the end, as after a power failure."""
    end = min(position + chance.choice((1, 8, 64, len(data))), len(data))
    return data[:position] + bytes(end - position) + data[end:]


def stretch(data: bytes, position: int, chance: random.Random) -> bytes:
    """Zeroes, noise or a repetition, in the middle or at the end."""
    position = chance.choice((position, len(data)))
    size = chance.choice((1, 7, 61, 300))
    added = chance.choice((bytes(size), chance.randbytes(size), data[max(position - size, 0) : position]))
    return data[:position] + added + data[position:]


_HOW: dict[str, Callable[[bytes, int, random.Random], bytes]] = {
    "flip": flip, "cut": cut, "zero": zero, "stretch": stretch,
}  # fmt: skip


def damaged(data: bytes, kind: str, chance: random.Random) -> tuple[bytes, int]:
    """The content with damage at a random position, and the first byte that differs; -1 when none does."""
    changed = _HOW[kind](data, chance.randrange(len(data)), chance)
    return changed, first_difference(data, changed)


def first_difference(before: bytes, after: bytes) -> int:
    """The first position at which two contents differ, one of them possibly ending there; -1 when they are equal."""
    if before == after:
        return -1
    for position, (left, right) in enumerate(zip(before, after, strict=False)):
        if left != right:
            return position
    return min(len(before), len(after))
