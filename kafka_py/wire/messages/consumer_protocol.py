"""What consumers tell each other through the group coordinator, which does not read it.

Carried in JoinGroup and SyncGroup as version (int16), then the body. A reader meeting a newer version reads what it
knows.
"""

from kafka_py.wire.schema import Bytes, Int32, String, message, since, struct


@struct
class TopicPartitions:
    topic: String
    partitions: list[Int32]


@message(versions=(0, 1), flexible=None)
class ConsumerProtocolSubscription:
    """What a member wants to read, as it joins. v1 what it still owns, for cooperative rebalancing (KIP-429)."""

    topics: list[String]
    user_data: Bytes | None = since(0, default=None)
    owned_partitions: list[TopicPartitions] = since(1, ignorable=True)


@message(versions=(0, 1), flexible=None)
class ConsumerProtocolAssignment:
    """What a member is to read, from the group's leader."""

    assigned_partitions: list[TopicPartitions]
    user_data: Bytes | None = since(0, default=None)
