"""DeleteTopics (20): delete topics by name or id."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, Uuid, request, response, since, struct


@struct
class DeleteTopicState:
    name: String | None
    topic_id: Uuid


@request(api=ApiKey.DELETE_TOPICS, versions=(0, 6), flexible=4)
class DeleteTopicsRequest:
    """Topics to delete. v5 may be throttled (KIP-599), v6 also by id (KIP-516)."""

    topics: list[DeleteTopicState] = since(6)
    topic_names: list[String] = since(0, until=5, ignorable=True)
    timeout_ms: Int32


@struct
class DeletableTopicResult:
    name: String | None = since(0, null_since=6)
    topic_id: Uuid = since(6, ignorable=True)
    error_code: Int16
    error_message: String | None = since(5, default=None, ignorable=True)


@response(api=ApiKey.DELETE_TOPICS, versions=(0, 6), flexible=4)
class DeleteTopicsResponse:
    """An error for each topic."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    responses: list[DeletableTopicResult]
