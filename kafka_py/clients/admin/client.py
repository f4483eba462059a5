"""The admin clients: `AdminClient` for blocking code, `AsyncAdminClient` for asyncio.

    admin = AdminClient({"bootstrap.servers": "localhost:9092"})
    admin.create_topics([NewTopic("topic", 3, 1)]).all()

Calls on several items return a `Results`: each item's value or KafkaError. Calls may be made from several threads (or
tasks) at the same time. Each call is a function over the AdminCore, in one of the files that __init__.py lists, with
its parameters and its docstring.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.clients.admin import (
    acls,
    brokers,
    credentials,
    groups,
    log_dirs,
    offsets,
    quotas,
    records,
    replicas,
    settings,
    tokens,
    topics,
    transactions,
)
from kafka_py.clients.admin.core import AdminCore
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.delegation import blocking, delegated
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.loop import LoopThread

T = TypeVar("T")


class AsyncAdminClient:
    """All admin calls, on the running loop. timeout: in seconds; default.api.timeout.ms when None.

    configs: Kafka's admin settings by name.
    environment: time, chance and network; the machine's own unless given.
    """

    def __init__(self, configs: Mapping[str, Any], *, environment: ClientEnvironment = SYSTEM) -> None:
        self._core = AdminCore(configs, environment)

    @property
    def client_id(self) -> str:
        """client.id, or the generated one."""
        return self._core.client_id

    @property
    def cluster(self) -> Cluster:
        """The cluster, to which the first use connects; for requests that are not admin calls."""
        return self._core.cluster

    create_topics = delegated(topics.create_topics)
    create_partitions = delegated(topics.create_partitions)
    delete_topics = delegated(topics.delete_topics)
    list_topics = delegated(topics.list_topics)
    describe_topics = delegated(topics.describe_topics)

    delete_records = delegated(records.delete_records)
    list_offsets = delegated(offsets.list_offsets)

    describe_configs = delegated(settings.describe_configs)
    incremental_alter_configs = delegated(settings.incremental_alter_configs)
    alter_configs = delegated(settings.alter_configs)

    describe_client_quotas = delegated(quotas.describe_client_quotas)
    alter_client_quotas = delegated(quotas.alter_client_quotas)
    describe_user_scram_credentials = delegated(credentials.describe_user_scram_credentials)
    alter_user_scram_credentials = delegated(credentials.alter_user_scram_credentials)

    describe_acls = delegated(acls.describe_acls)
    create_acls = delegated(acls.create_acls)
    delete_acls = delegated(acls.delete_acls)

    create_delegation_token = delegated(tokens.create_delegation_token)
    renew_delegation_token = delegated(tokens.renew_delegation_token)
    expire_delegation_token = delegated(tokens.expire_delegation_token)
    describe_delegation_token = delegated(tokens.describe_delegation_token)

    describe_cluster = delegated(brokers.describe_cluster)
    controlled_shutdown = delegated(brokers.controlled_shutdown)
    api_versions = delegated(brokers.api_versions)
    offered_versions = delegated(brokers.offered_versions)

    elect_leaders = delegated(replicas.elect_leaders)
    alter_partition_reassignments = delegated(replicas.alter_partition_reassignments)
    list_partition_reassignments = delegated(replicas.list_partition_reassignments)

    describe_log_dirs = delegated(log_dirs.describe_log_dirs)
    describe_replica_log_dirs = delegated(log_dirs.describe_replica_log_dirs)
    alter_replica_log_dirs = delegated(log_dirs.alter_replica_log_dirs)

    list_consumer_groups = delegated(groups.list_consumer_groups)
    describe_consumer_groups = delegated(groups.describe_consumer_groups)
    delete_consumer_groups = delegated(groups.delete_consumer_groups)
    list_consumer_group_offsets = delegated(groups.list_consumer_group_offsets)
    alter_consumer_group_offsets = delegated(groups.alter_consumer_group_offsets)
    delete_consumer_group_offsets = delegated(groups.delete_consumer_group_offsets)
    remove_members_from_consumer_group = delegated(groups.remove_members_from_consumer_group)

    list_transactions = delegated(transactions.list_transactions)
    describe_transactions = delegated(transactions.describe_transactions)
    describe_producers = delegated(transactions.describe_producers)
    abort_transaction = delegated(transactions.abort_transaction)

    know = delegated(AdminCore.know)

    metrics = delegated(AdminCore.metrics)
    close = delegated(AdminCore.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AdminClient:
    """All admin calls, blocking; they run on an event loop in a separate thread.

    configs: Kafka's admin settings by name.
    environment: time, chance and network; the machine's own unless given.
    """

    def __init__(self, configs: Mapping[str, Any], *, environment: ClientEnvironment = SYSTEM) -> None:
        self._core = AsyncAdminClient(configs, environment=environment)
        self._thread = LoopThread(f"kafka-admin-client-thread | {self._core.client_id}")
        self._closed = False

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(coroutine)

    create_topics = blocking(AsyncAdminClient.create_topics)
    create_partitions = blocking(AsyncAdminClient.create_partitions)
    delete_topics = blocking(AsyncAdminClient.delete_topics)
    list_topics = blocking(AsyncAdminClient.list_topics)
    describe_topics = blocking(AsyncAdminClient.describe_topics)

    delete_records = blocking(AsyncAdminClient.delete_records)
    list_offsets = blocking(AsyncAdminClient.list_offsets)

    describe_configs = blocking(AsyncAdminClient.describe_configs)
    incremental_alter_configs = blocking(AsyncAdminClient.incremental_alter_configs)
    alter_configs = blocking(AsyncAdminClient.alter_configs)

    describe_client_quotas = blocking(AsyncAdminClient.describe_client_quotas)
    alter_client_quotas = blocking(AsyncAdminClient.alter_client_quotas)
    describe_user_scram_credentials = blocking(AsyncAdminClient.describe_user_scram_credentials)
    alter_user_scram_credentials = blocking(AsyncAdminClient.alter_user_scram_credentials)

    describe_acls = blocking(AsyncAdminClient.describe_acls)
    create_acls = blocking(AsyncAdminClient.create_acls)
    delete_acls = blocking(AsyncAdminClient.delete_acls)

    create_delegation_token = blocking(AsyncAdminClient.create_delegation_token)
    renew_delegation_token = blocking(AsyncAdminClient.renew_delegation_token)
    expire_delegation_token = blocking(AsyncAdminClient.expire_delegation_token)
    describe_delegation_token = blocking(AsyncAdminClient.describe_delegation_token)

    describe_cluster = blocking(AsyncAdminClient.describe_cluster)
    controlled_shutdown = blocking(AsyncAdminClient.controlled_shutdown)
    api_versions = blocking(AsyncAdminClient.api_versions)
    offered_versions = blocking(AsyncAdminClient.offered_versions)

    elect_leaders = blocking(AsyncAdminClient.elect_leaders)
    alter_partition_reassignments = blocking(AsyncAdminClient.alter_partition_reassignments)
    list_partition_reassignments = blocking(AsyncAdminClient.list_partition_reassignments)

    describe_log_dirs = blocking(AsyncAdminClient.describe_log_dirs)
    describe_replica_log_dirs = blocking(AsyncAdminClient.describe_replica_log_dirs)
    alter_replica_log_dirs = blocking(AsyncAdminClient.alter_replica_log_dirs)

    list_consumer_groups = blocking(AsyncAdminClient.list_consumer_groups)
    describe_consumer_groups = blocking(AsyncAdminClient.describe_consumer_groups)
    delete_consumer_groups = blocking(AsyncAdminClient.delete_consumer_groups)
    list_consumer_group_offsets = blocking(AsyncAdminClient.list_consumer_group_offsets)
    alter_consumer_group_offsets = blocking(AsyncAdminClient.alter_consumer_group_offsets)
    delete_consumer_group_offsets = blocking(AsyncAdminClient.delete_consumer_group_offsets)
    remove_members_from_consumer_group = blocking(AsyncAdminClient.remove_members_from_consumer_group)

    list_transactions = blocking(AsyncAdminClient.list_transactions)
    describe_transactions = blocking(AsyncAdminClient.describe_transactions)
    describe_producers = blocking(AsyncAdminClient.describe_producers)
    abort_transaction = blocking(AsyncAdminClient.abort_transaction)

    metrics = delegated(AsyncAdminClient.metrics)

    def close(self) -> None:
        """Closes the client as AsyncAdminClient.close does, and ends its thread; may be called repeatedly."""
        if not self._closed:
            self._closed = True
            self._run(self._core.close())
            self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
