"""A command's session with ZooKeeper, for those that work past the brokers (--zookeeper, deprecated)."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.zk.secured.protection import SessionProtection
    from kafka_py.zk.store import ZkStore

SESSION_TIMEOUT_MS = 30_000


@contextlib.asynccontextmanager
async def connected(connect: str, protection: SessionProtection | None = None) -> AsyncIterator[ZkStore]:
    """What a connect string leads to, until the block ends; its chroot must exist.

    protection: unless given, what the system properties in KAFKA_OPTS and the login file that they name say.
    Raises ConfigError for a malformed connect string and for these, ZkError, and what the block raises.
    """
    from kafka_py.security.zookeeper.protections import command_protection
    from kafka_py.zk.configs import ConnectString
    from kafka_py.zk.kazoo_session import KazooSession
    from kafka_py.zk.store import ZkStore

    logging.getLogger("kafka_py.zk").setLevel(logging.ERROR)  # the failure says in one line what each attempt would
    servers = ConnectString.parse(connect, "zookeeper")
    session = KazooSession(
        servers, session_timeout_ms=SESSION_TIMEOUT_MS, create_chroot=False,
        protection=command_protection(os.environ) if protection is None else protection,
    )  # fmt: skip
    try:
        await session.connect()
        yield ZkStore(session)
    finally:
        await session.close()


def on_zookeeper(
    connect: str, work: Callable[[ZkStore], Awaitable[None]], failure: Callable[[str], Exception],
    protection: SessionProtection | None = None,
) -> None:  # fmt: skip
    """Runs `work` in a session of its own. failure: makes the command's exception of what ZooKeeper
    said, or of a znode that cannot be read. protection: as `connected` has it.

    Raises ConfigError as `connected` does, and what the work raises.
    """
    import asyncio

    from kafka_py.zk.schema import MalformedZNode
    from kafka_py.zk.session import ZkError

    async def run() -> None:
        try:
            async with connected(connect, protection) as store:
                await work(store)
        except (ZkError, MalformedZNode) as error:
            raise failure(str(error)) from None

    asyncio.run(run())
