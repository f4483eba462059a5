"""The producer: collects records into batches, sends these to the leaders, and completes one future per record.

In reading order: producer.py (`Producer` and `AsyncProducer`), core.py (its parts put together), interceptors.py (the
application's code that sees every record), arguments.py (checks of the arguments of `send`), accumulator.py (`append`,
from any thread, fills a queue of batches per partition), queues.py (the same queues as the event loop uses them),
lanes.py (one queue), batches.py (a batch and the futures of its records), buffer_pool.py (buffer.memory),
partitioner.py (which partition), ready.py (which queues can be sent from), sender.py (sends batches to leaders),
deliveries.py (the results of batches: retries, splits, failures), requests.py (batches as requests), idempotence.py
(sequences, pure), transactions/ (records that take effect together), configs.py (its settings), metrics.py (its
metrics).
Not obvious: application threads only use the accumulator, under its lock; everything else runs on the event loop.
"""
