"""kafka-py check: output and exit codes, and the files that are shipped."""

from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.umbrella.check import main

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("name", ["server.properties", "pipeline-mirror.yaml", "pipeline-history.toml"])
def test_the_shipped_files_are_in_order(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "config" / name
    assert main([str(file), "--strict", "--set", "TOPIC=t", "--set", "OUT=o"]) == 0
    assert capsys.readouterr().out == f"{file}: in order\n"


def test_findings_are_printed_as_compilers_do_and_errors_are_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, odd = tmp_path / "wrong.properties", tmp_path / "odd.properties"
    wrong.write_text("zookeeper.connect=z:1\nnum.io.threads=many\n")
    odd.write_text("# comment\nzookeeper.connect=z:1\nnum.io.thread=3\n")
    assert main([str(odd)]) == 0
    assert main([str(odd), "--strict"]) == 1
    assert main([str(wrong), str(odd)]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == last == f"{odd}:3: warning: there is no setting num.io.thread: did you mean num.io.threads?"


def test_the_kind_may_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("request.timeout.ms=5\nmax.poll.records=0\n")
    assert main([str(file), "--kind", "consumer"]) == 1
    assert "max.poll.records" in capsys.readouterr().out


def test_a_pipeline_s_mistake_names_the_nearest_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.toml"
    file.write_text('[sauce]\n[source]\ntopic = "t"\n[sink]\nkind = "console"\n')
    assert main([str(file)]) == 1
    assert "sauce is not a key of this place (did you mean source?)" in capsys.readouterr().out


def test_zookeeper_s_file_and_malformed_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ROOT / "config" / "zookeeper.properties")]) == 0
    file = tmp_path / "bad.properties"
    file.write_text("a=\\u12\n")
    assert main([str(file)]) == 1
    assert "malformed" in capsys.readouterr().out


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"none\.properties cannot be read: No such file"):
        main([str(tmp_path / "none.properties")])
    (tmp_path / "x.properties").write_bytes(b"\xff\xfe=\xff")
    with pytest.raises(CommandFailed, match="not UTF-8"):
        main([str(tmp_path / "x.properties")])
    with pytest.raises(UsageError, match="A file must be given"):
        main([])
