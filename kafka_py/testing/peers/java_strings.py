"""The string constants of Java classes: what a program says, read from its jar without running it.

Source: the Java Virtual Machine Specification, chapter 4.4 (the constant pool of a class file).
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

_MAGIC = 0xCAFEBABE
_UTF8, _LONG, _DOUBLE, _STRING = 1, 5, 6, 8
_SIZES = {3: 4, 4: 4, _LONG: 8, _DOUBLE: 8, 7: 2, _STRING: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4,
          19: 2, 20: 2}  # fmt: skip
"""Bytes behind the tag, by tag."""


def strings_of_class(data: bytes) -> Iterator[str]:
    """The string constants of one class file. Raises ValueError for anything else."""
    magic, _minor, _major, count = struct.unpack_from(">IHHH", data)
    if magic != _MAGIC:
        raise ValueError("not a class file")
    texts: dict[int, str] = {}
    strings: list[int] = []
    number, position = 1, 10
    while number < count:
        tag, position = data[position], position + 1
        if tag == _UTF8:
            (size,) = struct.unpack_from(">H", data, position)
            texts[number] = data[position + 2 : position + 2 + size].decode("utf-8", "replace")
            position += 2 + size
        else:
            if tag == _STRING:
                strings.append(struct.unpack_from(">H", data, position)[0])
            position += _SIZES[tag]
        number += 2 if tag in (_LONG, _DOUBLE) else 1  # these take two entries
    return (texts[index] for index in strings)


def strings_of_jar(jar: Path) -> Iterator[str]:
    """The string constants of all classes in a jar."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class"):
                yield from strings_of_class(archive.read(name))
