"""Transactions: the partitions of a producer's transaction, its commit or abort, and the markers in the partitions.

In reading order, the decisions (pure; `machine.handle(transaction, event, moment) -> TransactionOutcome`): states.py
(the eight states), transaction.py (the values), requests.py (the events), outcome.py (what follows from an event),
machine.py (the entry point to all decisions).

What carries them out: records.py (the stored format), replay.py (loads a partition), store.py (stores transactional
ids), driver.py (records, markers, responses), coordinator.py (the calls of handlers and timers), overview.py (what
administrators see of ids).

markers.py (the markers of one transaction), marker_queues.py (which markers are queued for which broker),
marker_messages.py (as WriteTxnMarkers requests), marker_channels.py (connections to the brokers).
"""
