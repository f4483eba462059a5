"""Which options Spark is told to redact: all that are passwords of a client, and the user's own."""

from __future__ import annotations

import re

from kafka_py.base.options import Kind
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.pipeline.redaction import SECRET, SETTING, redact


class Conf:
    """Of a session."""

    def __init__(self, given: str) -> None:
        self.values = {SETTING: given}

    def get(self, name: str, default: str) -> str:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value


class Session:
    def __init__(self, given: str) -> None:
        self.conf = Conf(given)


def test_every_password_of_a_client_and_nothing_else() -> None:
    for table in (AdminOptions, ConsumerOptions, ProducerOptions):
        for row in table.describe():
            is_secret = re.search(SECRET, f"kafka.{row.name}") is not None
            assert is_secret == (row.kind is Kind.PASSWORD), row.name


def test_what_the_user_redacts_stays_redacted() -> None:
    session = Session("(?i)url")
    redact(session)
    redact(session)
    assert session.conf.values[SETTING] == f"(?i)url|{SECRET}"
    nothing = Session("")
    redact(nothing)
    assert nothing.conf.values[SETTING] == SECRET
