"""CRC-32C (Castagnoli), the checksum of v2 batches and of producer snapshots.

`crc32c(buf, value=0)` takes any contiguous buffer without copying it; `value` continues an earlier sum. It is the C
extension's own function, for a wrapper would cost as much as the sum over a small batch. From 32 KiB on it lets other
threads run meanwhile.

The extension is loaded past its package, whose own start (it looks up its version) takes longer than all of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

__all__ = ["crc32c"]

Checksum = Callable[..., int]


def _load() -> Checksum:
    package = find_spec("crc32c")
    folders = package.submodule_search_locations if package is not None else None
    extension = PathFinder.find_spec("_crc32c", list(folders)) if folders is not None else None
    if extension is None or extension.loader is None:  # another layout than we know: through the front door
        import crc32c as package_itself

        return package_itself.crc32c  # type: ignore[no-any-return]
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    return module.crc32c  # type: ignore[no-any-return]


crc32c: Checksum = _load()
