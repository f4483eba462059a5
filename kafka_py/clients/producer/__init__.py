"""The producer: records in, batches out, every record answered.

In reading order: producer.py (the two faces), core.py (its parts put together), interceptors.py (who sees every
record), arguments.py (what a record cannot be made of), accumulator.py (`append`, from any thread, fills a queue of
batches per partition), queues.py (the same queues as the event loop uses them), lanes.py (one queue), batches.py (a
batch and the futures into it), buffer_pool.py (the bound on memory), partitioner.py (which partition), ready.py (which
queues can be sent from), sender.py (batches to leaders), deliveries.py (what becomes of them: retries, splits, ends),
requests.py (batches as requests), idempotence.py (sequences, pure), configs.py (its settings), metrics.py (what it
counts).
Not obvious: application threads only ever touch the accumulator, under its lock; all else lives on the event loop.
"""
