"""The admin client's two faces: `AdminClient` for plain blocking code, `AsyncAdminClient` for asyncio.

    admin = AdminClient({"bootstrap.servers": "localhost:9092"})
    admin.create_topics([NewTopic("topic", 3, 1)]).all()

Calls on several things give a `Results`: each item's value or KafkaError. All calls may be made from several threads
(or tasks) at once. The calls themselves are in the files that __init__.py lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.brokers import BrokerCalls, ClusterDescription, VersionRange
from kafka_py.clients.admin.group_descriptions import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    GroupState,
    MemberToRemove,
)
from kafka_py.clients.admin.groups import GroupCalls
from kafka_py.clients.admin.log_dirs import LogDirCalls, LogDirDescription, ReplicaLogDirs, TopicPartitionReplica
from kafka_py.clients.admin.offsets import ListedOffset, OffsetCalls
from kafka_py.clients.admin.replicas import PartitionReassignment, ReplicaCalls
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
from kafka_py.clients.metrics import MetricValues
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.wire.apis import ApiKey


class AsyncAdminClient(TopicCalls, SettingCalls, BrokerCalls, OffsetCalls, ReplicaCalls, LogDirCalls, GroupCalls):
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

    def describe_replica_log_dirs(
        self, replicas: Collection[TopicPartitionReplica], *, timeout: float | None = None
    ) -> Results[TopicPartitionReplica, ReplicaLogDirs]:
        """In which directory each replica lies, and to which it is on its way."""
        return self._thread.run(self._core.describe_replica_log_dirs(replicas, timeout=timeout))

    def alter_replica_log_dirs(
        self, moves: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> Results[TopicPartitionReplica, None]:
        """Has replicas move to other directories (absolute paths) of their brokers."""
        return self._thread.run(self._core.alter_replica_log_dirs(moves, timeout=timeout))

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Has the preferred replicas lead, or (UNCLEAN) any that is alive; None: wherever something is to be done."""
        return self._thread.run(self._core.elect_leaders(election_type, partitions, timeout=timeout))

    def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Has partitions move to these brokers, the preferred leader first; None calls a move off."""
        return self._thread.run(self._core.alter_partition_reassignments(targets, timeout=timeout))

    def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Those of the partitions (None: of all) that are being moved."""
        return self._thread.run(self._core.list_partition_reassignments(partitions, timeout=timeout))

    def controlled_shutdown(self, broker: int, *, timeout: float | None = None) -> set[TopicPartition]:
        """Leads elsewhere what a broker leads, before it is stopped; returns what it leads still."""
        return self._thread.run(self._core.controlled_shutdown(broker, timeout=timeout))

    def api_versions(self, broker: int | None = None, *, timeout: float | None = None) -> dict[ApiKey, VersionRange]:
        """What a broker (any, when None) speaks."""
        return self._thread.run(self._core.api_versions(broker, timeout=timeout))

    def offered_versions(self, broker: int, *, timeout: float | None = None) -> dict[int, VersionRange]:
        """All that a broker says it speaks, by API key, also what this client does not know."""
        return self._thread.run(self._core.offered_versions(broker, timeout=timeout))

    def metrics(self) -> MetricValues:
        """What this client has counted, under Kafka's names."""
        return self._core.metrics()

    def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], *, read_committed: bool = False, timeout: float | None = None
    ) -> Results[TopicPartition, ListedOffset]:
        """Per partition the first record at or after a time (ms UTC), or one end: offsets.EARLIEST, offsets.LATEST."""
        return self._thread.run(self._core.list_offsets(timestamps, read_committed=read_committed, timeout=timeout))

    def list_consumer_groups(
        self, *, states: Collection[GroupState | str] = (), timeout: float | None = None
    ) -> list[ConsumerGroupListing]:
        """All consumer groups, or those in one of the states; in the order of their ids."""
        return self._thread.run(self._core.list_consumer_groups(states=states, timeout=timeout))

    def describe_consumer_groups(
        self, groups: Collection[str], *, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> Results[str, ConsumerGroupDescription]:
        """Groups with state and members; one that does not exist is in state DEAD."""
        return self._thread.run(
            self._core.describe_consumer_groups(
                groups, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def delete_consumer_groups(self, groups: Collection[str], *, timeout: float | None = None) -> Results[str, None]:
        """Deletes groups without members, with their offsets."""
        return self._thread.run(self._core.delete_consumer_groups(groups, timeout=timeout))

    def list_consumer_group_offsets(
        self, group: str, partitions: Collection[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> Results[TopicPartition, OffsetAndMetadata | None]:
        """What the group committed for these partitions (None: for all it did); None where there is nothing."""
        return self._thread.run(self._core.list_consumer_group_offsets(group, partitions, timeout=timeout))

    def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Commits offsets for a group that has no members, which is made if it does not exist."""
        return self._thread.run(self._core.alter_consumer_group_offsets(group, offsets, timeout=timeout))

    def delete_consumer_group_offsets(
        self, group: str, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Forgets what the group committed for partitions of topics that no member subscribes to."""
        return self._thread.run(self._core.delete_consumer_group_offsets(group, partitions, timeout=timeout))

    def remove_members_from_consumer_group(
        self, group: str, members: Collection[MemberToRemove | str] | None = None, *, timeout: float | None = None
    ) -> Results[MemberToRemove, None]:
        """Sends members away: static ones by their group.instance.id (a plain string is one), or all (None)."""
        return self._thread.run(self._core.remove_members_from_consumer_group(group, members, timeout=timeout))

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
