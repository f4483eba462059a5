"""Clients that brokers no longer accept, and clients of another security protocol: every call says so, and ends."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sasl_brokers import PLAIN_MODULE, SCRAM_MODULE

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.credentials import ScramPassword
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import AuthenticationError, ClientTimeout
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.clients.security import security_of
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.api_versions import ApiVersionsRequest

SESSION_MS = 1500
ENDS_WITHIN_S = 8.0
"""Much less than any time-out of a client, and more than a session."""
T0 = TopicPartition("t", 0)

LOGINS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "connections.max.reauth.ms": str(SESSION_MS),
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


Scenario = Callable[[LocalBroker], Awaitable[None]]


def at_broker(settings: dict[str, str]) -> Callable[[Scenario], Callable[[], None]]:
    """Turns a coroutine function of a running broker into a test."""

    def decorate(scenario: Scenario) -> Callable[[], None]:
        async def run(folder: str) -> None:
            broker = LocalBroker(folder, FakeZookeeper(), settings)
            await broker.start()
            try:
                await scenario(broker)
            finally:
                await broker.stop()

        return in_folder(run, scenario)

    return decorate


def place(broker: LocalBroker, listener: str) -> dict[str, str]:
    return {"bootstrap.servers": f"localhost:{broker.server.ports[listener]}"}


def alice(broker: LocalBroker) -> dict[str, str]:
    entry = f'{SCRAM_MODULE} required username="alice" password="first";'
    return {
        **place(broker, "SASL_PLAINTEXT"), "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": entry,
    }  # fmt: skip


async def set_password(broker: LocalBroker, password: str) -> None:
    async with AsyncAdminClient(place(broker, "PLAINTEXT")) as admin:
        given = {"alice": {"SCRAM-SHA-256": ScramPassword(password, iterations=4096)}}
        (await admin.alter_user_scram_credentials(given)).all()


async def failure_of(call: Callable[[], Awaitable[Any]]) -> KafkaError:
    """What a call that is made again and again fails with at last."""
    async with asyncio.timeout(ENDS_WITHIN_S):
        while True:
            try:
                await call()
            except KafkaError as error:
                return error
            await asyncio.sleep(0.01)


async def is_refused(broker: LocalBroker, call: Callable[[], Awaitable[Any]]) -> KafkaError:
    """The call works until the password is another one; then it fails as soon as its session is over."""
    await call()
    await set_password(broker, "second")
    error = await failure_of(call)
    assert error.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "due to invalid credentials with SASL mechanism SCRAM-SHA-256" in str(error)
    return error


def refused(scenario: Callable[[LocalBroker, dict[str, str]], Awaitable[None]]) -> Callable[[], None]:
    async def run(broker: LocalBroker) -> None:
        await set_password(broker, "first")
        await broker.create_topic("t")
        await scenario(broker, alice(broker))

    run.__name__ = scenario.__name__
    return at_broker(LOGINS)(run)


@pytest.mark.parametrize("settings", [{}, {"enable.idempotence": "true"}, {"acks": "0"}], ids=str)
def test_what_a_producer_sends_fails_with_the_reason(settings: dict[str, str]) -> None:
    """Not after delivery.timeout.ms, with an error that says no more than that; and it works again afterwards."""

    async def run(broker: LocalBroker, client: dict[str, str]) -> None:
        async with AsyncProducer({**client, **settings}) as producer:

            async def send() -> None:
                await (await producer.send("t", b"v"))

            assert isinstance(await is_refused(broker, send), AuthenticationError)
            await set_password(broker, "first")
            async with asyncio.timeout(ENDS_WITHIN_S):
                while True:
                    try:
                        await send()
                        break
                    except AuthenticationError:
                        await asyncio.sleep(0.05)

    refused(run)()


@refused
async def test_a_transaction_fails_with_the_reason(broker: LocalBroker, client: dict[str, str]) -> None:
    async with AsyncProducer({**client, "transactional.id": "x"}) as producer:
        await producer.init_transactions()

        async def transact() -> None:
            await producer.begin_transaction()
            await producer.send("t", b"v")
            await producer.commit_transaction()

        await is_refused(broker, transact)


@refused
async def test_a_consumer_without_a_group_does_not_poll_in_vain(broker: LocalBroker, client: dict[str, str]) -> None:
    async with AsyncConsumer(client) as consumer:
        await consumer.assign([T0])
        await consumer.seek_to_beginning()
        poll = lambda: consumer.poll(0.2)  # noqa: E731
        assert isinstance(await is_refused(broker, poll), AuthenticationError)
        assert isinstance(await failure_of(poll), AuthenticationError)  # not only once
        await set_password(broker, "first")
        await broker.produce("t", batch(b"v"))
        found: list[bytes | None] = []
        async with asyncio.timeout(ENDS_WITHIN_S):
            while not found:
                try:
                    found += [record.value for record in await consumer.poll(0.2)]
                except AuthenticationError:
                    await asyncio.sleep(0.05)
        for _ in range(3):
            assert not await consumer.poll(0.1)  # what was refused once is not reported later


@refused
async def test_a_member_of_a_group_learns_it_from_poll(broker: LocalBroker, client: dict[str, str]) -> None:
    async with AsyncConsumer({**client, "group.id": "g"}) as consumer:
        await consumer.subscribe(["t"])
        assert isinstance(await is_refused(broker, lambda: consumer.poll(0.2)), AuthenticationError)


def test_a_member_that_is_refused_leaves_no_error_that_nobody_took(caplog: pytest.LogCaptureFixture) -> None:
    async def run(broker: LocalBroker, client: dict[str, str]) -> None:
        await set_password(broker, "second")
        async with AsyncConsumer({**client, "group.id": "g"}) as consumer:
            await consumer.subscribe(["t"])
            await failure_of(lambda: consumer.poll(0.2))
        gc.collect()

    for _ in range(3):
        refused(run)()
    assert "never retrieved" not in caplog.text


@refused
async def test_other_calls_say_it_at_once(broker: LocalBroker, client: dict[str, str]) -> None:
    async with AsyncAdminClient(client) as admin, AsyncConsumer({**client, "group.id": "g"}) as consumer:
        await is_refused(broker, admin.describe_user_scram_credentials)
        await failure_of(admin.list_topics)
        for call in (
            lambda: consumer.end_offsets([T0]), lambda: consumer.committed([T0]), lambda: consumer.partitions_for("t"),
        ):  # fmt: skip
            begun = time.monotonic()
            assert (await failure_of(call)).code is ErrorCode.SASL_AUTHENTICATION_FAILED
            assert time.monotonic() - begun < ENDS_WITHIN_S


@at_broker({})
async def test_a_login_at_a_listener_without_logins_names_the_setting(broker: LocalBroker) -> None:
    entry = f'{PLAIN_MODULE} required username="a" password="b";'
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": entry}
    async with AsyncAdminClient({**place(broker, "PLAINTEXT"), **login}) as admin:
        with pytest.raises(AuthenticationError, match=r"takes no logins: security\.protocol has to be"):
            await admin.list_topics()


SHORT = {"default.api.timeout.ms": "1500", "request.timeout.ms": "1000"}
HINT = "may have another security protocol"


@at_broker(LOGINS)
async def test_without_a_login_every_call_that_ends_has_a_hint(broker: LocalBroker) -> None:
    client = {**place(broker, "SASL_PLAINTEXT"), "max.block.ms": "1500"}
    async with AsyncAdminClient({**client, **SHORT}) as admin:
        with pytest.raises(ClientTimeout, match=HINT):
            await admin.list_topics()
    async with AsyncConsumer({**client, **SHORT, "group.id": "g"}) as consumer:
        with pytest.raises(ClientTimeout, match=HINT):
            await consumer.end_offsets([T0])
        with pytest.raises(ClientTimeout, match=HINT):
            await consumer.committed([T0])
    async with AsyncProducer({**client, "transactional.id": "x"}) as producer:
        with pytest.raises(ClientTimeout, match=HINT):
            await producer.init_transactions()
    async with AsyncProducer(client) as producer:
        with pytest.raises(ClientTimeout, match=HINT):
            await producer.send("t", b"v")


def test_a_plain_client_of_a_listener_with_tls_has_a_hint_and_the_reverse(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path)
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0", **files.broker()}

    @at_broker(settings)
    async def scenario(broker: LocalBroker) -> None:
        for listener, client in (("SSL", {}), ("PLAINTEXT", files.client())):
            async with AsyncAdminClient({**place(broker, listener), **SHORT, **client}) as admin:
                with pytest.raises(ClientTimeout, match=HINT):
                    await admin.list_topics()

    scenario()


def test_a_record_that_is_damaged_on_the_way_is_no_refusal(tmp_path: Path) -> None:
    """Only before the first response may an error of TLS be about certificates; later the request is sent again."""
    files = CertificateFiles(tmp_path)

    @at_broker({"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0", **files.broker()})
    async def scenario(broker: LocalBroker) -> None:
        options = ClientOptions.parse({**place(broker, "SSL"), **files.client()})
        security = security_of(options, ClientEnvironment())
        wire = await BrokerConnection.connect("localhost", broker.server.ports["SSL"], security=security)
        await wire.negotiate()
        lost = wire.send_nowait(ApiVersionsRequest(), 0)
        wire._transport._incoming.write(b"\x17\x03\x03\x00\x40" + bytes(64))  # type: ignore[attr-defined]
        wire._on_readable()
        with pytest.raises(ConnectionLost, match="broken off") as failed:
            await lost
        assert not isinstance(failed.value, AuthenticationFailed)

    scenario()


def test_the_alert_of_a_listener_with_tls_ends_a_plain_client_at_once() -> None:
    """Apache Kafka answers bytes that are no TLS with an alert; kafka_py only closes."""

    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(bytes.fromhex("15030300020250"))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with AsyncAdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}) as admin:
            with pytest.raises(AuthenticationError, match=r"has TLS, this client.s security\.protocol has not"):
                await admin.list_topics()
        server.close()

    asyncio.run(asyncio.wait_for(run(), ENDS_WITHIN_S))
