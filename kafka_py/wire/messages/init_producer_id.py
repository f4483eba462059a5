"""InitProducerId (22): an id for an idempotent or transactional producer."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since


@request(api=ApiKey.INIT_PRODUCER_ID, versions=(0, 4), flexible=2)
class InitProducerIdRequest:
    """Asks for a producer id; with a transactional id also ends that id's older producers (KIP-98). v3 an epoch bump
    after an error (KIP-360), v4 answers PRODUCER_FENCED (KIP-588).
    """

    transactional_id: String | None  # null: idempotent only
    transaction_timeout_ms: Int32
    producer_id: Int64 = since(3, default=-1)  # -1: none yet
    producer_epoch: Int16 = since(3, default=-1)


@response(api=ApiKey.INIT_PRODUCER_ID, versions=(0, 4), flexible=2)
class InitProducerIdResponse:
    """Producer id and epoch."""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = since(0, default=-1)
    producer_epoch: Int16
