"""Has the C library keep freed memory for the next request.

Requests of a megabyte come and go by the thousand. By default the C library gives such blocks back to the kernel and
gets them again page by page, which costs several times as much as receiving the data. Only glibc has the switch;
elsewhere nothing changes.
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
