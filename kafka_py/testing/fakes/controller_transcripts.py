"""The commands of controller transcripts: one controller, decided by controller/decisions and shown step by step.

No ZooKeeper, no loop, no clock and no brokers take part: znodes are values, and live brokers do what they are told.

    brokers 1 2 3 [delete.topic.enable=false]    start 3    kill 3 [4]    bounce 3    shut-down 2 [epoch=1]
    disk-failed 2 t-0    disk-mended 2
    topic t 1,2 2,3    grow t 3,1    delete t    unclean t    unclean all
    isr t-0 1,2    unseen-isr t-0 1    late-write t-0 2 7 1,2 [announced]
    alter-isr 1 t-0 1,2 [epoch=0] [version=0] [broker-epoch=1]
    elect preferred t-0    elect unclean    elect-znode t-0    balance
    reassign t-0 3,4    reassign t-0 none    cancel t-0    list    reassign-znode t-0 3,4 t-1 2
    refuse 2    ignore 2    obey 2    (how a broker answers the deletion of replicas)
    fail-over    other-controller    shown
    given COMMAND    (of which only what comes of it is kept)

`isr` is what a leader writes and announces, `unseen-isr` what it has written and the controller does not know yet,
`late-write` what a former leader, 2 in leader epoch 7, wrote over a state that is not its own.
Every request has the brokers that get it in front; those that get the same one share a line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.controller import events
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.batch import ControllerRequest, RequestBatch, RequestSource
from kafka_py.controller.decisions.failover import fail_over
from kafka_py.controller.decisions.machine import event_of_reply, handle
from kafka_py.controller.decisions.notes import LogLevel, LogLine
from kafka_py.controller.decisions.plan import Plan, Step
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import (
    CloseChannel,
    CountUnclean,
    OpenChannel,
    PartitionsMoved,
    Put,
    PutLater,
    ReplicasMoved,
    ReplyToCaller,
    Send,
)
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAssignment
from kafka_py.testing.fakes.controller_znodes import (
    TABLE,
    ControllerZnodes,
    result_of,
    shown_assignment,
    shown_leadership,
)
from kafka_py.testing.fakes.controllers import LISTENER, ReceivedRequest, friendly_answer, line_of
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_py.wire.messages.stop_replica import StopReplicaResponse
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.znodes import BrokerEndpoint

CONTROLLER = 1
NEVER_LED = LeaderAndIsr(-1, 0, (), 0)
_REFUSED = ErrorCode.KAFKA_STORAGE_ERROR


class ControllerScript:
    """One controller after the other, and what they have to do with."""

    def __init__(self) -> None:
        self.znodes = ControllerZnodes()
        self.options = ControllerOptions.parse({})
        self.cluster = ControllerContext(1)
        self._waiting: deque[events.Event] = deque()
        self._answers: dict[int, str] = {}
        self._registrations = 0
        self._notifications = 0
        self._commands: dict[str, Callable[[list[str]], Iterator[str]]] = {
            "brokers": self._brokers, "topic": self._topic, "grow": self._grow,
            "delete": self._delete, "unclean": self._unclean, "start": self._start, "kill": self._kill,
            "bounce": self._start, "shut-down": self._shut_down, "disk-failed": self._disk, "disk-mended": self._disk,
            "isr": self._isr, "unseen-isr": self._unseen_isr, "late-write": self._late_write,
            "alter-isr": self._alter_isr, "elect": self._elect, "balance": self._balance, "reassign": self._reassign,
            "cancel": self._cancel, "list": self._list, "reassign-znode": self._reassign_znode,
            "elect-znode": self._elect_znode, "fail-over": self._fail_over,
            "other-controller": self._other_controller, "shown": self._shown,
        }  # fmt: skip

    def perform(self, command: str) -> list[str]:
        """What comes of one command, as lines."""
        name, *words = command.split()
        if name == "given":
            self.perform(" ".join(words))
            return []
        if name in ("refuse", "ignore", "obey"):
            self._answers[int(words[0])] = name
            return ["ok"]
        return list(self._commands[name](words)) or ["nothing"]

    # ---- brokers

    def _brokers(self, words: list[str]) -> Iterator[str]:
        properties = dict(word.split("=", 1) for word in words if "=" in word)
        self.options = ControllerOptions.parse(properties)
        for word in words:
            if "=" not in word:
                self._register(int(word))
        return self._fail_over([])

    def _register(self, broker: int) -> None:
        self._registrations += 1
        endpoint = BrokerEndpoint(LISTENER, LISTENER, f"host{broker}", 9000 + broker)
        self.znodes.brokers[broker] = RegisteredBroker(broker, self._registrations, (endpoint,), None, {})

    def _start(self, words: list[str]) -> Iterator[str]:
        for word in words:
            self._register(int(word))
        return self._happens(events.BrokerChange())

    def _kill(self, words: list[str]) -> Iterator[str]:
        for word in words:
            del self.znodes.brokers[int(word)]
        return self._happens(events.BrokerChange())

    def _shut_down(self, words: list[str]) -> Iterator[str]:
        epoch = next((int(word.removeprefix("epoch=")) for word in words if "=" in word), -1)
        return self._happens(events.ControlledShutdown(int(words[0]), epoch))

    def _disk(self, words: list[str]) -> Iterator[str]:
        """The broker answers LeaderAndIsr for all of its replicas: an error for those that are named."""
        broker, failed = int(words[0]), {_partition(word) for word in words[1:]}
        topics: dict[str, list[LeaderAndIsrPartitionError]] = {}
        for partition in self.cluster.partitions_on(broker):
            code = _REFUSED if partition in failed else ErrorCode.NONE
            row = LeaderAndIsrPartitionError(partition_index=partition.partition, error_code=code)
            topics.setdefault(partition.topic, []).append(row)
        rows = [LeaderAndIsrTopicError(topic_id=self.cluster.topic_ids[topic], partition_errors=errors)
                for topic, errors in topics.items()]  # fmt: skip
        response = LeaderAndIsrResponse(error_code=0, partition_errors=[], topics=rows)
        return self._happens(events.LeaderAndIsrResponseReceived(response, broker))

    # ---- topics

    def _topic(self, words: list[str]) -> Iterator[str]:
        self.znodes.add_topic(words[0], dict(enumerate(map(_ids, words[1:]))))
        return self._happens(events.TopicChange())

    def _grow(self, words: list[str]) -> Iterator[str]:
        topic, *rows = words
        first = len(self.znodes.topics[topic].partitions)
        self.znodes.add_topic(topic, dict(enumerate(map(_ids, rows), first)))
        return self._happens(events.PartitionModifications(topic))

    def _delete(self, words: list[str]) -> Iterator[str]:
        self.znodes.deletions.update(words)
        return self._happens(events.TopicDeletion())

    def _unclean(self, words: list[str]) -> Iterator[str]:
        if words == ["all"]:
            self.znodes.permits_unclean = True
            return self._happens(events.UncleanLeaderElectionEnable())
        self.znodes.unclean.update(words)
        return self._happens(events.TopicUncleanLeaderElectionEnable(words[0]))

    # ---- in-sync sets, elections, reassignments

    def _isr(self, words: list[str]) -> Iterator[str]:
        partition = _partition(words[0])
        self.znodes.write_isr(partition, _ids(words[1]))
        return self._announced(partition)

    def _announced(self, partition: TopicPartition) -> Iterator[str]:
        self._notifications += 1
        self.znodes.isr_changes[f"{self._notifications:010d}"] = {partition}
        if partition in self.znodes.watched:
            self.znodes.watched.discard(partition)
            self._waiting.append(events.PartitionReassignmentIsrChange(partition))
        return self._happens(events.IsrChangeNotification())

    def _unseen_isr(self, words: list[str]) -> Iterator[str]:
        self.znodes.write_isr(_partition(words[0]), _ids(words[1]))
        return iter(())

    def _late_write(self, words: list[str]) -> Iterator[str]:
        partition, (leader, epoch) = _partition(words[0]), map(int, words[1:3])
        self.znodes.write_isr(partition, _ids(words[3]))
        late = self.znodes.leaderships[partition]._replace(leader=leader, leader_epoch=epoch)
        self.znodes.leaderships[partition] = late
        return self._announced(partition) if "announced" in words else iter(())

    def _alter_isr(self, words: list[str]) -> Iterator[str]:
        """What the broker does not say it has from the znodes."""
        given = {name: int(value) for name, _, value in (word.partition("=") for word in words) if value}
        broker, partition = int(words[0]), _partition(words[1])
        known = self.znodes.leaderships.get(partition, NEVER_LED)
        epoch, version = given.get("epoch", known.leader_epoch), given.get("version", known.zk_version)
        proposal = events.IsrProposal(epoch, _ids(words[2]), version)
        broker_epoch = given.get("broker-epoch", self.znodes.brokers[broker].epoch)
        return self._happens(events.AlterIsrReceived(broker, broker_epoch, {partition: proposal}))

    def _elect(self, words: list[str]) -> Iterator[str]:
        type_, *named = words
        partitions = [_partition(word) for word in named] or None
        return self._happens(events.ReplicaLeaderElection(partitions, ElectionType[type_.upper()]))

    def _elect_znode(self, words: list[str]) -> Iterator[str]:
        self.znodes.elections = {_partition(word) for word in words}
        return self._happens(events.ZkReplicaLeaderElection())

    def _balance(self, _words: list[str]) -> Iterator[str]:
        return self._happens(events.AutoPreferredReplicaLeaderElection())

    def _reassign(self, words: list[str]) -> Iterator[str]:
        target = () if words[1] == "none" else _ids(words[1])
        return self._happens(events.ApiPartitionReassignment({_partition(words[0]): target}))

    def _cancel(self, words: list[str]) -> Iterator[str]:
        return self._happens(events.ApiPartitionReassignment(dict.fromkeys(map(_partition, words))))

    def _reassign_znode(self, words: list[str]) -> Iterator[str]:
        pairs = zip(words[::2], words[1::2], strict=True)
        self.znodes.reassignments = {_partition(partition): list(_ids(target)) for partition, target in pairs}
        return self._happens(events.ZkPartitionReassignment())

    def _list(self, _words: list[str]) -> Iterator[str]:
        return self._happens(events.ListPartitionReassignments(None))

    # ---- the controller itself

    def _fail_over(self, _words: list[str]) -> Iterator[str]:
        """Another broker takes office; what the former controller had still to do is lost."""
        self.cluster = ControllerContext(self.cluster.epoch + 1)
        self._waiting.clear()
        self.znodes.watched.clear()
        self.znodes.is_moved = False
        yield from self._carried_out(fail_over(self.cluster, self._settings))
        yield from self._followed_up()

    def _other_controller(self, _words: list[str]) -> Iterator[str]:
        self.znodes.is_moved = True
        return iter(())

    def _shown(self, _words: list[str]) -> Iterator[str]:
        cluster = self.cluster
        for partition in cluster.partitions():
            leadership = cluster.leadership(partition)
            led = "never led" if leadership is None else shown_leadership(leadership)
            where = shown_assignment(cluster.assignment(partition))
            yield f"{partition} {cluster.partition_state(partition).name} {led} {where}"
        for topic in sorted(cluster.queued):
            yield f"{topic} is to be deleted{', and waits' if topic in cluster.ineligible else ''}"

    # ---- what comes of it

    @property
    def _settings(self) -> Settings:
        return Settings(self.options, LISTENER)

    def _happens(self, event: events.Event) -> Iterator[str]:
        """The event, and all that follow from it, first come first served."""
        waiting = [*self._waiting, event]
        self._waiting = deque(waiting[1:])
        yield from self._carried_out(handle(self.cluster, waiting[0], self._settings))
        yield from self._followed_up()

    def _followed_up(self) -> Iterator[str]:
        while self._waiting:
            event = self._waiting.popleft()
            yield f"event {_shown_event(event)}"
            yield from self._carried_out(handle(self.cluster, event, self._settings))

    def _carried_out(self, plan: Plan[None]) -> list[str]:
        lines: list[str] = []

        def perform(step: Step[Any]) -> Any:
            if type(step) not in TABLE:
                return lines.extend(self._done(step))
            try:
                return self.znodes.perform(step)
            finally:
                lines.extend(self.znodes.taken_lines())

        try:
            result_of(plan, perform)
        except ControllerMoved:
            lines.append("resign: another broker has become controller")
            self._waiting.clear()
        except KafkaError as error:
            lines.append(f"answer: {_result(error)}")
        return lines

    def _done(self, step: Step[Any]) -> Iterator[str]:
        match step:
            case LogLine():
                yield f"{'note' if step.level is LogLevel.INFO else step.level.name.lower()}: {step}"
            case Send(batch):
                yield from self._sent(batch)
            case PartitionsMoved(before, target):
                yield from _moved(before, target, self.cluster.partition_state)
            case ReplicasMoved(before, target):
                yield from _moved(before, target, self.cluster.replica_state)
            case ReplyToCaller(answer):
                yield f"answer: {_answer(answer)}"
            case Put(event):
                self._waiting.append(event)
            case PutLater(seconds, event):
                yield f"in {seconds} s: {_shown_event(event)}"
            case CountUnclean(elections):
                yield f"count {elections} unclean elections"
            case OpenChannel(broker):
                yield f"open the channel to broker {broker}"
            case CloseChannel(broker):
                yield f"close the channel to broker {broker}"

    def _sent(self, batch: RequestBatch) -> Iterator[str]:
        sender = RequestSource(CONTROLLER, self.cluster.epoch, self.options.inter_broker_version().requests, LISTENER)
        requests = _finished(batch.requests(sender))
        lines = [(request.broker, *_parts(line_of(ReceivedRequest(request.broker, request.message, request.version))))
                 for request in requests]  # fmt: skip
        for (kind, content), same in groupby(lines, key=lambda line: line[1:]):
            yield f"{kind} -> {', '.join(str(line[0]) for line in same)}: {content}"
        for request in requests:
            self._answer_of(request)

    def _answer_of(self, request: ControllerRequest) -> None:
        """Only the answers to deletions matter; the others say that all is well."""
        how = self._answers.get(request.broker, "obey")
        if not request.deletes or how == "ignore":
            return
        response = friendly_answer(request.message)
        assert isinstance(response, StopReplicaResponse)
        for row in response.partition_errors:
            row.error_code = _REFUSED if how == "refuse" else ErrorCode.NONE
        event = event_of_reply(self.cluster, request, response)
        if event is not None:
            self._waiting.append(event)


def _finished(steps: Any) -> list[ControllerRequest]:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def _parts(line: str) -> tuple[str, str]:
    """kind and content of `line_of`, without the broker."""
    head, _, content = line.partition(": ")
    return head.partition(" -> ")[0], content


def _moved(before: Iterable[Any], target: Any, state_of: Callable[[Any], Any]) -> Iterator[str]:
    moved = [str(subject) for subject in before if state_of(subject) is target]
    if moved:
        yield f"now {target.name}: {', '.join(moved)}"


def _shown_event(event: events.Event) -> str:
    subject = ", ".join(f"{name} {_answer(value)}" for name, value in vars(event).items())
    return f"{type(event).__name__}{f' of {subject}' if subject else ''}"


def _answer(answer: object) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{key} {_result(value)}" for key, value in answer.items()) or "none"
    if isinstance(answer, set):
        return ", ".join(map(str, sorted(answer))) or "none"
    return _result(answer)


def _result(value: object) -> str:
    match value:
        case None:
            return "ok"
        case KafkaError():
            return value.code.name
        case LeaderAndIsr():
            return shown_leadership(value)
        case PartitionAssignment():
            return shown_assignment(value)
    return str(value)


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def _ids(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


