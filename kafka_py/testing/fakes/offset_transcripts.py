"""The commands about offsets in group transcripts: commits and removals, decided by coordinator/groups.

    commit t-0=5 t-1=7 [member=a-1] [generation=1] [instance=i] [producer=7] [epoch=0]      marker 7 commit
    appended      appended NOT_COORDINATOR      offsets      expire 1000
    delete-offsets t-0      delete-topics t

A commit waits until `appended` says what came of the append of its record, for the oldest first. The batches are real,
one offset for each record; after a fail-over they are read again. `offsets` shows what is committed, what is on its way
and where the batch begins; `expire` takes the retention time in ms. A commit with a producer is part of its
transaction; `marker` appends the end of that, commit or abort, and has it acknowledged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.coordinator.groups import commits, removal
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import CommittedOffset, CommittingProducer, TxnEnd
from kafka_py.coordinator.groups.outcome import TimerChange
from kafka_py.coordinator.groups.records import offset_keys, offset_value
from kafka_py.coordinator.groups.removal import Removed
from kafka_py.coordinator.groups.replay import GroupReplay
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.records.batch import iter_headers, iter_plain_records, records_payload
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker, read_control_type
from kafka_py.testing.clock import ManualClock

_MOST_BYTES = 1 << 20


class OffsetScript:
    """The offsets of one group, and the log they are in. end_offset: of the next batch."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.now_ms = 0
        self.end_offset = 0
        self._log: list[bytes] = []
        self._unwritten: deque[tuple[int, CommitRequest]] = deque()
        self._requests = 0
        self._timers: list[TimerChange] = []
        self.commands: dict[str, Callable[[list[str]], Iterator[str]]] = {
            "commit": self._commit,
            "appended": self._appended,
            "marker": self._marker,
            "offsets": self._offsets,
            "expire": self._expire,
            "delete-offsets": self._delete_offsets,
            "delete-topics": self._delete_topics,
        }

    def perform(self, command: str, now_ms: int) -> list[str]:
        """What comes of one command, as lines."""
        self.now_ms = now_ms
        name, *words = command.split()
        return list(self.commands[name](words))

    def timers(self) -> list[TimerChange]:
        """What the last command has changed of them."""
        changed, self._timers = self._timers, []
        return changed

    def fail_over(self, group: Group) -> None:
        """Another broker has read the log: `group` gets the offsets that are in it, and nothing is on its way."""
        self.group = group
        self._unwritten.clear()
        found: dict[str, Group] = {}
        clock = ManualClock()
        replay = GroupReplay(clock, lambda groups, _open: found.update(groups), lambda _group: None, Supervisor(clock))
        for batch in self._log:
            for position, header in iter_headers(batch):
                plain = records_payload(batch, position, header, _MOST_BYTES)
                for records in iter_plain_records(plain, header, _MOST_BYTES):
                    if header.is_control:
                        is_commit = read_control_type(records[0]) is ControlType.COMMIT
                        replay.marker(header, committed=is_commit)
                    else:
                        replay.records(header, records)
        for _ in replay.finish():
            pass
        if group.id in found:
            group.offsets = found[group.id].offsets

    # ---- commits

    def _commit(self, words: list[str]) -> Iterator[str]:
        options = dict(word.split("=", 1) for word in words)
        member_id = options.pop("member", "")
        generation = int(options.pop("generation", self.group.generation if member_id else -1))
        instance_id = options.pop("instance", None)
        producer_id, epoch = options.pop("producer", None), int(options.pop("epoch", 0))
        producer = None if producer_id is None else CommittingProducer(int(producer_id), epoch)
        asked = {
            _partition(name): CommittedOffset(int(offset), -1, "", self.now_ms) for name, offset in options.items()
        }
        request = CommitRequest(generation, member_id, instance_id, asked, producer)
        self._requests += 1
        try:
            change = commits.commit(self.group, request, self.now_ms)
        except KafkaError as error:
            yield f"commit {self._requests} answered: {error.code.name}"
            return
        self._unwritten.append((self._requests, request))
        if change is not None:
            self._timers.append(change)
        yield f"commit {self._requests} waits"

    def _appended(self, words: list[str]) -> Iterator[str]:
        number, request = self._unwritten.popleft()
        error = ErrorCode[words[0]] if words else ErrorCode.NONE
        base_offset = -1
        if error is ErrorCode.NONE:
            rows = zip(offset_keys(self.group.id, request.commits), request.commits.values(), strict=True)
            base_offset = self._append([(key, offset_value(commit)) for key, commit in rows], request.producer)
        yield f"commit {number} answered: {commits.written(self.group, request, error, base_offset).name}"

    def _marker(self, words: list[str]) -> Iterator[str]:
        producer_id, is_commit = int(words[0]), words[1] == "commit"
        offset = self.end_offset
        marker = end_txn_marker(
            ControlType.COMMIT if is_commit else ControlType.ABORT,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=self.now_ms,
            base_offset=offset,
        )
        self._log.append(marker)
        self.end_offset += 1
        self.group.offsets.complete_txn(TxnEnd(producer_id, offset, is_commit))
        yield f"marker of producer {producer_id} at {offset}"

    def _append(self, rows: list[tuple[bytes, bytes | None]], producer: CommittingProducer | None = None) -> int:
        """Where the batch begins."""
        base_offset = self.end_offset
        builder = BatchBuilder(base_offset=base_offset)
        if producer is not None:
            builder.producer_id, builder.producer_epoch = producer
            builder.base_sequence, builder.transactional = 0, True
        for key, value in rows:
            builder.append(self.now_ms, key, value)
        self._log.append(builder.build())
        self.end_offset += len(rows)
        return base_offset

    def _offsets(self, _words: list[str]) -> Iterator[str]:
        offsets = self.group.offsets
        if offsets.is_empty:
            yield "no offsets"
        for where, commit in sorted(offsets.committed.items()):
            yield f"{where} {commit.offset} (batch {commit.record_offset})"
        for where, commit in sorted(offsets.pending.items()):
            yield f"{where} {commit.offset} pending"
        for producer_id, transaction in sorted(offsets.pending_txn.items()):
            for where, commit in sorted(transaction.appended.items()):
                yield f"{where} {commit.offset} (batch {commit.record_offset}) of producer {producer_id}"
            for where, commit in sorted(transaction.appending.items()):
                yield f"{where} {commit.offset} of producer {producer_id} pending"

    # ---- removal

    def _expire(self, words: list[str]) -> Iterator[str]:
        return self._bury(removal.remove_expired(self.group, self.now_ms, int(words[0])))

    def _delete_offsets(self, words: list[str]) -> Iterator[str]:
        asked = [_partition(word) for word in words]
        try:
            unread = removal.unsubscribed(self.group, self.group.id, asked)
        except KafkaError as error:
            yield error.code.name
            return
        for where in asked:
            yield f"{where} {'NONE' if where in unread else 'GROUP_SUBSCRIBED_TO_TOPIC'}"
        yield from self._bury(removal.remove_offsets(self.group, unread, self.now_ms))

    def _delete_topics(self, words: list[str]) -> Iterator[str]:
        return self._bury(removal.remove_topics(self.group, words, self.now_ms))

    def _bury(self, removed: Removed) -> Iterator[str]:
        keys = offset_keys(self.group.id, removed.offsets)
        if keys:
            self._append([(key, None) for key in keys])
            yield f"tombstones: {' '.join(map(str, removed.offsets))}"
        if removed.group:
            yield f"the group ends{', with a tombstone' if removed.has_record else ''}"


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
