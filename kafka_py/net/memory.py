"""The memory of requests: freed memory is kept for the next one, and that of a large one is not filled with zeros.

Requests of a megabyte come and go by the thousand. By default the C library gives such blocks back to the kernel and
gets them again page by page, which costs several times as much as receiving the data. Only glibc has the switch;
elsewhere nothing changes.

Python fills a new `bytearray` with zeros. That is work for nothing where data is received into it, and for a request of
a hundred megabytes it is a twentieth of a second in which nothing else happens.
"""

from __future__ import annotations

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
LARGEST_KEPT_BYTES = 32 * 1024 * 1024
"""glibc's maximum; larger blocks still come straight from the kernel."""
MOST_KEPT_BYTES = 32 * 1024 * 1024
"""How much may remain unused at the end of the heap."""


def keep_freed_memory() -> bool:
    """Switch it on for this process; False where that cannot be done."""
    import ctypes  # here, for it is the only use in a broker

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES) and mallopt(_M_TRIM_THRESHOLD, MOST_KEPT_BYTES))


def resize(frame: bytearray, size: int) -> None:
    """Makes it `size` bytes long. What is new in it has any content, so that all of it must be overwritten.

    Raises BufferError while a memoryview of it exists, MemoryError.
    """
    import ctypes  # here, for few clients have requests that need it

    ctypes.pythonapi.PyByteArray_Resize(ctypes.py_object(frame), ctypes.c_ssize_t(size))
