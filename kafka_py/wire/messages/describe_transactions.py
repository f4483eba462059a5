"""DescribeTransactions (65): the transactions of transactional ids, as their coordinator knows them (KIP-664)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@request(api=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest:
    """Transactional ids; only their coordinator answers."""

    transactional_ids: list[String]


@struct
class TransactionTopic:
    topic: String
    partitions: list[Int32]


@struct
class DescribedTransaction:
    """One id. topics: the partitions of its transaction."""

    error_code: Int16
    transactional_id: String
    transaction_state: String = since(0, default="")
    transaction_timeout_ms: Int32 = since(0)
    transaction_start_time_ms: Int64 = since(0)
    producer_id: Int64 = since(0)
    producer_epoch: Int16 = since(0)
    topics: list[TransactionTopic]


@response(api=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse:
    """State, producer and partitions of each transaction."""

    throttle_time_ms: Int32
    transaction_states: list[DescribedTransaction]
