"""Batches written exactly once: what executors have flushed in transactions, the driver decides on and ends.

    slots.py         transactional ids of tasks, and who may use which
    decisions.py     what is decided, as values and as records
    protocol.py      begin, claim, commit, abort: the steps, in their order
    decision_log.py  the compacted topic of decisions, read and written
    coordination.py  the steps carried out on a cluster
    batches.py       one batch, from the driver to the tasks and back

Not obvious: every step may be the last one before a kill. docs/exactly-once-sink.md says what the next run does then,
and a test kills the driver at each of them.
"""
