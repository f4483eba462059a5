"""Names for the completion: from a cache, looked for in the background, never waited for."""

import os
from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.umbrella import names
from kafka_py.cli.umbrella.names import cache_file, is_fresh, main, refresh, settings_of

SERVERS = {"bootstrap.servers": "h:1"}
WORDS = ["--", "topics", "--bootstrap-server", "h:1", "--topic", ""]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no profiles."""
    monkeypatch.setenv("KAFKA_PY_CACHE", str(tmp_path))
    monkeypatch.setenv("KAFKA_PY_PROFILES", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("KAFKA_PY_DATA", str(tmp_path / "none"))
    monkeypatch.delenv("KAFKA_PY_PROFILE", raising=False)
    return tmp_path


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was started in the background."""
    started: list[list[str]] = []
    monkeypatch.setattr(names, "_in_background", lambda words: started.append(list(words)))
    return started


def test_the_first_call_prints_nothing_and_has_it_looked_for_once(
    begun: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topics", *WORDS]) == 0
    assert main(["topics", *WORDS]) == 0
    assert capsys.readouterr().out == ""
    assert begun == [["topics", "--refresh", *WORDS]]


def test_what_was_found_is_printed_at_once_and_looked_for_again_when_it_is_old(
    begun: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "look", lambda kind, settings: [f"{kind}-of-{settings['bootstrap.servers']}"])
    path = cache_file("topics", SERVERS)
    path.parent.mkdir(parents=True)
    assert main(["topics", "--refresh", *WORDS]) == 0
    assert main(["topics", *WORDS]) == 0
    assert capsys.readouterr().out == "topics-of-h:1\n"
    assert begun == []
    os.utime(path, (1, 1))
    assert main(["topics", *WORDS]) == 0
    assert capsys.readouterr().out == "topics-of-h:1\n"
    assert len(begun) == 1


def test_a_cluster_is_known_by_option_profile_or_file(cache: Path) -> None:
    assert settings_of(["topics", "--list"]) == {}
    assert settings_of(["topics", "--bootstrap-server", "h:1", "--topic"]) == SERVERS
    (cache / "profiles.toml").write_text('[p]\n"bootstrap.servers" = "p:1"\n')
    (cache / "c.properties").write_text("client.id=x\n")
    assert settings_of(["--profile", "p", "topics"]) == {"bootstrap.servers": "p:1"}
    words = ["--profile", "p", "topics", "--command-config", str(cache / "c.properties")]
    assert settings_of(words) == {"bootstrap.servers": "p:1", "client.id": "x"}


def test_without_a_cluster_nothing_is_looked_for(begun: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "--", "topics", "--list"]) == 0
    assert (begun, capsys.readouterr().out) == ([], "")


def test_each_cluster_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert cache_file("topics", SERVERS) != cache_file("groups", SERVERS)
    assert cache_file("topics", SERVERS) != cache_file("topics", {"bootstrap.servers": "h:2"})
    assert not is_fresh(tmp_path / "none", 0)


def test_only_topics_and_groups_have_names() -> None:
    with pytest.raises(CommandFailed, match="takes topics or groups"):
        main(["brokers"])


def test_names_are_those_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    path = cache_file("groups", SERVERS)
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(names, "look", lambda *_: ["b", "a"])
    refresh("groups", SERVERS)
    assert path.read_text() == "b\na\n"


def test_no_secret_is_in_the_name_of_a_file() -> None:
    """A digest of a short password could be guessed."""
    one, other = ({**SERVERS, "sasl.jaas.config": f'password="{password}"'} for password in ("one", "other"))
    assert cache_file("topics", one) == cache_file("topics", other) == cache_file("topics", SERVERS)
    assert cache_file("topics", {**SERVERS, "client.id": "c"}) != cache_file("topics", SERVERS)
