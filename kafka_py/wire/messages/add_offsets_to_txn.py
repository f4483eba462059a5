"""AddOffsetsToTxn (25): a group whose offsets a transaction is about to commit."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response


@request(api=ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 3), flexible=3)
class AddOffsetsToTxnRequest:
    """Adds the group's partition of `__consumer_offsets` to the transaction (KIP-98)."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


@response(api=ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 3), flexible=3)
class AddOffsetsToTxnResponse:
    """Done, or why not."""

    throttle_time_ms: Int32
    error_code: Int16
