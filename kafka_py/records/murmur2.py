"""murmur2 with the seed that Kafka's producers use: the hash that sends equal keys to equal partitions.

Every client that wants to agree with the Java producer on the partition of a key must compute exactly this.
"""

from struct import unpack_from

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """32-bit MurmurHash2 of `data`, as a signed int32."""
    size = len(data)
    h = _SEED ^ size
    for k in unpack_from(f"<{size >> 2}I", data):
        k = k * _M & _MASK
        h = (h * _M ^ (k ^ k >> 24) * _M) & _MASK
    if size & 3:
        h = (h ^ int.from_bytes(data[size & ~3 :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - 0x100000000 if h & 0x80000000 else h


def partition_for_key(key: bytes, partitions: int) -> int:
    """Where a record with `key` goes, among all `partitions` of the topic, available or not."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
