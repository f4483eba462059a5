"""Records of `__consumer_offsets` that hold groups and their members.

Each is written as its version (int16), then the body; the key's version tells what the record is about.
"""

from kafka_py.wire.schema import Bytes, Int32, Int64, String, message, since, struct


@message(versions=(2, 2), flexible=None)
class GroupMetadataKey:
    """Names a group."""

    group: String


@struct
class MemberMetadata:
    """One member of a stored group."""

    member_id: String
    group_instance_id: String | None = since(3, default=None, ignorable=True)
    client_id: String
    client_host: String
    rebalance_timeout: Int32 = since(1, ignorable=True)
    session_timeout: Int32
    subscription: Bytes
    assignment: Bytes


@message(versions=(0, 3), flexible=None)
class GroupMetadataValue:
    """A group as of its last rebalance. v1 rebalance timeout (KIP-62), v2 time of the last state change (KIP-211), v3
    static members (KIP-345).
    """

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = since(2, default=-1, ignorable=True)
    members: list[MemberMetadata]
