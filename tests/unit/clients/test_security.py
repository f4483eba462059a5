"""A client's settings of security reach what protects its connections: every one, and each in its place."""

from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.clients import security
from kafka_py.clients.configs import ClientOptions, SslOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.security.sasl import client_settings
from kafka_py.security.tls.settings import TlsSettings

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def options(**given: str) -> ClientOptions:
    names = {name.replace("_", "."): value for name, value in given.items()}
    return ClientOptions.parse({"bootstrap.servers": "h:1", **names})


def test_every_setting_of_tls_that_has_an_effect_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in SslOptions.describe() if not row.no_effect]
    given = {row.name: f"value of {row.name}" for row in rows}
    seen: dict[str, Any] = {}
    monkeypatch.setattr(TlsSettings, "of", seen.update)
    security.tls_settings(ClientOptions.parse({"bootstrap.servers": "h:1", **given}))
    lists = {"ssl.enabled.protocols", "ssl.cipher.suites"}
    assert seen == {name: [value] if name in lists else value for name, value in given.items()}


def login_of(monkeypatch: pytest.MonkeyPatch, **given: str) -> tuple[Any, ...]:
    """What a login is made of: mechanism, entry, secrets, callback, refresh rules, rules of Kerberos."""
    seen: list[Any] = []
    monkeypatch.setattr(
        client_settings, "client_login",
        lambda *plain, kerberos, tokens: seen.extend((*plain, kerberos)),
    )  # fmt: skip
    security.security_of(options(security_protocol="SASL_PLAINTEXT", **given), ClientEnvironment())
    return tuple(seen)


def test_settings_of_logins_arrive_each_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {
        "sasl_login_refresh_window_factor": "0.6", "sasl_login_refresh_window_jitter": "0.1",
        "sasl_login_refresh_min_period_seconds": "11", "sasl_login_refresh_buffer_seconds": "22",
        "sasl_kerberos_service_name": "s", "sasl_kerberos_ticket_renew_window_factor": "0.7",
        "sasl_kerberos_ticket_renew_jitter": "0.2", "sasl_kerberos_min_time_before_relogin": "33",
        "sasl_kerberos_kinit_cmd": "k",
    }  # fmt: skip
    login = login_of(monkeypatch, sasl_mechanism="M", sasl_jaas_config=f'{SCRAM} username="u";', **rules)
    mechanism, entry, _, callback, refresh, kerberos = login
    assert (mechanism, entry.options, callback) == ("M", {"username": "u"}, None)
    assert tuple(refresh) == (0.6, 0.1, 11, 22)
    assert tuple(kerberos) == ("s", 0.7, 0.2, 33, "k")


def test_the_login_file_counts_only_without_the_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f'KafkaClient {{ {SCRAM} username="of the file"; }};')
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={file}")
    assert login_of(monkeypatch)[1].options == {"username": "of the file"}
    given = login_of(monkeypatch, sasl_jaas_config=f'{SCRAM} username="of the setting";')
    assert given[1].options == {"username": "of the setting"}


@pytest.mark.parametrize("words", ['username="" password="p"', 'username="u" password=""', 'username="u"'])
def test_a_login_without_a_name_or_password_is_refused_before_any_connection(words: str) -> None:
    entry = f"{SCRAM} {words};"
    given = options(security_protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256", sasl_jaas_config=entry)
    with pytest.raises(ConfigError, match=r"The login entry for SCRAM-SHA-256 has no (username|password)"):
        security.security_of(given, ClientEnvironment())
