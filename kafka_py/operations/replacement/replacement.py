"""The work of a replacement: before each step a check, then the commands, then a wait until all is in sync again.

Nothing is stopped while anything is not in order. What was stopped is noted before the next command runs, so that a
replacement that was interrupted anywhere is continued, or turned round, by another process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.replacement.obstacles import SETTINGS, missing_for_a_step, refused_settings, stopped_by
from kafka_py.operations.replacement.plan_file import BrokerCommands, ReplacementRefused, other_make
from kafka_py.operations.replacement.progress import ReplacementProgress

LOOK_S = 0.25
MIN_ISR = "min.insync.replicas"


class ReplacementTools(NamedTuple):
    """say: gets a line for every step. run: a shell command, its exit code. keep: writes the progress down.

    is_interrupted: asked while it waits. now_s: a monotonic clock.
    """

    say: Callable[[str], None]
    run: Callable[[str], Awaitable[int]]
    keep: Callable[[ReplacementProgress], None]
    is_interrupted: Callable[[], bool]
    now_s: Callable[[], float]


class Interrupted(Exception):
    """The user has ended it between two steps, or while it waited."""


class Replacement:
    """One replacement of the brokers of a plan. timeout_s: for each wait."""

    def __init__(
        self, admin: AsyncAdminClient, plan: list[BrokerCommands], tools: ReplacementTools, timeout_s: float
    ) -> None:
        self._admin = admin
        self._plan = {broker.id: broker for broker in plan}
        self._tools = tools
        self._timeout_s = timeout_s

    async def seen(self) -> ClusterSnapshot:
        return await look_at(self._admin, [ViewPart.TOPICS])

    async def obstacles(self) -> tuple[str, list[str], list[str]]:
        """(what is not in order now, settings that do not go, what is away while a broker is down)."""
        snapshot = await self.seen()
        missing = missing_for_a_step(snapshot, self._plan, await self._moving())
        if not snapshot.is_reached:
            return missing, [], []
        resources = [ConfigResource(ConfigResourceType.BROKER, str(each)) for each in sorted(self._plan)]
        topics = [ConfigResource(ConfigResourceType.TOPIC, name) for name in snapshot.topics]
        found = await self._admin.describe_configs(
            {**dict.fromkeys(resources, SETTINGS), **dict.fromkeys(topics, (MIN_ISR,))}
        )
        settings: dict[int, Mapping[str, str | None]] = {}
        least: dict[str, int] = {}
        for resource, entries in found.items():
            if isinstance(entries, KafkaError):
                missing = missing or f"the settings of {resource.name} cannot be read: {entries}"
            elif resource.type is ConfigResourceType.BROKER:
                settings[int(resource.name)] = {name: entry.value for name, entry in entries.items()}
            else:
                least[resource.name] = int(entries[MIN_ISR].value or 1) if MIN_ISR in entries else 1
        return missing, refused_settings(settings), stopped_by(snapshot, self._plan, least)

    async def run(self, progress: ReplacementProgress) -> None:
        """Replaces what is left. Raises ReplacementRefused and Interrupted, after which it can be continued."""
        self._tools.keep(progress)
        for number in progress.left((await self.seen()).controller_id):
            place = f"[{len(progress.done) + 1}/{len(progress.makes)}] broker {number}"
            if not (progress.is_stopped or progress.is_turned):
                await self._wait_before_stop(f"{place}: not stopped", number, is_begun=progress.current is not None)
            progress.current = number
            self._tools.keep(progress)
            await self._replace(place, number, progress)
            progress.makes[number] = progress.to
            progress.current = None
            progress.is_stopped = progress.is_started = progress.is_turned = False
            self._tools.keep(progress)

    async def _replace(self, place: str, number: int, progress: ReplacementProgress) -> None:
        began_s = self._tools.now_s()
        former, wanted = other_make(progress.to), progress.to
        commands = self._plan[number].makes
        is_gone = not progress.is_stopped  # which a broker that is asked next may not have noticed yet
        if not progress.is_stopped:
            await self._stop(place, number, commands[former].stop, former)
            progress.is_stopped = True
            self._tools.keep(progress)
        if not progress.is_started and (is_gone or number not in (await self.seen()).nodes):
            await self._start(place, number, commands[wanted].start, wanted)
            progress.is_started = True
            self._tools.keep(progress)
        self._tools.say(f"{place}: waiting for its replicas")
        try:
            await self._wait_in_order(f"{place}: {wanted} started", f" or with --to {former} to go back")
        except ReplacementRefused:
            progress.is_started = False  # it is started again next time; after an interruption it may be coming up
            self._tools.keep(progress)
            raise
        self._tools.say(f"{place}: in sync after {self._tools.now_s() - began_s:.1f} s")

    async def _stop(self, place: str, number: int, command: str, make: str) -> None:
        self._tools.say(f"{place}: stopping {make}")
        code = await self._tools.run(command)
        if code and (why := self._still_there(await self.seen(), number)):
            raise ReplacementRefused(
                f"{place}: {command!r} ended with code {code}, and {why}: nothing was started; run the command again "
                "to continue"
            )
        await self._wait_gone(place, number)

    async def _start(self, place: str, number: int, command: str, make: str) -> None:
        self._tools.say(f"{place}: starting {make}")
        code = await self._tools.run(command)
        if code and number not in (await self.seen()).nodes:
            raise ReplacementRefused(
                f"{place}: {command!r} ended with code {code}, and the broker is not there: run the command again to "
                f"continue, or with --to {other_make(make)} to go back"
            )

    async def _moving(self) -> list[TopicPartition]:
        try:
            return list(await self._admin.list_partition_reassignments())
        except KafkaError:
            return []  # a broker before 2.4, or one that does not answer, which the look at the cluster tells

    async def _wait_gone(self, place: str, number: int) -> None:
        """Until no broker lists it: the other make registers under the same id, which ZooKeeper must have freed."""

        async def missing_in(snapshot: ClusterSnapshot) -> str:
            return self._still_there(snapshot, number)

        await self._until(missing_in, f"{place}: stopped")

    def _still_there(self, snapshot: ClusterSnapshot, number: int) -> str:
        """Why the broker may still run; "" if it does not. That none answers says so only if it is the only one."""
        if not snapshot.is_reached and len(self._plan) > 1:
            return f"no broker answers whether {number} is still registered"
        return f"broker {number} is still registered" if number in snapshot.nodes else ""

    async def _wait_before_stop(self, place: str, number: int, *, is_begun: bool) -> None:
        """Until one may be stopped. is_begun: it may be down already, stopped by an earlier process."""

        async def missing_in(snapshot: ClusterSnapshot) -> str:
            if is_begun and not self._still_there(snapshot, number):
                return ""
            return missing_for_a_step(snapshot, self._plan, await self._moving())

        await self._until(missing_in, place)

    async def _wait_in_order(self, place: str, back: str) -> None:
        async def missing_in(snapshot: ClusterSnapshot) -> str:
            return missing_for_a_step(snapshot, self._plan)

        await self._until(missing_in, place, back)

    async def _until(
        self, missing_in: Callable[[ClusterSnapshot], Awaitable[str]], place: str, back: str = ""
    ) -> None:
        ends_s = self._tools.now_s() + self._timeout_s
        while missing := await missing_in(await self.seen()):
            if self._tools.is_interrupted():
                raise Interrupted
            if self._tools.now_s() > ends_s:
                raise ReplacementRefused(
                    f"{place}, but after {self._timeout_s:.0f} s: {missing}; run the command again to continue{back}"
                )
            await asyncio.sleep(LOOK_S)
        if self._tools.is_interrupted():
            raise Interrupted
