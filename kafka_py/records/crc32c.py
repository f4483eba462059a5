"""CRC-32C (Castagnoli), the checksum of v2 batches and of producer snapshots.

`crc32c(buf, value=0)` takes any contiguous buffer without copying it; `value` continues an earlier sum. It is the C
extension's own function, for a wrapper would cost as much as the sum over a small batch. From 32 KiB on it lets other
threads run meanwhile.
"""

from crc32c import crc32c

__all__ = ["crc32c"]
