"""kafka_py.wire.apis: the table of APIs agrees with the messages and with what a 2.8.2 broker advertises."""

import csv
from pathlib import Path

import pytest

from kafka_py.wire.apis import APIS, ENVELOPE, LATER, ApiKey, api_of, size_fault
from kafka_py.wire.compiler import counted_decoder
from kafka_py.wire.frames import encode_request, read_request_header
from kafka_py.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_py.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_py.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_py.wire.schema import schema_of

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


@pytest.mark.parametrize("api", [*APIS.values(), ENVELOPE], ids=lambda api: api.name)
def test_each_row_agrees_with_its_messages(api):
    for cls, kind in ((api.request, "request"), (api.response, "response")):
        schema = schema_of(cls)
        assert schema.name == f"{api.name}{kind.capitalize()}"
        assert (schema.api, schema.kind) == (api.key, kind)
        assert schema.versions == (api.min_version, api.known_version)
        assert schema.flexible == api.flexible_from
        assert api.request is api.request  # the same class every time
    assert api_of(api.key) is api


def rows_of(table):
    with (REFERENCE / table).open(encoding="utf-8") as file:
        return {int(row["key"]): row for row in csv.DictReader(file, delimiter="\t")}


def test_the_table_is_what_a_broker_of_2_8_2_advertises_and_two_later_apis():
    later = rows_of("later-apis.tsv")
    assert later.keys() == LATER
    rows = rows_of("apis.tsv") | later
    assert {key.value for key in ApiKey} == rows.keys()
    assert {key for key, row in rows.items() if row["zk_mode_broker"] == "yes"} == APIS.keys()
    for key, api in APIS.items():
        row = rows[key]
        assert api.name == row["name"]
        assert (str(api.min_version), str(api.max_version)) == (row["min"], row["max"])
        assert str(api.flexible_from).lower() == row["flexible_from"]
        assert api.brokers_only == (row["cluster_action_flag"] == "true")


def test_apis_are_in_order_of_their_keys():
    assert list(APIS) == sorted(APIS)
    assert len(APIS) == 58


def test_which_versions_an_api_supports():
    api = APIS[ApiKey.FETCH]
    assert [v for v in range(-2, 20) if api.supports(v)] == list(range(13))
    assert repr(api) == "Api(Fetch, 0-12)"


@pytest.mark.parametrize("key", [ApiKey.VOTE, ApiKey.BROKER_HEARTBEAT, ApiKey.UNREGISTER_BROKER])
def test_kraft_apis_have_no_row(key):
    with pytest.raises(KeyError):
        api_of(key)


def names(count: int) -> list[str]:
    """Topic names of the greatest length."""
    return [f"{number:0249}" for number in range(count)]


PARTITIONS = range(10)


def large_requests_of_clients():
    return [
        MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names(20_000)]),
        OffsetCommitRequest(
            group_id="g",
            topics=[
                OffsetCommitRequestTopic(
                    name=name,
                    partitions=[
                        OffsetCommitRequestPartition(partition_index=number, committed_metadata="m" * 200)
                        for number in PARTITIONS
                    ],
                )
                for name in names(5_000)
            ],
        ),
        FetchRequest(
            topics=[
                FetchTopic(topic=name, partitions=[FetchPartition(partition=number) for number in PARTITIONS])
                for name in names(5_000)
            ]
        ),
        OffsetDeleteRequest(
            group_id="g",
            topics=[
                OffsetDeleteRequestTopic(
                    name="t", partitions=[OffsetDeleteRequestPartition(partition_index=n) for n in range(20_000)]
                )
            ],
        ),
    ]


def large_requests_about_the_cluster():
    return [
        DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=["retention.ms"])
                for name in names(10_000)
            ]
        ),
        AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(
                    name=name,
                    partitions=[
                        ReassignablePartition(partition_index=number, replicas=[1, 2, 3, 4, 5, 6])
                        for number in PARTITIONS
                    ],
                )
                for name in names(10_000)
            ]
        ),
        AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path="/data/1", topics=[AlterReplicaLogDirTopic(name="t", partitions=list(range(20_000)))]
                )
            ]
        ),
        CreatePartitionsRequest(
            topics=[
                CreatePartitionsTopic(
                    name="t",
                    count=20_000,
                    assignments=[CreatePartitionsAssignment(broker_ids=[1, 2, 3, 4, 5, 6])] * 20_000,
                )
            ]
        ),
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=2,
                    resource_name=name,
                    configs=[AlterableConfig(name=f"setting{n}", value="1") for n in range(5)],
                )
                for name in names(10_000)
            ]
        ),
        UpdateMetadataRequest(
            topic_states=[
                UpdateMetadataTopicState(
                    topic_name=name,
                    partition_states=[
                        UpdateMetadataPartitionState(partition_index=number, isr=[1, 2, 3], replicas=[1, 2, 3])
                        for number in PARTITIONS
                    ],
                )
                for name in names(20_000)
            ],
            live_brokers=[],
        ),
    ]


@pytest.mark.parametrize("live", [large_requests_of_clients, large_requests_about_the_cluster])
def test_large_requests_that_clients_and_brokers_really_send_are_within_the_bounds(live):
    """With a wide margin: the bounds are against requests that nobody needs."""
    for request in live():
        api = APIS[schema_of(type(request)).api]
        frame = encode_request(request, api.max_version, 1, "client")[4:]
        assert size_fault(api.key, len(frame)) is None
        pos = read_request_header(frame)[1]
        decoded = counted_decoder(api.request, api.max_version)(frame, pos, api.elements)
        assert decoded == (request, len(frame))


def test_a_request_above_its_bound_is_refused_with_the_bound():
    assert size_fault(ApiKey.METADATA, 8 * 1024 * 1024) is None
    assert size_fault(ApiKey.METADATA, 8 * 1024 * 1024 + 1) == (
        "Metadata request of 8388609 bytes, at most 8388608 are allowed for this API: "
        "the client should spread them over several requests"
    )
    assert size_fault(99, 100_000) == "a request of 100000 bytes for API 99, which does not exist"


def test_only_produce_and_requests_of_brokers_may_be_as_large_as_any():
    unbounded = {api.key for api in APIS.values() if api.request_bytes is None}
    assert unbounded - {api.key for api in APIS.values() if api.brokers_only} == {ApiKey.PRODUCE}
