"""Restarts the brokers of a cluster one after the other; between two of them every replica is in sync again.

How far it is stands in `roll.json`, so that a roll that was interrupted is continued by the next one. A broker that is
being restarted is always started again first: an interruption never leaves one stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.termination import EndSignals, Terminated
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.local_cluster import broker_view, state
from kafka_py.cli.local_cluster.broker_view import BrokerView, Connect
from kafka_py.cli.local_cluster.layout import LocalCluster, broker_name, connections_to
from kafka_py.cli.local_cluster.processes import terminate
from kafka_py.cli.local_cluster.starting import Starter
from kafka_py.cli.local_cluster.stopping import STOP_TIMEOUT_S

FILE = "roll.json"
LOOK_S = 0.1
MOST_SHOWN = 5


@dataclass
class RollPlan:
    """order: all brokers, by name. done: those that were restarted and have been in sync afterwards."""

    order: list[str]
    done: list[str]

    @property
    def left(self) -> list[str]:
        return [name for name in self.order if name not in self.done]


def new_plan(cluster: LocalCluster, controller: int, chosen: Sequence[int]) -> RollPlan:
    """The controller last, so that it moves once and not with every broker. chosen: broker ids; none are all."""
    numbers = sorted(chosen) or range(len(cluster.ports))
    return RollPlan([broker_name(number) for number in sorted(numbers, key=lambda each: each == controller)], [])


def read_plan(folder: Path) -> RollPlan | None:
    """The roll that was interrupted in this folder. Raises CommandFailed."""
    path = folder / FILE
    try:
        values = json.loads(path.read_text())
        return RollPlan(list(values["order"]), list(values["done"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandFailed(f"{path} cannot be read ({error}): remove it, and the roll begins again") from None


def write_plan(folder: Path, plan: RollPlan | None) -> None:
    """None, for a roll that is over, removes the file. Raises OSError."""
    path = folder / FILE
    if plan is None:
        path.unlink(missing_ok=True)
        return
    replace_text(path, json.dumps(asdict(plan)) + "\n")


def what_is_missing(views: Sequence[BrokerView | None], brokers: int) -> str:
    """Why a broker must not be stopped now, as all brokers see it; "" if one may be."""
    silent = [broker_name(number) for number, view in enumerate(views) if view is None]
    if silent:
        return f"{', '.join(silent)} does not answer"
    seen = [view for view in views if view is not None]
    if any(len(view.brokers) < brokers or view.controller < 0 for view in seen):
        return "not every broker knows all the others yet"
    lagging = sorted({partition for view in seen for partition in view.lagging})
    return f"not in sync: {broker_view.shortened(lagging, MOST_SHOWN)}" if lagging else ""


class Roll:
    """One roll. say: gets a line for every step."""

    def __init__(self, folder: Path, cluster: LocalCluster, starter: Starter, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._cluster = cluster
        self._starter = starter
        self._say = say
        self._connect = connections_to(folder, cluster)

    def run(self, plan: RollPlan, signals: EndSignals, timeout_s: float) -> None:
        """Restarts what is left. Raises CommandFailed, and Terminated after a signal; both leave the plan to resume."""
        write_plan(self._folder, plan)
        for name in plan.left:
            place = f"[{len(plan.done) + 1}/{len(plan.order)}] {name}"
            self._start_what_is_down(timeout_s)
            self._wait_in_sync(f"{place}: not stopped", signals, timeout_s)
            begun = time.monotonic()
            self._say(f"{place}: stopping")
            running = [process for process in state.running(self._folder) if process.name == name]
            terminate(running, STOP_TIMEOUT_S, lambda process: self._say(f"{process.name} does not stop and is killed"))
            self._say(f"{place}: starting")
            self._starter.wait_ready([self._starter.start(name)], timeout_s)
            self._say(f"{place}: waiting for its replicas")
            self._wait_in_sync(f"{place}: started", signals, timeout_s)
            plan.done.append(name)
            write_plan(self._folder, plan)
            self._say(f"{place}: in sync after {time.monotonic() - begun:.1f} s")
        write_plan(self._folder, None)

    def _start_what_is_down(self, timeout_s: float) -> None:
        """A broker that an earlier roll could not start."""
        alive = {process.name for process in state.running(self._folder)}
        down = [name for name in self._cluster.names if name not in alive]
        for name in down:
            self._say(f"{name}: is down, starting")
        self._starter.wait_ready([self._starter.start(name) for name in down], timeout_s)

    def _wait_in_sync(self, place: str, signals: EndSignals, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            if signals.came:
                raise Terminated(signals.exit_code - 128)
            views = [broker_view.ask(port, self._connect, topics=True) for port in self._cluster.ports]
            missing = what_is_missing(views, len(self._cluster.ports))
            if not missing:
                return
            if time.monotonic() > deadline:
                raise CommandFailed(f"{place} after {timeout_s:.0f} s, for {missing}: kafka-py roll continues here")
            time.sleep(LOOK_S)


def controller_of(cluster: LocalCluster, connect: Connect = broker_view.plain_connection) -> int:
    """The controller as the first broker that answers knows it; -1 if none does."""
    for port in cluster.ports:
        view = broker_view.ask(port, connect)
        if view is not None:
            return view.controller
    return -1


def check_chosen(cluster: LocalCluster, chosen: Sequence[int]) -> None:
    """Raises CommandFailed for a broker that the cluster does not have."""
    for number in chosen:
        if number >= len(cluster.ports):
            raise CommandFailed(f"There is no broker {number}: there are 0 to {len(cluster.ports) - 1}")
