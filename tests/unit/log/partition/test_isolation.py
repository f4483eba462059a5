"""What a reader with read_committed gets from a log: every committed record once and in order, and nothing else."""

import random

import pytest

from kafka_py.log.model.answers import Origin
from kafka_py.records.batch import iter_headers, iter_records
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, slice_bytes

PRODUCERS = 4


def read_committed(log, offset, max_bytes):
    """(offset, value) of what a consumer hands out from `offset` to the last stable offset, fetch by fetch (KIP-98)."""
    seen = []
    while offset < log.last_stable_offset:
        data = log.read(offset, max_bytes, up_to_offset=log.last_stable_offset, min_one_batch=True)
        to_come = sorted((first, producer) for producer, first in log.lookups.aborted_transactions(offset, data))
        aborted = set()
        content = slice_bytes(data.slice)
        for position, header in iter_headers(content):
            while to_come and to_come[0][0] <= header.last_offset:
                aborted.add(to_come.pop(0)[1])
            records = list(iter_records(content, position))
            if header.is_control:
                if records[0].key == b"\0\0\0\0":
                    aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                seen += [(record.offset, record.value) for record in records if record.offset >= offset]
            end = header.next_offset
        offset = end
    return seen


class Model:
    """Random transactions in a leader's log, what was written, and how it was decided."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.leader = LogWorld({"segment.bytes": 3000})
        self.follower = LogWorld({"segment.bytes": 5000})
        self.written = []  # (offset, value, transaction or None)
        self.open = {}  # producer -> transaction
        self.aborted = set()
        self.transactions = 0
        self.ends = []  # of all batches

    def step(self):
        self.change()
        self.ends.append(self.leader.log.log_end_offset)

    def change(self):
        producer, chance = self.rng.randrange(PRODUCERS), self.rng.random()
        if chance < 0.15:
            self.write(None, {})
        elif chance < 0.7:
            transaction = self.open.get(producer)
            if transaction is None:
                self.transactions += 1
                transaction = self.open[producer] = self.transactions
            fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
            self.write(transaction, fields)
        elif chance < 0.9:
            self.end(producer, self.rng.choice((ControlType.ABORT, ControlType.COMMIT)))
        elif chance < 0.95:
            self.leader.log.close()
            self.leader.open(is_clean=True, checkpointed=self.leader.checkpointed())
        else:
            self.leader.crash(Loss.NOTHING)

    def write(self, transaction, fields):
        values = [b"%d" % self.rng.randrange(10**6) for _ in range(self.rng.randint(1, 4))]
        first = self.leader.log.log_end_offset
        self.leader.append(batch(values, **fields), origin=Origin.COORDINATOR)
        self.written += [(first + number, value, transaction) for number, value in enumerate(values)]

    def end(self, producer, control):
        """A marker, also without a transaction, which then ends nothing."""
        self.leader.mark(producer, 0, control)
        transaction = self.open.pop(producer, None)
        if control is ControlType.ABORT and transaction is not None:
            self.aborted.add(transaction)

    def copy(self):
        """The follower fetches all that it lacks, and crashes at times."""
        follower, leader = self.follower.log, self.leader.log
        while follower.log_end_offset < leader.log_end_offset:
            data = leader.read(follower.log_end_offset, self.rng.choice((300, 5000)), up_to_offset=1 << 60,
                               min_one_batch=True)  # fmt: skip
            follower.append_as_follower(memoryview(bytearray(slice_bytes(data.slice))), 1000)
            if self.rng.random() < 0.05:
                follower.flush_in_background()
                follower = self.follower.crash(Loss.UNSYNCED)

    def expected(self, start, end):
        return [
            (offset, value)
            for offset, value, transaction in self.written
            if start <= offset < end and transaction not in self.aborted
        ]


@pytest.mark.parametrize("seed", range(6))
def test_committed_records_are_read_once_and_in_order_at_the_leader_and_at_a_follower(seed):
    model = Model(seed)
    for _ in range(40):
        for _ in range(10):
            model.step()
        model.copy()
        for world in (model.leader, model.follower):
            log = world.log
            log.update_high_watermark(model.rng.choice(model.ends[len(model.ends) // 2 :]))
            undecided = [offset for offset, _, transaction in model.written if transaction in model.open.values()]
            assert log.last_stable_offset <= min([log.high_watermark, *undecided])
            start = model.rng.randint(0, log.last_stable_offset)
            found = read_committed(log, start, model.rng.choice((1, 500, 1 << 20)))
            assert found == model.expected(start, log.last_stable_offset)
    for producer in range(PRODUCERS):
        model.end(producer, ControlType.ABORT)
    model.copy()
    for world in (model.leader, model.follower):
        end = world.log.log_end_offset
        world.log.update_high_watermark(end)
        assert world.log.last_stable_offset == end
        assert read_committed(world.log, 0, 700) == model.expected(0, end)
