"""What zookeeper-security-migration.sh does: gives each znode of a cluster the access list of its path.

Source: docs/reference/security/zookeeper.md, section 4; ZkSecurityMigrator.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kafka_py.cli.common.command import CommandFailed
from kafka_py.security.java_properties import java_properties
from kafka_py.security.sasl.jaas import LOGIN_FILE_PROPERTY
from kafka_py.security.zookeeper.protections import command_protection
from kafka_py.security.zookeeper.tls_options import ENABLE, KEYSTORE, SOCKET
from kafka_py.zk.access import ZkAccess, pipelined, raise_first
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.secured.access_lists import access_list_of
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import NoNode, SessionExpired, ZkError, ZkSession

_log = logging.getLogger("kafka.admin.ZkSecurityMigrator")

T = TypeVar("T")

SECURE_ROOTS = (
    "/admin", "/brokers", "/cluster", "/config", "/controller", "/controller_epoch", "/isr_change_notification",
    "/latest_producer_id_block", "/log_dir_event_notification", "/delegation_token", "/kafka-acl-extended",
    "/kafka-acl", "/kafka-acl-changes", "/kafka-acl-extended/prefixed", "/kafka-acl-extended-changes",
)  # fmt: skip
CONTROLLER = "/controller"
OPERATION_TIMEOUT_S = 6.0
"""Of one request, as in Apache Kafka's tool; one that takes longer ends the command."""


class Migration:
    """Sets the access lists of one cluster. is_secure: those of zookeeper.set.acl=true."""

    def __init__(self, session: ZkSession, *, is_secure: bool) -> None:
        self._session = session
        self._is_secure = is_secure
        self._znodes = ZkAccess(session)

    async def run(self, *, checks_paths: bool) -> None:
        """The whole of it. Raises CommandFailed, ZkError."""
        await self._set("/")
        missing = [root for root in SECURE_ROOTS if await self._session.exists(root) is None]
        if missing:
            print(f"Warning: The following secure root paths do not exist in ZooKeeper: {','.join(missing)}")
            print("That might be due to an incorrect chroot is specified when executing the command.")
            if checks_paths:
                print("Exit the command.")
                raise CommandFailed(f"{len(missing)} of the root paths do not exist")
        for root in SECURE_ROOTS:
            if root != CONTROLLER:  # which would stay if it were created here, and no broker could be elected
                await self._znodes.ensure_path(root)
            elif root in missing:
                continue
            await self._set_recursively(root)

    async def _set(self, path: str) -> None:
        """Passes over a znode that is gone. Raises CommandFailed, ZkError."""
        try:
            async with _in_time(path):
                await self._session.set_access(path, access_list_of(path, protected=self._is_secure))
        except NoNode:
            _log.warning("The znode %s no longer exists", path)

    async def _children(self, path: str) -> list[str]:
        async with _in_time(path):
            return await self._znodes.children_or_empty(path)

    async def _set_recursively(self, root: str) -> None:
        """Level by level, many znodes at a time."""
        level = [root]
        while level:
            await _each(self._set, level)
            children = await _each(self._children, level)
            level = [f"{path}/{name}" for path, names in zip(level, children, strict=True) for name in names]


async def _each(work: Callable[[str], Awaitable[T]], paths: Sequence[str]) -> list[T]:
    """The results, in order. Raises the first failure; further paths are then left out."""
    failures: list[Exception] = []

    async def unless_failed(path: str) -> T | None:
        if failures:
            return None
        try:
            return await work(path)
        except Exception as error:
            failures.append(error)
            return None

    results = await pipelined(unless_failed(path) for path in paths)
    raise_first(failures)
    return results  # type: ignore[return-value]


@contextlib.asynccontextmanager
async def _in_time(path: str) -> AsyncIterator[None]:
    """Raises CommandFailed if one operation takes too long."""
    try:
        async with asyncio.timeout(OPERATION_TIMEOUT_S):
            yield
    except TimeoutError:
        raise CommandFailed(f"ZooKeeper did not answer within {OPERATION_TIMEOUT_S:.0f} s, at {path}") from None


def identified(environ: Mapping[str, str], tls_file: str | None) -> SessionProtection:
    """The protection of a session that ZooKeeper knows by a login or a certificate. Raises CommandFailed, ConfigError.

    Without an identity a secured znode could not be changed, and `secure` would lock everyone out.
    """
    protection = command_protection(environ, tls_file, certificate_counts=True)
    if protection.protects:  # which it does only with an identity
        return protection
    file = java_properties(environ).get(LOGIN_FILE_PROPERTY)
    if file is None:
        raise CommandFailed(
            "there is neither a login nor a certificate for ZooKeeper: have KAFKA_OPTS set the system property "
            f"{LOGIN_FILE_PROPERTY}, or name with --zk-tls-config-file a file with at least {ENABLE}, {SOCKET} and "
            f"{KEYSTORE}"
        )
    raise CommandFailed(f"there is no login for ZooKeeper: {protection.login_origin} is missing")


async def migrate(options: argparse.Namespace, protection: SessionProtection) -> None:
    """Carries it out in a session of its own. Raises CommandFailed, ConfigError."""
    is_secure = getattr(options, "zookeeper.acl") == "secure"
    session = KazooSession(
        ConnectString.parse(getattr(options, "zookeeper.connect"), "zookeeper.connect"),
        session_timeout_ms=getattr(options, "zookeeper.session.timeout"),
        connection_timeout_ms=getattr(options, "zookeeper.connection.timeout"),
        protection=replace(protection, protects=is_secure),
    )
    try:
        await session.connect()
        await Migration(session, is_secure=is_secure).run(checks_paths=getattr(options, "enable.path.check"))
    except SessionExpired:
        raise CommandFailed("ZooKeeper session expired while changing ACLs") from None
    except ZkError as error:
        raise CommandFailed(str(error)) from None
    finally:
        await session.close()
