"""Loggers under the classic broker's names, and levels that change while it runs (KIP-412)."""

import importlib
import logging
import pkgutil
from collections.abc import Iterator

import pytest

import kafka_py
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.broker.settings import loggers

SERVING = ("base", "broker", "controller", "coordinator", "log", "net", "replication", "zk")
NAME = "kafka.server.KafkaServer"


@pytest.fixture(autouse=True)
def linked() -> Iterator[None]:
    root = logging.getLogger().level
    loggers.link()
    yield
    for name in (NAME, "kafka.server", "kafka"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.getLogger().setLevel(root)


def modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(kafka_py.__path__, "kafka_py."):
        if module.name.split(".")[1] in SERVING:
            yield module.name


def test_every_logger_of_a_broker_has_a_classic_name() -> None:
    for name in modules():
        if isinstance(getattr(importlib.import_module(name), "log", None), logging.Logger):
            assert not loggers.classic_name(name).startswith("kafka_py"), name


def test_every_row_of_the_table_is_a_module() -> None:
    known = {*modules(), "kafka_py", "kazoo"}
    assert [name for name in loggers.CLASSIC if name not in known] == []


def test_a_package_s_row_holds_for_its_modules() -> None:
    assert loggers.classic_name("kafka_py.broker.server") == NAME
    assert loggers.classic_name("kafka_py.log.no_such_module") == "kafka.log.Log"
    assert loggers.classic_name("kafka_py.clients.cluster") == "kafka"
    assert loggers.classic_name("asyncio") == "asyncio"


def test_our_loggers_inherit_the_level_of_the_classic_ones() -> None:
    logging.getLogger("kafka.server").setLevel(logging.ERROR)
    assert logging.getLogger("kafka_py.broker.server").getEffectiveLevel() == logging.ERROR
    loggers.set_level(NAME, "TRACE")
    assert logging.getLogger("kafka_py.broker.server").isEnabledFor(loggers.TRACE)
    assert not logging.getLogger("kafka_py.replication.leader.replica_manager").isEnabledFor(logging.INFO)
    loggers.unset_level(NAME)
    assert logging.getLogger("kafka_py.broker.server").getEffectiveLevel() == logging.ERROR


def test_linking_again_and_loggers_made_later_change_nothing() -> None:
    logging.getLogger("kafka_py.broker.a_new_module.deep")
    logging.getLogger("kafka_py.broker.a_new_module")
    loggers.link()
    loggers.set_level(NAME, "ERROR")
    assert logging.getLogger("kafka_py.broker.a_new_module.deep").getEffectiveLevel() == logging.ERROR
    assert logging.getLogger("kafka_py.broker.requests.dispatch").parent is logging.getLogger("kafka.server.KafkaApis")


def test_the_levels_are_those_in_force_and_ours_are_not_shown() -> None:
    logging.getLogger().setLevel(logging.WARNING)
    loggers.set_level("kafka.server", "DEBUG")
    shown = loggers.levels()
    assert next(iter(shown)) == "root"
    assert (shown["root"], shown[NAME], shown["kafka.log.LogManager"]) == ("WARN", "DEBUG", "WARN")
    assert not [name for name in shown if name.startswith(("kafka_py", "kazoo"))]


@pytest.mark.parametrize("level", ["LOUD", "debug", "OFF", "", None])
def test_only_the_six_levels_may_be_set(level: str | None) -> None:
    with pytest.raises(ConfigError, match="Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"):
        loggers.check_level(NAME, level)


def test_a_logger_must_exist() -> None:
    with pytest.raises(ConfigError, match=r"Logger no\.such\.logger does not exist!"):
        loggers.check_level("no.such.logger", "INFO")
    with pytest.raises(ConfigError, match="does not exist"):
        loggers.check_unset("kafka_py.broker.server")
    loggers.check_level("root", "INFO")
    loggers.check_unset(NAME)


def test_the_root_logger_keeps_a_level() -> None:
    with pytest.raises(KafkaError, match="root logger") as error:
        loggers.check_unset("root")
    assert error.value.code is ErrorCode.INVALID_REQUEST


def test_the_beginning_of_lines() -> None:
    assert loggers.prefix_of("kafka.controller.RequestSendThread") == "[Controller id={}] "
    assert loggers.prefix_of("kafka.controllers") == ""


def test_coordinators_have_the_loggers_of_theirs() -> None:
    groups, transactions = "kafka_py.coordinator.groups.", "kafka_py.coordinator.transactions."
    assert {name: loggers.classic_name(name).rpartition(".")[2] for name in (
        groups + "driver", groups + "offset_keeper", transactions + "driver", transactions + "marker_channels",
        transactions + "replay",
    )} == {
        groups + "driver": "GroupCoordinator",
        groups + "offset_keeper": "GroupMetadataManager",
        transactions + "driver": "TransactionCoordinator",
        transactions + "marker_channels": "TransactionMarkerChannelManager",
        transactions + "replay": "TransactionStateManager",
    }  # fmt: skip
    assert loggers.prefix_of("kafka.coordinator.transaction.TransactionStateManager") == (
        "[Transaction State Manager {}]: "
    )
