"""What the pretend brokers of fake_cluster.py answer: one function per API, over the cluster's plain state.

Each takes (cluster, node id, request, error); an error other than NONE goes into every item of the answer, and
nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, ZERO_UUID, TopicPartition
from kafka_py.records.batch import decode_records, read_header
from kafka_py.testing.fakes.fake_groups import GROUP_ANSWERS
from kafka_py.testing.fakes.fake_transactions import TRANSACTION_ANSWERS, answer_init
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages import (
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    fetch,
    init_producer_id,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)

if TYPE_CHECKING:
    from kafka_py.testing.fakes.fake_cluster import FakeCluster, FakePartition

NONE = ErrorCode.NONE


def _led(cluster: FakeCluster, node_id: int, topic: str, partition: int) -> tuple[ErrorCode, FakePartition | None]:
    state = cluster.partitions.get(TopicPartition(topic, partition))
    if state is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
    return (NONE if state.leader == node_id else ErrorCode.NOT_LEADER_OR_FOLLOWER), state


def answer_api_versions(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    rows = [
        api_versions.ApiVersion(api_key=key, min_version=api.min_version, max_version=cluster.max_version(key))
        for key, api in APIS.items()
        if cluster.max_version(key) >= 0
    ]
    return api_versions.ApiVersionsResponse(error_code=error, api_keys=rows)


def answer_metadata(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    names = sorted(cluster.topic_ids) if request.topics is None else [topic.name for topic in request.topics]
    brokers = [
        metadata.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=port)
        for number, port in cluster.ports.items()
        if cluster.is_up(number)
    ]
    return metadata.MetadataResponse(
        brokers=brokers,
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=[_topic_metadata(cluster, name, request, error) for name in names],
    )


def _topic_metadata(cluster: FakeCluster, name: str, request: Any, error: ErrorCode) -> Any:
    if error is NONE and name not in cluster.topic_ids:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if cluster.auto_create_partitions and request.allow_auto_topic_creation:
            error = ErrorCode.LEADER_NOT_AVAILABLE
            cluster.create_topic(name, cluster.auto_create_partitions)
    states = {} if error else {tp: state for tp, state in cluster.partitions.items() if tp.topic == name}
    return metadata.MetadataResponseTopic(
        error_code=error,
        name=name,
        topic_id=cluster.topic_ids.get(name, ZERO_UUID),
        is_internal=name.startswith("__"),
        partitions=[
            metadata.MetadataResponsePartition(
                error_code=NONE if cluster.is_up(state.leader) else ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=tp.partition,
                leader_id=state.leader if cluster.is_up(state.leader) else -1,
                leader_epoch=state.leader_epoch,
                replica_nodes=[state.leader],
                isr_nodes=[state.leader],
                offline_replicas=[],
            )
            for tp, state in states.items()
        ],
    )


def answer_produce(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    topics = []
    for topic in request.topic_data:
        partitions = []
        for data in topic.partition_data:
            code, state = _led(cluster, node_id, topic.name, data.index)
            code, offset = error or code, -1
            if code is NONE and state is not None:
                cluster.transactions.check_batch(TopicPartition(topic.name, data.index), data.records)
                code, offset = state.append(data.records)
            partitions.append(produce.PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset))
        topics.append(produce.TopicProduceResponse(name=topic.name, partition_responses=partitions))
    cluster.note_append()
    return produce.ProduceResponse(responses=topics)


def answer_fetch(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    if error in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
        return fetch.FetchResponse(throttle_time_ms=0, error_code=error, session_id=0, responses=[])
    topics = []
    for topic in request.topics:
        partitions = [_fetched(cluster, node_id, topic.topic, each, request, error) for each in topic.partitions]
        topics.append(fetch.FetchableTopicResponse(topic=topic.topic, partition_responses=partitions))
    return fetch.FetchResponse(throttle_time_ms=0, error_code=NONE, session_id=0, responses=topics)


def _fetched(cluster: FakeCluster, node_id: int, topic: str, asked: Any, request: Any, error: ErrorCode) -> Any:
    code, state = _led(cluster, node_id, topic, asked.partition)
    code = error or code
    if code is NONE and state is not None and not state.start_offset <= asked.fetch_offset <= state.end_offset:
        code = ErrorCode.OFFSET_OUT_OF_RANGE
    if code is not NONE or state is None:
        return fetch.FetchablePartitionResponse(
            partition=asked.partition, error_code=code, high_watermark=-1, record_set=None
        )
    committed = request.isolation_level == 1
    stable = state.stable_offset
    aborted = [fetch.AbortedTransaction(producer_id=producer, first_offset=first) for producer, first in state.aborted]
    return fetch.FetchablePartitionResponse(
        partition=asked.partition,
        error_code=NONE,
        high_watermark=state.end_offset,
        last_stable_offset=stable,
        log_start_offset=state.start_offset,
        aborted_transactions=aborted if committed else None,
        record_set=state.read(asked.fetch_offset, asked.partition_max_bytes, stable if committed else None),
    )


def answer_list_offsets(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            code, state = _led(cluster, node_id, topic.name, asked.partition_index)
            code, timestamp, offset = error or code, -1, -1
            if code is NONE and state is not None:
                timestamp, offset = _offset_at(state, asked.timestamp, request.isolation_level)
            partitions.append(
                list_offsets.ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index, error_code=code, timestamp=timestamp, offset=offset
                )
            )
        topics.append(list_offsets.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return list_offsets.ListOffsetsResponse(topics=topics)


def _offset_at(state: FakePartition, timestamp: int, isolation_level: int) -> tuple[int, int]:
    if timestamp == LATEST_TIMESTAMP:
        return -1, state.stable_offset if isolation_level else state.end_offset
    if timestamp == EARLIEST_TIMESTAMP:
        return -1, state.start_offset
    records = (record for batch in state.batches for record in decode_records(batch))
    return next(((each.timestamp, each.offset) for each in records if each.timestamp >= timestamp), (-1, -1))


def answer_offset_for_leader_epoch(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            code, state = _led(cluster, node_id, topic.topic, asked.partition)
            code, epoch, end = error or code, -1, -1
            if code is NONE and state is not None:
                headers = [read_header(batch) for batch in state.batches]
                later = [each.base_offset for each in headers if each.partition_leader_epoch > asked.leader_epoch]
                epoch, end = asked.leader_epoch, min(later, default=state.end_offset)
            partitions.append(
                offset_for_leader_epoch.EpochEndOffset(
                    error_code=code, partition=asked.partition, leader_epoch=epoch, end_offset=end
                )
            )
        topics.append(offset_for_leader_epoch.OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(topics=topics)


def answer_init_producer_id(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    if request.transactional_id is not None:
        return answer_init(cluster, node_id, request, error)
    producer_id = -1 if error else cluster.next_producer_id()
    return init_producer_id.InitProducerIdResponse(
        throttle_time_ms=0, error_code=error, producer_id=producer_id, producer_epoch=-1 if error else 0
    )


def _controller_error(cluster: FakeCluster, node_id: int, error: ErrorCode) -> ErrorCode:
    return error or (NONE if node_id == cluster.controller_id else ErrorCode.NOT_CONTROLLER)


def answer_create_topics(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    results = []
    for topic in request.topics:
        code = _controller_error(cluster, node_id, error)
        if code is NONE and topic.name in cluster.topic_ids:
            code = ErrorCode.TOPIC_ALREADY_EXISTS
        count = len(topic.assignments) or max(topic.num_partitions, 1)
        if code is NONE and not request.validate_only:
            cluster.create_topic(topic.name, count)
        results.append(
            create_topics.CreatableTopicResult(
                name=topic.name,
                error_code=code,
                error_message=None if code is NONE else f"{topic.name}: {code.name}",
                topic_id=cluster.topic_ids.get(topic.name, ZERO_UUID),
                num_partitions=count,
                replication_factor=1,
                configs=[
                    create_topics.CreatableTopicConfigs(
                        name=config.name, value=config.value, read_only=False, config_source=1, is_sensitive=False
                    )
                    for config in topic.configs
                ],
            )
        )
    return create_topics.CreateTopicsResponse(topics=results)


def answer_create_partitions(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    results = []
    for topic in request.topics:
        code = _controller_error(cluster, node_id, error)
        present = sum(tp.topic == topic.name for tp in cluster.partitions)
        if code is NONE and not present:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is NONE and topic.count <= present:
            code = ErrorCode.INVALID_PARTITIONS
        if code is NONE and not request.validate_only:
            cluster.create_topic(topic.name, topic.count)
        results.append(create_partitions.CreatePartitionsTopicResult(name=topic.name, error_code=code))
    return create_partitions.CreatePartitionsResponse(throttle_time_ms=0, results=results)


def answer_delete_topics(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    results = []
    for name in [topic.name for topic in request.topics] or request.topic_names:
        code = _controller_error(cluster, node_id, error)
        if code is NONE and cluster.topic_ids.pop(name, None) is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is NONE:
            for partition in [tp for tp in cluster.partitions if tp.topic == name]:
                del cluster.partitions[partition]
        results.append(delete_topics.DeletableTopicResult(name=name, error_code=code))
    return delete_topics.DeleteTopicsResponse(responses=results)


def answer_delete_records(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    topics = []
    for topic in request.topics:
        rows = []
        for asked in topic.partitions:
            code, state = _led(cluster, node_id, topic.name, asked.partition_index)
            code = error or code
            low_watermark = -1
            if code is NONE and state is not None:
                offset = state.end_offset if asked.offset == -1 else asked.offset
                if offset > state.end_offset:
                    code = ErrorCode.OFFSET_OUT_OF_RANGE
                else:
                    low_watermark = state.start_offset = max(offset, state.start_offset)
            rows.append(
                delete_records.DeleteRecordsPartitionResult(
                    partition_index=asked.partition_index, low_watermark=low_watermark, error_code=code
                )
            )
        topics.append(delete_records.DeleteRecordsTopicResult(name=topic.name, partitions=rows))
    return delete_records.DeleteRecordsResponse(throttle_time_ms=0, topics=topics)


def answer_describe_configs(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    results = []
    for resource in request.resources:
        values = cluster.configs[resource.resource_type, resource.resource_name]
        wanted = values if resource.configuration_keys is None else set(resource.configuration_keys) & set(values)
        rows = [
            describe_configs.DescribeConfigsResourceResult(
                name=name, value=values[name], read_only=False, config_source=5, is_sensitive=False, config_type=2
            )
            for name in wanted
        ]
        results.append(
            describe_configs.DescribeConfigsResult(
                error_code=error,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[] if error else rows,
            )
        )
    return describe_configs.DescribeConfigsResponse(throttle_time_ms=0, results=results)


def answer_describe_cluster(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    brokers = [
        describe_cluster.DescribeClusterBroker(broker_id=number, host="127.0.0.1", port=port)
        for number, port in cluster.ports.items()
    ]
    return describe_cluster.DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=error,
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        brokers=brokers,
    )


def answer_describe_log_dirs(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    topics = []
    for name in sorted(cluster.topic_ids):
        partitions = [
            describe_log_dirs.DescribeLogDirsPartition(
                partition_index=tp.partition,
                partition_size=sum(read_header(batch).size_bytes for batch in state.batches),
                offset_lag=0,
                is_future_key=False,
            )
            for tp, state in cluster.partitions.items()
            if tp.topic == name and state.leader == node_id
        ]
        topics.append(describe_log_dirs.DescribeLogDirsTopic(name=name, partitions=partitions))
    directory = describe_log_dirs.DescribeLogDirsResult(error_code=error, log_dir="/fake", topics=topics)
    return describe_log_dirs.DescribeLogDirsResponse(throttle_time_ms=0, results=[directory])


ANSWERS: dict[ApiKey, Callable[[FakeCluster, int, Any, ErrorCode], Any]] = {
    ApiKey.API_VERSIONS: answer_api_versions,
    ApiKey.METADATA: answer_metadata,
    ApiKey.PRODUCE: answer_produce,
    ApiKey.FETCH: answer_fetch,
    ApiKey.LIST_OFFSETS: answer_list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: answer_offset_for_leader_epoch,
    ApiKey.INIT_PRODUCER_ID: answer_init_producer_id,
    ApiKey.CREATE_TOPICS: answer_create_topics,
    ApiKey.CREATE_PARTITIONS: answer_create_partitions,
    ApiKey.DELETE_TOPICS: answer_delete_topics,
    ApiKey.DELETE_RECORDS: answer_delete_records,
    ApiKey.DESCRIBE_CONFIGS: answer_describe_configs,
    ApiKey.DESCRIBE_CLUSTER: answer_describe_cluster,
    ApiKey.DESCRIBE_LOG_DIRS: answer_describe_log_dirs,
    **GROUP_ANSWERS,
    **TRANSACTION_ANSWERS,
}
