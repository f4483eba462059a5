"""zookeeper-security-migration.sh: what it sets, and when it refuses."""

import asyncio

import pytest

from kafka_py.cli.acl_admin import znode_migration
from kafka_py.cli.acl_admin.znode_migration import SECURE_ROOTS, Migration, identified
from kafka_py.cli.acl_admin.zookeeper_security_migration import main, parser
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.testing.secured_zookeeper import login_file
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.access import PIPELINE_WIDTH
from kafka_py.zk.secured.access_lists import CREATOR_AND_READERS, CREATOR_ONLY, OPEN
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import ConnectTimeout, NoAuth, ZkSession
from kafka_py.zk.store import ZkStore


async def migrated(server: FakeZookeeper, *, is_secure: bool, checks_paths: bool = False) -> None:
    session = server.session()
    await session.connect()
    try:
        await Migration(session, is_secure=is_secure).run(checks_paths=checks_paths)
    finally:
        await session.close()


async def fill(server: FakeZookeeper) -> ZkSession:
    """What a broker creates, and some of its contents."""
    session = server.session()
    await session.connect()
    store = ZkStore(session)
    await store.brokers.ensure_top_level_paths()
    for path in ("/config/users/alice", "/config/brokers/0", "/config/topics/t", "/delegation_token/tokens/x",
                 "/brokers/topics/t/partitions/0/state", "/feature", "/consumers/g/offsets/t/0"):  # fmt: skip
        await store.znodes.create_recursive(path)
    return session


def test_every_znode_of_the_cluster_gets_its_list_and_others_keep_theirs():
    async def run():
        server = FakeZookeeper()
        session = await fill(server)
        await migrated(server, is_secure=True)
        lists = {path: (await session.access(path))[0] for path in server.tree()}
        assert {path for path, entries in lists.items() if entries == CREATOR_ONLY} == {
            "/config/users", "/config/users/alice", "/config/brokers", "/config/brokers/0", "/delegation_token/tokens",
            "/delegation_token/tokens/x",
        }  # fmt: skip
        untouched = {path for path, entries in lists.items() if entries == OPEN}
        assert untouched == {
            path for path in server.tree() if path.startswith(("/consumers", "/feature", "/zookeeper"))
        }
        assert lists["/"] == lists["/brokers/topics/t/partitions/0/state"] == CREATOR_AND_READERS
        assert all(root in lists for root in SECURE_ROOTS if root != "/controller")
        assert "/controller" not in lists
        await migrated(server, is_secure=False)
        assert {(await session.access(path))[0] for path in server.tree()} == {OPEN}
        assert (await session.access("/config/users/alice"))[1].aversion == 2

    asyncio.run(run())


def test_missing_roots_are_a_warning_and_with_the_check_an_error(capsys):
    async def run():
        server = FakeZookeeper()
        with pytest.raises(CommandFailed):
            await migrated(server, is_secure=True, checks_paths=True)
        assert "/admin" not in server.tree()
        await migrated(server, is_secure=True)
        assert "/admin" in server.tree()
        session = await fill(server)
        await session.create("/controller")
        capsys.readouterr()
        await migrated(server, is_secure=True, checks_paths=True)
        assert (await session.access("/controller"))[0] == CREATOR_AND_READERS

    asyncio.run(run())
    assert capsys.readouterr().out == ""


def test_what_it_prints_of_missing_roots(capsys):
    with pytest.raises(CommandFailed):
        asyncio.run(migrated(FakeZookeeper(), is_secure=True, checks_paths=True))
    assert capsys.readouterr().out.splitlines() == [
        f"Warning: The following secure root paths do not exist in ZooKeeper: {','.join(SECURE_ROOTS)}",
        "That might be due to an incorrect chroot is specified when executing the command.",
        "Exit the command.",
    ]


def test_it_needs_an_identity(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    words = ["--zookeeper.acl", "secure", "--zookeeper.connect", "h:1"]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.startswith("ERROR: ")
    assert "java.security.auth.login.config" in error
    assert "zookeeper.ssl.keystore.location" in error
    monkeypatch.setenv("KAFKA_OPTS", login_file(tmp_path / "jaas.conf", "a", "hush", section="Other"))
    assert main(words) == 1
    assert "section Client of the login file" in capsys.readouterr().err


def test_the_value_is_secure_or_unsecure(tmp_path, monkeypatch):
    options = login_file(tmp_path / "jaas.conf", "a", "hush")
    assert identified({"KAFKA_OPTS": options}, None).login is not None
    monkeypatch.setenv("KAFKA_OPTS", options)
    for words in (["--zookeeper.acl", "maybe"], ["--zookeeper.connect", "h:1"]):
        with pytest.raises(UsageError):
            main(words)


@pytest.mark.parametrize("direction", ["secure", "unsecure"])
def test_what_it_creates_has_the_lists_of_its_direction(monkeypatch, direction):
    """Roots are there from their creation on with the list that they get: nobody else can write them in between."""
    made = []

    class Unreachable:
        def __init__(self, _connect, *, protection, **_):
            made.append(protection)

        async def connect(self):
            raise ConnectTimeout()

        async def close(self):
            made.append("closed")

    monkeypatch.setattr(znode_migration, "KazooSession", Unreachable)
    options = parser().parse(["--zookeeper.acl", direction])
    with pytest.raises(CommandFailed, match="cannot connect"):
        asyncio.run(znode_migration.migrate(options, SessionProtection(protects=True)))
    assert made == [SessionProtection(protects=direction == "secure"), "closed"]


def test_an_operation_that_is_not_answered_ends_it(monkeypatch):
    async def run():
        server = FakeZookeeper()
        session = server.session()
        await session.connect()
        session.cut()
        monkeypatch.setattr(znode_migration, "OPERATION_TIMEOUT_S", 0.01)
        with pytest.raises(CommandFailed, match="did not answer"):
            await Migration(session, is_secure=True).run(checks_paths=False)

    asyncio.run(run())


@pytest.mark.parametrize("method", ["set_access", "children"])
def test_after_a_failure_nothing_more_is_asked_for(method):
    """With very many znodes below a root, each of which takes the time limit when ZooKeeper does not answer."""

    async def run():
        server = FakeZookeeper()
        session = await fill(server)
        for number in range(500):
            await session.create(f"/config/topics/t-{number}")
        asked = []

        async def refuse_topics(path, *rest):
            if not path.startswith("/config/topics/"):
                return await really(path, *rest)
            asked.append(path)
            await asyncio.sleep(0)
            raise NoAuth(path)

        really = getattr(session, method)
        setattr(session, method, refuse_topics)
        with pytest.raises(NoAuth, match="/config/topics/"):
            await Migration(session, is_secure=True).run(checks_paths=False)
        assert len(asked) <= PIPELINE_WIDTH

    asyncio.run(run())


def test_a_controller_that_vanishes_meanwhile_is_not_replaced_by_a_znode_that_nobody_removes():
    """A persistent /controller would keep every broker from the election."""

    async def run():
        server = FakeZookeeper()
        session = await fill(server)
        await session.create("/controller", b"{}", ephemeral=True)
        tool = server.session()
        await tool.connect()
        migration = Migration(tool, is_secure=True)
        real = migration._set_recursively

        async def with_a_broker_that_dies(root: str) -> None:
            if root == "/config":
                await session.close()
            await real(root)

        migration._set_recursively = with_a_broker_that_dies
        await migration.run(checks_paths=False)
        assert "/controller" not in server.tree()

    asyncio.run(run())
