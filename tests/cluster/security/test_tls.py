"""TLS at a whole broker, and between brokers, on an in-memory ZooKeeper."""

import asyncio
import contextlib
import logging
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.resources import AlterConfig, AlterOperation, ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.security.tls.listener_tls import ListenerTls
from kafka_py.testing.certificate_files import HOSTS, CertificateFiles
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest

BOTH = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
MUTUAL = {"listener.name.ssl.ssl.client.auth": "required"}


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return CertificateFiles(tmp_path / "certificates")


@contextlib.asynccontextmanager
async def running(
    folder: Path, settings: Mapping[str, str], zookeeper: FakeZookeeper | None = None
) -> AsyncIterator[LocalBroker]:
    broker = LocalBroker(str(folder), zookeeper or FakeZookeeper(), settings)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


def at(broker: LocalBroker) -> dict[str, str]:
    return {"bootstrap.servers": f"localhost:{broker.server.ports['SSL']}", "request.timeout.ms": "5000"}


def listener_tls(broker: LocalBroker) -> ListenerTls:
    tls = broker.server._logins.tls
    found = None if tls is None else tls.listener("SSL")
    assert found is not None
    return found


async def round_trip(broker: LocalBroker, client: Mapping[str, str]) -> None:
    """A topic, records of many sizes written, and read again."""
    values = [b"x" * size for size in (0, 1, 100, 70_000, 400_000)] * 3
    async with AsyncAdminClient({**at(broker), **client}) as admin:
        (await admin.create_topics([NewTopic("t", 1, 1)])).all()
    async with AsyncProducer({**at(broker), **client, "linger.ms": "5"}) as producer:
        await asyncio.gather(*[producer.send("t", value) for value in values])
    async with AsyncConsumer({**at(broker), **client, "auto.offset.reset": "earliest"}) as consumer:
        await consumer.assign([TopicPartition("t", 0)])
        found: list[bytes | None] = []
        async with asyncio.timeout(30):
            while len(found) < len(values):
                found += [record.value for record in await consumer.poll(1.0)]
    assert sorted(found, key=lambda value: len(value or b"")) == sorted(values, key=len)


def test_clients_work_over_tls_and_are_named_by_their_certificates(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        rules = {"ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/U,DEFAULT"}
        async with running(tmp_path, {**BOTH, **MUTUAL, **rules, **files.broker()}) as broker:
            await round_trip(broker, files.client("alice"))
            async with AsyncAdminClient({**at(broker), **files.client("bob")}) as admin:
                await admin.list_topics()
                sockets = broker.server._sockets
                assert sockets is not None
                names = {str(one.principal) for one in sockets.connections.values() if one.listener_name == "SSL"}
                assert names == {"User:BOB"}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("groups", "rsa_bits", "threads"),
    [("X25519", 0, 0), ("P-256", 2048, 0), ("P-384", 0, 2), ("ffdhe8192", 0, 2), ("P-384:X25519", 0, 2),
     ("X25519", 3072, 2)],
)  # fmt: skip
def test_openssl_connects_with_any_group_and_long_work_is_done_in_threads(
    tmp_path: Path, files: CertificateFiles, groups: str, rsa_bits: int, threads: int
) -> None:
    async def run() -> int:
        async with running(tmp_path, {**BOTH, **files.broker(rsa_bits=rsa_bits)}) as broker:
            tls = broker.server._logins.tls
            assert tls is not None
            pool, submitted = tls.executor(), []
            submit = pool.submit
            setattr(pool, "submit", lambda *given: (submitted.append(given), submit(*given))[1])  # noqa: B010
            client = await asyncio.create_subprocess_exec(
                "openssl", "s_client", "-connect", f"localhost:{broker.server.ports['SSL']}", "-tls1_3", "-quiet",
                "-groups", groups, "-CAfile", str(files.authority_pem), "-verify_return_error",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            assert client.stdin is not None and client.stdout is not None
            try:
                async with asyncio.timeout(20):
                    client.stdin.write(encode_request(ApiVersionsRequest(), 0, 77, "openssl"))
                    answer = await client.stdout.readexactly(8)
                assert int.from_bytes(answer[4:]) == 77
            finally:
                client.kill()
                await client.wait()
            return len(submitted)

    assert asyncio.run(run()) == threads


def refused(broker: LocalBroker, client: Mapping[str, str]) -> "asyncio.Future[str]":
    async def ask() -> str:
        with pytest.raises(AuthenticationError) as found:
            async with AsyncAdminClient({**at(broker), **client}) as admin:
                await admin.list_topics()
        return str(found.value)

    return asyncio.ensure_future(ask())


def test_certificates_that_do_not_fit_are_errors_at_once(
    tmp_path: Path, files: CertificateFiles, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def run() -> None:
        stranger = CertificateFiles(tmp_path / "strangers")
        async with running(tmp_path, {**BOTH, **MUTUAL, **files.broker()}) as broker:
            assert "requires a certificate" in await refused(broker, files.client())
            assert "refused" in await refused(broker, stranger.client("mallory"))
            assert "cannot verify" in await refused(
                broker, {**files.client(), **stranger.keystore("m", stranger.issue("m"))}
            )
            metrics = broker.server._sockets._served["SSL"].traffic  # type: ignore[union-attr]
            assert metrics.failed_authentications == 3

    asyncio.run(run())
    assert any("Failed authentication with 127.0.0.1" in each.getMessage() for each in caplog.records)
    assert "certificate-secret" not in caplog.text


def test_no_client_tries_again_for_ever(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        async with running(tmp_path, {**BOTH, **MUTUAL, **files.broker()}) as broker:
            wrong = {**at(broker), **files.client()}
            async with AsyncProducer(wrong) as producer:
                with pytest.raises(AuthenticationError):
                    await producer.send("t", b"v")
            async with AsyncConsumer({**wrong, "group.id": "g"}) as consumer:
                await consumer.subscribe(["t"])
                with pytest.raises(AuthenticationError):
                    await consumer.poll(20.0)
            async with AsyncConsumer(wrong) as consumer:
                await consumer.assign([TopicPartition("t", 0)])
                with pytest.raises(AuthenticationError):
                    await consumer.poll(20.0)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_logins_over_tls(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{module} user_alice="alices";',
            **files.broker(),
        }
        async with running(tmp_path, settings) as broker:
            client = {
                **files.client(), "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
                "bootstrap.servers": f"localhost:{broker.server.ports['SASL_SSL']}",
            }  # fmt: skip
            login = {"sasl.jaas.config": f'{module} username="alice" password="alices";'}
            async with AsyncAdminClient({**client, **login}) as admin:
                await admin.list_topics()
                sockets = broker.server._sockets
                assert sockets is not None
                names = {str(one.principal) for one in sockets.connections.values() if one.listener_name == "SASL_SSL"}
                assert names == {"User:alice"}
            login = {"sasl.jaas.config": f'{module} username="alice" password="wrong";'}
            with pytest.raises(AuthenticationError, match="Invalid username or password"):
                async with AsyncAdminClient({**client, **login}) as admin:
                    await admin.list_topics()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("hosts", "days", "words"),
    [
        (("elsewhere.example",), (-1, 10), "not valid for 'localhost'"),
        (HOSTS, (-10, -5), "has expired"),
        (HOSTS, (5, 10), "not yet valid"),
    ],
)
def test_brokers_with_a_bad_certificate_are_refused(
    tmp_path: Path, files: CertificateFiles, hosts: tuple[str, ...], days: tuple[float, float], words: str
) -> None:
    async def run() -> None:
        own = files.keystore("bad", files.issue("bad", hosts, days=days))
        async with running(tmp_path, {**BOTH, **files.trust(), **own}) as broker:
            assert words in await refused(broker, files.client())
            if "valid for" in words:
                await round_trip(broker, {**files.client(), "ssl.endpoint.identification.algorithm": ""})

    asyncio.run(run())


def test_brokers_copy_from_each_other_over_tls(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        between = {
            "listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL", "ssl.client.auth": "required",
            "default.replication.factor": "2", "min.insync.replicas": "2", **files.broker(),
        }  # fmt: skip
        zookeeper = FakeZookeeper()
        brokers = [
            Secured(str(tmp_path / str(each)), zookeeper, {**between, "broker.id": str(each)}) for each in range(2)
        ]
        for broker in brokers:
            broker.files_of_clients = files.client("tests")
            await broker.start()
        client = {"bootstrap.servers": f"localhost:{brokers[0].port}", **files.client("alice")}
        async with AsyncAdminClient(client) as admin:
            (await admin.create_topics([NewTopic("t", 2, 2)])).all()
        async with AsyncProducer({**client, "acks": "all"}) as producer:
            await asyncio.gather(*[producer.send("t", b"%d" % each) for each in range(100)])
        for broker in reversed(brokers):
            await broker.stop()

    asyncio.run(run())


class Secured(LocalBroker):
    """A broker without a plain listener."""

    files_of_clients: dict[str, str]

    async def connect(self, client_id: str = "test"):  # type: ignore[no-untyped-def]
        from kafka_py.clients.admin.configs import AdminOptions
        from kafka_py.clients.environment import SYSTEM
        from kafka_py.clients.security import security_of
        from kafka_py.net.client import BrokerConnection

        options = AdminOptions.parse({"bootstrap.servers": "localhost:1", **self.files_of_clients})
        return await BrokerConnection.connect(
            "localhost", self.port, client_id=client_id, security=security_of(options, SYSTEM)
        )


def test_a_broker_that_does_not_trust_itself_does_not_start(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        stranger = CertificateFiles(tmp_path / "strangers")
        settings = {
            "listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL", **files.broker(),
            **stranger.trust(),
        }  # fmt: skip
        with pytest.raises(ConfigError, match="could not connect to each other"):
            async with running(tmp_path, settings):
                pass

    asyncio.run(run())


def test_a_wrong_store_password_stops_the_start_with_one_line(tmp_path: Path, files: CertificateFiles) -> None:
    async def run() -> None:
        settings = {**BOTH, **files.broker(), "ssl.keystore.password": "wrong", "ssl.key.password": "wrong"}
        with pytest.raises(ConfigError, match=r"ssl\.keystore\.location: .*broker\.p12 cannot be used: the password"):
            async with running(tmp_path, settings):
                pass

    asyncio.run(run())


def test_a_keystore_is_replaced_while_the_broker_runs(tmp_path: Path, files: CertificateFiles) -> None:
    name = "listener.name.ssl.ssl.keystore.location"
    own = ConfigResource(ConfigResourceType.BROKER, "0")

    async def shown(broker: LocalBroker) -> bytes:
        """The certificate of a new connection."""
        context = ssl.create_default_context(cafile=str(files.authority_pem))
        _, writer = await asyncio.open_connection("localhost", broker.server.ports["SSL"], ssl=context)
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return found

    async def run() -> None:
        async with (
            running(tmp_path, {**BOTH, **files.broker()}) as broker,
            AsyncAdminClient({**at(broker), **files.client()}) as admin,
        ):

            async def change(path: str) -> None:
                (await admin.incremental_alter_configs({own: [AlterConfig(name, path)]})).all()

            first = await shown(broker)
            renewed = files.keystore("renewed", files.issue("broker", HOSTS))["ssl.keystore.location"]
            await change(renewed)
            second = await shown(broker)
            assert second != first
            for wrong, words in (
                (files.keystore("other", files.issue("other", HOSTS)), "CN=broker became CN=other"),
                (files.keystore("fewer", files.issue("broker", HOSTS[:1])), "lacks the subject alternative names"),
                ({"ssl.keystore.location": "/none.p12"}, "cannot read /none.p12"),
            ):
                with pytest.raises(KafkaError, match=words) as found:
                    await change(wrong["ssl.keystore.location"])
                assert found.value.code is ErrorCode.INVALID_REQUEST
            assert await shown(broker) == second
            files.keystore("renewed", files.issue("broker", HOSTS))
            os.utime(renewed, (1, 1))
            assert await shown(broker) == second
            await change(renewed)  # the same path again: the file is another one
            await broker.until(lambda: True)
            assert await shown(broker) not in (first, second)
            await admin.list_topics()  # the connection from before the changes
            (settings,) = (await admin.describe_configs([own])).all().values()
            assert settings["ssl.keystore.password"].value is None
            assert settings["ssl.keystore.password"].is_sensitive

    asyncio.run(run())


def test_a_keystore_with_another_password_is_taken_with_it(tmp_path: Path, files: CertificateFiles) -> None:
    own = ConfigResource(ConfigResourceType.BROKER, "0")
    path = tmp_path / "other-password.p12"
    path.write_bytes(files.issue("broker", HOSTS).pkcs12("another-secret"))

    async def run() -> None:
        settings = {**BOTH, **files.broker(), "password.encoder.secret": "encoder"}
        async with (
            running(tmp_path, settings) as broker,
            AsyncAdminClient({**at(broker), **files.client()}) as admin,
        ):

            async def change(password: str) -> None:
                prefix = "listener.name.ssl.ssl."
                wanted = {"keystore.location": str(path), "keystore.password": password, "key.password": password}
                edits = [AlterConfig(prefix + name, value) for name, value in wanted.items()]
                (await admin.incremental_alter_configs({own: edits})).all()

            with pytest.raises(KafkaError, match="the password is another one"):
                await change("a-wrong-one")
            assert await broker.store.configs.of_entity("brokers/0") == {}
            await change("another-secret")
            assert listener_tls(broker)._present.settings.keystore.location == str(path)
            stored = await broker.store.configs.of_entity("brokers/0")
            assert "another-secret" not in str(stored)
            async with AsyncAdminClient({**at(broker), **files.client()}) as again:
                await again.list_topics()
        restarted = LocalBroker(broker.folder, broker.zookeeper, broker.settings)
        await restarted.start()
        assert listener_tls(restarted)._present.settings.keystore.location == str(path)
        await restarted.stop()

    asyncio.run(run())


def test_a_store_that_does_not_fit_any_more_is_named_and_keeps_no_other_setting_from_its_effect(
    tmp_path: Path, files: CertificateFiles
) -> None:
    """A file that was overwritten, and a setting whose removal would bring an earlier store back."""
    own, everywhere = (ConfigResource(ConfigResourceType.BROKER, name) for name in ("0", ""))
    location = "listener.name.ssl.ssl.keystore.location"

    async def run() -> None:
        async with (
            running(tmp_path, {**BOTH, **files.broker()}) as broker,
            AsyncAdminClient({**at(broker), **files.client()}) as admin,
        ):

            async def change(resource: ConfigResource, *edits: AlterConfig) -> None:
                (await admin.incremental_alter_configs({resource: list(edits)})).all()

            async def refused(words: str, *edits: AlterConfig) -> None:
                before = await broker.store.configs.of_entity("brokers/0")
                with pytest.raises(KafkaError, match=words) as found:
                    await change(own, *edits)
                assert found.value.code is ErrorCode.INVALID_REQUEST
                assert await broker.store.configs.of_entity("brokers/0") == before

            sockets = broker.server._sockets
            assert sockets is not None
            more = files.keystore("more", files.issue("broker", [*HOSTS, "elsewhere"]))["ssl.keystore.location"]
            await change(own, AlterConfig(location, more))
            back = AlterConfig(location, None, AlterOperation.DELETE)
            await refused("lacks the subject alternative names elsewhere", back)
            await refused(
                "Invalid value 0 for configuration listener.name.ssl.max.connections",
                AlterConfig("listener.name.ssl.max.connections", "0"),
            )
            files.keystore("more", files.issue("another", HOSTS))
            os.utime(more, (1, 1))
            await refused("CN=broker became CN=another", AlterConfig("log.cleaner.threads", "2"))
            await change(everywhere, AlterConfig("max.connections", "777"))
            await broker.until(lambda: sockets._limits._most == 777)

    asyncio.run(run())


def test_a_new_listener_without_a_usable_store_is_refused(tmp_path: Path, files: CertificateFiles) -> None:
    own = ConfigResource(ConfigResourceType.BROKER, "0")

    async def run() -> None:
        settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "password.encoder.secret": "encoder"}
        async with (
            running(tmp_path, settings) as broker,
            AsyncAdminClient({"bootstrap.servers": f"localhost:{broker.server.ports['PLAINTEXT']}"}) as admin,
        ):
            prefix, good = "listener.name.ssl.", files.broker()
            listeners = f"PLAINTEXT://127.0.0.1:{broker.server.ports['PLAINTEXT']},SSL://127.0.0.1:0"

            async def add(store: Mapping[str, str]) -> None:
                wanted = {"listeners": listeners, **{prefix + name: value for name, value in store.items()}}
                edits = [AlterConfig(name, value) for name, value in wanted.items()]
                (await admin.incremental_alter_configs({own: edits})).all()

            with pytest.raises(KafkaError, match="the password is another one") as found:
                await add({**good, "ssl.keystore.password": "wrong"})
            assert found.value.code is ErrorCode.INVALID_REQUEST
            assert await broker.store.configs.of_entity("brokers/0") == {}
            await add(good)
            await broker.until(lambda: "SSL" in broker.server.ports)
            async with AsyncAdminClient({**at(broker), **files.client()}) as secured:
                await secured.list_topics()

    asyncio.run(run())
