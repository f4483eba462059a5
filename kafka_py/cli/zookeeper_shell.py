"""zookeeper-shell.sh: look at znodes and change them, one command or many; shaped like ZooKeeper's own zkCli.

`-server host:port[/path] [-zk-tls-config-file FILE] [command ...]`. Without a command, lines are read from standard
input until quit or its end. Values are written as UTF-8 text. A login is that of the section Client of the login file.
Source: docs/reference/tools.md, section 23; the ZooKeeper command line guide.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn

from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.secured.access_lists import AccessEntry, AccessList, access_of
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import (
    BadArguments,
    BadVersion,
    InvalidAcl,
    NoAuth,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Stat,
    WatchEvent,
    ZkError,
    ZkSession,
)

USAGE = "USAGE: zookeeper-shell.sh HOST:PORT[/PATH] [-zk-tls-config-file FILE] [COMMAND [ARGUMENT ...]]"
TLS_FILE = "-zk-tls-config-file"
SESSION_TIMEOUT_MS = 30_000
NOT_FOUND_EXIT = 127

_MESSAGES: dict[type[ZkError], str] = {
    NoNode: "Node does not exist: {}",
    NodeExists: "Node already exists: {}",
    NotEmpty: "Node not empty: {}",
    NoChildrenForEphemerals: "Ephemerals cannot have children: {}",
    NoAuth: "Insufficient permission : {}",
    InvalidAcl: "Acl is not valid : {}",
    BadVersion: "version No is not valid : {}",
}


class _Quit(Exception):
    """The user has had enough."""


class _Words(argparse.ArgumentParser):
    """The options of one shell command."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class ShellCommand(NamedTuple):
    """One row of the shell: how it is used, its options, and what it does."""

    usage: str
    words: _Words
    act: Callable[[Shell, argparse.Namespace], Awaitable[None]]


def access_list(text: str) -> AccessList:
    """The entries of `world:anyone:r,sasl:alice:cdrwa`. Raises BadArguments."""
    entries = []
    for item in text.split(","):
        scheme, colon, rest = item.strip().partition(":")
        identity, last_colon, letters = rest.rpartition(":")
        if not colon or not last_colon:
            raise BadArguments(item, "expected scheme:id:permissions")
        try:
            entries.append(AccessEntry(access_of(letters), scheme, identity))
        except ValueError as error:
            raise BadArguments(item, str(error)) from None
    return tuple(entries)


def describe_stat(stat: Stat) -> str:
    """A Stat as zkCli prints it."""

    def date(ms: int) -> str:
        return time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(ms / 1000))

    def hexadecimal(number: int) -> str:
        return f"0x{number & (1 << 64) - 1:x}"

    rows = {
        "cZxid": hexadecimal(stat.czxid),
        "ctime": date(stat.ctime),
        "mZxid": hexadecimal(stat.mzxid),
        "mtime": date(stat.mtime),
        "pZxid": hexadecimal(stat.pzxid),
        "cversion": stat.cversion,
        "dataVersion": stat.version,
        "aclVersion": stat.aversion,
        "ephemeralOwner": hexadecimal(stat.ephemeral_owner),
        "dataLength": stat.data_length,
        "numChildren": stat.num_children,
    }
    return "\n".join(f"{name} = {value}" for name, value in rows.items())


class Shell:
    """Carries out commands on a session; `execute` prints and returns the exit code."""

    def __init__(self, session: ZkSession) -> None:
        self._session = session
        self._access = ZkAccess(session)

    async def execute(self, words: Sequence[str]) -> int:
        """One command, its name first. Raises _Quit."""
        name, *rest = words
        command = COMMANDS.get(name)
        if command is None:
            print(help_text(), file=sys.stderr)
            print(f"Command not found: {name}", file=sys.stderr)
            return NOT_FOUND_EXIT
        try:
            await command.act(self, command.words.parse_args(rest))
        except UsageError:
            print(command.usage, file=sys.stderr)
            return 1
        except BadArguments as error:
            print(f"Arguments are not valid : {error.path}", file=sys.stderr)
            return 1
        except ZkError as error:
            message = _MESSAGES.get(type(error))
            print(message.format(error.path) if message else error, file=sys.stderr)
            return 1
        return 0

    def _watch(self, wanted: bool) -> Callable[[WatchEvent], None] | None:
        return print_event if wanted else None

    async def ls(self, options: argparse.Namespace) -> None:
        if options.R:
            await self._list_all(options.path)
            return
        names = await self._session.children(options.path, self._watch(options.w))
        print(f"[{', '.join(sorted(names))}]")
        if options.s:
            print(describe_stat(await self._stat(options.path)))

    async def _list_all(self, path: str) -> None:
        names = await self._session.children(path)
        print(path)
        for name in sorted(names):
            try:
                await self._list_all(f"{path.rstrip('/')}/{name}")
            except NoNode:
                continue

    async def get(self, options: argparse.Namespace) -> None:
        data, stat = await self._session.get(options.path, self._watch(options.w))
        print("null" if data is None else data.decode(errors="backslashreplace"))
        if options.s:
            print(describe_stat(stat))

    async def set(self, options: argparse.Namespace) -> None:
        stat = await self._session.set(options.path, options.data.encode(), options.v)
        if options.s:
            print(describe_stat(stat))

    async def create(self, options: argparse.Namespace) -> None:
        data = None if options.data is None else options.data.encode()
        wanted = None if options.acl is None else access_list(options.acl)
        path, _ = await self._session.create(
            options.path, data, ephemeral=options.e, sequence=options.s, access=wanted
        )
        print(f"Created {path}")

    async def get_acl(self, options: argparse.Namespace) -> None:
        entries, stat = await self._session.access(options.path)
        for entry in entries:
            print(f"'{entry.scheme},'{entry.id}\n: {entry.letters}")
        if options.s:
            print(describe_stat(stat))

    async def set_acl(self, options: argparse.Namespace) -> None:
        entries = access_list(options.acl)
        stat = await self._session.set_access(options.path, entries, options.v)
        if options.R:
            await self._set_below(options.path, entries)
        if options.s:
            print(describe_stat(stat))

    async def _set_below(self, path: str, entries: AccessList) -> None:
        for name in sorted(await self._session.children(path)):
            below = f"{path.rstrip('/')}/{name}"
            try:
                await self._session.set_access(below, entries)
                await self._set_below(below, entries)
            except NoNode:
                continue

    async def delete(self, options: argparse.Namespace) -> None:
        await self._session.delete(options.path, options.v)

    async def deleteall(self, options: argparse.Namespace) -> None:
        if options.path == "/":
            raise BadArguments("/", "the root cannot be deleted")
        if not await self._access.delete_recursive(options.path):
            raise NoNode(options.path)

    async def stat(self, options: argparse.Namespace) -> None:
        stat = await self._session.exists(options.path, self._watch(options.w))
        if stat is None:
            raise NoNode(options.path)
        print(describe_stat(stat))

    async def _stat(self, path: str) -> Stat:
        stat = await self._session.exists(path)
        if stat is None:
            raise NoNode(path)
        return stat

    async def sync(self, options: argparse.Namespace) -> None:
        await self._session.sync(options.path)
        print("Sync is OK")

    async def help(self, _options: argparse.Namespace) -> None:
        print(help_text())

    async def quit(self, _options: argparse.Namespace) -> None:
        raise _Quit


def _command(usage: str, act: Callable[[Shell, argparse.Namespace], Awaitable[None]]) -> tuple[str, ShellCommand]:
    """A row from its usage: `[-v version]` and `[-s]` are options, `[word]` may be left out."""
    name, *parts = usage.replace("[-v version]", "[-v]").split()
    words = _Words(prog=name, add_help=False, allow_abbrev=False)
    for part in parts:
        word = part.strip("[]")
        if word == "-v":
            words.add_argument(word, type=int, default=-1)
        elif word.startswith("-"):
            words.add_argument(word, action="store_true")
        else:
            words.add_argument(word, nargs="?" if part.startswith("[") else None)
    return name, ShellCommand(usage, words, act)


COMMANDS = dict(
    [
        _command("create [-s] [-e] path [data] [acl]", Shell.create),
        _command("delete [-v version] path", Shell.delete),
        _command("deleteall path", Shell.deleteall),
        _command("get [-s] [-w] path", Shell.get),
        _command("getAcl [-s] path", Shell.get_acl),
        _command("help", Shell.help),
        _command("ls [-s] [-w] [-R] path", Shell.ls),
        _command("quit", Shell.quit),
        _command("set [-s] [-v version] path data", Shell.set),
        _command("setAcl [-s] [-v version] [-R] path acl", Shell.set_acl),
        _command("stat [-w] path", Shell.stat),
        _command("sync path", Shell.sync),
    ]
)


def help_text() -> str:
    """The commands and how they are used."""
    return "\n".join(["ZooKeeper -server host:port cmd args", *(f"\t{row.usage}" for row in COMMANDS.values())])


def print_event(event: WatchEvent) -> None:
    """A watch that was set with -w has fired."""
    _print_watcher(f"WatchedEvent state:SyncConnected type:{event.type.value} path:{event.path}")


def _print_watcher(text: str) -> None:
    print(f"\nWATCHER::\n\n{text}", flush=True)


async def converse(shell: Shell, prompt: str) -> int:
    """Commands from standard input; the exit code of the last one."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    ready = threading.Event()

    def read() -> None:
        # A daemon thread: one that waits for the keyboard must not keep the process from ending.
        while True:
            ready.wait()
            ready.clear()
            try:
                line: str | None = input(prompt)
            except (EOFError, OSError):
                line = None
            loop.call_soon_threadsafe(lines.put_nowait, line)
            if line is None:
                return

    threading.Thread(target=read, name="zookeeper-shell-input", daemon=True).start()
    code = 0
    while True:
        ready.set()
        line = await lines.get()
        if line is None:
            return code
        try:
            words = shlex.split(line)
            if words:
                code = await shell.execute(words)
        except ValueError as error:
            print(f"{error}: {line}", file=sys.stderr)
            code = 1
        except _Quit:
            return code
        sys.stdout.flush()


async def serve(connect: ConnectString, words: Sequence[str], protection: SessionProtection) -> int:
    """Connects, runs one command or a conversation, and returns the exit code. Raises CommandFailed."""
    from kafka_py.zk.kazoo_session import KazooSession

    print(f"Connecting to {connect}", flush=True)
    session = KazooSession(connect, session_timeout_ms=SESSION_TIMEOUT_MS, protection=protection)
    try:
        await session.connect()
        if not words:
            print("Welcome to ZooKeeper!\nJLine support is disabled")
        _print_watcher("WatchedEvent state:SyncConnected type:None path:null")
        shell = Shell(session)
        if words:
            return await shell.execute(words)
        return await converse(shell, f"[zk: {connect}(CONNECTED)] " if sys.stdin.isatty() else "")
    except _Quit:
        return 0
    except ZkError as error:
        raise CommandFailed(str(error)) from None
    finally:
        await session.close()


def main(arguments: Sequence[str]) -> int:
    words = list(arguments)
    if words[:1] == ["-server"]:
        words = words[1:]
    if not words or words[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 1
    connect = ConnectString.parse(words.pop(0), "zookeeper_host:port")
    tls_file = None
    if words[:1] == [TLS_FILE]:
        if len(words) < 2:
            raise UsageError(USAGE)
        tls_file, words = words[1], words[2:]
    return asyncio.run(serve(connect, words, protection_of(tls_file)))


def protection_of(tls_file: str | None) -> SessionProtection:
    """TLS and login; what is created is open to all unless the command says otherwise. Raises ConfigError."""
    from kafka_py.security.zookeeper.protections import command_protection

    return replace(command_protection(os.environ, tls_file), protects=False)


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
