"""Error responses of each API: the code at the top level, or on every item of the request.

`refuse(api, version, request, code, message)` makes the response to a failed or rejected request. Its shape is a row
per API: the lists of the request that are mirrored in the response, and the fields that are copied; all other fields
have their default. Knows messages, nothing of brokers.
Source: docs/reference/protocol.md, section 2; docs/reference/apis.tsv.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.wire.apis import Api, ApiKey
from kafka_py.wire.schema import schema_of
from kafka_py.wire.version_meanings import (
    DELETE_TOPICS_BY_ID,
    DELETE_TOPICS_HAS_MESSAGE,
    JOIN_GROUP,
    LEADER_AND_ISR_BY_TOPIC_ID,
)


class Mirrored(NamedTuple):
    """One list of the request and the list of the response that mirrors it.

    copies: (response field, request field) pairs; the request field "" is the item itself (a name, an id).
    fixed: response fields with a value other than their default in an error.
    """

    response_list: str
    request_list: str
    copies: tuple[tuple[str, str], ...]
    fixed: tuple[tuple[str, Any], ...] = ()


class Shape(NamedTuple):
    """Error response of one API.

    levels: from the outer list to the items that have the code; empty: the code is at the top only. top: whether the
        code is at the top too, and from which version on. fixed: as in Mirrored, for the response itself. items_until:
        the last version with mirrored items; later ones have the code at the top only.
    """

    levels: tuple[Mirrored, ...] = ()
    top_since: int | None = 0
    fixed: tuple[tuple[str, Any], ...] = ()
    items_until: int = 32767


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _items(*levels: Mirrored) -> Shape:
    """The code is on every item, and not at the top."""
    return Shape(levels, top_since=None)


_TOP = Shape()
_NAMED_TOPICS = Mirrored("topics", "topics", _same("name"))
_INDEXED = Mirrored("partitions", "partitions", _same("partition_index"))

SHAPES: dict[ApiKey, Shape] = {
    ApiKey.PRODUCE: _items(
        Mirrored("responses", "topic_data", _same("name")),
        Mirrored("partition_responses", "partition_data", _same("index"), fixed=(("base_offset", -1),)),
    ),
    ApiKey.FETCH: Shape(
        (
            Mirrored("responses", "topics", _same("topic")),
            Mirrored("partition_responses", "partitions", _same("partition"), fixed=(("high_watermark", -1),)),
        ),
        top_since=7,
    ),
    ApiKey.LIST_OFFSETS: _items(_NAMED_TOPICS, _INDEXED),
    ApiKey.METADATA: _items(Mirrored("topics", "topics", _same("name"))),
    ApiKey.LEADER_AND_ISR: Shape(),
    ApiKey.STOP_REPLICA: _TOP,
    ApiKey.UPDATE_METADATA: _TOP,
    ApiKey.CONTROLLED_SHUTDOWN: _TOP,
    ApiKey.OFFSET_COMMIT: _items(_NAMED_TOPICS, _INDEXED),
    ApiKey.OFFSET_FETCH: Shape(
        (
            _NAMED_TOPICS,
            Mirrored("partitions", "partition_indexes", (("partition_index", ""),), fixed=(("committed_offset", -1),)),
        ),
        top_since=2,
        items_until=1,
    ),
    ApiKey.FIND_COORDINATOR: Shape(fixed=(("node_id", -1), ("port", -1))),
    ApiKey.JOIN_GROUP: Shape((), 0),
    ApiKey.HEARTBEAT: _TOP,
    ApiKey.LEAVE_GROUP: _TOP,
    ApiKey.SYNC_GROUP: _TOP,
    ApiKey.DESCRIBE_GROUPS: _items(Mirrored("groups", "groups", (("group_id", ""),))),
    ApiKey.LIST_GROUPS: _TOP,
    ApiKey.SASL_HANDSHAKE: _TOP,
    ApiKey.API_VERSIONS: _TOP,
    ApiKey.CREATE_TOPICS: _items(Mirrored("topics", "topics", _same("name"))),
    ApiKey.DELETE_TOPICS: _items(Mirrored("responses", "topic_names", (("name", ""),))),
    ApiKey.DELETE_RECORDS: _items(
        _NAMED_TOPICS, Mirrored("partitions", "partitions", _same("partition_index"), fixed=(("low_watermark", -1),))
    ),
    ApiKey.INIT_PRODUCER_ID: Shape(fixed=(("producer_id", -1), ("producer_epoch", -1))),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _items(
        Mirrored("topics", "topics", _same("topic")), Mirrored("partitions", "partitions", _same("partition"))
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: _items(
        Mirrored("results", "topics", _same("name")), Mirrored("results", "partitions", (("partition_index", ""),))
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: _TOP,
    ApiKey.END_TXN: _TOP,
    ApiKey.WRITE_TXN_MARKERS: _items(
        Mirrored("markers", "markers", _same("producer_id")),
        Mirrored("topics", "topics", _same("name")),
        Mirrored("partitions", "partition_indexes", (("partition_index", ""),)),
    ),
    ApiKey.TXN_OFFSET_COMMIT: _items(_NAMED_TOPICS, _INDEXED),
    ApiKey.DESCRIBE_ACLS: _TOP,
    ApiKey.CREATE_ACLS: _items(Mirrored("results", "creations", ())),
    ApiKey.DELETE_ACLS: _items(Mirrored("filter_results", "filters", ())),
    ApiKey.DESCRIBE_CONFIGS: _items(Mirrored("results", "resources", _same("resource_type", "resource_name"))),
    ApiKey.ALTER_CONFIGS: _items(Mirrored("responses", "resources", _same("resource_type", "resource_name"))),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _items(),
    ApiKey.DESCRIBE_LOG_DIRS: _items(),
    ApiKey.SASL_AUTHENTICATE: _TOP,
    ApiKey.CREATE_PARTITIONS: _items(Mirrored("results", "topics", _same("name"))),
    ApiKey.CREATE_DELEGATION_TOKEN: Shape(
        fixed=(("principal_type", "User"), ("principal_name", "ANONYMOUS"), ("issue_timestamp_ms", -1),
               ("expiry_timestamp_ms", -1), ("max_timestamp_ms", -1)),
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: _TOP,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _TOP,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _TOP,
    ApiKey.DELETE_GROUPS: _items(Mirrored("results", "groups_names", (("group_id", ""),))),
    ApiKey.ELECT_LEADERS: Shape(
        (
            Mirrored("replica_election_results", "topic_partitions", _same("topic")),
            Mirrored("partition_result", "partition_id", (("partition_id", ""),)),
        ),
        top_since=1,
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _items(
        Mirrored("responses", "resources", _same("resource_type", "resource_name")),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Shape((Mirrored("responses", "topics", _same("name")), _INDEXED)),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _TOP,
    ApiKey.OFFSET_DELETE: _TOP,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Shape(fixed=(("entries", None),)),
    ApiKey.ALTER_CLIENT_QUOTAS: _items(Mirrored("entries", "entries", ())),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _TOP,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _items(),
    ApiKey.ALTER_ISR: _TOP,
    ApiKey.UPDATE_FEATURES: _TOP,
    ApiKey.DESCRIBE_CLUSTER: _TOP,
    ApiKey.DESCRIBE_PRODUCERS: _items(
        Mirrored("topics", "topics", _same("name")),
        Mirrored("partitions", "partition_indexes", (("partition_index", ""),)),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: _items(
        Mirrored("transaction_states", "transactional_ids", (("transactional_id", ""),))
    ),
    ApiKey.LIST_TRANSACTIONS: _TOP,
}


def refuse(api: Api, version: int, request: Any, code: ErrorCode, message: str | None = None) -> Any:
    """The response to `request` in which every item failed with `code`."""
    steps = refusing(api, version, request, code, message)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def refusing(
    api: Api, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Generator[None, None, Any]:
    """As refuse, but a generator that yields after every few elements (base/turns.py)."""
    shape = SHAPES[api.key]
    response = api.response()
    for name, value in shape.fixed:
        setattr(response, name, value)
    if shape.top_since is not None and version >= shape.top_since:
        _set_error(response, code, message)
    if shape.levels and version <= shape.items_until:
        yield from _mirror(response, request, shape.levels, code, message)
    finish = _FINISHERS.get(api.key)
    if finish is not None:
        finish(response, version, request, code, message)
    return response


def _set_error(item: Any, code: ErrorCode, message: str | None) -> None:
    item.error_code = int(code)
    if hasattr(item, "error_message"):
        item.error_message = message if message is not None else code.meaning


def _mirror(
    response: Any, request: Any, levels: tuple[Mirrored, ...], code: ErrorCode, message: str | None
) -> Generator[None, None, None]:
    level, inner = levels[0], levels[1:]
    made = getattr(response, level.response_list)
    item_class = _element_class(type(response), level.response_list)
    for asked in getattr(request, level.request_list) or ():
        if len(made) % _STEP_ITEMS == _STEP_ITEMS - 1:
            yield
        item = item_class()
        for target, source in level.copies:
            setattr(item, target, getattr(asked, source) if source else asked)
        for name, value in level.fixed:
            setattr(item, name, value)
        if inner:
            yield from _mirror(item, asked, inner, code, message)
        else:
            _set_error(item, code, message)
        made.append(item)


_STEP_ITEMS = 64



def _element_class(cls: type, list_name: str) -> Any:
    """The element class of a list field of a message."""
    return next(field.element for field in schema_of(cls).fields if field.name == list_name)


# ---- special cases that a row cannot express


def _metadata(response: Any, version: int, request: Any, _code: ErrorCode, _message: str | None) -> None:
    """Leaves out topics without a name (requested by id) before v12, which allows null names."""
    for topic in response.topics:
        if topic.name is None:
            topic.name = ""


def _leader_and_isr(response: Any, version: int, request: Any, code: ErrorCode, _message: str | None) -> None:
    """An error of the whole request is repeated for every partition, from v5 on below the ids of topics."""
    item_class = _element_class(type(response), "partition_errors")
    if LEADER_AND_ISR_BY_TOPIC_ID[version]:
        topic_class = _element_class(type(response), "topics")
        response.topics = [
            topic_class(
                topic_id=topic.topic_id,
                partition_errors=[
                    item_class(partition_index=state.partition_index, error_code=int(code))
                    for state in topic.partition_states
                ],
            )
            for topic in request.topic_states
        ]
        return
    states = [(state.topic_name, state) for state in request.ungrouped_partition_states]
    states += [(topic.topic_name, state) for topic in request.topic_states for state in topic.partition_states]
    response.partition_errors = [
        item_class(topic_name=topic, partition_index=state.partition_index, error_code=int(code))
        for topic, state in states
    ]


def _stop_replica(response: Any, version: int, request: Any, code: ErrorCode, _message: str | None) -> None:
    """The code is at the top and at every partition, so that the controller knows what was not deleted.

    A request with a stale controller epoch or broker epoch gets it at the top only.
    """
    if code in (ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.STALE_BROKER_EPOCH):
        return
    item_class = _element_class(type(response), "partition_errors")
    partitions = [(row.topic_name, row.partition_index) for row in request.ungrouped_partitions]
    partitions += [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    partitions += [
        (topic.topic_name, state.partition_index) for topic in request.topic_states for state in topic.partition_states
    ]
    response.partition_errors = [
        item_class(topic_name=topic, partition_index=index, error_code=int(code)) for topic, index in partitions
    ]


def _join_group(response: Any, version: int, request: Any, _code: ErrorCode, _message: str | None) -> None:
    response.member_id = request.member_id
    response.protocol_name = JOIN_GROUP[version].no_protocol


def _delete_topics(response: Any, version: int, request: Any, code: ErrorCode, message: str | None) -> None:
    if DELETE_TOPICS_BY_ID[version]:
        item_class = _element_class(type(response), "responses")
        response.responses = [
            item_class(
                name=topic.name, topic_id=topic.topic_id, error_code=int(code), error_message=message or code.meaning
            )
            for topic in request.topics
        ]
    elif not DELETE_TOPICS_HAS_MESSAGE[version]:
        for item in response.responses:
            item.error_message = None


def _elect_leaders(response: Any, _version: int, _request: Any, code: ErrorCode, _message: str | None) -> None:
    """A principal that may not elect leaders is told so without a message."""
    if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        for topic in response.replica_election_results:
            for row in topic.partition_result:
                row.error_message = None


def _list_partition_reassignments(
    response: Any, _version: int, request: Any, _code: ErrorCode, _message: str | None
) -> None:
    """The partitions that were asked for, without replicas."""
    topic_class = _element_class(type(response), "topics")
    partition_class = _element_class(topic_class, "partitions")
    response.topics = [
        topic_class(
            name=topic.name,
            partitions=[
                partition_class(partition_index=index, replicas=[], adding_replicas=[], removing_replicas=[])
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]


def _alter_replica_log_dirs(response: Any, version: int, request: Any, code: ErrorCode, _message: str | None) -> None:
    """The request is grouped by directory, the response by topic."""
    topic_class = _element_class(type(response), "results")
    partition_class = _element_class(topic_class, "partitions")
    by_topic: dict[str, list[int]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            by_topic.setdefault(topic.name, []).extend(topic.partitions)
    response.results = [
        topic_class(
            topic_name=topic,
            partitions=[partition_class(partition_index=index, error_code=int(code)) for index in partitions],
        )
        for topic, partitions in by_topic.items()
    ]


def _alter_client_quotas(response: Any, version: int, request: Any, _code: ErrorCode, _message: str | None) -> None:
    entity_class = _element_class(_element_class(type(response), "entries"), "entity")
    for item, asked in zip(response.entries, request.entries, strict=True):
        item.entity = [
            entity_class(entity_type=entity.entity_type, entity_name=entity.entity_name) for entity in asked.entity
        ]


def _alter_scram(response: Any, version: int, request: Any, code: ErrorCode, message: str | None) -> None:
    item_class = _element_class(type(response), "results")
    users = dict.fromkeys(change.name for change in (*request.deletions, *request.upsertions))
    response.results = [
        item_class(user=user, error_code=int(code), error_message=message or code.meaning) for user in users
    ]


_FINISHERS: dict[ApiKey, Callable[[Any, int, Any, ErrorCode, str | None], None]] = {
    ApiKey.METADATA: _metadata,
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.STOP_REPLICA: _stop_replica,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _list_partition_reassignments,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram,
}
