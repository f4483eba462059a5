"""EndTxn (26): commit or abort a transaction."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, Int64, String, request, response


@request(api=ApiKey.END_TXN, versions=(0, 3), flexible=3)
class EndTxnRequest:
    """Ends the current transaction of a producer (KIP-98)."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool  # false: abort


@response(api=ApiKey.END_TXN, versions=(0, 3), flexible=3)
class EndTxnResponse:
    """The decision is durable; markers may still be on their way."""

    throttle_time_ms: Int32
    error_code: Int16
