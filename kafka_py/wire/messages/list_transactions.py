"""ListTransactions (66): the transactional ids that one broker coordinates (KIP-664)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@request(api=ApiKey.LIST_TRANSACTIONS, versions=(0, 1), flexible=0)
class ListTransactionsRequest:
    """All ids, or those in given states, of given producers, or from v1 on of transactions that last long (KIP-994)."""

    state_filters: list[String]
    producer_id_filters: list[Int64]
    duration_filter: Int64 = since(1, default=-1)


@struct
class ListedTransaction:
    transactional_id: String
    producer_id: Int64
    transaction_state: String


@response(api=ApiKey.LIST_TRANSACTIONS, versions=(0, 1), flexible=0)
class ListTransactionsResponse:
    """Id, producer and state of each transaction; and the names of states that the broker does not know."""

    throttle_time_ms: Int32
    error_code: Int16
    unknown_state_filters: list[String]
    transaction_states: list[ListedTransaction]
