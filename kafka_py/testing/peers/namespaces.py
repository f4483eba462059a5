"""Hosts of their own for processes of a test, in Linux network namespaces: pairs of them can be cut from each other.

Each host has one address on a bridge; the test itself, and what it starts outside, is at two more addresses of that
bridge, so that a host can lose one service and keep the other. A cut loses packets silently, as a broken switch does:
the neighbour's hardware address is replaced by one that nobody has. Needs root and the `ip` command.

While the process lives its hosts' network is unreachable for whatever is not on that bridge, also once the bridge is
removed: a client that a failed test left running must not reach some other machine that has such an address.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

NOBODY = "02:00:00:00:00:01"
FIRST_HOST = 11
_PREFIX = "kp"
_LAST_METRIC = "4096"
"""The route of the bridge has metric 0 and counts first as long as there is a bridge."""


def missing() -> str | None:
    """Why this machine cannot have such hosts; None if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need the ip command (iproute2)"
    probe = f"{_PREFIX}probe{os.getpid() % 10_000}"
    for made in (["netns", "add", probe], ["link", "add", probe, "type", "bridge"]):
        done = subprocess.run(["ip", *made], capture_output=True, check=False, text=True)
        if done.returncode:
            return f"no network namespaces here: {done.stderr.strip()}"
    subprocess.run(["ip", "link", "del", probe], check=False)
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return None


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True, timeout=30)


class Hosts:
    """`count` hosts, numbered from 0; a context manager that removes them.

    outside, services: addresses of the machine that runs the test, on the hosts' network.
    """

    def __init__(self, count: int) -> None:
        self._name = f"{_PREFIX}{os.getpid()}"
        draw = random.SystemRandom()
        self._net = f"10.{draw.randrange(64, 250)}.{draw.randrange(250)}"
        self.outside = f"{self._net}.1"
        self.services = f"{self._net}.2"
        self.addresses = [f"{self._net}.{FIRST_HOST + number}" for number in range(count)]

    def command(self, number: int, command: Sequence[str]) -> list[str]:
        """The command that runs `command` on a host; it becomes the process itself, under the same id."""
        return ["ip", "netns", "exec", self._namespace(number), *command]

    def cut(self, number: int, address: str) -> None:
        """From now on nothing passes between a host and an address."""
        for each, other in self._sides(number, address):
            self._inside(each, "neigh", "replace", other, "lladdr", NOBODY, "nud", "permanent", "dev", "eth0")

    def mend(self, number: int, address: str) -> None:
        """They reach each other again; for a pair that is not cut nothing changes."""
        for each, other in self._sides(number, address):
            self._inside(each, "neigh", "del", other, "dev", "eth0", check=False)

    def mend_all(self) -> None:
        for number in range(len(self.addresses)):
            for address in (self.outside, self.services, *self.addresses):
                self.mend(number, address)

    def _sides(self, number: int, address: str) -> list[tuple[int, str]]:
        """(host, the address it loses); the machine outside keeps sending, what it sends is not answered."""
        sides = [(number, address)]
        if address in self.addresses:
            sides.append((self.addresses.index(address), self.addresses[number]))
        return sides

    def _inside(self, number: int, *arguments: str, check: bool = True) -> None:
        _ip("-n", self._namespace(number), *arguments, check=check)

    def _namespace(self, number: int) -> str:
        return f"{self._name}-{number}"

    def __enter__(self) -> Self:
        self._remove_those_of_the_dead()
        try:
            unreachable = "unreachable", f"{self._net}.0/24", "metric", _LAST_METRIC
            _ip("route", "replace", *unreachable)
            atexit.register(_ip, "route", "del", *unreachable, check=False)
            _ip("link", "add", self._name, "type", "bridge")
            for address in (self.outside, self.services):
                _ip("addr", "add", f"{address}/24", "dev", self._name)
            _ip("link", "set", self._name, "up")
            for number in range(len(self.addresses)):
                self._add(number)
        except BaseException:
            self._remove(self._name)
            raise
        return self

    def _add(self, number: int) -> None:
        namespace, outer = self._namespace(number), f"{self._name}v{number}"
        _ip("netns", "add", namespace)
        _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", outer, "master", self._name, "up")
        self._inside(number, "link", "set", "lo", "up")
        self._inside(number, "addr", "add", f"{self.addresses[number]}/24", "dev", "eth0")
        self._inside(number, "link", "set", "eth0", "up")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove(self._name)

    def _remove(self, name: str) -> None:
        for namespace in _namespaces():
            if namespace.startswith(f"{name}-"):
                _ip("netns", "del", namespace, check=False)
        _ip("link", "del", name, check=False)

    def _remove_those_of_the_dead(self) -> None:
        """A test run that was killed leaves its network behind."""
        for name in {each.partition("-")[0] for each in _namespaces()}:
            number = name.removeprefix(_PREFIX)
            if name.startswith(_PREFIX) and number.isdigit() and not Path(f"/proc/{number}").exists():
                self._remove(name)


def _namespaces() -> list[str]:
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, check=True, text=True, timeout=30)
    return [line.split()[0] for line in done.stdout.splitlines() if line]
