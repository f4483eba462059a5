"""One consumer per thread, all in one group: the plainest way to read in parallel, and in order.

Every thread polls a consumer of its own, processes what it got, and commits. More threads than partitions are idle.
The price is a connection to every broker per thread; what it buys is the order within each partition.

    python docs/examples/thread_per_consumer.py localhost:9092 orders billing 4
"""

import signal
import sys
import threading

from kafka_py.clients import Consumer, WakeupError


class ConsumerThread(threading.Thread):
    """Polls until it is told to stop. process: called with every record, in the order of each partition."""

    def __init__(self, settings, topic, process):
        super().__init__()
        self.consumer = Consumer({**settings, "enable.auto.commit": False})
        self.consumer.subscribe([topic])
        self.process = process

    def run(self):
        try:
            while True:
                for record in self.consumer.poll(1.0):
                    self.process(record)
                self.consumer.commit_async()
        except WakeupError:
            self.consumer.commit()  # the last word, and waited for
        finally:
            self.consumer.close()

    def stop(self):
        """From any thread: the poll that waits ends at once."""
        self.consumer.wakeup()


def main(bootstrap, topic, group, threads="4"):
    settings = {"bootstrap.servers": bootstrap, "group.id": group}
    running = [ConsumerThread(settings, topic, lambda record: print(record.value)) for _ in range(int(threads))]
    for thread in running:
        thread.start()
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    for thread in running:
        thread.stop()
    for thread in running:
        thread.join()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main(*sys.argv[1:])
