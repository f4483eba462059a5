"""The shell's commands and their output, shaped like zkCli's."""

import asyncio
import io
import shlex
import sys

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli import zookeeper_shell
from kafka_py.cli.common.command import UsageError
from kafka_py.cli.zookeeper_shell import Shell, converse, describe_stat, help_text, main
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.session import Stat


@pytest.fixture
def shell(capsys):
    """A function that runs commands one after the other and returns (exit code, output, errors) of the last."""
    zk = FakeZookeeper()

    def run(*lines):
        async def session():
            connection = zk.session()
            await connection.connect()
            commands = Shell(connection)
            code = 0
            for line in lines:
                capsys.readouterr()
                code = await commands.execute(shlex.split(line))
                await asyncio.sleep(0)
            await connection.close()
            return code

        code = asyncio.run(session())
        return (code, *capsys.readouterr())

    return run


def test_create_get_set_and_delete(shell):
    assert shell("create /a hello") == (0, "Created /a\n", "")
    assert shell("get /a") == (0, "hello\n", "")
    assert shell("set /a 'two words'") == (0, "", "")
    assert shell("get /a") == (0, "two words\n", "")
    assert shell("set -v 7 /a x") == (1, "", "version No is not valid : /a\n")
    assert shell("set -v 1 /a -1") == (0, "", "")
    assert shell("get /a") == (0, "-1\n", "")
    assert shell("delete -v 1 /a") == (1, "", "version No is not valid : /a\n")
    assert shell("delete -v 2 /a") == (0, "", "")
    assert shell("get /a") == (1, "", "Node does not exist: /a\n")


def test_data_left_out_is_null(shell):
    assert shell("create /a", "get /a") == (0, "null\n", "")
    assert shell("create /b ''", "get /b") == (0, "\n", "")


def test_ephemeral_and_sequential_nodes(shell):
    assert shell("create /q", "create -s /q/n_", "create -s -e /q/n_ x") == (0, "Created /q/n_0000000001\n", "")
    assert shell("ls /q") == (0, "[n_0000000000]\n", "")


def test_lists_are_sorted_and_recursive_ones_have_whole_paths(shell):
    shell("create /b", "create /a", "create /a/y", "create /a/x")
    assert shell("ls /") == (0, "[a, b, zookeeper]\n", "")
    assert shell("ls -R /a") == (0, "/a\n/a/x\n/a/y\n", "")
    assert shell("ls -R /b") == (0, "/b\n", "")
    code, out, _ = shell("ls -s /a")
    assert (code, out.splitlines()[0], out.splitlines()[-1]) == (0, "[x, y]", "numChildren = 2")


def test_deletion_of_a_tree(shell):
    shell("create /a", "create /a/b", "create /a/b/c")
    assert shell("delete /a") == (1, "", "Node not empty: /a\n")
    assert shell("deleteall /a") == (0, "", "")
    assert shell("deleteall /a") == (1, "", "Node does not exist: /a\n")
    assert shell("deleteall /")[0] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("create /a", "Node already exists: /a\n"),
        ("create /none/x", "Node does not exist: /none/x\n"),
        ("create /e/x", "Ephemerals cannot have children: /e/x\n"),
        ("stat /none", "Node does not exist: /none\n"),
        ("ls none", "Arguments are not valid : none\n"),
        ("get", "get [-s] [-w] path\n"),
        ("get -x /a", "get [-s] [-w] path\n"),
        ("set /a", "set [-s] [-v version] path data\n"),
        ("set -v x /a b", "set [-s] [-v version] path data\n"),
    ],
)
def test_errors_are_one_line_and_exit_1(shell, line, message):
    code, out, error = shell("create /a", "create -e /e", line)
    assert (code, out, error) == (1, "", message)


def test_an_unknown_command_shows_the_help(shell):
    assert shell("foo") == (127, "", f"{help_text()}\nCommand not found: foo\n")
    assert shell("help") == (0, f"{help_text()}\n", "")


def test_a_watch_prints_what_it_sees(shell):
    assert shell("create /a", "get -w /a", "set /a x") == (
        0,
        "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:NodeDataChanged path:/a\n",
        "",
    )


def test_a_stat_looks_like_zkclis(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    zookeeper_shell.time.tzset()
    stat = Stat(0x10, 0x1F, 0, 1_600_000_000_000, 2, -1, 0, -(1 << 63) + 5, 3, 1, 0x20)
    assert describe_stat(stat).splitlines() == [
        "cZxid = 0x10",
        "ctime = Thu Jan 01 00:00:00 UTC 1970",
        "mZxid = 0x1f",
        "mtime = Sun Sep 13 12:26:40 UTC 2020",
        "pZxid = 0x20",
        "cversion = -1",
        "dataVersion = 2",
        "aclVersion = 0",
        "ephemeralOwner = 0x8000000000000005",
        "dataLength = 3",
        "numChildren = 1",
    ]


@pytest.mark.parametrize("end", ["quit\nls /nothing-after-quit\n", ""])
def test_lines_are_read_until_quit_or_the_end(monkeypatch, capsys, end):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f'create /a "x y"\n\nget /a\nget "unfinished\n{end}'))

    async def run():
        connection = FakeZookeeper().session()
        await connection.connect()
        return await converse(Shell(connection), "")

    assert asyncio.run(run()) == 1
    captured = capsys.readouterr()
    assert captured.out == "Created /a\nx y\n"
    assert captured.err == 'No closing quotation: get "unfinished\n'


def test_wrong_use_of_the_script(capsys):
    assert main(["-server"]) == 1
    assert capsys.readouterr().err == f"{zookeeper_shell.USAGE}\n"
    with pytest.raises(UsageError):
        main(["-server", "h:1", "-zk-tls-config-file"])
    with pytest.raises(ConfigError, match=r"/none\.properties"):
        main(["-server", "h:1", "-zk-tls-config-file", "/none.properties", "ls", "/"])


def test_access_lists_are_shown_and_changed(shell):
    assert shell("create /a", "getAcl /a") == (0, "'world,'anyone\n: cdrwa\n", "")
    assert shell("setAcl /a world:anyone:r,sasl:alice:cdrwa") == (0, "", "")
    assert shell("getAcl /a") == (0, "'world,'anyone\n: r\n'sasl,'alice\n: cdrwa\n", "")
    code, output, _ = shell("setAcl -s -v 1 /a world:anyone:ra")
    assert (code, "aclVersion = 2" in output) == (0, True)
    assert shell("setAcl -v 1 /a world:anyone:r") == (1, "", "version No is not valid : /a\n")
    assert shell("setAcl /a world:anyone:rx")[:2] == shell("setAcl /a nonsense")[:2] == (1, "")
    assert shell("getAcl /none") == (1, "", "Node does not exist: /none\n")


def test_an_access_list_is_given_to_a_whole_tree_or_at_once(shell):
    shell("create /a", "create /a/b", "create /a/b/c", "setAcl -R /a ip:10.0.0.1:r")
    assert shell("getAcl /a/b/c") == (0, "'ip,'10.0.0.1\n: r\n", "")
    assert shell("create /d data x509:CN=a,O=b:cdrwa")[0] == 1
    assert shell("create /d data x509:CN=a:cdrwa", "getAcl -s /d")[1].startswith("'x509,'CN=a\n: cdrwa\ncZxid")
