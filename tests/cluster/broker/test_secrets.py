"""Secrets that are put into settings come out nowhere: not in the log, not in answers, not in ZooKeeper (KIP-226)."""

import logging
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.settings.dynamic_passwords import DynamicPasswords
from kafka_py.security.password_encoder import PasswordEncoder
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.alter_configs import AlterableConfig as Replacement
from kafka_py.wire.messages.alter_configs import AlterConfigsRequest
from kafka_py.wire.messages.alter_configs import AlterConfigsResource as Replaced
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BROKER, SET = 4, 0
SECRET = "hunter2"
PASSWORDS = (
    "listener.name.plaintext.ssl.keystore.password",
    "listener.name.plaintext.plain.sasl.jaas.config",
    "sasl.jaas.config",
    "listener.name.plaintext.ssl.truststore.certificates",
)
STATIC = {
    "ssl.keystore.password": f"{SECRET}-static",
    "delegation.token.secret.key": f"{SECRET}-token",
    "listener.name.plaintext.plain.sasl.jaas.config": f'login password="{SECRET}-jaas";',
    "zookeeper.ssl.keystore.password": f"{SECRET}-zookeeper",
    "com.example.vault.token": f"{SECRET}-unknown",
}


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "kafka.request.logger")
    return caplog


async def put(broker: LocalBroker, resource: str, name: str, value: str) -> tuple[int, str | None]:
    change = AlterableConfig(name=name, config_operation=SET, value=value)
    one = AlterConfigsResource(resource_type=BROKER, resource_name=resource, configs=[change])
    response = await broker.ask(IncrementalAlterConfigsRequest(resources=[one], validate_only=False), 1)
    return response.responses[0].error_code, response.responses[0].error_message


async def described(broker: LocalBroker, resource: str) -> Any:
    wanted = DescribeConfigsResource(resource_type=BROKER, resource_name=resource, configuration_keys=None)
    return await broker.ask(DescribeConfigsRequest(resources=[wanted], include_synonyms=True), 3)


def assert_nowhere(broker: LocalBroker, log: pytest.LogCaptureFixture, *answers: object) -> None:
    assert SECRET not in log.text
    assert [path for path, data in broker.zookeeper.tree().items() if data and SECRET.encode() in data] == []
    for answer in (*answers, broker.server.config, broker.server.node.live_config):
        assert SECRET not in repr(answer)


def test_passwords_of_the_property_file(everything_logged: pytest.LogCaptureFixture) -> None:
    @on_broker(**{name.replace(".", "_"): value for name, value in STATIC.items()})
    async def scenario(broker: LocalBroker) -> None:
        broker.server.node.request_metrics.exchanges.look_again()
        answer = await described(broker, "0")
        rows = {row.name: row for row in answer.results[0].configs}
        for name in STATIC:
            assert (rows[name].value, rows[name].is_sensitive) == (None, True)
            assert [synonym.value for synonym in rows[name].synonyms] == [None]
        assert_nowhere(broker, everything_logged, answer)

    scenario()


def test_passwords_are_not_stored_in_clear(everything_logged: pytest.LogCaptureFixture) -> None:
    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        broker.server.node.request_metrics.exchanges.look_again()
        reason = "Password encoder secret not configured"
        answers = []
        for name in PASSWORDS:
            code, text = await put(broker, "0", name, f"{SECRET}-{name}")
            assert code == ErrorCode.INVALID_REQUEST
            assert text is not None and reason in text
            change = Replacement(name=name, value=f"{SECRET}-{name}")
            one = Replaced(resource_type=BROKER, resource_name="0", configs=[change])
            answers.append(await broker.ask(AlterConfigsRequest(resources=[one], validate_only=False), 2))
            assert answers[-1].responses[0].error_code == ErrorCode.INVALID_REQUEST
            code, text = await put(broker, "", name, SECRET)
            assert code == ErrorCode.INVALID_REQUEST
            answers.append(text)
        assert await broker.store.configs.of_entity("brokers/0") == {}
        assert_nowhere(broker, everything_logged, *answers)

    scenario()


def test_what_is_not_known_counts_as_secret(everything_logged: pytest.LogCaptureFixture) -> None:
    """Unknown names may be meant for a plug-in: they are kept and named, their values are not shown."""

    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        everything_logged.clear()
        broker.server.node.request_metrics.exchanges.look_again()
        for resource, name in (("0", "com.example.token"), ("", "com.example.shared.token")):
            assert await put(broker, resource, name, SECRET) == (0, None)
            answer = await described(broker, resource)
            (row,) = [row for row in answer.results[0].configs if row.name == name]
            assert (row.value, row.is_sensitive, row.read_only) == (None, True, True)
            assert row.config_source == (2 if resource else 3)
            assert SECRET not in repr(answer)
        assert SECRET not in everything_logged.text
        assert "com.example.token" in everything_logged.text
        assert [record for record in everything_logged.records if record.levelno >= logging.ERROR] == []

    scenario()


def test_passwords_are_stored_encrypted(everything_logged: pytest.LogCaptureFixture) -> None:
    """They stay as they are while another setting changes, and are encrypted anew when the secret changes."""
    pytest.importorskip("cryptography")
    name = PASSWORDS[0]

    @on_broker(password_encoder_secret="one")
    async def scenario(broker: LocalBroker) -> None:
        broker.server.node.request_metrics.exchanges.look_again()
        assert (await put(broker, "0", name, SECRET))[0] == 0
        stored = await broker.store.configs.of_entity("brokers/0")
        assert decoded("one", stored[name]) == SECRET
        assert broker.server._live.own == {name: SECRET}
        assert (await put(broker, "0", "log.cleaner.threads", "2"))[0] == 0
        assert (await broker.store.configs.of_entity("brokers/0"))[name] == stored[name]
        answer = await described(broker, "0")
        assert_nowhere(broker, everything_logged, answer)
        await broker.stop()
        await broker.start(password_encoder_secret="two", password_encoder_old_secret="one")
        anew = await broker.store.configs.of_entity("brokers/0")
        assert decoded("two", anew[name]) == SECRET
        assert broker.server._live.own == {name: SECRET, "log.cleaner.threads": "2"}
        assert_nowhere(broker, everything_logged)
        await broker.stop()
        await broker.start()  # with both secrets once more: nothing is left to do
        assert await broker.store.configs.of_entity("brokers/0") == anew
        assert broker.server._live.own == {name: SECRET, "log.cleaner.threads": "2"}
        changes = [path for path in broker.zookeeper.tree() if path.startswith("/config/changes/")]
        assert len(changes) == 3
        await broker.stop()
        await broker.start(password_encoder_secret="three", password_encoder_old_secret="four")
        assert broker.server._live.own == {"log.cleaner.threads": "2"}
        assert f"The dynamic setting {name} is ignored: Password could not be decoded" in everything_logged.text

    scenario()


def test_what_another_writes_while_passwords_are_encrypted_again_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-configs.sh --zookeeper may change the settings of a broker that has not registered yet."""
    pytest.importorskip("cryptography")
    name = PASSWORDS[0]
    re_encoded = DynamicPasswords.re_encoded

    @on_broker(password_encoder_secret="one")
    async def scenario(broker: LocalBroker) -> None:
        assert (await put(broker, "0", name, SECRET))[0] == 0
        await broker.stop()
        writes = [{"log.cleaner.threads": "2"}, {"log.cleaner.threads": "2", "log.cleaner.backoff.ms": "1"}]

        async def while_others_write(self: DynamicPasswords, stored: Mapping[str, str]) -> dict[str, str] | None:
            found = await re_encoded(self, stored)
            if writes:
                await broker.server.store.configs.change("brokers/0", {name: stored[name], **writes.pop(0)})
            return found

        monkeypatch.setattr(DynamicPasswords, "re_encoded", while_others_write)
        await broker.start(password_encoder_secret="two", password_encoder_old_secret="one")
        others = {"log.cleaner.threads": "2", "log.cleaner.backoff.ms": "1"}
        assert broker.server._live.own == {name: SECRET, **others}
        stored = await broker.store.configs.of_entity("brokers/0")
        assert decoded("two", stored.pop(name)) == SECRET and stored == others

    scenario()


def test_a_password_may_be_a_reference_to_a_file(
    everything_logged: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """It is stored as it is (KIP-421), and looked up for passwords alone: other values are shown."""
    pytest.importorskip("cryptography")
    name, file = PASSWORDS[0], tmp_path / "secrets.properties"
    file.write_text(f"key={SECRET}\n")
    reference = f"${{file:{file}:key}}"
    providers = {
        "config_providers": "file",
        "config_providers_file_class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }

    @on_broker(password_encoder_secret="one", **providers)
    async def scenario(broker: LocalBroker) -> None:
        broker.server.node.request_metrics.exchanges.look_again()
        assert (await put(broker, "0", name, reference))[0] == 0
        assert (await put(broker, "0", "metric.reporters", reference))[0] == 0
        live = broker.server.node.live_config
        assert live.current.originals[name] == SECRET
        assert live.current.originals["metric.reporters"] == reference
        assert decoded("one", (await broker.store.configs.of_entity("brokers/0"))[name]) == reference
        file.write_text(f"key={SECRET}-2\n")
        assert (await put(broker, "0", name, reference))[0] == 0
        assert live.current.originals[name] == f"{SECRET}-2"
        await broker.stop()
        await broker.start()
        assert broker.server.node.live_config.current.originals[name] == f"{SECRET}-2"
        assert broker.server.node.live_config.own[name] == reference
        file.unlink()
        code, text = await put(broker, "0", name, reference)
        assert (code, text) == (ErrorCode.INVALID_REQUEST, "Invalid config value for resource ConfigResource("
                                f"type=BROKER, name='0'): Could not read properties from file {file}")  # fmt: skip
        assert (await put(broker, "0", "log.cleaner.threads", "2"))[0] == ErrorCode.INVALID_REQUEST
        await broker.store.configs.announce_change("brokers/0")
        await broker.until(lambda: "A dynamic setting cannot be applied: Could not read" in everything_logged.text)
        assert broker.server.node.live_config.current.originals[name] == f"{SECRET}-2"
        await broker.store.configs.change("brokers/0", {
            **await broker.store.configs.of_entity("brokers/0"), "log.cleaner.threads": "2"
        })  # fmt: skip
        await broker.stop()
        await broker.start()  # as Apache's does, with what can be used
        live = broker.server.node.live_config
        assert name not in live.current.originals and live.own[name] == reference
        assert live.current.log_cleaner_threads == 2
        assert f"The dynamic setting {name} is ignored: Could not read" in everything_logged.text
        answer = await described(broker, "0")
        assert SECRET not in everything_logged.text and SECRET not in repr(answer)

    scenario()


def test_alter_configs_stores_passwords_encrypted(everything_logged: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("cryptography")
    name = PASSWORDS[0]

    @on_broker(password_encoder_secret="one")
    async def scenario(broker: LocalBroker) -> None:
        broker.server.node.request_metrics.exchanges.look_again()
        changes = [Replacement(name=name, value=SECRET), Replacement(name="log.cleaner.threads", value="2")]
        one = Replaced(resource_type=BROKER, resource_name="0", configs=changes)
        answer = await broker.ask(AlterConfigsRequest(resources=[one], validate_only=False), 2)
        assert answer.responses[0].error_code == 0
        stored = await broker.store.configs.of_entity("brokers/0")
        assert decoded("one", stored[name]) == SECRET
        assert broker.server._live.own == {name: SECRET, "log.cleaner.threads": "2"}
        assert_nowhere(broker, everything_logged, answer, await described(broker, "0"))

    scenario()


def decoded(secret: str, text: str) -> str:
    return PasswordEncoder(secret, random.randbytes).decode(text)


def test_passwords_that_somebody_wrote_into_zookeeper(everything_logged: pytest.LogCaptureFixture) -> None:
    """As a tool or another broker leaves them: what cannot be used is left aside, named without its value."""

    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        await broker.store.configs.change("brokers/0", {PASSWORDS[0]: SECRET, "com.example.token": SECRET})
        await broker.store.configs.change("users/alice", {"SCRAM-SHA-256": f"salt={SECRET}"})
        await broker.store.configs.change("topics/t", {"com.example.token": SECRET})
        await broker.until(lambda: "topic t are now" in everything_logged.text)
        assert f"The dynamic setting {PASSWORDS[0]} is ignored" in everything_logged.text
        assert "SCRAM-SHA-256 credential of user alice is ignored" in everything_logged.text
        assert SECRET not in everything_logged.text
        assert SECRET not in repr(await described(broker, "0"))

    scenario()


def test_overrides_that_cannot_be_read_are_not_shown(everything_logged: pytest.LogCaptureFixture) -> None:
    """Truncated by a tool, or of another type than the broker writes: a credential may be in them all the same."""

    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        for number, data in enumerate((f'{{"config":{{"SCRAM-SHA-256":"salt={SECRET}', f'{{"config":"{SECRET}"}}',
                                       f'["{SECRET}"]', f'{{"config":{{"x":["{SECRET}"]}}}}')):  # fmt: skip
            await broker.store.znodes.create_recursive(f"/config/users/user{number}", data.encode())
            await broker.store.configs.announce_change(f"users/user{number}")
            await broker.until(lambda number=number: f"users/user{number} cannot be read" in everything_logged.text)
        assert (await broker.ask(DescribeUserScramCredentialsRequest(users=None), 0)).results == []
        assert SECRET not in everything_logged.text

    scenario()
