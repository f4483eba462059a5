"""One consumer that polls, a pool of threads that work: few connections, many hands, no order within a partition.

The queue between them is bounded, and when it is full the polling thread works too, so that reading slows down with the
work. Workers note how far they have come; the polling thread commits that. A later batch may be done before an earlier
one, and then a crash skips what the earlier one had not done (example WE3-19): sliding_window.py does not.

    python docs/examples/worker_pool.py localhost:9092 orders billing 8
"""

import queue
import sys
import threading

from kafka_py.clients import Consumer, OffsetAndMetadata

QUEUE_LENGTH = 1000


class Pool:
    """Threads that process batches. process: called with the records of one partition of one poll."""

    def __init__(self, threads, process):
        self.process = process
        self.batches = queue.Queue(QUEUE_LENGTH)
        self.done = {}
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._work) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def hand_over(self, partition, records):
        """Leaves a batch to the pool; when the queue is full the caller does it itself."""
        try:
            self.batches.put_nowait((partition, records))
        except queue.Full:
            self._do(partition, records)

    def _work(self):
        while (batch := self.batches.get()) is not None:
            self._do(*batch)

    def _do(self, partition, records):
        self.process(records)
        with self.lock:  # never backwards
            before = self.done.get(partition, OffsetAndMetadata(0))
            self.done[partition] = max(before, OffsetAndMetadata(records[-1].offset + 1))

    def take_done(self):
        """How far each partition has come since the last call."""
        with self.lock:
            done, self.done = self.done, {}
        return done

    def close(self):
        """Waits until all is done."""
        for _ in self.threads:
            self.batches.put(None)
        for thread in self.threads:
            thread.join()


def run(consumer, topic, pool, until=lambda: False):
    """Polls, hands over, commits what is done."""
    consumer.subscribe([topic])
    while not until():
        records = consumer.poll(0.5)
        for partition in records.partitions():
            pool.hand_over(partition, records.records(partition))
        consumer.commit_async(pool.take_done())
    pool.close()
    consumer.commit(pool.take_done())


def main(bootstrap, topic, group, threads="8"):
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    pool = Pool(int(threads), lambda records: [print(record.value) for record in records])
    with Consumer(settings) as consumer:
        run(consumer, topic, pool)


if __name__ == "__main__":
    main(*sys.argv[1:])
