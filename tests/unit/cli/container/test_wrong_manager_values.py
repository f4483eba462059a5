"""A wrong value of any setting of the web manager ends its start with one line that names the variable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.container import manager
from kafka_py.cli.container.manager_variables import CLUSTER, PASSWORD, PREFIX, variable_in
from kafka_py.manager import server
from kafka_py.manager.history.background import _OPTIONS as HISTORY_OPTIONS
from kafka_py.manager.identity.oidc.settings import KINDS
from kafka_py.manager.settings import LISTS, PATHS, PLAIN
from kafka_py.testing.certificate_files import CertificateFiles

PROVIDER = {
    "OIDC_ISSUER": "https://login.example", "OIDC_CLIENT_ID": "manager", "OIDC_ADMINISTRATORS": "ops",
    "OIDC_PUBLIC_URL": "https://kafka.example",
}  # fmt: skip
TLS = {"TLS_CERTIFICATE": "{tmp}/good.crt", "TLS_KEY": "{tmp}/good.key"}
WRONG: list[tuple[str, str, Mapping[str, str], str]] = [
    ("HOST", "no.such.host.invalid", {}, "cannot listen on no.such.host.invalid:"),
    ("HOST", "a..b", {}, "cannot listen on a..b:0"),
    ("HOST", "192.0.2.1", {}, "cannot listen on 192.0.2.1"),
    ("PORT", "70000", {}, "port is between 0 and 65535, not 70000"),
    ("PORT", "-1", {}, "port is between 0 and 65535, not -1"),
    ("PORT", "inf", {}, "is a whole number, not 'inf'"),
    ("IS_READ_ONLY", "perhaps", {}, "is true or false, not 'perhaps'"),
    ("ALLOW_CHANGES", "1", {}, "is true or false, not '1'"),
    ("SESSION_IDLE_MINUTES", "0", {}, "session_idle_minutes is between 1 and 1000000, not 0"),
    ("SESSION_IDLE_MINUTES", "1e3", {}, "is a whole number, not '1e3'"),
    ("SESSION_LONGEST_HOURS", "-5", {}, "session_longest_hours is between 1 and 100000, not -5"),
    ("DATA", "{tmp}/file/data", {}, "data: {tmp}/file/data cannot be used: Not a directory; name a folder"),
    ("DATA", "{tmp}/file", {}, "data: {tmp}/file cannot be used: File exists; name a folder"),
    ("AUDIT_LOG", "{tmp}", {}, "audit_log: {tmp} cannot be used: Is a directory; name a file"),
    ("AUDIT_LOG", "{tmp}/file/log", {}, "audit_log: {tmp}/file/log cannot be used"),
    ("METRICS_TOKEN", "{tmp}/none", {}, "metrics_token: {tmp}/none cannot be read: No such file"),
    ("METRICS_TOKEN", "{tmp}/file", {}, "metrics_token: {tmp}/file has no token"),
    ("USERS", "{tmp}/file/users", {}, "{tmp}/file/users cannot be written to"),
    ("USERS", "{tmp}/no-users", {}, "Line 1 of the users file is not `name:role:hash`"),
    ("USERS", "{tmp}", PROVIDER, "users: The users file {tmp} cannot be read"),
    ("TLS_CERTIFICATE", "{tmp}/none", {"TLS_KEY": "{tmp}/good.key"}, "{tmp}/none cannot be used: No such file"),
    ("TLS_CERTIFICATE", "{tmp}/file", {"TLS_KEY": "{tmp}/good.key"}, "are no certificate chain with its key"),
    ("TLS_CERTIFICATE", "{tmp}/good.crt", {}, "tls_certificate and tls_key are given together"),
    ("TLS_KEY", "{tmp}/none", {"TLS_CERTIFICATE": "{tmp}/good.crt"}, "{tmp}/none cannot be used: No such file"),
    ("TLS_KEY", "{tmp}/locked.key", {"TLS_CERTIFICATE": "{tmp}/good.crt"}, "the key has a password"),
    ("TRUSTED_PROXIES", "proxy.example", {}, "trusted_proxies has IP addresses and networks"),
    ("HISTORY_IS_ENABLED", "7", {}, "is_enabled of [history] cannot be 7"),
    ("HISTORY_RETENTION_DAYS", "inf", {}, "retention_days of [history] is above 0 and at most 36500, not inf"),
    ("HISTORY_RETENTION_DAYS", "nan", {}, "retention_days of [history] is above 0 and at most 36500, not nan"),
    ("HISTORY_RETENTION_DAYS", "-inf", {}, "retention_days of [history] is above 0"),
    ("HISTORY_RETENTION_DAYS", "week", {}, "retention_days of [history] cannot be 'week'"),
    ("HISTORY_INTERVAL_SECONDS", "0", {}, "interval_seconds of [history] is above 0 and at most 86400, not 0"),
    ("HISTORY_INTERVAL_SECONDS", "1e300", {}, "interval_seconds of [history] is above 0 and at most 86400"),
    ("HISTORY_LIMIT_MEGABYTES", "0", {}, "limit_megabytes of [history] is above 0"),
    ("HISTORY_LIMIT_MEGABYTES", "9" * 30, {}, "limit_megabytes of [history] is above 0"),
    ("HISTORY_LIMIT_MEGABYTES", "1.5", {}, "limit_megabytes of [history] cannot be 1.5"),
    ("HISTORY_COLOUR", "7", {}, "[history] has no setting colour"),
    ("OIDC_ISSUER", "http://login.example", PROVIDER, "issuer of [oidc] begins with https://"),
    ("OIDC_CLIENT_ID", "", {"OIDC_ISSUER": "https://login.example"}, "[oidc] needs the setting client_id"),
    ("OIDC_CLIENT_SECRET_FILE", "{tmp}/none", PROVIDER, "that file cannot be read: No such file"),
    ("OIDC_SCOPES", "profile", PROVIDER, "scopes of [oidc] need openid"),
    ("OIDC_PUBLIC_URL", "kafka.example", PROVIDER, "public_url of [oidc] begins with https://"),
    ("OIDC_OTHERS", "everybody", PROVIDER, "others of [oidc] is refused or reader"),
    ("OIDC_CLOCK_SKEW_SECONDS", "inf", PROVIDER, "clock_skew_seconds of [oidc] is a whole number"),
    ("OIDC_TIMEOUT_SECONDS", "0", PROVIDER, "timeout_seconds of [oidc] is between 1 and 60"),
    ("OIDC_SESSION_LONGEST_MINUTES", "-1", PROVIDER, "session_longest_minutes of [oidc] is between"),
    ("OIDC_CA_CERTIFICATE", "{tmp}/none", PROVIDER, "ca_certificate of [oidc]: {tmp}/none cannot be read"),
    ("OIDC_CA_CERTIFICATE", "{tmp}/file", PROVIDER, "ca_certificate of [oidc]: {tmp}/file cannot be read"),
    ("OIDC_ISUER", "https://login.example", PROVIDER, "[oidc] has no setting isuer"),
    ("BOOTSTRAP_SERVERS", "kafka", {}, "kafka"),
    ("CLUSTER", "a b", {"BOOTSTRAP_SERVERS": "kafka:1"}, "A cluster's name has letters"),
    ("ZOOKEEPER", "zk:2181", {}, "KAFKA_MANAGER_ZOOKEEPER is set without KAFKA_MANAGER_BOOTSTRAP_SERVERS"),
    ("ADMINISTRATOR", "a:b", {}, "A user's name has 1 to 100 printable characters"),
    ("ADMINISTRATOR_PASSWORD", "short", {}, "A password has 8 to 1000 characters"),
]  # fmt: skip
ANY_TEXT = {"public_names", "oidc_title", "oidc_name_claim", "oidc_role_claim", "oidc_administrators", "oidc_readers"}
"""What a provider calls its claims and their values, and what the Host header of a request says, is any text."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file that is none of what settings name, and a certificate with its key, with and without
    password."""
    folder = tmp_path_factory.mktemp("values")
    (folder / "file").write_text("something else\n")
    (folder / "no-users").write_text("ann\n")
    made = CertificateFiles(folder / "certificates")
    certificate, key = made.separate("good", made.issue("good", ["localhost"]))
    (folder / "good.crt").write_bytes(Path(certificate).read_bytes())
    (folder / "good.key").write_bytes(Path(key).read_bytes())
    from cryptography.hazmat.primitives import serialization

    loaded = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    (folder / "locked.key").write_bytes(loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    ))  # fmt: skip
    return folder


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was served; nothing really is. The variables have good values of what every case needs."""
    served: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *arguments: served.append(arguments))
    for name, value in {"DATA": str(tmp_path / "data"), "USERS": str(tmp_path / "users"), "PORT": "0"}.items():
        monkeypatch.setenv(PREFIX + name, value)
    return served


def set_variables(values: Mapping[str, str], files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in values.items():
        monkeypatch.setenv(PREFIX + name, value.replace("{tmp}", str(files)))


def test_good_values_are_served(files: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables({**TLS, **PROVIDER, "HOST": "127.0.0.1"}, files, monkeypatch)
    assert manager.main([]) == 0
    [(_, _, listener)] = started
    listener.close()


@pytest.mark.parametrize(
    "row", WRONG, ids=[f"{name}={value[:20]}" for name, value, *_ in WRONG]
)
def test_a_wrong_value_is_named_in_one_line(
    row: tuple[str, str, Mapping[str, str], str], files: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value, more, words = row
    set_variables({**more, name: value}, files, monkeypatch)
    with pytest.raises((ConfigError, CommandFailed)) as refused:
        manager.main([])
    said = refused.value.message if isinstance(refused.value, ConfigError) else str(refused.value)
    assert words.replace("{tmp}", str(files)) in said
    assert "\n" not in said
    if value and name not in ("BOOTSTRAP_SERVERS", "CLUSTER", "HISTORY_COLOUR", "OIDC_ISUER", "ADMINISTRATOR", "USERS"):
        assert PREFIX + name in said or {name, *more} >= {"TLS_CERTIFICATE", "TLS_KEY"}, said
    assert started == []


def test_every_setting_has_a_wrong_value_here() -> None:
    every = {*PATHS, *PLAIN, *LISTS, *(f"history_{name}" for name in HISTORY_OPTIONS)}
    every |= {f"oidc_{name}" for name in KINDS if name != "client_secret"}
    every |= {variable.removeprefix(PREFIX).lower() for variable in (*CLUSTER, PASSWORD)}
    assert every - {name.lower() for name, *_ in WRONG} == ANY_TEXT


@pytest.mark.parametrize(
    ("message", "variable"),
    [
        ("retention_days of [history] cannot be 'a'", "KAFKA_MANAGER_HISTORY_RETENTION_DAYS"),
        ("port is between 0 and 65535", "KAFKA_MANAGER_PORT"),
        ("support is needed", None),
        ("issuer of [oidc] is no URL", None),
    ],
)
def test_the_variable_of_a_message(message: str, variable: str | None) -> None:
    names = ("PORT", "HISTORY_RETENTION_DAYS", "HISTORY_LIMIT_MEGABYTES", "OIDC_TITLE")
    environment = {PREFIX + name: "1" for name in names} | {"PATH": "port", PREFIX + "OIDC_ISSUER": " "}
    assert variable_in(message, environment) == variable


@pytest.mark.usefixtures("started")
def test_the_start_is_one_line_for_the_reader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PREFIX + "HISTORY_RETENTION_DAYS", "inf")
    monkeypatch.setattr("sys.argv", ["manager"])
    with pytest.raises(SystemExit) as ended:
        manager.cli()
    assert ended.value.code == 1
    wrong = "KAFKA_MANAGER_HISTORY_RETENTION_DAYS: retention_days of [history] is above 0 and at most 36500, not inf"
    assert capsys.readouterr().err.splitlines() == [f"Error: {wrong}"]
