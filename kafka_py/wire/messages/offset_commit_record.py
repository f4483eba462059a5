"""Records of `__consumer_offsets` that hold committed offsets.

Each is written as its version (int16), then the body; the key's version tells what the record is about.
"""

from kafka_py.wire.schema import Int32, Int64, String, message, since


@message(versions=(0, 1), flexible=None)
class OffsetCommitKey:
    """Names what a commit is for."""

    group: String
    topic: String
    partition: Int32


@message(versions=(0, 3), flexible=None)
class OffsetCommitValue:
    """The committed offset. v1 expiry, v2 without it, v3 leader epoch (KIP-320)."""

    offset: Int64
    leader_epoch: Int32 = since(3, default=-1, ignorable=True)
    metadata: String
    commit_timestamp: Int64
    expire_timestamp: Int64 = since(1, until=1, default=-1, ignorable=True)
