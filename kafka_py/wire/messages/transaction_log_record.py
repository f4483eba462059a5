"""Records of `__transaction_state`: the state of one transactional id.

Each is written as its version (int16), then the body.
"""

from kafka_py.wire.schema import Int8, Int16, Int32, Int64, String, message, struct


@message(versions=(0, 0), flexible=None)
class TransactionLogKey:
    """Names a transactional id."""

    transactional_id: String


@struct
class PartitionsSchema:
    topic: String
    partition_ids: list[Int32]


@message(versions=(0, 0), flexible=None)
class TransactionLogValue:
    """Producer, state and partitions of the latest transaction (KIP-98)."""

    producer_id: Int64
    producer_epoch: Int16
    transaction_timeout_ms: Int32
    transaction_status: Int8  # see the transaction states: 0 empty, 1 ongoing, 2 and 3 preparing, 4 and 5 complete, ...
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64
