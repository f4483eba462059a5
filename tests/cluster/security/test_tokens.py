"""Delegation tokens at whole brokers, on an in-memory ZooKeeper: made, renewed, ended, used for logins, swept."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.net.principal import Principal
from kafka_py.security.acls.authorization import AllowAll, Asker, Audit
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.security.sasl.server_login import ServerLogin
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper

PREFIX = "listener.name.sasl_plaintext."
ALICE, BOB, EVE = (Principal("User", name) for name in ("alice", "bob", "eve"))
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{PREFIX}plain.sasl.jaas.config": f"{MODULES['PLAIN']} required "
    'user_alice="alice-secret" user_bob="bob-secret" user_eve="eve-secret";',
    f"{PREFIX}scram-sha-256.sasl.jaas.config": f"{MODULES['SCRAM-SHA-256']} required;",
    f"{PREFIX}scram-sha-512.sasl.jaas.config": f"{MODULES['SCRAM-SHA-512']} required;",
    "connection.failed.authentication.delay.ms": "10",
    "delegation.token.secret.key": "token-secret",
}


@contextlib.asynccontextmanager
async def running(zookeeper: FakeZookeeper, changes: Mapping[str, str]) -> AsyncIterator[LocalBroker]:
    with tempfile.TemporaryDirectory() as folder:
        broker = LocalBroker(folder, zookeeper, {**SETTINGS, **changes})
        await broker.start()
        try:
            yield broker
        finally:
            await broker.stop()


def on_token_broker(**changes: str) -> Callable[[Callable[[LocalBroker], Awaitable[None]]], Callable[[], None]]:
    def decorate(test: Callable[[LocalBroker], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            async with running(FakeZookeeper(), changes) as broker:
                await test(broker)

        return lambda: asyncio.run(run())

    return decorate


def plain(broker: LocalBroker, name: str) -> AsyncAdminClient:
    """An admin client that has logged in with a password."""
    return client(broker, "PLAIN", f'username="{name}" password="{name}-secret"')


def by_token(broker: LocalBroker, token: DelegationToken, mechanism: str = "SCRAM-SHA-256", **changes: str) -> Any:
    given = {"username": token.token_id, "password": token.password, "tokenauth": "true", **changes}
    return client(broker, mechanism, " ".join(f'{name}="{value}"' for name, value in given.items()))


def client(broker: LocalBroker, mechanism: str, options: str) -> AsyncAdminClient:
    return AsyncAdminClient(
        {
            "bootstrap.servers": f"127.0.0.1:{broker.server.ports['SASL_PLAINTEXT']}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{MODULES[mechanism]} required {options};",
            "retries": "0",
        }
    )


async def refused(call: Awaitable[object]) -> ErrorCode:
    with pytest.raises(KafkaError) as failed:
        await call
    return failed.value.code


async def principal(broker: LocalBroker, admin: AsyncAdminClient) -> Principal:
    """As whom the broker serves the client."""
    await admin.describe_cluster()
    sockets = broker.server._sockets
    assert sockets is not None
    return [each.principal for each in sockets.connections.values() if each.listener_name == "SASL_PLAINTEXT"][-1]


@on_token_broker()
async def test_a_token_is_made_shown_renewed_and_ended(broker: LocalBroker) -> None:
    async with plain(broker, "alice") as alice, plain(broker, "bob") as bob, plain(broker, "eve") as eve:
        token = await alice.create_delegation_token([BOB], max_lifetime_ms=3_600_000)
        assert (token.owner, token.renewers) == (ALICE, (BOB,))
        assert (token.expires_ms, token.max_ms) == (token.issued_ms + 3_600_000,) * 2
        assert [len(token.token_id), len(token.hmac)] == [22, 64]
        for admin in (alice, bob):
            assert await admin.describe_delegation_token() == [token]
            assert await admin.describe_delegation_token([ALICE, EVE]) == [token]
            assert await admin.describe_delegation_token([EVE]) == []
            assert await admin.describe_delegation_token([]) == []
        ends_ms = await bob.renew_delegation_token(token.hmac, period_ms=1000)
        assert token.issued_ms + 1000 <= ends_ms < token.max_ms
        assert (await alice.describe_delegation_token([BOB]))[0].expires_ms == ends_ms
        for call in (eve.renew_delegation_token, eve.expire_delegation_token):
            assert await refused(call(token.hmac)) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
            assert await refused(call(b"x" * 64)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        assert await refused(eve.create_delegation_token([Principal("Group", "g")])) is ErrorCode.INVALID_PRINCIPAL_TYPE
        await alice.expire_delegation_token(token.hmac)
        assert await alice.describe_delegation_token() == []
        assert await refused(alice.renew_delegation_token(token.hmac)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@on_token_broker()
async def test_a_token_of_others_is_shown_to_whom_acls_allow_it(broker: LocalBroker) -> None:
    asked: list[tuple[Operation, ResourceType, str, Audit]] = []

    class Denying(AllowAll):
        def allows(
            self, who: Asker, operation: Operation, resource_type: ResourceType, name: str,
            audit: Audit = Audit.ALWAYS, /,
        ) -> bool:  # fmt: skip
            asked.append((operation, resource_type, name, audit))
            return False

    async with plain(broker, "alice") as alice, plain(broker, "eve") as eve:
        token = await alice.create_delegation_token()
        assert await eve.describe_delegation_token() == [token]
        broker.server.node.authorizer = Denying()
        assert await alice.describe_delegation_token() == [token]
        assert await eve.describe_delegation_token([EVE]) == []
        assert asked == []
        assert await eve.describe_delegation_token([ALICE]) == []
        assert asked == [(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id, Audit.ALWAYS)]


@on_token_broker()
async def test_a_login_with_a_token_is_served_as_its_owner_and_makes_no_tokens(broker: LocalBroker) -> None:
    async with plain(broker, "alice") as alice:
        token = await alice.create_delegation_token()
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512", "SCRAM-SHA-512"):
            async with by_token(broker, token, mechanism) as admin:
                assert await principal(broker, admin) == ALICE
                for call in (
                    admin.create_delegation_token(),
                    admin.renew_delegation_token(token.hmac),
                    admin.expire_delegation_token(token.hmac),
                    admin.describe_delegation_token(),
                ):
                    assert await refused(call) is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        wrong = ({"password": "wrong"}, {"username": "unknown"}, {"tokenauth": "false"})
        for changes in wrong:
            async with by_token(broker, token, **changes) as admin:
                with pytest.raises(AuthenticationError, match="invalid credentials with SASL mechanism SCRAM-SHA-256"):
                    await admin.describe_cluster()
        await alice.expire_delegation_token(token.hmac)
        async with by_token(broker, token) as admin:
            with pytest.raises(AuthenticationError):
                await admin.describe_cluster()


@on_token_broker()
async def test_whoever_has_not_proven_who_he_is_is_refused(broker: LocalBroker) -> None:
    async with AsyncAdminClient({"bootstrap.servers": f"127.0.0.1:{broker.server.ports['PLAINTEXT']}"}) as admin:
        for call in (
            admin.create_delegation_token([Principal("Group", "g")]),
            admin.renew_delegation_token(b""),
            admin.expire_delegation_token(b""),
            admin.describe_delegation_token(),
        ):
            assert await refused(call) is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize("secret", [{}, {"delegation.token.master.key": "older"}], ids=["none", "only the older"])
def test_without_a_secret_there_are_no_tokens(secret: dict[str, str]) -> None:
    @on_token_broker(**{"delegation.token.secret.key": "", **secret})
    async def run(broker: LocalBroker) -> None:
        assert not [path for path in broker.zookeeper.tree() if path.startswith("/delegation_token")]
        async with plain(broker, "alice") as alice:
            for call in (
                alice.create_delegation_token(),
                alice.renew_delegation_token(b""),
                alice.expire_delegation_token(b""),
                alice.describe_delegation_token(),
            ):
                assert await refused(call) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
            wrong_type = alice.create_delegation_token([Principal("Group", "g")])
            assert await refused(wrong_type) is ErrorCode.INVALID_PRINCIPAL_TYPE

    run()


@on_token_broker(**{"delegation.token.expiry.check.interval.ms": "20"})
async def test_the_controller_removes_expired_tokens(broker: LocalBroker) -> None:
    async with plain(broker, "alice") as alice:
        kept, short = await alice.create_delegation_token(), await alice.create_delegation_token(max_lifetime_ms=1)
        known = broker.server.node.tokens
        assert known is not None
        await broker.until(lambda: len(known.index) == 1)
        assert await alice.describe_delegation_token() == [kept]
        assert f"/delegation_token/tokens/{short.token_id}" not in broker.zookeeper.tree()


def test_brokers_share_tokens_and_only_the_controller_removes_them() -> None:
    async def run() -> None:
        zookeeper, often = FakeZookeeper(), {"delegation.token.expiry.check.interval.ms": "20"}
        async with running(zookeeper, often) as first, running(zookeeper, {**often, "broker.id": "1"}) as second:
            async with plain(first, "alice") as alice:
                token = await alice.create_delegation_token()
            known = second.server.node.tokens
            assert known is not None
            await second.until(lambda: known.index.of(token.token_id))
            async with by_token(second, token) as admin:
                assert await principal(second, admin) == ALICE
            async with plain(second, "alice") as alice:
                await alice.expire_delegation_token(token.hmac, period_ms=0)
            await second.until(lambda: not len(known.index))
            sweeps = [each.server._tokens._sweeps is not None for each in (first, second)]
            assert sweeps == [each.server.node.controller.is_active for each in (first, second)]
            await zookeeper_gone(first, second)

    async def zookeeper_gone(first: LocalBroker, second: LocalBroker) -> None:
        """When the controller's session has ended, the other broker removes expired tokens."""
        controller, other = (first, second) if first.server.node.controller.is_active else (second, first)
        controller.session.expire()
        await other.until(lambda: first.server.node.controller.is_active or second.server.node.controller.is_active)
        await other.until(
            lambda: [each.server._tokens._sweeps is not None for each in (controller, other)]
            == [each.server.node.controller.is_active for each in (controller, other)]
        )

    asyncio.run(run())


@on_token_broker(**{"connections.max.reauth.ms": "60000"})
async def test_a_session_ends_with_its_token(broker: LocalBroker) -> None:
    async with plain(broker, "alice") as alice:
        token = await alice.create_delegation_token(max_lifetime_ms=30_000)
        async with by_token(broker, token) as admin:
            await admin.describe_cluster()
            sockets = broker.server._sockets
            assert sockets is not None
            sessions = [getattr(each.on_request, "__self__", None) for each in sockets.connections.values()]
            lifetimes = sorted(
                each._session.lifetime_ms for each in sessions if isinstance(each, ServerLogin) and each._session
            )
            assert 0 < lifetimes[0] <= 30_000 < lifetimes[-1] <= 60_000


@on_token_broker(**{"connections.max.reauth.ms": "1200"})
async def test_a_session_is_renewed_as_long_as_its_token_exists(broker: LocalBroker) -> None:
    sockets = broker.server._sockets
    assert sockets is not None
    traffic = sockets._served["SASL_PLAINTEXT"].traffic
    async with plain(broker, "alice") as alice:
        token = await alice.create_delegation_token()
    async with by_token(broker, token) as admin:
        while traffic.successful_reauthentications < 2:
            await admin.describe_cluster()
        async with plain(broker, "alice") as alice:
            await alice.expire_delegation_token(token.hmac)
        with pytest.raises(KafkaError):
            while True:
                await admin.describe_cluster()
        assert traffic.failed_reauthentications + traffic.failed_authentications > 0
