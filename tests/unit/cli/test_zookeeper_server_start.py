"""What is refused in one line before the server is started."""

import socket

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.zookeeper_server_start import check_properties, main


def test_without_argument_the_usage_is_shown(capsys):
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("USAGE: ")
    assert main(["--help"]) == 1


def test_stray_words_and_missing_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match="Unexpected argument: more"):
        main(["a.properties", "more"])
    with pytest.raises(ConfigError, match=r"none\.properties"):
        main([str(tmp_path / "none.properties")])


def test_data_dir_is_needed_and_made(tmp_path):
    with pytest.raises(CommandFailed, match="z does not set dataDir"):
        check_properties("z", {"clientPort": "0"})
    check_properties("z", {"dataDir": str(tmp_path / "a" / "b")})
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(CommandFailed, match=r"dataDir=.*file.* cannot be used"):
        check_properties("z", {"dataDir": str(tmp_path / "file")})


def test_a_port_in_use_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(CommandFailed, match=f"clientPort={port} of z is in use"):
            check_properties("z", {"dataDir": str(tmp_path), "clientPort": port, "clientPortAddress": "127.0.0.1"})
    check_properties("z", {"dataDir": str(tmp_path), "clientPort": port, "clientPortAddress": "127.0.0.1"})
    with pytest.raises(CommandFailed, match="not a port number"):
        check_properties("z", {"dataDir": str(tmp_path), "clientPort": "x"})


def test_a_member_of_an_ensemble_must_know_its_number(tmp_path):
    properties = {"dataDir": str(tmp_path), "server.1": "h:1:2", "server.2": "h:3:4"}
    with pytest.raises(CommandFailed, match=r"lists the servers 1, 2, but .*myid is missing"):
        check_properties("z", properties)
    (tmp_path / "myid").write_text("3\n")
    with pytest.raises(CommandFailed, match="says '3'"):
        check_properties("z", properties)
    (tmp_path / "myid").write_text("2\n")
    check_properties("z", properties)
