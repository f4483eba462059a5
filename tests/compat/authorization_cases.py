"""For each row of docs/reference/security/authorization.tsv: a request, what is denied, how the refusal looks."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from kafka_py.security.acls.vocabulary import Operation as Op
from kafka_py.security.acls.vocabulary import ResourceType as Kind
from kafka_py.testing.local_broker import batch
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.schema import schema_of

Denied = tuple[Op, Kind]
NOT_ASKED = -0x80000000
TOPIC, GROUP, CLUSTER, TXN = 29, 30, 31, 53

WRITE_ID, WRITE, READ = (Op.WRITE, Kind.TRANSACTIONAL_ID), (Op.WRITE, Kind.TOPIC), (Op.READ, Kind.TOPIC)
DESCRIBE, DELETE, CREATE = (Op.DESCRIBE, Kind.TOPIC), (Op.DELETE, Kind.TOPIC), (Op.CREATE, Kind.TOPIC)
ALTER, READ_CONFIGS = (Op.ALTER, Kind.TOPIC), (Op.DESCRIBE_CONFIGS, Kind.TOPIC)
READ_GROUP, SEE_GROUP, DELETE_GROUP = (Op.READ, Kind.GROUP), (Op.DESCRIBE, Kind.GROUP), (Op.DELETE, Kind.GROUP)
ACT, SEE, CHANGE = (Op.CLUSTER_ACTION, Kind.CLUSTER), (Op.DESCRIBE, Kind.CLUSTER), (Op.ALTER, Kind.CLUSTER)
CREATE_ANY, IDEMPOTENT = (Op.CREATE, Kind.CLUSTER), (Op.IDEMPOTENT_WRITE, Kind.CLUSTER)
SET_TOPIC = (Op.ALTER_CONFIGS, Kind.TOPIC)
SEE_CONFIGS, SET_CONFIGS = (Op.DESCRIBE_CONFIGS, Kind.CLUSTER), (Op.ALTER_CONFIGS, Kind.CLUSTER)


class Case(NamedTuple):
    """One row. when: how its second column begins. looks: what `see` makes of the response. name: of the resource."""

    api: ApiKey
    when: str
    fields: dict[str, Any]
    denied: tuple[Denied, ...]
    see: Callable[[Any], Any]
    looks: Any
    version: int | None = None
    name: str = "t"


def made(cls: type, values: dict[str, Any]) -> Any:
    """A message with these fields, others zero or empty."""
    given: dict[str, Any] = {}
    for field in schema_of(cls).fields:
        value = values.get(field.name, [] if field.is_array else field.default)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = [made(cast(type, field.element), each) for each in value]
        given[field.name] = value
    return cls(**given)


def request_of(case: Case) -> Any:
    return made(APIS[case.api].request, case.fields)


def partitions(answer: Any, outer: str, inner: str, *fields: str) -> list[Any]:
    """These fields of every row of a response with topics."""
    found = (row for topic in getattr(answer, outer) for row in getattr(topic, inner))
    return [tuple(getattr(row, field) for field in fields) for row in found]


def tops(*fields: str) -> Callable[[Any], Any]:
    return lambda answer: tuple(getattr(answer, field) for field in fields)


def rows(outer: str, *fields: str) -> Callable[[Any], Any]:
    return lambda answer: [tuple(getattr(row, field) for field in fields) for row in getattr(answer, outer)]


def nested(outer: str, inner: str, *fields: str) -> Callable[[Any], Any]:
    return lambda answer: partitions(answer, outer, inner, *fields)


K = ApiKey
PRODUCED = nested(
    "responses", "partition_responses", "error_code", "base_offset", "log_append_time_ms", "log_start_offset"
)
FETCHED = nested(
    "responses", "partition_responses", "error_code", "high_watermark", "last_stable_offset", "log_start_offset"
)


def producing(**builder: Any) -> list[dict[str, Any]]:
    return [{"name": "t", "partition_data": [{"index": 0, "records": batch(**builder)}]}]


ACL = {"resource_type": 2, "resource_name": "t", "principal": "User:a", "host": "*", "operation": 3,
       "permission_type": 3}  # fmt: skip
TRANSACTIONAL = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
FETCHING = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0, "session_epoch": -1, "topics": [
    {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]}]}  # fmt: skip
COMMIT = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]}]
COMMITTED = nested("topics", "partitions", "error_code")
IN_TXN = {"transactional_id": "x", "group_id": "g", "producer_id": 7, "producer_epoch": 0}
T0 = [{"name": "t", "partition_indexes": [0]}]
NEW_TOPIC = {"topics": [{"name": "n", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 5000}
SETTING = [{"name": "retention.ms", "value": "1"}]
ALTERED = rows("responses", "error_code", "error_message")
DELETED = rows("responses", "name", "error_code")
META = {"topics": [{"name": "t"}], "allow_auto_topic_creation": False}
META_ROWS = rows("topics", "error_code", "name", "is_internal", "partitions")
NEW_META = {"topics": [{"name": "n"}], "allow_auto_topic_creation": True}

CASES = [
    Case(K.PRODUCE, "any batch", {"transactional_id": "x", "acks": -1, "topic_data": producing(**TRANSACTIONAL)},
         (WRITE_ID,), PRODUCED, [(TXN, -1, -1, -1)], name="x"),
    Case(K.PRODUCE, "always", {"acks": -1, "transactional_id": None, "topic_data": producing()}, (WRITE,), PRODUCED,
         [(TOPIC, -1, -1, -1)]),
    Case(K.FETCH, "replica id", {"replica_id": 1, **FETCHING}, (ACT,), FETCHED, [(TOPIC, -1, -1, -1)]),
    Case(K.FETCH, "consumer", {"replica_id": -1, **FETCHING}, (READ,), FETCHED, [(TOPIC, -1, -1, -1)]),
    Case(K.LIST_OFFSETS, "always", {"replica_id": -1, "topics": [
        {"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}, (DESCRIBE,),
        nested("topics", "partitions", "error_code", "timestamp", "offset", "leader_epoch"), [(TOPIC, -1, -1, -1)]),
    Case(K.METADATA, "topics named", META, (DESCRIBE,), META_ROWS, [(TOPIC, "t", False, [])]),
    Case(K.METADATA, "all topics", {"topics": None}, (DESCRIBE,), META_ROWS, []),
    Case(K.METADATA, "auto-creation", NEW_META, (CREATE_ANY, CREATE), META_ROWS, [(TOPIC, "n", False, [])]),
    Case(K.METADATA, "same, second try", NEW_META, (CREATE_ANY, CREATE), META_ROWS, [(TOPIC, "n", False, [])],
         name="n"),
    Case(K.METADATA, "v8-10", {**META, "include_cluster_authorized_operations": True}, (SEE,),
         tops("cluster_authorized_operations"), (0,), 10),
    Case(K.METADATA, "same, DESCRIBE allowed", {**META, "include_cluster_authorized_operations": True}, (CHANGE,),
         tops("cluster_authorized_operations"), (8096 - (1 << Op.ALTER),), 10),
    Case(K.METADATA, "v8+ with", {**META, "include_topic_authorized_operations": True}, (WRITE,),
         rows("topics", "topic_authorized_operations"), [(3576 - (1 << Op.WRITE),)]),
    Case(K.LEADER_AND_ISR, "always", {"topic_states": [{"topic_name": "t", "partition_states": [
        {"partition_index": 0, "isr": [], "replicas": []}]}]}, (ACT,),
        lambda answer: (answer.error_code, nested("topics", "partition_errors", "error_code")(answer)),
        (CLUSTER, [(CLUSTER,)])),
    Case(K.STOP_REPLICA, "always", {"topic_states": [{"topic_name": "t", "partition_states": [
        {"partition_index": 0}]}]}, (ACT,),
        lambda answer: (answer.error_code, rows("partition_errors", "error_code")(answer)), (CLUSTER, [(CLUSTER,)])),
    Case(K.UPDATE_METADATA, "always", {}, (ACT,), tops("error_code"), (CLUSTER,)),
    Case(K.CONTROLLED_SHUTDOWN, "always", {}, (ACT,), tops("error_code", "remaining_partitions"), (CLUSTER, [])),
    Case(K.OFFSET_COMMIT, "always", {"group_id": "g", "topics": COMMIT}, (READ_GROUP,), COMMITTED, [(GROUP,)],
         name="g"),
    Case(K.OFFSET_COMMIT, "group allowed", {"group_id": "g", "generation_id": -1, "topics": COMMIT}, (READ,), COMMITTED,
         [(TOPIC,)]),
    Case(K.OFFSET_FETCH, "always", {"group_id": "g", "topics": T0}, (SEE_GROUP,), tops("error_code", "topics"),
         (GROUP, []), name="g"),
    Case(K.OFFSET_FETCH, "partitions named", {"group_id": "g", "topics": T0}, (DESCRIBE,),
         nested("topics", "partitions", "error_code", "committed_offset", "committed_leader_epoch", "metadata"),
         [(TOPIC, -1, -1, "")]),
    Case(K.OFFSET_FETCH, "all partitions", {"group_id": "g", "topics": None}, (DESCRIBE,), tops("error_code", "topics"),
         (0, [])),
    Case(K.FIND_COORDINATOR, "key type 0", {"key": "g", "key_type": 0}, (SEE_GROUP,),
         tops("error_code", "node_id", "host", "port"), (GROUP, -1, "", -1), name="g"),
    Case(K.FIND_COORDINATOR, "key type 1", {"key": "x", "key_type": 1}, ((Op.DESCRIBE, Kind.TRANSACTIONAL_ID),),
         tops("error_code", "node_id", "host", "port"), (TXN, -1, "", -1), name="x"),
    Case(K.JOIN_GROUP, "always", {"group_id": "g", "session_timeout_ms": 10_000}, (READ_GROUP,),
         tops("error_code", "member_id", "generation_id", "leader", "members"), (GROUP, "", -1, "", []), name="g"),
    Case(K.SYNC_GROUP, "always", {"group_id": "g", "protocol_type": "c", "protocol_name": "p"}, (READ_GROUP,),
         tops("error_code", "assignment"), (GROUP, b""), name="g"),
    Case(K.HEARTBEAT, "always", {"group_id": "g"}, (READ_GROUP,), tops("error_code"), (GROUP,), name="g"),
    Case(K.LEAVE_GROUP, "always", {"group_id": "g", "members": [{"member_id": "m"}]}, (READ_GROUP,),
         tops("error_code", "members"), (GROUP, []), name="g"),
    Case(K.DESCRIBE_GROUPS, "always", {"groups": ["g"], "include_authorized_operations": True}, (SEE_GROUP,),
         rows("groups", "error_code", "group_state", "protocol_type", "protocol_data", "members",
         "authorized_operations"),
         [(GROUP, "", "", "", [], NOT_ASKED)], name="g"),
    Case(K.DESCRIBE_GROUPS, "v3+", {"groups": ["g"], "include_authorized_operations": True}, (DELETE_GROUP,),
         rows("groups", "error_code", "authorized_operations"), [(0, 328 - (1 << Op.DELETE))], name="g"),
    Case(K.LIST_GROUPS, "first try", {}, (SEE, SEE_GROUP), tops("error_code", "groups"), (0, [])),
    Case(K.LIST_GROUPS, "second try", {}, (SEE, SEE_GROUP), tops("error_code", "groups"), (0, []), name="g"),
    Case(K.DELETE_GROUPS, "always", {"groups_names": ["g"]}, (DELETE_GROUP,), rows("results", "error_code"), [(GROUP,)],
         name="g"),
    Case(K.OFFSET_DELETE, "always", {"group_id": "g", "topics": [{"name": "t",
         "partitions": [{"partition_index": 0}]}]},
         (DELETE_GROUP,), tops("error_code", "topics"), (GROUP, []), name="g"),
    Case(K.OFFSET_DELETE, "group allowed",
         {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]}, (READ,), COMMITTED,
         [(TOPIC,)]),
    Case(K.CREATE_TOPICS, "on the controller", NEW_TOPIC, (CREATE_ANY, CREATE), rows("topics", "error_code"),
         [(TOPIC,)]),
    Case(K.CREATE_TOPICS, "second try", NEW_TOPIC, (CREATE_ANY, CREATE),
         rows("topics", "error_code", "error_message", "num_partitions", "replication_factor"),
         [(TOPIC, "Authorization failed.", -1, -1)], name="n"),
    Case(K.CREATE_TOPICS, "always, for", NEW_TOPIC, (READ_CONFIGS,),
         rows("topics", "error_code", "topic_config_error_code", "num_partitions", "replication_factor", "configs"),
         [(0, TOPIC, -1, -1, [])], name="n"),
    Case(K.CREATE_PARTITIONS, "on the controller", {"topics": [{"name": "t", "count": 5, "assignments": None}]},
         (ALTER,),
         rows("results", "error_code", "error_message"), [(TOPIC, "The topic authorization is failed.")]),
    Case(K.DELETE_TOPICS, "on the controller", {"topics": [{"name": "t"}]}, (DESCRIBE, DELETE), DELETED, [("t",
         TOPIC)]),
    Case(K.DELETE_TOPICS, "same", {"topic_names": ["t"]}, (DELETE,), DELETED, [("t", TOPIC)], 5),
    Case(K.DELETE_RECORDS, "always", {"topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]}, (DELETE,),
         nested("topics", "partitions", "error_code", "low_watermark"), [(TOPIC, -1)]),
    Case(K.INIT_PRODUCER_ID, "transactional id", {"transactional_id": "x"}, (WRITE_ID,),
         tops("error_code", "producer_id", "producer_epoch", "throttle_time_ms"), (TXN, -1, -1, 0), name="x"),
    Case(K.INIT_PRODUCER_ID, "no transactional id", {"transactional_id": None}, (IDEMPOTENT, WRITE),
         tops("error_code"), (CLUSTER,)),
    Case(K.INIT_PRODUCER_ID, "second try", {"transactional_id": None}, (IDEMPOTENT, WRITE),
         tops("error_code", "producer_id", "producer_epoch", "throttle_time_ms"), (CLUSTER, -1, -1, 0), name="any"),
    Case(K.OFFSET_FOR_LEADER_EPOCH, "first try", {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]},
         (ACT, DESCRIBE), nested("topics", "partitions", "error_code"), [(TOPIC,)]),
    Case(K.OFFSET_FOR_LEADER_EPOCH, "second try", {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]},
         (ACT, DESCRIBE), nested("topics", "partitions", "error_code", "leader_epoch", "end_offset"), [(TOPIC, -1,
         -1)]),
    Case(K.ADD_PARTITIONS_TO_TXN, "always", {"transactional_id": "x", "topics": [{"name": "t", "partitions": [0]}]},
         (WRITE_ID,), nested("results", "results", "error_code"), [(TXN,)], name="x"),
    Case(K.ADD_PARTITIONS_TO_TXN, "id allowed", {"transactional_id": "x", "topics": [{"name": "t", "partitions": [0]}]},
         (WRITE,), nested("results", "results", "error_code"), [(TOPIC,)]),
    Case(K.ADD_OFFSETS_TO_TXN, "always", IN_TXN, (WRITE_ID,), tops("error_code"), (TXN,), name="x"),
    Case(K.ADD_OFFSETS_TO_TXN, "id allowed", IN_TXN, (READ_GROUP,), tops("error_code"), (GROUP,), name="g"),
    Case(K.END_TXN, "always", {"transactional_id": "x"}, (WRITE_ID,), tops("error_code"), (TXN,), name="x"),
    Case(K.WRITE_TXN_MARKERS, "always", {"markers": [{"producer_id": 7, "topics": T0}]}, (ACT,),
         lambda answer: [nested("topics", "partitions", "error_code")(each) for each in answer.markers],
         [[(CLUSTER,)]]),
    Case(K.TXN_OFFSET_COMMIT, "always", {**IN_TXN, "topics": COMMIT}, (WRITE_ID,), COMMITTED, [(TXN,)], name="x"),
    Case(K.TXN_OFFSET_COMMIT, "id allowed", {**IN_TXN, "topics": COMMIT}, (READ_GROUP,), COMMITTED, [(GROUP,)],
         name="g"),
    Case(K.TXN_OFFSET_COMMIT, "both allowed", {**IN_TXN, "topics": COMMIT}, (READ,), COMMITTED, [(TOPIC,)]),
    Case(K.DESCRIBE_ACLS, "always", {"resource_type_filter": 1, "operation": 1, "permission_type": 1}, (SEE,),
         tops("error_code", "resources"), (CLUSTER, [])),
    Case(K.CREATE_ACLS, "always", {"creations": [ACL]}, (CHANGE,), rows("results", "error_code"),
         [(CLUSTER,)]),
    Case(K.DELETE_ACLS, "always", {"filters": [
        {"resource_type_filter": 2, "operation": 1, "permission_type": 1}]}, (CHANGE,),
         rows("filter_results", "error_code"), [(CLUSTER,)]),
    Case(K.DESCRIBE_CONFIGS, "resource type BROKER", {"resources": [{"resource_type": 4, "resource_name": "0"}]},
         (SEE_CONFIGS,), rows("results", "error_code", "configs"), [(CLUSTER, [])]),
    Case(K.DESCRIBE_CONFIGS, "resource type TOPIC", {"resources": [{"resource_type": 2, "resource_name": "t"}]},
         (READ_CONFIGS,), rows("results", "error_code", "configs"), [(TOPIC, [])]),
    Case(K.ALTER_CONFIGS, "resource type BROKER",
         {"resources": [{"resource_type": 4, "resource_name": "0", "configs": SETTING}]}, (SET_CONFIGS,), ALTERED,
         [(CLUSTER, None)]),
    Case(K.ALTER_CONFIGS, "resource type TOPIC",
         {"resources": [{"resource_type": 2, "resource_name": "t", "configs": SETTING}]}, (SET_TOPIC,), ALTERED,
         [(TOPIC, None)]),
    Case(K.INCREMENTAL_ALTER_CONFIGS, "resource type BROKER",
         {"resources": [{"resource_type": 8, "resource_name": "0", "configs": SETTING}]}, (SET_CONFIGS,), ALTERED,
         [(CLUSTER, None)]),
    Case(K.INCREMENTAL_ALTER_CONFIGS, "resource type TOPIC",
         {"resources": [{"resource_type": 2, "resource_name": "t", "configs": SETTING}]}, (SET_TOPIC,), ALTERED,
         [(TOPIC, None)]),
    Case(K.ALTER_REPLICA_LOG_DIRS, "always", {"dirs": [{"path": "/x", "topics": [{"name": "t", "partitions": [0]}]}]},
         (CHANGE,), nested("results", "partitions", "error_code"), [(CLUSTER,)]),
    Case(K.DESCRIBE_LOG_DIRS, "always", {"topics": None}, (SEE,), tops("results"), ([],)),
    Case(K.ELECT_LEADERS, "always", {"topic_partitions": [{"topic": "t", "partition_id": [0]}]}, (CHANGE,),
         lambda answer: (answer.error_code, nested(
             "replica_election_results", "partition_result", "error_code", "error_message")(answer)),
         (CLUSTER, [(CLUSTER, None)])),
    Case(K.ALTER_PARTITION_REASSIGNMENTS, "always",
         {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "replicas": None}]}]}, (CHANGE,),
         lambda answer: (answer.error_code, nested("responses", "partitions", "error_code")(answer)),
         (CLUSTER, [(CLUSTER,)])),
    Case(K.LIST_PARTITION_REASSIGNMENTS, "always", {"topics": T0}, (SEE,),
         lambda answer: (answer.error_code, nested(
             "topics", "partitions", "partition_index", "replicas", "adding_replicas", "removing_replicas")(answer)),
         (CLUSTER, [(0, [], [], [])])),
    Case(K.DESCRIBE_CLIENT_QUOTAS, "always", {}, (SEE_CONFIGS,), tops("error_code", "entries"), (CLUSTER, None)),
    Case(K.ALTER_CLIENT_QUOTAS, "always", {"entries": [{"entity": [{"entity_type": "user", "entity_name": "u"}]}]},
         (SET_CONFIGS,), rows("entries", "error_code"), [(CLUSTER,)]),
    Case(K.DESCRIBE_USER_SCRAM_CREDENTIALS, "always", {"users": [{"name": "u"}]}, (SEE,), tops("error_code", "results"),
         (CLUSTER, [])),
    Case(K.ALTER_USER_SCRAM_CREDENTIALS, "on the controller", {"deletions": [{"name": "u", "mechanism": 1}] * 2},
         (CHANGE,), rows("results", "user", "error_code"), [("u", CLUSTER)]),
    Case(K.ALTER_ISR, "always", {}, (ACT,), tops("error_code"), (CLUSTER,)),
    Case(K.UPDATE_FEATURES, "always", {"feature_updates": [{"feature": "f"}]}, (CHANGE,), tops("error_code"),
         (CLUSTER,)),
    Case(K.DESCRIBE_CLUSTER, "includeClusterAuthorizedOperations", {"include_cluster_authorized_operations": True},
         (SEE,), tops("error_code", "cluster_authorized_operations"), (0, 0)),
    Case(K.DESCRIBE_CLUSTER, "same, DESCRIBE allowed", {"include_cluster_authorized_operations": True}, (CHANGE,),
         tops("cluster_authorized_operations"), (8096 - (1 << Op.ALTER),)),
    Case(K.DESCRIBE_PRODUCERS, "always", {"topics": T0}, (READ,),
         nested("topics", "partitions", "error_code", "active_producers"), [(TOPIC, [])]),
]  # fmt: skip
