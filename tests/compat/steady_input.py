"""An idempotent producer that writes a little at a time in a thread of its own, while everything else is killed."""

from __future__ import annotations

import threading

import confluent_kafka

from kafka_py.testing.peers.load import end_producer

FLUSH_S = 240.0


class SteadyInput:
    """Calls `write` every `interval_s` until it is finished; a record that is not acknowledged is a failure."""

    def __init__(self, bootstrap: str, interval_s: float) -> None:
        self._interval_s = interval_s
        self._failed: list[str] = []
        self._end = threading.Event()
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "delivery.timeout.ms": 300_000,
             "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def write(self) -> None:
        """Sends the next records, with `send`."""
        raise NotImplementedError

    def send(self, topic: str, value: str | bytes, partition: int) -> None:
        self._producer.produce(topic, value, partition=partition, on_delivery=self._delivered)

    def _run(self) -> None:
        while not self._end.wait(self._interval_s):
            self.write()
            self._producer.poll(0)

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self._failed.append(str(error))

    def finish(self) -> None:
        """Sends no more, and waits until everything is acknowledged."""
        self._end.set()
        self._thread.join()
        assert self._producer.flush(FLUSH_S) == 0
        assert not self._failed, self._failed[:3]

    def stop(self) -> None:
        self._end.set()
        self._thread.join()
        end_producer(self._producer)
