"""Signed tokens at our broker: every client that knows OAUTHBEARER, with good tokens and others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from sasl_brokers import OAUTH_MODULE, Secured

from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.client_access import provider_class
from kafka_py.testing.peers.apache import Jars
from kafka_py.testing.peers.token_provider import AUDIENCE, ISSUER, TokenProvider, rsa_key
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.topics import create_topic

TIMEOUT_S = 30
OAUTH = "sasl.oauthbearer."


@pytest.fixture(scope="module")
def provider() -> Iterator[TokenProvider]:
    with TokenProvider({"job": "job-secret"}) as one:
        yield one


def settings_of(provider: TokenProvider) -> dict[str, str]:
    prefix = "listener.name.sasl_plaintext.oauthbearer."
    return {
        f"{prefix}sasl.jaas.config": f"{OAUTH_MODULE} required;",
        f"{prefix}{OAUTH}jwks.endpoint.url": provider.keys_url,
        f"{prefix}{OAUTH}expected.audience": AUDIENCE,
        f"{prefix}{OAUTH}expected.issuer": ISSUER,
    }


@pytest.fixture(scope="module")
def broker(
    kafka_zookeeper: ZookeeperServer, provider: TokenProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    folder, connect = tmp_path_factory.mktemp("tokens"), f"{kafka_zookeeper.connect}/signed-tokens"
    with Secured(folder, connect, **settings_of(provider)) as one:
        create_topic([one.bootstrap], "t", 1)
        yield one


BASE = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
Send = Callable[[Secured, str, Path], None]
"""Sends a record with that token. Raises what the client raises."""


def with_ours(broker: Secured, token: str, folder: Path) -> None:
    file = folder / "token"
    file.write_text(token)
    entry = {"sasl.jaas.config": f"{OAUTH_MODULE} required;", f"{OAUTH}token.endpoint.url": file.as_uri()}
    with Producer({"bootstrap.servers": broker.sasl, **BASE, **entry}) as producer:
        producer.send("t", b"v").result(TIMEOUT_S)


def delivered(settings: dict[str, Any]) -> None:
    failures: list[object] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append})
    producer.produce("t", b"v", on_delivery=lambda error, _: failures.append(error) if error else None)
    if producer.flush(TIMEOUT_S) or failures:
        raise ConnectionError(str(failures))


def with_confluent(broker: Secured, token: str, folder: Path) -> None:
    delivered({"bootstrap.servers": broker.sasl, **BASE, "message.timeout.ms": 4_000,
               "oauth_cb": lambda _: (token, time.time() + 300)})  # fmt: skip


def with_kafka_python(broker: Secured, token: str, folder: Path) -> None:
    base = provider_class("kafka.net.sasl.oauth", "kafka.sasl.oauth")
    given = type("Token", (base,), {"token": lambda _: token})()
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.sasl, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=given, bootstrap_timeout_ms=4_000, max_block_ms=4_000,
    )  # fmt: skip
    try:
        producer.send("t", b"v").get(TIMEOUT_S)
    finally:
        producer.close(1)


def with_aiokafka(broker: Secured, token: str, folder: Path) -> None:
    async def given(_: object) -> str:
        return token

    async def run() -> None:
        source = type("Token", (provider_class("aiokafka.abc"),), {"token": given})()
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.sasl, security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=source, request_timeout_ms=4_000,
        ) as producer:  # fmt: skip
            await producer.send_and_wait("t", b"v")

    asyncio.run(asyncio.wait_for(run(), TIMEOUT_S))


def java_sends(jars: Jars, program: str, *arguments: str) -> None:
    done = jars.run_source(program, *arguments)
    if done.exit_code:
        raise ConnectionError(done.stderr)


def with_java(jars: Jars) -> Send:
    """By a handler of its own, which releases from 2.0 on take."""

    def send(broker: Secured, token: str, folder: Path) -> None:
        file = folder / "token"
        file.write_text(token)
        entry = f'sasl.jaas.config={OAUTH_MODULE} required tokenFile="{file}";'
        settings = [f"{name}={value}" for name, value in {**BASE, "max.block.ms": "8000"}.items()]
        java_sends(jars, "TokenProduce", f"bootstrap.servers={broker.sasl}", *settings, entry, "t")

    return send


CLIENTS: dict[str, Send] = {
    "ours": with_ours, "confluent": with_confluent, "kafka-python": with_kafka_python, "aiokafka": with_aiokafka,
}  # fmt: skip
JAVA = {"java-2.8.2": "apache_kafka", "java-newest": "newest_clients"}


@pytest.mark.parametrize(
    "client",
    [*CLIENTS, *(pytest.param(name, marks=(pytest.mark.slow, pytest.mark.core)) for name in JAVA)],
)
def test_a_good_token_is_accepted_and_bad_ones_are_refused(
    broker: Secured, provider: TokenProvider, tmp_path: Path, request: pytest.FixtureRequest, client: str
) -> None:
    send = CLIENTS.get(client) or with_java(request.getfixturevalue(JAVA[client]))
    send(broker, provider.token(), tmp_path)
    header, claims, _ = provider.token(sub="admin").split(".")
    bad = {
        "ended": provider.token(exp=int(time.time()) - 60, iat=int(time.time()) - 600),
        "forged": f"{header}.{claims}.{provider.token().split('.')[2]}",
        "by another key of the same name": provider.token(key=rsa_key("first")),
        "by an unknown key": provider.token(key=rsa_key("unknown")),
        "for another audience": provider.token(aud="elsewhere"),
        "of another issuer": provider.token(iss="https://elsewhere"),
    }
    for why, token in list(bad.items())[0 if client in ("ours", "confluent") else -2 :]:
        with pytest.raises(Exception) as failed:
            send(broker, token, tmp_path)
        assert not isinstance(failed.value, AssertionError), (why, failed.value)
        if client in ("ours", "java-2.8.2", "java-newest"):
            assert "invalid_token" in str(failed.value), (why, failed.value)


def test_our_client_gets_tokens_from_an_endpoint_and_logs_in_again_after_a_rotation(
    kafka_zookeeper: ZookeeperServer, tmp_path: Path
) -> None:
    """And while the provider is down: with keys that the broker has it serves, without them the client tries again."""
    with TokenProvider({"job": "job-secret"}) as provider:
        entry = f'{OAUTH_MODULE} required clientId="job" clientSecret="job-secret";'
        client = {**BASE, "sasl.jaas.config": entry, f"{OAUTH}token.endpoint.url": provider.token_url}
        provider.refusals = 2
        with Secured(tmp_path, f"{kafka_zookeeper.connect}/rotation", **settings_of(provider)) as broker:
            create_topic([broker.bootstrap], "t", 1)
            given = {"bootstrap.servers": broker.sasl, **client}
            with Producer(given) as producer:
                producer.send("t", b"v").result(TIMEOUT_S)
            assert provider.refusals == 0
            provider.refusals = 1
            provider.rotate("second")
            with Producer(given) as producer:
                producer.send("t", b"v").result(TIMEOUT_S)
            token = provider.token()
            provider.is_down = True
            with_confluent(broker, token, tmp_path)
            assert broker.output().count("Traceback") == 0
            assert token not in broker.output() and "job-secret" not in broker.output()


# ---- what other clients bring along


def oidc(provider: TokenProvider, secret: str = "job-secret") -> dict[str, str]:
    """librdkafka's own grant of client credentials; Debian's kcat is built without it."""
    return {**BASE, "sasl.oauthbearer.method": "oidc", f"{OAUTH}client.id": "job", f"{OAUTH}client.secret": secret,
            f"{OAUTH}token.endpoint.url": provider.token_url, "message.timeout.ms": "4000"}  # fmt: skip


def test_librdkafkas_client_credentials(broker: Secured, provider: TokenProvider) -> None:
    delivered({"bootstrap.servers": broker.sasl, **oidc(provider)})
    with pytest.raises(ConnectionError):
        delivered({"bootstrap.servers": broker.sasl, **oidc(provider, "wrong")})


@pytest.mark.slow
def test_newest_javas_token_in_a_file(
    broker: Secured, provider: TokenProvider, newest_clients: Jars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    prefix = "org.apache.kafka.sasl.oauthbearer.allowed"
    options = f"-D{prefix}.urls={file.as_uri()} -D{prefix}.files={file}"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", options)
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
    settings = {**BASE, "bootstrap.servers": broker.sasl, "sasl.jaas.config": f"{OAUTH_MODULE} required;",
                f"{OAUTH}token.endpoint.url": file.as_uri(), "sasl.login.callback.handler.class": handler,
                "max.block.ms": "8000"}  # fmt: skip
    arguments = [f"{name}={value}" for name, value in settings.items()]
    for token, is_good in ((provider.token(), True), (provider.token(aud="elsewhere"), False)):
        file.write_text(token)
        done = newest_clients.run_source("Produce", *arguments, stdin="record\tt\t0\t-\t-\t01\n")
        assert (done.exit_code == 0) == is_good, done.stderr
        assert is_good or "invalid_token" in done.stderr, done.stderr
