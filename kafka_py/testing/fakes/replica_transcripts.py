"""The commands of replication transcripts: brokers with replicas of t-0, and all that comes of what is done to them.

    brokers 1 2 3 [version=2.8] [replica.lag.time.max.ms=10000]      topic min.insync.replicas=2
    roles leader=1 epoch=0 isr=1,2 [replicas=1,2,3] [adding=3] [to=1] [new] [id=7] [controller=2] [version=4]
    stop 2 [delete] [epoch=-2] [controller=2]
    append 1 a b [acks=all] [timeout=1000]      consume 1 at=0      log-start 1 at=2
    fetch 3 from=1 at=2 [epoch=0] [last=0]      (by hand, where no broker 3 is running)
    shrink 1      (the leader looks who has fallen behind)
    zookeeper waits|fails|refuses|answers
    pass 1000      crash 2 [watermark=1]      restart 2      disk-fails 2      resume-fetching 2

Records are single batches, named by their values. Behind every command the brokers that have changed are shown: the
records of each, with a bar behind those that it knows to be committed. Time passes by `pass` alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, EPOCH_DURING_DELETE, ZERO_UUID
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.replication.role_orders import RoleRequest, StopRequest
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchResults, Isolation, PlainSource
from kafka_py.testing.fakes.copying import T0
from kafka_py.testing.fakes.scripted_replicas import ScriptedBroker, ScriptedCluster
from kafka_py.testing.fakes.stored_logs import batch, records_of, slice_bytes
from kafka_py.testing.virtual_time import VirtualLoop
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_py.wire.protocol_versions import InterBrokerVersion
from kafka_py.zk.topics import TopicIdentity

Options = dict[str, str]
SETTLED_S = 1e-6
"""So long after a command everything has happened that needs no time."""
CONTROLLER = 9


class ReplicaScript:
    """The brokers of one story, on a loop of their own; to be closed."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self._lines: list[str] = []
        self._since_ms: float | None = None
        self._cluster: ScriptedCluster | None = None
        self._watermarks: dict[int, int] = {}
        self._shown: dict[int, str] = {}
        self._appends = 0
        self._commands: dict[str, Callable[[list[str], Options], Awaitable[None]]] = {
            "brokers": self._brokers,
            "topic": self._topic,
            "roles": self._roles,
            "stop": self._stop,
            "append": self._append,
            "consume": self._consume,
            "log-start": self._log_start,
            "fetch": self._fetch,
            "shrink": self._shrink,
            "zookeeper": self._zookeeper,
            "pass": self._pass,
            "crash": self._crash,
            "restart": self._restart,
            "disk-fails": self._disk_fails,
            "resume-fetching": self._resume_fetching,
        }

    def perform(self, command: str) -> list[str]:
        """What comes of one command, as lines."""
        name, *words = command.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        warnings = _Warnings(self._note)
        logger = logging.getLogger()  # a broker in this process hangs kafka_py's loggers under those of Apache Kafka
        logger.addHandler(warnings)
        try:
            self._runner.run(self._settled(self._commands[name]([word for word in words if "=" not in word], options)))
        finally:
            logger.removeHandler(warnings)
        lines, self._lines[:] = self._lines[:], []
        return lines or ["nothing"]

    def close(self) -> None:
        """Ends what still runs."""
        if self._cluster is not None:
            self._runner.run(self._close())
        self._runner.close()

    async def _close(self) -> None:
        for broker in self._all():
            if broker.is_up:
                await broker.close()

    # ---- lines

    async def _settled(self, work: Awaitable[None]) -> None:
        if self._cluster is None:
            self._cluster = ScriptedCluster(self._note)
        await work
        await asyncio.sleep(SETTLED_S)
        self._since_ms = None
        for broker in self._all():
            shown = broker.shown()
            if self._shown.get(broker.broker_id) != shown:
                self._shown[broker.broker_id] = shown
                self._note(f"{broker.broker_id} {shown}")

    def _note(self, line: str) -> None:
        if self._since_ms is not None:
            line = f"after {round(self._now_ms() - self._since_ms)} ms: {line}"
        self._lines.append(line)

    @staticmethod
    def _now_ms() -> float:
        return asyncio.get_running_loop().time() * 1000

    @property
    def cluster(self) -> ScriptedCluster:
        assert self._cluster is not None
        return self._cluster

    def _all(self) -> list[ScriptedBroker]:
        return [broker for _, broker in sorted(self.cluster.replicas.items())]

    def _broker(self, words: list[str]) -> ScriptedBroker:
        return self.cluster.replicas[int(words[0])]

    # ---- the cluster

    async def _brokers(self, words: list[str], options: Options) -> None:
        self.cluster.version = InterBrokerVersion(options.pop("version", "2.6"))
        self.cluster.options = ReplicationOptions.parse(options)
        for word in words:
            broker = ScriptedBroker(int(word), self.cluster)
            self._shown[broker.broker_id] = broker.shown()
        self._note("ok")

    async def _topic(self, _words: list[str], options: Options) -> None:
        self.cluster.topic_settings.update(options)
        self._note("ok")

    async def _roles(self, words: list[str], options: Options) -> None:
        """What the controller sends to every running replica; it knows the version of the znode."""
        cluster = self.cluster
        replicas = _ids(options.get("replicas", "")) or sorted(cluster.replicas)
        topic_id = UUID(int=int(options["id"])) if "id" in options else ZERO_UUID
        if "id" in options:
            cluster.identity = TopicIdentity(topic_id, is_original=True)
        cluster.zk_version = int(options.get("version", cluster.zk_version))
        state = LeaderAndIsrPartitionState(
            partition_index=0,
            controller_epoch=int(options.get("controller", 1)),
            leader=int(options["leader"]),
            leader_epoch=int(options["epoch"]),
            isr=_ids(options["isr"]),
            zk_version=cluster.zk_version,
            replicas=replicas,
            adding_replicas=_ids(options.get("adding", "")),
            removing_replicas=[],
            is_new="new" in words,
        )
        for broker_id in _ids(options.get("to", "")) or replicas:
            if cluster.is_live(broker_id):
                request = RoleRequest(T0, topic_id, state)
                await self._answered(
                    broker_id, cluster.replicas[broker_id].roles.become(CONTROLLER, state.controller_epoch, [request])
                )

    async def _stop(self, words: list[str], options: Options) -> None:
        request = StopRequest(T0, int(options.get("epoch", EPOCH_DURING_DELETE)), "delete" in words)
        broker = self._broker(words)
        await self._answered(
            broker.broker_id, broker.roles.stop(CONTROLLER, int(options.get("controller", 1)), [request])
        )

    async def _answered(self, broker_id: int, outcome: Awaitable[dict[Any, ErrorCode]]) -> None:
        try:
            code = (await outcome)[T0]
        except KafkaError as error:
            code = error.code
        if code is not ErrorCode.NONE:
            self._note(f"{broker_id} answers {code.name}")

    async def _zookeeper(self, words: list[str], _options: Options) -> None:
        self.cluster.switch(words[0])
        self._note("ok")

    # ---- records

    async def _append(self, words: list[str], options: Options) -> None:
        broker = self._broker(words)
        acks = -1 if options.get("acks") == "all" else 1
        for value in words[1:]:
            self._appends += 1
            self._append_one(broker, value, acks, int(options.get("timeout", 30_000)))

    def _append_one(self, broker: ScriptedBroker, value: str, acks: int, timeout_ms: int) -> None:
        answers: list[AppendResult] = []

        def answered(results: list[AppendResult]) -> None:
            answers.extend(results)
            if broker.is_up and (is_late or results[0].error is not ErrorCode.NONE):
                self._note(f"{value} answered: {results[0].error.name}")

        is_late = False
        broker.manager.appends.append([(T0, batch([value.encode()]))], acks, timeout_ms, answered)
        is_late = True
        if not answers:
            self._note(f"{value} waits")

    async def _consume(self, words: list[str], options: Options) -> None:
        self._read(self._broker(words), CONSUMER_REPLICA_ID, int(options["at"]), options)

    async def _fetch(self, words: list[str], options: Options) -> None:
        leader = self.cluster.replicas[int(options["from"])]
        self._read(leader, int(words[0]), int(options["at"]), options)

    def _read(self, broker: ScriptedBroker, replica_id: int, offset: int, options: Options) -> None:
        isolation = Isolation.READ_UNCOMMITTED if replica_id == CONSUMER_REPLICA_ID else Isolation.LOG_END
        params = FetchParams(replica_id, 0, 1, 1 << 20, isolation)
        entry = FetchEntry(
            T0, offset, 1 << 20, int(options.get("epoch", -1)), int(options.get("last", -1)), log_start_offset=0
        )

        def fetched(results: FetchResults) -> None:
            [(_, read)] = results
            values = [(each.value or b"").decode() for each in records_of(slice_bytes(read.records))]
            if read.error is not ErrorCode.NONE:
                self._note(f"answered {read.error.name}")
            elif read.diverging is not None:
                self._note(f"answered: epoch {read.diverging.epoch} ends at {read.diverging.end_offset}")
            else:
                self._note(f"answered{'' if values else ' nothing'}, high watermark {read.high_watermark}".replace(
                    "answered,", f"answered {' '.join(values)},"
                ))  # fmt: skip

        broker.manager.fetches.fetch(params, PlainSource([entry]), fetched)

    async def _log_start(self, words: list[str], options: Options) -> None:
        broker = self._broker(words)
        partition = broker.hosted.partition(T0)
        partition.leader_log().advance_log_start_offset(int(options["at"]))
        broker.manager.parked.note_change(partition, watermark_raised=False)

    async def _shrink(self, words: list[str], _options: Options) -> None:
        await self._broker(words).manager.fetches.shrink_isrs()

    # ---- time and trouble

    async def _pass(self, words: list[str], _options: Options) -> None:
        self._since_ms = self._now_ms()
        await asyncio.sleep(int(words[0]) / 1000)

    async def _crash(self, words: list[str], options: Options) -> None:
        broker = self._broker(words)
        high_watermark = await broker.crash()
        self._watermarks[broker.broker_id] = int(options.get("watermark", high_watermark))

    async def _restart(self, words: list[str], _options: Options) -> None:
        """The high watermark is that of its checkpoint: what it was, unless `crash` said otherwise."""
        broker = self._broker(words)
        broker.boot()
        if broker.log is not None:
            broker.log.update_high_watermark(self._watermarks[broker.broker_id])

    async def _disk_fails(self, words: list[str], _options: Options) -> None:
        self._broker(words).fail_disk()
        self._note("ok")

    async def _resume_fetching(self, words: list[str], _options: Options) -> None:
        broker = self._broker(words)
        broker.fetchers.start([broker.hosted.partition(T0)])


class _Warnings(logging.Handler):
    """Makes lines of what is logged as a warning or worse."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(logging.Filter("kafka_py"))
        self._take = note

    def emit(self, record: logging.LogRecord) -> None:
        self._take(f"{record.levelname.lower()}: {record.getMessage()}")


def _ids(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]
