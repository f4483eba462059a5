"""Profiles: what the file may hold, which one is meant, and what a tool gets of it."""

from importlib import import_module
from pathlib import Path

import pytest

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.local_cluster.processes import ServerProcess
from kafka_py.cli.umbrella.profiles import profiles_file, read_profiles, settings_for, take_name, with_settings
from kafka_py.cli.umbrella.tool_names import TOOLS, ToolConnection

FILE = """
default = "local"

[local]
bootstrap.servers = "localhost:9092"

[prod]
"bootstrap.servers" = ["a:1", "b:2"]
security.protocol = "SASL_SSL"
enable.idempotence = true
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user with two profiles."""
    path = tmp_path / "profiles.toml"
    path.write_text(FILE)
    return {"KAFKA_PY_PROFILES": str(path), "KAFKA_PY_DATA": str(tmp_path / "none")}


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert profiles_file({}) == Path("/home/me/.config/kafka_py/profiles.toml")
    assert profiles_file({"XDG_CONFIG_HOME": "/x"}) == Path("/x/kafka_py/profiles.toml")


def test_names_may_be_quoted_or_not_and_values_of_any_type(environment: dict[str, str]) -> None:
    assert settings_for("prod", environment) == {
        "bootstrap.servers": "a:1,b:2", "security.protocol": "SASL_SSL", "enable.idempotence": "true",
    }  # fmt: skip


def test_the_option_goes_over_the_variable_and_that_over_the_default(environment: dict[str, str]) -> None:
    local = {"bootstrap.servers": "localhost:9092"}
    assert settings_for(None, environment) == local
    environment["KAFKA_PY_PROFILE"] = "prod"
    assert settings_for(None, environment)["security.protocol"] == "SASL_SSL"
    assert settings_for("local", environment) == local


def test_an_unknown_profile_names_those_there_are(environment: dict[str, str]) -> None:
    with pytest.raises(CommandFailed, match=r"no profile test in .*profiles.toml: there are local, prod"):
        settings_for("test", environment)
    with pytest.raises(CommandFailed, match="there are none"):
        settings_for("test", {"KAFKA_PY_PROFILES": "/nonexistent"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a", "cannot be read"),
        ("a = 1", r"a must be a section of settings, \[a\]"),
        ('default = "b"\n[a]\n', "the default is 'b', but there is no section"),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(text)
    with pytest.raises(CommandFailed, match=message):
        read_profiles(path)


def test_without_profiles_the_local_cluster_is_meant_while_it_runs(tmp_path: Path) -> None:
    environment = {"KAFKA_PY_PROFILES": "/nonexistent", "KAFKA_PY_DATA": str(tmp_path)}
    assert settings_for(None, environment) == {}
    layout.write(tmp_path, LocalCluster((7,), 8))
    state.write(tmp_path, [ServerProcess("broker-0", 1, "00000000:1")])
    assert settings_for(None, environment) == {}, "it does not run"
    from kafka_py.cli.local_cluster.processes import start_mark

    state.write(tmp_path, [ServerProcess("broker-0", 1, start_mark(1))])
    assert settings_for(None, environment) == {"bootstrap.servers": "127.0.0.1:7"}


def test_the_option_may_be_anywhere() -> None:
    assert take_name(["--profile", "a", "topics", "--list"]) == ("a", ["topics", "--list"])
    assert take_name(["topics", "--profile=a", "--list"]) == ("a", ["topics", "--list"])
    assert take_name(["topics"]) == (None, ["topics"])
    with pytest.raises(CommandFailed, match="--profile needs the name"):
        take_name(["--profile"])


LOCAL = {"bootstrap.servers": "h:1"}
ADMIN = ToolConnection()


@pytest.mark.parametrize(
    ("words", "tool", "expected"),
    [
        (["--list"], ADMIN, ["--bootstrap-server", "h:1", "--list"]),
        (["--list", "--bootstrap-server", "x:2"], ADMIN, ["--list", "--bootstrap-server", "x:2"]),
        (["--list", "--bootstrap-server=x:2"], ADMIN, ["--list", "--bootstrap-server=x:2"]),
        (["--zookeeper", "z"], ToolConnection(instead=frozenset({"--zookeeper"})), ["--zookeeper", "z"]),
        (["cluster-id"], ToolConnection("--config", place=1), ["cluster-id", "--bootstrap-server", "h:1"]),
        (["--help"], ADMIN, ["--help"]),
        ([], ADMIN, []),
        ([], TOOLS["broker-api-versions"].connection, ["--bootstrap-server", "h:1"]),
    ],
)
def test_servers_become_the_tool_s_option_unless_they_are_given(
    words: list[str], tool: ToolConnection, expected: list[str]
) -> None:
    assert with_settings(words, tool, LOCAL) == expected


def test_other_settings_become_a_file_under_the_one_given_by_hand(tmp_path: Path) -> None:
    profile = {**LOCAL, "security.protocol": "SSL", "client.id": "me"}
    own = tmp_path / "own.properties"
    own.write_text("client.id=you\n")
    words = with_settings(["--list", "--command-config", str(own)], ADMIN, profile)
    assert words[:3] == ["--bootstrap-server", "h:1", "--command-config"]
    assert words[4:] == ["--list"]
    assert read_properties(words[3]) == {"security.protocol": "SSL", "client.id": "you"}
    [_, file, *_] = with_settings(["--topic", "t"], ToolConnection("--producer.config", ""), profile)
    assert read_properties(file) == profile


CONNECTED = {short: tool for short, tool in TOOLS.items() if tool.connection is not None}


@pytest.mark.parametrize("short", CONNECTED)
def test_every_tool_has_the_options_that_its_row_names(short: str) -> None:
    tool = CONNECTED[short]
    assert tool.connection is not None
    module = import_module(f"kafka_py.{tool.module}")
    if short == "consumer-groups":
        module = import_module("kafka_py.cli.group_admin.consumer_groups_options")
    text = module.parser().format_help()
    if short == "cluster":
        text += Path(str(module.__file__)).read_text()
    wanted = {tool.connection.servers, tool.connection.config, *tool.connection.instead} - {""}
    if short in ("console-consumer",):
        wanted -= {"--broker-list"}
    assert [name for name in wanted if name not in text] == []


def test_a_command_that_does_something_without_words_gets_the_servers() -> None:
    settings = {"bootstrap.servers": "b:1"}
    assert with_settings([], ToolConnection(is_bare=True), settings) == ["--bootstrap-server", "b:1"]
    assert with_settings([], ToolConnection(), settings) == []
