"""Admin calls on brokers: the cluster, the API versions of a broker, controlled shutdown.

Source: KIP-700 (older brokers are asked for Metadata); KafkaAdminClient.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py import __version__
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.core import TRY_AGAIN, AdminCore, error_of
from kafka_py.clients.admin.results import Results, operations_of
from kafka_py.clients.metadata import Node
from kafka_py.net.client import SOFTWARE_NAME
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_py.wire.messages.describe_cluster import DescribeClusterRequest
from kafka_py.wire.messages.metadata import MetadataRequest


class ClusterDescription(NamedTuple):
    """The live brokers and the controller. authorized_operations: bits, None when not asked for."""

    cluster_id: str | None
    controller: Node | None
    nodes: list[Node]
    authorized_operations: int | None = None


class VersionRange(NamedTuple):
    """The lowest and the highest version of an API, both inclusive."""

    lowest: int
    highest: int


async def describe_cluster(
    core: AdminCore, *, include_authorized_operations: bool = False, timeout: float | None = None
) -> ClusterDescription:
    """The cluster according to the metadata of one broker."""

    async def call(left_ms: int) -> ClusterDescription:
        try:
            return await _describe_cluster(core, include_authorized_operations, left_ms)
        except KafkaError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            return await _describe_by_metadata(core, include_authorized_operations, left_ms)

    return await core.once(call, timeout)


async def _describe_cluster(core: AdminCore, operations: bool, timeout_ms: int) -> ClusterDescription:
    request = DescribeClusterRequest(include_cluster_authorized_operations=operations)
    response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
    error = error_of(response.error_code, response.error_message)
    if error is not None:
        raise error
    nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in response.brokers}
    return ClusterDescription(
        response.cluster_id,
        nodes.get(response.controller_id),
        list(nodes.values()),
        operations_of(response.cluster_authorized_operations),
    )


async def _describe_by_metadata(core: AdminCore, operations: bool, timeout_ms: int) -> ClusterDescription:
    request = MetadataRequest(topics=[], include_cluster_authorized_operations=operations)
    response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
    nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
    return ClusterDescription(
        response.cluster_id,
        nodes.get(response.controller_id),
        list(nodes.values()),
        operations_of(response.cluster_authorized_operations),
    )


async def controlled_shutdown(core: AdminCore, broker: int, *, timeout: float | None = None) -> set[TopicPartition]:
    """Lets the controller move leaders away from this broker and remove its replicas from in-sync sets.

    The broker continues to run, without leading, until it is restarted. Returns the replicated partitions that it
    still leads, because no other replica is in sync.
    Raises KafkaError(BROKER_NOT_AVAILABLE) for a broker that is not registered.
    """

    async def attempt(_: list[None], left_ms: int) -> dict[None, set[TopicPartition] | KafkaError]:
        request = ControlledShutdownRequest(broker_id=broker)
        response = await core.ask_controller(lambda _: request, ControlledShutdownRequest, left_ms)
        error = error_of(response.error_code, None, f"broker {broker}")
        if error is None:
            rows = response.remaining_partitions
            return {None: {TopicPartition(row.topic_name, row.partition_index) for row in rows}}
        if error.code is ErrorCode.STALE_CONTROLLER_EPOCH:  # sent by a broker that is not the controller
            await core.refresh()
        return {None: error}

    results: Results[None, set[TopicPartition]] = await core.per_item(
        [None], attempt, timeout, try_again=(*TRY_AGAIN, ErrorCode.STALE_CONTROLLER_EPOCH)
    )
    return results.value(None)


async def api_versions(
    core: AdminCore, broker: int | None = None, *, timeout: float | None = None
) -> dict[ApiKey, VersionRange]:
    """The APIs of a broker (None: of any) that this client knows, with the versions of the broker."""

    async def call(_left_ms: int) -> dict[ApiKey, VersionRange]:
        if core.cluster.view.fetched_ms is None:
            await core.refresh()
        node_id = next(iter(core.cluster.view.nodes)) if broker is None else broker
        connection = await core.cluster.connection(node_id)
        return {key: VersionRange(*versions) for key, versions in sorted(connection.wire.versions.items())}

    return await core.once(call, timeout)


async def offered_versions(core: AdminCore, broker: int, *, timeout: float | None = None) -> dict[int, VersionRange]:
    """All APIs of a broker by API key, including those that this client does not know."""

    async def call(left_ms: int) -> dict[int, VersionRange]:
        await core.know(broker)
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
        response = await core.cluster.send(broker, request, timeout_ms=left_ms)
        error = error_of(response.error_code, None)
        if error is not None:
            raise error
        return {each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys}

    return await core.once(call, timeout)
