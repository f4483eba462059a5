"""AlterConfigs and IncrementalAlterConfigs: who has what error, and what a change does (KIP-133, KIP-339, KIP-412)."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.handlers.admin import incremental_alter_configs as handler
from kafka_py.broker.settings.alter_policy import Resource
from kafka_py.controller.topic_policy import PolicyViolation
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages import alter_configs, incremental_alter_configs
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.zk.session import SetOp

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
NAME = "kafka.network.Acceptor"
Change = tuple[str, int, str | None]


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    yield
    logging.getLogger(NAME).setLevel(logging.NOTSET)


def resource(kind: int, name: str, *changes: Change) -> incremental_alter_configs.AlterConfigsResource:
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    return incremental_alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


async def edit(broker: LocalBroker, *resources: Any, validate_only: bool = False) -> list[tuple[int, str | None]]:
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=list(resources), validate_only=validate_only
    )
    response = await broker.ask(request, 1)
    return [(each.error_code, each.error_message) for each in response.responses]


async def replace(broker: LocalBroker, kind: int, name: str, configs: dict[str, str | None], **how: Any) -> int:
    wanted = [alter_configs.AlterableConfig(name=key, value=value) for key, value in configs.items()]
    one = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=wanted)
    request = alter_configs.AlterConfigsRequest(resources=[one], validate_only=how.get("validate_only", False))
    response = await broker.ask(request, 2)
    code: int = response.responses[0].error_code
    return code


async def value(broker: LocalBroker, kind: int, name: str, key: str) -> str | None:
    wanted = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    response = await broker.ask(DescribeConfigsRequest(resources=[wanted]), 4)
    found: str | None = response.results[0].configs[0].value
    return found


@on_broker()
async def test_a_topic_s_settings_change_one_by_one_and_are_put_to_work(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"retention.ms": "1000"})
    changes = resource(TOPIC, "t", ("segment.bytes", SET, "5000"), ("cleanup.policy", APPEND, "compact"))
    assert await edit(broker, changes) == [(0, None)]
    assert await broker.store.configs.of_topic("t") == {
        "retention.ms": "1000", "segment.bytes": "5000", "cleanup.policy": "delete,compact",
    }  # fmt: skip
    log = next(iter(broker.server.node.log_dirs.all_logs()))
    await broker.until(lambda: log.config.segment_bytes == 5000)
    assert await edit(broker, resource(TOPIC, "t", ("segment.bytes", DELETE, None))) == [(0, None)]
    await broker.until(lambda: log.config.segment_bytes > 5000)


@on_broker()
async def test_an_error_is_its_resource_s_alone(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    answers = await edit(
        broker,
        resource(TOPIC, "nope", ("segment.bytes", SET, "5000")),
        resource(TOPIC, "t", ("segment.bytes", SET, "5000")),
        resource(TOPIC, "", ("segment.bytes", SET, "5000")),
        resource(BROKER, "7", ("log.cleaner.threads", SET, "2")),
        resource(BROKER, "x", ("log.cleaner.threads", SET, "2")),
    )
    codes = [code for code, _ in answers]
    refused = ErrorCode.INVALID_REQUEST
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0, refused, refused, refused]
    assert answers[0][1] == "The topic 'nope' does not exist."
    assert answers[3][1] == "Unexpected broker id, expected 0, but received 7"
    assert (await broker.store.configs.of_topic("t"))["segment.bytes"] == "5000"


@on_broker()
async def test_a_resource_of_another_type_refuses_the_whole_request(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    answers = await edit(
        broker, resource(TOPIC, "t", ("segment.bytes", SET, "5000")), resource(3, "x", ("a", SET, "b"))
    )
    assert answers == [(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")] * 2
    assert await broker.store.configs.of_topic("t") == {}


@on_broker()
async def test_values_that_cannot_be_change_nothing(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    (bad,) = await edit(broker, resource(TOPIC, "t", ("retention.ms", SET, "5"), ("segment.bytes", SET, "x")))
    assert bad[0] == ErrorCode.INVALID_REQUEST
    assert bad[1] is not None
    assert bad[1].startswith("Invalid config value for resource ConfigResource(type=TOPIC, name='t'): Invalid value x")
    (unknown,) = await edit(broker, resource(TOPIC, "t", ("no.such", SET, "1")))
    assert unknown == (ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such")
    assert await broker.store.configs.of_topic("t") == {}


@on_broker()
async def test_a_change_that_is_only_checked_changes_nothing(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    change = resource(TOPIC, "t", ("segment.bytes", SET, "5000"))
    level = resource(LOGGER, "0", (NAME, SET, "ERROR"))
    assert await edit(broker, change, level, validate_only=True) == [(0, None), (0, None)]
    assert await replace(broker, TOPIC, "t", {"retention.ms": "1"}, validate_only=True) == 0
    assert await broker.store.configs.of_topic("t") == {}
    assert await value(broker, LOGGER, "0", NAME) != "ERROR"


@on_broker()
async def test_a_broker_s_own_settings_and_those_of_all(broker: LocalBroker) -> None:
    name = "log.cleaner.backoff.ms"
    assert await edit(broker, resource(BROKER, "", (name, SET, "20000"))) == [(0, None)]
    await broker.until(lambda: broker.server.node.config.log_cleaner_backoff_ms == 20000)
    assert await edit(broker, resource(BROKER, "0", (name, SET, "30000"))) == [(0, None)]
    await broker.until(lambda: broker.server.node.config.log_cleaner_backoff_ms == 30000)
    assert await edit(broker, resource(BROKER, "0", (name, DELETE, None))) == [(0, None)]
    await broker.until(lambda: broker.server.node.config.log_cleaner_backoff_ms == 20000)
    ((code, message),) = await edit(broker, resource(BROKER, "0", ("log.dirs", SET, "/x")))
    assert code == ErrorCode.INVALID_REQUEST
    assert message is not None and message.endswith("Cannot update these configs dynamically: Set(log.dirs)")


@on_broker()
async def test_all_settings_at_once_forget_those_that_are_not_named(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"retention.ms": "1000"})
    assert await replace(broker, TOPIC, "t", {"segment.bytes": "5000"}) == 0
    assert await broker.store.configs.of_topic("t") == {"segment.bytes": "5000"}
    assert await replace(broker, TOPIC, "t", {"segment.bytes": None}) == ErrorCode.INVALID_REQUEST
    assert await replace(broker, TOPIC, "nope", {}) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await replace(broker, LOGGER, "0", {NAME: "INFO"}) == ErrorCode.INVALID_REQUEST
    assert await replace(broker, TOPIC, "t", {}) == 0
    assert await broker.store.configs.of_topic("t") == {}


@on_broker()
async def test_levels_change_at_run_time(broker: LocalBroker) -> None:
    ours = logging.getLogger("kafka_py.net.listener")
    assert await edit(broker, resource(LOGGER, "0", (NAME, SET, "ERROR"))) == [(0, None)]
    assert ours.getEffectiveLevel() == logging.ERROR
    assert await value(broker, LOGGER, "0", NAME) == "ERROR"
    ((code, _),) = await edit(broker, resource(LOGGER, "0", (NAME, SET, "DEBUG"), ("no.such.logger", SET, "INFO")))
    assert code == ErrorCode.INVALID_REQUEST
    assert ours.getEffectiveLevel() == logging.ERROR, "all or nothing"
    assert await edit(broker, resource(LOGGER, "", (NAME, DELETE, None))) == [(0, None)]
    assert ours.getEffectiveLevel() != logging.ERROR
    ((code, message),) = await edit(broker, resource(LOGGER, "0", ("root", DELETE, None)))
    assert (code, message) == (
        ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed",
    )  # fmt: skip


@on_broker()
async def test_the_log_of_requests_is_switched_on_and_off(broker: LocalBroker) -> None:
    requests = logging.getLogger("kafka.request.logger")
    log = broker.server.node.request_metrics.exchanges
    try:
        assert await edit(broker, resource(LOGGER, "0", ("kafka.request.logger", SET, "DEBUG"))) == [(0, None)]
        assert log.is_on
        assert await edit(broker, resource(LOGGER, "0", ("kafka.request.logger", SET, "WARN"))) == [(0, None)]
        assert not log.is_on
    finally:
        requests.setLevel(logging.NOTSET)


class NoShortRetention:
    """A site's own rule."""

    def configure(self, configs: Any) -> None: ...

    def validate(self, resource: Resource, configs: dict[str, str]) -> None:
        if int(configs.get("retention.ms", "1000")) < 1000:
            raise PolicyViolation(f"{resource.name}: too short")


@on_broker(alter_config_policy_class_name=f"{__name__}.NoShortRetention")
async def test_a_site_s_own_rule_may_refuse(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    ((code, message),) = await edit(broker, resource(TOPIC, "t", ("retention.ms", SET, "5")))
    assert (code, message) == (ErrorCode.POLICY_VIOLATION, "t: too short")
    assert await edit(broker, resource(TOPIC, "t", ("retention.ms", SET, "5000"))) == [(0, None)]


@on_broker()
async def test_changes_sent_without_waiting_for_answers_are_all_kept(broker: LocalBroker) -> None:
    """An admin client may send the next change before the last one is answered; of one setting the last one counts."""
    await broker.create_topic("t")
    names = {"segment.bytes": "5000", "retention.ms": "7", "flush.ms": "8", "max.message.bytes": "99"}
    changes = [resource(TOPIC, "t", (name, SET, text)) for name, text in names.items()]
    changes += [resource(TOPIC, "t", ("segment.bytes", SET, str(size))) for size in (6000, 7000, 8000)]
    assert await asyncio.gather(*(edit(broker, change) for change in changes)) == [[(0, None)]] * len(changes)
    assert await broker.store.configs.of_topic("t") == {**names, "segment.bytes": "8000"}


@on_broker()
async def test_a_change_and_one_by_another_process_are_both_kept(broker: LocalBroker) -> None:
    """The overrides are written by a tool between the broker's look and its write."""
    await broker.create_topic("t")
    session, zookeeper = broker.session, broker.zookeeper
    get, written = session.get, []

    async def get_and_be_overtaken(path: str, watch: Any = None) -> Any:
        found = await get(path, watch)
        if path == "/config/topics/t" and not written:
            written.append(path)
            data = b'{"version":1,"config":{"retention.ms":"7"}}'
            zookeeper.apply_all(session.session_id, [SetOp(path, data)])
        return found

    session.get = get_and_be_overtaken  # type: ignore[method-assign]
    assert await edit(broker, resource(TOPIC, "t", ("segment.bytes", SET, "5000"))) == [(0, None)]
    assert written
    assert await broker.store.configs.of_topic("t") == {"retention.ms": "7", "segment.bytes": "5000"}


@on_broker()
async def test_what_a_tool_wrote_past_the_broker_does_not_stop_changes(broker: LocalBroker) -> None:
    """What cannot be used, a password that cannot be decrypted as well, goes with the next change, as with 2.8.2."""
    password = {"listener.name.plaintext.ssl.keystore.password": "encrypted"}
    await broker.store.configs.change("brokers/0", {"log.dirs": "/x", "num.io.threads": "x", **password})
    assert await edit(broker, resource(BROKER, "0", ("log.cleaner.backoff.ms", SET, "3000"))) == [(0, None)]
    assert await broker.store.configs.of_entity("brokers/0") == {"log.cleaner.backoff.ms": "3000"}
    await broker.until(lambda: broker.server.node.config.log_cleaner_backoff_ms == 3000)


@on_broker()
async def test_overrides_that_cannot_be_read_are_not_written_over(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    path, written = "/config/topics/t", b'{"version":1,"config":{"retention.ms":1000000}}'
    await broker.store.session.set(path, written)
    change = resource(TOPIC, "t", ("segment.bytes", SET, "5000"))
    assert [code for code, _ in await edit(broker, change)] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert (await broker.store.session.get(path))[0] == written
    await broker.store.session.set(path, b"no JSON")
    assert await edit(broker, change) == [(0, None)]


@on_broker()
async def test_a_fault_of_a_policy_is_its_resource_s_alone(broker: LocalBroker) -> None:
    class Faulty:
        def configure(self, configs: object) -> None: ...

        def validate(self, resource: Resource, configs: object) -> None:
            if resource.name == "a":
                raise ZeroDivisionError

    await broker.create_topic("a")
    await broker.create_topic("b")
    broker.server.node.alter_policy = Faulty()
    changes = [resource(TOPIC, name, ("segment.bytes", SET, "5000")) for name in "ab"]
    assert [code for code, _ in await edit(broker, *changes)] == [ErrorCode.UNKNOWN_SERVER_ERROR, 0]
    assert await replace(broker, TOPIC, "a", {}) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert await replace(broker, TOPIC, "b", {}) == 0


@on_broker()
async def test_a_change_that_is_stored_succeeds_although_it_cannot_be_used_at_once(
    broker: LocalBroker,
) -> None:
    async def fail(entity: str) -> None:
        raise OSError(entity)

    await broker.create_topic("t")
    broker.server.node.apply_settings = fail
    assert await edit(broker, resource(TOPIC, "t", ("segment.bytes", SET, "5000"))) == [(0, None)]
    assert await replace(broker, TOPIC, "t", {"segment.bytes": "6000"}) == 0
    log = next(iter(broker.server.node.log_dirs.all_logs()))
    await broker.until(lambda: log.config.segment_bytes == 6000)


@on_broker()
async def test_a_replacement_sent_after_an_edit_without_waiting_has_the_last_word(broker: LocalBroker) -> None:
    """Also if the turn of the edit is over before it has begun."""
    await broker.create_topic("t")
    with patch.object(handler, "Turn", lambda clock: Turn(clock, 0.0)):
        first = asyncio.ensure_future(edit(broker, resource(TOPIC, "t", ("segment.bytes", SET, "5000"))))
        second = asyncio.ensure_future(replace(broker, TOPIC, "t", {"retention.ms": "7"}))
        assert await asyncio.gather(first, second) == [[(0, None)], 0]
    assert await broker.store.configs.of_topic("t") == {"retention.ms": "7"}


@on_broker()
async def test_a_change_is_in_use_when_its_answer_comes(broker: LocalBroker) -> None:
    """Even before this broker is notified of it."""
    await broker.create_topic("t")
    assert broker.server._listener is not None
    await broker.server._listener.stop()
    log = next(iter(broker.server.node.log_dirs.all_logs()))
    assert await edit(broker, resource(TOPIC, "t", ("segment.bytes", SET, "5000"))) == [(0, None)]
    assert log.config.segment_bytes == 5000
    assert await replace(broker, TOPIC, "t", {"segment.bytes": "6000"}) == 0
    assert log.config.segment_bytes == 6000
    assert await edit(broker, resource(BROKER, "0", ("log.cleaner.backoff.ms", SET, "3000"))) == [(0, None)]
    assert broker.server.node.config.log_cleaner_backoff_ms == 3000


@on_broker()
async def test_a_broker_s_id_with_leading_zeros_is_that_broker_and_no_other_znode(broker: LocalBroker) -> None:
    assert await edit(broker, resource(BROKER, "00", ("log.cleaner.threads", SET, "2"))) == [(0, None)]
    assert await broker.store.configs.of_entity("brokers/0") == {"log.cleaner.threads": "2"}
    assert await value(broker, BROKER, "0", "log.cleaner.threads") == "2"
    assert await replace(broker, BROKER, "000", {"log.cleaner.io.buffer.size": "1048576"}) == 0
    assert await broker.store.configs.of_entity("brokers/0") == {"log.cleaner.io.buffer.size": "1048576"}
    assert await broker.store.configs.entity_names("brokers") == ["0"]
