"""Java's String.hashCode: it finds the coordinator of a group or a transactional id.

The partition of __consumer_offsets or __transaction_state is abs_hash(id) mod its partition count, so every broker and
client must agree on this hash to the bit.
"""

from struct import unpack


def java_hash_code(text: str) -> int:
    """s[0]*31^(n-1) + ... + s[n-1] over UTF-16 code units, as a signed int32."""
    units = text.encode("utf-16-be", "surrogatepass")
    h = 0
    for unit in unpack(f">{len(units) >> 1}H", units):
        h = (31 * h + unit) & 0xFFFFFFFF
    return h - 0x100000000 if h & 0x80000000 else h


def abs_hash(text: str) -> int:
    """|java_hash_code(text)|, and 0 for the one hash whose absolute value no int32 holds."""
    h = abs(java_hash_code(text))
    return 0 if h == 0x80000000 else h


def partition_for_id(identifier: str, partitions: int) -> int:
    """The partition that coordinates a group id or a transactional id."""
    return abs_hash(identifier) % partitions
