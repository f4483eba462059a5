"""ACLs by way of brokers, or past them in ZooKeeper (deprecated), with one interface. Source: AclCommand."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_py.base.errors import KafkaError
from kafka_py.cli.acl_admin.acl_options import AUTHORIZERS
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.security.acls.bindings import AclBinding, AclFilter

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.security.acls.keeper import AclKeeper


class AclService(Protocol):
    """What the command does with ACLs; each call raises KafkaError for the first that fails."""

    async def add(self, bindings: Sequence[AclBinding]) -> None: ...

    async def remove(self, filters: Sequence[AclFilter]) -> None: ...

    async def select(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        """The ACLs that any of the filters selects, each once."""
        ...


class BrokerAcls:
    """By way of brokers."""

    def __init__(self, admin: AsyncAdminClient) -> None:
        self._admin = admin

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        (await self._admin.create_acls(bindings)).all()

    async def remove(self, filters: Sequence[AclFilter]) -> None:
        (await self._admin.delete_acls(filters)).all()

    async def select(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        found: dict[AclBinding, None] = {}
        for each in filters:
            found.update(dict.fromkeys(await self._admin.describe_acls(each)))
        return list(found)


class StoredAclsService:
    """Past the brokers."""

    def __init__(self, keeper: AclKeeper) -> None:
        self._keeper = keeper

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        _raise_first(await self._keeper.add(bindings))

    async def remove(self, filters: Sequence[AclFilter]) -> None:
        for removed in await self._keeper.remove(filters):
            _raise_first(removal.error for removal in removed)

    async def select(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        wanted = list(filters)
        bindings = self._keeper.index.bindings()
        return [binding for binding in bindings if any(each.matches(binding) for each in wanted)]


def _raise_first(errors: Iterable[KafkaError | None]) -> None:
    for error in errors:
        if error is not None:
            raise error


@contextlib.asynccontextmanager
async def service_of(options: argparse.Namespace) -> AsyncIterator[AclService]:
    """The way to the ACLs that the options name. Raises CommandFailed, KafkaError, ZkError, MalformedZNode."""
    if options.bootstrap_server:
        from kafka_py.clients.admin.client import AsyncAdminClient

        async with AsyncAdminClient(admin_properties(options)) as admin:
            yield BrokerAcls(admin)
        return
    from kafka_py.base.chance import Chance
    from kafka_py.base.clock import SYSTEM_CLOCK
    from kafka_py.cli.common.zookeeper_connection import connected
    from kafka_py.security.acls.keeper import AclKeeper
    from kafka_py.security.zookeeper.protections import acls_protection

    connect = zookeeper_of(options)
    protection = acls_protection(os.environ, authorizer_properties(options), options.zk_tls_config_file)
    async with connected(connect, protection) as store:
        keeper = AclKeeper(store.acls, SYSTEM_CLOCK, Chance())
        try:
            await keeper.start()
            yield StoredAclsService(keeper)
        finally:
            await keeper.close()


def zookeeper_of(options: argparse.Namespace) -> str:
    """The connect string. Raises CommandFailed if it is not there, or for an authorizer that is not Apache's own."""
    if options.authorizer not in (None, *AUTHORIZERS):
        raise CommandFailed(f"the class {options.authorizer} cannot be loaded, only {AUTHORIZERS[0]} is known")
    pairs = authorizer_properties(options)
    connect = pairs.get("authorizer.zookeeper.url") or pairs.get("zookeeper.connect")
    if not connect:
        raise CommandFailed("--authorizer-properties has no zookeeper.connect=host:port")
    return connect


def authorizer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The pairs of --authorizer-properties."""
    return dict(pair.strip().split("=", 1) for pair in options.authorizer_properties if "=" in pair)
