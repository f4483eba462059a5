"""The column `no_effect` of the settings tables: what is read nowhere has no effect, and the other way round."""

import logging
import re
from functools import cache
from pathlib import Path

import pytest

from kafka_py.base.options import OptionTable
from kafka_py.broker.settings.configs import BrokerConfig, own_settings, warnings_of
from kafka_py.broker.settings.protections import PROTECTIONS
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.security.tls.settings import SETTINGS

PACKAGE = Path(__file__).resolve().parents[4] / "kafka_py"
OF_CLIENTS = ("clients", "cli", "pipeline", "testing")
READ_BY_NAME = {
    *own_settings(),
    *PROTECTIONS,
    # read with the prefixes of listener and mechanism
    "connections.max.reauth.ms", "sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.login.callback.handler.class",
    "sasl.mechanism.inter.broker.protocol", "sasl.server.callback.handler.class",
    "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter", "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules", "sasl.kerberos.service.name", "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor", "ssl.client.auth", "ssl.principal.mapping.rules", *SETTINGS,
}  # fmt: skip
"""Settings that are read by their names, or in a way that is no effect."""


@cache
def texts(*folders: str) -> list[str]:
    chosen = [path for path in PACKAGE.rglob("*.py") if path.name not in ("security_configs.py",)]
    return [path.read_text() for path in chosen if path.relative_to(PACKAGE).parts[0] in folders]


def is_read(attribute: str, folders: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"\.{attribute}\b(?!\s*=\s)")
    return any(pattern.search(text) for text in texts(*folders))


def test_every_setting_of_a_broker_is_read_somewhere_or_is_said_to_have_no_effect() -> None:
    folders = tuple(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in OF_CLIENTS)
    wrong = []
    for row in BrokerConfig.describe():
        if row.name in READ_BY_NAME:
            continue
        attributes = [row.attribute]
        if row.topic is not None:
            attributes.append(LogConfig.ROWS[row.topic].attribute)
        read = any(is_read(attribute, folders) for attribute in attributes)
        if read == bool(row.no_effect):
            wrong.append(f"{row.name}: {'read, but' if read else 'not read, and not'} said to have no effect")
    assert wrong == []


@pytest.mark.parametrize("table", [ProducerOptions, ConsumerOptions, AdminOptions])
def test_every_setting_of_a_client_is_read_somewhere_or_is_said_to_have_no_effect(table: type[OptionTable]) -> None:
    folders = ("clients", "security")
    wrong = [row.name for row in table.describe() if is_read(row.attribute, folders) == bool(row.no_effect)]
    assert wrong == []


def test_one_line_at_the_start_names_the_settings_given_that_have_no_effect() -> None:
    given = {"zookeeper.connect": "z:1", "background.threads": "20", "metrics.num.samples": "3", "num.io.threads": "3"}
    (line,) = [line for line in warnings_of(BrokerConfig.parse(given)) if "without effect" in line]
    assert "background.threads (" in line
    assert "metrics.num.samples (" in line
    assert "num.io.threads (" not in line
    assert "z:1" not in line and "=20" not in line


def test_a_client_says_so_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ProducerOptions.load({"bootstrap.servers": "a:1", "metric.reporters": "x.Y", "linger.ms": 5})
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "The setting 'metric.reporters' has no effect"
    ]
