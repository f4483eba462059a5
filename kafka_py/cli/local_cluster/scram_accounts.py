"""SCRAM users of a new cluster, written to ZooKeeper before its first broker starts: brokers log in as one of them.

Source: KIP-84; docs/reference/zookeeper.md, section 14.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster.security import SCRAM

if TYPE_CHECKING:
    from kafka_py.zk.secured.protection import SessionProtection

SESSION_TIMEOUT_MS = 30_000


def create_accounts(
    connect: str, passwords: Mapping[str, str], timeout_s: float, protection: SessionProtection | None = None
) -> None:
    """Stores credentials of every SCRAM mechanism for these users; the chroot is created where it is missing.

    protection: of the session with ZooKeeper; None for a plain one.
    In a thread of its own, for the caller may have an event loop. Raises CommandFailed.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _create(connect, passwords, timeout_s, protection)).result()


async def _create(
    connect: str, passwords: Mapping[str, str], timeout_s: float, protection: SessionProtection | None
) -> None:
    from kafka_py.cli.config_admin.scram_credentials import stored_credential
    from kafka_py.zk.config_znodes import entity_path
    from kafka_py.zk.kazoo_session import KazooSession
    from kafka_py.zk.secured.protection import UNSECURED
    from kafka_py.zk.session import ZkError
    from kafka_py.zk.store import ZkStore

    session = KazooSession(connect, session_timeout_ms=SESSION_TIMEOUT_MS, connection_timeout_ms=int(timeout_s * 1000),
                           create_chroot=True, protection=protection or UNSECURED)  # fmt: skip
    try:
        await session.connect()
        store = ZkStore(session)
        for user, password in passwords.items():
            fresh = {name: stored_credential(name, f"password={password}").text() for name in SCRAM}

            async def with_fresh(present: dict[str, str], fresh: dict[str, str] = fresh) -> dict[str, str]:
                return {**present, **fresh}

            await store.configs.edit(entity_path(("users", user)), with_fresh)
    except ZkError as error:
        raise CommandFailed(f"The users of the cluster cannot be stored in ZooKeeper at {connect}: {error}") from None
    finally:
        await session.close()
