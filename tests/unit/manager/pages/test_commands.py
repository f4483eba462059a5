"""Commands can be pasted into a shell, whatever is in a name; and paths after a login stay on this site."""

import shlex

import pytest

from kafka_py.clients.environment import SYSTEM
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.pages.commands import command, config_words
from kafka_py.manager.pages.login import local_path
from kafka_py.manager.settings import ClusterSettings


def test_a_command_is_one_shell_line_without_secrets() -> None:
    settings = ClusterSettings("c", "a:1,b:2", {"sasl.jaas.config": "secret"})
    name = "$(rm -rf /) 'x' \"y\"\nz"
    line = command(ManagedCluster(settings, SYSTEM), "kafka-topics.sh", "--topic", name, "--partitions", 3)
    assert shlex.split(line) == [
        "kafka-topics.sh", "--bootstrap-server", "a:1,b:2", "--command-config", "client.properties", "--topic", name,
        "--partitions", "3",
    ]  # fmt: skip
    assert "secret" not in line


def test_an_election_has_another_option_for_the_file() -> None:
    cluster = ManagedCluster(ClusterSettings("c", "a:1", {"client.id": "x"}), SYSTEM)
    assert "--admin.config client.properties" in command(cluster, "kafka-leader-election.sh")
    assert command(ManagedCluster(ClusterSettings("c", "a:1"), SYSTEM), "x.sh") == "x.sh --bootstrap-server a:1"


def test_lists_are_in_brackets() -> None:
    assert config_words({"a": "1", "b": "x,y"}) == ["a=1", "b=[x,y]"]


@pytest.mark.parametrize(
    ("text", "path"),
    [("/clusters/a?x=1", "/clusters/a?x=1"), ("//evil.example", "/"), ("/\\evil.example", "/"),
     ("/\t/evil.example", "/"), ("https://evil.example", "/"), ("", "/"), ("/login?next=/x", "/")],
)  # fmt: skip
def test_only_a_path_of_this_site_follows_a_login(text: str, path: str) -> None:
    assert local_path(text) == path
