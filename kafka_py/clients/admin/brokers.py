"""Admin calls on brokers: the cluster, log directories, and which APIs a broker speaks.

Source: DescribeCluster (KIP-700; older brokers are asked for Metadata), DescribeLogDirs (KIP-113), ApiVersions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from kafka_py import __version__
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.clients.metadata import Node
from kafka_py.net.client import SOFTWARE_NAME
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.describe_cluster import DescribeClusterRequest
from kafka_py.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult
from kafka_py.wire.messages.metadata import MetadataRequest

NO_OPERATIONS = -0x80000000


class ClusterDescription(NamedTuple):
    """The live brokers and the controller. authorized_operations: bits, None when not asked for."""

    cluster_id: str | None
    controller: Node | None
    nodes: list[Node]
    authorized_operations: int | None = None


class ReplicaInfo(NamedTuple):
    """One replica in a log directory. is_future: it is being moved there."""

    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log directory; with an error (offline) it has no replicas."""

    error: KafkaError | None
    replicas: dict[TopicPartition, ReplicaInfo]


class VersionRange(NamedTuple):
    """The lowest and the highest version of an API, both inclusive."""

    lowest: int
    highest: int


class BrokerCalls(AdminCore):
    """The calls."""

    async def describe_cluster(
        self, *, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """The cluster as one broker sees it now."""

        async def call(left_ms: int) -> ClusterDescription:
            try:
                return await self._describe_cluster(include_authorized_operations, left_ms)
            except KafkaError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                return await self._describe_by_metadata(include_authorized_operations, left_ms)

        return await self.once(call, timeout)

    async def _describe_cluster(self, operations: bool, timeout_ms: int) -> ClusterDescription:
        request = DescribeClusterRequest(include_cluster_authorized_operations=operations)
        response = await self.cluster.send_any(request, timeout_ms=timeout_ms)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in response.brokers}
        bits = response.cluster_authorized_operations
        return ClusterDescription(
            response.cluster_id,
            nodes.get(response.controller_id),
            list(nodes.values()),
            None if bits == NO_OPERATIONS else bits,
        )

    async def _describe_by_metadata(self, operations: bool, timeout_ms: int) -> ClusterDescription:
        request = MetadataRequest(topics=[], include_cluster_authorized_operations=operations)
        response = await self.cluster.send_any(request, timeout_ms=timeout_ms)
        nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
        bits = response.cluster_authorized_operations
        return ClusterDescription(
            response.cluster_id,
            nodes.get(response.controller_id),
            list(nodes.values()),
            None if bits == NO_OPERATIONS else bits,
        )

    async def describe_log_dirs(
        self, brokers: Collection[int], *, timeout: float | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """The log directories of brokers, by path, with the replicas in them."""

        async def ask(node_id: int, timeout_ms: int) -> dict[str, LogDirDescription] | KafkaError:
            if node_id not in self.cluster.view.nodes:
                await self.refresh()
            try:
                request = DescribeLogDirsRequest(topics=None)
                response = await self.cluster.send(node_id, request, timeout_ms=timeout_ms)
            except KafkaError as error:
                return error
            return {each.log_dir: _log_dir(each) for each in response.results}

        async def attempt(some: list[int], timeout_ms: int) -> dict[int, dict[str, LogDirDescription] | KafkaError]:
            answers = await asyncio.gather(*(ask(node_id, timeout_ms) for node_id in some))
            return dict(zip(some, answers, strict=True))

        return await self.per_item(brokers, attempt, timeout)

    async def api_versions(
        self, broker: int | None = None, *, timeout: float | None = None
    ) -> dict[ApiKey, VersionRange]:
        """What a broker (any, when None) speaks."""

        async def call(_left_ms: int) -> dict[ApiKey, VersionRange]:
            if self.cluster.view.fetched_ms is None:
                await self.refresh()
            node_id = next(iter(self.cluster.view.nodes)) if broker is None else broker
            connection = await self.cluster.connection(node_id)
            return {key: VersionRange(*versions) for key, versions in sorted(connection.wire.versions.items())}

        return await self.once(call, timeout)

    async def offered_versions(self, broker: int, *, timeout: float | None = None) -> dict[int, VersionRange]:
        """All that a broker says it speaks, by API key, also what this client does not know."""

        async def call(left_ms: int) -> dict[int, VersionRange]:
            if broker not in self.cluster.view.nodes:
                await self.refresh()
            request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
            response = await self.cluster.send(broker, request, timeout_ms=left_ms)
            error = error_of(response.error_code, None)
            if error is not None:
                raise error
            return {each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys}

        return await self.once(call, timeout)


def _log_dir(answer: DescribeLogDirsResult) -> LogDirDescription:
    error_code = answer.error_code
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in answer.topics
        for each in topic.partitions
    }
    return LogDirDescription(error_of(error_code, None), replicas)
