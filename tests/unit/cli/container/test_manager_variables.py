"""Settings of the web manager from environment variables, and who can log in at its first start."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.container import manager
from kafka_py.cli.container.manager import (
    manager_settings,
    prepare_users,
    read_manager_variables,
    without_missing_users,
)
from kafka_py.cli.container.manager_variables import ManagerVariables, manager_values
from kafka_py.cli.container.variables import read_secret
from kafka_py.manager.history.background import settings_of_history
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile
from kafka_py.manager.settings import ManagerSettings

SERVERS = {"KAFKA_MANAGER_BOOTSTRAP_SERVERS": "kafka-1:29092,kafka-2:29092"}
PASSWORD = "correct horse"


def values(environment: Mapping[str, str], base: Mapping[str, Any] | None = None) -> ManagerVariables:
    return manager_values(environment, base or {}, read_secret)


def settings(environment: Mapping[str, str]) -> ManagerSettings:
    return manager_settings(values(environment))


def test_without_any_variable_everybody_logs_in_and_all_data_are_on_the_volume() -> None:
    found = settings({"PATH": "/bin", "KAFKA_MANAGER_HOST": ""})
    folder = Path("/var/lib/kafka/manager")
    assert (found.host, found.port, found.clusters) == ("0.0.0.0", 9000, ())
    assert (found.users, found.data, found.allow_changes) == (folder / "users", folder, False)
    found.validate()


def test_every_setting_has_its_variable() -> None:
    found = settings({
        **SERVERS, "KAFKA_MANAGER_CLUSTER": "orders", "KAFKA_MANAGER_ZOOKEEPER": "zk:2181/kafka",
        "KAFKA_MANAGER_CLIENT_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_MANAGER_CLIENT_SASL_MECHANISM": "PLAIN",
        "KAFKA_MANAGER_PORT": "8080", "KAFKA_MANAGER_IS_READ_ONLY": "True", "KAFKA_MANAGER_SESSION_IDLE_MINUTES": "5",
        "KAFKA_MANAGER_PUBLIC_NAMES": "kafka.example, other.example", "KAFKA_MANAGER_TLS_KEY": "/run/secrets/key",
        "KAFKA_MANAGER_TRUSTED_PROXIES": "10.0.0.5,fd00::/8",
        "KAFKA_MANAGER_HISTORY_RETENTION_DAYS": "2", "KAFKA_MANAGER_HISTORY_IS_ENABLED": "true",
    })  # fmt: skip
    [cluster] = found.clusters
    assert (cluster.name, cluster.zookeeper) == ("orders", "zk:2181/kafka")
    assert cluster.client_properties() == {
        "bootstrap.servers": "kafka-1:29092,kafka-2:29092", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
    }  # fmt: skip
    assert (found.port, found.is_read_only, found.session_idle_minutes) == (8080, True, 5)
    assert found.public_names == ("kafka.example", "other.example")
    assert found.trusted_proxies == ("10.0.0.5", "fd00::/8")
    assert found.tls_key == Path("/run/secrets/key")
    history = settings_of_history(found.extra["history"])
    assert history is not None and history.retention_ms == 2 * 24 * 3600 * 1000


def test_a_provider_is_given_by_variables_and_needs_no_users_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the client\n")
    given = {
        "KAFKA_MANAGER_OIDC_ISSUER": "https://login.example/main", "KAFKA_MANAGER_OIDC_CLIENT_ID": "7",
        "KAFKA_MANAGER_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "secret"), "KAFKA_MANAGER_OIDC_TIMEOUT_SECONDS": "9",
        "KAFKA_MANAGER_OIDC_PUBLIC_URL": "https://kafka.example", "KAFKA_MANAGER_OIDC_ADMINISTRATORS": "ops, dba",
        "KAFKA_MANAGER_USERS": str(tmp_path / "users"), "KAFKA_MANAGER_HISTORY_RETENTION_DAYS": "0.5",
    }  # fmt: skip
    found = settings(given)
    assert found.oidc is not None and (found.oidc.client_id, found.oidc.timeout_seconds) == ("7", 9)
    assert (found.oidc.client_secret, found.oidc.administrators) == ("of the client", ("ops", "dba"))
    assert found.extra["history"] == {"retention_days": 0.5}
    assert without_missing_users(found, None).users is None
    assert without_missing_users(found, PASSWORD).users == tmp_path / "users"
    (tmp_path / "users").write_text("")
    assert without_missing_users(found, None).users == tmp_path / "users"
    assert without_missing_users(settings({}), None).users is not None


def test_the_mounted_file_has_what_no_variable_sets(tmp_path: Path) -> None:
    file = tmp_path / "manager.toml"
    file.write_text(
        'port = 9001\nhost = "::"\nusers = "mine"\n[history]\nretention_days = 3\nlimit_megabytes = 64\n'
        '[[cluster]]\nname = "archive"\nbootstrap_servers = "old:9092"\n'
    )
    given = {**SERVERS, "KAFKA_MANAGER_PORT": "80", "KAFKA_MANAGER_HISTORY_RETENTION_DAYS": "4"}
    found = manager_settings(read_manager_variables(given, file), file)
    assert (found.port, found.host, found.users) == (80, "::", tmp_path / "mine")
    assert [cluster.name for cluster in found.clusters] == ["cluster", "archive"]
    assert found.extra["history"] == {"retention_days": 4, "limit_megabytes": 64}


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "manager.toml"
    file.write_text("port 9001")
    with pytest.raises(ConfigError, match=r"manager\.toml cannot be read"):
        read_manager_variables({}, file)


def test_a_password_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    found = values({"KAFKA_MANAGER_ADMINISTRATOR_PASSWORD_FILE": str(tmp_path / "password")})
    assert (found.administrator, found.password) == ("admin", PASSWORD)
    assert PASSWORD not in str(found.values)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"KAFKA_MANAGER_PORT": "web"}, "KAFKA_MANAGER_PORT is a whole number, not 'web'"),
        ({"KAFKA_MANAGER_IS_READ_ONLY": "1"}, "KAFKA_MANAGER_IS_READ_ONLY is true or false, not '1'"),
        ({"KAFKA_MANAGER_CLUSTER": "a"}, "KAFKA_MANAGER_CLUSTER is set without KAFKA_MANAGER_BOOTSTRAP_SERVERS"),
        ({"KAFKA_MANAGER_CLIENT_ACKS": "all"}, "KAFKA_MANAGER_CLIENT_ACKS is set without"),
        ({"KAFKA_MANAGER_BOOTSTRAP_SERVERS": "kafka"}, "kafka"),
        ({"KAFKA_MANAGER_TLS_KEY_FILE": "/none"}, "KAFKA_MANAGER_TLS_KEY_FILE: the value of KAFKA_MANAGER_TLS_KEY is"),
        ({"KAFKA_MANAGER_USERS_FILE": "/none"}, "is a path itself: leave _FILE out"),
        ({"KAFKA_MANAGER_OIDC_CA_CERTIFICATE_FILE": "/none"}, "is a path itself: leave _FILE out"),
    ],
)
def test_a_wrong_variable_is_named(environment: Mapping[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        settings(environment)


def test_unknown_variables_are_reported_and_those_of_kubernetes_are_none() -> None:
    found = values({
        "KAFKA_MANAGER_COLOUR": "red", "KAFKA_MANAGER_HISTORY": "7", "KAFKA_MANAGER_PORT": "tcp://10.0.0.1:9000",
        "KAFKA_MANAGER_SERVICE_HOST": "10.0.0.1", "KAFKA_MANAGER_PORT_9000_TCP_ADDR": "10.0.0.1",
    })  # fmt: skip
    assert found.ignored == ["KAFKA_MANAGER_COLOUR", "KAFKA_MANAGER_HISTORY"]
    assert "port" not in found.values


# ---- the first user


def prepare(users: Path, password: str | None = None, name: str = "admin") -> str | None:
    return prepare_users(users, name, password, Chance(7))


def role_of(users: Path, name: str, password: str) -> AccessRole | None:
    user = UsersFile(users).authenticate(name, password)
    return None if user is None else user.role


def test_the_first_start_makes_an_administrator_whose_password_only_the_owner_reads(tmp_path: Path) -> None:
    users, written = tmp_path / "users", tmp_path / "first-password"
    said = prepare(users)
    password = written.read_text().strip()
    assert said is not None and str(written) in said and password not in said
    assert len(password) == 32 and password not in users.read_text()
    assert role_of(users, "admin", password) is AccessRole.ADMINISTRATOR
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(users.stat().st_mode) == 0o600
    content = users.read_text()
    assert prepare(users) is None and users.read_text() == content


def test_an_empty_users_file_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("# nobody\n")
    assert prepare(tmp_path / "users") is not None
    assert (tmp_path / "users").read_text().startswith("# nobody\nadmin:administrator:")


def test_a_password_that_is_given_holds_from_then_on(tmp_path: Path) -> None:
    users = tmp_path / "users"
    assert prepare(users, PASSWORD, "ann") is None and not (tmp_path / "first-password").exists()
    content = users.read_text()
    prepare(users, PASSWORD, "ann")
    assert users.read_text() == content
    prepare(users, PASSWORD + "!", "ann")
    assert role_of(users, "ann", PASSWORD) is None
    assert role_of(users, "ann", PASSWORD + "!") is AccessRole.ADMINISTRATOR
    users.write_text(users.read_text().replace(":administrator:", ":reader:"))
    prepare(users, PASSWORD + "!", "ann")
    assert role_of(users, "ann", PASSWORD + "!") is AccessRole.ADMINISTRATOR


@pytest.mark.parametrize(
    ("content", "password", "words"),
    [
        ("", "short", "KAFKA_MANAGER_ADMINISTRATOR_PASSWORD: A password has 8 to 1000 characters"),
        ("ann\n", None, "Line 1 of the users file is not"),
    ],
)
def test_what_keeps_everybody_out_is_one_line(tmp_path: Path, content: str, password: str | None, words: str) -> None:
    (tmp_path / "users").write_text(content)
    with pytest.raises(CommandFailed, match=words):
        prepare(tmp_path / "users", password)


def test_a_users_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandFailed, match="cannot be written to"):
        prepare(tmp_path / "file" / "users", PASSWORD)


@pytest.mark.parametrize("password", [None, PASSWORD])
def test_beside_a_provider_only_a_password_that_is_given_makes_an_administrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str | None
) -> None:
    users = tmp_path / "users"
    users.write_text("# the last one was removed\n")
    monkeypatch.setattr(manager, "serve_manager", lambda settings: None)
    for name, value in {
        "DATA": str(tmp_path), "USERS": str(users), "ADMINISTRATOR_PASSWORD": password or "",
        "OIDC_ISSUER": "https://login.example/main", "OIDC_CLIENT_ID": "7", "OIDC_ADMINISTRATORS": "ops",
        "OIDC_PUBLIC_URL": "https://kafka.example",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"KAFKA_MANAGER_{name}", value)
    assert manager.main([]) == 0
    assert not (tmp_path / "first-password").exists()
    assert ("admin:administrator:" in users.read_text()) == (password is not None)


def test_a_command_that_the_image_lacks_is_named() -> None:
    with pytest.raises(CommandFailed, match=r"no command kafka-none\.sh in this image; without one it starts the web"):
        manager.main(["kafka-none.sh"])
