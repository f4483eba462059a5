"""Parallel work on one partition without losing anything: a window of batches, committed from its left end only.

Every cell of the window is one batch and one worker. The window slides, and offsets are committed, when the cell at its
start is done, however many later ones are done before; after a crash reading goes on at the first batch that was not
(example WE3-19, the other way round). The number of cells bounds the memory. A batch that fails is tried again; a
record that continues to fail is sent to a retry topic, and from there, after its last chance, to a dead-letter topic,
so that it does not hold the window up.

    python docs/examples/sliding_window.py localhost:9092 orders billing
"""

import sys
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kafka_py.clients import CommitFailed, Consumer, OffsetAndMetadata, Producer, RebalanceInProgress

LOCAL_ATTEMPTS = 3
LAST_CHANCE = 2
"""How often a record goes through the retry topic before it is a dead letter."""

RETRIES = "retries"


class Cell(NamedTuple):
    """A batch on its way: the future of its work, and where reading goes on after it."""

    work: object
    next_offset: int


class Window:
    """The batches of one partition that are being worked on, oldest first."""

    def __init__(self, cells):
        self.free = cells
        self.cells = deque()

    def add(self, work, next_offset):
        self.cells.append(Cell(work, next_offset))
        self.free -= 1

    def slide(self):
        """Gives up the cells at the start that are done; returns where reading goes on, None when none is."""
        next_offset = None
        while self.cells and self.cells[0].work.done():
            cell = self.cells.popleft()
            cell.work.result()  # what even the retry topic could not take ends the program here
            self.free += 1
            next_offset = cell.next_offset
        return next_offset


class Handler:
    """Works on batches; what fails goes its way. process: called with one record, raises when it cannot be done."""

    def __init__(self, process, producer, topic):
        self.process = process
        self.producer = producer
        self.retry_topic = f"{topic}.retry"
        self.dead_letter_topic = f"{topic}.dead"

    def __call__(self, records):
        for record in records:
            for attempt in range(LOCAL_ATTEMPTS):
                try:
                    self.process(record)
                    break
                except Exception as error:
                    if attempt + 1 == LOCAL_ATTEMPTS:
                        self.put_aside(record, error)

    def put_aside(self, record, error):
        """To the retry topic, or, when it has been there often enough, to the dead letters."""
        headers = dict(record.headers)
        retries = int(headers.get(RETRIES, b"0"))
        topic = self.retry_topic if retries < LAST_CHANCE else self.dead_letter_topic
        headers = {**headers, RETRIES: b"%d" % (retries + 1), "error": str(error).encode()}
        self.producer.send(topic, record.value, record.key, headers=list(headers.items())).result(30)


class SlidingWindows:
    """The windows of all partitions that a consumer reads; a partition whose window is full is paused."""

    def __init__(self, consumer, handle, *, workers=8, cells=4):
        self.consumer = consumer
        self.handle = handle
        self.pool = ThreadPoolExecutor(workers)
        self.windows = defaultdict(lambda: Window(cells))

    def step(self, timeout=0.2):
        """Polls once, and commits what the windows have left behind."""
        records = self.consumer.poll(timeout)
        for partition in records.partitions():
            batch = records.records(partition)
            window = self.windows[partition]
            window.add(self.pool.submit(self.handle, batch), batch[-1].offset + 1)
        self.slide()

    def slide(self):
        assigned = self.consumer.assignment()
        done = {}
        for partition in list(self.windows):
            window = self.windows[partition]
            next_offset = window.slide()
            if partition not in assigned:
                del self.windows[partition]
                continue
            if next_offset is not None:
                done[partition] = OffsetAndMetadata(next_offset)
            (self.consumer.resume if window.free > 0 else self.consumer.pause)([partition])
        try:
            self.consumer.commit(done)
        except (CommitFailed, RebalanceInProgress):
            pass  # others have the partitions now, and begin where the last commit was

    def close(self):
        """Waits for what is under way and commits it."""
        self.pool.shutdown()
        self.slide()


def settings(bootstrap, group):
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "max.poll.records": 100,
    }


def main(bootstrap, topic, group):
    def process(record):
        print(record.topic, record.partition, record.offset, record.value)

    with Producer({"bootstrap.servers": bootstrap}) as producer, Consumer(settings(bootstrap, group)) as consumer:
        windows = SlidingWindows(consumer, Handler(process, producer, topic))
        consumer.subscribe([topic, f"{topic}.retry"])
        try:
            while True:
                windows.step()
        except KeyboardInterrupt:
            windows.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
