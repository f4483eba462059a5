"""The end of files, and what is written to them afterwards."""

from pathlib import Path
from typing import BinaryIO

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import layout
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.umbrella.logs import chosen, follow, last_lines, main

KNOWN = ["zookeeper", "broker-0", "broker-1"]


def test_processes_by_name_or_number() -> None:
    assert chosen([], KNOWN) == KNOWN
    assert chosen(["1", "zookeeper"], KNOWN) == ["broker-1", "zookeeper"]
    with pytest.raises(CommandFailed, match="no process broker-7: there are zookeeper, broker-0, broker-1"):
        chosen(["7"], KNOWN)


@pytest.mark.parametrize("count", [0, 1, 3, 100])
@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("length", [1, 5000])
def test_the_last_lines_whatever_their_length(tmp_path: Path, count: int, end: str, length: int) -> None:
    lines = [f"{number}{'x' * length}" for number in range(20)]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + end)
    with path.open("rb") as file:
        assert last_lines(file, count) == lines[len(lines) - min(count, 20) :]
        assert file.read() == b""


def test_an_empty_log_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with (tmp_path / "log").open("rb") as file:
        assert last_lines(file, 5) == []


class Enough(Exception):
    pass


def test_following_shows_whole_lines_of_every_file(tmp_path: Path) -> None:
    files: dict[str, BinaryIO] = {}
    for name in ("a", "b"):
        (tmp_path / name).touch()
        files[name] = (tmp_path / name).open("rb")
    writes = iter([("a", "one\ntw"), ("b", "B\n"), ("a", "o\n")])
    shown = []

    def write() -> None:
        name, text = next(writes, ("", ""))
        if not name:
            raise Enough
        with (tmp_path / name).open("a") as file:
            file.write(text)

    with pytest.raises(Enough):
        follow(files, lambda name, line: shown.append((name, line)), write)
    assert shown == [("a", "one"), ("b", "B"), ("a", "two")]


def test_several_processes_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout.write(tmp_path, LocalCluster((1,), 2))
    for name in ("zookeeper", "broker-0"):
        log = layout.log_of(tmp_path, name)
        log.parent.mkdir()
        log.write_text(f"first\nlast of {name}\n")
    assert main(["--data", str(tmp_path), "--lines", "1"]) == 0
    assert capsys.readouterr().out == "zookeeper | last of zookeeper\nbroker-0  | last of broker-0\n"
    assert main(["0", "--data", str(tmp_path), "--lines", "1"]) == 0
    assert capsys.readouterr().out == "last of broker-0\n"
