"""kafka-py web: settings from options and file, users, and what is refused before anything is served."""

import io
import re
import socket
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.umbrella import web
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile
from kafka_py.manager.settings import ManagerSettings

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def nothing_of_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("KAFKA_PY_PROFILES", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("KAFKA_PY_DATA", str(tmp_path / "cluster"))


def settings(*words: str) -> ManagerSettings:
    return web.settings_of(web.parser().parse(words))


def test_options_come_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "manager.toml"
    file.write_text('port = 9001\nhost = "127.0.0.2"\n[[cluster]]\nname = "a"\nbootstrap_servers = "x:1"\n')
    found = settings("--settings", str(file), "--port", "9002", "--bootstrap-server", "y:1,z:1", "--zookeeper", "zk:1")
    assert (found.host, found.port) == ("127.0.0.2", 9002)
    assert [(each.name, each.bootstrap_servers, each.zookeeper) for each in found.clusters] == [
        ("cluster", "y:1,z:1", "zk:1"), ("a", "x:1", "")
    ]  # fmt: skip
    assert found.data == tmp_path / "data" / "kafka_py" / "manager"


def test_a_profile_is_the_cluster_where_none_is_given(tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text('default = "p"\n[p]\nbootstrap.servers = "x:1"\nclient.id = "me"\n')
    [cluster] = settings().clusters
    assert cluster.client_properties() == {"bootstrap.servers": "x:1", "client.id": "me"}


def test_without_a_users_file_everybody_reads_on_this_machine_only() -> None:
    found = settings("--bootstrap-server", "x:1")
    assert (found.host, found.port, found.users, found.allow_changes) == ("127.0.0.1", 9000, None, False)
    assert settings("--bootstrap-server", "x:1", "--allow-changes").allow_changes
    with pytest.raises(ConfigError, match="this machine only"):
        settings("--bootstrap-server", "x:1", "--host", "0.0.0.0").validate()


def test_a_user_is_added_with_the_password_of_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    users = tmp_path / "users"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    assert web.main(["--users", str(users), "--add-user", "ann", "--role", "administrator"]) == 0
    assert PASSWORD not in capsys.readouterr().out + users.read_text()
    user = UsersFile(users).authenticate("ann", PASSWORD)
    assert user is not None and user.role is AccessRole.ADMINISTRATOR


@pytest.mark.parametrize(
    ("words", "error", "why"),
    [
        (["--add-user", "ann"], UsageError, "--add-user needs --users"),
        (["--port", "9000"], UsageError, "Which cluster?"),
        (["--bootstrap-server", "x:1", "--host", "0.0.0.0"], ConfigError, "this machine only"),
    ],
)
def test_what_cannot_be_served_is_refused_first(words: list[str], error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=re.escape(why)):
        web.main(words)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            web.main(["--bootstrap-server", "x:1", "--port", str(port)])


def test_a_short_password_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    with pytest.raises(CommandFailed, match="8 to 1000"):
        web.main(["--users", str(tmp_path / "users"), "--add-user", "ann"])
    assert not (tmp_path / "users").exists()
