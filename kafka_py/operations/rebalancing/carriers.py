"""Who carries out the steps of a plan: the brokers, or for those before 2.4 a list in ZooKeeper.

Source: KIP-455 (AlterPartitionReassignments), KIP-339 (single settings); docs/reference/zookeeper.md, section 11.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.resources import (
    AlterConfig,
    AlterOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.wire.apis import ApiKey
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.session import NodeExists
from kafka_py.zk.store import ZkStore

UNCERTAIN = (
    ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_CONTROLLER, ErrorCode.BROKER_NOT_AVAILABLE,
)  # fmt: skip
"""Not refused: the controller may have begun, or will another time."""
Settings = Mapping[str, str | None]
"""Setting -> value; None for none."""
TOPICS, BROKERS = "topics", "brokers"


class SettingsCarrier(Protocol):
    """Changes settings of topics and brokers."""

    async def overrides(self, kind: str, names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
        """Those of the settings that topics or brokers have of their own."""
        ...

    async def alter(self, kind: str, changes: Mapping[str, Settings]) -> None:
        """Changes settings of topics or brokers. One that no longer exists is left out."""
        ...


class ReassignmentCarrier(SettingsCarrier, Protocol):
    """Begins, cancels and lists reassignments, and changes settings of topics and brokers."""

    can_cancel: bool

    async def running(self) -> dict[TopicPartition, tuple[int, ...]]:
        """All partitions of the cluster that are being reassigned, with the replicas that they are to have."""
        ...

    async def start(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, str]:
        """Begins; returns what was refused, with the reasons."""
        ...

    async def cancel(self, partitions: Collection[TopicPartition]) -> None: ...

    async def elect(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        """Elects preferred leaders; returns what failed, with the reasons."""
        ...


class BrokerCarrier:
    """By requests to the brokers."""

    can_cancel = True

    def __init__(self, admin: AsyncAdminClient) -> None:
        self._admin = admin

    async def running(self) -> dict[TopicPartition, tuple[int, ...]]:
        found = await self._admin.list_partition_reassignments()
        return {tp: tuple(id_ for id_ in one.replicas if id_ not in one.removing) for tp, one in found.items()}

    async def start(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, str]:
        results = await self._admin.alter_partition_reassignments(targets)
        return {
            partition: error.message for partition, error in results.errors().items() if error.code not in UNCERTAIN
        }

    async def cancel(self, partitions: Collection[TopicPartition]) -> None:
        results = await self._admin.alter_partition_reassignments(dict.fromkeys(partitions))
        for error in results.errors().values():
            if error.code not in (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                raise error

    async def overrides(self, kind: str, names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
        resources = {_resource(kind, name): list(settings) for name in names}
        found = await self._admin.describe_configs(resources)
        for entries in found.values():
            # What was set before and is not known would be taken for nothing, and removed in the end.
            if isinstance(entries, KafkaError) and entries.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise entries
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG if kind == TOPICS else ConfigSource.DYNAMIC_BROKER_CONFIG
        return {
            resource.name: {
                entry.name: entry.value for entry in entries.values() if entry.source is own and entry.value is not None
            }
            for resource, entries in found.items()
            if not isinstance(entries, KafkaError)
        }

    async def alter(self, kind: str, changes: Mapping[str, Settings]) -> None:
        results = await self._admin.incremental_alter_configs({
            _resource(kind, name): [
                AlterConfig(setting, value, AlterOperation.DELETE if value is None else AlterOperation.SET)
                for setting, value in settings.items()
            ]
            for name, settings in changes.items()
        })  # fmt: skip
        for error in results.errors().values():
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise error

    async def elect(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        results = await self._admin.elect_leaders(ElectionType.PREFERRED, list(partitions))
        return {
            partition: str(error)
            for partition, error in results.errors().items()
            if error.code is not ErrorCode.ELECTION_NOT_NEEDED
        }


def _resource(kind: str, name: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC if kind == TOPICS else ConfigResourceType.BROKER, name)


class ZookeeperCarrier:
    """By znodes, as the old tools do: one list at a time, which cannot be cancelled."""

    can_cancel = False

    def __init__(self, store: ZkStore) -> None:
        self._store = store

    async def running(self) -> dict[TopicPartition, tuple[int, ...]]:
        found = await self._store.admin.reassignments() or {}
        return {partition: tuple(replicas) for partition, replicas in found.items()}

    async def start(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, str]:
        try:
            await self._store.admin.request_reassignments(targets)
        except NodeExists:
            raise RebalanceRefused("Another reassignment is listed in /admin/reassign_partitions") from None
        return {}

    async def cancel(self, partitions: Collection[TopicPartition]) -> None:
        raise RebalanceRefused("A reassignment that was begun through ZooKeeper cannot be cancelled")

    async def overrides(self, kind: str, names: Sequence[str], settings: Sequence[str]) -> dict[str, dict[str, str]]:
        found = {}
        for name in names:
            own = await self._store.configs.of_entity(entity_path((kind, name)))
            found[name] = {setting: value for setting, value in own.items() if setting in settings}
        return found

    async def alter(self, kind: str, changes: Mapping[str, Settings]) -> None:
        for name, settings in changes.items():
            await self._change(entity_path((kind, name)), settings)

    async def _change(self, entity: str, settings: Settings) -> None:
        async def edit(before: dict[str, str]) -> dict[str, str] | None:
            after = {key: value for key, value in {**before, **settings}.items() if value is not None}
            return None if after == before else after

        await self._store.configs.edit(entity, edit)

    async def elect(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        try:
            await self._store.admin.request_preferred_elections(list(partitions))
        except NodeExists:
            return dict.fromkeys(partitions, "another preferred election is pending")
        return {}


async def reassigns_by_request(admin: AsyncAdminClient) -> bool:
    """Whether the brokers take reassignments by request (from 2.4 on)."""
    versions = await admin.api_versions()
    return ApiKey.ALTER_PARTITION_REASSIGNMENTS in versions and ApiKey.INCREMENTAL_ALTER_CONFIGS in versions


async def running_targets(admin: AsyncAdminClient) -> dict[TopicPartition, tuple[int, ...]]:
    """What is being reassigned, with the replicas that it is to have.

    Empty for brokers before 2.4, and for who may not ask, and so cannot carry out a plan either.
    """
    if not await reassigns_by_request(admin):
        return {}
    try:
        return await BrokerCarrier(admin).running()
    except KafkaError as error:
        if error.code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return {}
