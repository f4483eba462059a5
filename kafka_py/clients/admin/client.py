"""The admin client's two faces: `AdminClient` for plain blocking code, `AsyncAdminClient` for asyncio.

    admin = AdminClient({"bootstrap.servers": "localhost:9092"})
    admin.create_topics([NewTopic("topic", 3, 1)]).all()

Calls on several things give a `Results`: each item's value or KafkaError. All calls may be made from several threads
(or tasks) at once. The calls themselves are in topics.py, records.py, settings.py and brokers.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Self

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.brokers import BrokerCalls, ClusterDescription, LogDirDescription, VersionRange
from kafka_py.clients.admin.records import RecordCalls
from kafka_py.clients.admin.resources import AlterConfig, ConfigEntry, ConfigResource
from kafka_py.clients.admin.results import Results
from kafka_py.clients.admin.settings import SettingCalls
from kafka_py.clients.admin.topics import (
    CreatedTopic,
    NewPartitions,
    NewTopic,
    TopicCalls,
    TopicDescription,
    TopicListing,
)
from kafka_py.clients.loop import LoopThread
from kafka_py.wire.apis import ApiKey


class AsyncAdminClient(TopicCalls, SettingCalls, BrokerCalls, RecordCalls):
    """All admin calls, on the running loop. timeout: in seconds; default.api.timeout.ms when None."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AdminClient:
    """All admin calls, blocking; an event loop in a thread of its own does the work.

    configs: Kafka's admin settings by name.
    """

    def __init__(self, configs: Mapping[str, Any]) -> None:
        self._core = AsyncAdminClient(configs)
        self._thread = LoopThread(f"kafka-admin-client-thread | {self._core.client_id}")
        self._closed = False

    def create_topics(
        self, topics: Collection[NewTopic], *, validate_only: bool = False, timeout: float | None = None
    ) -> Results[str, CreatedTopic]:
        """Creates topics, or only checks that they could be."""
        return self._thread.run(self._core.create_topics(topics, validate_only=validate_only, timeout=timeout))

    def create_partitions(
        self,
        partitions: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Raises the number of partitions of topics (a plain number is the new total)."""
        return self._thread.run(self._core.create_partitions(partitions, validate_only=validate_only, timeout=timeout))

    def delete_topics(self, topics: Collection[str], *, timeout: float | None = None) -> Results[str, None]:
        """Deletes topics by name."""
        return self._thread.run(self._core.delete_topics(topics, timeout=timeout))

    def list_topics(self, *, list_internal: bool = False, timeout: float | None = None) -> dict[str, TopicListing]:
        """All topics by name."""
        return self._thread.run(self._core.list_topics(list_internal=list_internal, timeout=timeout))

    def describe_topics(
        self, topics: Collection[str], *, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> Results[str, TopicDescription]:
        """Topics with partitions, leaders and replicas; a topic that does not exist is an error, never created."""
        return self._thread.run(
            self._core.describe_topics(
                topics, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Results[TopicPartition, int]:
        """Deletes the records before these offsets (-1: all); the values are where the partitions start now."""
        return self._thread.run(self._core.delete_records(offsets, timeout=timeout))

    def describe_configs(
        self,
        resources: Collection[ConfigResource] | Mapping[ConfigResource, Collection[str] | None],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: float | None = None,
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        """All settings of each resource, by name; a mapping tells which names are wanted of each (None: all)."""
        return self._thread.run(
            self._core.describe_configs(
                resources,
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
                timeout=timeout,
            )
        )

    def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Collection[AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[ConfigResource, None]:
        """Changes single settings of each resource, or only checks that they could be; the others stay as they are."""
        return self._thread.run(
            self._core.incremental_alter_configs(changes, validate_only=validate_only, timeout=timeout)
        )

    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[ConfigResource, None]:
        """Replaces all settings of each resource: what is not named goes back to its default."""
        return self._thread.run(self._core.alter_configs(configs, validate_only=validate_only, timeout=timeout))

    def describe_cluster(
        self, *, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """The cluster as one broker sees it now."""
        return self._thread.run(
            self._core.describe_cluster(include_authorized_operations=include_authorized_operations, timeout=timeout)
        )

    def describe_log_dirs(
        self, brokers: Collection[int], *, timeout: float | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """The log directories of brokers, by path, with the replicas in them."""
        return self._thread.run(self._core.describe_log_dirs(brokers, timeout=timeout))

    def api_versions(self, broker: int | None = None, *, timeout: float | None = None) -> dict[ApiKey, VersionRange]:
        """What a broker (any, when None) speaks."""
        return self._thread.run(self._core.api_versions(broker, timeout=timeout))

    def offered_versions(self, broker: int, *, timeout: float | None = None) -> dict[int, VersionRange]:
        """All that a broker says it speaks, by API key, also what this client does not know."""
        return self._thread.run(self._core.offered_versions(broker, timeout=timeout))

    def close(self) -> None:
        """Lets go of everything; may be called again."""
        if not self._closed:
            self._closed = True
            self._thread.run(self._core.close())
            self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
